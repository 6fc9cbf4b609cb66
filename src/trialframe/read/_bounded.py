"""Files that nobody vouches for, opened within fixed bounds of memory, and never run."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

from trialframe.errors import SourceError, short

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

MAX_DOCUMENT = 512 * 2**20
"""Bytes of one JSON or XML document, decompressed."""

MAX_LINE = 64 * 2**20
"""Bytes of one line of a file of JSON lines."""

MAX_MEMBERS = 2_000_000
"""Members of one archive."""

ZSTANDARD = 93
"""Compression method of zip members that the standard library knows from Python 3.14 on."""

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


PACKED = (".gz", ".zst")
"""Endings of the names of compressed files."""

AT_ONCE = 2**16
"""Bytes that are unpacked at once, for readers that ask for less."""


def is_packed(path: str | Path) -> bool:
    """Whether a file is compressed, by the ending of its name."""
    return PurePath(path).suffix.lower() in PACKED


def opened(path: Path) -> BinaryIO:
    """A file for reading, decompressed by the ending of its name."""
    if not is_packed(path):
        return path.open("rb")
    import pyarrow as pa  # not needed for most files, and slow to import

    return io.BufferedReader(pa.input_stream(str(path), compression="detect"), AT_ONCE)


def content(path: Path, limit: int = MAX_DOCUMENT) -> bytes:
    """The bytes of a file, decompressed by the ending of its name.

    Raises:
        SourceError: There are more than `limit` of them.
        OSError: The file cannot be read.
    """
    return b"".join(blocks(path, limit))


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file, decompressed by the ending of its name."""
    with opened(path) as file:
        return file.read(size)


def parsed(data: bytes | str, where: str) -> Any:
    """JSON as Python and most harnesses write it: NaN and infinity are missing values.

    Raises:
        SourceError: It is no JSON, not UTF-8, or nested too deeply.
    """
    try:
        if isinstance(data, bytes):
            data = data.decode("utf-8-sig")
        return json.loads(data, parse_constant=_missing)
    except RecursionError as error:
        raise SourceError(
            f"{short(where)} is nested too deeply to be a log. Leave it out."
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{short(where)} is not UTF-8 (byte {error.start:,}). Save it as UTF-8."
        ) from error
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{short(where)} is no JSON: {error.msg} in line {error.lineno}, column {error.colno}. "
            "Write it again, or leave it out."
        ) from error
    except ValueError as error:  # a number of more digits than Python takes
        raise SourceError(f"{short(where)} is no JSON: {error}. Leave it out.") from error


def _missing(_: str) -> None:
    return None


def document(path: Path) -> Any:
    """A file that is one JSON document."""
    return parsed(content(path), str(path))


def blocks(path: Path, limit: int | None = None) -> Iterator[bytes]:
    """The bytes of a file in blocks, decompressed by the ending of its name.

    Raises:
        SourceError: There are more than `limit` of them, or than `MAX_DOCUMENT`.
    """
    limit = MAX_DOCUMENT if limit is None else limit
    total = 0
    with opened(path) as file:
        while block := file.read(2**20):
            total += len(block)
            if total > limit:
                raise SourceError(_too_large(str(path), limit))
            yield block


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1.

    Raises:
        SourceError: A line has more than `MAX_LINE` bytes.
    """
    number, rest = 0, b""
    with opened(path) as file:
        while block := file.read(2**22):
            whole, found, tail = block.rpartition(b"\n")
            if not found:
                rest += block
            else:
                for line in (rest + whole).split(b"\n"):
                    number += 1
                    if line.strip():
                        yield number, line
                rest = tail
            if len(rest) > MAX_LINE:
                raise SourceError(
                    f"line {number + 1} of {short(str(path))} has more than {MAX_LINE >> 20} MiB. "
                    "A line holds one row: write the file again, or leave it out."
                )
    if rest.strip():
        yield number + 1, rest


def first_member(start: bytes) -> str:
    """The name of the first member of an archive, from its first bytes; empty if they are odd."""
    if len(start) < _LOCAL_HEADER.size:
        return ""
    length = _LOCAL_HEADER.unpack_from(start)[-2]
    return start[_LOCAL_HEADER.size :][:length].decode("utf-8", errors="replace")


class Archive:
    """A zip file whose members are read whole, within bounds, and never unpacked to disk.

    Raises:
        SourceError: It is no zip file, or a member's name climbs out of it.
    """

    def __init__(self, path: Path) -> None:
        """Read the directory of the archive."""
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as error:
            raise SourceError(
                f"{short(str(path))} is no whole zip file: {error}. The run that wrote it was "
                "cut short, or the file was: write it again, or leave it out."
            ) from error
        self._members = {item.filename: item for item in self._zip.infolist()}
        if len(self._members) > MAX_MEMBERS:
            raise SourceError(f"{short(str(path))} has more than {MAX_MEMBERS:,} members.")
        for name in self._members:
            if name.startswith("/") or (".." in name and ".." in PurePosixPath(name).parts):
                raise SourceError(
                    f"{short(str(path))} has a member {short(name)}, which climbs out of the "
                    "archive. No harness writes that: leave the file out."
                )

    def __enter__(self) -> Self:
        """Keep the file open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order of the archive."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of a member.

        Raises:
            SourceError: It is larger than `MAX_DOCUMENT`, corrupt or packed in an unknown way.
        """
        info = self._members[name]
        where = f"{self.path}: {name}"
        if info.file_size > MAX_DOCUMENT:
            raise SourceError(_too_large(where, MAX_DOCUMENT))
        try:
            data = self._zstd(info) if info.compress_type == ZSTANDARD else self._plain(info)
        except (OSError, EOFError, ValueError, RuntimeError, struct.error, zlib.error) as error:
            raise SourceError(_corrupt(where, error)) from error
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise SourceError(_corrupt(where, error)) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise SourceError(_corrupt(where, "its checksum differs"))
        return data

    def json(self, name: str) -> Any:
        """A member that is one JSON document."""
        return parsed(self.read(name), f"{self.path}: {name}")

    def _plain(self, info: zipfile.ZipInfo) -> bytes:
        with self._zip.open(info) as file:
            return file.read(info.file_size + 1)

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        """A Zstandard member, of one frame or several, by its place in the file."""
        import pyarrow as pa

        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            if header[0] != b"PK\x03\x04":
                raise ValueError("no member begins where the directory says")
            file.seek(header[-2] + header[-1], 1)  # the name and extra fields again
            packed = file.read(min(info.compress_size, MAX_DOCUMENT))
        if not info.file_size:
            return b""
        unpacked = pa.Codec("zstd").decompress(packed, decompressed_size=info.file_size)
        return bytes(unpacked)


def _too_large(where: str, limit: int) -> str:
    return (
        f"{short(where)} has more than {limit >> 20} MiB and would not fit into bounded memory. "
        "Split it, write it without transcripts, or leave it out."
    )


def _corrupt(where: str, why: object) -> str:
    return f"{short(where)} is corrupt: {short(str(why))}. Write it again, or leave it out."
