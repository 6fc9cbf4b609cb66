"""The power of a planned comparison against its number of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.charts import _frames
from trialframe.charts._lines import Axis, coloured, lines
from trialframe.charts._theme import SHAPES, WIDTH, altair, finished, look
from trialframe.display import differing

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Theme

NEEDS = ("cases", "effect", "power", "test", "alpha")
TESTS = {"t": "t test of case differences", "z": "normal approximation", "mcnemar": "McNemar"}
TARGET = 0.8


def power(
    frame: pl.DataFrame,
    *,
    target: float = TARGET,
    unit: str = "share",
    theme: Theme = "light",
    width: int = WIDTH,
) -> Chart:
    """Power curves, one a true difference.

    Args:
        frame: What `tr.power_table` returned.
        target: Power that is marked with a line.
        unit: Unit of the effects: that of the metric.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.

    Returns:
        A chart whose `data` has one row per number of cases and effect: `label` (the effect as
        text), the columns of the table unchanged, `value` (the power), `text` and `colour`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No table of powers.
    """
    frame = _frames.taken(frame, NEEDS, "power")
    names = [(differing(effect, unit),) for effect in frame["effect"]]
    texts = [_frames.estimate(each, None, None, "share") for each in frame["power"]]
    rows = frame.with_columns(
        pl.Series("label", _frames.labels(names), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        pl.col("power").alias("value"),
    )
    drawn = coloured(rows, len(SHAPES), rows.with_columns(value=pl.col("effect").abs()), "cases")
    sizes = drawn["cases"].unique().sort().to_list()
    layers = lines(
        drawn,
        x=Axis(column="cases", title="shared cases", values=sizes),
        y=_frames.axis("share", "power"),
        theme=theme,
        width=width,
        tooltip={"label": "true difference", "cases": "cases", "text": "power"},
        band=False,
    )
    alt, now = altair(), look(theme)
    wanted = alt.Chart().mark_rule(color=now.soft, strokeDash=[3, 3]).encode(y=alt.datum(target))
    return finished(
        alt.layer(wanted, *layers, data=drawn).properties(height=round(width * 0.48)),
        theme=theme,
        width=width,
        title="Power to show a true difference, by the number of shared cases",
        lines=[_method(frame), f"dashed: power {_frames.percent(target)}", _unknown(frame)],
        alt=_alt(frame, target, unit),
    )


def _method(frame: pl.DataFrame) -> str:
    first = frame.row(0, named=True)
    sides = [first.get(f"trials_{side}") for side in ("baseline", "candidate")]
    known = [f"{number:.3g}" for number in sides if number is not None]
    trials = f"; trials a case: {', '.join(dict.fromkeys(known))}" if known else ""
    test = TESTS.get(str(first["test"]), str(first["test"]))
    return f"planned, not observed: {test}, two-sided, alpha {first['alpha']:g}{trials}"


def _unknown(frame: pl.DataFrame) -> str:
    missing = frame["power"].null_count()
    return f"not drawn: {missing} combinations that cannot occur" if missing else ""


def _alt(frame: pl.DataFrame, target: float, unit: str) -> str:
    told = []
    sizes = _frames.span_of(frame["cases"].to_list())
    for (effect,), part in frame.sort("effect", "cases").group_by("effect", maintain_order=True):
        enough = part.filter(pl.col("power") >= target)["cases"].to_list()
        name = differing(float(str(effect)), unit)
        found = f"reached at {enough[0]:,} cases" if enough else "not reached"
        told.append(f"{name}: {found}")
    return f"Power over {sizes} cases. Power {_frames.percent(target)}: {'; '.join(told[:8])}."
