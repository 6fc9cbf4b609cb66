"""A fitted item response model for people: what was fitted, and its tables as texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.display import MISSING, counted, cut, shown
from trialframe.irt._frames import quantile
from trialframe.irt._notes import SPREAD, error_units, spread

if TYPE_CHECKING:
    from trialframe.irt.result import IrtFit

    Row = dict[str, Any]

CLOSE = 0.5
"""Standard deviation of abilities below which two decimals are too few."""

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
    digits = _digits(table["ability"])
    over = f"over {error_units(fit.items)}"
    # the interval that stands first is the one that holds
    wide = quantile(fit.level) if spread(fit.abilities) > SPREAD else None
    named = f"ability, {100 * fit.level:.10g}% {'by model' if wide is None else over}"
    rows = table.iter_rows(named=True)
    return pl.DataFrame([_ability(row, named, over, wide, digits, room) for row in rows])


def _ability(row: Row, named: str, over: str, wide: float | None, digits: int, room: float) -> Row:
    ability, error = row["ability"], row["case_se"]
    model = _ends(row["low"], row["high"], digits)
    if wide is None:
        first, other = model, {f"{over} +-": _number(error, digits)}
    else:
        known = ability is not None and error is not None
        first = _ends(ability - wide * error, ability + wide * error, digits) if known else ""
        other = {"by model": model}
    return {
        "config": cut(row["config"], room),
        named: f"{_number(ability, digits)} {first}".strip(),
        **other,
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
    digits = _digits(table["b"])
    return pl.DataFrame([_item(row, digits, room) for row in table.iter_rows(named=True)])


def _item(row: Row, digits: int, room: float) -> Row:
    made = {"rank": str(row["rank"])} if "rank" in row else {}
    made["case"] = cut(row["case"], room)
    if "value" in row:
        made["value"] = f"{row['value']:.4g}"
    for name in ("b", "a"):
        error = row.get(f"{name}_se")
        places = digits if name == "b" else 2
        made[name] = _number(row[name], places)
        made[name] += "" if error is None else f" +- {error:.{places}f}"
    if "information" in row:
        made["information"] = _number(row["information"])
    return made | {"pass rate": shown(row["rate"], "share"), "flags": row["flags"] or ""}


def most_informative(fit: IrtFit) -> tuple[list[str], pl.DataFrame]:
    """The cases that tell these configs apart best, and a line above them."""
    table = fit.items.sort("information", "case", descending=[True, False], nulls_last=True)
    some = table.head(SOME)
    head = f"cases that tell these configs apart best, {some.height} of {table.height:,}:"
    return ["", head], some


def tied(chosen: pl.DataFrame) -> list[str]:
    """A line on picked cases that nothing tells apart, if there are any.

    Args:
        chosen: What `IrtFit.pick` returned.
    """
    number = chosen.filter(pl.col("ties") > 1).height
    if not number:
        return []
    most = chosen.select(pl.col("ties").max()).item()
    picks = counted(chosen.height, "picked case")
    line = (
        f"- {number:,} of {picks} tie exactly with others (same a and b; up to {most:,} cases "
        "alike): their order, and which of them are here, means nothing"
    )
    return [line]


def _ends(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None else f"[{low:.{digits}f}, {high:.{digits}f}]"


def _digits(values: pl.Series) -> int:
    """Decimals: three where values lie close together."""
    spread = values.drop_nulls().std()
    return 3 if isinstance(spread, float) and spread < CLOSE else 2


def _number(value: float | None, digits: int = 2) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"
