"""How a metric falls from bucket to bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._lines import Axis, coloured, lines, others_in_grey
from trialframe.charts._theme import SHAPES, WIDTH, altair, finished
from trialframe.display import counted

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Theme

NEEDS = ("config", "bucket", "index", "metric", "value", "low", "high", "level", "cases")


def decay(
    frame: pl.DataFrame,
    *,
    bucket: str = "bucket",
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = 7,
) -> Chart:
    """A metric over ordered buckets, one curve a config; a bucket without cases is a gap.

    Args:
        frame: `Decay.curve`.
        bucket: What the buckets are made of.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most curves in colour and with a band, from 1 to 7, highest in the last bucket
            first; others are grey.

    Returns:
        A chart whose `data` has one row per config and bucket: `label`, the columns of the
        curve unchanged, `text` and `colour`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No decay curve.
    """
    frame = _frames.taken(frame, NEEDS, "decay")
    limit = _checks.integer(limit, "limit", low=1, high=len(SHAPES))
    metric = str(frame["metric"][0])
    texts = [
        f"{_frames.estimate(row['value'], row['low'], row['high'], 'share')}, "
        f"{counted(row['cases'] or 0, 'case')}"
        for row in frame.iter_rows(named=True)
    ]
    rows = frame.with_columns(
        pl.Series("label", _frames.labels(frame.select("config").rows()), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        pl.Series("step", _frames.names(frame.select("bucket").rows()), dtype=pl.String),
    )
    drawn = coloured(rows, limit, rows, "index")
    order = rows.sort("index")["step"].unique(maintain_order=True).to_list()
    layers = lines(
        drawn,
        x=Axis(column="step", title=_frames.harmless(bucket), values=order, words=True),
        y=_frames.axis("share", metric),
        theme=theme,
        width=width,
        tooltip={"label": "config", "step": _frames.harmless(bucket), "text": metric},
    )
    every = rows["label"].n_unique()
    empty = rows.filter(pl.col("value").is_null()).height
    return finished(
        altair().layer(*layers, data=drawn).properties(height=round(width * 0.48)),
        theme=theme,
        width=width,
        title=f"{metric} over {bucket} of {counted(every, 'config')}",
        lines=[
            (
                f"estimand: {_frames.ESTIMANDS['cases']}; band: "
                f"{_frames.percent(frame['level'][0])} interval of each bucket by itself, "
                f"{_frames.together(_column(frame, 'method'))}"
            ),
            *others_in_grey(drawn, every, limit, f"{bucket} {order[-1]}"),
            f"without a value, not drawn: {counted(empty, 'bucket')}" if empty else "",
            _frames.left_out(frame),
        ],
        alt=_alt(drawn, metric, bucket),
    )


def _column(frame: pl.DataFrame, name: str) -> list[object]:
    return frame[name].to_list() if name in frame.columns else []


def _alt(drawn: pl.DataFrame, metric: str, bucket: str) -> str:
    told = []
    known = drawn.drop_nulls("value")
    names = known["label"].unique(maintain_order=True).to_list()
    for name in names[:4]:
        curve = known.filter(label=name).sort("index")
        first, last = curve.row(0, named=True), curve.row(-1, named=True)
        told.append(
            f"{name} goes from {first['text']}, in {_frames.named(first['bucket'])}, to "
            f"{last['text']}, in {_frames.named(last['bucket'])}."
        )
    more = len(names) - len(told)
    tail = f" {more} more curves are drawn." if more > 0 else ""
    return f"{metric} over {bucket}, with intervals. {' '.join(told)}{tail}"
