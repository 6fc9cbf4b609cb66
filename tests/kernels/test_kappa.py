from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from trialframe.kernels.kappa import (
    agreement,
    bootstrap_kappa,
    clustered_se,
    distinct,
    kappa_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

TABLES = st.tuples(*[st.integers(0, 60)] * 4)
NAMES = (
    "judge_pass_label_pass",
    "judge_pass_label_fail",
    "judge_fail_label_pass",
    "judge_fail_label_fail",
)


def table_of(inputs: dict[str, int]) -> list[int]:
    return [inputs[name] for name in NAMES]


def exact_kappa(table: tuple[int, ...]) -> Fraction | None:
    tp, fp, fn, tn = table
    n = sum(table)
    if not n:
        return None
    observed = Fraction(tp + tn, n)
    chance = Fraction((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n * n)
    return None if chance == 1 else (observed - chance) / (1 - chance)


def test_kappa_golden(golden: Golden) -> None:
    for entry in golden("cohen_kappa"):
        got, wanted = agreement(table_of(entry["inputs"])), entry["expected"]
        names = {"observed": "p0", "chance": "pe", "se": "se_asymptotic", "kappa": "kappa"}
        for ours, name in names.items():
            value = wanted.get(name)
            if value is None:
                assert np.isnan(getattr(got, ours))
            else:
                assert float(getattr(got, ours)) == pytest.approx(value, abs=entry["tolerance"])


def test_the_bootstrap_agrees_with_the_exact_one(golden: Golden) -> None:
    for entry in golden("cohen_kappa_bootstrap_exact"):
        table, wanted = table_of(entry["inputs"]), entry["expected"]
        units = np.repeat(np.eye(4, dtype=np.int64), table, axis=0)
        level = entry["inputs"]["confidence"]
        got = bootstrap_kappa(units, 20_000, np.random.default_rng(0), level)
        assert (got.low, got.high) == (wanted["q025"], wanted["q975"])
        assert got.undefined / 20_000 == pytest.approx(wanted["prob_undefined_resample"], abs=4e-4)


def test_the_exact_bootstrap_by_enumeration() -> None:
    table, n = (3, 1, 1, 2), 7
    mass: dict[Fraction, Fraction] = {}
    for draw in product(range(n + 1), repeat=4):
        if sum(draw) == n and (value := exact_kappa(draw)) is not None:
            weight = Fraction(factorial(n))
            for count, share in zip(draw, table, strict=True):
                weight *= Fraction(share, n) ** count / factorial(count)
            mass[value] = mass.get(value, Fraction(0)) + weight
    total, below, bounds = sum(mass.values()), Fraction(0), []
    for value in sorted(mass):
        below += mass[value] / total
        bounds.append((below, value))
    low = next(value for cumulated, value in bounds if cumulated >= Fraction(25, 1000))
    units = np.repeat(np.eye(4, dtype=np.int64), table, axis=0)
    got = bootstrap_kappa(units, 40_000, np.random.default_rng(1))
    assert got.low == pytest.approx(float(low), abs=1e-12)


@given(TABLES)
def test_kappa_is_exact(table: tuple[int, ...]) -> None:
    wanted, got = exact_kappa(table), agreement(table)
    if wanted is None:
        assert np.isnan(got.kappa)
    else:
        assert float(got.kappa) == pytest.approx(float(wanted), abs=1e-14)
        # the number itself, so that thresholds are met exactly
        assert float(got.kappa) == float(wanted)


@given(st.tuples(*[st.integers(1, 60)] * 4))
def test_kappa_and_its_se_agree_with_statsmodels(table: tuple[int, ...]) -> None:
    tp, fp, fn, tn = table
    reference = cohens_kappa(np.array([[tp, fp], [fn, tn]], dtype=float))
    got = agreement(table)
    assert float(got.kappa) == pytest.approx(reference.kappa, abs=1e-10)
    assert float(got.se) ** 2 == pytest.approx(reference.var_kappa, abs=1e-10)


@given(TABLES)
def test_swapping_raters_or_classes_changes_nothing(table: tuple[int, ...]) -> None:
    tp, fp, fn, tn = table
    kappas = kappa_of(np.array([table, (tp, fn, fp, tn), (tn, fn, fp, tp)]))
    assert np.array_equal(kappas, np.full(3, kappas[0]), equal_nan=True)
    one, other = agreement(table), agreement((tn, fn, fp, tp))
    assert np.array_equal(one.positive, other.negative, equal_nan=True)


@given(st.lists(TABLES, min_size=1, max_size=30))
def test_distinct_units_keep_every_unit(rows: list[tuple[int, ...]]) -> None:
    units = np.array(rows, dtype=np.int64)
    tables, multiplicity = distinct(units)
    assert np.array_equal(tables[np.lexsort(tables.T[::-1])], tables)
    assert np.array_equal(multiplicity @ tables, units.sum(axis=0))
    assert len(np.unique(tables, axis=0)) == len(tables)


def test_large_counts_are_told_apart() -> None:
    units = np.array([[2**40, 1, 0, 5], [2**40, 1, 0, 5], [0, 2**40, 3, 1]], dtype=np.int64)
    tables, multiplicity = distinct(units)
    assert tables.tolist() == [[0, 2**40, 3, 1], [2**40, 1, 0, 5]]
    assert multiplicity.tolist() == [1, 2]


@given(st.lists(TABLES, min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_order_does_not_matter(rows: list[tuple[int, ...]], random: Any) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    pair = [np.array(units, dtype=np.int64) for units in (rows, shuffled)]
    if not pair[0].sum():
        return
    boots = [bootstrap_kappa(units, 200, np.random.default_rng(0)) for units in pair]
    assert repr(boots[0]) == repr(boots[1])
    assert clustered_se(pair[0]) == pytest.approx(clustered_se(pair[1]), nan_ok=True)


def test_repeated_trials_widen_the_standard_error() -> None:
    single = np.repeat(np.eye(4, dtype=np.int64), [20, 5, 10, 15], axis=0)
    assert clustered_se(5 * single) == pytest.approx(clustered_se(single))
    assert float(agreement(5 * single.sum(axis=0)).se) < clustered_se(5 * single) / 2


def test_nothing_is_undefined_not_zero() -> None:
    empty = agreement([0, 0, 0, 0])
    assert all(np.isnan(getattr(empty, name)) for name in ("observed", "kappa", "se", "positive"))
    got = bootstrap_kappa(np.array([[5, 0, 0, 0]]), 100, np.random.default_rng(0))
    assert np.isnan(got.low)
    assert got.undefined == 100
    assert np.isnan(clustered_se(np.array([[5, 0, 0, 1]])))
