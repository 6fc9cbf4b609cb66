"""Every Eval Ever: rows of the shared schema; several results of an instance are no trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trialframe as tr
from bench_logs import shared_instance, write
from trialframe.errors import ArgumentError, SourceError

if TYPE_CHECKING:
    from pathlib import Path


def test_columns(tmp_path: Path) -> None:
    slow = {"latency_ms": 900.2, "generation_time_ms": 1.0}
    rows = [
        shared_instance(0, correct=True, metadata={"subject": "sums"}),
        shared_instance(0, correct=False, performance=slow, token_usage=None),
        shared_instance(1, correct=False, error="Request timed out", performance=None),
        shared_instance(2, correct=False, error="the model refused", schema_version="0.2.1"),
        shared_instance(3, correct=False, error="API error 500"),
    ]
    trials = tr.read(write(tmp_path / "a_samples.jsonl", rows)).collect()
    assert set(trials["config"]) == {"vendor/model-a"}
    assert trials["case"].to_list() == [f"sums/id{number}" for number in (0, 0, 1, 2, 3)]
    assert trials["trial"].to_list() == [0, 1, 0, 0, 0]
    assert trials["trial_made"].all()
    assert trials["passed"].to_list() == [True, False, False, False, False]
    outcomes = ["completed", "completed", "timeout", "refused", "error"]
    assert trials["outcome"].to_list() == outcomes
    assert trials["duration_ms"].to_list() == [680, 900, None, 680, 680]
    assert trials["tokens_in"].to_list() == [5, None, 5, 5, 5]
    assert trials["metadata.subject"].to_list()[0] == "sums"


def test_several_results_of_an_instance(tmp_path: Path) -> None:
    rows = [
        shared_instance(number, correct=correct, evaluation_result_id=name)
        for number in range(2)
        for name, correct in (("exact", True), ("loose", number == 0))
    ]
    path = write(tmp_path / "a_samples.jsonl", rows)
    with pytest.raises(ArgumentError, match="several results: 'exact', 'loose'"):
        tr.read(path)
    assert tr.read(path, metric="loose").collect()["passed"].to_list() == [True, False]
    with pytest.raises(ArgumentError, match="no such result"):
        tr.read(path, metric="other")
    one = write(tmp_path / "b.jsonl", rows[::2])
    assert tr.read(one).collect()["passed"].to_list() == [True, True]


def test_lines_that_lack_a_key_are_named(tmp_path: Path) -> None:
    rows = [shared_instance(0, correct=True), shared_instance(1, correct=True, sample_id=None)]
    path = write(tmp_path / "a_samples.jsonl", rows)
    with pytest.raises(SourceError, match="line 2: must have schema_version"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (1, 1)
