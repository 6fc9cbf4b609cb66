from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.lattice import cluster_sums, rate_differences, score_differences


@st.composite
def trials(draw: st.DrawFn, most: int = 60) -> np.ndarray:
    n = draw(st.lists(st.integers(1, most), min_size=2, max_size=24))
    n = n[: len(n) // 2 * 2]
    return np.array([[size, draw(st.integers(0, size))] for size in n]).reshape(-1, 4).T


MARGINS = st.sampled_from([Fraction(0), Fraction("0.05"), Fraction("-0.02")])


@given(trials(), MARGINS)
def test_rates_are_exact_whatever_the_trial_counts(cells: np.ndarray, margin: Fraction) -> None:
    n_a, c_a, n_b, c_b = cells
    got = rate_differences(n_a, c_a, n_b, c_b, margin)
    expected = [Fraction(d, m) - Fraction(b, a) + margin for a, b, m, d in cells.T.tolist()]
    assert [int(value) * got.unit for value in got.values] == expected
    assert got.integral


def test_many_different_trial_counts_become_python_integers() -> None:
    n = np.arange(1, 101)
    got = rate_differences(n, n * 0, n, n * 0 + 1)
    assert got.values.dtype == object
    assert [int(value) * got.unit for value in got.values] == [Fraction(1, k) for k in n.tolist()]


@given(trials(10), MARGINS)
def test_scores_that_are_rates_find_their_lattice(cells: np.ndarray, margin: Fraction) -> None:
    n_a, c_a, n_b, c_b = cells
    got = score_differences(c_b / n_b - c_a / n_a, margin)
    exact = rate_differences(n_a, c_a, n_b, c_b, margin)
    assert got.integral
    assert [int(v) * got.unit for v in got.values] == [int(v) * exact.unit for v in exact.values]


def test_real_scores_stay_real() -> None:
    diff = np.random.default_rng(0).normal(size=30)
    got = score_differences(diff, Fraction(1, 10))
    assert not got.integral
    np.testing.assert_allclose(got.values, diff + 0.1)


def test_nothing_at_all() -> None:
    none = np.array([], dtype=np.int64)
    assert len(rate_differences(none, none, none, none).values) == 0
    assert len(score_differences(np.array([])).values) == 0
    assert score_differences(np.zeros(3)).values.tolist() == [0, 0, 0]


@given(trials(), st.randoms(use_true_random=False))
def test_cluster_sums_are_sums(cells: np.ndarray, random: object) -> None:
    lattice = rate_differences(*cells)
    codes = np.arange(len(lattice.values)) % 3
    got = cluster_sums(lattice, codes)
    expected = [sum(lattice.values[codes == code].tolist()) for code in range(codes.max() + 1)]
    assert got.values.tolist() == expected
    assert got.unit == lattice.unit
