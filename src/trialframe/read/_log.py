"""What every log format is made of: where each column is, and how records become trials.

A format reads one file into records (dicts that mirror the file, one per trial) and declares
with a list of `Take` which place in the record becomes which column. `Log.table` does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, SourceError, TrialframeError, listed, named, short
from trialframe.read import _bounded
from trialframe.read._bounded import PACKED, is_packed
from trialframe.read._take import (
    EXTRAS,
    MALFORMED,
    Take,
    all_at,
    at_once,
    by_name,
    constant,
    further,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
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


class NoSuchScoreError(ArgumentError):
    """A log has no score of the name that was asked for."""


def first_there(names: Sequence[str], read: Callable[[str | None], Any]) -> Any:
    """What is read by the first of these scores that a log has, or by the format's own.

    Raises:
        NoSuchScoreError: It has none of them.
    """
    lacking = []
    for name in names or (None,):
        try:
            return read(name)
        except NoSuchScoreError as error:
            lacking.append(error)
    if len(lacking) == 1:
        raise lacking[0]
    raise NoSuchScoreError(f"none of metric={[*names]!r} is there: {lacking[-1]}")


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

    def by(self, metric: str | None) -> Log:
        """The file anew, with another score that decides; what is unread is told to this one."""
        self.unread.clear()
        return replace(self, metric=metric)

    def skip(self, place: str, reason: str) -> None:
        """Say that something at a place in the file cannot be read.

        Raises:
            SourceError: In strict reading.
        """
        if self.strict:
            told = reason.removesuffix(" Write it again, or leave it out.").removesuffix(".")
            raise SourceError(
                f"{named(self.path)}, {place}: {told}. Write it again, or read the "
                'rest with errors="collect" of tr.read.'
            )
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
                f"{named(self.path)}: {place} is {short(values)} where a list is needed. "
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
        """Files in the same folder whose names match, compressed or not, in order."""
        found = {
            path.with_name(bare(path)): path
            for ending in (*reversed(PACKED), "")  # a file goes before what it was packed into
            for path in self.path.parent.glob(pattern + ending)
            if path.is_file()
        }
        return sorted(found.values())

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
            raise NoSuchScoreError(
                f"metric={self.metric!r}: {named(self.path)} has no such {what}. It has "
                f"{listed(every) or 'none'}."
            )
        if default is not None and default in every:
            return default
        if len(every) > 1:
            raise ArgumentError(
                f"{named(self.path)} has several {what}s: {listed(every)}. Choose the "
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
        rows = [record for _, record in placed]
        kept, columns = self._columns(
            lambda row: placed[row][0], fields, lambda take: all_at(rows, take.place)
        )
        if later is not None:
            raise later
        if extras is None:
            return self.finished(columns)
        return self.finished(columns, by_name([extras(rows[row]) for row in kept]))

    def columns(
        self,
        place: Callable[[int], str],
        values: Mapping[str, Sequence[Any]],
        fields: Sequence[Take],
        extras: Mapping[str, Sequence[Any]],
    ) -> pl.DataFrame:
        """Values of many records as trials, for readers of formats with very many of them.

        Args:
            place: Where a record is in the file, by its row, for messages.
            values: What `fields` are made of, by the names of their columns.
            fields: As in `table`.
            extras: Values of further columns, by name.

        Returns:
            As `table`.

        Raises:
            ArgumentError: As `table`.
            SourceError: As `table`.
        """
        kept, columns = self._columns(place, fields, lambda take: values[take.column])
        if any(len(column) > len(kept) for column in extras.values()):
            extras = {name: [column[row] for row in kept] for name, column in extras.items()}
        return self.finished(columns, extras)

    def _columns(
        self,
        place: Callable[[int], str],
        fields: Sequence[Take],
        found: Callable[[Take], Sequence[Any]],
    ) -> tuple[Sequence[int], pl.DataFrame]:
        """Columns of what was found, and their rows: those that do not fit are skipped."""
        made = at_once(fields, found)
        if made is not None:
            frame = pl.DataFrame(made)
            return range(frame.height), frame
        values = [found(take) for take in fields]
        rows, kept = [], []
        for row, found_there in enumerate(zip(*values, strict=True)):
            try:
                pairs = zip(fields, found_there, strict=True)
                rows.append([take.cast(value) for take, value in pairs])
            except (ValueError, TrialframeError) as error:
                self.skip(place(row), str(error))
                continue
            kept.append(row)
        schema = {take.column: take.kind for take in fields}
        return kept, pl.DataFrame(rows, schema=schema, orient="row")

    def finished(
        self, frame: pl.DataFrame, extras: Mapping[str, Sequence[Any]] | None = None
    ) -> pl.DataFrame:
        """Add the file's name, the verdict where there is only a score, and further columns."""
        more = further(extras, {*frame.columns, *EXTRAS}).get_columns() if extras else []
        made = [] if "passed" in frame.columns else [self._verdict(frame["score"])]
        lacking = [name for name in EXTRAS if name not in frame.columns]
        values = dict.fromkeys(lacking) | {"log": str(self.path)}
        made += [constant(name, values[name], EXTRAS[name], frame.height) for name in lacking]
        return frame.hstack([*more, *made])

    def _verdict(self, score: pl.Series) -> pl.Series:
        scores = score.to_list()  # most logs have few rows, and many logs have one
        least = 1.0 if self.threshold is None else self.threshold
        passed = [None if value is None else value >= least for value in scores]
        if self.threshold is None and not {*scores} <= {None, 0.0, 1.0}:
            odd = [value for value in scores if value not in {None, 0.0, 1.0}]
            raise ArgumentError(
                f"{named(self.path)} has the score {odd[0]:g}, and {len(odd):,} scores in "
                "all that are neither 0 nor 1. Say from which score on a trial passes, for example "
                "threshold=1, or threshold=0.5."
            )
        return pl.Series("passed", passed, dtype=pl.Boolean)


NOT_THIS = "Leave it out, or name another format=."
"""What to do about a file that is no log of its format."""


def bare(path: Path) -> str:
    """The name of a file without the ending of its compression."""
    return path.name.removesuffix(path.suffix) if is_packed(path) else path.name


def there(path: Path) -> Path | None:
    """A file, or the compressed one of that name; None where neither is."""
    ways = (path, *(path.with_name(path.name + ending) for ending in reversed(PACKED)))
    return next((way for way in ways if way.is_file()), None)


def label(path: Path, generic: Iterable[str] = ()) -> str:
    """What a file is called when its log names no system: its own name, or its folder's.

    Args:
        path: The file.
        generic: Names without ending that say nothing, such as results.
    """
    name = bare(path)
    for ending in (".json", ".jsonl", ".ndjson"):
        name = name.removesuffix(ending) or name
    folder = path.absolute().parent.name
    return folder if folder and name in set(generic) else name


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
