"""EvalPlus: for every task a list of samples, with base and added tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, named
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._take import Take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from trialframe.read._outline import Head

ENDING = re.compile(r"[._-]?eval_results$")

STATUS = {
    "pass": "pass",
    "fail": "fail",
    "timeout": "timeout",
    "success": "pass",
    "failed": "fail",
    "timed out": "timeout",
}
"""Words for a status, the last three of the first versions."""

FIELDS = (
    Take(column="config", path="", note="the file's name, or its folder's"),
    Take(column="case", path="", note="the keys of eval"),
    Take(column="passed", path="", note="plus: base_status and plus_status are pass"),
    Take(column="outcome", path="", note="timeout where the status that decides is"),
    Take(column="task", path="", note="what stands before / in the case"),
    Take(column="base_status", path="base_status"),
    Take(column="plus_status", path="plus_status"),
    Take(column="dataset_hash", path="dataset_hash", note="hash"),
)


def recognise(head: Head) -> bool:
    """A document with `eval`, in which each task has statuses."""
    if "eval" not in head.keys:
        return False
    inside = [key for key in head.keys if key.startswith("eval.")]
    if any(key.endswith(("[].base_status", ".nfiles")) for key in inside):
        return True
    return head.has("date", "hash") and "eval_results" in head.path.name


def read(log: Log) -> pl.DataFrame:
    """All samples of a file."""
    document = log.json()
    tasks = document.get("eval") if isinstance(document, dict) else None
    if not isinstance(tasks, dict):
        raise SourceError(
            f"{named(log.path)} has no eval, a list of samples for each task. It was cut, or "
            "is no file of EvalPlus: leave it out."
        )
    samples = list(_samples(log, tasks))
    plus = any(sample["plus_status"] is not None for _, sample in samples)
    metric = log.chosen(
        ["plus", "base"] if plus else ["base"], "metric", "plus" if plus else "base"
    )
    config = ENDING.sub("", label(log.path)) or log.path.absolute().parent.name
    same = {"config": config, "dataset_hash": document.get("hash")}
    records = ((place, same | sample | _verdict(sample, metric)) for place, sample in samples)
    return log.table(records, FIELDS)


def _samples(log: Log, tasks: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every sample of every task: its place, and what each kind of tests says of it."""
    for task, results in tasks.items():
        where = f"eval.{task}"
        suite = task.rpartition("/")[0] or None
        rows = _of_first_versions(results) if isinstance(results, dict) else results
        for number, row in log.items(rows, where):
            place = f"{where}[{number}]"
            status = {name: row.get(f"{name}_status") for name in ("base", "plus")}
            odd = [word for word in status.values() if word is not None and str(word) not in STATUS]
            if odd or status["base"] is None:
                log.skip(place, f"base_status and plus_status must be in {', '.join(STATUS)}.")
                continue
            words = {f"{name}_status": STATUS.get(str(word)) for name, word in status.items()}
            yield place, {"case": task, "task": suite, **words}


def _of_first_versions(results: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Lists of [status, details], one for each kind of tests."""
    base, plus = results.get("base"), results.get("plus") or []
    if not isinstance(base, list) or (plus and len(plus) != len(base)):
        raise SourceError("base and plus must be lists of the same length. Leave the file out.")
    pairs = [(one, plus[number] if plus else None) for number, one in enumerate(base)]
    return [{"base_status": one[0], "plus_status": two and two[0]} for one, two in pairs]


def _verdict(sample: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    """The tool's own rule: plus needs both kinds of tests. What was not run decides nothing."""
    base, plus = sample["base_status"], sample["plus_status"]
    decides = plus if metric == "plus" and base == "pass" else base
    if decides is None:
        return {"passed": None, "outcome": None}
    outcome = "timeout" if decides == "timeout" else "completed"
    return {"passed": decides == "pass", "outcome": outcome}


FORMAT = LogFormat(
    name="evalplus",
    title="EvalPlus",
    files="*_eval_results.json",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: samples of a task in their order",
    metric="plus (base and added tests; the default where they were run) or base",
)
