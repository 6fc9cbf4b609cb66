"""A table in the Iceberg format, in a catalog that is one SQLite file."""

from __future__ import annotations

import contextlib
import logging
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe._optional import require
from trialframe.errors import ArgumentError, ExportError
from trialframe.export.atomic import locked
from trialframe.export.evolve import missing_columns
from trialframe.export.job import merged
from trialframe.export.lakes import arrow_of, until_done

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from trialframe.export.job import Job

WORDS = {
    pl.String: "string",
    pl.Int64: "long",
    pl.Float64: "double",
    pl.Boolean: "boolean",
    pl.Datetime: "timestamptz",
}


def write(job: Job) -> None:
    """Commit the rows to an Iceberg table, in one change of its catalog.

    The catalog is called "trialframe" and keeps its data in a folder beside it.
    """
    if job.partition_by:
        raise ArgumentError("partition_by: an Iceberg table is made without partitions.")
    purpose = "exports to Iceberg"
    sql = require("pyiceberg.catalog.sql", extra="warehouse", purpose=purpose)
    errors = require("pyiceberg.exceptions", extra="warehouse", purpose=purpose)
    database = require("sqlalchemy.exc", extra="warehouse", purpose=purpose)
    conflicts = (errors.CommitFailedException, errors.TableAlreadyExistsError)
    url = require("sqlalchemy", extra="warehouse", purpose=purpose).URL
    path = job.target.place
    with locked(path), _quiet():
        try:
            catalog = sql.SqlCatalog(
                "trialframe",
                uri=url.create("sqlite", database=str(path)).render_as_string(),
                warehouse=_location(path.with_name(f"{path.stem}_warehouse")),
            )
            try:
                until_done(lambda: _write(catalog, job), conflicts)
            finally:
                catalog.close()
        except (errors.CommitFailedException, errors.NoSuchTableError) as error:
            raise ExportError(f"{job.target.shown}: Iceberg says: {error}.") from error
        except database.SQLAlchemyError as error:
            reason = str(error).partition("\n")[0]
            raise ExportError(f"{job.target.shown}: the catalog says: {reason}.") from error


def _location(folder: Path) -> str:
    """The folder as Iceberg writes it down: its files take what an address escapes as it is."""
    address = folder.as_uri()
    return str(folder) if "%" in address else address


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of deletes that match no row, and of tries that are repeated here."""
    log = logging.getLogger("pyiceberg")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _terms() -> Any:
    return require("pyiceberg.expressions", extra="warehouse", purpose="exports to Iceberg")


def _write(catalog: Any, job: Job) -> None:
    terms = _terms()
    data = arrow_of(job.frame, job.table, "doc")
    if not catalog.table_exists(job.name):
        catalog.create_namespace_if_not_exists(job.name[:-1])
        about = f"{job.table.meaning}; schema version {job.table.version}"
        with catalog.create_table_transaction(
            job.name, schema=data.schema, properties={"comment": about}
        ) as transaction:
            transaction.append(data)
        return
    table = catalog.load_table(job.name)
    added, fits = _checked(table, job)
    if not fits:
        _anew(table, data)
        return
    rows = {
        "append": terms.EqualTo("run_id", job.run_id),
        "upsert": terms.EqualTo("suite", job.suite),
    }
    where = rows.get(job.mode, terms.AlwaysTrue())
    old = None if job.mode == "replace" else pl.DataFrame(table.scan(row_filter=where).to_arrow())
    if old is not None:
        old = old.with_columns(pl.lit(None, column.dtype).alias(column.name) for column in added)
    with table.transaction() as transaction:
        if added:
            with transaction.update_schema() as change:
                change.union_by_name(data.schema)
        transaction.overwrite(arrow_of(merged(old, job), job.table, "doc"), where)


def _anew(table: Any, data: Any) -> None:
    """Other columns and only the new rows, in one commit."""
    with table.transaction() as transaction:
        transaction.delete(_terms().AlwaysTrue())
        with transaction.update_schema(allow_incompatible_changes=True) as change:
            for field in table.schema().fields:
                change.delete_column(field.name)
        with transaction.update_schema(allow_incompatible_changes=True) as change:
            change.union_by_name(data.schema)
        transaction.append(data)


def _checked(table: Any, job: Job) -> tuple[list[Any], bool]:
    """Columns to add, all of a later minor version, and whether the others fit."""
    existing = {field.name: str(field.field_type) for field in table.schema().fields}
    expected = {name: WORDS[dtype.base_type()] for name, dtype in job.table.schema.items()}
    versions: list[str] = []
    if "schema_version" in existing:
        found = table.scan(selected_fields=("schema_version",)).to_arrow()
        versions = found.column(0).unique().to_pylist()
    added = missing_columns(job, existing, expected, versions)
    return added, job.mode != "replace" or existing == expected
