"""LiveCodeBench: performances of its site, a percentage of trials for each question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from trialframe.errors import short
from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from trialframe.read._outline import Head

TRIALS = 10
"""Trials of a question, by the site; one where a model has nothing but 0 and 100 per cent."""

FIELDS = (
    Take(column="config", path="model"),
    Take(column="case", path="question_id"),
    Take(
        column="passed",
        path="",
        note="pass@1 per cent of 10 trials, of 1 where a model has only 0 and 100; made from "
        "the count, so that their order means nothing",
    ),
    Take(column="difficulty", path="difficulty"),
    Take(column="platform", path="platform"),
    Take(column="released_at", path="date", note="of the question, in milliseconds since 1970"),
)


def recognise(head: Head) -> bool:
    """A list of performances."""
    return head.has("performances[].question_id", "performances[].model", "performances[].pass@1")


def read(log: Log) -> pl.DataFrame:
    """All questions of all models."""
    rows = list(log.items(log.json().get("performances"), "performances"))
    whole = _whole(rows)
    return log.table(_trials(log, rows, whole), FIELDS)


def _whole(rows: list[tuple[int, dict[str, Any]]]) -> dict[Any, bool]:
    """For each model whether it has nothing but 0 and 100 per cent."""
    found: dict[Any, bool] = {}
    for _, row in rows:
        model = str(row.get("model"))
        found[model] = found.get(model, True) and row.get("pass@1") in (0, 100, None)
    return found


def _trials(
    log: Log, rows: list[tuple[int, dict[str, Any]]], whole: Mapping[Any, bool]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in rows:
        place = f"performances[{number}]"
        share = row.get("pass@1")
        trials = 1 if whole[str(row.get("model"))] else TRIALS
        if share is None:
            yield place, {**row, "passed": None}
            continue
        passes = _passes(share, trials)
        if passes is None:
            log.skip(place, f"pass@1 is {short(share)}, no share of {TRIALS} trials in per cent.")
            continue
        for trial in range(trials):
            yield place, {**row, "passed": trial < passes}


def _passes(share: Any, trials: int) -> int | None:
    """How many trials of so many passed; None where that is no whole number."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 100:
        return None
    passes = round(share * trials / 100)
    return passes if math.isclose(passes * 100 / trials, share, abs_tol=1e-6) else None


FORMAT = LogFormat(
    name="livecodebench",
    title="LiveCodeBench",
    files="performances_*.json of the site",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: trials are made from counts",
)
