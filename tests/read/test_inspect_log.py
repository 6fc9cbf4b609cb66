"""Inspect AI: archives and documents of all versions, scores of every kind, runs that broke off."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import zipfile
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, SourceError, TrialframeError, TrialsError
from trialframe.read._archive import Archive
from trialframe.read._formats import LOGS
from trialframe.read._inspect_scores import value_to_float
from trialframe.read._known import recognised

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "fixtures" / "inspect"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
TOLD = EXPECTED["logs"]
PLAN = {(str(case), epoch): what for case, epoch, what in EXPECTED["plan"]}

UNSCORED = {"raise", "unscored"}
"""What was staged for a sample that ends without a verdict."""


def rows(path: Any, **options: Any) -> pl.DataFrame:
    return tr.read(path, **options).collect()


def verdicts(frame: pl.DataFrame) -> tuple[int, int, int]:
    passed = frame["passed"]
    return int(passed.sum() or 0), int((~passed).sum() or 0), passed.null_count()


def score(value: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, **more}


def sample(case: Any = "a", epoch: int = 1, value: Any = "C", **more: Any) -> dict[str, Any]:
    """A summary as versions of 2025 and later write it."""
    base = {"id": case, "epoch": epoch, "scores": {"match": score(value)}, "model_usage": {}}
    return base | more


def header(**more: Any) -> dict[str, Any]:
    spec = {"task": "toy", "model": "some/model", "created": "2026-01-01", "run_id": "r1"}
    spec |= more.pop("eval", {})
    results = {"scores": [{"name": "match", "scorer": "match", "metrics": {}}]}
    base = {"version": 2, "status": "success", "eval": spec, "plan": {}, "results": results}
    return base | more


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Write an archive: summaries, and whole samples or other members as asked for."""

    def written(
        samples: Any = (),
        head: dict[str, Any] | None = None,
        name: str = "log.eval",
        without: tuple[str, ...] = (),
        **members: Any,
    ) -> Path:
        path = tmp_path / name
        start = {key: (head or header()).get(key) for key in ("version", "eval", "plan")}
        every = {"_journal/start.json": start, "summaries.json": samples}
        every |= {"header.json": head or header()} | members
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, value in every.items():
                if member not in without:
                    text = value if isinstance(value, str) else json.dumps(value)
                    archive.writestr(member, text)
        return path

    return written


# What the tool itself wrote and reported


@pytest.mark.parametrize("name", sorted(TOLD))
def test_every_sample_of_the_tool_is_a_row(name: str) -> None:
    frame = rows(FIXTURES / name, metric="verdict")
    told = TOLD[name]
    assert frame.height == told["samples"]
    assert {tuple(row) for row in frame.select("case", "trial").rows()} == {
        (f"toy_sums/{case}", epoch) for case, epoch in told["ids"]
    }
    assert frame["config"].unique().to_list() == ["mockllm/toy"]
    assert frame["run_status"].unique().to_list() == [told["status"]]
    errors = frame.filter(pl.col("outcome").is_in(["error", "cancelled"])).height
    assert errors == told["sample_errors"]
    assert frame.filter(pl.col("outcome") == "limit").height == told["sample_limits"]
    assert frame["retries"].sum() == told["error_retries"]
    assert not frame["trial_made"].any()


@pytest.mark.parametrize("name", sorted(set(TOLD) - {"all_errors.eval"}))
def test_verdicts_are_those_that_were_staged(name: str) -> None:
    edits = {("carry", 3): "C", ("odd", 3): "I"} if name == "edited.eval" else {}
    frame = rows(FIXTURES / name, metric="verdict")
    for row in frame.iter_rows(named=True):
        what = (PLAN | edits)[row["case"].removeprefix("toy_sums/"), row["trial"]]
        stopped = row["outcome"] == "cancelled" or (what == "raise once" and row["retries"] == 0)
        if stopped or what in UNSCORED:
            assert (row["passed"], row["score"], row["grade"]) == (None, None, None)
        else:
            grade = what if what in {"I", "P", "N"} else "C"
            assert (row["passed"], row["grade"]) == (grade == "C", grade)
    assert frame["passed"].null_count() < frame.height


REDUCERS: dict[str | None, Callable[[list[float]], float | None]] = {
    None: mean,
    "mean": mean,
    "pass_at_2": lambda scores: None if len(scores) < 2 else pass_at_2(scores),
    "at_least_2": lambda scores: float(sum(score >= 1 for score in scores) >= 2),
}


def pass_at_2(scores: list[float]) -> float:
    wrong = sum(score < 1 for score in scores)
    return 1 - math.comb(wrong, 2) / math.comb(len(scores), 2)


@pytest.mark.parametrize("name", [name for name in sorted(TOLD) if TOLD[name]["scores"]])
def test_metrics_over_the_trials_are_those_of_the_tool(name: str) -> None:
    for told in TOLD[name]["scores"]:
        whole = told["scorer"] == told["name"]
        metric = told["name"] if whole else f"{told['scorer']}.{told['name']}"
        frame = rows(FIXTURES / name, metric=metric, threshold=1.0)
        groups: dict[str, list[float]] = defaultdict(list)
        for case, value in frame.drop_nulls("score").select("case", "score").rows():
            groups[case].append(value)
        reduced = [REDUCERS[told["reducer"]](values) for values in groups.values()]
        scored = [value for value in reduced if value is not None]
        value = told["metrics"].get("accuracy", told["metrics"].get("mean"))
        assert mean(scored) == pytest.approx(value, abs=1e-12)
        assert len(scored) == told["scored_samples"]


def test_pass_at_k_of_the_counts_is_that_of_the_tool() -> None:
    told = next(item for item in TOLD["epochs3.json"]["scores"] if item["reducer"] == "pass_at_2")
    counts = tr.counts(tr.read(FIXTURES / "epochs3.json", metric="verdict"))
    assert counts.frame.select(tr.pass_at_k(2).mean()).item() == told["metrics"]["accuracy"]


def test_both_forms_of_a_log_say_the_same() -> None:
    few = ["toy_sums/carry", "toy_sums/7", "toy_sums/odd", "toy_sums/boom"]
    kept = ["case", "trial", "passed", "score", "outcome", "error", "tokens_in", "metadata.topic"]
    archive = rows(FIXTURES / "epochs3.eval", metric="verdict").filter(pl.col("case").is_in(few))
    document = rows(FIXTURES / "epochs3.json", metric="verdict")
    both = [frame.select(kept).sort("case", "trial") for frame in (archive, document)]
    assert both[0].equals(both[1])


def test_an_edited_score_counts_as_it_is_now() -> None:
    before, after = (
        rows(FIXTURES / name, metric="verdict").sort("case", "trial")["passed"]
        for name in ("epochs3.json", "edited.eval")
    )
    assert (before != after).sum() == 1  # I became C
    assert after.null_count() == before.null_count() - 1  # not scored became I


def test_columns_hold_what_the_log_says() -> None:
    frame = rows(FIXTURES / "epochs3.eval", metric="verdict")
    row = frame.row(
        by_predicate=(pl.col("case") == "toy_sums/long") & (pl.col("trial") == 1), named=True
    )
    with Archive(FIXTURES / "epochs3.eval") as archive:
        run = archive.json("header.json")["eval"]
        summaries = archive.json("summaries.json")
    told = next(one for one in summaries if (one["id"], one["epoch"]) == ("long", 1))
    known = {
        "tokens_in": told["model_usage"]["mockllm/toy"]["input_tokens"],
        "tokens_out": told["model_usage"]["mockllm/toy"]["output_tokens"],
        "duration_ms": round(told["total_time"] * 1000),
        "working_ms": round(told["working_time"] * 1000),
        "started_at": datetime.fromisoformat(told["started_at"]),
        "seed": "11",
        "task": "toy_sums",
        "solver": "answer",
        "limit": "message",
        "outcome": "limit",
        "scorer": "verdict",
        "metadata.topic": "carrying",
        "metadata.digits": 2,
        "task_args.style": "plain",
        "run_id": run["run_id"],
    }
    assert {name: row[name] for name in known} == known
    errors = frame.filter(pl.col("error").is_not_null())
    assert errors["error"].str.starts_with("RuntimeError('calculator").all()
    assert frame["duration_ms"].dtype == frame["tokens_in"].dtype == pl.Int64


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.eval")), ids=lambda path: path.name)
def test_summaries_with_nan_are_read_as_those_without(path: Path, tmp_path: Path) -> None:
    noisy = tmp_path / path.name
    with Archive(path) as old, zipfile.ZipFile(noisy, "w") as new:
        for name in old.names:
            value = old.json(name)
            if "summaries" in name:
                value = [one | {"noise": math.nan} for one in value]
            new.writestr(name, json.dumps(value))
    want, got = (rows(one, metric="verdict").drop("log") for one in (path, noisy))
    assert_frame_equal(got, want)


SHARED = {  # rows, passes, fails, not scored, for the scorer named
    "2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval": (1, 1, 0, 0, None),
    "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": (10, 0, 0, 10, None),
    "2025-05-12T20-28-13-04-00_popularity.json": (3, 2, 1, 0, None),
    "generated_0.3.285_epochs2_errors_nan.json": (6, 3, 2, 1, "includes"),
    "generated_0.3.285_epochs3_zstd_errors_nan.eval": (15, 7, 7, 1, "includes"),
    "log_formats.eval": (1, 0, 1, 0, None),
    "log_formats.json": (1, 0, 1, 0, None),
    "log_read_sample.eval": (1, 1, 0, 0, None),
    "mmlu-no-summary-choices.eval": (1, 0, 1, 0, None),
    "mmlu-summary-choices.eval": (1, 0, 1, 0, None),
}


@pytest.mark.parametrize("name", sorted(SHARED))
def test_logs_of_all_versions(shared_formats: Path, name: str) -> None:
    height, *told, metric = SHARED[name]
    frame = rows(shared_formats / "inspect" / name, metric=metric)
    assert (frame.height, *verdicts(frame)) == (height, *told)


def test_a_log_whose_summaries_lack_usage_gives_it_from_the_samples(shared_formats: Path) -> None:
    old = "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"
    frame = rows(shared_formats / "inspect" / old)
    assert frame["tokens_in"].sum() > 0
    assert frame["metadata.label_confidence"].null_count() == 0


# Recognition


def test_logs_are_recognised_by_what_is_in_them() -> None:
    for name in TOLD:
        assert recognised(FIXTURES / name).name == "inspect"


def test_no_other_format_takes_a_log(log: Callable[..., Path]) -> None:
    from trialframe.read._outline import head_of

    for path in [*(FIXTURES / name for name in TOLD), log([sample()])]:
        head = head_of(path)
        assert [item.name for item in LOGS if item.recognise(head)] == ["inspect"]


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"eval": 1, "status": 2}', '{"status": "ok", "eval": {"task": 1}}']
)
def test_other_documents_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert recognised(path) is None


def test_an_archive_packed_again_is_still_recognised(tmp_path: Path) -> None:
    path = tmp_path / "packed.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("summaries.json", json.dumps([sample()]))
        archive.writestr("header.json", json.dumps(header()))
    assert rows(path)["passed"].to_list() == [True]


def test_any_other_archive_is_none(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no log")
    assert recognised(path) is None


# Scores


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        (True, 1.0),
        (False, 0.0),
        (0, 0.0),
        (3, 3.0),
        (0.25, 0.25),
        ("yes", 1.0),
        ("YES", 1.0),
        ("true", 1.0),
        ("no", 0.0),
        ("False", 0.0),
        ("0.5", 0.5),
        ("1e1", 10.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("c", 0.0),
        ("", 0.0),
        ("maybe", 0.0),
        (None, None),
        (10**400, None),
    ],
)
def test_values_become_numbers_as_in_inspect(value: Any, number: float | None) -> None:
    assert value_to_float(value) == number


def test_words_pass_at_one_and_partial_credit_does_not(log: Callable[..., Path]) -> None:
    grades = ["C", "P", "I", "N", True, False, None, "yes"]
    path = log([sample(f"c{n}", value=grade) for n, grade in enumerate(grades)])
    frame = rows(path)
    assert frame["passed"].to_list() == [True, False, False, False, True, False, None, True]
    assert frame["score"].to_list() == [1.0, 0.5, 0.0, 0.0, 1.0, 0.0, None, 1.0]
    assert rows(path, threshold=0.5)["passed"].to_list()[1] is True


def test_numbers_need_a_threshold_unless_they_are_zero_and_one(log: Callable[..., Path]) -> None:
    assert rows(log([sample("a", value=1), sample("b", value=0.0)]))["passed"].to_list() == [
        True,
        False,
    ]
    path = log([sample("a", value=0.4), sample("b", value=1), sample("c", value="0.7")])
    with pytest.raises(ArgumentError, match="threshold"):
        rows(path)
    assert rows(path, threshold=0.5)["passed"].to_list() == [False, True, True]


def test_nan_null_and_absent_scores_are_unscored(log: Callable[..., Path]) -> None:
    text = json.dumps([sample("a"), sample("b", value=math.nan), sample("c", value=None)])
    bare = [sample("d", scores={}), sample("e", scores=None), sample("f", scores={"match": None})]
    path = log(text[:-1] + "," + json.dumps(bare)[1:])
    assert "NaN" in text
    assert rows(path)["passed"].to_list() == [True, None, None, None, None, None]


def test_words_that_mean_nothing_to_inspect_count_zero_and_are_named(
    log: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trialframe"):
        frame = rows(log([sample("a", value="GOOD"), sample("b", value="C")]))
    assert frame["passed"].to_list() == [False, True]
    assert frame["grade"].to_list() == ["GOOD", "C"]
    assert "'GOOD'" in caplog.text


def test_a_part_of_a_score_is_named_with_its_scorer(log: Callable[..., Path]) -> None:
    values = [{"a.b": 1, "safe": True}, {"a.b": 0, "safe": None}, math.nan, {"safe": False}]
    samples = [
        sample(f"c{n}", scores={"rubric": score(value), "lists": score([n % 2, 1])})
        for n, value in enumerate(values)
    ]
    path = log(samples)
    with pytest.raises(
        ArgumentError, match=r"'rubric\.a\.b', 'rubric\.safe', 'lists\.0', 'lists\.1'"
    ):
        rows(path)
    with pytest.raises(ArgumentError, match=r"has the parts 'rubric\.a\.b', 'rubric\.safe'"):
        rows(path, metric="rubric")
    assert rows(path, metric="rubric.safe")["passed"].to_list() == [True, None, None, False]
    assert rows(path, metric="rubric.a.b")["passed"].to_list() == [True, False, None, None]
    assert rows(path, metric="lists.0")["passed"].to_list() == [False, True, False, True]


def test_several_scorers_need_a_choice_unless_the_task_declares_one(
    log: Callable[..., Path],
) -> None:
    both = sample("a", scores={"first": score("C"), "second": score("I")})
    with pytest.raises(ArgumentError, match="'first', 'second'"):
        rows(log([both]))
    head = header(eval={"headline_metric": {"scorer": "second", "metric": "accuracy"}})
    assert rows(log([both], head))["passed"].to_list() == [False]
    assert rows(log([both], head), metric="first")["passed"].to_list() == [True]
    with pytest.raises(ArgumentError, match="no such scorer"):
        rows(log([both]), metric="third")


def test_a_scorer_that_scored_nothing_can_still_be_asked_for(log: Callable[..., Path]) -> None:
    scorers = [
        {"name": "pkg/exact", "metrics": [{"name": "accuracy"}]},
        {"name": "parts", "metrics": {"depth": [], "width": []}},
    ]
    path = log([sample("a", scores={}, error="boom")], header(eval={"scorers": scorers}))
    for metric in ("exact", "parts.depth", "parts.other"):
        frame = rows(path, metric=metric)
        assert frame["passed"].to_list() == [None]
        assert frame["outcome"].to_list() == ["error"]
    with pytest.raises(ArgumentError, match=r"'exact', 'parts\.depth', 'parts\.width'"):
        rows(path)


def test_an_error_keeps_a_verdict_that_the_tool_counts(log: Callable[..., Path]) -> None:
    frame = rows(
        log([sample("a", value="I", error="boom"), sample("b", scores={}, error="x" * 9999)])
    )
    assert frame["passed"].to_list() == [False, None]
    assert frame["outcome"].to_list() == ["error", "error"]
    assert frame["error"].str.len_chars().to_list() == [4, 2000]


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({}, "completed"),
        ({"limit": "time"}, "timeout"),
        ({"limit": "working"}, "timeout"),
        ({"limit": "token"}, "limit"),
        ({"limit": "context"}, "limit"),
        ({"limit": "operator"}, "cancelled"),
        ({"error": "CancelledError()", "limit": "time"}, "cancelled"),
        ({"error": "boom", "limit": "time"}, "error"),
        ({"scores": {"match": score(None, reason="grader_failed")}}, "scorer_error"),
        ({"scores": {"match": score("I", reason="refusal")}}, "refused"),
        ({"scores": {"match": score("I", reason="no_response")}}, "agent_error"),
        ({"scores": {"match": score("I", reason="own word")}}, "completed"),
        (
            {"scores": {"match": score(None, metadata={"unscored_reason": "scoring_failed"})}},
            "scorer_error",
        ),
    ],
)
def test_outcomes(log: Callable[..., Path], more: dict[str, Any], outcome: str) -> None:
    assert rows(log([sample(**more)]))["outcome"].to_list() == [outcome]


# Ids, epochs, usage


def test_a_number_and_the_text_of_it_are_two_cases(log: Callable[..., Path]) -> None:
    frame = rows(log([sample(7), sample("7"), sample("8"), sample(7, epoch=2)]))
    assert frame["case"].to_list() == ["toy/7", 'toy/"7"', "toy/8", "toy/7"]


def test_a_sample_that_ran_again_counts_once(log: Callable[..., Path]) -> None:
    frame = rows(log([sample("a", value="I"), sample("b"), sample("a", value="C")]))
    assert frame.select("case", "passed").rows() == [("toy/a", True), ("toy/b", True)]


def test_two_runs_of_one_model_are_told_apart(log: Callable[..., Path], tmp_path: Path) -> None:
    log([sample()], name="one.eval")
    log([sample(value="I")], header(eval={"run_id": "r2"}), name="two.eval")
    with pytest.raises(TrialsError, match="'run_id'"):
        rows(tmp_path)
    assert rows(tmp_path, config=["config", "run_id"]).height == 2
    assert rows(tmp_path, keep="last")["passed"].to_list() == [False]
    assert rows(tmp_path, keep="all")["trial"].to_list() == [0, 1]


def usage(fresh: int, out: int, total: int, **more: Any) -> dict[str, Any]:
    return {"input_tokens": fresh, "output_tokens": out, "total_tokens": total, **more}


@pytest.mark.parametrize(
    ("models", "roles", "told"),
    [
        ({}, {}, (None, None, None)),
        ({"m": usage(0, 0, 0)}, {}, (0, 0, None)),
        ({"m": usage(100, 10, 110, input_tokens_cache_read=60)}, {}, (100, 10, None)),  # old
        (
            {"m": usage(40, 10, 120, input_tokens_cache_read=60, input_tokens_cache_write=10)},
            {},
            (110, 10, None),
        ),
        ({"m": usage(5, 1, 6), "n": usage(7, 2, 9)}, {}, (12, 3, None)),
        ({"m": usage(5, 1, 6), "g": usage(7, 2, 9)}, {"grader": usage(7, 2, 9)}, (5, 1, None)),
        ({"m": usage(5, 1, 6, total_cost=0.0025)}, {}, (5, 1, 2500)),
        ({"m": usage(5, 1, 6, total_cost=0.0025), "n": usage(1, 1, 2)}, {}, (6, 2, None)),
    ],
)
def test_usage_is_of_all_models_but_the_grader(
    log: Callable[..., Path], models: Any, roles: Any, told: tuple[Any, ...]
) -> None:
    frame = rows(log([sample(model_usage=models, role_usage=roles)]))
    names = ("tokens_in", "tokens_out", "cost_uusd")
    assert tuple(frame[n][0] if n in frame.columns else None for n in names) == told


def test_metadata_are_labels_of_the_sample(log: Callable[..., Path]) -> None:
    samples = [
        sample(
            f"c{n}",
            metadata={
                "repo": "a/b",
                "size": n,
                "text": "word " * 200,
                "nested": {"a": 1},
                "huge": [1, 0.5, 10**320][n],
                "long": "Key removed from summary (> 1k)",
                "score": 3,
            },
        )
        for n in range(3)
    ]
    frame = rows(log(samples))
    names = [name for name in frame.columns if name.startswith("metadata.")]
    assert names == ["metadata.repo", "metadata.size", "metadata.huge", "metadata.score"]
    assert frame["metadata.huge"].dtype == pl.String
    counts = tr.counts(frame, cluster="metadata.repo")
    assert counts.frame["cluster"].unique().to_list() == ["a/b"]


def test_settings_of_the_run_are_columns(log: Callable[..., Path]) -> None:
    spec = {
        "task_args": {"level": 3, "names": ["a"], "big": 2**70, "none": None},
        "model_generate_config": {"temperature": 0.5, "seed": 7, "max_connections": 9},
        "model_roles": {"grader": {"model": "other"}},
        "dataset": {"name": "sums"},
    }
    plan = {"steps": [{"solver": "think"}, {"solver": "say"}], "config": {"top_p": 0.9, "seed": 1}}
    row = rows(log([sample()], header(eval=spec, plan=plan))).row(0, named=True)
    assert (row["seed"], row["solver"], row["dataset"]) == ("7", "think > say", "sums")
    assert (row["generate.temperature"], row["generate.top_p"]) == (0.5, 0.9)
    assert (row["task_args.level"], row["task_args.big"]) == (3, str(2**70))
    assert json.loads(row["model_roles"]) == {"grader": {"model": "other"}}
    assert not {"task_args.names", "task_args.none", "generate.seed"} & row.keys()


# Runs that broke off, old versions, damage


def test_samples_serve_where_summaries_lack(log: Callable[..., Path]) -> None:
    whole = {
        "samples/a_epoch_1.json": sample("a", error={"message": "boom"}, limit={"type": "time"}),
        "samples/b/c_epoch_1.json": sample("b/c", error_retries=[{"message": "once"}]),
    }
    thin = [{"id": "a", "epoch": 1, "scores": {}}, {"id": "b/c", "epoch": 1, "scores": {}}]
    for summaries, without in ((thin, ()), ([], ("summaries.json",)), ([sample("b/c")], ())):
        frame = rows(log(summaries, without=without, **whole)).sort("case")
        assert frame["case"].to_list() == ["toy/a", "toy/b/c"]
        assert frame["passed"].to_list() == [True, True]
        assert frame["outcome"].to_list() == ["error", "completed"]
        assert frame["error"][0] == "boom"


def test_a_killed_run_gives_what_its_journal_holds(
    log: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    journal = {f"_journal/summaries/{n}.json": [sample(f"c{n}")] for n in (1, 2, 10)}
    journal["_journal/summaries/11.json"] = [sample("c1", value="I")]
    without = ("summaries.json", "header.json")
    frame = rows(log(without=without, **journal, **{"samples/d_epoch_1.json": sample("d")}))
    assert frame["case"].to_list() == ["toy/c1", "toy/c2", "toy/c10", "toy/d"]
    assert frame["passed"].to_list() == [False, True, True, True]
    assert frame["run_status"].unique().to_list() == ["started"]
    assert "1 samples ran again or are there twice" in caplog.text


def test_an_invalidated_sample_is_not_scored(log: Callable[..., Path]) -> None:
    taken_out = {"author": "ann", "reason": "leaked"}
    whole = {
        "samples/a_epoch_1.json": sample("a", invalidation=taken_out),
        "samples/b_epoch_1.json": sample("b", invalidation=None),
    }
    frame = rows(log([sample("a"), sample("b")], header(invalidated=True), **whole))
    assert frame["passed"].to_list() == [None, True]
    assert frame["error"].to_list() == ["invalidated by ann: leaked", None]


def test_version_one_had_one_score(tmp_path: Path) -> None:
    old = {
        "version": 1,
        "status": "success",
        "eval": {"task": "toy", "created": "2024-05-01", "model": "m"},
        "results": {"scorer": {"name": "match"}, "metrics": {}},
        "samples": [{"id": 1, "epoch": 1, "score": {"value": "C"}}],
    }
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    frame = rows(path, metric="match")
    assert frame.select("case", "passed", "scorer").rows() == [("toy/1", True, "match")]


def test_a_run_without_samples_is_no_error(
    log: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log([], header(status="error"), name="empty.eval")
    log([sample()], name="full.eval")
    with caplog.at_level(logging.WARNING, "trialframe"):
        frame = rows(tmp_path)
    assert frame["passed"].to_list() == [True]
    assert "empty.eval' holds no samples" in caplog.text


def test_one_bad_sample_costs_no_other(log: Callable[..., Path]) -> None:
    bad: list[Any] = [
        sample("b", epoch="first"),
        sample("c", scores={"match": {"value": {"x": 1}}}),
        sample("d", scores=["match"]),
        sample("e", model_usage=[1]),
        sample("f", total_time="long"),
        {"epoch": 1},
        "sample",
    ]
    for one in bad:
        path = log([sample("a"), one])
        with pytest.raises(TrialframeError):
            rows(path)
    path = log([sample("a"), *(item for item in bad if item != bad[1])])
    frame, unread = tr.read(path, errors="collect")
    assert frame.collect()["case"].to_list() == ["toy/a"]
    assert unread.height == len(bad) - 1


def test_damage_is_named(log: Callable[..., Path], tmp_path: Path) -> None:
    whole = log([sample()]).read_bytes()
    for size in (0, 3, 40, len(whole) // 2, len(whole) - 5):
        path = tmp_path / "cut.eval"
        path.write_bytes(whole[:size])
        with pytest.raises(TrialframeError):
            rows(path)
    with pytest.raises(SourceError, match=r"header\.json is \[\]"):
        rows(log([sample()], **{"header.json": []}))
    with pytest.raises(SourceError, match="eval is 3"):
        rows(log([sample()], **{"header.json": {"eval": 3, "status": "success"}}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def mutated(draw: st.DrawFn, value: Any) -> Any:
    """The value with one place somewhere in it dropped or replaced."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 5)) == 0:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: mutated(draw, value[key])}
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(draw, value[place]), *value[place + 1 :]]
    return draw(JSON)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_no_other_error_comes_out(tmp_path: Path, data: st.DataObject) -> None:
    document = json.loads((FIXTURES / "epochs3.json").read_text("utf-8"))
    document["samples"] = document["samples"][:3]
    text = json.dumps(mutated(data.draw, document))
    cut = data.draw(st.sampled_from([None, None, len(text) // 3]))
    path = tmp_path / "mutated.json"
    path.write_text(text[:cut], encoding="utf-8")
    for collect in ("raise", "collect"):
        with contextlib.suppress(TrialframeError):
            tr.read(path, format="inspect", metric="verdict", errors=collect)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_no_other_error_comes_out_of_bytes(tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray((FIXTURES / "killed.eval").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "flipped.eval"
    path.write_bytes(bytes(whole))
    for collect in ("raise", "collect"):
        with contextlib.suppress(TrialframeError):
            tr.read(path, format="inspect", metric="verdict", errors=collect)


def test_true_is_no_number_whatever_the_order(log: Callable[..., Path]) -> None:
    for values in ([True, 1, "P"], [1, True, "P"]):
        path = log([sample(f"c{n}", value=value) for n, value in enumerate(values)])
        with pytest.raises(ArgumentError, match="threshold"):
            rows(path)


def test_words_are_counted_in_one_pass(
    log: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = log([sample(f"c{n}", value=f"word {n // 2}") for n in range(20_000)])
    assert rows(path)["passed"].sum() == 0
    assert "20000 scores are words that Inspect counts as 0: 'word 0', 'word 1'" in caplog.text


def test_metadata_that_tell_nothing_take_no_room(log: Callable[..., Path]) -> None:
    metadata = {f"list {n}": [n] for n in range(300)} | {f"number {n}": n for n in range(50)}
    found = rows(log([sample(metadata=metadata)])).columns
    assert [name for name in found if name.startswith("metadata.")] == [
        f"metadata.number {n}" for n in range(50)
    ]


def test_a_sample_with_an_odd_limit_is_left_out_alone(log: Callable[..., Path]) -> None:
    path = log([sample("a"), sample("b", limit=["x"]), sample("c")])
    lazy, unread = tr.read(path, errors="collect")
    assert lazy.collect()["case"].to_list() == ["toy/a", "toy/c"]
    assert unread["place"].to_list() == ["summaries.json[1]"]


def test_a_grader_that_used_nothing_takes_nothing_away(log: Callable[..., Path]) -> None:
    used = {"m": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "total_cost": 0.5}}
    frame = rows(log([sample(model_usage=used, role_usage={"grader": {}})]))
    assert frame.select("tokens_in", "tokens_out", "cost_uusd").row(0) == (3, 2, 500_000)


def test_a_run_that_did_not_end_is_told(
    log: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"dataset": {"sample_ids": ["a", "b", "c"]}, "config": {"epochs": 2}}
    rows(log([sample()], header(status="cancelled", eval=spec)))
    assert "log.eval' holds 1 of 6 samples, its status is 'cancelled'" in caplog.text
    caplog.clear()
    rows(log([sample()]))
    assert "status" not in caplog.text


def test_a_threshold_fits_a_run_without_any_score(log: Callable[..., Path]) -> None:
    path = log([sample(scores={}, error="boom")])
    assert rows(path, threshold=0.5)["passed"].to_list() == [None]
    assert rows(path, metric="match")["outcome"].to_list() == ["error"]


def test_a_run_of_no_model_is_called_by_its_file(log: Callable[..., Path]) -> None:
    path = log([sample()], header(eval={"model": None}), name="some run.eval")
    assert rows(path)["config"].to_list() == ["some run.eval"]
    assert tr.counts(tr.read(path)).configs == ["some run.eval"]


def test_whole_samples_are_kept_brief(log: Callable[..., Path]) -> None:
    long = {"kept": "x", "prose": "y" * 10**6, "list": ["z"] * 10}
    found = rows(
        log((), **{"samples/a_epoch_1.json": sample(metadata=long)}, without=("summaries.json",))
    )
    assert [name for name in found.columns if name.startswith("metadata.")] == ["metadata.kept"]
