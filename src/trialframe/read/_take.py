"""Values of logs: where each column is in a record, and how records become columns."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl

from trialframe.errors import TrialframeError, short
from trialframe.schema import TRIALS, column

EXTRAS: dict[str, Any] = {
    "task": pl.String,
    "error": pl.String,
    "log": pl.String,
}
"""Columns of logs beside the canonical ones."""

_KINDS = EXTRAS | {item.name: item.dtype for item in TRIALS}

LARGEST = 2**53

FEW = 200
"""Values up to which a loop is faster than a call of Polars or NumPy."""

WHOLE = ("trial", "attempt")
"""Columns that number something: a fraction in them is an error and never rounded."""

_TIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})$"
)
"""Time stamps that Polars takes as Python does."""

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

MALFORMED = (
    *(AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError),
    ArithmeticError,  # whole numbers that no float holds
)
"""What code raises that meets a log of a shape which no version of its tool writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One column of the trials, and the place in a record that it is taken from.

    Attributes:
        column: Canonical name, or the name of a further column, which is kept as text
            (`dtype` says otherwise).
        path: Dotted place in the record, such as `results[].tokenUsage.prompt`: the keys of
            the log as they are; empty when the reader makes the value, as `note` says.
        factor: What turns the unit of the log into that of the column.
        made: How the value becomes that of the column, where it is more than a cast.
        note: One line for people.
        dtype: Type of a further column.
    """

    column: str
    path: str
    factor: float = 1.0
    made: Callable[[Any], Any] | None = None
    note: str = ""
    dtype: Any = pl.String

    @property
    def kind(self) -> Any:
        """The type of the column."""
        return _KINDS.get(self.column, self.dtype)

    def value(self, record: Mapping[str, Any]) -> Any:
        """The value of one record, cast; unknown is None.

        Raises:
            ValueError: It is not of the type of the column.
        """
        return self.cast(at(record, self.place))

    @property
    def place(self) -> str:
        """Where the value is in a record, with what the reader makes under the column's name."""
        return self.path or self.column

    def cast(self, found: Any) -> Any:
        """What was found in a record as a value of the column; unknown is None.

        Raises:
            ValueError: It is not of the type of the column.
        """
        try:
            if self.made is not None:
                found = self.made(found)
            if found is None:
                return None
            if self.column in WHOLE:
                _refuse_fraction(found)
            return cast(found, _KINDS.get(self.column, self.dtype), self.factor)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(
                f"{self.place} is {short(found)}: {error}, as it is the {self.column}"
            ) from None


def _refuse_fraction(value: Any) -> None:
    if isinstance(value, float) and 0 < value % 1 < 1:
        raise ValueError("a whole number is needed")


def constant(name: str, value: Any, dtype: Any, height: int) -> pl.Series:
    """A column with one value in all rows."""
    return pl.Series(name, [value], dtype=dtype).new_from_index(0, height)


def at(record: Any, path: str) -> Any:
    """What is at a dotted place in nested dicts; None where a part is missing.

    A key that has dots of its own is found when the whole rest of the path is a key.
    """
    while type(record) is dict or isinstance(record, Mapping):  # the second test is slow
        if path in record:
            return record[path]
        name, dot, path = path.partition(".")
        if not dot or name not in record:
            return None
        record = record[name]
    return None


def all_at(records: Sequence[Any], path: str) -> list[Any]:
    """What `at` finds in every record, level by level."""
    while True:
        name, dot, rest = path.partition(".")
        if not dot or any(type(item) is not dict or path in item for item in records):
            if dot:
                return [at(item, path) for item in records]
            return [item.get(path) if type(item) is dict else at(item, path) for item in records]
        records, path = [item.get(name) for item in records], rest


def at_once(
    fields: Sequence[Take], found: Callable[[Take], Sequence[Any]]
) -> list[pl.Series] | None:
    """Columns of what was found, where all values have the plain types of JSON; None for others."""
    made = []
    for take in fields:
        try:
            column = _plain(take, found(take))
        except (*MALFORMED, TrialframeError, pl.exceptions.PolarsError):
            return None  # whatever it is, it is found again with its place
        if column is None:
            return None
        made.append(column)
    return made


def _plain(take: Take, values: Sequence[Any]) -> pl.Series | None:
    """Values as a column; None unless all of them are what the column is made of."""
    name, dtype = take.column, take.kind
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return constant(name, take.cast(None), dtype, len(values))
    if take.made is not None:
        values = list(map(take.made, values))
        kinds = set(map(type, values)) - {type(None)}
        if not kinds:
            return constant(name, None, dtype, len(values))
    if dtype is pl.String and kinds <= {str, int}:
        texts = values if kinds <= {str} else [v if v is None else as_text(v) for v in values]
        return pl.Series(name, texts, dtype=pl.String)
    if dtype is pl.Boolean and kinds <= {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if name in WHOLE and float in kinds:
        return None
    if dtype in {pl.Int64, pl.Float64} and kinds <= {int, float}:
        return _numbers(take, values, whole=kinds <= {int})
    if isinstance(dtype, pl.Datetime) and kinds <= {str}:
        return _times(name, values)
    return None


def _times(name: str, values: Sequence[Any]) -> pl.Series:
    """Time stamps as a column; Polars is slow to take over times of Python."""
    texts = pl.Series(name, values, dtype=pl.String)
    if len(values) > FEW and texts.str.contains(_TIME).all():
        found = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False)
        if found.null_count() == texts.null_count():
            return found
    times = (value if value is None else as_time(value) for value in values)
    since = [time if time is None else (time - _EPOCH) // _MICROSECOND for time in times]
    return pl.Series(name, since, dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))


def _numbers(take: Take, values: Sequence[Any], *, whole: bool) -> pl.Series | None:
    """Numbers in the unit of the column, as `cast` makes them; None if one is too large."""
    if whole and take.factor == 1.0 and take.kind is pl.Int64:
        found = pl.Series(take.column, values, dtype=pl.Int64)
        ends: list[Any] = [found.min(), found.max()]
        return found if -LARGEST <= ends[0] <= ends[1] <= LARGEST else None
    if len(values) <= FEW:
        cells = [v if v is None else cast(v, take.kind, take.factor) for v in values]
        return pl.Series(take.column, cells, dtype=take.kind)
    real = np.array(values, dtype=float)  # None becomes NaN
    known = np.isfinite(real)
    if (np.abs(real[known]) > LARGEST / 2 / max(1.0, take.factor)).any():
        return None  # whole numbers that floats may not hold
    real *= take.factor
    if take.kind is pl.Int64:
        real = np.floor(real + 0.5)
    made: list[Any] = real.tolist()  # Polars imports numpy.ma for an array
    if not known.all():
        made = [value if is_known else None for value, is_known in zip(made, known, strict=True)]
    return pl.Series(take.column, made, dtype=pl.Float64).cast(take.kind)


def cast(value: Any, dtype: Any, factor: float = 1.0) -> Any:
    """A JSON value as a value of a column.

    Raises:
        ValueError: It is of another type, or out of range.
    """
    if dtype is pl.String:
        return as_text(value)
    if type(value) is int and factor == 1.0 and dtype is pl.Int64 and abs(value) <= LARGEST:
        return value
    if dtype is pl.Boolean:
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise ValueError("true or false is needed")
    if isinstance(dtype, pl.Datetime):
        return as_time(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number is needed")  # noqa: TRY004 - one kind of error for all values
    if isinstance(value, float) and not math.isfinite(value):
        return None
    scaled = value * factor if factor != 1.0 or isinstance(value, float) else value
    if abs(scaled) > LARGEST:
        raise ValueError("a number below 2^53 is needed")
    if dtype is pl.Int64:
        return math.floor(scaled + 0.5) if isinstance(scaled, float) else scaled
    return float(scaled)


def as_text(value: Any) -> str:
    """A JSON value as text: what is no text, number or truth value becomes JSON."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-8", "replace").decode("utf-8")  # halves of characters
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_time(value: Any) -> datetime:
    """A time stamp in UTC: ISO 8601 (without a zone taken as UTC) or seconds since 1970."""
    if isinstance(value, bool):
        raise ValueError("a time is needed")  # noqa: TRY004
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    made = datetime.fromisoformat(value)
    if made.tzinfo is UTC:
        return made
    return made.replace(tzinfo=UTC) if made.tzinfo is None else made.astimezone(UTC)


def elapsed(clock: Any) -> float | None:
    """Milliseconds between a pair of time stamps; None where one is unknown."""
    start, stop = clock
    if start is None or stop is None:
        return None
    return (as_time(stop) - as_time(start)).total_seconds() * 1e3


def words(meaning: Mapping[str, str], default: str | None = None) -> Callable[[Any], Any]:
    """A function that gives words of a log the outcome class they mean.

    Words that are not known become `default`, or stay as they are.
    """
    return lambda value: meaning.get(value, value if default is None else default)


def clipped(value: Any, width: int = 2000) -> str | None:
    """An error's own text, its end cut when it is long; empty text is no error."""
    if value is None or value == "":
        return None
    text = as_text(value)
    return text if len(text) <= width else text[: width - 4] + " ..."


def numbered(keys: Iterable[Any]) -> list[int]:
    """For each key how often it came before: trial numbers made from the order of rows."""
    seen: dict[Any, int] = {}
    numbers = []
    for key in keys:
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return numbers


def sums(parts: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, Any]:
    """Sums of what parts hold, name by name; what no part holds has no sum."""
    totals: dict[str, Any] = {}
    wanted = list(names)
    for part in parts:
        for name in wanted:
            if part.get(name) is not None:
                totals[name] = totals.get(name, 0) + part[name]
    return totals


def scalars(value: Any, prefix: str) -> dict[str, Any]:
    """The entries of a dict as columns `prefix.name`; empty when it is no dict."""
    if not isinstance(value, Mapping):
        return {}
    return {f"{prefix}.{name}": item for name, item in value.items()}


def by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Dicts as lists by name, in the order in which the names come, `MOST_EXTRAS` at most."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in islice(names, MOST_EXTRAS)}


def further(columns: Mapping[str, Sequence[Any]], taken: set[str]) -> pl.DataFrame:
    """Further columns of rows: numbers and truth values where all are, else text."""
    canonical = {item.name for item in TRIALS}
    series = []
    for name, values in columns.items():
        if name in taken:
            continue
        kinds = set(map(type, values)) - {type(None)}
        label = f"log.{name}" if name in canonical else name
        if kinds == {bool}:
            series.append(pl.Series(label, values, dtype=pl.Boolean))
        elif kinds == {int} and all(v is None or abs(v) <= LARGEST for v in values):
            series.append(pl.Series(label, values, dtype=pl.Int64))
        elif kinds and kinds <= {int, float} and not any(map(_too_long, values)):
            real = [None if v is None or not math.isfinite(v) else float(v) for v in values]
            series.append(pl.Series(label, real, dtype=pl.Float64))
        else:
            series.append(_texts(label, values, kinds))
    return pl.DataFrame(series)


def _texts(name: str, values: Sequence[Any], kinds: set[type]) -> pl.Series:
    with suppress(UnicodeEncodeError):  # halves of characters
        if kinds == {str}:
            return pl.Series(name, values, dtype=pl.String)
    texts = [None if value is None else as_text(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def _too_long(value: Any) -> bool:
    """Whether an integer is none of those that are floats as well."""
    return isinstance(value, int) and abs(value) > sys.float_info.max


MOST_EXTRAS = 200
"""Further columns of one file at most."""


def unit(name: str) -> str:
    """The unit of a canonical column, empty for others."""
    return column(TRIALS, name).unit if any(item.name == name for item in TRIALS) else ""
