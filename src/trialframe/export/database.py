"""What all databases share: the statements of an export, one transaction around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from trialframe.export.ddl import full_name, literal, quoted, statements, type_of
from trialframe.export.evolve import missing_columns

if TYPE_CHECKING:
    from typing import Any

    import polars as pl

    from trialframe.export.job import Job

STAGED = "trialframe_staged"
"""Temporary table or view with the rows of the export."""


class Database(Protocol):
    """A connection within a transaction."""

    @property
    def dialect(self) -> str:
        """The dialect of `tr.ddl`."""

    def columns(self, name: tuple[str, ...]) -> dict[str, str]:
        """Names and types of a table's columns; empty when there is no such table."""

    def run(self, statement: str) -> None:
        """Execute a statement."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def stage(self, frame: pl.DataFrame) -> None:
        """Make the rows readable as `STAGED`."""


def put(database: Database, job: Job) -> None:
    """Bring the table up to date and put the rows in; the caller commits.

    Raises:
        ExportError: The table that is there does not fit.
    """
    dialect, full = database.dialect, full_name(job.name, database.dialect)
    existing = database.columns(job.name)
    if existing:
        expected = {column.name: type_of(column, dialect) for column in job.table.columns}
        known = "schema_version" in existing
        query = f"SELECT DISTINCT {quoted('schema_version', dialect)} FROM {full}"  # noqa: S608
        versions = [row[0] for row in database.rows(query)] if known else []
        for column in missing_columns(job, existing, expected, versions):
            added = f"{quoted(column.name, dialect)} {type_of(column, dialect)}"
            database.run(f"ALTER TABLE {full} ADD COLUMN {added}")
        if job.mode == "replace" and existing != expected:
            database.run(f"DROP TABLE {full}")
            existing = {}
    if not existing:
        for statement in statements(job.table, dialect, job.name):
            database.run(statement)
    database.stage(job.frame)
    for statement in _changes(job, dialect, full):
        database.run(statement)


def _changes(job: Job, dialect: str, full: str) -> list[str]:
    """What goes and what comes, in the words of `trialframe.export.job.merged`."""
    keys = ", ".join(quoted(name, dialect) for name in job.table.key)
    every = ", ".join(quoted(name, dialect) for name in job.frame.columns)
    same = f"({keys}) IN (SELECT {keys} FROM {STAGED})"  # noqa: S608
    run = f"{quoted('run_id', dialect)} = {literal(job.run_id, dialect)}"
    ours = f"{quoted('settings_hash', dialect)} = {literal(job.settings_hash, dialect)}"
    going = {
        "append": [f" WHERE {run} AND {ours}", f" WHERE {run} AND {same}"],
        "upsert": [f" WHERE {same}"],
        "replace": [""],
    }
    insert = f"INSERT INTO {full} ({every}) SELECT {every} FROM {STAGED}"  # noqa: S608
    return [*(f"DELETE FROM {full}{rows}" for rows in going[job.mode]), insert]  # noqa: S608
