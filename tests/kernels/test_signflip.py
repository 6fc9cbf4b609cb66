from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialframe.kernels import signflip
from trialframe.kernels.lattice import Lattice, cluster_sums, rate_differences, score_differences
from trialframe.kernels.montecarlo import batches, monte_carlo_p, phipson_smyth
from trialframe.kernels.paired import mcnemar
from trialframe.kernels.permutation import permutation
from trialframe.kernels.signflip import SignFlip, rate_test, sign_flip

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def whole(values: list[int]) -> Lattice:
    return Lattice(values=np.array(values, dtype=np.int64), unit=Fraction(1))


def brute(values: list[Any]) -> tuple[float, float, float]:
    """Two-sided, greater, less over all assignments of signs."""
    sums = [
        sum(s * v for s, v in zip(e, values, strict=True))
        for e in product((-1, 1), repeat=len(values))
    ]
    seen = sum(values)
    two_sided = sum(abs(s) >= abs(seen) for s in sums)
    greater, less = sum(s >= seen for s in sums), sum(s <= seen for s in sums)
    return two_sided / len(sums), greater / len(sums), less / len(sums)


def check(got: SignFlip, expected: tuple[float, float, float]) -> None:
    assert got.exact
    assert (got.pvalue, got.greater, got.less) == pytest.approx(expected, rel=1e-9)


def test_golden(golden: Golden) -> None:
    for entry in golden("sign_flip_exact"):
        got = sign_flip(score_differences(np.array(entry["inputs"]["d"])), rng())
        assert got.pvalue == pytest.approx(entry["expected"]["p_two_sided"], abs=1e-12)
        assert got.greater == pytest.approx(entry["expected"]["p_greater"], abs=1e-12)
        assert got.exact
    (entry,) = golden("sign_flip_zero_invariance")
    for name, key in (("d", "p_two_sided"), ("d_with_zeros", "p_with_zeros")):
        got = sign_flip(whole(entry["inputs"][name]), rng())
        assert got.pvalue == pytest.approx(entry["expected"][key], abs=1e-12)
    (entry,) = golden("sign_flip_min_p")
    least = [sign_flip(whole([1] * m), rng()).pvalue for m in entry["inputs"]["changed_cases"]]
    assert least == pytest.approx(entry["expected"]["min_two_sided"], abs=1e-15)


def test_clusters_golden(golden: Golden) -> None:
    (entry,) = golden("cluster_sign_flip_exact")
    rows = [
        (code, d) for code, cases in enumerate(entry["inputs"]["clusters"].values()) for d in cases
    ]
    codes, diff = np.array([code for code, _ in rows]), np.array([d for _, d in rows])
    sums = cluster_sums(score_differences(diff), codes)
    assert sums.values.tolist() == entry["expected"]["cluster_sums"]
    assert sign_flip(sums, rng()).pvalue == pytest.approx(
        entry["expected"]["p_two_sided"], abs=1e-12
    )


def test_monte_carlo_golden(golden: Golden) -> None:
    for entry in golden("monte_carlo_p"):
        assert monte_carlo_p(**entry["inputs"]) == pytest.approx(entry["expected"]["p"], abs=1e-15)
    for entry in golden("phipson_smyth_exact"):
        asked = entry["inputs"]
        got = phipson_smyth(asked["extreme"], asked["draws"], asked["total_distinct"])
        assert got == pytest.approx(entry["expected"]["p_exact"], abs=1e-12)
        upper = monte_carlo_p(asked["extreme"], asked["draws"])
        assert upper == pytest.approx(entry["expected"]["p_upper"], abs=1e-12)


def test_phipson_smyth_sum_and_integral_agree() -> None:
    summed, integrated = phipson_smyth(3, 99, 10_000), phipson_smyth(3, 99, 10_001)
    assert summed == pytest.approx(integrated, rel=1e-5)


def test_non_inferiority_golden(golden: Golden) -> None:
    (entry,) = golden("non_inferiority_seed_rule")
    margin = Fraction(str(entry["inputs"]["margin"]))
    got = sign_flip(score_differences(np.array(entry["inputs"]["d"], dtype=float), margin), rng())
    assert got.greater == pytest.approx(entry["expected"]["sign_flip_p"], rel=1e-9)
    (entry,) = golden("non_inferiority_seed_rule_type1")
    for text, expected in entry["expected"].items():
        n, size = int(text), 0.0
        ones, margin = np.ones(n, dtype=np.int64), Fraction(str(entry["inputs"]["margin"]))
        for losses in range(n // 5):
            passes = (np.arange(n) >= losses).astype(np.int64)
            flipped = sign_flip(rate_differences(ones, ones, ones, passes, margin), rng())
            low = -stats.binom.ppf(0.975, n, losses / n) / n
            size += stats.binom.pmf(losses, n, 0.05) * (flipped.greater < 0.025 and low > -margin)
        assert size == pytest.approx(expected, abs=entry["tolerance"])


def test_thirds_that_tie_are_ties() -> None:
    third = 1 / 3
    diff = np.array([third, -third, third, -third, 0, 0, -third, 0])
    assert sign_flip(score_differences(diff), rng()).pvalue == 1.0
    raw = Lattice(values=diff, unit=Fraction(1))
    assert sign_flip(raw, rng()).pvalue == 1.0


@given(st.lists(st.integers(-7, 7), max_size=11))
def test_integers_by_enumeration(values: list[int]) -> None:
    got = sign_flip(whole(values), rng())
    check(got, brute(values))
    swapped = sign_flip(whole([-v for v in values]), rng())
    assert (swapped.pvalue, swapped.greater, swapped.less) == (got.pvalue, got.less, got.greater)
    assert sign_flip(whole([*values[::-1], 0, 0]), rng()) == got


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 7), st.integers(0, 7)), max_size=9))
def test_rates_by_enumeration(cases: list[tuple[int, int, int]]) -> None:
    n = np.array([n for n, _, _ in cases], dtype=np.int64)
    c_a = np.array([min(a, n) for n, a, _ in cases], dtype=np.int64)
    c_b = np.array([min(b, n) for n, _, b in cases], dtype=np.int64)
    got = rate_test(n, c_a, n, c_b, rng())
    exact = [Fraction(int(y) - int(x), int(m)) for m, x, y in zip(n, c_a, c_b, strict=True)]
    check(got.sign_flip, brute(exact))
    assert got.exact
    assert got.permutation is None
    # the same from floats, on a lattice or not
    diff = c_b / n - c_a / n
    assert sign_flip(score_differences(diff), rng()).pvalue == pytest.approx(got.pvalue, rel=1e-9)
    real = sign_flip(Lattice(values=diff, unit=Fraction(1)), rng())
    assert real.pvalue == pytest.approx(got.pvalue, rel=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_real_scores_by_enumeration(values: list[float]) -> None:
    got = sign_flip(Lattice(values=np.array(values), unit=Fraction(1)), rng())
    near = 1e-9 * sum(map(abs, values))
    sums = [
        sum(s * v for s, v in zip(e, values, strict=True))
        for e in product((-1, 1), repeat=len(values))
    ]
    at_least = np.mean([abs(s) >= abs(sum(values)) - near for s in sums])
    assert got.pvalue == pytest.approx(at_least, rel=1e-9)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_equals_exact_mcnemar_for_single_trials(b: int, c: int, ties: int) -> None:
    got = sign_flip(whole([-1] * b + [1] * c + [0] * ties), rng())
    assert got.pvalue == pytest.approx(float(mcnemar(b, c).pvalue), rel=1e-12)


def test_many_cases_with_thirds_agree_with_a_count_of_fractions() -> None:
    ones, twos = 40, 25
    mass: dict[int, int] = {}
    for i in range(ones + 1):
        for j in range(twos + 1):
            total = 2 * i - ones + 2 * (2 * j - twos)
            mass[total] = mass.get(total, 0) + comb(ones, i) * comb(twos, j)
    values = [1] * 31 + [-1] * 9 + [2] * 17 + [-2] * 8
    seen = sum(values)
    exact = sum(count for total, count in mass.items() if abs(total) >= seen) / 2 ** (ones + twos)
    assert sign_flip(whole(values), rng()).pvalue == pytest.approx(exact, rel=1e-9)


def test_tiny_p_values_are_exact_and_never_zero() -> None:
    got = sign_flip(whole([1] * 300 + [2] * 200), rng())
    assert got.exact
    assert got.pvalue == pytest.approx(2.0**-499, rel=1e-9)
    most = sign_flip(whole([1] * 3000 + [2] * 200), rng())
    assert 0 < most.pvalue < 1e-300


def test_monte_carlo_where_nothing_exact_fits() -> None:
    values = np.random.default_rng(5).normal(0.1, 1.0, 300)
    lattice = score_differences(values)
    got = sign_flip(lattice, rng(), draws=4999)
    assert (got.method, got.exact) == ("monte carlo", False)
    normal = 2 * stats.norm.sf(abs(values.sum()) / np.sqrt(np.sum(values**2)))
    assert got.pvalue == pytest.approx(normal, abs=0.03)
    shuffled = Lattice(values=lattice.values[::-1], unit=lattice.unit)
    assert sign_flip(shuffled, rng(), draws=4999).pvalue == got.pvalue
    mirrored = Lattice(values=-values, unit=Fraction(1))
    swapped = sign_flip(mirrored, rng(), draws=4999)
    assert (swapped.pvalue, swapped.greater, swapped.less) == (got.pvalue, got.less, got.greater)


def test_batches_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).normal(0.1, 1.0, 100)
    whole_ = sign_flip(score_differences(values), rng(), draws=999)
    monkeypatch.setattr(signflip, "batches", lambda draws, _: iter([1] * draws))
    assert sign_flip(score_differences(values), rng(), draws=999) == whole_
    assert list(batches(10, 2**22)) == [1] * 10


def test_all_methods_are_reachable() -> None:
    n = np.arange(1, 41)
    assert sign_flip(whole([1, 1, 1]), rng()).method == "binomial"
    assert sign_flip(whole([1, 2, 3]), rng()).method == "dense"
    assert sign_flip(whole([1, 2, 3] * 2000), rng()).method == "fourier"
    wide = rate_differences(n, n * 0, n, n * 0 + 1)
    assert sign_flip(wide, rng()).method == "partial sums"


@st.composite
def unequal(draw: st.DrawFn) -> np.ndarray:
    sizes = st.tuples(st.integers(1, 5), st.integers(1, 5))
    cases = draw(st.lists(sizes, min_size=1, max_size=4))
    return np.array([[a, draw(st.integers(0, a)), b, draw(st.integers(0, b))] for a, b in cases]).T


@given(unequal())
def test_permutation_by_enumeration(cells: np.ndarray) -> None:
    outcomes = []
    for n_a, c_a, n_b, c_b in cells.T.tolist():
        passes = c_a + c_b
        ways = [
            (Fraction(x, n_b) - Fraction(passes - x, n_a), comb(n_b, x) * comb(n_a, passes - x))
            for x in range(passes + 1)
            if x <= n_b and passes - x <= n_a
        ]
        outcomes.append(ways)
    seen = sum(Fraction(d, m) - Fraction(b, a) for a, b, m, d in cells.T.tolist())
    extreme = every = 0
    for combination in product(*outcomes):
        weight = int(np.prod([w for _, w in combination]))
        every += weight
        extreme += weight * (abs(sum(d for d, _ in combination)) >= abs(seen))
    got = permutation(*cells, rng())
    assert got.exact
    assert got.pvalue == pytest.approx(extreme / every, rel=1e-9)


@given(unequal())
def test_unequal_trials_are_never_called_exact(cells: np.ndarray) -> None:
    n_a, c_a, n_b, c_b = cells
    got = rate_test(n_a, c_a, n_b, c_b, rng())
    swapped = rate_test(n_b, c_b, n_a, c_a, rng())
    assert got.pvalue == pytest.approx(swapped.pvalue, rel=1e-9)
    if np.array_equal(n_a, n_b):
        assert got.exact
        return
    assert not got.exact
    assert got.permutation is not None
    assert got.pvalue == max(got.sign_flip.pvalue, got.permutation.pvalue)
    assert rate_test(n_a, c_a, n_b, c_b, rng(), margin=Fraction(1, 20)).permutation is None


def test_permutation_draws_agree_with_the_exact_p() -> None:
    r = np.random.default_rng(2)
    n_a, n_b = r.integers(1, 6, 30), r.integers(1, 6, 30)
    cells = n_a, r.binomial(n_a, 0.4), n_b, r.binomial(n_b, 0.6)
    from trialframe.kernels import permutation as module

    shuffle = module._shuffled(*cells)
    drawn = monte_carlo_p(module._drawn_shuffles(shuffle, rng(), 9999), 9999)
    exact = permutation(*cells, rng()).pvalue
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact / 9999))


def test_rate_test_flips_clusters() -> None:
    one = np.ones(6, dtype=np.int64)
    codes = np.array([0, 0, 0, 1, 1, 1])
    assert rate_test(one, 0 * one, one, one, rng()).pvalue == pytest.approx(2 / 64)
    assert rate_test(one, 0 * one, one, one, rng(), cluster=codes).pvalue == pytest.approx(0.5)


@pytest.mark.slow
def test_size_with_unequal_trials() -> None:
    r = np.random.default_rng(11)
    m, runs = 10, 400
    n_a, n_b = np.ones(m, dtype=np.int64), np.full(m, 10)
    flips = both = 0
    for _ in range(runs):
        got = rate_test(n_a, r.binomial(n_a, 0.9), n_b, r.binomial(n_b, 0.9), r)
        flips += got.sign_flip.pvalue < 0.05
        both += got.pvalue < 0.05
    assert flips / runs > 0.15
    assert both / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_unequal_trials_golden(golden: Golden) -> None:
    for entry in golden("paired_unequal_trials"):
        sides = [
            np.array([case[key] for case in entry["inputs"]["cases"]])
            for key in ("n_a", "c_a", "n_b", "c_b")
        ]
        got, wanted = rate_test(*sides, np.random.default_rng(0)), entry["expected"]
        assert got.sign_flip.pvalue == pytest.approx(wanted["sign_flip_p"], abs=1e-12)
        assert got.permutation is not None
        assert got.permutation.pvalue == pytest.approx(
            wanted["within_case_permutation_p"], abs=1e-12
        )
        assert got.pvalue == pytest.approx(wanted["pvalue"], abs=1e-12)
        assert got.exact is wanted["sign_flip_is_exact"]
