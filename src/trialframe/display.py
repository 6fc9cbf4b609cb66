"""Estimates and names as people read them: per cent, dollars, seconds, names of some length."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING

from trialframe.schema import TRIALS

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


UNITS = {item.name: item.unit for item in TRIALS if item.unit} | {"tests_share": "share"}
"""Unit of a measure by its name; every metric of verdicts is a share."""

_ENDS = re.compile(r"_(low|high|se|sd|raw)$")
_SHARES = re.compile(
    r"(^|_)(rate|share|level|power|power_best_case|coverage|sensitivity|specificity|prevalence|agreement"
    r"|chance|breakage|consistency|probability)$"
)
_PVALUES = re.compile(r"(^|_)(pvalue|p|adjusted|permutation|fisher|holm)$|^p_|^mcnemar$")
_DIFFERENCES = re.compile(
    r"(^|_)(diff|effect|drop|bias|slope|margin)$|^(simultaneous|bootstrap|tango|wald_plus2)$"
)
_ESTIMATES = re.compile(
    r"^(value|se|low|high|mean|baseline_value|candidate_value|value_baseline|value_candidate"
    r"|bracket|identified|labels_value|ppi_value|raw|labels|ppi)$"
)


def unit_of(metric: str) -> str:
    """The unit of a metric: that of a measure, else a share.

    Examples:
        >>> unit_of("pass^3"), unit_of("cost_uusd_per_pass"), unit_of("duration_ms")
        ('share', 'micro-dollars', 'milliseconds')
        >>> unit_of("score")
        ''
    """
    stem = metric.removesuffix("_per_pass")
    return UNITS.get(stem, "" if stem == "score" else "share")


def kind_of(column: str, unit: str | None = None) -> str:
    """How the numbers of a column are shown, by its name: a unit, "p" or "difference".

    Args:
        column: Name of the column or field.
        unit: Unit of the estimates beside it, where one knows it.

    Examples:
        >>> kind_of("sensitivity_low"), kind_of("pvalue"), kind_of("cost_uusd"), kind_of("cases")
        ('share', 'p', 'micro-dollars', '')
        >>> kind_of("low", "share"), kind_of("low"), kind_of("diff", "share")
        ('share', '', 'difference')
    """
    stem = _ENDS.sub("", column)
    if stem.endswith(("_n", "_sumsq")):
        return ""
    if "_uusd" in stem:
        return "micro-dollars"
    if stem.endswith(("_ms", "_ms_sum")):
        return "milliseconds"
    if _PVALUES.search(stem):
        return "p"
    if _SHARES.search(stem):
        return "share"
    if _DIFFERENCES.search(stem):
        return "difference"
    return (unit or "") if _ESTIMATES.search(stem) else ""


def told(value: object, column: str, unit: str | None = None) -> str:
    """A value of any kind as text, by the column that it stands in.

    Examples:
        >>> told(0.0000123, "pvalue"), told(0.57, "judge_rate"), told(1234, "cases")
        ('1.23e-05', '57.0 %', '1,234')
        >>> told(None, "se"), told(True, "exact"), told(0.031, "diff", "share")
        ('-', 'yes', '+3.1 points')
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    kind = kind_of(column, unit)
    if kind == "p":
        return f"{value:.3g}"
    if column.endswith("level"):
        return f"{100 * value:.10g} %"
    if kind == "difference":
        return differing(value, unit)
    if isinstance(value, int):
        return shown(value, kind) if kind else f"{value:,}"
    return shown(value, kind) if kind else f"{value:.4g}"


def differing(value: float | None, unit: str | None) -> str:
    """A difference with its sign; shares in points.

    Examples:
        >>> differing(-0.052, "share"), differing(1200.0, "micro-dollars"), differing(0.5, None)
        ('-5.2 points', '+$0.0012', '+0.500')
    """
    if value is None:
        return MISSING
    if unit == "share":
        return f"{100 * value:+.1f} points"
    return f"{'+' if value > 0 else ''}{shown(value, unit)}"


def differences(low: float | None, high: float | None, unit: str | None) -> str:
    """Both ends of the interval of a difference in brackets; empty when either is unknown.

    Examples:
        >>> differences(-0.052, 0.01, "share")
        '[-5.2, +1.0]'
    """
    if low is None or high is None:
        return ""
    return f"[{', '.join(differing(end, unit).removesuffix(' points') for end in (low, high))}]"


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
