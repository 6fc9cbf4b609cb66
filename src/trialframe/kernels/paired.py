"""Tests and intervals for paired pass/fail outcomes, from the two discordant counts.

`b` counts the cases that only A passed, `c` those that only B passed, `n` all shared cases; the
difference is always B minus A, (c - b)/n. Nothing here knows of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

_BISECTIONS = 60  # halves a bracket of width 2 to below 1e-17
_TIE = 1e-12  # relative: a p-value this close to alpha equals it, and is not below it
_SPREADS = 12.0  # standard deviations of a binomial beyond which its mass is below 1e-20


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """P-values of McNemar's test.

    Attributes:
        pvalue: Exact two-sided p-values.
        mid_p: The same with half the probability of what was observed.
    """

    pvalue: Floats
    mid_p: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemarPower:
    """Probability that McNemar's exact test rejects.

    Attributes:
        two_sided: In either direction.
        right_direction: In the direction of the true difference only.
    """

    two_sided: float
    right_direction: float


def mcnemar(b: ArrayLike, c: ArrayLike) -> McNemar:
    """McNemar's exact test that A and B are equally likely to be the only one to pass.

    The mid-p version rejects about as often as its level says; the exact one much less often. Not
    for clustered cases: flip the signs of cluster sums instead.

    Args:
        b: Cases only A passed, >= 0.
        c: Cases only B passed, >= 0, broadcast against `b`.

    Returns:
        P-values in the broadcast shape; 1 where b = c.

    Notes:
        p = min(1, 2 P(X <= min(b, c))) with X ~ Bin(b + c, 1/2); mid-p subtracts P(X = min(b, c)).

    References:
        McNemar (1947), Psychometrika 12:153; Fagerland, Lydersen and Laake (2013), BMC Med. Res.
        Methodol. 13:91, for mid-p.

    Example:
        >>> got = mcnemar(1, 8)
        >>> float(got.pvalue), float(got.mid_p)
        (0.0390625, 0.021484375)
    """
    only_a, only_b = np.broadcast_arrays(_floats(b), _floats(c))
    fewer, pairs = np.minimum(only_a, only_b), only_a + only_b
    at_most, below = _at_most(fewer, pairs, 0.5), _at_most(fewer - 1.0, pairs, 0.5)
    same = only_a == only_b
    return McNemar(
        pvalue=np.where(same, 1.0, np.minimum(2.0 * at_most, 1.0)),
        mid_p=np.where(same, 1.0, at_most + below),
    )


def dirichlet(b: ArrayLike, c: ArrayLike) -> Floats:
    """Posterior probability that B is better than A, under a uniform prior.

    A probability of the hypothesis, not a p-value. Ties carry no information about it.

    Args:
        b: Cases only A passed, >= 0.
        c: Cases only B passed, >= 0, broadcast against `b`.

    Returns:
        Probabilities in the broadcast shape; 0.5 where b = c.

    Notes:
        Dirichlet(1, 1, 1) on (only A, only B, tie) gives P(pi_B > pi_A) = P(X <= c) with
        X ~ Bin(b + c + 1, 1/2).

    Example:
        >>> round(float(dirichlet(1, 8)), 7)
        0.9892578
    """
    only_a, only_b = np.broadcast_arrays(_floats(b), _floats(c))
    better = _at_most(only_b, only_a + only_b + 1.0, 0.5)
    return np.asarray(np.where(only_a == only_b, 0.5, better), dtype=np.float64)


def tango(b: ArrayLike, c: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Score interval of a paired difference of pass rates, B minus A.

    Keeps its width when no case changed, and covers well at small n. Only for one outcome a case
    and side, without clusters.

    Args:
        b: Cases only A passed, >= 0.
        c: Cases only B passed, >= 0.
        n: Shared cases, >= b + c; 0 gives NaN.
        level: Confidence level in (0, 1).

    Returns:
        Bounds in [-1, 1], in the broadcast shape.

    Notes:
        All d with |c - b - n d| <= z sqrt(n (2q + d(1 - d))), q being the most likely probability
        of "only A" given d: the larger root of 2n q^2 - (b + c - (2n - c + b) d) q - b d(1 - d).

    References:
        Tango (1998), Stat. Med. 17:891.

    Example:
        >>> got = tango(0, 0, 20)
        >>> round(float(got.low), 7), round(float(got.high), 7)
        (-0.1611252, 0.1611252)
    """
    shaped = np.broadcast_arrays(_floats(b), _floats(c), _floats(n))
    only_a, only_b, cases = (np.where(shaped[2] > 0, values, np.nan) for values in shaped)
    square = _normal_quantile(level) ** 2
    # the lower bound is the upper bound with the sides swapped: exactly antisymmetric
    return Interval(
        low=-_tango_upper(only_b, only_a, cases, square),
        high=_tango_upper(only_a, only_b, cases, square),
    )


def wald_plus2(b: ArrayLike, c: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Wald interval of a paired difference after adding half a case to each of the four cells.

    A closed form that keeps a width when no case changed, though less of it than `tango`.

    Args:
        b: Cases only A passed, >= 0.
        c: Cases only B passed, >= 0.
        n: Shared cases, >= b + c; 0 gives NaN.
        level: Confidence level in (0, 1).

    Returns:
        Bounds clipped into [-1, 1], in the broadcast shape.

    Notes:
        With n' = n + 2 and m = b + c + 1: (c - b)/n' -+ z sqrt(m - (c - b)^2/n')/n'.

    References:
        Agresti and Min (2005), Stat. Med. 24:729.

    Example:
        >>> got = wald_plus2(1, 8, 50)
        >>> round(float(got.low), 6), round(float(got.high), 6)
        (0.021179, 0.248052)
    """
    only_a, only_b, cases = np.broadcast_arrays(_floats(b), _floats(c), _floats(n))
    gap, size = only_b - only_a, np.where(cases > 0, cases + 2.0, np.nan)
    half = _normal_quantile(level) * np.sqrt(only_a + only_b + 1.0 - gap**2 / size) / size
    return Interval(
        low=np.clip(gap / size - half, -1.0, 1.0), high=np.clip(gap / size + half, -1.0, 1.0)
    )


def mcnemar_power(n: int, only_a: float, only_b: float, alpha: float = 0.05) -> McNemarPower:
    """Exact power of McNemar's exact test.

    Args:
        n: Shared cases, >= 0.
        only_a: Probability that only A passes a case.
        only_b: Probability that only B passes a case, only_a + only_b <= 1.
        alpha: The test rejects at p < alpha, in (0, 1).

    Returns:
        Power in either direction and in the right one (for equal probabilities: in one of them).

    Notes:
        Sum over m of Bin(m; n, psi) P(p(m, C) < alpha), psi = only_a + only_b the discordance
        and C ~ Bin(m, only_b/psi).

    References:
        Duffy (1984), Biometrics 40:1005.

    Example:
        >>> round(mcnemar_power(50, 0.05, 0.2).two_sided, 6)
        0.477527
    """
    from scipy.stats import binom

    discordance = min(only_a + only_b, 1.0)
    if n == 0 or discordance == 0:
        return McNemarPower(two_sided=0.0, right_direction=0.0)
    reach = _SPREADS * (sqrt(n * discordance * (1.0 - discordance)) + _SPREADS)
    start = max(0, int(n * discordance - reach))
    pairs = np.arange(start, min(n, int(n * discordance + reach)) + 1, dtype=np.float64)
    weight = binom.pmf(pairs, n, discordance)
    right, wrong = (float(weight @ part) for part in rejected(pairs, only_a, only_b, alpha))
    return McNemarPower(two_sided=min(right + wrong, 1.0), right_direction=min(right, 1.0))


def rejected(
    pairs: ArrayLike, only_a: float, only_b: float, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """Chance that McNemar's exact test rejects, given the number of discordant cases.

    Args:
        pairs: Discordant cases m, >= 0.
        only_a: Probability that only A passes a case.
        only_b: Probability that only B passes a case, only_a + only_b > 0.
        alpha: The test rejects at p < alpha, in (0, 1).

    Returns:
        Chances of rejecting in the right and in the wrong direction, in the shape of `pairs`.

    Example:
        >>> [part.round(3).tolist() for part in rejected([5, 6], 0.0, 0.2)]
        [[0.0, 1.0], [0.0, 0.0]]
    """
    discordant = _floats(pairs)
    most = _most_rejected(discordant, alpha)
    rarer = min(only_a, only_b) / (only_a + only_b)
    return _at_most(most, discordant, rarer), _at_most(most, discordant, 1.0 - rarer)


def mcnemar_mde(
    n: int,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    only_a: float = 0.0,
    discordance: float | None = None,
) -> float:
    """Smallest difference of pass rates that McNemar's exact test finds with a given power.

    It depends on how many cases differ at all. Report two numbers: the best case, where B only
    gains (`only_a=0`), and the one at the discordance that was observed.

    Args:
        n: Shared cases, >= 0.
        alpha: The test rejects at p < alpha, in (0, 1).
        power: Two-sided rejection probability to reach, in (0, 1).
        only_a: Probability that only A passes, held fixed; not used with `discordance`.
        discordance: Probability that exactly one side passes, held fixed, in [0, 1]; None holds
            `only_a` fixed.

    Returns:
        The difference only_b - only_a; NaN when no difference reaches that power.

    Notes:
        Root of `mcnemar_power` in the difference, in which it grows.

    Example:
        >>> round(mcnemar_mde(50), 7), round(mcnemar_mde(50, discordance=0.2), 7)
        (0.1535224, 0.1757282)
    """
    from scipy.optimize import brentq

    def shortfall(gap: float) -> float:
        lost = only_a if discordance is None else max((discordance - gap) / 2.0, 0.0)
        return mcnemar_power(n, lost, lost + gap, alpha).two_sided - power

    widest = 1.0 - 2.0 * only_a if discordance is None else discordance
    if widest <= 0 or shortfall(widest) < 0:
        return np.nan
    if shortfall(0.0) >= 0:
        return 0.0
    return float(brentq(shortfall, 0.0, widest, xtol=1e-12))


def _tango_upper(only_a: Floats, only_b: Floats, cases: Floats, square: float) -> Floats:
    """Bisect between the estimate, which the test accepts, and 1, which it does not."""
    inside, outside = (only_b - only_a) / cases, np.ones_like(cases)
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2.0
        spread = cases * _tango_variance(only_a, only_b, cases, middle)
        accepted = (only_b - only_a - cases * middle) ** 2 <= square * spread
        inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
    bound = (inside + outside) / 2.0
    return np.where(only_b - only_a == cases, 1.0, bound)


def _tango_variance(only_a: Floats, only_b: Floats, cases: Floats, diff: Floats) -> Floats:
    """2q + d(1 - d) at the constrained estimate q; for d < 0 with the sides swapped."""
    size = np.abs(diff)
    less, more = np.where(diff < 0, only_b, only_a), np.where(diff < 0, only_a, only_b)
    spread = size * (1.0 - size)
    linear = size * (2.0 * cases - more + less) - less - more
    root = np.sqrt(linear**2 + 8.0 * cases * less * spread)
    # each form of the root where it subtracts nothing
    rate = np.array((root - linear) / (4.0 * cases))
    np.divide(2.0 * less * spread, linear + root, out=rate, where=linear > 0)
    return 2.0 * rate + spread


def _most_rejected(pairs: Floats, alpha: float) -> Floats:
    """Largest min(b, c) at which b + c = `pairs` has p < alpha; -1 where there is none."""
    from scipy.stats import binom

    most: Floats = np.maximum(binom.ppf(alpha / 2.0, pairs, 0.5), 0.0)
    for _ in range(2):  # the quantile itself is rejected or the number below it is
        rejected = 2.0 * _at_most(most, pairs, 0.5) < alpha * (1.0 - _TIE)
        most = np.where(rejected | (most < 0), most, most - 1.0)
    return most


def _at_most(k: Floats, n: Floats, p: float) -> Floats:
    """P(X <= k) for X ~ Bin(n, p)."""
    from scipy.special import betainc

    inside = (k >= 0) & (k < n)
    tail = betainc(np.where(inside, n - k, 1.0), np.where(inside, k, 0.0) + 1.0, 1.0 - p)
    return np.where(inside, tail, np.where(k < 0, 0.0, 1.0))


def _normal_quantile(level: float) -> float:
    """Two-sided critical value of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri((1.0 + level) / 2.0))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
