"""Variance within and between cases, and planning from it: golden values and simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trialframe.kernels import draws
from trialframe.kernels.variance import (
    VarianceSplit,
    cases_for,
    detectable,
    optimal_trials,
    se_with_trials,
    variance_split,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_variance_split_golden(golden: Golden) -> None:
    for entry in golden("variance_split"):
        scores = np.array(entry["inputs"]["scores"])
        got = variance_split(np.full(len(scores), scores.shape[1]), scores.sum(axis=1))
        wanted = entry["expected"]
        found = [got.case_means, got.within, got.between, got.icc]
        names = ("var_case_means", "within", "between", "icc1")
        assert found == pytest.approx([wanted[n] for n in names], abs=entry["tolerance"])
        trials = [int(k) for k in wanted["se_mean_if_K"]]
        expected = list(wanted["se_mean_if_K"].values())
        assert se_with_trials(got, len(scores), trials) == pytest.approx(expected, abs=1e-12)


def test_more_trials_of_uniform_cases_golden(golden: Golden) -> None:
    for entry in golden("variance_split_uniform_difficulty"):
        split = VarianceSplit(case_means=np.nan, within=1 / 6, between=1 / 12, icc=np.nan)
        for k, total in entry["expected"]["total_var"].items():
            assert se_with_trials(split, 1, int(k)) ** 2 == pytest.approx(total, abs=1e-12)


def test_planning_golden(golden: Golden) -> None:
    for entry in golden("optimal_trials_per_case"):
        given = entry["inputs"]
        got = optimal_trials(
            given["between"], given["within"], given["cost_per_case"], given["cost_per_trial"]
        )
        assert got == pytest.approx(entry["expected"]["K_star"], abs=entry["tolerance"])
    for entry in golden("miller_sample_size"):
        given, wanted = entry["inputs"], entry["expected"]
        noise = given["sigma2_a"] / given["K_a"] + given["sigma2_b"] / given["K_b"]
        variance = given["omega2"] + noise
        got = cases_for(variance, given["delta"], given["alpha"], given["power"])
        assert got == pytest.approx(wanted["n"], abs=entry["tolerance"])
        assert detectable(variance, 198) == pytest.approx(wanted["mde_at_n_198"], abs=1e-6)
        assert cases_for(variance, detectable(variance, 198)) == pytest.approx(198)


def test_flaky_probability_golden(golden: Golden) -> None:
    for entry in golden("flaky_probability"):
        rate, n = np.array([entry["inputs"]["p"]]), np.array([entry["inputs"]["n"]])
        assert draws.flaky_probability(rate, n) == pytest.approx(entry["expected"], abs=1e-12)


def test_a_two_stage_bootstrap_would_be_centred_elsewhere(golden: Golden) -> None:
    for entry in golden("two_stage_bootstrap_centre"):
        n, c = np.array(entry["inputs"]["cases"]).T
        k = entry["inputs"]["k"]
        unbiased = draws.drawn(n, c, k, draws.any_passes).mean()
        assert unbiased == pytest.approx(entry["expected"]["unbiased"], abs=1e-12)
        plug_in = (1 - (1 - c / n) ** k).mean()
        assert plug_in == pytest.approx(entry["expected"]["two_stage_bootstrap_mean"], abs=1e-12)


def test_the_split_is_unbiased_with_unequal_trials() -> None:
    rng = np.random.default_rng(5)
    rate = rng.beta(2, 3, (4000, 30))
    n = rng.integers(1, 7, (4000, 30))
    c = rng.binomial(n, rate)
    splits = [variance_split(a, b) for a, b in zip(n, c, strict=True)]
    truth_between, truth_within = 6 / 150, 6 / 30
    assert np.mean([s.within for s in splits]) == pytest.approx(truth_within, rel=0.02)
    assert np.mean([s.between for s in splits]) == pytest.approx(truth_between, rel=0.08)


def test_what_the_data_cannot_tell_is_nan() -> None:
    once = variance_split([1, 1, 1], [0, 1, 1])
    assert np.isnan(once.within)
    assert np.isnan(once.icc)
    assert np.isnan(variance_split([5], [2]).between)
    assert np.isnan(variance_split([5, 5], [5, 5]).icc)
    assert np.isnan(optimal_trials(0.0, 0.1, 1.0, 1.0))
