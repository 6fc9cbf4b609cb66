"""Every target of an export, and how to read it back without the package."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import strategies as st

import trialframe as tr
from trialframe.warehouse import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ("parquet", "csv", "json", "hive", "duckdb", "sqlite", "postgresql", "delta", "iceberg")
NEEDS = {
    "duckdb": ("duckdb",),
    "postgresql": ("adbc_driver_postgresql", "adbc_driver_manager"),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg", "sqlalchemy"),
}
HOW = (
    "no PostgreSQL: TRIALFRAME_POSTGRES=$(bash .ci/postgres.sh start) names one, "
    'bash .ci/postgres.sh stop "$TRIALFRAME_POSTGRES" ends it'
)


@dataclass
class Place:
    """A target in a folder of its own, or a schema of its own."""

    kind: str
    folder: Path
    address: str = ""
    schema: str = ""

    @property
    def target(self) -> str:
        endings = {"hive": "hive/{table}/", "delta": "delta/{table}", "iceberg": "catalog.db"}
        path = f"{self.folder}/{endings.get(self.kind, '{table}.' + self.kind)}"
        if self.kind in {"delta", "iceberg"}:
            return f"{self.kind}:{path}"
        return f"{self.address}&schema={self.schema}" if self.address else path

    def path(self, table: str) -> Path:
        if self.kind in {"hive", "delta"}:
            return self.folder / self.kind / table
        name = "catalog.db" if self.kind == "iceberg" else f"{table}.{self.kind}"
        return self.folder / name

    def exists(self, table: str) -> bool:
        try:
            return self.read(table) is not None
        except Exception:  # noqa: BLE001 - of every library its own
            return False

    def read(self, table: str) -> pl.DataFrame:
        """The table in the types of its contract, in the order of the target."""
        return getattr(self, f"_{self.kind}")(self.path(table), table)

    def _parquet(self, path: Path, _: str) -> pl.DataFrame:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)

    def _csv(self, path: Path, table: str) -> pl.DataFrame:
        schema = TABLES[table].schema
        times = [name for name, dtype in schema.items() if isinstance(dtype, pl.Datetime)]
        kinds = {name: pl.String() if name in times else schema[name] for name in schema}
        return pl.read_csv(path, schema=kinds, glob=False).with_columns(
            as_time(name) for name in times
        )

    def _json(self, path: Path, table: str) -> pl.DataFrame:
        return rows_as_table(json.loads(path.read_text(encoding="utf-8"))["rows"], table)

    def _hive(self, path: Path, table: str) -> pl.DataFrame:
        keys = {part.name.partition("=")[0]: pl.String for part in path.rglob("*=*")}
        names = TABLES[table].schema.names()
        found = pl.scan_parquet(
            path, glob=False, hive_partitioning=True, hive_schema=keys, missing_columns="insert"
        )
        return found.select(names).collect()

    def _duckdb(self, path: Path, table: str) -> pl.DataFrame:
        import duckdb

        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            return pl.DataFrame(connection.sql(f'SELECT * FROM "{table}"').to_arrow_table())

    def _sqlite(self, path: Path, table: str) -> pl.DataFrame:
        connection = sqlite3.connect(path)
        cursor = connection.execute(f'SELECT * FROM "{table}"')
        names = [part[0] for part in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        connection.close()
        return rows_as_table(rows, table)

    def _postgresql(self, _: Path, table: str) -> pl.DataFrame:
        found = self.query(f'SELECT * FROM "{self.schema}"."{table}"')
        return found.with_columns(pl.col(pl.Datetime).dt.convert_time_zone("UTC"))

    def query(self, text: str) -> pl.DataFrame:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.address, autocommit=True) as connection:
            with connection.cursor() as cursor:
                cursor.execute(text)
                found = cursor.fetch_arrow_table() if cursor.description else None
            return pl.DataFrame(found)

    def _delta(self, path: Path, _: str) -> pl.DataFrame:
        import deltalake

        return pl.DataFrame(deltalake.DeltaTable(str(path)).to_pyarrow_table())

    def _iceberg(self, path: Path, table: str) -> pl.DataFrame:
        from pyiceberg.catalog.sql import SqlCatalog
        from sqlalchemy import URL

        address = URL.create("sqlite", database=str(path)).render_as_string()
        catalog = SqlCatalog("trialframe", uri=address)
        try:
            return pl.DataFrame(catalog.load_table(("trialframe", table)).scan().to_arrow())
        finally:
            catalog.close()


def as_time(name: str) -> pl.Expr:
    shape = "%Y-%m-%dT%H:%M:%S%.6fZ"
    return pl.col(name).str.to_datetime(shape, time_unit="us").dt.replace_time_zone("UTC")


def rows_as_table(rows: list[dict[str, Any]], table: str) -> pl.DataFrame:
    schema = TABLES[table].schema
    times = [name for name, dtype in schema.items() if isinstance(dtype, pl.Datetime)]
    flags = [name for name, dtype in schema.items() if dtype == pl.Boolean]
    kinds = {name: pl.String() if name in times else schema[name] for name in schema}
    plain = [
        {k: bool(v) if k in flags and v is not None else v for k, v in row.items() if k in schema}
        for row in rows
    ]
    return pl.DataFrame(plain, schema=kinds).with_columns(as_time(name) for name in times)


@pytest.fixture(scope="session")
def child_environment() -> dict[str, str]:
    """The environment of a process that imports the sources beside the tests."""
    source = Path(tr.__file__).resolve().parents[1]
    return os.environ | {"PYTHONPATH": str(source)}


@pytest.fixture
def postgres() -> str:
    """The address of a server for tests."""
    address = os.environ.get("TRIALFRAME_POSTGRES", "")
    if not address and os.environ.get("TRIALFRAME_REQUIRE_EXTRAS") == "1":
        pytest.fail(HOW)
    return address or pytest.skip(HOW)


@pytest.fixture
def new_place(
    tmp_path: Path, require: Callable[[str], Any], request: pytest.FixtureRequest
) -> Callable[[str], Place]:
    """Make an empty place of a kind."""

    def made(kind: str) -> Place:
        for module in NEEDS.get(kind, ()):
            require(module)
        folder = tmp_path / uuid.uuid4().hex[:8]
        for part in (folder, folder / "hive", folder / "delta"):
            part.mkdir()
        place = Place(kind, folder)
        if kind == "postgresql":
            place.address = request.getfixturevalue("postgres")
            place.schema = f"t_{uuid.uuid4().hex[:12]}"
            place.query(f"CREATE SCHEMA {place.schema}")
            request.addfinalizer(lambda: place.query(f"DROP SCHEMA {place.schema} CASCADE"))
        return place

    return made


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    """An empty place of every kind."""
    return new_place(request.param)


def bits(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Rows with floats as their bits, sorted, so that -0.0 and 0.0 differ."""
    real = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    exact = frame.with_columns(
        pl.Series(name, [None if x is None else x.hex() for x in frame[name]], pl.String)
        for name in real
    )
    return sorted(exact.rows(), key=repr)


@pytest.fixture
def as_bits() -> Callable[[pl.DataFrame], list[tuple[Any, ...]]]:
    """Rows of a table, exact to the bit, whatever their order."""
    return bits


TEXTS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), min_size=1, max_size=12
)
NUMBERS = st.none() | st.floats(width=64)
WHOLES = st.none() | st.integers(-(2**63), 2**63 - 1)


@st.composite
def estimates(draw: Any) -> pl.DataFrame:
    """Tables such as `tr.summary` returns, with any texts, floats and whole numbers."""
    keys = draw(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6, unique=True))
    rows = [
        {
            "config": config,
            "metric": metric,
            "estimand": "cases",
            "method": draw(st.none() | TEXTS),
            "k": draw(WHOLES),
            "warnings": draw(st.none() | st.text(st.characters(blacklist_categories=["Cs"]))),
        }
        | {name: draw(NUMBERS) for name in ("value", "se", "low", "high", "coverage")}
        for config, metric in keys
    ]
    schema = {name: TABLES["estimates"].schema[name] for name in rows[0]}
    return pl.DataFrame(rows, schema=schema)


@pytest.fixture(scope="session")
def any_estimates() -> Any:
    """The strategy of `estimates`."""
    return estimates()
