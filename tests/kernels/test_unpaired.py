from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialframe.errors import ArgumentError
from trialframe.kernels.unpaired import TESTS, barnard, boschloo, fisher, least_p, z_test

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


@st.composite
def outcomes(draw: st.DrawFn, most: int = 9) -> tuple[int, int, int, int]:
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    return n_a, draw(st.integers(0, n_a)), n_b, draw(st.integers(0, n_b))


def arrays(*counts: int) -> list[np.ndarray]:
    return [np.array([count]) for count in counts]


def every(n_a: int, n_b: int) -> list[np.ndarray]:
    c_a, c_b = (grid.ravel() for grid in np.meshgrid(np.arange(n_a + 1), np.arange(n_b + 1)))
    return [np.full(len(c_a), n_a), c_a, np.full(len(c_a), n_b), c_b]


def fisher_less(n_a: int, c_a: int, n_b: int, c_b: int) -> Fraction:
    t = c_a + c_b
    ways = sum(comb(n_b, y) * comb(n_a, t - y) for y in range(min(c_b, t) + 1))
    return Fraction(ways, comb(n_a + n_b, t))


def test_golden(golden: Golden) -> None:
    for entry in golden("two_proportion_gate"):
        asked, expected = entry["inputs"], entry["expected"]
        counts = arrays(asked["n_base"], asked["c_base"], asked["n_cand"], asked["c_cand"])
        z, exact = z_test(*counts), fisher(*counts)
        assert z.z[0] == pytest.approx(expected["z"], abs=1e-9)
        assert z.pvalue[0] == pytest.approx(expected["p_z"], abs=1e-9)
        assert bool(z.z[0] <= -1.96) is expected["regression"]
        assert bool(z.z[0] >= 1.96) is expected["improvement"]
        assert exact.two_sided[0] == pytest.approx(expected["fisher_two_sided"], abs=1e-9)
        assert exact.less[0] == pytest.approx(expected["fisher_less"], abs=1e-9)
        got = boschloo(*counts, alternative="two-sided")[0]
        assert got == pytest.approx(expected["boschloo_two_sided"], abs=1e-7)
        other = barnard(*counts, alternative="two-sided")[0]
        assert other == pytest.approx(expected["barnard_two_sided"], abs=1e-7)


def test_boschloo_one_sided_golden(golden: Golden) -> None:
    for entry in golden("boschloo_one_sided"):
        asked, expected = entry["inputs"], entry["expected"]
        counts = arrays(asked["n_base"], asked["c_base"], asked["n_cand"], asked["c_cand"])
        assert boschloo(*counts)[0] == pytest.approx(expected["p"], abs=1e-7)
        least = least_p(counts[0], counts[2])[0]
        assert least == pytest.approx(expected["min_attainable_p"], rel=1e-9)


def test_barnard_agrees_with_scipy_when_configs_are_columns() -> None:
    rng = np.random.default_rng(4)
    for _ in range(25):
        n_a, n_b = rng.integers(2, 12, 2)
        c_a, c_b = rng.integers(0, n_a + 1), rng.integers(0, n_b + 1)
        if c_a + c_b in {0, n_a + n_b}:
            continue
        table = [[c_b, c_a], [n_b - c_b, n_a - c_a]]
        for alternative in ("less", "greater", "two-sided"):
            wanted = stats.barnard_exact(table, alternative=alternative, n=256).pvalue
            got = barnard(*arrays(n_a, c_a, n_b, c_b), alternative=alternative)[0]
            assert got >= wanted - 1e-6  # which searches random points and loses ties to rounding


@pytest.mark.parametrize(
    ("n_a", "c_a", "n_b", "c_b"), [(5, 4, 3, 1), (8, 1, 10, 5), (7, 5, 3, 1), (6, 6, 9, 4)]
)
def test_barnard_by_enumeration(n_a: int, c_a: int, n_b: int, c_b: int) -> None:
    z = {
        (x, y): z_test(*arrays(n_a, x, n_b, y)).z[0] for x in range(n_a + 1) for y in range(n_b + 1)
    }
    region = [k for k, value in z.items() if np.nan_to_num(value) <= z[c_a, c_b] + 1e-9]
    q = np.linspace(0, 1, 20_001)
    chance = sum(stats.binom.pmf(x, n_a, q) * stats.binom.pmf(y, n_b, q) for x, y in region)
    got = barnard(*arrays(n_a, c_a, n_b, c_b))[0]
    assert got == pytest.approx(float(np.max(chance)), abs=1e-7)


def test_z_gate_golden(golden: Golden) -> None:
    (entry,) = golden("two_proportion_gate_size")
    for text, expected in entry["expected"].items():
        n = int(text)
        counts = every(n, n)
        flagged = z_test(*counts).z <= -1.96
        rates = np.arange(0.0, 1.0025, 0.005)[:, None]
        size = flagged * stats.binom.pmf(counts[1], n, rates) * stats.binom.pmf(counts[3], n, rates)
        assert size.sum(axis=1).max() == pytest.approx(expected["max_one_sided_size"], abs=1e-6)
    (entry,) = golden("two_proportion_gate_power")
    for text, expected in entry["expected"].items():
        n = int(text)
        counts = every(n, n)
        flagged = z_test(*counts).z <= -1.96
        chance = stats.binom.pmf(counts[1], n, 0.9) * stats.binom.pmf(counts[3], n, 0.6)
        assert flagged @ chance == pytest.approx(expected, abs=entry["tolerance"])


def test_least_p_golden(golden: Golden) -> None:
    (entry,) = golden("fisher_min_p")
    n = np.array(entry["inputs"]["n_per_side"])
    np.testing.assert_allclose(2 * least_p(n, n, "fisher"), entry["expected"], atol=1e-12)


@given(outcomes())
def test_fisher_by_fractions(counts: tuple[int, int, int, int]) -> None:
    n_a, c_a, n_b, c_b = counts
    got = fisher(*arrays(*counts))
    less, greater = fisher_less(*counts), fisher_less(n_b, c_b, n_a, c_a)
    here = less + greater - 1
    expected = [less, greater, less - here / 2, greater - here / 2]
    fields = [got.less[0], got.greater[0], got.mid_less[0], got.mid_greater[0]]
    assert fields == pytest.approx([float(p) for p in expected], rel=1e-9)
    table = [[c_a, c_b], [n_a - c_a, n_b - c_b]]
    assert got.two_sided[0] == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)


@settings(max_examples=40)
@given(outcomes(6))
def test_boschloo_by_enumeration(counts: tuple[int, int, int, int]) -> None:
    n_a, _, n_b, _ = counts
    seen = fisher_less(*counts)
    q = np.sin(np.linspace(0, np.pi / 2, 4001)) ** 2
    size = np.zeros(len(q))
    for x in range(n_a + 1):
        for y in range(n_b + 1):
            if fisher_less(n_a, x, n_b, y) <= seen:
                size += stats.binom.pmf(x, n_a, q) * stats.binom.pmf(y, n_b, q)
    got = boschloo(*arrays(*counts))[0]
    assert got == pytest.approx(size.max(), abs=1e-6)
    assert got >= size.max() - 1e-9
    assert got <= float(seen) + 1e-9


def test_boschloo_agrees_with_scipy_when_configs_are_columns() -> None:
    for n_a, c_a, n_b, c_b in ((5, 5, 5, 2), (10, 8, 10, 3), (7, 6, 4, 1), (3, 2, 9, 4)):
        table = [[c_b, c_a], [n_b - c_b, n_a - c_a]]
        for alternative in ("less", "greater"):
            reference = stats.boschloo_exact(table, alternative=alternative, n=256).pvalue
            got = boschloo(*arrays(n_a, c_a, n_b, c_b), alternative=alternative)[0]
            assert got == pytest.approx(reference, abs=2e-4)
            assert got >= reference - 1e-9  # the maximum over more nuisance values


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (5, 5), (2, 7), (10, 4)])
def test_least_p_is_what_the_tests_attain(n_a: int, n_b: int) -> None:
    counts = every(n_a, n_b)
    attained = {
        "boschloo": boschloo(*counts).min(),
        "barnard": barnard(*counts).min(),
        "fisher": fisher(*counts).less.min(),
        "fisher_mid": fisher(*counts).mid_less.min(),
        "z": stats.norm.cdf(z_test(*counts).z.min()),
    }
    for test in TESTS:
        got = least_p(*arrays(n_a, n_b), test)[0]
        assert got == pytest.approx(attained[test], rel=1e-9), test


def test_boschloo_keeps_its_level() -> None:
    for n_a, n_b in ((3, 3), (8, 5), (10, 10)):
        counts = every(n_a, n_b)
        flagged = boschloo(*counts) <= 0.05
        q = np.linspace(0, 1, 501)[:, None]
        chance = stats.binom.pmf(counts[1], n_a, q) * stats.binom.pmf(counts[3], n_b, q)
        assert (chance @ flagged).max() <= 0.05 + 1e-9


def test_large_counts() -> None:
    counts = arrays(150, 120, 180, 110)
    got, z = boschloo(*counts)[0], z_test(*counts)
    assert got <= fisher(*counts).less[0]
    assert got == pytest.approx(z.pvalue[0] / 2, rel=0.3)


def test_mixed_cases_equal_single_ones_and_missing_sides_are_nan() -> None:
    r = np.random.default_rng(0)
    n_a, n_b = r.integers(0, 6, 80), r.integers(0, 6, 80)
    c_a, c_b = r.binomial(n_a, 0.6), r.binomial(n_b, 0.4)
    got = boschloo(n_a, c_a, n_b, c_b)
    missing = (n_a == 0) | (n_b == 0)
    mixed = fisher(n_a, c_a, n_b, c_b)
    for values in (got, z_test(n_a, c_a, n_b, c_b).z, mixed.less, mixed.two_sided):
        np.testing.assert_array_equal(np.isnan(values), missing)
    np.testing.assert_array_equal(np.isnan(least_p(n_a, n_b)), missing)
    for i in np.flatnonzero(~missing)[:20]:
        single = arrays(n_a[i], c_a[i], n_b[i], c_b[i])
        assert boschloo(*single)[0] == pytest.approx(got[i], abs=1e-12)
    swapped = boschloo(n_b, c_b, n_a, c_a, alternative="greater")
    np.testing.assert_array_equal(got, swapped)


def test_unknown_words_name_what_there_is() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'less'"):
        boschloo(*arrays(1, 1, 1, 1), alternative="les")
    with pytest.raises(ArgumentError, match="Did you mean 'fisher'"):
        least_p(*arrays(1, 1), "fischer")


@pytest.mark.parametrize(
    "sides", [(5000, 4000, 6000, 4900), (100_000, 50, 90_000, 90), (5000, 2450, 5000, 2550)]
)
def test_fisher_of_large_tables(sides: tuple[int, ...]) -> None:
    from scipy.stats import fisher_exact

    got = fisher(*(np.array([count]) for count in sides))
    n_a, c_a, n_b, c_b = sides
    for found, word in ((got.two_sided, "two-sided"), (got.less, "less"), (got.greater, "greater")):
        wanted = fisher_exact([[c_b, n_b - c_b], [c_a, n_a - c_a]], word).pvalue
        assert found[0] == pytest.approx(wanted, rel=1e-8)


def test_fisher_of_a_million_trials_needs_no_square_of_them() -> None:
    sides = (np.array([count, count]) for count in (700_000, 350_000, 300_000, 151_000))
    got = fisher(*sides)
    assert got.two_sided == pytest.approx([0.0022502] * 2, rel=1e-4)
