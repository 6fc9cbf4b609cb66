"""Tables for publication: results and long tables as great_tables, with spanners and notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import results
from trialframe._optional import require
from trialframe.charts import _frames
from trialframe.display import (
    MISSING,
    counted,
    differences,
    differing,
    interval,
    shown,
    span,
    told,
    unit_of,
)
from trialframe.errors import ArgumentError, visible
from trialframe.results import Result
from trialframe.schema import COMPARISONS, LEADERBOARD, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from great_tables import GT

NOTES = 6
"""Most warnings that are written out below a table."""


@dataclass(slots=True)
class _Layout:
    """Columns of texts in order, how they are headed, and what stands below.

    Attributes:
        title: What the table shows.
        columns: Key -> (head, texts).
        spanners: (head, keys of the columns below it).
        notes: Lines below the table.
    """

    title: str
    columns: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    spanners: list[tuple[str, list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    texts: int = 1

    def add(self, head: str, texts: Iterable[object], under: str | None = None) -> None:
        """A further column, perhaps below a spanner."""
        key = f"column_{len(self.columns)}"
        self.columns[key] = (head, [visible(str(text)) for text in texts])
        if under is not None:
            if not self.spanners or self.spanners[-1][0] != under:
                self.spanners.append((under, []))
            self.spanners[-1][1].append(key)


def table(what: Any, *, title: str | None = None) -> GT:
    """A result or a table of results for publication.

    Numbers are written as people read them; take `to_frame()` or the table itself for numbers.

    Args:
        what: A result, `Counts`, or a table that trialframe returned; tables inside a result by
            themselves, as in `tr.table(found.groups)`.
        title: Title of the table; None for one that says what it holds.

    Returns:
        A `great_tables.GT`: estimates and intervals of a metric under one head, and notes that
        name estimand, method, level, what was left out and what weakens it.
        `as_raw_html()` gives the page, `as_latex()` the source.

    Raises:
        ArgumentError: Neither a result nor a table, or a table without rows.
        ImportError: Great Tables is not installed.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=60, trials=4, lift=0.2, seed=1)
        >>> board = tr.table(tr.leaderboard(tr.counts(trials)))
        >>> "69.6 %" in board.as_raw_html()
        True
    """
    great = require("great_tables", extra="report", purpose="tables for publication")
    layout = _layout(what)
    frame = pl.DataFrame(
        {key: texts for key, (_, texts) in layout.columns.items()},
        schema=dict.fromkeys(layout.columns, pl.String),
    )
    made = great.GT(frame).tab_header(title=visible(title or layout.title))
    made = made.cols_label(**{key: head for key, (head, _) in layout.columns.items()})
    keys = list(layout.columns)
    made = made.cols_align("left", columns=keys[: layout.texts])
    if keys[layout.texts :]:
        made = made.cols_align("right", columns=keys[layout.texts :])
    for number, (head, columns) in enumerate(layout.spanners):
        made = made.tab_spanner(label=head, columns=columns, id=f"spanner_{number}")
    for note in layout.notes:
        made = made.tab_source_note(source_note=visible(note))
    finished: GT = made
    return finished


def _layout(what: Any) -> _Layout:
    if isinstance(what, Result) and len(what.to_frame()) == 1:
        return _of_result(what)
    # sums of measures are no numbers to read
    sums = pl.exclude("^.*_(n|sum|sumsq)$")
    frame = what.to_frame().select(sums) if isinstance(what, Result) else what
    if not isinstance(frame, pl.DataFrame):
        raise ArgumentError(
            f"tr.table takes a result or a polars.DataFrame, got {type(what).__name__}."
        )
    if frame.is_empty() or not frame.width:
        raise ArgumentError("the table has no rows: nothing to show.")
    columns = set(frame.columns)
    if columns >= {"config", "rank", "rank_low", "plausibly_best"}:
        return _of_leaderboard(frame)
    if columns >= {"baseline", "candidate", "diff", "adjusted", "verdict"}:
        return _of_comparisons(frame)
    if columns >= {"config", "metric", "value", "low", "high", "estimand"}:
        return _of_summary(frame)
    return _of_any(frame)


def _of_result(found: Result) -> _Layout:
    """Names and numbers of a result; its sentence is the title."""
    first, *rest = repr(found).splitlines() or [type(found).__name__]
    brief = first.startswith(f"{type(found).__name__}(")
    made = _Layout(title=type(found).__name__ if brief else first)
    pairs = list(results.numbers(found))
    made.add("", [name.replace("_", " ") for name, _ in pairs])
    made.add("value", [text for _, text in pairs])
    made.notes = [] if brief else [line.removeprefix("- ") for line in rest]
    return made


def _of_leaderboard(frame: pl.DataFrame) -> _Layout:
    by = _frames.others(frame, LEADERBOARD)
    rows = list(frame.iter_rows(named=True))
    first = rows[0]
    made = _Layout(
        title=f"{first['metric']} of {counted(frame['config'].n_unique(), 'config')} on "
        f"{_frames.span_of(frame['cases'].to_list())} shared cases"
    )
    for name in by:
        made.add(name, (_name(row[name]) for row in rows))
    made.add("config", (row["config"] for row in rows))
    made.texts = len(by) + 1
    made.add("rank", (row["rank"] for row in rows))
    made.add("range", (span(row["rank_low"], row["rank_high"]) for row in rows))
    _estimates(made, first["metric"], rows)
    made.add("plausibly best", ("yes" if row["plausibly_best"] else "" for row in rows))
    if frame["cost_uusd"].is_not_null().any():
        made.add("a trial", (shown(row["cost_uusd"], _frames.MONEY) for row in rows), "price")
        solved = "cost_uusd_per_pass"
        made.add("a solved case", (shown(row[solved], _frames.MONEY) for row in rows), "price")
        ends = [(row[f"{solved}_low"], row[f"{solved}_high"]) for row in rows]
        made.add("interval", (interval(low, high, _frames.MONEY) for low, high in ends), "price")
        made.add("on the front", (told(row["pareto"], "pareto") for row in rows))
    made.notes = [
        f"Estimand: {_frames.ESTIMANDS['cases']}, on the cases that all configs share.",
        *_method(frame, "method"),
        "Plausibly best: the set holds a best config with the probability of the level.",
        *_left(frame),
    ]
    return made


def _of_comparisons(frame: pl.DataFrame) -> _Layout:
    by = _frames.others(frame, COMPARISONS)
    rows = list(frame.iter_rows(named=True))
    metric = rows[0]["metric"]
    unit = unit_of(metric)
    one = frame["baseline"].n_unique() == 1
    wide = frame["simultaneous_low"].is_not_null().any()
    which = "simultaneous_" if wide else ""
    against = f" with {_frames.named(rows[0]['baseline'])}" if one else ""
    made = _Layout(title=f"{counted(frame.height, 'comparison')}{against} in {metric}")
    for name in by:
        made.add(name, (_name(row[name]) for row in rows))
    for name in ("candidate",) if one else ("candidate", "baseline"):
        made.add(name, (row[name] for row in rows))
    made.texts = len(made.columns)
    head = f"difference in {metric}"
    made.add("candidate minus baseline", (differing(row["diff"], unit) for row in rows), head)
    ends = [(row[f"{which}low"], row[f"{which}high"]) for row in rows]
    made.add("interval", (differences(low, high, unit) for low, high in ends), head)
    made.add("own", (told(row["pvalue"], "pvalue") for row in rows), "p")
    made.add("adjusted", (told(row["adjusted"], "adjusted") for row in rows), "p")
    made.add("verdict", (row["verdict"] for row in rows))
    for name in ("cases", "wins", "losses"):
        made.add(name, (told(row[name], name) for row in rows))
    adjust = rows[0]["adjust"]
    how = "simultaneous over all pairs, max-t" if wide else "each pair by itself"
    made.notes = [
        f"Estimand: paired difference on {_frames.ESTIMANDS['cases']}, shared cases of each pair.",
        *_method(frame, "interval", how),
        "P-values not adjusted." if adjust == "none" else f"P-values adjusted by {adjust}.",
        *_left(frame),
    ]
    return made


def _of_summary(frame: pl.DataFrame) -> _Layout:
    """One row a config and group, one spanner a metric."""
    by = _frames.others(frame, SUMMARY)
    keys = [*by, "config"]
    names = frame["metric"].unique(maintain_order=True).to_list()
    order = frame.select(keys).unique(maintain_order=True).rows()
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        cells[(*(row[key] for key in keys), row["metric"])] = row
    made = _Layout(title=f"{', '.join(names[:4])} of {counted(len(order), 'row')}")
    for place, name in enumerate(keys):
        made.add(name, (_name(key[place]) for key in order))
    made.texts = len(keys)
    for name in names:
        _estimates(made, name, [cells.get((*key, name), {}) for key in order])
    sizes = [
        [cell["cases"] for name in names if (cell := cells.get((*key, name))) is not None]
        for key in order
    ]
    made.add("cases", (_frames.span_of([n or 0 for n in own]) if own else MISSING for own in sizes))
    kinds = sorted({_frames.ESTIMANDS.get(kind, str(kind)) for kind in frame["estimand"]})
    made.notes = [f"Estimand: {'; '.join(kinds)}.", *_method(frame, "method"), *_left(frame)]
    return made


def _of_any(frame: pl.DataFrame) -> _Layout:
    """All columns as they are, numbers as people read them."""
    made = _Layout(title=f"{counted(frame.height, 'row')}")
    rows = list(results.texts(frame))
    first = next(
        (i for i, dtype in enumerate(frame.dtypes) if dtype.is_numeric()), len(frame.columns)
    )
    for place, name in enumerate(frame.columns):
        made.add(name.replace("_", " "), (row[place] for row in rows))
    made.texts = max(1, first)
    return made


def _estimates(made: _Layout, metric: str, rows: list[dict[str, Any]]) -> None:
    """Value and interval of a metric below its name."""
    head = re.sub(r"_(uusd|ms)(?=_|$)", "", metric).replace("_", " ")
    made.add("estimate", (shown(row.get("value"), row.get("unit")) for row in rows), head)
    ends = [interval(row.get("low"), row.get("high"), row.get("unit")) for row in rows]
    made.add("interval", ends, head)


def _name(value: object) -> str:
    return MISSING if value is None else str(value)


def _method(frame: pl.DataFrame, column: str, how: str = "") -> list[str]:
    """Levels and methods of the intervals."""
    if not {"level", column} <= set(frame.columns):
        return []
    levels = sorted({_frames.percent(level) for level in frame["level"].drop_nulls()})
    parts = [*levels, _frames.together(frame[column].to_list()), how]
    return [f"Intervals: {', '.join(filter(None, parts))}."]


def _left(frame: pl.DataFrame) -> list[str]:
    """What was left out, and the warnings of the rows, each once."""
    keys = [name for name in ("config",) if name in frame.columns]
    out = _frames.left_out(frame, keys)
    texts = frame["warnings"] if "warnings" in frame.columns else pl.Series([], dtype=pl.String)
    warnings = texts.drop_nulls().unique(maintain_order=True).to_list()
    single = list(dict.fromkeys(part for text in warnings for part in text.split("; ") if part))
    more = [f"{len(single) - NOTES} more warnings in the table."] if len(single) > NOTES else []
    made = [f"{out[0].upper()}{out[1:]}."] if out else []
    return [*made, *(f"Note: {text}." for text in single[:NOTES]), *more]
