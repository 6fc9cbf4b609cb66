"""The commands convert and formats: evaluation logs as a table of trials."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import console, output_of, say
from trialframe.display import counted
from trialframe.errors import ArgumentError, listed, short
from trialframe.read._keys import ABSENT, KEEP, with_config
from trialframe.read._known import formats as known
from trialframe.read._load import from_logs, load
from trialframe.read.logs import UNREAD, Choice
from trialframe.read.tables import trials_of
from trialframe.report.formats import encoded, format_of
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ABOUT = "Logs"


def _logs(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text, rich_help_panel=ABOUT)


Sources = Annotated[
    list[str], typer.Argument(help="Logs or tables: files, globs, folders.", metavar="SRC...")
]
From = Annotated[
    str | None,
    _logs("--from", "FORMAT", "Kind of log, as `trialframe formats` names it, or table."),
]
Metric = Annotated[
    str | None, _logs("--metric", "NAME", "The score that decides, where a log has several.")
]
Cases = Annotated[
    str | None,
    _logs("--cases", "FILE", "The full list of cases: a table with a column case, or a text file."),
]
Absent = Annotated[
    str | None, _logs("--absent", "WORD", "What a case that the log lacks is: fail or unscored.")
]
Errors = Annotated[
    str,
    _logs("--errors", "WORD", "raise at the first thing that cannot be read, or collect them."),
]
Unread = Annotated[
    str | None, _logs("--unread", "FILE", "With --errors collect: write what could not be read.")
]


@opt.takes_columns
def convert(
    sources: Sources,
    *,
    columns: opt.Columns,
    from_: From = None,
    metric: Metric = None,
    cases: Cases = None,
    absent: Absent = None,
    keep: opt.Keep = "raise",
    errors: Errors = "raise",
    unread: Unread = None,
    zeros: opt.Zeros = None,
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Write logs or tables as one canonical table of trials; exit 1 when something is unread."""
    from trialframe.report import text

    out = output_of(format_, output)
    _checks.one_of(errors, "errors", ("raise", "collect"))
    if unread is not None and errors == "raise":
        raise ArgumentError("--unread needs --errors collect: else the first error ends it.")
    if absent is not None and cases is None:
        raise ArgumentError("--absent needs --cases, the full list of cases.")
    _checks.one_of(absent or "unscored", "absent", ABSENT)
    with _progress() as tell:
        choice = Choice(
            format=from_,
            metric=metric,
            threshold=columns.threshold,
            keep=_checks.one_of(keep, "keep", KEEP),
            strict=errors == "raise",
            progress=tell,
        )
        lazy, raw, plan = trials_of(
            sources,
            columns.arguments(),
            choice,
            cases=None if cases is None else _cases(cases),
            absent=absent or "unscored",
            zero_is_missing=opt.parts(zeros),
        )
        trials = lazy.collect()
    _say_columns(from_logs(plan.frame(), raw))
    shown = overview(trials)
    out.write(
        trials,
        table=lambda screen: text.print_frame(screen, shown),
        markdown=lambda: text.markdown_frame(shown),
    )
    if out.path is not None and not out.for_people:
        text.print_frame(console(), shown)
        say(f"{counted(trials.height, 'trial')} written to {out.path}")
    made = trials["trial_made"].sum() if "trial_made" in trials.columns else 0
    if made:
        say(f"{counted(int(made), 'trial')} numbered in the order of the log: trial_made is true")
    return _say_unread(raw.unread, unread)


def overview(trials: pl.DataFrame) -> pl.DataFrame:
    """One row a config: `cases, trials, passed, failed, unscored`."""
    return (
        with_config(trials)
        .group_by("config")
        .agg(
            cases=pl.col("case").n_unique(),
            trials=pl.len(),
            passed=pl.col("passed").sum(),
            failed=(~pl.col("passed")).sum(),
            unscored=pl.col("passed").null_count(),
        )
        .sort("config")
    )


def formats(
    name: Annotated[
        str | None, typer.Argument(help="A format, to list its columns.", metavar="FORMAT")
    ] = None,
    *,
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """List the logs that can be read, or where in one of them each column comes from."""
    from trialframe.report import text

    out = output_of(format_, output)
    found = known(name)
    out.write(
        found,
        table=lambda screen: text.print_frame(screen, found, limit=found.height or 1),
        markdown=lambda: text.markdown_frame(found),
    )
    return 0


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while somebody watches, gone when all is read."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _cases(path: str) -> pl.Series:
    """The cases that a file lists: one a line of a text file, or a column of a table."""
    if path.endswith(".txt"):
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        return pl.Series("case", [line.strip() for line in lines if line.strip()], pl.String)
    frame = load([path], Choice(format="table")).frame
    names = frame.collect_schema().names()
    usual = ("case", *column(TRIALS, "case").aliases)
    found = [name for name in names if name.lower() in usual] or (names if len(names) == 1 else [])
    if not found:
        raise ArgumentError(
            f"--cases {short(path)}: no column names cases. Call it case. It has {listed(names)}."
        )
    return frame.select(pl.col(found[0]).alias("case")).collect().to_series()


def _say_columns(report: pl.DataFrame) -> None:
    """One line a column: where it came from."""
    for name, source, how, note in report.filter(pl.col("how") != "unused").rows():
        say(f"{name} <- {source} ({how}{'; ' if note else ''}{note})", "column")


def _say_unread(table: pl.DataFrame | None, path: str | None) -> int:
    """List what could not be read; the exit code."""
    if path is not None:
        found = table if table is not None else pl.DataFrame(schema=UNREAD)
        target = Path(path)
        output_of(None, target).write_bytes(encoded(found, format_of(None, target)))
    if table is None or not table.height:
        return 0
    say(f"{counted(table.height, 'thing')} could not be read; the rest was", "unread")
    return 1
