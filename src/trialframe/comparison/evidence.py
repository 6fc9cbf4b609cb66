"""What only the trials can tell of a comparison: their order in time, what they share, the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.engine import source_of, sources, trial_rows
from trialframe.errors import ArgumentError
from trialframe.read._trials import joined
from trialframe.results import Result
from trialframe.schema import ONE_CONFIG

if TYPE_CHECKING:
    from collections.abc import Sequence

APART = 0.9
"""Share of pairs of trials in one order from which runs do not count as interleaved."""

WANTED = ("passed", "started_at", "seed", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Result):
    """Facts about the trials of two configs; None where the columns are missing.

    Attributes:
        started_later: Share of pairs of one trial each in which the candidate's started later.
        same_seed: Cases in which one config used a seed for more than one trial.
        same_context: Cases in which trials of one config shared a context.
        worst_run_baseline: Lowest pass rate of the baseline's complete runs.
        worst_run_candidate: Lowest pass rate of the candidate's complete runs.
    """

    started_later: float | None
    same_seed: int | None
    same_context: int | None
    worst_run_baseline: float | None
    worst_run_candidate: float | None


def evidence_of(
    trials: Any, baseline: str, candidate: str, cases: pl.Series, *, failing: bool
) -> Evidence:
    """Look at the trials behind a comparison.

    Args:
        trials: The trials that were counted, with canonical or usual column names.
        baseline: Its name.
        candidate: Its name.
        cases: The cases that are compared.
        failing: Whether trials without a verdict count as failures.

    Raises:
        ArgumentError: The table holds counts, not trials.
    """
    source = source_of(trials, {}, None)
    if source.plan.shape == "counts":
        raise ArgumentError("trials: this table has one row per case; give the trials themselves.")
    rows = trial_rows(source, WANTED)
    keys = {
        "config": _key("config", len(sources(source.plan, "config"))),
        "case": _key("case", len(sources(source.plan, "case"))),
    }
    compared = pl.col("config").is_in([baseline, candidate]) & pl.col("case").is_in(cases.implode())
    rows = rows.with_columns(**keys).filter(compared)
    if failing and "passed" in rows.columns:
        rows = rows.with_columns(pl.col("passed").fill_null(value=False))
    worst = [_worst_run(rows.filter(pl.col("config") == name)) for name in (baseline, candidate)]
    return Evidence(
        started_later=_started_later(rows, candidate),
        same_seed=_shared(rows, "seed"),
        same_context=_shared(rows, "context"),
        worst_run_baseline=worst[0],
        worst_run_candidate=worst[1],
    )


def _key(name: str, parts: int) -> pl.Expr:
    """The key as counts write it."""
    if parts > 1:
        return joined(tuple(f"{name}__{i}" for i in range(parts)))
    return pl.col(f"{name}__0") if parts else pl.lit(ONE_CONFIG)


def _started_later(rows: pl.DataFrame, candidate: str) -> float | None:
    """Mann-Whitney share of the start times, ties half."""
    if "started_at" not in rows.columns:
        return None
    known = rows.drop_nulls("started_at").with_columns(rank=pl.col("started_at").rank("average"))
    later = known.filter(pl.col("config") == candidate)["rank"]
    one, two = known.height - later.len(), later.len()
    if not one or not two:
        return None
    return (float(later.to_numpy().sum()) - two * (two + 1) / 2) / (one * two)


def _shared(rows: pl.DataFrame, name: str) -> int | None:
    if name not in rows.columns or not rows[name].count():
        return None
    known = rows.drop_nulls(name)
    repeated = known.filter(pl.struct("config", "case", name).is_duplicated())
    return repeated["case"].n_unique()


def _worst_run(rows: pl.DataFrame) -> float | None:
    """Lowest pass rate of the runs that have every case; None for fewer than two of them."""
    if "trial__0" not in rows.columns or "passed" not in rows.columns:
        return None
    cases = rows["case"].n_unique()
    runs = rows.drop_nulls("trial__0").group_by("trial__0")
    made = runs.agg(pl.col("passed").mean(), pl.col("case").n_unique(), rows=pl.len())
    complete = made.filter((pl.col("case") == cases) & (pl.col("rows") == cases))
    return _least(complete["passed"].drop_nulls().to_list())


def _least(rates: Sequence[float]) -> float | None:
    return min(rates) if len(rates) > 1 else None
