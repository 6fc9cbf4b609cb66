"""Interval formulas, vectorised: from estimates and standard errors to bounds.

Every function broadcasts its arguments and returns an `Interval`. NaN marks what is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

_BISECTIONS = 60  # halves a bracket of width 100 to below 1e-16


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Lower and upper bounds.

    Attributes:
        low: Lower bounds, in the broadcast shape of the arguments.
        high: Upper bounds, same shape.
    """

    low: Floats
    high: Floats


def wilson(passes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson score interval of a binomial proportion.

    Use it for the trials of one case. Do not use it for trials pooled over cases: trials of a
    case are not independent, and the interval covers 60 to 90 % at a nominal 95 %; `score_t`
    is made for that.

    Args:
        passes: Passed trials, 0 <= passes <= trials.
        trials: Independent trials; 0 gives NaN.
        level: Confidence level in (0, 1).

    Returns:
        Bounds in [0, 1], in the broadcast shape.

    Notes:
        The roots p of (c/n - p)^2 = z^2 p(1-p)/n.

    References:
        Wilson (1927), J. Am. Stat. Assoc. 22:209.

    Example:
        >>> bounds = wilson(8, 10)
        >>> round(float(bounds.low), 6), round(float(bounds.high), 6)
        (0.490162, 0.943318)
    """
    c, n = np.broadcast_arrays(_floats(passes), _floats(trials))
    rate = np.divide(c, n, out=np.full(n.shape, np.nan), where=n > 0)
    return _score_roots(rate, n, _t_quantile(np.inf, level))


def clopper_pearson(passes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Interval:
    """Clopper-Pearson ("exact") interval of a binomial proportion.

    Never covers less than the level, and often more; `wilson` is closer to it. The same warning
    holds: one case, never trials pooled over cases.

    Args:
        passes: Passed trials, 0 <= passes <= trials.
        trials: Independent trials; 0 gives NaN.
        level: Confidence level in (0, 1).

    Returns:
        Bounds in [0, 1], in the broadcast shape.

    Notes:
        Beta quantiles: low = Beta(c, n-c+1) at (1-level)/2, high = Beta(c+1, n-c) at its mirror.

    References:
        Clopper and Pearson (1934), Biometrika 26:404.

    Example:
        >>> bounds = clopper_pearson(9, 10)
        >>> round(float(bounds.low), 6), round(float(bounds.high), 6)
        (0.554984, 0.997471)
    """
    from scipy.special import betaincinv

    c, n = np.broadcast_arrays(_floats(passes), _floats(trials))
    tail = (1.0 - level) / 2.0
    known = n > 0
    # scipy refuses a Beta parameter of 0, where the bound is the end of the range
    low = np.where(c > 0, betaincinv(np.where(c > 0, c, 1.0), n - c + 1.0, tail), 0.0)
    high = np.where(c < n, betaincinv(c + 1.0, np.where(c < n, n - c, 1.0), 1.0 - tail), 1.0)
    return Interval(low=np.where(known, low, np.nan), high=np.where(known, high, np.nan))


def t_interval(
    mean: ArrayLike,
    se: ArrayLike,
    df: ArrayLike,
    level: float = 0.95,
    *,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Student t interval: mean -+ t_df * SE.

    For a rate near 0 or 1 `score_t` is better: this one leaves [0, 1], and has zero width when
    every case agrees.

    Args:
        mean: Estimates.
        se: Standard errors, >= 0.
        df: Degrees of freedom, > 0, fractions allowed, inf for the normal interval.
        level: Confidence level in (0, 1).
        bounds: Clip the interval into this range; None leaves it as it is.

    Returns:
        Bounds in the broadcast shape; NaN where an argument is NaN.

    Notes:
        With the CR2 standard error and its Satterthwaite degrees of freedom (`clustered_mean`)
        this is the interval of Bell and McCaffrey.

    References:
        Bell and McCaffrey (2002), Survey Methodology 28:169.

    Example:
        >>> got = t_interval(0.5, 0.1, 9)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.2738, 0.7262)
    """
    centre, half = _floats(mean), _t_quantile(df, level) * _floats(se)
    low, high = centre - half, centre + half
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Interval(low=low, high=high)


def z_interval(
    mean: ArrayLike,
    se: ArrayLike,
    level: float = 0.95,
    *,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Normal interval: mean -+ z * SE.

    For standard errors that are known or come from very many trials, such as trial noise over a
    fixed suite. With few cases use `t_interval`.

    Args:
        mean: Estimates.
        se: Standard errors, >= 0.
        level: Confidence level in (0, 1).
        bounds: Clip the interval into this range; None leaves it as it is.

    Returns:
        Bounds in the broadcast shape; NaN where an argument is NaN.

    Example:
        >>> got = z_interval(0.5, 0.1)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.304, 0.696)
    """
    return t_interval(mean, se, np.inf, level, bounds=bounds)


def score_t(
    mean: ArrayLike,
    se: ArrayLike,
    df: ArrayLike,
    trials: ArrayLike,
    units: ArrayLike,
    level: float = 0.95,
) -> Interval:
    """Score interval of a rate whose standard error counts cases or clusters, not trials.

    The default interval of a mean pass rate. It stays inside [0, 1] and keeps its width when all
    cases agree. It serves any mean of values in [0, 1]: near the ceiling it covers pass@k better
    than `t_interval` does. Not for differences, which are no proportions.

    Args:
        mean: Rates in [0, 1].
        se: Standard errors of the rates over independent units (cases, clusters), >= 0.
        df: Degrees of freedom of the standard error; NaN gives NaN.
        trials: Scored trials behind the rate: the effective sample is never larger.
        units: Independent units: the effective sample when SE is 0.
        level: Confidence level in (0, 1).

    Returns:
        Bounds in [0, 1], in the broadcast shape.

    Notes:
        The roots p of (m - p)^2 = t_df^2 p(1-p)/n_eff with n_eff = min(m(1-m)/SE^2, trials):
        Wilson's interval with the effective sample size and the t quantile.

    References:
        Wilson (1927), J. Am. Stat. Assoc. 22:209; Korn and Graubard (1998), Survey
        Methodology 24:193, for the effective sample size.

    Example:
        >>> got = score_t(2 / 3, 0.149071198, 9, trials=30, units=10)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.3302, 0.8903)
    """
    shaped = np.broadcast_arrays(*map(_floats, (mean, se, df, trials, units)))
    rate, error, freedom, cap, count = shaped
    rate = np.clip(rate, 0.0, 1.0)  # a mean of ones may come out one bit above 1
    spread = rate * (1.0 - rate)
    square = error**2
    with np.errstate(over="ignore"):  # beyond all floats is beyond the cap as well
        sample = np.divide(spread, square, out=np.array(count), where=(square > 0) & (spread > 0))
    sample = np.where(np.isnan(error), np.nan, np.minimum(sample, cap))
    return _score_roots(rate, sample, _t_quantile(freedom, level))


def square_and_add(
    a: tuple[float, Interval], b: tuple[float, Interval], correlation: float
) -> Interval:
    """Interval of a difference of two estimates from their own intervals and their correlation.

    It keeps what the single intervals know: near the ends of [0, 1] it is wide where a t interval
    of the difference is too narrow.

    Args:
        a: Estimate and interval of what is subtracted.
        b: Estimate and interval of what it is subtracted from.
        correlation: Of the two estimates, in [-1, 1].

    Notes:
        L = d - sqrt(x^2 + y^2 - 2 r x y) with x = b - low_b and y = high_a - a; the upper end
        alike. With Wilson's intervals and r = 0 it is Newcombe's method 10.

    References:
        Zou and Donner (2008), Stat. Med. 27:1693; Newcombe (1998), Stat. Med. 17:2635.

    Example:
        >>> one, two = wilson(56, 70), wilson(48, 80)
        >>> got = square_and_add((0.8, one), (0.6, two), 0.0)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (-0.3339, -0.0524)
    """
    (first, of_a), (second, of_b) = a, b

    def reach(x: Floats, y: Floats) -> Floats:
        return np.sqrt(np.maximum(x**2 + y**2 - 2.0 * correlation * x * y, 0.0))

    diff = second - first
    return Interval(
        low=diff - reach(second - of_b.low, of_a.high - first),
        high=diff + reach(of_b.high - second, first - of_a.low),
    )


def imbens_manski(
    low: ArrayLike,
    high: ArrayLike,
    se_low: ArrayLike,
    se_high: ArrayLike,
    df: ArrayLike,
    level: float = 0.95,
) -> Interval:
    """Confidence interval of a quantity that is only known to lie between two estimates.

    For a rate with unscored trials: `low` counts them all as failed, `high` all as passed. The
    interval covers the true value (not the whole range) with the given probability, wherever in
    the range it lies. Bounds are not clipped.

    Args:
        low: Estimates of the lower end of the range.
        high: Estimates of the upper end, >= low.
        se_low: Standard errors of `low`, >= 0.
        se_high: Standard errors of `high`, >= 0.
        df: Degrees of freedom, inf for the normal quantile.
        level: Confidence level in (0, 1).

    Returns:
        Bounds [low - C se_low, high + C se_high] in the broadcast shape.

    Notes:
        C solves T_df(C + (high - low)/max(se_low, se_high)) - T_df(-C) = level: the two-sided t
        quantile when low == high, the one-sided when the range is wide.

    References:
        Imbens and Manski (2004), Econometrica 72:1845.

    Example:
        >>> got = imbens_manski(0.5, 0.5, 0.1, 0.1, 9)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.2738, 0.7262)
    """
    shaped = np.broadcast_arrays(*map(_floats, (low, high, se_low, se_high, df)))
    below, above, error_below, error_above, freedom = shaped
    gap, error = np.maximum(above - below, 0.0), np.maximum(error_below, error_above)
    wide = np.where(gap > 0, np.inf, gap)
    critical = _critical(np.divide(gap, error, out=wide, where=error > 0), freedom, level)
    critical = np.where(np.isnan(error), np.nan, critical)
    return Interval(low=below - critical * error_below, high=above + critical * error_above)


def _critical(gap: Floats, df: Floats, level: float) -> Floats:
    """Solve T(C + gap) - T(-C) = level by bisection between its one- and two-sided limits."""
    from scipy.special import stdtr, stdtrit

    lower, upper = np.asarray(stdtrit(df, level)), _t_quantile(df, level)
    for _ in range(_BISECTIONS):
        middle = (lower + upper) / 2.0
        short = stdtr(df, middle + gap) - stdtr(df, -middle) < level
        lower, upper = np.where(short, middle, lower), np.where(short, upper, middle)
    # at the ends of the bracket the solution is a quantile: return it to the last bit
    exact = np.where(gap == 0, _t_quantile(df, level), (lower + upper) / 2.0)
    return np.where(np.isnan(gap), np.nan, exact)


def _score_roots(rate: Floats, n: Floats, quantile: Floats) -> Interval:
    """Roots p of (rate - p)^2 = quantile^2 p(1-p)/n, clamped into [0, 1]."""
    square = quantile**2
    centre = (n * rate + square / 2.0) / (n + square)
    half = quantile * np.sqrt(n * rate * (1.0 - rate) + square / 4.0) / (n + square)
    # rounding must not keep an all-pass interval from reaching 1, nor leave it above
    low = np.where(rate == 0.0, 0.0 * half, np.clip(centre - half, 0.0, 1.0))
    high = np.where(rate == 1.0, 1.0 + 0.0 * half, np.clip(centre + half, 0.0, 1.0))
    return Interval(low=low, high=high)


def _t_quantile(df: ArrayLike, level: float) -> Floats:
    """Two-sided critical value of Student's t; the normal one at df = inf."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, (1.0 + level) / 2.0), dtype=np.float64)


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
