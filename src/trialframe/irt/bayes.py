"""The same models, and a hierarchical logit, sampled with PyMC."""

from __future__ import annotations

import importlib
import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe._optional import require
from trialframe.errors import ArgumentError
from trialframe.irt._solution import Solution, placed
from trialframe.irt.result import Convergence
from trialframe.kernels.irt_information import Prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.irt._table import Table
    from trialframe.kernels.irt import Cells

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

RHAT, ESS = 1.01, 400.0
"""R-hat above which, and bulk effective sample size below which, draws are not to be used."""

SPREAD = 1.5
"""Scale of the half-normal priors of standard deviations on the logit scale."""

EFFECTS = ("config", "case", "cell")
_BATCH = 2**23


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to sample.

    Attributes:
        draws: Draws per chain, after as many to tune.
        chains: Number of chains.
        progress: Whether to show a progress bar.
        seed: Seed of the chains.
    """

    draws: int
    chains: int
    progress: bool
    seed: int


def sampled(
    table: Table,
    configs: Bools,
    cases: Bools,
    model: str,
    priors: dict[str, tuple[float, float]],
    how: Sampling,
) -> tuple[Solution, Convergence, Any]:
    """Sample the posterior of a model, and say how well the chains agree.

    Args:
        table: The counts.
        configs: Configs with trials.
        cases: Cases with trials.
        model: "1pl", "2pl" or "hierarchical".
        priors: Mean and standard deviation of log_a and b.
        how: Draws, chains, seed.
    """
    pymc = require("pymc", extra="bayes", purpose="posterior samples")
    if model != "hierarchical" and len(priors) < 2:
        raise ArgumentError(
            'method == "pymc" needs priors of log_a and b. Leave priors="default", or use '
            'method="mml".'
        )
    part = table.cut(configs, cases)
    if model == "hierarchical":
        built = _hierarchical(pymc, part)
    else:
        built = _curves(pymc, part, model, priors)
    trace = _drawn(pymc, built, how)
    draws = {
        name: np.asarray(values).reshape(-1, *values.shape[2:])
        for name, values in trace.posterior.data_vars.items()
    }
    convergence = _checked(trace, how)
    summed = _of_logit if model == "hierarchical" else _of_curves
    return summed(table, configs, cases, draws), convergence, trace


def _curves(pymc: Any, part: Cells, model: str, priors: dict[str, tuple[float, float]]) -> Any:
    configs, items = part.trials.shape
    row, column = np.nonzero(part.trials)
    with pymc.Model() as built:
        theta = pymc.Normal("theta", 0.0, 1.0, shape=configs)
        shape = items if model == "2pl" else 1
        log_a = pymc.Normal("log_a", *priors["log_a"], shape=shape)
        b = pymc.Normal("b", *priors["b"], shape=items)
        slope = pymc.math.exp(log_a)[column if model == "2pl" else np.zeros_like(column)]
        _outcomes(pymc, part, slope * (theta[row] - b[column]))
    return built


def _hierarchical(pymc: Any, part: Cells) -> Any:
    configs, items = part.trials.shape
    row, column = np.nonzero(part.trials)
    with pymc.Model() as built:
        level = pymc.Normal("level", 0.0, 2.0)
        sd = {name: pymc.HalfNormal(f"sd_{name}", SPREAD) for name in EFFECTS}
        theta = pymc.Deterministic("theta", sd["config"] * pymc.Normal("z_config", shape=configs))
        case = pymc.Deterministic("ease", sd["case"] * pymc.Normal("z_case", shape=items))
        cell = sd["cell"] * pymc.Normal("z_cell", shape=len(row))
        _outcomes(pymc, part, level + theta[row] + case[column] + cell)
    return built


def _outcomes(pymc: Any, part: Cells, logit: Any) -> None:
    seen = part.trials > 0
    n, c = part.trials[seen].astype(np.int64), part.passes[seen].astype(np.int64)
    pymc.Binomial("passes", n=n, logit_p=logit, observed=c)


def _drawn(pymc: Any, built: Any, how: Sampling) -> Any:
    """Samples by nutpie where it is installed, by PyMC itself otherwise; quietly."""
    sampler = "nutpie" if _importable("nutpie") and _importable("numba") else "pymc"
    log = logging.getLogger("pymc")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        # what samplers warn of is checked and reported by `_checked`
        with warnings.catch_warnings(), built:
            warnings.simplefilter("ignore")
            return pymc.sample(
                draws=how.draws,
                tune=how.draws,
                chains=how.chains,
                random_seed=how.seed,
                progressbar=how.progress,
                nuts_sampler=sampler,
                compute_convergence_checks=False,
            )
    finally:
        log.setLevel(before)


def _is_tree(trace: Any) -> bool:
    """Whether samples come as a tree of data sets, as from ArviZ 1 on."""
    return hasattr(trace.posterior, "to_dataset")


def _importable(module: str) -> bool:
    """Whether a module can be imported, not only found: it may lack something itself."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _checked(trace: Any, how: Sampling) -> Convergence:
    arviz = require("arviz", extra="bayes", purpose="checks of posterior samples")
    names = [name for name in trace.posterior.data_vars if not name.startswith("z_")]
    kept = trace.posterior.to_dataset() if _is_tree(trace) else trace.posterior
    rhat, ess = (check(kept[names]) for check in (arviz.rhat, arviz.ess))
    worst = max(float(np.max(rhat[name].values)) for name in names)
    least = min(float(np.min(ess[name].values)) for name in names)
    diverged = int(np.sum(np.asarray(trace.sample_stats["diverging"])))
    converged = worst <= RHAT and least >= ESS and not diverged
    return Convergence(
        converged=converged,
        status="converged" if converged else "chains disagree",
        iterations=how.draws * how.chains,
        rhat=worst,
        ess=least,
        divergences=diverged,
    )


def _of_curves(table: Table, configs: Bools, cases: Bools, draws: dict[str, Floats]) -> Solution:
    a, b, theta = np.exp(draws["log_a"]), draws["b"], draws["theta"]
    return placed(
        table,
        configs,
        cases,
        items=(a.mean(axis=0), b.mean(axis=0), a.std(axis=0), b.std(axis=0)),
        abilities=(theta.mean(axis=0), theta.std(axis=0)),
        prior=Prior(precision_log_a=4.0, precision_b=0.25),
        shared=a.shape[1] == 1,
    )


def _of_logit(table: Table, configs: Bools, cases: Bools, draws: dict[str, Floats]) -> Solution:
    """Config effects as abilities and minus (level + case effect) as difficulties, slope 1."""
    hard = -(draws["level"][:, None] + draws["ease"])
    one, sure = np.ones(1), np.full(1, np.nan)
    rate = np.full(table.cells.trials.shape, np.nan)
    rate[np.ix_(configs, cases)] = _mean_rates(table.cut(configs, cases), draws, hard)
    return placed(
        table,
        configs,
        cases,
        items=(one, hard.mean(axis=0), sure, hard.std(axis=0)),
        abilities=(draws["theta"].mean(axis=0), draws["theta"].std(axis=0)),
        prior=Prior(precision_b=1.0 / max(float(draws["sd_case"].mean()) ** 2, 1e-6)),
        shared=True,
        scales={name: float(draws[f"sd_{name}"].mean()) for name in EFFECTS},
        rate=rate,
    )


def _mean_rates(part: Cells, draws: dict[str, Floats], hard: Floats) -> Floats:
    """Posterior mean pass probabilities; cells without trials draw their effect anew."""
    seen = part.trials > 0
    total = np.zeros(part.trials.shape)
    rng = np.random.default_rng(0)
    size = max(1, _BATCH // part.trials.size)
    for start in range(0, len(hard), size):
        some = slice(start, start + size)
        cell = rng.standard_normal((len(hard[some]), *seen.shape))
        cell[:, seen] = draws["z_cell"][some]
        eta = draws["theta"][some, :, None] - hard[some, None, :]
        eta += draws["sd_cell"][some, None, None] * cell
        total += (1.0 / (1.0 + np.exp(-np.clip(eta, -700, 700)))).sum(axis=0)
    return total / len(hard)
