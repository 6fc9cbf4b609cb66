"""Every Eval Ever: instances in the shared schema, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._log import Log, LogFormat
from trialframe.read._take import Take, clipped, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trialframe.read._outline import Head

NEEDED = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id")

CAUSES = {"timeout": "timeout", "timed out": "timeout", "refus": "refused", "limit": "limit"}
"""What a part of the text of an error says."""

FIELDS = (
    Take(column="config", path="model_id"),
    Take(column="case", path="case", note="evaluation_name/sample_id"),
    Take(column="passed", path="evaluation.is_correct", note="also where there is an error"),
    Take(column="score", path="evaluation.score"),
    Take(column="outcome", path="outcome", note="from the text of error"),
    Take(column="error", path="error", made=clipped),
    Take(column="tokens_in", path="token_usage.input_tokens"),
    Take(column="tokens_out", path="token_usage.output_tokens"),
    Take(column="duration_ms", path="duration", note="latency_ms, else generation_time_ms"),
    Take(column="task", path="evaluation_name"),
    Take(column="evaluation_id", path="evaluation_id"),
    Take(column="evaluation_result_id", path="evaluation_result_id"),
    Take(column="interaction_type", path="interaction_type"),
    Take(column="sample_hash", path="sample_hash"),
    Take(column="num_turns", path="evaluation.num_turns", dtype=pl.Int64),
)

_KEPT = frozenset(
    [*NEEDED, "evaluation_result_id", "interaction_type", "sample_hash", "evaluation", "error"]
)


def recognise(head: Head) -> bool:
    """Lines with the keys that the schema needs."""
    return head.has(*NEEDED) and head.text.lstrip().startswith("{")


def read(log: Log) -> pl.DataFrame:
    """One file of instances; where each has several results, those of one."""
    records = list(_records(log))
    results: dict[tuple[Any, ...], set[Any]] = {}
    for _, row in records:
        key = (row["model_id"], row["case"])
        results.setdefault(key, set()).add(row.get("evaluation_result_id"))
    if log.metric is not None or any(len(found) > 1 for found in results.values()):
        names = sorted({str(name) for found in results.values() for name in found if name})
        chosen = log.chosen(names, "result")
        records = [item for item in records if item[1].get("evaluation_result_id") == chosen]
    return log.table(records, FIELDS, extras=lambda row: scalars(row["metadata"], "metadata"))


def _records(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is kept of each line: transcripts are not."""
    for number, line in log.objects():
        if any(line.get(name) is None for name in NEEDED):
            log.skip(f"line {number}", f"must have {', '.join(NEEDED)}.")
            continue
        row = {name: value for name, value in line.items() if name in _KEPT}
        speed = line.get("performance")
        speed = speed if isinstance(speed, dict) else {}
        row |= {
            "case": f"{line['evaluation_name']}/{line['sample_id']}",
            "token_usage": line.get("token_usage"),
            "duration": _first(speed, "latency_ms", "generation_time_ms"),
            "outcome": _outcome(line.get("error")),
            "metadata": line.get("metadata"),
        }
        yield f"line {number}", row


def _first(values: Mapping[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _outcome(error: Any) -> str:
    text = str(error or "").lower()
    if not text:
        return "completed"
    return next((outcome for part, outcome in CAUSES.items() if part in text), "error")


FORMAT = LogFormat(
    name="every-eval-ever",
    title="Every Eval Ever",
    files="*_samples.jsonl",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: rows of an instance in their order",
    metric="an evaluation_result_id, where an instance has several",
)
