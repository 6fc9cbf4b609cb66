"""tau-bench: a JSON list of episodes with a reward each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat, Take, clipped

if TYPE_CHECKING:
    from trialframe.read._outline import Head

EXACT = 1e-6
"""How far from 1 a reward may be and still be a pass, by tau-bench's own rule."""


def _passed(reward: Any) -> bool | None:
    return None if reward is None else abs(float(reward) - 1.0) <= EXACT


FIELDS = (
    Take(column="config", path="", note="the name of the file, which holds model and strategy"),
    Take(column="case", path="[].task_id"),
    Take(column="trial", path="[].trial"),
    Take(column="passed", path="[].reward", made=_passed, note="|reward - 1| <= 1e-6"),
    Take(column="score", path="[].reward"),
    Take(column="outcome", path="", note="error where info.error is set; counts as a failure"),
    Take(column="error", path="[].info.error", made=clipped),
    Take(
        column="user_cost_uusd",
        path="[].info.user_cost",
        factor=1e6,
        dtype=pl.Int64,
        note="of the simulated user, not of the agent",
    ),
)


def recognise(head: Head) -> bool:
    """A list whose rows have these keys."""
    return head.has("[].task_id", "[].reward", "[].info") and "[].trial" in head.keys


def read(log: Log) -> pl.DataFrame:
    """One file of episodes."""
    config = log.path.name.partition(".json")[0]
    records = (
        (
            f"row {number}",
            {
                "[]": row,
                "config": config,
                "outcome": "error" if (row.get("info") or {}).get("error") else "completed",
            },
        )
        for number, row in log.items(log.json(), "the document")
    )
    return log.table(records, FIELDS)


FORMAT = LogFormat(
    name="tau-bench",
    title="tau-bench",
    files="*.json of historical_trajectories or results",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="trial, from 0",
)
