"""DeepEval: a test run as JSON, with several metrics a test case."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read import _suites
from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, as_text, clipped, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trialframe.read._outline import Head

Row = dict[str, Any]

LISTS = ("testCases", "conversationalTestCases")

FIELDS = (
    Take(
        column="config",
        path="",
        note="hyperparameters.model, with agent where there is one; else the file's name",
    ),
    Take(
        column="case",
        path="testCases[].name",
        note="with a hash of the input where one name has several; without the repeat",
    ),
    Take(column="trial", path="", note="of names that pytest-repeat made; else the order of rows"),
    Take(
        column="passed",
        path="",
        note="all metrics; null where one that was not computed decides. Flaky ones never do",
    ),
    Take(column="score", path="", note="score of the metric, if there is one or metric= names it"),
    Take(
        column="outcome",
        path="",
        note="scorer_error where a metric has an error, also beside one that failed",
    ),
    Take(column="error", path="", made=clipped, note="testCases[].metricsData[].error"),
    Take(column="tokens_in", path="testCases[].inputTokenCount"),
    Take(column="tokens_out", path="testCases[].outputTokenCount"),
    Take(column="cost_uusd", path="testCases[].tokenCost", factor=1e6, note="of the model"),
    Take(column="duration_ms", path="testCases[].completionTime", factor=1e3, note="of the model"),
    Take(
        column="judge_cost_uusd",
        path="testCases[].evaluationCost",
        factor=1e6,
        dtype=pl.Int64,
        note="of the judges",
    ),
    Take(
        column="judge_duration_ms",
        path="testCases[].runDuration",
        factor=1e3,
        dtype=pl.Int64,
        note="of the evaluation",
    ),
    Take(column="tags", path="testCases[].tags"),
    Take(column="dataset", path="datasetAlias"),
    Take(column="identifier", path="identifier"),
)


def recognise(head: Head) -> bool:
    """A test run, or the latest one under its key."""
    return any(
        head.has(f"{prefix}{name}[].metricsData[].name") or _is_empty(head, prefix)
        for prefix in ("", "testRunData.")
        for name in LISTS
    )


def _is_empty(head: Head, prefix: str) -> bool:
    """Whether it is a run whose first cases are longer than the head, or that has none."""
    return head.has(f"{prefix}testCases", f"{prefix}testCases[].actualOutput") or head.has(
        *(f"{prefix}{name}" for name in (*LISTS, "metricsScores", "runDuration"))
    )


def read(log: Log) -> pl.DataFrame:
    """One test run."""
    document = log.json()
    run = document.get("testRunData", document) if isinstance(document, dict) else None
    if not isinstance(run, dict) or not any(name in run for name in LISTS):
        raise SourceError(
            f"{named(log.path)} has no test cases. Read the files in the folder that "
            "DEEPEVAL_RESULTS_FOLDER names."
        )
    rows = [
        (f"{name}[{number}]", row)
        for name in LISTS
        if name in run
        for number, row in log.items(run[name], name)
        if _is_row(log, f"{name}[{number}]", row)
    ]
    every = [row for _, row in rows]
    metric = _metric(log, every)
    about = {
        "config": _config(run) or log.path.name.partition(".json")[0],
        "datasetAlias": run.get("datasetAlias"),
        "identifier": run.get("identifier"),
    }
    records = []
    for (place, row), (case, trial) in zip(rows, _cases(every), strict=True):
        try:
            graded = _graded(row, metric, only=log.metric is not None)
        except ValueError as error:
            log.skip(place, f"{error}.")
            continue
        records.append(
            (place, about | graded | {"testCases[]": row | {"name": case}, "trial": trial})
        )
    return log.table(records, FIELDS, extras=_extras)


def _is_row(log: Log, place: str, row: Row) -> bool:
    if isinstance(row.get("name"), str) and row["name"]:
        return True
    log.skip(place, f"has the name {short(row.get('name'))}.")
    return False


def _config(run: Mapping[str, Any]) -> str | None:
    said = run.get("hyperparameters")
    return (
        _suites.system({k: as_text(v) for k, v in said.items()}) if isinstance(said, dict) else None
    )


def _cases(rows: Sequence[Row]) -> Iterator[tuple[str, int | None]]:
    """Case and trial of rows; a test function may give many cases one name."""
    repeats = _suites.repeats(row["name"] for row in rows)
    inputs: dict[str, set[str]] = {}
    for row in rows:
        name, _ = repeats.get(row["name"], (row["name"], None))
        inputs.setdefault(name, set()).add(_asked(row))
    for row in rows:
        name, trial = repeats.get(row["name"], (row["name"], None))
        several = len(inputs[name]) > 1
        yield f"{name} #{_asked(row)}" if several else name, None if several else trial


def _asked(row: Row) -> str:
    """A hash of what the case asks: the input, or the scenario of a conversation."""
    asked = [row.get(name) for name in ("input", "expectedOutput", "scenario", "expectedOutcome")]
    return hashlib.blake2b(as_text(asked).encode(), digest_size=4).hexdigest()


def _metrics(row: Row) -> list[Row]:
    found = row.get("metricsData")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _metric(log: Log, rows: Sequence[Row]) -> str | None:
    """The metric that gives the score: the one asked for, or the only one."""
    names = dict.fromkeys(as_text(item.get("name")) for row in rows for item in _metrics(row))
    if log.metric is None and len(names) != 1:
        return None
    return log.chosen(names, "metric")


def _graded(row: Row, metric: str | None, *, only: bool) -> Row:
    """Verdict, score and error of one test case."""
    items = _metrics(row)
    if only:
        items = [item for item in items if as_text(item.get("name")) == metric]
    deciding = [
        item
        for item in items
        if (only or not item.get("flaky"))
        and (item.get("error") or item.get("success") is not None)
    ]
    verdicts = [_success(item) for item in deciding]
    if not deciding and not only and not items:
        verdicts = [row["success"]] if isinstance(row.get("success"), bool) else []
    passed: bool | None = all(verdicts)
    if not verdicts or (None in verdicts and False not in verdicts):
        passed = None
    errors = [item["error"] for item in items if item.get("error")]
    chosen = next((i for i in items if as_text(i.get("name")) == metric), {})
    outcome = "scorer_error" if any(item.get("error") for item in deciding) else "completed"
    return {
        "passed": passed,
        "score": None if chosen.get("error") else chosen.get("score"),
        "outcome": outcome,
        "error": errors[0] if errors else None,
    }


def _success(item: Row) -> bool | None:
    """Whether a metric is met; an error says nothing."""
    if item.get("error"):
        return None
    if item["success"] not in (True, False):
        raise ValueError(f"metricsData.success is {short(item['success'])}, not true or false")
    return bool(item["success"])


def _extras(record: Mapping[str, Any]) -> Row:
    row = record["testCases[]"]
    scores = {as_text(item.get("name")): item.get("score") for item in _metrics(row)}
    return scalars(scores, "score") | {
        name: value
        for name, value in scalars(row.get("metadata"), "metadata").items()
        if isinstance(value, str | int | float)
    }


FORMAT = LogFormat(
    name="deepeval",
    title="DeepEval",
    files="test_run_*.json, or .deepeval/.latest_test_run.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="the repeat in names that pytest-repeat makes, from 1; else the order of rows",
    metric="a metric, with its own threshold; without it all of them",
)
