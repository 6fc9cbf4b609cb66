"""Item response models: 200 configs on 5,000 cases, and the same likelihood by SciPy and peers."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import trialframe as tr
from trialframe.kernels import irt
from trialframe.kernels.irt_fit import fit_items, penalty, starting_values
from trialframe.kernels.irt_information import Prior, derivatives

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.bench
DEFAULT = Prior(precision_log_a=4.0, precision_b=0.25)


def report(what: str, figure: float, limit: float, unit: str = "x") -> None:
    print(f"\n{what:<66} {figure:8.3g} {unit:<4} (limit {limit:g})", flush=True)


def simulated(configs: int, cases: int, n: int, missing: float = 0.0) -> irt.Cells:
    rng = np.random.default_rng(0)
    theta, a, b = (
        rng.normal(size=configs),
        np.exp(rng.normal(0, 0.3, cases)),
        rng.normal(size=cases),
    )
    trials = np.where(rng.random((configs, cases)) < missing, 0, n)
    return irt.cells_of(rng.binomial(trials, irt.probability(theta, a, b)), trials)


def counts_of(cells: irt.Cells) -> tr.Counts:
    row, column = np.nonzero(cells.trials)
    return tr.Counts(
        pl.DataFrame(
            {
                "config": row.astype(str),
                "case": column.astype(str),
                "n": cells.trials[row, column].astype(int),
                "c": cells.passes[row, column].astype(int),
            }
        )
    )


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_two_hundred_configs_on_five_thousand_cases(missing: float) -> None:
    counts = counts_of(simulated(200, 5_000, 5, missing))
    took = seconds(lambda: tr.fit_irt(counts, "2pl"))
    report(f"2pl of 200 x 5,000 x 5, {missing:.0%} missing, errors and flags", took, 5, "s")


def by_scipy(cells: irt.Cells) -> float:
    """The same objective and gradient, given to L-BFGS."""
    theta, b = starting_values(cells)
    items = len(b)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        log_a, place = np.clip(x[:items], -4, 4), x[items:]
        rule, _ = irt.grid_rule(cells, np.exp(log_a), place, theta, fineness=1.0)
        post = irt.posterior(cells, np.exp(log_a), place, rule)
        step = derivatives(cells, log_a, place, post, DEFAULT)
        return penalty(log_a, place, DEFAULT) - post.loglik.sum(), -step.gradient

    start = np.concatenate([np.zeros(items), b])
    options = {"maxiter": 500, "gtol": 1e-3}
    return float(-minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun)


def test_against_lbfgs_of_the_same_likelihood() -> None:
    cells = simulated(60, 1_000, 5)
    fit_items(cells, DEFAULT, shared=False)
    own = seconds(lambda: fit_items(cells, DEFAULT, shared=False))
    found = []
    theirs = seconds(lambda: found.append(by_scipy(cells)))
    best = fit_items(cells, DEFAULT, shared=False)
    assert found[0] <= best.path[-1] - irt.log_coefficients(cells) + 1e-3
    report("2pl of 60 x 1,000 x 5 / L-BFGS without errors", own / theirs, 1)


def peer(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:
        return pytest.skip(f"{name} is not installed: it is no dependency, only measured against")


def test_against_girth() -> None:
    girth = peer("girth")
    cells = simulated(200, 500, 1)
    keep = (cells.passes.sum(axis=0) > 0) & (cells.passes.sum(axis=0) < 200)
    cells = irt.cells_of(cells.passes[:, keep], cells.trials[:, keep])
    own = seconds(lambda: fit_items(cells, DEFAULT, shared=False))
    theirs = seconds(lambda: girth.twopl_mml(cells.passes.T.astype(int)))
    report("2pl of 200 x 500 x 1 / girth.twopl_mml", own / theirs, 0.2)


def test_against_scorio() -> None:
    rank = peer("scorio.rank")
    cells = simulated(20, 300, 4)
    rng = np.random.default_rng(0)
    places = rng.random((20, 300, 4)).argsort(axis=2)
    trials = (places < cells.passes[:, :, None]).astype(int)
    own = seconds(lambda: fit_items(cells, DEFAULT, shared=True))
    theirs = seconds(lambda: rank.rasch_mml(trials))
    report("1pl of 20 x 300 x 4 / scorio.rank.rasch_mml", own / theirs, 0.2)
