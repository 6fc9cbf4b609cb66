from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trialframe.kernels.intervals import clopper_pearson
from trialframe.kernels.paired import (
    dirichlet,
    mcnemar,
    mcnemar_mde,
    mcnemar_power,
    tango,
    wald_plus2,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

COUNTS = st.integers(0, 40)
HALF = Fraction(1, 2)


def binomial_tail(k: int, n: int) -> Fraction:
    return sum((comb(n, j) * HALF**n for j in range(k + 1)), Fraction(0))


def exact_p(b: int, c: int) -> Fraction:
    return min(Fraction(1), 2 * binomial_tail(min(b, c), b + c))


def test_mcnemar_golden(golden: Golden) -> None:
    entries = golden("mcnemar_exact")
    got = mcnemar([e["inputs"]["b"] for e in entries], [e["inputs"]["c"] for e in entries])
    np.testing.assert_allclose(got.pvalue, [e["expected"]["p"] for e in entries], atol=1e-12)
    np.testing.assert_allclose(got.mid_p, [e["expected"]["mid_p"] for e in entries], atol=1e-12)


def test_dirichlet_golden(golden: Golden) -> None:
    for entry in golden("dirichlet_check"):
        got = dirichlet(entry["inputs"]["only_a"], entry["inputs"]["only_b"])
        assert got == pytest.approx(entry["expected"]["p_b_better"], abs=entry["tolerance"])


def test_paired_intervals_golden(golden: Golden) -> None:
    for entry in golden("paired_difference_interval"):
        asked = entry["inputs"]
        counts = asked["only_a"], asked["only_b"], asked["n"], asked["confidence"]
        for method, name in ((tango, "tango"), (wald_plus2, "agresti_min_wald2")):
            got = method(*counts)
            assert [got.low, got.high] == pytest.approx(
                entry["expected"][name], abs=entry["tolerance"]
            )


def test_tango_published_airway_example() -> None:
    got = tango(7, 1, 21)  # Fagerland, Lydersen and Laake (2014): -0.517 to -0.026
    assert [round(float(got.low), 3), round(float(got.high), 3)] == [-0.517, -0.026]


def test_power_golden(golden: Golden) -> None:
    for entry in golden("mcnemar_exact_power"):
        asked = entry["inputs"]
        got = mcnemar_power(asked["n"], asked["p_only_a"], asked["p_only_b"], asked["alpha"])
        expected = entry["expected"]
        assert got.two_sided == pytest.approx(expected["power_two_sided"], abs=1e-9)
        assert got.right_direction == pytest.approx(expected["power_right_direction"], abs=1e-9)


def test_mde_golden(golden: Golden) -> None:
    settings: dict[str, dict[str, float]] = {
        "one_directional_pb_0": {},
        "fixed_discordance_0_2": {"discordance": 0.2},
        "fixed_discordance_0_4": {"discordance": 0.4},
        "fixed_only_a_0_05": {"only_a": 0.05},
    }
    for entry in golden("mcnemar_mde"):
        asked = entry["inputs"]
        for name, held in settings.items():
            expected = entry["expected"][name]
            got = mcnemar_mde(asked["n"], asked["alpha"], asked["power"], **held)
            wanted = np.nan if expected is None else expected
            assert got == pytest.approx(wanted, abs=entry["tolerance"], nan_ok=True), name


def test_non_inferiority_bounds_golden(golden: Golden) -> None:
    for entry in golden("non_inferiority_few_changed"):
        asked, expected = entry["inputs"], entry["expected"]
        upper = clopper_pearson(asked["cases_worse"], asked["cases"], 0.95).high
        assert upper == pytest.approx(expected["upper_share_worse"], abs=entry["tolerance"])
        assert bool(upper < asked["margin"]) is expected["bound_allows_claim"]
    (entry,) = golden("non_inferiority_seed_rule")
    assert tango(0, 0, 20).low == pytest.approx(entry["expected"]["tango_95_lower"], abs=2e-6)
    (entry,) = golden("non_inferiority_tango_type1")
    for cases, expected in entry["expected"].items():
        losses = np.arange(int(cases) + 1)
        claimed = tango(losses, 0, int(cases)).low > -0.05
        size = stats.binom.pmf(losses, int(cases), 0.05) @ claimed
        assert size == pytest.approx(expected, abs=entry["tolerance"])


@given(COUNTS, COUNTS)
def test_mcnemar_by_fractions(b: int, c: int) -> None:
    got = mcnemar(b, c)
    assert got.pvalue == pytest.approx(float(exact_p(b, c)), rel=1e-12)
    here = comb(b + c, b) * HALF ** (b + c)
    mid = 2 * binomial_tail(min(b, c), b + c) - here
    assert got.mid_p == pytest.approx(float(mid), rel=1e-12)
    assert got.pvalue == mcnemar(c, b).pvalue


def test_mcnemar_agrees_with_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar as reference

    for b, c in ((0, 3), (4, 9), (30, 11), (400, 455)):
        table = [[5, b], [c, 7]]
        assert mcnemar(b, c).pvalue == pytest.approx(reference(table, exact=True).pvalue, rel=1e-9)


@given(COUNTS, COUNTS)
def test_dirichlet_by_the_beta_distribution(b: int, c: int) -> None:
    assert dirichlet(b, c) == pytest.approx(stats.beta.sf(0.5, c + 1, b + 1), abs=1e-12)
    assert dirichlet(b, c) + dirichlet(c, b) == pytest.approx(1.0, abs=1e-15)


@given(COUNTS, COUNTS, COUNTS, st.floats(0.5, 0.999))
def test_tango_inverts_its_score(b: int, c: int, ties: int, level: float) -> None:
    n = b + c + ties
    if n == 0:
        assert np.isnan(tango(b, c, n, level).low)
        return
    got, mirrored = tango(b, c, n, level), tango(c, b, n, level)
    assert got.low == -mirrored.high
    assert -1 <= got.low <= (c - b) / n <= got.high <= 1
    critical = stats.norm.ppf((1 + level) / 2)
    for bound in (float(got.low), float(got.high)):
        if abs(bound) > 1 - 1e-9:
            continue
        q = constrained(b, c, n, bound)
        score = (c - b - n * bound) / np.sqrt(n * (2 * q + bound * (1 - bound)))
        assert abs(score) == pytest.approx(critical, abs=1e-6)


def constrained(b: int, c: int, n: int, diff: float) -> float:
    """Maximise the multinomial likelihood at a given difference by brute force, not by formula."""
    from scipy.optimize import minimize_scalar
    from scipy.special import xlogy

    low, high = max(0.0, -diff), (1.0 - diff) / 2.0

    def loss(q: float) -> float:
        return -float(xlogy(b, q) + xlogy(c, q + diff) + xlogy(n - b - c, 1 - 2 * q - diff))

    ends = [low, high]
    if high - low > 1e-12:
        options = {"xatol": 1e-13}
        ends.append(minimize_scalar(loss, bounds=(low, high), method="bounded", options=options).x)
    return float(min(ends, key=loss))


def test_tango_is_vectorised() -> None:
    b, c = np.meshgrid(np.arange(8), np.arange(8))
    got = tango(b, c, 20)
    assert got.low.shape == (8, 8)
    single = [[float(tango(x, y, 20).low) for x in range(8)] for y in range(8)]
    np.testing.assert_array_equal(got.low, single)
    assert tango(20, 0, 20).low == -1
    assert tango(0, 20, 20).high == 1


@given(COUNTS, COUNTS, COUNTS)
def test_wald_plus2_contains_its_centre(b: int, c: int, ties: int) -> None:
    n = b + c + ties
    got = wald_plus2(b, c, n)
    if n == 0:
        assert np.isnan(got.low)
        return
    assert -1 <= got.low < got.high <= 1
    assert got.low == -wald_plus2(c, b, n).high


@pytest.mark.parametrize(("n", "pa", "pb"), [(7, 0.1, 0.4), (12, 0.3, 0.3), (9, 0.0, 1.0)])
@pytest.mark.parametrize("alpha", [0.05, 0.0625, 0.5])
def test_power_by_enumeration(n: int, pa: float, pb: float, alpha: float) -> None:
    power = right = Fraction(0)
    one, two = Fraction(str(pa)), Fraction(str(pb))
    for b in range(n + 1):
        for c in range(n + 1 - b):
            chance = comb(n, b) * comb(n - b, c) * one**b * two**c * (1 - one - two) ** (n - b - c)
            if exact_p(b, c) < Fraction(str(alpha)):
                power += chance
                right += chance * (c > b)
    got = mcnemar_power(n, pa, pb, alpha)
    assert got.two_sided == pytest.approx(float(power), abs=1e-12)
    assert got.right_direction == pytest.approx(float(right), abs=1e-12)
    assert mcnemar_power(n, pb, pa, alpha) == got


def test_power_at_large_n_uses_a_window() -> None:
    wide = mcnemar_power(200_000, 0.05, 0.052)
    rough = stats.norm.cdf(0.002 * np.sqrt(200_000) / np.sqrt(0.102) - 1.96)
    assert wide.two_sided == pytest.approx(rough, abs=0.02)


def test_power_without_cases_or_differences_is_zero() -> None:
    assert mcnemar_power(0, 0.1, 0.3).two_sided == 0
    assert mcnemar_power(30, 0.0, 0.0).two_sided == 0
    assert np.isnan(mcnemar_mde(0))
    assert np.isnan(mcnemar_mde(50, discordance=0.0))


@given(st.integers(6, 300), st.floats(0.05, 0.9))
def test_mde_reaches_its_power(n: int, discordance: float) -> None:
    gap = mcnemar_mde(n, discordance=discordance)
    if np.isnan(gap):
        assert mcnemar_power(n, 0.0, discordance).two_sided < 0.8
        return
    lost = (discordance - gap) / 2
    assert mcnemar_power(n, lost, lost + gap).two_sided == pytest.approx(0.8, abs=1e-6)
