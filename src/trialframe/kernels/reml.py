"""Restricted maximum likelihood for configs crossed with cases, with ragged and empty cells.

The likelihood needs the runs only through n, mean and spread of each cell. Case effects are
integrated out case by case, so one evaluation costs O(J^2 M) for J configs and M cases, where a
general mixed-model program builds matrices over all runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.anova import Cells

    Floats: TypeAlias = NDArray[np.float64]

CONFIG, CASE, CONFIG_CASE, RUN = range(4)

# variances are searched from here up, relative to the total: a perfect fit has no maximum
_LOWEST = 1e-8
_NOTHING = 1e-7  # relative: what ends below is 0
_STEP = 1e-4  # relative step of the differences that make Hessian and influences
_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reml:
    """A fitted model of config, case, config x case and run.

    Attributes:
        components: Variances in that order, shape (4,), >= 0. With one run everywhere the last
            is NaN and the third holds both.
        deviance: -2 times the restricted log-likelihood, constants left out.
        converged: Whether the slope is 0 at the end.
        influence: What one more copy of each case would add to the components, to first order,
            shape (M, 4); 0 for components at 0.
    """

    components: Floats
    deviance: float
    converged: bool
    influence: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """Cells in the form that an evaluation needs, the variance of their means scaled to 1.

    Attributes:
        y: Cell means, shape (J, M).
        inverse: 1 / n, shape (J, M).
        known: 1.0 where there is a run, shape (J, M).
        within: Sum of squares within the cells of a case, shape (M,).
        freedom: Its degrees of freedom, shape (M,).
    """

    y: Floats
    inverse: Floats
    known: Floats
    within: Floats
    freedom: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What one evaluation leaves for deviance, slope and influence.

    Attributes:
        p: Precision of a cell given its case, shape (J, M), 0 where empty.
        logdet: log determinant of the covariance of each case's cells, shape (M,).
        g: v_case / (1 + v_case sum of p), shape (M,).
        errors: Covariance of the errors of mu + a_j, shape (J, J).
        residual: y - mu - a_j, shape (J, M), 0 where empty.
        of_configs: log determinant of what config effects and mu add.
        slope_config: Derivative of the deviance in v_config.
        quadratic: The part of the deviance that config effects add.
    """

    p: Floats
    logdet: Floats
    g: Floats
    errors: Floats
    residual: Floats
    of_configs: float
    slope_config: float
    quadratic: float


def reml(cells: Cells) -> Reml:
    """Fit y_ijr = mu + a_i + t_j + (at)_ij + e_ijr by restricted maximum likelihood.

    Args:
        cells: J >= 2 configs by M >= 2 cases; empty cells are simply not there. Configs and
            cases must hang together: blocks that share nothing cannot be set against each other.

    Notes:
        Minimises log|V| + log|1' V^-1 1| + r' V^-1 r over variances >= 0, V the covariance of
        the cell means, plus the part within cells, sum (n - 1) log v_e + SS_e / v_e. In balanced
        data with no negative component it agrees with the analysis of variance.

    References:
        Patterson and Thompson (1971), Biometrika 58:545; Searle, Casella and McCulloch (1992),
        Variance Components, chapter 6.

    Example:
        >>> from trialframe.kernels.anova import cells_of
        >>> s = np.array([[2.0, 1.0, 2.0], [1.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
        >>> got = reml(cells_of(np.full((3, 3), 2), s, s))
        >>> got.components.round(3).tolist(), got.converged
        ([0.083, 0.056, 0.0, 0.167], True)
    """
    from scipy.optimize import minimize

    data, scale = _prepared(cells)
    free = 4 if data.freedom.sum() > 0 else 3
    if scale == 0.0:
        nothing = np.array([0.0, 0.0, 0.0, 0.0 if free == 4 else np.nan])
        influence = np.zeros((cells.n.shape[1], 4))
        return Reml(components=nothing, deviance=-np.inf, converged=True, influence=influence)
    theta, converged = np.full(free, 1.0 / free), False
    for tolerance in (1e-8, 1e-12, 1e-15):  # Newton's method settles nearly all after the first
        found = minimize(
            lambda at: _deviance(at, data),
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=[(_LOWEST, None)] * free,
            options={"ftol": tolerance, "gtol": tolerance, "maxiter": 500},
        )
        theta, converged = _polished(np.asarray(found.x), data)
        if converged:
            break
    components = np.full(4, np.nan)
    components[:free] = np.where(theta > _NOTHING, theta, 0.0) * scale
    influence = np.zeros((cells.n.shape[1], 4))
    influence[:, :free] = _influence(theta, data) * scale
    deviance = _deviance(theta, data)[0]
    return Reml(components=components, deviance=deviance, converged=converged, influence=influence)


def _prepared(cells: Cells) -> tuple[_Data, float]:
    """Cells divided by the square root of their variance, and that variance."""
    known = cells.n > 0
    used = cells.mean[known]
    centre = float(used.mean())
    spread = float(((used - centre) ** 2).mean())
    left = int(np.maximum(cells.n - 1, 0).sum())
    scale = spread + (float(cells.within.sum()) / left if left else 0.0)
    by = scale if scale > 0 else 1.0
    data = _Data(
        y=np.where(known, (cells.mean - centre) / np.sqrt(by), 0.0),
        inverse=1.0 / np.maximum(cells.n, 1),
        known=known.astype(np.float64),
        within=cells.within.sum(axis=0) / by,
        freedom=np.maximum(cells.n - 1, 0).sum(axis=0).astype(np.float64),
    )
    return data, scale


def _state(theta: Floats, data: _Data) -> _State:
    """Solve the mixed-model equations of configs, cases already integrated out."""
    config, case, inside = theta[:3]
    noise = theta[RUN] if len(theta) > RUN else 0.0
    d = inside + noise * data.inverse
    p = data.known / d
    total = p.sum(axis=0)
    g = case / (1.0 + case * total)
    a = np.diag(p.sum(axis=1)) - (p * g) @ p.T
    b = (p * data.y).sum(axis=1) - p @ (g * (p * data.y).sum(axis=0))
    configs = len(a)
    ones = a.sum(axis=1)
    # (I + v A)^-1 stays defined when the variance of configs is 0
    solved = np.linalg.solve(np.eye(configs) + config * a, np.eye(configs))
    shrunk = config * solved
    weight = float(ones.sum() - ones @ shrunk @ ones)
    mean = float(b.sum() - ones @ shrunk @ b) / weight
    effects = shrunk @ (b - ones * mean)
    tilt = 1.0 - shrunk @ ones
    residual = (data.y - mean - effects[:, None]) * data.known
    # derivative in v_config: trace of A P_a minus the square of the score
    score = b - a @ effects - ones * mean
    projected = solved.T @ a
    lost = ones @ solved
    return _State(
        p=p,
        logdet=(np.log(d) * data.known).sum(axis=0) + np.log1p(case * total),
        g=g,
        errors=shrunk + np.outer(tilt, tilt) / weight,
        residual=residual,
        of_configs=float(np.linalg.slogdet(np.eye(configs) + config * a)[1] + np.log(weight)),
        slope_config=float(np.trace(projected) - lost @ lost / weight - score @ score),
        quadratic=float(effects @ score),
    )


def _deviance(theta: Floats, data: _Data) -> tuple[float, Floats]:
    """-2 times the restricted log-likelihood, and its slope."""
    state = _state(theta, data)
    pr = state.p * state.residual
    quadratic = float((pr * state.residual).sum() - state.g @ pr.sum(axis=0) ** 2)
    value = float(state.logdet.sum()) + state.of_configs + quadratic + state.quadratic
    slope = np.empty(len(theta))
    slope[CONFIG] = state.slope_config
    slope[CASE], slope[CONFIG_CASE], run = _slopes(state, data)
    if len(theta) > RUN:
        freedom, within = float(data.freedom.sum()), float(data.within.sum())
        value += freedom * np.log(theta[RUN]) + within / theta[RUN]
        slope[RUN] = run + freedom / theta[RUN] - within / theta[RUN] ** 2
    return value, slope


def _slopes(state: _State, data: _Data) -> tuple[float, float, float]:
    """Slopes in case, config x case and, without the part within cells, run."""
    p, g, t = state.p, state.g, state.errors
    reach = t @ p
    across = (p * reach).sum(axis=0)
    total = p.sum(axis=0)
    # Q = diag(p) - g p p', the inverse of the covariance of a case's cells
    own = p - g * p**2
    seen = p**2 * np.diag(t)[:, None] - 2.0 * g * p**2 * reach + g**2 * p**2 * across
    pr = p * state.residual
    u = pr - g * p * pr.sum(axis=0)
    left = 1.0 - g * total
    case = float((total * left).sum() - (left**2 * across).sum() - (u.sum(axis=0) ** 2).sum())
    each = own - seen - u**2
    return case, float(each.sum()), float((each * data.inverse).sum())


def _per_case(theta: Floats, data: _Data) -> Floats:
    """Derivative of the deviance in how often each case counts, shape (M,)."""
    state = _state(theta, data)
    p, g = state.p, state.g
    trace = (p * np.diag(state.errors)[:, None]).sum(axis=0) - g * (p * (state.errors @ p)).sum(
        axis=0
    )
    pr = p * state.residual
    made: Floats = (
        state.logdet + trace + (pr * state.residual).sum(axis=0) - g * pr.sum(axis=0) ** 2
    )
    if len(theta) > RUN:
        made = made + data.freedom * np.log(theta[RUN]) + data.within / theta[RUN]
    return made


def _hessian(theta: Floats, free: NDArray[np.bool_], data: _Data) -> Floats:
    """Second derivatives over the free variances, from differences of the slope."""
    places = np.flatnonzero(free)
    made = np.empty((len(places), len(places)))
    for i, place in enumerate(places):  # at most four
        step = np.zeros_like(theta)
        step[place] = _STEP * theta[place]
        rise = _deviance(theta + step, data)[1] - _deviance(theta - step, data)[1]
        made[i] = rise[places] / (2.0 * step[place])
    return (made + made.T) / 2.0


def _polished(theta: Floats, data: _Data) -> tuple[Floats, bool]:
    """A few Newton steps over the variances that are not at 0."""
    for _ in range(_ROUNDS):
        value, slope = _deviance(theta, data)
        free = (theta > _NOTHING) | (slope < 0)
        size = np.abs(slope[free] * theta[free]).max(initial=0.0)
        if size < 1e-9 * max(1.0, abs(value)):
            return theta, True
        step = np.linalg.lstsq(_hessian(theta, free, data), slope[free], rcond=None)[0]
        best = theta
        for share in (1.0, 0.5, 0.1, 0.01):
            tried = theta.copy()
            tried[free] = np.maximum(theta[free] - share * step, _LOWEST)
            if _deviance(tried, data)[0] <= value:
                best = tried
                break
        if best is theta:
            return theta, bool(size < 1e-5 * max(1.0, abs(value)))
        theta = best
    return theta, False


def _influence(theta: Floats, data: _Data) -> Floats:
    """First-order change of the variances when a case counts once more, shape (M, free)."""
    free = theta > _NOTHING
    made = np.zeros((len(data.within), len(theta)))
    if not free.any():
        return made
    rises = []
    for place in np.flatnonzero(free):  # at most four
        step = np.zeros_like(theta)
        step[place] = _STEP * theta[place]
        rise = _per_case(theta + step, data) - _per_case(theta - step, data)
        rises.append(rise / (2.0 * step[place]))
    solved = np.linalg.lstsq(_hessian(theta, free, data), np.array(rises), rcond=None)[0]
    made[:, free] = -solved.T
    return made
