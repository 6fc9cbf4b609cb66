"""Weighted means of case values, and standard errors that know about clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

VARIANTS = ("cr2", "cr1", "cr0", "miller", "clt")

# a cluster whose residual sum keeps less than this share of its variance has none left: it is
# alone in its stratum, and the rest is rounding
_NO_RESIDUAL = 1e-12
# below this share of its variance a cluster's terms would cancel in the sums over pairs
_HEAVY = 1e-2
# residuals of a constant metric are rounding noise of this relative size, not spread
_NO_SPREAD = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredMean:
    """Means of K metrics over the cases of one group, with cluster-robust standard errors.

    Attributes:
        mean: Weighted means, shape (K,).
        se: Standard errors, shape (K,); NaN with fewer than two clusters.
        df: Degrees of freedom for the t quantile, shape (K,); NaN where `se` is.
        units: Clusters with positive weight, shape (K,).
        cases: Cases with positive weight and a defined value, shape (K,).
        largest_share: Share of the weight in the largest cluster, shape (K,).
        unseen_share: Share of the working variance, shape (K,), in clusters that are alone in
            their stratum: their spread cannot be estimated and is missing from `se` (0 is good).
    """

    mean: Floats
    se: Floats
    df: Floats
    units: Ints
    cases: Ints
    largest_share: Floats
    unseen_share: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Rows sorted into cells (a cluster within a stratum), cells into strata and clusters.

    Attributes:
        order: Row order, shape (M,), or None when rows are in order.
        cells: First row of each cell, shape (P,), or None when every row is a cell.
        strata: First cell of each stratum, shape (S,).
        stratum: Stratum of each cell, shape (P,).
        by_cluster: Cell order that brings clusters together, shape (P,), or None when every
            cluster lies in one stratum, so that cells are clusters.
        clusters: First position of each cluster in `by_cluster`, shape (C,).
    """

    order: Ints | None
    cells: Ints | None
    strata: Ints
    stratum: Ints
    by_cluster: Ints | None
    clusters: Ints

    def cell_sums(self, rows: Floats) -> Floats:
        """(M, ...) sorted rows to (P, ...) sums."""
        return rows if self.cells is None else _sums(rows, self.cells)

    def stratum_sums(self, cells: Floats) -> Floats:
        """(P, ...) cells to (S, ...) sums."""
        if len(self.strata) == 1:
            total: Floats = cells.sum(axis=0, keepdims=True)
            return total
        return _sums(cells, self.strata)

    def cluster_sums(self, cells: Floats) -> Floats:
        """(P, ...) cells to (C, ...) sums."""
        return cells if self.by_cluster is None else _sums(cells[self.by_cluster], self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """What weights and clusters alone decide, per missingness pattern p of P.

    Attributes:
        leverage: lambda_g = Q_g / Var(S_g), shape (C, P); 0 where nothing can be seen.
        df: Satterthwaite degrees of freedom, shape (P,).
        unseen: Share of sum Q in clusters that cannot be seen, shape (P,).
    """

    leverage: Floats
    df: Floats
    unseen: Floats


def clustered_mean(
    values: Floats,
    weights: Floats,
    cluster: Ints | None = None,
    stratum: Ints | None = None,
    variant: str = "cr2",
) -> ClusteredMean:
    """Weighted mean over cases with a standard error that treats clusters as the units.

    Cases of one repository, document or template succeed and fail together; only clusters are
    independent. The same standard error serves the difference of two systems: pass the per-case
    differences. Do not pass trials as rows unless the case is their cluster.

    Args:
        values: Case values, shape (M, K), one column a metric; NaN where undefined, and that
            case then has weight 0 for that metric alone.
        weights: Case weights, shape (M,), >= 0. Their scale does not matter.
        cluster: Cluster code of each case, shape (M,); None when every case is its own.
        stratum: Stratum code of each case, shape (M,), for a mean composed of suites whose
            shares of the weight are fixed: residuals are taken from the mean of the stratum.
            Weights are used as they are, so a NaN takes its weight out of its stratum.
        variant: "cr2" (bias-reduced, Satterthwaite df); "cr1" (finite-cluster correction
            C/(C-1), df C-1); "cr0" (no correction); "miller" (case-level variance plus the
            cross terms within clusters, df C-1); "clt" (ignores clusters).

    Returns:
        Estimates of the K metrics. With fewer than two clusters, or where no cluster's spread
        can be seen, `se` and `df` are NaN.

    Raises:
        ArgumentError: If `variant` is none of the above.

    Notes:
        S_g = sum over i in g of w_i (u_i - mean of its stratum). If the u_i were independent
        with equal variance, Cov(S_g, S_h) = [g = h] Q_g - sum_s (a_gs t_hs + a_hs t_gs), with
        Q = sum w^2, a_gs = W_gs / W_s and t_gs = Q_gs - a_gs Q_s / 2. CR2 scales each S_g^2 by
        lambda_g = Q_g / Var(S_g), so that the variance is unbiased under that working model;
        For a weighted mean that is the scalar correction of each cluster's sum, not the
        matrix square root of some packages; with equal weights the two are the same.
        df = E[V]^2 / sum_gh (lambda_g lambda_h Cov_gh^2), expanded into sums over clusters, so
        that no C x C matrix is built.

    References:
        Bell and McCaffrey (2002), Survey Methodology 28:169; Pustejovsky and Tipton (2018),
        J. Bus. Econ. Stat. 36:672; Miller (2024), arXiv:2411.00640.

    Example:
        >>> u = np.array([[1.0], [1.0], [0.0], [0.0], [1.0]])
        >>> got = clustered_mean(u, np.ones(5), cluster=np.array([0, 0, 1, 1, 2]))
        >>> float(got.mean[0]), int(got.units[0]), round(float(got.se[0]), 4)
        (0.6, 3, 0.383)
    """
    if variant not in VARIANTS:
        raise ArgumentError(f"variant == {variant!r}. {did_you_mean(str(variant), VARIANTS)}")
    keep = weights > 0
    codes = [None if variant == "clt" else cluster, stratum]
    if not keep.all():
        values, weights = values[keep], weights[keep]
        codes = [None if code is None else code[keep] for code in codes]
    if not len(weights):
        return _nothing(values.shape[1])
    layout = _layout(len(weights), *codes)
    if layout.order is not None:
        values, weights = values[layout.order], weights[layout.order]
    return _estimate(values, weights, layout, variant)


def _estimate(values: Floats, weights: Floats, layout: _Layout, variant: str) -> ClusteredMean:
    """Means and standard errors of rows that are sorted as `layout` says."""
    missing = np.isnan(values)
    used, pattern = _patterns(missing)
    weight = np.where(used, weights[:, None], 0.0)
    cells = layout.cell_sums(weight)
    clusters, total = layout.cluster_sums(cells), cells.sum(axis=0)
    units, cases = np.count_nonzero(clusters > 0, axis=0), np.count_nonzero(used, axis=0)
    mean, scale, centred = _centre(values, missing, weight, total, pattern)
    if variant in {"cr2", "clt"}:
        sums = _residual_sums(centred, weight, cells, layout, pattern)[0]
        design = _design(layout, cells, layout.cell_sums(weight**2))
        variance = (_columns(design.leverage, pattern) * sums**2).sum(axis=0)
        df, unseen = design.df[pattern], design.unseen[pattern]
    else:
        variance = _classic(centred, weight, cells, layout, pattern, variant)
        df, unseen = np.where(units > 1, units - 1.0, np.nan)[pattern], 0.0 * scale
    se = np.sqrt(variance) / _or_nan(total)[pattern]
    return ClusteredMean(
        mean=mean,
        se=np.where(np.isnan(df), np.nan, np.where(se <= _NO_SPREAD * scale, 0.0, se)),
        df=df,
        units=units[pattern],
        cases=cases[pattern],
        largest_share=(clusters.max(axis=0) / _or_nan(total))[pattern],
        unseen_share=unseen,
    )


def _layout(rows: int, cluster: Ints | None, stratum: Ints | None) -> _Layout:
    """Sort rows by stratum, then cluster, and mark where each block starts."""
    group = np.arange(rows) if cluster is None else np.asarray(cluster)
    layer = np.zeros(rows, dtype=np.int64) if stratum is None else np.asarray(stratum)
    order = np.lexsort((group, layer)) if stratum is not None else np.argsort(group, kind="stable")
    sorted_already = bool((order[1:] > order[:-1]).all())
    group, layer = (group, layer) if sorted_already else (group[order], layer[order])
    new_layer = _changes(layer)
    cells = np.flatnonzero(new_layer | _changes(group))
    strata = np.flatnonzero(new_layer[cells])
    by_cluster = np.argsort(group[cells], kind="stable")
    clusters = np.flatnonzero(_changes(group[cells][by_cluster]))
    return _Layout(
        order=None if sorted_already else order,
        cells=None if len(cells) == rows else cells,
        strata=strata,
        stratum=np.repeat(np.arange(len(strata)), np.diff(strata, append=len(cells))),
        by_cluster=None if len(clusters) == len(cells) else by_cluster,
        clusters=clusters,
    )


def _changes(codes: Ints) -> NDArray[np.bool_]:
    """Whether each code differs from the one before; the first does."""
    return np.concatenate(([True], codes[1:] != codes[:-1]))


def _patterns(missing: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Ints]:
    """Distinct columns of defined cells, shape (M, P), and the pattern of each metric, (K,).

    Weights and clusters are worked on once per pattern: most metrics share one.
    """
    if not missing.any():
        return np.ones((len(missing), 1), dtype=np.bool_), np.zeros(missing.shape[1], np.int64)
    packed = np.ascontiguousarray(np.packbits(missing, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    return ~missing[:, first], pattern


def _centre(
    values: Floats, missing: NDArray[np.bool_], weight: Floats, total: Floats, pattern: Ints
) -> tuple[Floats, Floats, Floats]:
    """Means, largest absolute values and centred values (0 where missing)."""
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    gaps = bool(missing.any())
    filled = np.where(missing, 0.0, values) if gaps else values
    if weight.shape[1] == 1:
        numerator = weight[:, 0] @ filled
    else:
        numerator = np.einsum("mk,mk->k", _columns(weight, pattern), filled)
    # clipping makes the mean of equal values exactly that value
    mean = np.clip(numerator / _or_nan(total)[pattern], low, high)
    scale = np.fmax(np.abs(low), np.abs(high))
    # what is left of sums that cancel is no mean: 1/3 + 1/3 - 2/3 is 0
    cancels = (low < 0.0) & (high > 0.0) & (np.abs(mean) <= _NO_SPREAD * scale)
    mean = np.where(cancels, 0.0, mean)
    return mean, scale, np.where(missing, 0.0, values - mean) if gaps else values - mean


def _residual_sums(
    centred: Floats, weight: Floats, cells: Floats, layout: _Layout, pattern: Ints
) -> tuple[Floats, Floats]:
    """S_g, shape (C, K), and the stratum means of the centred values, shape (S, K)."""
    weighted = layout.cell_sums(_columns(weight, pattern) * centred)
    inside = _columns(layout.stratum_sums(cells), pattern)
    means = _ratio(layout.stratum_sums(weighted), inside)
    spread = means if len(means) == 1 else means[layout.stratum]
    return layout.cluster_sums(weighted - _columns(cells, pattern) * spread), means


def _design(layout: _Layout, weight: Floats, square: Floats) -> _Design:
    """Leverages and Satterthwaite df from the cells' sums of w and w^2, each (P, patterns)."""
    share = _ratio(weight, layout.stratum_sums(weight)[layout.stratum])
    total = layout.stratum_sums(square)[layout.stratum]
    tilt = square - share * total / 2.0
    own = layout.cluster_sums(square)
    # Var(S_g), without a difference of large numbers when one cluster has nearly all the weight
    left = layout.cluster_sums(square * (1.0 - share) ** 2 + share**2 * (total - square))
    seen = left > _NO_RESIDUAL * own
    leverage = np.divide(own, left, out=np.zeros_like(own), where=seen)
    visible = np.where(seen, own, 0.0).sum(axis=0)
    spread = np.where(seen, own**2, 0.0).sum(axis=0)
    # clusters that hold nearly all of a stratum, few by nature, are paired off one by one
    heavy = seen & (left < _HEAVY * own)
    light = np.where(heavy, 0.0, leverage)
    twice = 2.0 * layout.cluster_sums(share * tilt)
    spread += _cross_terms(layout, light, share, tilt) - ((light * twice) ** 2).sum(axis=0)
    spread += _heavy_terms(layout, leverage, heavy, share, tilt)
    # variance of a quadratic form: positive unless nothing is visible or rounding is all there is
    df = np.divide(visible**2, spread, out=np.full_like(visible, np.nan), where=spread > 0)
    df = np.where(visible > 0, df, np.nan)
    return _Design(leverage=leverage, df=df, unseen=1.0 - visible / _or_nan(own.sum(axis=0)))


def _heavy_terms(
    layout: _Layout, leverage: Floats, heavy: NDArray[np.bool_], share: Floats, tilt: Floats
) -> Floats:
    """Sum of lambda_g lambda_h Cov_gh^2 over g != h with a heavy g or h, shape (patterns,)."""
    result = np.zeros(share.shape[1])
    if not heavy.any():
        return result
    order = slice(None) if layout.by_cluster is None else layout.by_cluster
    cluster = np.repeat(
        np.arange(len(heavy)), np.diff(np.append(layout.clusters, len(layout.stratum)))
    )
    for g, p in zip(*np.nonzero(heavy), strict=True):
        cells = np.arange(len(layout.stratum))[order][cluster == g]
        a, t = np.zeros((2, len(layout.strata)))
        a[layout.stratum[cells]] = share[cells, p]
        t[layout.stratum[cells]] = tilt[cells, p]
        cells_with = a[layout.stratum] * tilt[:, p] + share[:, p] * t[layout.stratum]
        covariance = layout.cluster_sums(cells_with[:, None])[:, 0]
        terms = leverage[g, p] * leverage[:, p] * covariance**2
        # a pair of two heavy clusters is met twice, once from either side
        twice = np.where(heavy[:, p], 1.0, 2.0)
        twice[g] = 0.0
        result[p] += (twice * terms).sum()
    return result


def _cross_terms(layout: _Layout, leverage: Floats, share: Floats, tilt: Floats) -> Floats:
    """Sum over g, h of lambda_g lambda_h (sum_s a_gs t_hs + a_hs t_gs)^2, shape (patterns,).

    It factors into 2 sum_{s,s'} (AA TT + AT AT'), where AA_{ss'} = sum_g lambda_g a_gs a_gs' and
    so on; clusters inside one stratum leave the diagonal s = s' only.
    """
    if layout.by_cluster is None:
        pairs = [leverage * share**2, leverage * tilt**2, leverage * share * tilt]
        aa, tt, at = (layout.stratum_sums(pair) for pair in pairs)
        nested: Floats = 2.0 * (aa * tt + at**2).sum(axis=0)
        return nested
    from scipy.sparse import csr_array

    order = layout.by_cluster
    shape = (len(layout.clusters), len(layout.strata))
    pointer = np.append(layout.clusters, len(order))
    result = np.empty(share.shape[1])
    for p in range(len(result)):
        a, t = (
            csr_array((part[order, p], layout.stratum[order], pointer), shape=shape)
            for part in (share, tilt)
        )
        scaled_a, scaled_t = (part.multiply(leverage[:, p, None]).T for part in (a, t))
        aa, tt, at = ((x @ y).toarray() for x, y in ((scaled_a, a), (scaled_t, t), (scaled_a, t)))
        result[p] = 2.0 * (aa * tt + at * at.T).sum()
    return result


def _classic(
    centred: Floats,
    weight: Floats,
    cells: Floats,
    layout: _Layout,
    pattern: Ints,
    variant: str,
) -> Floats:
    """Variance of the weighted sum by CR0, CR1 or Miller's formula, shape (K,)."""
    sums, means = _residual_sums(centred, weight, cells, layout, pattern)
    between: Floats = (sums**2).sum(axis=0)
    if variant == "cr0":
        return between
    if variant == "cr1":
        units = np.count_nonzero(layout.cluster_sums(cells) > 0, axis=0)[pattern]
        corrected: Floats = between * _ratio(units, units - 1.0)
        return corrected
    # sum of w^2 e^2 with e = centred - mean of the stratum, multiplied out
    squares = _columns(weight, pattern) ** 2
    terms = [squares * centred**2, squares * centred, np.broadcast_to(squares, centred.shape)]
    two, one, zero = (layout.stratum_sums(layout.cell_sums(np.asarray(term))) for term in terms)
    within = (two - 2.0 * means * one + means**2 * zero).sum(axis=0)
    cases = np.count_nonzero(weight > 0, axis=0)[pattern]
    total: Floats = between + np.maximum(within, 0.0) * _ratio(1.0, cases - 1.0)
    return total


def _nothing(metrics: int) -> ClusteredMean:
    """The answer for no cases at all."""
    unknown, none = np.full(metrics, np.nan), np.zeros(metrics, dtype=np.int64)
    return ClusteredMean(
        mean=unknown,
        se=unknown,
        df=unknown,
        units=none,
        cases=none,
        largest_share=unknown,
        unseen_share=unknown,
    )


def _sums(rows: Floats, starts: Ints) -> Floats:
    """Sums of consecutive blocks of rows."""
    return np.add.reduceat(rows, starts, axis=0)


def _columns(array: Floats, pattern: Ints) -> Floats:
    """Columns of each metric's pattern; a single pattern broadcasts."""
    return array if array.shape[1] == 1 else array[:, pattern]


def _or_nan(total: Floats) -> Floats:
    """Positive totals, NaN in place of 0."""
    return np.where(total > 0, total, np.nan)


def _ratio(numerator: Floats | float, denominator: Floats) -> Floats:
    """Quotient, 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)
