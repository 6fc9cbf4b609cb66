"""Fitted numbers on the axes of the table: all configs and all cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trialframe.kernels.irt import modes
from trialframe.kernels.irt_bootstrap import leverage
from trialframe.kernels.irt_checks import saturated
from trialframe.kernels.irt_fit import FARTHEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.irt._table import Table
    from trialframe.kernels.irt_fit import Items
    from trialframe.kernels.irt_information import Prior

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


MOST_USED = 0.5
"""Share of the information used up by the items that errors are corrected for at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Parameters and their errors; NaN where there is none.

    Attributes:
        a: Discriminations of cases, shape (I,). A saturated case without a prior has a
            discrimination of 1 and a far difficulty here, its limit.
        b: Difficulties, shape (I,).
        a_se: Standard errors of a.
        b_se: Standard errors of b.
        fitted: Cases with parameters of their own, shape (I,).
        theta: Abilities (posterior means), shape (J,).
        sd: Posterior standard deviations.
        curvature: Posterior precisions at the modes.
        growth: Factor of errors over cases for what fitting the items used up, shape (J,).
        tried: Configs with scored trials, shape (J,).
        loglik: Marginal log likelihood with binomial coefficients, or None.
        objective: The same plus the log prior without constants, or None.
        exact_errors: Whether errors of items hold the uncertainty of abilities.
        endless: Cases whose parameters run away, or None with samples.
        scales: Standard deviations of effects on the logit scale (hierarchical model).
        rate: Posterior mean pass probability of every cell, when it is not a curve.
    """

    a: Floats
    b: Floats
    a_se: Floats
    b_se: Floats
    fitted: Bools
    theta: Floats
    sd: Floats
    curvature: Floats
    growth: Floats
    tried: Bools
    loglik: float | None
    objective: float | None
    exact_errors: bool = True
    endless: Bools | None = None
    scales: dict[str, float] = field(default_factory=dict)
    rate: Floats | None = None

    @property
    def usable(self) -> Bools:
        """Cases whose pass probability is known for any ability."""
        return np.isfinite(self.b)


def solution_of(
    table: Table, configs: Bools, fitted: Bools, found: Items, prior: Prior
) -> Solution:
    """What EM found, on all configs and cases."""
    split = len(found.log_a)
    a = np.exp(np.broadcast_to(found.log_a, found.b.shape))
    errors = np.sqrt(found.variance)
    endless = np.zeros(len(fitted), dtype=bool)
    endless[fitted] = found.endless
    return placed(
        table,
        configs,
        fitted,
        items=(a, found.b, a * errors[:split], errors[split:]),
        abilities=(found.post.mean, found.post.sd),
        prior=prior,
        shared=split < len(found.b),
        loglik=found.loglik,
        objective=float(found.path[-1]),
        exact_errors=found.exact_errors,
        endless=endless,
    )


def placed(
    table: Table,
    configs: Bools,
    fitted: Bools,
    *,
    items: tuple[Floats, Floats, Floats, Floats],
    abilities: tuple[Floats, Floats],
    prior: Prior,
    shared: bool,
    loglik: float | None = None,
    objective: float | None = None,
    exact_errors: bool = True,
    endless: Bools | None = None,
    scales: dict[str, float] | None = None,
    rate: Floats | None = None,
) -> Solution:
    """Numbers of some configs and cases, put where they belong."""
    full = np.full((4, len(fitted)), np.nan)
    full[:, fitted] = np.stack([np.broadcast_to(part, int(fitted.sum())) for part in items])
    theta, sd = np.full((2, len(configs)), np.nan)
    theta[configs], sd[configs] = abilities
    curvature, growth = np.full((2, len(configs)), np.nan)
    part, a, b = table.cut(configs, fitted), full[0, fitted], full[1, fitted]
    _, curvature[configs] = modes(part, a, b, theta[configs])
    used = leverage(part, a, b, theta[configs], prior, shared=shared)
    growth[configs] = 1.0 / (1.0 - np.minimum(used, MOST_USED))
    kind = saturated(table.cells.passes, table.cells.trials)
    certain = ~fitted & (kind != 0)
    full[0, certain], full[1, certain] = 1.0, -FARTHEST * kind[certain]
    return Solution(
        a=full[0],
        b=full[1],
        a_se=full[2],
        b_se=full[3],
        fitted=fitted,
        theta=theta,
        sd=sd,
        curvature=curvature,
        growth=growth,
        tried=configs,
        loglik=loglik,
        objective=objective,
        exact_errors=exact_errors,
        endless=endless,
        scales=scales or {},
        rate=rate,
    )
