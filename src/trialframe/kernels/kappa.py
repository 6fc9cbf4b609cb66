"""Agreement of a judge with labels, from tables of four counts.

A table is (judge pass and label pass, judge pass only, label pass only, neither): true and false
positives, false negatives, true negatives. Tables lie along the last axis, length 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.histogram import Histogram, totals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_KEYS = 2**62  # distinct tables that fit into one integer key


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of tables, each attribute in the shape of the tables without their last axis.

    Attributes:
        observed: Share of rows on which both agree, p0.
        chance: Agreement expected from the margins alone, pe.
        kappa: (p0 - pe)/(1 - pe); NaN where pe = 1 or the table is empty.
        se: Its standard error for independent rows (Fleiss, Cohen and Everitt).
        positive: Agreement on passes, 2 tp/(2 tp + fp + fn).
        negative: Agreement on fails, 2 tn/(2 tn + fp + fn).
    """

    observed: Floats
    chance: Floats
    kappa: Floats
    se: Floats
    positive: Floats
    negative: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class KappaBootstrap:
    """Percentile bootstrap of kappa.

    Attributes:
        low: Lower bound; NaN when no resample has a kappa.
        high: Upper bound.
        se: Standard deviation over resamples.
        undefined: Resamples without a kappa, left out of the bounds.
        units: Units that were resampled.
    """

    low: float
    high: float
    se: float
    undefined: int
    units: int


def agreement(tables: ArrayLike) -> Agreement:
    """Agreement of judge and labels.

    Kappa falls with skewed margins: with 95 % passes, 90 % agreement may give a kappa of 0. Read it
    beside the margins and the two one-sided agreements.

    Args:
        tables: Counts (tp, fp, fn, tn) >= 0, shape (..., 4).

    Returns:
        Agreements, NaN where undefined.

    Notes:
        kappa = 2 (tp tn - fp fn)/((tp+fp)(fp+tn) + (tp+fn)(fn+tn)), the same number with one
        division, so that thresholds are met exactly. With h the influence of a row on kappa,
        h_ij = ([i = j] - (1 - kappa)(p_.i + p_j.))/(1 - pe), SE = sqrt(Var(h)/n).

    References:
        Cohen (1960), Educ. Psychol. Meas. 20:37; Fleiss, Cohen and Everitt (1969), Psychol. Bull.
        72:323.

    Example:
        >>> got = agreement([20, 5, 10, 15])
        >>> round(float(got.kappa), 6), round(float(got.se), 6)
        (0.4, 0.126996)
    """
    cells = np.asarray(tables, dtype=np.float64)
    tp, fp, fn, tn = np.moveaxis(cells, -1, 0)
    rows = cells.sum(axis=-1)
    influence = _influence(cells)
    share = _ratio(cells, rows[..., None])
    # the influence has mean 0, so its variance is the mean square
    variance = (share * influence**2).sum(axis=-1)
    return Agreement(
        observed=_ratio(tp + tn, rows),
        chance=_ratio((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), rows**2),
        kappa=kappa_of(cells),
        se=np.sqrt(_ratio(variance, rows)),
        positive=_ratio(2.0 * tp, 2.0 * tp + fp + fn),
        negative=_ratio(2.0 * tn, 2.0 * tn + fp + fn),
    )


def kappa_of(tables: Floats) -> Floats:
    """Cohen's kappa of tables of shape (..., 4); NaN where both raters give one class only."""
    tp, fp, fn, tn = np.moveaxis(np.asarray(tables, dtype=np.float64), -1, 0)
    chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return _ratio(2.0 * (tp * tn - fp * fn), chance)


def clustered_se(units: Ints) -> float:
    """Standard error of the pooled kappa when rows of a unit belong together.

    Args:
        units: Counts (tp, fp, fn, tn) of each case or cluster, shape (U, 4).

    Returns:
        The linearised standard error; NaN with fewer than two units or an undefined kappa.

    Notes:
        sqrt(U/(U-1) sum_u (sum of h over the rows of u)^2)/n, h as in `agreement`.

    Example:
        >>> table = np.repeat(np.eye(4, dtype=np.int64), [20, 5, 10, 15], axis=0)
        >>> round(clustered_se(table) * 0.98**0.5, 6)
        0.126996
    """
    count = len(units)
    if count < 2:
        return float("nan")
    pooled = units.sum(axis=0).astype(np.float64)
    sums = units @ _influence(pooled)
    return float(np.sqrt(count / (count - 1.0) * (sums @ sums)) / pooled.sum())


def bootstrap_kappa(
    units: Ints, resamples: int, rng: np.random.Generator, level: float = 0.95
) -> KappaBootstrap:
    """Percentile bootstrap of kappa over cases or clusters.

    Args:
        units: Counts (tp, fp, fn, tn) of each unit, shape (U, 4), U >= 1.
        resamples: Number of resamples, >= 1.
        rng: Source of randomness.
        level: Nominal coverage in (0, 1).

    Returns:
        Bounds from the resamples that have a kappa.

    Notes:
        Units with the same four counts are alike, so a resample is one multinomial draw over the
        distinct tables; row order cannot change the result.

    Example:
        >>> table = np.repeat(np.eye(4, dtype=np.int64), [4, 1, 1, 4], axis=0)
        >>> got = bootstrap_kappa(table, 2000, np.random.default_rng(0))
        >>> got.low, got.high
        (0.0, 1.0)
    """
    tables, multiplicity = distinct(units)
    flat = np.arange(len(tables), dtype=np.float64)
    kinds = Histogram(sums=flat, sizes=np.ones_like(flat), multiplicity=multiplicity, sign=1.0)
    draws = kappa_of(totals(kinds, tables.astype(np.float64), resamples, rng))
    defined = np.sort(draws[~np.isnan(draws)])
    if not len(defined):
        nothing = float("nan")
        return KappaBootstrap(
            low=nothing, high=nothing, se=nothing, undefined=resamples, units=len(units)
        )
    # rank ceil(tail R), as every bootstrap here
    rank = max(ceil((1.0 - level) / 2.0 * len(defined) - 1e-6), 1)
    return KappaBootstrap(
        low=float(defined[rank - 1]),
        high=float(defined[-rank]),
        se=float(np.std(defined, ddof=min(1, len(defined) - 1))),
        undefined=resamples - len(defined),
        units=len(units),
    )


def distinct(units: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of (U, 4) counts, sorted, and how many units have each."""
    base = units.max(axis=0, initial=0).astype(object) + 1
    if int(np.prod(base)) >= _KEYS:
        rows, multiplicity = np.unique(units, axis=0, return_counts=True)
        return rows, multiplicity
    b = base.astype(np.int64)
    key = ((units[:, 0] * b[1] + units[:, 1]) * b[2] + units[:, 2]) * b[3] + units[:, 3]
    keys, multiplicity = np.unique(key, return_counts=True)
    columns = []
    for size in b[:0:-1]:
        keys, column = np.divmod(keys, size)
        columns.append(column)
    return np.column_stack([keys, *columns[::-1]]), multiplicity


def _influence(tables: Floats) -> Floats:
    """Influence of a row in each of the four cells on kappa, shape (..., 4)."""
    rows = tables.sum(axis=-1)
    tp, fp, fn, tn = (_ratio(cell, rows) for cell in np.moveaxis(tables, -1, 0))
    judge, label = np.stack([tp + fp, fn + tn]), np.stack([tp + fn, fp + tn])
    kappa = kappa_of(tables)
    left = 1.0 - (judge * label).sum(axis=0)
    drop = 1.0 - kappa
    # pe moves with a cell (judge i, label j) by the labels' share of i plus the judge's share of j
    terms = [
        1.0 - drop * (label[0] + judge[0]),
        -drop * (label[0] + judge[1]),
        -drop * (label[1] + judge[0]),
        1.0 - drop * (label[1] + judge[1]),
    ]
    raw = _ratio(np.stack(terms, axis=-1), left[..., None])
    share = np.stack([tp, fp, fn, tn], axis=-1)
    centred: Floats = raw - (share * raw).sum(axis=-1, keepdims=True)
    return centred


def _ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Quotients, NaN where `bottom` is 0."""
    above, below = np.broadcast_arrays(
        np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    )
    made: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return made
