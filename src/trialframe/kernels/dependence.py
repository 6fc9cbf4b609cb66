"""Do trials depend on what they share, on the clock, or on the config at all?"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.tails import TINY, Sum, lower_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]

MOST_TRIALS = 20
"""Trials of a case that are looked at: the exact law of a case has a table as wide as its pairs."""

BINS = 4096
"""Time is cut into at most this many equal parts of the trials; with fewer times it is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Pairs of trials of one case that agree, by whether they share a group.

    Attributes:
        together: Share of agreeing pairs among those in one group.
        apart: The same among pairs in different groups.
        cells: Cells with both kinds of pairs and both verdicts.
        pvalue: Of at least as many agreeing pairs in one group, one-sided.
        exact: Whether the p-value is exact; else it is that of a normal law.
    """

    together: float
    apart: float
    cells: int
    pvalue: float
    exact: bool


def shared_agreement(cell: Ints, group: Ints, passed: Bools) -> Agreement | None:
    """Test whether trials that share a group agree more often than other trials of their case.

    Args:
        cell: Config and case of every trial as whole numbers, shape (N,).
        group: What trials share, as whole numbers, shape (N,).
        passed: Verdicts, shape (N,).

    Returns:
        None when no cell has both verdicts and pairs of both kinds: then nothing can be seen.

    Notes:
        Given its passes, the verdicts of a cell are exchangeable when trials are independent.
        The sum over cells of agreeing pairs within groups then has a law that is a convolution
        of sums of hypergeometric numbers: this is the permutation test over all arrangements.

    Example:
        >>> cell = np.repeat(np.arange(8), 4)
        >>> group, passed = np.tile([0, 0, 1, 1], 8), np.tile([True, True, False, False], 8)
        >>> found = shared_agreement(cell, group, passed)
        >>> found.together, found.apart, round(found.pvalue * 3**8, 6)
        (1.0, 0.0, 1.0)
    """
    order = np.argsort(cell, kind="stable")
    cell, group, passed = cell[order], group[order], passed[order]
    starts = np.flatnonzero(np.diff(cell, prepend=cell[:1] - 1))
    place = np.arange(len(cell)) - np.repeat(starts, np.diff(starts, append=len(cell)))
    keep = place < MOST_TRIALS
    cell, group, passed = cell[keep], group[keep], passed[keep]
    pairs, unit = np.unique(np.stack((cell, group), axis=1), axis=0, return_inverse=True)
    size = np.bincount(unit.ravel()).astype(np.int64)
    won = np.bincount(unit.ravel(), weights=passed).astype(np.int64)
    owner = np.unique(pairs[:, 0], return_inverse=True)[1].ravel() if len(pairs) else pairs[:, 0]
    trials = np.bincount(owner, weights=size).astype(np.int64)
    passes = np.bincount(owner, weights=won).astype(np.int64)
    inside = np.bincount(owner, weights=_choose2(size)).astype(np.int64)
    informative = (inside > 0) & (inside < _choose2(trials)) & (passes > 0) & (passes < trials)
    if not informative.any():
        return None
    agree = np.bincount(owner, weights=_choose2(won) + _choose2(size - won)).astype(np.int64)
    every = _choose2(passes) + _choose2(trials - passes)
    chosen = informative[owner]
    total = _law(owner[chosen], size[chosen], passes[informative])
    observed = int(agree[informative].sum())
    pvalue, exact = _at_least(total, observed)
    outside = (_choose2(trials) - inside)[informative].sum()
    return Agreement(
        together=observed / float(inside[informative].sum()),
        apart=float((every - agree)[informative].sum() / outside),
        cells=int(informative.sum()),
        pvalue=pvalue,
        exact=exact,
    )


def _choose2(n: Ints) -> Ints:
    return np.asarray(n * (n - 1) // 2, dtype=np.int64)


def _law(owner: Ints, size: Ints, passes: Ints) -> Sum:
    """Agreeing pairs within groups, one group of equal cells a row."""
    order = np.lexsort((-size, owner))
    owner, size = np.unique(owner[order], return_inverse=True)[1].ravel(), size[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - first[owner]
    designs = np.zeros((len(passes), int(rank.max()) + 1), dtype=np.int64)
    designs[owner, rank] = size
    kinds, which = np.unique(designs, axis=0, return_inverse=True)
    cells, times = np.unique(np.stack((which.ravel(), passes), axis=1), axis=0, return_counts=True)
    tables = [_arrangements(tuple(kind[kind > 0].tolist())) for kind in kinds]
    width = max(table.shape[1] for table in tables)
    probs = np.zeros((len(cells), width))
    for row, (kind, c) in enumerate(cells.tolist()):
        law = tables[kind][c]
        probs[row, : len(law)] = law / law.sum()
    return Sum(step=np.ones(len(cells), dtype=np.int64), probs=probs, times=times.astype(np.int64))


def _arrangements(sizes: tuple[int, ...]) -> Floats:
    """Ways to give c passes to groups, by agreeing pairs: shape (trials + 1, pairs + 1)."""
    most = sum(comb(size, 2) for size in sizes)
    ways = np.zeros((sum(sizes) + 1, most + 1))
    ways[0, 0] = 1.0
    for size in sizes:
        grown = np.zeros_like(ways)
        for won in range(size + 1):
            pairs = comb(won, 2) + comb(size - won, 2)
            moved = ways[: len(ways) - won, : most + 1 - pairs]
            grown[won:, pairs:] += comb(size, won) * moved
        ways = grown
    return ways


def _at_least(total: Sum, observed: int) -> tuple[float, bool]:
    """P(sum >= observed), by all arrangements or, for sums too wide, by the normal law."""
    from scipy.special import ndtr

    found = lower_tail(total.mirrored(), int(total.span) - observed)
    if found is not None:
        return min(max(found.at_most, TINY), 1.0), True
    values = np.arange(total.probs.shape[1])
    mean = total.probs @ values
    variance = float(total.times @ (total.probs @ values**2 - mean**2))
    distance = (observed - 0.5 - float(total.times @ mean)) / np.sqrt(variance)
    return max(float(ndtr(-distance)), TINY), False


def later_shares(config: Ints, when: Ints, configs: int) -> Floats:
    """How often a trial of one config started later than one of another.

    Args:
        config: Config of every trial, 0..configs-1, shape (N,).
        when: Start of every trial, in any unit, shape (N,).
        configs: Number of configs.

    Returns:
        Entry (a, b) is the share of pairs in which b's trial started later, ties half, shape
        (configs, configs); NaN for a config without trials. About 1/2 when runs are interleaved.

    Example:
        >>> later_shares(np.array([0, 0, 1, 1]), np.array([1, 2, 3, 4]), 2)[0, 1]
        np.float64(1.0)
    """
    times, rank = np.unique(when, return_inverse=True)
    rank = rank.ravel()
    if len(times) > BINS:
        heads = np.cumsum(np.bincount(rank)) - 1
        rank = heads[rank] * BINS // len(rank)
    width = int(rank.max(initial=0)) + 1
    counts = np.bincount(config * width + rank, minlength=configs * width).astype(np.float64)
    counts = counts.reshape(configs, width)
    trials = counts.sum(axis=1)
    before = np.cumsum(counts, axis=1) - counts / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((before @ counts.T) / (trials[:, None] * trials), dtype=np.float64)


def no_difference(values: Floats, cluster: Ints) -> float:
    """P-value of no difference between configs at all, cases (or clusters) as blocks.

    Args:
        values: One row a case, one column a config, shape (M, C), C >= 2.
        cluster: Cluster of every case, 0..G-1, shape (M,).

    Returns:
        The p-value; NaN when no block tells two configs apart.

    Notes:
        Q = (C - 1) sum_j (S_j - mean S)^2 / sum_gj (s_gj - mean s_g)^2 of block sums s_gj, which
        has C - 1 degrees of freedom when the configs are exchangeable within blocks. With one
        trial a case it is Cochran's Q. A chi-square law, so not for fewer than about ten blocks.

    References:
        Cochran (1950), Biometrika 37:256.

    Example:
        >>> values = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0.0]])
        >>> round(no_difference(values, np.arange(6)), 4)
        0.0907
    """
    from scipy.special import chdtrc

    blocks = _block_sums(values, cluster)
    within = float(np.sum((blocks - blocks.mean(axis=1, keepdims=True)) ** 2))
    sums = blocks.sum(axis=0)
    degrees = values.shape[1] - 1
    if within <= 0 or degrees < 1:
        return float("nan")
    return float(chdtrc(degrees, degrees * float(np.sum((sums - sums.mean()) ** 2)) / within))


def tied_with_best(values: Floats, cluster: Ints, alpha: float = 0.05) -> Bools:
    """Which configs are not separated from the one with the highest mean, itself included.

    Args:
        values: One row a case, one column a config, shape (M, C).
        cluster: Cluster of every case, 0..G-1, shape (M,).
        alpha: Chance of wrongly separating any, shared evenly (Bonferroni).

    Example:
        >>> values = np.stack((np.ones(40), np.ones(40), np.arange(40) % 2), axis=1)
        >>> tied_with_best(values, np.arange(40)).tolist()
        [True, True, False]
    """
    from scipy.special import stdtrit

    best = int(np.argmax(values.mean(axis=0)))
    away = values[:, [best]] - values
    size = np.bincount(cluster).astype(np.float64)
    mean = away.mean(axis=0)
    sums = _block_sums(away, cluster) - size[:, None] * mean
    blocks = len(size)
    if blocks < 2:
        return np.ones(values.shape[1], dtype=np.bool_)
    se = np.sqrt(np.sum(sums**2, axis=0) * blocks / (blocks - 1)) / len(values)
    reach = float(stdtrit(blocks - 1, 1 - alpha / 2 / max(values.shape[1] - 1, 1)))
    return np.asarray(mean <= reach * se, dtype=np.bool_)


def _block_sums(values: Floats, cluster: Ints) -> Floats:
    order = np.argsort(cluster, kind="stable")
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0), dtype=np.float64)
