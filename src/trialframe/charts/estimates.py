"""A few named numbers with intervals beside each other: what small results hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.charts import _frames
from trialframe.charts._rows import PLAIN, rows
from trialframe.charts._theme import SHAPES, WIDTH, finished, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("name", "value", "low", "high")


def estimates(
    frame: pl.DataFrame,
    *,
    title: str,
    lines: Sequence[str] = (),
    axis: str = "value",
    unit: str | None = "share",
    kind: str = "level",
    theme: Theme = "light",
    width: int = WIDTH,
) -> Chart:
    """Numbers with their intervals, one a row, in the order given.

    Args:
        frame: `name, value, low, high`, and `state` where rows are of several kinds.
        title: What is shown.
        lines: What was estimated and how, and what weakens it.
        axis: Title of the axis.
        unit: Unit of the values.
        kind: "level", or "difference": then zero is marked, and shares are in points.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.

    Returns:
        A chart whose `data` has one row per number: `label`, the columns of the frame
        unchanged, `text` and `state`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: Columns are missing.
    """
    frame = _frames.taken(frame, NEEDS, "estimates")
    now = look(theme)
    apart = kind == "difference"
    written = _frames.difference if apart else _frames.estimate
    texts = [
        written(value, low, high, unit or "")
        for value, low, high in frame.select("value", "low", "high").iter_rows()
    ]
    if "state" not in frame.columns:
        frame = frame.with_columns(pl.lit(PLAIN).alias("state"))
    drawn = frame.with_columns(
        pl.Series("label", _frames.labels(frame.select("name").rows()), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        pl.col("value", "low", "high").cast(pl.Float64),
    )
    kinds = drawn["state"].unique(maintain_order=True).to_list()
    fixed = {"better": (now.good, SHAPES[0]), "worse": (now.bad, SHAPES[2])}
    fixed["inconclusive"] = (now.faint, SHAPES[1])
    free = zip(kinds, zip(now.series, SHAPES, strict=True), strict=False)
    chart = rows(
        drawn,
        theme=theme,
        unit=unit,
        title=axis + (", percentage points" if apart and unit == "share" else ""),
        states={name: fixed.get(name, style) for name, style in free},
        tooltip={"name": "", "text": axis},
        zero=apart,
    )
    told = "; ".join(f"{_frames.named(n)}: {t}" for n, t in drawn.select("name", "text").rows())
    return finished(
        chart,
        theme=theme,
        width=width,
        title=title,
        lines=lines,
        alt=f"{title}. {told}.",
    )
