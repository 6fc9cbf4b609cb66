"""The commands that look at many configs: leaderboard and compare-all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.comparison.compare_all import compare_all as compared
from trialframe.comparison.leaderboard import leaderboard as ranked
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from trialframe.counts import Counts

NAME, NAME_OF_TWO = 0.24, 0.15
"""Shares of a line that the name of a config may take, alone and as one of a pair."""

Cases = Annotated[
    str, opt.panel(None, "--cases", "shared: rank on the cases all configs have; or raise.", "WORD")
]
Best = Annotated[
    str,
    opt.panel(None, "--best", "How the plausibly best are found: max-t, bootstrap, mcs.", "WORD"),
]
Ranks = Annotated[
    str, opt.panel(None, "--ranks", "Rank intervals: simultaneous, or marginal.", "WORD")
]
Only = Annotated[
    list[str] | None, opt.panel(None, "--only", "These configs; repeatable.", "CONFIG")
]
Without = Annotated[
    list[str] | None,
    opt.panel(None, "--without", "All but these configs; repeatable.", "CONFIG"),
]
Baseline = Annotated[
    str | None,
    opt.panel(None, "--baseline", "Compare all others with this config; default: all pairs."),
]
Adjust = Annotated[
    str, opt.panel(None, "--adjust", "Adjust p-values: holm, max-t, bh, or none.", "WORD")
]


def _picked(counts: Counts, only: list[str] | None, without: list[str] | None) -> Counts:
    """The counts of the configs that were asked for."""
    if without:
        counts.select(*without)  # a name that does not exist is an error, not nothing to leave out
    names = [name for name in only or counts.configs if name not in (without or [])]
    if not names:
        raise ArgumentError("--without leaves no config.")
    return counts.select(*names)


@opt.takes_options
def leaderboard(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    metric: opt.Metric = "pass@1",
    by: opt.By = None,
    only: Only = None,
    without: Without = None,
    level: opt.Level = 0.95,
    short_cases: opt.Short = "null",
    units: opt.Units = "clusters",
    cases: Cases = "shared",
    best: Best = "max-t",
    ranks: Ranks = "simultaneous",
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
) -> int:
    """Rank all configs on the cases they share, with rank intervals and the plausibly best."""
    from trialframe.report import leaderboard as report
    from trialframe.report import text

    data = loaded(files, columns, trials, by=by)
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


@opt.takes_options
def compare_all(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    baseline: Baseline = None,
    metric: opt.Metric = "pass@1",
    adjust: Adjust = "holm",
    only: Only = None,
    without: Without = None,
    level: opt.Level = 0.95,
    short_cases: opt.Short = "null",
    units: opt.Units = "clusters",
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
) -> int:
    """Compare all pairs, or all configs with a baseline, adjusted for their number."""
    from trialframe.report import leaderboard as report
    from trialframe.report import text

    data = loaded(files, columns, trials)
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
