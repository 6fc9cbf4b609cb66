"""What a text file holds, counted in one pass before any parser sees it, within bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trialframe.errors import SourceError, named
from trialframe.read._bounded import MAX_LINE, is_packed, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

MAX_UNPACKED = 4 * 2**30
"""Bytes that a compressed file may hold: parsers unpack it in memory."""

DEEPEST = 100
"""Levels of nesting: some parsers end the whole process on thousands."""

MOST_CELLS = 20_000_000
"""Cells of a table (rows times keys) that need no excuse."""

SPARSE = 50
"""Cells for each value that is there, at most, in a larger table."""

BLOCK = 2**16
"""Bytes that are counted at once: they fit into the cache of a processor."""

HEAD = 2**20
"""Bytes at the start of a file that are in its sample, and"""

EACH, STEP = 2**12, 2**20
"""bytes that follow from every further so many."""

_NAME = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*+:', re.DOTALL)
_OPEN, _CLOSE, _CASE = 0x7B, 0x7D, 0x20  # { and }, which differ from [ and ] in one bit
_QUOTE, _COLON, _NEWLINE, _BACKSLASH = 0x22, 0x3A, 0x0A, 0x5C


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A file of JSON lines.

    Attributes:
        size: Bytes, decompressed.
        lines: Ends of lines.
        colons: Colons. A JSON key is followed by one, so there are at most as many keys.
        escapes: Backslashes.
        sample: Whole lines of its start and of places all over it.
    """

    size: int
    lines: int
    colons: int
    escapes: int
    sample: bytes


def blocks(path: str) -> Iterator[bytes]:
    """The file in blocks of whole lines, decompressed by the ending of its name.

    Raises:
        SourceError: A line is longer than `MAX_LINE`, or a compressed file holds more than
            `MAX_UNPACKED`.
    """
    size = 0
    with opened(Path(path)) as file:
        while block := file.read(BLOCK):
            rest = b"" if block.endswith(b"\n") else file.readline(MAX_LINE)
            if len(rest) == MAX_LINE and not rest.endswith(b"\n"):
                raise SourceError(
                    f"{named(path)} has a line of more than {MAX_LINE >> 20} MiB. A line holds one "
                    "row: write the file again, or leave it out."
                )
            size += len(block) + len(rest)
            if size > MAX_UNPACKED and is_packed(path):
                raise SourceError(
                    f"{named(path)} holds more than {MAX_UNPACKED >> 20} MiB when it is unpacked. "
                    "If it is meant to: unpack it first, or write Parquet."
                )
            yield block + rest


def survey(path: str) -> Survey:
    """Count what is in a file of JSON lines.

    Raises:
        SourceError: A line is too long or nested too deeply, or the file is too large.
    """
    size = lines = colons = escapes = 0
    taken, follows = [], HEAD
    for block in blocks(path):
        text = np.frombuffer(block, np.uint8)
        ends, opens = text == _NEWLINE, text | _CASE == _OPEN
        lines += int(np.count_nonzero(ends))
        colons += int(np.count_nonzero(text == _COLON))
        escapes += int(np.count_nonzero(text == _BACKSLASH))
        # what opens at the start of a line is its row: only the rest can be nesting
        starts = np.count_nonzero(ends[:-1] & opens[1:])
        if np.count_nonzero(opens) - starts > DEEPEST and _may_be_deep(block):
            for line in block.split(b"\n"):
                refuse_deep(line, path)
        if size < HEAD:
            taken.append(block)
        elif size >= follows:
            taken.append(block[: block.find(b"\n", EACH) + 1 or len(block)])
            follows = size + STEP
        size += len(block)
    return Survey(size=size, lines=lines, colons=colons, escapes=escapes, sample=b"".join(taken))


def refuse_deep(text: bytes, path: str) -> None:
    """Refuse JSON that is nested more deeply than any table.

    Raises:
        SourceError: It is.
    """
    if nesting(text) > DEEPEST:
        raise SourceError(
            f"{named(path)} is nested in more than {DEEPEST} levels, which no table needs and some "
            "parsers do not survive. Write it flat, or leave it out."
        )


def refuse_sparse(path: str, names: int, rows: int, values: int) -> None:
    """Refuse a table of a great many keys of which any row has next to none.

    Raises:
        SourceError: It would take far more memory and time than the file is large.
    """
    if names * rows > max(MOST_CELLS, SPARSE * values):
        raise SourceError(
            f"{named(path)} has {names:,} different keys in {rows:,} rows, and a row has hardly "
            "any of them. Write it with a row for each key, or leave it out."
        )


def names_in(texts: Iterable[bytes]) -> int:
    """How many different keys JSON texts have, on all levels."""
    found: set[bytes] = set()
    for text in texts:
        found.update(_NAME.findall(text))
    return len(found)


def nesting(text: bytes) -> int:
    """How deeply a JSON text is nested, up to its first error.

    Examples:
        >>> nesting(b'{"a": [1, {"b": "[[[["}]}')
        3
    """
    depth = deepest = quoted = start = 0
    while start < len(text):
        stop = start + BLOCK
        while text[stop - 1 : stop] == b"\\":  # a sign and what escapes it stay together
            stop += 1
        depths, quoted = _depths(text[start:stop], quoted)
        if depths.size:
            deepest = max(deepest, depth + int(depths.max()))
            depth += int(depths[-1])
        start = stop
    return deepest


def _may_be_deep(block: bytes) -> bool:
    """Whether some line of a block may be nested too deeply: no such line escapes.

    A line that is cut short may leave open whether the next begins inside a text, so both ways
    are looked at.
    """
    for quoted in (0, 1):
        depths, _ = _depths(block, quoted)
        lowest = np.minimum(np.minimum.accumulate(depths), 0)
        if depths.size and (depths - lowest).max() > DEEPEST:
            return True
    return False


def _depths(text: bytes, quoted: int) -> tuple[NDArray[np.int32], int]:
    """Levels that are open after each sign, and whether the text ends inside quotes."""
    signs = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    inside = (np.cumsum(signs == _QUOTE, dtype=np.uint8) + np.uint8(quoted)) & 1
    folded = signs | _CASE
    steps = (folded == _OPEN).astype(np.int8) - (folded == _CLOSE).astype(np.int8)
    steps[inside == 1] = 0
    return np.cumsum(steps, dtype=np.int32), int(inside[-1]) if inside.size else quoted
