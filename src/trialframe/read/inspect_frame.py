"""Frames of Inspect AI's own `samples_df`: a row a sample, and a column a scorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from trialframe.errors import ColumnError, SourceError
from trialframe.read import _bounded
from trialframe.read._inspect_file import Usage
from trialframe.read._inspect_scores import is_number, value_to_float
from trialframe.read._presets import TableFormat
from trialframe.read._take import Take, as_text
from trialframe.read.inspect_log import LIMITS, PASSED, used

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trialframe.read._log import Log

SCORE = "score_"
DETAILS = ("answer", "explanation", "reason", "metadata")
"""Endings of columns that stand beside that of a scorer."""

_USAGE = msgspec.json.Decoder(dict[str, Usage])

SPENT = {"tokens_in": pl.Int64, "tokens_out": pl.Int64, "cost_uusd": pl.Float64}

FIELDS = (
    Take(column="config", path="model", note="where the frame lacks it, the name of the log"),
    Take(column="case", path="id", note="task_name/id where the frame has both"),
    Take(column="trial", path="epoch"),
    Take(column="passed", path="score_SCORER", note=PASSED.note),
    Take(column="score", path="score_SCORER", note="by Inspect's value_to_float"),
    Take(column="outcome", path="", note="from error and limit"),
    Take(column="tokens_in", path="model_usage", note="of all models, with cached ones"),
    Take(column="tokens_out", path="model_usage", note="of all models"),
    Take(column="cost_uusd", path="model_usage", factor=1e6, note="of all models"),
    Take(column="duration_ms", path="total_time", factor=1e3),
    Take(column="error", path="error"),
    Take(column="scorer", path="", note="the scorer that decides, or SCORER.KEY"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decides:
    """The score that decides.

    Attributes:
        name: The scorer, or SCORER.KEY; None when there is none.
        score: Its value as a number.
        numbers: Whether it is given as numbers, not as words.
    """

    name: str | None
    score: pl.Expr
    numbers: bool


def recognise(schema: pl.Schema) -> bool:
    """Ids of runs and samples, with epochs."""
    return schema.keys() >= {"eval_id", "sample_id", "id", "epoch"}


def convert(frame: pl.LazyFrame, log: Log) -> pl.LazyFrame:
    """Add the columns of trials; those of the frame stay."""
    schema = frame.collect_schema()
    decides = _decides(frame, schema, log)
    if log.threshold is None and decides.numbers:  # refuses grades that no threshold divides
        log.finished(frame.select(score=decides.score).collect())
    made = {
        "config": pl.col("model") if "model" in schema else _file_name(schema),
        "case": _case(schema),
        "trial": pl.col("epoch"),
        "passed": decides.score >= (1.0 if log.threshold is None else log.threshold),
        "score": decides.score,
        "outcome": _outcome(schema),
        "scorer": pl.lit(decides.name, pl.String),
    }
    if "error" in schema:
        error = _text(schema, "error")
        made["error"] = pl.when(error.str.len_bytes() > 0).then(error)
    if "total_time" in schema:
        seconds = pl.col("total_time").cast(pl.Float64, strict=False)  # text where all are null
        made["duration_ms"] = (seconds * 1e3 + 0.5).floor().cast(pl.Int64, strict=False)
    if "model_usage" in schema:
        made |= _used(_text(schema, "model_usage"))
    return frame.with_columns(**made)


def _decides(frame: pl.LazyFrame, schema: pl.Schema, log: Log) -> Decides:
    columns = [n for n in schema if n.startswith(SCORE) and not schema[n].is_nested()]
    details = {f"{name}_{ending}" for name in columns for ending in DETAILS}
    found: dict[str, tuple[str, str | None]] = {}
    values: dict[str, dict[str, Any]] = {}
    for column in columns:
        if column in details:
            continue
        if schema[column] == pl.String:
            distinct = pl.col(column).drop_nulls().unique(maintain_order=True)
            texts = frame.select(distinct).collect()
            values[column] = {text: _value(text) for text in texts.to_series()}
        scorer, parts = column.removeprefix(SCORE), _parts(values.get(column, {}).values())
        found |= {f"{scorer}.{part}": (column, part) for part in parts}
        found |= {} if parts else {scorer: (column, None)}
    name = log.chosen(found, "scorer")
    if name is None:
        return Decides(name=None, score=pl.lit(None, pl.Float64), numbers=False)
    column, part = found[name]
    if column not in values:
        score = pl.col(column).cast(pl.Float64).fill_nan(None)
        return Decides(name=name, score=score, numbers=schema[column] != pl.Boolean)
    known = {text: _at(value, part) for text, value in values[column].items()}
    floats = {text: value_to_float(value) for text, value in known.items()}
    score = pl.col(column).replace_strict(floats, return_dtype=pl.Float64)
    return Decides(name=name, score=score, numbers=any(map(is_number, known.values())))


def _value(text: str) -> Any:
    """A score as text: scores of several parts are JSON."""
    if text[:1] not in {"{", "["}:
        return text
    try:
        return _bounded.parsed(text, "a score")
    except SourceError:
        return text


def _parts(values: Iterable[Any]) -> list[str]:
    """Names of the parts of scores, a list's parts by their positions."""
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, dict | list):
            names |= dict.fromkeys(value if isinstance(value, dict) else _places(value))
    return list(names)


def _places(value: list[Any]) -> list[str]:
    return [str(place) for place in range(len(value))]


def _at(value: Any, part: str | None) -> Any:
    """A part of a score; None where the score lacks it."""
    if isinstance(value, list):
        value = dict(zip(_places(value), value, strict=True))
    if isinstance(value, dict):
        value = value.get(part)
    return as_text(value) if isinstance(value, dict | list) else value


def _text(schema: pl.Schema, name: str) -> pl.Expr:
    """A column as text; null where it is lacking.

    Raises:
        ColumnError: It holds lists or objects.
    """
    if name not in schema:
        return pl.lit(None, pl.String)
    if schema[name].is_nested():
        raise ColumnError(
            f"column {name!r} holds {schema[name]} where a frame of samples_df holds text. Cast it "
            "first, or read the log itself."
        )
    return pl.col(name).cast(pl.String)


def _file_name(schema: pl.Schema) -> pl.Expr:
    """The name of the log, else the id of the run."""
    if "log" not in schema:
        return pl.col("eval_id")
    return _text(schema, "log").str.extract(r"([^/\\]+?)(?:\.eval|\.json)?$")


def _case(schema: pl.Schema) -> pl.Expr:
    name = _text(schema, "id")
    return pl.concat_str("task_name", name, separator="/") if "task_name" in schema else name


def _outcome(schema: pl.Schema) -> pl.Expr:
    error, limit = _text(schema, "error"), _text(schema, "limit")
    return (
        pl.when(error.str.starts_with("CancelledError"))
        .then(pl.lit("cancelled"))
        .when(error.str.len_bytes() > 0)
        .then(pl.lit("error"))
        .when(limit.is_not_null())
        .then(limit.replace_strict(LIMITS, default="limit"))
        .otherwise(pl.lit("completed"))
    )


def _used(usage: pl.Expr) -> dict[str, pl.Expr]:
    """Tokens and cost from the JSON of usage by model, as from the log itself."""
    spent = usage.map_batches(_spent, return_dtype=pl.Struct(SPENT))
    cost = (spent.struct.field("cost_uusd") * 1e6 + 0.5).floor().cast(pl.Int64, strict=False)
    tokens = {name: spent.struct.field(name) for name in ("tokens_in", "tokens_out")}
    return tokens | {"cost_uusd": cost}


def _spent(texts: pl.Series) -> pl.Series:
    known: dict[str | None, tuple[int | None, int | None, float | None]] = {None: (None,) * 3}
    for text in texts.unique().drop_nulls():
        try:
            known[text] = used(_USAGE.decode(text), None)
        except (msgspec.MsgspecError, TypeError):
            known[text] = (None, None, None)
    rows = [known[text] for text in texts]
    return pl.DataFrame(rows, schema=SPENT, orient="row").to_struct(texts.name)


FORMAT = TableFormat(
    name="inspect-samples-df",
    title="Inspect AI's samples_df",
    files="a pandas frame, or Parquet of it",
    recognise=recognise,
    convert=convert,
    fields=FIELDS,
    trial="epoch, from 1",
    metric="a scorer, or SCORER.KEY of one with several values",
)
