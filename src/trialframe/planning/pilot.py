"""What a planned comparison rests on: the spread of a pilot, or assumptions in its place."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe.comparison.pairs import paired, per_case
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError, did_you_mean, listed
from trialframe.estimate.metrics import cases_of
from trialframe.kernels import draws
from trialframe.kernels.means import clustered_mean
from trialframe.planning.plan import ASSUMED, CORRELATION

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from trialframe.estimate.metrics import Cases, Request

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Variance of one case's difference, by source.

    Attributes:
        between: Of the true difference over cases, clusters included; may be negative.
        noise: Of one trial of the baseline and of the candidate; NaN when unknown.
        observed: Of the difference at the pilot's own trials; None without a pilot.
        cases: Cases of the pilot, or None.
        df_per_case: Degrees of freedom a case adds.
        df_lost: Degrees of freedom taken off.
        design_effect: Variance over that of independent cases.
        discordance: Share of cases whose outcomes disagree, or None.
        rate: Assumed rate of the baseline, or None.
        trials: Mean trials of a case and side of the pilot, or None.
        notes: Where the numbers come from, one text each.
    """

    between: float
    noise: tuple[float, float]
    observed: float | None
    cases: int | None = None
    df_per_case: float = 1.0
    df_lost: float = 1.0
    design_effect: float = 1.0
    discordance: float | None = None
    rate: float | None = None
    trials: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Spread of one value per case.

    Attributes:
        total: Variance of the mean times cases, clusters included.
        noise: Part of it that is trial noise, NaN when unknown.
        one_trial: That part with one trial a case.
        df: Degrees of freedom.
        design_effect: `total` over what independent cases would have.
    """

    total: float
    noise: float
    one_trial: float
    df: float
    design_effect: float


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
    a, b = (
        draws.majority(frame[f"n_{s}"].to_numpy(), frame[f"c_{s}"].to_numpy())
        for s in ("baseline", "candidate")
    )
    notes = [f"spread of {names[1]} minus {names[0]} in {frame.height} shared cases of the pilot"]
    return Spread(
        between=both.total - sides[0].noise - sides[1].noise,
        noise=(sides[0].one_trial, sides[1].one_trial),
        observed=both.total,
        cases=frame.height,
        df_per_case=both.df / frame.height if both.design_effect != 1.0 else 1.0,
        df_lost=0.0 if both.design_effect != 1.0 else 1.0,
        design_effect=both.design_effect,
        discordance=(int((a ^ b).sum()) + 1) / (frame.height + 2),
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
        df_per_case=one.df / size if one.design_effect != 1.0 else 1.0,
        df_lost=0.0 if one.design_effect != 1.0 else 1.0,
        design_effect=one.design_effect,
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
    return Measured(
        total=made.total,
        noise=within * float((squares / n).sum()),
        one_trial=within * float(squares.sum()),
        df=made.df,
        design_effect=made.design_effect,
    )


def spread_of_mean(cases: Cases, value: Floats, known: Any) -> Measured:
    """Variance of a mean over cases, times the cases, and what clusters add to it."""
    column, weight = value[known][:, None], cases.weight[known]
    cluster = None if cases.cluster is None else cases.cluster[known]
    fit, plain = clustered_mean(column, weight, cluster), clustered_mean(column, weight)
    alone = float(plain.se[0]) ** 2
    total = float(fit.se[0]) ** 2
    return Measured(
        total=total * int(known.sum()),
        noise=float("nan"),
        one_trial=float("nan"),
        df=float(fit.df[0]),
        design_effect=1.0 if cluster is None or alone == 0 else total / alone,
    )


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean())


def _cluster_note(made: Measured) -> list[str]:
    if made.design_effect == 1.0:
        return []
    told = f"clusters: the variance is {made.design_effect:.2f} times that of independent cases"
    told += f" (CR2, {made.df:.3g} degrees of freedom)"
    return [f"{told}, and new cases come in clusters like those of the pilot"]


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
    effect = plan["design_effect"] or 1.0
    notes = [] if effect == 1.0 else [f"assumed design effect {effect:g}"]
    if discordance is not None:
        notes.append(f"assumed discordance {discordance:g}")
    if plan["test"] == "mcnemar":
        return Spread(
            between=0.0,
            noise=(0.0, 0.0),
            observed=None,
            discordance=discordance,
            notes=tuple(notes),
        )
    if (rate is None) != (icc is None) or (rate is None and discordance is None):
        raise ArgumentError(
            "without a pilot, give rate= and icc=, or discordance= (of single trials), or both."
        )
    if rate is not None:
        notes.append(f"assumed rate {rate:g}, icc {icc:g}")
        if discordance is None:
            share = plan["correlation"]
            told = CORRELATION if share is None else share
            notes.append(f"assumed correlation of case rates {told:g}")
    elif plan["correlation"] is not None:
        raise ArgumentError("correlation needs rate= and icc=, and no discordance=.")
    if rate is not None and discordance is not None and plan["correlation"] is not None:
        raise ArgumentError(
            "give correlation= or discordance=, not both: one follows from the other."
        )
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


def variance_of(spread: Spread, plan: dict[str, Any], effect: float) -> float:
    """Variance of one case's difference in the planned design.

    Args:
        spread: What is known or assumed.
        plan: The checked plan.
        effect: Difference to find: assumptions about rates depend on it.

    Raises:
        ArgumentError: The pilot cannot say what other numbers of trials do, or the assumptions
            contradict each other.
    """
    trials = plan["trials"]
    if spread.observed is not None:
        if trials is None:
            return spread.observed
        if isnan(spread.between) or any(isnan(noise) for noise in spread.noise):
            raise ArgumentError(
                "trials: this pilot does not separate trial noise from differences between cases. "
                "That takes a metric of single trials and cases with two trials or more. Leave "
                "trials= out, or leave out counts and give rate= and icc=."
            )
        noise = spread.noise[0] / trials[0] + spread.noise[1] / trials[1]
        return max(spread.between, 0.0) + float(noise)
    return spread.design_effect * _assumed_variance(spread, plan, effect)


def _assumed_variance(spread: Spread, plan: dict[str, Any], effect: float) -> float:
    k = plan["trials"] or (1, 1)
    disagree = None if spread.discordance is None else spread.discordance - effect**2
    if disagree is not None and disagree < abs(effect) - effect**2 - 1e-12:
        raise ArgumentError(
            f"effect == {effect:g} is more than discordance == {spread.discordance:g}: two sides "
            "cannot differ by more than they disagree."
        )
    if spread.rate is None:
        if k != (1, 1):
            raise ArgumentError("trials: with more than one trial a side, give rate= and icc= too.")
        return disagree or 0.0
    other = spread.rate + effect
    if not 0.0 <= other <= 1.0:
        raise ArgumentError(f"rate + effect == {other:g}, must be in [0, 1].")
    totals = [rate * (1.0 - rate) for rate in (spread.rate, other)]
    noise = [(1.0 - plan["icc"]) * total for total in totals]
    means = [plan["icc"] * total for total in totals]
    share = CORRELATION if plan["correlation"] is None else plan["correlation"]
    between = sum(means) - 2.0 * share * sqrt(means[0] * means[1])
    if disagree is not None:
        between = disagree - sum(noise)
        if between < -1e-12:
            raise ArgumentError(
                f"discordance == {spread.discordance:g} is less than trial noise alone gives at "
                f"this rate and icc ({sum(noise) + effect**2:.3g}). Raise it, or raise icc."
            )
    return float(max(between, 0.0) + noise[0] / k[0] + noise[1] / k[1])
