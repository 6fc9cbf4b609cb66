"""Which rows count: splits, clusters that are found, copies, columns that serve twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.judge._labelled import TAKEN


def drawn(cases: int, seed: int = 0, labelled: int | None = None, **more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(cases) < 0.6
    judge = np.where(rng.random(cases) < 0.85, label, ~label)
    known = np.arange(cases) < (cases if labelled is None else labelled)
    table = pl.DataFrame({"case": np.arange(cases), "judge": judge, "label": label})
    return table.with_columns(
        label=pl.when(pl.Series(known)).then("label"),
        **{name: pl.lit(value) for name, value in more.items()},
    )


@pytest.fixture
def split() -> pl.DataFrame:
    tuned = drawn(40, 1, split="dev").with_columns(case=pl.col("case") + 1000)
    return pl.concat([drawn(200, 0, 60, split="test"), tuned])


def test_prediction_powered_labels_are_held_out_ones(split: pl.DataFrame) -> None:
    alone = tr.ppi(split.filter(split="test").drop("split"))
    found = tr.ppi(split)
    assert (found.value, found.labelled, found.unlabelled) == (alone.value, 60, 140)
    assert (found.status, found.exit_code) == ("corrected", 0)
    assert any("40 cases of 'dev'" in text for text in found.warnings)
    # not tuned on: their verdicts stay, their labels do not
    kept = tr.ppi(split, tuned_on=())
    assert (kept.labelled, kept.unlabelled) == (60, 180)
    assert tr.ppi(split, held_out="dev", tuned_on=()).labelled == 40


def test_prediction_powered_leaks_are_in_sample(split: pl.DataFrame) -> None:
    leaky = pl.concat([split, split.filter(split="test").head(3).with_columns(split=pl.lit("dev"))])
    found = tr.ppi(leaky)
    assert (found.status, found.exit_code) == ("in-sample", 1)
    assert found.claim.startswith("in-sample: ")
    assert found.warnings[0].startswith("in-sample: 3 labelled cases")
    runs = pl.concat([leaky.with_columns(run=pl.lit(name)) for name in ("a", "b")])
    both = tr.ppi_difference(runs, "a", "b", config="run")
    assert (both.status, both.exit_code) == ("in-sample", 1)
    assert both.claim.startswith("in-sample: b is inconclusive")


def test_splits_of_the_unlabelled_table(split: pl.DataFrame) -> None:
    first = split.filter(pl.col("label").is_not_null())
    rest = split.filter(pl.col("label").is_null()).drop("label")
    assert tr.ppi(first, rest.drop("split")).value == tr.ppi(split).value
    assert tr.ppi(first, rest).value == tr.ppi(split).value
    again = pl.concat([rest, split.filter(split="dev").drop("label")]).drop("split")
    assert tr.ppi(first, again).unlabelled == 140


@pytest.mark.parametrize("function", [tr.ppi, tr.calibrate])
def test_splits_that_are_not_there(function: Any, split: pl.DataFrame) -> None:
    with pytest.raises(ArgumentError, match="no split 'nosuch'"):
        function(split, held_out="nosuch")
    with pytest.raises(ArgumentError, match="no split 'nosuch'"):
        function(split, tuned_on="nosuch")
    for flag in ("held_out", "tuned_on"):
        with pytest.raises(ArgumentError, match=f"{flag}.*no split column"):
            function(split.drop("split"), **{flag: "dev"})


def test_in_sample_leads_a_corrected_difference(split: pl.DataFrame) -> None:
    leaky = pl.concat([split, split.filter(split="test").head(3).with_columns(split=pl.lit("dev"))])
    runs = pl.concat([drawn(200, 3, config="a"), drawn(200, 4, config="b")])
    counts = tr.counts(runs, passed="judge")
    made = tr.rogan_gladen_difference(counts, "a", "b", tr.calibrate(leaky))
    assert made.status == "in-sample"
    assert made.claim.startswith("in-sample: b is ")
    assert made.warnings[0].startswith("in-sample: ")


def test_clusters_are_found_named_and_left_out() -> None:
    rows = drawn(120).with_columns(cluster=pl.col("case") // 10)
    found, alone = tr.calibrate(rows), tr.calibrate(rows, cluster=None)
    assert (found.row()["clusters"], alone.row()["clusters"]) == (12, 120)
    assert any("'cluster'" in note for note in found.notes)
    with pytest.raises(ColumnError, match="no column 'cluster'"):
        tr.calibrate(rows.drop("cluster"), cluster="cluster")
    same = tr.calibrate(rows.rename({"cluster": "repo"}), cluster="repo")
    assert same.table.equals(found.table)
    assert tr.ppi(rows, drawn(50), cluster=None).units == 120
    with pytest.raises(TrialsError, match="cluster=None"):
        tr.ppi(rows, drawn(50).with_columns(case=pl.col("case") + 1000))


def test_trials_that_are_there_twice() -> None:
    rows = drawn(60, trial=0)
    twice = pl.concat([rows.with_columns(name=pl.lit(name)) for name in ("a", "b")])
    for function in (tr.calibrate, tr.ppi):
        with pytest.raises(TrialsError, match=r"60 trials occur more than once.*by='judge_name'"):
            function(twice)
    assert tr.calibrate(twice, by="name").table.height == 2
    assert tr.calibrate(twice.rename({"name": "config"})).row()["n"] == 120
    assert tr.calibrate(twice.drop("trial")).row()["cases"] == 60


def test_columns_that_serve_twice() -> None:
    rows = drawn(60)
    with pytest.raises(ColumnError, match="named twice"):
        tr.calibrate(rows, judge=["judge", "judge"])
    with pytest.raises(ColumnError, match="agrees with itself"):
        tr.calibrate(rows, judge="label")


def test_no_group_is_called_as_a_result() -> None:
    rows = drawn(60)
    assert set(tr.calibrate(rows).table.columns) <= TAKEN
    for name in sorted(TAKEN - {"judge", "label"}):
        with pytest.raises(ColumnError, match="of its own"):
            tr.calibrate(rows.with_columns(pl.lit("x").alias(name)), by=name)


def test_words_that_no_row_says() -> None:
    found = tr.calibrate(drawn(60), verdicts={"good": True})
    assert any("no labelled row says 'good'" in note for note in found.notes)


def test_which_word_is_true_is_never_upside_down() -> None:
    rows = drawn(60)
    asked = rows.with_columns(judge=pl.col("judge").cast(pl.Int8).cast(pl.String))
    with pytest.raises(TrialsError, match=r"verdicts=\{'1': True, '0': False\}"):
        tr.calibrate(asked)
    odd = rows.with_columns(judge=pl.when("judge").then(pl.lit("x")).otherwise(pl.lit("z")))
    with pytest.raises(TrialsError, match=r"whichever is true: .* or verdicts="):
        tr.calibrate(odd)
