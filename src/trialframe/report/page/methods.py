"""The parts of a report that say how far to trust it: findings of the audit, methods, settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe._optional import installed_version
from trialframe.display import counted
from trialframe.report.notes import ESTIMANDS
from trialframe.report.page import columns as col
from trialframe.report.page.model import Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.counts import Counts
    from trialframe.report.page.content import Asked, Found

BRIEF = 6
"""Columns to show until more are asked for."""
POLICIES = {"exclude": "left out", "fail": "counted as failures"}


def findings(table: pl.DataFrame | None) -> Section:
    """What the audit found in the trials."""
    title = "Findings about the data"
    if table is None:
        missing = (
            "An audit needs the trials in memory: counts were given, or another engine's table."
        )
        return Section(name="findings", title=title, lines=(missing,))
    told = dict(table["severity"].value_counts().rows())
    words = [counted(told.get(word, 0), word) for word in ("error", "warning")]
    lines = [
        (
            f"{words[0]}, {words[1]}. With an error numbers made from the trials are wrong; with a "
            "warning a claim from them may be."
        )
    ]
    if table.is_empty():
        return Section(name="findings", title=title, lines=("Nothing was found.",))
    columns = (
        col.texts(table["rule"], "rule", "name"),
        col.texts(table["severity"], "severity", "verdict"),
        col.numbers(table["rows"], "rows"),
        col.texts(table["examples"], "where"),
        col.texts(table["remedy"], "what to do"),
    )
    made = Table(name="findings", caption="Findings, errors first", columns=columns, frame=table)
    return Section(name="findings", title=title, lines=tuple(lines), tables=(made,))


def methods(found: Found, asked: Asked) -> Section:
    """Estimand, methods and settings, and what was left out."""
    mapping = found.counts.mapping
    tables = []
    if mapping is not None and mapping.height:
        shown = mapping.filter(pl.col("how") != "unused")
        columns = [
            col.texts(shown["column"], "column", "name"),
            col.texts(shown["source"], "taken from"),
            col.texts(shown["how"], "how"),
            col.texts(shown["note"], "note"),
        ]
        caption = "Which columns of the table were taken for what"
        tables.append(
            Table(
                name="columns", caption=caption, columns=tuple(columns), frame=mapping, brief=BRIEF
            )
        )
    return Section(
        name="methods",
        title="Methods and settings",
        facts=tuple(_facts(found, asked)),
        lines=tuple(f"- {note}" for note in found.counts.notes),
        tables=tuple(tables),
    )


def _facts(found: Found, asked: Asked) -> Iterator[tuple[str, str]]:
    board = found.board
    yield "Estimand", ESTIMANDS["cases"]
    yield "Metric", asked.metric
    if not isinstance(board, str):
        how = ", ".join(dict.fromkeys(board["method"].drop_nulls()))
        yield "Intervals", f"{100 * asked.level:.10g} %, {how or 'none'}"
        yield (
            "Ranks",
            (
                "on the cases that all configs share; intervals hold for all ranks together; the "
                f"plausibly best hold a best config with probability {asked.level:g} (max-t)"
            ),
        )
        if dropped := max(board["dropped"].to_list()):
            yield "Not ranked on", f"up to {counted(dropped, 'case')} a config that others lack"
    yield from _compared(found, asked)
    if "cluster" in found.counts.frame.columns:
        used = asked.units == "clusters"
        yield "Independent units", "clusters of cases" if used else "cases; clusters are ignored"
    else:
        yield "Independent units", "cases"
    without = without_verdict(found.counts)
    policy = found.counts.unscored
    told = POLICIES.get(policy, policy)
    total = counted(without, "trial") + f" without a verdict, {told}"
    yield "Unscored trials", total if without else f"none (they would be {told})"
    yield "Random draws", f"seed {asked.seed}, {asked.resamples:,} resamples"
    yield "Sources", ", ".join(asked.sources) or "a table in memory"
    yield "Made by", f"trialframe {installed_version('(not installed)')}"
    yield (
        "Downloads",
        (
            "CSV with every digit; a spreadsheet may take text that starts with =, +, - or @ for a "
            "formula, so import such columns as text"
        ),
    )


def _compared(found: Found, asked: Asked) -> Iterator[tuple[str, str]]:
    """How configs were compared."""
    if found.many is not None:
        how = ", ".join(dict.fromkeys(found.many["interval"].drop_nulls()))
        yield (
            "Comparison",
            (
                f"each pair on its own shared cases; {how} intervals, sign-flip test, p-values "
                f"adjusted by {asked.adjust}; a verdict needs both and six changed units"
            ),
        )
    if (one := found.one) is not None:
        exact = "exact" if one.exact else "approximate"
        yield (
            "Comparison",
            (
                f"on shared cases; {one.method} interval, {one.test} ({exact}); a verdict needs "
                "both and six changed units"
            ),
        )
    if found.changes is not None:
        yield (
            "Single cases",
            (
                f"Boschloo's test of every case, one-sided at {found.changes.alpha:.3g}, adjusted "
                "by holm over the cases of a config"
            ),
        )
    if (made := found.decision) is not None:
        yield (
            "Gate",
            (
                f"majority outcomes; a broken case costs {made.break_cost:g} wins, at most "
                f"{made.max_breakage:.0%} of the solved cases may break, alpha {made.alpha:.3g}"
            ),
        )


def without_verdict(counts: Counts) -> int:
    """Trials without a verdict, whatever was made of them."""
    names = [n for n in ("unscored", "unscored_failed") if n in counts.frame.columns]
    return sum(int(counts.frame[name].sum()) for name in names)
