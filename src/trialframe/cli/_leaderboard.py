"""The commands that look at many configs: leaderboard and compare-all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from trialframe.cli import _options as opt
from trialframe.cli._estimate import Level, Resamples, Short, Units, loaded
from trialframe.cli._output import output_of, say
from trialframe.comparison.compare_all import compare_all as compared
from trialframe.comparison.leaderboard import leaderboard as ranked
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from trialframe.counts import Counts

NAME, NAME_OF_TWO = 0.24, 0.15
"""Shares of a line that the name of a config may take, alone and as one of a pair."""

Metric = Annotated[
    str, typer.Option("--metric", "-m", help="A metric with one value per case, such as pass^5.")
]
Cases = Annotated[
    str, typer.Option(metavar="WORD", help="shared: rank on the cases all configs have; or raise.")
]
Best = Annotated[
    str,
    typer.Option(metavar="WORD", help="How the plausibly best are found: max-t, bootstrap, mcs."),
]
Ranks = Annotated[
    str, typer.Option(metavar="WORD", help="Rank intervals: simultaneous, or marginal.")
]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="CONFIG", help="These configs; repeatable.")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="CONFIG", help="All but these configs; repeatable."),
]
Baseline = Annotated[
    str | None, typer.Option(help="Compare all others with this config; default: all pairs.")
]
Adjust = Annotated[
    str, typer.Option(metavar="WORD", help="Adjust p-values: holm, max-t, bh, or none.")
]


def _picked(counts: Counts, only: list[str] | None, without: list[str] | None) -> Counts:
    """The counts of the configs that were asked for."""
    if without:
        counts.select(*without)  # a name that does not exist is an error, not nothing to leave out
    names = [name for name in only or counts.configs if name not in (without or [])]
    if not names:
        raise ArgumentError("--without leaves no config.")
    return counts.select(*names)


@opt.takes_columns
def leaderboard(
    files: opt.Files,
    *,
    columns: opt.Columns,
    metric: Metric = "pass@1",
    by: opt.By = None,
    only: Only = None,
    without: Without = None,
    level: Level = 0.95,
    short_cases: Short = "null",
    units: Units = "clusters",
    cases: Cases = "shared",
    best: Best = "max-t",
    ranks: Ranks = "simultaneous",
    resamples: Resamples = 10_000,
    seed: opt.Seed = 0,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Rank all configs on the cases they share, with rank intervals and the plausibly best."""
    from trialframe.report import leaderboard as report
    from trialframe.report import text

    out = output_of(format_, output)
    policy = opt.unscored_of(unscored)
    data = loaded(files, columns, by=by, zeros=zeros, unscored=policy, keep=keep, attempts=attempts)
    table = ranked(
        _picked(data.counts, only, without),
        metric=metric,
        by=by,
        level=level,
        short=cast("Any", short_cases),
        units=units,
        cases=cases,
        best=best,
        ranks=ranks,
        resamples=resamples,
        seed=seed,
    )
    lines = report.lines(table)
    out.write(
        table,
        table=lambda console: text.print_section(
            console, lines, report.rows(table, console.width * NAME)
        ),
        markdown=lambda: text.markdown_section(lines, report.rows(table)),
    )
    for note in data.counts.notes:
        say(note)
    return 0


@opt.takes_columns
def compare_all(
    files: opt.Files,
    *,
    columns: opt.Columns,
    baseline: Baseline = None,
    metric: Metric = "pass@1",
    adjust: Adjust = "holm",
    only: Only = None,
    without: Without = None,
    level: Level = 0.95,
    short_cases: Short = "null",
    units: Units = "clusters",
    resamples: Resamples = 10_000,
    seed: opt.Seed = 0,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Compare all pairs, or all configs with a baseline, adjusted for their number."""
    from trialframe.report import leaderboard as report
    from trialframe.report import text

    out = output_of(format_, output)
    policy = opt.unscored_of(unscored)
    data = loaded(
        files, columns, by=None, zeros=zeros, unscored=policy, keep=keep, attempts=attempts
    )
    table = compared(
        _picked(data.counts, only, without),
        baseline,
        metric=metric,
        adjust=adjust,
        level=level,
        short=cast("Any", short_cases),
        units=units,
        resamples=resamples,
        seed=seed,
    )
    lines = report.pair_lines(table)
    out.write(
        table,
        table=lambda console: text.print_section(
            console, lines, report.pair_rows(table, console.width * NAME_OF_TWO)
        ),
        markdown=lambda: text.markdown_section(lines, report.pair_rows(table)),
    )
    for note in data.counts.notes:
        say(note)
    return 0
