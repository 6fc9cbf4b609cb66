"""What a file is, told from its first bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialframe.read import _bounded
from trialframe.read._archive import Archive, first_member

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 2**16
"""Bytes of a file that are looked at."""

DEPTH = 8
"""Depth of the keys that are looked at."""

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a file.

    Attributes:
        path: Where the file is.
        text: Its first 64 KiB, empty for an archive.
        keys: Dotted paths of the JSON keys there, a list's items written as in `results[].id`.
        first: Name of the first member of an archive, empty for other files.
    """

    path: Path
    text: str = ""
    keys: frozenset[str] = frozenset()
    first: str = ""

    def has(self, *keys: str) -> bool:
        """Whether all these keys are there."""
        return self.keys.issuperset(keys)

    def members(self) -> frozenset[str]:
        """Names of the members of an archive; empty for other files.

        Raises:
            SourceError: The archive cannot be opened.
        """
        if not self.first:
            return frozenset()
        with Archive(self.path) as archive:
            return frozenset(archive.names)


def head_of(path: Path) -> Head:
    """Look at a file's first bytes."""
    start = _bounded.head(path, SIZE)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Head(path=path, first=first_member(start))
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))  # XML may be so, JSON may not
    text = start.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    keys = outline(text) if text.lstrip()[:1] in {"{", "["} else frozenset[str]()
    return Head(path=path, text=text, keys=keys)


def outline(text: str) -> frozenset[str]:
    """Dotted paths of the keys in the head of a JSON text, which may end anywhere.

    Examples:
        >>> sorted(outline('{"run": {"id": 1}, "rows": [{"ok": true}, {"o'))
        ['rows', 'rows[].ok', 'run', 'run.id']
    """
    found: set[str] = set()
    stack: list[str] = []
    place = ""
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        if sign == '"':
            if token[2] and stack and len(stack) <= DEPTH:
                place = f"{stack[-1]}.{token[1]}" if stack[-1] else token[1]
                found.add(place)
        elif sign in "{[":
            place = place if sign == "{" else f"{place}[]"
            stack.append(place)
            if len(stack) > SIZE // 4:
                break
        elif stack:
            stack.pop()
            place = stack[-1] if stack else ""
    return frozenset(found)
