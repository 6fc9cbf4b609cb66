"""LangSmith: experiments as the frames of its client, or runs with their feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.read import _exports
from trialframe.read._presets import TableFormat
from trialframe.read._take import Take, clipped

if TYPE_CHECKING:
    import polars as pl

    from trialframe.read._log import Log

FIELDS = (
    Take(column="config", path="", note="session_name or session_id; else the name of the file"),
    Take(column="case", path="", note="example_id or reference_example_id; without it the inputs"),
    Take(column="passed", path="", note="the feedback: true, yes, 1, or at least the threshold"),
    Take(column="score", path="", note="feedback.KEY, or feedback_stats.KEY.avg"),
    Take(column="outcome", path="", note="error where error is set; the feedback still counts"),
    Take(column="error", path="error", made=clipped),
    Take(column="duration_ms", path="", note="execution_time in seconds, or end minus start"),
    Take(column="started_at", path="start_time", made=_exports.moment),
    Take(column="tokens_in", path="prompt_tokens"),
    Take(column="tokens_out", path="completion_tokens"),
    Take(column="cost_uusd", path="total_cost", factor=1e6, made=_exports.grade),
    Take(column="trace_id", path="id"),
)


def recognise(schema: pl.Schema) -> bool:
    """Frames of `to_pandas` and `get_test_results`, or runs of `list_runs`."""
    feedback = any(name.startswith("feedback.") for name in schema)
    return (feedback and schema.keys() >= {"execution_time", "id"}) or (
        schema.keys() >= {"reference_example_id", "feedback_stats"}
    )


def convert(frame: pl.LazyFrame, log: Log) -> pl.LazyFrame:
    """One row a run."""
    rows = _exports.rows_of(frame, lambda name: not name.startswith("outputs"))
    records = [_record(row) for row in rows]
    return _exports.trials(
        records,
        [_feedback(row) for row in rows],
        [take for take in FIELDS if take.column != "passed"],
        log=log,
        what="feedback",
    )


def _feedback(row: dict[str, Any]) -> dict[str, Any]:
    stats = {
        name: value.get("avg") if isinstance(value, dict) else value
        for name, value in _exports.below(row, "feedback_stats").items()
    }
    return stats | _exports.below(row, "feedback")


def _record(row: dict[str, Any]) -> dict[str, Any]:
    inputs = _exports.below(row, "inputs") | _exports.below(row, "input")
    extra = row.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    seconds = _exports.first(row, "execution_time", "latency")
    example = _exports.first(row, "example_id", "reference_example_id")
    session = _exports.first(row, "session_name", "session_id", "experiment_name")
    failed = not _exports.unknown(row.get("error"))
    return row | {
        "config": session,
        "case": example if example is not None else _exports.named_by(inputs),
        "outcome": "error" if failed else "completed",
        "duration_ms": _exports.milliseconds(row.get("start_time"), row.get("end_time"))
        if seconds is None
        else float(seconds) * 1e3,
        "extras": _exports.plain(inputs, "inputs")
        | _exports.plain(_exports.below(row, "reference"), "reference")
        | _exports.plain(metadata or {}, "metadata"),
    }


FORMAT = TableFormat(
    name="langsmith",
    title="LangSmith",
    files="frames of evaluate(...).to_pandas(), get_test_results() or list_runs()",
    recognise=recognise,
    convert=convert,
    fields=FIELDS,
    trial="the order of rows: repetitions are not numbered",
    metric="a key of feedback",
)
