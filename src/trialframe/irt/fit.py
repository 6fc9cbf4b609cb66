"""Fit a one- or two-parameter logistic model to counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, CountsError, listed, short
from trialframe.irt import _notes
from trialframe.irt._frames import abilities_frame, items_frame
from trialframe.irt._solution import Solution, solution_of
from trialframe.irt._table import table_of
from trialframe.irt.bayes import Sampling, sampled
from trialframe.irt.result import Convergence, IrtFit
from trialframe.kernels.irt import hermite_rule
from trialframe.kernels.irt_checks import saturated
from trialframe.kernels.irt_fit import fit_items
from trialframe.kernels.irt_information import Prior

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from trialframe.irt._table import Table

    Bools: TypeAlias = NDArray[np.bool_]
    Priors: TypeAlias = str | Mapping[str, tuple[float, float] | None] | None

FEW_CONFIGS = 30
"""Configs below which discriminations of single cases are not reliably estimable."""

FIXED_TRIALS = 20
"""Trials per config above which fixed Gauss-Hermite nodes are too far apart."""

DEFAULT = {"log_a": (0.0, 0.5), "b": (0.0, 2.0)}
"""Mean and standard deviation of the normal priors."""

NODES = 61
MODELS = ("1pl", "2pl")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    model: str
    priors: dict[str, tuple[float, float]]
    quadrature: str
    nodes: int | None
    max_iter: int
    tol: float
    level: float
    draws: int
    chains: int
    progress: bool
    seed: int


def fit_irt(
    counts: Any,
    model: str | None = None,
    *,
    priors: Priors = "default",
    method: str = "mml",
    quadrature: str = "grid",
    nodes: int | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
    level: float = 0.95,
    draws: int = 1000,
    chains: int = 4,
    progress: str = "off",
    seed: int = 0,
) -> IrtFit:
    """Difficulty and discrimination of cases, ability of configs, from counts with gaps.

    Use it to see which cases tell configs apart, to choose a smaller suite, and to compare
    configs that tried different cases. Do not use it with a handful of configs to rank cases by
    discrimination, nor take its ability errors for more than they are: trials are taken as
    independent given the ability, and a config that is better at some cases than its ability
    says breaks that (`case_se` and `bootstrap` hold it).

    Args:
        counts: Counts, or trials of any kind, which are counted with `tr.counts` (trials without
            a verdict left out); at least 2 configs and 2 cases; cells may be missing or have n = 0.
        model: "1pl" (one discrimination for all cases) or "2pl"; None takes "1pl" below 30
            configs and "2pl" from there on. "hierarchical" (with method "pymc"): a logit with
            effects of config, case, and config by case.
        priors: "default": log a ~ N(0, 0.5^2), b ~ N(0, 2^2); a mapping such as
            {"log_a": (0, 0.3), "b": None} with mean and standard deviation; or None for
            plain marginal maximum likelihood.
        method: "mml" (EM, seconds) or "pymc" (samples of the posterior; needs the extra
            `bayes`).
        quadrature: "grid": equally spaced abilities, the step at most half of the narrowest
            posterior standard deviation; or "gauss-hermite": fixed nodes, for small tests.
        nodes: Number of Gauss-Hermite nodes, >= 3; None for 61.
        max_iter: The most EM iterations, >= 1.
        tol: Largest change of a parameter in the last iteration, > 0.
        level: Nominal coverage of the ability intervals, in (0, 1).
        draws: Draws per chain with "pymc", >= 100.
        chains: Chains with "pymc", >= 2.
        progress: "on" shows a progress bar with "pymc"; "off" does not.
        seed: Seed of "pymc"; "mml" draws nothing.

    Returns:
        The fit: `items`, `abilities`, how it converged, warnings, and methods to predict,
        pick cases and score subsets.

    Raises:
        CountsError: Fewer than 2 configs or cases with trials, or no case that two configs
            tried.
        ArgumentError: A setting that does not exist or is out of its range.
        ImportError: "pymc" without the extra `bayes`.

    Notes:
        P_ij = 1 / (1 + exp(-a_i (theta_j - b_i))), c_ij ~ Binomial(n_ij, P_ij), theta_j ~
        N(0, 1), which fixes location and scale; a_i > 0 fixes the sign. The objective is the
        marginal log likelihood with binomial coefficients minus sum (log a / 0.5)^2 / 2 and
        sum (b / 2)^2 / 2. Each iteration is an E-step over nodes and a Newton M-step that knows
        the information which unknown abilities take away, so few are needed. Standard errors
        come from the observed information. Cases that are passed (failed) by all keep a finite
        b through the prior and are flagged.

    References:
        Bock and Aitkin (1981), Psychometrika 46:443; Louis (1982), JRSS B 44:226; Polo et al.
        (2024), tinyBenchmarks, arXiv:2402.14992.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=[f"m{i}" for i in range(8)], cases=40, trials=5, seed=1)
        >>> fit = tr.fit_irt(tr.counts(trials))
        >>> fit.model, fit.convergence.converged, fit.items.height, fit.abilities.height
        ('1pl', True, 40, 8)
    """
    settings = _Settings(
        model=_model(model, method),
        priors=_priors(priors),
        quadrature=_checks.one_of(quadrature, "quadrature", ("grid", "gauss-hermite")),
        nodes=None if nodes is None else _checks.integer(nodes, "nodes", low=3, high=300),
        max_iter=_checks.integer(max_iter, "max_iter", low=1),
        tol=_checks.between(tol, "tol", low=0.0, high=1.0, inclusive=False),
        level=_checks.between(level, "level", inclusive=False),
        draws=_checks.integer(draws, "draws", low=100),
        chains=_checks.integer(chains, "chains", low=2),
        progress=_checks.one_of(progress, "progress", ("on", "off")) == "on",
        seed=_checks.integer(seed, "seed", low=0),
    )
    table = table_of(counts)
    configs, cases = _with_trials(table)
    chosen = settings.model or ("1pl" if configs.sum() < FEW_CONFIGS else "2pl")
    notes = list(_notes.of_choice(settings.model, chosen, int(configs.sum()), FEW_CONFIGS))
    if method == "pymc":
        how = Sampling(
            draws=settings.draws,
            chains=settings.chains,
            progress=settings.progress,
            seed=settings.seed,
        )
        solution, convergence, trace = sampled(table, configs, cases, chosen, settings.priors, how)
        return _result(table, solution, convergence, settings, chosen, method, notes, trace)
    solution, convergence, more = _mml(table, configs, cases, chosen, settings)
    return _result(table, solution, convergence, settings, chosen, method, notes + more)


def _result(
    table: Table,
    solution: Solution,
    convergence: Convergence,
    settings: _Settings,
    model: str,
    method: str,
    notes: list[str],
    trace: Any = None,
) -> IrtFit:
    abilities = abilities_frame(table, solution, settings.level)
    items = items_frame(table, solution)
    notes += _notes.of_data(items, abilities)
    notes += _notes.of_fit(solution, convergence, items, abilities)
    return IrtFit(
        model=model,
        method=method,
        configs=table.configs.len(),
        cases=table.cases.len(),
        trials=int(table.cells.trials.sum()),
        priors=_told(settings.priors),
        identification=_notes.identification(model),
        items=items,
        abilities=abilities,
        loglik=solution.loglik,
        objective=solution.objective,
        scales=solution.scales,
        convergence=convergence,
        level=settings.level,
        warnings=tuple(notes),
        table=table,
        solution=solution,
        trace=trace,
    )


def _model(model: str | None, method: str) -> str:
    """The model that was asked for; "" leaves it to the number of configs."""
    _checks.one_of(method, "method", ("mml", "pymc"))
    if model is None:
        return ""
    allowed = (*MODELS, "hierarchical") if method == "pymc" else MODELS
    if model == "hierarchical" and method != "pymc":
        raise ArgumentError('model == "hierarchical" is sampled: give method="pymc".')
    return _checks.one_of(model, "model", allowed)


def _priors(priors: Priors) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation by parameter; a parameter without a prior is absent."""
    if priors is None:
        return {}
    if isinstance(priors, str):
        _checks.one_of(priors, "priors", ("default",))
        return dict(DEFAULT)
    if not isinstance(priors, Mapping):
        raise ArgumentError(f'priors == {short(priors)}, must be "default", a mapping, or None.')
    made = dict(DEFAULT)
    for name, value in priors.items():
        _checks.one_of(name, "priors", tuple(DEFAULT))
        if value is None:
            made.pop(name)
            continue
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ArgumentError(f"priors[{name!r}] == {short(value)}, must be (mean, sd) or None.")
        mean = _checks.between(value[0], f"priors[{name!r}] mean", low=-10, high=10)
        sd = _checks.between(value[1], f"priors[{name!r}] sd", low=1e-3, high=1e3)
        made[name] = (mean, sd)
    return made


def _told(priors: dict[str, tuple[float, float]]) -> str:
    words = [f"{name} ~ N({mean:g}, {sd:g}^2)" for name, (mean, sd) in priors.items()]
    return ", ".join(words) or "none"


def _with_trials(table: Table) -> tuple[Bools, Bools]:
    """Configs and cases that have scored trials, or an error when too few do."""
    tried = table.cells.trials > 0
    configs, cases = np.asarray(tried.any(axis=1)), np.asarray(tried.any(axis=0))
    if not configs.any():
        raise CountsError("no config has a scored trial (n = 0 everywhere): nothing to fit.")
    for number, one, names in (
        (int(configs.sum()), "config", table.configs.filter(pl.Series(configs))),
        (int(cases.sum()), "case", table.cases.filter(pl.Series(cases))),
    ):
        if number < 2:
            raise CountsError(
                f"only one {one} has scored trials: {listed(names.to_list(), 1)}. Abilities and "
                f"difficulties are told apart by several configs on several cases: add a {one}."
            )
    if int(tried.sum(axis=0).max()) < 2:
        raise CountsError(
            "no case was tried by two configs, so that difficulty and ability cannot be told "
            "apart. Let the configs share cases, or check that case names are spelled alike."
        )
    return configs, cases


def prior_of(priors: dict[str, tuple[float, float]]) -> Prior:
    """Normal priors as means and precisions."""
    mean_a, sd_a = priors.get("log_a", (0.0, np.inf))
    mean_b, sd_b = priors.get("b", (0.0, np.inf))
    return Prior(
        mean_log_a=mean_a, precision_log_a=sd_a**-2.0, mean_b=mean_b, precision_b=sd_b**-2.0
    )


def _mml(
    table: Table, configs: Bools, cases: Bools, model: str, settings: _Settings
) -> tuple[Solution, Convergence, list[str]]:
    prior = prior_of(settings.priors)
    cells = table.cells
    # without a prior on b these have no maximum; they say nothing of abilities either
    endless = (saturated(cells.passes, cells.trials) != 0) & (prior.precision_b == 0)
    fitted = cases & ~endless
    if not fitted.any():
        raise CountsError(
            "every case is passed by all or failed by all: without priors there is nothing to "
            'fit. Leave priors="default", or add cases that some pass and some fail.'
        )
    part = table.cut(configs, fitted)
    fixed = hermite_rule(settings.nodes or NODES)
    rule = fixed if settings.quadrature == "gauss-hermite" else None
    found = fit_items(
        part,
        prior,
        shared=model == "1pl",
        rule=rule,
        max_iter=settings.max_iter,
        tol=settings.tol,
    )
    most = float(part.trials.sum(axis=1).max())
    notes = []
    if settings.quadrature == "gauss-hermite" and most > FIXED_TRIALS:
        notes.append(
            f'fixed nodes are too far apart for {most:,.0f} trials a config: use quadrature="grid"'
        )
    solution = solution_of(table, configs, fitted, found, prior)
    convergence = Convergence(
        converged=found.converged,
        iterations=len(found.path) - 1,
        gradient=found.gradient,
        path=tuple(float(value) for value in found.path),
        nodes=len(found.post.rule.nodes),
        status=found.status,
    )
    return solution, convergence, notes
