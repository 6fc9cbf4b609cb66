from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trialframe.kernels.bayes import (
    bayes_at_n,
    beta_moment,
    delta_pass_at,
    delta_pass_hat,
    macro_posterior,
    posterior_pass_at,
    posterior_pass_hat,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def tally(rows: list[list[int]], categories: int) -> np.ndarray:
    return np.array([np.bincount(row, minlength=categories) for row in rows])


def test_bayes_at_n_golden(golden: Golden) -> None:
    for entry in golden("bayes_at_n"):
        inputs, expected = entry["inputs"], entry["expected"]
        size = len(inputs["weights"])
        prior = tally(inputs["R0"], size) if "R0" in inputs else None
        got = bayes_at_n(tally(inputs["R"], size), inputs["weights"], prior)
        assert got.mean == pytest.approx(expected["mu"], abs=entry["tolerance"])
        assert got.sd == pytest.approx(expected["sigma"], abs=entry["tolerance"])
        assert (got.total == expected["T"]).all()
        if "avg" in expected:
            assert got.average == pytest.approx(expected["avg"], abs=entry["tolerance"])
            assert got.average_sd == pytest.approx(expected["sigma_avg"], abs=entry["tolerance"])
        else:
            assert np.isnan(got.average_sd)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8))
def test_binary_bayes_at_n_is_a_uniform_beta_prior(pairs: list[tuple[int, int]]) -> None:
    fails, passes = np.array(pairs).T
    got = bayes_at_n(np.column_stack([fails, passes]), [0, 1])
    scored = fails + passes > 0
    case = posterior_pass_at(passes[scored], (fails + passes)[scored], 1)
    np.testing.assert_allclose(got.case_mean[scored], case.mean)
    np.testing.assert_allclose(np.sqrt(got.case_var[scored]), case.sd, rtol=1e-6)
    assert np.isnan(got.case_mean[~scored]).all()
    assert got.cases == scored.sum()
    if got.cases:
        macro = macro_posterior(case.mean, case.sd)
        assert got.mean == pytest.approx(float(macro.mean))
        assert got.sd == pytest.approx(float(macro.sd), rel=1e-6)
    else:
        assert np.isnan([got.mean, got.sd, got.average]).all()


def test_bayes_at_n_uses_the_total_of_each_case() -> None:
    got = bayes_at_n([[1, 0], [2, 7]], [0, 1])
    assert got.total.tolist() == [3, 11]
    assert got.mean == pytest.approx(float((Fraction(1, 3) + Fraction(8, 11)) / 2))
    variance = Fraction(2, 9) / 4 + Fraction(24, 121) / 12
    assert got.sd == pytest.approx(float(variance) ** 0.5 / 2)


def test_single_case_posterior_golden(golden: Golden) -> None:
    for entry in golden("pass_at_k_bayes_single_case"):
        inputs, expected = entry["inputs"], entry["expected"]
        arguments = (inputs["c"], inputs["n"], inputs["k"], tuple(inputs["prior"]))
        for name, made in (
            ("pass_at_k", posterior_pass_at(*arguments)),
            ("pass_hat_k", posterior_pass_hat(*arguments)),
        ):
            for field, value in (
                ("mean", made.mean),
                ("sd", made.sd),
                ("interval", [made.low, made.high]),
            ):
                wanted = expected.get(f"{name}_{field}")
                if wanted is not None:
                    np.testing.assert_allclose(value, wanted, atol=entry["tolerance"], rtol=0)
        if "p_interval" in expected:
            p = posterior_pass_at(arguments[0], arguments[1], 1, arguments[3])
            np.testing.assert_allclose(
                [p.low, p.high], expected["p_interval"], atol=entry["tolerance"]
            )


def test_macro_posterior_golden(golden: Golden) -> None:
    for entry in golden("pass_at_k_bayes_macro"):
        rows, expected = np.array(entry["inputs"]["R"]), entry["expected"]
        case = posterior_pass_at(rows.sum(axis=1), rows.shape[1], entry["inputs"]["k"])
        got = macro_posterior(case.mean, case.sd, entry["inputs"]["confidence"])
        tolerance = entry["tolerance"]
        assert got.mean == pytest.approx(expected["mean"], abs=tolerance)
        assert got.sd == pytest.approx(expected["sd"], abs=tolerance)
        np.testing.assert_allclose([got.low, got.high], expected["normal_interval"], atol=tolerance)


def test_delta_golden(golden: Golden) -> None:
    for method, kernel in (
        ("pass_at_k_delta_plugin", delta_pass_at),
        ("pass_hat_k_delta_plugin", delta_pass_hat),
    ):
        for entry in golden(method):
            inputs = entry["inputs"]
            got = kernel(inputs["c"], inputs["n"], inputs["k"])
            assert got.value == pytest.approx(entry["expected"]["plugin"], abs=entry["tolerance"])
            assert got.se == pytest.approx(entry["expected"]["se"], abs=entry["tolerance"])


@given(a=st.integers(1, 30), b=st.integers(1, 30), k=st.integers(0, 40))
def test_beta_moments_are_ratios_of_binomials(a: int, b: int, k: int) -> None:
    exact = Fraction(comb(a + k - 1, k), comb(a + b + k - 1, k))
    assert beta_moment(a, b, k) == pytest.approx(float(exact), rel=1e-10)


@given(n=st.integers(0, 20), share=st.floats(0, 1), k=st.integers(1, 12))
def test_pass_at_mirrors_pass_hat(n: int, share: float, k: int) -> None:
    c = round(n * share)
    one = posterior_pass_at(c, n, k, (0.5, 2.0))
    other = posterior_pass_hat(n - c, n, k, (2.0, 0.5))
    for x, y in ((one.mean, other.mean), (one.low, other.high), (one.high, other.low)):
        assert x == pytest.approx(1 - float(y))
    draws = stats.beta(0.5 + c, 2.0 + n - c).ppf([0.025, 0.975])
    np.testing.assert_allclose([one.low, one.high], 1 - (1 - draws) ** k, rtol=1e-7, atol=1e-12)


def test_no_cases_and_no_trials_are_undefined() -> None:
    got = macro_posterior([np.nan], [np.nan])
    assert np.isnan([got.mean, got.sd, got.low, got.high]).all()
    assert np.isnan(delta_pass_at(0, 0, 2).value)
    assert delta_pass_hat(5, 5, 3).se == 0.0
    assert bayes_at_n(np.empty((0, 2)), [0, 1]).cases == 0
