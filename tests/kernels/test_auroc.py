from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels import auroc
from trialframe.kernels.auroc import concordance, leave_one_out_auc, permute_within

if TYPE_CHECKING:
    from random import Random

TABLES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans()), min_size=1, max_size=12
)


def arrays(rows: list[tuple[int, int, bool]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    case, rank, fail = zip(*rows, strict=True)
    return np.array(case), np.array(rank), np.array(fail)


def brute(rows: list[tuple[int, int, bool]]) -> dict[int, tuple[Fraction, int]]:
    """Concordant pairs and pairs per case, pair by pair."""
    out = {}
    for case in range(4):
        fails = [rank for c, rank, fail in rows if c == case and fail]
        passes = [rank for c, rank, fail in rows if c == case and not fail]
        won = [Fraction((f > p) * 2 + (f == p), 2) for f, p in product(fails, passes)]
        out[case] = (sum(won, Fraction(0)), len(won))
    return out


def choices(rows: list[tuple[int, int, bool]]) -> Fraction:
    """Two-sided p-value over every choice of failing trials within cases."""
    observed = sum((won - Fraction(n, 2) for won, n in brute(rows).values()), Fraction(0))
    groups = [[r for r in rows if r[0] == case] for case in range(4)]
    options = []
    for group in groups:
        fails = sum(fail for *_, fail in group)
        options.append(
            [
                [(c, rank, i in taken) for i, (c, rank, _) in enumerate(group)]
                for taken in combinations(range(len(group)), fails)
            ]
        )
    extreme = total = 0
    for picked in product(*options):
        table = [row for group in picked for row in group]
        value = sum((won - Fraction(n, 2) for won, n in brute(table).values()), Fraction(0))
        extreme += abs(value) >= abs(observed)
        total += 1
    return Fraction(extreme, total)


@given(TABLES)
def test_concordant_pairs_are_those_counted_one_by_one(rows: list[tuple[int, int, bool]]) -> None:
    found = concordance(*arrays(rows), cases=4)
    expected = brute(rows)
    assert found.twice.tolist() == [int(2 * expected[c][0]) for c in range(4)]
    assert found.pairs.tolist() == [expected[c][1] for c in range(4)]


@given(TABLES, st.randoms(use_true_random=False))
def test_order_of_rows_and_labels_of_signals_do_not_matter(
    rows: list[tuple[int, int, bool]], random: Random
) -> None:
    found = concordance(*arrays(rows), cases=4)
    mixed = [(case, 3 * rank + 1, fail) for case, rank, fail in rows]
    random.shuffle(mixed)
    again = concordance(*arrays(mixed), cases=4)
    assert again.twice.tolist() == found.twice.tolist()


@given(TABLES)
def test_turning_the_signal_round_mirrors_the_auc(rows: list[tuple[int, int, bool]]) -> None:
    found = concordance(*arrays(rows), cases=4)
    turned = concordance(*arrays([(c, 4 - r, f) for c, r, f in rows]), cases=4)
    assert (found.twice + turned.twice == 2 * found.pairs).all()


@given(TABLES.filter(lambda rows: len(rows) <= 9))
def test_the_permutation_test_counts_every_choice(rows: list[tuple[int, int, bool]]) -> None:
    made = permute_within(*arrays(rows), cases=4, rng=np.random.default_rng(0))
    assert made.exact
    assert made.pvalue == pytest.approx(float(choices(rows)), abs=1e-10)


def test_draws_agree_with_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    case = np.repeat(np.arange(30), rng.integers(2, 9, 30))
    rank, fail = rng.integers(0, 4, len(case)), rng.random(len(case)) < 0.4
    rank = rank + fail
    exact = permute_within(case, rank, fail, 30, np.random.default_rng(0))
    monkeypatch.setattr(auroc, "_EXACT_CELLS", 0)
    monkeypatch.setattr(auroc, "_BATCH_CELLS", 500)
    drawn = permute_within(case, rank * 1, fail, 30, np.random.default_rng(0), 40_000)
    assert exact.exact
    assert not drawn.exact
    assert drawn.draws == 40_000
    assert drawn.pvalue == pytest.approx(
        exact.pvalue, abs=4 * np.sqrt(exact.pvalue / 40_000) + 1e-4
    )


def test_draws_choose_exactly_the_given_number_of_fails() -> None:
    ranks = np.ones((7, 3))
    fails = np.array([1, 3, 6], dtype=np.float32)
    sums = auroc._chosen(ranks, fails, np.random.default_rng(0), 200)
    assert (sums == 10).all()


def test_scipy_agrees_on_one_case() -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(2)
    signal, fail = rng.integers(0, 6, 40), rng.random(40) < 0.5
    found = concordance(np.zeros(40, dtype=np.int64), signal, fail, 1)
    expected = mannwhitneyu(signal[fail], signal[~fail]).statistic
    assert found.twice[0] / 2 == expected
    distinct, fail = rng.permutation(12), np.arange(12) < 5
    made = permute_within(np.zeros(12, dtype=np.int64), distinct, fail, 1, rng)
    exact = mannwhitneyu(distinct[fail], distinct[~fail], method="exact").pvalue
    assert made.pvalue == pytest.approx(exact, abs=1e-12)


def test_a_large_case_with_ties_is_exact_too() -> None:
    rng = np.random.default_rng(3)
    rank, fail = np.repeat(np.arange(2), 50), np.arange(100) % 10 == 0
    fail = fail | (rank == 1) & (rng.random(100) < 0.1)
    made = permute_within(np.zeros(100, dtype=np.int64), rank, fail, 1, rng)
    from scipy.stats import hypergeom

    fails, high = int(fail.sum()), int((fail & (rank == 1)).sum())
    law = hypergeom(100, 50, fails)
    apart = abs(high - fails / 2)
    counts = np.arange(fails + 1)
    assert made.exact
    expected = law.pmf(counts)[np.abs(counts - fails / 2) >= apart].sum()
    assert made.pvalue == pytest.approx(expected, abs=1e-10)


def test_without_pairs_nothing_is_said() -> None:
    case, rank = np.array([0, 0, 1]), np.array([1, 2, 3])
    fail = np.array([False, False, True])
    found = concordance(case, rank, fail, 2)
    assert np.isnan(found.pair_weighted)
    assert np.isnan(found.macro)
    assert permute_within(case, rank, fail, 2, np.random.default_rng(0)).pvalue == 1.0
    empty = np.zeros(0, dtype=np.int64)
    assert concordance(empty, empty, empty.astype(bool), 2).pairs.tolist() == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5))
def test_difficulty_from_the_other_trials_pair_by_pair(cells: list[tuple[int, int]]) -> None:
    won, pairs = Fraction(0), 0
    for i, (f_i, p_i) in enumerate(cells):
        for j, (f_j, p_j) in enumerate(cells):
            if i == j or f_i + p_i < 2 or f_j + p_j < 2 or not f_i or not p_j:
                continue
            a, b = Fraction(f_i - 1, f_i + p_i - 1), Fraction(f_j, f_j + p_j - 1)
            won += f_i * p_j * Fraction((a > b) * 2 + (a == b), 2)
            pairs += f_i * p_j
    fails, passes = np.array(cells).T
    got = leave_one_out_auc(fails, passes)
    assert np.isnan(got) if not pairs else got == pytest.approx(float(won / pairs), abs=1e-12)


@pytest.mark.slow
def test_the_test_keeps_its_level() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(2000):
        rate = np.repeat(rng.beta(1, 1, 20), 5)
        fail = rng.random(100) < rate
        rank = rng.integers(0, 3, 100) + (rate > 0.5)  # tells cases apart, not trials
        hits += permute_within(np.repeat(np.arange(20), 5), rank, fail, 20, rng).pvalue < 0.05
    assert hits / 2000 < 0.06
