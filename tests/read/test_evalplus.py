"""EvalPlus: plus needs base and added tests, and what was not run decides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trialframe as tr
from bench_logs import plus_results, write
from trialframe.errors import ArgumentError, SourceError

FIXTURES = Path(__file__).parent / "fixtures" / "evalplus"


def printed(name: str) -> list[float]:
    """What the tool printed as pass@1: of base, then of plus."""
    lines = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["files"][name]["printed"]
    return [float(line.split("\t")[1]) for line in lines if line.startswith("pass@1")]


@pytest.mark.parametrize("name", ["plus_eval_results.json", "base_eval_results.json"])
def test_real_files_have_the_numbers_that_the_tool_printed(name: str) -> None:
    wanted = printed(name)
    for metric, value in zip(["base", "plus"], wanted, strict=False):
        counts = tr.counts(tr.read(FIXTURES / name, metric=metric))
        found = tr.summary(counts, metrics=["pass@1"])["value"].item()
        assert round(found, 3) == value
    default = tr.summary(tr.counts(tr.read(FIXTURES / name)), metrics=["pass@1"])["value"].item()
    assert round(default, 3) == wanted[-1]


def test_a_file_without_added_tests_has_no_plus() -> None:
    with pytest.raises(ArgumentError, match=r"metric='plus'.*no such metric\. It has 'base'"):
        tr.read(FIXTURES / "base_eval_results.json", metric="plus")


def test_added_tests_that_were_not_run(shared_formats: Path) -> None:
    file = shared_formats / "evalplus" / "SYNTHETIC_evalplus_eval_results.json"
    trials = tr.read(file).collect()
    assert trials["passed"].to_list() == [True, False, False, None]
    assert trials["outcome"].to_list() == ["completed", "completed", "timeout", None]
    assert tr.read(file, metric="base").collect()["passed"].to_list() == [True, True, False, True]
    assert trials["config"].unique().to_list() == ["SYNTHETIC_evalplus"]


def test_files_of_the_first_versions(tmp_path: Path) -> None:
    old = {
        "nfiles": 3,
        "base": [["success", []], ["success", []], ["timed out", []]],
        "plus": [["success", []], ["failed", []], ["success", []]],
    }
    document = plus_results() | {"eval": {"Mbpp/2": old, "Mbpp/3": {"nfiles": 0, "base": []}}}
    path = write(tmp_path / "model-a" / "eval_results.json", document)
    trials = tr.read(path).collect()
    assert trials["passed"].to_list() == [True, False, False]
    assert trials["outcome"].to_list() == ["completed", "completed", "timeout"]
    assert set(trials["task"]) == {"Mbpp"}
    assert set(trials["config"]) == {"model-a"}
    old["plus"].pop()
    with pytest.raises(SourceError, match="lists of the same length"):
        tr.read(write(path, document))


@pytest.mark.parametrize("status", [None, "passed", 1, ["pass"]])
def test_a_status_that_is_none_is_named(tmp_path: Path, status: Any) -> None:
    document = plus_results()
    document["eval"]["HumanEval/0"][1]["base_status"] = status
    path = write(tmp_path / "a_eval_results.json", document)
    with pytest.raises(SourceError, match=r"HumanEval/0\[1\]: base_status"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (2, 1)


@pytest.mark.parametrize("document", [{"eval": []}, [], {"hash": "x"}])
def test_other_documents_are_refused(tmp_path: Path, document: Any) -> None:
    path = write(tmp_path / "a_eval_results.json", document)
    with pytest.raises(SourceError, match="no eval"):
        tr.read(path, format="evalplus")
