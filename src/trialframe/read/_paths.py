"""Which files a path, several paths, a glob or a folder stand for."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from trialframe.errors import SourceError, did_you_mean, listed, named, short
from trialframe.read._bounded import PACKED

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON",
    ".arrow": "Arrow IPC",
    ".ipc": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".eval": "Archive",
    ".xml": "XML",
}
"""Format of a file by the ending of its name."""

TEXT = {"CSV", "TSV", "JSON lines", "JSON", "XML"}

SHOWN = {".aider.results.json", ".deepeval", ".latest_test_run.json"}
"""Names of logs and their folders that count although they look hidden."""

EMPTY = "is empty (0 bytes). Write it again, or leave it out of the source."
"""What to say of a file without a byte."""

LOGS_ONLY = {"Archive", "XML"}
"""Formats that hold evaluation logs and never plain tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file to scan.

    Attributes:
        path: Path or URL.
        format: A value of `FORMATS`.
        remote: Whether it is a URL, handed to Polars as it is.
        hive: Whether folders of the path hold values, as in `model=a/part.parquet`.
        named: Whether the caller named this very file, not a folder or a glob that holds it.
        empty: Whether it has no byte, as a crash leaves it.
    """

    path: str
    format: str
    remote: bool = False
    hive: bool = False
    named: bool = False
    empty: bool = False


def files_of(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    empty: Literal["raise", "keep"] = "raise",
) -> list[DataFile]:
    """The data files of a source, in a fixed order, each once.

    Args:
        source: A path, several paths, a folder or a glob.
        empty: What to do with files of a folder or a glob that have no byte.

    Raises:
        SourceError: A path is missing, a folder or glob has no data files, a file is empty
            or of an unknown format.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else source
    found = {file.path: file for path in paths for file in _expanded(os.fspath(path))}
    if empty == "raise":
        refuse_empty(found.values())
    return list(found.values())


def refuse_empty(files: Iterable[DataFile]) -> None:
    """Raise for the first file that has no byte.

    Raises:
        SourceError: There is one.
    """
    for file in files:
        if file.empty:
            raise SourceError(f"{named(file.path)} {EMPTY}")


def _expanded(text: str) -> list[DataFile]:
    if not text.strip():
        raise SourceError(
            f"the path {text!r} is empty. Name a file, a folder or a glob; the folder you are in "
            "is '.'."
        )
    if text.startswith("file://"):
        text = unquote(text.removeprefix("file://"))
    if "://" in text:
        return [DataFile(path=text, format=_format_of(text) or "Parquet", remote=True)]
    path = Path(text)
    if text.startswith("~"):
        path = path.expanduser()
    try:
        if _exists(path):
            return _of_folder(path) if path.is_dir() else [replace(_checked(path), named=True)]
        if glob.has_magic(text):
            return _of_glob(path)
        raise SourceError(_missing(path))
    except OSError as error:
        raise SourceError(_closed(path, error)) from error


def _closed(path: Path, error: OSError) -> str:
    """What to say of a file or folder that the system does not let us look at."""
    where = short(str(error.filename or path))
    return (
        f"cannot look into {where}: {error.strerror or error}. Get permission to read it, or name "
        "the files to read."
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        raise
    except (OSError, ValueError):  # longer than the system allows, or with a null byte
        return False


def _format_of(name: str) -> str | None:
    """Format by the ending of a name, looking through the ending of a compressed file."""
    path = Path(name.partition("?")[0] if "://" in name else name)
    ending = path.suffix.lower()
    if ending not in PACKED:
        return FORMATS.get(ending)
    inner = FORMATS.get(Path(path.stem).suffix.lower())
    return inner if inner in TEXT else None


def _checked(path: Path, root: Path | None = None) -> DataFile:
    """One existing file, refused when its format is unknown or it is empty."""
    kind = _format_of(path.name)
    if kind is None:
        raise SourceError(
            f"cannot tell the format of {named(path)}. Known endings: "
            f"{', '.join(FORMATS)}, and text formats with {' or '.join(PACKED)}. Rename the file, "
            "or read it yourself and pass the table."
        )
    if not path.is_file():
        raise SourceError(
            f"{named(path)} is not a regular file but a pipe or a device. Write its content "
            "to a file first."
        )
    below = path.relative_to(root).parts[:-1] if root is not None else ()
    return DataFile(
        path=str(path),
        format=kind,
        hive=any("=" in part for part in below),
        empty=path.stat().st_size == 0,
    )


def _of_folder(root: Path) -> list[DataFile]:
    """All data files below a folder; hidden ones and those that start with _ are left out."""
    for sign, table in (("_delta_log", "Delta"), ("metadata", "Iceberg")):
        if (root / sign).is_dir() and (table == "Delta" or _is_iceberg(root / sign)):
            raise SourceError(
                f"{named(root)} is the folder of a {table} table, and its files hold deleted "
                f"rows too. Pass pl.scan_{table.lower()}({named(root)})."
            )
    if root.resolve() == Path(root.resolve().anchor):
        raise SourceError(
            f"{named(root)} is the root of the file system: reading it would read every data "
            "file there is. Name the folder that holds the trials."
        )
    files = _below(root)
    data = [_checked(path, root) for path in files if _format_of(path.name)]
    if data:
        return data
    seen = sorted({path.suffix or path.name for path in files})
    holds = f"It holds {listed(seen)}." if seen else "It is empty."
    raise SourceError(
        f"no data file in folder {named(root)}. {holds} Known endings: {', '.join(FORMATS)}."
    )


def _below(root: Path) -> list[Path]:
    """Files below a folder in order; hidden ones and those that start with _ are left out.

    Raises:
        OSError: A folder cannot be looked into; leaving it out would be a silent loss.
    """
    found = []
    for folder, folders, names in os.walk(root, onerror=_raise):
        folders[:] = [name for name in folders if not _is_hidden(Path(name))]
        found += [Path(folder, name) for name in names if not _is_hidden(Path(name))]
    return sorted(path for path in found if path.is_file())


def _raise(error: OSError) -> None:
    raise error


def _is_iceberg(metadata: Path) -> bool:
    return any(metadata.glob("*.metadata.json"))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) and part not in SHOWN for part in path.parts)


def _of_glob(pattern: Path) -> list[DataFile]:
    """Data files that match; folders that match are read as folders."""
    parts = pattern.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:first])
    matches = sorted(root.glob(str(Path(*parts[first:])))) if _exists(root) else []
    matches = [path for path in matches if not _is_hidden(path.relative_to(root))]
    files = [path for path in matches if path.is_file()]
    data = [_checked(path, root) for path in files if _format_of(path.name)]
    for folder in (path for path in matches if path.is_dir()):
        data += [_checked(p, root) for p in _below(folder) if _format_of(p.name)]
    if data:
        return data
    if files:
        _checked(files[0])
    raise SourceError(f"no data file matches {named(pattern)}. {_around(root, pattern.name)}")


def _missing(path: Path) -> str:
    where = "" if path.is_absolute() else f" (looked in {Path.cwd()})"
    return f"no file or folder {named(path)}{where}. {_around(path.parent, path.name)}"


def _around(folder: Path, name: str) -> str:
    """What a folder holds and what is close to the name."""
    if not _exists(folder):
        return f"The folder {named(folder)} does not exist either."
    names = sorted(path.name for path in folder.iterdir() if not _is_hidden(Path(path.name)))
    return did_you_mean(name[:255], names)
