"""The intraclass correlations of a design as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.kernels.anova import case_weights
from trialframe.kernels.icc import f_interval, one_way, shrout_fleiss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.reliability._design import Design

    Floats = NDArray[np.float64]

MOST_WEIGHTS = 2_000_000
SCHEMA = {
    "config": pl.String,
    "target": pl.String,
    "over": pl.String,
    "form": pl.String,
    "value": pl.Float64,
    "floored": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "f_low": pl.Float64,
    "f_high": pl.Float64,
    "k": pl.Float64,
    "rows": pl.Int64,
    "meaning": pl.String,
}


def icc_table(
    design: Design, level: float, resamples: int, rng: np.random.Generator
) -> pl.DataFrame:
    """One-way forms of every config, two-way forms of the whole board.

    `low` and `high` come from a bootstrap of cases or clusters, `f_low` and `f_high` from the F
    distribution, which takes runs as normal.
    """
    weights = case_weights(design.unit, min(resamples, _most(design)), rng)
    rows = [
        row for j in range(len(design.configs)) for row in _of_config(design, j, weights, level)
    ]
    rows += _of_board(design)
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _most(design: Design) -> int:
    return max(100, MOST_WEIGHTS // design.cases)


def _of_config(design: Design, j: int, weights: Floats, level: float) -> list[dict[str, Any]]:
    """Runs of a case are exchangeable: ICC(1,1) and (1,k)."""
    cells = design.cells
    n, mean = cells.n[j], cells.mean[j]
    sums = (n, mean * n, cells.within[j] + mean**2 * n)
    found, drawn = one_way(*sums), one_way(*sums, weights)
    f_low, f_high = f_interval(found, level)
    shared = {
        "config": design.configs[j],
        "target": "case",
        "over": "runs",
        "k": float(found.n0[0]),
        "rows": int(found.groups[0]),
    }
    single = {
        "form": "ICC(1,1)",
        "meaning": "share of one run's variance that is the case, not luck",
        "f_low": float(f_low[0]),
        "f_high": float(f_high[0]),
    }
    average = {"form": "ICC(1,k)", "meaning": "the same for the mean of k runs"}
    return [
        shared | form | _numbers(float(value[0]), draws, level)
        for form, value, draws in (
            (single, found.single, drawn.single),
            (average, found.average, drawn.average),
        )
    ]


def _numbers(value: float, draws: Floats, level: float) -> dict[str, float]:
    known = draws[~np.isnan(draws)]
    ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = (
        np.quantile(known, ends) if len(known) > 1 and not np.isnan(value) else (np.nan,) * 2
    )
    return {
        "value": value,
        "floored": max(value, 0.0) if not np.isnan(value) else value,
        "low": float(low),
        "high": float(high),
    }


def _of_board(design: Design) -> list[dict[str, Any]]:
    """Configs measured by cases, and cases measured by configs, on the means of complete cells."""
    complete = (design.cells.n > 0).all(axis=0)
    table = design.cells.mean[:, complete]
    if min(table.shape) < 2:
        return []
    meanings = {
        ("config", 1): "same rank and score from one case to the next",
        ("config", 2): "the same, on average over the cases: phi of this board",
        ("case", 1): "configs agree which cases are hard",
        ("case", 2): "the same for the mean over configs",
    }
    rows: list[dict[str, Any]] = []
    for target, over, ratings in (("config", "cases", table), ("case", "configs", table.T)):
        found = shrout_fleiss(ratings)
        for i, (one, many) in enumerate(zip(found.single, found.average, strict=True)):
            for form, value, which in ((f"ICC({i + 1},1)", one, 1), (f"ICC({i + 1},k)", many, 2)):
                rows.append(
                    {
                        "config": None,
                        "target": target,
                        "over": over,
                        "form": form,
                        "value": value,
                        "floored": max(value, 0.0) if not np.isnan(value) else value,
                        "k": float(ratings.shape[1]),
                        "rows": ratings.shape[0],
                        "meaning": meanings[target, which],
                    }
                )
    return rows
