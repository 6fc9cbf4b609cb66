"""Where an export goes, from one text: a file, a folder, a database."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from trialframe.errors import ArgumentError, ExportError, short

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
SCHEMES = ("postgresql", "postgres", "sqlite", "duckdb", "delta", "iceberg")
KNOWN = (
    "a file that ends in .parquet, .csv, .json, .duckdb or .sqlite, a folder with a slash at its "
    "end for Parquet in Hive folders, sqlite:FILE, duckdb:FILE, delta:FOLDER, iceberg:CATALOG.db, "
    "or postgresql://USER@HOST/DATABASE?schema=SCHEMA"
)
DATABASES = ("duckdb", "sqlite", "postgresql", "iceberg")
"""Kinds that hold several tables, so that a table there has a name."""

TELLING = 3
"""Characters of a part of a password that are blotted out; fewer would blot out the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place for a table.

    Attributes:
        kind: "parquet", "csv", "json", "hive", "duckdb", "sqlite", "postgresql", "delta",
            "iceberg".
        shown: How messages call it; never with a password.
        path: The file or folder; None for a server.
        address: The connection string of a server.
        schema: Schema or namespace that the address names.
    """

    kind: str
    shown: str
    path: Path | None = None
    address: str = field(default="", repr=False)
    schema: str = ""

    @property
    def place(self) -> Path:
        """The file or folder of a target that has one."""
        if self.path is None:  # pragma: no cover
            raise ArgumentError(f"{self.shown} is no file.")
        return self.path


def target_of(given: object, table: str) -> Target:
    """The place behind a path or an address; `{table}` in it stands for the table's name.

    Raises:
        ArgumentError: Neither a path nor an address, or a file of no known kind.

    Examples:
        >>> target_of("out/{table}.parquet", "counts").shown
        'out/counts.parquet'
        >>> target_of("postgresql://ann:pw@db/evals?schema=nightly", "counts").shown
        'postgresql://ann:***@db/evals'
    """
    if not isinstance(given, str | os.PathLike) or not str(given).strip() or "\x00" in str(given):
        raise ArgumentError(f"target == {short(given)}, must be {KNOWN}.")
    text = os.fspath(given)
    text = text.decode() if isinstance(text, bytes) else str(text)
    text = text.replace("{table}", table)
    scheme, colon, rest = text.partition(":")
    if colon and scheme in {"postgresql", "postgres"}:
        return _server(text)
    if colon and scheme in SCHEMES:
        return _local(scheme, _path_of(rest), text)
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", text):
        raise ArgumentError(f"no target of the kind {short(scheme + '://')}. Known: {KNOWN}.")
    return _local(_kind_of(text), text, text)


def refuse_missing_folder(path: Path) -> None:
    """Say so where there is no folder to write a file or folder to.

    Raises:
        ExportError: The folder is not there.
    """
    if not path.parent.is_dir():
        raise ExportError(f"no folder {path.parent} to write {path.name} to: make it first.")


def _local(kind: str, path: str, shown: str) -> Target:
    if not path.strip("/ "):
        raise ArgumentError(f"target == {short(shown)} names no file. Known: {KNOWN}.")
    return Target(kind=kind, shown=shown, path=Path(path).expanduser().resolve())


def _path_of(rest: str) -> str:
    """The path after a scheme: FILE, //FILE, ///FILE (relative) or ////FILE (absolute)."""
    return rest[3:] if rest.startswith("///") else rest.removeprefix("//")


def _kind_of(text: str) -> str:
    path = Path(text).expanduser()
    if path.is_dir() or text.endswith(("/", os.sep)):
        return "delta" if (path / "_delta_log").is_dir() else "hive"
    found = ENDINGS.get(path.suffix.lower())
    if found is None and path.is_file():
        found = _by_content(path)
    if found is None:
        raise ArgumentError(f"cannot tell what kind of target {_shown(text)} is. Known: {KNOWN}.")
    return found


def _by_content(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        return "sqlite"
    return "duckdb" if head[8:12] == b"DUCK" else None


def _server(text: str) -> Target:
    """A PostgreSQL address, its schema taken out and its password kept from sight."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        raise ArgumentError(
            "the address of the PostgreSQL server cannot be read: write it as "
            "postgresql://USER@HOST:PORT/DATABASE?schema=SCHEMA."
        )
    place, _, query = rest.partition("?")
    words = [word for word in query.split("&") if word]
    schemas = [word.partition("=")[2] for word in words if word.startswith("schema=")]
    kept = "&".join(word for word in words if not word.startswith("schema="))
    user, at, host = place.rpartition("@")
    name, colon, _ = user.partition(":")
    return Target(
        kind="postgresql",
        shown=f"{scheme}://{name}{':***' if colon else ''}{at}{host.partition('#')[0]}",
        address=f"{scheme}://{place}{'?' if kept else ''}{kept}",
        schema=unquote(schemas[0]) if schemas else "",
    )


def without_password(message: str, target: Target) -> str:
    """A message of a driver with the password of an address blotted out.

    The driver ends the password at the first @ or /, so its parts are blotted out as well.
    """
    place, _, query = target.address.partition("://")[2].partition("?")
    words = (word.partition("=") for word in query.split("&"))
    found = {value for name, _, value in words if "password" in name}
    given = place.rpartition("@")[0].partition(":")[2]
    found |= {given, *(part for part in re.split("[@/]", given) if len(part) >= TELLING)}
    secrets = found | {unquote(secret) for secret in found}
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        message = message.replace(secret, "***")
    return message


def _shown(text: str) -> str:
    """A target that is none, shortened, without what looks like a password."""
    text = re.sub(r"(?i)(password\s*=\s*)('[^']*'|[^\s&;]+)", r"\1***", text)
    return short(re.sub(r"(//[^/:@]*:).*@", r"\1***@", text))
