"""Braintrust: rows of an experiment, as its API, its SQL or `Eval` give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.read import _exports
from trialframe.read._presets import TableFormat
from trialframe.read._take import Take, as_text, clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from trialframe.read._log import Log

Row = dict[str, Any]

FIELDS = (
    Take(column="config", path="", note="experiment_name or experiment_id; else the file's name"),
    Take(column="case", path="", note="origin.id or dataset_record_id; without it the input"),
    Take(column="passed", path="", note="the score is 1, or at least the threshold; null unscored"),
    Take(column="score", path="", note="scores.NAME"),
    Take(column="outcome", path="", note="error where error is set"),
    Take(column="error", path="error", made=clipped),
    Take(column="tokens_in", path="", note="metrics.prompt_tokens, of all spans if they are there"),
    Take(column="tokens_out", path="", note="metrics.completion_tokens, of all spans"),
    Take(column="cost_uusd", path="", factor=1e6, note="metrics.estimated_cost, of all spans"),
    Take(column="duration_ms", path="", note="metrics.end minus metrics.start"),
    Take(column="started_at", path="", note="metrics.start, or created"),
    Take(column="model", path="metadata.model"),
    Take(column="trace_id", path="id"),
)

SPENT = {
    "tokens_in": "prompt_tokens",
    "tokens_out": "completion_tokens",
    "cost_uusd": "estimated_cost",
}


def recognise(schema: pl.Schema) -> bool:
    """Inputs with scores, and what only an experiment has beside them."""
    scores = "scores" in schema or any(name.startswith("scores.") for name in schema)
    marks = {"origin", "root_span_id", "span_attributes", "experiment_id", "dataset_record_id"}
    nested = any(name.partition(".")[0] in marks for name in schema)
    return scores and "input" in schema and (nested or schema.keys() >= {"output", "expected"})


def convert(frame: pl.LazyFrame, log: Log) -> pl.LazyFrame:
    """One row a root span; spans below it are what it was made of."""
    rows = _exports.rows_of(frame, lambda name: name not in {"output", "context"})
    roots = [row for row in rows if _is_root(row)]
    spent = _spent(rows)
    return _exports.trials(
        [_record(row, spent) for row in roots],
        [_exports.below(row, "scores") for row in roots],
        [take for take in FIELDS if take.column != "passed"],
        log=log,
        what="score",
    )


def _is_root(row: Row) -> bool:
    said = row.get("is_root")
    if not _exports.unknown(said):
        return str(said).lower() == "true"
    root, span = row.get("root_span_id"), row.get("span_id")
    return _exports.unknown(root) or _exports.unknown(span) or root == span


def _spent(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Tokens and cost of the spans below each root, by the id of the root."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if _is_root(row) or _exports.unknown(row.get("root_span_id")):
            continue
        total = found.setdefault(as_text(row["root_span_id"]), {})
        for name, value in _exports.below(row, "metrics").items():
            if name in SPENT.values() and isinstance(value, int | float):
                total[name] = total.get(name, 0) + value
    return found


def _record(row: Row, spent: dict[str, dict[str, float]]) -> Row:
    metrics = _exports.below(row, "metrics")
    below = spent.get(as_text(row.get("root_span_id")), {})
    origin = _exports.below(row, "origin").get("id") or _exports.first(row, "dataset_record_id")
    start = _exports.first(metrics, "start")
    metadata = _exports.below(row, "metadata")
    used = {name: metrics.get(key, below.get(key)) for name, key in SPENT.items()}
    return (
        row
        | used
        | {
            "config": _exports.first(row, "experiment_name", "experiment", "experiment_id"),
            "case": origin or _exports.named_by(row.get("input")),
            "outcome": "completed" if _exports.unknown(row.get("error")) else "error",
            "duration_ms": _exports.milliseconds(start, metrics.get("end")),
            "started_at": _exports.moment(start if start is not None else row.get("created")),
            "metadata": metadata,
            "extras": _exports.plain(metadata, "metadata"),
        }
    )


FORMAT = TableFormat(
    name="braintrust",
    title="Braintrust",
    files="rows of an experiment: API, SQL, export as JSON, or results of Eval()",
    recognise=recognise,
    convert=convert,
    fields=FIELDS,
    trial="the order of rows: trial_count repeats an input, and numbers nothing",
    metric="a name of scores",
)
