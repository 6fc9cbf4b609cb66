"""The commands for looking while trials come in: where it stands, and what to try next."""

from __future__ import annotations

from typing import Annotated

import polars as pl

from trialframe.cli import _options as opt
from trialframe.cli._compare import Words, sides
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Reading, Trials, given, loaded
from trialframe.planning.next_trials import next_trials as planned
from trialframe.planning.sequential import Sequential
from trialframe.planning.sequential import sequential as followed

ABOUT = "Looking as it comes in"

Order = Annotated[
    str,
    opt.panel(ABOUT, "--order", "When a trial was run.", "COLUMN"),
]
First = Annotated[
    int,
    opt.panel(ABOUT, "--first", "The first K trials make an outcome; fixed beforehand.", "K"),
]
Verdictless = Annotated[
    str,
    opt.panel(
        opt.ABOUT_TRIALS,
        "--unscored",
        "Cases with a trial without verdict: exclude, or fail.",
        "POLICY",
    ),
]
BreakCost = Annotated[
    float | None,
    opt.panel(ABOUT, "--break-cost", "What a loss costs in wins: do the wins pay?"),
]
Alpha = Annotated[float, opt.panel(ABOUT, "--alpha", "Chance of a wrong verdict, at any time.")]
Budget = Annotated[int, opt.panel(ABOUT, "--budget", "Trials to give away.")]
Baseline = Annotated[
    str | None, opt.panel(None, "--baseline", "Only this config, or the first of two.", "CONFIG")
]
Candidate = Annotated[
    str | None, opt.panel(None, "--candidate", "The config to tell from the baseline.", "CONFIG")
]


@opt.takes_options
def sequential(
    words: Words = None,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
    order: Order = "started_at",
    first: First = 1,
    break_cost: BreakCost = None,
    alpha: Alpha = 0.05,
    unscored: Verdictless = "exclude",
) -> int:
    """Compare two configs while cases still come in; look as often as you like.

    Exit code 1: the candidate is worse. JSON, CSV and Parquet hold the path, one row per pair.
    """
    from trialframe.report import text

    files, baseline, candidate = sides("sequential", words)
    data = given(files, columns, trials)
    found = followed(
        data.frame,
        baseline,
        candidate,
        order=order,
        first=first,
        unscored=unscored,
        break_cost=break_cost,
        alpha=alpha,
        **data.columns,
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


@opt.takes_options
def next_trials(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    budget: Budget,
    baseline: Baseline = None,
    candidate: Candidate = None,
    alpha: Alpha = 0.05,
) -> int:
    """Say which cases to try again, and how often, within a budget of trials."""
    from trialframe.report import text

    counts = loaded(files, columns, trials).counts
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
