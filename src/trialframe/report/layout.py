"""A long summary as tables that people read: one row per config, metrics side by side.

Metrics are shared out over as many tables as the width asks for, each with the configs at
its left; one config alone is turned round, a row per metric.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from trialframe.display import MISSING, bare, cut, interval, shown, span, wide
from trialframe.report import notes as remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    Row = Mapping[str, Any]
    Key = tuple[Any, ...]
    Cells = dict[Key, dict[str, Row]]

GAP = 2
"""Spaces between two columns."""

SHORTEST_NAME = 12
LARGEST_SHARE = 0.4
"""Share of a line that a column of names may take before it is folded."""

FACTS = ("min_trials", "max_trials")
HEADLINE = ("pass@1", "pass^1", "pooled")
FAMILIES: tuple[tuple[str, str], ...] = (
    ("Pass rates", r"(pass[@^]|g_pass|pooled|majority)"),
    ("Stability", r"(flaky|flake_index|saturated)"),
    ("Reliability and security", r"(secure_)?(reliability@|pass\^)"),
    ("Scores", r"(score|tests_share)"),
    ("Spent per trial, and per solved case", r"(cost|tokens|duration)"),
    ("Outcomes", r"share\["),
)
"""Titles of the tables and what the names of their metrics start with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table for people.

    Attributes:
        title: What stands above it.
        values: One text a row.
        intervals: One text a row, empty where there is none.
        left: Whether the texts are names, flush left.
        brief: What stands above it where room is short, on one line or two; empty for `title`.
    """

    title: str
    values: tuple[str, ...]
    intervals: tuple[str, ...] = ()
    left: bool = False
    brief: str = ""

    @property
    def heading(self) -> str:
        """What stands above it where room is short."""
        return self.brief or self.title

    @property
    def empty(self) -> bool:
        """Whether no row has a value."""
        return all(value == MISSING for value in self.values)

    def without_intervals(self) -> Column:
        """The same column, values only."""
        return replace(self, intervals=())

    def cells(self) -> list[str]:
        """Texts of one width: values flush right, intervals below each other."""
        widest = max(map(len, self.intervals), default=0)
        if not widest:
            return list(self.values)
        first = max(map(len, self.values))
        pairs = zip(self.values, self.intervals, strict=True)
        return [f"{value:>{first}} {between:<{widest}}" for value, between in pairs]

    @property
    def width(self) -> int:
        """Characters that the column takes."""
        return max(map(wide, [*self.heading.split("\n"), *self.cells()]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One table: names at the left, then numbers.

    Attributes:
        title: Heading, empty for none.
        names: Columns that say what a row is.
        columns: Columns of numbers.
        starts: Rows that open a new group.
    """

    title: str
    names: tuple[Column, ...]
    columns: tuple[Column, ...]
    starts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A summary for people.

    Attributes:
        head: Pairs of a word and what it is: estimand, interval, data, unscored trials.
        panels: Tables from top to bottom.
        notes: What to know before quoting a number.
    """

    head: tuple[tuple[str, str], ...]
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


def report(
    summary: pl.DataFrame,
    *,
    width: int | None = None,
    names: Literal["cut", "whole"] = "cut",
    policy: str | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Lay out a summary.

    Args:
        summary: What `tr.summary` or `tr.run_summary` returned.
        width: Characters per line that the tables may take; None for no limit.
        names: Whether a long name is cut in the middle to leave room for numbers.
        policy: What the counts took trials without a verdict for.
        notes: Notes of the counts.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x", "y", "y"], "passed": [True, False, True, True]}
        >>> made = report(tr.summary(tr.counts(rows), metrics="pass@1"))
        >>> made.panels[0].columns[0].values
        ('75.0 %',)
    """
    head = summary.columns
    keys = (*head[head.index("config") + 1 : head.index("metric")], "config")
    rows = summary.to_dicts()
    cells: Cells = defaultdict(dict)
    for row in rows:
        cells[tuple(row[k] for k in keys)][row["metric"]] = row
    order = _ranked(cells)
    metrics = _metrics(rows)
    limit = math.inf if width is None else width
    budget = limit * (0.36 if len(keys) == 1 else 0.5) if names == "cut" else math.inf
    left = _names(order, keys, budget)
    if len(order) == 1:
        panels = [_turned(cells, order[0], keys, metrics)]
    else:
        columns = [_column(name, order, cells) for name in metrics if name not in FACTS]
        titles = {column.title for column in columns}
        twice = "pass^1" if "pass@1" in titles else ""  # the same number
        columns = [c.without_intervals() if c.title == twice else c for c in columns if not c.empty]
        panels = _panels(columns, left, _extras(order, cells), _starts(order), limit)
    panels += _without_verdict(cells, order, keys, metrics, limit, budget)
    return Report(
        head=tuple(remarks.head(rows, len({key[-1] for key in order}), policy)),
        panels=tuple(panels),
        notes=(*remarks.dropped(rows), *remarks.warnings(rows), *notes),
    )


def _metrics(rows: Iterable[Row]) -> list[str]:
    """Names of the metrics: families together, in order of appearance, then by k."""
    first: dict[str, int] = {}
    names: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        name, k = row["metric"], row["k"]
        stem = name if k is None else name.replace(str(k), "k", 1)
        place = first.setdefault(stem, len(first))
        names[name] = (_family(name), place, k or 0)
    return sorted(names, key=lambda name: names[name])


def _family(name: str) -> int:
    matches = (i for i, (_, start) in enumerate(FAMILIES) if re.match(start, name))
    return next(matches, len(FAMILIES))


def _ranked(cells: Cells) -> list[Key]:
    """Groups in order, in each the best first by pass@1 or by the first share there is."""
    names = {name: row["unit"] for rows in cells.values() for name, row in rows.items()}
    shares = [name for name, unit in names.items() if unit == "share"]
    by = next((name for name in (*HEADLINE, *shares) if name in shares), "")

    def rank(key: Key) -> tuple[Any, ...]:
        value = cells[key].get(by, {}).get("value")
        groups = [(v is None, str(v)) for v in key[:-1]]
        return (*groups, value is None, -(value or 0.0), str(key[-1]))

    return sorted(cells, key=rank)


def _column(name: str, order: list[Key], cells: Cells) -> Column:
    rows: list[Row] = [cells[key].get(name, {}) for key in order]
    return Column(
        title=name,
        brief=_brief(name, next((row["k"] for row in rows if row), None), cells[order[0]]),
        values=tuple(shown(row.get("value"), row.get("unit")) for row in rows),
        intervals=tuple(interval(r.get("low"), r.get("high"), r.get("unit")) for r in rows),
    )


def _brief(name: str, k: int | None, others: Mapping[str, Row]) -> str:
    """A name on two short lines, without the unit that the values show."""
    ladder = k is not None and k > 1 and name.endswith(str(k)) and not name.startswith("pass")
    if ladder and f"{name[: -len(str(k))]}1" in others:
        return name[-len(str(k)) - 1 :]  # the ladder's first column says of what
    return re.sub(r"_(uusd|ms)", "", name).replace("_per_pass", "\nper pass")


def _extras(order: list[Key], cells: Cells) -> list[Column]:
    """Cases, clusters and trials per case, where they differ between the rows."""
    found = []
    for key in order:
        rows = [row for row in cells[key].values() if row["estimand"] != "trials"]
        most = {n: max((r[n] for r in rows if r[n]), default=0) for n in ("cases", "clusters")}
        least, greatest = (cells[key].get(name, {}).get("value") for name in FACTS)
        known = MISSING
        if least is not None and greatest is not None:
            known = span(least, greatest).replace(" to ", "-")
        found.append((f"{most['cases']:,}", f"{most['clusters']:,}", known))
    cases, clusters, trials = zip(*found, strict=True)
    told = {"cases": cases, "clusters": clusters, "trials\nper case": trials}
    if clusters == cases:
        told.pop("clusters")
    return [
        Column(title=title.replace("\n", " "), brief=title, values=values)
        for title, values in told.items()
        if len(set(values)) > 1
    ]


def _names(order: list[Key], keys: tuple[str, ...], budget: float) -> tuple[Column, ...]:
    """The columns at the left; a long name is cut in the middle when it stays unique."""
    texts = [
        [MISSING if key[i] is None else str(key[i]) for key in order] for i in range(len(keys))
    ]
    needs = [min(max(map(wide, column), default=0), budget / len(keys)) for column in texts]
    made = []
    for i, (title, whole) in enumerate(zip(keys, texts, strict=True)):
        room = max(SHORTEST_NAME, budget - sum(needs) + needs[i])
        short = [cut(text, room) for text in whole]
        unique = len(set(short)) == len(set(whole))
        made.append(Column(title=title, values=tuple(short if unique else whole), left=True))
    return tuple(made)


def _panels(
    columns: list[Column],
    names: tuple[Column, ...],
    extras: list[Column],
    starts: frozenset[int],
    limit: float,
) -> list[Panel]:
    """One table if all fits, with or without the further intervals; else one a family."""
    room = limit - sum(min(c.width, LARGEST_SHARE * limit) + GAP for c in names)
    if _total([*columns, *extras]) <= room and not math.isinf(limit):
        groups = [("", [*columns, *extras])]
    else:
        groups = []
        for i, title in enumerate([*(title for title, _ in FAMILIES), "More"]):
            family = [c for c in columns if _family(c.title) == i]
            if family:
                groups += _packed(title, family if groups else [*family, *extras], room)
    return [
        Panel(title=title, names=names, columns=tuple(group), starts=starts)
        for title, group in groups
    ]


def _starts(order: list[Key]) -> frozenset[int]:
    """Rows where a new group begins."""
    return frozenset(i for i in range(1, len(order)) if order[i][:-1] != order[i - 1][:-1])


def _total(columns: Sequence[Column]) -> float:
    return sum(column.width + GAP for column in columns) - GAP


def _packed(title: str, columns: list[Column], room: float) -> list[tuple[str, list[Column]]]:
    """A family in one table if it fits, with fewer intervals if it must; else in several."""
    if _total(columns) > room:
        columns = _lean(columns)
    groups: list[list[Column]] = [[]]
    for column in columns:
        if groups[-1] and _total([*groups[-1], column]) > room:
            # a ladder that goes on in the next table says of what
            groups.append([replace(column, brief=column.brief if "\n" in column.brief else "")])
        else:
            groups[-1].append(column)
    return [(title if i == 0 else f"{title} (continued)", g) for i, g in enumerate(groups)]


def _lean(columns: list[Column]) -> list[Column]:
    """Intervals only where a ladder of k begins, or at the first column when there is none."""
    ladders = [c.title for c in columns if c.title.endswith(("@1", "^1")) and c.intervals]
    kept = ladders or [columns[0].title]
    return [c if c.title in kept else c.without_intervals() for c in columns]


def _turned(cells: Cells, key: Key, keys: tuple[str, ...], metrics: list[str]) -> Panel:
    """The one config of a summary: a row per metric."""
    rows = [cells[key][name] for name in metrics if cells[key][name]["value"] is not None]
    rows = [row for row in rows if row["metric"] not in FACTS] or rows
    groups = (f"{name} {value}" for name, value in zip(keys, key, strict=True) if name != "config")
    title = ", ".join([*groups, str(key[-1])])
    between = [interval(row["low"], row["high"], row["unit"]) or MISSING for row in rows]
    columns = [
        Column(title="value", values=tuple(shown(row["value"], row["unit"]) for row in rows)),
        Column(title="interval", values=tuple(between)),
        Column(title="SE", values=tuple(bare(row["se"], row["unit"]) for row in rows)),
    ]
    if len({row["cases"] for row in rows}) > 1:
        columns.append(Column(title="cases", values=tuple(f"{row['cases']:,}" for row in rows)))
    columns.append(
        Column(title="method", values=tuple(row["method"] or "" for row in rows), left=True)
    )
    places = [_family(row["metric"]) for row in rows]
    return Panel(
        title=title,
        names=(Column(title="metric", values=tuple(r["metric"] for r in rows), left=True),),
        columns=tuple(column for column in columns if not column.empty),
        starts=frozenset(i for i in range(1, len(rows)) if places[i] != places[i - 1]),
    )


def _without_verdict(
    cells: Cells,
    order: list[Key],
    keys: tuple[str, ...],
    metrics: list[str],
    limit: float,
    budget: float,
) -> list[Panel]:
    """What the trials without a verdict could do to the first metric that can be bracketed."""
    name = next((m for m in metrics if any(_open(cells[key].get(m)) for key in order)), "")
    rows = {key: cells[key][name] for key in order if name and _open(cells[key].get(name))}
    if not rows:
        return []
    some = list(rows.values())
    bounds = [interval(r["bracket_low"], r["bracket_high"], "share") or MISSING for r in some]
    wider = [interval(r["identified_low"], r["identified_high"], "share") for r in some]
    columns = [
        Column(title="trials", values=tuple(f"{row['unscored']:,}" for row in some)),
        Column(title="coverage", values=tuple(shown(row["coverage"], "share") for row in some)),
        Column(title=name, values=tuple(shown(row["value"], row["unit"]) for row in some)),
        Column(
            title="all failed to all passed",
            brief="all failed to\nall passed",
            values=tuple(bounds),
        ),
        Column(
            title="with sampling error",
            brief="with sampling\nerror",
            values=tuple(text or MISSING for text in wider),
        ),
    ]
    columns = [column for column in columns if not column.empty]
    return [
        Panel(
            title=f"{name} and the trials without a verdict",
            names=_names(list(rows), keys, min(budget, limit - _total(columns) - GAP)),
            columns=tuple(columns),
            starts=_starts(list(rows)),
        )
    ]


def _open(row: Row | None) -> bool:
    """Whether a metric has trials without a verdict, and bounds for it."""
    return row is not None and bool(row["unscored"]) and row["bracket_low"] is not None
