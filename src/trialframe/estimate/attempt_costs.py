"""What sequences of attempts cost, and what as many independent trials would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.errors import UnknownConfigError, did_you_mean
from trialframe.estimate.summary import summary
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.counts import Counts
    from trialframe.kernels.means import ClusteredMean

    Floats = NDArray[np.float64]

TOKENS = ("tokens_in", "tokens_out")
UNITS = {"tokens": "tokens", "cost_uusd": "micro-dollars"}


def spent_columns(made: pl.DataFrame) -> dict[str, pl.Expr]:
    """What each attempt spent, from counts with one row per attempt; null where unknown."""

    def known(name: str) -> pl.Expr:
        return pl.when(pl.col(f"{name}_n") > 0).then(pl.col(f"{name}_sum"))

    found = {}
    if all(f"{name}_sum" in made.columns for name in TOKENS):
        found["tokens"] = known("tokens_in") + known("tokens_out")
    if "cost_uusd_sum" in made.columns:
        found["cost_uusd"] = known("cost_uusd")
    return found


def mean_of_cases(part: pl.DataFrame, values: Floats) -> ClusteredMean:
    """Mean over the sequences of a case, then over cases, of each column of `values`.

    Args:
        part: Sequences of one config with `case` and `cluster`.
        values: One row per sequence, shape (S, T).
    """
    case = part["case"].rank("dense").to_numpy().astype(np.int64) - 1
    size = np.bincount(case)
    sums = np.column_stack([np.bincount(case, column) for column in values.T])
    cluster = None
    if part["cluster"].null_count() == 0:
        cluster = np.zeros(len(size), dtype=np.int64)
        cluster[case] = part["cluster"].rank("dense").to_numpy().astype(np.int64)
    return clustered_mean(sums / size[:, None], np.ones(len(size)), cluster)


def spending(part: pl.DataFrame, most: int, level: float) -> list[dict[str, Any]]:
    """Rows of what sequences have spent by each attempt; none where an attempt is unknown."""
    rows: list[dict[str, Any]] = []
    for name in (name for name in UNITS if name in part.columns):
        lists = part[name]
        lengths = lists.list.len().cast(pl.Int64).to_numpy()
        sequence = np.repeat(np.arange(part.height), lengths)
        amount = lists.explode()
        unknown = amount.null_count()
        table = np.zeros((part.height, most))
        place = np.arange(len(sequence)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        inside = place < most
        values = amount.cast(pl.Float64).fill_null(0.0).to_numpy()
        table[sequence[inside], place[inside]] = values[inside]
        fit = mean_of_cases(part, np.cumsum(table, axis=1))
        ends = t_interval(fit.mean, fit.se, fit.df, level)
        for t in range(most):
            row = {"metric": f"seq_{name}@{t + 1}", "k": t + 1, "unit": UNITS[name]}
            if unknown:
                row["warnings"] = f"unknown in {unknown:,} attempts"
            else:
                row |= {
                    "value": float(fit.mean[t]),
                    "se": float(fit.se[t]),
                    "low": max(float(ends.low[t]), 0.0) if fit.units[t] > 1 else None,
                    "high": float(ends.high[t]),
                    "df": float(fit.df[t]),
                    "clusters": int(fit.units[t]),
                    "method": "t-cr2",
                }
            rows.append(row)
    return rows


def beside(independent: Counts, config: str, most: int, level: float) -> list[dict[str, Any]]:
    """pass@t of independent trials, and what t of them cost.

    Raises:
        UnknownConfigError: The config has no independent trials.
    """
    if config not in independent.configs:
        raise UnknownConfigError(
            f"independent: no config {config!r}. {did_you_mean(config, independent.configs)}"
        )
    own = independent.select(config)
    spent = [name for name in (*TOKENS, "cost_uusd") if name in own.measures]
    metrics = [*(f"pass@{t}" for t in range(1, most + 1)), *spent]
    rows = {row["metric"]: row for row in summary(own, metrics=metrics, level=level).to_dicts()}
    made = [rows[f"pass@{t}"] for t in range(1, most + 1)]
    prices = {"tokens": TOKENS, "cost_uusd": ("cost_uusd",)}
    for name, parts in prices.items():
        if any(part not in rows or rows[part]["value"] is None for part in parts):
            continue
        each = sum(rows[part]["value"] for part in parts)
        shared = {name: rows[parts[0]][name] for name in ("config", "cases", "trials", "dropped")}
        made += [
            shared
            | {
                "metric": f"pass_{name}@{t}",
                "k": t,
                "unit": UNITS[name],
                "value": t * each,
                "level": level,
                "estimand": "cases",
                "method": "t trials",
                "warnings": "all t trials are run, whether or not an earlier one passed",
            }
            for t in range(1, most + 1)
        ]
    return made
