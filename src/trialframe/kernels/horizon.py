"""Success against the time that a task takes people: logistic fits, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_ROUNDS = 200
_HALVINGS = 12
_DONE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """B logistic fits.

    Attributes:
        intercept: At x = 0, shape (B,); -inf when nothing passed, +inf when nothing failed.
        slope: Per unit of x, shape (B,); 0 in those two cases.
        one_class: Whether only failures or only passes were there, shape (B,).
        converged: Whether the fit settled, shape (B,).
    """

    intercept: Floats
    slope: Floats
    one_class: NDArray[np.bool_]
    converged: NDArray[np.bool_]


def logistic(x: Floats, passes: Floats, total: Floats, ridge: float) -> Fits:
    """Fit P(pass) = 1 / (1 + exp(-(intercept + slope x))) to weighted shares of passes.

    Args:
        x: log2 minutes of each case, shape (M,).
        passes: Weight of the passes of each case, shape (B, M), 0 <= passes <= total.
        total: Weight of each case, shape (B, M).
        ridge: Penalty: ridge / 2 times slope squared, beside weights that sum to 1.

    Notes:
        Newton's method with step halving. Without a penalty, cases that a length separates
        perfectly would have an infinite slope.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0, 3.0])
        >>> got = logistic(x, np.array([[1.0, 0.75, 0.25, 0.0]]), np.ones((1, 4)), 1e-5)
        >>> round(float(-got.intercept[0] / got.slope[0]), 3)
        1.5
    """
    whole = total.sum(axis=1, keepdims=True)
    weight, share = total / whole, passes / whole
    rate = share.sum(axis=1)
    none, every = rate <= _DONE, rate >= 1.0 - _DONE
    centre = float(x.mean())
    z = x - centre
    inside = np.clip(rate, 1e-6, 1.0 - 1e-6)
    beta = np.column_stack([np.log(inside / (1.0 - inside)), np.zeros(len(rate))])
    live = ~(none | every)
    converged = ~live
    for _ in range(_ROUNDS):
        places = np.flatnonzero(~converged)
        if not len(places):
            break
        stepped, done = _newton(beta[places], z, share[places], weight[places], ridge)
        beta[places] = stepped
        converged[places[done]] = True
    slope = np.where(live, beta[:, 1], 0.0)
    intercept = np.where(live, beta[:, 0] - slope * centre, np.where(none, -np.inf, np.inf))
    return Fits(intercept=intercept, slope=slope, one_class=~live, converged=converged)


def _newton(
    beta: Floats, z: Floats, share: Floats, weight: Floats, ridge: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """One damped step of every fit, and which of them have arrived."""
    from scipy.special import expit

    p = expit(beta[:, :1] + beta[:, 1:] * z)
    gap = share - weight * p
    gradient = np.column_stack([gap.sum(axis=1), gap @ z - ridge * beta[:, 1]])
    bend = weight * p * (1.0 - p)
    a, b = bend.sum(axis=1), bend @ z
    c = bend @ z**2 + ridge
    determinant = np.maximum(a * c - b * b, 1e-300)
    step = np.column_stack(
        [
            (c * gradient[:, 0] - b * gradient[:, 1]) / determinant,
            (a * gradient[:, 1] - b * gradient[:, 0]) / determinant,
        ]
    )
    size = np.abs(step).max(axis=1)
    step *= np.minimum(1.0, 10.0 / np.maximum(size, 1e-300))[:, None]
    before = _loss(beta, z, share, weight, ridge)
    length = np.ones(len(beta))
    for _ in range(_HALVINGS):
        worse = _loss(beta + length[:, None] * step, z, share, weight, ridge) > before + 1e-14
        if not worse.any():
            break
        length[worse] /= 2.0
    return beta + length[:, None] * step, size < _DONE * (1.0 + np.abs(beta).max(axis=1))


def _loss(beta: Floats, z: Floats, share: Floats, weight: Floats, ridge: float) -> Floats:
    eta = beta[:, :1] + beta[:, 1:] * z
    made: Floats = (weight * np.logaddexp(0.0, eta) - share * eta).sum(axis=1)
    return made + ridge / 2.0 * beta[:, 1] ** 2


def horizons(fits: Fits, target: float, rate: Floats) -> Floats:
    """log2 of the length at which the chance to pass is `target`, shape (B,).

    -inf when nothing passed, +inf when nothing failed. Where longer tasks pass more often there
    is no such length: +inf when the overall rate reaches the target, else -inf.

    Args:
        fits: B fits.
        target: In (0, 1).
        rate: Overall pass rate of each fit, shape (B,).
    """
    wanted = np.log(target / (1.0 - target))
    falling = fits.slope < 0
    out = np.where(rate >= target, np.inf, -np.inf)
    np.divide(wanted - fits.intercept, fits.slope, out=out, where=falling)
    return out


def one_sided(
    minutes: Floats, family: Ints, target: float, level: float, *, passed: bool
) -> tuple[float, float]:
    """Bounds of the horizon when all trials passed, or all failed, with one end open.

    Args:
        minutes: Length of each case, shape (M,).
        family: Family code 0..F-1 of each case, shape (M,).
        target: Chance to pass, in (0, 1).
        level: One-sided coverage, in (0, 1).
        passed: Whether everything passed; else everything failed.

    Returns:
        (t, inf) when all passed and (0, t) when all failed; (0, inf) with too few families.

    Notes:
        If the horizon were below t, tasks of t and longer would pass with a chance below the
        target, and m families all pass with a chance below target^m. So t is the largest length
        that m families reach, m the first number with target^m <= 1 - level. When all failed,
        1 - target stands for the target and short for long. Chances must not rise with length.

    Example:
        >>> minutes = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
        >>> one_sided(minutes, np.arange(6), 0.5, 0.95, passed=True)
        (2.0, inf)
    """
    needed = families_needed(target, level, passed=passed)
    reach = np.full(int(family.max()) + 1, -np.inf if passed else np.inf)
    (np.maximum if passed else np.minimum).at(reach, family, minutes)
    if needed > len(reach):
        return 0.0, float("inf")
    reach.sort()
    return (float(reach[-needed]), float("inf")) if passed else (0.0, float(reach[needed - 1]))


def families_needed(target: float, level: float, *, passed: bool) -> int:
    """Families that must all pass (fail) before a horizon below (above) them is ruled out."""
    chance = target if passed else 1.0 - target
    # a chance that meets 1 - level but for rounding needs no family more
    return max(1, int(np.ceil(np.log1p(-level) / np.log(chance) - 1e-9)))


def nested_resamples(
    family: Ints,
    n: Ints,
    c: Ints,
    resamples: int,
    rng: np.random.Generator,
    levels: tuple[str, ...] = ("family", "case", "trial"),
) -> tuple[Floats, Floats]:
    """Families, cases within families and trials within cases drawn with replacement.

    Args:
        family: Family code 0..F-1 of each case, ascending, shape (M,).
        n: Trials of each case, >= 1.
        c: Passes.
        resamples: Number of resamples B.
        rng: Source of randomness.
        levels: What is drawn again; what is not stays as it is.

    Returns:
        How often each case is there, and the sum of its copies' pass rates, each (B, M).

    Notes:
        Copies of a case are alike but for their trials, so the passes of all K copies are
        Binomial(K n, c / n): exact in distribution without a loop.
    """
    size = np.bincount(family)
    families, cases = len(size), len(family)
    if "family" in levels:
        drawn = rng.multinomial(families, np.full(families, 1.0 / families), size=resamples)
    else:
        drawn = np.ones((resamples, families), dtype=np.int64)
    if "case" in levels:
        start = np.concatenate(([0], np.cumsum(size)[:-1]))
        many = (drawn * size).ravel()
        which = np.repeat(np.tile(np.arange(families), resamples), many)
        row = np.repeat(np.arange(resamples), many.reshape(resamples, families).sum(axis=1))
        picked = start[which] + (rng.random(len(which)) * size[which]).astype(np.int64)
        copies = np.bincount(row * cases + picked, minlength=resamples * cases)
        copies = copies.reshape(resamples, cases)
    else:
        copies = drawn[:, family]
    again = "trial" in levels
    rates = rng.binomial(copies * n, c / n) / n if again else copies * (c / n)
    return copies.astype(np.float64), rates
