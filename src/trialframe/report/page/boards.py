"""The parts of a report about all configs: leaderboard, groups, every metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.display import MISSING, counted, interval, shown
from trialframe.report import leaderboard as told
from trialframe.report import notes as remarks
from trialframe.report.page import columns as col
from trialframe.report.page.model import MOST_ROWS, Chart, Column, Section, Table
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from collections.abc import Iterator

MONEY = "micro-dollars"
FACTS = ("min_trials", "max_trials")
SHORTEST_CURVE = 2
"""Values of k from which a curve says more than a number."""


def leaderboard(table: pl.DataFrame | str, by: tuple[str, ...]) -> Section:
    """All configs, ranked on the cases they share."""
    title = "Leaderboard"
    if isinstance(table, str):
        return Section(name="leaderboard", title=title, lines=(f"No ranking: {table}",))
    many = table["config"].n_unique() > 1
    charts = []
    if many:
        what = "Configs with their intervals, the best first."
        charts.append(Chart(kind="leaderboard", frame=table, caption=what, options=MOST_ROWS))
    if many and table["pareto"].is_not_null().any():
        what = "Quality against the price of a trial; configs on the front are marked."
        charts.append(Chart(kind="frontier", frame=table, caption=what))
    cases = counted(table["cases"][0], "shared case")
    lines = told.lines(table)
    if by and many:
        lines.insert(2, "The same within groups stands below.")
    return Section(
        name="leaderboard",
        title=title,
        lines=tuple(lines),
        charts=tuple(charts),
        tables=(
            Table(
                name="leaderboard",
                caption=f"{table['metric'][0]} on {cases}, best first",
                columns=tuple(_ranked(table)),
                frame=table,
                sorted_by="rank",
            ),
        ),
    )


def _ranked(table: pl.DataFrame) -> Iterator[Column]:
    """The columns of a leaderboard."""
    metric, level = table.row(0, named=True)["metric"], table["level"][0]
    own = {column.name for column in LEADERBOARD}
    yield from (col.texts(table[name], name) for name in table.columns if name not in own)
    yield col.numbers(table["rank"], "rank")
    yield col.texts(table["config"], "config", "name")
    yield col.estimates(table, metric)
    unit = table["unit"][0]
    yield col.intervals(
        table.select("low", "value", "high").iter_rows(),
        f"{100 * level:.10g} % interval",
        lambda low, high: interval(low, high, unit),
    )
    yield Column(
        title="possible ranks",
        texts=tuple(
            f"{low}" if low == high else f"{low} to {high}"
            for low, high in table.select("rank_low", "rank_high").iter_rows()
        ),
        keys=tuple(table["rank_low"].to_list()),
    )
    best = ["maybe" if inside else "no" for inside in table["plausibly_best"]]
    yield col.texts(best, "best?", "verdict")
    if table["cost_uusd_per_pass"].is_not_null().any():
        yield _prices(table)
        yield col.texts(table["pareto"], "on the front")
    if table["cases"].n_unique() > 1:
        yield col.numbers(table["cases"], "cases")
    yield col.numbers(table["trials"], "trials")
    if table["unscored"].sum():
        yield col.numbers(table["coverage"], "coverage", lambda share: shown(share, "share"))


def _prices(table: pl.DataFrame) -> Column:
    name = "cost_uusd_per_pass"
    rows = table.select(name, f"{name}_low", f"{name}_high").rows()
    return Column(
        title="per solved case",
        texts=tuple(shown(value, MONEY) for value, _, _ in rows),
        asides=tuple(interval(low, high, MONEY) for _, low, high in rows),
        keys=tuple(value for value, _, _ in rows),
    )


def groups(table: pl.DataFrame | str, by: tuple[str, ...]) -> Section:
    """A leaderboard within each group."""
    title = f"Groups by {', '.join(by)}"
    if isinstance(table, str):
        return Section(name="groups", title=title, lines=(f"No ranking within groups: {table}",))
    number = table.select(by).n_unique()
    lines = (
        f"One leaderboard in each of {number} groups, each on its own shared cases.",
        (
            "- intervals and sets hold within a group, not for all groups together: with many "
            "groups some rank first by chance"
        ),
    )
    table_ = Table(
        name="groups",
        caption=f"{table['metric'][0]} within groups, best first in each",
        columns=tuple(_ranked(table)),
        frame=table,
    )
    return Section(name="groups", title=title, lines=lines, tables=(table_,))


def metrics(table: pl.DataFrame) -> Section:
    """Every metric of every config, side by side."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(row["config"], {})[row["metric"]] = row
    names = table.filter(pl.col("value").is_not_null())["metric"].unique(maintain_order=True)
    shown_ = [name for name in names if name not in FACTS and name != "pass^1"]
    columns = [col.texts(rows, "config", "name")]
    columns += [_metric(name, rows) for name in shown_]
    curves = table.filter(pl.col("metric").str.contains(r"^pass[@^]\d+$"))
    charts = []
    if curves.filter(pl.col("value").is_not_null())["k"].n_unique() >= SHORTEST_CURVE:
        what = "Solved in at least one of k trials (pass@k), and in all of k trials (pass^k)."
        charts.append(Chart(kind="curves", frame=curves, caption=what))
    all_rows = table.to_dicts()
    facts = [
        (word.capitalize(), meaning) for word, meaning in remarks.head(all_rows, len(rows), None)
    ]
    notes = (*remarks.dropped(all_rows), *remarks.warnings(all_rows))
    return Section(
        name="metrics",
        title="All metrics",
        facts=tuple(facts[:2]),
        lines=tuple(f"- {note}" for note in notes),
        charts=tuple(charts),
        tables=(
            Table(
                name="metrics",
                caption="Estimates with intervals; the download has a row a config and metric",
                columns=tuple(columns),
                frame=table,
                sorted_by="config",
            ),
        ),
    )


def _metric(name: str, rows: dict[str, dict[str, dict[str, Any]]]) -> Column:
    cells = [metrics_.get(name, {}) for metrics_ in rows.values()]
    return Column(
        title=name,
        texts=tuple(shown(c.get("value"), c.get("unit")) if c else MISSING for c in cells),
        asides=tuple(interval(c.get("low"), c.get("high"), c.get("unit")) for c in cells),
        keys=tuple(c.get("value") for c in cells),
    )
