"""OpenAI evals: the specification of a run, its events one a line, and the final report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, named
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trialframe.read._outline import Head

CORRECT = "correct"
"""The verdict in events of type match, and how metric= names it."""

SCORED = ("match", "metrics")
"""Types of events that hold scores."""

CAUSES = {
    "timeout": "timeout",
    "ratelimit": "infra_error",
    "connection": "infra_error",
    "unavailable": "infra_error",
    "apierror": "infra_error",
}
"""What a part of the name of an exception says."""

FIELDS = (
    Take(column="config", path="config", note="spec.completion_fns; before, the model's name"),
    Take(column="case", path="sample_id"),
    Take(column="passed", path="passed", note="data.correct of match; else the score is 1"),
    Take(column="score", path="score", note="of metrics: the value that metric= names"),
    Take(column="outcome", path="outcome", note="of a sample without score: from its error event"),
    Take(column="error", path="message", made=clipped, note="data.message of error events"),
    Take(column="tokens_in", path="prompt_tokens", note="data.usage of all sampling events"),
    Take(column="tokens_out", path="completion_tokens"),
    Take(column="tokens", path="total_tokens", dtype=pl.Int64),
    Take(column="started_at", path="created_at", note="of the first event of the sample"),
    Take(column="seed", path="seed", note="spec.run_config.seed"),
    Take(column="task", path="task", note="spec.eval_name"),
    Take(column="run_id", path="run_id"),
    Take(column="picked", path="picked"),
)


def recognise(head: Head) -> bool:
    """A line with the specification, or events."""
    if head.has("spec.eval_name", "spec.run_id") or head.has("spec.completion_fns"):
        return True
    return head.has("run_id", "event_id", "sample_id", "type", "data")


def read(log: Log) -> pl.DataFrame:
    """One run: a trial of every sample."""
    spec: Mapping[str, Any] = {}
    events: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for number, line in log.objects():
        place = f"line {number}"
        if isinstance(line.get("spec"), dict):
            spec = line["spec"]
        elif isinstance(line.get("data"), dict) and isinstance(line.get("sample_id"), str):
            events.setdefault(line["sample_id"], []).append((place, line))
        elif "final_report" not in line:
            log.skip(place, "is no event of a sample, no spec and no final_report.")
    if not events and not spec:
        raise SourceError(f"{named(log.path)} has no events. Leave it out.")
    names = [name for found in events.values() for _, event in found for name in _scores(event)]
    metric = log.chosen(names, "metric", CORRECT)
    same = _same(spec) | {"config": _config(spec) or label(log.path)}
    rows = (row for found in events.values() for row in _of_sample(found, metric))
    records = ((place, same | row) for place, row in rows)
    graded = metric not in {CORRECT, None}  # then the score makes the verdict
    return log.table(records, [take for take in FIELDS if not graded or take.column != "passed"])


def _same(spec: Mapping[str, Any]) -> dict[str, Any]:
    config = spec.get("run_config")
    seed = config.get("seed") if isinstance(config, dict) else None
    return {"task": spec.get("eval_name"), "run_id": spec.get("run_id"), "seed": seed}


def _config(spec: Mapping[str, Any]) -> str | None:
    """What answered: completion functions, in older files models."""
    names = spec.get("completion_fns") or spec.get("model_name")
    if not names and isinstance(models := spec.get("model_specs"), dict):
        found = models.get("completions_") or []
        names = [item.get("name") for item in found if isinstance(item, dict)]
    parts = names if isinstance(names, list) else [names]
    return ",".join(str(part) for part in parts if part) or None


def _scores(event: Mapping[str, Any]) -> dict[str, float | bool]:
    """The scores of an event by name."""
    if event.get("type") not in SCORED:
        return {}
    data = event["data"].items()
    if event["type"] == "match":
        data = [(CORRECT, event["data"].get("correct"))]
    return {name: value for name, value in data if isinstance(value, bool | int | float)}


def _of_sample(
    events: Sequence[tuple[str, Mapping[str, Any]]], metric: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A row for each score of a sample; one without verdict where there is none."""
    first = events[0][1]
    errors = [event["data"] for _, event in events if event.get("type") == "error"]
    message = "; ".join(str(error.get("message") or error.get("type")) for error in errors)
    row = {
        "sample_id": first["sample_id"],
        "created_at": first.get("created_at"),
        "message": message,
    } | _usage(events)
    scored = [(place, event) for place, event in events if metric in _scores(event)]
    for place, event in scored:
        value = _scores(event)[str(metric)]
        verdict = {"passed": value} if metric == CORRECT else {"score": float(value)}
        yield place, row | verdict | {"outcome": "completed", "picked": event["data"].get("picked")}
    if not scored:
        yield events[0][0], row | {"outcome": _outcome(errors[-1]) if errors else None}


def _outcome(error: Mapping[str, Any]) -> str:
    kind = str(error.get("type")).lower()
    return next((outcome for part, outcome in CAUSES.items() if part in kind), "error")


def _usage(events: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, int | None]:
    """Tokens of all sampling events; unknown where one does not say."""
    calls = [event["data"].get("usage") for _, event in events if event.get("type") == "sampling"]
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = {
        name: [call.get(name) if isinstance(call, dict) else None for call in calls]
        for name in names
    }
    return {name: _sum(values) for name, values in counts.items()}


def _sum(values: Sequence[Any]) -> int | None:
    whole = [value for value in values if type(value) is int]
    return sum(whole) if whole and len(whole) == len(values) else None


FORMAT = LogFormat(
    name="openai-evals",
    title="OpenAI evals",
    files="*.jsonl of a run",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: a run is a trial, in the order of time",
    metric="correct (of match events, the default) or a value of metrics events",
)
