"""What one sees while trials come in: evidence and an interval that holds at all times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Look, Theme

NEEDS = ("pair", "low", "high", "log_e")
VALUES = ("mean", "low", "high")


def sequential(
    frame: pl.DataFrame,
    *,
    alpha: float,
    decided_at: int | None = None,
    sides: tuple[str, str] = ("baseline", "candidate"),
    diff: float | None = None,
    left_out: int = 0,
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = 1000,
) -> Chart:
    """The e-value after every pair, and below it the confidence sequence of the difference.

    Args:
        frame: `Sequential.path`.
        alpha: Chance of a wrong verdict; the evidence must reach 1 / alpha.
        decided_at: Pairs after which the verdict stood.
        sides: Names of baseline and candidate.
        diff: Mean difference over all pairs, for the text.
        left_out: Cases without an outcome, left out.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most points, from 10 to 2,000; longer paths are thinned evenly.

    Returns:
        A chart of two panels whose `data` has one row per pair drawn: the columns of the
        path unchanged.

    Raises:
        ArgumentError: No rows, an unknown theme, alpha outside (0, 1).
        ColumnError: No path.
    """
    frame = _frames.taken(frame, NEEDS, "sequential")
    alpha = _checks.between(alpha, "alpha", inclusive=False)
    limit = _checks.integer(limit, "limit", low=10, high=2000)
    keep = ("pair", "case", "diff", "wins", "losses", "log_e", "pvalue", "low", "high")
    drawn = _thinned(
        frame.select(name for name in keep if name in frame.columns), limit, decided_at
    )
    alt, now = altair(), look(theme)
    inner = width - 80
    baseline, candidate = map(_frames.named, sides)
    upper = _evidence(drawn, alpha, decided_at, now).properties(width=inner, height=170)
    lower = _band(
        drawn, "pair", None, "difference, percentage points", now, points=True
    ).properties(width=inner, height=170)
    last = frame.row(-1, named=True)
    told = f"decided after {decided_at:,}" if decided_at else "not decided"
    ends = _frames.difference(diff, last["low"], last["high"], "share")
    return finished(
        alt.vconcat(upper, lower, spacing=14),
        theme=theme,
        width=width,
        fit=False,
        title=f"{candidate} against {baseline}: {told} of {counted(frame.height, 'pair')}",
        lines=[
            (
                f"above: e-value, log scale; dashed: 1 / alpha = {1 / alpha:g}, reached by chance "
                f"with probability {alpha:g} at most, however often one looks"
            ),
            (
                f"below: {_frames.percent(1 - alpha)} confidence sequence of the paired "
                "difference, which holds at all times at once"
            ),
            f"left out: {counted(left_out, 'case')} without an outcome" if left_out else "",
            _thin_note(drawn.height, frame.height),
        ],
        alt=f"Sequential comparison of {candidate} with {baseline}: {told} of "
        f"{counted(frame.height, 'pair')}; difference {ends}; the e-value ends at "
        f"{_power(last['log_e'])} and needs {1 / alpha:g}.",
    )


def confidence(
    frame: pl.DataFrame,
    *,
    level: float,
    method: str = "",
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = 1000,
) -> Chart:
    """A mean and the confidence sequence around it, as values come in.

    Args:
        frame: `ConfidenceSequence.path`.
        level: Probability to hold at every time.
        method: How the interval was made.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most points, from 10 to 2,000; longer paths are thinned evenly.

    Returns:
        A chart whose `data` has one row per value drawn: `at`, and the columns of the path
        unchanged.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No path.
    """
    frame = _frames.taken(frame, VALUES, "confidence").with_row_index("at", offset=1)
    limit = _checks.integer(limit, "limit", low=10, high=2000)
    drawn = _thinned(frame.with_columns(pl.col("at").cast(pl.Int64)), limit, None)
    last = frame.row(-1, named=True)
    ends = _frames.estimate(last["mean"], last["low"], last["high"], None)
    chart = _band(drawn, "at", "mean", "mean", look(theme), points=False)
    return finished(
        chart.properties(height=240),
        theme=theme,
        width=width,
        title=f"Mean of {counted(frame.height, 'value')}, looked at after every one",
        lines=[
            (
                f"band: {_frames.percent(level)} confidence sequence, {method}, holds at all times "
                "at once"
            ),
            _thin_note(drawn.height, frame.height),
        ],
        alt=f"Mean with a confidence sequence over {counted(frame.height, 'value')}; at the end "
        f"{ends}.",
    )


def _thinned(frame: pl.DataFrame, limit: int, keep: int | None) -> pl.DataFrame:
    """Every so manieth row, and the last, and the one in which the verdict fell."""
    step = max(1, -(-frame.height // limit))
    rows = set(range(0, frame.height, step)) | {frame.height - 1}
    if keep is not None and 0 < keep <= frame.height:
        rows.add(keep - 1)
    return frame[sorted(rows)]


def _thin_note(drawn: int, every: int) -> str:
    return "" if drawn == every else f"drawn: {drawn:,} of {every:,} points, evenly spaced"


def _evidence(drawn: pl.DataFrame, alpha: float, decided_at: int | None, now: Look) -> Any:
    alt = altair()
    x = alt.X("pair:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title=None, grid=False))
    written = (
        "abs(datum.value) < 30 ? format(exp(datum.value), ',.2~r') "
        ": '10^' + format(datum.value / 2.302585, '.0f')"
    )
    y = alt.Y("log_e:Q", axis=alt.Axis(title="e-value", labelExpr=written, tickCount=5))
    base = alt.Chart(drawn).encode(x=x)
    bar = alt.Chart().mark_rule(color=now.soft, strokeDash=[4, 3])
    layers = [
        bar.encode(y=alt.datum(-math.log(alpha))),
        base.mark_line(color=now.good, strokeWidth=2).encode(y=y),
    ]
    if decided_at is not None:
        mark = base.transform_filter(f"datum.pair === {int(decided_at)}")
        layers.append(mark.mark_point(filled=True, size=90, color=now.bad).encode(y=y))
    return alt.layer(*layers, data=drawn)


def _band(
    drawn: pl.DataFrame, at: str, middle: str | None, title: str, now: Look, *, points: bool
) -> Any:
    alt = altair()
    name = "pairs" if at == "pair" else "values"
    x = alt.X(f"{at}:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title=name, grid=False))
    axis = alt.Axis(**_frames.axis("share" if points else None, title, points=points))
    y = alt.Y("low:Q", axis=axis)
    base = alt.Chart(drawn).encode(x=x)
    layers = [base.mark_area(color=now.good, opacity=0.25).encode(y=y, y2="high:Q")]
    layers += [
        base.mark_line(color=now.good, strokeWidth=1).encode(y=alt.Y(f"{end}:Q", axis=axis))
        for end in ("low", "high")
    ]
    if points:
        layers.append(
            alt.Chart().mark_rule(color=now.soft, strokeDash=[3, 3]).encode(y=alt.datum(0))
        )
    if middle is not None:
        line = base.mark_line(color=now.ink, strokeWidth=2)
        layers.append(line.encode(y=alt.Y(f"{middle}:Q", axis=axis)))
    return alt.layer(*layers, data=drawn)


def _power(log_e: float | None) -> str:
    if log_e is None:
        return "an unknown value"
    return f"{math.exp(log_e):.3g}" if abs(log_e) < 30 else f"10^{log_e / math.log(10):.0f}"
