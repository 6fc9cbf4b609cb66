"""The commands about judges and other signals: trialframe judge ..."""

from __future__ import annotations

from typing import Annotated

import typer

from trialframe.cli import _options as opt
from trialframe.cli._output import Output
from trialframe.cli._trials import Reading, given, say_mapping
from trialframe.errors import ArgumentError
from trialframe.judge.signals import signal_auroc

judge = typer.Typer(
    name="judge",
    help="What judges and other signals are worth.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

ABOUT = "Signals"
Signals = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT, "--signal", "A column to judge, higher meaning failure; repeatable.", "COLUMN", "-s"
    ),
]
Length = Annotated[
    str | None,
    opt.panel(ABOUT, "--length", "The length of a trial, as a reference.", "COLUMN"),
]
Permutations = Annotated[
    int, opt.panel(ABOUT, "--permutations", "Draws of the test where it is not exact.")
]


@judge.command()
@opt.takes_options
def signals(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
    signal: Signals = None,
    length: Length = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2_000,
    permutations: Permutations = 9_999,
    seed: opt.Seed = 0,
) -> int:
    """Say how well signals tell failing from passing trials of the same case."""
    from trialframe.report import signals as report
    from trialframe.report import text

    names = opt.parts(signal)
    if not names:
        raise ArgumentError("--signal is missing: name at least one column, as in --signal errors.")
    data = given(files, columns, trials)
    say_mapping(data.plan)
    table = signal_auroc(
        data.frame,
        signals=names,
        length=length,
        level=level,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        **data.columns,
    )
    lines, rows = report.lines(table), report.rows(table)
    out.write(
        table,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    return 0
