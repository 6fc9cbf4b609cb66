"""The commands about judges and other signals: trialframe judge ..."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trialframe.cli import _options as opt
from trialframe.cli._estimate import Level, Resamples, say_mapping
from trialframe.cli._output import output_of
from trialframe.errors import ArgumentError
from trialframe.judge.signals import signal_auroc
from trialframe.read.tables import resolved

judge = typer.Typer(
    name="judge",
    help="What judges and other signals are worth.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

ABOUT = "Signals"
Signals = Annotated[
    list[str] | None,
    typer.Option(
        "--signal",
        "-s",
        metavar="COLUMN",
        help="A column to judge, higher meaning failure; repeatable.",
        rich_help_panel=ABOUT,
    ),
]
Length = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The length of a trial, as a reference.", rich_help_panel=ABOUT
    ),
]
Permutations = Annotated[
    int, typer.Option(help="Draws of the test where it is not exact.", rich_help_panel=ABOUT)
]


@judge.command()
@opt.takes_columns
def signals(
    files: opt.Files,
    *,
    columns: opt.Columns,
    signal: Signals = None,
    length: Length = None,
    level: Level = 0.95,
    resamples: Resamples = 2_000,
    permutations: Permutations = 9_999,
    seed: opt.Seed = 0,
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Say how well signals tell failing from passing trials of the same case."""
    from trialframe.report import signals as report
    from trialframe.report import text

    out = output_of(format_, output)
    names = opt.parts(signal)
    if not names:
        raise ArgumentError("--signal is missing: name at least one column, as in --signal errors.")
    given: Any = columns.arguments()
    raw, plan = resolved(files, given, columns.threshold)
    say_mapping(plan.frame())
    table = signal_auroc(
        raw.frame,
        signals=names,
        length=length,
        threshold=columns.threshold,
        level=level,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        **given,
    )
    lines, rows = report.lines(table), report.rows(table)
    out.write(
        table,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    return 0
