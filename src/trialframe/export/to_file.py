"""A table in one file: Parquet, CSV or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ExportError
from trialframe.export.atomic import locked, replacing
from trialframe.export.evolve import missing_columns
from trialframe.export.job import merged
from trialframe.warehouse import INSTANT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from trialframe.export.job import Job
    from trialframe.warehouse import Table

WRITTEN = {
    str(dtype): dtype for dtype in (pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), INSTANT)
}
"""Types by the names that a JSON document calls them."""

MOMENT = "%Y-%m-%dT%H:%M:%S%.6fZ"


ROWS_AT_ONCE = 100_000
"""Rows of a CSV file that are made into text at once."""


def write(job: Job) -> None:
    """Write the table with the rows of the export to a file that replaces the one there."""
    path, kind = job.target.place, job.target.kind
    with locked(path):
        old = _existing(job) if path.exists() else None
        made = merged(old, job)
        with replacing(path) as draft:
            if kind == "parquet":
                made.write_parquet(draft, metadata=about(job.table))
            elif kind == "csv":
                # not by the name: older Polars do not tell when the disk is full
                with draft.open("wb") as file:
                    for part in (made.head(0), *made.iter_slices(ROWS_AT_ONCE)):
                        header = not part.height
                        file.write(_as_text(part).write_csv(include_header=header).encode())
            else:
                draft.write_bytes(as_json(made, job.table))


def about(table: Table) -> dict[str, str]:
    """What a Parquet file says of itself: the contract of its table."""
    columns = [
        {"name": c.name, "unit": c.unit, "meaning": c.meaning, "nullable": c.nullable}
        for c in table.columns
    ]
    facts = {"table": table.name, "schema_version": table.version, "key": table.key}
    return {"trialframe": json.dumps(facts | {"columns": columns}, ensure_ascii=False)}


def _existing(job: Job) -> pl.DataFrame | None:
    """The rows that are there, brought up to this version of the table."""
    path, kind = job.target.place, job.target.kind
    try:
        old, types = READERS[kind](path, job.table)
    except (pl.exceptions.PolarsError, ValueError, KeyError, TypeError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ExportError(
            f"{job.target.shown} is there and cannot be read as a table of {job.table.name}: "
            f"{reason}. Nothing was written. Move it away, or choose another target."
        ) from error
    expected = {name: str(dtype) for name, dtype in job.table.schema.items()}
    versions: Iterable[str | None] = (
        old["schema_version"].unique() if "schema_version" in old.columns else []
    )
    added = missing_columns(job, types, expected, versions)
    if job.mode == "replace":
        return None
    return old.with_columns(pl.lit(None, c.dtype).alias(c.name) for c in added)


def _read_parquet(path: Path, _: Table) -> tuple[pl.DataFrame, dict[str, str]]:
    old = pl.read_parquet(path, hive_partitioning=False, glob=False)
    return old, {name: str(dtype) for name, dtype in old.schema.items()}


def _read_csv(path: Path, table: Table) -> tuple[pl.DataFrame, dict[str, str]]:
    """CSV knows no types: what cannot be read as the type of its column is an error."""
    texts = pl.read_csv(path, infer_schema=False, glob=False)
    kinds = {name: dtype for name, dtype in table.schema.items() if name in texts.columns}
    times = [name for name, dtype in kinds.items() if isinstance(dtype, pl.Datetime)]
    plain = {n: pl.String() if n in times else kinds.get(n, pl.String()) for n in texts.columns}
    old = pl.read_csv(path, schema=plain, glob=False).with_columns(_moment(name) for name in times)
    return old, {name: str(dtype) for name, dtype in old.schema.items()}


def _moment(name: str) -> pl.Expr:
    return pl.col(name).str.to_datetime(MOMENT, time_unit="us").dt.replace_time_zone("UTC")


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Instants as text in ISO 8601."""
    return frame.with_columns(pl.col(pl.Datetime).dt.strftime(MOMENT))


# --- JSON ---------------------------------------------------------------------------------------


def as_json(frame: pl.DataFrame, table: Table) -> bytes:
    """A document with the contract of the table and one row a line.

    Rows of estimates hold `uncertainty` beside their columns, in the shape that Every Eval Ever
    gives it in `score_details`.
    """
    contract = [
        {
            "name": c.name,
            "type": str(c.dtype),
            "unit": c.unit,
            "nullable": c.nullable,
            "key": c.key,
            "meaning": c.meaning,
        }
        for c in table.columns
    ]
    named = {"format": "trialframe", "table": table.name, "schema_version": table.version}
    head = "".join(f' "{k}": {json.dumps(v, ensure_ascii=False)},\n' for k, v in named.items())
    lines = ",\n".join(f"  {json.dumps(c, ensure_ascii=False)}" for c in contract)
    frame = _as_text(frame)
    extra = [_uncertainty()] if table.name == "estimates" else []
    rows = frame.select(pl.struct(*frame.columns, *extra).struct.json_encode()).to_series()
    text = ",\n".join(f"  {row}" for row in rows)
    return f'{{\n{head} "columns": [\n{lines}\n ],\n "rows": [\n{text}\n ]\n}}\n'.encode()


def _uncertainty() -> pl.Expr:
    """The object `uncertainty` of Every Eval Ever; null members where nothing is known.

    Its schema wants a value in `standard_error` and both ends in `confidence_interval`.
    """
    error = pl.struct(value="se", method="method")
    interval = pl.struct(lower="low", upper="high", confidence_level="level", method="method")
    both = pl.col("low").is_not_null() & pl.col("high").is_not_null()
    return pl.struct(
        standard_error=pl.when(pl.col("se").is_not_null()).then(error),
        confidence_interval=pl.when(both).then(interval),
        num_samples="cases",
    ).alias("uncertainty")


def _read_json(path: Path, _: Table) -> tuple[pl.DataFrame, dict[str, str]]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    types = {column["name"]: column["type"] for column in document["columns"]}
    schema = {name: WRITTEN[kind] for name, kind in types.items()}
    rows = [{name: row.get(name) for name in types} for row in document["rows"]]
    times = [name for name, dtype in schema.items() if isinstance(dtype, pl.Datetime)]
    plain = {name: pl.String() if name in times else schema[name] for name in types}
    old = pl.DataFrame(rows, schema=plain, orient="row", infer_schema_length=None)
    return old.with_columns(_moment(name) for name in times), types


READERS = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}
