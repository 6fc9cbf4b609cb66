"""A leaderboard, and a table of comparisons, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.report import notes as remarks
from trialframe.report.numbers import MISSING, counted, cut, interval, shown, span
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
    for row in table.iter_rows(named=True):
        ends = interval(row["low"], row["high"], row["unit"])
        texts = {name: str(row[name]) for name in by} | {
            "rank": f"{row['rank']} [{row['rank_low']}, {row['rank_high']}]",
            "config": cut(row["config"], room),
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
    what = f"{counted(table.height, 'comparison')} in {first['metric']}: {told}"
    where = f"p-values {adjusted}, level {first['level']:.10g}"
    return [f"{what}; {where}", *_warnings(table, "candidate")]


def pair_rows(table: pl.DataFrame, room: float = math.inf) -> pl.DataFrame:
    """A table of comparisons as texts that fit beside each other.

    Args:
        table: What `tr.compare_all` returned.
        room: Characters that a config's name may take.
    """
    made = []
    for row in table.iter_rows(named=True):
        wide = row["simultaneous_low"] is not None
        low, high = (row[f"simultaneous_{end}" if wide else end] for end in ("low", "high"))
        ends = "" if low is None else f" [{_signed(low)}, {_signed(high)}]"
        made.append(
            {
                "baseline": cut(row["baseline"], room),
                "candidate": cut(row["candidate"], room),
                "cases": row["cases"],
                "p": _brief(row["pvalue"]),
                "adjusted": _brief(row["adjusted"]),
                "difference": MISSING if row["diff"] is None else f"{_signed(row['diff'])}{ends}",
                "verdict": row["verdict"],
            }
        )
    return pl.DataFrame(made, infer_schema_length=None)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 10 else f"{value:+.4g}"


def _brief(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


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
