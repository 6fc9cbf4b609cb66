"""Several files as one table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import SourceError, listed, named, short
from trialframe.read._fields import kind_of
from trialframe.read._frames import reason
from trialframe.read._json import FAILURES
from trialframe.read._scan import Scan, scan, scan_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trialframe.read._paths import DataFile
    from trialframe.read._take import Take


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A source as one table, before its columns are resolved.

    Attributes:
        frame: All rows, in the order of the files.
        conflicts: Columns whose type differs between files, with what to say about it.
        missing: Columns that some files lack, with what to say about it.
        files: The files, if there are any, and
        scans: what is known of each.
        taken: Of logs, where in the log each column comes from.
        unread: Of logs, what could not be read: file, place and reason.
        rows: Of logs, the frame, which is in memory.
    """

    frame: pl.LazyFrame
    conflicts: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    files: tuple[DataFile, ...] = ()
    scans: tuple[Scan, ...] = ()
    taken: Mapping[str, Take] = field(default_factory=dict)
    unread: pl.DataFrame | None = None
    rows: pl.DataFrame | None = None

    def respelled(self) -> frozenset[str]:
        """Columns of CSV files that would not read as written if they were taken for numbers."""
        parsed = [item.csv for item in self.scans if item.csv is not None]
        names = frozenset[str]().union(*(item.respelled for item in parsed))
        types: dict[str, set[pl.DataType]] = {}
        for item in parsed:
            for name, dtype in item.types.items():
                if name not in item.bare:
                    types.setdefault(name, set()).add(dtype)
        return names | {name for name, several in types.items() if len(several) > 1}

    def written(self, texts: frozenset[str]) -> Raw:
        """The same table with columns of CSV files as they are written."""
        frames = [item.frame if item.csv is None else item.csv.frame(texts) for item in self.scans]
        return one_table(self.files, self.scans, frames)


def one_table(
    files: Sequence[DataFile],
    scans: Sequence[Scan],
    frames: list[pl.LazyFrame],
) -> Raw:
    """The rows of several files, one file below the other."""
    raw = Raw(frame=frames[0]) if len(frames) == 1 else _combined(files, frames)
    return replace(raw, files=tuple(files), scans=tuple(scans))


def _combined(files: Sequence[DataFile], frames: list[pl.LazyFrame]) -> Raw:
    """Files one below the other; a column that a file lacks is null there."""
    schemas = [frame.collect_schema() for frame in frames]
    conflicts, missing = _compared(files, schemas)
    parts = []
    for index, run in _runs(files, schemas):
        frame = scan_parquet(run) if len(run) > 1 else frames[index]
        as_text = [
            name
            for name, dtype in schemas[index].items()
            if name in conflicts or isinstance(dtype, pl.Categorical | pl.Enum)
        ]
        parts.append(frame.with_columns(pl.col(as_text).cast(pl.String)))
    try:
        frame = pl.concat(parts, how="diagonal_relaxed")
        frame.collect_schema()
    except FAILURES as error:
        raise failed(error) from error
    return Raw(frame=frame, conflicts=conflicts, missing=missing)


def _runs(
    files: Sequence[DataFile],
    schemas: list[pl.Schema],
) -> Iterable[tuple[int, Sequence[DataFile]]]:
    """Neighbouring Parquet files of one schema as one scan, every other file alone."""
    start = 0
    for stop in range(1, len(files) + 1):
        same = (
            stop < len(files)
            and files[stop].format == files[start].format == "Parquet"
            and (files[stop].remote, files[stop].hive) == (files[start].remote, files[start].hive)
            and list(schemas[stop].items()) == list(schemas[start].items())
        )
        if not same:
            yield start, files[start:stop]
            start = stop


def _compared(
    files: Sequence[DataFile],
    schemas: list[pl.Schema],
) -> tuple[dict[str, str], dict[str, str]]:
    """Columns of different type families and columns that some files lack, each explained.

    Raises:
        SourceError: A column's types have nothing in common, not even as text.
    """
    names = dict.fromkeys(name for schema in schemas for name in schema)
    conflicts, missing = {}, {}
    for name in names:
        lacking = [file for file, schema in zip(files, schemas, strict=True) if name not in schema]
        if lacking:
            missing[name] = (
                f"column {short(name)} is missing in {len(lacking)} of {len(files)} files and null "
                f"there; the first is {short(lacking[0].path)}."
            )
        families: dict[str, str] = {}
        for file, schema in zip(files, schemas, strict=True):
            if name in schema and schema[name] != pl.Null:
                families.setdefault(_family(schema[name]), f"{schema[name]} in {file.path}")
        if len(families) > 1:
            first, second = list(families.values())[:2]
            message = (
                f"column {short(name)} is {first} and {second}. Write both with one type, or read "
                "the files one by one and cast."
            )
            if not set(families) <= {"number", "text"}:
                raise SourceError(message)
            conflicts[name] = message
    return conflicts, missing


def _family(dtype: pl.DataType) -> str:
    """Types of one family have a common type that loses nothing."""
    kind = kind_of(dtype)
    if kind in {"integer", "float", "boolean"}:
        return "number"
    if kind == "string":
        return "text"
    return "time" if isinstance(dtype, pl.Datetime) and dtype.time_zone == "UTC" else str(dtype)


def failed(error: Exception, files: Sequence[DataFile] = ()) -> SourceError:
    """The error for a table that opens but cannot be read to its end, with the file if found."""
    for file in files if isinstance(error, pl.exceptions.PolarsError) else ():
        try:
            scan(file).frame.select(pl.all().count()).collect(engine="streaming")
        except FAILURES as cause:
            return SourceError(
                f"reading the rows of {named(file.path)} failed: {reason(cause)}. The file is "
                "corrupt: write it again, or leave it out of the source."
            )
    where = f" Files: {listed((file.path for file in files), 3)}." if files else ""
    return SourceError(
        f"reading the rows failed: {reason(error)}. A file is corrupt, or an expression does "
        f"not fit its column.{where}"
    )
