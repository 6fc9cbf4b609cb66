"""Terminal-Bench: runs and trials, copies of runs, names, verdicts and unknown tokens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from bench_logs import terminal_metadata, terminal_run, terminal_trial, write
from trialframe.errors import SourceError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXTURES = Path(__file__).parent / "fixtures" / "terminal-bench"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def test_counts_and_pass_at_k_are_those_of_the_tool() -> None:
    trials = rows(FIXTURES / "toy-run")
    assert trials.height == EXPECTED["trials"]
    assert trials["passed"].sum() == EXPECTED["n_resolved"]
    assert trials["passed"].null_count() == EXPECTED["is_resolved_null"]
    by_task = {
        task: [passes, count]
        for task, passes, count in trials.group_by("case")
        .agg(pl.col("passed").sum(), pl.len())
        .iter_rows()
    }
    assert by_task == EXPECTED["by_task"]
    counts = tr.counts(trials, unscored="fail")
    found = tr.summary(counts, metrics=[f"pass@{k}" for k in (1, 2, 4, 5)])["value"].to_list()
    told = [EXPECTED["accuracy"], *(EXPECTED["pass_at_k"][k] for k in "245")]
    assert found == pytest.approx(told, rel=1e-12)
    late = trials.filter(pl.col("passed"), outcome="timeout")
    assert late.height == EXPECTED["resolved_with_agent_timeout"]
    assert trials["tokens_in"].null_count() == EXPECTED["zero_tokens"] + EXPECTED["null_tokens"]
    assert not trials["trial_made"].any()
    assert sorted(trials["trial"].unique()) == [1, 2, 3, 4, 5]
    assert trials["config"].unique().to_list() == ["toy-agent/vendor/toy-model"]


def test_trials_alone_are_the_same_as_their_run() -> None:
    whole = rows(FIXTURES / "toy-run" / "results.json").drop("log").sort("case", "trial")
    alone = rows(sorted((FIXTURES / "toy-run").glob("*/*/results.json")))
    assert alone.drop("log").sort("case", "trial").equals(whole)


def test_a_run_that_was_copied_into_another_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "toy-run", tmp_path / "runs" / "one")
    write(tmp_path / "runs" / "two" / "results.json", terminal_run(terminal_trial("fix-path.easy")))
    shutil.copytree(FIXTURES / "toy-run", tmp_path / "runs" / "two" / "toy-run")
    with pytest.raises(SourceError, match=r"is a copy of .* Leave one out, or give keep"):
        rows(tmp_path)
    kept = rows(tmp_path, keep="first")
    assert kept.height == EXPECTED["trials"] + 1
    trials, unread = tr.read(tmp_path, errors="collect")
    assert (trials.collect().height, unread.height) == (kept.height, 1)


def test_runs_of_one_attempt_are_numbered_and_told_apart_by_run(tmp_path: Path) -> None:
    for day, run in enumerate(("r2", "r1")):
        stamp = f"2025-01-0{2 - day}T00:00:00+00:00"
        trial = terminal_trial("t", f"t.1-of-1.{run}", trial_started_at=stamp)
        write(tmp_path / f"{day}" / "results.json", terminal_run(trial | {"id": run}))
        write(tmp_path / f"{day}" / "run_metadata.json", terminal_metadata(run_id=run))
    trials = rows(tmp_path)
    assert trials.select("run", "trial", "trial_made").rows() == [("r2", 1, True), ("r1", 0, True)]
    with pytest.raises(TrialsError, match="trial='run'"):
        tr.run_summary(trials)
    assert tr.run_summary(trials, trial="run")["clusters"].item() == 2


def test_runs_of_several_attempts_collide_and_say_what_tells_them_apart(tmp_path: Path) -> None:
    for run in ("r1", "r2"):
        trials = [terminal_trial("t", f"t.{i}-of-2.{run}", id=f"{run}{i}") for i in (1, 2)]
        write(tmp_path / run / "results.json", terminal_run(*trials))
        write(tmp_path / run / "run_metadata.json", terminal_metadata(run_id=run))
    with pytest.raises(TrialsError, match=r"config=\['config', 'run'\]"):
        rows(tmp_path)
    again = rows(tmp_path, keep="all")
    assert sorted(again["trial"]) == [0, 1, 2, 3]
    assert rows(tmp_path, keep="last")["run"].unique().to_list() == ["r2"]


@pytest.mark.parametrize(
    ("mode", "verdict", "outcome"),
    [
        ("unset", True, "completed"),
        ("none", False, "completed"),
        ("unset", None, "error"),
        (None, None, None),
        ("agent_timeout", True, "timeout"),
        ("agent_timeout", False, "timeout"),
        ("test_timeout", None, "scorer_error"),
        ("parse_error", None, "scorer_error"),
        ("unknown_agent_error", None, "agent_error"),
        ("fatal_llm_parse_error", False, "agent_error"),
        ("context_length_exceeded", False, "limit"),
        ("output_length_exceeded", True, "limit"),
        ("agent_installation_failed", None, "infra_error"),
        ("unknown", None, "error"),
        ("something_new", False, "error"),
    ],
)
def test_how_a_trial_ended(
    tmp_path: Path, mode: str | None, verdict: Any, outcome: str | None
) -> None:
    trial = terminal_trial(failure_mode=mode, is_resolved=verdict)
    row = rows(write(tmp_path / "results.json", terminal_run(trial))).row(0, named=True)
    assert (row["passed"], row["outcome"]) == (verdict, outcome)
    assert row.get("failure_mode") == mode


def test_measures(tmp_path: Path) -> None:
    write(tmp_path / "run_metadata.json", terminal_metadata())
    row = rows(write(tmp_path / "results.json", terminal_run(terminal_trial()))).row(0, named=True)
    assert row["config"] == "agent/v/m"
    assert row["dataset"] == "core==0.1"
    assert (row["tests_passed"], row["tests_total"]) == (1, 2)
    assert "tokens_in" not in row
    assert row["tokens_out"] == 12
    assert row["duration_ms"] == 60_500
    assert str(row["started_at"]) == "2025-01-01 00:00:00+00:00"


def old(*, resolved: bool) -> dict[str, Any]:
    """The schema before there were times and ids."""
    trial = terminal_trial("maze", "maze.1-of-5", is_resolved=resolved, uuid="u")
    known = ("task_id", "trial_name", "is_resolved", "failure_mode", "parser_results", "uuid")
    return {name: trial[name] for name in known} | {"recording_path": "2025-09-06/maze/x"}


def test_the_older_schema(tmp_path: Path) -> None:
    row = rows(write(tmp_path / "results.json", old(resolved=True))).row(0, named=True)
    assert (row["config"], row["case"], row["trial"]) == ("2025-09-06", "maze", 1)
    assert row["passed"] is True
    assert "started_at" not in row


@pytest.mark.parametrize(
    ("names", "trials"),
    [
        (["t.1-of-5.r", "t.3-of-5.r"], [1, 3]),
        (["t.1-of-1.r"], [0]),
        (["a.2-of-9.b.4-of-5.r.x"], [4]),
        (["nothing", ""], [0, 1]),
    ],
)
def test_numbers_of_attempts(tmp_path: Path, names: Sequence[str], trials: list[int]) -> None:
    made = [terminal_trial("t", trial_name=name, id=name) for name in names]
    if names[0].startswith("a"):
        made = [trial | {"trial_name": "a.b.4-of-5.r.x"} for trial in made]
    assert rows(write(tmp_path / "results.json", terminal_run(*made)))["trial"].to_list() == trials


def test_metadata_alone_is_refused_and_beside_a_run_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "run_metadata.json", terminal_metadata())
    with pytest.raises(SourceError, match=r"holds no trials; read the results.json beside it"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (0, 1)
    write(tmp_path / "results.json", terminal_run(terminal_trial()))
    assert rows(tmp_path).height == 1


def test_one_trial_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    odd = terminal_trial("u", is_resolved="yes")
    path = write(tmp_path / "results.json", terminal_run(terminal_trial(), odd))
    with pytest.raises(SourceError, match=r"results\[1\].*is_resolved is 'yes'"):
        rows(path)
    write(path, terminal_run(terminal_trial(), odd, 7))
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect()["case"].to_list() == ["t"]
    assert sorted(unread["place"]) == ["results[1]", "results[2]"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("run_results.trimmed.json", (7, 3, 3, 1)),
        ("trial_results_old_uuid_schema.json", (1, 1, 0, 0)),
    ],
)
def test_samples(shared_formats: Path, name: str, expected: tuple[int, ...]) -> None:
    passed = rows(shared_formats / "terminal-bench" / name)["passed"]
    assert (len(passed), passed.sum(), (~passed).sum(), passed.null_count()) == expected


def test_a_run_that_broke_off_hides_no_trial(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "toy-run", tmp_path / "toy-run")
    path = tmp_path / "toy-run" / "results.json"
    whole = json.loads(path.read_text("utf-8"))
    write(path, whole | {"results": whole["results"][:13]})
    with pytest.raises(SourceError, match=r"2 trials have a results.json of their own"):
        rows(tmp_path)
    trials, unread = tr.read(tmp_path, errors="collect")
    assert (trials.collect().height, unread.height) == (13, 1)
    path.unlink()
    assert rows(tmp_path).height == 15
