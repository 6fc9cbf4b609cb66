"""What every log format is made of: where each column is, and how records become trials.

A format reads one file into records (dicts that mirror the file, one per trial) and declares
with a list of `Take` which place in the record becomes which column. `Log.table` does the rest.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, SourceError, TrialframeError, listed, short
from trialframe.read import _bounded
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from pathlib import Path

    from trialframe.read._outline import Head

OUTCOMES = {
    "completed": "ran to its end",
    "timeout": "stopped by the clock; a verdict may still hold",
    "limit": "stopped by a limit of steps, tokens, context or cost",
    "refused": "the model or its provider declined",
    "agent_error": "the agent or its output failed",
    "infra_error": "the environment, the network or the harness failed",
    "scorer_error": "the test, grader or judge failed",
    "error": "failed, and the log does not say where",
    "cancelled": "stopped by somebody",
    "skipped": "not run on purpose",
    "absent": "not in the log; added from the list of cases",
}
"""The outcome classes that all formats share."""

EXTRAS: dict[str, Any] = {
    "task": pl.String,
    "error": pl.String,
    "log": pl.String,
}
"""Columns of logs beside the canonical ones."""

_KINDS = EXTRAS | {item.name: item.dtype for item in TRIALS}

LARGEST = 2**53

MALFORMED = (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError)
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
        found = at(record, self.path or self.column)
        try:
            if self.made is not None:
                found = self.made(found)
            if found is None:
                return None
            return cast(found, _KINDS.get(self.column, self.dtype), self.factor)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(
                f"{self.path or self.column} is {short(found)}: {error}, as it is the {self.column}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """One kind of log that can be read.

    Attributes:
        name: The word for `format=`.
        title: The tool that writes it.
        files: What its files are called.
        recognise: Whether a file is one, by its first bytes.
        read: One file as trials.
        fields: Which place of the log becomes which column.
        trial: Where the number of a trial comes from.
        metric: What `metric=` names, and what is taken without it.
        select: Of the recognised files, those that hold trials: leaves out summaries and copies
            of what another file of the list holds, with a reason for each.
        identity: What the path of a file tells about its trials; files of the same bytes are
            copies only where that is equal too.
    """

    name: str
    title: str
    files: str
    recognise: Callable[[Head], bool]
    read: Callable[[Log], pl.DataFrame]
    fields: tuple[Take, ...]
    trial: str
    metric: str = ""
    select: Callable[[Sequence[Path]], tuple[list[Path], dict[Path, str]]] = field(
        default=lambda paths: (list(paths), {})
    )
    identity: Callable[[Path], object] = lambda _: None


@dataclass(kw_only=True)
class Log:
    """One file that is being read.

    Attributes:
        path: The file.
        metric: The score that decides, by name; None for the format's own.
        threshold: Pass when score >= threshold.
        strict: Whether the first thing that cannot be read is an error.
        unread: What could not be read: place and reason.
    """

    path: Path
    metric: str | None = None
    threshold: float | None = None
    strict: bool = True
    unread: list[tuple[str, str]] = field(default_factory=list)

    def skip(self, place: str, reason: str) -> None:
        """Say that something at a place in the file cannot be read.

        Raises:
            SourceError: In strict reading.
        """
        if self.strict:
            raise SourceError(f"{short(str(self.path))}, {place}: {reason}")
        self.unread.append((place, reason))

    def json(self) -> Any:
        """The file as one JSON document, within bounds."""
        return _bounded.document(self.path)

    def objects(self) -> Iterable[tuple[int, dict[str, Any]]]:
        """The JSON objects of a file with one a line, with their line numbers from 1."""
        for number, line in _bounded.lines(self.path):
            try:
                value = _bounded.parsed(line, f"line {number}")
            except SourceError as error:
                self.skip(f"line {number}", str(error))
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                self.skip(f"line {number}", f"holds {short(value)} where an object is needed.")

    def items(self, values: Any, place: str) -> Iterable[tuple[int, dict[str, Any]]]:
        """The objects of a JSON list, with their positions from 0."""
        if not isinstance(values, list):
            raise SourceError(
                f"{short(str(self.path))}: {place} is {short(values)} where a list is needed. "
                "The file is not what it seems: leave it out."
            )
        for number, value in enumerate(values):
            if isinstance(value, dict):
                yield number, value
            else:
                self.skip(f"{place}[{number}]", f"is {short(value)} where an object is needed.")

    def records(
        self, values: Any, place: str, make: Callable[[int, dict[str, Any]], Mapping[str, Any]]
    ) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """Records made from the objects of a JSON list; those that cannot be made are skipped."""
        for number, value in self.items(values, place):
            where = f"{place}[{number}]"
            try:
                record = make(number, value)
            except ArgumentError:
                raise
            except (*MALFORMED, TrialframeError) as error:
                self.skip(where, f"{short(str(error))} ({type(error).__name__})")
                continue
            yield where, record

    def beside(self, pattern: str) -> list[Path]:
        """Files in the same folder whose names match, in order."""
        return sorted(path for path in self.path.parent.glob(pattern) if path.is_file())

    def chosen(self, names: Iterable[str], what: str, default: str | None = None) -> str | None:
        """The score that decides: the one asked for, the only one, or the format's default.

        Returns:
            Its name, None when there are none.

        Raises:
            ArgumentError: The one asked for is not there, or there are several and no default.
        """
        every = list(dict.fromkeys(names))
        if self.metric is not None:
            if self.metric in every:
                return self.metric
            raise ArgumentError(
                f"metric={self.metric!r}: {short(str(self.path))} has no such {what}. It has "
                f"{listed(every) or 'none'}."
            )
        if default is not None and default in every:
            return default
        if len(every) > 1:
            raise ArgumentError(
                f"{short(str(self.path))} has several {what}s: {listed(every)}. Choose the "
                f"one that decides, for example metric={every[0]!r} of tr.read."
            )
        return every[0] if every else None

    def table(
        self,
        records: Iterable[tuple[str, Mapping[str, Any]]],
        fields: Sequence[Take],
        *,
        extras: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> pl.DataFrame:
        """Records as trials.

        Args:
            records: Pairs of a place in the file, for messages, and a record.
            fields: Which place of a record becomes which column.
            extras: Further columns of a record by name, such as `metadata.repo`; values that
                are no text, number or truth value become JSON text.

        Returns:
            One row a record: the columns of `fields` and of `EXTRAS`. Where `fields` make a
            score but no verdict, `passed` is made from the score.

        Raises:
            ArgumentError: A score is neither 0 nor 1, and no threshold was given.
            SourceError: In strict reading, a value has the wrong type.
        """
        placed, later = _gathered(records)
        found = _at_once([record for _, record in placed], fields)
        if found is None:
            kept, found = self._one_by_one(placed, fields)
        else:
            kept = [record for _, record in placed]
        if later is not None:
            raise later
        frame = pl.DataFrame(found)
        more = [extras(record) for record in kept] if extras else []
        if any(more):
            frame = frame.hstack(_further(more, set(frame.columns) | EXTRAS.keys()))
        return self.finished(frame)

    def _one_by_one(
        self, placed: Iterable[tuple[str, Mapping[str, Any]]], fields: Sequence[Take]
    ) -> tuple[list[Mapping[str, Any]], list[pl.Series]]:
        """Records and columns, without the records that do not fit, which are skipped."""
        rows, kept = [], []
        for place, record in placed:
            try:
                row = [take.value(record) for take in fields]
            except (ValueError, TrialframeError) as error:
                self.skip(place, str(error))
                continue
            rows.append(row)
            kept.append(record)
        schema = {take.column: take.kind for take in fields}
        return kept, pl.DataFrame(rows, schema=schema, orient="row").get_columns()

    def finished(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the file's name, and the verdict where there is only a score."""
        made = [] if "passed" in frame.columns else [self._verdict(frame["score"])]
        lacking = [name for name in EXTRAS if name not in frame.columns]
        values = dict.fromkeys(lacking) | {"log": str(self.path)}
        made += [constant(name, values[name], EXTRAS[name], frame.height) for name in lacking]
        return frame.hstack(made)

    def _verdict(self, score: pl.Series) -> pl.Series:
        scores = score.to_list()  # most logs have few rows, and many logs have one
        least = 1.0 if self.threshold is None else self.threshold
        passed = [None if value is None else value >= least for value in scores]
        odd = [value for value in scores if value not in {None, 0.0, 1.0}]
        if odd and self.threshold is None:
            raise ArgumentError(
                f"{short(str(self.path))} has the score {odd[0]:g}, and {len(odd):,} scores in "
                "all that are neither 0 nor 1. Say from which score on a trial passes, for example "
                "threshold=1, or threshold=0.5."
            )
        return pl.Series("passed", passed, dtype=pl.Boolean)


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


def _gathered(
    records: Iterable[tuple[str, Mapping[str, Any]]],
) -> tuple[list[tuple[str, Mapping[str, Any]]], SourceError | None]:
    """Records up to the first that cannot be made, and its error: an earlier one goes first."""
    placed = []
    try:
        for item in records:
            placed.append(item)  # noqa: PERF402 - those before an error are wanted
    except SourceError as error:
        return placed, error
    return placed, None


def _at_once(
    records: Sequence[Mapping[str, Any]], fields: Sequence[Take]
) -> list[pl.Series] | None:
    """The columns of records whose values all have the plain types of JSON; None for others."""
    made = []
    for take in fields:
        try:
            values = _all_at(records, take.path or take.column)
            if take.made is not None:
                values = [take.made(value) for value in values]
            column = _plain(take, values)
        except (*MALFORMED, OverflowError, TrialframeError, pl.exceptions.PolarsError):
            return None  # whatever it is, it is found again with its place
        if column is None:
            return None
        made.append(column)
    return made


def _all_at(records: Sequence[Any], path: str) -> list[Any]:
    """What `at` finds in every record, level by level."""
    while True:
        name, dot, rest = path.partition(".")
        if not dot or any(type(item) is not dict or path in item for item in records):
            if dot:
                return [at(item, path) for item in records]
            return [item.get(path) if type(item) is dict else at(item, path) for item in records]
        records, path = [item.get(name) for item in records], rest


def _plain(take: Take, values: list[Any]) -> pl.Series | None:
    """Values as a column; None unless all of them are what the column is made of."""
    name, dtype = take.column, take.kind
    kinds = set(map(type, values)) - {type(None)}
    if dtype is pl.String and kinds <= {str, int}:
        texts = values if kinds <= {str} else [v if v is None else as_text(v) for v in values]
        return pl.Series(name, texts, dtype=pl.String)
    if dtype is pl.Boolean and kinds <= {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if dtype in {pl.Int64, pl.Float64} and kinds <= {int, float}:
        return _numbers(take, values, whole=kinds <= {int})
    if isinstance(dtype, pl.Datetime) and kinds <= {str}:
        return pl.Series(name, [v if v is None else as_time(v) for v in values], dtype=dtype)
    return None


def _numbers(take: Take, values: list[Any], *, whole: bool) -> pl.Series | None:
    """Numbers in the unit of the column, as `cast` makes them; None if one is too large."""
    if whole and take.factor == 1.0 and take.kind is pl.Int64:
        found = pl.Series(take.column, values, dtype=pl.Int64)
    else:
        real = [value if value is None or math.isfinite(value) else None for value in values]
        found = pl.Series(take.column, real, dtype=pl.Float64, strict=False) * take.factor
    if any(abs(value) > LARGEST for value in found.to_list() if value is not None):
        return None
    if take.kind is pl.Int64 and found.dtype == pl.Float64:
        return (found + 0.5).floor().cast(pl.Int64)
    return found


def cast(value: Any, dtype: Any, factor: float = 1.0) -> Any:
    """A JSON value as a value of a column.

    Raises:
        ValueError: It is of another type, or out of range.
    """
    if dtype is pl.String:
        return value if type(value) is str and value.isascii() else as_text(value)
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


def label(path: Path, generic: Iterable[str] = ()) -> str:
    """What a file is called when its log names no system: its own name, or its folder's.

    Args:
        path: The file.
        generic: Names without ending that say nothing, such as results.
    """
    name = path.name
    for ending in (".gz", ".zst", ".json", ".jsonl", ".ndjson"):
        name = name.removesuffix(ending) or name
    folder = path.absolute().parent.name
    return folder if folder and name in set(generic) else name


def numbered(keys: Iterable[Any]) -> list[int]:
    """For each key how often it came before: trial numbers made from the order of rows."""
    seen: dict[Any, int] = {}
    numbers = []
    for key in keys:
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return numbers


def scalars(value: Any, prefix: str) -> dict[str, Any]:
    """The entries of a dict as columns `prefix.name`; empty when it is no dict."""
    if not isinstance(value, Mapping):
        return {}
    return {f"{prefix}.{name}": item for name, item in value.items()}


def _further(more: Sequence[Mapping[str, Any]], taken: set[str]) -> pl.DataFrame:
    """Further columns of rows: numbers and truth values where all are, else text."""
    names = [n for n in dict.fromkeys(name for row in more for name in row) if n not in taken]
    canonical = {item.name for item in TRIALS}
    series = []
    for name in names[:MOST_EXTRAS]:
        values = [row.get(name) for row in more]
        kinds = {type(value) for value in values if value is not None}
        label = f"log.{name}" if name in canonical else name
        if kinds == {bool}:
            series.append(pl.Series(label, values, dtype=pl.Boolean))
        elif kinds == {int} and all(v is None or abs(v) <= LARGEST for v in values):
            series.append(pl.Series(label, values, dtype=pl.Int64))
        elif kinds and kinds <= {int, float} and not any(map(_too_long, values)):
            real = [None if v is None or not math.isfinite(v) else float(v) for v in values]
            series.append(pl.Series(label, real, dtype=pl.Float64))
        else:
            text = [None if v is None else as_text(v) for v in values]
            series.append(pl.Series(label, text, dtype=pl.String))
    return pl.DataFrame(series)


def _too_long(value: Any) -> bool:
    """Whether an integer is none of those that are floats as well."""
    return isinstance(value, int) and abs(value) > sys.float_info.max


MOST_EXTRAS = 200
"""Further columns of one file at most."""


def unit(name: str) -> str:
    """The unit of a canonical column, empty for others."""
    return column(TRIALS, name).unit if any(item.name == name for item in TRIALS) else ""
