"""Zip files that nobody vouches for: members in memory, within fixed bounds, and never on disk."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from trialframe.errors import SourceError, named, short
from trialframe.read import _bounded

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

MAX_MEMBERS, MAX_DIRECTORY = 2_000_000, 2**28
"""Members of one archive, and bytes of its directory."""

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
"""How members are packed."""

_LOCAL = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s4xHH4xIIIHHH8xI")
_LENGTHS = struct.Struct("<4s24xHHH")
_END = struct.Struct("<4s4xHHIIH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4s20xQQQQ")

_WIDE, _WIDER = 2**32 - 1, 2**64 - 1
"""What stands in place of numbers that need 64 bits."""


class _Member(NamedTuple):
    """Where the bytes of a member are, and what they must become."""

    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    name: bytes


def first_member(start: bytes) -> str:
    """The name of the first member of an archive, from its first bytes; empty if they are odd."""
    if len(start) < _LOCAL.size:
        return ""
    length = _LOCAL.unpack_from(start)[-2]
    return start[_LOCAL.size :][:length].decode("utf-8", errors="replace")


class Archive:
    """A zip file whose members are read whole.

    The standard library's reader makes an object for every member, which takes longer than to
    read the few that are wanted, and knows no Zstandard before Python 3.14.

    Raises:
        SourceError: It is no zip file, or a member's name climbs out of it.
    """

    def __init__(self, path: Path) -> None:
        """Read the directory of the archive."""
        self.path = path
        self._read = 0
        self._file = path.open("rb")
        try:
            self._size, self._directory, self._shift = _directory(self._file)
            self._places = _places(self._directory)
            self._refuse_odd_names()
        except BaseException as error:
            self._file.close()
            if isinstance(error, SourceError) or not isinstance(error, ValueError | struct.error):
                raise
            raise SourceError(
                f"{named(path)} is no whole zip file: {error}. The run that wrote it was "
                "cut short, or the file was: write it again, or leave it out."
            ) from error

    def _refuse_odd_names(self) -> None:
        every = "\n".join(["", *self._places])
        suspects = self._places if "\n/" in every or ".." in every else ()
        for name in suspects:
            if name.startswith("/") or (".." in name and ".." in PurePosixPath(name).parts):
                raise SourceError(
                    f"{named(self.path)} has a member {short(name)}, which climbs out of the "
                    "archive. No harness writes that: leave the file out."
                )

    def __enter__(self) -> Self:
        """Keep the file open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    @property
    def names(self) -> list[str]:
        """Names of the members without folders, in the order of the archive."""
        return [name for name in self._places if not name.endswith("/")]

    def read(self, name: str) -> bytes:
        """The bytes of a member.

        Raises:
            SourceError: It is larger than `MAX_DOCUMENT`, corrupt or packed in an unknown way.
        """
        where = f"{self.path}: {name}"
        try:
            member = _member(self._directory, self._places[name])
            data = self._unpacked(member, where)
        except SourceError:
            raise
        except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
            raise SourceError(_corrupt(where, error)) from error
        if len(data) != member.size or zlib.crc32(data) != member.crc:
            raise SourceError(_corrupt(where, "its checksum differs"))
        return data

    def json(self, name: str) -> Any:
        """A member that is one JSON document."""
        return _bounded.parsed(self.read(name), f"{self.path}: {name}")

    def _unpacked(self, member: _Member, where: str) -> bytes:
        if member.size > _bounded.MAX_DOCUMENT:
            raise SourceError(_bounded.too_large(where, _bounded.MAX_DOCUMENT))
        if member.flags & 1:
            raise ValueError("it is encrypted")
        self._file.seek(member.offset + self._shift)
        header = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04":
            raise ValueError("no member begins where the directory says")
        name = self._file.read(header[-2])
        if name != member.name:
            raise ValueError("it begins with another name than the directory says")
        self._file.seek(header[-1], os.SEEK_CUR)
        self._read += member.packed
        if self._read > self._size:
            raise ValueError("its members lie one above the other")
        packed = self._file.read(min(member.packed, 2 * _bounded.MAX_DOCUMENT))
        if not member.size:
            return b""
        if member.method == STORED:
            return packed[: member.size + 1]
        if member.method == DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size + 1)
        if member.method != ZSTANDARD:
            raise ValueError(f"it is packed by method {member.method}")
        import pyarrow as pa  # knows members of several frames; slow to import

        unpacked: bytes = pa.Codec("zstd").decompress(packed, member.size, asbytes=True)
        return unpacked


def _directory(file: BinaryIO) -> tuple[int, bytes, int]:
    """The size of an archive, its directory, and how far members are from where that says.

    Raises:
        ValueError: There is none.
    """
    size = file.seek(0, os.SEEK_END)
    for length in (_END.size, _END.size + 2**16):  # a comment may stand behind the end
        place = max(0, size - length)
        file.seek(place)
        tail = file.read(length)
        at = _end_in(tail)
        if at >= 0:
            break
    else:
        raise ValueError("it has no directory at its end")
    end = place + at
    _, _, _, length, start, _ = _END.unpack_from(tail, at)
    if end >= _LOCATOR.size:
        file.seek(end - _LOCATOR.size)
        sign, _, where, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if sign == b"PK\x06\x07":
            length, start, end = _end64(file, (where, end - _LOCATOR.size - _END64.size))
    if length > min(end, MAX_DIRECTORY):
        raise ValueError("its directory is too long to be one")
    file.seek(end - length)
    return size, file.read(length), end - length - start


def _end_in(tail: bytes) -> int:
    """Where the end of the directory is: the last whose comment ends the file; -1 for nowhere."""
    at = len(tail) - _END.size
    while (at := tail.rfind(b"PK\x05\x06", 0, at + 4)) >= 0:
        if at + _END.size + _END.unpack_from(tail, at)[-1] == len(tail):
            return at
        at -= 1
    return tail.rfind(b"PK\x05\x06", 0, max(0, len(tail) - _END.size + 4))  # something follows it


def _end64(file: BinaryIO, places: tuple[int, ...]) -> tuple[int, int, int]:
    """Length and start of a large directory, and where it ends, at the first place that fits.

    Raises:
        ValueError: None does.
    """
    for place in places:
        if place >= 0:
            file.seek(place)
            found = file.read(_END64.size)
            if len(found) == _END64.size and found.startswith(b"PK\x06\x06"):
                _, _, _, length, start = _END64.unpack(found)
                return length, start, place
    raise ValueError("its directory is not where it says")


def _places(directory: bytes) -> dict[str, int]:
    """Where the entry of each member begins, by name; of one name the last counts.

    Raises:
        ValueError: An entry is none.
    """
    places: dict[str, int] = {}
    place, end = 0, len(directory)
    lengths = _LENGTHS.unpack_from
    while place < end:
        sign, name, extra, comment = lengths(directory, place)
        if sign != b"PK\x01\x02":
            raise ValueError("its directory is damaged")
        raw = directory[place + 46 : place + 46 + name]
        wide = raw.isascii() or directory[place + 9] & 8  # the flag that says UTF-8
        places[raw.decode("utf-8" if wide else "cp437")] = place
        place += 46 + name + extra + comment
        if len(places) > MAX_MEMBERS:
            raise ValueError(f"it has more than {MAX_MEMBERS:,} members")
    if place > end:
        raise ValueError("its directory is cut short")
    return places


def _member(directory: bytes, place: int) -> _Member:
    """One entry of the directory.

    Raises:
        ValueError: It lacks a number that needs 64 bits.
    """
    _, flags, method, crc, packed, size, name, extra, _, offset = _ENTRY.unpack_from(
        directory, place
    )
    if _WIDE in {packed, size, offset}:
        start = place + 46 + name
        wide = iter(_wide(directory[start : start + extra]))
        try:
            size = next(wide) if size == _WIDE else size
            packed = next(wide) if packed == _WIDE else packed
            offset = next(wide) if offset == _WIDE else offset
        except StopIteration:
            raise ValueError("its directory lacks a size or a place") from None
    raw = directory[place + 46 : place + 46 + name]
    return _Member(flags, method, crc, packed, size, offset, raw)


def _wide(extra: bytes) -> list[int]:
    """Numbers of 64 bits in the extra fields of an entry."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == 1:
            count = min(length, len(extra) - place - 4) // 8
            return list(struct.unpack_from(f"<{count}Q", extra, place + 4))
        place += 4 + length
    return []


def _corrupt(where: str, why: object) -> str:
    return f"{named(where)} is corrupt: {short(str(why))}. Write it again, or leave it out."
