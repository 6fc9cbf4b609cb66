"""The pass rate of each run of a suite, and how much it moves from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Policy, counts
from trialframe.engine import refuse_made_runs, source_of, sources
from trialframe.errors import ColumnError
from trialframe.kernels.intervals import t_interval
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from typing import Unpack

    from trialframe.read._fields import Columns


FEW_RUNS = 5


def run_summary(
    trials: Any,
    *,
    unscored: Policy = "exclude",
    threshold: float | None = None,
    level: float = 0.95,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """Pass rate of a config as the mean over its runs, with the standard error over runs.

    A run is one trial number of every case. This is the plus-minus of boards that repeat a
    whole suite: it holds what changes from run to run, trial noise and shared shocks such as
    a bad day of a provider, and nothing about other cases. With few runs it is itself very
    uncertain. Do not use it when the trial number means nothing (made from row order).

    Args:
        trials: One row per trial, any table that `tr.counts` takes.
        unscored: "exclude", "fail" or "raise".
        threshold: Pass when score >= threshold.
        level: Nominal coverage, in (0, 1).
        **columns: Where each canonical column is; a trial column is needed.

    Returns:
        One row per config with the columns of `tr.summary`; `clusters` is the number of runs R.

    Raises:
        ColumnError: There is no trial column.
        TrialsError: The trial numbers were made from the order of a log (`trial_made`).

    Notes:
        r_t is the mean over cases of the verdicts of run t; value = mean of r_t,
        se = sd(r_t) / sqrt(R), interval value +- t_{R-1} se, clipped to [0, 1].

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "y"] * 2, "trial": [0, 0, 1, 1]}
        >>> rows["passed"] = [True, False, True, True]
        >>> tr.run_summary(rows).select("value", "se", "clusters").rows()
        [(0.75, 0.25, 2)]
    """
    level = _checks.between(level, "level", inclusive=False)
    source = source_of(trials, columns, threshold)
    plan = source.plan
    run = sources(plan, "trial")
    if not run:
        raise ColumnError("the standard error over runs needs a trial column. Name it: trial=...")
    refuse_made_runs(source, "they are no runs of the suite")
    cell: dict[str, Any] = {**columns, "case": [*sources(plan, "case"), *run], "trial": None}
    cell |= {"cluster": None, "weight": None}
    cells = counts(trials, unscored=unscored, threshold=threshold, **cell)
    rate = (pl.col("c").sum() / pl.col("n").sum()).alias("rate")
    sums = pl.col("n", "unscored").sum(), pl.col("n").count().alias("cases")
    failed = pl.col("unscored_failed") if "unscored_failed" in cells.frame.columns else pl.lit(0)
    runs = (
        cells.frame.with_columns(_failed=failed)
        .group_by("config", *run)
        .agg(rate, *sums, pl.col("_failed").sum())
        .filter(pl.col("n") > 0)
        .sort("config", *run)
    )
    parts = runs.group_by("config", maintain_order=True)
    rows = [_row(key[0], part, level) for key, part in parts]
    return pl.DataFrame(rows, schema={c.name: c.dtype for c in SUMMARY}, orient="row")


def _row(config: object, runs: pl.DataFrame, level: float) -> dict[str, Any]:
    rates = runs["rate"].to_numpy()
    total = runs.select(pl.col("n", "unscored", "_failed").sum(), pl.col("cases").max())
    trials, unscored, failed, cases = (int(number) for number in total.row(0))
    count = len(rates)
    se = float(np.std(rates, ddof=1) / np.sqrt(count)) if count > 1 else None
    row: dict[str, Any] = {
        "config": config,
        "metric": "pass@1",
        "k": 1,
        "unit": "share",
        "value": float(rates.mean()),
        "se": se,
        "level": level,
        "estimand": "runs",
        "method": "t-runs",
        "cases": cases,
        "trials": trials,
        "clusters": count,
        "dropped": 0,
        "unscored": unscored + failed,
        "coverage": (trials - failed) / (trials + unscored),
        "warnings": "; ".join(_warnings(runs)),
    }
    if se is not None:
        interval = t_interval(row["value"], se, count - 1, level)
        row |= {"df": float(count - 1), "low": max(0.0, float(interval.low))}
        row |= {"high": min(1.0, float(interval.high))}
    return row


def _warnings(runs: pl.DataFrame) -> list[str]:
    found = []
    if runs.height < FEW_RUNS:
        found.append(f"few runs: {runs.height}")
    if runs["cases"].n_unique() > 1:
        found.append("runs differ in their cases")
    return found
