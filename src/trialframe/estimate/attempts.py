"""Seq@k: the share of cases solved by the k-th sequential attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import counts
from trialframe.engine import source_of, sources, with_copies
from trialframe.errors import ColumnError, TrialsError
from trialframe.estimate.attempt_costs import beside, mean_of_cases, spending, spent_columns
from trialframe.kernels.attempts import gains, kaplan_meier, solved_by
from trialframe.kernels.intervals import t_interval
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from trialframe.counts import Counts
    from trialframe.read._fields import Columns


def seq_at_k(
    trials: Any,
    *,
    k: int | None = None,
    stopped: str = "unsolved",
    independent: Counts | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """Share of cases solved by attempt 1, 2, ..., k of sequences that stop at success.

    Not pass@k: later attempts see what went wrong before, and even the first may be told that
    there will be others. Compare the two only beside what they cost.

    Args:
        trials: One row per attempt, with an attempt column that counts from 1.
        k: Attempts to look at, >= 1; None for the longest sequence.
        stopped: What a sequence is that ended early without success: "unsolved" (stays
            unsolved), or "censored" (Kaplan-Meier, when it stopped for lack of budget; no
            interval).
        independent: Counts of independent trials of the same configs, to set pass@t and what t
            trials cost beside the curve.
        threshold: Pass when score >= threshold.
        level: Nominal coverage, in (0, 1).
        **columns: Where each canonical column is.

    Returns:
        One row per config and attempt with the columns of `tr.summary` (metric "seq@t"), then
        "seq_gain" (last minus first), and "early_gain_share" and "late_gain_share": how much
        of the gain the second and the last attempt bring (null without a gain). Where tokens or
        costs are known, "seq_tokens@t" and "seq_cost_uusd@t": what a sequence has spent by
        attempt t, on average. With `independent`, "pass@t", "pass_tokens@t" and
        "pass_cost_uusd@t".

    Raises:
        ColumnError: There is no attempt column.
        TrialsError: Attempts of a sequence that do not count 1, 2, 3, ... or repeat.

    Notes:
        A case's value is the mean over its sequences; the interval is that of the mean over
        cases with clusters as units, clipped to [0, 1]. An attempt without a verdict did not
        solve the case, and is counted in `unscored`.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x", "y", "z"], "attempt": [1, 2, 1, 1]}
        >>> rows["passed"] = [False, True, True, False]
        >>> tr.seq_at_k(rows)["value"].round(3).to_list()[:2]
        [0.333, 0.667]
    """
    level = _checks.between(level, "level", inclusive=False)
    censored = _checks.one_of(stopped, "stopped", ("unsolved", "censored")) == "censored"
    wanted = None if k is None else _checks.integer(k, "k", low=1)
    sequences = _sequences(trials, threshold, columns)
    most = wanted or int(sequences.select(pl.col("length").max()).item())
    rows: list[dict[str, Any]] = []
    for key, part in sequences.group_by("config", maintain_order=True):
        base = {"config": key[0], "unit": "share", "level": level, "estimand": "cases"}
        made = _censored(part, most) if censored else _carried(part, most, level)
        curve = np.array([row["value"] for row in made])
        names = ("seq_gain", "early_gain_share", "late_gain_share")
        rest = [{"metric": n, "value": v} for n, v in zip(names, gains(curve), strict=True)]
        facts = {
            "cases": part["case"].n_unique(),
            "trials": part.height,
            "dropped": 0,
            "unscored": int(part["unscored"].sum()),
        }
        spent = spending(part, most, level)
        rows += [base | facts | {"method": "count"} | row for row in (*made, *rest, *spent)]
        if independent is not None:
            rows += beside(independent, str(key[0]), most, level)
    table = pl.DataFrame(rows, schema={c.name: c.dtype for c in SUMMARY}, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _sequences(trials: Any, threshold: float | None, columns: Mapping[str, Any]) -> pl.DataFrame:
    """One row per (config, case, trial): its length, when it was solved, its cluster."""
    source = source_of(trials, columns, threshold)
    if not sources(source.plan, "attempt"):
        raise ColumnError("seq@k needs a column that counts attempts from 1. Name it: attempt=...")
    # copies under names of their own: a column called "case" could not be kept beside the key
    copies = {
        f"_{name}_{i}": old
        for name in ("case", "trial", "attempt")
        for i, old in enumerate(sources(source.plan, name))
    }
    named: dict[str, Any] = {k: k if isinstance(v, pl.Expr) else v for k, v in columns.items()}
    cell = {"case": list(copies), "trial": None, "attempt": None, "weight": None, "outcome": None}
    frame = with_copies(source, copies)
    made = counts(frame, threshold=threshold, **{**named, **cell}).frame
    if "cluster" not in made.columns:
        made = made.with_columns(cluster=pl.lit(None, pl.String))
    number = pl.col("_attempt_0").cast(pl.Int64, strict=False)
    table = made.group_by("config", *(c for c in copies if c != "_attempt_0")).agg(
        number.max().alias("length"),
        (number.n_unique() == number.max()).alias("whole"),
        number.min().alias("first"),
        (pl.col("n") + pl.col("unscored")).max().alias("rows"),
        number.filter(pl.col("c") > 0).min().fill_null(0).alias("solved_at"),
        pl.col("unscored").sum(),
        pl.col("cluster").first(),
        *(value.sort_by(number).alias(name) for name, value in spent_columns(made).items()),
    )
    case = pl.concat_str([name for name in copies if name.startswith("_case")], separator=" | ")
    table = table.with_columns(case=case).sort("config", *table.columns[1 : len(copies)])
    _refuse_gaps(table)
    return table


def _refuse_gaps(table: pl.DataFrame) -> None:
    bad = table.filter(~(pl.col("whole") & (pl.col("first") == 1) & (pl.col("rows") == 1)))
    if bad.height:
        first = bad.row(0, named=True)
        raise TrialsError(
            f"{bad.height:,} sequences do not count their attempts 1, 2, 3, ... once each. First: "
            f"config {first['config']!r}, case {first['case']!r}. Number the attempts from 1, and "
            "name a trial column where a case has several sequences."
        )


def _carried(part: pl.DataFrame, most: int, level: float) -> list[dict[str, Any]]:
    """Sequences that ended without success stay unsolved."""
    solved = solved_by(part["solved_at"].to_numpy().astype(np.int64), most)
    fit = mean_of_cases(part, solved.astype(np.float64))
    interval = t_interval(fit.mean, fit.se, fit.df, level, bounds=(0.0, 1.0))
    return [
        {
            "metric": f"seq@{t + 1}",
            "k": t + 1,
            "value": float(fit.mean[t]),
            "se": float(fit.se[t]),
            "low": float(interval.low[t]),
            "high": float(interval.high[t]),
            "df": float(fit.df[t]),
            "clusters": int(fit.units[t]),
            "largest_share": float(fit.largest_share[t]),
            "method": "t-cr2",
        }
        for t in range(most)
    ]


def _censored(part: pl.DataFrame, most: int) -> list[dict[str, Any]]:
    """Sequences that ended without success are censored."""
    length = part["length"].to_numpy().astype(np.int64)
    solved_at = part["solved_at"].to_numpy().astype(np.int64)
    curve = kaplan_meier(length, solved_at, most)
    return [
        {"metric": f"seq@{t + 1}", "k": t + 1, "value": float(curve[t]), "method": "kaplan-meier"}
        for t in range(most)
    ]
