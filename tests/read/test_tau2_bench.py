"""tau2-bench: both versions, domains, endings, unknown prices, and judges beside the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import trialframe as tr
from bench_logs import judged_simulation, tau2_results, tau2_simulation, write
from trialframe.errors import SourceError, TrialsError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def one(tmp_path: Path, **change: Any) -> dict[str, Any]:
    path = write(tmp_path / "run.json", tau2_results(tau2_simulation(**change)))
    return rows(path).row(0, named=True)


def test_columns(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["config"], row["case"], row["task"]) == ("llm_agent/m", "airline/1", "airline")
    assert (row["trial"], row["trial_made"], row["seed"]) == (0, False, "626729")
    assert (row["tokens_in"], row["tokens_out"]) == (8, 3)
    assert (row["duration_ms"], row["user_cost_uusd"]) == (1500, 500_000)
    assert (row["user_model"], row["agent_args"]) == ("u", '{"temperature": 0}')
    assert "cost_uusd" not in row
    assert one(tmp_path, agent_cost=0.25)["cost_uusd"] == 250_000


@pytest.mark.parametrize(
    ("reason", "reward", "passed", "outcome"),
    [
        ("user_stop", 1.0, True, "completed"),
        ("agent_stop", 0.0, False, "completed"),
        ("user_stop", 0.5, False, "completed"),
        ("max_steps", 0.0, False, "limit"),
        ("too_many_errors", 0.0, False, "agent_error"),
        ("timeout", 0.0, False, "timeout"),
        ("agent_error", 0.0, False, "agent_error"),
        ("user_error", 0.0, False, "infra_error"),
        ("context_window_exceeded", 0.0, False, "limit"),
        ("unexpected_error", 0.0, False, "error"),
        ("infrastructure_error", 0.0, None, "infra_error"),
        ("something_new", 1.0, True, "error"),
        ("user_stop", None, None, "completed"),
        (None, 1.0, True, "error"),
    ],
)
def test_endings(tmp_path: Path, reason: Any, reward: Any, passed: Any, outcome: str) -> None:
    made = one(tmp_path, termination_reason=reason, reward_info={"reward": reward})
    assert (made["passed"], made["outcome"]) == (passed, outcome)
    assert one(tmp_path, reward_info=None)["passed"] is None


def test_domains_keep_their_ids_apart_and_telecom_groups_them(tmp_path: Path) -> None:
    write(tmp_path / "a.json", tau2_results(tau2_simulation("1")))
    composed = "[mobile_data_issue]bad_vpn|data_mode_off[PERSONA:Hard]"
    write(tmp_path / "t.json", tau2_results(tau2_simulation(composed), domain="telecom"))
    trials = rows(tmp_path)
    assert trials.select("case", "cluster").rows() == [
        ("airline/1", "airline/1"),
        (f"telecom/{composed}", "mobile_data_issue"),
    ]
    assert tr.counts(trials, cluster="cluster").frame.height == 2


def test_trials_without_a_number_are_made(tmp_path: Path) -> None:
    made = [tau2_simulation(trial=None, id=str(i), start_time=f"2025-08-0{3 - i}") for i in (0, 1)]
    trials = rows(write(tmp_path / "run.json", tau2_results(*made)))
    assert trials.select("trial", "trial_made").rows() == [(1, True), (0, True)]


def large(folder: Path, *tasks: str, index: int | None = None) -> Path:
    for task in tasks:
        write(folder / "simulations" / f"sim_{task}.json", tau2_simulation(task))
    results = tau2_results()
    del results["simulations"]
    index = len(tasks) if index is None else index
    return write(folder / "results.json", results | {"simulation_index": [{}] * index})


def test_simulations_in_a_folder_are_read_once(tmp_path: Path) -> None:
    path = large(tmp_path / "run", "1", "2")
    for source in (path, path.parent):
        trials = rows(source)
        assert trials["case"].to_list() == ["airline/1", "airline/2"]
        assert trials["config"].unique().to_list() == ["llm_agent/m"]
    assert rows(path.parent / "simulations")["case"].to_list() == ["airline/1", "airline/2"]


def test_simulations_that_are_not_there_are_said(tmp_path: Path) -> None:
    path = large(tmp_path / "run", "1", index=3)
    with pytest.raises(SourceError, match="2 of 3 simulations have no file"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (1, 1)
    write(path.parent / "simulations" / "sim_9.json", tau2_simulation("9", reward_info="x"))
    (path.parent / "simulations" / "sim_8.json").write_text("{", encoding="utf-8")
    trials, unread = tr.read(path.parent, errors="collect")
    assert trials.collect()["case"].to_list() == ["airline/1", "airline/9"]
    assert unread["place"].str.contains("sim_8").any()
    with pytest.raises(SourceError, match="Keep both together"):
        rows(large(tmp_path / "alone", index=2))


def test_a_submission_is_refused(tmp_path: Path) -> None:
    submission = {
        "model_name": "m",
        "submitting_organization": "o",
        "trajectory_files": {"airline": "x.json"},
        "results": {"airline": {"pass_1": 84.0}},
    }
    path = write(tmp_path / "submission_m.json", submission)
    with pytest.raises(SourceError, match="read the trajectory files that it names"):
        rows(path)
    with pytest.raises(SourceError, match="Read the trajectory files that it names"):
        rows(write(tmp_path / "other.json", submission))
    write(tmp_path / "run.json", tau2_results(tau2_simulation()))
    (tmp_path / "other.json").unlink()
    assert rows(tmp_path).height == 1


def test_verdicts_of_judges(tmp_path: Path) -> None:
    words = ["pass", "Satisfied", "fail", "unsatisfied", "satisfactory", None]
    entries = [judged_simulation(str(i), judge_verdict=word) for i, word in enumerate(words)]
    trials = rows(write(tmp_path / "summary.json", {"entries": entries}))
    assert trials["judge"].to_list() == [True, True, False, False, None, None]
    assert trials["case"].to_list()[0] == "airline/0"
    assert trials["judge_verdict"].to_list() == words
    assert trials["judge_cost_uusd"].sum() == 6 * 250_000
    assert trials["label"].all()


def test_verdicts_of_two_judges_are_no_two_trials(tmp_path: Path) -> None:
    for name in ("policy_v1", "outcome_v1"):
        entry = judged_simulation(judge_prompt_name=name)
        write(tmp_path / f"{name}.json", {"entries": [entry]})
    with pytest.raises(TrialsError, match=r"config=\['config', 'judge_name'\]"):
        rows(tmp_path)
    several = [judged_simulation(), judged_simulation(simulation_id="s1")]
    trials = rows(write(tmp_path / "several.json", {"entries": several}).parent / "several.json")
    assert trials["trial"].to_list() == [0, 1]


def test_samples(shared_formats: Path) -> None:
    folder = shared_formats / "tau2-bench"
    trials = rows(folder / "v1_results_telecom_4sims.json")
    assert trials.select("passed", "outcome").rows() == [
        (False, "agent_error"),
        (False, "limit"),
        (True, "completed"),
        (True, "completed"),
    ]
    assert trials["cluster"].unique().to_list() == ["mobile_data_issue"]
    judged = rows(folder / "judge_summary_airline_cot.json")
    assert (judged["judge"] == judged["label"]).sum() == 18
    assert judged["judge"].null_count() == 5
    for name in ("submission_claude-opus-4-5.json", "v2_results_dir_results.json"):
        with pytest.raises(SourceError):
            rows(folder / name)


def test_verdicts_of_the_sample_calibrate(shared_formats: Path) -> None:
    trials = rows(shared_formats / "tau2-bench" / "judge_summary_airline_cot.json")
    cells = tr.calibrate(trials, label="label", judge="judge").table.row(0, named=True)
    assert cells["agreement"] == pytest.approx(18 / 45)


def test_results_may_be_called_a_submission(tmp_path: Path) -> None:
    write(tmp_path / "submission_run.json", tau2_results(tau2_simulation()))
    write(tmp_path / "other.json", tau2_results(tau2_simulation("2")))
    assert rows(tmp_path).height == 2
