from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError, UnknownConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

OUTSIDE, INSIDE = "outside the judge's noise", "inside the judge's noise"


def judged(
    *, lift: float = 0.0, wrong: float = 0.2, cases: int = 40, trials: int = 3, draws: int = 3
) -> pl.DataFrame:
    """Simulated transcripts, each judged several times by a judge that errs at random."""
    rng = np.random.default_rng(1)
    truth = tr.simulate(configs=["a", "b"], cases=cases, trials=trials, lift=lift, seed=1)
    rows = truth.join(pl.DataFrame({"judge_draw": range(1, draws + 1)}), how="cross")
    flipped = rng.random(rows.height) < wrong
    return rows.with_columns(judge=pl.col("passed") ^ pl.Series(flipped)).drop("passed")


def test_the_retest_variance_is_that_of_the_errors() -> None:
    made = tr.judge_noise(judged(cases=400))
    for row in made.draws.iter_rows(named=True):
        assert row["retest_variance"] == pytest.approx(0.16, abs=0.01)
        assert row["judge_share"] == pytest.approx(0.16 / 0.25, abs=0.03)
        assert row["low"] < row["kappa"] < row["high"]
        assert row["agreement"] == pytest.approx(1 - 2 * 0.16, abs=0.02)
    shares = made.components.group_by("config").agg(pl.col("share").sum())["share"]
    assert shares.to_list() == pytest.approx([1.0, 1.0])
    rates = made.reliability.filter(config="a")["reliability"].to_list()
    assert rates == sorted(rates)
    assert rates[0] == pytest.approx(1 - made.draws["judge_share"][0])


def test_a_difference_inside_and_outside_of_the_noise() -> None:
    near = tr.judge_noise(judged(), baseline="a", candidate="b").difference
    far = tr.judge_noise(judged(lift=0.4), baseline="a", candidate="b").difference
    assert near is not None
    assert far is not None
    assert (near.verdict, far.verdict) == (INSIDE, OUTSIDE)
    assert near.sd_one_draw == pytest.approx(near.sd * np.sqrt(3))
    assert near.sd == pytest.approx(np.sqrt(2 * 0.16 / 3 / 120), abs=0.003)
    assert near.se is not None
    assert near.se > near.sd
    assert "inside the judge's noise" in near.claim
    assert "cases and trials may still" in far.claim
    turned = tr.judge_noise(judged(lift=0.4), baseline="b", candidate="a").difference
    assert turned is not None
    assert (turned.diff, turned.sd) == pytest.approx((-far.diff, far.sd))


def test_a_steady_judge_has_no_noise() -> None:
    made = tr.judge_noise(judged(wrong=0.0), baseline="a", candidate="a")
    assert made.draws["retest_variance"].to_list() == [0.0, 0.0]
    assert made.draws["kappa"].to_list() == [1.0, 1.0]
    assert made.difference is not None
    assert made.difference.verdict == INSIDE
    assert "really run again" in made.draws["warnings"][0]


def test_rows_and_engines_do_not_matter(require: Callable[[str], Any]) -> None:
    frame = judged()
    expected = tr.judge_noise(frame, baseline="a", candidate="b")
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=2)
    duckdb, _ = require("duckdb"), require("pandas")
    others = [mixed, mixed.lazy(), mixed.to_arrow(), mixed.to_pandas()]
    for other in [*others, duckdb.from_arrow(mixed.to_arrow())]:
        made = tr.judge_noise(other, baseline="a", candidate="b")
        assert made.draws.equals(expected.draws)
        assert made.components.equals(expected.components)
        assert made.difference == expected.difference


def test_the_draw_column_may_look_like_a_trial() -> None:
    frame = judged(trials=1).drop("trial").rename({"judge_draw": "run"})
    made = tr.judge_noise(frame, draw="run")
    assert made.draws["max_draws"].to_list() == [3, 3]
    assert made.components.filter(component="trial")["variance"].to_list() == [None, None]
    assert "variance of cases holds" in made.draws["warnings"][0]


def test_missing_verdicts_are_counted_and_left_out() -> None:
    frame = judged().with_row_index()
    holes = frame.with_columns(judge=pl.when(pl.col("index") % 10 > 0).then("judge"))
    made = tr.judge_noise(holes.drop("index")).draws
    assert made["missing"].sum() == 72
    assert made["draws"].sum() == 720 - 72
    assert made["min_draws"].to_list() == [2, 2]


def test_results_go_into_tables_and_dicts() -> None:
    made = tr.judge_noise(judged(), baseline="a", candidate="b")
    assert made.to_dict()["difference"]["verdict"] == INSIDE
    assert made.to_frame()["difference_verdict"].to_list() == [INSIDE]
    assert "<table>" in made._repr_html_()


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"draw": "nth"}, ColumnError, "judgings of one transcript"),
        ({"judge": "juge"}, ColumnError, "Did you mean 'judge'"),
        ({"baseline": "a"}, ArgumentError, "both"),
        ({"baseline": "a", "candidate": "c"}, UnknownConfigError, "no config 'c'"),
        ({"passed": "judge"}, ArgumentError, "judge="),
        ({"planned": [0]}, ArgumentError, "planned"),
        ({"level": 2}, ArgumentError, "level"),
        ({"cluster": "judge_draw"}, TrialsError, "two clusters"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        tr.judge_noise(judged(), **options)


def test_one_case_tells_no_share() -> None:
    made = tr.judge_noise(judged(cases=1))
    assert made.draws["judge_share"].to_list() == [None, None]
    assert made.components["share"].null_count() == 6
    assert made.draws["low"].to_list() == [None, None]


def test_a_config_without_verdicts_has_a_row_of_nulls() -> None:
    frame = judged()
    silent = frame.with_columns(judge=pl.when(pl.col("config") == "a").then("judge"))
    row = tr.judge_noise(silent, planned=3).draws.row(1, named=True)
    assert (row["config"], row["trials"], row["missing"]) == ("b", 0, 360)
    assert (row["kappa"], row["retest_variance"], row["judge_share"]) == (None, None, None)
    assert row["warnings"] == "the judge gave no verdict"


def test_bad_tables() -> None:
    frame = judged()
    with pytest.raises(TrialsError, match="no trial was judged twice"):
        tr.judge_noise(frame.filter(judge_draw=1))
    with pytest.raises(TrialsError, match="more than once"):
        tr.judge_noise(pl.concat([frame, frame.head(1)]))
    with pytest.raises(TrialsError, match="draw is null"):
        tr.judge_noise(frame.with_columns(judge_draw=pl.lit(None, pl.Int64)))
    with pytest.raises(TrialsError, match="no rows"):
        tr.judge_noise(frame.head(0))
    apart = frame.with_columns(case=pl.format("{}{}", "config", "case"))
    with pytest.raises(TrialsError, match="share no case"):
        tr.judge_noise(apart, baseline="a", candidate="b")


@pytest.mark.slow
def test_judging_anew_stays_inside_the_noise_as_often_as_said() -> None:
    rng = np.random.default_rng(3)
    truth = tr.simulate(configs=["a", "b"], cases=50, trials=2, seed=3)
    same = truth.filter(config="a")
    truth = pl.concat([same, same.with_columns(config=pl.lit("b"))])
    rows = truth.join(pl.DataFrame({"judge_draw": [1, 2, 3]}), how="cross")
    inside = 0
    for _ in range(400):
        flipped = pl.Series(rng.random(rows.height) < 0.2)
        frame = rows.with_columns(judge=pl.col("passed") ^ flipped).drop("passed")
        found = tr.judge_noise(frame, baseline="a", candidate="b", resamples=1).difference
        inside += found is not None and found.verdict == INSIDE
    assert 0.92 < inside / 400 < 0.98
