"""Reflexion: attempts at environments, and solutions of programming tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named
from trialframe.read import _bounded
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._take import Take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

_ATTEMPT = re.compile(r"env_results_trial_(\d+)")

FIELDS = (
    Take(column="config", path="", note="name of the folder of a run, of the file of solutions"),
    Take(column="case", path="", note="name of the environment, or task_id"),
    Take(column="trial", path="", note="0: what the tool calls a trial is an attempt"),
    Take(
        column="attempt",
        path="",
        note="from 1, until solved; from the earlier files, else from the memories of failures",
    ),
    Take(column="passed", path="", note="is_success, or is_solved"),
    Take(column="outcome", path=""),
    Take(column="reflections", path="", dtype=pl.Int64, note="how many there were"),
)


def recognise(head: Head) -> bool:
    """The state of all environments after an attempt, or solutions with reflections."""
    if head.has("task_id", "is_solved", "reflections"):
        return True
    return head.has("[].name", "[].memory", "[].is_success")


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """The last state in each folder, which the earlier ones lead to."""
    latest: dict[Path, tuple[int, Path]] = {}
    for path in paths:
        number = _number(path)
        if number is not None:
            latest[path.parent] = max(latest.get(path.parent, (-1, path)), (number, path))
    left = {
        path: f"{latest[path.parent][1].name} leads on from it"
        for path in paths
        if _number(path) is not None and latest[path.parent][1] != path
    }
    return [path for path in paths if path not in left], left


def _number(path: Path) -> int | None:
    found = _ATTEMPT.search(path.name)
    return int(found[1]) if found else None


def read(log: Log) -> pl.DataFrame:
    """One run: every attempt at every environment, or every task."""
    if _number(log.path) is None and ".jsonl" in log.path.name:
        return log.table(_solutions(log), FIELDS)
    return log.table(_attempts(log), FIELDS)


def _solutions(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Programming tasks: only the last attempt is run against the hidden tests."""
    for number, row in log.objects():
        yield (
            f"line {number}",
            {
                "config": label(log.path),
                "case": row.get("task_id"),
                "attempt": None,
                "passed": row.get("is_solved"),
                "outcome": "completed",
                "reflections": len(row.get("reflections") or ()),
            },
        )


def _attempts(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = [
        (f"environments[{number}]", row) for number, row in log.items(log.json(), "environments")
    ]
    rows = [(place, row) for place, row in rows if _told(log, place, row)]
    count, counted = _count(log.path, [row for _, row in rows])
    earlier = _earlier(log.path, count)
    if earlier is None and not counted:
        raise SourceError(
            f"{named(log.path)} does not tell at which attempt an environment was solved: its "
            "memories do not count the failures. Put the files of the earlier attempts, from "
            "env_results_trial_0 on, into the same folder."
        )
    for place, row in rows:
        memories = len(row["memory"])
        solved = memories + 1 if row["is_success"] else None
        if earlier is not None and row["is_success"]:
            solved = next((n for n, names in enumerate(earlier, 1) if row["name"] in names), count)
        for attempt in range(1, (solved or count) + 1):
            yield (
                place,
                {
                    "config": log.path.absolute().parent.name,
                    "case": row["name"],
                    "trial": 0,
                    "attempt": attempt,
                    "passed": attempt == solved,
                    "outcome": "completed",
                    "reflections": min(attempt - 1, memories),
                },
            )


def _told(log: Log, place: str, row: Mapping[str, Any]) -> bool:
    known = isinstance(row.get("is_success"), bool) and isinstance(row.get("memory"), list)
    if not known or not isinstance(row.get("name"), str):
        log.skip(place, "name, memory and is_success (true or false) are needed.")
    return known and isinstance(row.get("name"), str)


def _count(path: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[int, bool]:
    """How many attempts there were, and whether the memories count the failures."""
    failed = {len(row["memory"]) for row in rows if not row["is_success"]}
    solved = {len(row["memory"]) + 1 for row in rows if row["is_success"]}
    most = max(failed, default=0) or max(solved, default=1)
    number = _number(path)
    count = most if number is None else number + 1
    fits = failed == {count} if failed else max(solved, default=count) == count
    return count, fits and max(solved, default=0) <= count


def _earlier(path: Path, count: int) -> list[set[str]] | None:
    """What was solved after each earlier attempt; None unless all of them have a file."""
    number = _number(path)
    if number is None:
        return None
    files = [
        path.with_name(path.name.replace(f"trial_{number}", f"trial_{one}"))
        for one in range(count - 1)
    ]
    if not all(file.is_file() for file in files):
        return None
    return [
        {str(row["name"]) for row in _bounded.document(file) if row["is_success"]} for file in files
    ]


FORMAT = LogFormat(
    name="reflexion",
    title="Reflexion",
    files="env_results_trial_*.json, *.jsonl of programming runs",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="0; the attempts of a run are in attempt",
    select=select,
)
