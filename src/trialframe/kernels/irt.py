"""Item response curves on binomial counts: quadrature, posteriors, marginal likelihood.

A config j passes a trial of case i with probability 1 / (1 + exp(-a_i (theta_j - b_i))), abilities
theta are standard normal, and trials are independent given the ability. Arrays of cells have shape
(J, I), configs by cases; a cell without trials has n = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_BLOCK = 2**21  # values of curves computed at a time
_KEPT = 2**24  # values of curves kept between the two halves of a step
_GROUPS = 16  # patterns of trial counts that are summed group by group
_DROP = 40.0  # fall of a log posterior, from its mode, beyond which nothing is left
_WIDEST = 0.25  # step of the grid where posteriors are wide
_ROUGH = 0.05  # error of a mode, in posterior standard deviations, that a grid forgives
_NEAR = 1.5  # posterior standard deviations around a mode that a grid must resolve
_STEPS = 200  # most steps to a mode
_FAR = 1e3  # largest ability
_STRIP = 1.0  # largest step times slope: steeper curves need a finer grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Passes and trials of every config and case.

    Attributes:
        passes: Shape (J, I).
        trials: Shape (J, I), 0 where a config did not try a case.
        patterns: Distinct columns of `trials`, shape (J, G), or None when there are many.
        group: The column in `patterns` of every case, shape (I,).
    """

    passes: Floats
    trials: Floats
    patterns: Floats | None = None
    group: Ints | None = None


def cells_of(passes: Floats, trials: Floats) -> Cells:
    """Cells, with equal columns of trials found: a complete design has one pattern."""
    passes = np.ascontiguousarray(passes, dtype=np.float64)
    trials = np.ascontiguousarray(trials, dtype=np.float64)
    # columns are told apart by one random-looking sum each, and the result is verified
    probe = np.linspace(1.0, 2.0, len(trials)) ** 3 @ trials
    _, first, group = np.unique(probe, return_index=True, return_inverse=True)
    if len(first) > _GROUPS:
        return Cells(passes=passes, trials=trials)
    patterns = trials[:, first]
    if not np.array_equal(patterns[:, group], trials):
        return Cells(passes=passes, trials=trials)
    return Cells(passes=passes, trials=trials, patterns=patterns, group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Nodes of abilities, shape (Q,), and log weights that hold the standard normal prior."""

    nodes: Floats
    logweight: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What a set of items says of the abilities.

    Attributes:
        weight: Probability of every node, shape (J, Q).
        loglik: Log marginal likelihood of every config without binomial coefficients, (J,).
        rule: The nodes.
        curves: Pass probabilities at the nodes by blocks of items, when they are few.
    """

    weight: Floats
    loglik: Floats
    rule: Rule
    curves: tuple[Floats, ...] | None

    @property
    def mean(self) -> Floats:
        """Expected a posteriori abilities, shape (J,)."""
        return self.weight @ self.rule.nodes

    @property
    def sd(self) -> Floats:
        """Posterior standard deviations, shape (J,)."""
        away = (self.rule.nodes - self.mean[:, None]) ** 2
        return np.asarray(np.sqrt(np.einsum("jq,jq->j", self.weight, away)))


def probability(theta: Floats, a: Floats, b: Floats) -> Floats:
    """Pass probabilities, shape (J, I); no scaling by 1.7.

    Args:
        theta: Abilities, shape (J,).
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
    """
    away = np.subtract.outer(np.atleast_1d(theta), b) * a
    small = np.exp(-np.abs(away))
    return np.asarray(np.where(away > 0, 1.0, small) / (1.0 + small))


def information(theta: Floats, a: Floats, b: Floats, trials: Floats | float = 1.0) -> Floats:
    """Fisher information about theta, n a^2 P (1 - P), shape (J, I)."""
    rate = probability(theta, a, b)
    return np.asarray(trials * np.square(a) * rate * (1 - rate))


def rescaled(a: Floats, b: Floats, mean: float, sd: float) -> tuple[Floats, Floats]:
    """Items for abilities (theta - mean) / sd; no probability changes."""
    return a * sd, (b - mean) / sd


def hermite_rule(points: int) -> Rule:
    """Gauss-Hermite nodes and log weights of a standard normal."""
    nodes, weight = np.polynomial.hermite.hermgauss(points)
    with np.errstate(divide="ignore"):  # far nodes of large rules weigh less than a float can say
        logweight = np.log(weight) - 0.5 * np.log(np.pi)
    return Rule(nodes=nodes * np.sqrt(2.0), logweight=logweight)


def log_coefficients(cells: Cells) -> float:
    """Sum of the log binomial coefficients, which no parameter changes."""
    from scipy.special import gammaln

    n, c = cells.trials, cells.passes
    return float(np.sum(gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1)))


def posterior(cells: Cells, a: Floats, b: Floats, rule: Rule) -> Posterior:
    """The E-step: probabilities of the nodes given each config's counts."""
    nodes = rule.nodes
    logs = np.multiply.outer(cells.passes @ a, nodes) - (cells.passes @ (a * b))[:, None]
    logs += rule.logweight
    keep = len(a) * len(nodes) <= _KEPT
    kept = []
    for rows, rate, soft in _curves(a, b, nodes):
        logs -= _times(cells, rows, soft)
        if keep:
            kept.append(rate)
    top = logs.max(axis=1, keepdims=True)
    weight = np.exp(logs - top)
    total = weight.sum(axis=1, keepdims=True)
    weight /= total
    loglik = (top + np.log(total)).ravel()
    return Posterior(weight=weight, loglik=loglik, rule=rule, curves=tuple(kept) if keep else None)


def rates(post: Posterior, a: Floats, b: Floats) -> Iterator[tuple[slice, Floats]]:
    """Blocks of items and their pass probabilities at the nodes, shape (block, Q)."""
    if post.curves is None:
        for rows, rate, _ in _curves(a, b, post.rule.nodes):
            yield rows, rate
        return
    start = 0
    for rate in post.curves:
        yield slice(start, start + len(rate)), rate
        start += len(rate)


def _curves(a: Floats, b: Floats, nodes: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """Blocks of items, P and log(1 + exp(eta)) at the nodes."""
    size = max(1, _BLOCK // len(nodes))
    for start in range(0, len(a), size):
        rows = slice(start, min(start + size, len(a)))
        eta = np.multiply.outer(a[rows], nodes) - (a[rows] * b[rows])[:, None]
        small = np.exp(-np.abs(eta))
        one = 1.0 + small
        soft = np.log(one)
        soft += np.maximum(eta, 0.0)
        yield rows, np.where(eta > 0, 1.0, small) / one, soft


def _times(cells: Cells, rows: slice, soft: Floats) -> Floats:
    """Trials times log(1 + exp(eta)), summed over a block of items, shape (J, Q)."""
    if cells.patterns is None or cells.group is None:
        return cells.trials[:, rows] @ soft
    group = cells.group[rows]
    if cells.patterns.shape[1] == 1:
        return np.asarray(np.multiply.outer(cells.patterns[:, 0], soft.sum(axis=0)))
    present = np.unique(group)
    sums = np.stack([soft[group == g].sum(axis=0) for g in present])
    return np.asarray(cells.patterns[:, present] @ sums)


def expected_trials(cells: Cells, rows: slice, weight: Floats) -> Floats:
    """Expected trials at every node for a block of items, shape (block, Q) or (1, Q)."""
    if cells.patterns is None or cells.group is None:
        return cells.trials[:, rows].T @ weight
    table = cells.patterns.T @ weight
    return table if len(table) == 1 else table[cells.group[rows]]


def modes(
    cells: Cells, a: Floats, b: Floats, start: Floats, *, tol: float = 1e-10
) -> tuple[Floats, Floats]:
    """Modes of the posteriors of abilities and their curvature, 1 + test information.

    Newton's method on a concave function, steps of at most one.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        start: Where to begin, shape (J,).
        tol: Steps smaller than this share of a posterior standard deviation are the last.
    """
    return _newton(cells, a, b, start, tol, prior=1.0)


def mle(cells: Cells, a: Floats, b: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Maximum likelihood abilities and their standard errors, 1 / sqrt(test information).

    NaN where the likelihood has no maximum: every trial passes, or every trial fails.
    """
    theta, curvature = _newton(cells, a, b, start, 1e-10, prior=0.0)
    used = np.where(a != 0, cells.trials, 0.0)
    low = np.where(a > 0, cells.passes, used - cells.passes).sum(axis=1, where=used > 0)
    flat = (low <= 0) | (low >= used.sum(axis=1))
    theta = np.where(flat, np.nan, theta)
    with np.errstate(divide="ignore"):
        return theta, np.where(flat, np.nan, 1.0 / np.sqrt(curvature))


def _newton(
    cells: Cells, a: Floats, b: Floats, start: Floats, tol: float, prior: float
) -> tuple[Floats, Floats]:
    theta = np.array(start, dtype=np.float64)
    won = cells.passes @ a
    curvature = np.ones_like(theta)
    low, high = np.full_like(theta, -_FAR), np.full_like(theta, _FAR)
    for _ in range(_STEPS):
        slope, curvature = _slopes(cells, a, b, theta, won, prior)
        low, high = np.where(slope > 0, theta, low), np.where(slope < 0, theta, high)
        move = np.clip(slope / np.maximum(curvature, 1e-8), -1.0, 1.0)
        after = theta + move
        # Newton may leap over the mode where curves are steep: then halve what holds it
        leapt = np.where(move > 0, after >= high, (move < 0) & (after <= low))
        after = np.where(leapt, 0.5 * (low + high), after)
        size, theta = np.abs(after - theta), after
        if np.max(size * np.sqrt(curvature), initial=0.0) < tol:
            break
    return theta, curvature


def _slopes(
    cells: Cells, a: Floats, b: Floats, theta: Floats, won: Floats, prior: float
) -> tuple[Floats, Floats]:
    """First derivative and negative second derivative of the log posterior in theta."""
    slope, curvature = won - prior * theta, np.full_like(theta, prior)
    size = max(1, _BLOCK // max(1, len(theta)))
    for begin in range(0, len(a), size):
        rows = slice(begin, begin + size)
        rate = probability(theta, a[rows], b[rows])
        rate_n = rate * cells.trials[:, rows]
        slope -= rate_n @ a[rows]
        rate_n *= 1 - rate
        curvature += rate_n @ np.square(a[rows])
    return slope, curvature


def grid_rule(
    cells: Cells, a: Floats, b: Floats, start: Floats, *, fineness: float = 0.5
) -> tuple[Rule, Floats]:
    """Equally spaced nodes wherever some config's posterior has mass, and the modes.

    The sum over equally spaced nodes of a smooth function that vanishes at both ends errs by
    about exp(-2 pi^2 (sd / step)^2): 1e-8 at a step of one posterior standard deviation.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        start: Abilities close to the modes, shape (J,).
        fineness: Step as a share of the narrowest posterior standard deviation.
    """
    mode, curvature = modes(cells, a, b, start, tol=_ROUGH)
    steepest = float(np.max(np.abs(a), initial=1.0))
    narrowest = _narrowest(cells, a, curvature, steepest)
    step = min(_WIDEST, fineness * narrowest, _STRIP / steepest)
    reach = _reach(curvature, steepest)
    low = np.floor((mode - reach) / step).astype(np.int64)
    high = np.ceil((mode + reach) / step).astype(np.int64)
    covered = np.zeros(int(high.max() - low.min()) + 2, dtype=np.int64)
    np.add.at(covered, low - low.min(), 1)
    np.add.at(covered, high - low.min() + 1, -1)
    nodes = (np.flatnonzero(np.cumsum(covered) > 0) + low.min()) * step
    logweight = np.log(step) - 0.5 * np.square(nodes) - 0.5 * np.log(2 * np.pi)
    return Rule(nodes=nodes, logweight=logweight), mode


def _narrowest(cells: Cells, a: Floats, curvature: Floats, steepest: float) -> float:
    """Smallest width of a posterior near its mode.

    Test information grows by at most the factor exp(a d) over a distance d, and is at most the sum
    of n a^2 / 4.
    """
    near = curvature * np.exp(np.minimum(_NEAR * steepest / np.sqrt(curvature), 700.0))
    most = 1.0 + cells.trials @ np.square(a) / 4
    return float(1.0 / np.sqrt(np.minimum(near, most).max()))


def _reach(curvature: Floats, steepest: float) -> Floats:
    """Distance from the mode beyond which nothing of a posterior is left, shape (J,).

    Test information I falls by at most the factor exp(-a d) over a distance d, so the log
    posterior falls by at least I (exp(-a d) - 1 + a d) / a^2 + d^2 / 2.
    """
    info = np.maximum(curvature - 1.0, 0.0)
    low, high = np.zeros_like(info), np.full_like(info, np.sqrt(2 * _DROP))
    for _ in range(30):
        middle = 0.5 * (low + high)
        turned = steepest * middle
        fall = info * (np.expm1(-turned) + turned) / steepest**2 + 0.5 * np.square(middle)
        low, high = np.where(fall < _DROP, middle, low), np.where(fall < _DROP, high, middle)
    return high
