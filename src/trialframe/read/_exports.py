"""What exports of platforms share: rows with nested values, scores by name, ids of inputs."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import polars as pl

from trialframe.errors import ColumnError, listed, short
from trialframe.read._take import as_text, as_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trialframe.read._log import Log
    from trialframe.read._take import Take

Row = dict[str, Any]

WORDS = {
    "yes": True,
    "true": True,
    "pass": True,
    "passed": True,
    "correct": True,
    "y": True,
    "no": False,
    "false": False,
    "fail": False,
    "failed": False,
    "incorrect": False,
    "n": False,
}
"""Grades that platforms and their judges write as text."""

LONGEST = 2**20
"""Characters of a nested value in a text column that is parsed."""

UUID_BYTES = 16

WIDTH = 100
"""Characters of an id that is made from an input."""


def rows_of(frame: pl.LazyFrame, wanted: Callable[[str], bool]) -> list[Row]:
    """The rows of some columns, text that holds nested values parsed."""
    names = [name for name in frame.collect_schema() if wanted(name)]
    return [
        {name: nested(value) for name, value in row.items()}
        for row in frame.select(names).collect().iter_rows(named=True)
    ]


def nested(value: Any) -> Any:
    """A value that may be the text of a dict or list, as JSON or as Python prints it, or an id."""
    if isinstance(value, bytes) and len(value) == UUID_BYTES:
        return str(UUID(bytes=value))
    if not isinstance(value, str) or value[:1] not in {"{", "["} or len(value) > LONGEST:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value


def below(row: Row, name: str) -> Row:
    """What is below a name: a dict in a column, or columns `name.key`; unknown left out."""
    found = row.get(name)
    inside = dict(found) if isinstance(found, Mapping) else {}
    prefix = f"{name}."
    inside |= {key.removeprefix(prefix): v for key, v in row.items() if key.startswith(prefix)}
    return {key: value for key, value in inside.items() if not unknown(value)}


def unknown(value: Any) -> bool:
    """Whether a value is missing: null, NaN, or empty text as CSV has it."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def first(row: Row, *names: str) -> Any:
    """The first of these that is known."""
    return next((row[name] for name in names if not unknown(row.get(name))), None)


def grade(value: Any) -> float | None:
    """A score as a number: truth values and words for them are 1 and 0.

    Raises:
        ValueError: It is another word.
    """
    if unknown(value):
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    text = as_text(value).strip()
    if text.lower() in WORDS:
        return float(WORDS[text.lower()])
    try:
        number = float(text)
    except ValueError:
        raise ValueError(text) from None
    return number if math.isfinite(number) else None


def trials(
    records: Sequence[Row],
    scores: Sequence[Mapping[str, Any]],
    fields: Sequence[Take],
    *,
    log: Log,
    what: str,
) -> pl.LazyFrame:
    """Records as trials, with the score that decides as `score` and `passed`.

    Args:
        records: A dict a trial, as `fields` takes it apart; `extras` in it are kept too.
        scores: Scores by name, one dict a record.
        fields: Which place of a record becomes which column.
        log: The export, with the score that decides.
        what: What a score is called there.

    Raises:
        ArgumentError: There are several scores and none was chosen, or one that needs a
            threshold.
        ColumnError: A score is a word that is neither yes nor no.
    """
    names = list(dict.fromkeys(name for row in scores for name in row))
    if not names:
        raise ColumnError(f"{log.path} has no {what}, so nothing says what passed.")
    chosen = log.chosen(names, what)
    assert chosen is not None  # noqa: S101 - there are names
    place = next((take.path for take in fields if take.column == "score" and take.path), "score")
    made = []
    for number, (record, found) in enumerate(zip(records, scores, strict=True)):
        more = {f"score.{name}": value for name, value in found.items() if _is_plain(value)}
        graded = _graded(found, chosen, scores, log)
        extras = more | record.get("extras", {})
        made.append((f"row {number}", record | {place: graded, "extras": extras}))
    frame = log.table(made, fields, extras=lambda record: dict(record["extras"]))
    empty = {name for name in frame.columns if frame[name].null_count() == frame.height}
    frame = frame.drop({"log", *empty} - {"passed", "score"})
    return frame.with_columns(trial=pl.lit(None, pl.Int64)).lazy()  # no export numbers trials


def _graded(
    found: Mapping[str, Any], chosen: str, scores: Sequence[Mapping[str, Any]], log: Log
) -> float | None:
    try:
        return grade(found.get(chosen))
    except ValueError:
        words = dict.fromkeys(
            as_text(row[chosen]) for row in scores if not unknown(row.get(chosen))
        )
        raise ColumnError(
            f"{short(chosen)} of {log.path} has grades that are neither numbers nor yes "
            f"and no: {listed(words, 5)}. Read it with format='table' and map them, for example "
            f"passed=pl.col({chosen!r}) == {next(iter(words))!r}."
        ) from None


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def plain(values: Mapping[str, Any], prefix: str, width: int = 200) -> Row:
    """The entries that are numbers, truth values or short text, as columns `prefix.name`."""
    return {
        f"{prefix}.{name}": value
        for name, value in values.items()
        if _is_plain(value) and (not isinstance(value, str) or len(value) <= width)
    }


def named_by(value: Any) -> str:
    """An id made from an input: its text, the end of a long one replaced by a hash of it."""
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    whole = as_text(value)
    text = " ".join(whole.split())
    if len(text) <= WIDTH:
        return text
    mark = hashlib.blake2b(whole.encode(), digest_size=4).hexdigest()
    return f"{text[: WIDTH - 10]} #{mark}"


def milliseconds(start: Any, end: Any) -> float | None:
    """The time from one time stamp to another: seconds since 1970, or dates."""
    if unknown(start) or unknown(end):
        return None
    moments = [value if hasattr(value, "utcoffset") else as_time(value) for value in (start, end)]
    zones = {moment.utcoffset() is None for moment in moments}
    if len(zones) > 1:
        moments = [moment.replace(tzinfo=None) for moment in moments]
    span = (moments[1] - moments[0]).total_seconds() * 1e3
    return float(span) if span >= 0 else None


def moment(value: Any) -> Any:
    """A time stamp as the text or number that fields are cast from."""
    return value.isoformat() if hasattr(value, "isoformat") else value


def items(value: Any) -> Iterator[Row]:
    """The dicts of a list."""
    for item in value if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            yield dict(item)
