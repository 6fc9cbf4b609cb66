"""Files that nobody vouches for, opened within fixed bounds of memory, and never run."""

from __future__ import annotations

import io
import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from trialframe.errors import SourceError, named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

MAX_DOCUMENT = 512 * 2**20
"""Bytes of one JSON or XML document, decompressed."""

MAX_LINE = 64 * 2**20
"""Bytes of one line of a file of JSON lines."""

_ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

Decoded = TypeVar("Decoded")

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
        return decoded(data, _ANYTHING)  # stricter, and twice as fast
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        pass
    try:
        if isinstance(data, bytes):
            data = data.decode("utf-8-sig")
        return json.loads(data, parse_constant=_missing)
    except RecursionError as error:
        raise SourceError(
            f"{named(where)} is nested too deeply to be a log. Leave it out."
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{named(where)} is not UTF-8 (byte {error.start:,}). Save it as UTF-8."
        ) from error
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{named(where)} is no JSON: {error.msg} in line {error.lineno}, column {error.colno}. "
            "Write it again, or leave it out."
        ) from error
    except ValueError as error:  # a number of more digits than Python takes
        raise SourceError(f"{named(where)} is no JSON: {error}. Leave it out.") from error


def _missing(_: str) -> None:
    return None


def decoded(data: bytes | str, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    """JSON by a decoder that is strict, but for NaN and infinity, which become null.

    Raises:
        msgspec.MsgspecError: It does not fit.
        UnicodeEncodeError: It holds halves of characters.
        RecursionError: It is nested too deeply.
    """
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        text = data.encode() if isinstance(data, str) else data
        if b"NaN" not in text and b"Infinity" not in text:
            raise
        return decoder.decode(_finite(_finite(text, b"NaN"), b"Infinity"))


def _finite(text: bytes, word: bytes) -> bytes:
    """JSON with null in place of a word, or of its negative, wherever that is outside of texts."""
    if word not in text:
        return text
    first, *others = text.split(word)
    parts, quoted = [first], _quotes(first) % 2
    for other in others:
        if quoted:
            parts.append(word)
        else:
            parts[-1] = parts[-1].removesuffix(b"-") if word != b"NaN" else parts[-1]
            parts.append(b"null")
        parts.append(other)
        quoted = (quoted + _quotes(other)) % 2
    return b"".join(parts)


def _quotes(text: bytes) -> int:
    """How many quotes begin or end a text."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"')))


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
                raise SourceError(too_large(str(path), limit))
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
                    f"line {number + 1} of {named(path)} has more than {MAX_LINE >> 20} MiB. "
                    "A line holds one row: write the file again, or leave it out."
                )
    if rest.strip():
        yield number + 1, rest


def too_large(where: str, limit: int) -> str:
    """What to say of more bytes than the limit."""
    return (
        f"{named(where)} has more than {limit >> 20} MiB and would not fit into bounded memory. "
        "Split it, write it without transcripts, or leave it out."
    )
