"""The parts of a report that compare with a baseline: many configs, one, and a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe.report import comparison as compared
from trialframe.report import decision as decided
from trialframe.report import leaderboard as told
from trialframe.report.page import columns as col
from trialframe.report.page.model import MOST_ROWS, Chart, Column, Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from trialframe.comparison.result import Comparison
    from trialframe.decide.gate import Decision

STRIP = {"limit": 200}
HEADINGS = {"ship": "Ship", "hold": "Hold", "dont_ship": "Don't ship"}


def many(table: pl.DataFrame) -> Section:
    """Every other config against the baseline, largest difference first."""
    table = table.sort("diff", "candidate", descending=[True, False], nulls_last=True)
    name = table["baseline"][0]
    chart = Chart(
        kind="forest",
        frame=table,
        options=MOST_ROWS,
        caption="Differences from the baseline with their intervals; no difference is at zero.",
    )
    return Section(
        name="comparison",
        title=f"Against {name}",
        lines=tuple(told.pair_lines(table)),
        charts=(chart,) if table["diff"].is_not_null().any() else (),
        tables=(
            Table(
                name="comparison",
                caption=f"Difference in {table['metric'][0]} from {name} on shared cases",
                columns=tuple(_pairs(table)),
                frame=table,
                sorted_by="difference",
                order="descending",
            ),
        ),
    )


def _pairs(table: pl.DataFrame) -> Iterator[Column]:
    wide = table["simultaneous_low"].is_not_null().any()
    ends = ("simultaneous_low", "simultaneous_high") if wide else ("low", "high")
    yield col.texts(table["candidate"], "candidate", "name")
    yield col.texts(table["verdict"], "verdict", "verdict")
    yield col.numbers(table["diff"], "difference", col.signed)
    yield col.intervals(
        table.select(ends[0], "diff", ends[1]).iter_rows(),
        f"{100 * table['level'][0]:.10g} % interval",
        col.signed_ends,
        reference=0.0,
    )
    if table["adjust"][0] != "none":
        yield col.numbers(table["adjusted"], f"p, {table['adjust'][0]}", col.chance)
    yield col.numbers(table["pvalue"], "p", col.chance)
    yield from (col.numbers(table[name], name) for name in ("wins", "losses", "cases"))


def one(found: Comparison) -> Section:
    """One candidate against the baseline."""
    rows = compared.rows(found)
    tables = [
        Table(
            name="comparison",
            caption=f"{found.candidate} against {found.baseline} in {found.metric}",
            columns=(
                col.texts(rows["quantity"], "quantity", "name"),
                col.texts(rows["value"], "value"),
            ),
            frame=found.to_frame(),
            fixed=True,
        )
    ]
    charts = []
    named = {"metric": found.metric, "sides": (found.baseline, found.candidate)}
    if not found.pairs.is_empty() and found.diff is not None:
        what = "Shared cases from the largest loss to the largest win."
        charts.append(Chart(kind="strip", frame=found.pairs, caption=what, options=STRIP | named))
    if found.groups is not None:
        what = "The difference within each group; no difference is at zero."
        charts.insert(
            0,
            Chart(
                kind="forest",
                frame=found.groups,
                caption=what,
                options=named | {"level": found.level},
            ),
        )
        tables.append(_groups(found, found.groups))
    return Section(
        name="comparison",
        title=f"{found.candidate} against {found.baseline}",
        lines=tuple(compared.lines(found)),
        charts=tuple(charts),
        tables=tuple(tables),
    )


def _groups(found: Comparison, table: pl.DataFrame) -> Table:
    keys = table.columns[: table.columns.index("cases")]
    columns = [
        *(col.texts(table[name], name, "name" if name == keys[0] else "text") for name in keys),
        col.texts(table["verdict"], "verdict", "verdict"),
        col.numbers(table["diff"], "difference", col.signed),
        col.intervals(
            table.select("low", "diff", "high").iter_rows(),
            f"{100 * found.level:.10g} % interval",
            col.signed_ends,
            reference=0.0,
        ),
        col.numbers(table["pvalue_holm"], "p, holm", col.chance),
        *(col.numbers(table[name], name) for name in ("wins", "losses", "cases")),
    ]
    return Table(
        name="group-comparison",
        caption=f"{found.candidate} against {found.baseline} within groups",
        columns=tuple(columns),
        frame=table,
    )


def decision(made: Decision) -> Section:
    """What the gate says, and why."""
    parts = decided.decision_tables(made)
    (lines, ledger), *rest = parts
    tables = [
        Table(
            name="gate",
            caption="The ledger of the gate",
            columns=(
                col.texts(ledger["quantity"], "quantity", "name"),
                col.texts(ledger["value"], "value"),
            ),
            frame=made.to_frame(),
            fixed=True,
        )
    ]
    if made.groups.height:
        frame = next(frame for _, frame in rest if frame.height)
        names = frame.columns
        tables.append(
            Table(
                name="gate-groups",
                caption="Groups and guard sets, the breached ones first",
                columns=(
                    col.texts(frame[names[0]], names[0], "name"),
                    *(_plain(frame[name]) for name in names[1:]),
                ),
                frame=made.groups,
            )
        )
    more = [line for title, frame in rest if not frame.height for line in title]
    cautions = (f"- {text}" for text in (*made.reasons, *made.warnings))
    return Section(
        name="gate",
        title=f"Gate: {HEADINGS[made.verdict].lower()}",
        lines=(made.headline, *lines, *more, *cautions),
        tables=tuple(tables),
    )


def _plain(values: pl.Series) -> Column:
    """A column as it is, numbers as numbers."""
    if values.dtype.is_numeric():
        return col.numbers(values, values.name, "{:,.6g}".format)
    return col.texts(values, values.name)
