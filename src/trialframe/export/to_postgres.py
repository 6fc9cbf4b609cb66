"""A table in PostgreSQL, through its ADBC driver."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe._optional import require
from trialframe.errors import ExportError, short
from trialframe.export.database import STAGED, put
from trialframe.export.ddl import literal
from trialframe.export.targets import without_password

if TYPE_CHECKING:
    from trialframe.export.job import Job


LONGEST = 63
"""Bytes of a name."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A connection to a PostgreSQL server."""

    connection: Any
    dialect: str = "postgres"

    def columns(self, name: tuple[str, ...]) -> dict[str, str]:
        """Names and types of a table's columns."""
        where = f"table_name = {literal(name[-1], self.dialect)} AND table_schema = "
        where += literal(name[0], self.dialect) if len(name) > 1 else "current_schema()"
        query = (
            "SELECT column_name::text, data_type::text FROM information_schema.columns "  # noqa: S608
            f"WHERE {where} ORDER BY ordinal_position"
        )
        return {str(column): str(kind) for column, kind in self.rows(query)}

    def run(self, statement: str) -> None:
        """Execute a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def stage(self, frame: pl.DataFrame) -> None:
        """Copy the rows into a temporary table, which goes with the connection."""
        with self.connection.cursor() as cursor:
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            cursor.adbc_ingest(STAGED, table, mode="create", temporary=True)


def write(job: Job) -> None:
    """Put the rows into a table of a PostgreSQL server, in one transaction.

    Exports to one table wait for each other: a lock that ends with the transaction.
    """
    purpose = "exports to PostgreSQL"
    dbapi = require("adbc_driver_postgresql.dbapi", extra="warehouse", purpose=purpose)
    _refuse_null_characters(job)
    _refuse_long_names(job)
    told = None
    try:
        with contextlib.closing(dbapi.connect(job.target.address)) as connection:
            database = Postgres(connection)
            lock = literal(".".join(("trialframe", *job.name)), "postgres")
            database.rows(f"SELECT pg_advisory_xact_lock(hashtextextended({lock}, 0))::text")
            put(database, job)
            connection.commit()
    except dbapi.Error as error:
        text = " ".join(str(error).split())
        told = without_password(text.rpartition(": ERROR: ")[2], job.target)
    if told is not None:  # outside, so that the error of the driver is not shown beside it
        raise ExportError(f"{job.target.shown}: {told.rstrip('.')}. Nothing was written.")


def _refuse_long_names(job: Job) -> None:
    """PostgreSQL would cut a long name, and two tables could become one."""
    for name in job.name:
        if len(name.encode()) > LONGEST:
            raise ExportError(
                f"{job.target.shown}: the name {short(name)} has {len(name.encode())} bytes, and "
                f"PostgreSQL keeps {LONGEST}. Choose a shorter one. Nothing was written."
            )


def _refuse_null_characters(job: Job) -> None:
    for column in job.frame.select(pl.col(pl.String)):
        if column.str.contains("\x00", literal=True).any():
            raise ExportError(
                f"{job.target.shown}: PostgreSQL takes no null characters, and there are some in "
                f"{column.name!r}. Replace them first. Nothing was written."
            )
