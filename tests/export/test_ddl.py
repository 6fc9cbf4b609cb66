"""The definitions of the tables are SQL that databases take, and say what a column means."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError
from trialframe.export.ddl import TYPES, literal, quoted, statements
from trialframe.warehouse import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

ODD = 'a "b" `c`; DROP'


def test_sqlite_takes_them() -> None:
    connection = sqlite3.connect(":memory:")
    for table in TABLES.values():
        connection.executescript(tr.ddl(table.name, "sqlite"))
        columns = connection.execute(
            'SELECT name, "notnull", pk FROM pragma_table_info(?)', [table.name]
        )
        found = columns.fetchall()
        assert [name for name, _, _ in found] == table.schema.names()
        assert {n for n, needed, _ in found if needed} == {
            c.name for c in table.columns if not c.nullable
        }
        keys = [name for name, _, _ in sorted((r for r in found if r[2]), key=lambda r: r[2])]
        assert keys == ["run_id", *table.key]
    connection.executescript(tr.ddl("items", "sqlite", name=ODD))
    assert connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = ?", [ODD]
    ).fetchone()[0]
    connection.close()


def test_duckdb_takes_them(require: Callable[[str], Any]) -> None:
    duckdb = require("duckdb")
    with duckdb.connect() as connection:
        for table in TABLES.values():
            connection.execute(tr.ddl(table.name, "duckdb"))
            found = connection.execute(
                "SELECT column_name, is_nullable, comment FROM duckdb_columns() "
                "WHERE table_name = ? ORDER BY column_index",
                [table.name],
            ).fetchall()
            assert [name for name, _, _ in found] == table.schema.names()
            for (_, nullable, comment), column in zip(found, table.columns, strict=True):
                assert nullable == column.nullable
                assert column.meaning in comment
                assert column.unit in comment
        connection.execute(tr.ddl("items", "duckdb", name=ODD))
        assert connection.execute(f"SELECT count(*) FROM {quoted(ODD, 'duckdb')}").fetchone() == (
            0,
        )


def test_postgres_takes_them(postgres: str, require: Callable[[str], Any]) -> None:
    require("adbc_driver_manager")
    dbapi = require("adbc_driver_postgresql.dbapi")
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:  # never committed
        for table in TABLES.values():
            for statement in statements(table, "postgres", (table.name,)):
                cursor.execute(statement)
            cursor.execute(
                "SELECT a.attname::text, a.attnotnull, col_description(a.attrelid, a.attnum) "
                f"FROM pg_attribute a WHERE a.attrelid = {literal(table.name, 'postgres')}"
                "::regclass AND a.attnum > 0 ORDER BY a.attnum"
            )
            found = cursor.fetchall()
            assert [row[0] for row in found] == table.schema.names()
            for (_, needed, comment), column in zip(found, table.columns, strict=True):
                assert needed != column.nullable
                assert column.meaning in comment
                assert column.unit in comment
        for statement in statements(TABLES["items"], "postgres", (ODD,)):
            cursor.execute(statement)


@pytest.mark.parametrize("dialect", TYPES)
@pytest.mark.parametrize("table", TABLES)
def test_every_dialect_names_every_column_once_with_its_unit(table: str, dialect: str) -> None:
    text = tr.ddl(table, dialect, name="evals.x")
    contract = TABLES[table]
    body = text.partition("COMMENT ON")[0]
    for column in contract.columns:
        name = re.escape(quoted(column.name, dialect))
        assert len(re.findall(rf"^  {name}[ ,]", body, flags=re.MULTILINE)) == 1
        assert column.unit in text
    mark = quoted("evals", dialect) + "." + quoted("x", dialect)
    assert f"CREATE TABLE IF NOT EXISTS {mark} (" in text
    assert contract.version in text
    assert text.endswith(";\n")


def test_other_parsers_take_the_dialects(require: Callable[[str], Any]) -> None:
    sqlglot = require("sqlglot")
    known = {
        "bigquery": "bigquery",
        "snowflake": "snowflake",
        "spark": "spark",
        "delta": "databricks",
    }
    for dialect, name in known.items():
        for table in TABLES:
            (tree,) = sqlglot.parse(tr.ddl(table, dialect), dialect=name)
            columns = [c.name for c in tree.find_all(sqlglot.exp.ColumnDef)]
            assert columns == TABLES[table].schema.names()
            words = {c.args["kind"].sql(dialect=name) for c in tree.find_all(sqlglot.exp.ColumnDef)}
            assert len(words) >= 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("estimate", "postgres"), "Did you mean 'estimates'"),
        (("estimates", "oracle"), "Available: 'postgres', 'duckdb'"),
    ],
)
def test_unknown_words_say_what_there_is(options: tuple[str, str], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        tr.ddl(*options)


@pytest.mark.parametrize("name", ["", "a.", ".", "a\x00b"])
def test_bad_names(name: str) -> None:
    with pytest.raises(ArgumentError, match="must be the name of a table"):
        tr.ddl("counts", "duckdb", name=name)


@pytest.mark.parametrize("dialect", TYPES)
def test_texts_are_quoted(dialect: str) -> None:
    text = literal("it's a \\ back", dialect)
    assert text.startswith("'")
    assert "it\\'s" in text or "it''s" in text
    assert pl.Series([text]).str.count_matches(r"\\\\").item() == (
        dialect not in {"postgres", "duckdb", "sqlite"}
    )
