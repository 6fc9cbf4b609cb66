"""A report as one web page that needs nothing else: no network, no fonts, no libraries."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trialframe._optional import require
from trialframe.report.formats import encoded
from trialframe.report.page.model import TONES
from trialframe.report.page.svg import drawn

if TYPE_CHECKING:
    from trialframe.report.page.model import Column, Ends, Key, Page, Table

FIRST = 100
"""Rows of a long table that are there without a script; the script adds the rest."""
LONG = 300
"""Rows from which a table is long."""


def html(page: Page) -> str:
    """The page.

    Args:
        page: What to say.

    Raises:
        ImportError: The extra "report" is not installed.
    """
    jinja = require("jinja2", extra="report", purpose="reports as web pages")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_own),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.tests["a_caution"] = lambda line: line.startswith("- ")
    script = _own("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    made: str = environment.get_template("page.html.j2").render(
        page=page,
        style=_own("page.css"),
        script=script,
        digest=digest,
        drawn=drawn,
        csv=_csv,
        first=_first,
        rest=_rest,
        key=_key,
        place=_place,
        axes_of=lambda table: [_axis(column) for column in table.columns],
        tones=TONES,
    )
    return made


def _own(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _csv(table: Table) -> str:
    """All that is known of a table as the address of a file."""
    return "data:text/csv;charset=utf-8," + quote(encoded(table.frame, "csv"), safe=" ,:/;()[]+@=")


def _first(table: Table) -> int:
    """Rows that are written out."""
    return table.height if table.height <= LONG else FIRST


def _rest(table: Table) -> str:
    """The other rows for the script, as JSON that cannot end the element it stands in.

    A row is a list of cells; a cell is text, sort key and, where there is one, interval to show
    or to draw.
    """
    axes = [_axis(column) for column in table.columns]
    rows = [
        [_cell(column, i, axis) for column, axis in zip(table.columns, axes, strict=True)]
        for i in range(_first(table), table.height)
    ]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _cell(column: Column, i: int, axis: tuple[float, float] | None) -> list[Any]:
    cell: list[Any] = [column.texts[i], column.keys[i]]
    if column.ends:
        at = column.ends[i]
        cell.append(None if at is None or axis is None else _place(at, axis))
    elif column.asides:
        cell.append(column.asides[i])
    return cell


def _key(key: Key) -> str:
    """What a cell is sorted by, as an attribute; nothing for unknown."""
    return "" if key is None else key if isinstance(key, str) else repr(float(key))


def _axis(column: Column) -> tuple[float, float] | None:
    """Where the drawn intervals of a column begin and end."""
    ends = [end for row in column.ends if row is not None for end in row if math.isfinite(end)]
    if not ends:
        return None
    if column.reference is not None:
        ends.append(column.reference)
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _place(at: Ends, axis: tuple[float, float]) -> list[float]:
    """Low, value and high as per cent of the axis."""
    low, high = axis
    inside = (min(max(end, low), high) for end in at)
    return [round(100 * (end - low) / (high - low), 2) for end in inside]
