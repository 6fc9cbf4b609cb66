"""Harbor: a result.json for every trial of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read._log import NOT_THIS, Log, LogFormat, bare
from trialframe.read._outline import head_of
from trialframe.read._take import Take, at, clipped, elapsed, scalars, sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

REWARD = "reward"
"""The reward that decides where a verifier gives several."""

HOLDS = {
    "AgentTimeoutError": "timeout",
    "ContextWindowExceededError": "limit",
    "ContextLengthExceededError": "limit",
    "OutputTokenExceededError": "limit",
    "OutputLengthExceededError": "limit",
    "AgentSafetyRefusalError": "refused",
    "ContentPolicyViolationError": "refused",
}
"""Exceptions after which a reward still measures the agent, by Harbor's own table."""

OTHERS = {
    "NonZeroAgentExitCodeError": "agent_error",
    "AgentSetupTimeoutError": "infra_error",
    "VerifierTimeoutError": "scorer_error",
    "RewardFileNotFoundError": "scorer_error",
    "RewardFileEmptyError": "scorer_error",
    "VerifierOutputParseError": "scorer_error",
    "AddTestsDirError": "scorer_error",
    "DownloadVerifierDirError": "scorer_error",
    "CancelledError": "cancelled",
}
"""How trials ended whose reward does not count; environment and provider failed otherwise."""

INFRASTRUCTURE = (
    *("Environment", "Sandbox", "Healthcheck", "Memory", "SSH", "GKE", "Runtime", "Api", "API"),
    *("RateLimit", "InternalServer", "ServiceUnavailable", "Network", "Timeout", "BadRequest"),
    *("Unprocessable", "Unsupported", "BudgetExceeded", "Authentication", "PermissionDenied"),
    *("NotFound", "ModelNotFound", "AgentAuthentication", "ServiceOperations", "Vercel"),
    *("Dspy", "MissingExtra", "Regrade"),
)
"""How names of exceptions of environments, providers and the harness begin."""

FIELDS = (
    Take(column="config", path="", note="agent_info.name/agent_info.model_info.name"),
    Take(column="case", path="task_name"),
    Take(
        column="score",
        path="",
        note="verifier_result.rewards; null after exceptions that leave no valid reward",
    ),
    Take(column="outcome", path="", note="from the type of the first exception"),
    Take(column="error", path="", made=clipped, note="exception_info: type and message"),
    Take(column="tokens_in", path="totals.n_input_tokens", note="with cached ones; sum of steps"),
    Take(column="tokens_out", path="totals.n_output_tokens", note="sum of steps"),
    Take(column="cost_uusd", path="totals.cost_usd", factor=1e6, note="sum of steps"),
    Take(
        column="duration_ms",
        path="clock",
        made=elapsed,
        note="finished_at - started_at, with set-up and grading",
    ),
    Take(column="started_at", path="started_at"),
    Take(column="dataset", path="source"),
    Take(column="exception", path="", note="exception_info.exception_type"),
    Take(column="tokens_cached", path="totals.n_cache_tokens", dtype=pl.Int64),
    Take(column="agent_version", path="agent_info.version"),
    Take(column="provider", path="agent_info.model_info.provider"),
    Take(column="trial_name", path="trial_name"),
    Take(column="task_checksum", path="task_checksum"),
    Take(column="job", path="", note="name of the folder of the job"),
)


def recognise(head: Head) -> bool:
    """The result of a trial, of a job, or the counts of a job alone."""
    if head.has("task_name", "trial_name", "trial_uri"):
        return True
    counts = {"n_total_trials", "n_trials", "n_completed_trials"}
    if "stats.evals" in head.keys:
        return bool(head.keys & (counts | {f"stats.{name}" for name in counts}))
    return "evals" in head.keys and bool(head.keys & counts)


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Results of trials; the result of a job counts them again."""
    jobs = {path.parent.parent for path in paths if bare(path) == "result.json"}
    left = {}
    for path in paths:
        if path.parent in jobs and not head_of(path).has("task_name"):
            left[path] = "it counts the trials of the folders beside it"
    return [path for path in paths if path not in left], left


def read(log: Log) -> pl.DataFrame:
    """One trial, or a job that holds its trials."""
    document = log.json()
    if not isinstance(document, dict):
        raise SourceError(
            f"{named(log.path)} holds {short(document)}, no result of a trial. {NOT_THIS}"
        )
    trials = [document] if "task_name" in document else document.get("trial_results")
    if not trials:
        raise SourceError(
            f"{named(log.path)} counts the trials of a job and holds none. Read the folder of "
            "the job, which has a folder with a result.json for every trial."
        )
    records = log.records(trials, "trial_results", lambda _, trial: _record(log, trial))
    return log.table(records, FIELDS, extras=_extras)


def _record(log: Log, trial: Mapping[str, Any]) -> dict[str, Any]:
    failures = list(_exceptions(trial))
    rewards = at(trial, "verifier_result.rewards") or {}
    # A trial that broke off has no reward of any name.
    name = log.chosen(rewards, "reward", default=REWARD) if rewards else None
    valid = bool(rewards) and _counts(trial, failures)
    first = failures[0] if failures else {}
    kind = first.get("exception_type")
    return {
        **trial,
        "config": _config(trial),
        "score": rewards.get(name) if valid else None,
        "outcome": _outcome(trial, kind),
        "exception": kind,
        "error": ": ".join(_words(first)),
        "totals": _totals(trial),
        "clock": (trial.get("started_at"), trial.get("finished_at")),
        "job": log.path.absolute().parent.parent.name,
    }


def _extras(trial: Mapping[str, Any]) -> dict[str, Any]:
    return scalars(at(trial, "verifier_result.rewards"), "rewards")


def _exceptions(trial: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The exception of the trial, then those of its steps."""
    for part in (trial, *_steps(trial)):
        found = part.get("exception_info")
        if isinstance(found, dict):
            yield found


def _steps(trial: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [step for step in trial.get("step_results") or () if isinstance(step, dict)]


def _counts(trial: Mapping[str, Any], failures: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a reward measures the agent: as the log says, else by the table."""
    told = trial.get("reward_valid")
    if isinstance(told, bool):
        return told
    for failure in failures:
        policy = at(failure, "policy.has_valid_reward")
        if not (policy if isinstance(policy, bool) else failure.get("exception_type") in HOLDS):
            return False
    return True


def _outcome(trial: Mapping[str, Any], kind: Any) -> str:
    if kind is None:
        return "completed" if trial.get("finished_at") or not trial.get("started_at") else "error"
    known = HOLDS.get(kind) or OTHERS.get(kind)
    return known or ("infra_error" if str(kind).startswith(INFRASTRUCTURE) else "error")


def _config(trial: Mapping[str, Any]) -> str | None:
    names = (at(trial, "agent_info.name"), at(trial, "agent_info.model_info.name"))
    return "/".join(str(name) for name in names if name) or None


def _words(failure: Mapping[str, Any]) -> list[str]:
    parts = (failure.get("exception_type"), failure.get("exception_message"))
    return [str(part) for part in parts if part]


def _totals(trial: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens and cost of the agent: of the trial, or of its steps where it has several."""
    whole = trial.get("agent_result")
    parts = [whole] if whole else [step.get("agent_result") for step in _steps(trial)]
    known = (part for part in parts if isinstance(part, dict))
    return sums(known, ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"))


FORMAT = LogFormat(
    name="harbor",
    title="Harbor",
    files="JOB/TRIAL/result.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: in the order of started_at",
    metric=f"a reward of the verifier; {REWARD} where there are several",
    select=select,
)
