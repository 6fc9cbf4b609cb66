"""The commands for looking while trials come in: where it stands, and what to try next."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from trialframe.cli import _options as opt
from trialframe.cli._compare import Words, sides
from trialframe.cli._estimate import loaded
from trialframe.cli._output import output_of, say
from trialframe.planning.next_trials import next_trials as planned
from trialframe.planning.sequential import Sequential
from trialframe.planning.sequential import sequential as followed

ABOUT = "Looking as it comes in"

Order = Annotated[
    str,
    typer.Option(metavar="COLUMN", help="When a trial was run.", rich_help_panel=ABOUT),
]
First = Annotated[
    int,
    typer.Option(
        metavar="K",
        help="The first K trials make an outcome; fixed beforehand.",
        rich_help_panel=ABOUT,
    ),
]
Verdictless = Annotated[
    str,
    typer.Option(
        "--unscored",
        metavar="POLICY",
        help="Cases with a trial without verdict: exclude, or fail.",
        rich_help_panel=opt.ABOUT_TRIALS,
    ),
]
BreakCost = Annotated[
    float | None,
    typer.Option(help="What a loss costs in wins: do the wins pay?", rich_help_panel=ABOUT),
]
Alpha = Annotated[
    float, typer.Option(help="Chance of a wrong verdict, at any time.", rich_help_panel=ABOUT)
]
Budget = Annotated[int, typer.Option(help="Trials to give away.", rich_help_panel=ABOUT)]
Baseline = Annotated[
    str | None, typer.Option(metavar="CONFIG", help="Only this config, or the first of two.")
]
Candidate = Annotated[
    str | None, typer.Option(metavar="CONFIG", help="The config to tell from the baseline.")
]


@opt.takes_columns
def sequential(
    words: Words = None,
    *,
    columns: opt.Columns,
    order: Order = "started_at",
    first: First = 1,
    break_cost: BreakCost = None,
    alpha: Alpha = 0.05,
    unscored: Verdictless = "exclude",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Compare two configs while cases still come in; look as often as you like.

    Exit code 1: the candidate is worse. JSON, CSV and Parquet hold the path, one row per pair.
    """
    from trialframe.report import text

    out = output_of(format_, output)
    files, baseline, candidate = sides("sequential", words)
    found = followed(
        files,
        baseline,
        candidate,
        order=order,
        first=first,
        unscored=unscored,
        break_cost=break_cost,
        alpha=alpha,
        threshold=columns.threshold,
        **columns.arguments(),
    )
    lines, rows = [found.claim, *(f"- {caution}" for caution in found.warnings)], _rows(found)
    out.write(
        found.path,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    if not out.for_people:
        say(found.claim)
    return int(found.verdict == "worse")


def _rows(found: Sequential) -> pl.DataFrame:
    level = f"{1 - found.alpha:.0%}"
    rows = [
        ("verdict so far", found.verdict),
        ("pairs / wins / losses", f"{found.pairs:,} / {found.wins:,} / {found.losses:,}"),
        (
            "e, evidence against no difference",
            "very large" if found.e is None else f"{found.e:.4g}",
        ),
        (f"e at which it is decided (alpha {found.alpha:g})", f"{1 / found.alpha:.4g}"),
        ("p, valid at any time", f"{found.pvalue:.4g}"),
        ("difference", f"{found.diff:+.4g}"),
        (f"{level} confidence sequence", f"[{found.low:+.4g}, {found.high:+.4g}]"),
        ("order", found.order),
        ("left out: incomplete / without verdict", f"{found.incomplete:,} / {found.unscored:,}"),
    ]
    if found.net_pvalue is not None:
        told = f"p, wins pay for losses at {found.break_cost:g} each"
        rows.append((told, f"{found.net_pvalue:.4g}"))
    return pl.DataFrame(rows, schema=["quantity", "value"], orient="row")


@opt.takes_columns
def next_trials(
    files: opt.Files,
    *,
    columns: opt.Columns,
    budget: Budget,
    baseline: Baseline = None,
    candidate: Candidate = None,
    alpha: Alpha = 0.05,
    unscored: opt.Unscored = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Say which cases to try again, and how often, within a budget of trials."""
    from trialframe.report import text

    out = output_of(format_, output)
    counts = loaded(
        files,
        columns,
        by=None,
        zeros=None,
        unscored=opt.unscored_of(unscored),
        keep=keep,
        attempts=attempts,
    ).counts
    table = planned(counts, budget=budget, baseline=baseline, candidate=candidate, alpha=alpha)
    shown = ("config", "case", "trials", "status", "needed", "n", "c", "rate", "low", "high")
    rows = table.filter(pl.col("trials") > 0).select(shown)
    decided = int((table["status"] == "decided").sum())
    spent = int(table["trials"].sum())
    told = f"{spent:,} of {budget:,} trials go to {rows.height:,} of {table.height:,} rows"
    lines = [
        f"{told}; {decided:,} of {table.height:,} rows are decided",
        f"- {_decided(baseline, candidate, alpha)}",
    ]
    out.write(
        table,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    for note in counts.notes:
        say(note)
    return 0


def _decided(baseline: str | None, candidate: str | None, alpha: float) -> str:
    """What "decided" is about."""
    if candidate is not None:
        return (
            f"decided: {baseline} and {candidate} differ in the case, for the "
            f"{100 - 50 * alpha:.4g} % confidence sequences (low to high) of their pass rates no "
            "longer meet"
        )
    return (
        f"decided: against a pass rate of 1/2, which the {100 - 100 * alpha:.4g} % confidence "
        "sequence (low to high) of the case excludes"
    )
