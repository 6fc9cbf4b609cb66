"""One data file as a LazyFrame, whatever its format."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import SourceError, named
from trialframe.read._bounded import is_packed
from trialframe.read._csv import Csv, opened
from trialframe.read._frames import reason
from trialframe.read._json import FAILURES, json_document, json_lines
from trialframe.read._survey import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.read._paths import DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One open file.

    Attributes:
        frame: Its rows.
        csv: What is known of a CSV file, else None.
    """

    frame: pl.LazyFrame
    csv: Csv | None = None


def scan(file: DataFile) -> Scan:
    """Open a file lazily; its schema is known and, for text, its values have been parsed.

    Raises:
        SourceError: The file cannot be read.
    """
    readers = {
        "Parquet": _parquet,
        "JSON lines": json_lines,
        "JSON": json_document,
        "Arrow IPC": _ipc,
    }
    try:
        with warnings.catch_warnings():
            # Polars looks the region of a bucket up itself; when that fails the error says so.
            warnings.filterwarnings("ignore", message=r".*region.* not set", category=UserWarning)
            if file.format in {"CSV", "TSV"}:
                if not file.remote:
                    _refuse_bomb(file.path)
                csv = opened(file.path, file.format, remote=file.remote)
                return Scan(frame=csv.frame(), csv=csv)
            frame = readers[file.format](file)
            frame.collect_schema()
    except SourceError:
        raise
    except FAILURES as error:
        raise unreadable(file.path, file.format, error) from error
    return Scan(frame=frame)


def _refuse_bomb(path: str) -> None:
    """Refuse a first line without end, and a compressed file that unpacks to far too much."""
    for _ in blocks(path):
        if not is_packed(path):
            return


def unreadable(path: str, kind: str, error: BaseException) -> SourceError:
    """The error for a file whose content is not what its name says."""
    why = reason(error)
    todo = "Write it again, or leave it out of the source."
    if isinstance(error, OSError):
        todo = "Check the path and the permission to read it."
    elif kind in {"CSV", "TSV"} and "utf" in why.lower():
        todo = "Save it as UTF-8."
    return SourceError(f"cannot read {named(path)} as {kind}: {why}. {todo}")


def _parquet(file: DataFile) -> pl.LazyFrame:
    return scan_parquet([file])


def scan_parquet(files: Sequence[DataFile]) -> pl.LazyFrame:
    """Parquet files of one schema as one scan."""
    hive = True if files[0].hive else None
    paths = [file.path for file in files]
    return pl.scan_parquet(paths, hive_partitioning=hive, glob=files[0].remote)


def _ipc(file: DataFile) -> pl.LazyFrame:
    hive = True if file.hive else None
    frame = pl.scan_ipc(file.path, hive_partitioning=hive, glob=file.remote)
    if file.remote:
        return frame
    try:
        frame.collect_schema()
    except pl.exceptions.PolarsError:  # the streaming variant has no footer to scan by
        return pl.read_ipc_stream(file.path).lazy()
    return frame
