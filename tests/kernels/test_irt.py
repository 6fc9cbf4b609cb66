"""Curves, quadrature, posteriors and the marginal likelihood of item response models."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialframe.kernels import irt
from trialframe.kernels.irt_bootstrap import leverage
from trialframe.kernels.irt_checks import (
    blocks,
    free_slopes,
    mean_squares,
    q3,
    saturated,
    separated,
)
from trialframe.kernels.irt_fit import fit_items, penalty
from trialframe.kernels.irt_information import Prior, derivatives, gaps, variances
from trialframe.kernels.irt_pick import best, greedy_maximin, mean_information, spread
from trialframe.kernels.irt_subset import gp_irt, p_irt, regression_estimate, unseen_means

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

DEFAULT = Prior(precision_log_a=4.0, precision_b=0.25)


def array(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


def cells(passes: object, trials: object) -> irt.Cells:
    return irt.cells_of(array(passes), np.broadcast_to(array(trials), np.shape(passes)))


def items_of(entry: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return array([i["a"] for i in entry["items"]]), array([i["b"] for i in entry["items"]])


def lsat7(golden: Golden) -> irt.Cells:
    patterns = golden("irt_2pl_mml_lsat7")[0]["inputs"]["patterns"]
    rows = np.repeat([p for p, _ in patterns], [k for _, k in patterns], axis=0)
    return cells(rows, 1)


def test_probability_and_information(golden: Golden) -> None:
    entry = golden("irt_probability")[0]
    given_, expected = entry["inputs"], entry["expected"]
    arguments = array([given_["theta"]]), array([given_["a"]]), array([given_["b"]])
    assert irt.probability(*arguments).item() == pytest.approx(expected, abs=1e-12)
    entry = golden("fisher_information_item")[0]
    found = irt.information(*arguments, entry["inputs"]["n_trials"]).item()
    assert found == pytest.approx(entry["expected"], abs=1e-12)


def test_gauss_hermite_nodes(golden: Golden) -> None:
    entry = golden("gauss_hermite_normal")[0]
    rule = irt.hermite_rule(entry["inputs"]["points"])
    assert rule.nodes == pytest.approx(entry["expected"]["nodes"], abs=1e-12)
    assert np.exp(rule.logweight) == pytest.approx(entry["expected"]["weights"], abs=1e-12)


def test_identification(golden: Golden) -> None:
    entry = golden("irt_identification")[0]
    given_ = entry["inputs"]
    a, b = irt.rescaled(array(given_["a"]), array(given_["b"]), given_["mean"], given_["sd"])
    assert a == pytest.approx(entry["expected"]["a_new"], abs=1e-12)
    assert b == pytest.approx(entry["expected"]["b_new"], abs=1e-12)


def test_marginal_likelihood_with_fixed_nodes(golden: Golden) -> None:
    entry = golden("irt_binomial_marginal_loglik")[0]
    given_ = entry["inputs"]
    table = cells(given_["passes"], given_["trials"])
    a, b = array(given_["a"]), array(given_["b"])
    constant = irt.log_coefficients(table)
    for points in (21, 61, 121):
        post = irt.posterior(table, a, b, irt.hermite_rule(points))
        expected = entry["expected"][f"loglik_q{points}"]
        assert post.loglik.sum() + constant == pytest.approx(expected, abs=1e-8)
    rule, _ = irt.grid_rule(table, a, b, np.zeros(4))
    fine = irt.posterior(table, a, b, rule).loglik.sum() + constant
    assert fine == pytest.approx(entry["expected"]["loglik_q121"], abs=1e-8)
    entry = golden("irt_binomial_vs_bernoulli_constant")[0]
    assert constant == pytest.approx(entry["expected"]["sum_log_binomial_coefficients"], abs=1e-9)


def test_abilities(golden: Golden) -> None:
    entry = golden("irt_ability")[0]
    given_, expected = entry["inputs"], entry["expected"]
    table = cells(given_["passes"], given_["trials"])
    a, b = array(given_["a"]), array(given_["b"])
    rule, mode = irt.grid_rule(table, a, b, np.zeros(4))
    post = irt.posterior(table, a, b, rule)
    theta, error = irt.mle(table, a, b, mode)
    for name, found in (
        ("eap", post.mean),
        ("eap_sd", post.sd),
        ("mle", theta),
        ("mle_se", error),
    ):
        assert found == pytest.approx(expected[name], abs=1e-6)


def test_abilities_with_many_trials(golden: Golden) -> None:
    entry = golden("irt_ability_many_trials")[0]
    given_, expected = entry["inputs"], entry["expected"]
    table = cells(given_["passes"], given_["trials"])
    a, b = array(given_["a"]), array(given_["b"])
    rule, _ = irt.grid_rule(table, a, b, np.zeros(4))
    post = irt.posterior(table, a, b, rule)
    assert post.mean == pytest.approx(expected["eap"], abs=1e-6)
    assert post.sd == pytest.approx(expected["eap_sd"], abs=1e-6)
    found = post.loglik.sum() + irt.log_coefficients(table)
    assert found == pytest.approx(expected["loglik"], abs=1e-6)


@pytest.mark.parametrize("model", ["1pl", "2pl"])
def test_lsat7(golden: Golden, model: str) -> None:
    entry = golden(f"irt_{model}_mml_lsat7")[0]
    expected, tolerance = entry["expected"], entry["tolerance"]
    for rule in (None, irt.hermite_rule(61)):
        found = fit_items(lsat7(golden), Prior(), shared=model == "1pl", rule=rule)
        split = len(found.log_a)
        a = np.exp(found.log_a)
        assert a == pytest.approx(np.atleast_1d(expected["a"]), abs=tolerance["a"])
        assert found.b == pytest.approx(expected["b"], abs=tolerance["b"])
        assert found.loglik == pytest.approx(expected["loglik"], abs=tolerance["loglik"])
        errors = np.sqrt(found.variance)
        assert a * errors[:split] == pytest.approx(
            np.atleast_1d(expected["se_a"]), abs=tolerance["se"]
        )
        assert errors[split:] == pytest.approx(expected["se_b"], abs=tolerance["se"])
        assert found.converged
        assert found.gradient < 1e-6
        assert np.all(np.diff(found.path) >= -1e-8)


def test_map_on_binomial_counts(golden: Golden) -> None:
    entry = golden("irt_2pl_map_binomial")[0]
    table = cells(entry["inputs"]["passes"], entry["inputs"]["trials"])
    expected, tolerance = entry["expected"], entry["tolerance"]
    found = fit_items(table, DEFAULT, shared=False)
    assert np.exp(found.log_a) == pytest.approx(expected["a"], abs=tolerance["a"])
    assert found.b == pytest.approx(expected["b"], abs=tolerance["b"])
    assert found.path[-1] == pytest.approx(expected["objective"], abs=tolerance["objective"])


def test_which_items_to_take(golden: Golden) -> None:
    entry = golden("irt_item_selection")[0]
    names = [item["id"] for item in entry["inputs"]["items"]]
    a, b = items_of(entry["inputs"])
    theta, count = array(entry["inputs"]["thetas"]), entry["inputs"]["k"]
    value = mean_information(theta, a, b)
    assert dict(zip(names, value, strict=True)) == pytest.approx(
        entry["expected"]["mean_information"], abs=1e-9
    )
    assert [names[i] for i in best(value, 5)] == entry["expected"]["order_by_mean_information"]
    at_zero = dict(zip(names, mean_information(array([0.0]), a, b), strict=True))
    assert at_zero == pytest.approx(entry["expected"]["information_at_theta_0"], abs=1e-9)
    order, least = greedy_maximin(theta, a, b, count)
    assert [names[i] for i in order] == entry["expected"]["greedy_maximin"]
    assert np.all(np.diff(least) > 0)
    entry = golden("irt_item_separation")[0]
    value = spread(theta, a, b)
    assert dict(zip(names, value, strict=True)) == pytest.approx(
        entry["expected"]["between_config_variance_of_P"], abs=1e-12
    )
    assert [names[i] for i in best(value, 5)] == entry["expected"]["order"]


def test_saturated_items(golden: Golden) -> None:
    entry = golden("irt_separation_flag")[0]
    passes = array(entry["inputs"]["passes"])
    found = saturated(passes, np.full_like(passes, entry["inputs"]["trials"]))
    assert np.flatnonzero(found).tolist() == entry["expected"]["separated_items"]


def test_scores_from_a_subset(golden: Golden) -> None:
    entry = golden("tiny_benchmarks_pirt")[0]
    given_, expected = entry["inputs"], entry["expected"]
    seen, unseen = array(given_["seen_scores"]), array(given_["unseen_model_probs"])
    weight = array(given_["anchor_weights"])
    assert p_irt(seen, unseen) == pytest.approx(expected["p_irt"], abs=1e-12)
    assert gp_irt(seen, weight, unseen, 1.0) == pytest.approx(expected["anchor"], abs=1e-12)
    found = gp_irt(seen, weight, unseen, given_["lambda_gp"])
    assert found == pytest.approx(expected["gp_irt"], abs=1e-12)


# brute force


def exact_marginal(passes: list[int], trials: list[int], a: list[int], nodes: int) -> float:
    """A marginal likelihood in fractions: P = x^a / (1 + x^a), x = exp(theta) rational."""
    total, weights = Fraction(0), Fraction(0)
    for k in range(1, nodes + 1):
        x, weight = Fraction(k, 3), Fraction(1, k)
        product = weight
        for c, n, power in zip(passes, trials, a, strict=True):
            odds = x**power
            rate = odds / (1 + odds)
            product *= comb(n, c) * rate**c * (1 - rate) ** (n - c)
        total, weights = total + product, weights + weight
    return float(total / weights)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3)), min_size=1),
    st.integers(2, 6),
)
def test_the_marginal_likelihood_is_the_sum_in_fractions(
    rows: list[tuple[int, int, int]], nodes: int
) -> None:
    passes = [min(c, n) for c, n, _ in rows]
    trials = [n for _, n, _ in rows]
    a = [power for _, _, power in rows]
    theta = np.log(np.arange(1, nodes + 1) / 3)
    weight = 1 / np.arange(1, nodes + 1)
    rule = irt.Rule(nodes=theta, logweight=np.log(weight / weight.sum()))
    table = cells([passes], [trials])
    post = irt.posterior(table, array(a), np.zeros(len(a)), rule)
    found = post.loglik.sum() + irt.log_coefficients(table)
    assert found == pytest.approx(np.log(exact_marginal(passes, trials, a, nodes)), abs=1e-10)


def random_cells(seed: int, configs: int = 6, items: int = 5, most: int = 4) -> irt.Cells:
    rng = np.random.default_rng(seed)
    trials = rng.integers(0, most + 1, (configs, items))
    rate = irt.probability(rng.normal(size=configs), np.ones(items), rng.normal(size=items))
    return cells(rng.binomial(trials, rate), trials)


def objective(table: irt.Cells, log_a: np.ndarray, b: np.ndarray, prior: Prior) -> float:
    a = np.broadcast_to(np.exp(log_a), b.shape)
    rule = irt.Rule(
        nodes=np.linspace(-8, 8, 321), logweight=-0.5 * np.linspace(-8, 8, 321) ** 2 + np.log(0.05)
    )
    post = irt.posterior(table, a, b, rule)
    return float(post.loglik.sum()) - penalty(log_a, b, prior)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(["1pl", "2pl"]))
def test_derivatives_are_those_of_finite_differences(seed: int, model: str) -> None:
    rng = np.random.default_rng(seed)
    table = random_cells(seed)
    log_a, b = rng.normal(0, 0.3, 1 if model == "1pl" else 5), rng.normal(size=5)
    a = np.broadcast_to(np.exp(log_a), b.shape)
    rule, _ = irt.grid_rule(table, a, b, np.zeros(6))
    post = irt.posterior(table, a, b, rule)
    step = derivatives(table, log_a, b, post, DEFAULT)
    point, split = np.concatenate([log_a, b]), len(log_a)

    def value(x: np.ndarray) -> float:
        return objective(table, x[:split], x[split:], DEFAULT)

    def gradient(x: np.ndarray) -> np.ndarray:
        moves = np.eye(len(x)) * 1e-4
        return array([(value(x + m) - value(x - m)) / 2e-4 for m in moves])

    assert step.gradient == pytest.approx(gradient(point), abs=1e-6)
    moves = np.eye(len(point)) * 1e-3
    hessian = array([(gradient(point + m) - gradient(point - m)) / 2e-3 for m in moves])
    low_rank = gaps(table, log_a, b, post, 12)
    found = step.observed.dense() - low_rank @ low_rank.T
    assert found == pytest.approx(-hessian, abs=2e-4)


@given(st.integers(0, 10**6), st.sampled_from(["1pl", "2pl"]))
def test_both_ways_to_the_variances_agree(seed: int, model: str) -> None:
    table = random_cells(seed, 3, 30)
    found = fit_items(table, DEFAULT, shared=model == "1pl")
    step = derivatives(table, found.log_a, found.b, found.post, DEFAULT)
    low_rank = gaps(table, found.log_a, found.b, found.post, 4)
    dense = step.observed.dense() - low_rank @ low_rank.T
    by_rank = variances(step.observed, low_rank)
    assert by_rank == pytest.approx(np.diag(np.linalg.inv(dense)), rel=1e-8)


# properties


@given(st.integers(0, 10**6))
def test_orders_of_rows_and_items_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_cells(seed, 8, 6)
    rows, columns = rng.permutation(8), rng.permutation(6)
    other = cells(table.passes[rows][:, columns], table.trials[rows][:, columns])
    one, two = (fit_items(x, DEFAULT, shared=False) for x in (table, other))
    assert two.b == pytest.approx(one.b[columns], abs=1e-5)
    assert two.log_a == pytest.approx(one.log_a[columns], abs=1e-5)
    assert two.post.mean == pytest.approx(one.post.mean[rows], abs=1e-5)
    assert two.loglik == pytest.approx(one.loglik, abs=1e-7)


@given(st.integers(0, 10**6))
def test_swapping_passes_and_fails_mirrors_the_fit(seed: int) -> None:
    table = random_cells(seed, 8, 6)
    one = fit_items(table, DEFAULT, shared=False)
    two = fit_items(cells(table.trials - table.passes, table.trials), DEFAULT, shared=False)
    assert two.b == pytest.approx(-one.b, abs=1e-5)
    assert two.post.mean == pytest.approx(-one.post.mean, abs=1e-5)


@given(st.integers(0, 10**6))
def test_an_item_without_discrimination_of_its_own_may_be_merged(seed: int) -> None:
    """Two equal items of n trials say of an ability what one item of 2 n trials says."""
    table = random_cells(seed, 5, 4)
    a, b = np.linspace(0.5, 2, 4), np.linspace(-1, 1, 4)
    twice = cells(np.hstack([table.passes] * 2), np.hstack([table.trials] * 2))
    double = cells(2 * table.passes, 2 * table.trials)
    rule, _ = irt.grid_rule(double, a, b, np.zeros(5))
    one = irt.posterior(double, a, b, rule)
    two = irt.posterior(twice, np.tile(a, 2), np.tile(b, 2), rule)
    assert two.mean == pytest.approx(one.mean, abs=1e-12)
    assert two.loglik == pytest.approx(one.loglik, abs=1e-10)


@given(st.integers(0, 10**6))
def test_more_passes_mean_more_ability(seed: int) -> None:
    table = random_cells(seed, 4, 5)
    a, b = np.linspace(0.5, 2, 5), np.linspace(-1, 1, 5)
    room = np.argwhere(table.passes < table.trials)
    if not len(room):
        return
    row, column = room[seed % len(room)]
    more = table.passes.copy()
    more[row, column] += 1
    rule, _ = irt.grid_rule(table, a, b, np.zeros(4))
    before = irt.posterior(table, a, b, rule).mean
    after = irt.posterior(cells(more, table.trials), a, b, rule).mean
    assert after[row] > before[row]
    assert np.delete(after, row) == pytest.approx(np.delete(before, row), abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 1.0, 20.0, 3000.0]))
def test_the_grid_is_fine_and_wide_enough(seed: int, many: float) -> None:
    rng = np.random.default_rng(seed)
    trials = np.ceil(rng.random((3, 5)) * many * 10)
    passes = np.floor(rng.random((3, 5)) * (trials + 1))
    table = cells(np.minimum(passes, trials), trials)
    a, b = np.exp(rng.normal(0, 1, 5)), rng.normal(0, 2, 5)
    rule, mode = irt.grid_rule(table, a, b, np.zeros(3))
    fine, _ = irt.grid_rule(table, a, b, mode, fineness=0.1)
    one, two = irt.posterior(table, a, b, rule), irt.posterior(table, a, b, fine)
    assert one.loglik == pytest.approx(two.loglik, abs=1e-5)
    assert one.mean == pytest.approx(two.mean, abs=1e-5)
    assert one.sd == pytest.approx(two.sd, rel=1e-4)


def test_blocks_of_items_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_cells(3, 10, 40)
    one = fit_items(table, DEFAULT, shared=False)
    monkeypatch.setattr(irt, "_BLOCK", 500)
    monkeypatch.setattr(irt, "_KEPT", 0)
    monkeypatch.setattr(irt, "_GROUPS", 0)
    two = fit_items(irt.cells_of(table.passes, table.trials), DEFAULT, shared=False)
    assert two.b == pytest.approx(one.b, abs=1e-8)
    assert two.variance == pytest.approx(one.variance, rel=1e-6)


def test_patterns_of_trials_are_found() -> None:
    trials = np.array([[1, 1, 5, 5], [2, 2, 3, 3]])
    made = cells(np.zeros((2, 4)), trials)
    assert made.patterns is not None
    assert made.patterns[:, made.group].tolist() == trials.tolist()


def test_a_likelihood_without_a_maximum_has_no_estimate() -> None:
    table = cells([[3, 3], [0, 0], [3, 1]], 3)
    theta, error = irt.mle(table, array([1.0, 2.0]), array([0.0, 1.0]), np.zeros(3))
    assert np.isnan(theta).tolist() == [True, True, False]
    assert np.isnan(error).tolist() == [True, True, False]


# checks


def test_blocks_are_connected_configs() -> None:
    configs, items = blocks(array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]))
    assert configs[0] == configs[1] != configs[2]
    assert items.tolist() == [configs[0], configs[0], configs[2], configs[2]]


def test_a_case_that_stronger_configs_fail_has_a_negative_slope() -> None:
    rng = np.random.default_rng(0)
    theta = np.linspace(-2, 2, 20)
    a, b = np.ones(30), rng.normal(size=30)
    rate = irt.probability(theta, a, b)
    rate[:, 0] = 1 - irt.probability(theta, array([2.0]), array([0.0]))[:, 0]
    table = cells(rng.binomial(5, rate), 5)
    found = fit_items(table, DEFAULT, shared=False)
    _, curvature = irt.modes(table, np.exp(found.log_a), found.b, found.post.mean)
    slope, error = free_slopes(table, np.exp(found.log_a), found.b, found.post.mean, curvature)
    assert slope[0] + 3 * error[0] < 0
    assert np.all(slope[1:] + 2 * error[1:] > 0)


def test_separated_items_are_those_that_an_ability_divides() -> None:
    table = cells([[0, 0, 0, 2], [0, 2, 0, 2], [2, 1, 0, 2]], 2)
    found = separated(table, array([-1.0, 0.0, 1.0]))
    assert found.tolist() == [True, False, False, False]


def test_mean_squares_are_one_under_the_model() -> None:
    rng = np.random.default_rng(5)
    theta, a, b = rng.normal(size=200), np.ones(40), rng.normal(size=40)
    table = cells(rng.binomial(4, irt.probability(theta, a, b)), 4)
    for axis in (0, 1):
        found = mean_squares(table, a, b, theta, axis)
        for value in (found.infit, found.outfit):
            assert value.mean() == pytest.approx(1, abs=0.05)
        for z in (found.infit_z, found.outfit_z):
            assert z.std() == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(("model", "share"), [("1pl", 1 / 25), ("2pl", 2 / 25)])
def test_items_use_up_their_share_of_the_information(model: str, share: float) -> None:
    shared = model == "1pl"
    rng = np.random.default_rng(1)
    theta, a, b = rng.normal(size=25), np.ones(60), rng.normal(size=60)
    table = cells(rng.binomial(3, irt.probability(theta, a, b)), 3)
    found = leverage(table, a, b, theta, Prior(), shared=shared)
    assert found.mean() == pytest.approx(share, rel=0.1)
    assert np.all(leverage(table, a, b, theta, DEFAULT, shared=shared) < found)


def test_q3_finds_the_pair_that_goes_together() -> None:
    rng = np.random.default_rng(2)
    theta, a, b = rng.normal(size=60), np.ones(20), rng.normal(0, 0.5, 20)
    passes = rng.binomial(1, irt.probability(theta, a, b))
    passes[:, 7] = passes[:, 3]
    table = cells(passes, 1)
    found = q3(table, a, b, theta, top=3, least=0.5)
    assert (found.first[0], found.second[0]) == (3, 7)
    assert found.number == 190
    away = passes - irt.probability(theta, a, b)
    assert found.q3[0] == pytest.approx(np.corrcoef(away[:, 3], away[:, 7])[0, 1], abs=1e-12)
    matrix = np.corrcoef(away.T)
    assert found.mean == pytest.approx(matrix[np.triu_indices(20, 1)].mean(), abs=1e-12)


# subsets


def test_the_regression_estimator_of_known_scores() -> None:
    known = np.arange(10.0)[:, None]
    made = regression_estimate(2 * known[:4, 0] + 1, known[:4], known)
    assert made.value == pytest.approx(2 * 4.5 + 1)
    assert made.se == pytest.approx(0, abs=1e-12)
    assert made.worth == pytest.approx(10)


def test_the_regression_estimator_without_a_covariate_is_the_mean() -> None:
    score = array([0, 1, 1, 0, 1])
    made = regression_estimate(score, np.zeros((5, 1)), np.zeros((20, 1)))
    assert made.value == pytest.approx(0.6)
    assert made.se == pytest.approx(made.plain_se)
    assert made.worth == pytest.approx(5)


def test_unseen_means_average_over_the_posterior() -> None:
    table = cells([[2, 1, 0]], [[3, 2, 0]])
    a, b = array([1.0, 2.0, 1.5]), array([0.0, -1.0, 1.0])
    rule, _ = irt.grid_rule(table, a, b, np.zeros(1))
    post = irt.posterior(table, a, b, rule)
    found = unseen_means(np.array([[False, True, True]]), a, b, post)
    rate = irt.probability(rule.nodes, a, b)[:, 1:].mean(axis=1)
    mean = post.weight[0] @ rate
    assert found.mean[0] == pytest.approx(mean, abs=1e-12)
    assert found.variance[0] == pytest.approx(post.weight[0] @ (rate - mean) ** 2, abs=1e-12)
