"""Marginal maximum likelihood and MAP of item parameters by EM on binomial counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import Posterior, Rule, grid_rule, log_coefficients, posterior
from trialframe.kernels.irt_information import (
    Complete,
    degree,
    derivatives,
    gaps,
    solver,
    variances,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells
    from trialframe.kernels.irt_information import Prior, Step

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]

STEEPEST = 4.0
"""Largest log discrimination of an item; the smallest is its negative."""

STEEPEST_SHARED = 8.0
"""The same where all items share it."""

FARTHEST = 50.0
"""Largest difficulty in absolute value."""

FLAT = 1e-3
"""Largest derivative at a maximum, over the root of its information (over 1, if that is less)."""

CONVERGED, ENDLESS, STUCK, SPENT = "converged", "no finite maximum", "stuck", "out of iterations"

_LONGEST = (0.5, 1.0)  # most that log a and b change in one step
_NEAR = 0.05  # steps below which the grid is made fine
_HALVINGS = 8
_WORK = 5e7  # multiplications for the missing information in one step
_WORK_OF_ERRORS = 1e9  # the same for standard errors
_RIDGE = 1e-6  # information added where an item has none left, so that the others can move
_ENOUGH = 0.01  # gain of log likelihood below which a climb without a top is left
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
        status: "converged": steps below the tolerance, none of them cut short, derivatives below
            `FLAT`; "no finite maximum": parameters of some items run away; "stuck": no step
            climbs; "out of iterations".
        endless: Items whose parameters run away: at a bound, with no information left, or, when
            there are such, still far from a maximum of their own; shape (I,).
    """

    log_a: Floats
    b: Floats
    variance: Floats
    exact_errors: bool
    post: Posterior
    loglik: float
    path: Floats
    gradient: float
    status: str
    endless: Bools

    @property
    def converged(self) -> bool:
        """Whether a maximum was reached."""
        return self.status == CONVERGED


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
    path, still = [state.objective], False
    for _ in range(max_iter):
        if not fine:
            state = _rescaled(state, prior)
        moves = _moves(cells, state, prior)
        found = _climbed(cells, state, moves, prior, rule, fine=fine)
        moved = float(np.max(np.abs(found.point - state.point), initial=0.0))
        gained, state = found.objective - state.objective, found
        if fine:
            path.append(state.objective)
            still = moved < tol and gained < max(tol, 1e-10 * abs(state.objective))
            endless = np.abs(state.point) >= _bounds(state)
            if still or (gained < _ENOUGH and bool(endless.any())):
                break
        elif moved < _NEAR:
            fine = True
            state = _state(cells, state.log_a, state.b, state.start, prior, rule, fine=True)
            path.append(state.objective)
        else:
            path.append(state.objective)
    if not fine:
        state = _state(cells, state.log_a, state.b, state.start, prior, rule, fine=True)
    return _finished(cells, state, prior, constant, np.array(path), still=still)


def _finished(
    cells: Cells,
    state: _State,
    prior: Prior,
    constant: float,
    path: Floats,
    *,
    still: bool,
) -> Items:
    step = derivatives(cells, state.log_a, state.b, state.post, prior)
    count = degree(cells, len(state.post.rule.nodes), work=_WORK_OF_ERRORS, least=2)
    low_rank = gaps(cells, state.log_a, state.b, state.post, count) if count else None
    endless = _endless(state, step)
    return Items(
        log_a=state.log_a,
        b=state.b,
        variance=variances(step.observed, low_rank),
        exact_errors=bool(count),
        post=state.post,
        loglik=float(state.post.loglik.sum()) + constant,
        path=path + constant,
        gradient=float(np.max(np.abs(step.gradient), initial=0.0)),
        status=ENDLESS if endless.any() else _status(state, step, low_rank, still=still),
        endless=endless,
    )


def _bounds(state: _State) -> Floats:
    """Largest absolute value of every parameter, shape (P,)."""
    split = len(state.log_a)
    steepest = STEEPEST if split == len(state.b) else STEEPEST_SHARED
    return np.repeat([steepest, FARTHEST], [split, len(state.b)])


def _endless(state: _State, step: Step) -> Bools:
    """Items at a bound, or whose curve is flat wherever there are abilities, shape (I,)."""
    split = len(state.log_a)
    out = np.abs(state.point) >= _bounds(state) - 1e-6
    flat = step.expected.bb < _RIDGE
    if split == len(state.b):
        flat |= step.expected.schur < _RIDGE
    endless = np.asarray(out[:split] | out[split:] | flat)
    if split < len(state.b) or not endless.any():
        return endless
    return np.asarray(endless | _underway(state, step))


def _underway(state: _State, step: Step) -> Bools:
    """Items on their way out: far from a maximum of their own when the climb was left, (I,)."""
    own = step.observed
    hill = (own.bb > 0) & (own.schur > 0)
    split = len(state.log_a)
    slope_a, slope_b = step.gradient[:split], step.gradient[split:]
    bb, schur = np.where(hill, own.bb, 1.0), np.where(hill, own.schur, 1.0)
    move_a = (slope_a - own.ab / bb * slope_b) / schur
    move_b = (slope_b - own.ab * move_a) / bb
    return np.asarray(~hill | (np.abs(move_a) >= _LONGEST[0]) | (np.abs(move_b) >= _LONGEST[1]))


def _status(state: _State, step: Step, low_rank: Floats | None, *, still: bool) -> str:
    """How it ended where every item is finite."""
    if not still:
        return SPENT
    held = np.concatenate([step.expected.aa, step.expected.bb])
    steep = np.abs(step.gradient) > FLAT * np.sqrt(np.maximum(held, 1.0))
    solve = solver(step.observed, low_rank) or solver(step.expected, None)
    # a step still cut short is no end, however little the objective gained
    cut = solve is None or bool(np.any(np.abs(solve(step.gradient)) >= _most(state)))
    return STUCK if cut or steep.any() else CONVERGED


def _most(state: _State) -> Floats:
    """The most that every parameter changes in one step, shape (P,)."""
    return np.repeat(_LONGEST, [len(state.log_a), len(state.b)])


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
    inside = bool(np.all(np.abs(made.point) <= _bounds(made)))
    return made if inside and made.objective > state.objective else state


def _moves(cells: Cells, state: _State, prior: Prior) -> list[Floats]:
    """Directions to try: with the missing information, then without it (plain EM)."""
    step = derivatives(cells, state.log_a, state.b, state.post, prior)
    # a parameter that its bound holds does not pull at the others
    held = (np.abs(state.point) >= _bounds(state)) & (step.gradient * state.point > 0)
    gradient = np.where(held, 0.0, step.gradient)
    count = degree(cells, len(state.post.rule.nodes), work=_WORK)
    most, moves = _most(state), []
    if count:
        low_rank = gaps(cells, state.log_a, state.b, state.post, count)
        for complete in (step.observed, step.expected):
            solve = solver(complete, low_rank)
            if solve is not None:
                moves.append(np.clip(solve(gradient), -most, most))
                break
    plain = solver(step.expected, None) or solver(_firm(step.expected), None)
    if plain is not None:
        moves.append(_shortened(plain(gradient), most, len(state.log_a)))
    return moves


def _firm(complete: Complete) -> Complete:
    return replace(complete, aa=complete.aa + _RIDGE, bb=complete.bb + _RIDGE)


def _shortened(move: Floats, most: Floats, split: int) -> Floats:
    """No parameter moves far in one step, and the step still climbs.

    Both parameters of an item are shortened alike (with one discrimination for all, all items
    are): cutting one and not the other may lead downhill.
    """
    excess = np.maximum(np.abs(move) / most, 1.0)
    shared = split < len(move) - split
    factor = excess.max() if shared else np.tile(np.maximum(excess[:split], excess[split:]), 2)
    return np.asarray(move / factor)


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
    split, bounds = len(state.log_a), _bounds(state)
    slack = 1e-11 * (1 + abs(state.objective))
    for move in moves:
        length = 1.0
        for _ in range(_HALVINGS):
            point = np.clip(state.point + length * move, -bounds, bounds)
            found = _state(cells, point[:split], point[split:], state.start, prior, rule, fine=fine)
            if found.objective >= state.objective - slack:
                return found
            length /= 2
    return state
