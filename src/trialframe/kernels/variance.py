"""How much of the variance lies between cases and how much within, and what that asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceSplit:
    """Moment estimates; all fields are scalars, NaN where the data cannot tell.

    Attributes:
        case_means: Variance of the case means (ddof 1).
        within: Trial variance within a case, averaged with weights n_i - 1.
        between: Variance between cases, may be negative: floor it at 0 to use it.
        icc: between / (between + within) with `between` floored at 0, one trial's share.
    """

    case_means: float
    within: float
    between: float
    icc: float


def variance_split(n: ArrayLike, c: ArrayLike) -> VarianceSplit:
    """Split the variance of pass/fail trials into between and within cases.

    Args:
        n: Trials of each case, shape (M,); cases without trials are left out.
        c: Passes of each case, shape (M,).

    Notes:
        within = sum of n_i p_i (1 - p_i) over sum of (n_i - 1); between = Var(p_i) - within *
        mean(1 / n_i). Balanced, this is one-way ANOVA.

    References:
        Miller (2024), arXiv:2411.00640.

    Example:
        >>> got = variance_split([4, 4, 4, 4, 4], [3, 0, 2, 4, 1])
        >>> round(got.within, 4), round(got.between, 4)
        (0.1667, 0.1146)
    """
    trials, passes = np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64)
    used = trials > 0
    trials, rate = trials[used], passes[used] / trials[used]
    spread = float(np.var(rate, ddof=1)) if len(rate) > 1 else float("nan")
    freedom = float((trials - 1).sum())
    noise = float((trials * rate * (1 - rate)).sum())
    within = noise / freedom if freedom > 0 else float("nan")
    between = spread - within * float(np.mean(1 / trials)) if len(rate) else float("nan")
    floored = max(between, 0.0)
    total = floored + within
    known = total > 0 and not np.isnan(between)
    return VarianceSplit(
        case_means=spread,
        within=within,
        between=between,
        icc=floored / total if known else float("nan"),
    )


def se_with_trials(split: VarianceSplit, cases: int, trials: ArrayLike) -> Floats:
    """Standard error of the mean of `cases` cases when each had `trials` trials.

    Example:
        >>> split = variance_split([4, 4, 4, 4, 4], [3, 0, 2, 4, 1])
        >>> se_with_trials(split, 5, [1, 4]).round(4).tolist()
        [0.2372, 0.1768]
    """
    k = np.asarray(trials, dtype=np.float64)
    variance: Floats = (max(split.between, 0.0) + split.within / k) / cases
    return np.sqrt(variance)


def optimal_trials(between: float, within: float, case_cost: float, trial_cost: float) -> float:
    """Trials per case that make the mean most precise for a given budget, not rounded.

    Notes:
        Minimises (between + within / K) / M subject to M (case_cost + K trial_cost) = budget:
        K = sqrt(within / between * case_cost / trial_cost). NaN when between is not positive.

    Example:
        >>> round(optimal_trials(1 / 12, 1 / 6, 10.0, 1.0), 4)
        4.4721
    """
    if between <= 0 or trial_cost <= 0:
        return float("nan")
    return float(np.sqrt(within / between * case_cost / trial_cost))


def cases_for(variance: float, effect: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Cases that detect a paired difference of `effect`, not rounded.

    Args:
        variance: Of one case's difference: omega^2 + s_a^2 / K_a + s_b^2 / K_b.
        effect: Difference to detect, not 0.
        alpha: Two-sided level.
        power: Probability to detect it.

    Notes:
        (z_{1-alpha/2} + z_power)^2 variance / effect^2, a normal approximation.

    References:
        Miller (2024), arXiv:2411.00640, section 5.

    Example:
        >>> round(cases_for(1 / 9 + 1 / 6 + 1 / 6, 0.03), 2)
        3875.99
    """
    return _reach(alpha, power) ** 2 * variance / effect**2


def detectable(variance: float, cases: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest paired difference that `cases` cases detect: `cases_for` turned round.

    Example:
        >>> round(detectable(1 / 9 + 1 / 6 + 1 / 6, 198), 4)
        0.1327
    """
    return float(_reach(alpha, power) * np.sqrt(variance / cases))


def _reach(alpha: float, power: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - alpha / 2) + ndtri(power))
