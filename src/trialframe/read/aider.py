"""Aider: .aider.results.json of each exercise of its benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.errors import short
from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from trialframe.read._outline import Head

SPENT = ("cost", "duration", "prompt_tokens", "completion_tokens")
"""What is known of the whole exercise and not of one attempt."""

FIELDS = (
    Take(column="config", path="model"),
    Take(column="case", path="", note="language/testcase"),
    Take(
        column="attempt",
        path="",
        note="from 1: place in tests_outcomes; a later one has seen the errors of the earlier",
    ),
    Take(column="passed", path="", note="tests_outcomes"),
    Take(column="outcome", path="", note="limit where num_exhausted_context_windows is not 0"),
    Take(column="error", path="exception", made=clipped),
    Take(column="tokens_in", path="prompt_tokens", note="of all attempts, at the last one"),
    Take(column="tokens_out", path="completion_tokens", note="of all attempts, at the last one"),
    Take(column="cost_uusd", path="cost", factor=1e6, note="of all attempts, at the last one"),
    Take(column="duration_ms", path="duration", factor=1e3, note="of all, at the last one"),
    Take(column="task", path="", note="the language, from testdir"),
    Take(column="edit_format", path="edit_format"),
    Take(column="commit_hash", path="commit_hash"),
)


def recognise(head: Head) -> bool:
    """The outcomes of one exercise, or of a list of them."""
    for start in ("", "[]."):
        if head.has(f"{start}tests_outcomes", f"{start}testcase"):
            return True
        if head.has(f"{start}exception", f"{start}testcase"):
            return True
    return False


def read(log: Log) -> pl.DataFrame:
    """One exercise, or a list of them, a row for each attempt."""
    document = log.json()
    exercises = document if isinstance(document, list) else [document]
    return log.table(_records(log, exercises), FIELDS)


def _records(log: Log, exercises: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in log.items(exercises, "exercises"):
        place = f"exercises[{number}]"
        outcomes = row.get("tests_outcomes")
        if outcomes is not None and not isinstance(outcomes, list):
            log.skip(place, f"tests_outcomes is {short(outcomes)} where a list is needed.")
            continue
        folders = str(row.get("testdir") or "").replace("\\", "/").split("/")
        language = folders[folders.index("exercises") - 1] if "exercises" in folders[1:] else None
        name = row.get("testcase")
        case = f"{language}/{name}" if language and name else name
        same = {**row, "task": language, "case": case}
        for attempt, passed in enumerate(outcomes or [None], 1):
            last = attempt == len(outcomes or [None])
            spent = {} if last else dict.fromkeys(SPENT)
            verdict = {"attempt": attempt, "passed": passed, "outcome": _outcome(row, passed)}
            yield place, {**same, **spent, **verdict}


def _outcome(row: Mapping[str, Any], passed: Any) -> str:
    if passed is None:
        return "error"
    if passed is False and row.get("num_exhausted_context_windows"):
        return "limit"
    return "completed"


FORMAT = LogFormat(
    name="aider",
    title="Aider benchmark",
    files=".aider.results.json of each exercise",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none; the attempts are in attempt",
)
