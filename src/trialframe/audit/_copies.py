"""Runs that are copies of other runs, told from runs that agree by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from trialframe.audit._inspect import CONTENT, Finding, Inspection, named

if TYPE_CHECKING:
    from collections.abc import Iterator

CLOCKS = ("duration_ms", "started_at")
"""No two real runs share these over several rows, however deterministic the system."""

SPENDING = ("tokens_out", "cost_uusd")
"""Real runs of a deterministic system may share these."""

DISTINCT = 5
"""A measure tells runs apart when it takes at least this many values in one run."""

MANY_CASES = 50
MINORITY = 10
"""Without measures, equal verdicts are reported from this many cases, so many of each kind."""

NEARLY = 0.8
"""Share of cases with an equal clock from which a run is a copy that was changed."""

MANY_ALIKE = 20
"""A clock that so many trials of a case share tells no runs apart."""

RUN = ("config", "trial")


def copied_runs(data: Inspection) -> Iterator[Finding]:
    """Runs (config, trial) whose rows all equal those of another run of the config."""
    if data.plan.shape == "counts" or not data.has("trial"):
        return
    sets = sets_of_copies(data.trials)
    for severity, advice in _ADVICE.items():
        found = sets.filter(severity=severity).sort("config", "first")
        if found.height:
            yield Finding(
                rule="copied_run",
                severity=severity,
                rows=int((found["size"] * (found["runs"] - 1)).sum()),
                examples=named(found, ["config"], "trials {trials}, {size} rows each"),
                advice=advice,
            )


def sets_of_copies(trials: pl.DataFrame) -> pl.DataFrame:
    """Sets of runs of one config whose rows are equal.

    Args:
        trials: Trials with config, case, trial and what else `CONTENT` names.

    Returns:
        One row a set: `config, set, runs, size, first, trials`, at most six of its trial
        numbers, and `severity`: "error", "warning", or null where chance explains it.
    """
    content = [name for name in CONTENT if name in trials]
    more = [name for name in ("trial_made",) if name in trials]
    rows = trials.lazy().select(*RUN, *content, *more).drop_nulls(RUN)
    rows = rows.with_columns(mark=pl.struct(content).hash() % 2**40)
    runs = rows.group_by(RUN).agg(size=pl.len().cast(pl.Int64), mark=pl.col("mark").sum())
    alike = ("config", "size", "mark")
    same = runs.filter(pl.len().over(alike) > 1).collect().rename({"mark": "set"})
    members = rows.join(same.lazy(), on=RUN).collect()
    sets = _proven(same, members, content)
    return sets.join(_evidence(members), on=("config", "set"))


_ADVICE: dict[Literal["error", "warning"], str] = {
    "error": "Keep one of each set of copies: a copy is no new trial, it only narrows intervals.",
    "warning": "A deterministic system repeats itself exactly, and so does a copied file: find "
    "out which it is. Either way these rows are no independent trials.",
}


def _proven(same: pl.DataFrame, members: pl.DataFrame, content: list[str]) -> pl.DataFrame:
    """Sets of runs with equal fingerprints whose rows are equal indeed."""
    sets = same.group_by("config", "set").agg(
        runs=pl.len().cast(pl.Int64),
        size=pl.col("size").first(),
        first=pl.col("trial").min(),
        trials=pl.col("trial").sort().head(6),
    )
    each = members.group_by("config", "set", *content).agg(
        rows=pl.len(), found=pl.col("trial").n_unique()
    )
    each = each.join(sets, on=("config", "set"))
    equal = (pl.col("found") == pl.col("runs")) & (pl.col("rows") % pl.col("runs") == 0)
    wrong = each.filter(~equal).select("config", "set").unique()
    return sets.join(wrong, on=("config", "set"), how="anti")


def _evidence(members: pl.DataFrame) -> pl.DataFrame:
    """How much chance can explain: "error", "warning" or null for each set of runs."""
    one = members.filter(pl.col("trial") == pl.col("trial").min().over("config", "set"))

    def varied(names: tuple[str, ...]) -> pl.Expr:
        known = [pl.col(n).drop_nulls().n_unique() >= DISTINCT for n in names if n in members]
        return pl.any_horizontal(known) if known else pl.lit(value=False)

    # numbers made from row order may be sorted by verdict: such runs agree by their making
    real = ~pl.col("trial_made").any() if "trial_made" in members else pl.lit(value=True)
    passes, fails = pl.col("passed").sum(), (~pl.col("passed")).sum()
    mixed = (pl.min_horizontal(passes, fails) >= MINORITY) & (
        pl.col("case").n_unique() >= MANY_CASES
    )
    facts = one.group_by("config", "set").agg(
        clock=varied(CLOCKS).first(), likely=((varied(SPENDING) | mixed) & real).first()
    )
    severity = pl.when("clock").then(pl.lit("error")).when("likely").then(pl.lit("warning"))
    return facts.select("config", "set", severity=severity)


def nearly_copied(trials: pl.DataFrame) -> pl.DataFrame:
    """Pairs of runs of one config that share the exact clock of nearly all their cases.

    Args:
        trials: Trials with config, case, trial and one of `CLOCKS`.

    Returns:
        One row a pair: `config, trial, trial_right, alike, cases`. Copies of which all is equal
        are pairs too.
    """
    found = []
    for clock in (name for name in CLOCKS if name in trials):
        rows = trials.select(*RUN, "case", clock).drop_nulls()
        same = rows.filter(pl.len().over("config", "case", clock).is_between(2, MANY_ALIKE))
        pairs = same.join(same, on=["config", "case", clock]).filter(
            pl.col("trial") < pl.col("trial_right")
        )
        alike = pairs.group_by("config", "trial", "trial_right").agg(
            alike=pl.col("case").n_unique(), values=pl.col(clock).n_unique()
        )
        sizes = rows.group_by(RUN).agg(cases=pl.col("case").n_unique())
        alike = alike.join(sizes, on=RUN)
        nearly = pl.col("alike") >= NEARLY * pl.col("cases")
        found.append(alike.filter(nearly & (pl.col("values") >= DISTINCT)).drop("values"))
    if not found:
        return pl.DataFrame()
    return (
        pl.concat(found)
        .unique(["config", "trial", "trial_right"], keep="first")
        .sort("config", "trial", "trial_right")
    )
