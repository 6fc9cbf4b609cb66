"""SWE-bench: reports of the harness, results of the boards, and SWE-bench Pro."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named, short
from trialframe.read._log import NOT_THIS, Log, LogFormat, bare, label
from trialframe.read._take import Take, at, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from trialframe.read._outline import Head

log_of_package = logging.getLogger("trialframe")

GENERIC = ("report", "results", "eval_results", "per_instance_details", "preds")
"""Names of files that say nothing about the system."""

_ID = re.compile(r"[\w.-]+__[\w.-]+-\w")
_PRO = re.compile(r"(?:instance_)?(.+?)-[0-9a-f]{40}(?:-v.*)?")
_LISTED = re.compile(r'"(?:resolved|no_generation)"\s*:\s*\[')
_MAP = re.compile(r'\s*\{\s*"(?:instance_)?[\w.-]+__[\w.-]+-\w[^"]*"\s*:\s*(?:true|false|null)\b')


def repository(case: Any) -> str:
    """The repository of an instance: what is before its number or its commit, else its id."""
    whole = _PRO.fullmatch(str(case))
    name = whole[1] if whole else str(case).removeprefix("instance_").rpartition("-")[0]
    return name.replace("__", "/", 1) or str(case)


FIELDS = (
    Take(
        column="config",
        path="",
        note="the model, from the file's or the folder's name; on boards the name of the folder",
    ),
    Take(column="case", path="", note="instance_id"),
    Take(column="cluster", path="case", made=repository, note="the repository, from instance_id"),
    Take(
        column="passed",
        path="",
        note="resolved; an empty patch fails, error_ids and incomplete_ids are not scored",
    ),
    Take(column="outcome", path="", note="from the list of ids that names the instance"),
    Take(column="error", path="failure_reason", made=clipped, note="failure_reasons, if any"),
    Take(column="tests_passed", path="", note="FAIL_TO_PASS and PASS_TO_PASS"),
    Take(column="tests_total", path="", note="FAIL_TO_PASS and PASS_TO_PASS"),
    Take(column="cost_uusd", path="cost", factor=1e6),
    Take(column="api_calls", path="api_calls", dtype=pl.Int64),
    Take(column="task", path="board", note="name of the board that lists the system"),
    Take(column="run", path="run", note="run id, from the name of the file or the folder"),
    Take(column="name", path="name", note="name of the system on the board"),
)


def recognise(head: Head) -> bool:
    """A report with lists of ids, a board with details, or a map from instances to verdicts."""
    if head.has("resolved_ids") and "completed_instances" in head.keys:
        return True
    if "resolved" in head.keys and head.keys & {"no_generation", "no_logs", "generated"}:
        return bool(_LISTED.search(head.text))
    if "per_instance_details" in head.keys or "leaderboards[].results[].folder" in head.keys:
        return True
    if _MAP.match(head.text):
        return True
    tops = {key.rpartition(".")[0] for key in head.keys if key.endswith(".resolved")}
    return any(_ID.match(top) and top in head.keys for top in tops)


def select(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Reports of single instances are in the report of their run, where there is one."""
    names = {bare(path) for path in paths}
    left = {}
    for path in paths:
        if bare(path) == "report.json" and len(path.parts) > 3:
            run, model = path.parts[-4], path.parts[-3]
            if f"{model}.{run}.json" in names:
                left[path] = f"{model}.{run}.json holds it"
    return [path for path in paths if path not in left], left


def identity(path: Path) -> object:
    """Model, run and instance: reports of two models may be the same to the byte."""
    case = path.absolute().parent.name if bare(path) == "report.json" else ""
    return *_system(path, report=False).values(), case


def read(log: Log) -> pl.DataFrame:
    """One report, board or map."""
    document = log.json()
    if not isinstance(document, dict):
        raise SourceError(f"{named(log.path)} holds {short(document)}, no report. {NOT_THIS}")
    if "leaderboards" in document:
        return log.table(_boards(log, document["leaderboards"]), FIELDS)
    system = _system(log.path, report="resolved_ids" in document)
    if "resolved_ids" in document:
        return log.table(_report(document, system), FIELDS)
    if isinstance(document.get("resolved"), list):
        return log.table(_listed(document, system), FIELDS)
    if isinstance(document.get("per_instance_details"), dict):
        name = document.get("folder") or document.get("name")
        system |= {"name": document.get("name")} | ({"config": name} if name else {})
        document = document["per_instance_details"]
    return log.table(_details(log, document, system), FIELDS)


def _system(path: Path, *, report: bool) -> dict[str, Any]:
    """Model and run, as the harness puts them into the names of files and folders."""
    name = label(path, GENERIC)
    folders = path.absolute().parts
    if bare(path) == "report.json" and len(folders) > 3 and _ID.match(path.absolute().parent.name):
        return {"config": folders[-3], "run": folders[-4]}
    if bare(path) == "results.json" and path.absolute().parent.name == "results":
        return {"config": folders[-3]}
    model, _, run = name.rpartition(".")
    # gpt-4.1 is one name; gpt-4.1.first is a model and a run.
    if report and name == label(path) and model and not run[:1].isdigit():
        return {"config": model, "run": run}
    return {"config": name}


def _report(document: Mapping[str, Any], system: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The report of a run, whose lists of ids say how each instance went."""
    ids = {name: _ids(document, name) for name in document if name.endswith("_ids")}
    meant = (
        ("resolved_ids", True, "completed"),
        ("unresolved_ids", False, "completed"),
        ("empty_patch_ids", False, "agent_error"),
        ("error_ids", None, "error"),
        ("completed_ids", False, "completed"),  # old reports list no unresolved ids
        ("submitted_ids", None, "error"),
        ("incomplete_ids", None, "absent"),
    )
    odd = {"infra_failure_ids": "infra_error", "ambiguous_failure_ids": "error"}
    reasons = document.get("failure_reasons") or {}
    seen: set[str] = set()
    for name, passed, outcome in meant:
        for case in ids.get(name, ()):
            if case in seen:
                continue
            seen.add(case)
            special = [word for key, word in odd.items() if case in ids.get(key, ())]
            verdict = {"passed": passed, "outcome": (special or [outcome])[0]}
            yield name, {**system, **verdict, "case": case, "failure_reason": reasons.get(case)}


def _ids(document: Mapping[str, Any], name: str) -> dict[str, None]:
    """A list of ids, in its order."""
    values = document[name] or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SourceError(f"{name} is {short(values)} where a list of instance ids is needed.")
    return dict.fromkeys(values)


def _listed(document: Mapping[str, Any], system: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Results of the experiments repository: what is not in `resolved` failed, if it is listed."""
    meant = (
        ("resolved", True, "completed"),
        ("test_timeout", False, "timeout"),
        ("no_generation", False, "agent_error"),
        ("no_apply", False, "agent_error"),
        ("no_logs", None, "infra_error"),
        ("install_fail", None, "infra_error"),
        ("reset_failed", None, "infra_error"),
        ("test_errored", False, "completed"),
        ("applied", False, "completed"),
        ("with_logs", False, "completed"),
        ("generated", False, "completed"),
    )
    seen: set[str] = set()
    for name, passed, outcome in meant:
        for case in _ids(document, name) if name in document else ():
            if case not in seen:
                seen.add(case)
                yield name, {**system, "case": case, "passed": passed, "outcome": outcome}


def _boards(log: Log, boards: Any) -> Iterator[tuple[str, Any]]:
    """Systems of the boards that list their instances; a system on two boards counts once."""
    done: dict[str, list[Any]] = {}
    without = 0
    for _, board in log.items(boards, "leaderboards"):
        for number, system in log.items(board.get("results"), "leaderboards[].results"):
            details = system.get("per_instance_details")
            name = system.get("folder") or system.get("name") or f"system {number}"
            if not isinstance(details, dict) or not details:
                without += 1
            elif details not in done.setdefault(name, []):
                done[name].append(details)
                same = {"config": name, "board": board.get("name"), "name": system.get("name")}
                yield from _details(log, details, same)
    if without:
        log_of_package.warning(
            "%s: %d systems list no instances and were left out", named(log.path), without
        )
    if not done:
        raise SourceError(
            f"{named(log.path)} has no per_instance_details: it holds rates, no trials. Read "
            "the results of single systems instead."
        )


def _details(
    log: Log, details: Mapping[str, Any], system: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """A map from instance to a verdict, or to a dict that holds one."""
    for case, detail in details.items():
        if isinstance(detail, dict) and isinstance(detail.get("resolved"), bool | None):
            yield case, {**detail, **system, "case": case, **_graded(detail)}
        elif isinstance(detail, bool | None):
            outcome = "completed" if detail is not None else "error"
            yield case, {**system, "case": case, "passed": detail, "outcome": outcome}
        else:
            log.skip(short(case), f"is {short(detail)} where a verdict is needed.")


def _graded(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Verdict, outcome and tests of one instance's report."""
    passed = detail.get("resolved")
    outcome = "completed" if passed is not None else "error"
    if detail.get("patch_is_None") or detail.get("patch_exists") is False:
        outcome = "agent_error"
    elif detail.get("infra_failure"):
        outcome = "infra_error"
    elif detail.get("patch_successfully_applied") is False:
        outcome = "error"
    tests = detail.get("tests_status")
    good, bad = (
        sum(len(at(tests, f"{kind}.{side}") or ()) for kind in ("FAIL_TO_PASS", "PASS_TO_PASS"))
        for side in ("success", "failure")
    )
    counted = {"tests_passed": good, "tests_total": good + bad} if isinstance(tests, dict) else {}
    reason = detail.get("infra_failure_reason")
    return {"passed": passed, "outcome": outcome, "failure_reason": reason, **counted}


FORMAT = LogFormat(
    name="swe-bench",
    title="SWE-bench",
    files="MODEL.RUN.json, report.json, results.json, leaderboards.json, eval_results.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none; files of one model count on",
    select=select,
    identity=identity,
)
