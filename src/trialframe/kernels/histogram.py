"""Resampling units as a histogram, and how often a resample draws each.

Counts put case values on a lattice with few distinct values, so a resample is one multinomial
draw over the distinct units: its cost depends neither on the number of cases nor of trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

TIE = 1e-12
"""Relative: sums that differ by less are the same number."""

_CELLS = 4_000_000  # counts or indices held at a time: 32 MB
_GATHER = 15  # a multinomial count costs about as much as this many gathered units


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Resampling units as distinct (sum, size) pairs, in an order that rows cannot change.

    Attributes:
        sums: Weighted sum of values in a unit, shape (H,); ascending within equal sizes.
        sizes: Weight of a unit, shape (H,), > 0.
        multiplicity: Number of units that are alike, shape (H,).
        sign: -1.0 when the values were negated to have a sum >= 0, 0.0 when they are their own
            mirror image, else 1.0.
    """

    sums: Floats
    sizes: Floats
    multiplicity: Ints
    sign: float


def histogram(
    values: Floats,
    weights: Floats | None = None,
    cluster: Ints | None = None,
    *,
    orient: bool = True,
) -> Histogram:
    """Count the distinct resampling units of one metric.

    Args:
        values: Case values, shape (M,); NaN leaves the case out.
        weights: Case weights, shape (M,), >= 0; None for equal weights. Weight 0 leaves out.
        cluster: Cluster codes, shape (M,); the unit is then the cluster. None for cases.
        orient: Negate all values when their sum is negative (`sign` says so), so that swapping
            the two sides of a comparison cannot change the draws.

    Returns:
        Distinct units; values within a relative 1e-12 of each other count as the same.

    Notes:
        A sum of exactly 0 has no sign; then the side whose sorted units come last is kept, so
        that the choice does not depend on the order of the sides either. Where both sides are
        the same there is no choice to make.
    """
    weight = np.ones(len(values)) if weights is None else weights
    keep = (weight > 0) & ~np.isnan(values)
    sums, sizes = values[keep] * weight[keep], weight[keep]
    if cluster is not None and len(sums):
        sums, sizes = _cluster_sums(sums, sizes, cluster[keep])
    sign = _orientation(sums, sizes) if orient else 1.0
    sums = (sign or 1.0) * sums
    order = np.lexsort((sums, sizes))
    sums, sizes = sums[order], sizes[order]
    apart = np.diff(sums) > TIE * scale(sums)
    starts = np.flatnonzero(np.concatenate(([True], apart | (sizes[1:] != sizes[:-1]))))
    starts = starts[: len(sums)]  # none at all when there is no unit
    return Histogram(
        sums=sums[starts],
        sizes=sizes[starts],
        multiplicity=np.diff(starts, append=len(sums)),
        sign=sign,
    )


def resampled_counts(multiplicity: Ints, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each distinct unit occurs in each bootstrap resample, shape (resamples, H).

    For statistics that are refitted on every resample. Holds resamples x H counts.

    Args:
        multiplicity: Number of units of each kind, shape (H,).
        resamples: Number of resamples, >= 1.
        rng: Source of randomness.

    Returns:
        Rows that each sum to the number of units.
    """
    total = int(multiplicity.sum())
    return rng.multinomial(total, multiplicity / total, size=resamples)


def totals(units: Histogram, columns: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Totals of some columns over the units of each bootstrap resample, shape (resamples, Q).

    Exact in distribution: the number of times each distinct unit is drawn is multinomial. When
    nearly all units are distinct it draws them one by one instead, which is cheaper.

    Args:
        units: Distinct units, at least one.
        columns: What each distinct unit adds, shape (H, Q).
        resamples: Number of resamples, >= 1.
        rng: Source of randomness.
    """
    count = int(units.multiplicity.sum())
    gather = len(columns) * _GATHER > count
    drawn = _gathered if gather else _counted
    width = count if gather else len(columns)
    batch = max(1, _CELLS // width)
    sizes = [min(batch, resamples - start) for start in range(0, resamples, batch)]
    return np.concatenate([drawn(units, columns, size, rng) for size in sizes])


def _counted(units: Histogram, columns: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Totals of one batch of resamples from multinomial counts."""
    made: Floats = resampled_counts(units.multiplicity, size, rng) @ columns
    return made


def _gathered(units: Histogram, columns: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Totals of one batch of resamples from units drawn one by one."""
    every = np.repeat(columns, units.multiplicity, axis=0)
    drawn = rng.integers(len(every), size=(size, len(every)), dtype=np.int32)
    made = np.empty((size, columns.shape[1]))
    for j, column in enumerate(every.T):
        alike = bool((column == column[0]).all())
        made[:, j] = len(every) * column[0] if alike else column[drawn].sum(axis=1)
    return made


def _cluster_sums(sums: Floats, sizes: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """Totals per cluster; sorted inside, so that row order cannot change the rounding."""
    order = np.lexsort((sums, sizes, cluster))
    codes = cluster[order]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.add.reduceat(sums[order], starts), np.add.reduceat(sizes[order], starts)


def _orientation(sums: Floats, sizes: Floats) -> float:
    """1.0 when the sum is positive, -1.0 when negative, and a rule of symmetry when it is 0."""
    total = float(sums.sum())
    if abs(total) > TIE * float(np.abs(sums).sum()):
        return 1.0 if total > 0 else -1.0
    upward, downward = (np.lexsort((side, sizes)) for side in (sums, -sums))
    gap = sums[upward] + sums[downward]
    decisive = gap[np.abs(gap) > TIE * scale(sums)]
    return float(np.sign(decisive[0])) if len(decisive) else 0.0


def scale(numbers: Floats) -> float:
    """Largest absolute value, 0 for none: what rounding is measured against."""
    return float(np.abs(numbers).max()) if len(numbers) else 0.0
