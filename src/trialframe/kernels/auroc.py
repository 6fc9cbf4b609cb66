"""How well a signal tells failing from passing trials of the same case: concordant pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.montecarlo import monte_carlo_p
from trialframe.kernels.tails import TINY, Sum, lower_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_BITS = 62  # trials of a case whose ties fit into one integer
_EXACT_CELLS = 3e8  # additions that exact distributions of single cases may cost
_EXACT_TYPES = 2e7  # probabilities of all kinds of cases held at a time
_DRAWN_CELLS = 2e8  # outcomes that a Monte Carlo test may shuffle
_BATCH_CELLS = 2**22  # outcomes shuffled at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Concordance:
    """Pairs of a failing and a passing trial of the same case, all arrays of shape (M,).

    Attributes:
        twice: Twice the pairs in which the failing trial has the higher signal, ties counted
            once: whole numbers, so that sums are exact.
        pairs: Fails times passes.
    """

    twice: Ints
    pairs: Ints

    @property
    def auc(self) -> Floats:
        """Share of concordant pairs of every case; NaN for a case of one outcome."""
        out = np.full(len(self.pairs), np.nan)
        np.divide(self.twice, 2.0 * self.pairs, out=out, where=self.pairs > 0)
        return out

    @property
    def pair_weighted(self) -> float:
        """Concordant pairs of all cases over all pairs; NaN without pairs."""
        pairs = int(self.pairs.sum())
        return int(self.twice.sum()) / (2 * pairs) if pairs else float("nan")

    @property
    def macro(self) -> float:
        """Mean share over the cases that have both outcomes; NaN when there are none."""
        shares = self.auc[self.pairs > 0]
        return float(shares.mean()) if len(shares) else float("nan")


def concordance(case: Ints, rank: Ints, fail: Bools, cases: int) -> Concordance:
    """Count concordant pairs within every case by sorting once.

    Args:
        case: Case code of every trial, 0..cases-1, shape (N,).
        rank: Signal as an integer >= 0 that orders it, equal where the signal is, shape (N,).
        fail: Whether the trial failed, shape (N,).
        cases: Number of cases M.

    Returns:
        Counts per case. The AUC of a case is the chance that a random failing trial has a higher
        signal than a random passing one, ties counted half (Mann and Whitney).

    Example:
        >>> case, flag = np.array([0, 0, 0, 0]), np.array([1, 1, 0, 0])
        >>> got = concordance(case, flag, np.array([True, False, False, False]), 1)
        >>> got.twice.tolist(), got.pairs.tolist(), round(got.pair_weighted, 4)
        ([5], [3], 0.8333)
    """
    fails = np.bincount(case[fail], minlength=cases)
    passes = np.bincount(case, minlength=cases) - fails
    key, order = _sorted(case, rank)
    starts = _starts(key)
    failed = np.add.reduceat(fail[order].astype(np.int64), starts) if len(key) else starts
    passed = np.diff(starts, append=len(key)) - failed
    owner = case[order][starts]
    before = np.cumsum(passed) - passed - (np.cumsum(passes) - passes)[owner]
    gained = failed * (2 * before + passed)
    twice = np.zeros(cases, dtype=np.int64)
    if len(owner):
        first = _starts(owner)
        twice[owner[first]] = np.add.reduceat(gained, first)
    return Concordance(twice=twice, pairs=fails * passes)


def _sorted(case: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """Keys that order by case, then rank, ascending, and the order that makes them so."""
    key = case * (int(rank.max(initial=0)) + 1) + rank
    order = np.argsort(key, kind="stable")
    return key[order], order


def _starts(values: Ints) -> Ints:
    """Where a run of equal values starts."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinCase:
    """Two-sided permutation test of outcomes within cases.

    Attributes:
        pvalue: The p-value; 1 when no case has both outcomes.
        method: "dense", "fourier" or "partial sums" when exact, else "monte carlo".
        exact: Whether it is exact rather than drawn.
        draws: Permutations drawn, 0 when exact.
    """

    pvalue: float
    method: str
    exact: bool
    draws: int


def permute_within(
    case: Ints, rank: Ints, fail: Bools, cases: int, rng: np.random.Generator, draws: int = 9999
) -> WithinCase:
    """Test that a signal says nothing about the outcome of a trial, given its case.

    Args:
        case: Case code of every trial, 0..cases-1, shape (N,).
        rank: Signal as an ordering integer >= 0, shape (N,).
        fail: Whether the trial failed, shape (N,).
        cases: Number of cases M.
        rng: Used only where no exact method fits.
        draws: Monte Carlo draws, >= 1; fewer where N times draws is beyond 2e8.

    Notes:
        The statistic is |sum of concordant pairs - half of all pairs| over cases. Given how many
        trials of a case failed, every choice of them is equally likely; cases alike in size,
        fails and ties share one distribution, and the sum over cases is convolved exactly.
        Monte Carlo: (extreme + 1)/(draws + 1).

    Example:
        >>> case, rank = np.zeros(6, dtype=int), np.arange(6)
        >>> fail = np.array([False, False, False, True, True, True])
        >>> permute_within(case, rank, fail, 1, np.random.default_rng(0)).pvalue.__round__(6)
        0.1
    """
    found = concordance(case, rank, fail, cases)
    mixed = found.pairs > 0
    if not mixed.any():
        return WithinCase(pvalue=1.0, method="dense", exact=True, draws=0)
    keep = mixed[case]
    layout = _layout(case[keep], rank[keep], fail[keep])
    apart = abs(int(found.twice.sum()) - int(found.pairs.sum()))
    total = _distributions(layout)
    lower = upper = None
    if total is not None:
        centre = int(found.pairs.sum()) - total.least
        lower = lower_tail(total.above, centre - apart)
        upper = lower_tail(total.above.mirrored(), int(total.above.span) - centre - apart)
    if lower is None or upper is None:
        used = max(1, min(draws, int(_DRAWN_CELLS / len(layout.twice_rank))))
        extreme = _shuffled(layout, apart, rng, used)
        p = monte_carlo_p(extreme, used)
        return WithinCase(pvalue=p, method="monte carlo", exact=False, draws=used)
    p = min(max(lower.at_most + upper.at_most, TINY), 1.0) if apart else 1.0
    return WithinCase(pvalue=p, method=lower.method, exact=True, draws=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Trials of cases with both outcomes, ordered by case, then signal.

    Attributes:
        start: First trial of every case, shape (M,).
        size: Trials of every case, shape (M,).
        fails: Failing trials of every case, shape (M,).
        twice_rank: Twice the mid-rank of every trial in its case, shape (N,).
        tied: Whether a trial has the signal of the one before it in its case, shape (N,).
    """

    start: Ints
    size: Ints
    fails: Ints
    twice_rank: Ints
    tied: Bools


def _layout(case: Ints, rank: Ints, fail: Bools) -> _Layout:
    key, order = _sorted(case, rank)
    owner = case[order]
    start = _starts(owner)
    size = np.diff(start, append=len(owner))
    runs = _starts(key)
    length = np.diff(runs, append=len(key))
    place = np.arange(len(owner)) - np.repeat(start, size)
    twice = np.repeat(2 * place[runs] + length + 1, length)
    tied = np.ones(len(key), dtype=bool)
    tied[runs] = False
    fails = np.add.reduceat(fail[order].astype(np.int64), start)
    return _Layout(start=start, size=size, fails=fails, twice_rank=twice, tied=tied)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Total:
    """Twice the concordant pairs of all cases: the least there can be, and what is above it."""

    least: int
    above: Sum


def _distributions(layout: _Layout) -> _Total | None:
    """Twice the concordant pairs as a sum over cases; None when that would cost too much."""
    place = np.arange(len(layout.tied)) - np.repeat(layout.start, layout.size)
    small = layout.size <= _BITS
    bit = np.where(layout.tied, np.int64(1) << np.minimum(place, _BITS), 0)
    ties = np.add.reduceat(bit, layout.start)
    # large cases stand alone: their ties do not fit into one integer
    ties[~small] = -1 - np.flatnonzero(~small)
    order = np.lexsort((ties, layout.fails, layout.size))
    kinds = np.stack((layout.size, layout.fails, ties))[:, order]
    apart = np.concatenate(([True], (kinds[:, 1:] != kinds[:, :-1]).any(axis=0)))
    first = np.flatnonzero(apart)
    size, fails = kinds[0, first], kinds[1, first]
    width = 2 * fails * (size - fails) + 1
    cost = float((size * (fails + 1.0) * width).sum())
    if cost > _EXACT_CELLS or float(width.max()) * len(first) > _EXACT_TYPES:
        return None
    probs = np.zeros((len(first), int(width.max())))
    least, step = np.zeros(len(first), dtype=np.int64), np.ones(len(first), dtype=np.int64)
    for row, index in enumerate(order[first].tolist()):
        begin = int(layout.start[index])
        ranks = layout.twice_rank[begin : begin + int(layout.size[index])]
        chances = _one_case(ranks, int(layout.fails[index]))
        reached = np.flatnonzero(chances)
        least[row] = reached[0]
        step[row] = max(1, int(np.gcd.reduce(reached - reached[0])))
        levels = chances[reached[0] :: step[row]]
        probs[row, : len(levels)] = levels
    times = np.diff(first, append=len(order))
    return _Total(least=int(least @ times), above=Sum(step=step, probs=probs, times=times))


def _one_case(twice_rank: Ints, fails: int) -> Floats:
    """Probabilities of twice the concordant pairs 0, 1, ... of one case, all choices alike.

    Every trial is taken with the same chance, then the choices of `fails` trials are kept.
    """
    size = len(twice_rank)
    least = fails * (fails + 1)
    width = 2 * fails * (size - fails) + 1
    top = least + width
    mass = np.zeros((fails + 1, top))
    mass[0, 0] = 1.0
    chance = fails / size
    for worth in twice_rank.tolist():
        moved = mass[:-1, : top - worth] * chance
        mass *= 1.0 - chance
        mass[1:, worth:] += moved
    chosen = mass[fails, least:]
    return np.asarray(chosen / chosen.sum(), dtype=np.float64)


def _shuffled(layout: _Layout, apart: int, rng: np.random.Generator, draws: int) -> int:
    """Permutations whose statistic is as far from its centre as the observed one, or farther."""
    least = layout.fails * (layout.fails + 1)
    centre = int((least + layout.fails * (layout.size - layout.fails)).sum())
    sums = np.zeros(draws)
    for ranks, fails in _blocks(layout):
        most = max(1, _BATCH_CELLS // len(fails))
        for begin in range(0, draws, most):
            sums[begin : begin + most] += _chosen(ranks, fails, rng, min(most, draws - begin))
    return int(np.count_nonzero(np.abs(sums - centre) >= apart))


def _blocks(layout: _Layout) -> Iterator[tuple[Floats, Floats]]:
    """Cases of equal size: a row of ranks for every place, and the fails of every case."""
    for size in np.unique(layout.size).tolist():
        rows = np.flatnonzero(layout.size == size)
        index = layout.start[rows] + np.arange(size)[:, None]
        yield layout.twice_rank[index].astype(np.float64), layout.fails[rows].astype(np.float32)


def _chosen(ranks: Floats, fails: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Sums of the ranks of randomly chosen failing trials, shape (draws,), place after place.

    A trial is chosen with chance (fails still to place) / (places left), so that exactly the
    given number is.
    """
    left = np.repeat(fails[None, :], draws, axis=0)
    sums = np.zeros(draws)
    for place, worth in enumerate(ranks):
        hit = rng.random(left.shape, dtype=np.float32) * np.float32(len(ranks) - place) < left
        left -= hit
        sums += hit @ worth
    return sums


def leave_one_out_auc(fails: Ints, passes: Ints) -> float:
    """Chance that the other trials of a failing trial's case fail more often than a passing one's.

    Over pairs of trials of different cases: within a case the failing trial always has the lower
    rate among the others, which says nothing.

    Args:
        fails: Failing trials per case, shape (M,).
        passes: Passing trials per case, shape (M,).

    Returns:
        The pooled AUC, NaN without pairs; cases with one trial are left out.

    Example:
        >>> leave_one_out_auc(np.array([2, 1, 0]), np.array([0, 1, 2])).__round__(4)
        0.75
    """
    size = fails + passes
    fails, passes, size = fails[size > 1], passes[size > 1], size[size > 1]
    rate = np.concatenate(((fails - 1) / np.maximum(size - 1, 1), fails / np.maximum(size - 1, 1)))
    weight = np.concatenate((fails, passes))
    failed = np.arange(2 * len(fails)) < len(fails)
    _, level = np.unique(np.round(rate, 12), return_inverse=True)
    lost = np.bincount(level[failed], weight[failed], minlength=int(level.max(initial=0)) + 1)
    won = np.bincount(level[~failed], weight[~failed], minlength=len(lost))
    concordant = float(lost @ (np.cumsum(won) - won / 2.0))
    pairs = float(fails.sum()) * float(passes.sum()) - float(fails @ passes)
    return concordant / pairs if pairs > 0 else float("nan")
