"""What a planned comparison rests on: the spread of a pilot, or assumptions in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe.comparison.pairs import paired, per_case
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError, did_you_mean, listed
from trialframe.estimate.metrics import cases_of
from trialframe.kernels import draws
from trialframe.kernels.means import clustered_mean
from trialframe.planning.plan import ASSUMED, CORRELATION
from trialframe.planning.spread import Spread

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from trialframe.estimate.metrics import Cases, Request

    Floats = NDArray[np.float64]

CLUSTERS = 10
FREEDOM = 5.0
"""Clusters and degrees of freedom below which a design effect is mostly chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Spread of one value per case.

    Attributes:
        total: Variance of the mean times cases, clusters included; at least that of independent
            cases, below which only chance takes it.
        noise: Part of it that is trial noise, NaN when unknown.
        one_trial: That part with one trial a case.
        df: Degrees of freedom.
        design_effect: What the data say it is over that of independent cases, below 1 too.
        clusters: Clusters, or None where cases are the units.
    """

    total: float
    noise: float
    one_trial: float
    df: float
    design_effect: float
    clusters: int | None


def spread_of(counts: Counts | None, plan: dict[str, Any]) -> Spread:
    """The spread behind a plan.

    Raises:
        ArgumentError: Assumptions that a pilot makes needless, or too few without a pilot.
        TrialsError: A pilot too small to have a spread.
    """
    if counts is None:
        return _assumed(plan)
    if not isinstance(counts, Counts):
        raise ArgumentError(
            f"counts is a {type(counts).__name__}, must be Counts from tr.counts(...), or None."
        )
    names = _sides(counts, plan["baseline"], plan["candidate"])
    allowed = ("correlation",) if len(names) == 1 else ()
    given = [name for name in ASSUMED if plan[name] is not None and name not in allowed]
    if given:
        raise ArgumentError(
            f"{listed(given)}: the pilot tells that already. Leave it out, or leave out counts."
        )
    request = per_case(plan["metric"])
    two = len(names) > 1
    return (
        _from_two(counts, names, request, plan) if two else _from_one(counts, names, request, plan)
    )


def _sides(counts: Counts, baseline: str | None, candidate: str | None) -> tuple[str, ...]:
    if candidate is not None and baseline is None:
        raise ArgumentError("candidate is given without baseline. Name both, or one as baseline.")
    if baseline is not None:
        names = tuple(name for name in (baseline, candidate) if name is not None)
        if len(set(names)) < len(names):
            raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
        counts.select(*names)
        return names
    if len(counts.configs) > len(("baseline", "candidate")):
        raise ArgumentError(
            f"the pilot holds {len(counts.configs)} configs. Name baseline= and candidate=, or "
            f"baseline= alone. {did_you_mean('', counts.configs)}"
        )
    return tuple(counts.configs)


def _from_two(
    counts: Counts, names: tuple[str, ...], request: Request, plan: dict[str, Any]
) -> Spread:
    pairs = paired(
        counts,
        names[0],
        names[1],
        request,
        clusters=plan["units"] == "clusters",
        short=plan["short"],
    )
    frame = pairs.frame
    values = [request.metric.values(side, request, plan["short"]) for side in pairs.shared]
    known = ~np.isnan(values[0]) & ~np.isnan(values[1]) & (pairs.shared[0].weight > 0)
    sides = [
        one_sided(side, value, request, known)
        for side, value in zip(pairs.shared, values, strict=True)
    ]
    both = spread_of_mean(pairs.shared[0], values[1] - values[0], known)
    _refuse_too_few(frame.height, both.df)
    share, words = _discordance(frame, single=plan["trials"] == (1, 1))
    notes = [f"spread of {names[1]} minus {names[0]} in {frame.height} shared cases of the pilot"]
    return Spread(
        between=both.total - sides[0].noise - sides[1].noise,
        noise=(sides[0].one_trial, sides[1].one_trial),
        observed=both.total,
        cases=frame.height,
        clusters=both.clusters,
        df_per_case=1.0 if both.clusters is None else both.df / frame.height,
        df_lost=1.0 if both.clusters is None else 0.0,
        design_effect=max(both.design_effect, 1.0),
        warnings=_few_clusters(both),
        verdicts=_verdicts(request, pairs.shared[0], known),
        discordance=share,
        discordance_words=words,
        trials=(_mean(frame["n_baseline"]), _mean(frame["n_candidate"])),
        notes=(*notes, *_cluster_note(both)),
    )


def _from_one(
    counts: Counts, names: tuple[str, ...], request: Request, plan: dict[str, Any]
) -> Spread:
    frame = counts.select(*names).frame
    cases = cases_of(frame, clusters=plan["units"] == "clusters")
    value = request.metric.values(cases, request, plan["short"])
    known = ~np.isnan(value) & (cases.weight > 0)
    one = one_sided(cases, value, request, known)
    size = int(known.sum())
    _refuse_too_few(size, one.df)
    default = plan["correlation"] is None
    share = CORRELATION if default else plan["correlation"]
    noise = 0.0 if isnan(one.noise) else one.noise
    what = "case values" if isnan(one.noise) else "case rates"
    notes = [
        f"spread of {names[0]} in {size} cases of the pilot",
        f"assumed: the other config spreads as much, its {what} correlate at {share:g}"
        + (" (the default)" if default else ""),
    ]
    between = 2.0 * (1.0 - share) * (one.total - noise)
    mean = float(cases.n[known].mean())
    return Spread(
        between=between if not isnan(one.noise) else float("nan"),
        noise=(one.one_trial, one.one_trial),
        observed=between + 2.0 * noise,
        cases=size,
        clusters=one.clusters,
        df_per_case=1.0 if one.clusters is None else one.df / size,
        df_lost=1.0 if one.clusters is None else 0.0,
        design_effect=max(one.design_effect, 1.0),
        warnings=_few_clusters(one),
        verdicts=_verdicts(request, cases, known),
        trials=(mean, mean),
        notes=(*notes, *_cluster_note(one)),
    )


def one_sided(cases: Cases, value: Floats, request: Request, known: Any) -> Measured:
    """Spread of one config's values, with the part that is trial noise."""
    made = spread_of_mean(cases, value, known)
    if request.metric.variance is None or (request.k or 1) > 1:
        return made
    measure = cases.measures.get(request.metric.name)
    n = (cases.n if measure is None else measure[0])[known].astype(np.float64)
    variance = request.metric.variance(cases, request)[known]
    several = ~np.isnan(variance)
    freedom = float((n[several] - 1.0).sum())
    if freedom <= 0:
        return made
    within = float((variance[several] * n[several] * (n[several] - 1.0)).sum() / freedom)
    squares = (cases.weight[known] / cases.weight[known].sum()) ** 2 * len(n)
    return replace(
        made,
        noise=within * float((squares / n).sum()),
        one_trial=within * float(squares.sum()),
    )


def spread_of_mean(cases: Cases, value: Floats, known: Any) -> Measured:
    """Variance of a mean over cases, times the cases, and what clusters add to it."""
    column, weight = value[known][:, None], cases.weight[known]
    cluster = None if cases.cluster is None else cases.cluster[known]
    fit, plain = clustered_mean(column, weight, cluster), clustered_mean(column, weight)
    alone = float(plain.se[0]) ** 2
    total = float(fit.se[0]) ** 2
    return Measured(
        total=max(total, alone) * int(known.sum()),
        noise=float("nan"),
        one_trial=float("nan"),
        df=float(fit.df[0]),
        design_effect=1.0 if cluster is None or alone == 0 else total / alone,
        clusters=None if cluster is None else len(np.unique(cluster)),
    )


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean())


def _verdicts(request: Request, cases: Cases, known: Any) -> bool:
    """Whether one trial passes or fails and every case weighs the same."""
    weight = cases.weight[known]
    return request.name in {"pass@1", "pass^1"} and bool((weight == weight[0]).all())


def _discordance(frame: pl.DataFrame, *, single: bool) -> tuple[float, str]:
    """Share of cases whose outcomes disagree, and where it comes from.

    Args:
        frame: The pairs, with n and c of both sides.
        single: Whether one trial a side makes the outcome, not the majority of the pilot's.
    """
    n, c = (
        [frame[f"{name}_{side}"].to_numpy() for side in ("baseline", "candidate")] for name in "nc"
    )
    if single and max(n[0].max(), n[1].max()) > 1:
        a, b = (passed / tried for passed, tried in zip(c, n, strict=True))
        return float((a + b - 2.0 * a * b).mean()), "discordance of single trials"
    a, b = (draws.majority(tried, passed) for passed, tried in zip(c, n, strict=True))
    return (int((a ^ b).sum()) + 1) / (frame.height + 2), "discordance (b + c + 1)/(n + 2)"


def _cluster_note(made: Measured) -> list[str]:
    if made.clusters is None:
        return []
    seen = f"clusters: the variance is {made.design_effect:.2f} times that of independent cases"
    seen += f" (CR2, {made.clusters:,} clusters, {made.df:.3g} degrees of freedom)"
    if made.design_effect < 1.0:
        seen += ", which only chance brings below 1, so it is planned as 1"
    return [f"{seen}; new cases come in clusters like those of the pilot"]


def _few_clusters(made: Measured) -> tuple[str, ...]:
    if made.clusters is None or (made.clusters >= CLUSTERS and made.df >= FREEDOM):
        return ()
    told = f"{made.clusters:,} clusters with {made.df:.3g} degrees of freedom say little about what"
    return (f"{told} clusters add to the variance: the plan can be far off",)


def _refuse_too_few(cases: int, df: float) -> None:
    if isnan(df):
        raise TrialsError(
            f"the pilot has {cases} cases in fewer than two independent units, so it shows no "
            "spread. Plan from assumptions instead: rate= and icc=, or discordance=."
        )


def _assumed(plan: dict[str, Any]) -> Spread:
    """The spread from keywords alone."""
    rate, icc, discordance = plan["rate"], plan["icc"], plan["discordance"]
    named = [name for name in ("baseline", "candidate") if plan[name] is not None]
    if named:
        raise ArgumentError(f"{listed(named)}: there are no counts to find it in.")
    _refuse_half(plan)
    effect = plan["design_effect"] or 1.0
    notes = [] if effect == 1.0 else [f"assumed design effect {effect:g}"]
    if discordance is not None:
        notes.append(f"assumed discordance {discordance:g}")
    if rate is not None:
        notes.append(f"assumed rate {rate:g}" + ("" if icc is None else f", icc {icc:g}"))
    if rate is not None and discordance is None:
        share = CORRELATION if plan["correlation"] is None else plan["correlation"]
        notes.append(f"assumed correlation of case rates {share:g}")
    return Spread(
        between=float("nan"),
        noise=(float("nan"), float("nan")),
        observed=None,
        design_effect=effect,
        df_per_case=1.0 / effect,
        discordance=discordance,
        rate=rate,
        notes=tuple(notes),
    )


def _refuse_half(plan: dict[str, Any]) -> None:
    """Refuse assumptions that say too little, or two things at once."""
    rate, icc, discordance = plan["rate"], plan["icc"], plan["discordance"]
    if rate is None and icc is not None:
        raise ArgumentError("give rate= too, or leave icc= out: without a rate it says nothing.")
    if rate is not None and icc is None and discordance is None:
        raise ArgumentError(
            "rate= alone does not say how far two configs disagree: give icc= too (share of a "
            "trial's variance between cases), or discordance= (of single trials)."
        )
    if rate is None and discordance is None and plan["test"] != "mcnemar":
        raise ArgumentError(
            "without a pilot, give rate= and icc=, or discordance= (of single trials), or both."
        )
    if plan["correlation"] is None:
        return
    if rate is None:
        raise ArgumentError("correlation needs rate= and icc=, and no discordance=.")
    if discordance is not None:
        raise ArgumentError(
            "give correlation= or discordance=, not both: one follows from the other."
        )
