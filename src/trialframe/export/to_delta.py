"""A table in the Delta format, each export one commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe._optional import require
from trialframe.errors import ExportError
from trialframe.export.atomic import locked
from trialframe.export.evolve import missing_columns
from trialframe.export.job import merged
from trialframe.export.lakes import arrow_of, until_done

if TYPE_CHECKING:
    from trialframe.export.job import Job

WORDS = {
    pl.String: "string",
    pl.Int64: "long",
    pl.Float64: "double",
    pl.Boolean: "boolean",
    pl.Datetime: "timestamp",
}


def write(job: Job) -> None:
    """Commit the rows to a Delta table; whoever commits in between makes it try again."""
    _refuse_what_delta_cannot_name(job)
    delta = require("deltalake", extra="warehouse", purpose="exports to Delta")
    errors = require("deltalake.exceptions", extra="warehouse", purpose="exports to Delta")
    with locked(job.target.place):
        try:
            until_done(lambda: _write(delta, job), (errors.CommitFailedError,))
        except errors.DeltaError as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ExportError(
                f"{job.target.shown}: Delta says: {reason}. Nothing was written."
            ) from error


def _refuse_what_delta_cannot_name(job: Job) -> None:
    found = re.search(r"%[0-9A-Fa-f]{2}|[\[\]^|\\\x00-\x1f\x7f]", job.target.place.as_posix())
    if found:
        raise ExportError(
            f"{job.target.shown}: Delta takes no {found[0]!r} in the name of a folder: choose "
            "another one. Nothing was written."
        )


def _write(delta: Any, job: Job) -> None:
    path = str(job.target.place)
    partitions = list(job.partition_by) if job.partition_by is not None else None
    if not delta.DeltaTable.is_deltatable(path):
        data = arrow_of(job.frame, job.table, "comment")
        about = f"{job.table.meaning}; schema version {job.table.version}"
        delta.write_deltalake(
            path, data, mode="error", partition_by=partitions, name=job.name[-1], description=about
        )
        return
    table = delta.DeltaTable(path)
    added = _checked(table, job)
    if job.mode == "replace":
        data = arrow_of(job.frame, job.table, "comment")
        delta.write_deltalake(table, data, mode="overwrite", schema_mode="overwrite")
        return
    name, value = ("run_id", job.run_id) if job.mode == "append" else ("suite", job.suite)
    old = _read(table, filters=[(name, "=", value)])
    old = old.with_columns(pl.lit(None, column.dtype).alias(column.name) for column in added)
    data = arrow_of(merged(old, job), job.table, "comment")
    delta.write_deltalake(
        table,
        data,
        mode="overwrite",
        predicate=f"{name} = '{value.replace(chr(39), 2 * chr(39))}'",
        schema_mode="merge" if added else None,
    )


def _read(table: Any, **options: Any) -> pl.DataFrame:
    """Rows of the table by its own reader: that of Polars escapes the names of folders twice."""
    return pl.DataFrame(table.to_pyarrow_table(**options))


def _checked(table: Any, job: Job) -> list[Any]:
    """Columns to add, all of a later minor version."""
    existing = {field.name: getattr(field.type, "type", "") for field in table.schema().fields}
    expected = {name: WORDS[dtype.base_type()] for name, dtype in job.table.schema.items()}
    versions: list[str] = []
    if "schema_version" in existing:
        versions = _read(table, columns=["schema_version"]).to_series().unique().to_list()
    return missing_columns(job, existing, expected, versions)
