"""The command report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import polars as pl

from trialframe.audit import audit
from trialframe.cli import _options as opt
from trialframe.cli._advice import as_options
from trialframe.cli._compare import ABOUT
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Loaded, Trials, loaded
from trialframe.errors import ArgumentError
from trialframe.report.page.content import Asked, page_of
from trialframe.report.page.make import TITLE, format_of, needed, rendered

Title = Annotated[str, opt.panel(None, "--title", "Heading of the report.")]
Baseline = Annotated[
    str | None,
    opt.panel(ABOUT, "--baseline", "Compare all others with this config.", "CONFIG"),
]
Candidate = Annotated[
    str | None,
    opt.panel(ABOUT, "--candidate", "Compare this one only, case by case.", "CONFIG"),
]
Adjust = Annotated[
    str,
    opt.panel(
        ABOUT, "--adjust", "Adjust p-values of many configs: holm, max-t, bh, or none.", "WORD"
    ),
]
Gate = Annotated[
    bool,
    opt.panel(
        ABOUT,
        "--gate",
        "Decide as well whether to ship the candidate; exit code 1 unless it ships.",
    ),
]
Format = Annotated[
    str | None,
    opt.panel(
        opt.ABOUT_OUTPUT,
        "--format",
        "html or md; the default is what the file's ending says, else html.",
        "FORMAT",
        "-f",
    ),
]
To = Annotated[
    Path | None,
    opt.panel(
        opt.ABOUT_OUTPUT, "--output", "Write there, and only when all went well.", "FILE", "-o"
    ),
]


@opt.takes_options
def report(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    title: Title = TITLE,
    metric: opt.Metric = "pass@1",
    by: opt.By = None,
    baseline: Baseline = None,
    candidate: Candidate = None,
    adjust: Adjust = "holm",
    gate: Gate = False,
    level: opt.Level = 0.95,
    units: opt.Units = "clusters",
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
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
    data = loaded(files, columns, trials, by=list(groups))
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
    page = page_of(data.counts, asked, _findings(data))
    text = rendered(page, kind)
    Output(kind=kind, path=output).write_bytes(text.encode())
    if output is not None:
        say(f"{output}: {len(text.encode()) / 1e6:.1f} MB", "written")
    return page.exit_code


def _findings(data: Loaded) -> pl.DataFrame | None:
    """What the audit finds in the trials, said in options; None where the files hold counts."""
    if data.plan.shape == "counts":
        return None
    found = audit(data.frame, **data.columns)
    words = [as_options(line).replace('show="all"', "audit --all") for line in found["remedy"]]
    return found.with_columns(pl.Series("remedy", words, pl.String))
