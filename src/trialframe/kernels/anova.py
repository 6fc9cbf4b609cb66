"""Variance components of configs crossed with cases, runs within cells: mean squares, in batches.

Everything a resample of cases needs is a weighted sum over cases, so thousands of resamples or
splits are matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

CONFIG, CASE, CONFIG_CASE, RUN = range(4)
"""Places of the components in the last axis."""

ROUNDING = 1e-12  # relative: a sum of squares below this share of the total is 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells of J configs by M cases.

    Attributes:
        n: Runs of each cell, shape (J, M); 0 for an empty cell.
        mean: Mean of each cell, shape (J, M); 0 where it is empty.
        within: Sum of squares around the cell mean, shape (J, M).
    """

    n: Ints
    mean: Floats
    within: Floats

    @property
    def empty(self) -> bool:
        """Whether some cell has no run."""
        return bool((self.n == 0).any())

    @property
    def balanced(self) -> bool:
        """Whether all cells have equally many runs."""
        return bool((self.n == self.n.flat[0]).all())

    def take(self, cases: Ints) -> Cells:
        """The cells of some cases."""
        return Cells(n=self.n[:, cases], mean=self.mean[:, cases], within=self.within[:, cases])


def cells_of(n: Ints, total: Floats, squares: Floats) -> Cells:
    """Cells from the runs, the sum and the sum of squares of each, all of shape (J, M)."""
    runs = np.maximum(n, 1)
    within = squares - total**2 / runs
    within[within < ROUNDING * squares] = 0.0
    return Cells(n=n, mean=total / runs, within=within)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanSquares:
    """Mean squares and components of B weightings of the cases.

    Attributes:
        ms: Mean squares (config, case, config x case, run), shape (B, 4); NaN where there is none.
        df: Their degrees of freedom, shape (B, 4).
        runs: Harmonic mean of the runs of a cell, shape (B,).
        raw: Components in the order of `ms`, shape (B, 4); they may be negative. With one run
            everywhere the last is NaN and the third holds both.
    """

    ms: Floats
    df: Floats
    runs: Floats
    raw: Floats


def mean_squares(cells: Cells, weights: Floats | None = None) -> MeanSquares:
    """Variance components by the method of moments, for one or many weightings of the cases.

    Args:
        cells: J >= 2 configs by M cases without empty cells.
        weights: How often each case counts, shape (B, M); None for once each, B = 1.

    Returns:
        Mean squares and components; a weighting of fewer than two cases has none.

    Notes:
        Mean squares of the cell means times the harmonic mean h of their runs:
        v_config = (MS_a - MS_at) / (M h), v_case = (MS_t - MS_at) / (J h),
        v_config_case = (MS_at - MS_e) / h, v_run = MS_e = sum of squares within cells over
        sum (n - 1). With equal n that is the usual analysis of variance, otherwise that of
        unweighted means.

    References:
        Brennan (2001), Generalizability Theory, chapter 3; Searle, Casella and McCulloch (1992),
        Variance Components, section 5.6.

    Example:
        >>> n = np.full((2, 2), 2)
        >>> passes = np.array([[2.0, 1.0], [1.0, 0.0]])
        >>> cells = cells_of(n, passes, passes)
        >>> mean_squares(cells).raw.round(3).tolist()
        [[0.125, 0.125, -0.125, 0.25]]
    """
    configs = cells.n.shape[0]
    w = np.ones((1, cells.n.shape[1])) if weights is None else weights
    x = cells.mean - cells.mean.mean()
    size = w.sum(axis=1)
    case_mean = x.mean(axis=0)
    rows = w @ x.T / size[:, None]
    grand = w @ case_mean / size
    everything = w @ (x**2).sum(axis=0) - configs * size * grand**2
    sums = np.column_stack(
        [
            size * ((rows - grand[:, None]) ** 2).sum(axis=1),
            configs * (w @ case_mean**2 - size * grand**2),
        ]
    )
    sums = np.column_stack([sums, everything - sums.sum(axis=1)])
    sums[sums < ROUNDING * np.abs(everything)[:, None]] = 0.0
    runs = configs * size / (w @ (1.0 / cells.n).sum(axis=0))
    left = w @ (cells.n - 1).sum(axis=0)
    df = np.column_stack(
        [np.full(len(size), configs - 1.0), size - 1.0, (configs - 1.0) * (size - 1.0), left]
    )
    squares = np.column_stack([sums * runs[:, None], w @ cells.within.sum(axis=0)])
    ms = np.divide(squares, df, out=np.full_like(df, np.nan), where=df > 0)
    return MeanSquares(ms=ms, df=df, runs=runs, raw=_components(ms, configs, size, runs))


def _components(ms: Floats, configs: int, cases: Floats, runs: Floats) -> Floats:
    """Components from mean squares, each (B, 4)."""
    noise = np.where(np.isnan(ms[:, RUN]), 0.0, ms[:, RUN])
    return np.column_stack(
        [
            (ms[:, CONFIG] - ms[:, CONFIG_CASE]) / (cases * runs),
            (ms[:, CASE] - ms[:, CONFIG_CASE]) / (configs * runs),
            (ms[:, CONFIG_CASE] - noise) / runs,
            ms[:, RUN],
        ]
    )


def floored(raw: Floats) -> Floats:
    """Components with negative ones set to 0; NaN stays."""
    return np.maximum(raw, 0.0)


def shares(raw: Floats) -> Floats:
    """Share of each component in their sum, negative ones taken as 0, shape (..., 4).

    NaN where nothing varies, and where the component is not identified.
    """
    kept = floored(raw)
    total = np.nansum(kept, axis=-1, keepdims=True)
    out = np.full_like(kept, np.nan)
    np.divide(kept, total, out=out, where=total > 0)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """How well a design of cases and runs tells configs apart; arrays of one shape.

    Attributes:
        g: Share of the variance of observed means that is the configs', for ranking.
        phi: The same for absolute scores, where the luck of the cases counts too.
        se_relative: Standard error of a difference from the other configs' mean.
        se_absolute: Standard error of a config's mean.
    """

    g: Floats
    phi: Floats
    se_relative: Floats
    se_absolute: Floats


def coefficients(raw: Floats, cases: Floats | float, runs: Floats | float) -> Coefficients:
    """G and Phi coefficients of a design.

    Args:
        raw: Components, shape (..., 4); negative ones are taken as 0.
        cases: Cases of the design, broadcast against the leading axes.
        runs: Runs a cell. Where the run component is NaN its variance is inside that of config
            x case, which then only holds for the runs that there were.

    Returns:
        Coefficients; g and phi are NaN where there is no variance at all.

    Notes:
        g = v_a / (v_a + v_at / cases + v_e / (cases runs)); phi adds v_t / cases below.

    References:
        Cronbach, Gleser, Nanda and Rajaratnam (1972), The Dependability of Behavioral
        Measurements; Brennan (2001), chapter 2.

    Example:
        >>> got = coefficients(np.array([0.02667, 0.04333, 0.03667, 0.15833]), 6, 5)
        >>> round(float(got.g), 3), round(float(got.phi), 3)
        (0.701, 0.589)
    """
    kept = floored(np.where(np.isnan(raw), 0.0, raw))
    config, relative = kept[..., CONFIG], kept[..., CONFIG_CASE] / cases
    relative = relative + kept[..., RUN] / (np.asarray(cases) * runs)
    absolute = relative + kept[..., CASE] / cases
    unknown = np.isnan(raw[..., CONFIG])

    def ratio(error: Floats) -> Floats:
        total = config + error
        out = np.full(np.broadcast_shapes(np.shape(total)), np.nan)
        np.divide(config, total, out=out, where=(total > 0) & ~unknown)
        return out

    return Coefficients(
        g=ratio(relative),
        phi=ratio(absolute),
        se_relative=np.sqrt(relative),
        se_absolute=np.sqrt(absolute),
    )


def case_weights(unit: Ints, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each case counts in bootstrap resamples of whole units, shape (resamples, M).

    Args:
        unit: Code 0..U-1 of the unit of each case, shape (M,): its cluster, or itself.
        resamples: Number of resamples, >= 1.
        rng: Source of randomness.
    """
    units = int(unit.max()) + 1
    drawn = rng.integers(units, size=(resamples, units))
    drawn += np.arange(resamples)[:, None] * units
    counts = np.bincount(drawn.ravel(), minlength=resamples * units).reshape(resamples, units)
    made: Floats = counts.astype(np.float64)
    return made if units == len(unit) and (unit == np.arange(units)).all() else made[:, unit]


def half_weights(unit: Ints, splits: int, rng: np.random.Generator) -> Floats:
    """1 for the cases of a random half of the units and 0 for the rest, shape (splits, M)."""
    units = int(unit.max()) + 1
    place = np.argsort(rng.random((splits, units)), axis=1)
    first = np.zeros((splits, units))
    np.put_along_axis(first, place[:, : units // 2], 1.0, axis=1)
    return first[:, unit]
