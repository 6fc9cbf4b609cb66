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
from trialframe.kernels.histogram import TIE, Histogram, histogram, scale, totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

METHODS = ("percentile", "bca", "studentised")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A bootstrap interval of one weighted mean; all fields are scalars.

    Attributes:
        mean: Weighted mean of the data.
        low: Lower bound; NaN with fewer than two units.
        high: Upper bound; NaN with fewer than two units.
        se: Standard deviation of the resampled means; NaN with fewer than two units.
        units: Number of cases or clusters that were resampled.
        method: The method that made the interval, one of `METHODS`.
        fallback: Whether another method was asked for but undefined, so that the percentile
            interval stands.
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
        method: "percentile", "bca" (bias-corrected and accelerated) or "studentised".
        orient: See `histogram`.

    Returns:
        The interval with its flags.

    Raises:
        ArgumentError: If `method` is none of them.

    Notes:
        The statistic is the ratio sum(w u)/sum(w) over the units drawn, so clusters of unequal
        size keep their weight. Bounds are the k-th smallest and the k-th largest resampled mean
        with k = ceil((1 - level)/2 * resamples); BCa moves the two ranks by z0 = the normal
        quantile of P*(<) + P*(=)/2 and the acceleration from the jackknife over units. The
        studentised interval is mean - se q with q the bounds of (mean* - mean)/se* and se the
        linearised standard error sqrt(C/(C-1) sum (S_g - mean w_g)^2)/sum w_g of C units.

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
    if method == "studentised":
        sums = totals(units, _moments(units), resamples, rng)
        draws = _means(units, sums[:, 0], sums[:, 1])
        ratios = _studentised(units, draws, sums)
    else:
        draws = resampled_means(units, resamples, rng)
        ratios = None
    # data that are their own mirror image have no direction: every draw counts both ways
    if units.sign == 0:
        draws = np.concatenate([draws, -draws])
        ratios = None if ratios is None else np.concatenate([ratios, -ratios])
    elif units.sign < 0:
        draws, ratios = -draws, None if ratios is None else -ratios
    return _summarise(draws, ratios, units, mean, level, method)


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
    sums = totals(units, np.column_stack([units.sums, units.sizes]), resamples, rng)
    return _means(units, sums[:, 0], sums[:, 1])


def _means(units: Histogram, sums: Floats, sizes: Floats) -> Floats:
    """Ratios; one that is 0 but for rounding must be 0: whether 0 is inside is a verdict."""
    means = sums / sizes
    return np.where(np.abs(means) <= TIE * scale(units.sums / units.sizes), 0.0, means)


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


def _ratio_of(units: Histogram) -> float:
    """Weighted mean of all units, in the oriented direction."""
    mean = float(units.multiplicity @ units.sums / (units.multiplicity @ units.sizes))
    return 0.0 if abs(mean) <= TIE * scale(units.sums / units.sizes) else mean


def _summarise(
    draws: Floats,
    ratios: Floats | None,
    units: Histogram,
    mean: float,
    level: float,
    method: str,
) -> Bootstrap:
    """Bounds and flags from the resampled means and, if any, their studentised ratios."""
    tail = (1.0 - level) / 2.0
    # clusters of unequal size can differ while every mean agrees: look at the units' own means
    own = units.sums / units.sizes
    degenerate = bool(np.ptp(own) <= TIE * scale(own))
    ends = None
    if not degenerate and method == "bca":
        tails = _bca(draws, units, mean, tail)
        ends = None if tails is None else _bounds(draws, *tails)
    if not degenerate and ratios is not None:
        lower, upper = _bounds(ratios, tail, tail)
        se = _se(units)
        ends = (mean - se * upper, mean - se * lower) if np.isfinite([lower, upper]).all() else None
    low, high = ends or _bounds(draws, tail, tail)
    return Bootstrap(
        mean=mean,
        low=mean if degenerate else low,
        high=mean if degenerate else high,
        se=0.0 if degenerate else float(np.std(draws, ddof=min(1, len(draws) - 1))),
        units=int(units.multiplicity.sum()),
        method=method if ends else "percentile",
        fallback=method != "percentile" and ends is None,
        degenerate=degenerate,
    )


def _moments(units: Histogram) -> Floats:
    """What the linearised variance of a ratio needs of each unit: S, w, S^2, S w, w^2."""
    s, w = units.sums, units.sizes
    return np.column_stack([s, w, s * s, s * w, w * w])


def _studentised(units: Histogram, means: Floats, sums: Floats) -> Floats:
    """(mean* - mean) / se* of each resample; infinite where a resample has no spread."""
    squares = sums[:, 2] - 2.0 * means * sums[:, 3] + means**2 * sums[:, 4]
    squares[squares <= TIE * sums[:, 2]] = 0.0  # what rounding leaves of no spread
    count = int(units.multiplicity.sum())
    se = np.sqrt(squares * count / (count - 1.0)) / sums[:, 1]
    gap = means - _ratio_of(units)
    gap[np.abs(gap) <= TIE * scale(units.sums / units.sizes)] = 0.0
    without = np.where(gap == 0.0, 0.0, np.copysign(np.inf, gap))
    return np.divide(gap, se, out=without, where=se > 0)


def _se(units: Histogram) -> float:
    """Linearised standard error of the ratio, as in every resample."""
    sums = (units.multiplicity @ _moments(units))[None]
    mean = _ratio_of(units)
    count = int(units.multiplicity.sum())
    squares = max(float(sums[0, 2] - 2.0 * mean * sums[0, 3] + mean**2 * sums[0, 4]), 0.0)
    return float(np.sqrt(squares * count / (count - 1.0)) / sums[0, 1])


def _bounds(draws: Floats, lower: float, upper: float) -> tuple[float, float]:
    """The k-th smallest and k-th largest draw for the two tail probabilities."""
    first = quantile_rank(lower, len(draws)) - 1
    last = len(draws) - quantile_rank(upper, len(draws))
    ordered = np.partition(draws, sorted({first, last}))
    return float(ordered[first]), float(ordered[last])


def _bca(draws: Floats, units: Histogram, mean: float, tail: float) -> tuple[float, float] | None:
    """Tail probabilities of the BCa interval, or None where it is undefined."""
    from scipy.special import ndtr, ndtri

    margin = TIE * scale(units.sums / units.sizes)
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
    if spread <= (TIE * scale(left)) ** 2:
        return None
    skew = float(count @ pull**3)
    return float(skew / (6.0 * spread**1.5))
