"""tau-bench: rewards, exceptions, long trajectories, duplicates, names of files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import trialframe as tr
from bench_logs import tau_row, write
from trialframe.errors import SourceError, TrialsError
from trialframe.read._known import recognised

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


@pytest.mark.parametrize(
    ("reward", "passed"),
    [
        (1.0, True),
        (1, True),
        (0.9999995, True),
        (1.0000005, True),
        (0.999, False),
        (0.0, False),
        (None, None),
    ],
)
def test_a_pass_is_a_reward_of_one(tmp_path: Path, reward: Any, passed: bool | None) -> None:  # noqa: FBT001
    row = rows(write(tmp_path / "m.json", [tau_row(reward=reward)])).row(0, named=True)
    assert row["passed"] is passed
    assert row.get("score") == reward


def test_an_exception_is_a_failure_as_in_the_tool(tmp_path: Path) -> None:
    info = {"error": "boom", "traceback": "Traceback ..."}
    path = write(tmp_path / "m.json", [tau_row(), tau_row(trial=1, reward=0.0, info=info)])
    trials = rows(path)
    assert trials.select("passed", "outcome", "error", "user_cost_uusd").rows() == [
        (True, "completed", None, 250_000),
        (False, "error", "boom", None),
    ]


def test_pass_hat_k_is_that_of_the_tool(tmp_path: Path) -> None:
    passes = {0: 4, 1: 2, 2: 0}
    made = [
        tau_row(task, trial, float(trial < count))
        for task, count in passes.items()
        for trial in range(4)
    ]
    found = tr.summary(
        tr.counts(rows(write(tmp_path / "m.json", made))),
        metrics=["pass^1", "pass^2", "pass^3", "pass^4"],
    )
    # mean over tasks of C(c, k) / C(4, k)
    assert found["value"].to_list() == pytest.approx([0.5, (1 + 1 / 6) / 3, 1 / 3, 1 / 3])


def test_a_long_trajectory_hides_no_key(tmp_path: Path) -> None:
    long = tau_row(traj=[{"role": "user", "content": "x" * 2**17}])
    path = write(tmp_path / "m.json", [{k: long[k] for k in long if k != "trial"} | {"trial": 0}])
    assert path.read_text("utf-8").index('"trial"') > 2**16
    found = recognised(path)
    assert found is not None
    assert found.name == "tau-bench"
    assert rows(path)["trial"].to_list() == [0]


@pytest.mark.parametrize(
    ("name", "config", "run"),
    [
        ("gpt-4o-airline.json", "gpt-4o-airline", None),
        (
            "tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0102030405.json",
            "tool-calling-gpt-4o-0.0_user-gpt-4o-llm",
            "0102030405",
        ),
        (
            "act-m-1.5_range_10-20_user-u-verify_1231235959.json",
            "act-m-1.5_user-u-verify",
            "1231235959",
        ),
    ],
)
def test_names_of_files(tmp_path: Path, name: str, config: str, run: str | None) -> None:
    row = rows(write(tmp_path / name, [tau_row()])).row(0, named=True)
    assert (row["config"], row.get("run")) == (config, run)


def test_parts_of_a_run_are_one_system_and_repeats_are_refused(tmp_path: Path) -> None:
    name = "act-m-0.0_range_{}_user-u-llm_0102030405.json"
    write(tmp_path / name.format("0-1"), [tau_row(0)])
    write(tmp_path / name.format("1-2"), [tau_row(1)])
    trials = rows(tmp_path)
    assert trials["config"].n_unique() == 1
    assert trials["case"].to_list() == ["0", "1"]
    write(tmp_path / name.format("0-9"), [tau_row(0, 0, 0.0)])
    with pytest.raises(TrialsError, match="2 rows share a config, case and trial"):
        rows(tmp_path)
    assert rows(tmp_path, keep="all").height == 3
    assert rows(tmp_path, keep="last").height == 2


def test_no_trial_number_is_made_and_ids_may_be_text(tmp_path: Path) -> None:
    made = [tau_row("7", None), tau_row("7", None), tau_row(8, None)]
    trials = rows(write(tmp_path / "m.json", made))
    assert trials.select("case", "trial", "trial_made").rows() == [
        ("7", 0, True),
        ("7", 1, True),
        ("8", 0, True),
    ]


def test_one_row_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    odd = [tau_row(), tau_row(1, reward="good"), 3, tau_row(2, info="x"), tau_row(3, info=None)]
    path = write(tmp_path / "m.json", odd)
    with pytest.raises(SourceError, match=r"episodes\[1\].*'good'"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect()["case"].to_list() == ["0", "3"]
    assert sorted(unread["place"]) == ["episodes[1]", "episodes[3]", "the document[2]"] or (
        sorted(unread["place"]) == ["episodes[1]", "episodes[2]", "episodes[3]"]
    )


def test_sample(shared_formats: Path, shared_data: Path) -> None:
    path = shared_formats / "tau-bench" / "gpt-4o-airline.tasks0-1.json"
    trials = rows(path)
    passed = trials["passed"]
    assert (len(passed), passed.sum(), passed.null_count()) == (9, 1, 0)
    table = tr.read(shared_data / "tau_bench_airline_gpt4o.parquet", case="case_id").collect()
    both = trials.join(table, on=["case", "trial"], how="inner")
    assert both.height == 9
    assert both["passed"].equals(both["passed_right"], check_names=False)
    nulls = [row["info"]["user_cost"] is None for row in json.loads(path.read_text("utf-8"))]
    assert trials["user_cost_uusd"].null_count() == sum(nulls)
