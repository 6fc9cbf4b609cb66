"""Curves with bands, a few in colour and the others grey: what several charts are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.charts import _frames
from trialframe.charts._theme import SHAPES, altair, look

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS = 4000
"""Most rows of a chart: Altair refuses more than 5,000."""
REST = "others"
FEW = 3
"""Curves up to which bands may be strong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The horizontal axis of curves.

    Attributes:
        column: Column of the frame.
        title: What stands below it.
        values: All values, in order.
        words: Whether the values are names.
    """

    column: str
    title: str
    values: Sequence[Any]
    words: bool = False

    @property
    def log(self) -> bool:
        """Whether the values span so much that the axis is logarithmic."""
        if self.words:
            return False
        low, high = self.values[0], self.values[-1]
        return bool(low > 0 and high / low >= 32)

    def encoded(self) -> Any:
        """The axis as an encoding."""
        alt = altair()
        if self.words:
            return alt.X(
                f"{self.column}:N",
                scale=alt.Scale(domain=list(self.values)),
                axis=alt.Axis(title=self.title, labelAngle=0, grid=False, labelLimit=130),
            )
        title = self.title + ", log scale" * self.log
        few = {"values": list(self.values), "format": ",d"} if len(self.values) <= 12 else {}
        return alt.X(
            f"{self.column}:Q",
            scale=alt.Scale(
                type="log" if self.log else "linear", zero=False, nice=False, padding=10
            ),
            axis=alt.Axis(title=title, grid=False, labelOverlap=True, tickMinStep=1, **few),
        )


def coloured(rows: pl.DataFrame, limit: int, lead: pl.DataFrame, x: str) -> pl.DataFrame:
    """Rows with `colour` (the label, or "others") and `place`, at most `POINTS` of them.

    Args:
        rows: `label`, `value` and the column x.
        limit: Most curves in colour.
        lead: Those of the rows that decide: curves are ordered by their last value.
        x: Column to order points by.
    """
    last = lead.drop_nulls("value").group_by("label").agg(pl.col("value").sort_by(x).last())
    ordered = last.sort(["value", "label"], descending=[True, False])["label"].to_list()
    every = ordered + sorted(set(rows["label"]) - set(ordered))
    longest = -(-rows.height // len(every))
    kept = every[: max(limit, POINTS // longest)]
    places = {name: place for place, name in enumerate(kept)}
    rows = rows.filter(pl.col("label").is_in(kept))
    mine = pl.col("label").is_in(kept[:limit])
    return rows.with_columns(
        pl.when(mine).then("label").otherwise(pl.lit(REST)).alias("colour"),
        pl.col("label").replace_strict(places, return_dtype=pl.Int64).alias("place"),
    ).sort("place", x)


def scales(drawn: pl.DataFrame, theme: str, width: int) -> tuple[Any, Any, int]:
    """Colours and shapes of curves, and how many are in colour."""
    alt, now = altair(), look(theme)
    names = drawn["colour"].unique(maintain_order=True).to_list()
    top = [name for name in names if name != REST]
    rest = [REST] if REST in names else []
    legend = alt.Legend(title=None, orient="bottom", columns=max(1, width // 220))
    made = [
        kind(
            "colour:N",
            scale=alt.Scale(domain=top + rest, range=[*own[: len(top)], *other[: len(rest)]]),
            legend=legend,
        )
        for kind, own, other in (
            (alt.Color, now.series, [now.faint]),
            (alt.Shape, SHAPES, ["circle"]),
        )
    ]
    return made[0], made[1], len(top)


def lines(
    drawn: pl.DataFrame,
    *,
    x: Axis,
    y: dict[str, Any],
    theme: str,
    width: int,
    tooltip: dict[str, str],
    band: bool = True,
) -> list[Any]:
    """Layers of curves: grey ones, bands, lines and points.

    Args:
        drawn: What `coloured` made, with `low, high` for bands.
        x: The horizontal axis.
        y: The vertical axis.
        theme: "light" or "dark".
        width: Pixels of the chart.
        tooltip: Column -> title of what is shown on hovering.
        band: Whether curves have bands.
    """
    alt, now = altair(), look(theme)
    colour, shape, count = scales(drawn, theme, width)
    up = alt.Y("value:Q", scale=alt.Scale(zero=True), axis=alt.Axis(**y))
    told = [alt.Tooltip(f"{name}:N", title=text) for name, text in tooltip.items()]
    base = alt.Chart().encode(x=x.encoded())
    mine = base.transform_filter(f"datum.colour !== '{REST}'")
    rest = base.transform_filter(f"datum.colour === '{REST}'")
    layers = [
        rest.mark_line(color=now.faint, strokeWidth=1, opacity=0.45).encode(y=up, detail="label:N"),
        mine.mark_line(strokeWidth=2).encode(y=up, color=colour, detail="label:N"),
        mine.mark_point(filled=True, size=46, opacity=1).encode(
            y=up, color=colour, shape=shape, tooltip=told
        ),
    ]
    if band:
        area = mine.mark_area(opacity=0.16 if count <= FEW else 0.07).encode(
            y=alt.Y("low:Q"), y2="high:Q", color=colour, detail="label:N"
        )
        layers.insert(1, area)
    return layers


def others_in_grey(drawn: pl.DataFrame, every: int, limit: int, what: str) -> list[str]:
    """Which curves are in colour, and which are not drawn at all."""
    kept = drawn["label"].n_unique()
    grey = max(0, kept - limit)
    told = f"in colour: the {limit} highest in {what}; in grey, without band: {grey:,} others"
    return [
        told if grey else "",
        _frames.truncated(kept, every, "curve", f"the highest in {what}"),
    ]
