"""Estimates with intervals, one a row: what leaderboards and forests are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.charts._frames import axis
from trialframe.charts._theme import altair, look

if TYPE_CHECKING:
    import polars as pl

PLAIN = "estimate"
"""The state of rows that are all of one kind, which needs no legend."""
STEP = 19
"""Pixels of a row, whatever the number of rows."""
MANY = 25
"""Rows from which on the axis stands above, where one starts to read."""


def rows(
    frame: pl.DataFrame,
    *,
    theme: str,
    unit: str | None,
    title: str,
    states: dict[str, tuple[str, str]],
    tooltip: dict[str, str],
    zero: bool = False,
) -> Any:
    """A layered chart of a point, its interval and both as text, one row a label.

    Args:
        frame: `label` (unique), `value, low, high, text, state`, rows in order.
        theme: "light" or "dark".
        unit: Unit of the values.
        title: Title of the axis.
        states: State -> (colour, shape), in the order of the legend.
        tooltip: Column -> title of what is shown on hovering.
        zero: Whether the values are differences: zero is marked.
    """
    alt, now = altair(), look(theme)
    names = frame["label"].to_list()
    orient = "top" if len(names) > MANY else "bottom"
    y = alt.Y(
        "label:N",
        title=None,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8, labelLimit=300),
    )
    x = alt.X(
        "value:Q",
        scale=alt.Scale(zero=zero or unit == "trials", padding=8),
        axis=alt.Axis(**axis(unit, title, points=zero, orient=orient)),
    )
    present = [name for name in states if name in set(frame["state"])]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", labelLimit=360)
    if present == [PLAIN]:
        legend = None
    scale = {"domain": present}
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(range=[states[name][0] for name in present], **scale),
        legend=legend,
    )
    shape = alt.Shape(
        "state:N",
        scale=alt.Scale(range=[states[name][1] for name in present], **scale),
        legend=legend,
    )
    base = alt.Chart(frame).encode(y=y)
    told = [alt.Tooltip(f"{name}:N", title=text) for name, text in tooltip.items()]
    line = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q"), x2="high:Q", color=colour, tooltip=told
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, color=colour, shape=shape, tooltip=told
    )
    words = base.mark_text(align="left", dx=10, color=now.soft).encode(
        x=alt.value("width"), text="text:N"
    )
    layers = [line, point, words]
    if zero:
        mark = alt.Chart().mark_rule(color=now.soft, strokeDash=[3, 3])
        layers.insert(0, mark.encode(x=alt.datum(0)))
    return alt.layer(*layers, data=frame).properties(height=alt.Step(STEP))
