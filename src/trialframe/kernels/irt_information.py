"""Gradient and observed information of the marginal likelihood of items (Louis 1982).

Parameters are log a (one per item, or one for all items) and b. What is observed is what complete
data would hold minus what the unknown abilities take away: block-diagonal minus low rank, so that
nothing of size items times items is formed for large suites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import expected_trials, rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells, Posterior

    Floats: TypeAlias = NDArray[np.float64]

_DEGREE = 12  # polynomials of the ability that describe a posterior
_RANK = 4_000  # side of the largest matrix that is factored
_HELD = 3e7  # numbers of the low-rank part held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Normal priors of log a and b as means and precisions; a precision of 0 is no prior."""

    mean_log_a: float = 0.0
    precision_log_a: float = 0.0
    mean_b: float = 0.0
    precision_b: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """Information of complete data: 2 x 2 blocks of log a and b per item, shape (I,).

    With one log a for all items, `aa` holds its single entry.
    """

    aa: Floats
    ab: Floats
    bb: Floats

    @property
    def shared(self) -> bool:
        """Whether all items have the same log a."""
        return len(self.aa) != len(self.bb)

    @property
    def definite(self) -> bool:
        """Whether it is positive definite."""
        return bool(np.all(self.bb > 0) and np.all(self.schur > 0))

    @property
    def schur(self) -> Floats:
        """What is left of `aa` once b is fitted."""
        lost = np.square(self.ab) / self.bb
        return self.aa - (lost.sum(keepdims=True) if self.shared else lost)

    def solve(self, x: Floats) -> Floats:
        """The inverse times columns, shape (P, m); log a first, then b."""
        split = len(self.aa)
        xa, xb = x[:split], x[split:]
        ratio = (self.ab / self.bb)[:, None]
        carried = ratio * xb
        za = (xa - (carried.sum(axis=0) if self.shared else carried)) / self.schur[:, None]
        zb = xb / self.bb[:, None] - ratio * za
        return np.concatenate([za, zb])

    def dense(self) -> Floats:
        """The matrix itself, shape (P, P)."""
        split, items = len(self.aa), len(self.bb)
        made = np.zeros((split + items, split + items))
        one, other = np.zeros(items, dtype=np.int64), np.arange(items)
        rows = one if self.shared else other
        made[np.arange(split), np.arange(split)] = self.aa
        made[split + other, split + other] = self.bb
        made[rows, split + other] = self.ab
        made[split + other, rows] = self.ab
        return made

    def diagonal_of_inverse(self) -> Floats:
        """Variances with known abilities, shape (P,)."""
        first = 1.0 / self.schur
        return np.concatenate([first, 1.0 / self.bb + np.square(self.ab / self.bb) * first])


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Derivatives of the log likelihood plus log prior at some item parameters.

    Attributes:
        gradient: First derivatives, shape (P,): log a, then b.
        expected: Complete-data information, expected over outcomes; positive definite.
        observed: Complete-data information, observed.
    """

    gradient: Floats
    expected: Complete
    observed: Complete


def derivatives(cells: Cells, log_a: Floats, b: Floats, post: Posterior, prior: Prior) -> Step:
    """Gradient and complete-data information by sums over nodes (the M-step's equations).

    Args:
        cells: Passes and trials.
        log_a: Log discriminations, shape (I,) or (1,) for one shared by all items.
        b: Difficulties, shape (I,).
        post: The E-step at these parameters.
        prior: Priors of the parameters.
    """
    a = np.broadcast_to(np.exp(log_a), b.shape)
    level, tilt, flat, first, second = _sums(cells, a, b, post)
    won = cells.passes.sum(axis=0)
    rest = won - level
    lean = post.mean @ cells.passes - tilt
    slope_a, slope_b = a * (lean - b * rest), -a * rest
    square = np.square(a)
    aa = square * (second - 2 * b * first + np.square(b) * flat)
    ab = -square * (first - b * flat)
    bb = square * flat
    gradient = (_summed(slope_a, log_a), slope_b)
    pull_a = prior.precision_log_a * (log_a - prior.mean_log_a)
    pull_b = prior.precision_b * (b - prior.mean_b)
    strong, weak = prior.precision_log_a, prior.precision_b
    return Step(
        gradient=np.concatenate([gradient[0] - pull_a, gradient[1] - pull_b]),
        expected=Complete(aa=_summed(aa, log_a) + strong, ab=ab, bb=bb + weak),
        observed=Complete(aa=_summed(aa - slope_a, log_a) + strong, ab=ab - slope_b, bb=bb + weak),
    )


def _summed(values: Floats, log_a: Floats) -> Floats:
    return values.sum(keepdims=True) if len(log_a) < len(values) else values


def _sums(cells: Cells, a: Floats, b: Floats, post: Posterior) -> Floats:
    """Per item: sums over nodes of n P and n P theta, and of n P (1 - P) theta^0, 1, 2."""
    nodes = post.rule.nodes
    powers = np.stack([np.ones_like(nodes), nodes, np.square(nodes)], axis=1)
    made = np.empty((5, len(b)))
    for rows, rate in rates(post, a, b):
        table = expected_trials(cells, rows, post.weight) * rate
        made[:2, rows] = (table @ powers[:, :2]).T
        table *= 1 - rate
        made[2:, rows] = (table @ powers).T
    return made


def degree(cells: Cells, nodes: int, *, work: float, least: int = 1) -> int:
    """How many polynomials per config the work allows; 0 when there are too many of both.

    Args:
        cells: Passes and trials.
        nodes: Nodes of the abilities.
        work: Multiplications that the low-rank part may cost.
        least: Fewest polynomials, whatever they cost.
    """
    configs, items = cells.trials.shape
    count = np.arange(1, _DEGREE + 1)
    rank, size = configs * count, 2 * items
    inner = np.minimum(rank, size)
    cost = 2.0 * rank * items * nodes + 1.0 * size * rank * inner
    fine = (cost <= work) & (2.0 * rank * items <= _HELD)
    most = max(int(count[fine].max(initial=0)), least)
    if min(configs * most, size) <= _RANK:
        return most
    return int(_RANK // configs)


def gaps(cells: Cells, log_a: Floats, b: Floats, post: Posterior, count: int) -> Floats:
    """Root of the information that unknown abilities take away, shape (P, J * count).

    The covariance of a config's score under its posterior, written in orthonormal polynomials of
    the ability up to degree `count`; exact up to terms of higher degree, which vanish quickly.
    """
    configs, items = cells.trials.shape
    a = np.broadcast_to(np.exp(log_a), b.shape)
    weight = _polynomials(post, count).reshape(configs * count, -1)
    tilted = weight * post.rule.nodes
    trials = np.repeat(cells.trials, count, axis=0)
    slope_a, slope_b = np.empty((2, configs * count, items))
    for rows, rate in rates(post, a, b):
        level, tilt = weight @ rate.T, tilted @ rate.T
        slope_b[:, rows] = level * trials[:, rows] * a[rows]
        slope_a[:, rows] = -(tilt - b[rows] * level) * trials[:, rows] * a[rows]
    # passes times the ability: only the polynomial of degree one is correlated with it
    slope_a[::count] += cells.passes * a * tilted[::count].sum(axis=1)[:, None]
    first = slope_a.sum(axis=1, keepdims=True) if len(log_a) < items else slope_a
    return np.concatenate([first.T, slope_b.T])


def _polynomials(post: Posterior, count: int) -> Floats:
    """Posterior weights times orthonormal polynomials of degree 1 to count, shape (J, count, Q)."""
    weight, nodes = post.weight, post.rule.nodes
    made = np.empty((len(weight), count, len(nodes)))
    before, now = np.zeros_like(weight), np.ones_like(weight)
    norm = np.zeros((len(weight), 1))
    scaled = (nodes - post.mean[:, None]) / np.maximum(post.sd, 1e-300)[:, None]
    for k in range(count):
        centre = np.einsum("jq,jq,jq->j", weight, scaled, np.square(now))[:, None]
        after = (scaled - centre) * now - norm * before
        norm = np.sqrt(np.einsum("jq,jq->j", weight, np.square(after)))[:, None]
        # fewer nodes with mass than polynomials: the rest is nothing
        after = np.where(norm > 1e-6, after / np.maximum(norm, 1e-6), 0.0)
        made[:, k] = weight * after
        before, now = now, after
    return made


def solver(complete: Complete, low_rank: Floats | None) -> Callable[[Floats], Floats] | None:
    """A function that multiplies by the inverse information, or None when it is not definite."""
    if not complete.definite:
        return None
    if low_rank is None:
        return lambda x: np.asarray(complete.solve(x[:, None])[:, 0])
    from scipy.linalg import cho_factor, cho_solve

    size, rank = low_rank.shape
    try:
        if size <= rank:
            whole = cho_factor(complete.dense() - low_rank @ low_rank.T)
            return lambda x: np.asarray(cho_solve(whole, x))
        solved = complete.solve(low_rank)
        inner = cho_factor(np.eye(rank) - low_rank.T @ solved)
    except np.linalg.LinAlgError:
        return None

    def apply(x: Floats) -> Floats:
        plain = complete.solve(x[:, None])[:, 0]
        return np.asarray(plain + solved @ cho_solve(inner, low_rank.T @ plain))

    return apply


def variances(complete: Complete, low_rank: Floats | None) -> Floats:
    """Diagonal of the inverse information, shape (P,); NaN when it is not definite."""
    from scipy.linalg import cho_factor, cho_solve

    size = len(complete.aa) + len(complete.bb)
    unknown = np.full(size, np.nan)
    if not complete.definite:
        return unknown
    if low_rank is None:
        return complete.diagonal_of_inverse()
    try:
        if size <= low_rank.shape[1]:
            whole = cho_factor(complete.dense() - low_rank @ low_rank.T)
            return np.array(np.diag(cho_solve(whole, np.eye(size))))
        solved = complete.solve(low_rank)
        inner = cho_factor(np.eye(low_rank.shape[1]) - low_rank.T @ solved)
    except np.linalg.LinAlgError:
        return unknown
    lost = np.einsum("pm,mp->p", solved, cho_solve(inner, solved.T))
    return np.asarray(complete.diagonal_of_inverse() + lost)
