"""Evidence that may be looked at at any time: e-values and confidence sequences for pass or fail.

An e-process has mean at most 1 under its null hypothesis whenever one stops, so reaching 1/alpha
has probability at most alpha (Ville). `kernels.betting` is for scores that are not binary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

_BISECTIONS = 64
_FAINT = 1e-280  # a tail below this has lost digits: sum its series instead
_TERMS = 100_000


def log_e_two_sided(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """Log e-value against wins and losses being equally likely.

    Args:
        wins: Discordant pairs that the candidate won, >= 0.
        losses: Those it lost, >= 0, broadcast against `wins`.

    Returns:
        Natural logarithms in the broadcast shape.

    Notes:
        e = 2^m w! l! / (m + 1)!, m = w + l: the likelihood ratio of a uniform mixture over the
        probability q to win against q = 1/2. Not an e-process for q < 1/2, but the chance that
        it crosses with more wins than losses is smaller still there.

    Example:
        >>> round(float(np.exp(log_e_two_sided(8, 0))), 4)
        28.4444
    """
    from scipy.special import betaln

    won, lost = np.broadcast_arrays(_floats(wins), _floats(losses))
    value: Floats = betaln(won + 1.0, lost + 1.0) + (won + lost) * np.log(2.0)
    return value


def log_e_one_sided(wins: ArrayLike, losses: ArrayLike, null: float = 0.5) -> Floats:
    """Log e-value against a probability to win of at most `null`.

    Args:
        wins: Discordant pairs that the candidate won, >= 0.
        losses: Those it lost, >= 0, broadcast against `wins`.
        null: q0 in (0, 1); lambda / (1 + lambda) where a loss costs lambda wins.

    Returns:
        Natural logarithms in the broadcast shape.

    Notes:
        A uniform mixture over (q0, 1) against q0: e = B(w+1, l+1) (1 - I_q0(w+1, l+1)) /
        ((1 - q0) q0^w (1 - q0)^l), an e-process for every q <= q0.

    Example:
        >>> np.exp(log_e_one_sided([8, 6], [0, 1])).round(4).tolist()
        [56.7778, 4.4107]
    """
    from scipy.special import betainc, betaln

    won, lost = np.broadcast_arrays(_floats(wins), _floats(losses))
    tail = betainc(lost + 1.0, won + 1.0, 1.0 - null)
    seen = tail > _FAINT
    at_null = won * np.log(null) + (lost + 1.0) * np.log1p(-null)
    log_tail = np.log(np.where(seen, tail, 1.0))
    value = np.asarray(betaln(won + 1.0, lost + 1.0) + log_tail - at_null)
    if not seen.all():
        value[~seen] = _faint_log_e(won[~seen], lost[~seen], null)
    return value


def _faint_log_e(won: Floats, lost: Floats, null: float) -> Floats:
    """The same where wins are so rare that the tail underflows: e = q0/(l+1) 2F1(m+2, 1; l+2)."""
    total, term = np.ones_like(won), np.ones_like(won)
    for index in range(_TERMS):
        term = term * (won + lost + 2.0 + index) / (lost + 2.0 + index) * (1.0 - null)
        total = total + term
        if (term < total * 1e-17).all():
            break
    return np.asarray(np.log(null / (lost + 1.0) * total))


def log_fixed_bet(outcomes: ArrayLike, bet: float, null: float = 0.5) -> Floats:
    """Log wealth of a gambler who stakes the same share on every discordant pair.

    Args:
        outcomes: 1 where the candidate won, 0 where it lost, in order, shape (m,).
        bet: Share, in [0, 1 / (2 null)].
        null: q0: the wealth is an e-process for every probability to win <= q0.

    Returns:
        Log wealth after each pair, shape (m,); -inf from a total loss on.

    Notes:
        Wealth is multiplied by 1 + 2 bet (x - q0), for q0 = 1/2 by 1 + bet (2x - 1).

    Example:
        >>> np.exp(log_fixed_bet([1, 1, 0], 0.5)).tolist()
        [1.5, 2.25, 1.125]
    """
    factor = 1.0 + 2.0 * bet * (_floats(outcomes) - null)
    with np.errstate(divide="ignore"):
        return np.asarray(np.cumsum(np.log(np.maximum(factor, 0.0))))


def anytime_pvalue(log_e: ArrayLike) -> Floats:
    """P-values that stay valid whenever one stops: min(1, 1 / largest e so far).

    Args:
        log_e: Log e-values in order, shape (m,).

    Example:
        >>> anytime_pvalue(np.log([0.5, 4.0, 2.0])).round(6).tolist()
        [1.0, 0.25, 0.25]
    """
    best = np.maximum.accumulate(np.maximum(_floats(log_e), 0.0))
    return np.asarray(np.exp(-best))


def bernoulli_sequence(
    passes: ArrayLike,
    trials: ArrayLike,
    level: float = 0.95,
    prior: tuple[float, float] = (1.0, 1.0),
) -> Interval:
    """Confidence sequence of a pass rate: an interval that holds at all times at once.

    Use it for one case whose number of trials depends on what they showed. Where the number was
    fixed in advance `wilson` is a third narrower.

    Args:
        passes: Passed trials so far, 0 <= passes <= trials.
        trials: Trials so far; 0 gives [0, 1].
        level: Probability to hold at every time, in (0, 1).
        prior: Parameters of the Beta mixture, > 0.

    Returns:
        Bounds in [0, 1], in the broadcast shape.

    Notes:
        {p : B(a + c, b + n - c) / B(a, b) / (p^c (1-p)^(n-c)) < 1 / (1 - level)}.

    References:
        Robbins (1970), Ann. Math. Stat. 41:1397; Ville (1939).

    Example:
        >>> got = bernoulli_sequence(9, 10)
        >>> round(float(got.low), 6), round(float(got.high), 6)
        (0.454882, 0.999544)
    """
    c, n = np.broadcast_arrays(_floats(passes), _floats(trials))
    # the upper bound is the lower bound of failures: exactly symmetric
    low = _bernoulli_low(c, n, level, prior)
    return Interval(low=low, high=1.0 - _bernoulli_low(n - c, n, level, (prior[1], prior[0])))


def _bernoulli_low(c: Floats, n: Floats, level: float, prior: tuple[float, float]) -> Floats:
    """Bisect between 0, where the mixture wins for sure, and the rate, where it cannot."""
    from scipy.special import betaln, xlog1py, xlogy

    a, b = prior
    mixture = betaln(a + c, b + n - c) - betaln(a, b) + np.log1p(-level)

    def held(p: Floats) -> NDArray[np.bool_]:
        return np.asarray(mixture - xlogy(c, p) - xlog1py(n - c, -p) < 0.0)

    outside = np.zeros_like(mixture)
    inside = np.divide(c, n, out=np.zeros_like(mixture), where=n > 0)
    low: Floats = np.where(c > 0, _bisected(held, outside, inside), 0.0)
    return low


def suite_sequence(
    passes: ArrayLike, trials: ArrayLike, weight: ArrayLike, level: float = 0.95
) -> Interval:
    """Confidence sequence of the mean pass rate of these very cases, trials added at will.

    Any rule may say which case is tried next. The price is width: it does not shrink with the
    number of cases. With trial counts fixed in advance use an ordinary interval.

    Args:
        passes: Passes of each case, shape (M,).
        trials: Trials of each case, shape (M,); 0 allows every rate.
        weight: Case weights, shape (M,), >= 0, not all 0.
        level: Probability to hold at every time, in (0, 1).

    Returns:
        Bounds of the weighted mean, scalars in [0, 1].

    Notes:
        The product over cases of Beta(1, 1) mixture likelihood ratios is an e-process for the
        vector of rates, whatever the order of trials. The bounds are the extreme means over all
        vectors whose product is below 1 / (1 - level): with f_i the log ratio of case i, rates
        with f_i'(p_i) = w_i g, g found by bisection. For M = 1 it is `bernoulli_sequence`.

    Example:
        >>> got = suite_sequence([9, 0, 20], [10, 5, 20], [1, 1, 1])
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.4085, 0.9322)
    """
    c, n, w = np.broadcast_arrays(_floats(passes), _floats(trials), _floats(weight))
    used = w > 0
    c, n, w = c[used], n[used], w[used] / w[used].sum()
    return Interval(
        low=np.asarray(1.0 - _suite_high(n - c, n, w, level)),
        high=np.asarray(_suite_high(c, n, w, level)),
    )


def _suite_high(c: Floats, n: Floats, w: Floats, level: float) -> float:
    """Largest weighted mean within the budget of log(1 / alpha)."""
    from scipy.special import betaln, xlog1py, xlogy

    mixture = betaln(c + 1.0, n - c + 1.0)
    budget = -np.log1p(-level)

    def rates(log_slope: float) -> Floats:
        """The root in [0, 1] of g p^2 + (n - g) p - c = 0."""
        slope = np.exp(log_slope) * w / w.max()
        linear = n - slope
        root = np.sqrt(linear**2 + 4.0 * slope * c)
        # each form of the root where it subtracts nothing
        large = (root - linear) / (2.0 * slope)
        small = np.divide(2.0 * c, root + linear, out=np.zeros_like(c), where=root + linear > 0)
        return np.asarray(np.clip(np.where(linear > 0, small, large), 0.0, 1.0))

    def spent(p: Floats) -> float:
        return float((mixture - xlogy(c, p) - xlog1py(n - c, -p)).sum())

    low, high = -60.0, 60.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if spent(rates(middle)) < budget else (low, middle)
    return min(float(w @ rates(high)), 1.0)


def trials_to_decide(passes: ArrayLike, trials: ArrayLike, level: float, most: int) -> Floats:
    """Further trials until the confidence sequence of a rate excludes 1/2, if it goes on as now.

    Args:
        passes: Passes so far, shape (M,).
        trials: Trials so far, shape (M,).
        level: Of the confidence sequence, in (0, 1).
        most: Largest number to look at, >= 1.

    Returns:
        Numbers of trials, shape (M,): 0 where it is decided, inf where `most` does not do.

    Notes:
        The rate goes on as (c + 1) / (n + 2).

    Example:
        >>> trials_to_decide([9, 5, 10], [10, 10, 10], 0.95, 100).tolist()
        [4.0, inf, 0.0]
    """
    c, n = np.broadcast_arrays(_floats(passes), _floats(trials))
    rate, needed = (c + 1.0) / (n + 2.0), -np.log1p(-level)

    def decided(more: Floats) -> NDArray[np.bool_]:
        losses = n - c + more * (1.0 - rate)
        return np.asarray(log_e_two_sided(c + more * rate, losses) >= needed)

    return smallest(decided, len(c), most)


def smallest(enough: Callable[[Floats], NDArray[np.bool_]], size: int, most: int) -> Floats:
    """Smallest whole number per row, from 0 to `most`, with which there is enough; else inf.

    Args:
        enough: Numbers, shape (size,), to whether they do; true from some number on.
        size: Rows.
        most: Largest number to look at, >= 1.

    Example:
        >>> smallest(lambda x: x * [1.0, 2.0, 0.0] >= 5.0, 3, 10).tolist()
        [5.0, 3.0, inf]
    """
    low, high = np.full(size, -1.0), np.full(size, float(most))
    for _ in range(int(most + 1).bit_length()):
        middle = np.floor((low + high) / 2.0)
        done = enough(np.maximum(middle, 0.0)) & (middle >= 0)
        open_ = high - low > 1
        low, high = np.where(open_ & ~done, middle, low), np.where(open_ & done, middle, high)
    return np.asarray(np.where(enough(high), high, np.inf))


def _bisected(
    held: Callable[[Floats], NDArray[np.bool_]], outside: Floats, inside: Floats
) -> Floats:
    """Where `held` begins between a point outside and one inside; the outer end of the bracket."""
    for _ in range(_BISECTIONS):
        middle = (outside + inside) / 2.0
        holds = held(middle)
        outside, inside = np.where(holds, outside, middle), np.where(holds, middle, inside)
    return outside


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
