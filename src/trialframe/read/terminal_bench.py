"""Terminal-Bench: results.json of a run, or of a single trial."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, listed, named, short
from trialframe.read import _bounded
from trialframe.read._log import NOT_THIS, Log, LogFormat, bare, label, there
from trialframe.read._take import Take, at, elapsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from trialframe.read._outline import Head

METADATA = "run_metadata.json"

OUTCOMES = {
    "unset": "completed",
    "none": "completed",
    "agent_timeout": "timeout",
    "test_timeout": "scorer_error",
    "parse_error": "scorer_error",
    "unknown_agent_error": "agent_error",
    "fatal_llm_parse_error": "agent_error",
    "context_length_exceeded": "limit",
    "output_length_exceeded": "limit",
    "agent_installation_failed": "infra_error",
    "unknown": "error",
}
"""What failure_mode means."""

_ATTEMPT = re.compile(r"\.(\d+)-of-(\d+)(?:\.(.+))?$")


def _known(tokens: Any) -> Any:
    """The harness writes 0 where an agent reports no tokens."""
    return tokens or None


FIELDS = (
    Take(
        column="config",
        path="",
        note=f"agent_name/model_name of {METADATA}, else the id of the run",
    ),
    Take(column="case", path="task_id"),
    Take(
        column="trial",
        path="",
        note="i of trial_name task.i-of-n.run, from 1; 1-of-1 says nothing and is left out",
    ),
    Take(column="passed", path="is_resolved", note="null is not scored; boards count a failure"),
    Take(column="outcome", path="", note="from failure_mode"),
    Take(column="tests_passed", path="", note="parser_results"),
    Take(column="tests_total", path="", note="parser_results"),
    Take(column="tokens_in", path="total_input_tokens", made=_known, note="0 is unknown"),
    Take(column="tokens_out", path="total_output_tokens", made=_known, note="0 is unknown"),
    Take(
        column="duration_ms",
        path="clock",
        made=elapsed,
        note="trial_ended_at - trial_started_at, with set-up and tests",
    ),
    Take(column="started_at", path="trial_started_at"),
    Take(column="failure_mode", path="failure_mode"),
    Take(column="run", path="", note=f"run_id of {METADATA}, else from trial_name or the folder"),
    Take(column="dataset", path="", note=f"dataset_name and dataset_version of {METADATA}"),
)


def recognise(head: Head) -> bool:
    """A run, a trial, or the metadata of a run."""
    if head.has("task_id", "trial_name", "is_resolved") or head.has("run_id", "dataset_name"):
        return head.has("failure_mode") or head.has("output_path", "agent_name")
    if head.has("results[].trial_name", "results[].is_resolved"):
        return True
    return head.has("results", "n_resolved", "n_unresolved", "accuracy")


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Runs, and trials of runs that left no results of their own."""
    runs = {path.parent for path in paths if bare(path) != METADATA and not _of_trial(path)}
    left = {}
    for path in paths:
        if bare(path) == METADATA:
            left[path] = "it describes a run and holds no trials; read the results.json beside it"
        elif _of_trial(path) and path.parents[2] in runs:
            left[path] = "the results.json of its run holds it"
    return [path for path in paths if path not in left], left


def _of_trial(path: Path) -> bool:
    """Whether the file is where the harness puts that of a trial: RUN/TASK/TASK.1-of-5.RUN/."""
    folder, task = path.parent.name, path.parent.parent.name
    rest = folder.removeprefix(task) if task else ""
    return rest != folder and _ATTEMPT.match(rest) is not None


def read(log: Log) -> pl.DataFrame:
    """One run or one trial."""
    document = log.json()
    if not isinstance(document, dict):
        raise SourceError(f"{named(log.path)} holds {short(document)}, no results. {NOT_THIS}")
    if "results" not in document and "task_id" not in document:
        raise SourceError(
            f"{named(log.path)} describes a run and holds no trials. Read the results.json "
            "beside it."
        )
    trials, folder = document.get("results"), log.path.absolute().parent
    if "results" not in document:
        trials, folder = [document], folder.parent.parent
    else:
        _refuse_partial(log, trials)
    run = _metadata(there(folder / METADATA))
    records = log.records(trials, "results", lambda _, trial: _record(log, trial, run))
    return log.table(records, FIELDS)


def _refuse_partial(log: Log, trials: Any) -> None:
    """Say when trials of a run that broke off are in their own files only."""
    names = {at(trial, "trial_name") for trial in trials} if isinstance(trials, list) else set()
    files = [path for path in log.beside("*/*/results.json") if _of_trial(path)]
    lost = [path.parent.name for path in files if path.parent.name not in names]
    if lost:
        log.skip(
            "results",
            f"{len(lost):,} trials have a results.json of their own and are not in this one: "
            f"{listed(lost, 3)}. The run broke off: leave this file out and read theirs.",
        )


def _metadata(path: Path | None) -> Mapping[str, Any]:
    """What is known of the run."""
    found = _bounded.document(path) if path else {}
    return found if isinstance(found, dict) else {}


def _record(log: Log, trial: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    index, count, tail = _attempt(trial.get("trial_name"))
    first, slash, _ = str(trial.get("recording_path") or "").partition("/")
    own = run.get("run_id") or tail or (first if slash else "") or label(log.path, ("results",))
    tests = trial.get("parser_results")
    outcome = _outcome(trial.get("failure_mode"), trial.get("is_resolved"))
    return {
        **trial,
        "config": _joined(run, "/", "agent_name", "model_name") or own,
        "trial": index if count > 1 else None,
        "outcome": outcome,
        "tests_passed": None if tests is None else sum(r == "passed" for r in tests.values()),
        "tests_total": None if tests is None else len(tests),
        "clock": (trial.get("trial_started_at"), trial.get("trial_ended_at")),
        "run": own,
        "dataset": _joined(run, "==", "dataset_name", "dataset_version"),
    }


def _joined(run: Mapping[str, Any], sign: str, *names: str) -> str | None:
    return sign.join(str(run[name]) for name in names if run.get(name)) or None


def _outcome(mode: Any, verdict: Any) -> str | None:
    """How the trial ended; without a verdict it did not end well, whatever the log says."""
    if mode is None:
        return None
    known = OUTCOMES.get(mode, "error")
    return "error" if known == "completed" and verdict is None else known


def _attempt(name: Any) -> tuple[int | None, int, str]:
    """Number of the attempt, how many there are, and the id of the run."""
    found = _ATTEMPT.search(str(name or ""))
    return (int(found[1]), int(found[2]), found[3] or "") if found else (None, 0, "")


FORMAT = LogFormat(
    name="terminal-bench",
    title="Terminal-Bench",
    files="RUN/results.json beside run_metadata.json, RUN/TASK/TRIAL/results.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="i of i-of-n in trial_name, from 1; none for 1-of-1",
    select=select,
)
