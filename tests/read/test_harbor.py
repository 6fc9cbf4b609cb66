"""Harbor: which exceptions leave a reward, steps, several rewards, order and jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trialframe as tr
from bench_logs import failure, harbor_trial, write
from trialframe.errors import ArgumentError, SourceError

FIXTURES = Path(__file__).parent / "fixtures" / "harbor"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def job(folder: Path, *trials: dict[str, Any]) -> Path:
    for trial in trials:
        write(folder / trial["trial_name"] / "result.json", trial)
    return folder


def test_rewards_count_as_in_the_tool() -> None:
    trials = rows(FIXTURES / "toy-job")
    assert trials.height == EXPECTED["trials"]
    valid = dict(trials.select("trial_name", pl.col("passed").is_not_null()).iter_rows())
    assert valid == EXPECTED["reward_valid"]
    evals = EXPECTED["stats"]["evals"]
    for name, told in evals.items():
        part = (
            trials.filter(pl.col("config") == name.split("__")[0])
            if "adhoc" in name
            else (trials.filter(pl.col("config").str.contains("/")))
        )
        assert part["passed"].count() == told["n_trials"]
        for reward, names in told["reward_stats"]["reward"].items():
            assert set(part.filter(score=float(reward))["trial_name"]) == set(names)
        kinds = {
            kind: set(group["trial_name"])
            for (kind,), group in part.drop_nulls("exception").group_by("exception")
        }
        assert kinds == {kind: set(names) for kind, names in told["exception_stats"].items()}
    for name in ("n_input_tokens", "n_output_tokens"):
        mine = trials["tokens_in" if "input" in name else "tokens_out"].sum()
        assert mine == EXPECTED["stats"][name]
    assert trials["cost_uusd"].sum() == round(EXPECTED["stats"]["cost_usd"] * 1e6)


def test_mean_and_pass_at_k_are_those_of_the_job() -> None:
    part = rows(FIXTURES / "toy-job").filter(pl.col("config").str.contains("/"))
    told = EXPECTED["stats"]["evals"]["toy-agent__toy-model__toy-bench"]
    assert part["passed"].mean() == pytest.approx(told["metrics"][0]["mean"])
    found = tr.summary(tr.counts(part), metrics=["pass@2"])["value"].item()
    assert found == pytest.approx(told["pass_at_k"]["2"])


def test_trials_are_numbered_as_they_started() -> None:
    trials = rows(FIXTURES / "toy-job")
    assert trials["trial_made"].all()
    for task, rewards in EXPECTED["by_start"].items():
        part = trials.filter(case=f"toyorg/{task}").sort("trial")
        assert part["trial"].to_list() == list(range(part.height))
        assert part["started_at"].is_sorted()
        assert part["rewards.reward"].to_list() == rewards


@pytest.mark.parametrize(
    ("kind", "reward", "outcome"),
    [
        (None, 1.0, "completed"),
        ("AgentTimeoutError", 1.0, "timeout"),
        ("ContextWindowExceededError", 1.0, "limit"),
        ("OutputLengthExceededError", 1.0, "limit"),
        ("AgentSafetyRefusalError", 1.0, "refused"),
        ("ContentPolicyViolationError", 1.0, "refused"),
        ("NonZeroAgentExitCodeError", None, "agent_error"),
        ("SandboxBuildFailedError", None, "infra_error"),
        ("EnvironmentStartTimeoutError", None, "infra_error"),
        ("AgentSetupTimeoutError", None, "infra_error"),
        ("ApiRateLimitError", None, "infra_error"),
        ("AuthenticationError", None, "infra_error"),
        ("VerifierTimeoutError", None, "scorer_error"),
        ("RewardFileNotFoundError", None, "scorer_error"),
        ("CancelledError", None, "cancelled"),
        ("SomethingNewError", None, "error"),
    ],
)
def test_which_exceptions_leave_a_reward(
    tmp_path: Path, kind: str | None, reward: float | None, outcome: str
) -> None:
    trial = harbor_trial(exception_info=None if kind is None else failure(kind))
    row = rows(write(tmp_path / "result.json", trial)).row(0, named=True)
    assert (row.get("score"), row["outcome"]) == (reward, outcome)
    assert row["passed"] is (None if reward is None else True)
    assert row["rewards.reward"] == 1.0
    assert row.get("error") == (None if kind is None else f"{kind}: why")


def test_what_the_log_says_of_a_reward_goes_first(tmp_path: Path) -> None:
    odd = failure("SomethingNewError", policy={"has_valid_reward": True})
    assert rows(write(tmp_path / "a.json", harbor_trial(exception_info=odd)))["passed"].item()
    late = harbor_trial(exception_info=failure("AgentTimeoutError"), reward_valid=False)
    assert rows(write(tmp_path / "b.json", late))["passed"].item() is None


def test_no_reward_is_no_failure(tmp_path: Path) -> None:
    for none in (None, {"rewards": None}, {"rewards": {}}):
        trial = harbor_trial(verifier_result=none, exception_info=failure("AgentTimeoutError"))
        row = rows(write(tmp_path / "result.json", trial)).row(0, named=True)
        assert (row["passed"], row["outcome"]) == (None, "timeout")
    running = harbor_trial(verifier_result=None, finished_at=None)
    row = rows(write(tmp_path / "result.json", running)).row(0, named=True)
    assert (row["passed"], row["outcome"]) == (None, "error")
    assert "duration_ms" not in row


def test_steps_add_up_and_their_exceptions_count(tmp_path: Path) -> None:
    used = {"n_input_tokens": 5, "n_cache_tokens": None, "n_output_tokens": 1, "cost_usd": 0.25}
    steps = [
        {"step_name": "a", "agent_result": used, "exception_info": None},
        {"step_name": "b", "agent_result": used, "exception_info": failure("AgentTimeoutError")},
        {"step_name": "c", "agent_result": None, "exception_info": None},
    ]
    trial = harbor_trial(agent_result=None, step_results=steps)
    row = rows(write(tmp_path / "result.json", trial)).row(0, named=True)
    assert (row["tokens_in"], row["tokens_out"], row["cost_uusd"]) == (10, 2, 500_000)
    assert (row["passed"], row["outcome"]) == (True, "timeout")
    steps[0] |= {"exception_info": failure("ApiRateLimitError")}
    row = rows(write(tmp_path / "result.json", trial)).row(0, named=True)
    assert (row["passed"], row["outcome"]) == (None, "infra_error")


def test_several_rewards_need_a_choice_unless_one_is_called_reward(tmp_path: Path) -> None:
    two = {"rewards": {"style": 0.5, "reward": 1}}
    path = write(tmp_path / "result.json", harbor_trial(verifier_result=two))
    assert rows(path)["score"].item() == 1.0
    with pytest.raises(ArgumentError, match="threshold"):
        rows(path, metric="style")
    style = rows(path, metric="style", threshold=0.5)
    assert style.select("score", "passed", "rewards.style").row(0) == (0.5, True, 0.5)
    other = {"rewards": {"style": 1, "speed": 0}}
    path = write(tmp_path / "result.json", harbor_trial(verifier_result=other))
    with pytest.raises(ArgumentError, match=r"several rewards: 'style', 'speed'"):
        rows(path)
    assert rows(path, metric="speed")["passed"].item() is False


def test_names_and_measures(tmp_path: Path) -> None:
    path = tmp_path / "my-job" / "fix__0" / "result.json"
    row = rows(write(path, harbor_trial())).row(0, named=True)
    assert (row["config"], row["case"], row["job"]) == ("agent/m", "fix", "my-job")
    assert (row["provider"], row["dataset"], row["tokens_cached"]) == ("p", "set", 4)
    assert (row["tokens_in"], row["cost_uusd"], row["duration_ms"]) == (10, 500_000, 30_000)
    bare = harbor_trial(agent_info={"name": "oracle", "version": "1", "model_info": None})
    assert rows(write(path, bare))["config"].item() == "oracle"


def test_the_result_of_a_job_is_left_out(tmp_path: Path) -> None:
    stats = {"n_trials": 2, "n_errors": 0, "evals": {}}  # names of older jobs
    folder = job(tmp_path / "job", harbor_trial(), harbor_trial(minute=1))
    alone = write(folder / "result.json", {"id": "j", "n_total_trials": 2, "stats": stats})
    assert rows(folder).height == 2
    with pytest.raises(SourceError, match="Read the folder of the job"):
        rows(alone)
    with pytest.raises(SourceError, match="Read the folder of the job"):
        rows(write(tmp_path / "job_stats.json", stats))
    whole = {"id": "j", "n_total_trials": 1, "stats": stats, "trial_results": [harbor_trial()]}
    assert rows(write(tmp_path / "whole" / "result.json", whole)).height == 1


def test_one_trial_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    odd = harbor_trial(minute=1, verifier_result={"rewards": {"reward": "good"}})
    folder = job(tmp_path, harbor_trial(), odd, harbor_trial("other", finished_at="noon"))
    with pytest.raises(SourceError, match=r"'good': a number is needed|noon"):
        rows(folder)
    trials, unread = tr.read(folder, errors="collect")
    assert trials.collect()["case"].to_list() == ["fix"]
    assert unread.height == 2


def test_sample(shared_formats: Path) -> None:
    trials = rows(shared_formats / "harbor" / "schema_generated_0.25.0")
    passed = trials["passed"]
    assert (len(passed), passed.sum(), (~passed).sum(), passed.null_count()) == (6, 1, 2, 3)
    assert set(trials.filter(pl.col("passed").is_null())["exception"]) == {
        "EnvironmentStartTimeoutError",
        "NonZeroAgentExitCodeError",
        "VerifierTimeoutError",
    }


def test_a_trial_in_the_place_of_a_job_is_a_trial(tmp_path: Path) -> None:
    write(tmp_path / "result.json", harbor_trial("other"))
    assert sorted(rows(job(tmp_path, harbor_trial()))["case"]) == ["fix", "other"]


def test_an_older_job_is_read_by_the_table_of_exceptions() -> None:
    older, newer = rows(FIXTURES / "older-job"), rows(FIXTURES / "toy-job")
    columns = ["trial_name", "passed", "score", "outcome", "exception"]
    same = newer.filter(pl.col("trial_name").is_in(older["trial_name"].implode()))
    assert older.height == 3
    assert older.select(columns).sort("trial_name").equals(same.select(columns).sort("trial_name"))


def test_a_metric_can_be_named_where_trials_broke_off_without_rewards() -> None:
    job = FIXTURES / "toy-job"
    named = tr.read(job, metric="reward").collect()
    assert named.equals(tr.read(job).collect())
    assert named["passed"].null_count() == 4
    with pytest.raises(ArgumentError, match=r"no such reward. It has 'reward'"):
        tr.read(job, metric="rewrd")
