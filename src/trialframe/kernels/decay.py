"""Values of cases in ordered buckets: slope, trend, rises, and how the spread grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_ROUNDING = 1e-12


def slope_coefficients(index: ArrayLike) -> Floats:
    """What each bucket mean adds to the least-squares slope, shape (B,).

    Example:
        >>> slope_coefficients([0, 1, 2, 3]).round(2).tolist()
        [-0.3, -0.1, 0.1, 0.3]
    """
    x = np.asarray(index, dtype=np.float64)
    centred = x - x.mean()
    square = float(centred @ centred)
    return centred / square if square > 0 else np.full(len(x), np.nan)


def decay_slope(values: ArrayLike, index: ArrayLike) -> float:
    """Least-squares slope of bucket means on the bucket index; NaN for one bucket.

    Example:
        >>> round(decay_slope([0.9, 0.78, 0.6, 0.44], [0, 1, 2, 3]), 3)
        -0.156
    """
    return float(slope_coefficients(index) @ np.asarray(values, dtype=np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A linear combination of bucket means with its standard error and degrees of freedom."""

    value: float
    se: float
    df: float


def contrast(
    values: Floats,
    weights: Floats,
    bucket: Ints,
    coefficients: Floats,
    cluster: Ints | None = None,
) -> Contrast:
    """Estimate a combination of bucket means; clusters may lie in several buckets.

    Args:
        values: Value of each case, shape (M,), none missing.
        weights: Weight of each case, shape (M,), > 0.
        bucket: Bucket code of each case, shape (M,).
        coefficients: What each bucket's mean is multiplied by, shape (B,).
        cluster: Cluster code of each case, or None.

    Notes:
        Buckets are strata: each has its share of the weight fixed, residuals are taken from its
        own mean, and the standard error is CR2 over cases or whole clusters.
    """
    used = coefficients[bucket] != 0
    values, weights, bucket = values[used], weights[used], bucket[used]
    totals = np.bincount(bucket, weights, len(coefficients))
    count = float(np.count_nonzero(totals))
    if not count:
        return Contrast(value=float("nan"), se=float("nan"), df=float("nan"))
    fit = clustered_mean(
        (values * coefficients[bucket] * count)[:, None],
        weights / totals[bucket],
        None if cluster is None else cluster[used],
        bucket,
    )
    return Contrast(value=float(fit.mean[0]), se=float(fit.se[0]), df=float(fit.df[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Jonckheere and Terpstra's test against an order of the buckets.

    Attributes:
        statistic: Pairs of cases of different buckets in which the later has the larger value,
            ties half.
        z: The statistic standardised, negative when values fall; NaN where nothing varies.
        pvalue: Two-sided, normal approximation with ties.
        share: Share of those pairs, 0.5 without a trend.
    """

    statistic: float
    z: float
    pvalue: float
    share: float


def trend(values: Floats, bucket: Ints) -> Trend:
    """Do values rise or fall from bucket to bucket? Cases are taken as independent.

    Args:
        values: Value of each case, shape (M,).
        bucket: Bucket code of each case, ascending codes in the order of the buckets.

    References:
        Jonckheere (1954), Biometrika 41:133; Hollander and Wolfe (1999), section 6.2.

    Example:
        >>> got = trend(np.array([1.0, 0.8, 0.6, 0.5, 0.2, 0.1]), np.array([0, 0, 1, 1, 2, 2]))
        >>> got.statistic, round(got.pvalue, 4)
        (0.0, 0.0171)
    """
    from scipy.special import ndtr

    buckets = int(bucket.max(initial=-1)) + 1
    _, level, ties = np.unique(values, return_inverse=True, return_counts=True)
    table = np.zeros((len(ties), max(buckets, 1)))
    np.add.at(table, (level, bucket), 1.0)
    # for each value and bucket: cases of earlier buckets with a smaller value, and with this one
    below = np.cumsum(table, axis=0) - table
    earlier = np.cumsum(below + table / 2.0, axis=1) - (below + table / 2.0)
    statistic = float((table * earlier).sum())
    size = table.sum(axis=0)
    n = float(size.sum())
    pairs = (n**2 - float(size @ size)) / 2.0
    variance = _trend_variance(n, size, ties.astype(np.float64))
    if variance <= 0 or pairs == 0:
        nan = float("nan")
        return Trend(statistic=statistic, z=nan, pvalue=nan, share=nan)
    z = (statistic - pairs / 2.0) / np.sqrt(variance)
    pvalue = 2.0 * float(ndtr(-abs(z)))
    return Trend(statistic=statistic, z=float(z), pvalue=pvalue, share=statistic / pairs)


def _trend_variance(n: float, size: Floats, ties: Floats) -> float:
    """Variance of the statistic over permutations, ties included."""

    def cubic(x: Floats) -> float:
        return float((x * (x - 1) * (2 * x + 5)).sum())

    def triple(x: Floats) -> float:
        return float((x * (x - 1) * (x - 2)).sum())

    def pair(x: Floats) -> float:
        return float((x * (x - 1)).sum())

    if n < 3:
        return 0.0
    first = (cubic(np.array([n])) - cubic(size) - cubic(ties)) / 72.0
    second = triple(size) * triple(ties) / (36.0 * n * (n - 1) * (n - 2))
    return first + second + pair(size) * pair(ties) / (8.0 * n * (n - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread of case pass rates within a set of cases; arrays of one shape.

    Attributes:
        observed: Variance of c/n over cases (ddof 1).
        noise: Mean of p (1 - p) / (n - 1): what trials add to it; NaN when a case has one trial.
    """

    observed: Floats
    noise: Floats

    @property
    def between(self) -> Floats:
        """Variance of the latent pass rates, may be negative."""
        left = self.observed - self.noise
        return np.where(np.abs(left) < _ROUNDING * self.observed, 0.0, left)


def spread(n: Ints, c: Ints, weights: Floats | None = None) -> Spread:
    """Variance of pass rates, for one or many weightings of the cases.

    Args:
        n: Trials, shape (M,), >= 1.
        c: Passes, shape (M,).
        weights: How often each case counts, shape (B, M); None for once each.
    """
    w = np.ones((1, len(n))) if weights is None else weights
    rate = c / n
    centre = rate.mean() if len(rate) else 0.0
    size = w.sum(axis=1)
    first, second = w @ (rate - centre), w @ (rate - centre) ** 2
    left = np.where(size > 0, second - first**2 / np.maximum(size, 1.0), 0.0)
    left[left < _ROUNDING * np.maximum(size, 1.0)] = 0.0
    observed = np.divide(left, size - 1.0, out=np.full(len(size), np.nan), where=size > 1)
    own = np.full(len(n), np.nan)
    np.divide(rate * (1.0 - rate), n - 1.0, out=own, where=n > 1)
    if np.isnan(own).any():
        return Spread(observed=observed, noise=np.full(len(size), np.nan))
    noise = np.divide(w @ own, size, out=np.full(len(size), np.nan), where=size > 1)
    return Spread(observed=observed, noise=noise)


def amplification(long: Floats, short: Floats) -> Floats:
    """Ratio of two variances: 0/0 is NaN, x/0 infinite, and a negative one is NaN.

    Example:
        >>> amplification(np.array([0.2, 0.2, 0.0]), np.array([0.1, 0.0, 0.0])).tolist()
        [2.0, inf, nan]
    """
    out = np.full(np.shape(long), np.nan)
    np.divide(long, short, out=out, where=(short > 0) & (long >= 0))
    return np.where((short == 0) & (long > 0), np.inf, out)
