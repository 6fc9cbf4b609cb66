"""Marginal maximum likelihood and MAP of item parameters by EM on binomial counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import Posterior, Rule, grid_rule, log_coefficients, posterior
from trialframe.kernels.irt_information import degree, derivatives, gaps, solver, variances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells
    from trialframe.kernels.irt_information import Prior

    Floats: TypeAlias = NDArray[np.float64]

STEEPEST = 4.0
"""Largest log discrimination of an item; the smallest is its negative."""

STEEPEST_SHARED = 8.0
"""The same where all items share it."""

FARTHEST = 50.0
"""Largest difficulty in absolute value."""

_LONGEST = (0.5, 1.0)  # most that log a and b change in one step
_NEAR = 0.05  # steps below which the grid is made fine
_HALVINGS = 8
_WORK = 5e7  # multiplications for the missing information in one step
_WORK_OF_ERRORS = 1e9  # the same for standard errors
_STRETCH = 0.5  # most that the scale of abilities changes between two steps, as a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Fitted item parameters.

    Attributes:
        log_a: Log discriminations, shape (I,) or (1,).
        b: Difficulties, shape (I,).
        variance: Of log a and b from the observed information, shape (P,); NaN where unknown.
        exact_errors: Whether the variances hold the uncertainty of abilities.
        post: Posterior of the abilities.
        loglik: Marginal log likelihood with binomial coefficients.
        path: Objective (log likelihood plus log prior without constants) after every iteration.
        gradient: Largest absolute first derivative at the end.
        converged: Whether steps became smaller than the tolerance.
    """

    log_a: Floats
    b: Floats
    variance: Floats
    exact_errors: bool
    post: Posterior
    loglik: float
    path: Floats
    gradient: float
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    log_a: Floats
    b: Floats
    post: Posterior
    objective: float
    start: Floats

    @property
    def point(self) -> Floats:
        return np.concatenate([self.log_a, self.b])


def penalty(log_a: Floats, b: Floats, prior: Prior) -> float:
    """Minus the log prior without its normal constants."""
    pull = prior.precision_log_a * np.sum(np.square(log_a - prior.mean_log_a))
    return float(0.5 * (pull + prior.precision_b * np.sum(np.square(b - prior.mean_b))))


def starting_values(cells: Cells) -> tuple[Floats, Floats]:
    """Abilities and difficulties from pass rates on the logit scale, shapes (J,) and (I,)."""
    ease = np.zeros(cells.trials.shape[1])
    theta = np.zeros(len(cells.trials))
    for _ in range(3):  # rows and columns by turns, as who tried what may differ
        theta = _balanced(cells.passes, cells.trials, ease)
        theta -= theta.mean()
        ease = _balanced(cells.passes.T, cells.trials.T, theta)
    spread = theta.std()
    scale = 1.0 / spread if spread > 1e-8 else 1.0
    return np.clip(theta * scale, -3, 3), np.clip(-ease, -5, 5)


def _balanced(passes: Floats, trials: Floats, other: Floats) -> Floats:
    """Logit of each row's rate minus the mean of the column effects it met."""
    n, c = trials.sum(axis=1), passes.sum(axis=1)
    met = trials @ other / np.maximum(n, 1)
    return np.asarray(np.log((c + 0.5) / (n - c + 0.5)) - met)


def fit_items(
    cells: Cells,
    prior: Prior,
    *,
    shared: bool,
    rule: Rule | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> Items:
    """Fit items to counts; every config and every item must have trials.

    Each iteration is one E-step over quadrature nodes and one Newton step of the M-step, sharpened
    by the information that unknown abilities take away (Louis) wherever that is definite; a step
    that lowers the objective is halved, so the path never falls.

    Args:
        cells: Passes and trials.
        prior: Priors of log a and b.
        shared: One discrimination for all items (1PL).
        rule: Fixed nodes; None makes a grid that follows the posteriors.
        max_iter: The most iterations.
        tol: Largest change of a parameter that counts as none.
    """
    theta, b = starting_values(cells)
    log_a = np.zeros(1 if shared else len(b))
    fine, constant = rule is not None, log_coefficients(cells)
    state = _state(cells, log_a, b, theta, prior, rule, fine=fine)
    path, converged = [state.objective], False
    for _ in range(max_iter):
        if not fine:
            state = _rescaled(state, prior)
        moves = _moves(cells, state, prior)
        found = _climbed(cells, state, moves, prior, rule, fine=fine)
        moved = float(np.max(np.abs(found.point - state.point), initial=0.0))
        gained, state = found.objective - state.objective, found
        if fine:
            path.append(state.objective)
            converged = moved < tol and gained < max(tol, 1e-10 * abs(state.objective))
            if converged:
                break
        elif moved < _NEAR:
            fine = True
            state = _state(cells, state.log_a, state.b, state.start, prior, rule, fine=True)
            path.append(state.objective)
        else:
            path.append(state.objective)
    if not fine:
        state = _state(cells, state.log_a, state.b, state.start, prior, rule, fine=True)
    return _finished(cells, state, prior, constant, np.array(path), converged=converged)


def _finished(
    cells: Cells,
    state: _State,
    prior: Prior,
    constant: float,
    path: Floats,
    *,
    converged: bool,
) -> Items:
    step = derivatives(cells, state.log_a, state.b, state.post, prior)
    count = degree(cells, len(state.post.rule.nodes), work=_WORK_OF_ERRORS, least=2)
    low_rank = gaps(cells, state.log_a, state.b, state.post, count) if count else None
    return Items(
        log_a=state.log_a,
        b=state.b,
        variance=variances(step.observed, low_rank),
        exact_errors=bool(count),
        post=state.post,
        loglik=float(state.post.loglik.sum()) + constant,
        path=path + constant,
        gradient=float(np.max(np.abs(step.gradient), initial=0.0)),
        converged=converged,
    )


def _state(
    cells: Cells,
    log_a: Floats,
    b: Floats,
    start: Floats,
    prior: Prior,
    rule: Rule | None,
    *,
    fine: bool,
) -> _State:
    a = np.broadcast_to(np.exp(log_a), b.shape)
    if rule is None:
        rule, start = grid_rule(cells, a, b, start, fineness=0.5 if fine else 1.0)
    post = posterior(cells, a, b, rule)
    objective = float(post.loglik.sum()) - penalty(log_a, b, prior)
    return _State(log_a=log_a, b=b, post=post, objective=objective, start=start)


def _rescaled(state: _State, prior: Prior) -> _State:
    """The same curves on the scale of abilities that the priors like best.

    Abilities (theta - m) / s with slopes a s and difficulties (b - m) / s have the same pass
    probabilities, so only the priors change: two numbers to find, without a pass over the counts.
    Steps of Newton along this curve would be short.
    """
    from scipy.optimize import minimize

    post = state.post
    nodes, split = post.rule.nodes, len(state.log_a)
    with np.errstate(divide="ignore"):
        curve = np.log(post.weight) + post.loglik[:, None] - post.rule.logweight
    steepest = STEEPEST if split == len(state.b) else STEEPEST_SHARED
    room = min(_STRETCH, max(steepest - float(state.log_a.max()), 0.0))
    spacing = post.rule.logweight + 0.5 * np.square(nodes)

    def found(shift: Floats) -> _State:
        mean, scale = shift[0], np.exp(shift[1])
        place = (nodes - mean) / scale
        rule = Rule(nodes=place, logweight=spacing - shift[1] - 0.5 * np.square(place))
        logs = curve + rule.logweight
        top = logs.max(axis=1, keepdims=True)
        weight = np.exp(logs - top)
        total = weight.sum(axis=1, keepdims=True)
        loglik = (top + np.log(total)).ravel()
        moved = Posterior(weight=weight / total, loglik=loglik, rule=rule, curves=post.curves)
        log_a, b = state.log_a + shift[1], (state.b - mean) / scale
        objective = float(loglik.sum()) - penalty(log_a, b, prior)
        start = (state.start - mean) / scale
        return _State(log_a=log_a, b=b, post=moved, objective=objective, start=start)

    best = minimize(
        lambda shift: -found(shift).objective,
        np.zeros(2),
        method="L-BFGS-B",
        bounds=[(-_STRETCH, _STRETCH), (-_STRETCH, room)],
        options={"maxiter": 20},
    )
    made = found(np.asarray(best.x))
    return made if made.objective > state.objective else state


def _moves(cells: Cells, state: _State, prior: Prior) -> list[Floats]:
    """Directions to try: with the missing information, then without it (plain EM)."""
    step = derivatives(cells, state.log_a, state.b, state.post, prior)
    count = degree(cells, len(state.post.rule.nodes), work=_WORK)
    moves = []
    if count:
        low_rank = gaps(cells, state.log_a, state.b, state.post, count)
        for complete in (step.observed, step.expected):
            solve = solver(complete, low_rank)
            if solve is not None:
                moves.append(solve(step.gradient))
                break
    plain = solver(step.expected, None)
    if plain is not None:
        moves.append(plain(step.gradient))
    return [_bounded(move, len(state.log_a)) for move in moves]


def _bounded(move: Floats, split: int) -> Floats:
    """No parameter moves far in one step; the others keep theirs."""
    most = np.repeat(_LONGEST, [split, len(move) - split])
    return np.clip(move, -most, most)


def _climbed(
    cells: Cells,
    state: _State,
    moves: list[Floats],
    prior: Prior,
    rule: Rule | None,
    *,
    fine: bool,
) -> _State:
    """The first point along the directions that is not lower, or the point itself."""
    split = len(state.log_a)
    steepest = STEEPEST if split == len(state.b) else STEEPEST_SHARED
    slack = 1e-11 * (1 + abs(state.objective))
    for move in moves:
        length = 1.0
        for _ in range(_HALVINGS):
            log_a = np.clip(state.log_a + length * move[:split], -steepest, steepest)
            b = np.clip(state.b + length * move[split:], -FARTHEST, FARTHEST)
            found = _state(cells, log_a, b, state.start, prior, rule, fine=fine)
            if found.objective >= state.objective - slack:
                return found
            length /= 2
    return state
