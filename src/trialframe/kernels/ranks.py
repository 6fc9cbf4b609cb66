"""Which configs may be the best, and between which ranks each may lie, from joint draws.

Configs are ordered by their means, the largest first; negate values where less is better. Draws
are errors of the means (normal, or bootstrap means minus the means), shape (B, J).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.resample import quantile_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.joint import Joint

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]

_CELLS = 100_000  # numbers in work at a time: they stay in the cache
_NODES = 801  # of the trapezoidal rule over +-9 standard deviations: exact to about 1e-15
_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """A set that holds a best config with probability >= level.

    Attributes:
        inside: Configs that are plausibly best, shape (J,); at least one.
        statistic: Largest (mean_l - mean_j) / se_lj over the others l, shape (J,); NaN where
            no difference has a standard error.
        critical: What the statistic may be at most, shape (J,); NaN there.
    """

    inside: Bools
    statistic: Floats
    critical: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Ranks and their intervals, 1 for the largest mean; every array has shape (J,).

    Attributes:
        rank: Rank of the estimate; equal means share the smallest.
        low: Best rank that the data allow.
        high: Worst rank that the data allow.
    """

    rank: Ints
    low: Ints
    high: Ints


def plausibly_best(joint: Joint, draws: Floats | None, level: float = 0.95) -> Best:
    """Configs that are not significantly worse than the best, whichever that is.

    Every config is tested as if it were the best; those that pass stay. Testing all against the
    config that happens to lead would ignore that it was selected: such a set holds the best only
    .91, .83, .77 of the time with 3, 6, 10 equal configs.

    Args:
        joint: Means and standard errors of differences. With finite `df` critical values grow by
            t_df / z at the level.
        draws: Errors of the means, shape (B, J); None for the exact normal value, which exists
            for two configs and for independent means (equal covariances).
        level: Probability that a best config is inside, in (0, 1).

    Returns:
        The set, never empty. Configs with fewer than two units all stay.

    Notes:
        j stays iff max_l (m_l - m_j)/se_lj <= c_j, the level quantile of
        max_l (e_l - e_j)/se_lj over errors e. A pair without spread (se_lj = 0): equal means
        stay together; else j leaves iff the sign flip of the pair, 2^(1 - units), is below
        (1 - level)/(J - 1).

    References:
        Hsu (1984), Ann. Stat. 12:1136; Mogstad, Romano, Shaikh and Wilhelm (2024), Rev. Econ.
        Stud. 91:476.

    Example:
        >>> from trialframe.kernels.joint import joint_of
        >>> four = joint_of(np.array([0.80, 0.77, 0.70, 0.60]), np.diag([0.0004] * 4))
        >>> plausibly_best(four, None).inside.tolist()
        [True, True, False, False]
    """
    configs = len(joint.mean)
    known = joint.se > 0
    statistic = np.full(configs, np.nan)
    some = known.any(axis=1)
    gaps = _ratio(joint.mean - joint.mean[:, None], joint.se, known, -np.inf)
    statistic[some] = gaps.max(axis=1, initial=-np.inf)[some]
    if draws is None:
        critical = independent_critical(joint, level)
    else:
        critical = np.full(configs, np.nan)
        rank = len(draws) - quantile_rank(1.0 - level, len(draws))
        for j in np.flatnonzero(some):
            largest = _largest_of(draws, int(j), known[j], 1.0 / joint.se[j, known[j]])
            critical[j] = np.partition(largest, rank)[rank]
    critical = critical * _stretch(joint.df, level)
    inside = ~(statistic > np.maximum(critical, 0.0)) & ~_surely_worse(joint, 1.0 - level)
    return Best(inside=inside, statistic=statistic, critical=critical)


def independent(joint: Joint) -> bool:
    """Whether `plausibly_best` has an exact critical value: two configs, or equal covariances."""
    configs = len(joint.mean)
    if configs <= 2:
        return True
    apart = joint.covariance[~np.eye(configs, dtype=np.bool_)]
    scale = float(np.diag(joint.covariance).max())
    equal = bool(np.ptp(apart) <= 1e-12 * scale)
    return equal and bool((np.diag(joint.covariance) > apart[0]).all())


def independent_critical(joint: Joint, level: float = 0.95) -> Floats:
    """Level quantiles of max_l (e_l - e_j)/se_lj for independent normal errors, shape (J,).

    Args:
        joint: Standard errors; `independent` must hold.
        level: In (0, 1).

    Returns:
        Critical values by quadrature; one-sided Dunnett values when all errors are equal.

    Notes:
        P(max <= c) = E prod_l Phi((c se_lj + s_j Z)/s_l). A covariance that all pairs share
        cancels in every difference.

    References:
        Dunnett (1955), J. Am. Stat. Assoc. 50:1096.
    """
    from scipy.special import log_ndtr, ndtri

    configs = len(joint.mean)
    if configs <= 2:
        return np.where((joint.se > 0).any(axis=1), ndtri(level), np.nan)
    own = np.sqrt(np.diag(joint.covariance) - joint.covariance[0, 1])
    z = np.linspace(-9.0, 9.0, _NODES)
    mass = np.exp(-0.5 * z**2)
    mass /= mass.sum()
    critical = np.empty(configs)
    for j in range(configs):
        others = np.arange(configs) != j
        at = (own[j] / own[others])[:, None] * z
        step = joint.se[j, others] / own[others]
        low, high = -40.0, 40.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            inside = mass @ np.exp(log_ndtr(at + (middle * step)[:, None]).sum(axis=0))
            low, high = (middle, high) if inside < level else (low, middle)
        critical[j] = (low + high) / 2.0
    return critical


def dunnett_critical(configs: int, level: float = 0.95) -> float:
    """One-sided Dunnett critical value of J configs with equal independent errors.

    Args:
        configs: J >= 2, one of which is the control.
        level: In (0, 1).

    Returns:
        The level quantile of the largest of J - 1 normal variables with correlation 1/2.

    References:
        Dunnett (1955), J. Am. Stat. Assoc. 50:1096.

    Example:
        >>> [round(dunnett_critical(j), 4) for j in (2, 3, 10)]
        [1.6449, 1.9163, 2.417]
    """
    from trialframe.kernels.joint import joint_of

    return float(independent_critical(joint_of(np.zeros(configs), np.eye(configs)), level)[0])


def ranks(joint: Joint) -> Ints:
    """Rank of every mean, 1 for the largest; means that are equal share the smallest rank."""
    ascending = np.sort(-joint.mean)
    # a mean as large as another but for rounding does not stand above it
    above = np.searchsorted(ascending, -joint.mean - joint.slack, side="left")
    return np.asarray(above + 1, dtype=np.int64)


def rank_intervals(
    joint: Joint, draws: Floats, level: float = 0.95, *, family: str = "simultaneous"
) -> Ranks:
    """Intervals that hold the true ranks of all configs at once, or of each one by itself.

    Args:
        joint: Means and standard errors of differences.
        draws: Errors of the means, shape (B, J).
        level: Coverage, in (0, 1).
        family: "simultaneous" (all true ranks are covered together) or "marginal" (each config
            on its own; read one row only).

    Returns:
        Ranks and intervals; [1, J] for all with fewer than two units.

    Notes:
        Ordered pairs (j, k) with T_jk = (m_j - m_k)/se_jk. The critical value is the level
        quantile of max (e_j - e_k)/se_jk over the pairs that are not yet rejected; pairs with
        T_jk above it are rejected, and so on until none is. low = 1 + configs above j, high =
        J - configs below j. Pairs with se_jk = 0 are left out. T is carried from t_df to the
        normal scale first, which matters with few units.

    References:
        Mogstad, Romano, Shaikh and Wilhelm (2024), Rev. Econ. Stud. 91:476; Romano and Wolf
        (2005), J. Am. Stat. Assoc. 100:94.

    Example:
        >>> from trialframe.kernels.joint import gaussian_draws, joint_of
        >>> four = joint_of(np.array([0.9, 0.5, 0.48, 0.1]), np.diag([0.0004] * 4))
        >>> got = rank_intervals(four, gaussian_draws(four, np.random.default_rng(0), 1000))
        >>> got.low.tolist(), got.high.tolist()
        ([1, 2, 2, 4], [1, 3, 3, 4])
    """
    known = joint.se > 0
    gaps = _ratio(joint.mean[:, None] - joint.mean, joint.se, known, 0.0)
    scores = normal_scores(gaps, joint.df)
    configs = len(known)
    if family == "simultaneous":
        above = _stepdown(scores, known, joint.se, draws, level)
        over, under = above.sum(axis=0), above.sum(axis=1)
    else:
        over, under = np.zeros((2, configs), dtype=np.int64)
        for j in range(configs):
            pairs = np.zeros_like(known)
            pairs[j], pairs[:, j] = known[j], known[j]
            above = _stepdown(scores, pairs, joint.se, draws, level)
            over[j], under[j] = above[:, j].sum(), above[j].sum()
    return Ranks(rank=ranks(joint), low=1 + over, high=configs - under)


def tau_best(found: Ranks, tau: int) -> Bools:
    """Configs that may be among the best tau: their simultaneous interval starts at tau or above.

    Args:
        found: Simultaneous rank intervals.
        tau: Number of places, >= 1.

    Returns:
        Shape (J,); holds all of the true best tau with the coverage of the intervals.
    """
    return found.low <= tau


def confidence_set(joint: Joint, draws: Floats, level: float = 0.95) -> Bools:
    """Model confidence set: drop the worst config until equality is not rejected (T_max).

    Args:
        joint: Means.
        draws: Errors of the means, shape (B, J), from a bootstrap of units.
        level: 1 - alpha, in (0, 1).

    Returns:
        Configs that remain, shape (J,).

    Notes:
        t_i = (mean of the set - m_i)/sd_i with sd_i the bootstrap standard deviation of that
        difference. The set is tested by the share of draws whose largest |studentised error| is
        at least max t_i; while that p-value is below alpha the config with the largest t_i
        leaves. Where sd_i = 0 the rule of `plausibly_best` for pairs without spread holds.

    References:
        Hansen, Lunde and Nason (2011), Econometrica 79:453.

    Example:
        >>> from trialframe.kernels.joint import gaussian_draws, joint_of
        >>> four = joint_of(np.array([0.9, 0.89, 0.48, 0.1]), np.diag([0.0004] * 4))
        >>> errors = gaussian_draws(four, np.random.default_rng(0), 1000)
        >>> confidence_set(four, errors).tolist()
        [True, True, False, False]
    """
    inside = np.ones(len(joint.mean), dtype=np.bool_)
    if np.isnan(joint.se).any():
        return inside
    sure = 0.5 ** max(joint.units - 1, 0)
    while inside.sum() > 1:
        kept = np.flatnonzero(inside)
        mean, errors = joint.mean[kept], draws[:, kept]
        behind = mean.mean() - mean
        errors = errors.mean(axis=1, keepdims=True) - errors
        spread = errors.std(axis=0)
        fixed = spread <= 1e-12 * max(joint.slack / 1e-12, 1e-300)
        certain = np.inf if sure < (1.0 - level) / (len(joint.mean) - 1) else 0.0
        constant = np.where(behind > joint.slack, certain, 0.0)
        t = np.where(fixed, constant, behind / np.where(fixed, 1.0, spread))
        largest = np.max(np.where(fixed, 0.0, errors / np.where(fixed, 1.0, spread)), axis=1)
        worst = int(np.argmax(t))
        if np.mean(largest >= t[worst]) >= 1.0 - level:
            break
        inside[kept[worst]] = False
    return inside


def normal_scores(statistic: Floats, df: Floats | float) -> Floats:
    """Statistics with t_df tails on the normal scale: the same tail probability.

    Args:
        statistic: Any shape.
        df: Degrees of freedom, broadcast; inf leaves the statistic as it is.

    Returns:
        The scores, in the broadcast shape.

    Example:
        >>> normal_scores(np.array([-2.571, 0.0, 1.96]), 5.0).round(2).tolist()
        [-1.96, 0.0, 1.61]
    """
    from scipy.special import ndtri, stdtr

    statistic, df = np.broadcast_arrays(statistic, df)
    finite = np.isfinite(df)
    tail = stdtr(np.where(finite, df, 1.0), -np.abs(statistic))
    scores = np.where(finite, -ndtri(tail) * np.sign(statistic), statistic)
    # the normal score of a tail that is 0 in floating point
    return np.clip(np.where(statistic == 0, 0.0, scores), -1e300, 1e300)


def _ratio(part: Floats, whole: Floats, where: Bools, other: float) -> Floats:
    made: Floats = np.divide(part, whole, out=np.full(whole.shape, other), where=where)
    return made


def _stretch(df: float, level: float) -> float:
    """How much farther out a t quantile lies than the normal one."""
    from scipy.special import ndtri, stdtrit

    below = float(ndtri(level))
    return float(stdtrit(df, level)) / below if np.isfinite(df) and below else 1.0


def _surely_worse(joint: Joint, alpha: float) -> Bools:
    """Configs that another beats by the same amount in every unit, often enough."""
    configs = len(joint.mean)
    sure = np.bool_(0.5 ** max(joint.units - 1, 0) < alpha / max(configs - 1, 1))
    behind = joint.mean - joint.mean[:, None] > joint.slack
    return np.asarray(sure & (behind & (joint.se == 0)).any(axis=1), dtype=np.bool_)


def _largest_of(draws: Floats, j: int, others: Bools, scale: Floats) -> Floats:
    """Largest (e_l - e_j)/se_lj over the others in every draw, shape (B,)."""
    made: Floats = np.empty(len(draws))
    batch = max(1, _CELLS // len(others))
    for start in range(0, len(draws), batch):
        block = draws[start : start + batch].T
        gaps = (block[others] - block[j]) * scale[:, None]
        made[start : start + batch] = gaps.max(axis=0)
    return made


def _stepdown(scores: Floats, pairs: Bools, se: Floats, draws: Floats, level: float) -> Bools:
    """Ordered pairs (j, k) of a family for which j is significantly above k, shape (J, J)."""
    rest = pairs.copy()
    rejected = np.zeros_like(pairs)
    rank = len(draws) - quantile_rank(1.0 - level, len(draws))
    scale = _ratio(np.ones_like(se), se, se > 0, 0.0)
    while rest.any():
        critical = np.partition(_largest_pairs(draws, rest, scale), rank)[rank]
        new = rest & (scores > critical)
        if not new.any():
            break
        rejected |= new
        rest &= ~new
    return rejected


def _largest_pairs(draws: Floats, pairs: Bools, scale: Floats) -> Floats:
    """Largest (e_j - e_k)/se_jk over some ordered pairs in every draw, shape (B,)."""
    joined = pairs | pairs.T
    counts = joined.sum(axis=1)
    # every unordered pair once, from the config that has more of them: fewer and longer rows
    once = joined & (counts[:, None] >= counts) & ((counts[:, None] > counts) | np.triu(joined, 1))
    both = once & pairs & pairs.T
    alone = once & ~both
    scale = np.where(both | pairs, scale, -scale)
    made = np.full(len(draws), -np.inf)
    rows = [(j, both[j], alone[j]) for j in np.flatnonzero((both | alone).any(axis=1))]
    batch = max(1, _CELLS // len(pairs))
    for start in range(0, len(draws), batch):
        block = np.ascontiguousarray(draws[start : start + batch].T)
        most = made[start : start + batch]
        for j, two, one in rows:
            if two.any():
                gaps = (block[j] - block[two]) * scale[j, two, None]
                np.maximum(most, np.abs(gaps, out=gaps).max(axis=0), out=most)
            if one.any():
                gaps = (block[j] - block[one]) * scale[j, one, None]
                np.maximum(most, gaps.max(axis=0), out=most)
    return made
