"""Every error that trialframe raises on purpose, one base class for all.

A message says what is wrong, where, and what to do next.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class TrialframeError(ValueError):
    """Base class of all errors raised by trialframe."""


class SourceError(TrialframeError):
    """A file or folder is missing, empty, corrupt or of an unknown format."""


class ColumnError(TrialframeError):
    """A column is missing, ambiguous or of a type that cannot be used."""


class TrialsError(TrialframeError):
    """Rows of a trial table break its contract (duplicates, string verdicts, null cases...)."""


class CountsError(TrialframeError):
    """A counts table breaks its contract (0 <= c <= n, unique keys, one cluster per case...)."""


class UnknownConfigError(TrialframeError):
    """A config was named that the table does not hold."""


class ArgumentError(TrialframeError):
    """An argument is of the wrong type or outside its range."""


class ExportError(TrialframeError):
    """A target cannot take the rows: another schema, a lock, a database that says no."""


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, line ends, signs without width, signs that turn the direction of text,
what is no character or half of one. Joiners stay: words and emoji are made with them."""


def visible(text: str) -> str:
    r"""A text on one line whose control characters are written out.

    Examples:
        >>> visible("a\x1b[31m\nb")
        'a\\x1b[31m\\nb'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def listed(names: Iterable[object], limit: int = 8) -> str:
    """Names in quotes, at most `limit` of them, long ones cut: for messages."""
    every = [short(name) for name in names]
    tail = f", and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + tail


def short(value: object, width: int = 60) -> str:
    """The repr of a value, cut in the middle when it is too long to print."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 20]}...{text[-16:]}"


def named(path: object) -> str:
    """A path in quotes, whole: it says where."""
    return short(str(path), 400)


def did_you_mean(name: str, available: Iterable[str]) -> str:
    """A sentence that lists what is available and the closest match, if any."""
    names = list(available)
    hint = f"Available: {listed(names)}." if names else "There are none."
    close = get_close_matches(name, names, n=1)
    return f"{hint} Did you mean {close[0]!r}?" if close else hint
