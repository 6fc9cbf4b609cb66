"""Does the model fit: signs, separation, connection, residuals of items and pairs of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import probability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_BLOCK = 2**21
_STEPS = 12
_RIDGE = 0.25  # prior precision of a slope whose sign is free, and of its intercept


def saturated(passes: Floats, trials: Floats) -> Ints:
    """1 for items that every trial passes, -1 for those that every trial fails, else 0, (I,)."""
    n, c = trials.sum(axis=0), passes.sum(axis=0)
    return np.where(n == 0, 0, np.where(c == n, 1, np.where(c == 0, -1, 0))).astype(np.int64)


def separated(cells: Cells, theta: Floats) -> Bools:
    """Items with passes and fails that some ability divides without error, shape (I,)."""
    fails = cells.trials - cells.passes
    best_fail = np.where(fails > 0, theta[:, None], -np.inf).max(axis=0)
    worst_pass = np.where(cells.passes > 0, theta[:, None], np.inf).min(axis=0)
    mixed = np.isfinite(best_fail) & np.isfinite(worst_pass)
    return np.asarray(mixed & (worst_pass >= best_fail))


def blocks(trials: Floats) -> tuple[Ints, Ints]:
    """Groups of configs and items that trials connect, shapes (J,) and (I,)."""
    from scipy.sparse import bmat, csr_array
    from scipy.sparse.csgraph import connected_components

    links = csr_array(trials > 0)
    _, label = connected_components(bmat([[None, links], [links.T, None]]), directed=False)
    return label[: len(trials)].astype(np.int64), label[len(trials) :].astype(np.int64)


def free_slopes(
    cells: Cells, a: Floats, b: Floats, theta: Floats, curvature: Floats
) -> tuple[Floats, Floats]:
    """Slope of every item on abilities from all other items, its sign free, and its error.

    Logistic regression with a weak normal prior; what the item itself added to each ability is
    taken out first, to first order.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        theta: Abilities, shape (J,).
        curvature: Their posterior precisions, shape (J,).
    """
    slope, error = np.empty_like(b), np.empty_like(b)
    for rows in _blocks(len(theta), len(b)):
        n, c = cells.trials[:, rows], cells.passes[:, rows]
        rate = probability(theta, a[rows], b[rows])
        own = n * np.square(a[rows]) * rate * (1 - rate)
        rest = np.maximum(curvature[:, None] - own, 1.0)
        other = theta[:, None] - a[rows] * (c - n * rate) / rest
        slope[rows], error[rows] = _logistic(n, c, other)
    return slope, error


def _blocks(configs: int, items: int) -> Iterator[slice]:
    size = max(1, _BLOCK // max(1, configs))
    for start in range(0, items, size):
        yield slice(start, min(start + size, items))


def _logistic(n: Floats, c: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Column by column: slope on x and its standard error, ridge prior."""
    slope, level = np.zeros((2, n.shape[1]))
    total = np.maximum(n.sum(axis=0), 1)
    middle = (n * x).sum(axis=0) / total
    x = x - middle
    level = np.log((c.sum(axis=0) + 0.5) / (total - c.sum(axis=0) + 0.5))
    variance = np.ones_like(slope)
    for _ in range(_STEPS):
        eta = np.clip(slope * x + level, -40, 40)
        rate = 1.0 / (1.0 + np.exp(-eta))
        away, weight = c - n * rate, n * rate * (1 - rate)
        ga = (away * x).sum(axis=0) - _RIDGE * slope
        gb = away.sum(axis=0) - _RIDGE * level
        aa = (weight * np.square(x)).sum(axis=0) + _RIDGE
        ab, bb = (weight * x).sum(axis=0), weight.sum(axis=0) + _RIDGE
        variance = bb / (aa * bb - np.square(ab))
        slope += np.clip(variance * (ga - ab / bb * gb), -1, 1)
        level += np.clip((aa * gb - ab * ga) * variance / bb, -1, 1)
    return slope, np.sqrt(variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Mean squares of standardised residuals and their z values, one per item or config.

    Attributes:
        cells: Cells with trials.
        infit: Weighted by information: misfit near the item's difficulty.
        infit_z: The same, less its mean and over its standard deviation under the model.
        outfit: Unweighted: misfit far away.
        outfit_z: The same, standardised.
    """

    cells: Ints
    infit: Floats
    infit_z: Floats
    outfit: Floats
    outfit_z: Floats


def mean_squares(cells: Cells, a: Floats, b: Floats, theta: Floats, axis: int) -> Fit:
    """Infit and outfit of items (axis 0) or configs (axis 1), with binomial variances."""
    rate = probability(theta, a, b)
    n = cells.trials
    spread = n * rate * (1 - rate)
    used = spread > 1e-12
    square = np.square(cells.passes - n * rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        outer = np.where(used, square / spread, 0.0)
        # the fourth central moment of a binomial over its squared variance
        kurtosis = np.where(used, 3.0 + (1 - 6 * rate * (1 - rate)) / spread, 1.0)
        number = used.sum(axis=axis)
        outfit = outer.sum(axis=axis) / number
        outfit_sd = np.sqrt((kurtosis - 1).sum(axis=axis)) / number
        total = spread.sum(axis=axis)
        infit = np.where(used, square, 0.0).sum(axis=axis) / total
        infit_sd = np.sqrt((np.square(spread) * (kurtosis - 1)).sum(axis=axis)) / total
        return Fit(
            cells=number.astype(np.int64),
            infit=infit,
            infit_z=(infit - 1) / infit_sd,
            outfit=outfit,
            outfit_z=(outfit - 1) / outfit_sd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Residual correlations of pairs of items (Yen's Q3), those farthest from chance first.

    Attributes:
        first: Item of a pair, shape (top,).
        second: The other item.
        q3: Correlation over configs of the residuals c / n - P.
        z: Sum of products of residuals c - n P over its standard deviation under the model.
        configs: Configs that tried both.
        mean: Mean Q3 over all pairs that are judged.
        number: Pairs that are judged.
    """

    first: Ints
    second: Ints
    q3: Floats
    z: Floats
    configs: Ints
    mean: float
    number: int


def q3(cells: Cells, a: Floats, b: Floats, theta: Floats, *, top: int, least: float) -> Pairs:
    """Do residuals of pairs of items go together over the configs that tried both?

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        theta: Abilities, shape (J,).
        top: How many pairs to return, by the size of z.
        least: Variance of the sum of products below which a pair is not judged: a few rare
            outcomes that coincide are no evidence.
    """
    tried = (cells.trials > 0).astype(np.float64)
    rate = probability(theta, a, b)
    away = cells.passes - cells.trials * rate
    share = np.divide(away, cells.trials, out=np.zeros_like(away), where=tried > 0)
    spread = cells.trials * rate * (1 - rate)
    total, number, found = 0.0, 0, np.empty((0, 5))
    for start in range(0, len(a), size := max(1, _BLOCK // max(1, len(a)))):
        rows = slice(start, min(start + size, len(a)))
        variance = spread[:, rows].T @ spread
        value, shared = _correlations(share, tried, rows)
        later = np.arange(len(a)) > np.arange(start, rows.stop)[:, None]
        fine = later & (variance >= least) & np.isfinite(value)
        row, column = np.nonzero(fine)
        total, number = total + float(value[fine].sum()), number + len(row)
        z = (away[:, rows].T @ away)[fine] / np.sqrt(variance[fine])
        keep = np.argsort(-np.abs(z), kind="stable")[:top]
        new = [row[keep] + start, column[keep], value[fine][keep], z[keep], shared[fine][keep]]
        both = np.concatenate([found, np.stack(new, axis=1)])
        found = both[np.argsort(-np.abs(both[:, 3]), kind="stable")[:top]]
    return Pairs(
        first=found[:, 0].astype(np.int64),
        second=found[:, 1].astype(np.int64),
        q3=found[:, 2],
        z=found[:, 3],
        configs=found[:, 4].astype(np.int64),
        mean=total / number if number else float("nan"),
        number=number,
    )


def _correlations(share: Floats, tried: Floats, rows: slice) -> tuple[Floats, Floats]:
    """Rows of the matrix of correlations over shared configs, and how many these are."""
    square = np.square(share)
    shared = tried[:, rows].T @ tried
    count = np.maximum(shared, 1)
    mine, other = share[:, rows].T @ tried / count, tried[:, rows].T @ share / count
    cross = share[:, rows].T @ share / count - mine * other
    mine = square[:, rows].T @ tried / count - np.square(mine)
    other = tried[:, rows].T @ square / count - np.square(other)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = cross / np.sqrt(mine * other)
    return np.where((mine > 1e-12) & (other > 1e-12), made, np.nan), shared
