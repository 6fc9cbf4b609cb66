"""DeepEval: both file shapes, several metrics, judges that broke, repeats by name."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, SourceError, TrialframeError
from trialframe.read._formats import LOGS
from trialframe.read._outline import head_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

FIXTURES = Path(__file__).parent / "fixtures" / "deepeval"
RUN = FIXTURES / "test_run_20260105_090000.json"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


def rows(path: Any, **options: Any) -> pl.DataFrame:
    return tr.read(path, **options).collect()


def metric(name: str, *, success: Any = True, score: Any = 1.0, **more: Any) -> dict[str, Any]:
    return {"name": name, "threshold": 0.5, "success": success, "score": score} | more


def broken(name: str) -> dict[str, Any]:
    return {"name": name, "threshold": 0.5, "success": False, "error": "RuntimeError: judge"}


def case(name: str, *metrics: Any, **more: Any) -> dict[str, Any]:
    base = {"name": name, "input": "2+2", "actualOutput": "4", "success": True}
    return base | {"metricsData": list(metrics), "runDuration": 0.5} | more


def run(*cases: Any, **more: Any) -> dict[str, Any]:
    base = {"testCases": list(cases), "conversationalTestCases": [], "metricsScores": []}
    return base | {"testPassed": 0, "testFailed": 0, "runDuration": 0.5} | more


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(document: Any, name: str = "test_run.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return written


def test_counts_are_those_of_the_tool() -> None:
    frame = rows(RUN)
    passed = frame["passed"]
    assert frame.height == EXPECTED["rows"]
    assert passed.sum() == EXPECTED["testPassed"]
    assert (~passed).sum() + passed.null_count() == EXPECTED["testFailed"]
    found: dict[str, Counter[str]] = {}
    for name, verdict, outcome in frame.select("case", "passed", "outcome").rows():
        word = "error" if outcome == "scorer_error" else "pass" if verdict else "fail"
        found.setdefault(name, Counter())[word] += 1
    assert found == EXPECTED["by_name"]


@pytest.mark.parametrize("told", EXPECTED["metricsScores"], ids=lambda told: told["metric"])
def test_each_metric_has_the_verdicts_of_the_tool(told: dict[str, Any]) -> None:
    frame = rows(RUN, metric=told["metric"])
    passed = frame["passed"]
    assert (passed.sum(), (~passed).sum()) == (told["passes"], told["fails"])
    assert passed.null_count() == told["errors"]
    assert frame["score"].drop_nulls().sort().to_list() == sorted(told["scores"])


@pytest.mark.parametrize(
    ("metrics", "passed", "outcome"),
    [
        ([metric("a"), metric("b")], True, "completed"),
        ([metric("a"), metric("b", success=False, score=0.2)], False, "completed"),
        ([metric("a"), broken("b")], None, "scorer_error"),
        ([metric("a", success=False), broken("b")], False, "scorer_error"),
        ([metric("a"), metric("b", success=False, flaky=True)], True, "completed"),
        ([metric("a"), broken("b") | {"flaky": True}], True, "completed"),
        ([metric("a"), metric("b", success=None)], True, "completed"),
        ([metric("a", success=False, flaky=True)], None, "completed"),
        ([], True, "completed"),
    ],
)
def test_verdicts(
    write: Callable[..., Path], metrics: Any, *, passed: bool | None, outcome: str
) -> None:
    frame = rows(write(run(case("t", *metrics))))
    assert frame.select("passed", "outcome").rows() == [(passed, outcome)]


def test_score_is_that_of_the_only_metric_or_of_the_one_asked_for(
    write: Callable[..., Path],
) -> None:
    two = write(run(case("t", metric("a", score=0.7), metric("b", score=0.1, success=False))))
    assert "score" not in rows(two).columns
    assert rows(two)["score.b"].to_list() == [0.1]
    assert rows(two, metric="a").select("passed", "score").rows() == [(True, 0.7)]
    assert rows(two, metric="a", threshold=0.8)["passed"].to_list() == [False]
    with pytest.raises(ArgumentError, match="'a', 'b'"):
        rows(two, metric="c")
    assert rows(write(run(case("t", metric("a", score=0.7)))))["score"].to_list() == [0.7]


@pytest.mark.parametrize("names", [("正确", "长度"), ("[]", "!")])
def test_metrics_of_any_name(write: Callable[..., Path], names: tuple[str, str]) -> None:
    path = write(run(case("t", *(metric(name, score=0.5) for name in names))))
    assert {f"score.{name}" for name in names} <= set(rows(path).columns)
    assert "score" not in rows(path).columns


def test_both_file_shapes_and_conversations(write: Callable[..., Path]) -> None:
    chat = {"name": "chat", "success": True, "metricsData": [metric("a")], "turns": []}
    document = run(case("t", metric("a")), conversationalTestCases=[chat])
    for name, shape in (("plain", document), ("latest", {"testRunData": document})):
        path = write(shape, f"{name}.json")
        assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["deepeval"]
        assert rows(path)["case"].to_list() == ["t", "chat"]


def test_repeats_by_name_and_by_plugin(write: Callable[..., Path]) -> None:
    frame = rows(write(run(*[case("t", metric("a"))] * 3)))
    assert frame.select("trial", "trial_made").rows() == [(0, True), (1, True), (2, True)]
    named = [case(f"test_x[q-{number}-2]", metric("a")) for number in (1, 2)]
    assert rows(write(run(*named))).select("case", "trial").rows() == [
        ("test_x[q]", 1),
        ("test_x[q]", 2),
    ]


def test_one_name_for_several_inputs_is_several_cases(write: Callable[..., Path]) -> None:
    asked = [case("test_x", metric("a"), input=text) for text in ("2+2", "3+3", "2+2")]
    frame = rows(write(run(*asked)))
    assert frame["case"].n_unique() == 2
    assert frame["trial"].to_list() == [0, 0, 1]
    assert frame["case"].str.starts_with("test_x #").all()


def test_model_costs_and_extras(write: Callable[..., Path]) -> None:
    more = {
        "tokenCost": 0.002,
        "completionTime": 1.5,
        "evaluationCost": 0.01,
        "inputTokenCount": 7,
        "metadata": {"repo": "r", "deep": {}},
        "tags": ["x"],
    }
    document = run(case("t", metric("a"), **more), hyperparameters={"model": "m", "temp": "0"})
    row = rows(write(document)).row(0, named=True)
    assert row["config"] == "m"
    assert (row["cost_uusd"], row["duration_ms"], row["judge_cost_uusd"]) == (2000, 1500, 10_000)
    assert (row["tokens_in"], row["metadata.repo"], row["tags"]) == (7, "r", '["x"]')
    assert "metadata.deep" not in row


@pytest.mark.parametrize("bad", [7, {}, case(""), case("t", metric("a", success="yes"))])
def test_one_row_that_cannot_be_read(write: Callable[..., Path], bad: Any) -> None:
    path = write(run(case("t", metric("a")), bad))
    with pytest.raises(SourceError, match=r"testCases\[1\]"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (1, 1)


def test_a_link_alone_holds_no_trials(write: Callable[..., Path]) -> None:
    with pytest.raises(SourceError, match="DEEPEVAL_RESULTS_FOLDER"):
        rows(write({"testRunLink": "x"}), format="deepeval")


def test_samples(shared_formats: Path) -> None:
    for path in (shared_formats / "deepeval").glob("*.json"):
        passed = rows(path)["passed"]
        assert (passed.sum(), (~passed).sum(), passed.null_count()) == (0, 3, 1)
        assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["deepeval"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "success", "score", "error", "flaky"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)
KEYS = [*case("t"), "hyperparameters", "metadata", "tokenCost", "tags"]


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), VALUES)
def test_mutations_raise_our_errors_only(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any], junk: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "deepeval.json"
    document = run(case("t", metric("a"), junk) | changes, junk, hyperparameters=junk)
    path.write_text(json.dumps(document), encoding="utf-8")
    with contextlib.suppress(TrialframeError):
        rows(path)
    tr.read(path, errors="collect")[0].collect()
