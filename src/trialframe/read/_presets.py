"""Tables that platforms export, recognised by their columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import ColumnError, SourceError, TrialframeError, listed
from trialframe.read._combine import Raw
from trialframe.read._frames import FAILURES, reason
from trialframe.read._log import Log, bare, first_there
from trialframe.read.logs import UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.read._take import Take
    from trialframe.read.logs import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """One kind of exported table.

    Attributes:
        name: The word for `format=`.
        title: The tool that writes it.
        files: What is exported.
        recognise: Whether a table is one, by its columns.
        convert: The table, and what is asked of it -> columns of trials.
        fields: Which column of the export becomes which column.
        trial: Where the number of a trial comes from.
        metric: What `metric=` names, and what is taken without it.
    """

    name: str
    title: str
    files: str
    recognise: Callable[[pl.Schema], bool]
    convert: Callable[[pl.LazyFrame, Log], pl.LazyFrame]
    fields: tuple[Take, ...]
    trial: str
    metric: str = ""


def preset_of(raw: Raw, choice: Choice) -> Raw:
    """The table with the columns of trials, if it is a known export; else as it is.

    Raises:
        ColumnError: The format that was asked for does not fit the columns.
        SourceError: It fits, and a value in them does not.
    """
    from trialframe.read._formats import TABLES

    asked = next((item for item in TABLES if item.name == choice.format), None)
    if choice.format == "table":
        return raw
    schema = raw.frame.collect_schema()
    found = asked or next((item for item in TABLES if item.recognise(schema)), None)
    if found is None:
        return raw
    if not found.recognise(schema):
        raise ColumnError(
            f"format={found.name!r}: the table is no export of {found.title}. Its columns: "
            f"{listed(schema, 20)}."
        )
    parts, unread = [], []
    for path, part in _frames(raw, found):
        log = Log(
            path=Path(f"the export of {found.title}"),
            threshold=choice.threshold,
            strict=choice.strict,
        )
        made = first_there(choice.metrics, partial(_converted, found, part, log))
        parts.append(_of_file(made, path))
        unread += [(path or str(log.path), place, why) for place, why in log.unread]
    frame = parts[0] if len(parts) == 1 else pl.concat(parts, how="diagonal_relaxed")
    taken = {take.column: take for take in found.fields}
    return Raw(
        frame=frame, files=raw.files, taken=taken, unread=pl.DataFrame(unread, UNREAD, orient="row")
    )


def _converted(
    found: TableFormat, frame: pl.LazyFrame, log: Log, metric: str | None
) -> pl.LazyFrame:
    try:
        return found.convert(frame, log.by(metric))
    except TrialframeError:
        raise
    except (*FAILURES, AttributeError, LookupError) as error:
        # Columns of an export that hold what the platform never writes there.
        raise SourceError(
            f"the table is no export of {found.title} that can be read: {type(error).__name__}: "
            f"{reason(error)}. Mend it, or read it with format='table' and name its columns."
        ) from error


def _frames(raw: Raw, found: TableFormat) -> list[tuple[str | None, pl.LazyFrame]]:
    """The tables of the files one by one, with ids as they are written; else the one table."""
    frames = [
        item.frame if item.csv is None else item.csv.frame(item.csv.respelled) for item in raw.scans
    ]
    if frames and all(found.recognise(frame.collect_schema()) for frame in frames):
        paths = [file.path for file in raw.files]
        return list(zip(paths, frames, strict=True))
    return [(None, raw.frame)]


def _of_file(frame: pl.LazyFrame, path: str | None) -> pl.LazyFrame:
    """Where the export names no system, the file does; it is kept as `log` in any case."""
    if path is None:
        return frame
    schema = frame.collect_schema()
    name = pl.lit(Path(bare(Path(path))).stem)
    config = pl.col("config").fill_null(name) if "config" in schema else name
    log = pl.col("log") if "log" in schema else pl.lit(path)
    return frame.with_columns(config=config, log=log)
