"""Which column is taken for what, and what is said when none or several could be."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.errors import ColumnError, TrialsError
from trialframe.read import mapping, read
from trialframe.read._fields import broken, expression, kind_of, resolve
from trialframe.read._trials import joined
from trialframe.schema import TRIALS

LONG = "x" * 1_000_000


def test_every_alias_is_found_with_its_unit() -> None:
    for column in TRIALS:
        for alias, factor in column.aliases.items():
            kind = {pl.String: "string", pl.Boolean: "boolean"}.get(column.dtype, "integer")
            kind = "time" if column.name == "started_at" else kind
            kinds = {"case": "string", "passed": "boolean", alias.upper(): kind}
            kinds.pop(column.name, None)
            field = resolve(kinds, {}).get(column.name)
            assert field is not None, alias
            assert (field.sources, field.how, field.factor) == ((alias.upper(),), "alias", factor)


def test_units_are_turned_into_whole_numbers() -> None:
    table = {"case": [1], "passed": [1], "cost_usd": [0.1234567], "duration_s": [2]}
    assert read(table).select("cost_uusd", "duration_ms").collect().rows() == [(123_457, 2000)]


def test_what_is_given_wins_over_names_and_none_leaves_a_column_out() -> None:
    table = {"case": ["x"], "passed": [False], "ok": [True], "model": ["m"], "cluster": ["k"]}
    result = read(table, passed="ok", cluster=None).collect()
    assert result["passed"].to_list() == [True]
    assert mapping(table, cluster=None).filter(column="cluster").is_empty()
    assert "config" not in read(table, config=None).collect_schema()
    with pytest.raises(ColumnError, match="no column says whether"):
        read({"case": [1], "passed": [1]}, passed=None)


def test_expressions_make_columns() -> None:
    table = {"task": ["a", "b"], "grade": ["C", "I"], "x": [1, 2]}
    made = read(table, passed=pl.col("grade") == "C", config=pl.lit("m")).collect()
    assert made.select("config", "case", "passed").rows() == [("m", "a", True), ("m", "b", False)]
    assert made["grade"].to_list() == ["C", "I"]


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"passed": [1]}, {}, "no column says which case"),
    ({"case": [1]}, {}, "no column says whether a trial passed"),
    ({"task": [1], "question": [1], "passed": [1]}, {}, "'case' is ambiguous: 'task', 'question'"),
    ({"case": [1], "resolved": [1], "correct": [1]}, {}, "'passed' is ambiguous"),
    ({"case": [1], "passed": [1]}, {"case": "tsk"}, r"no column 'tsk' \(for case\)"),
    ({"case": [1], "passed": [1]}, {"cluster": ["a", "b"]}, "only config and case"),
    ({"case": [1], "passed": [1]}, {"case": []}, "name at least one"),
    ({"case": [1], "passed": [1]}, {"cas": "case"}, "no canonical column 'cas'.*mean 'case'"),
    ({"case": [1], "passed": [1]}, {"case": 5}, "case=5: give the name"),
    ({"case": [1], "passed": [1]}, {"case": ["case", None]}, "give the name"),
    (
        {"case": [1], "passed": [1]},
        {"passed": pl.col("pased") == 1},
        r"'pased' \(in the expression",
    ),
    ({"case": [1], "ok": [1]}, {"passed": pl.col("ok").str.len_chars() == 1}, "does not fit"),
    ({"case": [1], "passed": [[1]]}, {}, "cannot serve as passed: true or false"),
    ({"case": [[1]], "passed": [1]}, {}, r"cannot serve as case.*\.list\.join"),
    ({"case": [b"x"], "passed": [1]}, {}, r"cannot serve as case.*\.bin\.encode"),
    ({"id": [{"a": 1}], "passed": [1]}, {"case": "id"}, r'case=pl\.col\("id"\)\.struct'),
    (
        {"d": [date(2024, 1, 1)], "passed": [1]},
        {"case": "d"},
        r'case=pl\.col\("d"\)\.cast\(pl\.String\)',
    ),
    ({}, {}, "The table has no columns at all"),
    ({"case": [1], "passed": [1]}, {"passed": pl.col("case").str.len_chars()}, "does not fit"),
    ({"case": ["1"], "passed": [1]}, {"config": pl.col("case") > 1}, "does not fit"),
    ({"case": [1], "passed": [1], "score": ["A"]}, {}, "cannot serve as score: numbers"),
    ({"case": [1], "n": [1.5], "c": [1]}, {}, "cannot serve as n: counts are whole"),
    ({"case": [1], LONG: [1], "ok": [1]}, {"passed": "okk"}, "no column 'okk'"),
]


@pytest.mark.parametrize(("table", "columns", "message"), BAD)
def test_columns_that_cannot_be_resolved(
    table: dict[str, Any], columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(ColumnError, match=message) as caught:
        read(table, **columns)
    assert len(str(caught.value)) < 1000


def test_threshold_takes_the_place_of_a_verdict() -> None:
    table = {"case": [1, 2, 3], "score": [0.5, 0.49, None], "passed": [False] * 3}
    assert read(table, threshold=0.5).collect()["passed"].to_list() == [True, False, None]
    with pytest.raises(ColumnError, match="either passed= or threshold="):
        read(table, threshold=0.5, passed="passed")
    with pytest.raises(ColumnError, match=r"threshold=0\.5 needs a score"):
        read({"case": [1], "passed": [1]}, threshold=0.5)


VERDICTS = [
    ([True, False, None], [True, False, None]),
    ([1, 0, None], [True, False, None]),
    ([1.0, 0.0, None], [True, False, None]),
    (["True", "false", None], [True, False, None]),
    ([None, None, None], [None, None, None]),
]


@pytest.mark.parametrize(("values", "expected"), VERDICTS)
def test_spellings_of_a_verdict(values: list[Any], expected: list[bool | None]) -> None:
    result = read({"case": [1, 2, 3], "passed": values}).collect()
    assert result["passed"].to_list() == expected
    assert result.schema["passed"] == pl.Boolean


@pytest.mark.parametrize(
    "values",
    [["Y", "N", None], [1, 2, 0], [0.5, 1.0, 0.0], ["yes", "True", ""], [float("nan"), 1.0, 0.0]],
)
def test_other_verdicts_are_refused_with_the_first_of_them(values: list[Any]) -> None:
    with pytest.raises(TrialsError, match=r"must be true, false or null.*First: row"):
        read({"case": [1, 2, 3], "passed": values})


def test_a_graded_score_is_no_verdict_without_threshold() -> None:
    with pytest.raises(TrialsError, match=r"row 1 0\.4.*Give threshold="):
        read({"case": [1, 2], "score": [1.0, 0.4]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300])
@pytest.mark.parametrize("name", ["score", "cost_usd", "duration_s", "tokens_in"])
def test_numbers_that_are_none_are_refused(value: float, name: str) -> None:
    table = pl.DataFrame({"case": [1, 2], "passed": [1, 0], name: [1.0, value]})
    with pytest.raises(TrialsError, match=f"'{name}' holds NaN, infinity.*row 1"):
        read(table)


@pytest.mark.parametrize("name", ["config", "case", "cluster"])
def test_nan_names_nothing(name: str) -> None:
    table = {"task": ["x", "y"], "id": [1.0, float("nan")], "passed": [1, 0]}
    columns: Any = {"case": "task", name: "id"}
    with pytest.raises(TrialsError, match=f"'id' is NaN in 1 rows, and NaN names no {name}.*row 1"):
        read(table, **columns)
    assert read({**table, "id": [1.0, None]}, **columns).collect()[name].to_list() == ["1.0", None]
    if name != "cluster":
        columns = {"case": "task"} | {name: ["task", "id"]}
        with pytest.raises(TrialsError, match=f"'id' is NaN.*names no {name}"):
            read(table, **columns)


def test_messages_stay_short_when_values_are_long() -> None:
    with pytest.raises(TrialsError) as caught:
        read({"case": [1, 2], "passed": [LONG, LONG]})
    assert len(str(caught.value)) < 400
    table = {"case": [LONG, LONG + "y"], "passed": [True, True]}
    assert read(table).collect()["case"].str.len_chars().to_list() == [10**6, 10**6 + 1]


def test_names_in_any_alphabet() -> None:
    table = {"Modèle": ["ü"], "задача": ["试"], "合格": [True]}
    result = read(table, config="Modèle", case="задача", passed="合格").collect()
    assert result.rows() == [("ü", "试", True)]


def test_an_ambiguous_measure_is_left_alone_and_said_so() -> None:
    table = {"case": [1], "passed": [1], "input_tokens": [1], "prompt_tokens": [2]}
    row = mapping(table).filter(column="tokens_in").row(0, named=True)
    assert row["how"] == "not used"
    assert "ambiguous" in row["note"]
    assert {"input_tokens", "prompt_tokens"} <= set(read(table).collect_schema())


def test_text_trials_are_numbered_and_text_times_are_read() -> None:
    table = {
        "case": [1, 1, 1],
        "passed": [1, 1, 1],
        "run_id": ["r9", "r1", "r9"],
        "timestamp": ["2025-01-02T03:04:05Z", "2025-01-02", "soon"],
    }
    result = read(table).collect()
    assert result["trial"].to_list() == [1, 0, 1]
    assert result.schema["started_at"] == pl.Datetime("us", "UTC")
    assert result["started_at"][0] is not None


parts = st.text(alphabet="ab|\\ ", max_size=6)


@given(st.lists(st.tuples(parts, parts), min_size=1, max_size=12, unique=True))
def test_joined_keys_meet_only_when_all_parts_are_equal(keys: list[tuple[str, str]]) -> None:
    frame = pl.DataFrame(keys, schema=["a", "b"], orient="row")
    assert frame.select(joined(("a", "b")).alias("k"))["k"].n_unique() == len(keys)


values = st.none() | st.floats() | st.sampled_from([0.0, 1.0, 2.0**53, 2.0**53 + 2])


@given(st.lists(values, min_size=1, max_size=20))
def test_a_value_is_kept_or_called_broken(column: list[float | None]) -> None:
    frame = pl.DataFrame({"case": ["x"] * len(column), "score": column}, schema_overrides=_FLOAT)
    plan = resolve({k: kind_of(v) for k, v in frame.schema.items()}, {}, threshold=0.5)
    field = plan.get("score")
    assert field is not None
    test = broken(field, pl)
    assert test is not None
    result = frame.select(value=expression(field, pl), broken=test)
    for (value, bad), source in zip(result.rows(), column, strict=True):
        assert bad == (source is not None and not abs(source) <= 2**53)
        assert value == (None if bad else source)


_FLOAT = {"score": pl.Float64}
