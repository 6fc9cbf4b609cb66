"""The reliability surface: pass^k at every level of perturbation and of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted, interval, shown

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("config", "k", "perturbation", "fault", "value", "low", "high", "level", "cases")


def surface(
    frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH, limit: int = 12
) -> Chart:
    """Cells of the grid with their values and intervals, one panel a config and k.

    Args:
        frame: `Surface.cells`.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most panels, from 1 to 60; the subtitle says so when there are more.

    Returns:
        A chart whose `data` has one row per config, k and cell: `panel`, `across` and `up` (the
        levels as text), the columns of the cells unchanged, `text` and `ends`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No surface.
    """
    frame = _frames.taken(frame, NEEDS, "surface")
    limit = _checks.integer(limit, "limit", low=1, high=60)
    drawn, panels, every = _labelled(frame, limit)
    across, up = (_levels(frame[name]) for name in ("perturbation", "fault"))
    columns = min(3, len(panels), max(1, width // (len(across) * 78 + 50)))
    inner = max(len(across) * 62, min(len(across) * 110, round((width - 60) / columns) - 30))
    alt, now = altair(), look(theme)
    x = alt.X(
        "across:N",
        scale=alt.Scale(domain=across),
        axis=alt.Axis(title="perturbation", labelAngle=0, ticks=False, domain=False),
    )
    y = alt.Y(
        "up:N",
        scale=alt.Scale(domain=up[::-1]),
        axis=alt.Axis(title="faults", ticks=False, domain=False),
    )
    ends = {"light": ["#f3ede2", "#56a3d6", "#0b3f66"], "dark": ["#23282e", "#2d7cb3", "#bfe3ff"]}
    base = alt.Chart().encode(x=x, y=y)
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[0, 0.5, 1], range=ends[theme], interpolate="rgb"),
        legend=alt.Legend(
            title="pass^k",
            orient="bottom",
            gradientLength=200,
            labelExpr="format(datum.value * 100, '.0f') + ' %'",
        ),
    )
    # text stands on dark cells where values are high in light themes, and low in dark ones
    over, under = (now.paper, now.ink) if theme == "light" else ("#10151a", now.ink)
    ink = alt.condition("datum.value > 0.62", alt.value(over), alt.value(under))
    layers = [
        base.mark_rect(stroke=now.paper, strokeWidth=2).encode(color=colour),
        base.mark_text(fontSize=12, fontWeight="bold", dy=-7).encode(text="text:N", color=ink),
        base.mark_text(fontSize=10, dy=9).encode(text="ends:N", color=ink),
    ]
    chart = (
        alt.layer(*layers, data=drawn)
        .properties(width=inner, height=alt.Step(44))
        .facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=columns, spacing=24)
    )
    return finished(
        chart,
        theme=theme,
        width=width,
        fit=False,
        title=f"Reliability under stress of {counted(frame['config'].n_unique(), 'config')}",
        lines=[
            (
                f"pass^k on each cell's own cases; {_frames.percent(frame['level'][0])} intervals; "
                f"estimand: {_frames.ESTIMANDS['cases']}"
            ),
            f"cases a cell: {_frames.span_of(frame['cases'].fill_null(0).to_list())}",
            _frames.left_out(frame, ["config", "perturbation", "fault"]),
            _frames.truncated(len(panels), every, "panel", "the first"),
        ],
        alt=_alt(drawn, panels),
    )


def _levels(column: pl.Series) -> list[str]:
    return [f"{value:g}" for value in column.unique().sort().to_list()]


def _labelled(frame: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, list[str], int]:
    one = frame["config"].n_unique() == 1
    keys = frame.select("config", "k").unique(maintain_order=True)
    rows = [(f"k = {k}",) if one else (config, f"k = {k}") for config, k in keys.rows()]
    keys = keys.with_columns(pl.Series("panel", _frames.labels(rows), dtype=pl.String))
    kept = keys.head(limit)
    drawn = frame.join(kept, on=["config", "k"], maintain_order="left")
    levels = [
        pl.Series(new, [f"{v:g}" for v in drawn[old]], dtype=pl.String)
        for new, old in (("across", "perturbation"), ("up", "fault"))
    ]
    texts: list[Any] = [shown(value, "share") for value in drawn["value"]]
    ends = [interval(low, high, "share") for low, high in drawn.select("low", "high").rows()]
    drawn = drawn.with_columns(
        *levels,
        pl.Series("text", texts, dtype=pl.String),
        pl.Series("ends", ends, dtype=pl.String),
    )
    return drawn, kept["panel"].to_list(), keys.height


def _alt(drawn: pl.DataFrame, panels: list[str]) -> str:
    told = []
    for name in panels[:6]:
        known = drawn.filter(panel=name).drop_nulls("value")
        if known.is_empty():
            continue
        rows = known.sort("perturbation", "fault")
        clean, worst = rows.row(0, named=True), rows.sort("value").row(0, named=True)
        told.append(
            f"{name}: {clean['text']} at perturbation {clean['across']} and faults "
            f"{clean['up']}; lowest {worst['text']} at {worst['across']} and {worst['up']}."
        )
    return f"Grid of pass^k by perturbation and faults. {' '.join(told)}"
