from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialframe.kernels.betabinomial import beta_binomial_fit, distinct_cells
from trialframe.kernels.extrapolation import (
    beta_binomial_pass_at,
    beta_binomial_pass_hat,
    suite_pass_at,
    suite_pass_hat,
    zero_inflated_fit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_population_golden(golden: Golden) -> None:
    for entry in golden("beta_binomial_pass_at_k"):
        a, b, k = (entry["inputs"][name] for name in ("alpha", "beta", "k"))
        expected = entry["expected"]
        assert beta_binomial_pass_at(a, b, k) == pytest.approx(expected["pass_at_k"], abs=1e-12)
        assert beta_binomial_pass_hat(a, b, k) == pytest.approx(expected["pass_hat_k"], abs=1e-12)


@given(a=st.integers(1, 99), b=st.integers(1, 99), k=st.integers(1, 200))
def test_population_values_are_rising_products(a: int, b: int, k: int) -> None:
    x, y = Fraction(a, 10), Fraction(b, 10)
    fails = prod((y + j) / (x + y + j) for j in range(k))
    assert beta_binomial_pass_at(x, y, k) == pytest.approx(float(1 - fails), rel=1e-9)
    assert beta_binomial_pass_hat(y, x, k) == pytest.approx(float(fails), rel=1e-9)


def test_tiny_rates_keep_their_digits() -> None:
    assert beta_binomial_pass_at(1e-9, 1.0, 3) == pytest.approx(
        1e-9 * (1 + 1 / 2 + 1 / 3), rel=1e-6
    )


def test_limits_need_the_mean() -> None:
    inf, nan = np.inf, np.nan
    assert beta_binomial_pass_at(inf, inf, 3, 0.5) == pytest.approx(0.875)
    assert beta_binomial_pass_hat(inf, inf, 3, 0.5) == pytest.approx(0.125)
    assert beta_binomial_pass_at(inf, inf, 3, [0.0, 1.0]).tolist() == [0.0, 1.0]
    assert beta_binomial_pass_hat(0.0, 0.0, 3, 0.3) == pytest.approx(0.3)
    assert np.isnan(beta_binomial_pass_at(inf, inf, 3))
    assert np.isnan(beta_binomial_pass_at(nan, nan, 3, 0.5))


def test_suite_values_average_the_posterior_of_each_case() -> None:
    n, c = np.array([10, 4, 4, 6]), np.array([1, 4, 4, 0])
    cells, fit = distinct_cells(n, c), beta_binomial_fit(n, c)
    a, b = fit.a + c, fit.b + n - c
    for k, at, hat in zip(
        (1, 20),
        suite_pass_at(fit, cells, [1, 20]),
        suite_pass_hat(fit, cells, [1, 20]),
        strict=True,
    ):
        assert at == pytest.approx(beta_binomial_pass_at(a, b, k).mean())
        assert hat == pytest.approx(beta_binomial_pass_hat(a, b, k).mean())
    assert suite_pass_at(fit, cells, 3).shape == ()


def test_suite_values_at_the_limits() -> None:
    for n, c, expected in (
        (4, [2, 2], [0.5, 1 - 0.5**9]),
        (4, [0, 4, 4], [2 / 3, 2 / 3]),
        (4, [0, 0], [np.nan, np.nan]),
        (1, [0, 1], [np.nan, np.nan]),
        (0, [0], [np.nan, np.nan]),
    ):
        cells, fit = distinct_cells(n, c), beta_binomial_fit(n, c)
        assert suite_pass_at(fit, cells, [1, 9]) == pytest.approx(expected, nan_ok=True)


def test_zero_inflation_finds_impossible_cases() -> None:
    rng = np.random.default_rng(3)
    solvable = rng.random(2000) > 0.3
    c = rng.binomial(12, np.where(solvable, rng.beta(3, 3, 2000), 0.0))
    cells = distinct_cells(12, c)
    fit = beta_binomial_fit(12, c)
    got = zero_inflated_fit(cells, fit)
    assert got.share == pytest.approx(0.3, abs=0.04)
    assert [got.a, got.b] == pytest.approx([3, 3], rel=0.15)
    assert got.loglik > fit.loglik + 50
    plain, inflated = (
        beta_binomial_pass_at(a, b, 200) for a, b in ((fit.a, fit.b), (got.a, got.b))
    )
    assert (1 - got.share) * inflated < plain


def test_zero_inflation_without_zeros_is_the_plain_fit() -> None:
    c = [1, 2, 5, 9, 9]
    fit = beta_binomial_fit(10, c)
    got = zero_inflated_fit(distinct_cells(10, c), fit)
    assert (got.share, got.a, got.b, got.loglik) == (0.0, fit.a, fit.b, fit.loglik)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=20))
@settings(max_examples=25)
def test_zero_inflation_never_fits_worse(c: list[int]) -> None:
    fit = beta_binomial_fit(6, c)
    got = zero_inflated_fit(distinct_cells(6, c), fit)
    if fit.status in {"ok", "underdispersed"}:
        assert got.loglik >= fit.loglik
        assert 0 <= got.share < 1
    else:
        assert np.isnan(got.share)
