"""XML that nobody vouches for, as elements with attributes and text, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from trialframe.errors import SourceError, named
from trialframe.read import _bounded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEPTH = 64
"""Depth of elements at most."""

TEXT = 4000
"""Characters kept of the text of one element."""

LONGEST = 2**24
"""Bytes of one tag at most: the parser keeps it whole, and looks at it again with every block."""


class Reader:
    """Calls `opened(tag, attributes)` and `closed(tag, text)` for every element of a file.

    A document type is refused, so that there are no entities to expand.
    """

    def __init__(
        self, opened: Callable[[str, dict[str, str]], None], closed: Callable[[str, str], None]
    ) -> None:
        """Keep what to call."""
        self._opened = opened
        self._closed = closed
        self._open: list[tuple[str, list[str], int]] = []

    def read(self, path: Path) -> None:
        """Read one file.

        Raises:
            SourceError: It is no XML, too large or too deep, or has a document type.
        """
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refused
        parser.EntityDeclHandler = _refused
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        try:
            total = 0
            for block in _bounded.blocks(path):
                parser.Parse(block, False)
                total += len(block)
                if total - parser.CurrentByteIndex > LONGEST:
                    raise SourceError(
                        f"a tag in line {parser.CurrentLineNumber} has more than "
                        f"{LONGEST >> 20} MiB. Leave the file out."
                    )
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise SourceError(
                f"{named(path)} is no whole XML: {expat.ErrorString(error.code)} in line "
                f"{error.lineno}, column {error.offset}. The run that wrote it was cut short, or "
                "the file was: write it again, or leave it out."
            ) from error
        except (LookupError, UnicodeError) as error:
            raise SourceError(
                f"{named(path)} has an encoding that is not known: {error}. Save it as UTF-8."
            ) from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEPTH:
            raise SourceError(f"elements are nested deeper than {DEPTH}. Leave the file out.")
        local = tag.rpartition(":")[2]
        self._open.append((local, [], 0))
        self._opened(local, attributes)

    def _text(self, text: str) -> None:
        tag, parts, size = self._open[-1]
        if size < TEXT:
            parts.append(text[: TEXT - size])
            self._open[-1] = (tag, parts, size + len(text))

    def _end(self, _tag: str) -> None:
        tag, parts, _size = self._open.pop()
        self._closed(tag, "".join(parts))


def _refused(*_: Any) -> NoReturn:
    raise SourceError(
        "a document type or entity is declared, which no test tool writes. Leave the file out."
    )
