"""Agreement of judges with labels: what counts, what does not, and what is said about it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.kernels.intervals import wilson
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]

WORDS = {"pass": True, "satisfied": True, "fail": False, "unsatisfied": False}


def rows(tp: int, fp: int, fn: int, tn: int, **more: Any) -> pl.DataFrame:
    judge, label = [1] * (tp + fp) + [0] * (fn + tn), [1] * tp + [0] * fp + [1] * fn + [0] * tn
    return pl.DataFrame({"case": range(len(judge)), "judge": judge, "label": label}).with_columns(
        **{name: pl.lit(value) for name, value in more.items()}
    )


def test_rates_golden(golden: Golden) -> None:
    for entry in golden("sensitivity_specificity"):
        counts = [
            entry["inputs"][f"judge_{judge}_label_{label}"]
            for judge in ("pass", "fail")
            for label in ("pass", "fail")
        ]
        got, wanted = tr.calibrate(rows(*counts)).row(), entry["expected"]
        for ours, name in (
            ("sensitivity", "sensitivity"),
            ("specificity", "specificity"),
            ("m1", "m1"),
            ("m0", "m0"),
            ("youden", "youden_j"),
        ):
            assert got[ours] == pytest.approx(wanted[name], abs=1e-12)
        bounds = wilson(counts[0], wanted["m1"])
        assert got["sensitivity_low"] == pytest.approx(float(bounds.low))
        assert got["rate_interval"] == "wilson"


def test_kappa_golden_through_the_table(golden: Golden) -> None:
    for entry in golden("cohen_kappa"):
        counts = list(entry["inputs"].values())
        if min(counts[0] + counts[2], counts[1] + counts[3]) == 0:
            continue
        got = tr.calibrate(rows(*counts)).row()
        assert got["kappa"] == pytest.approx(entry["expected"]["kappa"], abs=1e-12)
        assert got["kappa_se"] == pytest.approx(entry["expected"]["se_asymptotic"], abs=1e-12)
        assert got["kappa_analytic"] == "fleiss-cohen-everitt"


def test_the_threshold_is_met_exactly() -> None:
    found = tr.calibrate(rows(4, 1, 1, 4), min_n=10)
    assert found.row()["kappa"] == 0.6
    assert found.status == "calibrated"
    assert tr.calibrate(rows(4, 1, 1, 4), min_n=10, status_by="lower").status == "uncalibrated"
    assert tr.calibrate(rows(40, 1, 1, 40), status_by="lower").status == "calibrated"


def test_statuses_and_their_order() -> None:
    assert tr.calibrate(rows(4, 1, 1, 4)).status == "insufficient-data"
    assert "fewer than 20" in tr.calibrate(rows(4, 1, 1, 4)).row()["reason"]
    assert tr.calibrate(rows(20, 10, 10, 20)).status == "uncalibrated"
    for table, missing in (((30, 0, 5, 0), "fails"), ((0, 5, 0, 30), "passes")):
        found = tr.calibrate(rows(*table))
        assert found.status == "insufficient-data"
        assert f"no labelled {missing}" in found.row()["reason"]
    one_class = tr.calibrate(rows(30, 0, 0, 0))
    assert (one_class.row()["kappa"], one_class.row()["specificity"]) == (None, None)
    constant = tr.calibrate(rows(20, 20, 0, 0))
    assert (constant.status, constant.row()["kappa"]) == ("uncalibrated", 0.0)
    assert [constant.exit_code, tr.calibrate(rows(20, 1, 1, 20)).exit_code] == [1, 0]


def test_a_case_in_both_splits_is_a_leak() -> None:
    held, tuned = rows(20, 1, 1, 20, split="test"), rows(5, 0, 0, 0, split="train")
    leaky = pl.concat([held, tuned])
    found = tr.calibrate(leaky)
    assert found.status == "in-sample"
    assert "5 held-out cases" in found.row()["reason"]
    assert "0, 1, 2, 3, 4" in found.row()["reason"]
    assert found.row()["n"] == 42
    few = tr.calibrate(leaky.filter(pl.col("case") < 15), min_n=20)
    assert few.status == "in-sample"
    assert tr.calibrate(leaky, tuned_on=()).status == "calibrated"
    clean = pl.concat([held, tuned.with_columns(case=pl.col("case") + 1000)])
    assert tr.calibrate(clean).status == "calibrated"
    assert tr.calibrate(clean, tuned_on="train").status == "calibrated"
    assert tr.calibrate(clean, held_out=["train", "test"], tuned_on="test").status == "in-sample"


def test_a_leak_of_one_judge_is_not_one_of_another() -> None:
    held = rows(20, 1, 1, 20, split="test")
    two = pl.concat([held.with_columns(name=pl.lit(name)) for name in ("a", "b")])
    tuned = rows(5, 0, 0, 0, split="train", name="b")
    found = tr.calibrate(pl.concat([two, tuned.select(two.columns)]), by="name")
    assert found.table["status"].to_list() == ["calibrated", "in-sample"]
    assert found.status == "in-sample"
    # the system that was judged does not matter: the case was seen
    runs = pl.concat(
        [held.with_columns(run=pl.lit("new")), rows(5, 0, 0, 0, split="train", run="old")]
    )
    assert tr.calibrate(runs, config="run").row()["leaked_cases"] == 5


def test_splits_that_are_not_there() -> None:
    with pytest.raises(ArgumentError, match=r"no split 'test' in column 'split'.*'dev'"):
        tr.calibrate(rows(20, 1, 1, 20, split="dev"))
    with pytest.raises(ArgumentError, match="there is no split column"):
        tr.calibrate(rows(20, 1, 1, 20), tuned_on="train")
    found = tr.calibrate(rows(20, 1, 1, 20))
    assert "nothing shows that these labels are held out" in found.notes[0]
    assert "held out is not shown" in found.row()["warnings"]
    half = rows(20, 1, 1, 20).with_columns(
        split=pl.when(pl.col("case") < 40).then(pl.lit("test")).otherwise(None)
    )
    assert "2 cases without a split" in " ".join(tr.calibrate(half).notes)


def test_texts_are_never_guessed() -> None:
    table = rows(20, 1, 1, 20).with_columns(
        judge=pl.when(pl.col("judge") == 1).then(pl.lit("Pass")).otherwise(pl.lit("fail"))
    )
    with pytest.raises(TrialsError, match=r"'Pass' \(21\).*'fail' \(21\)") as told:
        tr.calibrate(table)
    assert "verdicts={'Pass': True, 'fail': False}" in str(told.value)
    assert "--verdict Pass=true --verdict fail=false" in str(told.value)
    found = tr.calibrate(table, verdicts={"Pass": True})
    assert found.unmapped.rows() == [("judge", "fail", 21)]
    assert (found.row()["n"], found.row()["no_verdict"]) == (21, 21)
    left_out = tr.calibrate(table, verdicts={"Pass": True, "fail": None})
    assert left_out.unmapped.is_empty()
    plain = table.with_columns(judge=pl.col("judge").replace({"Pass": " TRUE", "fail": "false"}))
    assert tr.calibrate(plain).row()["n"] == 42
    for bad in ({"Pass": "yes"}, [1]):
        with pytest.raises(ArgumentError, match="verdicts"):
            tr.calibrate(table, verdicts=bad)


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"label": pl.lit(2)}, TrialsError, "must hold 0, 1 or null; 42 rows"),
        ({"label": pl.lit(0.5)}, TrialsError, "must hold 0, 1 or null"),
        ({"label": pl.lit(float("nan"))}, TrialsError, "must hold 0, 1 or null"),
        ({"label": pl.lit(None)}, TrialsError, "no row has both"),
        ({"judge": pl.lit(None)}, TrialsError, "no row has both"),
        ({"label": pl.lit([1])}, ColumnError, "holds List"),
        ({"case": pl.lit(None)}, TrialsError, "column 'case' is null in 42 rows"),
    ],
)
def test_bad_values_say_what_to_do(change: dict[str, Any], error: type, told: str) -> None:
    with pytest.raises(error, match=told):
        tr.calibrate(rows(20, 1, 1, 20).with_columns(**change))


def test_bad_columns_and_settings() -> None:
    table = rows(20, 1, 1, 20)
    with pytest.raises(ColumnError, match="which column is the label"):
        tr.calibrate(table.drop("label"))
    with pytest.raises(ColumnError, match=r"no column 'jugde'. .*Did you mean 'judge'"):
        tr.calibrate(table, judge="jugde")
    with pytest.raises(ColumnError, match="the result has columns 'judge' of its own"):
        tr.calibrate(table.with_columns(verdict="judge"), judge="verdict", by="judge")
    with pytest.raises(TrialsError, match="no rows"):
        tr.calibrate(table.clear())
    for bad in (
        {"threshold": 2},
        {"min_n": 0},
        {"status_by": "upper"},
        {"level": 1},
        {"resamples": 5},
    ):
        with pytest.raises(ArgumentError, match=next(iter(bad))):
            tr.calibrate(table, **bad)
    twice = pl.concat([table.with_columns(repo=pl.lit(name)) for name in ("a", "b")])
    with pytest.raises(TrialsError, match="42 cases are in more than one cluster"):
        tr.calibrate(twice, cluster="repo")
    assert "row of its own" not in tr.calibrate(table.drop("case")).notes[0]


def test_rows_that_are_left_out_are_counted() -> None:
    table = rows(20, 1, 1, 20)
    more = pl.DataFrame({"case": [90, 91, 92], "judge": [1, None, 0], "label": [None, 1, None]})
    got = tr.calibrate(pl.concat([table, more], how="vertical_relaxed")).row()
    assert (got["n"], got["no_label"], got["no_verdict"]) == (42, 2, 1)


def test_every_kind_of_table_gives_the_same() -> None:
    table = rows(20, 3, 4, 20)
    wanted = tr.calibrate(table).table
    duckdb = pytest.importorskip("duckdb")
    others = [table.lazy(), table.to_pandas(), table.to_arrow(), table.to_dict(as_series=False)]
    for other in [*others, duckdb.from_arrow(table.to_arrow()), pd.DataFrame(table.to_dicts())]:
        assert tr.calibrate(other).table.equals(wanted)


def test_several_judges_groups_and_configs() -> None:
    table = rows(20, 3, 4, 20).with_columns(other=1 - pl.col("judge"), half=pl.col("case") % 2)
    found = tr.calibrate(table, judge=["other", "judge"], by="half")
    assert found.table.select("judge", "half").rows() == [
        ("judge", 0),
        ("judge", 1),
        ("other", 0),
        ("other", 1),
    ]
    assert found.row(judge="judge", half=1)["n"] == 23
    with pytest.raises(ArgumentError, match="2 rows of this calibration fit"):
        found.row(judge="judge")
    assert "judge" in repr(found)
    assert isinstance(found.to_dict()["table"], list)
    runs = pl.concat([table.with_columns(run=pl.lit(name)) for name in ("b", "a")])
    both = tr.calibrate(runs, config="run")
    assert both.table["config"].to_list() == ["a", "b"]
    assert both.select(config="a").table["n"].to_list() == [47]


def test_trials_of_a_case_are_resampled_together() -> None:
    single = rows(12, 4, 4, 12)
    repeated = pl.concat([single] * 6)
    one, six = tr.calibrate(single).row(), tr.calibrate(repeated).row()
    assert (six["n"], six["cases"], six["kappa"]) == (192, 32, one["kappa"])
    assert (six["kappa_low"], six["kappa_high"]) == (one["kappa_low"], one["kappa_high"])
    assert six["kappa_analytic"] == "linearised"
    assert six["rate_interval"] == "score-t"
    assert six["m1_effective"] == pytest.approx(15)
    assert six["sensitivity_low"] < one["sensitivity_low"]
    clustered = single.with_columns(repo=pl.col("case") // 4)
    got = tr.calibrate(clustered, cluster="repo").row()
    assert (got["clusters"], got["kappa_analytic"]) == (8, "linearised")
    passes = clustered.filter(pl.col("label") == 1)
    wanted = clustered_mean(
        passes["judge"].to_numpy()[:, None].astype(float), np.ones(16), passes["repo"].to_numpy()
    )
    expected = got["sensitivity"] * (1 - got["sensitivity"]) / wanted.se[0] ** 2
    assert got["m1_effective"] == pytest.approx(min(16, expected))


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 4), min_size=1, max_size=3), st.integers(0, 9))
def test_shuffled_rows_change_nothing(tables: list[tuple[int, ...]], seed: int) -> None:
    parts = [rows(*table).with_columns(group=pl.lit(i)) for i, table in enumerate(tables)]
    table = pl.concat(parts)
    if table.is_empty():
        return
    found = tr.calibrate(table, by="group", resamples=200)
    again = tr.calibrate(
        table.sample(fraction=1, shuffle=True, seed=seed), by="group", resamples=200
    )
    assert again.table.equals(found.table)
    for row in found.table.iter_rows(named=True):
        tp, fp, fn, tn = tables[row["group"]]
        assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (tp, fp, fn, tn)
        if min(tp, fp, fn, tn) > 0:
            wanted = cohens_kappa(np.array([[tp, fp], [fn, tn]], dtype=float)).kappa
            assert row["kappa"] == pytest.approx(wanted, abs=1e-10)


def test_agreement_counts_of_real_judges(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "tau2_llm_judges.parquet")
    found = tr.calibrate(
        table, by=["judge_name", "cluster"], case="case_id", judge="judge", verdicts=WORDS
    )
    assert found.table.height == 12
    published = json.loads((shared_data / "expected.json").read_text())["tau2_llm_judges"]["rows"]
    for row in published:
        got = found.row(judge_name=row["judge_name"], cluster=row["cluster"])
        assert got["tp"] + got["tn"] == row["agree"]
        assert got["n"] + got["no_verdict"] == row["n"]
    upstream = table.group_by("judge_name", "cluster").agg(pl.col("agreement_upstream").sum())
    for name, cluster, agree in upstream.rows():
        got = found.row(judge_name=name, cluster=cluster)
        assert got["tp"] + got["tn"] == agree
    assert found.unmapped["rows"].sum() == 67
    with pytest.raises(TrialsError, match="verdicts="):
        tr.calibrate(table, by="judge_name", case="case_id", label="passed")


@pytest.mark.bench
def test_a_million_verdicts_take_a_second() -> None:
    rng, n = np.random.default_rng(0), 1_000_000
    table = pl.DataFrame(
        {"case": np.arange(n) // 5, "label": rng.random(n) < 0.6, "judge": rng.random(n) < 0.6}
    )
    start = time.process_time()
    table.group_by("case").agg(pl.col("label").sum())
    counting = time.process_time() - start
    start = time.process_time()
    tr.calibrate(table)
    assert time.process_time() - start - counting < 1.0


def test_a_caution_names_its_rows_and_is_not_said_of_low_agreement() -> None:
    from trialframe.report.judges import calibration_lines

    good, bad = rows(30, 2, 2, 30, name="good"), rows(2, 30, 30, 2, name="bad")
    lines = calibration_lines(tr.calibrate(pl.concat([good, bad]), by="name"))
    assert lines[0].startswith("at least one uncalibrated: 1 of 2 calibrated")
    assert any(line.startswith("- bad: sensitivity + specificity <= 1") for line in lines)
    skewed = tr.calibrate(rows(0, 40, 0, 0)).row()["warnings"]
    assert "skewed labels" in skewed
    assert "agree" not in skewed
    assert "may be low though" in tr.calibrate(rows(90, 4, 4, 2)).row()["warnings"]
