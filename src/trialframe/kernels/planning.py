"""How many cases a paired comparison needs: power of the t test and of McNemar's, and inverses."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.paired import mcnemar_power, rejected
from trialframe.kernels.variance import cases_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

_BISECTIONS = 60
_FAR = 8.0  # standard normal units beyond the critical value at which the power is 1
_SPREADS = 12.0  # standard deviations of a binomial beyond which its mass is below 1e-20
_ROUNDING = 1e-12
_LIMIT = 10_000_000  # cases: more is not a plan


def t_power(shift: ArrayLike, df: ArrayLike, alpha: float = 0.05) -> Floats:
    """Power of the two-sided t test.

    Args:
        shift: True difference over its standard error, any sign.
        df: Degrees of freedom, > 0, inf for the normal test, broadcast against `shift`.
        alpha: Level, in (0, 1).

    Returns:
        Probability that |T| exceeds the critical value, T noncentral t.

    Example:
        >>> t_power([0.0, 2.8], 99).round(4).tolist()
        [0.05, 0.7918]
    """
    from scipy.special import ndtr
    from scipy.stats import nct

    size, freedom = np.broadcast_arrays(np.abs(_floats(shift)), _floats(df))
    critical = _critical(freedom, alpha)
    normal = np.isinf(freedom)
    usable = np.where(normal, 1.0, freedom)
    upper = np.where(normal, ndtr(size - critical), nct.sf(critical, usable, size))
    # SciPy gives NaN for some probabilities below 1e-12
    wrong = np.nan_to_num(nct.cdf(-critical, usable, size), nan=0.0)
    lower = np.where(normal, ndtr(-size - critical), wrong)
    total: Floats = np.clip(upper + lower, 0.0, 1.0)
    return total


def t_shift(df: ArrayLike, alpha: float = 0.05, power: float = 0.8) -> Floats:
    """True difference, in standard errors, that the two-sided t test finds with some power.

    Args:
        df: Degrees of freedom, > 0.
        alpha: Level, in (0, 1).
        power: Probability to find it, in (alpha, 1).

    Returns:
        The root of `t_power` in its shift; for df = inf about z_{1-alpha/2} + z_power.

    Example:
        >>> t_shift([9.0, 99.0, 1e6]).round(4).tolist()
        [3.1496, 2.8291, 2.8016]
    """
    freedom = _floats(df)
    low, high = np.zeros_like(freedom), _critical(freedom, alpha) * _FAR + _FAR
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        enough = t_power(middle, freedom, alpha) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return (low + high) / 2.0


def t_cases(
    variance: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    df_per_case: float = 1.0,
    df_lost: float = 1.0,
) -> int:
    """Smallest number of cases with which the t test finds a paired difference.

    Args:
        variance: Of one case's difference, > 0.
        effect: Difference to find, not 0.
        alpha: Level, in (0, 1).
        power: Probability to find it, in (alpha, 1).
        df_per_case: Degrees of freedom that a case adds: less than 1 for clustered cases.
        df_lost: Degrees of freedom taken off.

    Returns:
        The number of cases, >= 2.

    Notes:
        Where Miller's normal formula says n, this says n or a few cases more.

    Example:
        >>> t_cases(1 / 9 + 1 / 6 + 1 / 6, 0.03), t_cases(0.3, 0.3)
        (3878, 29)
    """

    def enough(cases: int) -> bool:
        df = max(cases * df_per_case - df_lost, df_per_case)
        return bool(t_power(effect / sqrt(variance / cases), df, alpha) >= power)

    low = 1
    high = max(2, ceil(cases_for(variance, effect, alpha, power)))
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def mcnemar_cases(
    only_a: float, only_b: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Smallest number of cases from which McNemar's exact test keeps a given power.

    The power of an exact test is a saw blade: more cases can have less of it. The answer is the
    number from which it never falls below the target again.

    Args:
        only_a: Probability that only A passes a case.
        only_b: Probability that only B passes a case, not equal to `only_a`.
        alpha: The test rejects at p < alpha, in (0, 1).
        power: Two-sided rejection probability to keep, in (0, 1).

    Returns:
        The number of cases; None beyond ten million.

    Notes:
        The normal approximation brackets the crossing, bisection on `mcnemar_power` finds one
        crossing, and every number of cases around it is tried.

    Example:
        >>> mcnemar_cases(0.0, 0.1), mcnemar_cases(0.05, 0.15)
        (78, 168)
    """
    discordance, gap = only_a + only_b, abs(only_b - only_a)
    low, high = 1, max(16, ceil(cases_for(discordance, gap, alpha, power)))
    while mcnemar_power(high, only_a, only_b, alpha).two_sided < power:
        low, high = high, 2 * high
        if high > _LIMIT:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = mcnemar_power(middle, only_a, only_b, alpha).two_sided >= power
        low, high = (low, middle) if reached else (middle, high)
    return _after_last_fall(high, only_a, only_b, alpha, power)


def _after_last_fall(
    crossing: int, only_a: float, only_b: float, alpha: float, power: float
) -> int:
    """One more than the last number of cases near a crossing that falls short."""
    from scipy.stats import binom

    psi = min(only_a + only_b, 1.0)
    # teeth of the saw are a few discordant pairs wide and fade within about sqrt(pairs)
    reach = ceil((24.0 + 4.0 * sqrt(crossing * psi)) / psi)
    spread = _SPREADS * (sqrt((crossing + reach) * psi * (1.0 - psi)) + _SPREADS)
    low = max(0, int(crossing * psi - spread))
    pairs = np.arange(low, min(crossing + reach, int((crossing + reach) * psi + spread)) + 1.0)
    chance = np.sum(rejected(pairs, only_a, only_b, alpha), axis=0)
    weight, last = binom.pmf(pairs, crossing, psi), crossing - 1
    for cases in range(crossing, crossing + reach + 1):
        if weight @ chance < power - _ROUNDING:
            last = cases
        # one case more is one pair more, or not
        weight = (1.0 - psi) * weight + psi * np.concatenate(([0.0], weight[:-1]))
    return last + 1


def _critical(df: Floats, alpha: float) -> Floats:
    from scipy.special import ndtri, stdtrit

    bounded = np.where(np.isinf(df), 1.0, df)
    quantile = stdtrit(bounded, 1.0 - alpha / 2.0)
    critical: Floats = np.where(np.isinf(df), ndtri(1.0 - alpha / 2.0), quantile)
    return critical


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
