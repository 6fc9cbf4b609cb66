"""The commands reliability and gstudy: what holds up, and what is luck."""

from __future__ import annotations

from typing import Annotated, Any, cast

import polars as pl
import typer

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.display import interval, shown
from trialframe.errors import ArgumentError, TrialsError, listed
from trialframe.reliability.components import VarianceComponents, variance_components
from trialframe.reliability.rollouts import reliability as rolled
from trialframe.reliability.rollouts import status_columns

TABLES = ("components", "d-study", "icc")
ABOUT = "Reliability"

K = Annotated[int, opt.panel(ABOUT, "-k", "Rollouts drawn.")]
Status = Annotated[
    str | None,
    opt.panel(ABOUT, "--status", "pass, fail or security_fail, for --passed.", "COLUMN"),
]
Method = Annotated[
    str,
    opt.panel(ABOUT, "--method", "auto, anova, unweighted (means) or reml.", "WORD"),
]
Measure = Annotated[
    str,
    opt.panel(ABOUT, "--measure", "passed, score, tests_share...", "NAME"),
]
Which = Annotated[
    str | None,
    opt.panel(
        ABOUT, "--table", "Only this one: components (CSV, JSON, Parquet), d-study or icc.", "NAME"
    ),
]
Numbers = Annotated[
    list[str] | None,
    typer.Option(metavar="N", help="For the D-study, as in 50,200.", rich_help_panel=ABOUT),
]


@opt.takes_options
def reliability(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    k: K = 5,
    status: Status = None,
    by: opt.By = None,
    level: opt.Level = 0.95,
    short_cases: opt.Short = "null",
    units: opt.Units = "clusters",
) -> int:
    """Give reliability@k and secure_reliability@k beside pass^k, strict resolution and cost."""
    from trialframe.report import text

    named = columns if status is None else _worded(columns, status)
    found = loaded(files, named, trials, by=by).counts
    if status is not None and not int(found.frame["n"].sum()):
        raise TrialsError(
            f"no value of {status!r} is pass, fail or security_fail. A column of true and false "
            f"goes to --passed {status}; other words have to be mapped first."
        )
    short_policy = cast("Any", short_cases)
    table = rolled(found, k=k, by=by or (), level=level, short=short_policy, units=units)
    notes = found.notes
    shown_rows = table.drop("meaning")
    out.write(
        table,
        table=lambda console: text.print_report(console, shown_rows, notes=notes),
        markdown=lambda: text.markdown(shown_rows, notes=notes),
    )
    if out.for_people:
        return 0
    for note in notes:
        say(note)
    return 0


def _worded(columns: opt.Columns, status: str) -> opt.Columns:
    """The columns with verdict, security and outcome made from a column of words."""
    given = [name for name in ("passed", "secure", "outcome") if name in columns.given]
    if given or columns.threshold is not None:
        raise ArgumentError(f"status: give it or {listed(given or ['threshold'])}, not both.")
    made = {**columns.given, **status_columns(status)}
    return opt.Columns(given=made, threshold=None)


@opt.takes_options
def gstudy(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    method: Method = "auto",
    measure: Measure = "passed",
    d_cases: Numbers = None,
    d_runs: Numbers = None,
    units: opt.Units = "clusters",
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 1000,
    seed: opt.Seed = 0,
    which: Which = None,
) -> int:
    """Split the variance into configs, cases, their interaction and runs, with a D-study."""
    from trialframe.report import text

    if which is not None:
        _checks.one_of(which, "table", TABLES)
    counts = loaded(files, columns, trials).counts
    found = variance_components(
        counts,
        method=method,
        measure=measure,
        d_cases=opt.whole_numbers(d_cases, "--d-cases"),
        d_runs=opt.whole_numbers(d_runs, "--d-runs"),
        units=units,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    frames = {"components": found.components, "d-study": found.d_study, "icc": found.icc}
    sections = _sections(found, which)

    def markdown() -> str:
        return "".join(text.markdown_section(*section) for section in sections)

    def table(console: Any) -> None:
        for i, section in enumerate(sections):
            if i:
                console.file.write("\n")
            text.print_section(console, *section)

    out.write(frames[which or "components"], table=table, markdown=markdown)
    if not out.for_people:
        say(found.reading)
    for note in counts.notes:
        say(note)
    return 0


def _sections(found: VarianceComponents, which: str | None) -> list[tuple[list[str], pl.DataFrame]]:
    """Sentences and tables: the one that was asked for, or what there is to say."""
    if which is not None:
        tables = {"components": _components, "d-study": _d_study}
        return [([], tables[which](found) if which in tables else found.icc)]
    made = [(_headlines(found), _components(found))]
    if found.components["share"].null_count() < found.components.height:
        made.append((_halves(found), _d_study(found)))
    return made


def _headlines(found: VarianceComponents) -> list[str]:
    size = f"{found.configs} configs x {found.cases} cases, {found.runs:.3g} runs a cell"
    lines = [found.reading, f"{found.method}, {size}"]
    if found.g is not None and found.phi is not None:
        ends = [
            f"[{low:.3f}, {high:.3f}]" if low is not None and high is not None else ""
            for low, high in ((found.g_low, found.g_high), (found.phi_low, found.phi_high))
        ]
        lines.append(
            f"G {found.g:.3f} {ends[0]} for ranks, phi {found.phi:.3f} {ends[1]} for scores"
        )
    return [*lines, *(f"- {caution}" for caution in found.warnings)]


def _components(found: VarianceComponents) -> pl.DataFrame:
    rows = [
        {
            "component": row["component"],
            "share": shown(row["share"], "share") if row["share"] is not None else "-",
            "interval": interval(row["share_low"], row["share_high"], "share") or "-",
            "variance": row["value"],
            "raw": row["raw"],
        }
        for row in found.components.iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def _halves(found: VarianceComponents) -> list[str]:
    half = found.split_half
    if half is None or half.agreement is None or half.g_held_out is None:
        return []
    ends = f"[{half.agreement_low:.2f}, {half.agreement_high:.2f}]"
    agree = f"halves of the cases agree on configs with r = {half.agreement:.2f} {ends}"
    return [f"{agree} over {half.splits} splits; G of a held-out half {half.g_held_out:.2f}"]


def _d_study(found: VarianceComponents) -> pl.DataFrame:
    return found.d_study.select("cases", "runs", pl.exclude("cases", "runs").round(3))
