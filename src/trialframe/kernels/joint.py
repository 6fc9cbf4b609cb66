"""Means of many configs over the same cases: how they vary together, and joint draws of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_CELLS = 4_000_000  # numbers held at a time: 32 MB
_COUNTED = 15  # a multinomial count costs about as much as this many units drawn one by one
_CANCELLED = 1e-6  # below this share of both variances that of a difference loses its digits
TIE = 1e-12  # relative: means that differ by less are the same number


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """Means of J configs over shared cases, and the errors of all their differences.

    Attributes:
        mean: Shape (J,).
        covariance: Covariance of the means, shape (J, J); NaN with fewer than two units.
        se: Standard errors of mean_j - mean_k, shape (J, J), 0 on the diagonal; NaN with fewer
            than two units.
        df: Degrees of freedom of every difference; all share the cases, so there is one number.
        units: Independent units: cases or clusters.
    """

    mean: Floats
    covariance: Floats
    se: Floats
    df: float
    units: int

    @property
    def slack(self) -> float:
        """Differences of means up to here are rounding."""
        return TIE * float(np.max(np.abs(self.mean), initial=0.0))


def joint_means(values: Floats, weights: Floats, cluster: Ints | None = None) -> Joint:
    """Means of J configs, with the CR2 standard error of every difference at once.

    The same numbers as `clustered_mean` of the J(J-1)/2 columns of differences, from one matrix
    product. Only for cases that all configs share.

    Args:
        values: Case values, shape (M, J), no NaN.
        weights: Case weights, shape (M,), >= 0.
        cluster: Cluster codes, shape (M,); None when every case is its own.

    Returns:
        Means, their covariance and standard errors of differences.

    Notes:
        V = sum_g lambda_g S_g S_g' / W^2 with S_g the J residual sums of a unit and lambda_g its
        leverage correction, 1/(1 - w_g) with equal case weights. se_jk^2 = V_jj + V_kk - 2 V_jk,
        taken from the differences themselves where that cancels. df is Satterthwaite's: M - 1
        without clusters, C - 1 for clusters of equal size, fewer else.

    References:
        Bell and McCaffrey (2002), Survey Methodology 28:169.

    Example:
        >>> x = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
        >>> got = joint_means(x, np.ones(3))
        >>> got.mean.round(3).tolist(), round(float(got.se[0, 1]), 4), got.df
        ([0.667, 0.333], 0.3333, 2.0)
    """
    keep = weights > 0
    values, weights = values[keep], weights[keep]
    cluster = None if cluster is None else cluster[keep]
    fit = clustered_mean(values, weights, cluster)
    parts = _influence(values - fit.mean, weights, cluster)
    covariance = parts.T @ parts
    if np.isnan(fit.df[0]):
        covariance = np.full_like(covariance, np.nan)
    return Joint(
        mean=fit.mean,
        covariance=covariance,
        se=_difference_errors(covariance, values, weights, cluster),
        df=float(fit.df[0]),
        units=int(fit.units[0]),
    )


def joint_of(mean: Floats, covariance: Floats, df: float = np.inf, units: int = 0) -> Joint:
    """The same for means whose covariance is known, for example independent estimates.

    Args:
        mean: Shape (J,).
        covariance: Covariance of the means, shape (J, J); `np.diag(se**2)` for independent ones.
        df: Degrees of freedom; inf when the covariance is known.
        units: Independent units behind the means; 0 when there is no such number.

    Returns:
        The means and the standard errors of all differences.

    Example:
        >>> got = joint_of(np.array([0.9, 0.5]), np.diag([0.03, 0.04]) ** 2)
        >>> round(float(got.se[0, 1]), 6)
        0.05
    """
    variances = np.diag(covariance)
    squares = variances[:, None] + variances - 2.0 * covariance
    # what rounding leaves of a difference without spread is none
    squares = np.where(squares > TIE * (variances[:, None] + variances), squares, 0.0)
    return Joint(
        mean=np.asarray(mean, dtype=np.float64),
        covariance=covariance,
        se=np.sqrt(squares),
        df=df,
        units=units,
    )


def gaussian_draws(joint: Joint, rng: np.random.Generator, draws: int) -> Floats:
    """Normal errors of the means, shape (draws, J).

    Args:
        joint: The means; their covariance must be known.
        rng: Source of randomness.
        draws: Number of draws, >= 1.

    Returns:
        Draws with mean 0 and the covariance of the means.
    """
    size, turn = np.linalg.eigh(joint.covariance)
    root = (turn * np.sqrt(np.maximum(size, 0.0))) @ turn.T
    made: Floats = rng.standard_normal((draws, len(root))) @ root
    return made


def bootstrap_draws(
    values: Floats,
    weights: Floats,
    rng: np.random.Generator,
    cluster: Ints | None = None,
    *,
    resamples: int = 10_000,
) -> Floats:
    """Weighted means of all columns in bootstrap resamples of cases or whole clusters.

    One resample serves every column, so the pairing of configs over cases stays. The rows must
    come in an order that does not depend on chance, for example by case.

    Args:
        values: Case values, shape (M, K); NaN leaves a case out of that column.
        weights: Case weights, shape (M,), >= 0.
        rng: Source of randomness.
        cluster: Cluster codes, shape (M,); None to resample cases.
        resamples: Number of resamples, >= 1.

    Returns:
        Means, shape (resamples, K); NaN where a resample holds no case of a column.

    Notes:
        Counts of units times a (units x K) matrix of sums, in batches. With few distinct units
        (three configs of one trial each have eight) a resample is one multinomial draw over
        them. Sums are in double precision: single precision would save a quarter of a second in
        10,000 resamples of 200 configs and 5,000 cases, and would break ties.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
        >>> bootstrap_draws(x, np.ones(3), np.random.default_rng(0), resamples=2).shape
        (2, 2)
    """
    keep = weights > 0
    values, weights = values[keep], weights[keep]
    missing = np.isnan(values)
    sums = np.where(missing, 0.0, values) * weights[:, None]
    # one column of sizes serves all columns that miss nothing
    gaps = missing.any(axis=0)
    sizes = np.column_stack([weights, np.where(missing[:, gaps], 0.0, weights[:, None])])
    table = np.column_stack([sums, sizes])
    if cluster is not None:
        table = _by_cluster(table, cluster[keep])
    columns = values.shape[1]
    place = np.where(gaps, np.cumsum(gaps), 0)
    made = np.empty((resamples, columns))
    start = 0
    for totals in _resampled(table, rng, resamples):
        below = totals[:, columns:][:, place]
        block = made[start : start + len(totals)]
        block.fill(np.nan)
        np.divide(totals[:, :columns], below, out=block, where=below > 0)
        start += len(totals)
    return made


def influence(values: Floats, weights: Floats, cluster: Ints | None = None) -> Floats:
    """What each unit adds to the error of a weighted mean, with the CR2 correction.

    Args:
        values: Case values, shape (M, K), no NaN.
        weights: Case weights, shape (M,), > 0.
        cluster: Cluster codes, shape (M,); None when every case is its own unit.

    Returns:
        Shape (units, K), units in ascending order of their codes; the root of the sum of squares
        of a column is its standard error.

    Example:
        >>> parts = influence(np.array([[1.0], [0.0], [1.0]]), np.ones(3))
        >>> round(float(np.sqrt((parts**2).sum())), 4)
        0.3333
    """
    mean = (weights @ values) / weights.sum()
    return _influence(values - mean, weights, cluster)


def _resampled(table: Floats, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
    """Column totals of resampled rows, batch by batch."""
    units = len(table)
    distinct, times = np.unique(table, axis=0, return_counts=True)
    few = len(distinct) * _COUNTED <= units
    table = distinct if few else table
    batch = max(1, _CELLS // max(table.shape))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        if few:
            counts = rng.multinomial(units, times / units, size=size)
        else:
            drawn = rng.integers(units, size=(size, units), dtype=np.int32)
            drawn += (np.arange(size, dtype=np.int32) * units)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        yield counts.astype(np.float64) @ table


def _by_cluster(rows: Floats, cluster: Ints) -> Floats:
    """Sums of the rows of each cluster, clusters in ascending order."""
    order = np.argsort(cluster, kind="stable")
    codes = cluster[order]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.asarray(np.add.reduceat(rows[order], starts, axis=0), dtype=np.float64)


def _influence(centred: Floats, weights: Floats, cluster: Ints | None) -> Floats:
    """What each unit adds to the errors of the means, corrected (CR2), shape (units, K)."""
    table = np.column_stack([centred * weights[:, None], weights, weights**2])
    if cluster is not None:
        table = _by_cluster(table, cluster)
    sums, weight, square = table[:, :-2], table[:, -2], table[:, -1]
    total = square.sum()
    share = weight / weight.sum()
    left = square * (1.0 - share) ** 2 + share**2 * (total - square)
    seen = left > TIE * square  # as in `clustered_mean`: the rest is rounding
    leverage = np.divide(square, left, out=np.zeros_like(left), where=seen)
    made: Floats = sums * (np.sqrt(leverage) / weight.sum())[:, None]
    return made


def _difference_errors(
    covariance: Floats, values: Floats, weights: Floats, cluster: Ints | None
) -> Floats:
    """Standard errors of all differences, shape (J, J)."""
    variances = np.diag(covariance)
    both = variances[:, None] + variances
    squares = both - 2.0 * covariance
    errors = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(errors, 0.0)
    first, second = np.nonzero(np.triu(squares <= _CANCELLED * both, 1))
    batch = max(1, _CELLS // max(len(values), 1))
    for start in range(0, len(first), batch):
        j, k = first[start : start + batch], second[start : start + batch]
        again = clustered_mean(values[:, j] - values[:, k], weights, cluster).se
        errors[j, k] = errors[k, j] = again
    return errors
