"""The commands summary and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import polars as pl
import typer

from trialframe import _checks
from trialframe._invariants import MEASURE_SUMS
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, output_of, say
from trialframe.counts import Counts
from trialframe.counts import counts as count
from trialframe.display import counted
from trialframe.errors import ArgumentError, ColumnError, short
from trialframe.estimate.cautions import SMALL_SUITE
from trialframe.estimate.runs import run_summary
from trialframe.estimate.suite import failing_cases, saturation
from trialframe.estimate.summary import summary as summarise
from trialframe.read.logs import Choice
from trialframe.read.tables import SPENT, resolved

if TYPE_CHECKING:
    from rich.console import Console

    from trialframe.read._columns import Columns
    from trialframe.read._fields import Plan

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="pass@1, pass^5, pass@k (every k), flaky, cost_uusd_per_pass, outcomes...; "
        "a comma list or repeated. Default: all that the table allows.",
        rich_help_panel=opt.ABOUT_ESTIMATES,
    ),
]
Ks = Annotated[
    list[str] | None,
    typer.Option(
        "-k", metavar="K", help="Trials drawn, as in 1,5.", rich_help_panel=opt.ABOUT_ESTIMATES
    ),
]


def _word(flag: str, text: str) -> Any:
    return typer.Option(flag, metavar="WORD", help=text, rich_help_panel=opt.ABOUT_ESTIMATES)


def _number(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=opt.ABOUT_ESTIMATES)


Estimand = Annotated[
    str,
    _word(
        "--estimand",
        "cases: tasks like these; suite: these very tasks; runs: further runs of the suite.",
    ),
]
Method = Annotated[
    str, _word("--method", "default, t, score, cr1, bootstrap, bca, bayes or beta-binomial.")
]
Level = Annotated[float, _number("--level", "Nominal coverage of the intervals.")]
Short = Annotated[
    str,
    _word("--short", "Cases with fewer than k trials: null (dropped), clamp, min, rate, raise."),
]
Units = Annotated[str, _word("--units", "clusters where there are some, or cases.")]
Stopping = Annotated[
    str,
    _word(
        "--stopping",
        "fixed, or adaptive where outcomes decided how often a case was tried: pass@1 of the "
        "suite with a confidence sequence.",
    ),
]
Resamples = Annotated[int, _number("--resamples", "Bootstrap resamples.")]
Suite = Annotated[
    str | None,
    _word(
        "--suite",
        "regression: list the cases that fail most of their trials, exit 1 if there are any; "
        "capability: say whether the suite is saturated.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A table of trials on disk, and its counts.

    Attributes:
        frame: The trials.
        columns: Keyword arguments that name its columns.
        counts: The counts.
    """

    frame: pl.LazyFrame
    columns: Columns
    counts: Counts


def loaded(
    files: list[str],
    columns: opt.Columns,
    *,
    by: list[str] | None,
    zeros: list[str] | None,
    unscored: Any,
    keep: str,
    attempts: str,
) -> Loaded:
    """Read the files once, count, and say on standard error what was taken for what."""
    given = columns.arguments()
    choice = Choice(threshold=columns.threshold, keep=keep)
    raw, plan = resolved(files, given, columns.threshold, choice)
    frame = _without_zeros(raw.frame, plan, opt.parts(zeros))
    made = {name: name if isinstance(value, pl.Expr) else value for name, value in given.items()}
    named = cast("Columns", made)
    found = count(
        frame,
        by=by or (),
        unscored=unscored,
        keep=cast("Literal['raise', 'first', 'last', 'all']", keep),
        attempts=cast("Literal['raise', 'first']", attempts),
        threshold=columns.threshold,
        **named,
    )
    say_mapping(found.mapping)
    return Loaded(frame=frame, columns=named, counts=found)


def _without_zeros(frame: pl.LazyFrame, plan: Plan, names: list[str]) -> pl.LazyFrame:
    """Make 0 null in measures where it stands for unknown."""
    for name in names:
        _checks.one_of(name, "zero_is_missing", SPENT)
        found = plan.get(name)
        if found is None:
            raise ColumnError(f"zero_is_missing: the table has no {name}. Leave it out, or map it.")
        source = pl.col(found.sources[0])
        frame = frame.with_columns(pl.when(source != 0).then(source))
    return frame


def say_mapping(mapping: pl.DataFrame | None) -> None:
    """One line for columns that were found under another name or are of no use."""
    if mapping is None:
        return
    taken = mapping.filter(pl.col("how").is_in(["alias", "derived", "not used"]))
    words = [
        f"{name} not used: {note or source}"
        if how == "not used"
        else f"{name} <- {source}" + (f" ({note})" if note else "")
        for name, source, how, note in taken.rows()
    ]
    if words:
        say("; ".join(words), "columns")


@opt.takes_columns
def summary(
    files: opt.Files,
    *,
    columns: opt.Columns,
    metric: Metrics = None,
    k: Ks = None,
    by: opt.By = None,
    estimand: Estimand = "cases",
    method: Method = "default",
    level: Level = 0.95,
    short_cases: Short = "null",
    units: Units = "clusters",
    stopping: Stopping = "fixed",
    resamples: Resamples = 10_000,
    seed: opt.Seed = 0,
    suite: Suite = None,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Estimate pass@k, pass^k, flakiness and costs of every config, with intervals."""
    if suite is not None:
        _checks.one_of(suite, "suite", ("regression", "capability"))
    _checks.one_of(estimand, "estimand", ("cases", "suite", "runs"))
    out = output_of(format_, output)
    ks = opt.whole_numbers(k, "-k")
    policy = opt.unscored_of(unscored)
    data = loaded(files, columns, by=by, zeros=zeros, unscored=policy, keep=keep, attempts=attempts)
    if estimand == "runs":
        _refuse_for_runs(
            metric=metric,
            k=k,
            by=by,
            method=method,
            stopping=stopping,
            keep=keep,
            attempts=attempts,
        )
        table = run_summary(
            data.frame,
            unscored=policy,
            threshold=columns.threshold,
            level=level,
            **data.columns,
        )
    else:
        table = summarise(
            data.counts,
            metrics=opt.parts(metric) or None,
            k=ks,
            by=by or (),
            estimand=estimand,
            method=method,
            level=level,
            short=cast("Any", short_cases),
            units=units,
            stopping=stopping,
            resamples=resamples,
            seed=seed,
        )
    return _show(table, data.counts, out, suite)


def _refuse_for_runs(**given: Any) -> None:
    """Options that say nothing about the spread between runs."""
    defaults = {"method": "default", "stopping": "fixed", "keep": "raise", "attempts": "raise"}
    if opt.parts(given["metric"]) == ["pass@1"]:
        given["metric"] = None
    for name, value in given.items():
        if value != defaults.get(name) and value:
            raise ArgumentError(
                f"{name} == {short(value)}: estimand runs gives pass@1 of every config and takes "
                f"no --{name}. Leave it out, or choose --estimand cases or suite."
            )


def _show(table: pl.DataFrame, found: Counts, out: Output, suite: str | None) -> int:
    from trialframe.report import text

    code, lines, rows = _verdict(found, suite)
    policy, notes = found.unscored, found.notes

    def as_table(console: Console) -> None:
        text.print_report(console, table, policy=policy, notes=notes)
        if lines:
            text.print_section(console, ["", *lines], rows)

    def as_markdown() -> str:
        made = text.markdown(table, policy=policy, notes=notes)
        return made + (text.markdown_section(lines, rows) if lines else "")

    out.write(table, table=as_table, markdown=as_markdown)
    if not out.for_people:
        for note in notes:
            say(note)
        for line in lines:
            say(line)
    return code


def _verdict(found: Counts, suite: str | None) -> tuple[int, list[str], pl.DataFrame]:
    """Exit code, sentences and rows of a regression or a capability suite."""
    if suite is None:
        return 0, [], pl.DataFrame()
    cases = found.frame["case"].n_unique()
    lines = []
    if cases < SMALL_SUITE:
        lines.append(f"small suite: {counted(cases, 'case')}, fewer than {SMALL_SUITE}")
    if suite == "capability":
        rows = saturation(found)
        high = rows.filter("saturated")["config"].to_list()
        told = f"saturated for {', '.join(high)}" if high else "not saturated"
        lines.insert(0, f"capability suite: {told} (saturated: 90 % of the cases pass every trial)")
        return 0, lines, rows
    rows = failing_cases(found)
    told = f"{rows.height:,} of {counted(len(found), 'pair')} of config and case"
    lines.insert(0, f"regression suite: {told} failed most of their trials")
    return int(rows.height > 0), lines, rows


@opt.takes_columns
def counts(
    files: opt.Files,
    *,
    columns: opt.Columns,
    by: opt.By = None,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Count scored trials and passes per config and case."""
    from trialframe.report import text

    out = output_of(format_, output)
    policy = opt.unscored_of(unscored)
    found = loaded(
        files, columns, by=by, zeros=zeros, unscored=policy, keep=keep, attempts=attempts
    ).counts
    plain = found.frame.drop(MEASURE_SUMS, strict=False)
    out.write(
        found.frame,
        table=lambda console: text.print_frame(console, plain),
        markdown=lambda: text.markdown_frame(plain),
    )
    for note in found.notes:
        say(note)
    if out.for_people and found.measures:
        say(f"the sums of {', '.join(found.measures)} are in csv, json and parquet")
    return 0
