"""SWE-bench: reports, single instances, boards, lists of ids and maps, and who is absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trialframe as tr
from bench_logs import swe_boards, swe_instance, swe_report, write
from trialframe.errors import ArgumentError, SourceError
from trialframe.read.swe_bench import repository

if TYPE_CHECKING:
    import polars as pl

FIXTURES = Path(__file__).parent / "fixtures" / "swebench"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def verdicts(trials: pl.DataFrame) -> dict[str, tuple[Any, Any]]:
    return {case: (p, o) for case, p, o in trials.select("case", "passed", "outcome").iter_rows()}


@pytest.mark.parametrize("name", sorted(EXPECTED["runs"]))
def test_reports_hold_what_the_harness_printed(name: str) -> None:
    told = EXPECTED["runs"][name]
    printed = dict(line.rsplit(": ", 1) for line in told["printed"])
    trials = rows(FIXTURES / name)
    assert trials.height == int(printed["Total instances"]) == trials["case"].n_unique()
    assert trials["passed"].sum() == int(printed["Instances resolved"])
    outcome = trials["outcome"]
    failed = (~trials["passed"]).sum()
    empty = int(printed["Instances with empty patches"])
    assert failed == int(printed["Instances unresolved"]) + empty
    assert (outcome == "absent").sum() == int(printed["Instances incomplete"])
    assert (outcome == "agent_error").sum() == empty
    infra = int(printed["Instances with likely infrastructure failures"])
    assert (outcome == "infra_error").sum() == infra
    assert trials["config"].unique().to_list() == [told["model"].replace("/", "__")]
    assert trials["run"].unique().to_list() == [told["run_id"]]
    scored = tr.summary(tr.counts(trials, unscored="fail"))["value"][0]
    assert scored == pytest.approx(told["resolved_of_total"][0] / told["resolved_of_total"][1])
    means = {"resolved": True, "failed": False, "empty": False, "crash": None, "absent": None}
    verdict = {case: passed for case, (passed, _) in verdicts(trials).items()}
    for case, plan in told["planned"].items():
        assert plan not in means or verdict[case] is means[plan], case


def test_two_runs_of_one_model_are_trials_that_pair_nothing() -> None:
    files = [FIXTURES / f"toy-model-1.run_{run}.json" for run in "ab"]
    trials = rows(files)
    assert trials["config"].unique().to_list() == ["toy-model-1"]
    assert trials.group_by("case").len()["len"].unique().to_list() == [2]
    assert trials["trial_made"].all()
    assert tr.run_summary(trials, trial="run", unscored="fail")["value"][0] == pytest.approx(3 / 8)


def test_instances_are_left_to_the_report_of_their_run() -> None:
    trials, unread = tr.read(FIXTURES, errors="collect")
    whole = rows(sorted(FIXTURES.glob("*.run_*.json")))
    assert (
        trials.collect()
        .drop("log")
        .sort("config", "case", "run")
        .equals(whole.drop("log").sort("config", "case", "run"))
    )
    assert unread["reason"].str.contains("0 bytes").to_list() == [True]


def test_instances_of_a_run_without_report() -> None:
    folder = FIXTURES / "logs" / "run_evaluation" / "run_a"
    trials = rows(folder)
    assert sorted(trials["config"].unique()) == ["toy-model-1", "vendor__toy-model-2"]
    assert trials["run"].unique().to_list() == ["run_a"]
    told = EXPECTED["runs"]["vendor__toy-model-2.run_a.json"]["planned"]
    other = trials.filter(config="vendor__toy-model-2")
    assert other["passed"].sum() == sum(plan == "resolved" for plan in told.values())
    assert set(trials["cluster"]) == {"toyorg/sums", "toyorg/web-forms", "other-org/cal.endar"}


def test_every_list_of_a_report_has_its_meaning(tmp_path: Path) -> None:
    trials = rows(write(tmp_path / "gpt-4.1.first.json", swe_report()))
    assert verdicts(trials) == {
        "a__a-1": (True, "completed"),
        "b__b-1": (True, "completed"),
        "a__a-2": (False, "completed"),
        "a__a-3": (False, "error"),
        "b__b-2": (False, "agent_error"),
        "c__c-1": (None, "error"),
        "c__c-2": (None, "infra_error"),
        "c__c-3": (None, "absent"),
    }
    assert trials.filter(case="c__c-2")["error"].item() == "no space left"
    assert trials["config"].unique().to_list() == ["gpt-4.1"]
    assert trials["run"].unique().to_list() == ["first"]
    assert trials["cluster"].unique().sort().to_list() == ["a/a", "b/b", "c/c"]


def test_the_first_schema_lists_no_failures(tmp_path: Path) -> None:
    old = swe_report()
    for name in ("unresolved_ids", "submitted_ids", "empty_patch_ids", "schema_version"):
        del old[name]
    trials = rows(write(tmp_path / "model.run.json", old))
    assert verdicts(trials)["a__a-2"] == (False, "completed")
    assert trials["passed"].sum() == 2


@pytest.mark.parametrize(
    ("name", "config", "run"),
    [
        ("model.run_a.json", "model", "run_a"),
        ("gpt-4.1.json", "gpt-4.1", None),
        ("claude-3.5-sonnet.json", "claude-3.5-sonnet", None),
        ("results.json", "folder", None),
    ],
)
def test_names_of_reports(tmp_path: Path, name: str, config: str, run: str | None) -> None:
    trials = rows(write(tmp_path / "folder" / name, swe_report()))
    assert trials["config"].unique().to_list() == [config]
    assert (trials["run"][0] if "run" in trials.columns else None) == run


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (True, "completed", 3, 3)),
        ({"resolved": False}, (False, "completed", 3, 4)),
        ({"resolved": None}, (None, "error", 3, 3)),
        ({"resolved": False, "patch_exists": False}, (False, "agent_error", 3, 4)),
        ({"resolved": False, "infra_failure": True}, (False, "infra_error", 3, 4)),
        ({"resolved": False, "patch_successfully_applied": False}, (False, "error", 3, 4)),
        ({"tests_status": None}, (True, "completed", None, None)),
    ],
)
def test_one_instance(tmp_path: Path, change: dict[str, Any], expected: tuple[Any, ...]) -> None:
    resolved = change.get("resolved", True)
    detail = swe_instance(resolved=resolved is not False) | change
    path = tmp_path / "run" / "org__model" / "a__a-1" / "report.json"
    trials = rows(write(path, {"a__a-1": detail}))
    row = trials.row(0, named=True)
    names = ("passed", "outcome", "tests_passed", "tests_total")
    assert tuple(row.get(name) for name in names) == expected
    assert (row["config"], row["run"]) == ("org__model", "run")


def test_reports_of_two_models_may_be_equal_and_copies_are_refused(tmp_path: Path) -> None:
    for model in ("one", "two"):
        write(tmp_path / "run" / model / "a__a-1" / "report.json", {"a__a-1": swe_instance()})
    assert rows(tmp_path)["config"].to_list() == ["one", "two"]
    write(tmp_path / "again" / "run" / "one" / "a__a-1" / "report.json", {"a__a-1": swe_instance()})
    with pytest.raises(SourceError, match="is a copy of"):
        rows(tmp_path)
    assert rows(tmp_path, keep="first").height == 2
    assert rows(tmp_path, keep="all").height == 3


def test_a_system_on_two_boards_counts_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trials = rows(write(tmp_path / "leaderboards.json", swe_boards()))
    assert trials.select("config", "case", "passed", "cost_uusd", "api_calls", "task").rows() == [
        ("20250101_one", "a__a-1", True, 250_000, 7, "bash-only"),
        ("20250101_one", "b__b.x-2", False, 1_500_000, 30, "bash-only"),
    ]
    assert "1 systems list no instances" in caplog.text


def test_a_board_of_rates_is_refused(tmp_path: Path) -> None:
    boards = swe_boards()
    for board in boards["leaderboards"]:
        for system in board["results"]:
            system["per_instance_details"] = None
    with pytest.raises(SourceError, match="rates, no trials"):
        rows(write(tmp_path / "leaderboards.json", boards))


def test_lists_of_the_experiments(tmp_path: Path) -> None:
    path = tmp_path / "20240101_agent" / "results" / "results.json"
    lists = {"no_generation": ["a__a-2"], "no_logs": ["a__a-3"], "resolved": ["a__a-1"]}
    trials = rows(write(path, lists))
    assert verdicts(trials) == {
        "a__a-1": (True, "completed"),
        "a__a-2": (False, "agent_error"),
        "a__a-3": (None, "infra_error"),
    }
    assert trials["config"].unique().to_list() == ["20240101_agent"]
    more = lists | {"generated": ["a__a-1", "a__a-4"], "test_timeout": ["a__a-5"]}
    assert verdicts(rows(write(path, more)))["a__a-4"] == (False, "completed")
    assert verdicts(rows(path))["a__a-5"] == (False, "timeout")


def test_maps_of_pro_and_who_is_absent(tmp_path: Path) -> None:
    ids = [f"instance_org__repo-name-{COMMIT}", f"instance_org__other-{COMMIT}-v{COMMIT}"]
    path = write(tmp_path / "eval_results.kimi-k2.json", dict(zip(ids, (True, False), strict=True)))
    trials = rows(path)
    assert trials["cluster"].to_list() == ["org/repo-name", "org/other"]
    assert trials["config"].unique().to_list() == ["eval_results.kimi-k2"]
    every = [*ids, f"instance_org__third-{COMMIT}"]
    failed = rows(path, cases=every, absent="fail")
    assert (failed.height, failed["passed"].sum(), failed["passed"].null_count()) == (3, 1, 0)
    unscored = rows(path, cases=every)
    assert unscored.filter(outcome="absent").select("case", "passed").rows() == [(every[2], None)]
    with pytest.raises(ArgumentError, match="1 cases that the list lacks"):
        rows(path, cases=every[1:])


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("scikit-learn__scikit-learn-10297", "scikit-learn/scikit-learn"),
        ("other-org__cal.endar-40", "other-org/cal.endar"),
        (f"instance_a__b-{COMMIT}", "a/b"),
        (f"instance_a__b-c-{COMMIT}-vnan", "a/b-c"),
        ("alone", "alone"),
    ],
)
def test_repositories(case: str, expected: str) -> None:
    assert repository(case) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SYNTHETIC_report_schema_v2.json", (5, 2, 2, 1)),
        ("leaderboards_2025-12-10.trimmed.json", (36, 14, 22, 0)),
        ("swebench_pro_eval_results.kimi-k2.json", (729, 202, 527, 0)),
    ],
)
def test_samples(shared_formats: Path, name: str, expected: tuple[int, ...]) -> None:
    passed = rows(shared_formats / "swebench" / name)["passed"]
    assert (len(passed), passed.sum(), (~passed).sum(), passed.null_count()) == expected


def test_one_bad_verdict_leaves_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "eval_results.json", {"a__a-1": True, "a__a-2": "yes", "a__a-3": None})
    with pytest.raises(SourceError, match="a__a-2"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert verdicts(trials.collect()) == {"a__a-1": (True, "completed"), "a__a-3": (None, "error")}
    assert unread["place"].to_list() == ["'a__a-2'"]
