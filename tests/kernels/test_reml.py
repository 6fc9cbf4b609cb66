"""REML against statsmodels, ANOVA, differences and brute force."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trialframe.kernels import reml as kernel
from trialframe.kernels.anova import Cells, cells_of, mean_squares
from trialframe.kernels.reml import reml

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def simulated(
    configs: int, cases: int, low: int, high: int, empty: float, seed: int
) -> tuple[NDArray[np.int64], Floats]:
    """Runs of each cell, and for each run its config, case and value."""
    rng = np.random.default_rng(seed)
    n = rng.integers(low, high + 1, (configs, cases))
    n[rng.random(n.shape) < empty] = 0
    config, case = (np.repeat(axis.ravel(), n.ravel()) for axis in np.indices(n.shape))
    effects = rng.normal(0, 0.5, configs)[config] + rng.normal(0, 1, cases)[case]
    both = rng.normal(0, 0.6, n.shape)[config, case]
    y = effects + both + rng.normal(0, 0.8, len(config))
    return n, np.column_stack([config, case, y])


def gathered(n: NDArray[np.int64], runs: Floats) -> Cells:
    place = (runs[:, 0].astype(int), runs[:, 1].astype(int))
    total, squares = np.zeros((2, *n.shape))
    np.add.at(total, place, runs[:, 2])
    np.add.at(squares, place, runs[:, 2] ** 2)
    return cells_of(n, total, squares)


def by_statsmodels(runs: Floats) -> list[float]:
    """Variances of config, case, config x case and run."""
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    table = pd.DataFrame(runs, columns=["a", "t", "y"])
    table["both"] = [f"{a}_{t}" for a, t in runs[:, :2]]
    parts = {"a": "0 + C(a)", "both": "0 + C(both)", "t": "0 + C(t)"}
    table["one"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = MixedLM.from_formula(
            "y ~ 1", table, groups="one", vc_formula=parts, re_formula="0"
        ).fit(reml=True, gtol=1e-10)
    config, both, case = fit.vcomp
    return [config, case, both, fit.scale]


@pytest.mark.parametrize(
    ("configs", "cases", "low", "high", "empty", "seed"),
    [(5, 12, 1, 4, 0.1, 0), (4, 10, 2, 2, 0.0, 1), (6, 9, 1, 3, 0.3, 3)],
)
def test_components_agree_with_statsmodels(
    configs: int, cases: int, low: int, high: int, empty: float, seed: int
) -> None:
    n, runs = simulated(configs, cases, low, high, empty, seed)
    found = reml(gathered(n, runs))
    assert found.converged
    assert found.components == pytest.approx(by_statsmodels(runs), abs=1e-4)


def test_balanced_components_are_those_of_anova(golden: Callable[[str], list[Any]]) -> None:
    scores = golden("g_theory_crossed")[1]["inputs"]["scores"]
    passes = np.array([sum(runs) for runs in scores.values()], dtype=float).reshape(4, 6)
    cells = cells_of(np.full((4, 6), 5), passes, passes)
    assert reml(cells).components == pytest.approx(mean_squares(cells).raw[0], abs=1e-7)


def dense(theta: Floats, n: NDArray[np.int64], runs: Floats) -> float:
    """-2 log restricted likelihood from matrices over all runs, constants left out."""
    config, case = runs[:, 0], runs[:, 1]
    same = [config[:, None] == config, case[:, None] == case]
    v = theta[0] * same[0] + theta[1] * same[1] + theta[2] * (same[0] & same[1])
    v = v + theta[3] * np.eye(len(runs))
    one, y = np.ones(len(runs)), runs[:, 2]
    inverse = np.linalg.inv(v)
    weight = one @ inverse @ one
    left = y - (one @ inverse @ y) / weight
    return float(np.linalg.slogdet(v)[1] + np.log(weight) + left @ inverse @ left)


def test_the_deviance_is_that_of_all_runs() -> None:
    n, runs = simulated(3, 5, 1, 3, 0.1, 4)
    data, scale = kernel._prepared(gathered(n, runs))
    thetas = np.array([[0.1, 0.5, 0.2, 0.3], [0.3, 0.1, 0.4, 0.2], [0.0, 0.6, 0.1, 0.9]])
    shifted = runs.copy()
    shifted[:, 2] /= np.sqrt(scale)
    gaps = [kernel._deviance(t, data)[0] - dense(t, n, shifted) for t in thetas]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=1e-8)


def test_at_the_edge_the_likelihood_is_no_lower_than_that_of_statsmodels() -> None:
    n, runs = simulated(6, 9, 1, 3, 0.3, 2)
    found = reml(gathered(n, runs))
    assert found.components[0] == 0.0
    other = np.array(by_statsmodels(runs))
    assert dense(found.components, n, runs) <= dense(other, n, runs) + 1e-6


def test_the_slope_is_that_of_the_deviance() -> None:
    n, runs = simulated(4, 7, 1, 3, 0.2, 5)
    data, _ = kernel._prepared(gathered(n, runs))
    theta = np.array([0.1, 0.5, 0.3, 0.2])
    slope = kernel._deviance(theta, data)[1]
    for place, step in enumerate(1e-6 * np.eye(4)):
        rise = kernel._deviance(theta + step, data)[0] - kernel._deviance(theta - step, data)[0]
        assert slope[place] == pytest.approx(rise / 2e-6, rel=1e-5)


def test_influence_is_the_first_order_change_of_one_more_case() -> None:
    n, runs = simulated(6, 60, 1, 3, 0.1, 6)
    cells = gathered(n, runs)
    base = reml(cells)
    again = [reml(cells.take(np.append(np.arange(60), case))) for case in range(8)]
    change = np.array([fit.components - base.components for fit in again])
    assert np.abs(change - base.influence[:8]).max() < 0.05 * np.abs(change).max()


def test_one_run_a_cell() -> None:
    n, runs = simulated(4, 12, 1, 1, 0.15, 7)
    found = reml(gathered(n, runs))
    assert np.isnan(found.components[3])
    assert found.components[2] > 0


def test_a_component_below_zero_ends_at_zero() -> None:
    x = np.array([[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0], [0.1, 0.0, -0.1, 0.0]])
    cells = cells_of(np.ones(x.shape, dtype=int), x, x**2)
    found = reml(cells)
    assert found.converged
    assert found.components[:2].tolist() == [0.0, 0.0]
    assert (found.influence[:, :2] == 0).all()


def test_nothing_varies() -> None:
    found = reml(cells_of(np.full((2, 3), 2), np.full((2, 3), 2.0), np.full((2, 3), 2.0)))
    assert found.components.tolist() == [0.0] * 4
