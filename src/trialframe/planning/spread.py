"""The spread that a plan rests on, and the variance of a difference that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from typing import Any

from trialframe.errors import ArgumentError
from trialframe.planning.plan import CORRELATION

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Variance of one case's difference, by source.

    Attributes:
        between: Of the true difference over cases, clusters included; may be negative.
        noise: Of one trial of the baseline and of the candidate; NaN when unknown.
        observed: Of the difference at the pilot's own trials; None without a pilot.
        cases: Cases of the pilot, or None.
        clusters: Clusters of the pilot, None where cases are the units.
        df_per_case: Degrees of freedom a case adds.
        df_lost: Degrees of freedom taken off.
        design_effect: Variance over that of independent cases, at least 1.
        verdicts: Whether a single trial passes or fails and all cases weigh the same.
        discordance: Share of cases whose outcomes disagree, or None.
        discordance_words: Where that comes from.
        rate: Assumed rate of the baseline, or None.
        trials: Mean trials of a case and side of the pilot, or None.
        notes: Where the numbers come from, one text each.
        warnings: What makes them weak.
    """

    between: float
    noise: tuple[float, float]
    observed: float | None
    cases: int | None = None
    clusters: int | None = None
    df_per_case: float = 1.0
    df_lost: float = 1.0
    design_effect: float = 1.0
    verdicts: bool = True
    discordance: float | None = None
    discordance_words: str = "discordance"
    rate: float | None = None
    trials: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


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
    if spread.observed is None:
        return spread.design_effect * _assumed_variance(spread, plan, effect)
    if trials is None or trials == spread.trials == (1, 1):
        return spread.observed
    if isnan(spread.between) or any(isnan(noise) for noise in spread.noise):
        raise ArgumentError(
            "trials: this pilot does not separate trial noise from differences between cases. "
            "That takes a metric of single trials and cases with two trials or more. Leave "
            "trials= out, or leave out counts and give rate= and icc=."
        )
    noise = spread.noise[0] / trials[0] + spread.noise[1] / trials[1]
    return max(spread.between, 0.0) + float(noise)


def check_rates(spread: Spread, icc: float | None, effect: float) -> None:
    """Refuse assumed rates that cannot be, or that cannot disagree as is assumed."""
    if spread.rate is None:
        return
    other = spread.rate + effect
    if not 0.0 <= other <= 1.0:
        raise ArgumentError(f"rate + effect == {other:g}, must be in [0, 1].")
    most = min(spread.rate + other, 2.0 - spread.rate - other)
    if spread.discordance is not None and spread.discordance > most + _ROUNDING:
        raise ArgumentError(
            f"discordance == {spread.discordance:g}: sides that pass {spread.rate:g} and "
            f"{other:g} of their trials disagree in {most:.3g} of them at most."
        )
    if spread.discordance is None or icc is None:
        return
    least = sum((1.0 - icc) * rate * (1.0 - rate) for rate in (spread.rate, other)) + effect**2
    if spread.discordance < least - _ROUNDING:
        raise ArgumentError(
            f"discordance == {spread.discordance:g} is less than trial noise alone gives at "
            f"this rate and icc ({least:.3g}). Raise it, or raise icc, or leave icc out."
        )


def most_effect(spread: Spread) -> float:
    """The largest true difference that the assumptions leave room for."""
    most = 1.0 if spread.discordance is None else spread.discordance
    if spread.rate is None:
        return most
    room = 2.0 - 2.0 * spread.rate - (spread.discordance or 0.0)
    return max(min(most, 1.0 - spread.rate, room), 0.0)


def _assumed_variance(spread: Spread, plan: dict[str, Any], effect: float) -> float:
    k = plan["trials"] or (1, 1)
    check_rates(spread, plan["icc"], effect)
    disagree = None if spread.discordance is None else spread.discordance - effect**2
    if disagree is not None and disagree < abs(effect) - effect**2 - _ROUNDING:
        raise ArgumentError(
            f"effect == {effect:g} is more than discordance == {spread.discordance:g}: two sides "
            "cannot differ by more than they disagree."
        )
    if disagree is not None and plan["icc"] is None:
        if k != (1, 1):
            raise ArgumentError(
                "trials: with more than one trial a side, give rate= and icc= too: discordance= "
                "alone does not say how much of it is trial noise."
            )
        return disagree
    rate = spread.rate or 0.0
    totals = [p * (1.0 - p) for p in (rate, rate + effect)]
    noise = [(1.0 - plan["icc"]) * total for total in totals]
    means = [plan["icc"] * total for total in totals]
    if disagree is not None:
        between = disagree - sum(noise)
    else:
        share = CORRELATION if plan["correlation"] is None else plan["correlation"]
        between = sum(means) - 2.0 * share * sqrt(means[0] * means[1])
    return float(max(between, 0.0) + noise[0] / k[0] + noise[1] / k[1])
