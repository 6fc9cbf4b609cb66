"""MLflow 3: result_df of an evaluation, or traces with their assessments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.read import _exports
from trialframe.read._presets import TableFormat
from trialframe.read._take import Take, as_text, clipped

if TYPE_CHECKING:
    import polars as pl

    from trialframe.read._log import Log

Row = dict[str, Any]

VALUE = "/value"
"""Ending of the columns of scorers in result_df; expectations have it too."""

OUTCOMES = {"OK": "completed", "ERROR": "error", "IN_PROGRESS": "cancelled"}

FIELDS = (
    Take(column="config", path="", note="trace_metadata: mlflow.modelId, or mlflow.sourceRun"),
    Take(column="case", path="", note="client_request_id, or the request"),
    Take(column="passed", path="", note="the value is yes, true, 1, or at least the threshold"),
    Take(
        column="score",
        path="assessments[].feedback.value",
        note="the newest by a judge or code, else NAME/value; null where the scorer has an error",
    ),
    Take(column="label", path="", note="the value of the same name that a human gave"),
    Take(column="outcome", path="", note="from state, and scorer_error for an error of the scorer"),
    Take(column="error", path="", made=clipped, note="of the scorer that decides"),
    Take(column="tokens_in", path="", note="trace_metadata: mlflow.trace.tokenUsage"),
    Take(column="tokens_out", path="", note="trace_metadata: mlflow.trace.tokenUsage"),
    Take(column="cost_uusd", path="", factor=1e6, note="trace_metadata: mlflow.trace.cost"),
    Take(column="duration_ms", path="execution_duration"),
    Take(column="started_at", path="", note="request_time"),
    Take(column="source_run", path="", note="trace_metadata: mlflow.sourceRun"),
    Take(column="trace_id", path="trace_id"),
)


def recognise(schema: pl.Schema) -> bool:
    """The columns of traces."""
    known = schema.keys() >= {"trace_id", "state", "execution_duration"}
    return known and ("assessments" in schema or any(name.endswith(VALUE) for name in schema))


def convert(frame: pl.LazyFrame, log: Log) -> pl.LazyFrame:
    """One row a trace."""
    rows = _exports.rows_of(frame, lambda name: name not in {"trace", "spans", "response"})
    given = [_assessments(row) for row in rows]
    scores = [{name: item["value"] for name, item in found.items()} for found in given]
    records = [
        _record(row, found, log.metric or _only(scores))
        for row, found in zip(rows, given, strict=True)
    ]
    return _exports.trials(
        records,
        scores,
        [take for take in FIELDS if take.column != "passed"],
        log=log,
        what="assessment",
    )


def _only(scores: list[Row]) -> str | None:
    names = {name for found in scores for name in found}
    return next(iter(names)) if len(names) == 1 else None


def _assessments(row: Row) -> dict[str, Row]:
    """Feedback by name: value, error and what a human said; the newest of each counts."""
    found: dict[str, Row] = {}
    expected = set()
    for item in sorted(
        _exports.items(row.get("assessments")), key=lambda item: as_text(item.get("create_time"))
    ):
        name = item.get("assessment_name") or item.get("name")
        feedback = item.get("feedback")
        if isinstance(item.get("expectation"), dict) and not feedback:
            expected.add(as_text(name))
        if not name or not isinstance(feedback, dict) or item.get("valid") is False:
            continue
        source = item.get("source")
        human = isinstance(source, dict) and source.get("source_type") == "HUMAN"
        error = feedback.get("error")
        said = {
            "value": None if error else feedback.get("value"),
            "error": error.get("error_message") if isinstance(error, dict) else error,
        }
        entry = found.setdefault(as_text(name), {"value": None, "error": None, "human": None})
        if human:
            entry["human"] = said["value"]
        else:
            entry |= said
    for entry in found.values():  # nobody but a human has looked
        if entry["value"] is None and entry["error"] is None:
            entry["value"] = entry["human"]
    for column, value in row.items():
        name = column.removesuffix(VALUE)
        if column.endswith(VALUE) and name not in found and name not in expected:
            error = _exports.first(row, f"{name}/error_message")
            if not _exports.unknown(value) or error:
                found[name] = {"value": value, "error": error, "human": None}
    return found


def _record(row: Row, found: dict[str, Row], metric: str | None) -> Row:
    metadata, tags = _exports.below(row, "trace_metadata"), _exports.below(row, "tags")
    usage = _parsed(metadata, "mlflow.trace.tokenUsage")
    decides = found.get(metric or "", {})
    run = _exports.first(metadata, "mlflow.sourceRun")
    state = as_text(row.get("state")).rpartition(".")[2]
    outcome = OUTCOMES.get(state, "error")
    case = _exports.first(row, "client_request_id")
    return row | {
        "config": _exports.first(metadata, "mlflow.modelId") or run,
        "case": _exports.named_by(row.get("request")) if case is None else case,
        "label": _truth(decides.get("human")),
        "outcome": "scorer_error" if decides.get("error") and outcome == "completed" else outcome,
        "error": decides.get("error"),
        "tokens_in": usage.get("input_tokens"),
        "tokens_out": usage.get("output_tokens"),
        "cost_uusd": _parsed(metadata, "mlflow.trace.cost").get("total_cost"),
        "started_at": _time(row.get("request_time")),
        "source_run": run,
        "extras": _exports.plain({k: v for k, v in tags.items() if "mlflow." not in k}, "tags"),
    }


def _parsed(metadata: Row, name: str) -> Row:
    value = _exports.nested(metadata.get(name))
    return value if isinstance(value, dict) else {}


def _truth(value: Any) -> bool | None:
    try:
        number = _exports.grade(value)
    except ValueError:
        return None
    return bool(number) if number in {0.0, 1.0} else None


def _time(value: Any) -> Any:
    """Milliseconds since 1970 as seconds; dates stay."""
    return value / 1e3 if isinstance(value, int | float) else _exports.moment(value)


FORMAT = TableFormat(
    name="mlflow",
    title="MLflow",
    files="result_df of mlflow.genai.evaluate(), or search_traces()",
    recognise=recognise,
    convert=convert,
    fields=FIELDS,
    trial="the order of rows",
    metric="a name of assessments",
)
