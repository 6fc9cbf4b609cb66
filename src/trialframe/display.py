"""Estimates and names as people read them: per cent, dollars, seconds, names of some length."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MISSING = "-"
"""What stands where a value is unknown."""

_MICRO = 1e6
_MILLI = 1e3
_LARGE = 1_000
_SMALL = 100


def _plain(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= _LARGE else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _dollars(value: float) -> str:
    """Cents from one dollar on, two significant digits below."""
    dollars = value / _MICRO
    size = abs(dollars)
    if size >= 1 or size == 0:
        return f"{dollars:,.2f}"
    decimals = min(6, max(2, 1 - math.floor(math.log10(size))))
    return f"{dollars:.{decimals}f}"


def _seconds(value: float) -> str:
    seconds = value / _MILLI
    if abs(seconds) >= _LARGE:
        return f"{seconds:,.0f}"
    return f"{seconds:.3f}" if 0 < abs(seconds) < 1 else f"{seconds:.1f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _SMALL or value == round(value) else f"{value:.1f}"


_UNITS: dict[str, tuple[str, Callable[[float], str], str]] = {
    "share": ("", _percent, " %"),
    "share of trials": ("", _percent, " %"),
    "micro-dollars": ("$", _dollars, ""),
    "milliseconds": ("", _seconds, " s"),
    "tokens": ("", _whole, ""),
    "trials": ("", _whole, ""),
}
"""Unit of the table -> what stands before the number, the number, what stands after it."""


def shown(value: float | None, unit: str | None) -> str:
    """A value with its unit, or `MISSING`.

    Examples:
        >>> [shown(0.42, "share"), shown(2607.4, "micro-dollars"), shown(12_340, "milliseconds")]
        ['42.0 %', '$0.0026', '12.3 s']
        >>> [shown(8812.3, "tokens"), shown(0.5, ""), shown(None, "share")]
        ['8,812', '0.500', '-']
    """
    if value is None:
        return MISSING
    before, number, after = _UNITS.get(unit or "", ("", _plain, ""))
    sign = "-" if value < 0 else ""
    return f"{sign}{before}{number(abs(value))}{after}"


def interval(low: float | None, high: float | None, unit: str | None) -> str:
    """Both ends in brackets, without the unit; empty when either is unknown.

    Examples:
        >>> interval(0.321, 0.526, "share")
        '[32.1, 52.6]'
    """
    if low is None or high is None:
        return ""
    number = _UNITS.get(unit or "", ("", _plain, ""))[1]
    return f"[{number(low)}, {number(high)}]"


def bare(value: float | None, unit: str | None) -> str:
    """A value without its unit, for standard errors beside the value."""
    return MISSING if value is None else _UNITS.get(unit or "", ("", _plain, ""))[1](value)


def span(low: float, high: float) -> str:
    """A range of whole numbers, or one number when they are equal."""
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, in words that fit.

    Examples:
        >>> [counted(1, "case"), counted(2000, "case")]
        ['1 case', '2,000 cases']
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def wide(text: str) -> int:
    """Places that a text takes in a terminal: East Asian characters take two, accents none.

    Examples:
        >>> [wide("abc"), wide("\u65e5\u672c")]
        [3, 4]
    """
    if text.isascii():
        return len(text)
    kinds = ((unicodedata.east_asian_width(c), unicodedata.combining(c)) for c in text)
    return sum(0 if accent else 2 if kind in "WF" else 1 for kind, accent in kinds)


def cut(text: str, room: float) -> str:
    """A text, shortened in the middle when it has more characters than there is room for.

    Examples:
        >>> cut("claude-sonnet-thinking-high", 15)
        'claude-…ng-high'
    """
    if len(text) <= room:
        return text
    tail = int(room) // 2
    return f"{text[: int(room) - tail - 1]}…{text[len(text) - tail :]}"


def short_names(names: Iterable[str], room: float) -> dict[str, str]:
    """Names cut to a room so that no two look alike, longer only where that cannot be.

    Examples:
        >>> short_names(["2025-run-o3-high-effort", "2025-run-o4-high-effort"], 12)
        {'2025-run-o3-high-effort': '…run-o3-hig…', '2025-run-o4-high-effort': '…run-o4-hig…'}
    """
    whole = list(dict.fromkeys(names))
    room = min(room, max(map(len, whole), default=0))
    made = [cut(name, room) for name in whole]
    if len(set(made)) < len(whole):
        # show what differs instead of the two ends
        letters = enumerate(zip(*whole, strict=False))
        alike = next((i for i, found in letters if len(set(found)) > 1), 0)
        made = [_around(name, alike, room) for name in whole]
    while len(set(made)) < len(whole):
        room += 1
        made = [cut(name, room) for name in whole]
    return dict(zip(whole, made, strict=True))


def _around(name: str, place: int, room: float) -> str:
    """What a name has at a place and around it."""
    if len(name) <= room:
        return name
    width = int(room) - 2
    start = min(max(0, place - width // 2), len(name) - width)
    before, after = "…" if start else "", "…" if start + width < len(name) else ""
    return f"{before}{name[start : start + width]}{after}"
