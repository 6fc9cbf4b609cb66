"""Verdicts of language models on tau2-bench simulations, beside the reward."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trialframe.read._outline import Head

VERDICTS = {"pass": True, "satisfied": True, "fail": False, "unsatisfied": False}
"""The words that the summary itself counts; others, such as satisfactory, it leaves out."""

_DOMAIN = re.compile(r"Domain: (\w+)")

FIELDS = (
    Take(column="config", path="label", note="label of the simulations"),
    Take(column="case", path="", note="domain of judge_prompt/task_id"),
    Take(
        column="trial",
        path="",
        note="order of the simulations of a task; verdicts of other judges are no trials",
    ),
    Take(column="trial_made", path="", note="true: the log numbers no trials"),
    Take(column="task", path="", note="the domain"),
    Take(column="passed", path="tau2_success", note="by the environment"),
    Take(column="score", path="tau2_reward"),
    Take(column="label", path="tau2_success", note="the environment in the place of a person"),
    Take(column="judge", path="", note="judge_verdict, where it is one of four words"),
    Take(column="judge_verdict", path="judge_verdict", note="the word as it is"),
    Take(column="judge_name", path="judge_prompt_name"),
    Take(column="judge_model", path="judge_model"),
    Take(column="judge_tokens_in", path="judge_prompt_tokens", dtype=pl.Int64),
    Take(column="judge_tokens_out", path="judge_completion_tokens", dtype=pl.Int64),
    Take(column="judge_cost_uusd", path="judge_cost_usd", factor=1e6, dtype=pl.Int64),
    Take(column="simulation_id", path="simulation_id"),
)


def recognise(head: Head) -> bool:
    """A list of judged simulations."""
    return head.has("entries[].judge_verdict", "entries[].tau2_reward", "entries[].simulation_id")


def read(log: Log) -> pl.DataFrame:
    """All verdicts of one judge."""
    seen: dict[str, int] = {}
    entries = log.json().get("entries")
    records = log.records(entries, "entries", lambda _, row: _record(row, seen))
    return log.table(records, FIELDS)


def _record(row: Mapping[str, Any], seen: dict[str, int]) -> Mapping[str, Any]:
    domain = _DOMAIN.match(str(row.get("judge_prompt")))
    task = row.get("task_id")
    case = f"{domain[1]}/{task}" if domain and task is not None else task
    key = f"{row.get('label')} {case}"
    seen[key] = seen.get(key, -1) + 1
    return {
        **row,
        "task": domain[1] if domain else None,
        "case": case,
        "trial": seen[key],
        "trial_made": True,
        "judge": VERDICTS.get(str(row.get("judge_verdict")).lower()),
    }


FORMAT = LogFormat(
    name="tau2-judge",
    title="tau2-bench judge summary",
    files="*summary*.json of a judge",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="order of the simulations of a task in the file",
)
