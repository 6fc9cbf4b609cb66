"""The command that compares two configs."""

from __future__ import annotations

from typing import Annotated

import typer

from trialframe.cli import _options as opt
from trialframe.cli._estimate import Level, Resamples, Units, loaded
from trialframe.cli._output import output_of, say
from trialframe.errors import ArgumentError
from trialframe.estimate.compare import compare as compared

Words = Annotated[
    list[str],
    typer.Argument(metavar="FILE... BASELINE CANDIDATE", help="Tables, then the two configs."),
]
Metric = Annotated[str, typer.Option("--metric", "-m", help="A metric with one value per case.")]
Margin = Annotated[
    float | None, typer.Option(help="Largest acceptable loss, for a non-inferiority claim.")
]


@opt.takes_columns
def compare(
    words: Words,
    *,
    columns: opt.Columns,
    metric: Metric = "pass@1",
    margin: Margin = None,
    level: Level = 0.95,
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
    """Compare a candidate with a baseline on the cases that both ran."""
    from trialframe.report import comparison, text

    if len(words) <= len(("baseline", "candidate")):
        raise ArgumentError(
            "compare needs at least one table, then the baseline and the candidate."
        )
    *files, baseline, candidate = words
    out = output_of(format_, output)
    policy = opt.unscored_of(unscored)
    data = loaded(
        files, columns, by=None, zeros=zeros, unscored=policy, keep=keep, attempts=attempts
    )
    found = compared(
        data.counts,
        baseline,
        candidate,
        metric=metric,
        margin=margin,
        level=level,
        units=units,
        resamples=resamples,
        seed=seed,
    )
    lines, rows = comparison.lines(found), comparison.rows(found)
    out.write(
        found.to_frame(),
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    for note in data.counts.notes:
        say(note)
    return 0
