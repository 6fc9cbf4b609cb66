"""Bootstrap of a weighted mean over cases or whole clusters, from a histogram of the units.

Counts put case values on a lattice with few distinct values, so a resample is one multinomial
draw over the distinct values: its cost depends neither on the number of cases nor of trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

METHODS = ("percentile", "bca")

_CELLS = 4_000_000  # counts or indices held at a time: 32 MB
_GATHER = 15  # a multinomial count costs about as much as this many gathered units
_TIE = 1e-12  # relative: sums that differ by less are the same number


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A bootstrap interval of one weighted mean; all fields are scalars.

    Attributes:
        mean: Weighted mean of the data.
        low: Lower bound; NaN with fewer than two units.
        high: Upper bound; NaN with fewer than two units.
        se: Standard deviation of the resampled means; NaN with fewer than two units.
        units: Number of cases or clusters that were resampled.
        method: The method that made the interval: "percentile" or "bca".
        fallback: Whether BCa was asked for but undefined, so that the percentile interval stands.
        degenerate: Whether all resampled means are equal, so that the interval has no width.
    """

    mean: float
    low: float
    high: float
    se: float
    units: int
    method: str
    fallback: bool
    degenerate: bool


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
    apart = np.diff(sums) > _TIE * _scale(sums)
    starts = np.flatnonzero(np.concatenate(([True], apart | (sizes[1:] != sizes[:-1]))))
    starts = starts[: len(sums)]  # none at all when there is no unit
    return Histogram(
        sums=sums[starts],
        sizes=sizes[starts],
        multiplicity=np.diff(starts, append=len(sums)),
        sign=sign,
    )


def bootstrap_mean(
    values: Floats,
    rng: np.random.Generator,
    weights: Floats | None = None,
    cluster: Ints | None = None,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
    orient: bool = True,
) -> Bootstrap:
    """Bootstrap interval of a weighted mean, resampling cases or whole clusters.

    Trials of a case are never resampled: the spread between case values already holds their
    noise. With few units the interval is too narrow (percentile: by about sqrt((M-1)/M), and a
    normal quantile where a t quantile belongs); with fewer than ten clusters use the t interval
    of `clustered_mean`.

    Args:
        values: Case values or differences, shape (M,); NaN leaves the case out.
        rng: Source of randomness; the same state gives the same answer for any row order.
        weights: Case weights, shape (M,), >= 0; None for equal weights.
        cluster: Cluster codes, shape (M,); None to resample cases.
        resamples: Number of resamples, >= 1.
        level: Confidence level in (0, 1).
        method: "percentile" or "bca" (bias-corrected and accelerated).
        orient: See `histogram`.

    Returns:
        The interval with its flags.

    Raises:
        ArgumentError: If `method` is neither.

    Notes:
        The statistic is the ratio sum(w u)/sum(w) over the units drawn, so clusters of unequal
        size keep their weight. Bounds are the k-th smallest and the k-th largest resampled mean
        with k = ceil((1 - level)/2 * resamples); BCa moves the two ranks by z0 = the normal
        quantile of P*(<) + P*(=)/2 and the acceleration from the jackknife over units.

    References:
        Efron (1987), J. Am. Stat. Assoc. 82:171; Davison and Hinkley (1997), chapter 5.

    Example:
        >>> d = np.array([1.0, 0.0, 0.0, -1.0, 1.0])
        >>> got = bootstrap_mean(d, np.random.default_rng(0))
        >>> round(got.mean, 3), round(got.low, 3), round(got.high, 3)
        (0.2, -0.4, 0.8)
    """
    if method not in METHODS:
        raise ArgumentError(f"method == {method!r}. {did_you_mean(str(method), METHODS)}")
    units = histogram(values, weights, cluster, orient=orient)
    count = int(units.multiplicity.sum())
    mean = units.sign * _ratio_of(units) if count else float("nan")
    if count <= 1:
        nan = float("nan")
        return Bootstrap(
            mean=mean,
            low=nan,
            high=nan,
            se=nan,
            units=count,
            method=method,
            fallback=False,
            degenerate=False,
        )
    draws = resampled_means(units, resamples, rng)
    # data that are their own mirror image have no direction: every draw counts both ways
    draws = np.concatenate([draws, -draws]) if units.sign == 0 else units.sign * draws
    return _summarise(draws, units, mean, level, method)


def resampled_means(units: Histogram, resamples: int, rng: np.random.Generator) -> Floats:
    """Means of bootstrap resamples of the units, shape (resamples,).

    Exact in distribution: the number of times each distinct unit is drawn is multinomial. When
    nearly all units are distinct it draws them one by one instead, which is cheaper.

    Args:
        units: Distinct units, at least one.
        resamples: Number of resamples, >= 1.
        rng: Source of randomness.

    Returns:
        Means of the oriented values (times `units.sign` for the original direction).
    """
    count = int(units.multiplicity.sum())
    gather = len(units.sums) * _GATHER > count
    batches = _gathered if gather else _counted
    parts = [sums / sizes for sums, sizes in batches(units, resamples, rng)]
    means = np.concatenate(parts)
    # a sum that is 0 but for rounding must be 0: whether 0 is inside the interval is a verdict
    tiny = _TIE * _scale(units.sums / units.sizes)
    return np.where(np.abs(means) <= tiny, 0.0, means)


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


def quantile_rank(tail: float, resamples: int) -> int:
    """Rank k = ceil(tail * resamples) of a bootstrap bound, at least 1 and at most `resamples`.

    Args:
        tail: Probability beyond the bound, in [0, 1].
        resamples: Number of resamples, >= 1.

    Returns:
        k: the bound is the k-th smallest (lower) or k-th largest (upper) resampled value.
    """
    # 0.025 * 10000 comes out as 250.00000000000023 for tail = (1 - 0.95)/2
    return min(max(ceil(tail * resamples - 1e-6), 1), resamples)


def _cluster_sums(sums: Floats, sizes: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """Totals per cluster; sorted inside, so that row order cannot change the rounding."""
    order = np.lexsort((sums, sizes, cluster))
    codes = cluster[order]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.add.reduceat(sums[order], starts), np.add.reduceat(sizes[order], starts)


def _orientation(sums: Floats, sizes: Floats) -> float:
    """1.0 when the sum is positive, -1.0 when negative, and a rule of symmetry when it is 0."""
    total = float(sums.sum())
    if abs(total) > _TIE * float(np.abs(sums).sum()):
        return 1.0 if total > 0 else -1.0
    upward, downward = (np.lexsort((side, sizes)) for side in (sums, -sums))
    gap = sums[upward] + sums[downward]
    decisive = gap[np.abs(gap) > _TIE * _scale(sums)]
    return float(np.sign(decisive[0])) if len(decisive) else 0.0


def _scale(numbers: Floats) -> float:
    return float(np.abs(numbers).max()) if len(numbers) else 0.0


def _ratio_of(units: Histogram) -> float:
    """Weighted mean of all units, in the oriented direction."""
    mean = float(units.multiplicity @ units.sums / (units.multiplicity @ units.sizes))
    return 0.0 if abs(mean) <= _TIE * _scale(units.sums / units.sizes) else mean


def _counted(
    units: Histogram, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Sums and sizes of resamples, batch by batch, from multinomial counts."""
    batch = max(1, _CELLS // len(units.sums))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        counts = resampled_counts(units.multiplicity, size, rng).astype(np.float64)
        yield counts @ units.sums, counts @ units.sizes


def _gathered(
    units: Histogram, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Sums and sizes of resamples, batch by batch, from units drawn one by one."""
    sums = np.repeat(units.sums, units.multiplicity)
    sizes = np.repeat(units.sizes, units.multiplicity)
    equal = bool((sizes == sizes[0]).all())
    batch = max(1, _CELLS // len(sums))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        drawn = rng.integers(len(sums), size=(size, len(sums)), dtype=np.int32)
        weight = np.full(size, sizes[0] * len(sums)) if equal else sizes[drawn].sum(axis=1)
        yield sums[drawn].sum(axis=1), weight


def _summarise(
    draws: Floats, units: Histogram, mean: float, level: float, method: str
) -> Bootstrap:
    """Bounds and flags from the resampled means."""
    tail = (1.0 - level) / 2.0
    # clusters of unequal size can differ while every mean agrees: look at the units' own means
    own = units.sums / units.sizes
    degenerate = bool(np.ptp(own) <= _TIE * _scale(own))
    tails = None if degenerate or method == "percentile" else _bca(draws, units, mean, tail)
    low, high = _bounds(draws, *(tails or (tail, tail)))
    return Bootstrap(
        mean=mean,
        low=mean if degenerate else low,
        high=mean if degenerate else high,
        se=0.0 if degenerate else float(np.std(draws, ddof=min(1, len(draws) - 1))),
        units=int(units.multiplicity.sum()),
        method="bca" if tails else "percentile",
        fallback=method == "bca" and tails is None,
        degenerate=degenerate,
    )


def _bounds(draws: Floats, lower: float, upper: float) -> tuple[float, float]:
    """The k-th smallest and k-th largest draw for the two tail probabilities."""
    first = quantile_rank(lower, len(draws)) - 1
    last = len(draws) - quantile_rank(upper, len(draws))
    ordered = np.partition(draws, sorted({first, last}))
    return float(ordered[first]), float(ordered[last])


def _bca(draws: Floats, units: Histogram, mean: float, tail: float) -> tuple[float, float] | None:
    """Tail probabilities of the BCa interval, or None where it is undefined."""
    from scipy.special import ndtr, ndtri

    margin = _TIE * _scale(units.sums / units.sizes)
    below = np.count_nonzero(draws < mean - margin)
    ties = np.count_nonzero(np.abs(draws - mean) <= margin)
    share = (below + ties / 2.0) / len(draws)
    acceleration = _acceleration(units)
    if not 0.0 < share < 1.0 or acceleration is None:
        return None
    shift = ndtri(share) + np.array([ndtri(tail), -ndtri(tail)])
    stretch = 1.0 - acceleration * shift
    if (stretch <= 0).any():  # beyond the pole the adjusted level runs backwards
        return None
    lower, upper = ndtr(ndtri(share) + shift / stretch)
    return float(lower), float(1.0 - upper)


def _acceleration(units: Histogram) -> float | None:
    """Acceleration from the jackknife over units; None where it is undefined."""
    count = units.multiplicity
    rest = count @ units.sizes - units.sizes
    if (rest <= 0).any():
        return None
    left = (units.sign or 1.0) * (count @ units.sums - units.sums) / rest
    pull = (count @ left) / count.sum() - left
    spread = float(count @ pull**2)
    if spread <= (_TIE * _scale(left)) ** 2:
        return None
    skew = float(count @ pull**3)
    return float(skew / (6.0 * spread**1.5))
