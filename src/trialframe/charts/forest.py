"""Paired differences with their intervals: groups of one comparison, or many comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._rows import rows
from trialframe.charts._theme import WIDTH, finished, look
from trialframe.display import counted, unit_of
from trialframe.schema import COMPARISONS

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Look, Theme

NEEDS = ("diff", "low", "high", "verdict", "cases")
GROUPS = (
    *NEEDS,
    *("units", "baseline_value", "candidate_value", "se", "ratio", "ratio_low", "ratio_high"),
    *("method", "pvalue", "pvalue_holm", "wins", "losses"),
)
"""Columns of `Comparison.groups` beside those it was grouped by."""


def forest(
    frame: pl.DataFrame,
    *,
    metric: str | None = None,
    level: float | None = None,
    sides: tuple[str, str] | None = None,
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = 200,
) -> Chart:
    """Differences with intervals around zero, one row a group or a pair of configs.

    Args:
        frame: What `tr.compare_all` returned, or `Comparison.groups`.
        metric: What was compared, where the table does not say it.
        level: Nominal coverage of the intervals, where the table does not say it.
        sides: Baseline and candidate, where the table does not say it.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most rows to draw; pairs with the smallest p-values, or the first groups.

    Returns:
        A chart whose `data` has one row per group or pair: `label`, the columns of the table
        unchanged but for `low` and `high`, which are the simultaneous ones where there are
        such, `value` (the difference), `text` and `state` (the verdict).

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: Neither kind of table.
    """
    frame = _frames.taken(frame, NEEDS, "forest")
    limit = _checks.integer(limit, "limit", low=1)
    pairs = "baseline" in frame.columns
    if pairs:
        metric, level = frame["metric"][0], frame["level"][0]
    drawn, order = _chosen(frame, limit, pairs=pairs)
    unit = unit_of(metric or "pass@1")
    drawn = _labelled(drawn, _keys(frame), unit)
    what = metric or "the metric"
    points = ", percentage points" if unit == "share" else ""
    chart = rows(
        drawn,
        theme=theme,
        unit=unit,
        title=f"difference in {what}{points}",
        states=_states(look(theme)),
        tooltip={"label": "row", "text": "difference", "state": "verdict", "cases": "cases"},
        zero=True,
    )
    lines = _lines(frame, level, pairs=pairs)
    return finished(
        chart,
        theme=theme,
        width=width,
        title=_title(frame, what, sides, pairs=pairs),
        lines=[*lines, _frames.truncated(drawn.height, frame.height, "row", order)],
        alt=_alt(frame, drawn, what, unit),
    )


def _states(now: Look) -> dict[str, tuple[str, str]]:
    return {
        "better": (now.good, "triangle-up"),
        "inconclusive": (now.faint, "circle"),
        "worse": (now.bad, "triangle-down"),
        "not comparable": (now.odd, "cross"),
    }


def _keys(frame: pl.DataFrame) -> list[str]:
    """The columns that name a row."""
    if "baseline" not in frame.columns:
        return [name for name in frame.columns if name not in GROUPS]
    one = frame["baseline"].n_unique() == 1
    by = _frames.others(frame, COMPARISONS)
    return [*by, "candidate"] if one else [*by, "candidate", "baseline"]


def _chosen(frame: pl.DataFrame, limit: int, *, pairs: bool) -> tuple[pl.DataFrame, str]:
    """The rows to draw, and how they were chosen: pairs from the largest difference down."""
    if not pairs:
        return frame.head(limit), "the first"
    least = frame.sort("adjusted", "pvalue", "candidate", "baseline", nulls_last=True).head(limit)
    keys = ["diff", "candidate", "baseline"]
    ordered = least.sort(keys, descending=[True, False, False], nulls_last=True)
    return ordered, "those with the smallest adjusted p-values"


def _labelled(frame: pl.DataFrame, keys: list[str], unit: str) -> pl.DataFrame:
    if "simultaneous_low" in frame.columns:
        wide = pl.col("simultaneous_low").is_not_null()
        frame = frame.with_columns(
            pl.when(wide).then(f"simultaneous_{end}").otherwise(end).alias(end)
            for end in ("low", "high")
        )
    key = frame.select(keys).rows() if keys else [("all",)] * frame.height
    if keys[-2:] == ["candidate", "baseline"]:
        key = [(*row[:-2], f"{row[-2]} \u2212 {row[-1]}") for row in key]
    texts = [
        _frames.difference(diff, low, high, unit)
        for diff, low, high in frame.select("diff", "low", "high").iter_rows()
    ]
    return frame.with_columns(
        pl.Series("label", _frames.labels(key), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        pl.col("diff").alias("value"),
        pl.col("verdict").alias("state"),
    )


def _title(frame: pl.DataFrame, what: str, sides: tuple[str, str] | None, *, pairs: bool) -> str:
    if sides is not None:
        baseline, candidate = map(_frames.named, sides)
        return f"{candidate} minus {baseline} in {what}"
    if pairs and frame["baseline"].n_unique() == 1:
        count = counted(frame.height, "config")
        return f"{count} against {_frames.named(frame['baseline'][0])} in {what}"
    kind = counted(frame.height, "pair of configs", "pairs of configs")
    return f"{kind} in {what}" if pairs else f"candidate minus baseline in {what}"


def _lines(frame: pl.DataFrame, level: float | None, *, pairs: bool) -> list[str]:
    column = "interval" if pairs else "method"
    method = _frames.together(frame[column].to_list()) if column in frame.columns else ""
    wide = pairs and frame["simultaneous_low"].is_not_null().any()
    how = "simultaneous over all pairs, max-t" if wide else f"each row by itself, {method}"
    undecided = ""
    if pairs:
        adjust = frame["adjust"][0]
        undecided = f"verdicts: p-values {'not ' if adjust == 'none' else ''}adjusted"
        undecided += "" if adjust == "none" else f" ({adjust})"
    elif "pvalue_holm" in frame.columns and frame["pvalue_holm"].is_not_null().any():
        undecided = "verdicts of groups: p-values adjusted (holm)"
    estimand = _frames.ESTIMANDS["cases"]
    cases = _frames.span_of(frame["cases"].fill_null(0).to_list())
    return [
        f"estimand: paired difference on {estimand}; line: {_frames.percent(level)} interval, "
        f"{how}".replace(":  interval", ": interval"),
        f"shared cases a row: {cases}" + (f"; {undecided}" if undecided else ""),
    ]


def _alt(frame: pl.DataFrame, drawn: pl.DataFrame, what: str, unit: str) -> str:
    counts = dict(frame["verdict"].value_counts(sort=True).rows())
    verdicts = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    told = [f"Differences in {what} with intervals. Of {counted(frame.height, 'row')}: {verdicts}."]
    known = drawn.filter(pl.col("diff").is_not_null())
    if known.height:
        for word, row in (
            ("Highest", known["diff"].arg_max()),
            ("Lowest", known["diff"].arg_min()),
        ):
            found = known.row(row or 0, named=True)
            ends = _frames.difference(found["diff"], found["low"], found["high"], unit)
            told.append(f"{word}: {found['label']} with {ends}.")
    return " ".join(told)
