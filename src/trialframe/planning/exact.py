"""Planning with McNemar's exact test: when it is the test to plan with, and its answers."""

from __future__ import annotations

from dataclasses import replace
from math import floor, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe.errors import ArgumentError
from trialframe.kernels.paired import mcnemar_mde, mcnemar_power
from trialframe.kernels.planning import mcnemar_cases
from trialframe.kernels.variance import cases_for
from trialframe.planning.pilot import spread_of
from trialframe.planning.spread import check_rates, most_effect, variance_of

if TYPE_CHECKING:
    from trialframe.counts import Counts
    from trialframe.planning.spread import Spread

MOST_CASES = 10_000_000
"""More cases than this are no plan."""

OPTIMISTIC = (
    "with one trial a side this promises more power than a verdict on the comparison has: 3 points "
    "too much with 500 cases, 10 with 50. Plan with the test auto or mcnemar"
)


def opened(counts: Counts | None, full: dict[str, Any]) -> tuple[dict[str, Any], Spread]:
    """The plan with the test that it comes to, and the spread behind it.

    Raises:
        ArgumentError: Assumptions that contradict each other, the pilot or the test.
        TrialsError: A pilot too small to have a spread.
    """
    asked, exact = full["test"], full["test"] == "mcnemar"
    if exact and full["trials"] not in {None, (1, 1)}:
        raise ArgumentError(
            "trials: McNemar's test looks at one outcome a side. With a pilot that is the "
            "majority of its trials; without, discordance= is of the outcomes you will have."
        )
    # which ignores clusters, so that what they add must not enter
    spread = spread_of(counts, full | {"units": "cases"} if exact else full)
    single = spread.verdicts and (full["trials"] or spread.trials or (1, 1)) == (1, 1)
    free = spread.clusters is None and spread.design_effect == 1.0
    if asked == "auto":
        full = full | {"test": "mcnemar" if single and free else "t"}
        if counts is None and full["trials"] is None:
            full["trials"] = (1, 1)
        why = "one trial a side and no clusters"
        if full["test"] == "t":
            why = "clustered cases" if single else "values that are not single verdicts"
        spread = replace(spread, notes=(*spread.notes, f"test: {full['test']}, for {why}"))
    elif single and free and not exact:
        spread = replace(spread, warnings=(*spread.warnings, OPTIMISTIC))
    if full["test"] != "mcnemar":
        return full, spread
    full["single"] = single and (counts is not None or full["rate"] is not None)
    return full, _without_clusters(spread, counts, full)


def _without_clusters(spread: Spread, counts: Counts | None, full: dict[str, Any]) -> Spread:
    """Say that McNemar's test takes cases as independent, where it was asked for."""
    clustered = counts is not None and "cluster" in counts.frame.columns
    if spread.design_effect == 1.0 and not (clustered and full["units"] == "clusters"):
        return spread
    told = "McNemar's test ignores the clusters: its level and power do not hold"
    return replace(spread, design_effect=1.0, warnings=(*spread.warnings, told))


def discordance_at(effect: float, spread: Spread, full: dict[str, Any]) -> float | None:
    """Probability that the outcomes of a case disagree when the true difference is `effect`.

    Of single trials it is the variance of one case's difference plus the square of its mean.
    """
    check_rates(spread, full["icc"], effect)
    if spread.discordance is not None or not full["single"]:
        return spread.discordance
    return min(variance_of(spread, full, effect) + effect**2, 1.0)


def exact_powers(
    effect: float, cases: int, spread: Spread, full: dict[str, Any]
) -> tuple[float | None, float | None]:
    """Two-sided power at the discordance, and when no case gets worse."""
    gap, alpha = abs(effect), full["alpha"]
    psi = discordance_at(effect, spread, full)
    best = None if gap > 1 else mcnemar_power(cases, 0.0, gap, alpha).two_sided
    if psi is None or gap > psi:
        return None, best
    return _power(cases, gap, psi, alpha), best


def exact_effects(
    cases: int, spread: Spread, full: dict[str, Any], target: float
) -> tuple[float | None, float | None]:
    """Smallest effect at the discordance, and when no case gets worse."""
    alpha, most = full["alpha"], most_effect(spread)
    best = _known(mcnemar_mde(cases, alpha, target))
    if spread.discordance is not None:
        found = _known(mcnemar_mde(cases, alpha, target, discordance=spread.discordance))
        return (None if found is None or found > most else found), best
    if not full["single"]:
        return None, best
    from scipy.optimize import brentq

    def shortfall(gap: float) -> float:
        return _power(cases, gap, discordance_at(gap, spread, full) or 0.0, alpha) - target

    most *= 1.0 - 1e-9
    if most <= 0 or shortfall(most) < 0:
        return None, best
    found = float(brentq(shortfall, 1e-12, most, xtol=1e-12))
    return (found if found <= (discordance_at(found, spread, full) or 0.0) else None), best


def exact_sizes(
    effect: float, spread: Spread, full: dict[str, Any], target: float
) -> tuple[int | None, int | None]:
    """Smallest number of cases at the discordance, and when no case gets worse."""
    gap, alpha = abs(effect), full["alpha"]
    psi = discordance_at(effect, spread, full)
    if gap > 1:
        return None, None
    best = _size(gap, gap, alpha, target)
    return (None if psi is None or gap > psi else _size(gap, psi, alpha, target)), best


def fewest_changes(alpha: float) -> int:
    """Cases that must change before McNemar's exact test can reject at all.

    Examples:
        >>> fewest_changes(0.05), fewest_changes(0.01)
        (6, 8)
    """
    return floor(log2(1.0 / alpha)) + 2


def _power(cases: int, gap: float, psi: float, alpha: float) -> float:
    lost = max((psi - gap) / 2.0, 0.0)
    return mcnemar_power(cases, lost, lost + gap, alpha).two_sided


def _size(gap: float, psi: float, alpha: float, target: float) -> int | None:
    if cases_for(psi, gap, alpha, target) > MOST_CASES:
        return None
    lost = max((psi - gap) / 2.0, 0.0)
    return mcnemar_cases(lost, lost + gap, alpha, target)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
