"""pytest-json-report: verdicts from the stages, reruns that it does not count."""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import SourceError, TrialframeError
from trialframe.read._formats import LOGS
from trialframe.read._outline import head_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def stage(outcome: str, message: str = "", seconds: float = 0.5) -> dict[str, Any]:
    crash = {"crash": {"path": "p", "lineno": 1, "message": message}} if message else {}
    return {"duration": seconds, "outcome": outcome, **crash}


def item_of(name: str, outcome: str, call: str | None = None, **more: Any) -> dict[str, Any]:
    stages = {"setup": stage("passed"), "teardown": stage("passed")}
    if call:
        stages["call"] = stage(call, "wrong" if call == "failed" else "")
    return {"nodeid": f"tests/t.py::{name}", "outcome": outcome, **stages, **more}


def report(*tests: Any) -> dict[str, Any]:
    summary = {"total": len(tests), "collected": len(tests)}
    about = {"created": 1.5, "duration": 0.5, "exitcode": 1, "root": "/srv", "environment": {}}
    return about | {"summary": summary, "tests": list(tests)}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(document: Any, name: str = "run.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("item", "passed", "outcome"),
    [
        (item_of("t", "passed", "passed"), True, "completed"),
        (item_of("t", "failed", "failed"), False, "completed"),
        (item_of("t", "xpassed", "passed"), True, "completed"),
        (item_of("t", "xfailed", "skipped"), None, "skipped"),
        (item_of("t", "subtests passed", "passed"), True, "completed"),
        (item_of("t", "skipped", setup=stage("skipped")), None, "skipped"),
        (item_of("t", "error", setup=stage("failed", "no db")), None, "infra_error"),
        (item_of("t", "error", "passed", teardown=stage("failed", "x")), True, "infra_error"),
        (item_of("t", "error", "failed", teardown=stage("failed", "x")), False, "completed"),
        ({"nodeid": "t", "outcome": "failed", "???": stage("failed")}, None, "infra_error"),
    ],
)
def test_the_stages_decide_not_the_word_of_the_whole(
    write: Callable[..., Path], item: dict[str, Any], *, passed: bool | None, outcome: str
) -> None:
    frame = tr.read(write(report(item))).collect()
    assert frame.select("passed", "outcome", "attempt").rows() == [(passed, outcome, 1)]


def test_a_rerun_has_failed_first(
    write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = write(report(item_of("t", "rerun", "passed"), item_of("u", "passed", "passed")))
    with caplog.at_level(logging.WARNING, "trialframe"):
        trials = tr.read(path)
    assert "1 tests passed after reruns" in caplog.text
    assert trials.select("case", "trial", "attempt", "passed").collect().rows() == [
        ("tests/t.py::t", 0, 1, False),
        ("tests/t.py::t", 0, 2, True),
        ("tests/t.py::u", 0, 1, True),
    ]
    assert tr.counts(trials, attempts="first").frame["c"].to_list() == [0, 1]


def test_repeats_properties_and_times(write: Callable[..., Path]) -> None:
    said = [{"tokens_in": 5}, {"cost_usd": 0.5}, {"model": "m"}, {"tokens_in": 7}, {"repo": "r"}]
    path = write(
        report(
            item_of("t[1-2]", "passed", "passed", user_properties=said, metadata={"level": 3}),
            item_of("t[2-2]", "failed", "failed"),
        )
    )
    frame = tr.read(path).collect()
    assert frame.select("config", "case", "task", "trial", "tokens_in", "cost_uusd").rows() == [
        ("m", "tests/t.py::t", "tests/t.py", 1, 7, 500_000),
        ("m", "tests/t.py::t", "tests/t.py", 2, None, None),
    ]
    assert frame["duration_ms"].to_list() == [1500, 1500]
    assert frame["property.repo"].to_list() == ["r", None]
    assert frame["metadata.level"].to_list() == [3, None]
    assert frame["error"].to_list() == [None, "wrong"]


def test_a_summary_alone_holds_no_trials(write: Callable[..., Path]) -> None:
    document = report()
    del document["tests"]
    with pytest.raises(SourceError, match="json-report-summary"):
        tr.read(write(document))


def test_a_test_that_cannot_be_read_leaves_the_others(write: Callable[..., Path]) -> None:
    bad = [{"outcome": "passed"}, 7, item_of("odd", "passed", "sideways")]
    path = write(report(*bad, item_of("t", "passed", "passed")))
    with pytest.raises(SourceError):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect().height == 1
    assert unread.height == len(bad)


def test_it_is_recognised_as_nothing_else(write: Callable[..., Path]) -> None:
    path = write(report(item_of("t", "passed", "passed")))
    assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["pytest-json-report"]
    table = write([{"case": "a", "passed": True}], "table.json")
    assert tr.read(table).collect().height == 1


def test_sample(shared_formats: Path) -> None:
    frame = tr.read(shared_formats / "junit" / "report_reruns.json").collect()
    last = frame.group_by("case").agg(pl.col("passed").last())["passed"]
    assert (last.len(), last.sum(), last.null_count()) == (7, 2, 3)
    assert frame.height == 8


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodeid", "outcome", "call", "setup", "duration", "user_properties"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JUNK, max_size=4))
def test_junk_raises_our_errors_only(
    tmp_path_factory: pytest.TempPathFactory, tests: list[Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.json"
    path.write_text(json.dumps(report(*tests)), encoding="utf-8")
    with contextlib.suppress(TrialframeError):
        tr.read(path)
    trials, _ = tr.read(path, errors="collect")
    trials.collect()
