"""Columns of frames as columns for people: rounded texts, unrounded keys to sort by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe import display
from trialframe.display import MISSING
from trialframe.report.page.model import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

    from trialframe.report.page.model import Kind

SMALL, LARGE = 0.0005, 10
"""Between these a difference is told in thousandths."""


def texts(values: Iterable[object], title: str, kind: Kind = "text") -> Column:
    """Words, sorted as words; null sorts last."""
    every = list(values)
    return Column(
        title=title,
        kind=kind,
        texts=tuple(MISSING if value is None else _word(value) for value in every),
        keys=tuple(None if value is None else _word(value) for value in every),
    )


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def numbers(
    values: pl.Series, title: str, show: Callable[[float], str] = "{:,.0f}".format
) -> Column:
    """Numbers, rounded for people and sorted as they are."""
    every = values.to_list()
    return Column(
        title=title,
        texts=tuple(MISSING if value is None else show(value) for value in every),
        keys=tuple(every),
    )


def estimates(frame: pl.DataFrame, title: str, prefix: str = "value") -> Column:
    """Estimates with the unit that the frame names."""
    pairs = frame.select(prefix, "unit").rows()
    return Column(
        title=title,
        texts=tuple(display.shown(value, unit) for value, unit in pairs),
        keys=tuple(value for value, _ in pairs),
    )


def intervals(
    rows: Iterable[tuple[float | None, float | None, float | None]],
    title: str,
    show: Callable[[float, float], str],
    *,
    reference: float | None = None,
) -> Column:
    """Intervals as brackets and, around their values, to draw; sorted by their lower ends.

    Args:
        rows: Low, value and high of each row.
        title: What stands above.
        show: Writes both ends.
        reference: The value that says "no difference".
    """
    every = list(rows)
    known = [
        None if low is None or value is None or high is None else (low, value, high)
        for low, value, high in every
    ]
    return Column(
        title=title,
        kind="interval",
        texts=tuple(
            MISSING if low is None or high is None else show(low, high) for low, _, high in every
        ),
        keys=tuple(low for low, _, _ in every),
        ends=tuple(known),
        reference=reference,
    )


def chance(value: float) -> str:
    """A p-value."""
    return f"{value:.3g}"


def signed(value: float) -> str:
    """A difference, with its sign.

    Examples:
        >>> [signed(0.12345), signed(-0.000123), signed(0.0), signed(12345.678)]
        ['+0.123', '-0.0001', '0', '+1.235e+04']
    """
    if value == 0:
        return "0"
    if abs(value) < SMALL:
        return f"{value:+.1g}"
    return f"{value:+.3f}" if abs(value) < LARGE else f"{value:+.4g}"


def signed_ends(low: float, high: float) -> str:
    """Both ends of the interval of a difference."""
    return f"[{signed(low)}, {signed(high)}]"
