"""Intraclass correlations against the published table, golden values and exact sums."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.icc import f_interval, one_way, shrout_fleiss

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_the_table_of_shrout_and_fleiss(golden: Golden) -> None:
    entry = golden("icc_shrout_fleiss")[0]
    ratings, expected = np.array(entry["inputs"]["ratings"]), entry["expected"]
    found = shrout_fleiss(ratings)
    squares = (found.rows_ms, found.within_ms, found.columns_ms, found.error_ms)
    assert squares == pytest.approx([expected[n] for n in ("BMS", "WMS", "JMS", "EMS")], abs=1e-10)
    assert found.single == pytest.approx([expected[f"icc{i}1"] for i in (1, 2, 3)], abs=1e-10)
    assert found.average == pytest.approx([expected[f"icc{i}k"] for i in (1, 2, 3)], abs=1e-10)
    published = [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    assert [round(x, 2) for x in (*found.single, *found.average)] == published
    rows, k = ratings.shape
    one = one_way(np.full(rows, k), ratings.sum(axis=1), (ratings**2).sum(axis=1))
    assert one.single[0] == pytest.approx(expected["icc11"], abs=1e-10)
    assert one.average[0] == pytest.approx(expected["icc1k"], abs=1e-10)
    low, high = f_interval(one)
    assert (low[0], high[0]) == pytest.approx(expected["icc11_ci95"], abs=1e-10)


def test_golden_unbalanced(golden: Golden) -> None:
    for entry in golden("icc_one_way_unbalanced"):
        groups = list(entry["inputs"]["groups"].values())
        n, s = [len(g) for g in groups], [sum(g) for g in groups]
        found = one_way(n, s, s)
        expected = entry["expected"]
        if expected["icc"] is None:
            assert np.isnan(found.single[0])
            continue
        assert found.n0[0] == pytest.approx(expected["n0"], abs=1e-12)
        assert found.between_ms[0] == pytest.approx(expected["ms_between"], abs=1e-12)
        assert found.within_ms[0] == pytest.approx(expected["ms_within"], abs=1e-12)
        assert found.between[0] == pytest.approx(expected["between"], abs=1e-12)
        assert found.single[0] == pytest.approx(expected["icc"], abs=1e-12)


groups = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=7).map(
    lambda pairs: [(n, min(c, n)) for n, c in pairs]
)


@given(groups)
def test_one_way_is_exact(pairs: list[tuple[int, int]]) -> None:
    n, c = [a for a, _ in pairs], [b for _, b in pairs]
    found = one_way(n, c, c)
    runs, m = sum(n), len(n)
    rate = Fraction(sum(c), runs)
    across = sum(a * (Fraction(b, a) - rate) ** 2 for a, b in pairs)
    inside = sum(Fraction(b) - Fraction(b * b, a) for a, b in pairs)
    n0 = (runs - Fraction(sum(a * a for a in n), runs)) / (m - 1)
    msb = across / (m - 1)
    if runs == m:
        assert np.isnan(found.single[0])
        return
    msw = inside / (runs - m)
    below = msb + (n0 - 1) * msw
    if below <= 0:
        assert np.isnan(found.single[0])
    else:
        assert found.single[0] == pytest.approx(float((msb - msw) / below), abs=1e-9)


def test_many_sets_and_weightings_at_once() -> None:
    rng = np.random.default_rng(2)
    n = rng.integers(1, 5, (3, 8))
    c = rng.binomial(n, 0.4)
    weights = rng.integers(0, 3, (4, 8)).astype(float)
    found = one_way(n, c, c, weights)
    assert found.single.shape == (3, 4)
    for j in range(3):
        for b in range(4):
            times = weights[b].astype(int)
            alone = one_way(*(np.repeat(x[j], times) for x in (n, c, c)))
            assert found.single[j, b] == pytest.approx(alone.single[0], abs=1e-12, nan_ok=True)
            assert found.n0[j, b] == pytest.approx(alone.n0[0], abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 7.5])
def test_no_variance_is_undefined(value: float) -> None:
    found = one_way([3, 3, 3], [3 * value] * 3, [3 * value**2] * 3)
    assert np.isnan(found.single[0])
    assert np.isnan(found.average[0])
    assert np.isnan(f_interval(found)[0][0])
    table = shrout_fleiss(np.full((4, 3), value))
    assert np.isnan([*table.single, *table.average]).all()


def test_runs_that_always_agree_are_all_case() -> None:
    found = one_way([2, 2, 2], [2, 0, 2], [2, 0, 2])
    assert found.single[0] == 1.0
    assert found.average[0] == 1.0


def test_spearman_brown_joins_the_two_forms() -> None:
    found = one_way(np.full(6, 4), [4, 3, 0, 1, 4, 2], [4, 3, 0, 1, 4, 2])
    single = found.single[0]
    assert found.average[0] == pytest.approx(4 * single / (1 + 3 * single))


@pytest.mark.slow
def test_the_f_interval_covers_normal_groups() -> None:
    rng = np.random.default_rng(8)
    sims, m, k = 4000, 20, 4
    x = rng.normal(size=(sims, m, 1)) + rng.normal(size=(sims, m, k))
    found = one_way(np.full((sims, m), k), x.sum(axis=2), (x**2).sum(axis=2))
    low, high = f_interval(found)
    assert ((low <= 0.5) & (high >= 0.5)).mean() == pytest.approx(0.95, abs=0.012)
