"""Intraclass correlations: one-way for exchangeable runs, two-way for identified raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """One-way analysis of variance of runs within groups; arrays of one shape, one entry a set.

    Attributes:
        groups: Groups with a run.
        runs: All runs.
        n0: The size of a group that a balanced design would have.
        between_ms: Mean square between groups.
        within_ms: Mean square within groups; NaN when no group has two runs.
        between: Variance between groups, may be negative.
        single: ICC(1,1), the correlation of two runs of a group; may be negative. NaN when no
            group has two runs, or nothing varies.
        average: ICC(1,k), the reliability of the mean of n0 runs.
    """

    groups: Floats
    runs: Floats
    n0: Floats
    between_ms: Floats
    within_ms: Floats
    between: Floats
    single: Floats
    average: Floats


def one_way(
    n: ArrayLike, total: ArrayLike, squares: ArrayLike, weights: Floats | None = None
) -> OneWay:
    """ICC(1,1) and ICC(1,k) from the sums of each group, of one set of groups or of many.

    Args:
        n: Runs of each group, shape (M,) or (J, M) for J sets; empty groups are left out.
        total: Sum of the runs of each group, of that shape.
        squares: Sum of their squares.
        weights: How often each group counts, shape (B, M); None for once each.

    Returns:
        Results of shape (B,) or (J, B), B = 1 without weights.

    Notes:
        n0 = (N - sum n_i^2 / N) / (m - 1); between = (MSB - MSW) / n0;
        ICC(1,1) = between / (between + MSW); ICC(1,k) = (MSB - MSW) / MSB.

    References:
        Shrout and Fleiss (1979), Psychol. Bull. 86:420; Searle (1971), Linear Models, chapter 10.

    Example:
        >>> got = one_way([3, 2, 4, 2], [2, 0, 4, 1], [2, 0, 4, 1])
        >>> round(float(got.single[0]), 4), round(float(got.n0[0]), 4)
        (0.3973, 2.6667)
    """
    size, s, q = (np.asarray(part, dtype=np.float64) for part in (n, total, squares))
    s, q = _centred(size, s, q)
    table = np.stack([np.sign(size), size, size**2, s, s**2 / np.maximum(size, 1.0), q])
    if weights is None:
        sums = table.sum(axis=-1)[..., None]
    else:
        flat = table.reshape(-1, table.shape[-1])
        sums = (flat @ weights.T).reshape(*table.shape[:-1], len(weights))
    groups, runs, square, s, means, q = sums
    scale = np.abs(q) + _ROUNDING**2
    across, inside = means - s**2 / np.maximum(runs, 1.0), q - means
    across = np.where(across < _ROUNDING * scale, 0.0, across)
    inside = np.where(inside < _ROUNDING * scale, 0.0, inside)
    n0 = _ratio(runs - _ratio(square, runs), groups - 1.0)
    msb, msw = _ratio(across, groups - 1.0), _ratio(inside, runs - groups)
    return OneWay(
        groups=groups,
        runs=runs,
        n0=n0,
        between_ms=msb,
        within_ms=msw,
        between=_ratio(msb - msw, n0),
        single=_ratio(msb - msw, msb + (n0 - 1.0) * msw),
        average=_ratio(msb - msw, msb + 0.0 * msw),
    )


def f_interval(found: OneWay, level: float = 0.95) -> tuple[Floats, Floats]:
    """Interval of ICC(1,1) from the F distribution, NaN where there is no F ratio.

    Exact for normal runs in equally large groups; with n0 in place of k an approximation.

    Notes:
        FL = F / F_{1-a/2; m-1, N-m}, FU = F F_{1-a/2; N-m, m-1}; bounds (F - 1) / (F + k - 1).

    References:
        Shrout and Fleiss (1979), Psychol. Bull. 86:420.

    Example:
        >>> low, high = f_interval(one_way([2, 2, 2], [4.0, 8.0, 9.0], [10.0, 32.5, 41.0]))
        >>> round(float(low[0]), 3), round(float(high[0]), 3)
        (-0.642, 0.986)
    """
    from scipy.special import fdtri

    first, second = found.groups - 1.0, found.runs - found.groups
    f = _ratio(found.between_ms, found.within_ms)
    known = np.isfinite(f)
    one, two = (np.where(known, df, 1.0) for df in (first, second))
    tail = (1.0 + level) / 2.0
    low, high = f / fdtri(one, two, tail), f * fdtri(two, one, tail)
    k = found.n0
    return (low - 1.0) / (low + k - 1.0), (high - 1.0) / (high + k - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWay:
    """Mean squares of n rows by k columns and the six forms; NaN where they are undefined.

    Attributes:
        rows_ms: BMS, between rows.
        within_ms: WMS, within rows.
        columns_ms: JMS, between columns.
        error_ms: EMS, residual.
        single: ICC(1,1), (2,1), (3,1).
        average: ICC(1,k), (2,k), (3,k).
    """

    rows_ms: float
    within_ms: float
    columns_ms: float
    error_ms: float
    single: tuple[float, float, float]
    average: tuple[float, float, float]


def shrout_fleiss(ratings: ArrayLike) -> TwoWay:
    """The six intraclass correlations of a complete table.

    Args:
        ratings: Rows are what is measured, columns who or what measured it, shape (n, k), both
            at least 2. Use the first form when columns are exchangeable, the second when they
            are a sample of raters, the third when they are the raters.

    Notes:
        (1,1) = (BMS - WMS) / (BMS + (k - 1) WMS);
        (2,1) = (BMS - EMS) / (BMS + (k - 1) EMS + k (JMS - EMS) / n);
        (3,1) = (BMS - EMS) / (BMS + (k - 1) EMS); averages (BMS - WMS) / BMS,
        (BMS - EMS) / (BMS + (JMS - EMS) / n) and (BMS - EMS) / BMS.

    References:
        Shrout and Fleiss (1979), Psychol. Bull. 86:420.

    Example:
        >>> got = shrout_fleiss([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6],
        ...                      [10, 5, 6, 9], [6, 2, 4, 7]])
        >>> [round(x, 2) for x in (*got.single, *got.average)]
        [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    x = np.asarray(ratings, dtype=np.float64)
    n, k = x.shape
    x = x - x.mean()
    total = float((x**2).sum())
    rows = float(k * (x.mean(axis=1) ** 2).sum())
    columns = float(n * (x.mean(axis=0) ** 2).sum())
    within, error = total - rows, total - rows - columns
    rows, columns, within, error = (
        0.0 if part < _ROUNDING * total else part for part in (rows, columns, within, error)
    )
    bms, jms = rows / (n - 1), columns / (k - 1)
    wms, ems = within / (n * (k - 1)), error / ((n - 1) * (k - 1))
    tilt = (jms - ems) / n
    top = np.array([bms - wms, bms - ems, bms - ems])
    single = np.array([bms + (k - 1) * wms, bms + (k - 1) * ems + k * tilt, bms + (k - 1) * ems])
    average = np.array([bms, bms + tilt, bms])
    return TwoWay(
        rows_ms=bms,
        within_ms=wms,
        columns_ms=jms,
        error_ms=ems,
        single=_three(top, single),
        average=_three(top, average),
    )


def _three(top: Floats, bottom: Floats) -> tuple[float, float, float]:
    first, second, third = _ratio(top, bottom).tolist()
    return first, second, third


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Elementwise top / bottom, NaN where bottom is not positive."""
    out = np.full(np.shape(top), np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def _centred(n: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Sums and sums of squares around the mean of all runs: squares of large numbers cancel."""
    runs = n.sum(axis=-1, keepdims=True)
    centre = total.sum(axis=-1, keepdims=True) / np.maximum(runs, 1.0)
    return total - n * centre, squares - 2.0 * centre * total + n * centre**2
