"""A leaderboard, and a table of comparisons, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.display import (
    MISSING,
    counted,
    cut,
    interval,
    short_names,
    shown,
    span,
)
from trialframe.report import notes as remarks
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Row = dict[str, Any]

MONEY = "micro-dollars"
FEW = 3
NAME = 32
"""Characters of a name in a sentence."""


def lines(table: pl.DataFrame) -> list[str]:
    """What stands above a leaderboard: what was ranked on which cases, and what weakens it.

    Args:
        table: What `tr.leaderboard` returned.
    """
    first = table.row(0, named=True)
    cases, clusters = (_range(table[name].to_list()) for name in ("cases", "clusters"))
    units = "" if cases == clusters else f" ({clusters} independent units)"
    best = table.filter("plausibly_best")["config"].n_unique()
    configs = counted(table["config"].n_unique(), "config")
    told = [
        f"{first['metric']} of {configs} on {cases} shared cases{units}, level {first['level']:g}",
        f"plausibly best: {best}" + (", any of which may be the best" if best > 1 else ""),
    ]
    odd = table.filter(pl.col("plausibly_best") != (pl.col("rank_low") == 1))["config"].to_list()
    if odd:
        told.append(
            "the plausibly best and the rank intervals are two procedures; they differ on "
            f"{_some(list(dict.fromkeys(odd)))}"
        )
    return [*told, *_warnings(table, "config")]


def rows(table: pl.DataFrame, room: float = math.inf) -> pl.DataFrame:
    """A leaderboard as texts that fit beside each other.

    Args:
        table: What `tr.leaderboard` returned.
        room: Characters that a config's name may take.
    """
    own = {column.name for column in LEADERBOARD}
    by = [name for name in table.columns if name not in own]
    priced = bool(table["cost_uusd_per_pass"].is_not_null().any())
    made = []
    names = short_names(table["config"].to_list(), room)
    for row in table.iter_rows(named=True):
        ends = interval(row["low"], row["high"], row["unit"])
        texts = {name: str(row[name]) for name in by} | {
            "rank": f"{row['rank']} [{row['rank_low']}, {row['rank_high']}]",
            "config": names[row["config"]],
            row["metric"]: f"{shown(row['value'], row['unit'])} {ends}".strip(),
            "best?": "maybe" if row["plausibly_best"] else "no",
        }
        if priced:
            ends = interval(row["cost_uusd_per_pass_low"], row["cost_uusd_per_pass_high"], MONEY)
            price = shown(row["cost_uusd_per_pass"], MONEY)
            texts["per solved case"] = f"{price} {ends}".strip()
            texts["on the front"] = _front(row)
        made.append(texts)
    return pl.DataFrame(made, infer_schema_length=None)


def _front(row: Row) -> str:
    if row["pareto"] is None:
        return MISSING
    share = "" if row["pareto_share"] is None else f" ({row['pareto_share']:.0%})"
    return f"{'yes' if row['pareto'] else 'no'}{share}"


def pair_lines(table: pl.DataFrame) -> list[str]:
    """What stands above a table of comparisons.

    Args:
        table: What `tr.compare_all` returned.
    """
    first = table.row(0, named=True)
    verdicts = dict(table["verdict"].value_counts().rows())
    told = ", ".join(f"{verdicts.get(v, 0)} {v}" for v in ("better", "worse", "inconclusive"))
    adjusted = "not adjusted" if first["adjust"] == "none" else f"adjusted by {first['adjust']}"
    one = f" against {first['baseline']}" if table["baseline"].n_unique() == 1 else ""
    what = f"{counted(table.height, 'comparison')}{one} in {first['metric']}: {told}"
    where = f"p-values {adjusted}, level {first['level']:.10g}"
    return [f"{what}; {where}", *_hopeless(table), *_warnings(table, "candidate")]


def _hopeless(table: pl.DataFrame) -> Iterator[str]:
    """Where so few units allow no p-value that is small enough after adjustment."""
    first = table.row(0, named=True)
    least = table["units"].to_numpy().astype(float)
    unable = int((2.0 ** (1.0 - least) * table.height >= 1.0 - first["level"]).sum())
    if first["adjust"] == "holm" and unable == table.height:
        yield (
            f"- untestable: {_range(table['units'].to_list())} independent units cannot separate "
            f"{counted(table.height, 'pair')}; name a baseline, or take cases as the units"
        )
    if first["adjust"] != "none" and table["simultaneous_low"].is_null().all():
        yield "- intervals are of single pairs, not adjusted; p-values and verdicts are"


def pair_rows(table: pl.DataFrame, room: float = math.inf) -> pl.DataFrame:
    """A table of comparisons as texts that fit beside each other.

    Args:
        table: What `tr.compare_all` returned.
        room: Characters that a config's name may take.
    """
    made = []
    against_one = table["baseline"].n_unique() == 1
    wanted = table["candidate"].to_list() + ([] if against_one else table["baseline"].to_list())
    names = short_names(wanted, room * 2 if against_one else room)
    for row in table.iter_rows(named=True):
        wide = row["simultaneous_low"] is not None
        low, high = (row[f"simultaneous_{end}" if wide else end] for end in ("low", "high"))
        ends = "" if low is None else f" [{_signed(low)}, {_signed(high)}]"
        made.append(
            ({} if against_one else {"baseline": names[row["baseline"]]})
            | {
                "candidate": names[row["candidate"]],
                "difference": MISSING if row["diff"] is None else f"{_signed(row['diff'])}{ends}",
                "verdict": row["verdict"],
                "adjusted p": MISSING if row["adjusted"] is None else f"{row['adjusted']:.3g}",
                "p": MISSING if row["pvalue"] is None else f"{row['pvalue']:.3g}",
                "cases": row["cases"],
            }
        )
    return pl.DataFrame(made, infer_schema_length=None)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 10 else f"{value:+.4g}"


def _warnings(table: pl.DataFrame, who: str) -> Iterator[str]:
    """Every distinct warning once, with the rows that it is about."""
    named = table.select("metric", "warnings", config=who, estimand=pl.lit("cases"))
    yield from (f"- {text}" for text in remarks.warnings(named.to_dicts()))


def _range(numbers: Sequence[int]) -> str:
    return span(min(numbers), max(numbers))


def _some(names: Sequence[str]) -> str:
    rest = len(names) - FEW
    names = [cut(name, NAME) for name in names]
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:FEW])} and {rest} more"
