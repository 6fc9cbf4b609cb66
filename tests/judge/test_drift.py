"""Judges that err differently on two runs, judges that mind the order, labels to plan for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError, UnknownConfigError
from trialframe.kernels.judge import differential_bias, newcombe
from trialframe.kernels.paired import mcnemar, tango

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def rows(tp: int, fp: int, fn: int, tn: int, run: str, start: int = 0) -> pl.DataFrame:
    judge, label = [1] * (tp + fp) + [0] * (fn + tn), [1] * tp + [0] * fp + [1] * fn + [0] * tn
    case = np.arange(len(judge)) + start
    return pl.DataFrame({"run": run, "case": case, "judge": judge, "label": label})


def test_independent_labels_golden(golden: Golden) -> None:
    for entry in golden("differential_judge_error_test"):
        sides = [
            rows(*(entry["inputs"][run][name] for name in ("tp", "fp", "fn", "tn")), run, start)
            for run, start in (("a", 0), ("b", 1000))
        ]
        got = tr.judge_drift(pl.concat(sides), "a", "b", config="run")
        wanted, near = entry["expected"], {"abs": entry["tolerance"]}
        for row, name in zip(got.table.iter_rows(named=True), ("sens", "spec"), strict=True):
            assert row["pvalue"] == pytest.approx(wanted[f"fisher_{name}"], **near)
            assert row["baseline_value"] == pytest.approx(wanted[f"{name}_a"], **near)
            assert row["candidate_value"] == pytest.approx(wanted[f"{name}_b"], **near)
            assert row["method"] == "fisher, newcombe"
        assert got.table["status"].to_list() == ["fail", "inconclusive"]
        assert (got.status, got.flagged, got.exit_code) == ("fail", True, 1)


def test_the_bias_is_that_of_the_error_rates(golden: Golden) -> None:
    for entry in golden("differential_judge_error_bias"):
        asked = entry["inputs"]
        sides = []
        for run, start in (("a", 0), ("b", 1000)):
            passes, fails = (
                round(100 * asked[f"theta_{run}"]),
                round(100 - 100 * asked[f"theta_{run}"]),
            )
            tp, tn = round(passes * asked[f"q1_{run}"]), round(fails * asked[f"q0_{run}"])
            sides.append(rows(tp, fails - tn, passes - tp, tn, run, start))
        got = tr.judge_drift(pl.concat(sides), "a", "b", config="run")
        wanted = entry["expected"]
        assert got.bias == pytest.approx(wanted["naive_delta"] - wanted["true_delta"], abs=1e-12)
        assert got.judge_diff == pytest.approx(wanted["naive_delta"], abs=1e-12)
        exact = differential_bias(
            *(asked[name] for name in ("theta_a", "theta_b", "q0_a", "q1_a", "q0_b", "q1_b"))
        )
        assert got.bias == pytest.approx(float(exact.bias), abs=1e-12)
        assert got.bias_low < got.bias < got.bias_high


def test_the_same_cases_are_paired() -> None:
    # 40 passes in both runs: 3 that only a's verdict finds, 9 that only b's does
    judge_a = [1] * 25 + [1] * 3 + [0] * 9 + [0] * 3 + [0] * 20
    judge_b = [1] * 25 + [0] * 3 + [1] * 9 + [0] * 3 + [0] * 19 + [1]
    table = pl.DataFrame(
        {
            "run": ["a"] * 60 + ["b"] * 60,
            "case": [*range(60)] * 2,
            "judge": judge_a + judge_b,
            "label": ([1] * 40 + [0] * 20) * 2,
        }
    )
    got = tr.judge_drift(table, "a", "b", config="run")
    found, bounds = got.table.row(0, named=True), tango(3, 9, 40)
    assert (found["method"], found["pairs"]) == ("mcnemar, tango", 40)
    assert found["pvalue"] == pytest.approx(float(mcnemar(3, 9).pvalue))
    assert found["low"] == pytest.approx(float(bounds.low))
    assert found["fisher"] == pytest.approx(fisher_exact([[28, 12], [34, 6]])[1])
    assert found["newcombe_low"] == pytest.approx(float(newcombe(28, 40, 34, 40).low))
    back = tr.judge_drift(table, "b", "a", config="run")
    assert back.table["low"].to_list() == pytest.approx((-got.table["high"]).to_list())


def test_sameness_must_be_shown() -> None:
    few = pl.concat([rows(18, 2, 2, 18, "a"), rows(18, 2, 2, 18, "b", 1000)])
    got = tr.judge_drift(few, "a", "b", config="run")
    assert (got.status, got.flagged) == ("inconclusive", True)
    assert "cannot exclude" in got.claim
    assert got.smallest_margin == pytest.approx(0.207, abs=0.01)
    at_margin = tr.judge_drift(few, "a", "b", config="run", margin=got.smallest_margin + 1e-9)
    assert at_margin.status == "pass"
    many = pl.concat([rows(900, 100, 100, 900, "a"), rows(900, 100, 100, 900, "b", 9999)])
    assert tr.judge_drift(many, "a", "b", config="run").exit_code == 0
    close = pl.concat([rows(940, 100, 60, 900, "a"), rows(900, 100, 100, 900, "b", 9999)])
    near = tr.judge_drift(close, "a", "b", config="run")
    assert (near.status, near.flagged) == ("pass", True)
    assert "differs" in near.warnings[0]


def test_trials_and_clusters_use_robust_errors() -> None:
    single = pl.concat([rows(18, 2, 2, 18, "a"), rows(14, 4, 6, 16, "b", 1000)])
    one = tr.judge_drift(single, "a", "b", config="run").table.row(0, named=True)
    five = tr.judge_drift(pl.concat([single] * 5), "a", "b", config="run").table.row(0, named=True)
    assert five["method"] == "t-cr2"
    assert five["diff"] == pytest.approx(one["diff"])
    # five copies of a label are worth one
    assert five["high"] - five["low"] == pytest.approx(one["high"] - one["low"], rel=0.15)
    tied = tr.judge_drift(
        single.with_columns(repo=pl.col("case") // 5), "a", "b", config="run", cluster="repo"
    )
    assert tied.table["method"].unique().to_list() == ["t-cr2"]


def test_calibrations_in_place_of_a_table() -> None:
    a, b = rows(18, 2, 2, 18, "a"), rows(14, 4, 6, 16, "b", 1000)
    table = pl.concat([a, b])
    wanted = tr.judge_drift(table, "a", "b", config="run")
    whole = tr.judge_drift(tr.calibrate(table, config="run"), "a", "b")
    pair = tr.judge_drift((tr.calibrate(a), tr.calibrate(b)), "a", "b")
    assert whole.table.equals(wanted.table)
    assert pair.table.equals(wanted.table)
    assert pair.claim == wanted.claim


def test_one_class_is_no_answer() -> None:
    table = pl.concat([rows(18, 0, 2, 0, "a"), rows(14, 4, 6, 16, "b", 1000)])
    got = tr.judge_drift(table, "a", "b", config="run")
    assert (got.status, got.smallest_margin) == ("inconclusive", None)
    assert "no label of that class" in got.warnings[0]


def test_bad_drift() -> None:
    table = pl.concat([rows(18, 2, 2, 18, "a"), rows(14, 4, 6, 16, "b", 1000)])
    with pytest.raises(ArgumentError, match="Name the column of the configs"):
        tr.judge_drift(table, "a", "b")
    with pytest.raises(UnknownConfigError, match="no config 'c'"):
        tr.judge_drift(table, "a", "c", config="run")
    with pytest.raises(ArgumentError, match="are both 'a'"):
        tr.judge_drift(table, "a", "a", config="run")
    with pytest.raises(TrialsError, match="config 'b' has no row with both"):
        tr.judge_drift(
            table.with_columns(label=pl.when(pl.col("run") == "a").then("label")),
            "a",
            "b",
            config="run",
        )
    two = tr.calibrate(table.with_columns(x="judge"), judge=["judge", "x"], config="run")
    with pytest.raises(ArgumentError, match="several judges"):
        tr.judge_drift(two, "a", "b")


def test_position_bias() -> None:
    pairs = pl.DataFrame({"ab": [1] * 40 + [0] * 20, "ba": [1] * 28 + [0] * 29 + [1] * 3})
    got, bounds = tr.position_bias(pairs, first="ab", second="ba"), tango(3, 12, 60)
    assert (got.prefers_first, got.prefers_second, got.consistent) == (12, 3, 45)
    assert (got.bias_low, got.bias_high) == pytest.approx((float(bounds.low), float(bounds.high)))
    assert got.pvalue == pytest.approx(float(mcnemar(12, 3).pvalue))
    assert (got.status, got.exit_code) == ("biased", 1)
    back = tr.position_bias(pairs, first="ba", second="ab")
    assert back.bias == -got.bias
    words = pairs.with_columns(
        pl.all().replace_strict({1: "A", 0: "B"}, return_dtype=pl.String)
    ).vstack(pl.DataFrame({"ab": ["tie", "A"], "ba": ["A", "?"]}))
    named = tr.position_bias(
        words, first="ab", second="ba", verdicts={"A": True, "B": False, "tie": None}
    )
    assert (named.bias, named.undecided, named.unmapped) == (got.bias, 2, 1)
    tied = tr.position_bias(
        pairs.with_columns(case=pl.int_range(60) // 3), first="ab", second="ba", cluster="case"
    )
    assert (tied.method, tied.bias) == ("t-cr2", got.bias)
    fair = tr.position_bias({"x": [1, 0] * 20, "y": [1, 0] * 20}, first="x", second="y")
    assert (fair.status, fair.consistency, fair.exit_code) == ("not detected", 1.0, 0)
    assert tr.position_bias({"x": [1], "y": [1]}, first="x", second="y").exit_code == 1
    with pytest.raises(TrialsError, match="no pair has a winner"):
        tr.position_bias({"x": [1], "y": [None]}, first="x", second="y")
    with pytest.raises(ColumnError, match="no column 'z'"):
        tr.position_bias(pairs, first="ab", second="z")


@pytest.mark.parametrize("method", ["ppi++", "rogan-gladen"])
def test_planned_labels_are_the_fewest(method: str) -> None:
    asked = {"rate": 0.7, "sensitivity": 0.95, "specificity": 0.9, "judged": 5_000}
    got = tr.labels_needed(0.12, method=method, **asked)
    assert got.expected <= 0.12
    less = tr.labels_needed(got.expected * 1.001, method=method, **asked)
    assert less.labels == got.labels
    more = tr.labels_needed(got.expected * 0.999, method=method, **asked)
    assert more.labels > got.labels
    assert got.labels < got.alone


def test_planned_width_is_met_in_simulation() -> None:
    got = tr.labels_needed(0.15, rate=0.6, sensitivity=0.9, specificity=0.8, judged=1_500)
    rng, widths = np.random.default_rng(2), []
    for _ in range(60):
        truth = rng.random(got.labels + 1_500) < 0.6
        judge = np.where(truth, rng.random(len(truth)) < 0.9, rng.random(len(truth)) < 0.2)
        label = pl.Series(truth).set(pl.int_range(len(truth), eager=True) >= got.labels, None)
        made = tr.ppi(pl.DataFrame({"judge": judge, "label": label}))
        widths.append(made.high - made.low)
    assert np.mean(widths) == pytest.approx(0.15, rel=0.03)


def test_plans_that_cannot_be() -> None:
    judged = tr.labels_needed(
        0.02, rate=0.5, sensitivity=0.9, specificity=0.9, judged=200, method="rogan-gladen"
    )
    assert judged.labels is None
    assert "no number of labels" in judged.claim
    assert judged.narrowest > 0.02
    pilot = tr.calibrate(rows(36, 4, 4, 16, "a"))
    assert tr.labels_needed(0.1, pilot).rate == pytest.approx(40 / 60)
    with pytest.raises(ArgumentError, match="rate is not known"):
        tr.labels_needed(0.1)
    with pytest.raises(ArgumentError, match="specificity is not known"):
        tr.labels_needed(0.1, tr.calibrate(rows(36, 0, 4, 0, "a")), rate=0.5)
    with pytest.raises(ArgumentError, match="width"):
        tr.labels_needed(1.0, pilot)
    rare = tr.labels_needed(0.5, rate=0.98, sensitivity=0.9, specificity=0.9)
    assert rare.labels == 250  # five fails among the labels


def test_rates_without_spread_are_not_certain() -> None:
    perfect = pl.concat([rows(8, 0, 0, 8, "a"), rows(8, 0, 0, 8, "b", 100)])
    twice = tr.judge_drift(pl.concat([perfect] * 2), "a", "b", config="run")
    assert twice.table["method"].unique().to_list() == ["t-cr2"]
    assert (twice.status, twice.bias_low) == ("inconclusive", None)
    assert twice.table["low"].to_list() == pytest.approx([float(newcombe(8, 8, 8, 8).low)] * 2)
    fair = {"x": [1, 0] * 10, "y": [1, 0] * 10, "case": [*range(10)] * 2}
    got = tr.position_bias(fair, first="x", second="y", cluster="case")
    assert (got.bias_low, got.bias_high) == pytest.approx(
        (float(tango(0, 0, 10).low), float(tango(0, 0, 10).high))
    )


def test_labels_that_are_not_held_out_are_told() -> None:
    held = pl.concat([rows(18, 2, 2, 18, "a"), rows(14, 4, 6, 16, "b", 1000)])
    seen = held.head(3).with_columns(split=pl.lit("train"))
    table = pl.concat([held.with_columns(split=pl.lit("test")), seen])
    got = tr.judge_drift(tr.calibrate(table, config="run"), "a", "b")
    assert "not held out" in got.warnings[0]


@pytest.mark.parametrize("paired", ["paired", "unpaired"])
def test_many_labels_need_no_square_of_them(paired: str) -> None:
    rng = np.random.default_rng(0)
    cases = np.arange(1_000_000)
    label = rng.random(len(cases)) < 0.6
    judge = np.where(rng.random(len(cases)) < 0.9, label, ~label)
    table = pl.DataFrame({"case": cases // (1 + (paired == "paired")), "judge": judge})
    runs = pl.Series(["a", "b"]).sample(len(cases), with_replacement=True, seed=0)
    if paired == "paired":
        runs = pl.Series(["a", "b"] * (len(cases) // 2))
    found = tr.judge_drift(table.with_columns(run=runs, label=label), "a", "b", config="run")
    assert found.status == "pass"


def test_plans_say_what_bounds_them() -> None:
    floor = tr.labels_needed(0.5, rate=0.01, sensitivity=0.9, specificity=0.9)
    assert floor.labels == 500
    assert "5 passes expected" in floor.claim
    assert "20 labels" in tr.labels_needed(0.9, rate=0.5, sensitivity=0.9, specificity=0.9).claim
    for asked in ({"judged": 0}, {"sensitivity": 0.4, "specificity": 0.5}):
        told = tr.labels_needed(
            0.1,
            method="rogan-gladen",
            **{"rate": 0.5, "sensitivity": 0.9, "specificity": 0.9, **asked},
        ).claim
        assert "inf" not in told
        assert "there are no judged cases" in told or "sensitivity + specificity <= 1" in told


def test_one_column_is_not_both_orders() -> None:
    with pytest.raises(ColumnError, match="first and second are both 'ab'"):
        tr.position_bias({"ab": [1, 0]}, first="ab", second="ab")
