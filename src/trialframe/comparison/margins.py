"""Claims within a margin: the candidate is not worse, or not different, by as much as D."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from trialframe.comparison.difference import on_majority
from trialframe.comparison.pairs import known_or_none
from trialframe.comparison.pvalues import flipped, flipped_scores
from trialframe.kernels.intervals import clopper_pearson, t_interval
from trialframe.results import Result

if TYPE_CHECKING:
    from trialframe.comparison.difference import Interval, Measured, Settings
    from trialframe.comparison.pairs import Difference
    from trialframe.comparison.pvalues import PValue

FEWEST_FOR_T = 10
"""Changed units from which the t bound decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority(Result):
    """Whether a loss as large as the margin is excluded.

    One-sided: the end of the two-sided interval at the comparison's level, and p below
    (1 - level)/2.

    Attributes:
        margin: D > 0: in units of the metric, or a share of the baseline for ratios.
        holds: Whether all conditions hold.
        bound: The end of the interval that must lie inside the margin, or the upper bound of
            the share of worse cases.
        decided_by: Which bound: "tango", "t", "bca", "share of worse cases" or "log ratio".
        pvalue: One-sided sign flip of the differences shifted by the margin.
    """

    margin: float
    holds: bool
    bound: float | None
    decided_by: str
    pvalue: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence(Result):
    """Whether a change as large as the margin is excluded in both directions.

    Attributes:
        margin: D > 0.
        holds: Whether neither a loss nor a gain of D is left.
        pvalue: The larger of the two one-sided p-values.
    """

    margin: float
    holds: bool
    pvalue: float


def claims(
    data: Difference,
    made: Measured,
    settings: Settings,
    margin: float,
    *,
    lower_wins: bool,
    hopeless: bool,
) -> tuple[NonInferiority, Equivalence]:
    """Non-inferiority and equivalence of the candidate.

    Args:
        data: The pairs.
        made: Their difference as measured.
        settings: The methods.
        margin: D > 0.
        lower_wins: Whether a loss is an increase.
        hopeless: Whether no claim is possible whatever the numbers say.
    """
    down = _excluded(data, made, settings, margin, upward=False)
    up = _excluded(data, made, settings, margin, upward=True)
    if hopeless:
        down, up = (replace(side, holds=False) for side in (down, up))
    worse, both = (up if lower_wins else down), (down, up)
    equivalence = Equivalence(
        margin=margin,
        holds=all(side.holds for side in both),
        pvalue=max(side.pvalue for side in both),
    )
    return worse, equivalence


def _excluded(
    data: Difference, made: Measured, settings: Settings, margin: float, *, upward: bool
) -> NonInferiority:
    """Whether a change by the margin in one direction is excluded.

    Interval, one-sided sign flip and a bound that knows ties must all say so.
    """
    alpha = (1.0 - settings.level) / 2.0
    inside, bound, decided = _bound(data, made, settings, margin, upward=upward)
    flips = _shifted(data, settings, margin, upward=upward)
    pvalue = flips.less if upward else flips.greater
    return NonInferiority(
        margin=margin,
        holds=bool(inside and pvalue < alpha),
        bound=bound,
        decided_by=decided,
        pvalue=pvalue,
    )


def _bound(
    data: Difference, made: Measured, settings: Settings, margin: float, *, upward: bool
) -> tuple[bool, float | None, str]:
    """Whether interval and bound lie inside the margin, the bound, and its name."""
    absolute = margin
    if settings.effect == "ratio":
        absolute = margin * float(made.fit.mean[1])
    own = _end(made.interval, upward=upward)
    name, end = _required(data, made, settings, upward=upward)
    inside = all(_within(e, absolute, upward=upward) for e in ([own, end] if name else [own]))
    if not name:
        # so few changes: ties must not count as evidence, only the share of moved cases does
        end = _share_moved(data, settings.level, upward=upward)
        inside = inside and end < absolute
        name = f"share of {'better' if upward else 'worse'} {data.unit}"
    if settings.effect == "ratio":
        ratio = made.ratio
        end = None if ratio is None else (ratio.high if upward else ratio.low)
        gap = None if end is None else end - 1.0
        return inside and _within(gap, margin, upward=upward), end, "log ratio"
    return inside, end, name


def _within(end: float | None, margin: float, *, upward: bool) -> bool:
    return end is not None and (end < margin if upward else end > -margin)


def _share_moved(data: Difference, level: float, *, upward: bool) -> float:
    """Upper bound of the share of cases, or clusters with such a case, that moved that way.

    With weights the effective number of cases stands for their number.
    """
    moved = data.diff > 0 if upward else data.diff < 0
    if data.cluster is not None:
        units, hit = len(np.unique(data.cluster)), len(np.unique(data.cluster[moved]))
    elif data.equal_weights:
        units, hit = len(moved), int(moved.sum())
    else:
        total = data.weight.sum()
        units = max(1, int(total**2 / (data.weight**2).sum()))
        hit = min(units, ceil(units * data.weight[moved].sum() / total))
    return float(clopper_pearson(hit, units, level).high)


def _required(
    data: Difference, made: Measured, settings: Settings, *, upward: bool
) -> tuple[str, float | None]:
    """The bound that the design asks for; no name when too few cases changed for one."""
    if data.one_trial_each and data.cluster is None:
        return "tango", _end(on_majority(data, "tango", settings.level), upward=upward)
    if made.interval.method == "bca":
        return "bca", _end(made.interval, upward=upward)
    if made.tested.changed < FEWEST_FOR_T:
        return "", None
    fit = made.fit
    got = t_interval(fit.mean[0], fit.se[0], fit.df[0], settings.level)
    return "t", known_or_none(got.high if upward else got.low)


def _end(interval: Interval, *, upward: bool) -> float | None:
    return interval.high if upward else interval.low


def _shifted(data: Difference, settings: Settings, margin: float, *, upward: bool) -> PValue:
    """Sign flip against a change of exactly the margin."""
    if settings.effect == "ratio":
        factor = 1.0 + margin if upward else 1.0 - margin
        rng = np.random.default_rng(settings.seed)
        return flipped_scores(data, data.b - factor * data.a, rng)
    step = Fraction(str(margin))
    return flipped(data, -step if upward else step, settings.seed)
