"""Slopes, trend and spread along ordered buckets."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.decay import (
    amplification,
    contrast,
    decay_slope,
    slope_coefficients,
    spread,
    trend,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_golden_slope(golden: Golden) -> None:
    for entry in golden("reliability_decay_slope"):
        means = list(entry["inputs"]["gds_by_bucket"].values())
        assert decay_slope(means, range(len(means))) == pytest.approx(entry["expected"], abs=1e-12)


def test_the_slope_is_that_of_least_squares() -> None:
    index, values = np.array([0, 2, 3, 7]), np.array([0.9, 0.4, 0.5, 0.1])
    assert decay_slope(values, index) == pytest.approx(np.polyfit(index, values, 1)[0])
    assert np.isnan(slope_coefficients([1])).all()


def test_a_contrast_of_independent_cases_is_welchs() -> None:
    rng = np.random.default_rng(1)
    bucket = np.repeat([0, 1, 2], [9, 6, 7])
    values = rng.random(22)
    found = contrast(values, np.ones(22), bucket, np.array([-1.0, 1.0, 0.0]))
    first, second = values[bucket == 0], values[bucket == 1]
    assert found.value == pytest.approx(second.mean() - first.mean())
    expected = np.sqrt(first.var(ddof=1) / 9 + second.var(ddof=1) / 6)
    assert found.se == pytest.approx(expected)


def test_a_contrast_without_a_case_is_undefined() -> None:
    found = contrast(np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), np.array([1.0, -1.0]))
    assert np.isnan([found.value, found.se, found.df]).all()


def statistic(values: tuple[float, ...], bucket: list[int]) -> float:
    """Pairs of different buckets in which the later is larger, ties half."""
    return sum(
        (values[i] < values[j]) + (values[i] == values[j]) / 2
        for i in range(len(values))
        for j in range(len(values))
        if bucket[i] < bucket[j]
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=3, max_size=6))
def test_trend_has_the_moments_of_all_permutations(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[1])
    codes = sorted({b for _, b in pairs})
    values, bucket = tuple(float(v) for v, _ in pairs), [codes.index(b) for _, b in pairs]
    found = trend(np.array(values), np.array(bucket))
    assert found.statistic == statistic(values, bucket)
    every = [statistic(order, bucket) for order in permutations(values)]
    spread_of_all = float(np.var(every))
    if spread_of_all < 1e-12:
        assert np.isnan(found.pvalue)
        return
    z = (found.statistic - float(np.mean(every))) / np.sqrt(spread_of_all)
    assert found.z == pytest.approx(z, abs=1e-9)


def test_golden_amplification(golden: Golden) -> None:
    for entry in golden("variance_amplification_factor"):
        sides = [np.array(entry["inputs"][f"pass1_{end}"]) for end in ("long", "short")]
        n = np.full(len(sides[0]), 3)
        long, short = (spread(n, np.round(side * 3).astype(int)) for side in sides)
        found = float(amplification(long.observed, short.observed)[0])
        expected = entry["expected"]
        if expected.get("vaf") == "inf":
            assert found == np.inf
        else:
            assert found == pytest.approx(expected["vaf_ddof1"], abs=1e-12)
            assert np.sqrt(found) == pytest.approx(expected["vaf_sd_ratio"], abs=1e-12)


def test_golden_noise_correction(golden: Golden) -> None:
    for entry in golden("variance_amplification_factor_noise_corrected"):
        n = entry["inputs"]["n"]
        long, short = (
            spread(np.full(4, n), np.round(np.array(entry["inputs"][f"pass1_{end}"]) * n))
            for end in ("long", "short")
        )
        expected = entry["expected"]
        assert long.between[0] == pytest.approx(expected["between_long"], abs=1e-12)
        assert short.between[0] == pytest.approx(expected["between_short"], abs=1e-12)
        assert amplification(long.between, short.between)[0] == pytest.approx(
            expected["corrected"], abs=1e-12
        )


def test_ratios_at_the_edge() -> None:
    found = amplification(np.array([0.0, 1.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert np.isnan(found[0])
    assert found[1] == np.inf
    assert np.isnan(found[2])
    assert found[3] == 0.0


def test_weights_are_copies_of_cases() -> None:
    n, c = np.array([3, 4, 5, 2]), np.array([1, 4, 2, 1])
    weights = np.array([[1.0, 0.0, 2.0, 1.0]])
    found = spread(n, c, weights)
    times = weights[0].astype(int)
    alone = spread(np.repeat(n, times), np.repeat(c, times))
    assert found.observed == pytest.approx(alone.observed)
    assert found.noise == pytest.approx(alone.noise)


def test_one_case_or_one_trial() -> None:
    assert np.isnan(spread(np.array([3]), np.array([1])).observed[0])
    assert np.isnan(spread(np.array([3, 1]), np.array([1, 1])).noise[0])
