"""Metrics of k trials against k: pass@k, pass^k and their kin, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import SHAPES, WIDTH, altair, finished, look
from trialframe.display import counted
from trialframe.errors import ArgumentError
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("config", "metric", "k", "value", "low", "high")
POINTS = 4000
"""Most rows of a chart."""
REST = "others"


def curves(
    frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH, limit: int = 7
) -> Chart:
    """Curves against k with bands, one panel a family of metrics.

    Every point has its own interval; a band holds for one k at a time, not for the curve as a
    whole.

    Args:
        frame: What `tr.summary` returned, with metrics of several k.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most curves in colour and with a band, from 1 to 7: those with the highest value
            in the first panel at its largest k. Others are grey.

    Returns:
        A chart whose `data` has one row per config, group, metric and k: `label`, `family` (the
        metric with k for its number), the columns of the summary unchanged, `text` and `colour`,
        the label or "others".

    Raises:
        ArgumentError: No metric of k trials, an unknown theme.
        ColumnError: No summary.
    """
    frame = _frames.taken(frame, NEEDS, "curves")
    limit = _checks.integer(limit, "limit", low=1, high=len(SHAPES))
    rows = frame.filter(pl.col("k").is_not_null())
    if rows.is_empty():
        raise ArgumentError(
            "no metric of k trials here: the chart 'curves' needs a summary with, for example, "
            'metrics=["pass@k", "pass^k"], k=[1, 2, 3].'
        )
    drawn, curves_all = _labelled(rows, limit)
    families = drawn["family"].unique(maintain_order=True).to_list()
    chart = _panels(drawn, families, theme, width)
    ks = drawn["k"].unique().sort().to_list()
    return finished(
        chart,
        theme=theme,
        width=width,
        fit=False,
        title=f"{' and '.join(families)} of {counted(curves_all, 'config')}, "
        f"k from {ks[0]} to {ks[-1]}",
        lines=_lines(rows, drawn, curves_all, limit),
        alt=_alt(drawn, families),
    )


def _family(metric: str, k: int) -> str:
    return metric.replace(str(k), "k", 1)


def _labelled(rows: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, int]:
    """Rows with labels and families, colours for the best, at most `POINTS` rows."""
    by = _frames.others(rows, SUMMARY)
    stems = [_family(*row) for row in rows.select("metric", "k").iter_rows()]
    texts = [
        _frames.estimate(row["value"], row["low"], row["high"], row.get("unit", "share"))
        for row in rows.iter_rows(named=True)
    ]
    rows = rows.with_columns(
        pl.Series("label", _frames.labels(rows.select("config", *by).rows()), dtype=pl.String),
        pl.Series("family", stems, dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
    )
    lead = rows.filter(family=rows["family"][0])
    top = lead.group_by("label").agg(
        pl.col("value").sort_by("k").last().alias("last"), pl.col("k").max().alias("k")
    )
    ordered = top.sort(["last", "label"], descending=[True, False], nulls_last=True)["label"]
    every = ordered.to_list() + sorted(set(rows["label"]) - set(ordered))
    per_curve = max(1, -(-rows.height // len(every)))
    kept = every[: max(limit, POINTS // per_curve)]
    rows = rows.filter(pl.col("label").is_in(kept))
    places = {name: place for place, name in enumerate(kept)}
    return (
        rows.with_columns(
            pl.when(pl.col("label").is_in(kept[:limit]))
            .then("label")
            .otherwise(pl.lit(REST))
            .alias("colour"),
            pl.col("label").replace_strict(places, return_dtype=pl.Int64).alias("place"),
        ).sort("place", "family", "k"),
        len(every),
    )


def _panels(drawn: pl.DataFrame, families: list[str], theme: str, width: int) -> Any:
    alt, now = altair(), look(theme)
    names = drawn["colour"].unique(maintain_order=True).to_list()
    top = [name for name in names if name != REST]
    ks = sorted(drawn["k"].unique().to_list())
    log = ks[-1] >= 32
    across = 1 if len(families) == 1 else 2
    panel = max(160, round((width - 70 - 20 * (across - 1)) / across))
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log" if log else "linear", zero=False, nice=False, padding=10),
        axis=alt.Axis(
            title="k" + ", log scale" * log,
            values=ks,
            tickMinStep=1,
            format="d",
            grid=False,
            labelOverlap=True,
        )
        if len(ks) <= 12
        else alt.Axis(title="k" + ", log scale" * log, format="~s", grid=False),
    )
    share = set(drawn["unit"]) == {"share"} if "unit" in drawn.columns else True
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(**_frames.axis("share" if share else None, "")),
    )
    legend = alt.Legend(title=None, orient="bottom", columns=max(1, width // 220))
    colour = alt.Color(
        "colour:N",
        scale=alt.Scale(
            domain=[*top, *([REST] if REST in names else [])],
            range=[*now.series[: len(top)], *([now.faint] if REST in names else [])],
        ),
        legend=legend,
    )
    shape = alt.Shape(
        "colour:N",
        scale=alt.Scale(
            domain=[*top, *([REST] if REST in names else [])],
            range=[*SHAPES[: len(top)], *(["circle"] if REST in names else [])],
        ),
        legend=legend,
    )
    told = [
        alt.Tooltip("label:N", title="config"),
        alt.Tooltip("metric:N"),
        alt.Tooltip("text:N", title="value"),
    ]
    mine = f"datum.colour !== '{REST}'"
    base = alt.Chart().encode(x=x)
    layers = [
        base.transform_filter(f"datum.colour === '{REST}'")
        .mark_line(color=now.faint, strokeWidth=1, opacity=0.45)
        .encode(y=y, detail="label:N"),
        base.transform_filter(mine)
        .mark_area(opacity=0.16 if len(top) <= 3 else 0.07)
        .encode(y=alt.Y("low:Q"), y2="high:Q", color=colour, detail="label:N"),
        base.transform_filter(mine)
        .mark_line(strokeWidth=2)
        .encode(y=y, color=colour, detail="label:N"),
        base.transform_filter(mine)
        .mark_point(filled=True, size=46, opacity=1)
        .encode(y=y, color=colour, shape=shape, tooltip=told),
    ]
    return (
        alt.layer(*layers, data=drawn)
        .properties(width=panel, height=round(min(panel, 340) * 0.8))
        .facet(
            facet=alt.Facet("family:N", title=None, sort=families),
            columns=across,
            spacing=20,
        )
    )


def _lines(rows: pl.DataFrame, drawn: pl.DataFrame, every: int, limit: int) -> list[str]:
    level = _frames.percent(_first(rows, "level"))
    method = _frames.together(rows["method"].to_list()) if "method" in rows.columns else ""
    kinds = rows["estimand"].unique().to_list() if "estimand" in rows.columns else []
    estimand = ", ".join(sorted(_frames.ESTIMANDS.get(kind, str(kind)) for kind in kinds))
    grey = max(0, drawn["label"].n_unique() - limit)
    metric = drawn["family"][0]
    return [
        f"estimand: {estimand}; band: {level} interval of each k by itself, {method}",
        f"in colour: the {limit} highest in {metric} at the largest k; "
        f"in grey, without band: {grey:,} others"
        if grey
        else "",
        _frames.left_out(rows, ["config", *_frames.others(rows, SUMMARY)]),
        _frames.truncated(drawn["label"].n_unique(), every, "curve", f"the highest in {metric}"),
    ]


def _first(rows: pl.DataFrame, name: str) -> float | None:
    known = rows[name].drop_nulls() if name in rows.columns else pl.Series([], dtype=pl.Float64)
    return None if known.is_empty() else float(known[0])


def _alt(drawn: pl.DataFrame, families: list[str]) -> str:
    told = []
    for family in families:
        part = drawn.filter(family=family).drop_nulls("value")
        for name in part["label"].unique(maintain_order=True).to_list()[:3]:
            curve = part.filter(label=name).sort("k")
            first, last = curve.row(0, named=True), curve.row(-1, named=True)
            told.append(
                f"{name}: {family} goes from {first['text']} at k = {first['k']} to "
                f"{last['text']} at k = {last['k']}."
            )
    more = drawn["label"].n_unique() - 3
    tail = f" {more} more curves are drawn." if more > 0 else ""
    return f"Curves against k with bands. {' '.join(told)}{tail}"
