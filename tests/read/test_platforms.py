"""Exports of LangSmith, Braintrust, Langfuse and MLflow: frames and files of each kind."""

from __future__ import annotations

import contextlib
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, SourceError, TrialframeError
from trialframe.read._formats import TABLES
from trialframe.read._presets import TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
START = "2026-01-01T00:00:00.000Z"
END = "2026-01-01T00:00:01.500Z"


def langsmith(example: int, *, correct: Any, **more: Any) -> Row:
    row = {"inputs.q": f"q{example}", "outputs.a": "x", "error": None, "reference.a": "y"}
    row |= {"feedback.correct": correct, "feedback.length": 0.5, "execution_time": 1.5}
    return row | {"example_id": str(UUID(int=example)), "id": str(UUID(int=99))} | more


def braintrust(record: str, **more: Any) -> Row:
    row = {
        "id": "e1",
        "span_id": "s1",
        "root_span_id": "s1",
        "is_root": True,
        "created": START,
        "input": {"q": record},
        "output": "x",
        "expected": "y",
        "error": None,
        "experiment_id": "exp-1",
        "scores": {"correct": 1.0, "style": 0.25},
        "metrics": {
            "start": 1767225600.0,
            "end": 1767225601.5,
            "prompt_tokens": 7,
            "completion_tokens": 3,
            "estimated_cost": 0.002,
        },
        "metadata": {"model": "m", "repo": "r"},
        "origin": {"object_type": "dataset", "object_id": "d", "id": record},
    }
    return row | more


def score(name: str, value: Any, kind: str = "NUMERIC", **more: Any) -> Row:
    return {"name": name, "value": value, "dataType": kind, "stringValue": None} | more


def langfuse(item: str, *scores: Row, **more: Any) -> Row:
    row = {
        "id": "1",
        "traceId": "t1",
        "startTime": START,
        "endTime": END,
        "level": "DEFAULT",
        "environment": "default",
        "experimentName": "run-1",
        "experimentItemId": item,
        "scores": list(scores),
    }
    return row | more


def feedback(name: str, value: Any, source: str = "CODE", **more: Any) -> Row:
    base = {"assessment_name": name, "source": {"source_type": source, "source_id": "x"}}
    return base | {"create_time": START, "feedback": {"value": value}, "valid": True} | more


def mlflow(request: str, *assessments: Row, **more: Any) -> Row:
    usage = json.dumps({"input_tokens": 7, "output_tokens": 3, "total_tokens": 10})
    metadata = {
        "mlflow.sourceRun": "run-1",
        "mlflow.trace.tokenUsage": usage,
        "mlflow.trace.cost": json.dumps({"total_cost": 0.002}),
    }
    row = {
        "trace_id": "tr-1",
        "trace": "{}",
        "client_request_id": None,
        "state": "OK",
        "request_time": 1767225600000,
        "execution_duration": 1500,
        "request": {"question": request},
        "response": "x",
        "trace_metadata": metadata,
        "tags": {"repo": "r", "mlflow.traceName": "predict"},
        "spans": [],
        "assessments": list(assessments),
    }
    return row | more


EXPORTS: dict[str, list[Row]] = {
    "langsmith": [
        langsmith(1, correct=True),
        langsmith(1, correct=False),
        langsmith(2, correct=None, error="boom"),
    ],
    "braintrust": [
        braintrust("1"),
        braintrust("1", scores={"correct": 0.0, "style": 0.5}),
        braintrust("2", scores={"correct": None, "style": None}, error="boom"),
    ],
    "langfuse": [
        langfuse("1", score("correct", 1), score("style", 0.25)),
        langfuse("1", score("correct", 0), score("style", 0.5)),
        langfuse("2", score("style", 0.5), level="ERROR"),
    ],
    "mlflow": [
        mlflow("1", feedback("correct", "yes"), feedback("style", "no")),
        mlflow("1", feedback("correct", "no"), feedback("style", "no")),
        mlflow("2", feedback("correct", None, feedback={"error": {"error_message": "boom"}})),
    ],
}


def as_text(rows: list[Row]) -> list[Row]:
    """Rows with nested values as JSON text, as CSV has them."""
    return [
        {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()}
        for row in rows
    ]


def written(rows: list[Row], path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix == ".csv":
        pl.DataFrame(as_text(rows), infer_schema_length=None).write_csv(path)
    else:
        pl.DataFrame(as_text(rows), infer_schema_length=None).write_parquet(path)
    return path


def checked(frame: pl.DataFrame) -> None:
    assert frame["passed"].to_list() == [True, False, None]
    assert frame["case"].n_unique() == 2
    assert frame["trial"].to_list() == [0, 1, 0]
    assert frame["trial_made"].all()
    assert frame["duration_ms"].to_list() == [1500] * 3
    assert frame["outcome"][2] in {"error", "scorer_error"}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "jsonl"])
def test_files_of_every_kind(tmp_path: Path, name: str, ending: str) -> None:
    path = written(EXPORTS[name], tmp_path / f"first.{ending}")
    frame = tr.read(path, metric="correct").collect()
    checked(frame)
    assert frame["log"].unique().to_list() == [str(path)]
    assert tr.read(path, format=name, metric="correct").collect().equals(frame)
    how = dict(tr.mapping(path, metric="correct").select("column", "how").rows())
    assert how["score"] == how["outcome"] == "log"


@pytest.mark.parametrize("name", EXPORTS)
def test_tables_in_memory(name: str) -> None:
    checked(tr.read(EXPORTS[name], metric="correct").collect())
    text = pl.DataFrame(as_text(EXPORTS[name]), infer_schema_length=None)
    checked(tr.read(text, metric="correct").collect())
    checked(tr.read(text.lazy(), metric="correct").collect())


@pytest.mark.parametrize("name", EXPORTS)
def test_pandas_frames(name: str, require: Callable[[str], Any]) -> None:
    pandas = require("pandas")
    frame = pandas.DataFrame(EXPORTS[name])
    if name == "langsmith":
        frame["example_id"] = frame["example_id"].map(UUID)
    checked(tr.read(frame, metric="correct").collect())
    text = io.StringIO(frame.to_csv(index=False))  # dicts as Python prints them
    checked(tr.read(pandas.read_csv(text), metric="correct").collect())


@pytest.mark.parametrize("name", EXPORTS)
def test_counts_are_the_same_for_shuffled_rows(name: str) -> None:
    straight, back = (
        tr.counts(tr.read(rows, metric="correct")).frame.select("case", "n", "c", "unscored")
        for rows in (EXPORTS[name], EXPORTS[name][::-1])
    )
    assert straight.equals(back)


@pytest.mark.parametrize("name", EXPORTS)
def test_several_scores_ask_for_a_choice(name: str) -> None:
    with pytest.raises(ArgumentError, match="metric='correct'"):
        tr.read(EXPORTS[name])
    with pytest.raises(ArgumentError, match="'correct'"):
        tr.read(EXPORTS[name], metric="other")


@pytest.mark.parametrize(
    ("name", "other"), [("langsmith", "length"), ("braintrust", "style"), ("langfuse", "style")]
)
def test_grades_between_ask_for_a_threshold(name: str, other: str) -> None:
    with pytest.raises(ArgumentError, match="threshold"):
        tr.read(EXPORTS[name], metric=other)
    frame = tr.read(EXPORTS[name], metric=other, threshold=0.4).collect()
    assert frame["passed"].drop_nulls().len() >= 2
    assert (frame["passed"] == (frame["score"] >= 0.4)).drop_nulls().all()


@pytest.mark.parametrize("name", EXPORTS)
def test_each_is_recognised_as_nothing_else(name: str) -> None:
    frame = pl.DataFrame(as_text(EXPORTS[name]), infer_schema_length=None)
    assert [item.name for item in TABLES if item.recognise(frame.schema)] == [name]
    with pytest.raises(ColumnError, match="no export of"):
        tr.read({"case": [1], "passed": [True]}, format=name)


def test_plain_tables_are_no_exports() -> None:
    table = {
        "id": [1],
        "input": ["x"],
        "output": ["y"],
        "case": [1],
        "passed": [True],
        "score": [1],
    }
    schema = pl.DataFrame(table).schema
    assert not [item for item in TABLES if item.recognise(schema)]
    assert all(isinstance(item, TableFormat) for item in TABLES)


@pytest.mark.parametrize("name", EXPORTS)
def test_files_name_systems_that_exports_do_not(tmp_path: Path, name: str) -> None:
    bare = [
        {k: v for k, v in row.items() if k not in {"experiment_id", "trace_metadata"}}
        for row in EXPORTS[name]
    ]
    for stem in ("old", "new"):
        written(bare, tmp_path / f"{stem}.jsonl")
    frame = tr.read(tmp_path, metric="correct").collect()
    expected = {"run-1"} if name == "langfuse" else {"new", "old"}
    assert set(frame["config"]) == expected
    assert frame.height == 2 * len(bare)


@pytest.mark.parametrize("name", EXPORTS)
def test_measures_and_extras(name: str) -> None:
    row = tr.read(EXPORTS[name], metric="correct").collect().row(0, named=True)
    if name in {"braintrust", "mlflow"}:
        assert (row["tokens_in"], row["tokens_out"], row["cost_uusd"]) == (7, 3, 2000)
    if name != "langsmith":
        assert row["started_at"] == datetime(2026, 1, 1, tzinfo=UTC)
    extra = {"langsmith": "inputs.q", "braintrust": "metadata.repo", "mlflow": "tags.repo"}
    if name in extra:
        assert tr.counts(tr.read(EXPORTS[name], metric="correct", cluster=extra[name])).frame.height


def test_langsmith_runs_and_results_without_examples() -> None:
    run = {
        "id": "r",
        "session_name": "exp",
        "reference_example_id": "e",
        "feedback_stats": {"correct": {"n": 1, "avg": 1.0}},
        "start_time": START,
        "end_time": END,
        "error": None,
        "prompt_tokens": 7,
        "total_cost": "0.002",
    }
    row = tr.read([run]).collect().row(0, named=True)
    assert (row["config"], row["case"], row["passed"], row["duration_ms"]) == (
        "exp",
        "e",
        True,
        1500,
    )
    assert (row["tokens_in"], row["cost_uusd"]) == (7, 2000)
    bare = [{k: v for k, v in item.items() if k != "example_id"} for item in EXPORTS["langsmith"]]
    assert tr.read(bare, metric="correct").collect()["case"].to_list() == ["q1", "q1", "q2"]


def test_langsmith_errors_keep_a_verdict_that_was_given() -> None:
    rows = [langsmith(1, correct=False, error="boom")]
    frame = tr.read(rows, metric="correct").collect()
    assert frame.select("passed", "outcome", "error").row(0) == (False, "error", "boom")


def test_braintrust_counts_roots_and_adds_up_what_is_below() -> None:
    root = braintrust("1", metrics={"start": 1.0, "end": 2.5})
    used = {"prompt_tokens": 5, "completion_tokens": 2, "estimated_cost": 0.001}
    child = braintrust("1", span_id="s2", is_root=False, scores=None, metrics=used)
    frame = tr.read([root, child, child | {"span_id": "s3"}], metric="correct").collect()
    assert frame.height == 1
    assert frame.select("tokens_in", "tokens_out", "cost_uusd").row(0) == (10, 4, 2000)
    unmarked = [{k: v for k, v in row.items() if k != "is_root"} for row in (root, child)]
    assert tr.read(unmarked, metric="correct").collect().height == 1


def test_braintrust_results_of_eval_have_no_ids() -> None:
    rows = [
        {"input": text, "output": "x", "expected": "y", "scores": {"correct": value}, "error": None}
        for text, value in (("a", 1), ("a", 0), ("b" * 500, None))
    ]
    frame = tr.read(rows).collect()
    assert frame["case"].to_list()[:2] == ["a", "a"]
    assert len(frame["case"][2]) <= 100
    assert frame["passed"].to_list() == [True, False, None]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (score("s", True, "BOOLEAN"), True),
        (score("s", 0, "BOOLEAN", stringValue="False"), False),
        (score("s", "correct", "CATEGORICAL"), True),
        (score("s", 2, "CATEGORICAL", stringValue="no"), False),
        (score("s", None), None),
    ],
)
def test_langfuse_scores_of_every_type(one: Row, *, expected: bool | None) -> None:
    assert tr.read([langfuse("1", one)]).collect()["passed"].to_list() == [expected]


def test_langfuse_items_as_the_api_lists_them() -> None:
    folder = Path(__file__).parent / "fixtures" / "langfuse"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    frame = tr.read(folder / "experiment_items.jsonl", metric="correct").collect()
    assert (frame.height, frame["config"].n_unique()) == (expected["items"], expected["runs"])
    assert frame["passed"].sum() == expected["correct"]
    assert frame["passed"].null_count() == expected["unscored_items"]
    assert frame["started_at"].null_count() == 0


def test_a_row_that_does_not_fit_is_left_out_and_told() -> None:
    rows = [langfuse(str(i), score("correct", 1)) for i in range(3)]
    rows[1]["usage"] = {"input": "many"}
    with pytest.raises(SourceError, match=r"row 1: tokens_in is 'many'.*errors=\"collect\""):
        tr.read(as_text(rows))
    trials, unread = tr.read(as_text(rows), errors="collect")
    assert trials.collect()["case"].to_list() == ["0", "2"]
    assert unread["file"].to_list() == ["the export of Langfuse"]
    assert unread["place"].to_list() == ["row 1"]


def test_langfuse_of_old_and_as_python_models() -> None:
    old = {"datasetRunName": "r", "datasetItemId": "i", "traceId": "t", "scores": [score("s", 1)]}
    assert tr.read([old]).collect().select("config", "case").row(0) == ("r", "i")
    model = {"experiment_name": "r", "experiment_item_id": "i", "scores.s": True}
    assert tr.read([model]).collect().select("config", "case", "passed").row(0) == ("r", "i", True)


def test_mlflow_humans_label_and_newer_feedback_replaces_older() -> None:
    later = "2026-01-02T00:00:00Z"
    rows = [
        mlflow("1", feedback("s", "no"), feedback("s", "yes", create_time=later)),
        mlflow("2", feedback("s", "yes", valid=False), feedback("s", "no")),
        mlflow("3", feedback("s", "yes", "LLM_JUDGE"), feedback("s", "no", "HUMAN")),
        mlflow("4", feedback("s", "no", "HUMAN")),
    ]
    frame = tr.read(rows).collect()
    assert frame["passed"].to_list() == [True, False, True, False]
    assert frame["label"].to_list() == [None, None, False, False]


def test_mlflow_expectations_are_no_scores() -> None:
    expected = {"assessment_name": "answer", "expectation": {"value": "4"}, "create_time": START}
    row = mlflow("1", feedback("s", "yes"), expected) | {"s/value": "yes", "answer/value": "4"}
    assert tr.read([row]).collect()["passed"].to_list() == [True]
    bare = {k: v for k, v in row.items() if k not in {"assessments", "answer/value"}}
    broken = bare | {"s/value": None, "s/error_message": "boom"}
    frame = tr.read([bare, broken]).collect()
    assert frame["passed"].to_list() == [True, None]
    assert frame["outcome"].to_list() == ["completed", "scorer_error"]


def test_words_that_are_no_grades_are_named() -> None:
    with pytest.raises(ColumnError, match=r"'great'.*pl.col"):
        tr.read([langsmith(1, correct="great")], metric="correct")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["id", "name", "value", "feedback", "avg"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@given(st.sampled_from(sorted(EXPORTS)), st.data())
def test_mutations_raise_our_errors_only(name: str, data: st.DataObject) -> None:
    row = dict(EXPORTS[name][0])
    keys = data.draw(st.lists(st.sampled_from(sorted(row)), max_size=3))
    row |= {key: data.draw(VALUES) for key in keys}
    rows = as_text([row])
    with contextlib.suppress(TrialframeError):
        tr.read(rows, metric="correct", format=name).collect()
