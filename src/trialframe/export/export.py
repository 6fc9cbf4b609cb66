"""Results as versioned tables of a warehouse."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, ExportError, short
from trialframe.export.ddl import name_parts
from trialframe.export.job import MODES, Job
from trialframe.export.recognise import rows_of
from trialframe.export.rows import conformed
from trialframe.export.stamp import instant, named_run, run_id_of, settings_of, stamped
from trialframe.export.targets import DATABASES, target_of
from trialframe.results import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import datetime

    from trialframe.export.targets import Target

WRITERS = {
    "parquet": "to_file",
    "csv": "to_file",
    "json": "to_file",
    "hive": "to_hive",
    "duckdb": "to_duckdb",
    "sqlite": "to_sqlite",
    "postgresql": "to_postgres",
    "delta": "to_delta",
    "iceberg": "to_iceberg",
}
PARTITIONED = ("hive", "delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Result):
    """What was written.

    Attributes:
        table: The table of the contract.
        target: Where it is, without a password.
        name: Name of the table there.
        mode: "append", "replace" or "upsert".
        rows: Rows of this export.
        run_id: The run they carry.
        settings_hash: The settings they carry.
        schema_version: The version of the contract.
        created_at: The time they carry, in UTC.
    """

    table: str
    target: str
    name: str
    mode: str
    rows: int
    run_id: str
    settings_hash: str
    schema_version: str
    created_at: datetime


def export(
    result: Any,
    target: str | os.PathLike[str],
    *,
    mode: str = "append",
    table: str | None = None,
    name: str | None = None,
    suite: str = "default",
    run_id: str | None = None,
    created_at: datetime | str | None = None,
    partition_by: str | Sequence[str] | None = None,
) -> Exported:
    """Write a result as rows of a versioned table: a file, a folder, a database, a lake.

    Do not use it for a file that people read (`trialframe summary --output` writes those), nor
    with one `run_id` for different data: the rows that a run wrote before give way.

    Args:
        result: What `tr.counts`, `tr.summary`, `tr.run_summary`, `tr.leaderboard`, `tr.compare`,
            `tr.compare_all`, `tr.gate`, `tr.gate_policy`, `tr.fit_irt`, `tr.audit` or
            `tr.check_trials` returned, or a list of such results of one table. Regressions need
            columns `baseline` and `candidate` beside their own.
        target: A file that ends in .parquet, .csv, .json, .duckdb or .sqlite; a folder with a
            slash at its end (Parquet in Hive folders); "sqlite:FILE", "duckdb:FILE",
            "delta:FOLDER", "iceberg:CATALOG.db" (an SQLite file, the data in a folder beside
            it); "postgresql://USER:PASSWORD@HOST/DATABASE?schema=SCHEMA". "{table}" in it
            stands for the table.
        mode: "append": rows of other runs stay; those that this run wrote with these settings
            (configs and metrics among them) give way, so that running a job again changes
            nothing. "replace": only the new rows stay. "upsert": rows with the same key give
            way, whichever run wrote them.
        table: "counts", "estimates", "comparisons", "decisions", "items" or "findings"; None to
            tell by the type or the columns.
        name: Name of the table in a database, schema or namespace in front with a dot; None for
            the name of the table.
        suite: What was evaluated; part of every key, so that one table holds many suites.
        run_id: Name of the run; None for a hash of rows and settings, the same for the same job.
        created_at: Time of the export with a time zone; None for now.
        partition_by: Columns that make the folders of a Hive or Delta table; None for "config"
            or its kin in Hive folders, and none in Delta.

    Returns:
        What was written, with run id and settings hash.

    Raises:
        ArgumentError: An unknown result, target, mode, table, name or partition.
        ColumnError: A repeated key, or null where the table allows none.
        ExportError: What is there is no such table or of another version, or the database says
            no. Nothing was written then.
        ImportError: The extra that the target needs is not installed.

    Notes:
        An export happens whole or not at all: files and folders take the place of the old ones in
        one step after they are on disk, databases in one transaction, Delta and Iceberg in one
        commit. Exports to the same place wait for each other. NaN and infinity become null. A
        table of an older minor version gets the new columns; any other difference is an error
        that names the columns. `trialframe.warehouse.TABLES` holds the contracts, `tr.ddl` says
        them in SQL.

    Examples:
        >>> import tempfile, polars as pl, trialframe as tr
        >>> counts = tr.counts(tr.simulate(configs=["a", "b"], cases=20, trials=3, seed=1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = tr.export(tr.summary(counts), f"{folder}/estimates.parquet", run_id="mon")
        ...     again = tr.export(tr.summary(counts), f"{folder}/estimates.parquet", run_id="mon")
        ...     table = pl.read_parquet(f"{folder}/estimates.parquet")
        >>> done.rows == again.rows == table.height, table["run_id"].unique().to_list()
        (True, ['mon'])
    """
    _checks.one_of(mode, "mode", MODES)
    if not isinstance(suite, str) or not suite.strip() or "\x00" in suite:
        raise ArgumentError(
            f"suite == {short(suite)}, must be a text that names what was evaluated."
        )
    moment = instant(created_at)
    found = rows_of(result, table)
    place = target_of(target, found.table.name)
    frame = conformed(found, suite)
    settings, digest = settings_of(found.table, suite, found.settings)
    run = named_run(run_id, run_id_of(frame, digest))
    job = Job(
        table=found.table,
        frame=stamped(frame, found.table, run, moment, (settings, digest)),
        mode=mode,
        run_id=run,
        settings_hash=digest,
        suite=suite,
        target=place,
        name=_name(name, place, found.table.name),
        partition_by=_partitions(partition_by, place),
    )
    _write(job)
    return Exported(
        table=found.table.name,
        target=place.shown,
        name=".".join(job.name),
        mode=mode,
        rows=frame.height,
        run_id=run,
        settings_hash=digest,
        schema_version=found.table.version,
        created_at=moment,
    )


def _write(job: Job) -> None:
    """Hand the job to its target; what the system says is said in our words."""
    try:
        importlib.import_module(f"trialframe.export.{WRITERS[job.target.kind]}").write(job)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ExportError(
            f"{job.target.shown} cannot be written: {reason}. The table is as it was before: mend "
            "that, or choose another target, and export again."
        ) from error


def _name(name: str | None, place: Target, table: str) -> tuple[str, ...]:
    """The name of the table in a database, with its schema or namespace in front if it has one."""
    if name is not None and place.kind not in DATABASES:
        raise ArgumentError(
            f"name == {short(name)}, but {place.shown} holds one table without a name: leave name "
            "out, or name the file itself."
        )
    parts = name_parts(name.replace("{table}", table) if isinstance(name, str) else name, table)
    if len(parts) > 2:
        raise ArgumentError(
            f"name == {short(name)}: at most one schema and the table, as in 'a.b'."
        )
    if len(parts) == 2 and place.schema:
        raise ArgumentError(
            f"name == {short(name)}, and the address has a schema: give one of them."
        )
    if len(parts) == 1 and place.schema:
        return (place.schema, *parts)
    return ("trialframe", *parts) if len(parts) == 1 and place.kind == "iceberg" else parts


def _partitions(given: str | Sequence[str] | None, place: Target) -> tuple[str, ...] | None:
    if given is None:
        return None
    if place.kind not in PARTITIONED:
        raise ArgumentError(
            f"partition_by: {place.shown} has no folders. Use it with Hive folders or delta:FOLDER."
        )
    names = _checks.names(given, "partition_by")
    if not names:
        raise ArgumentError("partition_by names no column.")
    return names
