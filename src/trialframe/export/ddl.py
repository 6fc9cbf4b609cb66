"""Definitions of the warehouse tables in the SQL of several databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, short
from trialframe.warehouse import INSTANT, TABLES

if TYPE_CHECKING:
    from trialframe.schema import Column
    from trialframe.warehouse import Table

_KINDS = (pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), INSTANT)


def _types(*names: str) -> dict[pl.DataType, str]:
    return dict(zip(_KINDS, names, strict=True))


TYPES: dict[str, dict[pl.DataType, str]] = {
    "postgres": _types("text", "bigint", "double precision", "boolean", "timestamp with time zone"),
    "duckdb": _types("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP WITH TIME ZONE"),
    # a REAL column of SQLite turns -0.0 into 0.0; one without a type keeps every bit
    "sqlite": _types("TEXT", "INTEGER", "", "BOOLEAN", "TEXT"),
    "bigquery": _types("STRING", "INT64", "FLOAT64", "BOOL", "TIMESTAMP"),
    "snowflake": _types("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP_TZ(6)"),
    "spark": _types("STRING", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP"),
    "delta": _types("STRING", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP"),
}
"""The type of a column by dialect. Polars types are hashed by what they are, not by name."""

TICKED = ("bigquery", "spark", "delta")
"""Dialects that quote names with backticks."""

KEYED = {
    "postgres": "PRIMARY KEY ({})",
    "sqlite": "PRIMARY KEY ({})",
    "bigquery": "PRIMARY KEY ({}) NOT ENFORCED",
    "snowflake": "PRIMARY KEY ({})",
}
"""Dialects where a key costs little; DuckDB would keep an index of all of it in memory."""


def ddl(table: str, dialect: str, *, name: str | None = None) -> str:
    """The statements that make a table of `tr.export`, units and meanings as comments.

    Do not use it before `tr.export`, which makes its tables by itself; use it where tables are
    made by a migration, or to read the contract.

    Args:
        table: "counts", "estimates", "comparisons", "decisions", "items" or "findings".
        dialect: "postgres", "duckdb", "sqlite", "bigquery", "snowflake", "spark" or "delta".
        name: Name of the table, schema in front with a dot; None for that of the table.

    Returns:
        SQL, each statement with a semicolon at its end.

    Raises:
        ArgumentError: An unknown table or dialect, or a name that cannot be one.

    Notes:
        The key of a row is `run_id` and the key of its table. In PostgreSQL, SQLite, BigQuery
        and Snowflake it is the primary key; elsewhere the comment of the table says it.

    Examples:
        >>> import trialframe as tr
        >>> print(tr.ddl("findings", "duckdb").partition("COMMENT")[0])
        CREATE TABLE IF NOT EXISTS "findings" (
          "suite" VARCHAR NOT NULL,
          "source" VARCHAR NOT NULL,
          "rule" VARCHAR NOT NULL,
          "severity" VARCHAR NOT NULL,
          "rows" BIGINT,
          "examples" VARCHAR,
          "remedy" VARCHAR,
          "schema_version" VARCHAR NOT NULL,
          "run_id" VARCHAR NOT NULL,
          "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
          "package_version" VARCHAR NOT NULL,
          "settings_hash" VARCHAR NOT NULL,
          "settings" VARCHAR NOT NULL
        );
    """
    contract = TABLES[_checks.one_of(table, "table", TABLES)]
    _checks.one_of(dialect, "dialect", TYPES)
    parts = name_parts(name, contract.name)
    return "\n".join(f"{statement};" for statement in statements(contract, dialect, parts)) + "\n"


def name_parts(name: str | None, default: str) -> tuple[str, ...]:
    """The parts of a dotted table name.

    Raises:
        ArgumentError: No text, an empty part, or a null character.
    """
    if name is None:
        return (default,)
    parts = tuple(name.split(".")) if isinstance(name, str) else ()
    if not all(part.strip() for part in parts) or not parts or "\x00" in name:
        raise ArgumentError(
            f"name == {short(name)}, must be the name of a table, as in 'estimates' or "
            "'evals.estimates'."
        )
    return parts


def quoted(name: str, dialect: str) -> str:
    """A name as an identifier."""
    if dialect in TICKED:
        text = name.replace("\\", "\\\\") if dialect == "bigquery" else name
        mark = "\\`" if dialect == "bigquery" else "``"
        return f"`{text.replace('`', mark)}`"
    return '"' + name.replace('"', '""') + '"'


def full_name(parts: tuple[str, ...], dialect: str) -> str:
    """A table name, every part quoted."""
    return ".".join(quoted(part, dialect) for part in parts)


def literal(text: str, dialect: str) -> str:
    """A text as a SQL literal."""
    if dialect in TICKED:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if dialect == "snowflake":
        text = text.replace("\\", "\\\\")
    return "'" + text.replace("'", "''") + "'"


def type_of(column: Column, dialect: str) -> str:
    """The type of a column in a dialect."""
    dtype = column.dtype() if isinstance(column.dtype, type) else column.dtype
    return TYPES[dialect][dtype]


def statements(table: Table, dialect: str, name: tuple[str, ...]) -> list[str]:
    """CREATE TABLE and, where comments are statements of their own, those."""
    key = ("run_id", *table.key)
    about = f"{table.meaning}; schema version {table.version}; key: {', '.join(key)}"
    full = full_name(name, dialect)
    lines = [_line(column, dialect) for column in table.columns]
    if dialect in KEYED:
        lines.append((KEYED[dialect].format(", ".join(quoted(k, dialect) for k in key)), ""))
    ends = [","] * (len(lines) - 1) + [""]
    body = "\n".join(f"  {text}{end}{more}" for (text, more), end in zip(lines, ends, strict=True))
    create = f"CREATE TABLE IF NOT EXISTS {full} (\n{body}\n)"
    if dialect in OWN_COMMENTS:
        comments = [f"COMMENT ON TABLE {full} IS {literal(about, dialect)}"]
        for column in table.columns:
            place = f"{full}.{quoted(column.name, dialect)}"
            comments.append(f"COMMENT ON COLUMN {place} IS {literal(_told(column), dialect)}")
        return [create, *comments]
    if dialect == "sqlite":
        return [f"-- {about}\n{create}"]
    if dialect == "bigquery":
        return [f"{create}\nOPTIONS (description = {literal(about, dialect)})"]
    using = "\nUSING DELTA" if dialect == "delta" else ""
    sign = " = " if dialect == "snowflake" else " "
    return [f"{create}{using}\nCOMMENT{sign}{literal(about, dialect)}"]


OWN_COMMENTS = ("postgres", "duckdb")
"""Dialects where a comment is a statement of its own."""


def _told(column: Column) -> str:
    return f"{column.meaning} ({column.unit})" if column.unit else column.meaning


def _line(column: Column, dialect: str) -> tuple[str, str]:
    """A column, and what follows the comma after it."""
    text = f"{quoted(column.name, dialect)} {type_of(column, dialect)}".rstrip()
    text += "" if column.nullable else " NOT NULL"
    told = _told(column)
    if dialect == "sqlite":
        real = "real: " if column.dtype == pl.Float64 else ""
        return text, f"  -- {real}{told}"
    if dialect == "bigquery":
        return f"{text} OPTIONS (description = {literal(told, dialect)})", ""
    return (
        (text, "") if dialect in OWN_COMMENTS else (f"{text} COMMENT {literal(told, dialect)}", "")
    )
