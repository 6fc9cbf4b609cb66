"""Pass rates corrected for a judge's errors, and judges whose errors differ between runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.intervals import Interval, wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]

_TIE = 1e-12  # sensitivity + specificity this close to 1 are 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoganGladen:
    """Corrected rates; all attributes have the broadcast shape of the arguments.

    Attributes:
        theta: Corrected rates, not clipped; NaN where refused.
        clipped: The same, clipped into [0, 1].
        low: Lower bounds, clipped; NaN where refused or where both ends lie outside on one side.
        high: Upper bounds.
        low_raw: Lower bounds, not clipped.
        high_raw: Upper bounds, not clipped.
        smoothed: Corrected rates of the smoothed counts, the centre of the interval but for
            `shift`.
        shift: What the interval is moved by.
        se: Standard errors of the interval.
        se_delta: Standard errors by the delta method, without smoothing.
        refused: Where sensitivity + specificity <= 1, before or after smoothing: the judge does not
            tell passes from fails.
        outside: Where both unclipped ends lie outside [0, 1] on the same side: the error rates do
            not fit the run.
    """

    theta: Floats
    clipped: Floats
    low: Floats
    high: Floats
    low_raw: Floats
    high_raw: Floats
    smoothed: Floats
    shift: Floats
    se: Floats
    se_delta: Floats
    refused: Bools
    outside: Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialBias:
    """What a judge's different errors in two runs do to their difference.

    Attributes:
        naive_a: Judge's pass rate in run A.
        naive_b: Judge's pass rate in run B.
        naive_delta: Their difference, B minus A.
        bias: `naive_delta` minus the true difference.
        shared_delta: The difference corrected with the mean error rates of both runs.
        true_delta: The true difference.
    """

    naive_a: Floats
    naive_b: Floats
    naive_delta: Floats
    bias: Floats
    shared_delta: Floats
    true_delta: Floats


def rogan_gladen(
    p: ArrayLike,
    n: ArrayLike,
    specificity: ArrayLike,
    m0: ArrayLike,
    sensitivity: ArrayLike,
    m1: ArrayLike,
    level: float = 0.95,
    variance: ArrayLike | None = None,
) -> RoganGladen:
    """Pass rate behind a judge's pass rate, given how often the judge errs on passes and fails.

    Holds when the judge errs in the run as it did on the labelled cases; a different share of
    passes is no problem, another kind of case or system is.

    Args:
        p: Judge's pass rate in the run, in [0, 1].
        n: Judged cases, > 0.
        specificity: q0, judge's fail rate on labelled fails; NaN refuses.
        m0: Labelled fails, >= 0.
        sensitivity: q1, judge's pass rate on labelled passes; NaN refuses.
        m1: Labelled passes, >= 0.
        level: Nominal coverage in (0, 1).
        variance: Variance of `p` where several trials of a case or clusters make it another than
            p (1 - p)/n; NaN or 0 stands for the binomial one.

    Returns:
        Corrected rates with the adjusted interval.

    Notes:
        theta = (p + q0 - 1)/J, J = q0 + q1 - 1 > 0. The interval smooths p by z^2/2 passes and
        fails and each q by one of either, and is theta~ + shift -+ z se with
        shift = 2 z^2 [theta~ v1 - (1 - theta~) v0], v_j = q~_j (1 - q~_j)/m~_j and
        se = sqrt(Var(p~) + (1 - theta~)^2 v0 + theta~^2 v1)/J~.

    References:
        Rogan and Gladen (1978), Am. J. Epidemiol. 107:71; Lee et al. (2025), arXiv:2511.21140.

    Example:
        >>> got = rogan_gladen(0.4, 1000, 0.7, 200, 0.9, 200)
        >>> round(float(got.theta), 6), round(float(got.low), 6), round(float(got.high), 6)
        (0.166667, 0.056351, 0.262733)
    """
    given = (p, n, specificity, m0, sensitivity, m1, np.nan if variance is None else variance)
    rate, size, q0, fails, q1, passes, known = np.broadcast_arrays(*map(_floats, given))
    z = _normal_quantile(level)
    youden = q0 + q1 - 1.0
    theta, wald = _corrected(rate, youden, q0, q1, (_binomial(rate, size, known), fails, passes))
    soft_size = size + z**2
    soft_rate = (size * rate + z**2 / 2.0) / soft_size
    soft0, soft1 = (fails * q0 + 1.0) / (fails + 2.0), (passes * q1 + 1.0) / (passes + 2.0)
    soft_youden = soft0 + soft1 - 1.0
    spread = _binomial(soft_rate, soft_size, known)
    soft, se = _corrected(soft_rate, soft_youden, soft0, soft1, (spread, fails + 2.0, passes + 2.0))
    v0, v1 = soft0 * (1.0 - soft0) / (fails + 2.0), soft1 * (1.0 - soft1) / (passes + 2.0)
    shift = 2.0 * z**2 * (soft * v1 - (1.0 - soft) * v0)
    usable = (youden > _TIE) & (soft_youden > _TIE)
    low, high = (np.where(usable, soft + shift + side * z * se, np.nan) for side in (-1.0, 1.0))
    outside = (high < 0) | (low > 1)
    return RoganGladen(
        theta=np.where(usable, theta, np.nan),
        clipped=np.where(usable, np.clip(theta, 0.0, 1.0), np.nan),
        low=np.where(outside, np.nan, np.clip(low, 0.0, 1.0)),
        high=np.where(outside, np.nan, np.clip(high, 0.0, 1.0)),
        low_raw=low,
        high_raw=high,
        smoothed=np.where(usable, soft, np.nan),
        shift=np.where(usable, shift, np.nan),
        se=np.where(usable, se, np.nan),
        se_delta=np.where(usable, wald, np.nan),
        refused=~usable,
        outside=outside,
    )


def shared_difference(
    diff: ArrayLike,
    variance: ArrayLike,
    specificity: ArrayLike,
    m0: ArrayLike,
    sensitivity: ArrayLike,
    m1: ArrayLike,
) -> tuple[Floats, Floats]:
    """Difference of two runs that are corrected with the same calibration, and its se.

    The specificity cancels from the estimate; both error rates stay in J, once for both runs, so
    that the two corrected rates are far from independent.

    Args:
        diff: Judge's pass rate in B minus in A.
        variance: Variance of `diff`, >= 0.
        specificity: q0.
        m0: Labelled fails.
        sensitivity: q1, q0 + q1 > 1.
        m1: Labelled passes.

    Returns:
        (difference, standard error); NaN where q0 + q1 <= 1.

    Notes:
        delta = diff/J; Var = [Var(diff) + delta^2 (v0 + v1)]/J^2, v_j = q~_j (1 - q~_j)/m~_j with
        one smoothing pass and fail in each.

    Example:
        >>> delta, se = shared_difference(0.06, 0.0004, 0.7, 200, 0.9, 200)
        >>> round(float(delta), 6), round(float(se), 6)
        (0.1, 0.033954)
    """
    given = (diff, variance, specificity, m0, sensitivity, m1)
    gap, spread, q0, fails, q1, passes = np.broadcast_arrays(*map(_floats, given))
    youden = _positive(q0 + q1 - 1.0)
    delta = gap / youden
    errors = _smoothed_variance(q0, fails) + _smoothed_variance(q1, passes)
    return delta, np.sqrt(spread + delta**2 * errors) / youden


def calibration_variance(
    theta: ArrayLike,
    specificity: ArrayLike,
    m0: ArrayLike,
    sensitivity: ArrayLike,
    m1: ArrayLike,
) -> Floats:
    """Variance that the labels' size adds to one corrected rate.

    Args:
        theta: Corrected rate, clipped inside.
        specificity: q0.
        m0: Labelled fails.
        sensitivity: q1, q0 + q1 > 1.
        m1: Labelled passes.

    Returns:
        [(1 - theta)^2 v0 + theta^2 v1]/J^2; NaN where q0 + q1 <= 1.
    """
    rate, q0, fails, q1, passes = map(_floats, (theta, specificity, m0, sensitivity, m1))
    youden = _positive(q0 + q1 - 1.0)
    part = np.clip(rate, 0.0, 1.0)
    v0, v1 = _smoothed_variance(q0, fails), _smoothed_variance(q1, passes)
    return np.asarray(((1.0 - part) ** 2 * v0 + part**2 * v1) / youden**2, dtype=np.float64)


def differential_bias(
    theta_a: ArrayLike,
    theta_b: ArrayLike,
    specificity_a: ArrayLike,
    sensitivity_a: ArrayLike,
    specificity_b: ArrayLike,
    sensitivity_b: ArrayLike,
) -> DifferentialBias:
    """Bias of a judged difference when the judge errs differently in the two runs.

    Args:
        theta_a: True pass rate of A.
        theta_b: True pass rate of B.
        specificity_a: q0 in run A.
        sensitivity_a: q1 in run A.
        specificity_b: q0 in run B.
        sensitivity_b: q1 in run B.

    Returns:
        Judged rates, the bias of their difference, and what one shared correction would say.

    Notes:
        p_r = (q0_r + q1_r - 1) theta_r + 1 - q0_r.

    Example:
        >>> got = differential_bias(0.6, 0.6, 0.8, 0.9, 0.6, 0.9)
        >>> round(float(got.bias), 6), round(float(got.shared_delta), 6)
        (0.08, 0.133333)
    """
    given = (theta_a, theta_b, specificity_a, sensitivity_a, specificity_b, sensitivity_b)
    a, b, q0_a, q1_a, q0_b, q1_b = np.broadcast_arrays(*map(_floats, given))
    judged_a, judged_b = (
        (q0 + q1 - 1.0) * rate + 1.0 - q0
        for q0, q1, rate in (
            (q0_a, q1_a, a),
            (q0_b, q1_b, b),
        )
    )
    delta = judged_b - judged_a
    youden = (q0_a + q0_b) / 2.0 + (q1_a + q1_b) / 2.0 - 1.0
    return DifferentialBias(
        naive_a=judged_a,
        naive_b=judged_b,
        naive_delta=delta,
        bias=delta - (b - a),
        shared_delta=delta / _positive(youden),
        true_delta=b - a,
    )


def newcombe(
    c_a: ArrayLike, n_a: ArrayLike, c_b: ArrayLike, n_b: ArrayLike, level: float = 0.95
) -> Interval:
    """Newcombe's interval of a difference of independent proportions, B minus A.

    Args:
        c_a: Hits of A.
        n_a: Size of A; 0 gives NaN.
        c_b: Hits of B.
        n_b: Size of B; 0 gives NaN.
        level: Nominal coverage in (0, 1).

    Returns:
        Bounds in [-1, 1].

    Notes:
        Method 10: d - sqrt((p_b - l_b)^2 + (u_a - p_a)^2) and its mirror, with Wilson's l and u.

    References:
        Newcombe (1998), Stat. Med. 17:873.

    Example:
        >>> got = newcombe(48, 80, 56, 70)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.0524, 0.3339)
    """
    rates = (_floats(c_a) / _positive(n_a), _floats(c_b) / _positive(n_b))
    return of_two(rates[0], wilson(c_a, n_a, level), rates[1], wilson(c_b, n_b, level))


def of_two(rate_a: ArrayLike, a: Interval, rate_b: ArrayLike, b: Interval) -> Interval:
    """Interval of a difference of independent rates, B minus A, from the interval of each.

    It keeps a width where neither rate has any spread. Rates that vary together make it too wide.

    Args:
        rate_a: Rate of A.
        a: Its interval.
        rate_b: Rate of B.
        b: Its interval.

    Returns:
        Bounds d - sqrt((p_b - l_b)^2 + (u_a - p_a)^2) and its mirror.

    References:
        Zou and Donner (2008), Stat. Med. 27:1693.
    """
    p_a, p_b = _floats(rate_a), _floats(rate_b)
    return Interval(
        low=p_b - p_a - np.hypot(p_b - b.low, a.high - p_a),
        high=p_b - p_a + np.hypot(b.high - p_b, p_a - a.low),
    )


def effective_size(rate: ArrayLike, se: ArrayLike, rows: ArrayLike, units: ArrayLike) -> Floats:
    """Independent rows that would give a rate the same standard error.

    Args:
        rate: Rate in [0, 1].
        se: Standard error over cases or clusters.
        rows: Rows behind it: never more than these.
        units: Independent units, taken where the rate has no spread.

    Returns:
        min(rows, rate (1 - rate)/se^2); NaN with fewer than two units.
    """
    share, error, most, least = np.broadcast_arrays(*map(_floats, (rate, se, rows, units)))
    spread, square = share * (1.0 - share), error**2
    size = np.divide(spread, square, out=np.array(least), where=(square > 0) & (spread > 0))
    return np.where(np.isnan(error), np.nan, np.minimum(size, most))


def _corrected(
    rate: Floats, youden: Floats, q0: Floats, q1: Floats, spread: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats]:
    """Rate behind the judged one and its delta-method se; `spread` is Var(rate), m0, m1."""
    variance, fails, passes = spread
    scale = _positive(youden)
    theta = (rate + q0 - 1.0) / scale
    v0, v1 = q0 * (1.0 - q0) / _positive(fails), q1 * (1.0 - q1) / _positive(passes)
    return theta, np.sqrt(variance + (1.0 - theta) ** 2 * v0 + theta**2 * v1) / scale


def _binomial(rate: Floats, size: Floats, known: Floats) -> Floats:
    return np.where(known > 0, known, rate * (1.0 - rate) / _positive(size))


def _smoothed_variance(rate: Floats, size: Floats) -> Floats:
    soft = (size * rate + 1.0) / (size + 2.0)
    return soft * (1.0 - soft) / (size + 2.0)


def _positive(values: ArrayLike) -> Floats:
    """The values, NaN where they are 0 or less."""
    numbers = _floats(values)
    return np.where(numbers > 0, numbers, np.nan)


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1.0 + level) / 2.0))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
