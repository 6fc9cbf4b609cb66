"""promptfoo: both wrappings, older versions, errors, repeats, retries, named scores."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, SourceError, TrialframeError
from trialframe.read._formats import LOGS
from trialframe.read._outline import head_of

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "fixtures" / "promptfoo"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["files"]
OUTPUTS = sorted(EXPECTED)


def rows(path: Any, **options: Any) -> pl.DataFrame:
    return tr.read(path, **options).collect()


def item(**more: Any) -> dict[str, Any]:
    row = {
        "cost": 0.001,
        "gradingResult": {"pass": True, "score": 1, "componentResults": []},
        "latencyMs": 12,
        "namedScores": {},
        "prompt": {"raw": "Say hi", "label": "Say {{w}}"},
        "promptId": "abcdef012345",
        "promptIdx": 0,
        "provider": {"id": "openai:m", "label": "m"},
        "response": {"output": "hi", "cached": False},
        "score": 1,
        "success": True,
        "failureReason": 0,
        "testCase": {"vars": {"w": "hi"}, "assert": [{"type": "contains", "value": "hi"}]},
        "testIdx": 0,
        "tokenUsage": {"prompt": 3, "completion": 2, "total": 5},
        "vars": {"w": "hi"},
    }
    return row | more


FAILED = {"success": False, "score": 0, "failureReason": 1, "error": "Expected output to ..."}
ERROR = {
    "success": False,
    "score": 0,
    "failureReason": 2,
    "error": "API error: 529",
    "gradingResult": None,
    "cost": 0,
    "tokenUsage": {"prompt": 0, "completion": 0, "total": 0},
    "response": {"error": "API error: 529"},
}


def summary(*results: Any, version: int = 3) -> dict[str, Any]:
    prompts = [{"raw": "Say {{w}}", "label": "Say {{w}}", "provider": "m"}]
    extra = {"prompts": prompts} if version > 2 else {"table": {"head": {}, "body": []}}
    base = {"version": version, "timestamp": "2026-01-01T00:00:00Z"}
    return base | extra | {"results": list(results), "stats": {}}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(document: Any, name: str = "out.json") -> Path:
        path = tmp_path / name
        lines = document if isinstance(document, str) else json.dumps(document)
        path.write_text(lines, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("name", OUTPUTS)
def test_counts_are_those_of_the_tool(name: str) -> None:
    frame, told = rows(FIXTURES / name), EXPECTED[name]
    passed = frame["passed"]
    assert frame.height == told["rows"]
    assert (passed.sum(), (~passed).sum(), passed.null_count()) == tuple(
        told["stats"][key] for key in ("successes", "failures", "errors")
    )
    assert frame["cached"].sum() == told["cached_rows"]
    assert frame["config"].n_unique() == 4
    assert frame["case"].n_unique() == 3


@pytest.mark.parametrize("name", OUTPUTS)
def test_scores_and_costs_add_up_to_those_of_the_tool(name: str) -> None:
    frame, prompts = rows(FIXTURES / name), EXPECTED[name]["prompts"]
    assert frame["score"].sum() == pytest.approx(sum(p["score"] for p in prompts))
    assert frame["cost_uusd"].sum() == pytest.approx(1e6 * sum(p["cost"] for p in prompts), abs=9)
    # the tool weights the other one by assertions
    told = sum(p["namedScores"]["brief"] for p in prompts)
    assert frame["score.brief"].sum() == pytest.approx(told)


def test_repeats_are_trials_of_a_case() -> None:
    frame = rows(FIXTURES / "repeat3.json")
    sizes = frame.group_by("config", "case").agg(pl.len(), pl.col("trial").sort())
    assert sizes["len"].unique().to_list() == [3]
    assert sizes["trial"].list.unique().to_list() == [[0, 1, 2]] * 12
    assert frame["trial_made"].all()
    told = EXPECTED["repeat3.json"]["prompts"]
    counts = tr.counts(frame).frame.group_by("config").agg(pl.col("n", "c", "unscored").sum())
    assert sorted(counts.select("c", "unscored").rows()) == sorted(
        (p["pass"], p["error"]) for p in told
    )


def test_json_lines_are_the_same_rows() -> None:
    left, right = rows(FIXTURES / "once.json"), rows(FIXTURES / "once.jsonl")
    keep = [name for name in right.columns if name != "log"]
    assert left.select(keep).equals(right.select(keep))


def test_one_eval_in_two_forms_counts_once(tmp_path: Path) -> None:
    for name in ("once.json", "once.jsonl"):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    assert rows(tmp_path).height == 12


def test_a_retry_adds_trials_and_no_configs() -> None:
    once, retried = rows(FIXTURES / "once.json"), rows(FIXTURES / "retried.json")
    assert set(retried["config"]) == set(once["config"])
    assert not retried["passed"].null_count()


def test_both_wrappings_and_versions(write: Callable[..., Path]) -> None:
    results = [item(), item(**FAILED), item(**ERROR)]
    old = copy.deepcopy(results)
    for row in old:
        for key in ("failureReason", "testCase", "testIdx", "promptIdx", "tokenUsage"):
            del row[key]
    shapes = {
        "cli3": {"evalId": "eval-1", "results": summary(*results), "config": {}},
        "node3": summary(*results),
        "cli2": {"results": summary(*old, version=2), "config": {}},
        "node2": summary(*old, version=2),
        "node1": summary(*old, version=1),
    }
    for name, document in shapes.items():
        path = write(document, f"{name}.json")
        assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["promptfoo"], name
        frame = rows(path)
        assert frame["passed"].to_list() == [True, False, None], name
        assert frame["case"].unique().to_list() == ["w=hi"], name
        assert frame["config"].unique().to_list() == ["[m] Say {{w}}"], name


@pytest.mark.parametrize(
    ("more", "passed", "outcome"),
    [
        ({}, True, "completed"),
        (FAILED, False, "completed"),
        (ERROR, None, "error"),
        (ERROR | {"error": "Evaluation timed out after 10ms"}, None, "timeout"),
        ({"response": {"isRefusal": True}}, True, "refused"),
        (FAILED | {"failureReason": None, "gradingResult": None}, None, "error"),
        (FAILED | {"failureReason": None}, False, "completed"),
    ],
)
def test_verdicts(
    write: Callable[..., Path], more: dict[str, Any], *, passed: bool | None, outcome: str
) -> None:
    row = rows(write(summary(item(**more)))).row(0, named=True)
    assert (row["passed"], row["outcome"]) == (passed, outcome)
    if passed is None:
        assert row.get("cost_uusd") is None or more.get("cost") != 0
        assert row.get("score") is None


def part(*, passed: bool, broken: bool = False, metric: str | None = None) -> dict[str, Any]:
    found = {"pass": passed, "score": float(passed), "assertion": {"type": "x", "metric": metric}}
    return found | ({"metadata": {"graderError": True}} if broken else {})


@pytest.mark.parametrize(
    ("parts", "test_case", "passed"),
    [
        ([part(passed=True), part(passed=False, broken=True)], {}, None),
        ([part(passed=False), part(passed=False, broken=True)], {}, False),
        ([part(passed=False), part(passed=False, broken=True)], {"threshold": 0.4}, None),
        ([{"componentResults": [part(passed=False, broken=True)]}], {}, None),
    ],
)
def test_a_grader_that_broke_says_nothing(
    write: Callable[..., Path], parts: Any, test_case: Any, *, passed: bool | None
) -> None:
    grading = {"pass": False, "score": 0, "componentResults": parts}
    test = {"vars": {"w": "hi"}} | test_case
    frame = rows(write(summary(item(**FAILED | {"gradingResult": grading, "testCase": test}))))
    assert frame["passed"].to_list() == [passed]
    assert frame["outcome"].to_list() == ["scorer_error" if passed is None else "completed"]


def test_metric_takes_the_assertions_of_that_name(write: Callable[..., Path]) -> None:
    def graded(*parts: Any, score: float) -> dict[str, Any]:
        grading = {"pass": False, "score": 0, "componentResults": list(parts)}
        return item(**FAILED | {"gradingResult": grading, "namedScores": {"f": score, "g": 0.25}})

    good = graded(part(passed=True, metric="f"), part(passed=False, metric="g"), score=0.9)
    bad = graded(part(passed=True, metric="f"), part(passed=False, metric="f"), score=0.5)
    path = write(summary(good, bad, item(**ERROR)))
    frame = rows(path, metric="f")
    assert frame.select("passed", "score").rows() == [(True, 0.9), (False, 0.5), (None, None)]
    assert rows(path)["passed"].to_list() == [False, False, None]
    with pytest.raises(ArgumentError, match="'f', 'g'"):
        rows(path, metric="h")


def test_a_named_score_without_assertions_needs_a_threshold(write: Callable[..., Path]) -> None:
    path = write(summary(item(namedScores={"f": 0.5}), item(namedScores={"f": 0.2})))
    with pytest.raises(ArgumentError, match="threshold"):
        rows(path, metric="f")
    assert rows(path, metric="f", threshold=0.3)["passed"].to_list() == [True, False]


def test_cases_keep_their_ids_from_file_to_file(write: Callable[..., Path]) -> None:
    def case_of(**test: Any) -> str:
        return str(rows(write(summary(item(testCase=test))))["case"][0])

    assert case_of(description="greet", vars={"w": "hi"}) == "greet (w=hi)"
    assert case_of(description="greet") == "greet (w=hi)"  # those of the row
    assert case_of(vars={"a": 1, "b": {"c": [1]}}) == 'a=1, b={"c": [1]}'
    assert case_of(vars={"w": "hi", "_conversation": [], "sessionId": "x"}) == "w=hi"
    long = [case_of(vars={"text": "x" * 500 + end}) for end in ("a", "b", "a")]
    assert long[0] != long[1]
    assert long[0] == long[2]
    assert len(long[0]) <= 120


def test_tests_that_differ_in_assertions_alone_are_two_cases(write: Callable[..., Path]) -> None:
    tests = [{"vars": {"w": "hi"}, "assert": [{"type": "contains", "value": v}]} for v in "ab"]
    frame = rows(write(summary(*(item(testCase=test) for test in [*tests, tests[0]]))))
    assert frame["case"].n_unique() == 2
    assert frame["trial"].to_list() == [0, 0, 1]


def test_providers_of_one_name_stay_apart(write: Callable[..., Path]) -> None:
    results = [item(), item(promptIdx=1)]
    frame = rows(write(summary(*results)))
    assert frame["config"].to_list() == ["[m] Say {{w}} #0", "[m] Say {{w}} #1"]
    twice = {"providers": [{"id": "openai:m", "label": "m"}, {"id": "openai:m", "label": "m"}]}
    wrapped = {"results": summary(*results), "config": twice}
    assert rows(write(wrapped))["config"].n_unique() == 2
    once = {"results": summary(*results), "config": {"providers": ["m"]}}
    assert rows(write(once))["config"].n_unique() == 1


def test_an_error_that_was_retried_is_left_out(
    write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trialframe"):
        frame = rows(write(summary(item(**ERROR), item(), item(**ERROR, testIdx=1))))
    assert frame["passed"].to_list() == [True, None]
    assert "1 errors were retried" in caplog.text


def test_answers_of_the_cache_are_told(
    write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trialframe"):
        frame = rows(write(summary(item(response={"cached": True}), item(testIdx=1))))
    assert frame["cached"].to_list() == [True, False]
    assert "1 of 2 answers come from promptfoo's cache" in caplog.text


def test_fewer_rows_than_the_file_counts_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    document = json.loads((FIXTURES / "once.json").read_text("utf-8"))
    document["results"]["results"].pop()
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with caplog.at_level(logging.WARNING, "trialframe"):
        assert rows(path).height == 11
    assert "its own stats count 12 results, and it holds 11 of them" in caplog.text
    caplog.clear()
    rows(FIXTURES / "once.json")
    assert "stats" not in caplog.text


def test_measures_and_extras(write: Callable[..., Path]) -> None:
    test = {"vars": {"w": "hi"}, "metadata": {"repo": "r", "deep": {}, "_x": 1}}
    row = rows(write(summary(item(testCase=test)))).row(0, named=True)
    assert (row["tokens_in"], row["tokens_out"], row["cost_uusd"], row["duration_ms"]) == (
        3,
        2,
        1000,
        12,
    )
    assert (row["metadata.repo"], row["vars.w"]) == ("r", "hi")
    assert {name for name in row if name.startswith("metadata")} == {"metadata.repo"}


@pytest.mark.parametrize(
    "bad", [7, item(success="yes"), item(failureReason=9), item(latencyMs="x"), {}]
)
def test_one_row_that_cannot_be_read(write: Callable[..., Path], bad: Any) -> None:
    path = write(summary(item(), bad))
    with pytest.raises(SourceError, match=r"results\[1\]"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect().height == 1
    assert unread["place"].to_list() == ["results[1]"]


def test_a_document_without_results(write: Callable[..., Path]) -> None:
    with pytest.raises(SourceError, match="promptfoo eval -o"):
        rows(write({"version": 3}), format="promptfoo")
    with pytest.raises(SourceError, match="list is needed"):
        rows(write({"version": 3, "results": {"version": 3, "results": 7}}))


@pytest.mark.parametrize("name", OUTPUTS)
def test_fixtures_are_recognised_as_nothing_else(name: str) -> None:
    found = [item.name for item in LOGS if item.recognise(head_of(FIXTURES / name))]
    assert found == ["promptfoo"]


def test_sample(shared_formats: Path) -> None:
    path = shared_formats / "promptfoo" / "generated_0.123.1_node_evaluate_repeat3_errors.json"
    frame = rows(path)
    passed = frame["passed"]
    assert (passed.sum(), (~passed).sum(), passed.null_count()) == (11, 11, 2)
    assert frame.group_by("config", "case").len()["len"].unique().to_list() == [3]
    assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["promptfoo"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["id", "label", "vars", "metadata", "componentResults", "pass"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(sorted(item())), VALUES), max_size=4), st.booleans())
def test_mutations_raise_our_errors_only(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, Any]],
    drop: bool,  # noqa: FBT001
) -> None:
    row = item()
    for key, value in changes:
        row[key] = value
        if drop:
            row.pop(key)
    path = tmp_path_factory.getbasetemp() / "promptfoo.json"
    path.write_text(json.dumps(summary(item(), row)), encoding="utf-8")
    with contextlib.suppress(TrialframeError):
        rows(path)
    with contextlib.suppress(ArgumentError):
        tr.read(path, errors="collect")[0].collect()
