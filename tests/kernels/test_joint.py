"""Means of many configs: errors of all differences at once, and joint draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.joint import (
    bootstrap_draws,
    gaussian_draws,
    influence,
    joint_means,
    joint_of,
)
from trialframe.kernels.means import clustered_mean


def table(seed: int, cases: int = 30, configs: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.binomial(4, rng.random((cases, 1)) * np.ones(configs)) / 4


@given(
    st.integers(0, 1000), st.integers(2, 30), st.sampled_from([None, 2, 4]), st.sampled_from([1, 3])
)
def test_every_difference_has_the_error_of_its_own_mean(
    seed: int, cases: int, clusters: int | None, weights: int
) -> None:
    rng = np.random.default_rng(seed)
    x = table(seed, cases)
    x[:, 3] = x[:, 0]  # a copy
    x[:, 4] = x[:, 1] + 0.25  # and a constant difference
    weight = rng.integers(0 if weights > 1 else 1, weights + 1, cases).astype(float)
    weight[:2] = 1.0
    cluster = None if clusters is None else rng.integers(0, clusters, cases)
    got = joint_means(x, weight, cluster)
    first, second = np.triu_indices(5, 1)
    one = clustered_mean(x[:, first] - x[:, second], weight, cluster)
    np.testing.assert_allclose(got.se[first, second], one.se, rtol=1e-7, atol=1e-14)
    np.testing.assert_allclose(got.se, got.se.T)
    np.testing.assert_allclose(got.mean, clustered_mean(x, weight, cluster).mean)
    assert got.df == pytest.approx(one.df[0], nan_ok=True)
    assert got.units == one.units[0]
    if not np.isnan(got.df):
        assert got.se[0, 3] == got.se[1, 4] == 0.0
        own = clustered_mean(x, weight, cluster).se
        np.testing.assert_allclose(np.sqrt(np.diag(got.covariance)), own, atol=1e-12)


def test_the_influence_of_units_adds_up_to_the_error() -> None:
    x, cluster = table(1), np.arange(30) % 7
    parts = influence(x, np.ones(30), cluster)
    assert parts.shape == (7, 5)
    np.testing.assert_allclose(
        np.sqrt((parts**2).sum(axis=0)), clustered_mean(x, np.ones(30), cluster).se
    )


def test_resamples_of_three_cases_are_all_27() -> None:
    x = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.5]])
    every = [x[list(pick)].mean(axis=0) for pick in itertools.product(range(3), repeat=3)]
    exact = {tuple(mean): 0.0 for mean in every}
    for mean in every:
        exact[tuple(mean)] += 1 / 27
    draws = bootstrap_draws(x, np.ones(3), np.random.default_rng(0), resamples=40_000)
    for mean, share in exact.items():
        hit = np.all(np.abs(draws - mean) < 1e-12, axis=1).mean()
        assert hit == pytest.approx(share, abs=4 * np.sqrt(share / 40_000))


def test_whole_clusters_are_drawn_and_keep_their_size() -> None:
    x = np.array([[0.0], [0.0], [0.0], [1.0]])
    draws = bootstrap_draws(
        x, np.ones(4), np.random.default_rng(0), np.array([0, 0, 0, 1]), resamples=4000
    )
    values, times = np.unique(draws.round(6), return_counts=True)
    assert values.tolist() == [0.0, 0.25, 1.0]
    np.testing.assert_allclose(times / 4000, [0.25, 0.5, 0.25], atol=0.03)


@pytest.mark.parametrize("configs", [2, 40])
def test_few_and_many_distinct_rows_are_drawn_alike(configs: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (400, configs)).astype(float)  # 2: four distinct rows, counted
    draws = bootstrap_draws(x, np.ones(400), rng, resamples=4000)
    np.testing.assert_allclose(draws.mean(axis=0), x.mean(axis=0), atol=0.004)
    spread = np.cov(x, rowvar=False, ddof=0) / 400
    np.testing.assert_allclose(np.cov(draws, rowvar=False), spread, atol=0.1 * spread.max())


def test_the_order_of_columns_and_missing_values() -> None:
    x = table(5)
    x[::3, 2] = np.nan
    weight = np.arange(30) % 3 + 0.0
    draws = [
        bootstrap_draws(x[:, order], weight, np.random.default_rng(1), resamples=300)
        for order in ([0, 1, 2, 3, 4], [4, 2, 0, 1, 3])
    ]
    np.testing.assert_allclose(draws[0][:, [4, 2, 0, 1, 3]], draws[1], rtol=1e-12)
    known = ~np.isnan(x[:, 2])
    expected = np.average(x[known, 2], weights=weight[known])
    assert draws[0][:, 2].mean() == pytest.approx(expected, abs=0.02)


def test_normal_draws_have_the_covariance() -> None:
    joint = joint_means(table(2), np.ones(30))
    draws = gaussian_draws(joint, np.random.default_rng(0), 200_000)
    np.testing.assert_allclose(np.cov(draws, rowvar=False), joint.covariance, atol=2e-5)


def test_known_covariances_and_copies() -> None:
    same = joint_of(np.array([0.5, 0.5]), np.full((2, 2), 0.01))
    assert same.se.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    one = joint_means(np.ones((1, 3)), np.ones(1))
    assert np.isnan(one.se[0, 1])
    assert one.units == 1
