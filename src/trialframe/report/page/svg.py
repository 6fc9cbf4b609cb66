"""Charts as drawings inside the page: no script, system fonts, one for each colour scheme."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from trialframe._optional import require

if TYPE_CHECKING:
    from trialframe.report.page.model import Chart

WIDTH = 760
"""Pixels that a chart takes where there is room; it shrinks with the page."""
FONT = "Arial, 'Helvetica Neue', Helvetica, 'Liberation Sans', Arimo, sans-serif"
"""Fonts as wide as the one that places were measured with."""
MARGIN = 12
"""Pixels for letters that are wider all the same."""
KEPT = {
    *("d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "width"),
    *("height", "transform", "points", "fill", "fill-opacity", "fill-rule", "stroke", "opacity"),
    *("stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin"),
    *("stroke-miterlimit", "text-anchor", "font-size", "font-weight", "font-style", "clip-path"),
    *("id", "offset", "stop-color", "gradientUnits", "display", "dominant-baseline"),
}
"""Attributes of drawn elements; the drawing as a whole says in words what one sees."""

_TAG = re.compile(r'<([A-Za-z]\w*)((?:\s+[\w:-]+="[^"]*")*)\s*(/?)>')
_ATTRIBUTE = re.compile(r'\s+([\w:-]+)="([^"]*)"')
_REFERENCE = re.compile(r"url\(\s*(?:&quot;|')?#([\w-]+)(?:&quot;|')?\s*\)")
_NOTHING = re.compile(r'<path(?: (?!d=)[\w-]+="[^"]*")*(?: d="(?:M0,0h0v0h0Z)?")[^>]*/>')


def drawn(chart: Chart, name: str) -> tuple[str, str]:
    """A chart as two drawings, for light and for dark paper.

    Args:
        chart: What to draw.
        name: A name that no other chart of the page has.
    """
    light, dark = (_drawing(chart, theme, f"{name}-{theme}") for theme in ("light", "dark"))
    return light, dark


def _drawing(chart: Chart, theme: str, name: str) -> str:
    charts = require("trialframe.charts", extra="report", purpose="charts")
    convert = require("vl_convert", extra="report", purpose="charts in reports")
    make = getattr(charts, chart.kind)
    made = make(chart.frame, theme=theme, width=WIDTH, **dict(chart.options))
    spec = made.to_json(validate=False, indent=None)
    svg: str = convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return embedded(svg, name, str(made.description or chart.caption))


def embedded(svg: str, name: str, words: str) -> str:
    """A drawing that fits its place, names itself, and shares no id with another.

    Args:
        svg: The whole drawing, in which the converter quotes every attribute and escapes every
            text.
        name: What its ids begin with.
        words: What one sees.
    """
    head = _TAG.match(svg)
    if head is None or head[1] != "svg":
        raise ValueError("the converter made no SVG")
    size = dict(_ATTRIBUTE.findall(head[2]))
    wide, height = float(size["width"]) + 2 * MARGIN, size["height"]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} 0 {wide:g} {height}" '
        f'width="{wide:g}" height="{height}" role="img" aria-label="{escape(words)}" '
        f'font-family="{FONT}">'
    )
    body = _TAG.sub(lambda tag: _lean(tag, name), svg[head.end() :])
    return opening + _NOTHING.sub("", body)


def _lean(tag: re.Match[str], name: str) -> str:
    """A tag with the attributes that draw, its ids and references made its own."""
    kept = []
    for word, value in _ATTRIBUTE.findall(tag[2]):
        if word not in KEPT or (word == "opacity" and value == "1"):
            continue
        own = f"{name}-{value}" if word == "id" else _REFERENCE.sub(rf"url(#{name}-\1)", value)
        kept.append(f' {word}="{own}"')
    return f"<{tag[1]}{''.join(kept)}{tag[3]}>"
