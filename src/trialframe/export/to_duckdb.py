"""A table in a DuckDB file."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialframe._optional import require
from trialframe.errors import ExportError
from trialframe.export.atomic import locked, replacing
from trialframe.export.database import STAGED, put
from trialframe.export.ddl import quoted

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from trialframe.export.job import Job


@dataclass(frozen=True, slots=True)
class DuckDB:
    """A connection to a DuckDB file."""

    connection: Any
    dialect: str = "duckdb"

    def columns(self, name: tuple[str, ...]) -> dict[str, str]:
        """Names and types of a table's columns."""
        query = (
            "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = "
            "current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index"
        )
        schema = name[0] if len(name) > 1 else "main"
        return dict(self.connection.execute(query, [schema, name[-1]]).fetchall())

    def run(self, statement: str) -> None:
        """Execute a statement."""
        self.connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return list(self.connection.execute(query).fetchall())

    def stage(self, frame: pl.DataFrame) -> None:
        """Make the rows readable without copying them."""
        self.connection.register(STAGED, frame.to_arrow())


def write(job: Job) -> None:
    """Put the rows into a table of a DuckDB file, in one transaction.

    A new file is made under a hidden name: a killed export leaves no half of a database.
    """
    duckdb = require("duckdb", extra="duckdb", purpose="exports to DuckDB")
    path = job.target.place
    with locked(path), contextlib.ExitStack() as stack:
        file = path if path.exists() else stack.enter_context(replacing(path))
        try:
            _write(duckdb, file, job)
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise ExportError(
                f"{job.target.shown}: DuckDB says: {reason}. Nothing was written."
            ) from error


def _write(duckdb: Any, file: Path, job: Job) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.begin()
        if len(job.name) > 1:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(job.name[0], 'duckdb')}")
        put(DuckDB(connection), job)
        connection.commit()
        if file != job.target.place:  # rows in the log beside a draft would be lost with its name
            connection.execute("CHECKPOINT")
