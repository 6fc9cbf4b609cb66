"""A fitted item response model for people: what was fitted, and its tables as texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.report.numbers import MISSING, counted, cut, shown

if TYPE_CHECKING:
    from trialframe.irt.result import IrtFit

    Row = dict[str, Any]

SOME = 10
"""Cases shown where nobody asked for all."""


def lines(fit: IrtFit) -> list[str]:
    """What stands above the tables: model, data, convergence, what to know.

    Args:
        fit: What `tr.fit_irt` returned.
    """
    end = fit.convergence
    told = "converged" if end.converged else "not converged"
    if fit.method == "mml":
        told += " (no finite maximum)" if end.status == "no finite maximum" else ""
        how = f"{told} in {counted(end.iterations, 'iteration')}, log likelihood {fit.loglik:,.2f}"
    else:
        how = f"{told}, {end.iterations:,} draws, R-hat {end.rhat:.3f}, ESS {end.ess:,.0f}"
    data = f"{counted(fit.configs, 'config')} on {counted(fit.cases, 'case')}"
    spread = ", ".join(f"{name} {value:.2f}" for name, value in fit.scales.items())
    return [
        f"{fit.model} of {data}, {counted(fit.trials, 'trial')}: {how}",
        *([f"standard deviations on the logit scale: {spread}"] if spread else []),
        *(f"- {text}" for text in fit.warnings),
    ]


def abilities(fit: IrtFit, room: float = math.inf) -> pl.DataFrame:
    """Configs as texts, the ablest first.

    Args:
        fit: What `tr.fit_irt` returned.
        room: Characters that a name may take.
    """
    table = fit.abilities.sort("ability", "config", descending=[True, False], nulls_last=True)
    return pl.DataFrame([_ability(row, fit.level, room) for row in table.iter_rows(named=True)])


def _ability(row: Row, level: float, room: float) -> Row:
    ends = "" if row["low"] is None else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return {
        "config": cut(row["config"], room),
        f"ability, {100 * level:.10g}% interval": f"{_number(row['ability'])}{ends}",
        "over cases +-": _number(row["case_se"]),
        "mean rate": shown(row["rate"], "share"),
        "cases": f"{row['cases']:,}",
        "flags": row["flags"] or "",
    }


def items(table: pl.DataFrame, room: float = math.inf) -> pl.DataFrame:
    """Cases as texts: `IrtFit.items`, or what `IrtFit.pick` returned.

    Args:
        table: One row per case.
        room: Characters that a name may take.
    """
    return pl.DataFrame([_item(row, room) for row in table.iter_rows(named=True)])


def _item(row: Row, room: float) -> Row:
    made = {"rank": str(row["rank"])} if "rank" in row else {}
    made["case"] = cut(row["case"], room)
    if "value" in row:
        made["value"] = f"{row['value']:.4g}"
    for name in ("b", "a"):
        error = row.get(f"{name}_se")
        made[name] = _number(row[name]) + ("" if error is None else f" +- {error:.2f}")
    if "information" in row:
        made["information"] = _number(row["information"])
    return made | {"pass rate": shown(row["rate"], "share"), "flags": row["flags"] or ""}


def most_informative(fit: IrtFit) -> tuple[list[str], pl.DataFrame]:
    """The cases that tell these configs apart best, and a line above them."""
    table = fit.items.sort("information", "case", descending=[True, False], nulls_last=True)
    some = table.head(SOME)
    head = f"cases that tell these configs apart best, {some.height} of {table.height:,}:"
    return ["", head], some


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"
