"""Every shared case of a comparison: from the baseline's value to the candidate's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted, cut, differing, shown, unit_of

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("case", "value_baseline", "value_candidate", "diff")
COSTS = ("micro-dollars", "milliseconds", "tokens")
"""Units of what one wants less of."""
SIDE = 28
"""Characters of a side's name in the title."""
NAMED = 40
"""Cases up to which every one has its name below it."""


def strip(
    frame: pl.DataFrame,
    *,
    metric: str = "pass@1",
    sides: tuple[str, str] = ("baseline", "candidate"),
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = 600,
) -> Chart:
    """Cases side by side, from the largest loss to the largest win.

    A line leads from the baseline's value (small tick) to the candidate's (point). How far a
    single case moved is mostly chance where trials are few: read the whole, not its ends.

    Args:
        frame: `Comparison.pairs`.
        metric: What was compared.
        sides: Names of baseline and candidate.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most lines to draw, from 2 to 1,000; with more cases each line is the mean of as
            many neighbours in the order as that takes.

    Returns:
        A chart whose `data` has one row per line: `place`, `label`, `cases`,
        `value_baseline, value_candidate, diff`, `text`, `state`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No pairs.
    """
    frame = _frames.taken(frame, NEEDS, "strip")
    limit = _checks.integer(limit, "limit", low=2, high=1000)
    known = frame.drop_nulls(["value_baseline", "value_candidate", "diff"])
    unit = unit_of(metric)
    drawn = _lines_of(known, limit, unit)
    baseline, candidate = (cut(_frames.named(side), SIDE) for side in sides)
    wins, losses = (
        known.filter(found).height for found in (pl.col("diff") > 0, pl.col("diff") < 0)
    )
    ties = known.height - wins - losses
    block = -(-known.height // limit)
    told = [
        f"line: from {baseline} (tick) to {candidate} (point); sorted by difference",
        f"{wins:,} higher, {losses:,} lower, {ties:,} alike; single cases rest on few trials",
        f"each line is the mean of up to {block} neighbouring cases" if block > 1 else "",
        _missing(frame.height - known.height),
    ]
    return finished(
        _layers(drawn, metric, unit, theme),
        theme=theme,
        width=width,
        title=f"{metric} of {counted(known.height, 'shared case')}, {baseline} to {candidate}",
        lines=told,
        alt=f"{metric} of {counted(known.height, 'shared case')} from {baseline} to {candidate}: "
        f"{wins:,} rise, {losses:,} fall, {ties:,} stay.",
    )


def _missing(number: int) -> str:
    return f"not drawn: {counted(number, 'case')} without a value on a side" if number else ""


def _lines_of(known: pl.DataFrame, limit: int, unit: str) -> pl.DataFrame:
    """One row per line: a case, or the mean of neighbours in the order."""
    size = max(1, -(-known.height // limit))
    ordered = known.sort("diff", "value_baseline", "case").with_row_index("place")
    values = ("value_baseline", "value_candidate", "diff")
    blocks = (
        ordered.group_by(pl.col("place") // size, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("cases"), pl.first("case"), pl.col(values).mean())
        .with_columns(pl.col("place").cast(pl.Int64))
    )
    names = [
        (f"{name} and {n - 1} more",) if n > 1 else (name,)
        for name, n in blocks.select("case", "cases").iter_rows()
    ]
    texts = [
        f"{shown(a, unit)} to {shown(b, unit)} ({differing(d, unit)})"
        for a, b, d in blocks.select(values).iter_rows()
    ]
    state = (
        pl.when(pl.col("diff") > 0)
        .then(pl.lit("higher"))
        .when(pl.col("diff") < 0)
        .then(pl.lit("lower"))
        .otherwise(pl.lit("alike"))
    )
    return blocks.with_columns(
        pl.Series("label", _frames.labels(names, 24), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        state.alias("state"),
    ).select("place", "label", "cases", *values, "text", "state")


def _layers(drawn: pl.DataFrame, metric: str, unit: str, theme: str) -> Any:
    alt, now = altair(), look(theme)
    styles = {
        "higher": (now.bad if unit in COSTS else now.good, "triangle-up"),
        "alike": (now.faint, "circle"),
        "lower": (now.good if unit in COSTS else now.bad, "triangle-down"),
    }
    present = [name for name in styles if name in set(drawn["state"])]
    few, thin = drawn.height <= NAMED, drawn.height > 150
    x = alt.X(
        "label:N",
        title=None if few else "cases, from the largest loss to the largest win",
        scale=alt.Scale(domain=drawn["label"].to_list(), paddingInner=0 if thin else 0.2),
        axis=alt.Axis(labels=few, ticks=False, domain=False, labelAngle=-60, labelLimit=150),
    )
    y = alt.Y(
        "value_candidate:Q",
        scale=alt.Scale(zero=unit == "share"),
        axis=alt.Axis(**_frames.axis(unit, metric)),
    )
    legend = alt.Legend(title=None, orient="top")
    colour, shape = (
        kind(
            "state:N",
            scale=alt.Scale(domain=present, range=[styles[name][i] for name in present]),
            legend=legend,
        )
        for i, kind in enumerate((alt.Color, alt.Shape))
    )
    told = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("text:N", title=metric),
        alt.Tooltip("cases:Q", title="cases"),
    ]
    base = alt.Chart(drawn).encode(x=x, color=colour, tooltip=told)
    size = 14 if thin else 34
    # lines as thin as these would shimmer: bars that touch do not
    moved = base.mark_bar(opacity=0.6, strokeWidth=0) if thin else base.mark_rule(strokeWidth=2)
    layers = [
        moved.encode(y=alt.Y("value_baseline:Q"), y2="value_candidate:Q"),
        base.mark_tick(opacity=0.9, thickness=1.5, width=3 if thin else 7).encode(
            y=alt.Y("value_baseline:Q")
        ),
        base.mark_point(filled=True, size=size, opacity=1).encode(y=y, shape=shape),
    ]
    return alt.layer(*layers, data=drawn).properties(height=260)
