"""The command that plans a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from trialframe.cli import _options as opt
from trialframe.cli._advice import as_options
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.display import MISSING, shown
from trialframe.errors import ArgumentError, short
from trialframe.planning.exact import fewest_changes
from trialframe.planning.power import CASES, EFFECTS, cases_needed, mde, power_table

if TYPE_CHECKING:
    from trialframe.planning.planned import Power

ABOUT = "Assumptions (without files, or about the other config)"
ABOUT_PLAN = "Plan"

Pilot = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE...]", help="Tables of a pilot; none: plan from assumptions."),
]


def _number(flag: str, text: str, panel: str = ABOUT) -> Any:
    return opt.panel(panel, flag, text, "NUMBER")


def _list(flag: str, text: str) -> Any:
    return opt.panel(ABOUT_PLAN, flag, text, "LIST")


Baseline = Annotated[
    str | None,
    opt.panel(None, "--baseline", "Config of the pilot; the only one will do.", "CONFIG"),
]
Candidate = Annotated[str | None, opt.panel(None, "--candidate", "The other config.", "CONFIG")]
Effects = Annotated[list[str] | None, _list("--effect", "True differences, as 0.02,0.05.")]
Cases = Annotated[list[str] | None, _list("--cases", "Numbers of shared cases, as 100,500.")]
PerSide = Annotated[
    list[str] | None,
    _list("--trials", "Trials per case and side: one number, or baseline,candidate."),
]
Target = Annotated[float, _number("--power", "Power to reach.", ABOUT_PLAN)]
Test = Annotated[
    str,
    opt.panel(
        ABOUT_PLAN,
        "--test",
        "auto: mcnemar (exact) for single verdicts without clusters, else t; or z.",
    ),
]
Alpha = Annotated[float, _number("--alpha", "Two-sided level.", ABOUT_PLAN)]
Rate = Annotated[float | None, _number("--rate", "Pass rate of the baseline.")]
Icc = Annotated[float | None, _number("--icc", "Share of a trial's variance between cases.")]
Correlation = Annotated[
    float | None, _number("--correlation", "Of case rates between the configs; 0.5 by default.")
]
Discordance = Annotated[
    float | None, _number("--discordance", "Share of cases whose outcomes disagree.")
]
DesignEffect = Annotated[
    float | None, _number("--design-effect", "Factor on the variance for clustered cases.")
]


@opt.takes_options
def power(
    files: Pilot = None,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    baseline: Baseline = None,
    candidate: Candidate = None,
    metric: opt.Metric = "pass@1",
    effect: Effects = None,
    cases: Cases = None,
    per_side: PerSide = None,
    target: Target = 0.8,
    test: Test = "auto",
    alpha: Alpha = 0.05,
    rate: Rate = None,
    icc: Icc = None,
    correlation: Correlation = None,
    discordance: Discordance = None,
    design_effect: DesignEffect = None,
    units: opt.Units = "clusters",
) -> int:
    """Say how many cases show which difference, from a pilot or from assumptions."""
    from trialframe.report import text

    effects = _decimals(effect) or _possible(rate)
    sizes = opt.whole_numbers(cases, "--cases") or list(CASES)
    counts = None
    if files:
        counts = loaded(files, columns, trials).counts
    plan: dict[str, Any] = {
        "baseline": baseline,
        "candidate": candidate,
        "metric": metric,
        "units": units,
        "trials": _trials(per_side),
        "rate": rate,
        "icc": icc,
        "correlation": correlation,
        "discordance": discordance,
        "design_effect": design_effect,
        "test": test,
        "alpha": alpha,
    }
    table = power_table(counts, effects=effects, cases=sizes, **plan)
    needed = [
        cases_needed(counts, effect=size, power=target, **plan)
        for size in dict.fromkeys(table["effect"])
    ]
    lines = []
    if out.for_people:
        lines = [mde(counts, power=target, **plan).reading] if counts is not None else []
        lines += _lines(needed, table, target)
    rows = _rows(table)
    out.write(
        table,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    for told in () if out.for_people else needed[0].warnings:
        say(told, "warning")
    for note in counts.notes if counts is not None else ():
        say(note)
    return 0


def _decimals(texts: list[str] | None) -> list[float]:
    """Numbers of a comma list or of a repeated option."""
    try:
        return [float(part) for part in opt.parts(texts)]
    except ValueError:
        told = short(",".join(texts or ()))
        raise ArgumentError(f"--effect == {told}, must be numbers, as in 0.02,0.05.") from None


def _possible(rate: float | None) -> list[float]:
    """The effects to show where none was named: those that a rate leaves room for."""
    return [size for size in EFFECTS if rate is None or rate + size <= 1.0] or list(EFFECTS)


def _trials(texts: list[str] | None) -> int | tuple[int, ...] | None:
    numbers = opt.whole_numbers(texts, "--trials")
    if numbers is None:
        return None
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _lines(needed: list[Power], table: pl.DataFrame, target: float) -> list[str]:
    """How many cases each effect needs, what that rests on, and what the cells hold."""
    aim = f"cases for {shown(target, 'share')} power"
    told = [
        f"{found.effect:g}: "
        + (f"none, {found.reason}" if found.cases is None else f"{found.cases:,}")
        for found in needed
    ]
    lines = [f"{aim} at effect {as_options('; '.join(told))}"]
    if needed[0].test == "mcnemar":
        best = [
            f"{found.effect:g}: "
            + (MISSING if found.best_case is None else f"{found.best_case:,.0f}")
            for found in needed
        ]
        lines.append(f"{aim} when no case gets worse {'; '.join(best)}")
    lines += [f"- {note}" for note in needed[0].assumptions]
    lines += [f"- warning: {told}" for told in needed[0].warnings]
    return lines + (_cells(needed, table) if needed[0].test == "mcnemar" else [])


def _cells(needed: list[Power], table: pl.DataFrame) -> list[str]:
    """What the two numbers of a cell are, and why the second can be the smaller."""
    alpha, shares = needed[0].alpha, [shown(found.discordance, "") for found in needed]
    where = f"discordance {shares[0]}"
    if len(set(shares)) > 1:
        at = (f"{f.effect:g}: {share}" for f, share in zip(needed, shares, strict=True))
        where = f"the discordance that follows ({'; '.join(at)})"
    lines = [f"- cells: power at {where} / power when no case gets worse"]
    if (table["power_best_case"] < table["power"]).any():
        lines.append(
            "- the second is the smaller where so few cases change that the test cannot reject: "
            f"fewer than {fewest_changes(alpha)} at alpha {alpha:g}"
        )
    return lines


def _rows(table: pl.DataFrame) -> pl.DataFrame:
    """One row per number of cases, one column per effect."""
    cells = [shown(value, "share") for value in table["power"]]
    if "power_best_case" in table.columns:
        best = [shown(value, "share") for value in table["power_best_case"]]
        cells = [f"{one} / {two}" for one, two in zip(cells, best, strict=True)]
    made: dict[str, list[Any]] = {"cases": table["cases"].unique(maintain_order=True).to_list()}
    for size in dict.fromkeys(table["effect"]):
        held = zip(cells, table["effect"], strict=True)
        made[f"{size:+}"] = [cell for cell, effect in held if effect == size]
    return pl.DataFrame(made)
