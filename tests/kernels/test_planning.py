"""Power of paired tests and its inverses: brute force, statsmodels, golden values, properties."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from trialframe.kernels.paired import mcnemar_power
from trialframe.kernels.planning import mcnemar_cases, t_cases, t_power, t_shift
from trialframe.kernels.variance import cases_for

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


@pytest.mark.parametrize(("effect", "cases"), [(0.1, 20), (0.5, 30), (0.2, 400), (1.5, 5)])
def test_t_power_is_that_of_statsmodels(effect: float, cases: int) -> None:
    wanted = TTestPower().power(effect, cases, 0.05, alternative="two-sided")
    assert t_power(effect * cases**0.5, cases - 1) == pytest.approx(wanted, abs=1e-9)


def test_t_power_at_its_ends() -> None:
    assert t_power(0.0, [1.0, 9.0, inf]) == pytest.approx([0.05] * 3, abs=1e-11)
    assert t_power([-1e3, 1e3, 50.0], [9.0, inf, 1e6]).tolist() == [1.0, 1.0, 1.0]
    assert t_power(2.0, inf) == pytest.approx(t_power(2.0, 1e7), abs=1e-6)


@given(st.floats(0.0, 30.0), st.floats(0.01, 5.0), st.floats(1.0, 1e4), st.floats(0.001, 0.2))
def test_t_power_grows_with_the_effect_and_has_no_side(
    shift: float, more: float, df: float, alpha: float
) -> None:
    low, high = t_power([shift, shift + more], df, alpha)
    assert 0.0 < low <= high + 1e-12 <= 1.0 + 1e-11
    assert t_power(-shift, df, alpha) == low


@given(st.floats(1.0, 1e5), st.floats(0.001, 0.2), st.floats(0.3, 0.99))
def test_t_shift_turns_power_round(df: float, alpha: float, power: float) -> None:
    assert t_power(t_shift(df, alpha, power), df, alpha) == pytest.approx(power, abs=1e-7)


@given(st.floats(0.01, 1.0), st.floats(0.02, 0.9), st.floats(0.5, 0.95))
def test_t_cases_is_the_smallest_number(variance: float, effect: float, power: float) -> None:
    cases = t_cases(variance, effect, 0.05, power)
    shift = effect / np.sqrt(variance / np.array([cases - 1, cases]))
    df = np.maximum([cases - 2, cases - 1], 1.0)
    fewer, enough = t_power(shift, df)
    assert enough >= power
    assert fewer < power or cases <= 2


def test_t_cases_needs_a_few_more_than_the_normal_formula(golden: Golden) -> None:
    for entry in golden("miller_sample_size"):
        given_, wanted = entry["inputs"], entry["expected"]
        noise = given_["sigma2_a"] / given_["K_a"] + given_["sigma2_b"] / given_["K_b"]
        got = t_cases(given_["omega2"] + noise, given_["delta"], given_["alpha"], given_["power"])
        assert wanted["n_ceil"] <= got <= wanted["n_ceil"] + 4


def test_clustered_cases_are_needed_in_larger_number() -> None:
    alone, clustered = (t_cases(0.3, 0.1, df_per_case=share) for share in (1.0, 0.05))
    assert cases_for(0.3, 0.1) < alone < clustered


def rejects(wins: int, losses: int, alpha: Fraction) -> bool:
    pairs, fewer = wins + losses, min(wins, losses)
    tail = Fraction(sum(comb(pairs, j) for j in range(fewer + 1)), 2**pairs)
    return min(Fraction(1), 2 * tail) < alpha


def exact_power(n: int, only_a: Fraction, only_b: Fraction) -> Fraction:
    tie = 1 - only_a - only_b
    return sum(
        (
            comb(n, m) * comb(m, c) * only_b**c * only_a ** (m - c) * tie ** (n - m)
            for m in range(n + 1)
            for c in range(m + 1)
            if rejects(c, m - c, Fraction(1, 20))
        ),
        Fraction(0),
    )


def test_mcnemar_cases_by_brute_force() -> None:
    only_a, only_b = Fraction(1, 10), Fraction(6, 10)
    short = [n for n in range(60) if exact_power(n, only_a, only_b) < Fraction(4, 5)]
    assert mcnemar_cases(0.1, 0.6) == short[-1] + 1


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(0.0, 0.1), (0.05, 0.15), (0.1, 0.9), (0.3, 0.7), (0.4, 0.6), (0.2, 0.5)]
)
@pytest.mark.parametrize("target", [0.5, 0.8, 0.9])
def test_the_power_never_falls_below_the_target_again(
    only_a: float, only_b: float, target: float
) -> None:
    found = mcnemar_cases(only_a, only_b, power=target)
    assert found is not None
    powers = [mcnemar_power(n, only_a, only_b).two_sided for n in range(found - 1, 2 * found + 60)]
    assert powers[0] < target
    assert min(powers[1:]) >= target


def test_the_saw_blade_is_seen() -> None:
    powers = np.array([mcnemar_power(n, 0.3, 0.7).two_sided for n in range(54)])
    assert (powers[:53] >= 0.8).any(), "an earlier number of cases has enough power once"


def test_effects_too_small_for_any_suite() -> None:
    assert mcnemar_cases(0.4999, 0.5001) is None
