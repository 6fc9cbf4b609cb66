"""Langfuse: items of experiments (dataset runs) with their scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trialframe.read import _exports
from trialframe.read._presets import TableFormat
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    import polars as pl

    from trialframe.read._log import Log

FIELDS = (
    Take(column="config", path="", note="experimentName, or datasetRunName of old"),
    Take(column="case", path="", note="experimentItemId, or datasetItemId of old"),
    Take(column="passed", path="", note="the score is true, yes, 1, or at least the threshold"),
    Take(column="score", path="scores[].value", note="of the last score of that name"),
    Take(column="outcome", path="", note="error where level is ERROR"),
    Take(column="error", path="status_message", made=clipped),
    Take(column="tokens_in", path="", note="usage.input, where the export has it"),
    Take(column="tokens_out", path="", note="usage.output, where the export has it"),
    Take(column="cost_uusd", path="total_cost", factor=1e6, made=_exports.grade),
    Take(column="duration_ms", path="", note="endTime minus startTime"),
    Take(column="started_at", path="", note="startTime"),
    Take(column="trace_id", path="trace_id"),
    Take(column="environment", path="environment"),
)


def _snake(name: str) -> str:
    """Names of the API and of its Python models alike."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


ITEMS = {"experiment_item_id", "dataset_item_id"}
RUNS = {"experiment_name", "dataset_run_name", "experiment_id", "dataset_run_id", "run_name"}


def recognise(schema: pl.Schema) -> bool:
    """Items of experiments with the run that they belong to."""
    names = {_snake(name) for name in schema}
    scores = any(name.partition(".")[0] in {"scores", "score"} for name in names)
    return bool(names & ITEMS) and bool(names & RUNS) and scores


def convert(frame: pl.LazyFrame, log: Log) -> pl.LazyFrame:
    """One row an item of an experiment."""
    left_out = {"output", "expectedOutput", "expected_output"}
    rows = [
        {name if "." in name else _snake(name): value for name, value in row.items()}
        for row in _exports.rows_of(frame, lambda name: name not in left_out)
    ]
    return _exports.trials(
        [_record(row) for row in rows],
        [_scores(row) for row in rows],
        [take for take in FIELDS if take.column != "passed"],
        log=log,
        what="score",
    )


def _scores(row: dict[str, Any]) -> dict[str, Any]:
    """Scores by name: a list as the API gives it, or columns as tables have them."""
    listed = {
        item["name"]: _value({_snake(key): value for key, value in item.items()})
        for item in _exports.items(row.get("scores"))
        if item.get("name")
    }
    return listed | _exports.below(row, "scores") | _exports.below(row, "score")


def _value(score: dict[str, Any]) -> Any:
    """What a score says; of old, categories and truth values were numbers beside their text."""
    if score.get("data_type") == "BOOLEAN" or _exports.unknown(score.get("value")):
        text = score.get("string_value")
        return score.get("value") if _exports.unknown(text) else text
    if score.get("data_type") == "CATEGORICAL":
        return _exports.first(score, "string_value", "value")
    return score["value"]


def _record(row: dict[str, Any]) -> dict[str, Any]:
    usage = _exports.below(row, "usage")
    metadata = _exports.below(row, "experiment_item_metadata") or _exports.below(row, "metadata")
    start, end = row.get("start_time"), row.get("end_time")
    failed = str(row.get("level")).upper() == "ERROR"
    return row | {
        "config": _exports.first(
            row,
            "experiment_name",
            "dataset_run_name",
            "run_name",
            "experiment_id",
            "dataset_run_id",
        ),
        "case": _exports.first(row, "experiment_item_id", "dataset_item_id"),
        "outcome": "error" if failed else "completed",
        "tokens_in": _exports.first(usage, "input", "promptTokens"),
        "tokens_out": _exports.first(usage, "output", "completionTokens"),
        "duration_ms": _exports.milliseconds(start, end),
        "started_at": _exports.moment(start),
        "extras": _exports.plain(metadata, "metadata"),
    }


FORMAT = TableFormat(
    name="langfuse",
    title="Langfuse",
    files="experiment items of the API, as a list, JSON lines or a frame",
    recognise=recognise,
    convert=convert,
    fields=FIELDS,
    trial="the order of rows: an item is there once a run, and several runs are several configs",
    metric="a name of scores",
)
