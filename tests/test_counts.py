"""Policies, checks and invariants of counts."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, CountsError, TrialsError
from trialframe.errors import UnknownConfigError as Unknown

VERDICT = st.sampled_from([True, False, None])
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), VERDICT), min_size=1)


def table(rows: list[tuple[str, str, bool | None]]) -> pl.DataFrame:
    schema = {"config": pl.String, "case": pl.String, "passed": pl.Boolean}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(trial=pl.int_range(pl.len()).over("config", "case"))


def small(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"case": ["x", "x", "y"], "trial": [0, 1, 0], **columns})


@given(rows=ROWS, seed=st.integers(0, 9))
def test_counts_are_sums_whatever_the_row_order(
    rows: list[tuple[str, str, bool | None]], seed: int
) -> None:
    frame = table(rows)
    made = tr.counts(frame)
    shuffled = tr.counts(frame.sample(fraction=1.0, shuffle=True, seed=seed))
    assert_frame_equal(made.frame, shuffled.frame, check_exact=True)
    assert int(made.frame["n"].sum()) == sum(v is not None for *_, v in rows)
    assert int(made.frame["c"].sum()) == sum(v is True for *_, v in rows)
    assert int(made.frame["unscored"].sum()) == sum(v is None for *_, v in rows)
    assert made.frame.select("config", "case").rows() == sorted({(a, b) for a, b, _ in rows})


@given(rows=ROWS)
def test_the_fail_policy_moves_unscored_trials_into_n(
    rows: list[tuple[str, str, bool | None]],
) -> None:
    plain = tr.counts(table(rows)).frame
    fail = tr.counts(table(rows), unscored="fail")
    assert fail.frame["n"].to_list() == (plain["n"] + plain["unscored"]).to_list()
    assert fail.frame["c"].to_list() == plain["c"].to_list()
    assert int(fail.frame["unscored"].sum()) == 0
    if int(plain["unscored"].sum()):
        assert fail.frame["unscored_failed"].to_list() == plain["unscored"].to_list()
    assert fail.unscored == "fail"


def test_the_raise_policy_and_policies_by_outcome() -> None:
    frame = small(passed=[True, None, None], outcome=["ok", "timeout", "infra"])
    with pytest.raises(TrialsError, match="2 trials have no verdict"):
        tr.counts(frame, unscored="raise")
    made = tr.counts(frame, unscored={"timeout": "fail", "typo": "fail"})
    assert made.frame.select("n", "c", "unscored", "unscored_failed").rows() == [
        (2, 1, 0, 1),
        (0, 0, 1, 0),
    ]
    assert "no trial has outcome 'typo'" in made.notes
    assert made.unscored == "exclude (timeout: fail, typo: fail)"
    with pytest.raises(TrialsError, match="1 trials have no verdict"):
        tr.counts(frame, unscored={"infra": "raise"})
    with pytest.raises(ArgumentError, match="needs an outcome column"):
        tr.counts(frame, unscored={"infra": "fail"}, outcome=None)
    for bad in ("drop", 3, {"timeout": "ignore"}):
        with pytest.raises(ArgumentError, match="unscored"):
            tr.counts(frame, unscored=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("trial", [[0, 0, 0], [50, 50, 0], [-1, -1, 0], ["r1", "r1", "r1"]])
def test_duplicate_keys_are_refused_unless_a_choice_is_made(trial: list[Any]) -> None:
    frame = small(passed=[True, False, True]).with_columns(trial=pl.Series(trial))
    with pytest.raises(TrialsError, match=r"1 rows share a \(config, case, trial\)"):
        tr.counts(frame)
    assert tr.counts(frame, keep="first").frame.select("n", "c").rows() == [(1, 1), (1, 1)]
    last = tr.counts(frame, keep="last")
    assert last.frame.select("n", "c").rows() == [(1, 0), (1, 1)]
    assert "1 rows with a repeated (config, case, trial) dropped, last kept" in last.notes
    assert tr.counts(frame, keep="all").frame.select("n", "c").rows() == [(2, 1), (1, 1)]


def test_duplicates_are_seen_across_outcomes_and_many_rows() -> None:
    frame = small(passed=[True, None, True], outcome=["ok", "err", "ok"])
    frame = frame.with_columns(trial=pl.lit(2))
    with pytest.raises(TrialsError, match="share a"):
        tr.counts(frame)
    many = pl.DataFrame({"case": ["x"] * 5000, "trial": range(5000), "passed": [True] * 5000})
    assert tr.counts(many).frame["n"].to_list() == [5000]
    with pytest.raises(TrialsError, match="share a"):
        tr.counts(pl.concat([many, many.head(1)]))


def test_the_message_names_a_column_that_tells_rows_apart() -> None:
    frame = pl.DataFrame(
        {
            "case": [f"c{i}" for i in range(10)] * 2,
            "trial": 0,
            "passed": True,
            "snapshot": ["a"] * 10 + ["b"] * 10,
        }
    )
    with pytest.raises(TrialsError, match=r"for example config=\['snapshot'\]"):
        tr.counts(frame)
    assert tr.counts(frame, config="snapshot").configs == ["a", "b"]


def test_rows_without_a_trial_number_are_trials_and_it_is_said() -> None:
    made = tr.counts(small(passed=[True, False, None]).drop("trial"))
    assert made.frame["n"].to_list() == [2, 0]
    assert "no trial column" in made.notes[0]
    with pytest.raises(ArgumentError, match="there is no trial column"):
        tr.counts(small(passed=[True, False, None]).drop("trial"), keep="first")
    half = small(passed=[True, False, True]).with_columns(trial=pl.Series([None, None, 1]))
    made = tr.counts(half, keep="last")
    assert made.frame["n"].to_list() == [2, 1]
    assert "2 rows without a trial number taken as trials of their own" in made.notes


def test_sequential_attempts_are_not_trials() -> None:
    frame = small(passed=[False, True, True], attempt=[1, 2, 1]).with_columns(trial=pl.lit(0))
    with pytest.raises(TrialsError, match="1 rows are second or later attempts"):
        tr.counts(frame)
    assert tr.counts(frame, attempts="first").frame.select("n", "c").rows() == [(1, 0), (1, 1)]
    for odd in ([0, 1, 0], [None, 2, 1]):
        for attempts in ("first", "raise"):
            with pytest.raises(TrialsError, match="null or less than 1"):
                tr.counts(frame.with_columns(attempt=pl.Series(odd)), attempts=attempts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"passed": ["pass", "Y", "fail"]}, "must be true, false or null; other values in 3 rows"),
        (
            {"passed": [2, 1, 0]},
            "must be true, false or null; other values in 1 rows. First: row 0",
        ),
        ({"passed": [0.5, 1.0, 0.0]}, "other values in 1 rows"),
        ({"score": [0.5, 1.0, 0.0]}, "Give threshold="),
        ({"passed": [True] * 3, "score": [1.0, float("nan"), 0.0]}, "NaN, infinity"),
        ({"passed": [True] * 3, "score": [1.0, float("inf"), 0.0]}, "NaN, infinity"),
        ({"passed": [True] * 3, "cost_uusd": [1.0, float("nan"), 0.0]}, "NaN, infinity"),
        ({"passed": [True] * 3, "cost_usd": [1e300, 1.0, 0.0]}, "beyond 2\\^53"),
    ],
)
def test_values_that_break_the_contract_are_refused(
    columns: dict[str, list[Any]], message: str
) -> None:
    with pytest.raises(TrialsError, match=message):
        tr.counts(small(**columns))


def test_null_keys_no_rows_and_missing_columns_are_refused() -> None:
    frame = small(passed=[True, False, True])
    with pytest.raises(TrialsError, match="case is null in 1 rows"):
        tr.counts(frame.with_columns(case=pl.Series(["x", None, "y"])))
    with pytest.raises(TrialsError, match="config is null in 3 rows"):
        tr.counts(frame.with_columns(config=pl.lit(None, pl.String)))
    with pytest.raises(TrialsError, match="no rows"):
        tr.counts(frame.clear())
    with pytest.raises(ColumnError, match="which case"):
        tr.counts(frame.drop("case"))
    with pytest.raises(ColumnError, match="whether a trial passed"):
        tr.counts(frame.drop("passed"))
    with pytest.raises(ColumnError, match="ambiguous: 'model', 'agent'"):
        tr.counts(frame.with_columns(model=pl.lit("a"), agent=pl.lit("b")))
    with pytest.raises(ColumnError, match="Did you mean 'passed'"):
        tr.counts(frame, passed="pased")


def test_case_level_columns_must_not_differ_within_a_case() -> None:
    frame = small(passed=[True, False, True], cluster=["a", "b", "a"])
    with pytest.raises(TrialsError, match="'cluster' differs within 1"):
        tr.counts(frame)
    across = pl.DataFrame(
        {"config": ["m", "n"], "case": ["x", "x"], "passed": True, "cluster": ["a", "b"]}
    )
    with pytest.raises(CountsError, match="1 cases have more than one cluster"):
        tr.counts(across)
    with pytest.raises(TrialsError, match="'level' differs within 1"):
        tr.counts(small(passed=[True] * 3, level=["easy", "hard", "easy"]), by="level")
    with pytest.raises(CountsError, match="cluster is null in 1 of 2"):
        tr.counts(small(passed=[True] * 3, cluster=["a", "a", None]))
    empty = tr.counts(small(passed=[True] * 3, cluster=pl.Series([None] * 3, dtype=pl.String)))
    assert "cluster" not in empty.frame.columns
    assert "every case is its own cluster" in empty.notes[-1]


def test_by_keeps_columns_and_knows_reserved_names() -> None:
    frame = small(passed=[True] * 3, level=["e", "e", "h"], year=[1, 1, 2], repo=["r", "r", "s"])
    made = tr.counts(frame, by=["level", "year", "case"], cluster="repo")
    assert made.by == ("level", "year")
    assert made.frame.select("level", "year").rows() == [("e", 1), ("h", 2)]
    with pytest.raises(ArgumentError, match="column 'n' of their own"):
        tr.counts(frame.rename({"level": "n"}), by="n")
    with pytest.raises(ColumnError, match="by: no column 'lvl'"):
        tr.counts(frame, by="lvl")


def test_composite_keys_never_merge_different_keys() -> None:
    frame = pl.DataFrame(
        {"a": ["x | y", "x", "x\\"], "b": ["z", "y | z", "| z"], "case": "1", "passed": True}
    )
    made = tr.counts(frame, config=["a", "b"])
    assert len(made.configs) == 3
    assert made.by == ("a", "b")
    assert tr.counts(tr.read(frame, config=["a", "b"])).configs == made.configs


def test_a_table_of_counts_is_taken_as_counts() -> None:
    frame = pl.DataFrame({"model": ["a", "a"], "task": ["x", "y"], "n": [3, 0], "c": [2, 0]})
    assert tr.counts(frame).frame.rows() == [("a", "x", 3, 2, 0), ("a", "y", 0, 0, 0)]
    with pytest.raises(TrialsError, match="several rows of counts"):
        tr.counts(pl.concat([frame, frame]))
    assert tr.counts(pl.concat([frame, frame]), keep="all").frame["n"].to_list() == [6, 0]
    named = frame.rename({"n": "k", "c": "good"})
    assert tr.counts(named, n="k", c="good").frame["c"].to_list() == [2, 0]
    again = tr.counts(tr.counts(frame).frame)
    assert again.frame.rows() == tr.counts(frame).frame.rows()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": [4, 0]}, "c > n in 1 rows"),
        ({"c": [-1, 0]}, "c < 0 in 1 rows"),
        ({"n": [None, 1]}, "n is null in 1 rows"),
        ({"n": [3.0, 1.0]}, "counts are whole numbers"),
        ({"case": ["x", "x"]}, r"share a \(config, case\)"),
        ({"case": [None, "x"]}, "case is null"),
        ({"c_secure": [3, 0]}, "c_secure > c"),
        ({"unscored": [-1, 0]}, "unscored < 0"),
        ({"unscored_failed": [2, 0]}, "unscored_failed > n - c"),
        ({"weight": [-1.0, 1.0]}, "weight must be >= 0"),
        ({"weight": [float("nan"), 1.0]}, "weight must be >= 0"),
        ({"cluster": ["a", None]}, "cluster is null"),
    ],
)
def test_counts_refuse_tables_that_break_a_rule(change: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "n": [3, 1], "c": [2, 0]} | change)
    with pytest.raises(CountsError, match=message):
        tr.Counts(frame)


def test_counts_of_unsigned_columns_do_not_wrap() -> None:
    frame = pl.DataFrame({"case": ["x"], "n": [3], "c": [2]}).cast({"n": pl.UInt32, "c": pl.UInt8})
    made = tr.Counts(frame.with_columns(level=pl.lit("easy")))
    assert made.frame.schema["n"] == pl.Int64
    assert made.by == ("level",)
    assert made.frame.select(pl.col("c") - pl.col("n")).item() == -1


def test_select_and_size() -> None:
    made = tr.counts(table([("a", "x", True), ("b", "x", False), ("b", "y", None)]))
    assert len(made) == 3
    assert len(made.select("b")) == 2
    assert made.configs == ["a", "b"]
    assert "<table" in made._repr_html_()
    with pytest.raises(Unknown, match="Did you mean 'a'"):
        made.select("aa")


def test_measures_are_sums_over_known_trials() -> None:
    frame = small(
        passed=[True, False, True],
        cost_usd=[0.25, None, 1e-6],
        tests_passed=[1, 2, 0],
        tests_total=[2, 2, 0],
        latency_s=[0.5, 1.5, 2.0],
    )
    row = tr.counts(frame).frame.row(0, named=True)
    assert (row["cost_uusd_n"], row["cost_uusd_sum"], row["cost_uusd_sumsq"]) == (
        1,
        250_000,
        6.25e10,
    )
    assert (row["tests_share_n"], row["tests_share_sum"]) == (2, 1.5)
    assert (row["duration_ms_n"], row["duration_ms_sum"]) == (2, 2000)
    assert tr.counts(frame).frame["tests_share_n"].to_list() == [2, 0]
    assert tr.counts(frame).measures == ["tests_share", "cost_uusd", "duration_ms"]


def test_secure_passes_count_only_where_checked() -> None:
    made = tr.counts(small(passed=[True, True, True], secure=[True, None, False]))
    assert made.frame["c_secure"].to_list() == [1, 0]
    assert "1 passes without a security check are not counted as secure" in made.notes


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), True, "x"])
def test_a_threshold_is_a_number(threshold: Any) -> None:
    with pytest.raises(ArgumentError, match="threshold == "):
        tr.counts(small(score=[0.1, 0.5, 0.9]), threshold=threshold)


def test_an_expression_must_give_every_row_its_own_value() -> None:
    frame = small(passed=[True, False, False])
    with pytest.raises(ColumnError, match="one value for the whole table"):
        tr.counts(frame, passed=pl.col("passed").any())
    assert tr.counts(frame, config=pl.lit("one")).configs == ["one"]


def test_halves_of_a_unit_are_rounded_up() -> None:
    frame = small(passed=[True, True, True], cost_usd=[0.0025005, 5e-7, 4e-7])
    assert tr.counts(frame).frame["cost_uusd_sum"].to_list() == [2502, 0]


def test_counted_tables_of_any_library() -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "n": [3, 1], "c": [2, 0]})
    for table in (frame.lazy(), frame.to_arrow(), frame.to_dict(as_series=False)):
        assert tr.Counts(table).frame.equals(tr.Counts(frame).frame)  # type: ignore[arg-type]
    with pytest.raises(tr.TrialframeError, match="cannot read a int"):
        tr.Counts(3)  # type: ignore[arg-type]


def test_the_null_part_of_a_composite_key_is_named() -> None:
    frame = small(passed=[True] * 3, suite=["a", None, "a"])
    with pytest.raises(TrialsError, match=r"case is null in 1 rows \(column 'suite'\)"):
        tr.counts(frame, case=["case", "suite"])


def test_ids_of_any_kind_and_length() -> None:
    long = "é" * 1_000_000
    frame = pl.DataFrame({"case": [long, "東京", "a\nb"], "trial": 0, "passed": True})
    assert tr.counts(frame).frame["case"].to_list() == sorted([long, "東京", "a\nb"])
    with pytest.raises(TrialsError) as caught:
        tr.counts(pl.concat([frame, frame]))
    assert len(str(caught.value)) < 1000
    numbers = pl.DataFrame({"case": [10, 9, 9], "trial": [0, 0, 1], "passed": [1, 0, None]})
    assert tr.counts(numbers).frame.select("case", "n", "c").rows() == [("10", 1, 1), ("9", 1, 0)]


def test_pandas_missing_values_are_unscored() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"case": ["x", "y"], "passed": [1.0, None], "score": [0.5, None]})
    assert tr.counts(frame).frame.select("n", "unscored").rows() == [(1, 0), (0, 1)]
