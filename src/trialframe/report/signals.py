"""How well signals find failing trials, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.display import MISSING, counted, interval, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = dict[str, Any]

FEW = 3
TINY = 0.0001


def lines(table: pl.DataFrame) -> list[str]:
    """What stands above the table: how to read it, and what weakens it.

    Args:
        table: What `tr.signal_auroc` returned.
    """
    judged = table.filter(pl.col("role") != "difficulty")
    row = judged.row(0, named=True)
    configs = counted(table["config"].n_unique(), "config")
    meaning = "a failing trial has a higher signal than a passing one of the same case"
    head = f"AUC: chance that {meaning}; 0.5 says nothing; {configs}, level {row['level']:g}"
    return [head, *_warnings(judged)]


def rows(table: pl.DataFrame) -> pl.DataFrame:
    """The table as texts that fit beside each other.

    Args:
        table: What `tr.signal_auroc` returned.
    """
    several = table["config"].n_unique() > 1
    made = []
    for row in table.iter_rows(named=True):
        ends = interval(row["low"], row["high"], None)
        signal = ("length " if row["role"] == "length" else "") + row["signal"]
        judged = row["role"] != "difficulty"
        texts = {"config": row["config"]} if several else {}
        made.append(
            texts
            | {
                "signal": signal,
                "cases": row["cases_used"],
                "AUC": f"{shown(row['value'], None)} {ends}".strip() if judged else MISSING,
                "p": _p(row["pvalue"]),
                "pooled": shown(row["pooled"], None),
                "macro": shown(row["macro"], None),
            }
        )
    return pl.DataFrame(made, infer_schema_length=None)


def _p(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:.3g}" if value >= TINY else f"< {TINY:g}"


def _warnings(table: pl.DataFrame) -> Iterator[str]:
    """Every warning of every signal, with the first configs that it is about."""
    told: dict[str, list[str]] = {}
    several = table["config"].n_unique() > 1
    for row in table.iter_rows(named=True):
        for text in (row["warnings"] or "").split("; "):
            if text:
                who = f"{row['signal']}, {row['config']}" if several else row["signal"]
                told.setdefault(text, []).append(who)
    for text, who in told.items():
        rest = f" and {len(who) - FEW} more" if len(who) > FEW else ""
        yield f"- {'; '.join(who[:FEW])}{rest}: {text}"
