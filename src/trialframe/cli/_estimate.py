"""The commands summary and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import polars as pl

from trialframe import _checks
from trialframe._invariants import MEASURE_SUMS
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.display import counted
from trialframe.errors import ArgumentError, short
from trialframe.estimate.cautions import SMALL_SUITE
from trialframe.estimate.runs import run_summary
from trialframe.estimate.suite import failing_cases, saturation
from trialframe.estimate.summary import summary as summarise

if TYPE_CHECKING:
    from rich.console import Console

    from trialframe.counts import Counts


def _word(flag: str, text: str) -> Any:
    return opt.panel(opt.ABOUT_ESTIMATES, flag, text, "WORD")


Method = Annotated[
    str,
    _word("--method", "default, t, score, cr1, bootstrap, bca, bayes or beta-binomial."),
]
Stopping = Annotated[
    str,
    _word(
        "--stopping",
        "fixed, or adaptive where outcomes decided how often a case was tried: pass@1 of the "
        "suite with a confidence sequence.",
    ),
]
Suite = Annotated[
    str | None,
    _word(
        "--suite",
        "regression: list the cases that fail most of their trials, exit 1 if there are any; "
        "capability: say whether the suite is saturated.",
    ),
]


@opt.takes_options
def summary(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    metric: opt.Metrics = None,
    k: opt.Ks = None,
    by: opt.By = None,
    estimand: opt.Estimand = "cases",
    method: Method = "default",
    level: opt.Level = 0.95,
    short_cases: opt.Short = "null",
    units: opt.Units = "clusters",
    stopping: Stopping = "fixed",
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
    suite: Suite = None,
) -> int:
    """Estimate pass@k, pass^k, flakiness and costs of every config, with intervals."""
    if suite is not None:
        _checks.one_of(suite, "suite", ("regression", "capability"))
    _checks.one_of(estimand, "estimand", ("cases", "suite", "runs"))
    ks = opt.whole_numbers(k, "-k")
    data = loaded(files, columns, trials, by=by)
    if estimand == "runs":
        _refuse_for_runs(
            metric=metric,
            k=k,
            by=by,
            method=method,
            stopping=stopping,
            keep=data.keep,
            attempts=trials.attempts,
        )
        table = run_summary(data.frame, unscored=trials.policy, level=level, **data.columns)
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


@opt.takes_options
def counts(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    by: opt.By = None,
) -> int:
    """Count scored trials and passes per config and case."""
    from trialframe.report import text

    found = loaded(files, columns, trials, by=by).counts
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
