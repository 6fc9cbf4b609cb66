"""pytest-json-report: one JSON document a run, which keeps of reruns only that there were some."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, named, short
from trialframe.read import _suites
from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, clipped, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from trialframe.read._outline import Head

log_ = logging.getLogger("trialframe")

STAGES = ("setup", "call", "teardown")

FIELDS = (
    Take(column="config", path="", note="property config, or agent and model; else the file"),
    Take(column="case", path="", note="tests[].nodeid, without the repeat"),
    Take(column="task", path="", note="the file in tests[].nodeid"),
    Take(
        column="trial",
        path="",
        note="of names that pytest-repeat made: 2 in test[left-2-3]; else the order of the runs",
    ),
    Take(
        column="attempt",
        path="",
        note="a test that passed after reruns has two: the report tells not how many there were",
    ),
    Take(
        column="passed",
        path="tests[].call.outcome",
        note="null for skips, expected failures and errors in setup",
    ),
    Take(column="outcome", path="", note="how the stages ended"),
    Take(column="error", path="", made=clipped, note="crash.message of the stage that failed"),
    Take(column="duration_ms", path="", note="all stages together"),
    *_suites.fields("properties"),
)


def recognise(head: Head) -> bool:
    """A report with tests, or with the collectors that come before them."""
    return head.has("created", "exitcode", "root", "summary", "summary.total")


def read(log: Log) -> pl.DataFrame:
    """One report."""
    document = log.json()
    if not isinstance(document, dict) or "tests" not in document:
        raise SourceError(
            f"{named(log.path)} has no list of tests: it was written with "
            "--json-report-summary. Write it without, or leave it out."
        )
    tests = [
        (f"tests[{number}]", test)
        for number, test in log.items(document["tests"], "tests")
        if _has_id(log, number, test)
    ]
    repeats = _suites.repeats(test["nodeid"] for _, test in tests)
    rows, reran = [], 0
    for place, test in tests:
        try:
            records = _attempts(test, repeats)
        except ValueError as error:
            log.skip(place, f"{error}.")
            continue
        reran += len(records) > 1
        rows += [(place, record) for record in records]
    if reran:
        log_.warning(
            "%s: %d tests passed after reruns, and it tells not how many: each is given as two "
            "attempts. The JUnit file of the run has them all.",
            named(log.path),
            reran,
        )
    _suites.named([record for _, record in rows], log.path.name.partition(".json")[0])
    extras = [dict(record.pop("extras")) for _, record in rows]
    _suites.typed(extras)
    for (_, record), more in zip(rows, extras, strict=True):
        record["extras"] = more
    fields = _suites.needed(FIELDS, (record["properties"] for _, record in rows))
    return log.table(rows, fields, extras=lambda record: dict(record["extras"]))


def _has_id(log: Log, number: int, test: Mapping[str, Any]) -> bool:
    if isinstance(test.get("nodeid"), str) and test["nodeid"]:
        return True
    log.skip(f"tests[{number}]", f"has the nodeid {short(test.get('nodeid'))}.")
    return False


def _attempts(
    test: Mapping[str, Any], repeats: Mapping[str, tuple[str, int]]
) -> list[dict[str, Any]]:
    """The rows of one test: two when it passed in the end after it had failed."""
    said: dict[str, Any] = {}
    for pair in test.get("user_properties") or ():
        said |= pair if isinstance(pair, dict) else {}
    measured, others = _suites.measured(said)
    case, trial = repeats.get(test["nodeid"], (test["nodeid"], None))
    passed, outcome, error = _verdict(test)
    last = {
        "config": _suites.system(said),
        "case": case,
        "task": test["nodeid"].partition("::")[0],
        "trial": trial,
        "attempt": 1,
        "tests[]": {"call": {"outcome": passed}},
        "outcome": outcome,
        "error": error,
        "duration_ms": _milliseconds(test),
        "properties": measured,
        "extras": {f"property.{name}": value for name, value in others.items()}
        | scalars(test.get("metadata"), "metadata"),
    }
    if test.get("outcome") != "rerun":
        return [last]
    first = last | {
        "tests[]": {"call": {"outcome": False}},
        "outcome": "completed",
        "error": None,
        "duration_ms": None,
        "properties": {},
        "extras": {},
    }
    return [first, last | {"attempt": 2}]


def _verdict(test: Mapping[str, Any]) -> tuple[bool | None, str, Any]:
    """Verdict, outcome class and message; the word of the whole test hides what came before."""
    stages = {name: test[name] for name in STAGES if isinstance(test.get(name), dict)}
    ended = {name: stage.get("outcome") for name, stage in stages.items()}
    broken = [name for name in STAGES if ended.get(name) == "failed"]
    message = _message(stages[broken[0]]) if broken else None
    if "call" not in ended:
        if "skipped" in ended.values():
            return None, "skipped", _message(stages["setup"])
        return None, "infra_error", message or short(test.get("outcome"))
    if ended["call"] == "failed":
        clock = "from pytest-timeout" in str(message)
        return False, "timeout" if clock else "completed", message
    if ended["call"] == "skipped":
        return None, "skipped", _message(stages["call"])
    if ended["call"] != "passed":
        raise ValueError(f"call.outcome is {short(ended['call'])}, which pytest does not know")
    return True, "infra_error" if broken else "completed", message


def _message(stage: Mapping[str, Any]) -> Any:
    crash = stage.get("crash")
    return (crash.get("message") if isinstance(crash, dict) else None) or stage.get("longrepr")


def _milliseconds(test: Mapping[str, Any]) -> float | None:
    return sum(_durations(test)) * 1e3 or None


def _durations(test: Mapping[str, Any]) -> Iterator[float]:
    for name in STAGES:
        stage = test.get(name)
        seconds = stage.get("duration") if isinstance(stage, dict) else None
        if isinstance(seconds, int | float) and seconds >= 0:
            yield float(seconds)


FORMAT = LogFormat(
    name="pytest-json-report",
    title="pytest-json-report",
    files=".report.json, or as --json-report-file says",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="the repeat in names that pytest-repeat makes, from 1; else the order of runs",
)
