"""The command report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from trialframe.audit import audit
from trialframe.cli import _options as opt
from trialframe.cli._compare import ABOUT
from trialframe.cli._estimate import Level, Resamples, Units, loaded
from trialframe.cli._output import Output, say
from trialframe.errors import ArgumentError
from trialframe.report.page.content import Asked, page_of
from trialframe.report.page.make import TITLE, format_of, needed, rendered

if TYPE_CHECKING:
    from trialframe.cli._estimate import Loaded

Title = Annotated[str, typer.Option(help="Heading of the report.")]
Metric = Annotated[
    str, typer.Option("--metric", "-m", help="A metric with one value per case, such as pass^5.")
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="CONFIG", help="Compare all others with this config.", rich_help_panel=ABOUT
    ),
]
Candidate = Annotated[
    str | None,
    typer.Option(
        metavar="CONFIG", help="Compare this one only, case by case.", rich_help_panel=ABOUT
    ),
]
Adjust = Annotated[
    str,
    typer.Option(
        metavar="WORD",
        help="Adjust p-values of many configs: holm, max-t, bh, or none.",
        rich_help_panel=ABOUT,
    ),
]
Gate = Annotated[
    bool,
    typer.Option(
        "--gate",
        help="Decide as well whether to ship the candidate; exit code 1 unless it ships.",
        rich_help_panel=ABOUT,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="html or md; the default is what the file's ending says, else html.",
        rich_help_panel=opt.ABOUT_OUTPUT,
    ),
]
To = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write there, and only when all went well.",
        rich_help_panel=opt.ABOUT_OUTPUT,
    ),
]


@opt.takes_columns
def report(
    files: opt.Files,
    *,
    columns: opt.Columns,
    title: Title = TITLE,
    metric: Metric = "pass@1",
    by: opt.By = None,
    baseline: Baseline = None,
    candidate: Candidate = None,
    adjust: Adjust = "holm",
    gate: Gate = False,
    level: Level = 0.95,
    units: Units = "clusters",
    resamples: Resamples = 10_000,
    seed: opt.Seed = 0,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: Format = None,
    output: To = None,
) -> int:
    """Write one report: verdicts, leaderboard, comparison, cases, findings, methods.

    A web page in one file that asks nothing of any network, or Markdown for a pull request.
    Exit code 0, whatever the verdicts; with --gate 1 unless the candidate ships.
    """
    kind = format_of(format_, output)
    if kind == "html" and output is None and sys.stdout.isatty():
        raise ArgumentError(
            "a page is no text for a terminal: name a file with --output, or choose --format md."
        )
    needed(kind)
    groups = tuple(opt.parts(by))
    data = loaded(
        files,
        columns,
        by=list(groups),
        zeros=zeros,
        unscored=opt.unscored_of(unscored),
        keep=keep,
        attempts=attempts,
    )
    asked = Asked.checked(
        title=title,
        sources=tuple(files),
        metric=metric,
        baseline=baseline,
        candidate=candidate,
        by=groups,
        gate="decide" if gate else "none",
        adjust=adjust,
        level=level,
        units=units,
        resamples=resamples,
        seed=seed,
    )
    page = page_of(data.counts, asked, _findings(data, columns.threshold))
    text = rendered(page, kind)
    Output(kind=kind, path=output).write_bytes(text.encode())
    if output is not None:
        say(f"{output}: {len(text.encode()) / 1e6:.1f} MB", "written")
    return page.exit_code


def _findings(data: Loaded, threshold: float | None) -> pl.DataFrame | None:
    """What the audit finds in the trials, said in options; None where the files hold counts."""
    mapping = data.counts.mapping
    if mapping is None or "n" in mapping["column"].to_list():
        return None
    found = audit(data.frame, threshold=threshold, **data.columns)
    words = [opt.as_options(line).replace('show="all"', "audit --all") for line in found["remedy"]]
    return found.with_columns(pl.Series("remedy", words, pl.String))
