"""How trials ended: shares by verdict and outcome class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ColumnError

if TYPE_CHECKING:
    from trialframe.counts import Counts

PLAIN = ("", "pass", "passed", "fail", "failed", "ok", "completed", "unset", "none", "success")
"""Outcome words that say no more than the verdict."""


def outcome_rows(counts: Counts, frame: pl.DataFrame, level: float) -> list[dict[str, Any]]:
    """Shares of all trials by verdict and outcome class; they add up to 1."""
    if counts.outcomes is None:
        raise ColumnError(
            "outcome shares need an outcome column. Name it in tr.counts, "
            "for example outcome='status'."
        )
    part = counts.outcomes.join(frame.select("config", "case"), on=["config", "case"], how="semi")
    word = pl.col("outcome").fill_null("")
    plain = word.str.to_lowercase().is_in(PLAIN)
    failed = pl.col("n") - pl.col("c") - pl.col("unscored_failed")
    missing = pl.col("unscored") + pl.col("unscored_failed")
    total = int(part.select((pl.col("n") + pl.col("unscored")).sum()).item())
    pieces = [
        (pl.lit("pass"), pl.col("c")),
        (pl.when(plain).then(pl.lit("fail")).otherwise("fail: " + word), failed),
        (pl.when(plain).then(pl.lit("unscored")).otherwise("unscored: " + word), missing),
    ]
    long = pl.concat([part.select(name=n.cast(pl.String), trials=t) for n, t in pieces])
    shares = long.group_by("name").agg(pl.col("trials").sum()).filter(pl.col("trials") > 0)
    return [
        {
            "metric": f"share[{name}]",
            "value": trials / total,
            "unit": "share of trials",
            "level": level,
            "estimand": "these trials",
            "method": "count",
            "cases": frame.height,
            "trials": total,
            "warnings": "",
        }
        for name, trials in shares.sort("name").rows()
    ]
