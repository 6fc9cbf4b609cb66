from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from trialframe.kernels import betabinomial
from trialframe.kernels.betabinomial import (
    STATUSES,
    beta_binomial_fit,
    beta_binomial_refit,
    distinct_cells,
)
from trialframe.kernels.extrapolation import beta_binomial_pass_at, beta_binomial_pass_hat
from trialframe.kernels.histogram import resampled_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

SEEDS = st.integers(0, 2**32 - 1)


def sample(seed: int, longest: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 50))
    n = rng.integers(1, longest + 1, m)
    return n, rng.binomial(n, rng.beta(*rng.uniform(0.1, 4, 2), m))


def test_fit_golden(golden: Golden) -> None:
    for entry in golden("beta_binomial_fit"):
        expected, tolerance = entry["expected"], entry["tolerance"]
        got = beta_binomial_fit(entry["inputs"]["n"], entry["inputs"]["c"])
        assert got.status == "ok"
        for name, value in (
            ("alpha", got.a),
            ("beta", got.b),
            ("loglik", got.loglik),
            ("mean", got.mean),
            ("rho", got.rho),
        ):
            assert value == pytest.approx(expected[name], abs=tolerance / 100)
        for name, kernel in (
            ("pass_at_k", beta_binomial_pass_at),
            ("pass_hat_k", beta_binomial_pass_hat),
        ):
            for k, value in expected[name].items():
                assert kernel(got.a, got.b, int(k)) == pytest.approx(value, abs=tolerance / 100)


def test_boundary_golden(golden: Golden) -> None:
    for entry in golden("beta_binomial_boundary"):
        expected = entry["expected"]
        got = beta_binomial_fit(entry["inputs"]["n"], entry["inputs"]["c"])
        score = expected["score_at_zero_overdispersion"]
        assert got.score == pytest.approx(score, abs=entry["tolerance"])
        assert (got.status == "underdispersed") == expected["boundary"]


def test_degenerate_golden(golden: Golden) -> None:
    for entry in golden("beta_binomial_degenerate"):
        got = beta_binomial_fit(entry["inputs"]["n"], entry["inputs"]["c"])
        assert got.status == "underdispersed"
        assert (got.a, got.b, got.rho) == (np.inf, np.inf, 0.0)
        value = beta_binomial_pass_at(got.a, got.b, 20, got.mean)
        assert value == pytest.approx(entry["expected"]["pass_at_20_limit"], abs=1e-12)


@given(seed=SEEDS, longest=st.sampled_from([2, 12, 300]))
@settings(max_examples=40)
def test_no_search_finds_a_higher_likelihood(seed: int, longest: int) -> None:
    n, c = sample(seed, longest)
    got = beta_binomial_fit(n, c)
    if got.status != "ok":
        return

    def loss(at: np.ndarray) -> float:
        a, b = np.exp(np.clip(at, -14, 14))
        return -float(stats.betabinom.logpmf(c, n, a, b).sum())

    here = np.log([got.a, got.b])
    assert got.loglik == pytest.approx(-loss(here), rel=1e-8)
    for start in (here, [0.0, 0.0], [-2.0, 1.0]):
        found = optimize.minimize(loss, start, method="Nelder-Mead")
        assert got.loglik >= -found.fun - 1e-6


@given(seed=SEEDS)
@settings(max_examples=30)
def test_order_and_multiplicity_do_not_matter(seed: int) -> None:
    n, c = sample(seed)
    order = np.random.default_rng(seed).permutation(len(n))
    cells = distinct_cells(n, c)
    fits = [
        beta_binomial_fit(n[order], c[order]),
        beta_binomial_fit(cells.n, cells.c, cells.multiplicity),
    ]
    assert {repr(fit) for fit in fits} == {repr(beta_binomial_fit(n, c))}  # NaN equals NaN


@given(seed=SEEDS)
@settings(max_examples=30)
def test_failures_mirror_passes(seed: int) -> None:
    n, c = sample(seed)
    one, other = beta_binomial_fit(n, c), beta_binomial_fit(n, n - c)
    swapped = {"all-pass": "all-fail", "all-fail": "all-pass"}
    assert other.status == swapped.get(one.status, one.status)
    if one.status == "ok" and one.rho > 0.01:
        assert [other.b, other.a] == pytest.approx([one.a, one.b], rel=1e-5)


@pytest.mark.parametrize(
    ("n", "c", "status", "mean", "rho"),
    [
        (3, [0, 0], "all-fail", 0.0, np.nan),
        (3, [3, 3], "all-pass", 1.0, np.nan),
        (1, [0, 1, 1], "single-trial", 2 / 3, np.nan),
        (0, [0, 0], "no-trials", np.nan, np.nan),
        ([3, 3, 6], [0, 0, 6], "all-or-nothing", 1 / 3, 1.0),
        (2, [1, 1, 1], "underdispersed", 0.5, 0.0),
        (2, [0, 1, 1, 2], "underdispersed", 0.5, 0.0),
        ([2, 0, 2, 2], [0, 0, 1, 2], "ok", 0.5, 1 / 3),
    ],
)
def test_limits_are_named(n: Any, c: list[int], status: str, mean: float, rho: float) -> None:
    got = beta_binomial_fit(n, c)
    assert got.status == status
    assert [got.mean, got.rho] == pytest.approx([mean, rho], nan_ok=True)
    assert got.cases == np.count_nonzero(np.broadcast_to(n, len(c)))


def test_all_or_nothing_is_the_highest_likelihood() -> None:
    got = beta_binomial_fit(3, [0, 0, 3])
    near = stats.betabinom.logpmf([0, 0, 3], 3, 1e-7 / 3, 2e-7 / 3).sum()
    assert got.loglik == pytest.approx(near, abs=1e-5)
    assert got.loglik > near
    assert beta_binomial_pass_at(got.a, got.b, [1, 50], got.mean) == pytest.approx([1 / 3, 1 / 3])


def test_refit_repeats_single_fits() -> None:
    n, c = sample(7)
    cells, fit = distinct_cells(n, c), beta_binomial_fit(n, c)
    weights = resampled_counts(cells.multiplicity, 40, np.random.default_rng(0)).astype(float)
    got = beta_binomial_refit(cells, weights, fit)
    for row, weight in enumerate(weights):
        single = beta_binomial_fit(cells.n, cells.c, weight)
        assert STATUSES[got.status[row]] == single.status
        if single.status == "ok" and single.rho > 0.01:
            assert [got.a[row], got.b[row]] == pytest.approx([single.a, single.b], rel=1e-5)


def test_refit_keeps_resamples_at_the_limits() -> None:
    cells = distinct_cells(3, [0, 1, 3, 3])
    fit = beta_binomial_fit(3, [0, 1, 3, 3])
    weights = np.array([[4.0, 0, 0], [0, 0, 4], [0, 4, 0], [2, 0, 2], [0, 0, 0], [1, 1, 2]])
    got = beta_binomial_refit(cells, weights, fit)
    names = [STATUSES[code] for code in got.status]
    assert names == [
        "all-fail",
        "all-pass",
        "underdispersed",
        "all-or-nothing",
        "no-trials",
        "ok",
    ]
    value = beta_binomial_pass_at(got.a, got.b, 9, got.mean)
    assert value[:4] == pytest.approx([0.0, 1.0, 1 - (2 / 3) ** 9, 0.5])
    assert np.isnan(value[4])
    assert value[5] == pytest.approx(beta_binomial_pass_at(fit.a, fit.b, 9), rel=1e-6)


def test_refit_does_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    n, c = sample(8)
    cells, fit = distinct_cells(n, c), beta_binomial_fit(n, c)
    weights = resampled_counts(cells.multiplicity, 30, np.random.default_rng(0)).astype(float)
    whole = beta_binomial_refit(cells, weights, fit)
    monkeypatch.setattr(betabinomial, "_CELLS", 100)
    parts = beta_binomial_refit(cells, weights, fit)
    np.testing.assert_allclose(parts.a, whole.a, rtol=1e-6)


def test_long_rising_factorials_agree_with_the_direct_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    n = np.full(30, 2000)
    c = np.random.default_rng(1).binomial(n, np.random.default_rng(2).beta(0.5, 0.8, 30))
    quick = beta_binomial_fit(n, c)
    monkeypatch.setattr(betabinomial, "_DIRECT_STEPS", 10_000)
    direct = beta_binomial_fit(n, c)
    assert [quick.a, quick.b] == pytest.approx([direct.a, direct.b], rel=1e-8)


def test_fit_recovers_the_truth() -> None:
    rng = np.random.default_rng(5)
    got = beta_binomial_fit(10, rng.binomial(10, rng.beta(0.4, 0.9, 50_000)))
    assert [got.a, got.b] == pytest.approx([0.4, 0.9], rel=0.03)
