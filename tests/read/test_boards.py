"""BFCL, LiveCodeBench, AlpacaEval, JudgeBench, METR, Reflexion and Aider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from bench_logs import (
    aider_results,
    annotation,
    bfcl_lines,
    judged_pair,
    metr_run,
    performance,
    reflexion_env,
    write,
)
from trialframe.errors import ArgumentError, SourceError, TrialsError

if TYPE_CHECKING:
    from pathlib import Path


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def tally(trials: pl.DataFrame) -> tuple[int, int, int, int]:
    passed = trials["passed"]
    return len(passed), passed.sum(), (~passed).sum(), passed.null_count()


# BFCL


def test_what_a_score_file_does_not_list_has_passed(tmp_path: Path) -> None:
    trials = rows(write(tmp_path / "simple_score.json", bfcl_lines(5, 2, 4)))
    assert tally(trials) == (5, 3, 2, 0)
    assert dict(trials.select("case", "passed").iter_rows()) == {
        f"simple/{number}": number not in {2, 4} for number in range(1, 6)
    }
    assert trials["config"].unique().to_list() == ["m"]


@pytest.mark.parametrize(
    ("ids", "failed"),
    [
        (["simple_0", "simple_4"], {0, 4}),
        (["live_simple_0-0-0", "live_simple_3-12-1"], {0, 3}),
        (["memory_kv_2-customer-2"], {2}),
        (["multi_turn_miss_func_1"], {1}),
    ],
)
def test_ids_of_later_versions_count_from_zero(
    tmp_path: Path, ids: list[str], failed: set[int]
) -> None:
    trials = rows(write(tmp_path / "BFCL_v4_simple_score.json", bfcl_lines(5, *ids)))
    numbers = trials.filter(~pl.col("passed"))["case"].str.extract(r"/(\d+)$").cast(pl.Int64)
    assert set(numbers) == failed
    assert trials["case"].n_unique() == 5


@pytest.mark.parametrize(
    ("name", "first"),
    [("BFCL_v3_simple_score.json", "simple/0"), ("simple_score.json", "simple/1")],
)
def test_a_file_without_failures_is_known_by_its_name(
    tmp_path: Path, name: str, first: str
) -> None:
    for model in ("one", "two"):
        write(tmp_path / "score" / model / "non_live" / name, bfcl_lines(3))
    trials = rows(tmp_path)
    assert trials["config"].unique().sort().to_list() == ["one", "two"]
    assert trials["case"].to_list()[0] == first
    assert tally(trials) == (6, 6, 0, 0)


def test_passes_that_cannot_be_told_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "simple_score.json"
    for failed in ([9], [2, 2], ["x"], [None], [True]):
        with pytest.raises(SourceError, match="so that the passes cannot be told"):
            rows(write(path, bfcl_lines(5, *failed)))
    cut = bfcl_lines(5, 2, 4)[:2]
    with pytest.raises(SourceError, match="counts 2 failures and lists 1"):
        rows(write(path, cut))
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (0, 1)


def test_a_count_makes_no_more_passes_than_a_category_has(tmp_path: Path) -> None:
    header = {"accuracy": 1.0, "correct_count": 10**7, "total_count": 10**7}
    with pytest.raises(SourceError, match="Read the score file"):
        rows(write(tmp_path / "simple_score.json", [header]))


def test_answers_without_verdicts_are_refused(tmp_path: Path) -> None:
    answer = {"id": "simple_0", "result": "f()", "input_token_count": 1}
    answer |= {"output_token_count": 1, "latency": 0.5}
    path = write(tmp_path / "simple_result.json", answer)
    with pytest.raises(SourceError, match=r"ends in _score"):
        rows(path)
    write(tmp_path / "simple_score.json", bfcl_lines(5, 2))
    assert rows(tmp_path).height == 5


# LiveCodeBench


def test_percentages_become_trials_that_are_numbered_by_nobody(tmp_path: Path) -> None:
    shares = [performance("q", "ten", 30.0), performance("r", "ten", 100.0)]
    shares += [performance("q", "one", 0.0), performance("r", "one", 100.0)]
    shares += [performance("s", "ten", None)]
    trials = rows(write(tmp_path / "p.json", {"performances": shares}))
    found = trials.group_by("config", "case").agg(pl.len(), pl.col("passed").sum())
    assert sorted(found.rows()) == [
        ("one", "q", 1, 0),
        ("one", "r", 1, 1),
        ("ten", "q", 10, 3),
        ("ten", "r", 10, 10),
        ("ten", "s", 1, 0),
    ]
    assert trials["trial_made"].all()
    assert trials["passed"].null_count() == 1
    with pytest.raises(TrialsError, match="are no runs"):
        tr.run_summary(trials)


@pytest.mark.parametrize("share", [37.0, 101, -10, "10", True, [10]])
def test_other_percentages_are_refused(tmp_path: Path, share: Any) -> None:
    made = [performance("q", "m", 30.0), performance("r", "m", share)]
    path = write(tmp_path / "p.json", {"performances": made})
    with pytest.raises(SourceError, match="no share of 10 trials"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread["place"].to_list()) == (10, ["performances[1]"])


# AlpacaEval


@pytest.mark.parametrize(
    ("preference", "score", "passed", "outcome"),
    [
        (2.0, 1.0, True, "completed"),
        (1, 0.0, False, "completed"),
        (1.75, 0.75, True, "completed"),
        (1.5, 0.5, None, "completed"),
        (0, 0.5, None, "completed"),
        (None, None, None, "scorer_error"),
    ],
)
def test_preferences(
    tmp_path: Path, preference: Any, score: Any, passed: Any, outcome: str
) -> None:
    path = write(tmp_path / "a.json", [annotation(preference), annotation(2, "other")])
    row = rows(path).row(0, named=True)
    assert (row["score"], row["passed"], row["outcome"]) == (score, passed, outcome)
    assert (row["config"], row["baseline"], row["trial_made"]) == ("new", "base", True)
    strict = rows(path, threshold=0.5).row(0, named=True)
    assert strict["passed"] is (None if score is None else score >= 0.5)


def test_cases_are_instructions_and_annotators_are_no_trials(tmp_path: Path) -> None:
    twice = [annotation(2), annotation(1), annotation(2, "other")]
    cases = rows(write(tmp_path / "a" / "annotations.json", twice))["case"].to_list()
    assert cases[1] == f"{cases[0]}-2"
    assert len(set(cases)) == 3
    other = rows(write(tmp_path / "b" / "annotations.json", [annotation(2, "other")]))
    assert other["case"].to_list() == cases[2:]
    write(tmp_path / "b" / "annotations.json", [annotation(1, "other", annotator="human")])
    with pytest.raises(TrialsError, match=r"config=\['config', 'annotator'\]"):
        rows(tmp_path)
    with pytest.raises(SourceError, match="preference is 3"):
        rows(write(tmp_path / "bad.json", [annotation(3)]))


# JudgeBench


@pytest.mark.parametrize(
    ("decisions", "passed", "judge"),
    [
        (["A>B", "B>A"], [True, True], [True, True]),
        (["A>B", "A>B"], [True, False], [True, False]),
        (["A=B", "B>A"], [False, True], [None, True]),
        ([None, "lost"], [None, None], [None, None]),
        (["B>A"], [False], [False]),
    ],
)
def test_the_second_judgment_saw_the_answers_swapped(
    tmp_path: Path, decisions: list[Any], passed: list[Any], judge: list[Any]
) -> None:
    pairs = [judged_pair(*decisions), judged_pair("A>B", "B>A", pair_id="q")]
    trials = rows(write(tmp_path / "j.jsonl", pairs)).filter(case="p")
    assert trials["passed"].to_list() == passed
    assert trials["trial"].to_list() == list(range(len(passed)))
    if "judge" in trials.columns:
        assert trials["judge"].to_list() == judge
    assert trials["cluster"].unique().to_list() == ["law/3"]
    turned = [judged_pair(*decisions, label="B>A"), judged_pair("A>B", pair_id="q")]
    other = rows(write(tmp_path / "k.jsonl", turned)).filter(case="p")
    flipped = [None if p is None else j is False for p, j in zip(passed, judge, strict=True)]
    assert other["passed"].to_list() == flipped


def test_pairs_without_a_label_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "j.jsonl", [judged_pair("A>B"), judged_pair("A>B", label="A=B")])
    with pytest.raises(SourceError, match="line 2"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread["place"].to_list()) == (1, ["line 2"])


# METR


def test_runs_of_metr(tmp_path: Path) -> None:
    made = [
        metr_run(minute=5, score_binarized=1),
        metr_run(minute=1, fatal_error_from="usageLimits"),
        metr_run("family/two", score=None, score_cont=0.5, fatal_error_from="server"),
    ]
    del made[2]["score"]
    trials = rows(write(tmp_path / "runs.jsonl", made))
    assert trials.select("case", "trial", "trial_made", "passed", "score", "outcome").rows() == [
        ("family/one", 1, True, True, 0.25, "completed"),
        ("family/one", 0, True, False, 0.25, "limit"),
        ("family/two", 0, True, False, 0.5, "infra_error"),
    ]
    first = trials.row(0, named=True)
    assert (first["duration_ms"], first["cost_uusd"], first["cluster"]) == (1500, 500_000, "family")
    assert str(first["started_at"])[:19] == "2024-12-13 06:11:40"
    assert (first["human_minutes"], first["invsqrt_task_weight"]) == (7.5, 0.001)


def test_a_run_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    odd = [metr_run(), metr_run(score_binarized=0.5), metr_run(started_at="now")]
    trials, unread = tr.read(write(tmp_path / "runs.jsonl", odd), errors="collect")
    assert trials.collect().height == 1
    assert sorted(unread["place"]) == ["line 2", "line 3"]


# Reflexion


def state(*memories: tuple[int, bool]) -> list[dict[str, Any]]:
    return [reflexion_env(f"env_{i}", m, solved=ok) for i, (m, ok) in enumerate(memories)]


def attempts(trials: pl.DataFrame) -> dict[str, list[bool]]:
    made = trials.sort("case", "attempt").group_by("case", maintain_order=True)
    return dict(made.agg("passed").iter_rows())


def test_memories_count_the_failures(tmp_path: Path) -> None:
    last = state((0, True), (2, True), (3, False))
    trials = rows(write(tmp_path / "run" / "env_results_trial_2.json", last))
    assert attempts(trials) == {
        "env_0": [True],
        "env_1": [False, False, True],
        "env_2": [False, False, False],
    }
    assert trials["config"].unique().to_list() == ["run"]
    assert trials["trial"].unique().to_list() == [0]
    assert trials.filter(case="env_1")["reflections"].to_list() == [0, 1, 2]
    assert tr.seq_at_k(trials)["value"].head(3).to_list() == pytest.approx([1 / 3, 1 / 3, 2 / 3])


def test_earlier_files_say_when_where_memories_do_not(tmp_path: Path) -> None:
    first, second, third = (
        state((0, True), (0, False), (0, False)),
        state((0, True), (0, True), (0, False)),
        state((0, True), (0, True), (0, False)),
    )
    last = write(tmp_path / "base" / "env_results_trial_2.json", third)
    with pytest.raises(SourceError, match="Put the files of the earlier attempts"):
        rows(last)
    write(tmp_path / "base" / "env_results_trial_0.json", first)
    write(tmp_path / "base" / "env_results_trial_1.json", second)
    expected = {"env_0": [True], "env_1": [False, True], "env_2": [False, False, False]}
    assert attempts(rows(last)) == expected
    assert attempts(rows(tmp_path)) == expected


def test_repeated_runs_of_one_name_collide(tmp_path: Path) -> None:
    for day, solved in (("d1", True), ("d2", False)):
        write(tmp_path / day / "run" / "env_results_trial_0.json", state((int(not solved), solved)))
    with pytest.raises(TrialsError, match="rows share a config, case and trial"):
        rows(tmp_path)
    again = rows(tmp_path, keep="all")
    assert again.select("trial", "attempt", "passed").rows() == [(0, 1, True), (1, 1, False)]


def test_solutions_count_once(tmp_path: Path) -> None:
    made = [
        {"task_id": f"HumanEval/{i}", "is_solved": i > 0, "reflections": ["x"] * i}
        for i in range(3)
    ]
    trials = rows(write(tmp_path / "humaneval_py.jsonl", made))
    assert tally(trials) == (3, 2, 1, 0)
    assert trials["reflections"].to_list() == [0, 1, 2]
    assert tr.counts(trials).frame.height == 3


# Aider


def test_outcomes_of_aider_are_attempts(tmp_path: Path) -> None:
    path = write(tmp_path / "zebra" / ".aider.results.json", aider_results(False, True))
    other = aider_results(True, testcase="yacht")
    write(tmp_path / "yacht" / ".aider.results.json", other)
    broken = {"exception": "boom", "testcase": "two", "model": "m"}
    write(tmp_path / "two" / ".aider.results.json", broken)
    trials = rows(tmp_path)
    shown = trials.select("case", "trial", "attempt", "passed", "outcome", "cost_uusd")
    assert sorted(shown.rows()) == [
        ("python/yacht", 0, 1, True, "completed", 500_000),
        ("python/zebra", 0, 1, False, "completed", None),
        ("python/zebra", 0, 2, True, "completed", 500_000),
        ("two", 0, 1, None, "error", None),
    ]
    assert trials["config"].unique().to_list() == ["m"]
    assert rows(path).height == 2
    firsts = tr.counts(trials, attempts="first").frame
    assert firsts["c"].sum() == 1


def test_lists_of_exercises_and_limits(tmp_path: Path) -> None:
    made = [aider_results(False, num_exhausted_context_windows=1), aider_results(testcase="none")]
    trials = rows(write(tmp_path / "all.json", made))
    assert trials.select("case", "passed", "outcome").rows() == [
        ("python/zebra", False, "limit"),
        ("python/none", None, "error"),
    ]


# samples of all of them


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bfcl/gpt-4o-2024-05-13_executable_simple_score.json", (100, 94, 6, 0)),
        ("livecodebench/performances_generation_2025-04-22.trimmed.json", (169, 57, 112, 0)),
        ("alpaca_eval/mistral-orpo-beta_annotations.nulls.json", (5, 3, 0, 2)),
        ("judgebench/arena_hard_o1-mini.5rows.jsonl", (6, 3, 3, 0)),
        ("metr/runs_2025-01-28.sample.jsonl", (21, 6, 15, 0)),
        ("reflexion/alfworld_env_results_trial_3.trimmed.json", (238, 113, 125, 0)),
        ("reflexion/humaneval_py_pass_at_1.head12.jsonl", (12, 12, 0, 0)),
    ],
)
def test_samples(shared_formats: Path, name: str, expected: tuple[int, ...]) -> None:
    assert tally(rows(shared_formats / name)) == expected


def test_answers_of_the_sample_are_refused(shared_formats: Path) -> None:
    with pytest.raises(SourceError, match="without verdicts"):
        rows(shared_formats / "bfcl" / "gpt-4o-2024-05-13_executable_simple_result.head20.json")


def test_attempts_of_the_sample_are_those_of_the_table(
    shared_formats: Path, shared_data: Path
) -> None:
    mine = rows(shared_formats / "reflexion" / "alfworld_env_results_trial_3.trimmed.json")
    table = pl.read_parquet(shared_data / "reflexion_attempts.parquet")
    part = table.filter(pl.col("attempt") <= 4, benchmark="alfworld", config="reflexion")
    theirs = part.select(case="case_id", attempt=pl.col("attempt").cast(pl.Int64), passed="passed")
    key = ["case", "attempt"]
    assert mine.select(*key, "passed").sort(key).equals(theirs.sort(key))


def test_questions_of_the_sample_are_those_of_the_table(
    shared_formats: Path, shared_data: Path
) -> None:
    name = "performances_generation_2025-04-22.trimmed.json"
    mine = rows(shared_formats / "livecodebench" / name)
    whole = pl.read_parquet(shared_data / "livecodebench_2025_04.parquet")
    rates = whole.group_by("config", case="case_id").agg(rate=pl.col("passed").mean())
    found = mine.group_by("config", "case").agg(pl.col("passed").mean())
    both = found.join(rates, on=["config", "case"])
    assert both.height == found.height
    assert (both["passed"] - both["rate"]).abs().max() < 1e-12


def test_a_metric_that_would_do_nothing_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "all.json", [aider_results(True)])
    with pytest.raises(ArgumentError, match="one verdict a trial"):
        rows(path, metric="speed")
