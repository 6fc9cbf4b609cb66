"""The commands convert and formats: evaluation logs as a table of trials."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, console, output_of, say
from trialframe.cli._trials import CASE_LIST, SCORER, Reading, say_made
from trialframe.display import counted
from trialframe.errors import ArgumentError
from trialframe.read._keys import ABSENT, with_config
from trialframe.read._known import formats as known
from trialframe.read._load import from_logs
from trialframe.read.logs import UNREAD
from trialframe.read.tables import trials_of
from trialframe.report.formats import encoded, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Sources = Annotated[
    list[str], typer.Argument(help="Logs or tables: files, globs, folders.", metavar="SRC...")
]
Errors = Annotated[
    str,
    opt.panel(
        opt.ABOUT_LOGS,
        "--errors",
        "raise at the first thing that cannot be read, or collect them.",
        "WORD",
    ),
]
Unread = Annotated[
    str | None,
    opt.panel(
        opt.ABOUT_LOGS, "--unread", "With --errors collect: write what could not be read.", "FILE"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converting(Reading):
    """The same options, two of them by a second name: nothing else here is a metric or cases."""

    scorer: Annotated[
        list[str] | None, opt.panel(opt.ABOUT_LOGS, "--scorer", SCORER, "NAME", "--metric")
    ] = None
    case_list: Annotated[
        str | None, opt.panel(opt.ABOUT_TRIALS, "--case-list", CASE_LIST, "FILE", "--cases")
    ] = None


@opt.takes_options
def convert(
    sources: Sources,
    *,
    columns: opt.Columns,
    trials: Converting,
    out: Output,
    errors: Errors = "raise",
    unread: Unread = None,
) -> int:
    """Write logs or tables as one canonical table of trials; exit 1 when something is unread."""
    from trialframe.report import text

    _checks.one_of(errors, "errors", ("raise", "collect"))
    if unread is not None and errors == "raise":
        raise ArgumentError("--unread needs --errors collect: else the first error ends it.")
    with _progress() as tell:
        lazy, raw, plan = trials_of(
            sources,
            columns.arguments(),
            trials.choice(columns.threshold, strict=errors == "raise", progress=tell),
            cases=trials.cases(),
            absent=trials.absent or ABSENT[1],
            zero_is_missing=opt.parts(trials.zeros),
        )
        trials.refuse_idle(raw)
        made = lazy.collect()
    _say_columns(from_logs(plan.frame(), raw))
    shown = overview(made)
    out.write(
        made,
        table=lambda screen: text.print_frame(screen, shown),
        markdown=lambda: text.markdown_frame(shown),
    )
    if out.path is not None and not out.for_people:
        text.print_frame(console(), shown)
        say(f"{counted(made.height, 'trial')} written to {out.path}")
    say_made(made.lazy())
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


@opt.takes_options
def formats(
    name: Annotated[
        str | None, typer.Argument(help="A format, to list its columns.", metavar="FORMAT")
    ] = None,
    *,
    out: Output,
) -> int:
    """List the logs that can be read, or where in one of them each column comes from."""
    from trialframe.report import text

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
