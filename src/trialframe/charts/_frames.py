"""What charts ask of their tables, and how they name rows, axes and intervals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from trialframe.display import (
    counted,
    cut,
    differences,
    differing,
    interval,
    short_names,
    shown,
    wide,
)
from trialframe.errors import ArgumentError, ColumnError, listed, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trialframe.schema import Column

ROOM = 36
"""Places that the name of a row may take."""
NAME = 40
"""Characters of a name in a sentence."""
MONEY = "micro-dollars"
ESTIMANDS = {
    "cases": "tasks like these",
    "suite": "these very tasks",
    "runs": "whole runs of the suite",
    "trials": "trials",
}


_CLOSING = re.compile(r"<(?=/script|!--)", re.IGNORECASE)
"""What would end the script that a notebook or a saved page keeps a chart in."""


def harmless(text: str) -> str:
    r"""A text on one line that every renderer takes and that ends no script around it.

    Examples:
        >>> harmless("a</script>\n")
        'a<\\/script>\\n'
    """
    return _CLOSING.sub(r"<\\", visible(text))


def taken(frame: Any, columns: Iterable[str], chart: str) -> pl.DataFrame:
    """The table, its texts harmless, when it has rows and the columns a chart needs.

    Raises:
        ArgumentError: No Polars table, or one without rows.
        ColumnError: Columns are missing.
    """
    if not isinstance(frame, pl.DataFrame):
        raise ArgumentError(
            f"the chart '{chart}' takes a polars.DataFrame, got {type(frame).__name__}. "
            "Give the result itself to tr.plot, or collect a lazy table first."
        )
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ColumnError(
            f"the chart '{chart}' needs {listed(missing)}; the table has {listed(frame.columns)}."
        )
    if frame.is_empty():
        raise ArgumentError(f"the table of the chart '{chart}' has no rows: nothing to draw.")
    return frame.with_columns(_cleaned(text) for text in frame.select(cs.string()))


def _cleaned(texts: pl.Series) -> pl.Series:
    """Texts made harmless; as they are where all of them are."""
    clean = {text: harmless(text) for text in texts.drop_nulls().unique()}
    changed = {text: made for text, made in clean.items() if text != made}
    return texts.replace(changed) if changed else texts


def others(frame: pl.DataFrame, contract: Sequence[Column]) -> list[str]:
    """Columns that the contract of a table does not name: those it was grouped by."""
    own = {column.name for column in contract}
    return [name for name in frame.columns if name not in own]


def names(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Whole names of rows from their keys, on one line, what cannot be seen written out."""
    return [
        " \u00b7 ".join(harmless("none" if part is None else str(part)) for part in row)
        for row in rows
    ]


def labels(rows: Iterable[tuple[Any, ...]], room: int = ROOM) -> list[str]:
    """Names of rows from their keys, on one line, cut so that no two look alike."""
    whole = names(rows)
    broad = {name for name in whole if wide(name) > len(name)}
    short = short_names((name for name in whole if name not in broad), room)
    short |= short_names(broad and (name for name in whole if name in broad), room // 2)
    if len(set(short.values())) < len(short):
        short = short_names(whole, room)
    return [short[name] for name in whole]


def named(text: object) -> str:
    """A name for a sentence."""
    return cut(harmless(str(text)), NAME)


def estimate(value: float | None, low: float | None, high: float | None, unit: str | None) -> str:
    """An estimate with its interval, as text."""
    return f"{shown(value, unit)} {interval(low, high, unit)}".strip()


def percent(level: float | None) -> str:
    """A level as per cent."""
    return "" if level is None else f"{100 * level:.10g} %"


def difference(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """A difference with its interval, as text."""
    return f"{differing(value, unit)} {differences(low, high, unit)}".strip()


def axis(unit: str | None, title: str, *, points: bool = False, **more: Any) -> dict[str, Any]:
    """An axis that shows numbers in the unit people read; the data stay as they are."""
    signs = "datum.value === 0 ? '0' : format(datum.value * 100, '+.6~f')"
    written = {
        "share": signs if points else "format(datum.value * 100, '.6~f') + ' %'",
        "share of trials": "format(datum.value * 100, '.6~f') + ' %'",
        MONEY: "'$' + format(datum.value / 1000000, ',.7~f')",
        "milliseconds": "format(datum.value / 1000, ',.6~f') + ' s'",
    }.get(unit or "")
    made = {"title": title, "labelOverlap": True, "labelSeparation": 5, "tickCount": 6, **more}
    return made if written is None else made | {"labelExpr": written}


def together(values: Iterable[object]) -> str:
    """Distinct values, most frequent first, for a subtitle."""
    seen = [str(value) for value in values if value is not None]
    return ", ".join(sorted(set(seen), key=lambda text: (-seen.count(text), text)))


def span_of(values: Sequence[float]) -> str:
    """A range of whole numbers as text."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def left_out(frame: pl.DataFrame, per: Sequence[str] = ()) -> str:
    """What a table says it left out: trials without a verdict, cases without a value.

    Args:
        frame: A table of estimates, or counts.
        per: Columns that name a set of trials, where several rows rest on the same trials.
    """
    told = []
    if "unscored" in frame.columns:
        rows = frame.group_by(list(per)).agg(pl.max("unscored")) if per else frame
        if total := int(rows["unscored"].fill_null(0).sum()):
            told.append(f"{counted(total, 'trial')} without a verdict")
    if "dropped" in frame.columns and (most := int(frame["dropped"].fill_null(0).max() or 0)):  # type: ignore[arg-type]
        told.append(f"up to {counted(most, 'case')} a row without a value")
    return f"left out: {'; '.join(told)}" if told else ""


def truncated(shown_rows: int, every: int, what: str, order: str) -> str:
    """A note that not everything is drawn; empty when everything is."""
    if shown_rows >= every:
        return ""
    return f"drawn: {shown_rows:,} of {counted(every, what)}, {order}; the rest is in the table"
