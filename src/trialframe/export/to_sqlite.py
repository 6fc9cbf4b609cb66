"""A table in an SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ExportError
from trialframe.export.database import STAGED, put
from trialframe.export.ddl import quoted
from trialframe.export.targets import refuse_missing_folder
from trialframe.export.to_file import MOMENT

if TYPE_CHECKING:
    from trialframe.export.job import Job

PATIENCE = 600.0
"""Seconds to wait for another export that writes to the same file."""


@dataclass(frozen=True, slots=True)
class SQLite:
    """A connection to an SQLite file."""

    connection: sqlite3.Connection
    dialect: str = "sqlite"

    def columns(self, name: tuple[str, ...]) -> dict[str, str]:
        """Names and declared types of a table's columns."""
        query = "SELECT name, type FROM pragma_table_info(?)"
        return dict(self.connection.execute(query, [name[-1]]).fetchall())

    def run(self, statement: str) -> None:
        """Execute a statement."""
        self.connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.execute(query).fetchall()

    def stage(self, frame: pl.DataFrame) -> None:
        """Copy the rows into a temporary table, whose columns have no type and keep every bit."""
        names = ", ".join(quoted(name, self.dialect) for name in frame.columns)
        self.run(f"CREATE TEMPORARY TABLE {STAGED} ({names})")
        marks = ", ".join("?" * frame.width)
        texts = frame.with_columns(pl.col(pl.Datetime).dt.strftime(MOMENT))
        insert = f"INSERT INTO {STAGED} VALUES ({marks})"  # noqa: S608
        self.connection.executemany(insert, texts.iter_rows())


def write(job: Job) -> None:
    """Put the rows into a table of an SQLite file, in one transaction."""
    path, shown = job.target.place, job.target.shown
    if len(job.name) > 1:
        raise ExportError(
            f"{shown}: SQLite has no schemas: give a name without a dot, not {'.'.join(job.name)}."
        )
    refuse_missing_folder(path)
    try:
        with contextlib.closing(
            sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            put(SQLite(connection), job)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise ExportError(f"{shown}: SQLite says: {error}. Nothing was written.") from error
