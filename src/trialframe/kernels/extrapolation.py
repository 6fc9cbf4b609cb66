"""pass@k and pass^k beyond the trials that were run, from a fitted beta-binomial.

Model-based: report it as such, and do not extrapolate past about ten times the number of trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from trialframe.kernels.betabinomial import BetaBinomial, Cells

    Floats: TypeAlias = NDArray[np.float64]

_FITTED = ("ok", "underdispersed")
_NEVER = (0.05, 0.5, 0.9)  # starting shares of never-solvable cases among those never solved
_GAIN = 1e-8  # in log-likelihood; anything less is the search's own noise
_BOUND = 16.0  # of the log parameters, as in the plain fit


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroInflated:
    """A beta-binomial beside a share of cases that can never be solved; scalars.

    Attributes:
        share: Share of never-solvable cases; NaN where the model cannot be fitted.
        a: First Beta parameter of the other cases.
        b: Second Beta parameter of the other cases.
        loglik: Maximised log-likelihood, never below that of the plain beta-binomial.
    """

    share: float
    a: float
    b: float
    loglik: float


def beta_binomial_pass_at(
    a: ArrayLike, b: ArrayLike, k: ArrayLike, mean: ArrayLike = np.nan
) -> Floats:
    """Population pass@k under Beta(a, b): 1 - B(a, b+k)/B(a, b).

    Args:
        a: First Beta parameter; inf or 0 for the limits of `beta_binomial_fit`.
        b: Second Beta parameter.
        k: Attempts, > 0.
        mean: Mean pass rate, used at the limits only, where a and b do not determine it.

    Returns:
        Values in the broadcast shape.

    Example:
        >>> round(float(beta_binomial_pass_at(0.5, 1.5, 20)), 7)
        0.7552287
    """
    return -_powers(b, a, k, 1.0 - np.asarray(mean, dtype=np.float64), minus_one=True)


def beta_binomial_pass_hat(
    a: ArrayLike, b: ArrayLike, k: ArrayLike, mean: ArrayLike = np.nan
) -> Floats:
    """Population pass^k under Beta(a, b): B(a+k, b)/B(a, b).

    Args:
        a: First Beta parameter; inf or 0 for the limits of `beta_binomial_fit`.
        b: Second Beta parameter.
        k: Attempts that must all pass, > 0.
        mean: Mean pass rate, used at the limits only.

    Returns:
        Values in the broadcast shape.

    Example:
        >>> round(float(beta_binomial_pass_hat(0.5, 1.5, 20)), 7)
        0.00597
    """
    return _powers(a, b, k, np.asarray(mean, dtype=np.float64), minus_one=False)


def suite_pass_at(fit: BetaBinomial, cells: Cells, k: ArrayLike) -> Floats:
    """pass@k of these very cases: the posterior predictive value averaged over cases.

    Args:
        fit: The fitted prior.
        cells: Distinct pairs of the suite.
        k: Attempts, shape (K,) or scalar.

    Returns:
        Values in the shape of `k`; NaN where the fit has no parameters.

    Notes:
        mean over cases of 1 - B(a+c, b+n-c+k)/B(a+c, b+n-c).

    Example:
        >>> from trialframe.kernels.betabinomial import beta_binomial_fit, distinct_cells
        >>> cells = distinct_cells(10, [0, 0, 1, 2, 3, 5, 7, 9, 10, 10])
        >>> fit = beta_binomial_fit(cells.n, cells.c, cells.multiplicity)
        >>> round(float(suite_pass_at(fit, cells, 20)), 3)
        0.843
    """
    return _suite(fit, cells, k, beta_binomial_pass_at)


def suite_pass_hat(fit: BetaBinomial, cells: Cells, k: ArrayLike) -> Floats:
    """pass^k of these very cases: the posterior predictive value averaged over cases.

    Args:
        fit: The fitted prior.
        cells: Distinct pairs of the suite.
        k: Attempts, shape (K,) or scalar.

    Returns:
        Values in the shape of `k`; NaN where the fit has no parameters.

    Notes:
        mean over cases of B(a+c+k, b+n-c)/B(a+c, b+n-c).

    Example:
        >>> from trialframe.kernels.betabinomial import beta_binomial_fit, distinct_cells
        >>> cells = distinct_cells(10, [0, 0, 1, 2, 3, 5, 7, 9, 10, 10])
        >>> fit = beta_binomial_fit(cells.n, cells.c, cells.multiplicity)
        >>> round(float(suite_pass_hat(fit, cells, 20)), 3)
        0.147
    """
    return _suite(fit, cells, k, beta_binomial_pass_hat)


def zero_inflated_fit(cells: Cells, fit: BetaBinomial) -> ZeroInflated:
    """Fit a share of never-solvable cases beside a beta-binomial for the others.

    With true zeros the plain model lets pass@k rise towards 1 too fast. Compare the two
    log-likelihoods: with `share` on the edge of its range a gain below about 1.4 is noise.

    Args:
        cells: Distinct pairs of the suite.
        fit: The plain fit to the same cells: the model with a share of 0.

    Returns:
        The fit; NaN where the plain model is not identified, or every case is all or nothing.

    Notes:
        P(c = 0) = share + (1 - share) BB(0), P(c) = (1 - share) BB(c) otherwise; population
        pass@k is (1 - share) times that of Beta(a, b). Nelder-Mead from several starts.

    Example:
        >>> from trialframe.kernels.betabinomial import beta_binomial_fit, distinct_cells
        >>> cells = distinct_cells(10, [0, 0, 0, 0, 0, 0, 4, 5, 6, 7])
        >>> fit = beta_binomial_fit(cells.n, cells.c, cells.multiplicity)
        >>> inflated = zero_inflated_fit(cells, fit)
        >>> round(inflated.share, 2), inflated.loglik > fit.loglik + 2
        (0.6, True)
    """
    from scipy.optimize import minimize

    if fit.status not in _FITTED:
        nan = float("nan")
        return ZeroInflated(share=nan, a=nan, b=nan, loglik=nan)
    loss = _zero_inflated_loss(cells)
    unsolved = float(cells.multiplicity[cells.c == 0].sum() / fit.cases)
    best = ZeroInflated(share=0.0, a=fit.a, b=fit.b, loglik=fit.loglik)
    for part in _NEVER if unsolved > 0 else ():
        share = part * unsolved
        rate = min(fit.mean / (1.0 - share), 0.99)
        start = np.array([_logit(share), np.log(2.0 * rate), np.log(2.0 * (1.0 - rate))])
        found = minimize(
            loss,
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2000, "maxfev": 2000},
        )
        if -found.fun > best.loglik + _GAIN:
            share, a, b = np.exp([-np.logaddexp(0.0, -found.x[0]), *_bounded(found.x[1:])])
            best = ZeroInflated(
                share=float(share), a=float(a), b=float(b), loglik=float(-found.fun)
            )
    return best


def _zero_inflated_loss(cells: Cells) -> Callable[[Floats], float]:
    """Minus the log-likelihood in (logit share, log a, log b)."""
    from scipy.special import betaln, gammaln

    n, c = cells.n, cells.c
    ways = gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0)
    zero = c == 0

    def loss(at: Floats) -> float:
        a, b = np.exp(_bounded(at[1:]))
        log_share, log_rest = -np.logaddexp(0.0, -at[0]), -np.logaddexp(0.0, at[0])
        plain = log_rest + betaln(a + c, b + n - c) - betaln(a, b) + ways
        inflated = np.where(zero, np.logaddexp(log_share, plain), plain)
        return -float(cells.multiplicity @ inflated)

    return loss


def _suite(fit: BetaBinomial, cells: Cells, k: ArrayLike, value: Callable[..., Floats]) -> Floats:
    """Posterior predictive values averaged over cases, in the shape of k."""
    order = np.asarray(k, dtype=np.float64)
    a, b = fit.a + cells.c, fit.b + cells.n - cells.c
    each = value(a[:, None], b[:, None], order.reshape(1, -1), fit.mean)
    share = cells.multiplicity / max(int(cells.multiplicity.sum()), 1)
    mean = share @ each if len(share) else np.full(order.size, np.nan)
    return np.asarray(mean.reshape(order.shape))


def _powers(a: ArrayLike, b: ArrayLike, k: ArrayLike, rate: Floats, *, minus_one: bool) -> Floats:
    """E[p^k], or E[p^k] - 1 without cancellation, for p ~ Beta(a, b) and its limits."""
    from scipy.special import betaln

    parts = (np.asarray(part, dtype=np.float64) for part in (a, b, k, rate))
    x, y, order, mean = np.broadcast_arrays(*parts)
    regular = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    first, second = np.where(regular, x, 1.0), np.where(regular, y, 1.0)
    with np.errstate(divide="ignore"):  # a rate of 0 has log -inf and power 0
        logs = np.select(
            [regular, np.isinf(x) & np.isinf(y), (x == 0) & (y == 0), x == 0, y == 0],
            [
                betaln(first + order, second) - betaln(first, second),
                order * np.log(mean),  # one rate for all: binomial
                np.log(mean),  # every case all or nothing: the share of cases that pass
                -np.inf,
                0.0,
            ],
            default=np.nan,
        )
    return np.asarray(np.expm1(logs) if minus_one else np.exp(logs))


def _bounded(logs: Floats) -> Floats:
    return np.clip(logs, -_BOUND, _BOUND)


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))
