"""The log formats that can be read: add a new one to this list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import ArgumentError, did_you_mean, short
from trialframe.read import (
    aider,
    alpaca_eval,
    bfcl,
    braintrust,
    deepeval,
    evalplus,
    every_eval_ever,
    harbor,
    helm,
    human_eval,
    inspect_frame,
    inspect_log,
    judgebench,
    junit,
    langfuse,
    langsmith,
    livecodebench,
    lm_eval,
    metr,
    mlflow,
    openai_evals,
    promptfoo,
    pytest_report,
    reflexion,
    swe_bench,
    tau2_bench,
    tau2_judge,
    tau_bench,
    terminal_bench,
)
from trialframe.read._outline import head_of

if TYPE_CHECKING:
    from pathlib import Path

    from trialframe.read._log import LogFormat
    from trialframe.read._presets import TableFormat

LOGS: tuple[LogFormat, ...] = (
    inspect_log.FORMAT,
    junit.FORMAT,
    deepeval.FORMAT,
    promptfoo.FORMAT,
    pytest_report.FORMAT,
    tau_bench.FORMAT,
    swe_bench.FORMAT,
    terminal_bench.FORMAT,
    harbor.FORMAT,
    tau2_bench.FORMAT,
    tau2_judge.FORMAT,
    bfcl.FORMAT,
    livecodebench.FORMAT,
    alpaca_eval.FORMAT,
    judgebench.FORMAT,
    metr.FORMAT,
    reflexion.FORMAT,
    aider.FORMAT,
    every_eval_ever.FORMAT,
    helm.FORMAT,
    openai_evals.FORMAT,
    evalplus.FORMAT,
    human_eval.FORMAT,
    lm_eval.FORMAT,
)
"""Logs in files, in the order in which they are asked whether a file is theirs."""

TABLES: tuple[TableFormat, ...] = (
    inspect_frame.FORMAT,
    langsmith.FORMAT,
    braintrust.FORMAT,
    langfuse.FORMAT,
    mlflow.FORMAT,
)
"""Tables that platforms export."""

EVERY: tuple[LogFormat | TableFormat, ...] = (*LOGS, *TABLES)

TABLE = "table"
"""The word for plain tables."""


def log_format(name: str) -> LogFormat | None:
    """The format of that name; None for tables, plain or exported.

    Raises:
        ArgumentError: There is none.
    """
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
    from trialframe.read._take import unit

    if name is not None:
        log_format(name)
    found = next((item for item in EVERY if item.name == name), None)
    if found is not None:
        rows = [(t.column, t.path or "made", unit(t.column), t.note) for t in found.fields]
        return pl.DataFrame(rows, schema=["column", "source", "unit", "note"], orient="row")
    every = [(f.name, f.title, f.files, f.trial, f.metric) for f in EVERY]
    return pl.DataFrame(every, schema=["format", "tool", "files", "trial", "metric"], orient="row")
