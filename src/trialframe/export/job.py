"""One export: rows, where they go, and what happens to the rows that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from trialframe.export.targets import Target
    from trialframe.warehouse import Table

MODES = ("append", "replace", "upsert")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a target is to write.

    Attributes:
        table: The contract.
        frame: The rows with all columns of the contract, sorted by key.
        mode: "append", "replace" or "upsert".
        run_id: The run of all rows.
        settings_hash: The settings of all rows.
        suite: The suite of all rows.
        target: Where they go.
        name: Name of the table there, schema or namespace in front.
        partition_by: Columns that make folders.
    """

    table: Table
    frame: pl.DataFrame
    mode: str
    run_id: str
    settings_hash: str
    suite: str
    target: Target
    name: tuple[str, ...]
    partition_by: tuple[str, ...] | None = None


def merged(old: pl.DataFrame | None, job: Job) -> pl.DataFrame:
    """The table after the export.

    Appending replaces what this run wrote with these settings, and rows of this run with the
    same key; upserting replaces rows with the same key, whichever run wrote them.

    Args:
        old: The rows that are there, or those of them that may have to go.
        job: The export.
    """
    if old is None or job.mode == "replace":
        return job.frame
    keys = job.frame.select(job.table.key)
    kept = old.join(keys, on=job.table.key, how="anti", maintain_order="left")
    if job.mode == "append":
        ours = pl.col("run_id") == job.run_id
        others = old.filter(~ours)
        rest = kept.filter(ours & (pl.col("settings_hash") != job.settings_hash))
        kept = others if rest.is_empty() else pl.concat([others, rest])
    return pl.concat([kept.select(job.frame.columns), job.frame])
