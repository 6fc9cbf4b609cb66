"""Rates corrected by error rates: golden values through the public functions, refusals, pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, CountsError, UnknownConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]


def calibration(q0: float, m0: int, q1: float, m1: int, **more: Any) -> tr.Calibration:
    hits = [round(q1 * m1), round(q0 * m0)]
    judge = [1] * hits[0] + [0] * (m1 - hits[0]) + [0] * hits[1] + [1] * (m0 - hits[1])
    return tr.calibrate({"judge": judge, "label": [1] * m1 + [0] * m0}, **more)


def judged(rates: dict[str, list[int]], trials: int = 1, **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame({"config": name, "case": np.arange(len(c)), "n": trials, "c": c} | columns)
        for name, c in rates.items()
    ]
    return tr.Counts(pl.concat(frames))


def test_golden_through_the_public_function(golden: Golden) -> None:
    for entry in golden("rogan_gladen"):
        asked, wanted = entry["inputs"], entry["expected"]
        found = calibration(asked["q0"], asked["m0"], asked["q1"], asked["m1"])
        passes = round(asked["p"] * asked["n"])
        counts = judged({"a": [1] * passes + [0] * (asked["n"] - passes)})
        for got in (
            tr.rogan_gladen((asked["p"], asked["n"]), found),
            tr.rogan_gladen(counts, found),
        ):
            near = {"abs": entry["tolerance"]}
            assert got.value == pytest.approx(wanted["theta_hat"], **near)
            assert got.raw == pytest.approx(wanted["theta"], **near)
            assert (got.low, got.high) == pytest.approx((wanted["lower"], wanted["upper"]), **near)
            assert got.se == pytest.approx(wanted["se"], **near)
            assert got.se_delta == pytest.approx(wanted["se_delta"], **near)
            assert (got.status, got.exit_code) == ("corrected", 0)


def test_refusals_have_no_numbers_and_a_reason(golden: Golden) -> None:
    for entry in golden("rogan_gladen_outside"):
        asked = entry["inputs"]
        found = calibration(asked["q0"], asked["m0"], asked["q1"], asked["m1"])
        got = tr.rogan_gladen((asked["p"], asked["n"]), found)
        assert (got.status, got.value, got.low, got.high) == ("does not fit", None, None, None)
        assert entry["expected"]["warning"] in got.reason
        assert got.high_raw == pytest.approx(entry["expected"]["upper_unclipped"], abs=1e-9)
        assert got.exit_code == 1
    chance = tr.rogan_gladen((0.5, 100), calibration(0.5, 40, 0.5, 40))
    assert (chance.status, chance.value, chance.raw) == ("refused", None, None)
    assert "<= 1: the judge does not tell passes from fails" in chance.claim
    no_fails = tr.rogan_gladen((0.5, 100), calibration(0.5, 0, 0.9, 40))
    assert (no_fails.status, no_fails.reason[:18]) == ("refused", "no labelled fails:")
    # better than chance by a hair, and no longer so once smoothed
    hair = tr.rogan_gladen((0.9, 100), calibration(0.05, 100, 1.0, 10))
    assert (hair.status, "once a pass and a fail" in hair.reason) == ("refused", True)


def test_labels_that_are_not_held_out_are_no_correction() -> None:
    table = {"judge": [1] * 30 + [0] * 30, "label": [1] * 28 + [0] * 30 + [1] * 2}
    seen = pl.DataFrame(table | {"case": range(60), "split": "test"})
    both = pl.concat([seen, seen.head(5).with_columns(split=pl.lit("train"))])
    got = tr.rogan_gladen((0.5, 500), tr.calibrate(both))
    assert (got.status, got.exit_code, got.calibration) == ("in-sample", 1, "in-sample")
    assert got.claim.startswith("in-sample: ")


def test_which_row_of_a_calibration_serves() -> None:
    rows = pl.DataFrame({"judge": [1, 1, 0, 0] * 10, "label": [1, 0, 0, 1] * 5 + [1, 1, 0, 0] * 5})
    rows = rows.with_columns(run=pl.Series(["a"] * 20 + ["b"] * 20), case=pl.int_range(40))
    found = tr.calibrate(rows, config="run")
    counts = judged({"a": [1, 0] * 20, "b": [1, 0] * 20})
    assert tr.rogan_gladen(counts, found, config="a").status == "refused"
    assert tr.rogan_gladen(counts, found, config="b").sensitivity == 1.0
    with pytest.raises(ArgumentError, match="none for 'c'"):
        tr.rogan_gladen(judged({"c": [1, 0]}), found)
    with pytest.raises(ArgumentError, match="hold 2 configs"):
        tr.rogan_gladen(counts, found)
    with pytest.raises(UnknownConfigError, match="no config 'x'"):
        tr.rogan_gladen(counts, found, config="x")
    two = tr.calibrate(rows.with_columns(other="judge"), judge=["judge", "other"])
    with pytest.raises(ArgumentError, match="2 rows of this calibration"):
        tr.rogan_gladen((0.5, 10), two)
    assert tr.rogan_gladen((0.5, 10), two.select(judge="other")).judge == "other"
    for bad in (0.4, (1.4, 10), (0.4, 0), (0.4, 10, 3)):
        with pytest.raises(ArgumentError, match="judged"):
            tr.rogan_gladen(bad, two.select(judge="other"))
    with pytest.raises(ArgumentError, match=r"must be what tr\.calibrate returns"):
        tr.rogan_gladen((0.4, 10), None)
    empty = tr.counts({"case": ["x", "y"], "passed": [None, True], "config": ["a", "b"]})
    with pytest.raises(CountsError, match="no judged trial"):
        tr.rogan_gladen(empty, two.select(judge="judge"), config="a")


def test_trials_and_clusters_widen_the_interval() -> None:
    found = calibration(0.9, 200, 0.9, 200)
    cases = [1, 0] * 30
    one = tr.rogan_gladen(judged({"a": cases}), found)
    five = tr.rogan_gladen(judged({"a": [5 * c for c in cases]}, trials=5), found)
    assert (five.trials, five.cases, five.units) == (300, 60, 60)
    assert five.value == pytest.approx(one.value)
    # five copies of a verdict are worth one
    assert five.high - five.low == pytest.approx(one.high - one.low, rel=0.07)
    repos = judged({"a": sorted(cases)}, cluster=[str(i // 10) for i in range(60)])
    wide = tr.rogan_gladen(repos, found)
    assert (wide.units, wide.warnings[0]) == (6, "few independent units: 6")
    assert wide.high - wide.low > 1.5 * (one.high - one.low)
    certain = tr.rogan_gladen(judged({"a": [5] * 30}, trials=5), found)
    assert certain.low < certain.high == 1.0


def test_a_shared_calibration_is_one_source_of_error() -> None:
    found = calibration(0.8, 50, 0.9, 50)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 300).tolist(), rng.integers(0, 2, 300).tolist()
    same = tr.rogan_gladen_difference(judged({"a": a, "b": a}), "a", "b", found)
    assert (same.diff, same.verdict, same.method) == (0.0, "inconclusive", "rogan-gladen, shared")
    assert same.se > 0
    counts = judged({"a": a, "b": b})
    got = tr.rogan_gladen_difference(counts, "a", "b", found)
    raw = (np.mean(b) - np.mean(a)) / 0.7
    assert got.diff == pytest.approx(raw)
    paired = np.std(np.subtract(b, a), ddof=1) / np.sqrt(300) / 0.7
    assert got.se == pytest.approx(paired, rel=0.07)
    back = tr.rogan_gladen_difference(counts, "b", "a", found)
    assert (back.diff, back.low, back.high) == pytest.approx((-got.diff, -got.high, -got.low))
    sides = [tr.rogan_gladen(counts, found, config=name) for name in "ab"]
    assert got.se < np.hypot(sides[0].se, sides[1].se)
    assert got.diff == pytest.approx(sides[1].raw - sides[0].raw)


def test_a_calibration_per_config_adds_both_label_parts() -> None:
    rows = pl.DataFrame(
        {
            "judge": [1] * 36
            + [0] * 4
            + [0] * 32
            + [1] * 8
            + [1] * 36
            + [0] * 4
            + [0] * 24
            + [1] * 16,
            "label": ([1] * 40 + [0] * 40) * 2,
            "run": ["a"] * 80 + ["b"] * 80,
        }
    )
    counts = judged({"a": [1] * 310 + [0] * 190, "b": [1] * 350 + [0] * 150})
    # p = .62 and .70 at theta = .6 with specificity .8 and .6: no true difference
    each = tr.rogan_gladen_difference(counts, "a", "b", tr.calibrate(rows, config="run"))
    shared = tr.rogan_gladen_difference(counts, "a", "b", tr.calibrate(rows))
    assert each.diff == pytest.approx(0.0, abs=1e-9)
    assert each.method == "rogan-gladen, per config"
    assert shared.diff == pytest.approx(0.4 / 3, abs=1e-9)
    assert each.se > shared.se
    drift = tr.judge_drift(rows, "a", "b", config="run")
    assert drift.flagged


def test_a_difference_is_refused_with_either_side() -> None:
    counts = judged({"a": [1, 0] * 50, "b": [1] * 100})
    got = tr.rogan_gladen_difference(counts, "a", "b", calibration(0.5, 40, 0.5, 40))
    assert (got.status, got.diff, got.low, got.verdict) == ("refused", None, None, "refused")
    assert got.exit_code == 1
    with pytest.raises(ArgumentError, match="are both 'a'"):
        tr.rogan_gladen_difference(counts, "a", "a", calibration(0.9, 40, 0.9, 40))
    with pytest.raises(ArgumentError, match="must be Counts"):
        tr.rogan_gladen_difference((0.5, 3), "a", "b", calibration(0.9, 40, 0.9, 40))


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(0, 99))
def test_the_order_of_cases_does_not_matter(passes: list[int], seed: int) -> None:
    found = calibration(0.8, 50, 0.9, 50)
    order = np.random.default_rng(seed).permutation(len(passes))
    tables = [judged({"a": list(np.array(passes)[p])}, trials=3) for p in (slice(None), order)]
    one, two = (tr.rogan_gladen(counts, found) for counts in tables)
    for name in ("raw", "low_raw", "high_raw"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)


def test_a_real_judge_is_refused_where_it_must_be(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "tau2_llm_judges.parquet").with_columns(
        suite="cluster", key=pl.concat_str("case_id", pl.lit("/0"))
    )
    found = tr.calibrate(
        table,
        judge="judge_pass",
        label="passed",
        by=["judge_name", "suite"],
        case=["case_id", "key"],
    )
    refused = []
    for name, suite in (
        table.select("judge_name", "suite").unique().sort("judge_name", "suite").rows()
    ):
        part = table.filter(judge_name=name, suite=suite)
        row = found.select(judge_name=name, suite=suite)
        got = tr.rogan_gladen(
            tr.counts(part, passed="judge_pass", case="case_id", cluster=None), row
        )
        if got.status == "refused":
            refused.append((name, suite))
        elif got.status == "corrected":
            # the labels are those of the run itself: the correction must give them back
            known = part.filter(pl.col("judge_pass").is_not_null())["passed"].mean()
            assert got.raw == pytest.approx(known, abs=1e-9)
            assert got.low <= known <= got.high
    assert ("customer_outcome_v1", "airline") in refused
    assert ("policy_chain_of_thought_v1", "airline") in refused
