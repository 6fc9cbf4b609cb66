"""The plausibly best, rank intervals and the confidence set: golden, brute force, coverage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialframe.kernels.joint import bootstrap_draws, gaussian_draws, joint_means, joint_of
from trialframe.kernels.pareto import on_the_front
from trialframe.kernels.ranks import (
    confidence_set,
    dunnett_critical,
    independent,
    independent_critical,
    normal_scores,
    plausibly_best,
    rank_intervals,
    ranks,
    tau_best,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

MEANS = st.lists(st.sampled_from([0.1, 0.3, 0.35, 0.4, 0.8]), min_size=2, max_size=6)


def correlated(seed: int, configs: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(40, 1)) + rng.normal(0, 1, (40, configs)) * np.linspace(0.5, 2, configs)


def test_plausibly_best_golden(golden: Golden) -> None:
    for entry in golden("plausibly_best_set"):
        x, level = np.array(entry["inputs"]["scores"]), 1 - entry["inputs"]["alpha"]
        joint = joint_means(x, np.ones(len(x)))
        draws = gaussian_draws(joint, np.random.default_rng(0), 2**20)
        got = plausibly_best(replace(joint, df=np.inf), draws, level)
        expected = entry["expected"]
        np.testing.assert_allclose(joint.mean, expected["means"], atol=1e-12)
        np.testing.assert_allclose(got.statistic, expected["max_t_vs_j"], atol=1e-9)
        np.testing.assert_allclose(got.critical, expected["critical"], atol=0.01)
        assert got.inside.tolist() == expected["in_set"]
        stretched = plausibly_best(joint, draws, level)
        ratio = stats.t.ppf(level, len(x) - 1) / stats.norm.ppf(level)
        np.testing.assert_allclose(stretched.critical / got.critical, ratio)


def test_equal_errors_golden(golden: Golden) -> None:
    for entry in golden("plausibly_best_set_equal_se"):
        means, se = np.array(entry["inputs"]["means"]), entry["inputs"]["se"]
        joint = joint_of(means, np.eye(len(means)) * se**2)
        got = plausibly_best(joint, None, 1 - entry["inputs"]["alpha"])
        np.testing.assert_allclose(got.critical, entry["expected"]["critical"], atol=1e-6)
        np.testing.assert_allclose(got.statistic, entry["expected"]["max_t"], atol=1e-6)
        assert got.inside.tolist() == entry["expected"]["in_set"]


def test_dunnett_golden(golden: Golden) -> None:
    for entry in golden("dunnett_one_sided_critical"):
        asked = entry["inputs"]
        got = [dunnett_critical(j, asked["coverage"]) for j in asked["n_configs"]]
        np.testing.assert_allclose(got, entry["expected"], atol=entry["tolerance"])


def test_rank_intervals_golden(golden: Golden) -> None:
    for entry in golden("rank_confidence_intervals"):
        asked, expected = entry["inputs"], entry["expected"]
        joint = joint_of(np.array(asked["x"]), np.diag(np.array(asked["se"]) ** 2))
        draws = gaussian_draws(joint, np.random.default_rng(0), 10_000)
        for family in ("simultaneous", "marginal"):
            got = rank_intervals(joint, draws, asked["coverage"], family=family)
            assert got.rank.tolist() == expected["ranks"]
            assert got.low.tolist() == expected["lower"]
            assert got.high.tolist() == expected["upper"]
        assert tau_best(got, 1).tolist() == [low <= 1 for low in expected["lower"]]


def test_independent_critical_values_are_those_of_scipy() -> None:
    se = np.array([0.02, 0.05, 0.01, 0.03])
    joint = joint_of(np.zeros(4), np.diag(se**2) + 0.7)  # what all share cancels
    assert independent(joint)
    for j, critical in enumerate(independent_critical(joint, 0.9)):
        contrast = (
            np.delete(np.eye(4) - np.eye(4)[j], j, axis=0) / np.delete(joint.se[j], j)[:, None]
        )
        law = stats.multivariate_normal(cov=contrast @ np.diag(se**2) @ contrast.T)
        assert law.cdf(np.full(3, critical)) == pytest.approx(0.9, abs=2e-4)
        draws = gaussian_draws(joint, np.random.default_rng(j), 200_000)
        drawn = plausibly_best(joint, draws, 0.9).critical[j]
        assert drawn == pytest.approx(critical, abs=0.015)


def test_paired_critical_values_are_those_of_scipy() -> None:
    joint = joint_means(correlated(0, 4), np.ones(40))
    assert not independent(joint)
    draws = gaussian_draws(joint, np.random.default_rng(1), 400_000)
    got = plausibly_best(replace(joint, df=np.inf), draws)
    for j, critical in enumerate(got.critical):
        contrast = (
            np.delete(np.eye(4) - np.eye(4)[j], j, axis=0) / np.delete(joint.se[j], j)[:, None]
        )
        law = stats.multivariate_normal(cov=contrast @ joint.covariance @ contrast.T)
        assert law.cdf(np.full(3, critical)) == pytest.approx(0.95, abs=0.002)


@given(MEANS, st.integers(0, 50))
@settings(max_examples=60)
def test_by_definition(means: list[float], seed: int) -> None:
    configs = len(means)
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(configs, configs)) * 0.1
    joint = joint_of(np.array(means), root @ root.T)
    draws = gaussian_draws(joint, rng, 300)
    got = plausibly_best(joint, draws, 0.9)
    for j in range(configs):
        others = [k for k in range(configs) if k != j]
        t = max((means[k] - means[j]) / joint.se[j, k] for k in others)
        drawn = sorted(max((e[k] - e[j]) / joint.se[j, k] for k in others) for e in draws)
        assert got.statistic[j] == pytest.approx(t)
        assert got.critical[j] == pytest.approx(drawn[300 - 30])
        assert got.inside[j] == (t <= max(drawn[270], 0.0))
    assert got.inside[int(np.argmax(means))]
    family = {(j, k) for j in range(configs) for k in range(configs) if j != k}
    above: set[tuple[int, int]] = set()
    while family:
        drawn = sorted(max((e[j] - e[k]) / joint.se[j, k] for j, k in family) for e in draws)
        new = {p for p in family if (means[p[0]] - means[p[1]]) / joint.se[p] > drawn[270]}
        if not new:
            break
        above, family = above | new, family - new
    found = rank_intervals(joint, draws, 0.9)
    assert found.low.tolist() == [1 + sum(k == j for _, k in above) for j in range(configs)]
    assert found.high.tolist() == [configs - sum(j == k for k, _ in above) for j in range(configs)]
    assert found.rank.tolist() == [1 + sum(m > own for m in means) for own in means]
    wider = rank_intervals(joint, draws, 0.9, family="marginal")
    assert (wider.high - wider.low <= found.high - found.low + configs).all()
    assert ((found.low <= found.rank) & (found.rank <= found.high)).all()


@given(st.integers(0, 100), st.permutations(range(5)))
@settings(max_examples=30)
def test_relabelling_shifting_and_copies(seed: int, order: list[int]) -> None:
    x = correlated(seed, 5)
    x[:, 4] = x[:, 1]
    weight = np.ones(40)

    def all_of(values: np.ndarray) -> list[list[Any]]:
        joint = joint_means(values, weight)
        errors = bootstrap_draws(values, weight, np.random.default_rng(0), resamples=400)
        errors -= joint.mean
        found = rank_intervals(joint, errors, 0.8)
        sets = [plausibly_best(joint, errors, 0.8).inside, confidence_set(joint, errors, 0.8)]
        return [c.tolist() for c in (found.rank, found.low, found.high, *sets)]

    plain = all_of(x)
    assert [[column[j] for j in order] for column in plain] == all_of(x[:, order])
    assert plain == all_of(x + 0.5)
    for column in plain[:1] + plain[3:4]:
        assert column[1] == column[4]


def test_pairs_without_spread() -> None:
    x = np.random.default_rng(0).random((12, 1)) + np.zeros(3)
    equal = joint_means(x, np.ones(12))
    draws = np.zeros((100, 3))
    assert plausibly_best(equal, draws).inside.all()
    assert ranks(equal).tolist() == [1, 1, 1]
    shifted = x - np.array([0.0, 0.1, 0.0])
    # the sign flip of 12 equal differences has p = 2^-11, below .05/2
    assert plausibly_best(joint_means(shifted, np.ones(12)), draws).inside.tolist() == [
        True,
        False,
        True,
    ]
    assert confidence_set(joint_means(shifted, np.ones(12)), draws).tolist() == [True, False, True]
    few = joint_means(shifted[:5], np.ones(5))  # 2^-4 is not
    assert plausibly_best(few, draws).inside.all()
    assert confidence_set(few, draws).all()
    found = rank_intervals(few, draws)
    assert (found.low == 1).all()
    assert (found.high == 3).all()


def test_one_unit_says_nothing() -> None:
    one = joint_means(np.array([[0.0, 1.0, 0.5]]), np.ones(1))
    draws = np.zeros((100, 3))
    assert plausibly_best(one, draws).inside.all()
    assert confidence_set(one, draws).all()
    found = rank_intervals(one, draws)
    assert found.rank.tolist() == [3, 1, 2]
    assert (found.low == 1).all()
    assert (found.high == 3).all()


def test_normal_scores_keep_the_tail() -> None:
    t = np.array([-50.0, -2.0, 0.0, 1.0, 3.0])
    np.testing.assert_allclose(stats.norm.sf(normal_scores(t, 7.0)), stats.t.sf(t, 7.0), rtol=1e-9)
    np.testing.assert_array_equal(normal_scores(t, np.inf), t)
    assert np.isfinite(normal_scores(np.array([1e9]), 3.0)).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=7),
)
def test_the_front_by_definition(points: list[tuple[int, int]]) -> None:
    cost, value = (np.array(side, dtype=float) for side in zip(*points, strict=True))
    expected = [
        not any(c <= a and v >= b and (c < a or v > b) for c, v in points) for a, b in points
    ]
    assert on_the_front(cost[None], value[None])[0].tolist() == expected


def test_the_confidence_set_drops_the_worst_only() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4)) * 0.3 + np.array([0.5, 0.5, 0.5, 0.1])
    joint = joint_means(x, np.ones(100))
    errors = bootstrap_draws(x, np.ones(100), rng, resamples=1000) - joint.mean
    assert confidence_set(joint, errors).tolist() == [True, True, True, False]


def simulated(seed: int, means: np.ndarray, cases: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(cases, 1)) + rng.normal(size=(cases, len(means))) + means


@pytest.mark.slow
@pytest.mark.parametrize(("configs", "naive"), [(3, 0.91), (6, 0.83), (10, 0.77)])
def test_the_set_holds_the_best_of_equal_configs(configs: int, naive: float) -> None:
    runs, inside, by_leader = 3000, 0, 0
    for seed in range(runs):
        x = simulated(seed, np.zeros(configs), 60)
        joint = joint_means(x, np.ones(60))
        draws = gaussian_draws(joint, np.random.default_rng(seed), 4000)
        inside += bool(plausibly_best(joint, draws).inside[0])
        leader = int(np.argmax(joint.mean))
        gap = joint.mean[leader] - joint.mean[0]
        by_leader += bool(leader == 0 or gap <= stats.t.ppf(0.95, 59) * joint.se[0, leader])
    margin = 3 * np.sqrt(0.05 * 0.95 / runs)
    assert inside / runs >= 0.95 - margin
    assert by_leader / runs == pytest.approx(naive, abs=3 * np.sqrt(naive * (1 - naive) / runs))


@pytest.mark.slow
@pytest.mark.parametrize("means", [np.zeros(5), np.array([0.0, 0.0, 0.3, 0.35, 1.0])])
@pytest.mark.parametrize("cases", [25, 60])
def test_rank_intervals_cover_all_true_ranks(means: np.ndarray, cases: int) -> None:
    runs, covered = 2000, 0
    for seed in range(runs):
        x = simulated(seed, means, cases)
        joint = joint_means(x, np.ones(cases))
        draws = bootstrap_draws(x, np.ones(cases), np.random.default_rng(seed), resamples=1000)
        got = rank_intervals(joint, (draws - joint.mean) * np.sqrt(cases / (cases - 1)))
        # with ties a true rank is any place among the equal ones: all of them must be inside
        first = 1 + (means > means[:, None]).sum(axis=1)
        last = len(means) - (means < means[:, None]).sum(axis=1)
        covered += bool(((got.low <= first) & (last <= got.high)).all())
    assert covered / runs >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)
