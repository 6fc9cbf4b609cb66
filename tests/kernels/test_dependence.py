"""Agreement of trials that share something, order in time, and differences between configs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import cochrans_q, mcnemar

from trialframe.kernels.dependence import (
    MOST_TRIALS,
    later_shares,
    no_difference,
    shared_agreement,
    tied_with_best,
)

CELL = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6)


def agreeing(groups: list[int], passed: tuple[bool, ...]) -> tuple[int, int]:
    """Agreeing pairs within groups and between groups."""
    counts = [0, 0]
    for i, j in combinations(range(len(groups)), 2):
        counts[groups[i] != groups[j]] += passed[i] == passed[j]
    return counts[0], counts[1]


def law(groups: list[int], passes: int) -> dict[int, Fraction]:
    """Agreeing pairs within groups over all arrangements of the passes."""
    found: dict[int, Fraction] = {}
    for chosen in combinations(range(len(groups)), passes):
        verdicts = tuple(i in chosen for i in range(len(groups)))
        inside = agreeing(groups, verdicts)[0]
        found[inside] = found.get(inside, Fraction(0)) + Fraction(1, comb(len(groups), passes))
    return found


@given(st.lists(CELL, min_size=1, max_size=4))
def test_agreement_is_that_of_all_arrangements(cells: list[list[tuple[int, bool]]]) -> None:
    rows = [(i, group, passed) for i, cell in enumerate(cells) for group, passed in cell]
    cell, group, passed = (np.array(column) for column in zip(*rows, strict=True))
    found = shared_agreement(cell, group, passed)
    total, inside, outside, within, between = {0: Fraction(1)}, 0, 0, 0, 0
    for pairs in cells:
        groups = [g for g, _ in pairs]
        verdicts = tuple(p for _, p in pairs)
        shared = sum(groups.count(g) * (groups.count(g) - 1) // 2 for g in set(groups))
        if len(set(verdicts)) < 2 or not 0 < shared < comb(len(groups), 2):
            continue
        made: dict[int, Fraction] = {}
        for a, chance in total.items():
            for b, other in law(groups, sum(verdicts)).items():
                made[a + b] = made.get(a + b, Fraction(0)) + chance * other
        total, (same, apart) = made, agreeing(groups, verdicts)
        inside, outside = inside + same, outside + apart
        within, between = within + shared, between + comb(len(groups), 2) - shared
    if not within:
        assert found is None
        return
    assert found is not None
    assert found.exact
    expected = sum(chance for value, chance in total.items() if value >= inside)
    assert found.pvalue == pytest.approx(float(expected), rel=1e-9)
    assert found.together == pytest.approx(inside / within)
    assert found.apart == pytest.approx(outside / between)


def test_order_and_names_of_groups_change_nothing() -> None:
    rng = np.random.default_rng(4)
    cell, group = np.repeat(np.arange(50), 5), rng.integers(0, 3, 250)
    passed = rng.random(250) < 0.5
    one = shared_agreement(cell, group, passed)
    order = rng.permutation(250)
    assert shared_agreement(cell[order], 7 - group[order], passed[order]) == one
    assert shared_agreement(100 - cell, group, passed) == one


def test_wide_cells_are_cut_and_large_tables_stay_exact() -> None:
    rng = np.random.default_rng(5)
    cell, group = np.repeat(np.arange(20_000), 4), np.tile([0, 0, 1, 1], 20_000)
    found = shared_agreement(cell, group, rng.random(80_000) < 0.5)
    assert found is not None
    assert found.exact
    assert 0.001 < found.pvalue < 1
    wide = np.zeros(1000, dtype=np.int64)
    few = shared_agreement(wide, np.arange(1000) // 2, rng.random(1000) < 0.5)
    assert few is not None
    head = slice(0, MOST_TRIALS)
    passed = rng.random(1000) < 0.5
    assert shared_agreement(wide, np.arange(1000) // 2, passed) == shared_agreement(
        wide[head], np.arange(MOST_TRIALS) // 2, passed[head]
    )


def test_nothing_to_see_is_none() -> None:
    cell = np.zeros(4, dtype=np.int64)
    mixed = np.array([True, True, False, False])
    assert shared_agreement(cell, np.arange(4), mixed) is None
    assert shared_agreement(cell, cell, mixed) is None
    assert shared_agreement(cell, np.array([0, 0, 1, 1]), mixed | True) is None
    assert shared_agreement(cell[:0], cell[:0], mixed[:0]) is None


@pytest.mark.slow
def test_the_size_of_the_agreement_test() -> None:
    rng = np.random.default_rng(6)
    cell, group = np.repeat(np.arange(40), 5), np.tile([0, 0, 1, 1, 2], 40)
    rates = np.repeat(rng.beta(1, 1, 40), 5)
    found = [shared_agreement(cell, group, rng.random(200) < rates) for _ in range(2000)]
    rejected = np.mean([item is not None and item.pvalue < 0.05 for item in found])
    assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    assert rejected > 0.02


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=30),
)
def test_shares_in_time_are_those_of_all_pairs(rows: list[tuple[int, int]]) -> None:
    config, when = (np.array(column) for column in zip(*rows, strict=True))
    found = later_shares(config, when, 3)
    for a in range(3):
        for b in range(3):
            first, second = when[config == a], when[config == b]
            pairs = np.sign(second[None, :] - first[:, None])
            expected = float(np.mean((pairs + 1) / 2)) if pairs.size else nan
            assert found[a, b] == pytest.approx(expected, nan_ok=True)


def test_many_times_are_cut_into_parts() -> None:
    rng = np.random.default_rng(7)
    config = rng.integers(0, 2, 50_000)
    when = np.arange(50_000)
    ranks = when[config == 1]
    ones = len(ranks)
    exact = (ranks.sum() - ones * (ones - 1) / 2) / (ones * (50_000 - ones))
    assert later_shares(config, when, 2)[0, 1] == pytest.approx(exact, abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_no_difference_is_cochrans_q(seed: int, configs: int) -> None:
    values = (np.random.default_rng(seed).random((30, configs)) < 0.5).astype(np.float64)
    expected = cochrans_q(values).pvalue
    assert no_difference(values, np.arange(30)) == pytest.approx(expected)


def test_clusters_are_the_blocks() -> None:
    rng = np.random.default_rng(8)
    values = rng.random((10, 3))
    copied, cluster = np.tile(values, (4, 1)), np.tile(np.arange(10), 4)
    alone = no_difference(values, np.arange(10))
    assert no_difference(copied, cluster) == pytest.approx(alone)
    assert no_difference(copied, np.arange(40)) < alone
    assert np.isnan(no_difference(np.ones((5, 3)), np.arange(5)))
    two = (rng.random((400, 2)) < 0.5).astype(np.float64)
    table = np.histogram2d(*two.T, bins=2)[0]
    expected = mcnemar(table, exact=False, correction=False).pvalue
    assert no_difference(two, np.arange(400)) == pytest.approx(expected)


def test_ties_with_the_best() -> None:
    rng = np.random.default_rng(9)
    rates = np.array([0.6, 0.58, 0.2])
    values = (rng.random((400, 3)) < rates).astype(np.float64)
    assert tied_with_best(values, np.arange(400)).tolist() == [True, True, False]
    assert tied_with_best(values, np.zeros(400, dtype=np.int64)).all()
