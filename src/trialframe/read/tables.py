"""Plain tables, in files or in memory, as trials."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.errors import ColumnError, SourceError, TrialframeError, listed, short
from trialframe.read._fields import STRICT, Columns, Plan, kind_of
from trialframe.read._frames import reason, to_lazy
from trialframe.read._paths import DataFile, files_of
from trialframe.read._scan import FAILURES, Scan, scan, scan_parquet
from trialframe.read._trials import canonical, planned, refuse_broken
from trialframe.schema import MEASURES, TRIALS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from typing import Unpack

log = logging.getLogger("trialframe")

SPENT = ("tokens_in", "tokens_out", "cost_uusd", "duration_ms")
"""Measures of effort: in these a 0 often stands for unknown."""

TEXTS = frozenset(item.name for item in TRIALS if item.dtype == pl.String)
"""Canonical columns that hold text, whatever it is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A source as one table, before its columns are resolved.

    Attributes:
        frame: All rows, in the order of the files.
        conflicts: Columns whose type differs between files, with what to say about it.
        missing: Columns that some files lack, with what to say about it.
        files: The files, if there are any, and
        scans: what is known of each.
    """

    frame: pl.LazyFrame
    conflicts: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    files: tuple[DataFile, ...] = ()
    scans: tuple[Scan, ...] = ()

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
        return _table(self.files, self.scans, frames)


def read(
    source: Any,
    *,
    threshold: float | None = None,
    zero_is_missing: str | Sequence[str] = (),
    **columns: Unpack[Columns],
) -> pl.LazyFrame:
    """Read a table of trials: one row per trial, or per case with columns n and c.

    Do not use it for the tables of an engine that runs queries itself (DuckDB, Spark, Ibis):
    give those to `tr.counts`, which sends the group-by to the data.

    Args:
        source: A path, several paths, a glob or a folder (read with all folders below it) of
            Parquet, CSV, TSV, JSON lines, JSON or Arrow IPC files, text formats also as .gz
            or .zst; a URL that Polars can scan, such as s3://...; or a table in memory:
            Polars, pandas, pyarrow, a dict of columns, a list of dicts.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        zero_is_missing: Measures in which 0 stands for unknown, for example "tokens_in".
        **columns: Where each canonical column is: a name, several names for `config` and
            `case`, a Polars expression, or None to leave it out. Common aliases are found
            without it; `tr.mapping` says what was chosen.

    Returns:
        Canonical columns first, all other columns as they are. Parquet, CSV, JSON lines and
        Arrow files stay on disk until the frame is collected.

    Raises:
        SourceError: A file is missing, empty, corrupt or of an unknown format, or a column
            has different types in different files.
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Verdicts that are not true, false or null; NaN or infinite numbers.

    Notes:
        A column that some files lack is null there. NaN in CSV and JSON is taken as null,
        since these formats have no other way to write a missing number; in Parquet, Arrow
        and Polars it is refused. A CSV column that serves as no number or truth value stays
        text where numbers would read otherwise than written: 1.10, 007, 1e3, True. What was
        taken for what is logged (logger "trialframe", INFO).

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> rows = {"model": ["a", "a"], "task": [1, 2], "reward": [0.9, 0.2]}
        >>> tr.read(rows, threshold=0.5).select("config", "case", "passed").collect().rows()
        [('a', '1', True), ('a', '2', False)]
    """
    zeros = _zero_columns(zero_is_missing)
    raw, plan = resolved(source, columns, threshold)
    for line in plan.frame().filter(pl.col("how") != "unused").rows():
        log.info("column %s <- %s (%s) %s", *line)
    try:
        refuse_broken(raw.frame, tuple(item for item in plan.fields if item.usable))
    except pl.exceptions.PolarsError as error:
        raise failed(error, raw.files) from error
    absent = [name for name in zeros if plan.get(name) is None]
    if absent:
        found = [name for name in SPENT if plan.get(name) is not None]
        raise ColumnError(
            f"zero_is_missing: the table has no {listed(absent)}; it has "
            f"{listed(found) or 'none of ' + listed(SPENT)}. Leave it out, or name its column."
        )
    unknown = (pl.when(pl.col(name) != 0).then(pl.col(name)).alias(name) for name in zeros)
    return canonical(raw.frame, plan).with_columns(unknown)


def mapping(
    source: Any,
    *,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """Report which source column `tr.read` and `tr.counts` take for which canonical column.

    It looks at names and types only, so do not use it to check values: `tr.check_trials` does.

    Args:
        source: As in `tr.read`.
        threshold: As in `tr.read`.
        **columns: As in `tr.read`.

    Returns:
        One row per canonical column found and per unused source column: `column`, `source`,
        `how` ("given", "name", "alias", "derived", "not used", "unused"), `note`.

    Raises:
        SourceError: As in `tr.read`.
        ColumnError: As in `tr.read`.

    Examples:
        >>> import trialframe as tr
        >>> tr.mapping({"task": [1], "ok": [True], "lang": ["py"]}, passed="ok").rows()[:2]
        [('case', 'task', 'alias', ''), ('passed', 'ok', 'given', '')]
    """
    return resolved(source, columns, threshold)[1].frame()


def resolved(
    source: Any,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[Raw, Plan]:
    """The source as one table (with columns made by expressions added) and its plan."""
    if threshold is not None:
        _checks.between(threshold, "threshold", low=-1e300, high=1e300)
    raw, frame, plan = _as_written(load(source), columns, threshold)
    used = {s for f in plan.fields if f.usable and f.name not in TEXTS for s in f.sources}
    used |= {s for v in columns.values() if isinstance(v, pl.Expr) for s in v.meta.root_names()}
    for name, message in raw.conflicts.items():
        if name in used:
            raise SourceError(message)
        log.info("%s It is read as text.", message)
    strict = {s for f in plan.fields if f.name in STRICT for s in f.sources}
    for name, message in raw.missing.items():
        log.log(logging.WARNING if name in strict else logging.INFO, message)
    return replace(raw, frame=frame), plan


def _as_written(
    raw: Raw,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[Raw, pl.LazyFrame, Plan]:
    """The table and its plan, with ids of CSV files as they are written: 1.10 is not 1.1."""
    respelled = raw.respelled()
    texts = respelled & _roots(columns, TEXTS)
    if texts:
        try:
            _planned(raw.written(texts), columns, threshold)
        except (TrialframeError, pl.exceptions.PolarsError):  # the expression wants numbers
            respelled, texts = respelled - texts, frozenset()
    typed = raw.written(texts) if texts else raw
    frame, plan = _planned(typed, columns, threshold)
    more = respelled - _numbers(plan) - _roots(columns, set(columns) - TEXTS) - texts
    if more:
        typed = raw.written(texts | more)
        frame, plan = _planned(typed, columns, threshold)
    for name in sorted(texts | more):
        log.info("column %s is kept as text: its values are not written as numbers are", name)
    return typed, frame, plan


def _planned(
    raw: Raw,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[pl.LazyFrame, Plan]:
    try:
        return planned(raw.frame, columns, threshold)
    except ColumnError as error:
        if raw.conflicts:
            raise SourceError(" ".join([*raw.conflicts.values(), str(error)])) from error
        raise


def _roots(columns: Mapping[str, Any], names: AbstractSet[str]) -> frozenset[str]:
    """Columns in the expressions that make the canonical columns `names`."""
    made = [v for k, v in columns.items() if k in names and isinstance(v, pl.Expr)]
    return frozenset(root for value in made for root in value.meta.root_names())


def _numbers(plan: Plan) -> frozenset[str]:
    """Source columns that serve as numbers or truth values, by mapping or by name."""
    used = {
        source
        for item in plan.fields
        if item.usable and item.name not in {*TEXTS, "trial"}
        for source in item.sources
    }
    if plan.shape == "counts":
        used |= {f"{m}_{part}" for m in MEASURES for part in ("n", "sum", "sumsq")}
        used |= {"unscored_failed", "c_secure"}
    return frozenset(used)


def load(source: Any) -> Raw:
    """The source as one table, whatever it is.

    Raises:
        SourceError: It cannot be read.
    """
    if not _is_paths(source):
        lazy = to_lazy(source)
        if lazy is None:
            raise SourceError(
                f"a {type(source).__name__} is a table of another engine: give it to tr.counts, "
                "which counts there and brings home the counts only."
            )
        return Raw(frame=lazy)
    files = files_of(source)
    log.info("data files: %d, the first is %s", len(files), short(files[0].path))
    scans = [scan(file) for file in files]
    return _table(files, scans, [item.frame for item in scans])


def failed(error: Exception, files: Sequence[DataFile] = ()) -> SourceError:
    """The error for a table that opens but cannot be read to its end, with the file if found."""
    for file in files if isinstance(error, pl.exceptions.PolarsError) else ():
        try:
            scan(file).frame.select(pl.all().count()).collect(engine="streaming")
        except FAILURES as cause:
            return SourceError(
                f"reading the rows of {short(file.path)} failed: {reason(cause)}. The file is "
                "corrupt: write it again, or leave it out of the source."
            )
    where = f" Files: {listed((file.path for file in files), 3)}." if files else ""
    return SourceError(
        f"reading the rows failed: {reason(error)}. A file is corrupt, or an expression does "
        f"not fit its column.{where}"
    )


def _is_paths(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, Sequence) or isinstance(source, bytes) or not source:
        return False
    return all(isinstance(item, str | os.PathLike) for item in source)


def _zero_columns(value: str | Sequence[str]) -> tuple[str, ...]:
    names = _checks.names(value, "zero_is_missing")
    for name in names:
        _checks.one_of(name, "zero_is_missing", SPENT)
    return names


def _table(files: Sequence[DataFile], scans: Sequence[Scan], frames: list[pl.LazyFrame]) -> Raw:
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
