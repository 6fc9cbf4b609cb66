"""Permutation of trials within every case: a test of equal pass rates, exact where possible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.lattice import rate_differences
from trialframe.kernels.montecarlo import batches, monte_carlo_p
from trialframe.kernels.tails import TINY, Sum, lower_tail

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

LARGEST = 4 * 10**8
"""Trials of a case up to which permutations can be drawn; beyond, the normal law is as good."""

WIDEST = 100_000
"""Trials of a case up to which an exact permutation is tried: its table has a column for each."""

FEWEST_DRAWS, EVALUATIONS = 499, 20_000_000

_NOISE = 1e-12  # relative: what rounding adds to a sum of floats
_INT64 = 2**62  # steps from here on stay Python integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """Two-sided p-value of a permutation of trials within every case.

    Attributes:
        pvalue: The p-value.
        method: "dense", "fourier", "partial sums", "monte carlo" or "normal".
        exact: Whether it is exact rather than drawn.
    """

    pvalue: float
    method: str
    exact: bool


def permutation(
    n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints, rng: np.random.Generator, draws: int = 9999
) -> Permutation:
    """Test that A and B have equal pass rates in every case, whatever the trial counts.

    Not a test of the mean difference: it also rejects when configs and cases merely interact.
    It serves as a second condition where the sign flip is only approximate.

    Args:
        n_a: Trials of A in every case, shape (M,), >= 1.
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B, >= 1.
        c_b: Passes of B, 0 <= c_b <= n_b.
        rng: Used only where no exact method fits.
        draws: Monte Carlo draws, >= 1.

    Returns:
        The two-sided p-value of |sum of c_b/n_b - c_a/n_a|.

    Notes:
        Given c_a + c_b, the passes of B are hypergeometric in every case.

    Example:
        >>> one, ten = np.array([1]), np.array([10])
        >>> round(permutation(one, 0 * one, ten, ten, np.random.default_rng(0)).pvalue, 6)
        0.090909
    """
    most = int(max(n_a.max(initial=0), n_b.max(initial=0)))
    if most > LARGEST:
        return _normal(*(side.astype(np.float64) for side in (n_a, c_a, n_b, c_b)))
    if most > WIDEST:
        ones = np.ones(len(n_a))
        return drawn_permutation(n_a, c_a, n_b, c_b, lambda n, c: c / n, ones, rng, draws)
    shuffle = _shuffled(n_a, c_a, n_b, c_b)
    if shuffle.observed == 0 or not len(shuffle.total.step):
        return Permutation(pvalue=1.0, method="dense", exact=True)
    lower = lower_tail(shuffle.total, shuffle.most)
    upper = None if lower is None else lower_tail(shuffle.total.mirrored(), shuffle.mirrored_most)
    if lower is None or upper is None:
        draws = _affordable(draws, len(n_a))
        pvalue = monte_carlo_p(_drawn_shuffles(shuffle, rng, draws), draws)
        return Permutation(pvalue=pvalue, method="monte carlo", exact=False)
    pvalue = min(max(lower.at_most + upper.at_most, TINY), 1.0)
    return Permutation(pvalue=pvalue, method=lower.method, exact=True)


def _affordable(draws: int, cases: int) -> int:
    """Fewer draws for many cases: one hypergeometric number costs as much as 100 coins."""
    return min(draws, max(FEWEST_DRAWS, EVALUATIONS // cases))


def _normal(n_a: Floats, c_a: Floats, n_b: Floats, c_b: Floats) -> Permutation:
    """The same with normal differences: their mean is 0 and their variance hypergeometric."""
    from scipy.special import ndtr

    total, passes = n_a + n_b, c_a + c_b
    rate = passes / total
    variance = float(np.sum(rate * (1.0 - rate) * total**2 / (n_a * n_b * (total - 1.0))))
    observed = float(np.sum(c_b / n_b - c_a / n_a))
    pvalue = 2.0 * float(ndtr(-abs(observed) / np.sqrt(variance))) if variance > 0 else 1.0
    return Permutation(pvalue=max(pvalue, TINY), method="normal", exact=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shuffle:
    """Difference of a within-case permutation: start + common * total, in units of 1/whole."""

    total: Sum
    draw: Ints  # of every case: passes, fails, trials of B, passes at least; shape (4, M)
    start: int
    common: int
    observed: int

    @property
    def most(self) -> int:
        """Largest value of the total at which the difference is <= -|observed|."""
        return (-abs(self.observed) - self.start) // self.common

    @property
    def mirrored_most(self) -> int:
        """The same for the mirrored total and differences >= |observed|."""
        return int(self.total.span) - -((self.start - abs(self.observed)) // self.common)


def _shuffled(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints) -> _Shuffle:
    """Groups of cases with the same trials and passes; cases that cannot move only shift."""
    whole = lcm(*np.unique(n_a).tolist(), *np.unique(n_b).tolist())
    lattice = rate_differences(n_a, c_a, n_b, c_b)
    cells, times = np.unique(np.stack((n_a, n_b, c_a + c_b), axis=1), axis=0, return_counts=True)
    size_a, size_b, passes = cells.T
    fewest, most = np.maximum(0, passes - size_a), np.minimum(passes, size_b)
    worth_a, worth_b = whole // size_a.astype(object), whole // size_b.astype(object)
    moves = most > fewest
    steps = (worth_a + worth_b)[moves]
    common = int(np.gcd.reduce(steps)) if len(steps) else 1
    steps = steps // common
    small = not len(steps) or max(steps) < _INT64
    return _Shuffle(
        total=Sum(
            step=steps.astype(np.int64) if small else steps,
            probs=_hypergeometric(size_a, size_b, passes, fewest)[moves],
            times=times[moves].astype(np.int64),
        ),
        draw=np.stack((passes, size_a + size_b - passes, size_b, fewest))[:, moves],
        start=int(sum(times * (fewest * worth_b - (passes - fewest) * worth_a))),
        common=common,
        observed=int(int(lattice.values.sum()) * lattice.unit * whole),
    )


def _hypergeometric(size_a: Ints, size_b: Ints, passes: Ints, fewest: Ints) -> Floats:
    """Probabilities that B has fewest, fewest + 1, ... of all passes; one row a group."""
    from scipy.special import gammaln

    def log_choose(n: Ints, k: Ints) -> Floats:
        inside = (k >= 0) & (k <= n)
        k = np.where(inside, k, 0)
        logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return np.asarray(np.where(inside, logs, -np.inf), dtype=np.float64)

    width = int(np.max(np.minimum(passes, size_b) - fewest, initial=0)) + 1
    taken = fewest[:, None] + np.arange(width)
    logs = log_choose(size_b[:, None], taken) + log_choose(size_a[:, None], passes[:, None] - taken)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)


def _drawn_shuffles(shuffle: _Shuffle, rng: np.random.Generator, draws: int) -> int:
    """Draws whose difference is as far from 0 as the observed one, or farther."""
    total, unit = shuffle.total.in_floats(), shuffle.total.unit
    passes, fails, size_b, fewest = np.repeat(shuffle.draw, total.times, axis=1)
    steps = np.repeat(total.step, total.times)
    shift = float(Fraction(shuffle.start, shuffle.common * unit))
    size = abs(float(Fraction(shuffle.observed, shuffle.common * unit)))
    slack = _NOISE * (abs(shift) + float(total.span))
    extreme = 0
    for batch in batches(draws, len(steps)):
        taken = rng.hypergeometric(passes, fails, size_b, size=(batch, len(steps)))
        extreme += int(np.sum(np.abs((taken - fewest) @ steps + shift) >= size - slack))
    return extreme


def drawn_permutation(
    n_a: Ints,
    c_a: Ints,
    n_b: Ints,
    c_b: Ints,
    value: Callable[[Ints, Ints], Floats],
    weight: Floats,
    rng: np.random.Generator,
    draws: int = 9999,
) -> Permutation:
    """The same test of any value of a case, with case weights, by drawing.

    Args:
        n_a: Trials of A in every case, shape (M,), >= 1.
        c_a: Passes of A.
        n_b: Trials of B, >= 1.
        c_b: Passes of B.
        value: (trials, passes) of any shape -> value of the case.
        weight: Case weights, shape (M,).
        rng: Source of randomness.
        draws: Most draws; fewer, but 499 at least, for many cases.

    Example:
        >>> one, ten = np.array([1]), np.array([10])
        >>> rng, rate = np.random.default_rng(0), lambda n, c: c / n
        >>> got = drawn_permutation(one, 0 * one, ten, ten, rate, np.ones(1), rng)
        >>> 0.08 < got.pvalue < 0.10
        True
    """
    draws = _affordable(draws, len(n_a))
    passes = c_a + c_b
    observed = float(weight @ (value(n_b, c_b) - value(n_a, c_a)))
    size = abs(observed) - _NOISE * float(weight.sum())
    extreme = 0
    for batch in batches(draws, len(n_a)):
        shape = (batch, len(n_a))
        taken = rng.hypergeometric(passes, n_a + n_b - passes, n_b, size=shape)
        every = [np.broadcast_to(n, shape) for n in (n_a, n_b)]
        diff = value(every[1], taken) - value(every[0], passes - taken)
        extreme += int(np.sum(np.abs(diff @ weight) >= size))
    return Permutation(pvalue=monte_carlo_p(extreme, draws), method="monte carlo", exact=False)
