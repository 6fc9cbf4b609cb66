"""What log formats are known, and which of them a file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import ArgumentError, did_you_mean, short
from trialframe.read._outline import head_of
from trialframe.read._take import unit

if TYPE_CHECKING:
    from pathlib import Path

    from trialframe.read._log import LogFormat

TABLE = "table"
"""The word for plain tables."""


def log_format(name: str) -> LogFormat | None:
    """The format of that name; None for tables, plain or exported.

    Raises:
        ArgumentError: There is none.
    """
    from trialframe.read._formats import EVERY, LOGS, TABLES

    if name == TABLE or any(item.name == name for item in TABLES):
        return None
    found = next((item for item in LOGS if item.name == name), None)
    if found is None:
        names = [TABLE, *(item.name for item in EVERY)]
        raise ArgumentError(f"format == {short(name)}. {did_you_mean(str(name), names)}")
    return found


def recognised(path: Path) -> LogFormat | None:
    """The format of a file, None when it is no log that is known.

    Raises:
        SourceError: It is an archive that cannot be opened.
    """
    from trialframe.read._formats import LOGS

    head = head_of(path)
    return next((item for item in LOGS if item.recognise(head)), None)


def formats(name: str | None = None) -> pl.DataFrame:
    """List the log formats that `tr.read` knows, or the columns that one of them gives.

    Args:
        name: A format; None for all.

    Returns:
        Without a name one row a format: `format`, `tool`, `files`, `trial` (where the number of
        a trial comes from), `metric` (what `metric=` chooses). With a name one row a column:
        `column`, `source` (its place in the log), `unit` of the column, `note`.

    Raises:
        ArgumentError: There is no such format.

    Examples:
        >>> import trialframe as tr
        >>> tr.formats("tau-bench").select("column", "source").row(1)
        ('case', '[].task_id')
    """
    from trialframe.read._formats import EVERY

    if name is not None:
        log_format(name)
    found = next((item for item in EVERY if item.name == name), None)
    if found is not None:
        rows = [(t.column, t.path or "made", unit(t.column), t.note) for t in found.fields]
        return pl.DataFrame(rows, schema=["column", "source", "unit", "note"], orient="row")
    every = [(f.name, f.title, f.files, f.trial, f.metric) for f in EVERY]
    return pl.DataFrame(every, schema=["format", "tool", "files", "trial", "metric"], orient="row")
