"""The parts of a report about single cases: which got worse, which are flaky."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from trialframe.comparison.regressions import regressions
from trialframe.display import counted, shown
from trialframe.errors import TrialsError
from trialframe.expr import flake_index
from trialframe.report import comparison as compared
from trialframe.report.page import columns as col
from trialframe.report.page.model import MOST_ROWS, Chart, Column, Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.counts import Counts

MOST_CASES = 2_000
"""Rows of single cases in a report; `tr.regressions` and `tr.counts` have all."""

BRIEF = 15
"""Cases to show until more are asked for."""

STATES = ("regression", "improvement", "no evidence", "untestable", "not scored")
WORDS = ("got worse", "got better", "no evidence", "untestable", "not scored")
CHANGED = ("regression", "improvement")
DOWN, UP = "pass to fail", "fail to pass"
UNSEEN = "No case has two scored trials of the same config, so flakiness cannot be seen."
NO_VERDICT = "No trial has a verdict, so flakiness cannot be seen."


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What became of single cases between the baseline and others.

    Attributes:
        baseline: The baseline.
        candidate: The one other config, or None for several.
        alpha: Level of the tests, per candidate.
        tallies: One row a candidate: how many cases have which status.
        rows: Cases, the clearest losses first: those of `tr.regressions` with the candidate.
        every: Number of pairs of a case and a candidate that were looked at.
        single: Whether most of them have one trial a side, so that none can be tested.
        proven: Whether the rows are those that changed, or, as none did, those that moved.
        metric: The metric of the report.
    """

    baseline: str
    candidate: str | None
    alpha: float
    tallies: pl.DataFrame
    rows: pl.DataFrame
    every: int
    single: bool
    proven: bool
    metric: str

    @property
    def tested(self) -> str:
        """What the tests of single cases look at, where the rest of the report does not."""
        if self.metric in {"pass@1", "pass^1"}:
            return ""
        return f"Single cases are tested by how often they pass, not by {self.metric}."


def changes_of(
    counts: Counts, baseline: str, candidate: str | None, alpha: float, metric: str
) -> Changes:
    """Test every shared case of every candidate."""
    names = [candidate] if candidate else [n for n in counts.configs if n != baseline]
    made = []
    for name in names:
        try:
            found = regressions(counts, baseline, name, alpha=alpha)
        except TrialsError:
            continue  # no case is shared: the comparison says so
        made.append(found.select(pl.lit(name).alias("candidate"), pl.all()))
    if not made:
        made = [_nothing()]
    table = pl.concat(made)
    single = 2 * table["transition"].count() > table.height
    changed = pl.col("status").is_in(CHANGED)
    if single:
        changed |= pl.col("transition").is_in([DOWN, UP])
    moved = table.filter(changed.fill_null(value=False))
    proven = moved.height > 0
    kept = table
    if candidate is None:
        kept = moved if proven else table.filter(pl.col("diff") != 0)
    return Changes(
        baseline=baseline,
        candidate=candidate,
        alpha=alpha,
        tallies=_tallies(table),
        rows=_clearest(kept).head(MOST_CASES),
        every=table.height,
        single=single,
        proven=proven,
        metric=metric,
    )


def _nothing() -> pl.DataFrame:
    from trialframe.comparison.regressions import COLUMNS

    return pl.DataFrame(schema={"candidate": pl.String, **COLUMNS})


def _clearest(table: pl.DataFrame) -> pl.DataFrame:
    """What got worse for certain first, then what got better, then the rest, largest loss first."""
    place = pl.col("status").replace_strict({"regression": 0, "improvement": 1}, default=2)
    size = pl.when(pl.col("status") == "improvement").then(-pl.col("diff")).otherwise("diff")
    return (
        table.with_columns(place=place, size=size)
        .sort("place", "size", "pvalue_worse", "candidate", "case", nulls_last=True)
        .drop("place", "size")
    )


def _tallies(table: pl.DataFrame) -> pl.DataFrame:
    """How many cases of each candidate have which status."""
    status = [
        (pl.col("status") == state).sum().cast(pl.Int64).alias(word)
        for state, word in zip(STATES, WORDS, strict=True)
    ]
    moves = [(pl.col("transition") == word).sum().cast(pl.Int64).alias(word) for word in (DOWN, UP)]
    shared = pl.len().cast(pl.Int64).alias("shared cases")
    return (
        table.group_by("candidate")
        .agg(shared, *status, *moves)
        .sort("got worse", DOWN, "candidate", descending=[True, True, False])
    )


def changed(found: Changes) -> Section:
    """Which cases got worse or better."""
    if not found.every:
        return Section(
            name="cases",
            title="Cases that changed",
            lines=("No case is shared with the baseline.",),
        )
    tables = [_rows_table(found)] if found.rows.height else []
    tried = ("got worse", "got better", "untestable", "not scored")
    if found.candidate is None and any(found.tallies[word].sum() for word in tried):
        tables.insert(0, _tally_table(found))
    return Section(
        name="cases",
        title="Cases that changed",
        lines=tuple(_changed_lines(found)),
        tables=tuple(tables),
        quiet=not found.proven,
    )


def _changed_lines(found: Changes) -> Iterator[str]:
    total = found.tallies.drop("candidate").sum().row(0, named=True)
    if found.candidate is not None:
        yield from compared.case_lines(found.rows, "holm")
    else:
        yield (
            f"{total['got worse'] or 'None'} of {found.every:,} pairs of a case and a config got "
            f"worse than under {found.baseline}, {total['got better'] or 'none'} better."
        )
        if total["untestable"]:
            yield (
                f"- {total['untestable']:,} untestable: so few trials cannot show a change, "
                "which does not mean that there is none"
            )
        yield "- p-values are adjusted by holm over the cases of a config, not over configs"
    if found.tested:
        yield f"- {found.tested}"
    if found.candidate is None and not found.proven and found.rows.height:
        yield "- no change is certain: below are the cases that moved most"


def _tally_table(found: Changes) -> Table:
    table = found.tallies
    words = [*WORDS, *((DOWN, UP) if found.single else ())]
    kept = [word for word in words if word in {"got worse", "got better"} or table[word].sum()]
    return Table(
        name="changes",
        caption=f"Cases by what became of them since {found.baseline}",
        columns=(
            col.texts(table["candidate"], "candidate", "name"),
            *(col.numbers(table[word], word) for word in [*kept, "shared cases"]),
        ),
        frame=table,
        sorted_by="got worse",
        order="descending",
        brief=BRIEF,
    )


def _rows_table(found: Changes) -> Table:
    table = found.rows
    down = pl.col("diff") < 0
    chance = table.select(
        pl.when(down).then("adjusted_worse").otherwise("adjusted_better").alias("p")
    )["p"]
    raw = table.select(pl.when(down).then("pvalue_worse").otherwise("pvalue_better").alias("p"))
    columns = [col.texts(table["case"], "case", "name")]
    if found.candidate is None:
        columns.append(col.texts(table["candidate"], "candidate"))
    columns += [
        col.texts(table["status"], "status", "verdict"),
        _passes(table, "baseline"),
        _passes(table, "candidate", "passes" if found.candidate is None else "candidate"),
        col.numbers(table["diff"], "difference", col.signed),
        col.numbers(raw["p"], "p, one-sided", col.chance),
        col.numbers(chance, "p, holm", col.chance),
    ]
    if found.single:
        columns.insert(2, col.texts(table["transition"], "one trial", "verdict"))
    what = "Every shared case" if found.candidate else "Cases that changed"
    if found.candidate is None and not found.proven:
        what = "Cases that moved, none for certain"
    cap = f", {MOST_CASES:,} at most" if table.height == MOST_CASES else ""
    return Table(
        name="changed-cases",
        caption=f"{what}, the clearest losses first{cap}",
        columns=tuple(columns),
        frame=table.drop("candidate") if found.candidate else table,
        brief=BRIEF,
    )


def _passes(table: pl.DataFrame, side: str, title: str = "") -> Column:
    """Passes of all trials, sorted by their share."""
    pairs = table.select(f"c_{side}", f"n_{side}").iter_rows()
    return Column(
        title=title or side,
        texts=tuple(f"{c} of {n}" for c, n in pairs),
        keys=tuple(table[f"rate_{side}"].to_list()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky:
    """Cases that some config both passed and failed.

    Attributes:
        counts: The counts, for the chart.
        rows: One row a case, the flakiest first.
        cases: Cases that some config tried at least twice.
        flaky: Cases that some config both passed and failed.
        pairs: Config-case pairs with two trials or more.
        flaky_pairs: Those with passes and failures.
        scored: Config-case pairs with a trial that has a verdict.
    """

    counts: pl.DataFrame
    rows: pl.DataFrame
    cases: int
    flaky: int
    pairs: int
    flaky_pairs: int
    scored: int


def flaky_of(counts: Counts) -> Flaky:
    """Add up over configs how often a case came out both ways."""
    cells = counts.frame.filter(pl.col("n") > 0)
    twice, both = pl.col("n") >= 2, (pl.col("c") > 0) & (pl.col("c") < pl.col("n"))
    cluster = [pl.col("cluster").first()] if "cluster" in cells.columns else []
    every = (
        cells.with_columns(flake_index())
        .group_by("case")
        .agg(
            *cluster,
            configs=pl.len().cast(pl.Int64),
            repeated=twice.sum().cast(pl.Int64),
            flaky_configs=both.sum().cast(pl.Int64),
            flake_index=pl.col("flake_index").mean(),
            pass_rate=(pl.col("c") / pl.col("n")).mean(),
        )
    )
    some = every.filter(pl.col("flaky_configs") > 0)
    sums = cells.select(twice.sum().alias("pairs"), both.sum().alias("flaky")).row(0)
    return Flaky(
        counts=counts.frame,
        rows=some.sort("flake_index", "case", descending=[True, False]),
        cases=every.filter(pl.col("repeated") > 0).height,
        flaky=some.height,
        pairs=int(sums[0]),
        flaky_pairs=int(sums[1]),
        scored=cells.height,
    )


def flaky(found: Flaky) -> Section:
    """Cases whose trials disagree."""
    if not found.pairs:
        never = UNSEEN if found.scored else NO_VERDICT
        return Section(name="flaky", title="Flaky cases", lines=(never,))
    rows = found.rows.head(MOST_CASES)
    some = counted(found.cases, "case")
    share = shown(found.flaky_pairs / found.pairs, "share")
    lines = (
        (
            f"{found.flaky:,} of {some} came out both ways under some config; so did "
            f"{found.flaky_pairs:,} of {found.pairs:,} config-case pairs with two trials or more "
            f"({share})."
        ),
        "The flake index is the chance that two trials of a case disagree, averaged over configs.",
    )
    if not rows.height:
        return Section(name="flaky", title="Flaky cases", lines=lines)
    caption = "Cases by how often their trials disagree, the flakiest first"
    if rows.height < found.rows.height:
        caption += f"; {rows.height:,} of {found.rows.height:,}"
    columns = [col.texts(rows["case"], "case", "name")]
    if "cluster" in rows.columns:
        columns.append(col.texts(rows["cluster"], "cluster"))
    columns += [
        col.numbers(rows["flake_index"], "flake index", "{:.3f}".format),
        col.numbers(rows["flaky_configs"], "flaky in"),
        col.numbers(rows["repeated"], "of configs with 2+ trials"),
        col.numbers(rows["pass_rate"], "mean pass rate", lambda share: shown(share, "share")),
    ]
    chart = Chart(
        kind="flakes",
        frame=found.counts,
        options=MOST_ROWS,
        caption="What every config made of every case, or of blocks of cases where they are many.",
    )
    table = Table(
        name="flaky-cases",
        caption=caption,
        columns=tuple(columns),
        frame=rows,
        sorted_by="flake index",
        order="descending",
        brief=BRIEF,
    )
    return Section(name="flaky", title="Flaky cases", lines=lines, charts=(chart,), tables=(table,))
