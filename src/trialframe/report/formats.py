"""Tables as files: CSV, Parquet and JSON of every row, unrounded, never half-written."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from trialframe.errors import ArgumentError, listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

FORMATS = ("table", "md", "json", "csv", "parquet")
ENDINGS = {
    ".txt": "table",
    ".md": "md",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""Format by the ending of a file's name."""


def format_of(name: str | None, output: Path | None) -> str:
    """The format that was asked for, or the one that the file's ending says, or "table".

    Raises:
        ArgumentError: The ending says nothing and no format was given.

    Examples:
        >>> from pathlib import Path
        >>> format_of(None, Path("out.csv"))
        'csv'
    """
    if name is not None:
        return name
    if output is None or not output.suffix:
        return "table"
    found = ENDINGS.get(output.suffix.lower())
    if found is None:
        raise ArgumentError(
            f"cannot tell the format of {short(str(output))}. Known endings: {listed(ENDINGS)}; "
            "or name it with --format."
        )
    return found


def encoded(frame: pl.DataFrame, kind: str) -> bytes:
    """A table as the bytes of a CSV, Parquet or JSON file; NaN and infinity become null.

    JSON is a list of records, one a line.

    Examples:
        >>> encoded(pl.DataFrame({"a": [1, None]}), "json").decode().split()
        ['[', '{"a":', '1},', '{"a":', 'null}', ']']
    """
    real = cs.float()
    frame = frame.with_columns(pl.when(real.is_finite()).then(real).otherwise(None))
    if kind == "json":
        lines = (
            json.dumps(row, ensure_ascii=False, default=str) for row in frame.iter_rows(named=True)
        )
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    if kind == "csv":
        return frame.write_csv().encode()
    import io

    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` to write to, which takes its place when all went well.

    A device or a pipe is written to as it is.

    Raises:
        OSError: The folder does not exist or cannot be written to.
    """
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no folder {path.parent} to write {path.name} to: make it first.")
    draft = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
