"""Posteriors of fixed cases: Bayes@N, Beta posteriors of pass@k and pass^k, the delta method.

All of these describe the cases at hand ("this suite"), not the population they came from. The
prior that is learnt from the cases is in `betabinomial`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesAtN:
    """Bayes@N of one suite of M cases.

    Attributes:
        mean: Posterior mean of the weighted rubric score, averaged over cases; scalar.
        sd: Posterior standard deviation of that average; scalar.
        case_mean: Posterior mean of each case, shape (M,); NaN for a case without any trial.
        case_var: Posterior variance of each case, shape (M,).
        total: T, the number of pseudo-counts and trials of each case, shape (M,).
        average: Average score without a prior (avg@N); scalar.
        average_sd: `sd` on the scale of `average`; NaN where prior trials were given.
        cases: Number of cases with at least one trial.
    """

    mean: float
    sd: float
    case_mean: Floats
    case_var: Floats
    total: Floats
    average: float
    average_sd: float
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Posterior summaries of one quantity per case.

    Attributes:
        mean: Posterior means, in the broadcast shape of the arguments.
        sd: Posterior standard deviations, same shape.
        low: Lower equal-tailed bounds, same shape.
        high: Upper equal-tailed bounds, same shape.
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PlugIn:
    """A plug-in value with its delta-method standard error.

    Attributes:
        value: Plug-in values, in the broadcast shape of the arguments.
        se: Standard errors, same shape; 0 where every trial agrees, which is not certainty.
    """

    value: Floats
    se: Floats


def bayes_at_n(
    counts: ArrayLike, weights: ArrayLike, prior_counts: ArrayLike | None = None
) -> BayesAtN:
    """Bayes@N: posterior mean and spread of a rubric score under a uniform Dirichlet prior.

    For a fixed suite: it holds trial noise only and says nothing about other cases. Every
    category adds a pseudo-count to every case, also one that never occurs, so the result depends
    on the declared size of the rubric.

    Args:
        counts: Trials of each case in each category, shape (M, C + 1).
        weights: Score of each category, shape (C + 1,); (0, 1) for fail and pass.
        prior_counts: Earlier trials to be added, shape (M, C + 1) or (C + 1,).

    Returns:
        Suite and case summaries. Cases without any trial are NaN and left out of the averages.

    Notes:
        nu_ij = 1 + n_ij + prior_ij, T_i = sum_j nu_ij, mean_i = sum_j (nu_ij/T_i) w_j and
        var_i = [sum_j (nu_ij/T_i) w_j^2 - mean_i^2]/(T_i + 1). The suite has mean(mean_i) and
        sqrt(sum var_i)/M. T_i is each case's own, so unequal numbers of trials are fine.

    References:
        Hariri et al. (2025), arXiv:2510.04265.

    Example:
        >>> got = bayes_at_n([[1, 2, 2], [1, 2, 2]], [0, 0.5, 1], [[1, 0, 1], [0, 1, 1]])
        >>> round(got.mean, 4), round(got.sd, 4)
        (0.575, 0.0843)
    """
    seen, score = np.asarray(counts, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    prior = 0.0 if prior_counts is None else np.asarray(prior_counts, dtype=np.float64)
    known = (seen + prior).sum(axis=1) > 0
    posterior = 1.0 + seen + prior
    total = posterior.sum(axis=1)
    share = posterior / total[:, None]
    mean = np.where(known, share @ score, np.nan)
    # centred, because the difference of two squares loses digits
    variance = (share * (score - mean[:, None]) ** 2).sum(axis=1) / (total + 1.0)
    average, average_sd = _average(seen, score, total, variance)
    cases = int(known.sum())
    return BayesAtN(
        mean=_mean(mean[known]),
        sd=float(np.sqrt(variance[known].sum()) / cases) if cases else float("nan"),
        case_mean=mean,
        case_var=variance,
        total=total,
        average=average,
        average_sd=average_sd if prior_counts is None else float("nan"),
        cases=cases,
    )


def posterior_pass_at(
    passes: ArrayLike,
    trials: ArrayLike,
    k: ArrayLike,
    prior: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
) -> Posterior:
    """Posterior of 1 - (1 - p)^k for single cases, p with a Beta prior.

    The mean depends heavily on the prior for cases that were never solved: with the uniform one
    and 3 failed trials the mean of pass@3 is 3/7, so averages over cases are inflated. For
    averages fit the prior (`betabinomial.beta_binomial_fit`).

    Args:
        passes: Passed trials.
        trials: Scored trials, >= 0.
        k: Number of attempts, > 0.
        prior: Beta parameters (a, b), > 0: (1, 1) uniform, (0.5, 0.5) Jeffreys.
        level: Probability of the equal-tailed interval, in (0, 1).

    Returns:
        Summaries in the broadcast shape. k = 1 gives those of p itself.

    Notes:
        p | data ~ Beta(A, B), A = a + c, B = b + n - c: E[(1-p)^k] = B(A, B+k)/B(A, B), the
        variance from the moment of order 2k, bounds by transforming the Beta quantiles.

    References:
        Hariri et al. (2025), arXiv:2510.04265.

    Example:
        >>> got = posterior_pass_at(3, 10, 5)
        >>> round(float(got.mean), 4), round(float(got.low), 4), round(float(got.high), 4)
        (0.8187, 0.4393, 0.9909)
    """
    c, n, order = np.broadcast_arrays(*_floats(passes, trials, k))
    mirrored = _posterior_power(n - c, n, order, prior[::-1], level)
    return Posterior(
        mean=1.0 - mirrored.mean,
        sd=mirrored.sd,
        low=1.0 - mirrored.high,
        high=1.0 - mirrored.low,
    )


def posterior_pass_hat(
    passes: ArrayLike,
    trials: ArrayLike,
    k: ArrayLike,
    prior: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
) -> Posterior:
    """Posterior of p^k for single cases, p with a Beta prior.

    As `posterior_pass_at`, with the mirror-image warning: a case that always passed has a
    posterior mean well below 1, so averages over cases are deflated.

    Args:
        passes: Passed trials.
        trials: Scored trials, >= 0.
        k: Number of attempts that must all pass, > 0.
        prior: Beta parameters (a, b), > 0.
        level: Probability of the equal-tailed interval, in (0, 1).

    Returns:
        Summaries in the broadcast shape.

    Notes:
        E[p^k] = B(A+k, B)/B(A, B) with A = a + c, B = b + n - c.

    Example:
        >>> round(float(posterior_pass_hat(3, 10, 5).mean), 4)
        0.0128
    """
    c, n, order = np.broadcast_arrays(*_floats(passes, trials, k))
    return _posterior_power(c, n, order, prior, level)


def macro_posterior(mean: ArrayLike, sd: ArrayLike, level: float = 0.95) -> Posterior:
    """Average of independent case posteriors, with a normal interval clipped to [0, 1].

    Args:
        mean: Posterior means, shape (M,); NaN leaves the case out.
        sd: Posterior standard deviations, shape (M,).
        level: Probability of the interval, in (0, 1).

    Returns:
        Scalars (arrays of shape ()): the mean of means and sqrt(sum of variances)/M.

    Example:
        >>> case = posterior_pass_at([3, 4], [5, 5], 2)
        >>> got = macro_posterior(case.mean, case.sd)
        >>> round(float(got.mean), 4), round(float(got.low), 4), round(float(got.high), 4)
        (0.8393, 0.6487, 1.0)
    """
    from scipy.special import ndtri

    means, spreads = _floats(mean, sd)
    known = ~np.isnan(means)
    cases = int(known.sum())
    centre = _mean(means[known])
    spread = np.sqrt((spreads[known] ** 2).sum()) / cases if cases else np.nan
    half = ndtri((1.0 + level) / 2.0) * spread
    low, high = np.clip([centre - half, centre + half], 0.0, 1.0)
    return Posterior(
        mean=np.asarray(centre), sd=np.asarray(spread), low=np.asarray(low), high=np.asarray(high)
    )


def delta_pass_at(passes: ArrayLike, trials: ArrayLike, k: ArrayLike) -> PlugIn:
    """Plug-in 1 - (1 - c/n)^k with the delta-method standard error.

    Biased for k > 1, and its standard error is 0 when all trials agree: use the unbiased value
    and its variance instead. Here for comparison with tools that report it.

    Args:
        passes: Passed trials.
        trials: Scored trials; 0 gives NaN.
        k: Number of attempts, >= 1.

    Returns:
        Values in the broadcast shape.

    Notes:
        se = k (1-p)^(k-1) sqrt(p(1-p)/n) at p = c/n.

    Example:
        >>> got = delta_pass_at(6, 20, 4)
        >>> round(float(got.value), 4), round(float(got.se), 4)
        (0.7599, 0.1406)
    """
    c, n, order = np.broadcast_arrays(*_floats(passes, trials, k))
    mirrored = delta_pass_hat(n - c, n, order)
    return PlugIn(value=1.0 - mirrored.value, se=mirrored.se)


def delta_pass_hat(passes: ArrayLike, trials: ArrayLike, k: ArrayLike) -> PlugIn:
    """Plug-in (c/n)^k with the delta-method standard error.

    The same reservations as for `delta_pass_at`.

    Args:
        passes: Passed trials.
        trials: Scored trials; 0 gives NaN.
        k: Number of attempts that must all pass, >= 1.

    Returns:
        Values in the broadcast shape.

    Notes:
        se = k p^(k-1) sqrt(p(1-p)/n) at p = c/n.

    Example:
        >>> got = delta_pass_hat(6, 20, 4)
        >>> round(float(got.value), 4), round(float(got.se), 4)
        (0.0081, 0.0111)
    """
    c, n, order = np.broadcast_arrays(*_floats(passes, trials, k))
    size = np.where(n > 0, n, np.nan)
    rate = c / size
    return PlugIn(
        value=rate**order, se=order * rate ** (order - 1.0) * np.sqrt(rate * (1.0 - rate) / size)
    )


def beta_moment(a: ArrayLike, b: ArrayLike, k: ArrayLike) -> Floats:
    """E[p^k] for p ~ Beta(a, b): B(a + k, b)/B(a, b).

    Args:
        a: First Beta parameter, > 0.
        b: Second Beta parameter, > 0.
        k: Order, >= 0.

    Returns:
        Moments in the broadcast shape.

    Example:
        >>> round(float(beta_moment(4, 8, 5)), 6)
        0.012821
    """
    from scipy.special import betaln

    first, second, order = _floats(a, b, k)
    return np.asarray(np.exp(betaln(first + order, second) - betaln(first, second)))


def _posterior_power(
    c: Floats, n: Floats, k: Floats, prior: tuple[float, float], level: float
) -> Posterior:
    """Posterior summaries of p^k."""
    from scipy.special import betaincinv

    a, b = prior[0] + c, prior[1] + n - c
    mean = beta_moment(a, b, k)
    tail = (1.0 - level) / 2.0
    return Posterior(
        mean=mean,
        sd=np.sqrt(np.maximum(beta_moment(a, b, 2.0 * k) - mean**2, 0.0)),
        low=betaincinv(a, b, tail) ** k,
        high=betaincinv(a, b, 1.0 - tail) ** k,
    )


def _average(seen: Floats, score: Floats, total: Floats, variance: Floats) -> tuple[float, float]:
    """avg@N over the cases with trials, and its posterior sd: sqrt(sum (T/N)^2 var)/M."""
    trials = seen.sum(axis=1)
    known = trials > 0
    if not known.any():
        return float("nan"), float("nan")
    scores = seen[known] @ score / trials[known]
    stretched = (total[known] / trials[known]) ** 2 * variance[known]
    return _mean(scores), float(np.sqrt(stretched.sum()) / known.sum())


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _floats(*values: ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)
