"""Cost against quality, and the front: nothing else is as cheap and as good."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted, shown, wide
from trialframe.errors import ArgumentError
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

    Box = tuple[float, float, float, float]

NEEDS = ("config", "metric", "value", "low", "high", "unit", "cost_uusd", "pareto")
ON = "on the front"
OFF = "another is as cheap and better"
WIDE = 8.0
"""Ratio of prices from which on their axis is logarithmic."""
NAMES = 20
"""Most names written into the chart; others show on hovering."""
INTERVALS = 40
"""Configs up to which all intervals are drawn, and above which only those on the front."""
TALL = 0.6
"""Height of the chart by its width."""
PLACES = {
    "right above": ("left", 9, -7),
    "left above": ("right", -9, -7),
    "right below": ("left", 9, 9),
    "left below": ("right", -9, 9),
    "above": ("center", 0, -14),
    "below": ("center", 0, 15),
}
"""Where a name may stand beside its point: alignment, pixels to the right and downwards."""


def frontier(frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
    """Price of a trial against quality, with intervals of the quality and the front drawn.

    Args:
        frame: What `tr.leaderboard` returned, of trials that have `cost_uusd`.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.

    Returns:
        A chart whose `data` has one row per config with a price: `label`, the columns of the
        leaderboard unchanged, `text`, `price` as text, `share` of resamples on the front as
        text, and `state`.

    Raises:
        ArgumentError: No config has a price, several groups, an unknown theme.
        ColumnError: No leaderboard.
    """
    frame = _frames.taken(frame, NEEDS, "frontier")
    now, alt = look(theme), altair()
    drawn = _labelled(_one_group(frame))
    first = drawn.row(0, named=True)
    cheap, dear = _number(drawn["cost_uusd"].min()), _number(drawn["cost_uusd"].max())
    log = cheap > 0 and dear / cheap > WIDE
    domain = (cheap / 1.15, dear * 1.15) if log else (0.0, dear * 1.05 or 1.0)
    drawn = drawn.with_columns(pl.Series("place", _placed(drawn, domain, width), dtype=pl.String))
    more: dict[str, Any] = {"values": _ticks(*domain)} if log else {}
    x = alt.X(
        "cost_uusd:Q",
        scale=alt.Scale(type="log" if log else "linear", domain=domain, nice=False),
        axis=alt.Axis(
            **_frames.axis(_frames.MONEY, "mean price of a trial" + ", log scale" * log, **more)
        ),
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(zero=False, padding=12),
        axis=alt.Axis(**_frames.axis(first["unit"], str(first["metric"]))),
    )
    legend = alt.Legend(title=None, orient="top", labelLimit=360)
    present = [name for name in (ON, OFF) if name in set(drawn["state"])]
    styles = {ON: (now.good, "circle"), OFF: (now.faint, "diamond")}
    scales = [
        alt.Scale(domain=present, range=[styles[name][i] for name in present]) for i in (0, 1)
    ]
    colour = alt.Color("state:N", scale=scales[0], legend=legend)
    shape = alt.Shape("state:N", scale=scales[1], legend=legend)
    told = [
        alt.Tooltip(f"{name}:N", title=title)
        for name, title in (
            ("name", "config"),
            ("text", str(first["metric"])),
            ("price", "a trial"),
            ("share", "on the front in resamples"),
        )
    ]
    base = alt.Chart(drawn).encode(x=x)
    few = drawn.height <= INTERVALS
    front = base.transform_filter("datum.pareto").mark_line(
        interpolate="step-after", color=now.good, strokeDash=[4, 3], opacity=0.8
    )
    layers = [
        front.encode(y=y),
        (base if few else base.transform_filter("datum.pareto"))
        .mark_rule(opacity=0.6)
        .encode(y=alt.Y("low:Q"), y2="high:Q", color=colour, tooltip=told),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            y=y, color=colour, shape=shape, tooltip=told
        ),
        *_names(base, y, now.ink),
    ]
    return finished(
        alt.layer(*layers, data=drawn).properties(height=round(width * TALL)),
        theme=theme,
        width=width,
        title=f"Price and {first['metric']} of {counted(drawn.height, 'config')}",
        lines=_lines(frame, drawn),
        alt=_alt(drawn),
    )


def _one_group(frame: pl.DataFrame) -> pl.DataFrame:
    by = _frames.others(frame, LEADERBOARD)
    if by and frame.select(by).n_unique() > 1:
        raise ArgumentError(
            f"the chart 'frontier' shows one group, and this leaderboard has several of {by}: "
            f"filter it first, for example board.filter(pl.col({by[0]!r}) == ...)."
        )
    priced = frame.filter(pl.col("cost_uusd").is_not_null(), pl.col("value").is_not_null())
    if priced.is_empty():
        raise ArgumentError(
            "no config has a price: the chart 'frontier' needs trials with 'cost_uusd'."
        )
    return priced.sort("cost_uusd", "config")


def _labelled(frame: pl.DataFrame) -> pl.DataFrame:
    rows = list(frame.iter_rows(named=True))
    share = [row.get("pareto_share") for row in rows]
    return frame.with_columns(
        pl.Series("label", _frames.labels(frame.select("config").rows(), 24), dtype=pl.String),
        pl.Series("name", _frames.names(frame.select("config").rows()), dtype=pl.String),
        pl.Series(
            "text",
            [_frames.estimate(r["value"], r["low"], r["high"], r["unit"]) for r in rows],
            dtype=pl.String,
        ),
        pl.Series("price", [shown(r["cost_uusd"], _frames.MONEY) for r in rows], dtype=pl.String),
        pl.Series("share", [shown(each, "share") for each in share], dtype=pl.String),
        pl.when(pl.col("pareto").fill_null(value=False))
        .then(pl.lit(ON))
        .otherwise(pl.lit(OFF))
        .alias("state"),
    )


def _names(base: Any, y: Any, ink: str) -> list[Any]:
    """Names beside their points, one layer a place."""
    layers = []
    for place, (align, dx, dy) in PLACES.items():
        texts = base.transform_filter(f"datum.place === '{place}'").mark_text(
            align=align, dx=dx, dy=dy, color=ink, fontSize=11
        )
        layers.append(texts.encode(y=y, text="label:N"))
    return layers


def _placed(drawn: pl.DataFrame, domain: tuple[float, float], width: int) -> list[str | None]:
    """Where the name of each config can stand without hiding another; None where nowhere."""
    few = drawn.height <= NAMES // 2
    across, up = (width - 90, round(width * TALL))
    low, high = (_number(drawn["low"].min()), _number(drawn["high"].max()))
    scale = math.log if domain[0] > 0 else float
    ends = scale(domain[0]), scale(domain[1])
    spots = [
        (
            across * (scale(row["cost_uusd"]) - ends[0]) / max(ends[1] - ends[0], 1e-300),
            up * (1 - (row["value"] - low) / max(high - low, 1e-300)),
        )
        for row in drawn.iter_rows(named=True)
    ]
    made: list[str | None] = [None] * drawn.height
    wanted = [i for i, on in enumerate(drawn["pareto"]) if on or few]
    taken = [(spots[i][0] - 5, spots[i][1] - 5, spots[i][0] + 5, spots[i][1] + 5) for i in wanted]
    for i in wanted[:NAMES]:
        long = 6.2 * wide(drawn["label"][i])
        for place, (align, dx, dy) in PLACES.items():
            x, y = spots[i]
            left = x + dx - {"left": 0.0, "right": long, "center": long / 2}[align]
            box = (left, y + dy - 6, left + long, y + dy + 6)
            clear = all(_apart(box, other) for other in taken)
            if clear and left > 0 and left + long < across + 20:
                made[i] = place
                taken.append(box)
                break
    return made


def _apart(one: Box, other: Box) -> bool:
    return one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten within a range of micro-dollars."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    every = [step * 10.0**power for power in powers for step in steps]
    return [each for each in every if low <= each <= high]


def _lines(frame: pl.DataFrame, drawn: pl.DataFrame) -> list[str]:
    level = _frames.percent(frame["level"].drop_nulls().max())  # type: ignore[arg-type]
    unpriced = frame.height - drawn.height
    whose = "" if drawn.height <= INTERVALS else " on the front"
    return [
        (
            f"estimand: {_frames.ESTIMANDS['cases']}; line: {level} interval{whose}, "
            f"{_frames.together(frame['method'].to_list())}; prices are means without interval"
        ),
        f"not drawn: {counted(unpriced, 'config')} without a price" if unpriced else "",
        _unnamed(drawn),
        _frames.left_out(frame),
    ]


def _unnamed(drawn: pl.DataFrame) -> str:
    hidden = drawn.filter(pl.col("pareto"), pl.col("place").is_null())["config"].to_list()
    if not hidden:
        return ""
    some = ", ".join(_frames.named(name) for name in hidden[:4])
    more = f" and {len(hidden) - 4} more" if len(hidden) > 4 else ""
    return f"on the front, not named for want of room: {some}{more}"


def _alt(drawn: pl.DataFrame) -> str:
    front = drawn.filter("pareto")
    told = [
        f"{_frames.named(row['config'])} at {row['price']} a trial with {row['text']}"
        for row in front.head(8).iter_rows(named=True)
    ]
    more = f" and {front.height - 8} more" if front.height > 8 else ""
    return (
        f"Price against {drawn['metric'][0]} of {counted(drawn.height, 'config')}; "
        f"{front.height} on the front of price and quality, from the cheapest: "
        f"{'; '.join(told)}{more}."
    )
