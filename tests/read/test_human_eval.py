"""HumanEval: results read as the tool counts them, fast or line by line, with the same answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from bench_logs import human_sample, write
from trialframe.errors import SourceError
from trialframe.read import human_eval

FIXTURES = Path(__file__).parent / "fixtures" / "human-eval"
NAME = "samples.jsonl_results.jsonl"


def test_a_real_run_has_the_numbers_of_the_tool() -> None:
    expected = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
    trials = tr.read(FIXTURES / NAME)
    counts = tr.counts(trials)
    found = {row[0]: list(row[1:]) for row in counts.frame.select("case", "c", "n").rows()}
    assert found == expected["passed_of"]
    values = tr.summary(counts, metrics=["pass@1", "pass@2", "pass@3"])["value"].to_list()
    assert values == pytest.approx(list(expected["pass_at_k"].values()))
    rows = trials.collect()
    assert rows["trial_made"].all()
    assert rows["config"].unique().to_list() == ["human-eval"]  # samples says nothing
    told = rows.select("case", pl.coalesce("error", pl.lit("passed"))).rows()
    assert told == [tuple(row) for row in expected["results"]]


def test_a_sample_keeps_its_verdict_where_it_timed_out(shared_formats: Path) -> None:
    file = shared_formats / "evalplus" / "humaneval_generated_samples.jsonl_results.jsonl"
    trials = tr.read(file).collect()
    assert trials["passed"].to_list() == [True, False, False, False, False]
    assert trials["outcome"].to_list() == ["completed"] * 2 + ["timeout"] + ["completed"] * 2
    assert trials["trial"].to_list() == [0, 1, 2, 3, 4]


ROWS: list[dict[str, Any]] = [
    human_sample(0) | {"model": "a", "temperature": 0.5, "tags": ["x"], "score": 1},
    human_sample(0, "failed: " + "x" * 3_000) | {"model": "b", "temperature": 1, "late": True},
    human_sample(1, "timed out") | {"passed": None},
    human_sample(2, "failed: ") | {"result": None, "passed": None},
]


@pytest.mark.parametrize("name", [NAME, f"{NAME}.gz", "odd[1].jsonl"])
def test_polars_and_python_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "model-x" / name
    write(path.with_suffix("") if name.endswith(".gz") else path, ROWS)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    fast = tr.read(path, threshold=None).collect()
    assert fast["config"].to_list()[:2] == ["a", "b"]
    assert fast["config"].to_list()[2] == ("odd[1]" if "odd" in name else "model-x")
    assert fast["outcome"].to_list() == ["completed", "completed", "timeout", None]
    assert fast["passed"].to_list() == [True, False, None, None]
    assert fast["error"].str.len_chars().max() == human_eval.WIDTH
    assert {"temperature", "late"} <= set(fast.columns)
    assert not {"completion", "tags"} & set(fast.columns)
    monkeypatch.setattr(human_eval, "_parsed", lambda _: None)
    slow = tr.read(path).collect()
    assert_frame_equal(fast, slow, check_column_order=False)


def test_bare_nan_is_read_line_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, [human_sample(0) | {"p": float("nan")}, human_sample(1, "x")])
    trials = tr.read(path).collect()
    assert trials["passed"].to_list() == [True, False]
    assert trials["error"].to_list() == [None, "x"]


def test_one_bad_line_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / NAME
    lines = [json.dumps(human_sample(0)), '{"task_id": "x", "passed":', "[]"]
    lines += [
        json.dumps(human_sample(1) | change) for change in ({"passed": "yes"}, {"task_id": None})
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SourceError, match="line 2"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect()["case"].to_list() == ["HumanEval/0"]
    assert sorted(unread["place"]) == ["line 2", "line 3", "line 4", "line 5"]


def test_a_long_sample_is_known_by_the_name_of_the_file(tmp_path: Path) -> None:
    row = {"task_id": "a/1", "completion": "x" * 70_000, "result": "passed", "passed": True}
    assert tr.read(write(tmp_path / NAME, [row])).collect()["case"].to_list() == ["a/1"]
    plain = write(tmp_path / "table.jsonl", [{"task_id": 1, "result": "x", "passed": True}])
    assert "trial_made" not in tr.read(plain).collect_schema()
