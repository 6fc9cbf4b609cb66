"""The same models sampled: agreement with EM, checks of the chains, the hierarchical logit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError
from trialframe.kernels.irt import grid_rule, posterior, probability

if TYPE_CHECKING:
    from collections.abc import Callable


def table_of(passes: np.ndarray, trials: np.ndarray) -> tr.Counts:
    row, column = np.nonzero(trials)
    return tr.Counts(
        pl.DataFrame(
            {
                "config": [f"c{j:02}" for j in row],
                "case": [f"i{i:02}" for i in column],
                "n": trials[row, column],
                "c": passes[row, column],
            }
        )
    )


def simulated(configs: int, cases: int, n: int, seed: int) -> tr.Counts:
    rng = np.random.default_rng(seed)
    rate = probability(rng.normal(size=configs), np.ones(cases), rng.normal(size=cases))
    trials = np.where(rng.random(rate.shape) < 0.1, 0, n)
    return table_of(rng.binomial(trials, rate), trials)


def compared(sampled: tr.IrtFit, fitted: tr.IrtFit) -> dict[str, float]:
    """How far the two are apart, in posterior standard deviations, on one scale.

    A mode and a mean of a skewed posterior differ, most in location and scale, which few configs
    leave open: both are taken out.
    """
    one, two = sampled.abilities, fitted.abilities
    scale, shift = np.polyfit(two["ability"], one["ability"], 1)
    ability = (one["ability"] - scale * two["ability"] - shift) / one["se"]
    item = (sampled.items["b"] - scale * fitted.items["b"] - shift) / sampled.items["b_se"]
    slope = (sampled.items["a"] - fitted.items["a"] / scale) / sampled.items["a_se"]
    rate = sampled.predict()["probability"] - fitted.predict()["probability"]
    return {
        "ability": ability.abs().max(),
        "b": item.abs().max(),
        "a": slope.abs().max(),
        "rate": rate.abs().max(),
        "b_se": (sampled.items["b_se"] / (scale * fitted.items["b_se"])).median(),
    }


def expected_abilities(fit: tr.IrtFit) -> np.ndarray:
    """Means over draws of the abilities that the E-step gives for the items of each draw."""
    cells, draws = fit.table.cells, fit.trace.posterior
    log_a, b = (draws[name].values.reshape(-1, draws[name].shape[2]) for name in ("log_a", "b"))
    made = []
    for k in range(0, len(b), 4):
        a = np.exp(np.broadcast_to(log_a[k], b[k].shape))
        rule, _ = grid_rule(cells, a, b[k], np.zeros(len(cells.trials)))
        made.append(posterior(cells, a, b[k], rule).mean)
    return np.mean(made, axis=0)


def test_samples_agree_with_em(require: Callable[[str], Any]) -> None:
    require("pymc")
    table = simulated(10, 12, 8, seed=2)
    sampled = tr.fit_irt(table, "2pl", method="pymc", draws=600, chains=2, seed=3)
    far = compared(sampled, tr.fit_irt(table, "2pl"))
    assert far["ability"] < 0.5
    assert far["b"] < 0.5
    assert far["a"] < 0.5
    assert far["rate"] < 0.05
    assert 0.85 < far["b_se"] < 1.2
    # abilities are the same, within Monte Carlo error, as the E-step's over the items' posterior
    mean = expected_abilities(sampled)
    error = sampled.abilities["se"].to_numpy() / np.sqrt(sampled.convergence.ess)
    assert np.all(np.abs(sampled.abilities["ability"].to_numpy() - mean) < 4 * error)
    assert sampled.convergence.rhat < 1.05
    assert sampled.convergence.ess > 50
    assert sampled.loglik is None
    assert sampled.trace.posterior["theta"].shape == (2, 600, 10)
    assert sampled.pick(3).height == 3
    assert "trace" not in sampled.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_long_chains_converge_and_agree(require: Callable[[str], Any], model: str) -> None:
    require("pymc")
    table = simulated(20, 30, 6, seed=5)
    sampled = tr.fit_irt(table, model, method="pymc", draws=1500, seed=1)
    assert sampled.convergence.converged
    far = compared(sampled, tr.fit_irt(table, model))
    assert far["ability"] < 0.4
    assert far["b"] < 0.4
    assert far["rate"] < 0.06


@pytest.mark.slow
def test_the_hierarchical_logit_finds_the_spread_of_cells(require: Callable[[str], Any]) -> None:
    require("pymc")
    rng = np.random.default_rng(0)
    theta, ease = rng.normal(0, 0.5, 15), rng.normal(0, 1.2, 40)
    eta = theta[:, None] + ease + rng.normal(0, 1.0, (15, 40))
    trials = np.full((15, 40), 12)
    trials[0, :5] = 0
    passes = rng.binomial(trials, 1 / (1 + np.exp(-eta)))
    found = tr.fit_irt(table_of(passes, trials), "hierarchical", method="pymc", draws=1500, seed=2)
    assert found.scales["cell"] == pytest.approx(1.0, abs=0.15)
    assert found.scales["case"] == pytest.approx(1.2, abs=0.35)
    assert found.scales["config"] == pytest.approx(0.5, abs=0.25)
    assert np.corrcoef(found.abilities["ability"], theta)[0, 1] > 0.8
    assert found.predict()["probability"].is_between(0, 1).all()
    assert found.convergence.rhat < 1.03


def test_chains_that_disagree_are_told() -> None:
    from trialframe.irt import _notes
    from trialframe.irt.result import Convergence

    fit = tr.fit_irt(simulated(4, 5, 3, seed=1))
    bad = Convergence(converged=False, iterations=200, rhat=1.2, ess=12.0, divergences=3)
    told = " ".join(_notes.of_fit(fit.solution, bad, fit.items, fit.abilities))
    assert "R-hat 1.200" in told
    assert "3 divergent" in told


def test_without_the_extra_the_message_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(ImportError, match=r"trialframe\[bayes\]"):
        tr.fit_irt(simulated(4, 5, 3, seed=1), method="pymc")


def test_samples_need_priors(require: Callable[[str], Any]) -> None:
    require("pymc")
    with pytest.raises(ArgumentError, match="needs priors"):
        tr.fit_irt(simulated(4, 5, 3, seed=1), method="pymc", priors=None)
