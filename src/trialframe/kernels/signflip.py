"""Sign-flip tests of paired differences, exact wherever that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.lattice import TIE, Lattice, cluster_sums, distinct, rate_differences
from trialframe.kernels.montecarlo import batches, monte_carlo_p
from trialframe.kernels.permutation import Permutation, permutation
from trialframe.kernels.tails import TINY, Sum, Tail, lower_tail, partial_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]

_NOISE = 1e-12  # relative: what rounding adds to a sum of floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """P-values of a sign-flip test; all fields are scalars.

    Attributes:
        pvalue: Two-sided.
        greater: One-sided, small when the differences are positive.
        less: One-sided, small when the differences are negative.
        changed: Cases or clusters whose difference is not 0.
        method: "binomial" (all differences equally large), "dense", "fourier" or "partial sums"
            (see `lower_tail`), "monte carlo".
        exact: Whether the p-values are exact rather than drawn.
    """

    pvalue: float
    greater: float
    less: float
    changed: int
    method: str
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTest:
    """Test of a mean difference of pass rates.

    Attributes:
        pvalue: Two-sided; the larger of both tests where trial counts differ.
        sign_flip: The sign-flip test.
        permutation: The permutation within cases; None where every case has as many trials on
            both sides, or with a margin.
        exact: Whether the sign flip is exact: computed so, and as many trials on both sides.
    """

    pvalue: float
    sign_flip: SignFlip
    permutation: Permutation | None
    exact: bool


def sign_flip(lattice: Lattice, rng: np.random.Generator, draws: int = 9999) -> SignFlip:
    """Test that differences are symmetric about 0 by flipping their signs.

    For clusters pass cluster sums. The null hypothesis is that the two sides are exchangeable in
    every case, not just a mean of 0; it needs as many trials on both sides (see `rate_test`).

    Args:
        lattice: Differences per case or cluster; zeros are dropped.
        rng: Used only where no exact method fits.
        draws: Monte Carlo draws, >= 1.

    Returns:
        P-values; 1 when nothing changed. A p-value below 2.2e-308 is given as that.

    Notes:
        p = #{e in {-1, 1}^m : |sum e d| >= |sum d|} / 2^m over the m non-zero differences;
        without bars one-sided. Monte Carlo: (extreme + 1)/(draws + 1). Real scores tie within
        1e-9 sum |d|.

    References:
        Fisher (1935), The Design of Experiments, section 21; Phipson and Smyth (2010), Stat.
        Appl. Genet. Mol. Biol. 9:39.

    Example:
        >>> thirds = np.array([1, -1, 1, -1, 0, 0, -1, 0])
        >>> zeros = np.zeros(8, dtype=int)
        >>> data = rate_differences(zeros + 3, zeros + 1, zeros + 3, thirds + 1)
        >>> sign_flip(data, np.random.default_rng(0)).pvalue
        1.0
    """
    values = lattice.values[_nonzero(lattice)]
    sizes, times = distinct(np.abs(values))
    changed = len(values)
    if not changed:
        return SignFlip(pvalue=1.0, greater=1.0, less=1.0, changed=0, method="dense", exact=True)
    total = Sum(step=sizes, probs=np.full((len(sizes), 2), 0.5), times=times)
    observed = values.sum()
    size = abs(observed)
    tail = _flip_tails(total, size, integral=lattice.integral)
    if tail is None:
        drawn = total.in_floats()
        slack = (_NOISE if lattice.integral else TIE) * float(drawn.span)
        length = float(size) if total.unit == 1 else float(Fraction(int(size), total.unit))
        found = _drawn_flips(drawn, length, slack=slack, rng=rng, draws=draws)
        both, toward, away = (monte_carlo_p(extreme, draws) for extreme in found)
    else:
        least = max(0.5 ** min(changed, 1000), TINY)
        toward, away = min(max(tail.at_most, least), 1.0), min(1.0 - tail.below, 1.0)
        both = min(2.0 * toward, 1.0)
    return SignFlip(
        pvalue=both,
        greater=toward if observed >= 0 else away,
        less=away if observed > 0 else toward,
        changed=changed,
        method="monte carlo" if tail is None else tail.method,
        exact=tail is not None,
    )


def rate_test(
    n_a: Ints,
    c_a: Ints,
    n_b: Ints,
    c_b: Ints,
    rng: np.random.Generator,
    *,
    cluster: Ints | None = None,
    margin: Fraction = Fraction(0),
    draws: int = 9999,
) -> RateTest:
    """Test a mean difference of pass rates, with a second condition where it is needed.

    The sign flip assumes as many trials on both sides of every case. Where that does not hold it
    can reject far too often, so its p-value counts only together with that of `permutation`.

    Args:
        n_a: Trials of A in every case, shape (M,), >= 1.
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B, >= 1.
        c_b: Passes of B, 0 <= c_b <= n_b.
        rng: Used only where no exact method fits.
        cluster: Cluster codes 0..C-1; signs of whole clusters are then flipped. None for cases.
        margin: Added to every difference, for non-inferiority; then there is no permutation.
        draws: Monte Carlo draws, >= 1.

    Returns:
        Both tests and the p-value that counts.

    Example:
        >>> n, up = np.full(6, 3), np.full(6, 2)
        >>> rate_test(n, up - 1, n, up, np.random.default_rng(0)).pvalue
        0.03125
    """
    lattice = rate_differences(n_a, c_a, n_b, c_b, margin)
    flipped = sign_flip(lattice if cluster is None else cluster_sums(lattice, cluster), rng, draws)
    balanced = np.array_equal(n_a, n_b)
    if balanced or margin:
        second, pvalue = None, flipped.pvalue
    else:
        second = permutation(n_a, c_a, n_b, c_b, rng, draws)
        pvalue = max(flipped.pvalue, second.pvalue)
    return RateTest(
        pvalue=pvalue,
        sign_flip=flipped,
        permutation=second,
        exact=flipped.exact and balanced,
    )


def _nonzero(lattice: Lattice) -> NDArray[np.bool_]:
    """Differences that are not 0; what rounding leaves of real scores is 0."""
    if lattice.integral:
        return np.asarray(lattice.values != 0, dtype=np.bool_)
    sizes = np.abs(lattice.values)
    return np.asarray(sizes > _NOISE * np.max(sizes, initial=0.0), dtype=np.bool_)


def _flip_tails(total: Sum, size: float, *, integral: bool) -> Tail | None:
    """P(T <= -size) and P(T < -size) of a sum T of flipped signs."""
    from scipy.special import bdtr

    if len(total.step) == 1:
        changed = int(total.times[0])
        most = (changed - round(size / total.step[0])) // 2
        return Tail(
            at_most=float(bdtr(most, changed, 0.5)),
            below=float(bdtr(most - 1, changed, 0.5)) if most else 0.0,
            method="binomial",
        )
    if integral:
        return lower_tail(total, int(total.span - size) // 2)
    return partial_sums(total, (total.span - size) / 2.0, slack=TIE * total.span / 2.0)


def _drawn_flips(
    total: Sum, size: float, *, slack: float, rng: np.random.Generator, draws: int
) -> tuple[int, int, int]:
    """Draws with |T| >= size, T >= size and T <= size."""
    span, changed = float(total.span), int(total.times.sum())
    alike = changed > 20 * len(total.step)  # a binomial number costs about as much as 20 coins
    steps = total.step if alike else np.repeat(total.step, total.times)
    extreme = toward = away = 0
    for batch in batches(draws, len(steps)):
        shape = (batch, len(steps))
        heads = rng.binomial(total.times, 0.5, size=shape) if alike else rng.random(shape) < 0.5
        drawn = 2.0 * (heads @ steps) - span
        extreme += int(np.sum(np.abs(drawn) >= size - slack))
        toward += int(np.sum(drawn >= size - slack))
        away += int(np.sum(drawn <= size + slack))
    return extreme, toward, away
