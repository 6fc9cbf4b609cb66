"""The command that compares two configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from trialframe.cli import _options as opt
from trialframe.cli._estimate import Level, Resamples, Units, loaded
from trialframe.cli._output import output_of, say
from trialframe.errors import ArgumentError
from trialframe.estimate.compare import compare as compared

if TYPE_CHECKING:
    from trialframe.estimate.comparison import Comparison

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
    from trialframe.report import text

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
    lines, rows = [found.claim, *(f"- {caution}" for caution in found.warnings)], _rows(found)
    out.write(
        found.to_frame(),
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    for note in data.counts.notes:
        say(note)
    return 0


def _rows(found: Comparison) -> pl.DataFrame:
    """What a reader wants to see beside the claim."""
    majority = found.majority
    one, two = majority.only_baseline, majority.only_candidate
    rows: list[tuple[str, str]] = [
        ("verdict", found.verdict),
        (f"{found.metric} of {found.baseline}", _number(found.baseline_value)),
        (f"{found.metric} of {found.candidate}", _number(found.candidate_value)),
        ("difference", _number(found.diff)),
        (f"{found.level:.0%} interval, {found.interval}", _ends(found)),
        (f"{found.level:.0%} interval, bootstrap", _ends(found.bootstrap)),
        (f"p, {found.test}", _number(found.pvalue) + ("" if found.exact else " (approximate)")),
        (
            "cases shared / only baseline / only candidate",
            f"{found.cases} / {found.only_baseline} / {found.only_candidate}",
        ),
        ("independent units / changed", f"{found.units} / {found.changed}"),
        ("wins / losses", f"{found.wins} / {found.losses}"),
        ("majority outcomes: only baseline / only candidate passes", f"{one} / {two}"),
        (
            "McNemar exact / mid-p",
            f"{_number(majority.pvalue)} / {_number(majority.mid_p)}",
        ),
        (
            "smallest effect found with 80 % power, best case / as discordant as here",
            f"{_number(majority.mde_best)} / {_number(majority.mde)}",
        ),
    ]
    if found.bracket_low is not None and found.bracket_high is not None:
        rows.append(
            (
                "difference over the unscored trials",
                f"[{found.bracket_low:+.4g}, {found.bracket_high:+.4g}]",
            )
        )
    if found.non_inferiority is not None:
        claim = found.non_inferiority
        told = "excluded" if claim.holds else "not excluded"
        rows.append((f"loss of {claim.margin:g}, by {claim.decided_by}", told))
    return pl.DataFrame(rows, schema=["quantity", "value"], orient="row")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _ends(interval: Any) -> str:
    return "none" if interval.low is None else f"[{interval.low:+.4g}, {interval.high:+.4g}]"
