"""Tail probabilities of sums of independent integers, exact to rounding at any size.

A sum is X = sum_g step_g (S_g1 + ... + S_gm), groups of m independent numbers S in 0..s with the
same probabilities. Sign flips are the case s = 1 with probabilities 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

TINY = float(np.finfo(np.float64).tiny)  # no p-value is 0
SPAN = 2**24  # sums up to here are always treated exactly
_SUMS = 2**20  # distinct partial sums held at a time
_FEW = 40  # numbers whose halves have no more sums than that
_WORK = 2**31  # nanoseconds, about: what an exact answer may cost beyond SPAN
_BLOCK = 2**15  # frequencies treated at a time
_FAINT = 1e-20  # a characteristic function below it adds nothing
_REACH = sqrt(log(2.0 / 1e-20) / 2.0)  # Hoeffding: mass beyond it, in root sums of squared ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A sum of independent groups.

    Attributes:
        step: Worth of one unit in every group, shape (G,), > 0; int64, Python integers or floats.
        probs: Probabilities of 0..s in every group, padded with zeros, shape (G, s + 1).
        times: Independent numbers in every group, shape (G,), >= 1.
    """

    step: NDArray[Any]
    probs: Floats
    times: Ints

    @property
    def span(self) -> Any:
        """The largest value: an integer of any size, or a float."""
        return sum(self.step * self.largest * self.times)

    @property
    def largest(self) -> NDArray[Any]:
        """The largest number of every group, shape (G,), as Python integers."""
        last = self.probs.shape[1] - 1 - np.argmax(self.probs[:, ::-1] > 0, axis=1)
        return np.asarray(last).astype(object)

    def in_floats(self) -> Sum:
        """The same sum in units of its largest step where those are Python integers."""
        if self.step.dtype != object:
            step = self.step.astype(np.float64)
        else:
            step = np.array([float(Fraction(int(x), self.unit)) for x in self.step])
        return Sum(step=step, probs=self.probs, times=self.times)

    @property
    def unit(self) -> int:
        """What `in_floats` divides by: integers beyond all floats have to be scaled."""
        return int(max(self.step)) if self.step.dtype == object else 1

    def mirrored(self) -> Sum:
        """The sum of (largest - number): its lower tail is the upper tail of this one."""
        most = self.largest.astype(np.int64)[:, None]
        index = most - np.arange(self.probs.shape[1])
        flipped = np.take_along_axis(self.probs, np.maximum(index, 0), axis=1)
        return Sum(step=self.step, probs=np.where(index >= 0, flipped, 0.0), times=self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A tail with and without its end.

    Attributes:
        at_most: P(X <= most).
        below: P(X < most).
        method: How it was computed.
    """

    at_most: float
    below: float
    method: str


def lower_tail(total: Sum, most: int) -> Tail | None:
    """P(X <= most) and P(X < most), to a relative accuracy of about 1e-10, however small.

    Args:
        total: A sum of integers.
        most: The largest value that counts.

    Returns:
        The probabilities and the method: "dense" (adding number by number), "fourier" (inverting
        the characteristic function) or "partial sums" (all sums of two halves); None when no
        method can do it in bounded time and memory.

    Notes:
        "fourier" sums over a window that holds all but 1e-20 of the mass, after tilting the
        probabilities by e^(theta x) so that `most` becomes the mean: then no digits are lost in
        a tail. Tilting is the change of measure of saddlepoint approximations, here exact.

    References:
        Hoeffding (1963), J. Am. Stat. Assoc. 58:13; Pagano and Tritchler (1983), J. Am. Stat.
        Assoc. 78:435.
    """
    span = total.span
    if most < 0 or most > span:
        return Tail(at_most=float(most > 0), below=float(most > 0), method="dense")
    dense, fourier = _cost_dense(total, most), _cost_fourier(total)
    if span <= SPAN and dense <= fourier:
        return _dense(total, most)
    if span <= SPAN or fourier <= _WORK / 64:
        return _fourier(total, most)
    found = partial_sums(total, most)
    return _fourier(total, most) if found is None and fourier <= _WORK else found


def partial_sums(total: Sum, most: float, slack: float = 0) -> Tail | None:
    """P(X <= most + slack) and P(X < most - slack) from the sums of two halves of the groups.

    Args:
        total: A sum of integers or of real numbers.
        most: The largest value that counts.
        slack: Real sums closer than this to `most` equal it.

    Returns:
        Both probabilities; None when a half has more than 2^20 distinct sums.
    """
    sizes = total.times * np.count_nonzero(total.probs, axis=1)
    halves: list[list[int]] = [[], []]
    weight = [0.0, 0.0]
    for group in np.argsort(-sizes, kind="stable").tolist():
        half = int(weight[1] < weight[0])
        halves[half].append(group)
        weight[half] += log(sizes[group] + 1.0)
    found = [_half(total, half, most + slack) for half in halves]
    if found[0] is None or found[1] is None:
        return None
    (left, chance), (right, other) = found[0], found[1]
    cumulated = np.concatenate(([0.0], np.cumsum(other)))
    at_most = cumulated[np.searchsorted(right, most + slack - left, side="right")]
    below = cumulated[np.searchsorted(right, most - slack - left, side="left")]
    return Tail(at_most=float(chance @ at_most), below=float(chance @ below), method="partial sums")


def _half(total: Sum, groups: list[int], most: float) -> tuple[NDArray[Any], Floats] | None:
    """Distinct sums of some groups up to `most`, ascending, and their probabilities."""
    sums: NDArray[Any] = np.zeros(1, dtype=total.step.dtype)
    chance: Floats = np.ones(1)
    # Python integers are slow: they get the full number only where that always suffices
    slow = total.step.dtype == object and total.times.sum() > _FEW
    limit = _SUMS // 16 if slow else _SUMS
    for group in groups:
        probs = _repeated(total.probs[group], int(total.times[group]), limit)
        if probs is None or len(sums) * len(probs) > 4 * limit:
            return None
        used = np.flatnonzero(probs)
        grid = sums[:, None] + used.astype(total.step.dtype) * total.step[group]
        weight = chance[:, None] * probs[used]
        keep = grid <= most
        found, inverse = np.unique(grid[keep], return_inverse=True)
        sums = np.asarray(found)
        weight = weight[keep]
        chance = np.asarray(np.bincount(inverse, weights=weight), dtype=np.float64)
        if len(sums) > limit:
            return None
    return sums, chance


def _repeated(probs: Floats, times: int, limit: int) -> Floats | None:
    """Probabilities of the sum of `times` numbers, by squaring; None beyond `limit` values."""
    from scipy.special import gammaln

    base = np.trim_zeros(probs, "b")
    if (len(base) - 1) * times >= limit:
        return None
    if len(base) == 2 and base[0] == 0.5:
        count = np.arange(times + 1.0)
        logs = gammaln(times + 1.0) - gammaln(count + 1.0) - gammaln(times - count + 1.0)
        return np.asarray(np.exp(logs - times * log(2.0)) if times > 50 else _pascal(times))
    out = np.ones(1)
    while times:
        out = np.convolve(out, base) if times % 2 else out
        times //= 2
        base = np.convolve(base, base) if times else base
    return out


def _pascal(times: int) -> Floats:
    """Binomial probabilities at 1/2 without any rounding."""
    from scipy.special import comb

    return np.asarray(np.round(comb(times, np.arange(times + 1))) * 0.5**times, dtype=np.float64)


def _cost_dense(total: Sum, most: int) -> float:
    if total.probs.shape[1] > 2 or most > 2**61:
        return inf
    return float(total.times.sum()) * (4e3 + 1.5 * most)


def _cost_fourier(total: Sum) -> float:
    if total.span > 2**61:
        return inf
    groups = len(total.step)
    factors = min(groups, 1.0 + 70.0 * groups / float(total.times.sum()))
    each = 20.0 + 15.0 * total.probs.shape[1]
    return float(1e5 * groups + 0.5 * _window(total) * factors * each)


def _window(total: Sum) -> int:
    """Length of a window around the mean outside of which there is no mass, tilted or not."""
    ranges = (total.step * total.largest).astype(np.float64)
    reach = _REACH * sqrt(float(total.times @ ranges**2))
    return int(min(total.span, 2.0 * reach + 2.0)) + 1


def _dense(total: Sum, most: int) -> Tail:
    """Add number by number; all terms are positive, so no digit is lost."""
    mass = np.zeros(most + 1)
    mass[0] = 1.0
    top = 0
    for step, (stay, move), times in zip(total.step, total.probs, total.times, strict=True):
        size = int(step)
        for _ in range(int(times)):
            grown = min(top + size, most)
            if size <= most:
                moved = mass[: grown + 1 - size] * move
                mass[: grown + 1] *= stay
                mass[size : grown + 1] += moved
            else:
                mass[: grown + 1] *= stay
            top = grown
    below = float(mass[:-1].sum())
    return Tail(at_most=below + float(mass[-1]), below=below, method="dense")


def _fourier(total: Sum, most: int) -> Tail:
    """Sum the characteristic function of the tilted sum against that of the tail."""
    total = Sum(step=total.step.astype(np.int64), probs=total.probs, times=total.times)
    theta, log_mass, mean = _tilt(total, most)
    points = _window(total)
    low = max(0, min(int(mean) - points // 2, int(total.span) + 1 - points))
    tilted = _tilted(total, theta)
    order = np.argsort(-tilted.times * _variance(tilted.probs), kind="stable")
    groups = [
        (int(tilted.step[g]) % points, np.trim_zeros(tilted.probs[g], "b"), int(tilted.times[g]))
        for g in order.tolist()
    ]
    size, mass = min(most - low, points - 1), np.zeros(2)
    for start in range(0, points // 2 + 1, _BLOCK):
        index = np.arange(start, min(start + _BLOCK, points // 2 + 1))
        index, value = _characteristic(groups, index, points)
        if not len(index):
            continue
        value = value * _turned(index * (-low % points), points)
        value *= np.where((index == 0) | (2 * index == points), 1.0, 2.0) / points
        angle = 2.0 * np.pi * index / points
        mass[0] += np.sum(value * _kernel(-theta, angle, size)).real
        mass[1] += np.sum(value * _kernel(-theta, angle, size - 1)).real * np.exp(theta)
    with np.errstate(divide="ignore"):
        tails = np.exp(log_mass - theta * most + np.log(np.maximum(mass, 0.0)))
    return Tail(at_most=float(tails[0]), below=float(tails[1]), method="fourier")


def _variance(probs: Floats) -> Floats:
    """Variance of a group's numbers: groups of many spread ones make most frequencies faint."""
    level = np.arange(probs.shape[1])
    return np.asarray(probs @ level**2 - (probs @ level) ** 2, dtype=np.float64)


def _characteristic(
    groups: list[tuple[int, Floats, int]], index: Ints, points: int
) -> tuple[Ints, NDArray[np.complex128]]:
    """E exp(-2 pi i index X / points) where it is not negligible, and these indices."""
    value = np.ones(len(index), dtype=np.complex128)
    for step, probs, times in groups:
        turned = _turned(index * step, points)
        factor = np.full(len(index), probs[-1], dtype=np.complex128)
        for chance in probs[-2::-1]:
            factor = factor * turned + chance
        value = value * _power(factor, times)
        strong = np.abs(value) > _FAINT
        if not strong.all():
            index, value = index[strong], value[strong]
            if not len(index):
                break
    return index, value


def _turned(index: Ints, points: int) -> NDArray[np.complex128]:
    """exp(-2 pi i index / points), reduced in integers first."""
    angle = (index % points) * (2.0 * np.pi / points)
    out = np.empty(len(angle), dtype=np.complex128)
    out.real, out.imag = np.cos(angle), -np.sin(angle)
    return out


def _power(base: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """Power by squaring, which needs no logarithm of 0."""
    out = base if times % 2 else np.ones_like(base)
    while times := times // 2:
        base = base * base
        out = out * base if times % 2 else out
    return out


def _kernel(decay: float, angle: Floats, size: int) -> NDArray[np.complex128]:
    """Sum over u = 0..size of exp(decay (u - size) + i angle u), a geometric series."""
    rho: NDArray[np.complex128] = np.asarray(decay + 1j * angle, dtype=np.complex128)
    centre = rho == 0
    rho[centre] = 1.0 / (size + 2)
    if size < 0:
        return np.zeros_like(rho)
    if decay * size < 50.0:
        series = np.exp(-decay * size) * np.expm1((size + 1) * rho) / np.expm1(rho)
    else:
        last = np.exp(decay + 1j * angle * (size + 1)) - np.exp(-decay * size)
        series = last / np.expm1(rho)
    series[centre] = size + 1.0
    return np.asarray(series, dtype=np.complex128)


def _tilt(total: Sum, most: int) -> tuple[float, float, float]:
    """The theta <= 0 at which the tilted mean is `most`, the log of E exp(theta X), the mean."""
    level = np.arange(total.probs.shape[1])
    worth = total.step[:, None] * level.astype(np.float64)

    def moments(theta: float) -> tuple[float, float]:
        weight = total.probs * np.exp(theta * worth)
        norm = weight.sum(axis=1)
        mean = (weight * worth).sum(axis=1) / norm
        return float(total.times @ np.log(norm)), float(total.times @ mean)

    flat = moments(0.0)
    if most >= flat[1]:
        return 0.0, 0.0, flat[1]
    low = -1.0 / float(total.step.max())
    while moments(low)[1] > most + 0.5:
        low *= 2.0
    high = 0.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if moments(middle)[1] > most + 0.5 else (middle, high)
    return low, *moments(low)


def _tilted(total: Sum, theta: float) -> Sum:
    """The same sum with probabilities proportional to exp(theta x)."""
    level = np.arange(total.probs.shape[1])
    weight = total.probs * np.exp(theta * total.step[:, None] * level)
    return Sum(step=total.step, probs=weight / weight.sum(axis=1, keepdims=True), times=total.times)
