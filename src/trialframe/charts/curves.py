"""Metrics of k trials against k: pass@k, pass^k and their kin, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._lines import Axis, coloured, lines, others_in_grey
from trialframe.charts._theme import SHAPES, WIDTH, altair, finished
from trialframe.display import counted
from trialframe.errors import ArgumentError
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("config", "metric", "k", "value", "low", "high")


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
    rows = _labelled(rows)
    lead = rows.filter(family=rows["family"][0])
    drawn = coloured(rows, limit, lead, "k")
    every = rows["label"].n_unique()
    families = rows["family"].unique(maintain_order=True).to_list()
    ks = drawn["k"].unique().sort().to_list()
    return finished(
        _panels(drawn, families, theme, width),
        theme=theme,
        width=width,
        fit=False,
        title=f"{' and '.join(families)} of {counted(every, 'curve')}, k from {ks[0]} to {ks[-1]}",
        lines=_lines(rows, drawn, every, limit),
        alt=_alt(drawn, families),
    )


def _family(metric: str, k: int) -> str:
    return metric.replace(str(k), "k", 1)


def _labelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the labels of their curves, their families and their values as text."""
    by = _frames.others(rows, SUMMARY)
    stems = [_family(*row) for row in rows.select("metric", "k").iter_rows()]
    texts = [
        _frames.estimate(row["value"], row["low"], row["high"], row.get("unit", "share"))
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(
        pl.Series("label", _frames.labels(rows.select("config", *by).rows()), dtype=pl.String),
        pl.Series("family", stems, dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
    )


def _panels(drawn: pl.DataFrame, families: list[str], theme: str, width: int) -> Any:
    alt = altair()
    across = 1 if len(families) == 1 else 2
    panel = max(160, round((width - 70 - 20 * (across - 1)) / across))
    share = set(drawn["unit"]) == {"share"} if "unit" in drawn.columns else True
    layers = lines(
        drawn,
        x=Axis(column="k", title="k", values=drawn["k"].unique().sort().to_list()),
        y=_frames.axis("share" if share else None, ""),
        theme=theme,
        width=width,
        tooltip={"label": "config", "metric": "metric", "text": "value"},
    )
    return (
        alt.layer(*layers, data=drawn)
        .properties(width=panel, height=round(min(panel, 340) * 0.8))
        .facet(facet=alt.Facet("family:N", title=None, sort=families), columns=across, spacing=20)
    )


def _lines(rows: pl.DataFrame, drawn: pl.DataFrame, every: int, limit: int) -> list[str]:
    level = _frames.percent(_first(rows, "level"))
    method = _frames.together(rows["method"].to_list()) if "method" in rows.columns else ""
    kinds = rows["estimand"].unique().to_list() if "estimand" in rows.columns else []
    estimand = ", ".join(sorted(_frames.ESTIMANDS.get(kind, str(kind)) for kind in kinds))
    return [
        f"estimand: {estimand}; band: {level} interval of each k by itself, {method}",
        *others_in_grey(drawn, every, limit, f"{rows['family'][0]} at the largest k"),
        _frames.left_out(rows, ["label"]),
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
