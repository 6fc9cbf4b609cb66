"""METR: runs.jsonl, a line for each run of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, clipped, elapsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trialframe.read._outline import Head

OUTCOMES = {
    "usageLimits": "limit",
    "agent": "agent_error",
    "server": "infra_error",
    "serverOrTask": "infra_error",
    "task": "scorer_error",
    "user": "cancelled",
    "userOrTask": "scorer_error",
}
"""What fatal_error_from means; the score of such a run counts all the same."""

FIELDS = (
    Take(column="config", path="alias", note="name in the figures; else model"),
    Take(column="case", path="task_id"),
    Take(column="cluster", path="task_family", note="the case where there is none"),
    Take(column="passed", path="score_binarized"),
    Take(column="score", path="", note="score, in newer files score_cont"),
    Take(column="outcome", path="", note="from fatal_error_from"),
    Take(column="error", path="fatal_error_from", made=clipped),
    Take(column="tokens", path="total_tokens", dtype=pl.Int64),
    Take(column="cost_uusd", path="", factor=1e6, note="generation_cost, else dollar_equivalent"),
    Take(column="duration_ms", path="clock", made=elapsed, note="completed_at - started_at"),
    Take(column="started_at", path="", note="started_at, in milliseconds since 1970"),
    Take(column="model", path="model"),
    Take(column="run_id", path="run_id"),
    Take(column="human_minutes", path="human_minutes", dtype=pl.Float64),
    Take(column="human_score", path="human_score", dtype=pl.Float64),
    Take(column="human_source", path="human_source"),
    Take(column="time_limit", path="time_limit", dtype=pl.Float64, note="in seconds"),
    Take(
        column="equal_task_weight",
        path="equal_task_weight",
        dtype=pl.Float64,
        note="of a run, shared among the runs of a task: no weight of the case",
    ),
    Take(column="invsqrt_task_weight", path="invsqrt_task_weight", dtype=pl.Float64),
)


def recognise(head: Head) -> bool:
    """Lines with a binarized score."""
    return head.has("run_id", "task_id", "score_binarized", "task_family")


def read(log: Log) -> pl.DataFrame:
    """All runs of a file."""
    return log.table(_records(log), FIELDS)


def _records(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in log.objects():
        place = f"line {number}"
        try:
            start, stop = _seconds(row.get("started_at")), _seconds(row.get("completed_at"))
        except TypeError:
            log.skip(place, "started_at and completed_at must be milliseconds since 1970.")
            continue
        fatal = row.get("fatal_error_from")
        yield (
            place,
            {
                **row,
                "alias": row.get("alias") or row.get("model"),
                "task_family": row.get("task_family") or row.get("task_id"),
                "score": row.get("score", row.get("score_cont")),
                "outcome": "completed" if fatal is None else OUTCOMES.get(fatal, "error"),
                "cost_uusd": row.get("generation_cost", row.get("dollar_equivalent")),
                "started_at": start,
                "clock": (start, stop),
            },
        )


def _seconds(stamp: Any) -> float | None:
    return None if stamp is None else stamp / 1e3


FORMAT = LogFormat(
    name="metr",
    title="METR runs",
    files="runs.jsonl, all_runs.jsonl",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: in the order of started_at",
)
