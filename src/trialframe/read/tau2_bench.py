"""tau2-bench: results of simulations, in one file or in a folder of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read import _bounded
from trialframe.read._log import NOT_THIS, Log, LogFormat, bare, label, there
from trialframe.read._outline import head_of
from trialframe.read._take import MALFORMED, Take, at, clipped, sums, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

EXACT = 1e-6
"""How far from 1 a reward may be and still be a pass, by tau2-bench's own rule."""

FOLDER = "simulations"
"""Where large runs keep a file for each simulation, beside results.json."""

INFRASTRUCTURE = "infrastructure_error"
"""The ending whose trials tau2-bench leaves out of its own metrics."""

OUTCOMES = {
    "user_stop": "completed",
    "agent_stop": "completed",
    "max_steps": "limit",
    "context_window_exceeded": "limit",
    "timeout": "timeout",
    "too_many_errors": "agent_error",
    "agent_error": "agent_error",
    "user_error": "infra_error",
    INFRASTRUCTURE: "infra_error",
    "unexpected_error": "error",
}
"""What termination_reason means; an error of the user is one of the simulated user."""

_PREFIX = re.compile(r"\[([^\]]+)\]")


def _passed(reward: Any) -> bool | None:
    return None if reward is None else abs(float(reward) - 1.0) <= EXACT


def _priced(cost: Any) -> Any:
    """A model without a price costs 0.0 in these logs."""
    return cost or None


def _family(task: Any) -> str | None:
    """The group in brackets before the id of a composed task."""
    found = _PREFIX.match(str(task))
    return found[1] if found else None


FIELDS = (
    Take(column="config", path="", note="info.agent_info: implementation/llm"),
    Take(column="case", path="", note="info.environment_info.domain_name/task_id"),
    Take(column="trial", path="trial"),
    Take(
        column="cluster",
        path="",
        note="the [prefix] of telecom ids; elsewhere the case, as tasks stand alone",
    ),
    Take(column="passed", path="reward", made=_passed, note="|reward - 1| <= 1e-6"),
    Take(
        column="score",
        path="reward",
        note=f"reward_info.reward; null after {INFRASTRUCTURE}, as in its own metrics",
    ),
    Take(column="outcome", path="termination_reason", made=words(OUTCOMES, "error")),
    Take(column="error", path="reward_info.info.note", made=clipped),
    Take(column="tokens_in", path="tokens.prompt_tokens", note="messages[].usage of the agent"),
    Take(column="tokens_out", path="tokens.completion_tokens", note="as tokens_in"),
    Take(
        column="cost_uusd",
        path="agent_cost",
        factor=1e6,
        made=_priced,
        note="0.0 stands for a model without a price and is unknown",
    ),
    Take(column="duration_ms", path="duration", factor=1e3),
    Take(column="started_at", path="start_time"),
    Take(column="seed", path="seed", note="of the trial"),
    Take(column="task", path="domain"),
    Take(column="termination_reason", path="termination_reason"),
    Take(column="user_model", path="info.user_info.llm"),
    Take(
        column="user_cost_uusd",
        path="user_cost",
        factor=1e6,
        made=_priced,
        dtype=pl.Int64,
        note="of the simulated user, not of the agent",
    ),
    Take(column="agent_args", path="info.agent_info.llm_args"),
    Take(column="retrieval", path="info.retrieval_config"),
    Take(column="git_commit", path="info.git_commit"),
)


def recognise(head: Head) -> bool:
    """Results, one simulation, or a submission to the board."""
    if head.has("info.environment_info") or head.has("info.num_trials", "info.max_steps"):
        return True
    if head.has("info.user_info", "info.agent_info"):
        return True
    if head.has("id", "task_id", "termination_reason", "agent_cost"):
        return True
    return head.has("trajectory_files", "results", "model_name", "submitting_organization")


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Results, with the simulations in the folder beside them; no submissions."""
    runs = {path.parent for path in paths if bare(path) == "results.json"}
    left = {}
    for path in paths:
        if path.name.startswith("submission") and head_of(path).has("trajectory_files"):
            left[path] = (
                "a submission holds the rates of the board and no trials; read the trajectory "
                "files that it names"
            )
        elif path.parent.name == FOLDER and path.parent.parent in runs:
            left[path] = "the results.json beside its folder holds it"
    return [path for path in paths if path not in left], left


def read(log: Log) -> pl.DataFrame:
    """One file of results with its simulations, or one simulation."""
    document = log.json()
    if not isinstance(document, dict):
        raise SourceError(f"{named(log.path)} holds {short(document)}, no results. {NOT_THIS}")
    if "termination_reason" in document:
        info = _info(log.path)
        records = [("the simulation", _record(log, document, info))]
        return log.table(records, FIELDS)
    if "info" not in document:
        raise SourceError(
            f"{named(log.path)} is a submission: it holds the rates of the board and no "
            "trials. Read the trajectory files that it names."
        )
    info = document.get("info") or {}
    inside = document.get("simulations")
    if inside:
        made = log.records(inside, "simulations", lambda _, item: _record(log, item, info))
        return log.table(made, FIELDS)
    return log.table(_from_folder(log, document, info), FIELDS)


def _info(path: Path) -> Mapping[str, Any]:
    """What is known of the run of a simulation that has a file of its own."""
    results = there(path.absolute().parent.parent / "results.json")
    if path.parent.name != FOLDER or results is None:
        return {}
    found = _bounded.document(results)
    return (found.get("info") or {}) if isinstance(found, dict) else {}


def _from_folder(
    log: Log, document: Mapping[str, Any], info: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The simulations beside results.json; what its index names and is not there is said."""
    files = log.beside(f"{FOLDER}/*.json")
    for path in files:
        place = f"{FOLDER}/{path.name}"
        try:
            yield place, _record(log, _bounded.document(path), info)
        except (*MALFORMED, OSError) as error:
            log.skip(place, str(error))
    index = document.get("simulation_index")
    stated = len(index) if isinstance(index, list | dict) else 0
    if not files and (stated or "simulations" not in document):
        raise SourceError(
            f"{named(log.path)} holds no simulations: they are in the folder {FOLDER} beside "
            "it. Keep both together."
        )
    if stated > len(files):
        log.skip(FOLDER, f"{stated - len(files):,} of {stated:,} simulations have no file.")


def _record(log: Log, item: Mapping[str, Any], info: Mapping[str, Any]) -> Mapping[str, Any]:
    agent = [at(info, f"agent_info.{name}") for name in ("implementation", "llm")]
    domain, task = at(info, "environment_info.domain_name"), item.get("task_id")
    case = str(task) if domain is None else f"{domain}/{task}"
    lost = item.get("termination_reason") == INFRASTRUCTURE
    return {
        **{name: value for name, value in item.items() if name != "messages"},
        "info": info,
        "config": "/".join(str(name) for name in agent if name) or label(log.path, ("results",)),
        "case": None if task is None else case,
        "cluster": None if task is None else _family(task) or case,
        "reward": None if lost else at(item, "reward_info.reward"),
        "tokens": _tokens(item.get("messages")),
        "domain": domain,
    }


def _tokens(messages: Any) -> dict[str, int]:
    """Tokens of the agent; the simulated user has its own."""
    own = (message for message in messages or () if message.get("role") == "assistant")
    usages = (message.get("usage") or {} for message in own)
    return sums(usages, ("prompt_tokens", "completion_tokens"))


FORMAT = LogFormat(
    name="tau2-bench",
    title="tau2-bench",
    files="*.json of data/simulations, results.json with a folder simulations",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="trial, from 0",
    select=select,
)
