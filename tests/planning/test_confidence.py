"""Confidence sequences of values and of suites whose trial counts followed their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError
from trialframe.kernels.sequential import bernoulli_sequence, suite_sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_bernoulli_golden(golden: Golden) -> None:
    for entry in golden("bernoulli_mixture_confidence_sequence"):
        g = entry["inputs"]
        values = [True] * g["passes"] + [False] * (g["trials"] - g["passes"])
        found = tr.confidence_sequence(values, level=1 - g["alpha"])
        assert found.method == "bernoulli"
        wanted = entry["expected"]["interval"]
        assert [found.low, found.high] == pytest.approx(wanted, abs=entry["tolerance"])


def test_betting_golden(golden: Golden) -> None:
    for entry in golden("betting_confidence_sequence"):
        g, wanted = entry["inputs"], entry["expected"]
        found = tr.confidence_sequence(g["x"], level=1 - g["alpha"])
        assert found.method == "betting"
        assert [found.low, found.high] == pytest.approx(wanted["cs_t20"], abs=2e-4)
        assert found.path["low"][9] == pytest.approx(wanted["cs_t10"][0], abs=1.5e-3)


def test_bounds_stretch_the_interval() -> None:
    x = np.random.default_rng(1).random(80)
    plain = tr.confidence_sequence(x)
    wide = tr.confidence_sequence(6.0 * x - 2.0, bounds=(-2, 4))
    assert [wide.low, wide.high] == pytest.approx([6 * plain.low - 2, 6 * plain.high - 2])
    assert wide.mean == pytest.approx(6 * plain.mean - 2)


def test_a_running_intersection_may_be_empty() -> None:
    found = tr.confidence_sequence([True] * 60 + [False] * 300, shrink="running")
    assert (found.low, found.high) == (None, None)
    assert "empty" in found.warnings[0]
    steady = tr.confidence_sequence([0.2, 0.4] * 50, shrink="running")
    assert steady.path["low"].is_sorted()
    assert steady.path["high"].is_sorted(descending=True)


def test_no_values_say_nothing() -> None:
    for values in ([], pl.Series([], dtype=pl.Boolean)):
        found = tr.confidence_sequence(values)
        assert (found.mean, found.low, found.high, found.values) == (None, 0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("values", "more", "told"),
    [
        ([0.5, 1.5], {}, r"values\[1\] == 1.5 is outside bounds"),
        ([0.5, None], {}, "1 unknown ones"),
        ([0.5, float("nan")], {}, "1 unknown ones"),
        ([0.5, "x"], {}, "sequence of numbers"),
        (["x"], {}, "must be numbers or truth values"),
        (7, {}, "sequence of numbers"),
        ([0.5], {"method": "bernoulli"}, "for 0 and 1 only"),
        ([0.5], {"method": "beting"}, "Did you mean 'betting'"),
        ([0.5], {"bounds": (1, 0)}, "the first must be below"),
        ([0.5], {"bounds": 1}, "must be two numbers"),
        ([0.5], {"shrink": "no"}, "shrink == 'no'"),
        ([0.5], {"level": 95}, "level == 95"),
    ],
)
def test_bad_values_are_refused(values: Any, more: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        tr.confidence_sequence(values, **more)


def suite() -> tr.Counts:
    frame = pl.DataFrame({"config": ["a"] * 3 + ["b"], "case": ["x", "y", "z", "x"]})
    return tr.Counts(frame.with_columns(n=pl.Series([10, 4, 0, 10]), c=pl.Series([9, 1, 0, 9])))


def test_a_summary_of_adaptive_trials_is_a_confidence_sequence() -> None:
    made = tr.summary(suite(), estimand="suite", stopping="adaptive")
    assert made["metric"].to_list() == ["pass@1", "pass@1"]
    assert made["method"].unique().to_list() == ["mixture-sequence"]
    assert made["se"].null_count() == 2
    row = made.row(0, named=True)
    wanted = suite_sequence([9, 1, 0], [10, 4, 0], [1, 1, 1])
    assert [row["low"], row["high"]] == pytest.approx([float(wanted.low), float(wanted.high)])
    assert row["value"] == pytest.approx((0.9 + 0.25) / 2)
    assert "biased" in row["warnings"]
    alone = bernoulli_sequence(9, 10)
    assert [made["low"][1], made["high"][1]] == pytest.approx(
        [float(alone.low), float(alone.high)], abs=1e-6
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"estimand": "suite", "metrics": "pass^2"},
        {"estimand": "suite", "metrics": ["pass@1", "flaky"]},
        {"estimand": "suite", "method": "bayes"},
    ],
)
def test_other_estimates_of_adaptive_trials_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="only pass@1 with estimand='suite'"):
        tr.summary(suite(), stopping="adaptive", **more)


def test_the_words_of_stopping() -> None:
    with pytest.raises(ArgumentError, match="stopping == 'adaptiv'"):
        tr.summary(suite(), stopping="adaptiv")
    with pytest.raises(ArgumentError, match="method == 'sequence'"):
        tr.summary(suite(), method="sequence")
