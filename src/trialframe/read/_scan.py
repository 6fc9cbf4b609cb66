"""One data file as a LazyFrame, whatever its format."""

from __future__ import annotations

import glob
import json
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import SourceError, short
from trialframe.read._csv import Csv, opened
from trialframe.read._frames import reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trialframe.read._paths import DataFile

FAILURES = (pl.exceptions.PolarsError, OSError, ValueError, OverflowError, RecursionError)


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
        "JSON lines": _json_lines,
        "JSON": _json,
        "Arrow IPC": _ipc,
    }
    try:
        with warnings.catch_warnings():
            # Polars looks the region of a bucket up itself; when that fails the error says so.
            warnings.filterwarnings("ignore", message=r".*region.* not set", category=UserWarning)
            if file.format in {"CSV", "TSV"}:
                csv = opened(file.path, file.format, remote=file.remote)
                return Scan(frame=csv.frame(), csv=csv)
            frame = readers[file.format](file)
            frame.collect_schema()
    except SourceError:
        raise
    except FAILURES as error:
        raise unreadable(file.path, file.format, error) from error
    return Scan(frame=frame)


def unreadable(path: str, kind: str, error: BaseException) -> SourceError:
    """The error for a file whose content is not what its name says."""
    why = reason(error)
    todo = "Write it again, or leave it out of the source."
    if isinstance(error, OSError):
        todo = "Check the path and the permission to read it."
    elif kind in {"CSV", "TSV"} and "utf" in why.lower():
        todo = "Save it as UTF-8."
    return SourceError(f"cannot read {short(path)} as {kind}: {why}. {todo}")


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


def _json_lines(file: DataFile) -> pl.LazyFrame:
    if not file.remote and glob.has_magic(file.path):  # a name that would be taken for a pattern
        return _from_rows(_parsed_lines(file.path), file)
    frame = pl.scan_ndjson(file.path, infer_schema_length=None)
    try:
        frame.collect_schema()
    except pl.exceptions.PolarsError:  # bare NaN, or values of several types in one column
        if file.remote:
            raise
        return _from_rows(_parsed_lines(file.path), file)
    return frame


def _parsed_lines(path: str) -> Iterable[Any]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            try:
                yield _loads(line)
            except ValueError as error:
                raise SourceError(
                    f"cannot read {short(path)} as JSON lines: line {number} is not JSON "
                    f"({error}). Mend or remove the line."
                ) from error


def _text(path: str) -> str:
    """The whole file as text, decompressed by the ending of its name."""
    import pyarrow as pa  # not needed for most files, and slow to import

    with pa.input_stream(path, compression="detect") as stream:
        return str(stream.read(), "utf-8-sig")


def _loads(text: str) -> Any:
    """JSON as Python writes it: a bare NaN is a missing value."""
    return json.loads(text, parse_constant=lambda word: None if word == "NaN" else float(word))


def _json(file: DataFile) -> pl.LazyFrame:
    if file.remote:
        return pl.read_json(file.path, infer_schema_length=None).lazy()
    text = _text(file.path).strip()
    if text.startswith("["):
        try:
            frame = pl.read_json(text.encode(), infer_schema_length=None)
        except pl.exceptions.PolarsError:  # bare NaN, or values of several types in one column
            return _from_rows(_loads(text), file)
        return frame.lazy()
    try:
        content = _loads(text)
    except json.JSONDecodeError as error:
        if "Extra data" in str(error):  # one object a line in a file named .json
            return _from_rows(_parsed_lines(file.path), file)
        raise
    return _from_object(content, file)


def _from_object(content: Any, file: DataFile) -> pl.LazyFrame:
    """A JSON object of equally long lists is a table by columns; nothing else is."""
    if isinstance(content, dict) and content:
        lengths = {len(v) if isinstance(v, list) else -1 for v in content.values()}
        if len(lengths) == 1 and lengths != {-1}:
            names = list(content)
            rows = zip(*content.values(), strict=True)
            return _from_rows([dict(zip(names, row, strict=True)) for row in rows], file, names)
    inside = (
        [k for k, v in content.items() if isinstance(v, list)] if isinstance(content, dict) else []
    )
    hint = (
        f" Its list {short(inside[0])} may be it: load the file and pass that list."
        if inside
        else ""
    )
    raise SourceError(
        f"{short(file.path)} holds no table: an array of objects, or an object of equally long "
        f"arrays, is needed.{hint}"
    )


def _from_rows(
    rows: Iterable[Any],
    file: DataFile,
    names: list[str] | None = None,
) -> pl.LazyFrame:
    """Rows that Polars could not parse itself; nested values that do not fit become JSON text."""
    records = list(rows)
    wrong = next((r for r in records if not isinstance(r, dict)), None)
    if wrong is not None:
        raise SourceError(
            f"{short(file.path)} holds {short(wrong)} where an object per row is needed. "
            "Remove it, or load the file and pass the table."
        )
    if not records:
        return pl.LazyFrame(schema=dict.fromkeys(names or [], pl.Null))
    try:
        return pl.from_dicts(records, infer_schema_length=None, strict=False).lazy()
    except (*FAILURES, TypeError):
        flat = [{k: _flat(v) for k, v in record.items()} for record in records]
        return pl.from_dicts(flat, infer_schema_length=None, strict=False).lazy()


def _flat(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) > 2**63 - 1:
        return float(value) if math.isfinite(value) else None
    return value
