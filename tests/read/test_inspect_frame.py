"""Frames of Inspect's own samples_df, beside the logs they were made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "fixtures" / "inspect"
FRAME = FIXTURES / "samples_df.parquet"
SAME = ["config", "case", "trial", "passed", "score", "outcome", "error"]
SAME += ["tokens_in", "tokens_out", "duration_ms", "scorer"]


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def frame(**columns: Any) -> pl.DataFrame:
    height = max(len(values) for values in columns.values())
    base = {
        "sample_id": [f"s{n}" for n in range(height)],
        "eval_id": ["e"] * height,
        "log": ["file:///logs/2026-01-01_run.eval"] * height,
        "id": [str(n) for n in range(height)],
        "epoch": [1] * height,
    }
    return pl.DataFrame(base | columns, strict=False)


@pytest.mark.parametrize("metric", ["verdict", "closeness", "parts.digits", "parts.sign"])
def test_a_frame_says_what_its_logs_say(metric: str) -> None:
    options = {"metric": metric, "threshold": 0.7}
    told = pl.concat(
        rows(FIXTURES / f"{name}.eval", **options)
        .select(SAME)
        .with_columns(config=pl.lit(name), case=pl.col("case").str.strip_prefix("toy_sums/"))
        for name in ("epochs3", "edited")
    )
    assert_frame_equal(rows(FRAME, **options).select(SAME), told)


def test_pandas_and_parquet_are_alike(require: Callable[[str], Any]) -> None:
    pandas = require("pandas")
    by_file = rows(FRAME, metric="verdict")
    assert_frame_equal(rows(pandas.read_parquet(FRAME), metric="verdict"), by_file)
    assert_frame_equal(rows(pl.read_parquet(FRAME), metric="verdict"), by_file)


def test_models_and_tasks_name_config_and_case() -> None:
    named = frame(model=["m", "n"], task_name=["t", "t"], score_match=["C", "I"])
    assert rows(named).select("config", "case").rows() == [("m", "t/0"), ("n", "t/1")]
    plain = rows(frame(score_match=["C", "I"]))
    assert plain.select("config", "case", "passed").rows() == [
        ("2026-01-01_run", "0", True),
        ("2026-01-01_run", "1", False),
    ]
    assert rows(frame(score_match=["C"]).drop("log"))["config"].to_list() == ["e"]


def test_words_numbers_and_truth_values() -> None:
    words = ["C", "P", "I", "N", None, "yes", "odd"]
    assert rows(frame(score_match=words))["score"].to_list() == [1, 0.5, 0, 0, None, 1, 0]
    assert rows(frame(score_match=words))["passed"].sum() == 2
    assert rows(frame(score_match=[True, False, None]))["passed"].to_list() == [True, False, None]
    assert rows(frame(score_match=[1.0, float("nan")]))["passed"].to_list() == [True, None]
    numbers = frame(score_match=["0.5", "C"])
    with pytest.raises(ArgumentError, match="threshold"):
        rows(numbers)
    assert rows(numbers, threshold=0.4)["passed"].to_list() == [True, True]


def test_parts_are_named_with_their_scorer() -> None:
    texts = ['{"a": 1, "b": NaN}', '{"a": 0}', None, "[1, 0]", '{"b": {"x": 1}}', "{oops"]
    made = frame(score_parts=texts)
    with pytest.raises(ArgumentError, match=r"'parts\.a', 'parts\.b'"):
        rows(made)
    assert rows(made, metric="parts.a")["passed"].to_list()[:5] == [True, False, None, None, None]
    assert rows(made, metric="parts.1")["passed"].to_list()[3] is False


def test_details_are_no_scorers() -> None:
    made = frame(score_match=["C"], score_match_answer=["42"], score_match_explanation=["so"])
    assert rows(made)["scorer"].to_list() == ["match"]
    with pytest.raises(ArgumentError, match="no such scorer"):
        rows(made, metric="other")
    assert rows(frame(epoch=[1]))["passed"].to_list() == [None]


def test_outcomes_and_usage() -> None:
    used = {"input_tokens": 3, "output_tokens": 1, "total_cost": 0.25}
    usage = [
        json.dumps({"m": used | {"input_tokens_cache_read": 3}, "n": used}),
        json.dumps({"m": used, "n": used | {"total_cost": None}}),
        "{}",
        None,
    ]
    made = frame(
        score_match=["C", "I", None, None],
        error=["", None, "CancelledError()", "boom"],
        limit=[None, "time", None, "token"],
        model_usage=usage,
        total_time=[0.0125, None, 1.0, 2.0],
    )
    told = rows(made)
    assert told["outcome"].to_list() == ["completed", "timeout", "cancelled", "error"]
    assert told["error"].to_list() == [None, None, "CancelledError()", "boom"]
    assert told["tokens_in"].to_list() == [9, 6, None, None]
    assert told["tokens_out"].to_list() == [2, 2, None, None]
    assert told["cost_uusd"].to_list() == [500_000, None, None, None]
    assert told["duration_ms"].to_list() == [13, None, 1000, 2000]


def test_columns_without_a_value_are_no_hindrance() -> None:
    nothing = [None, None]
    made = frame(score_match=nothing, error=nothing, limit=nothing, model_usage=nothing)
    told = rows(made)
    assert told["passed"].null_count() == 2
    assert told["outcome"].to_list() == ["completed", "completed"]


def test_other_tables_are_refused_when_asked_for() -> None:
    with pytest.raises(ColumnError, match="inspect-samples-df"):
        tr.read({"case": ["a"], "passed": [True]}, format="inspect-samples-df")


def test_columns_without_a_value_are_of_any_type() -> None:
    empty = {"total_time": [None], "error": [None], "limit": [None], "model_usage": [None]}
    for dtype in (pl.String, pl.Null, pl.Float64, pl.Categorical):
        odd = frame(score_match=["C"], **empty).with_columns(pl.col(empty).cast(dtype))
        found = rows(odd.with_columns(pl.col("log").cast(pl.Categorical)))
        told = found.select("config", "passed", "outcome", "duration_ms", "tokens_in", "error")
        assert told.row(0) == ("2026-01-01_run", True, "completed", None, None, None)
    with pytest.raises(ColumnError, match="column 'error' holds List"):
        rows(frame(score_match=["C"], error=[["x"]]))


def test_times_that_are_none_are_unknown() -> None:
    for odd in (float("nan"), float("inf"), 1e300):
        assert rows(frame(score_match=["C"], total_time=[odd]))["duration_ms"].to_list() == [None]


@pytest.mark.parametrize("total", [16, 11, None])
def test_cached_tokens_count_as_in_the_log(total: int | None, tmp_path: Path) -> None:
    used = {"input_tokens": 10, "output_tokens": 1, "input_tokens_cache_read": 5}
    usage = {"m": used | ({} if total is None else {"total_tokens": total})}
    spec = {"task": "t", "model": "m", "created": "2026-01-01"}
    scores = {"match": {"value": "C"}}
    sample = {"id": "0", "epoch": 1, "scores": scores, "model_usage": usage}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": spec, "samples": [sample]}))
    framed = rows(frame(score_match=["C"], model_usage=[json.dumps(usage)]))
    columns = ["tokens_in", "tokens_out", "cost_uusd"]
    of_log = [rows(path)[name][0] if name in rows(path).columns else None for name in columns]
    assert [framed[name][0] for name in columns] == of_log
    assert of_log[0] == (10 if total == 11 else 15)
