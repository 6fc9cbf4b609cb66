"""BFCL score files: a header line with the counts, then a line for each failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, named, short
from trialframe.read._log import Log, LogFormat
from trialframe.read._outline import head_of
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from trialframe.read._outline import Head

_NAME = re.compile(r"(BFCL_v\d+_)?(?:gorilla_openfunctions_v1_test_)?(.+?)_score(?:\.|$)")
_NUMBER = re.compile(r"_(\d+)(?:[-:][^_]*)*$")

MOST = 10**5
"""Cases of a category at most, as passes are made from a count: the largest have some thousands."""

KINDS = frozenset(
    [
        "non_live",
        "live",
        "multi_turn",
        "agentic",
        "format_sensitivity",
        "memory",
        "kv",
        "vector",
        "rec_sum",
    ]
)
"""Folders for kinds of categories, below that of the model."""

FIELDS = (
    Take(column="config", path="", note="model_name of the failures, else the folder's name"),
    Take(column="case", path="", note="test_category/number; passes are the numbers not listed"),
    Take(column="passed", path="", note="false for the ids that are listed, true for the others"),
    Take(column="outcome", path="", note="error where the model gave no answer"),
    Take(column="error", path="error", made=clipped),
    Take(column="task", path="", note="test_category, else from the file's name"),
    Take(column="error_type", path="error_type"),
    Take(column="failed_id", path="id", note="of a failure, as it is written there"),
)


def recognise(head: Head) -> bool:
    """A score file by its first line, or a file of answers without verdicts."""
    first = head.text.lstrip().partition("\n")[0]
    if all(f'"{name}"' in first for name in ("accuracy", "correct_count", "total_count")):
        return True
    return _answers(head)


def _answers(head: Head) -> bool:
    first = head.text.lstrip().partition("\n")[0]
    names = ("id", "result", "input_token_count", "output_token_count", "latency")
    return first.startswith("{") and all(f'"{name}":' in first for name in names)


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Score files; answers hold no verdicts."""
    left = dict.fromkeys(
        (path for path in paths if "_result" in path.name and _answers(head_of(path))),
        "it holds answers without verdicts; read the file of the same name that ends in _score",
    )
    return [path for path in paths if path not in left], left


def read(log: Log) -> pl.DataFrame:
    """One category of one model."""
    lines = log.objects()
    _, header = next(iter(lines), (0, {}))
    total, correct = _whole(header.get("total_count")), _whole(header.get("correct_count"))
    if total is None or correct is None:
        raise SourceError(
            f"{named(log.path)} has no line with total_count and correct_count: it holds "
            "answers without verdicts. Read the score file."
        )
    failures = [(f"line {number}", line) for number, line in lines]
    if len(failures) != total - correct:  # else a failure that is not listed would pass
        raise SourceError(
            f"{named(log.path)} counts {total - correct:,} failures and lists "
            f"{len(failures):,}: it was cut, or written by several processes. Score it again."
        )
    return log.table(_records(log, failures, total), FIELDS)


def _whole(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
    return value if whole else None


def _records(
    log: Log, failures: Sequence[tuple[str, Mapping[str, Any]]], total: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    first = failures[0][1] if failures else {}
    parts = _NAME.match(log.path.name)
    task = first.get("test_category") or (parts[2] if parts else log.path.stem)
    config = first.get("model_name") or _model(log.path)
    same = {"config": config, "task": task, "outcome": "completed"}
    start = 0 if parts and parts[1] else 1  # the first version counted from 1
    if failures:
        start = 1 if isinstance(first.get("id"), int) else 0
    failed: set[int] = set()
    for place, line in failures:
        number = _number(line.get("id"))
        if number is None or number in failed or not start <= number < start + total:
            raise SourceError(
                f"{named(log.path)}, {place}: id {short(line.get('id'))} is none of the "
                f"{total:,} of {task}, so that the passes cannot be told. Score all cases again."
            )
        failed.add(number)
        lost = "inference_error" in str(line.get("error_type"))
        outcome = {"outcome": "error"} if lost else {}
        yield place, {**line, **same, **outcome, "case": f"{task}/{number}", "passed": False}
    for number in range(start, start + total):
        if number not in failed:
            yield "header", {**same, "case": f"{task}/{number}", "passed": True}


def _number(case: Any) -> int | None:
    """The number of a case: 7, simple_7 or live_simple_7-3-0."""
    if isinstance(case, int) and not isinstance(case, bool):
        return case
    found = _NUMBER.search(str(case))
    return int(found[1]) if found else None


def _model(path: Path) -> str:
    """The folder of the model, above those for kinds of categories."""
    folders = (part for part in reversed(path.absolute().parent.parts) if part not in KINDS)
    return next(folders, path.stem)


FORMAT = LogFormat(
    name="bfcl",
    title="BFCL",
    files="score/MODEL/*_score.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none",
    select=select,
    identity=lambda path: (_model(path), path.name),
)
