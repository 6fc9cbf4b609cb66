"""The command irt: difficulty of cases, ability of configs, and which cases to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.errors import ArgumentError
from trialframe.irt.fit import fit_irt
from trialframe.irt.select import CRITERIA

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from trialframe.irt.result import IrtFit

NAME = 0.3
"""Share of a line that a name may take."""

TABLES = ("abilities", "items", "predictions", "fit", "pairs")

Model = Annotated[
    str | None,
    opt.panel(
        None,
        "--model",
        "1pl, 2pl, or hierarchical (sampled); default: 1pl below 30 configs, else 2pl.",
        "WORD",
    ),
]
Priors = Annotated[
    str, opt.panel(None, "--priors", "default, or none for plain maximum likelihood.", "WORD")
]
Method = Annotated[
    str, opt.panel(None, "--method", "mml, or pymc to sample (needs the extra bayes).", "WORD")
]
Pick = Annotated[
    int | None, opt.panel(None, "--pick", "Pick the N cases that tell configs apart best.", "N")
]
By = Annotated[
    str | None,
    opt.panel(None, "--by", "Pick by information (the default), maximin, or spread.", "WORD"),
]
Which = Annotated[
    str | None,
    opt.panel(
        None,
        "--table",
        "One table: abilities, items, predictions, fit (residuals), or pairs (dependence).",
        "WORD",
    ),
]
Draws = Annotated[int, opt.panel(None, "--draws", "Draws per chain with pymc.")]


@opt.takes_options
def irt(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    model: Model = None,
    pick: Pick = None,
    by: By = None,
    table: Which = None,
    priors: Priors = "default",
    method: Method = "mml",
    draws: Draws = 1000,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
) -> int:
    """Fit difficulty of cases and ability of configs; pick the cases that tell configs apart."""
    if table is not None:
        _checks.one_of(table, "table", TABLES)
        if pick is not None:
            raise ArgumentError("pick and table are two answers: give one of them.")
    if by is not None:
        _checks.one_of(by, "by", CRITERIA)
        if pick is None:
            raise ArgumentError("by says how cases are picked: give --pick N, or leave --by out.")
    _checks.one_of(priors, "priors", ("default", "none"))
    data = loaded(files, columns, trials)
    fit = fit_irt(
        data.counts,
        model,
        priors=None if priors == "none" else priors,
        method=method,
        draws=draws,
        level=level,
        progress="on" if method == "pymc" and out.path is not None else "off",
        seed=seed,
    )
    chosen = fit.pick(pick, by=by or CRITERIA[0]) if pick is not None else None
    _write(fit, chosen, table, out)
    for note in data.counts.notes:
        say(note)
    return 0


def _write(fit: IrtFit, chosen: pl.DataFrame | None, table: str | None, out: Output) -> None:
    from trialframe.report import irt as report
    from trialframe.report import text

    frame = chosen if chosen is not None else _table(fit, table or "abilities")

    def sections(room: float) -> list[tuple[list[str], pl.DataFrame]]:
        head = report.lines(fit)
        if chosen is not None:
            return [(head + report.tied(chosen), report.items(chosen, room))]
        if table is not None:
            return [(head, _shown(fit, table, frame, room))]
        more, some = report.most_informative(fit)
        return [(head, report.abilities(fit, room)), (more, report.items(some, room))]

    def as_table(console: Console) -> None:
        for head, rows in sections(console.width * NAME):
            text.print_section(console, head, rows)

    def as_markdown() -> str:
        return "".join(text.markdown_section(*part) for part in sections(float("inf")))

    out.write(frame, table=as_table, markdown=as_markdown)
    if not out.for_people:
        for warning in fit.warnings:
            say(warning)


def _table(fit: IrtFit, table: str) -> pl.DataFrame:
    if table == "predictions":
        return fit.predict()
    if table == "fit":
        return fit.item_fit()
    if table == "pairs":
        return fit.local_dependence()
    return fit.items if table == "items" else fit.abilities


def _shown(fit: IrtFit, table: str, frame: pl.DataFrame, room: float) -> pl.DataFrame:
    from trialframe.report import irt as report

    if table == "abilities":
        return report.abilities(fit, room)
    return report.items(frame, room) if table == "items" else frame
