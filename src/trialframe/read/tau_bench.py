"""tau-bench: a JSON list of episodes with a reward each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat, label
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from trialframe.read._outline import Head

EXACT = 1e-6
"""How far from 1 a reward may be and still be a pass, by tau-bench's own rule."""


_NAME = re.compile(
    r"(?P<agent>.+)_range_-?\d+--?\d+_(?P<user>user-.+)_(?P<run>\d+(?:[_-]\d+)*)(?:\..*)?"
)
"""Names that tau-bench gives: strategy, model, temperature, range, simulated user, time."""


def _passed(reward: Any) -> bool | None:
    return None if reward is None else abs(float(reward) - 1.0) <= EXACT


FIELDS = (
    Take(column="config", path="", note="the name of the file, without the range and the time"),
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
    Take(column="run", path="", note="time in the name of the file"),
)


def recognise(head: Head) -> bool:
    """A list of rewards with what they were given for; a long `traj` may hide what follows it."""
    if not head.has("[].task_id", "[].reward", "[].info"):
        return False
    return bool(head.keys & {"[].traj", "[].trial", "[].info.task", "[].info.error"})


def read(log: Log) -> pl.DataFrame:
    """One file of episodes."""
    system = _system(log.path)
    records = log.records(log.json(), "episodes", lambda _, row: _record(row, system))
    return log.table(records, FIELDS)


def _system(path: Path) -> dict[str, Any]:
    """What the name of a file tells; the parts of one run, and repeated runs, are one system."""
    name = label(path)
    found = _NAME.fullmatch(name)
    if not found:
        return {"config": name}
    return {"config": f"{found['agent']}_{found['user']}", "run": found["run"]}


def _record(row: Mapping[str, Any], system: Mapping[str, Any]) -> dict[str, Any]:
    info = row.get("info") or {}
    kept = {"error": info.get("error"), "user_cost": info.get("user_cost")}
    ended = {"outcome": "error" if kept["error"] else "completed"}
    return {**system, **ended, "[]": {**row, "info": kept}}


FORMAT = LogFormat(
    name="tau-bench",
    title="tau-bench",
    files="*.json of historical_trajectories or results",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="trial, from 0",
)
