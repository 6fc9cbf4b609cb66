"""Max-T: one test is a t test, brute force, Dunnett, and the family-wise level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trialframe.kernels.joint import influence
from trialframe.kernels.maxt import max_t
from trialframe.kernels.multiple import holm


def test_one_difference_gets_its_t_test() -> None:
    diff = np.random.default_rng(0).normal(0.4, 1, 12)
    parts = influence(diff[:, None], np.ones(12))
    t = np.array([diff.mean() / np.sqrt((parts**2).sum())])
    got = max_t(parts, t, np.array([11.0]), np.random.default_rng(1), draws=200_000)
    assert got.adjusted[0] == pytest.approx(stats.ttest_1samp(diff, 0).pvalue, abs=0.004)
    assert got.critical[0] == pytest.approx(stats.t.ppf(0.975, 11), abs=0.03)


def test_comparisons_with_a_control_are_dunnetts() -> None:
    parts = np.eye(4)  # four independent means
    ends = (np.array([1, 2, 3]), np.array([0, 0, 0]))
    statistic = np.array([2.4, 1.0, -0.2])
    got = max_t(
        parts, statistic, np.full(3, np.inf), np.random.default_rng(0), ends=ends, draws=200_000
    )
    law = stats.multivariate_normal(cov=np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    inside = law.cdf(np.full(3, 2.4), lower_limit=np.full(3, -2.4))
    assert got.adjusted[0] == pytest.approx(1 - inside, abs=0.002)
    assert got.critical[0] == pytest.approx(2.349, abs=0.01)  # Dunnett's two-sided table, df = inf


def test_stepdown_by_definition_and_between_raw_and_bonferroni() -> None:
    rng = np.random.default_rng(3)
    parts = rng.normal(size=(30, 5)) * np.array([1, 2, 1, 1, 3])
    statistic = np.array([2.5, -0.3, 2.0, np.nan, 1.0])
    got = max_t(parts, statistic, np.full(5, np.inf), np.random.default_rng(0), draws=500)
    drawn = np.random.default_rng(0).standard_normal((500, 30)) @ parts
    drawn = np.abs(drawn) / np.sqrt((parts**2).sum(axis=0))
    order, expected, least = [0, 2, 4, 1], np.full(5, np.nan), 0.0
    for i, j in enumerate(order):
        largest = drawn[:, order[i:]].max(axis=1)
        least = max(least, (np.sum(largest >= abs(statistic[j])) + 1) / 501)
        expected[j] = least
    np.testing.assert_allclose(got.adjusted, expected)
    assert np.isnan(got.critical[3])
    raw = 2 * stats.norm.sf(np.abs(statistic))
    assert np.nanmax(got.adjusted - holm(raw)) < 0.06


def test_nothing_to_test() -> None:
    got = max_t(np.ones((3, 1)), np.array([np.nan]), np.array([2.0]), np.random.default_rng(0))
    assert np.isnan(got.adjusted).all()


@pytest.mark.slow
@pytest.mark.parametrize("cases", [12, 60])
def test_the_family_keeps_its_level(cases: int) -> None:
    first, second = np.triu_indices(5, 1)
    wrong, runs = 0, 2000
    for seed in range(runs):
        x = np.random.default_rng(seed).normal(size=(cases, 5))
        parts = influence(x, np.ones(cases))
        mean = x.mean(axis=0)
        se = np.sqrt(((parts[:, second] - parts[:, first]) ** 2).sum(axis=0))
        got = max_t(
            parts,
            (mean[second] - mean[first]) / se,
            np.full(10, cases - 1.0),
            np.random.default_rng(seed),
            ends=(second, first),
            draws=1000,
        )
        wrong += bool((got.adjusted <= 0.05).any())
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
