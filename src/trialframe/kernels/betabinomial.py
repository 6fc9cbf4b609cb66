"""The beta-binomial model of pass counts: pass@k and pass^k beyond the trials that were run.

Pass rates of cases are taken as draws from Beta(a, b). Everything here is model-based: report it
as such, and do not extrapolate past about ten times the number of trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

STATUSES = (
    "ok",
    "underdispersed",  # no more spread than binomial: a + b -> inf, all cases share one rate
    "all-or-nothing",  # every case always passes or always fails: a + b -> 0
    "single-trial",  # one trial a case: the spread between cases is not identified
    "all-pass",
    "all-fail",
    "no-trials",
)
OK, UNDERDISPERSED, ALL_OR_NOTHING, SINGLE_TRIAL, ALL_PASS, ALL_FAIL, NO_TRIALS = range(7)

_CELLS = 4_000_000  # numbers held at a time: 32 MB
_ITERATIONS = 60  # damped Newton needs 5 to 15
_PRECISION = 1e-10  # steps below it end the search
_STEP = 2.0  # longest step in (logit mean, log size)
_LIMITS = np.array([30.0, 16.0])  # of |logit mean| and |log size|; beyond, nothing changes
_START_SIZES = (19.0, 2.33, 0.43, 0.053)  # a + b at rho = .05, .3, .7, .95
_DIRECT_STEPS = 512  # rising factorials longer than this are summed by special functions


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaBinomial:
    """A fitted beta-binomial; all fields are scalars.

    Attributes:
        a: First Beta parameter; inf for "underdispersed", 0 for "all-or-nothing", NaN where the
            data cannot tell.
        b: Second Beta parameter, likewise.
        mean: Mean pass rate a/(a+b), or its limit.
        rho: 1/(a + b + 1), the correlation between two trials of a case; NaN where unknown.
        loglik: Maximised log-likelihood, binomial coefficients included.
        score: Derivative of the log-likelihood in 1/(a+b) at 0; <= 0 means underdispersed.
        status: One of `STATUSES`.
        cases: Cases with at least one trial.
    """

    a: float
    b: float
    mean: float
    rho: float
    loglik: float
    score: float
    status: str
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refits:
    """Beta-binomials fitted to B weightings of the same cases.

    Attributes:
        a: First Beta parameters, shape (B,); inf where the fit is binomial (underdispersed,
            all pass, all fail), 0 for all-or-nothing, NaN where the data cannot tell.
        b: Second Beta parameters, shape (B,).
        mean: Mean pass rates, shape (B,).
        status: Positions in `STATUSES`, shape (B,).
    """

    a: Floats
    b: Floats
    mean: Floats
    status: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Distinct (trials, passes) pairs with at least one trial.

    Attributes:
        n: Trials, shape (H,), >= 1.
        c: Passes, shape (H,).
        multiplicity: Cases with this pair, shape (H,).
    """

    n: Ints
    c: Ints
    multiplicity: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """Weighted log rising factorials: sum_h w_h log[x (x+1) ... (x + m_h - 1)] for B weightings.

    Attributes:
        steps: 0 .. max(m) - 1 when summed directly, else the distinct m; shape (J,).
        weight: Weight of each step, or of each m; shape (B, J).
        direct: Whether `steps` are summed one by one.
    """

    steps: Floats
    weight: Floats
    direct: bool

    def sums(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """For x of shape (B,): sums of w log(1 + j/x), w q and w q(1-q), with q = x/(x+j)."""
        base = x[:, None]
        if self.direct:
            q = base / (base + self.steps)
            parts = (np.log1p(self.steps / base), q, q * (1.0 - q))
        else:
            from scipy.special import digamma, gammaln, zeta

            end = base + self.steps
            first = base * (digamma(end) - digamma(base))
            second = base**2 * (zeta(2.0, base) - zeta(2.0, end))  # zeta(2, x) is trigamma
            logs = gammaln(end) - gammaln(base) - self.steps * np.log(base)
            parts = (logs, first, first - second)
        one, two, three = (np.einsum("bj,bj->b", self.weight, part) for part in parts)
        return one, two, three


def distinct_cells(n: ArrayLike, c: ArrayLike, multiplicity: ArrayLike | None = None) -> Cells:
    """Histogram of the distinct (trials, passes) pairs, ascending; cases without trials left out.

    Args:
        n: Trials, shape (M,) or scalar.
        c: Passes, shape (M,).
        multiplicity: Cases that each row stands for, shape (M,); None for one.

    Returns:
        The pairs; their order does not depend on the order of the rows.

    Example:
        >>> cells = distinct_cells([3, 3, 0, 3], [1, 1, 0, 2])
        >>> cells.c.tolist(), cells.multiplicity.tolist()
        ([1, 2], [2, 1])
    """
    passes, trials = np.atleast_1d(c).astype(np.int64), np.asarray(n, dtype=np.int64)
    trials = np.broadcast_to(trials, passes.shape)
    times = np.ones(passes.shape) if multiplicity is None else np.asarray(multiplicity)
    base = int(trials.max(initial=0)) + 1
    keep = (trials > 0) & (times > 0)
    keys, row = np.unique(trials[keep] * base + passes[keep], return_inverse=True)
    count = np.bincount(row, weights=times[keep], minlength=len(keys))
    return Cells(n=keys // base, c=keys % base, multiplicity=np.rint(count).astype(np.int64))


def beta_binomial_fit(
    n: ArrayLike, c: ArrayLike, multiplicity: ArrayLike | None = None
) -> BetaBinomial:
    """Maximum likelihood fit of the beta-binomial to pass counts per case.

    Needs at least two trials in some cases. Cases that can never be solved break the model: see
    `extrapolation.zero_inflated_fit`.

    Args:
        n: Trials of each case, shape (M,) or scalar, >= 0.
        c: Passes of each case, shape (M,), 0 <= c <= n.
        multiplicity: Cases that each row stands for, shape (M,); None for one.

    Returns:
        The fit. Where the likelihood has no interior maximum `status` says which limit holds.

    Notes:
        Maximises sum log[C(n,c) B(a+c, b+n-c)/B(a,b)] by damped Newton steps in (logit of the
        mean, log(a+b)) from four starts. Underdispersed iff the score
        sum [c(c-1)/(2p) + f(f-1)/(2q) - n(n-1)/2] <= 0 at the pooled rate p, q = 1-p, f = n-c.

    References:
        Kazdan et al. (2025), arXiv:2510.05197.

    Example:
        >>> fit = beta_binomial_fit(10, [0, 0, 1, 2, 3, 5, 7, 9, 10, 10])
        >>> round(fit.a, 4), round(fit.b, 4), round(fit.rho, 4), fit.status
        (0.4042, 0.4315, 0.5448, 'ok')
    """
    cells = distinct_cells(n, c, multiplicity)
    weights = cells.multiplicity[None, :].astype(np.float64)
    mean, score, status = _limits(cells, weights)
    a, b = _limit_parameters(mean, status)
    known = status[0] < ALL_PASS
    if status[0] == OK:
        starts = np.array([[_logit(mean[0]), np.log(size)] for size in _START_SIZES])
        found, height = _maximise(cells, np.repeat(weights, len(starts), axis=0), starts)
        a, b = _from_coordinates(found[[np.argmax(height)]])
        mean = a / (a + b)
    return BetaBinomial(
        a=float(a[0]) if known else float("nan"),
        b=float(b[0]) if known else float("nan"),
        mean=float(mean[0]),
        rho=float(1.0 / (a[0] + b[0] + 1.0)) if known else float("nan"),
        loglik=_loglik(cells, float(a[0]), float(b[0]), float(mean[0])),
        score=float(score[0]),
        status=STATUSES[status[0]],
        cases=int(cells.multiplicity.sum()),
    )


def beta_binomial_refit(cells: Cells, weights: Floats, start: BetaBinomial) -> Refits:
    """Fit B weightings of the same distinct cells at once, for a case bootstrap.

    Args:
        cells: Distinct pairs, H of them.
        weights: How often each pair occurs in each resample, shape (B, H), >= 0.
        start: Fit to the data themselves: where the steps start.

    Returns:
        Parameters per resample. Resamples without spread, passes or failures are kept with the
        limit of the model: dropping them would shift the interval.

    Notes:
        Rows are worked on in batches of bounded memory; results do not depend on the batch.

    Example:
        >>> cells = distinct_cells(10, [0, 0, 1, 2, 3, 5, 7, 9, 10, 10])
        >>> fit = beta_binomial_fit(10, [0, 0, 1, 2, 3, 5, 7, 9, 10, 10])
        >>> refit = beta_binomial_refit(cells, cells.multiplicity[None, :] * 1.0, fit)
        >>> round(float(refit.a[0]), 4)
        0.4042
    """
    mean, _, status = _limits(cells, weights)
    a, b = _limit_parameters(mean, status)
    size = start.a + start.b if start.status == "ok" else _START_SIZES[1]
    regular = np.flatnonzero(status == OK)
    batch = max(1, _CELLS // max(int(cells.n.max(initial=1)), len(cells.n)))
    for first in range(0, len(regular), batch):
        rows = regular[first : first + batch]
        starts = np.column_stack([_logit(mean[rows]), np.full(len(rows), np.log(size))])
        found, _ = _maximise(cells, weights[rows], starts)
        a[rows], b[rows] = _from_coordinates(found)
        mean[rows] = a[rows] / (a[rows] + b[rows])
    return Refits(a=a, b=b, mean=mean, status=status)


def _limits(cells: Cells, weights: Floats) -> tuple[Floats, Floats, Ints]:
    """Mean pass rate at the limits, score at zero overdispersion, and status, each (B,)."""
    n, c = cells.n, cells.c
    f = n - c
    trials, passes = weights @ n, weights @ c
    mean = np.divide(passes, trials, out=np.full(len(weights), np.nan), where=trials > 0)
    pairs, hits, misses = (weights @ (m * (m - 1) / 2.0) for m in (n, c, f))
    mixed = (passes > 0) & (passes < trials)
    rate = np.where(mixed, mean, 0.5)
    score = np.where(mixed, hits / rate + misses / (1.0 - rate) - pairs, np.nan)
    status = np.select(
        [
            trials <= 0,
            passes <= 0,
            passes >= trials,
            pairs <= 0,
            weights @ (c * f).astype(np.float64) <= 0,
            score <= 1e-12 * pairs,
        ],
        [NO_TRIALS, ALL_FAIL, ALL_PASS, SINGLE_TRIAL, ALL_OR_NOTHING, UNDERDISPERSED],
        default=OK,
    )
    solved = (weights @ (c == n)) / np.maximum(weights.sum(axis=1), 1e-300)
    return np.where(status == ALL_OR_NOTHING, solved, mean), score, status


def _limit_parameters(mean: Floats, status: Ints) -> tuple[Floats, Floats]:
    """Values of a and b where they are a limit; NaN elsewhere."""
    binomial = np.isin(status, (UNDERDISPERSED, ALL_PASS, ALL_FAIL)) & ~np.isnan(mean)
    a = np.select([binomial, status == ALL_OR_NOTHING], [np.inf, 0.0], default=np.nan)
    return a, a.copy()


def _maximise(cells: Cells, weights: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Coordinates (B, 2) of the maxima, and the log-likelihoods (B,) up to a constant."""
    n, c = cells.n, cells.c
    tails = [_tail(weights, m) for m in (c, n - c, n)]
    totals = (weights @ c, weights @ (n - c))
    here = np.clip(start, -_LIMITS, _LIMITS)
    value, slope, curve = _derivatives(here, tails, totals)
    damping = np.zeros(len(start))
    for _ in range(_ITERATIONS):
        there = np.clip(here + _newton_step(slope, curve, damping), -_LIMITS, _LIMITS)
        settled = np.abs(there - here).max(axis=1) < _PRECISION
        if settled.all():
            break
        new_value, new_slope, new_curve = _derivatives(there, tails, totals)
        better = new_value >= value - 1e-13 * np.abs(value)
        here = np.where(better[:, None], there, here)
        slope = np.where(better[:, None], new_slope, slope)
        curve = np.where(better[:, None], new_curve, curve)
        value = np.where(better, new_value, value)
        damping = np.where(better, damping / 10.0, np.maximum(10.0 * damping, 0.01))
    return here, value


def _derivatives(
    at: Floats, tails: list[_Tail], totals: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood (B,), gradient (B, 2) and Hessian (B, 3: 11, 12, 22).

    In (logit of the mean, log of the size) everything is a sum of q = x/(x+j), which keeps its
    digits when the size is very large or very small.
    """
    mean, rest, size = _expit(at[:, 0]), _expit(-at[:, 0]), np.exp(at[:, 1])
    sums = [tail.sums(x) for tail, x in zip(tails, (size * mean, size * rest, size), strict=True)]
    (log_a, a1, a2), (log_b, b1, b2), (log_s, s1, s2) = sums
    value = totals[0] * np.log(mean) + totals[1] * np.log(rest) + log_a + log_b - log_s
    slope = np.column_stack([rest * a1 - mean * b1, a1 + b1 - s1])
    both = rest**2 * a2 + mean**2 * b2 - mean * rest * (a1 + b1)
    curve = np.column_stack([both, rest * a2 - mean * b2, a2 + b2 - s2])
    return value, slope, curve


def _newton_step(slope: Floats, curve: Floats, damping: Floats) -> Floats:
    """Ascent steps (B, 2): Newton's where the likelihood is concave, damped elsewhere."""
    p, r, q = -curve.T
    scale = np.abs(p) + np.abs(q) + 1e-300
    smallest = (p + q) / 2.0 - np.hypot((p - q) / 2.0, r)
    lift = np.maximum(1e-6 * scale - smallest, 0.0) + damping * scale
    p, q = p + lift, q + lift
    step = np.column_stack([q * slope[:, 0] - r * slope[:, 1], p * slope[:, 1] - r * slope[:, 0]])
    step /= (p * q - r**2)[:, None]
    longest = np.abs(step).max(axis=1, keepdims=True)
    limited: Floats = step * np.minimum(1.0, _STEP / np.maximum(longest, 1e-300))
    return limited


def _tail(weights: Floats, m: Ints) -> _Tail:
    """Weights of the steps of a rising factorial whose lengths are m, shape (H,)."""
    longest = int(m.max(initial=0))
    if longest <= max(_DIRECT_STEPS, 4 * len(m)):
        steps = np.arange(longest)
        weight = weights @ (m[:, None] > steps).astype(np.float64)
        return _Tail(steps=steps.astype(np.float64), weight=weight, direct=True)
    return _Tail(steps=m.astype(np.float64), weight=weights, direct=False)


def _from_coordinates(at: Floats) -> tuple[Floats, Floats]:
    size = np.exp(at[:, 1])
    return size * _expit(at[:, 0]), size * _expit(-at[:, 0])


def _loglik(cells: Cells, a: float, b: float, mean: float) -> float:
    """Log-likelihood with binomial coefficients; binomial where a is not a positive number."""
    from scipy.special import betaln, gammaln, xlog1py, xlogy

    n, c = cells.n, cells.c
    f = n - c
    if 0.0 < a < np.inf:
        case = betaln(a + c, b + f) - betaln(a, b)
    elif a == 0.0:
        case = xlogy(c == n, mean) + xlog1py(c == 0, -mean)
    else:
        case = xlogy(c, mean) + xlog1py(f, -mean)
    ways = gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(f + 1.0)
    return float(cells.multiplicity @ (case + ways)) if len(n) else float("nan")


def _expit(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-x))


def _logit(p: Floats) -> Floats:
    return np.log(p) - np.log1p(-p)
