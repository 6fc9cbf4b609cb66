"""OpenAI evals: a run is a trial, and a sample without a score has no verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trialframe as tr
from bench_logs import evals_event, evals_run, write
from trialframe.errors import ArgumentError, SourceError

FIXTURES = Path(__file__).parent / "fixtures" / "openai-evals"


def test_real_runs_have_the_verdicts_and_reports_of_the_tool() -> None:
    runs = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["runs"]
    trials = tr.read(FIXTURES).collect()
    for number, (name, run) in enumerate(runs.items()):
        rows = trials.filter(log=str(FIXTURES / name))
        scored = rows.drop_nulls("passed")
        assert dict(scored.select("case", "passed").rows()) == run["correct"]
        if "accuracy" in run["report"]:
            assert scored["passed"].mean() == run["report"]["accuracy"]
        assert set(rows["trial"]) == {number}
    assert trials["passed"].null_count() == 1
    lost = trials.filter(trials["passed"].is_null()).row(0, named=True)
    assert (lost["outcome"], lost["error"]) == ("timeout", "no answer in time")


def test_the_report_may_stand_before_the_events(shared_formats: Path) -> None:
    trials = tr.read(shared_formats / "openai-evals").collect()
    assert trials["passed"].to_list() == [False, True, False]
    assert set(trials["config"]) == {"auto_gpt_completion_fn"}
    assert set(trials["seed"]) == {"20220722"}
    assert trials["started_at"].is_sorted()


def test_columns_of_a_run(tmp_path: Path) -> None:
    trials = tr.read(write(tmp_path / "a.jsonl", evals_run())).collect()
    assert trials["passed"].to_list() == [True, False, None]
    assert trials["outcome"].to_list() == ["completed", "completed", "infra_error"]
    assert trials["error"].to_list() == [None, None, "slow down"]
    assert trials["tokens_in"].to_list() == [5, 5, None]  # the last call does not say
    assert trials["config"].to_list() == ["model-a"] * 3


def test_tokens_of_several_calls_are_added_up(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    events = [
        evals_event(0, "sampling", usage=usage),
        evals_event(0, "sampling", usage=usage),
        evals_event(0, "match", correct=True),
    ]
    trials = tr.read(write(tmp_path / "run.jsonl", events)).collect()
    assert trials.select("tokens_in", "tokens_out", "tokens").row(0) == (10, 4, 14)
    assert trials["config"].item() == "run"  # without a spec


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        ({"completion_fns": ["a", "b"]}, "a,b"),
        ({"model_name": "c"}, "c"),
        ({"model_specs": {"completions_": [{"name": "d"}]}}, "d"),
        ({"model_specs": None}, "run"),
    ],
)
def test_what_answered(tmp_path: Path, spec: dict[str, Any], config: str) -> None:
    lines = [{"spec": spec | {"run_id": "r", "eval_name": "e"}}, *evals_run()[1:]]
    trials = tr.read(write(tmp_path / "run.jsonl", lines)).collect()
    assert set(trials["config"]) == {config}
    assert set(trials["task"]) == {"e"}


def test_scores_of_metrics(tmp_path: Path) -> None:
    events = [
        evals_event(0, "metrics", score=0.5, choice="B", sacrebleu=31.5),
        evals_event(2, "metrics", score=1.0, choice="A", sacrebleu=80.0),
        evals_event(4, "sampling", sampled="x"),
    ]
    path = write(tmp_path / "run.jsonl", events)
    with pytest.raises(ArgumentError, match="several metrics: 'score', 'sacrebleu'"):
        tr.read(path)
    with pytest.raises(ArgumentError, match="neither 0 nor 1"):
        tr.read(path, metric="score")
    trials = tr.read(path, metric="score", threshold=0.6).collect()
    assert trials["passed"].to_list() == [False, True, None]
    assert trials["score"].to_list() == [0.5, 1.0, None]
    both = write(tmp_path / "both.jsonl", [*events, evals_event(0, "match", correct=True)])
    assert tr.read(both).collect()["passed"].to_list() == [True, None, None]


def test_lines_that_are_no_events_are_named(tmp_path: Path) -> None:
    lines = [*evals_run(), {"type": "match"}, evals_event(9, "match", correct=True) | {"data": 1}]
    path = write(tmp_path / "run.jsonl", lines)
    with pytest.raises(SourceError, match="line 9: is no event"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (3, 2)
    with pytest.raises(SourceError, match="no events"):
        tr.read(write(tmp_path / "none.jsonl", [{"final_report": {}}]), format="openai-evals")
