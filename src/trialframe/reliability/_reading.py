"""What shares of variance say, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialframe.kernels.anova import CONFIG, CONFIG_CASE, coefficients, shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.reliability._design import Design
    from trialframe.reliability._solve import Solved

    Floats = NDArray[np.float64]

RELIABLE = 0.8
"""G from which a ranking is called reliable: the usual floor for comparing groups."""


def ends(draws: Floats, level: float) -> tuple[float, float]:
    """Percentile interval of the draws that are defined."""
    kept = draws[~np.isnan(draws)]
    if len(kept) < 2:
        return float("nan"), float("nan")
    low, high = np.quantile(kept, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def reading(design: Design, fit: Solved, level: float) -> str:
    """The shares, and what they mean for a ranking.

    Args:
        design: Configs by cases.
        fit: Components with draws.
        level: Nominal coverage of the intervals that must not overlap.
    """
    own = shares(fit.raw)
    config, case, run = design.facets
    if np.isnan(own).all():
        return "nothing varies: every trial has the same result."
    if len(design.configs) == 1:
        return (
            f"{case} {_percent(own[1])} of the variance of a single {run}, luck {_percent(own[3])}."
        )
    both = f"{config} x {case}"
    told = f"{config} main effect {_percent(own[0])} of variance, {case} {_percent(own[1])}, "
    if fit.confounded:
        told += f"{both} and {run} together {_percent(own[2])}: with one {run} a cell nothing tells"
        return f"{told} whether this board ranks specialisation or luck. {_alone(design, fit)}"
    told += f"{both} {_percent(own[2])}, {run} {_percent(own[3])}: "
    if own[0] == 0:
        special = ""
        if ends(shares(fit.draws)[:, CONFIG_CASE], level)[0] > 0:
            special = f" on the mean, only specialisation (the best {config} depends on the {case})"
        return (
            f"{told}no difference between one {config} and another shows{special}. "
            f"{_alone(design, fit)}"
        )
    return told + _what(design, fit, level)


def _what(design: Design, fit: Solved, level: float) -> str:
    """General ability or specialisation, as far as intervals and G bear it out.

    A ranking by means can be reliable while the interaction is larger than the config effect:
    over many cases the interaction averages out. So each is said for what it holds for.
    """
    config, case, _ = design.facets
    both = f"{config} x {case}"
    drawn = shares(fit.draws)
    low, high = zip(*(ends(drawn[:, j], level) for j in (CONFIG, CONFIG_CASE)), strict=True)
    g = _g(design, fit)
    mean = f"the mean over {design.cases:,} {case}s ranks {config}s reliably (G = {g:.2f})"
    if low[1] > high[0]:
        if g >= RELIABLE:
            return (
                f"{mean}, though single {case}s show specialisation: which {config} is best often "
                f"depends on the {case} ({both} above the {config} effect)."
            )
        return (
            f"this board ranks specialisation (which {config} is best depends on the {case}). "
            f"{_alone(design, fit)}"
        )
    if low[0] > high[1]:
        what = "this board ranks general ability"
    else:
        why = f"the intervals of {config} and {both} overlap"
        if fit.raw[CONFIG_CASE] <= 0:
            why = f"{both} is not above 0"
        if np.isnan([*low, *high]).any():
            why = "there are no intervals"
        what = f"whether it ranks general ability or specialisation is unclear ({why})"
    return f"{what}; {mean}." if g >= RELIABLE else f"{what}. {_alone(design, fit)}"


def _g(design: Design, fit: Solved) -> float:
    return float(coefficients(fit.raw, design.cases, fit.runs).g)


def _alone(design: Design, fit: Solved) -> str:
    """G in a sentence of its own."""
    config, case, _ = design.facets
    g = _g(design, fit)
    if np.isnan(g):
        return ""
    few = f", below {RELIABLE:g}: too few {case}s to rank {config}s by"
    few = few if 0 < g < RELIABLE else ""
    return f"G = {g:.2f} for ranks on as many new {case}s{few}."


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")
