"""HumanEval: the samples with the result of running each, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._json import source_of, start_of
from trialframe.read._log import Log, LogFormat, label
from trialframe.read._survey import survey
from trialframe.read._take import EXTRAS, Take, clipped
from trialframe.schema import TRIALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trialframe.read._outline import Head

ENDING = "_results.jsonl"
"""What the tool adds to the name of the file of samples."""

OWN = {"task_id": pl.String, "result": pl.String, "passed": pl.Boolean}
"""What the tool adds to a sample, or needs of it."""

LONG = frozenset(["completion", "solution", "prompt", "test", "canonical_solution"])
"""Keys of a sample that hold code and are not read."""

SCALARS = (pl.String, pl.Boolean, pl.Int64, pl.Float64)

WIDTH = 2000


def _outcome(result: Any) -> str | None:
    if result is None:
        return None
    return "timeout" if result == "timed out" else "completed"


def _error(result: Any) -> str | None:
    return None if result == "passed" else clipped(result, WIDTH)


FIELDS = (
    Take(column="config", path="model", note="where samples have one; else the file's name"),
    Take(column="case", path="task_id"),
    Take(column="passed", path="passed"),
    Take(column="outcome", path="result", made=_outcome, note="timeout where it timed out"),
    Take(column="error", path="result", made=_error, note="all but passed"),
)


def recognise(head: Head) -> bool:
    """Lines with a completion, how it ended, and whether it passed."""
    if not head.text.lstrip().startswith("{") or "task_id" not in head.keys:
        return False
    if head.has("result", "passed"):
        return "completion" in head.keys or "solution" in head.keys
    return ENDING in head.path.name  # a sample may be longer than what is looked at


def read(log: Log) -> pl.DataFrame:
    """The samples of a file, parsed at once where all lines are as the tool writes them."""
    rows = _parsed(str(log.path))
    if rows is None:
        return log.table(_records(log), FIELDS, extras=_more)
    result, failed = pl.col("result"), (pl.col("result") != "passed") & (pl.col("result") != "")
    if (rows["result"].str.len_bytes() > WIDTH).any():  # seldom, and slow
        short = result.str.len_chars() <= WIDTH
        result = pl.when(short).then(result).otherwise(result.str.head(WIDTH - 4) + " ...")
    trials = rows.select(
        config=pl.coalesce(*(["model"] if "model" in rows.columns else []), pl.lit(_named(log))),
        case="task_id",
        passed="passed",
        outcome=pl.when(pl.col("result") == "timed out")
        .then(pl.lit("timeout"))
        .when(pl.col("result").is_not_null())
        .then(pl.lit("completed")),
        error=pl.when(failed).then(result),
    )
    more = rows.select(pl.col(name).alias(_label(name)) for name in rows.columns if _kept(name))
    return log.finished(trials.hstack(more))


def _parsed(path: str) -> pl.DataFrame | None:
    """The columns that are needed, by Polars; None where it does not take the file."""
    facts = survey(path)
    try:
        start = start_of(path, facts).schema
        schema: dict[str, Any] = OWN | ({"model": pl.String} if "model" in start else {})
        schema |= {name: kind for name, kind in start.items() if _kept(name) and kind in SCALARS}
        rows = pl.read_ndjson(source_of(path), schema=schema)
    except pl.exceptions.PolarsError:
        return None
    return None if rows["task_id"].null_count() else rows


def _kept(name: str) -> bool:
    return name not in OWN and name not in LONG and name not in EXTRAS and name != "model"


def _label(name: str) -> str:
    return f"log.{name}" if any(item.name == name for item in TRIALS) else name


def _records(log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    name = _named(log)
    for number, row in log.objects():
        if row.get("task_id") is None:
            log.skip(f"line {number}", "has no task_id.")
            continue
        yield f"line {number}", row | {"model": row.get("model") or name}


def _more(row: Mapping[str, Any]) -> dict[str, Any]:
    scalar = str | bool | int | float
    return {name: value for name, value in row.items() if _kept(name) and isinstance(value, scalar)}


def _named(log: Log) -> str:
    """The name of the file of samples, or of its folder."""
    return label(log.path.with_name(log.path.name.replace(ENDING, "")), generic=("samples",))


FORMAT = LogFormat(
    name="human-eval",
    title="HumanEval",
    files="*.jsonl_results.jsonl",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="none: rows of a task in their order",
)
