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
SINGLE = {"form": "ICC(1,1)", "meaning": "share of one run's variance that is the case, not luck"}
AVERAGE = {"form": "ICC(1,k)", "meaning": "the same for the mean of k runs"}
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
    weights = case_weights(design.unit, min(resamples, _most(design.cases)), rng)
    rows = _of_configs(design, weights, level) + _of_board(design)
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _most(cases: int) -> int:
    return max(100, MOST_WEIGHTS // cases)


def _of_configs(design: Design, weights: Floats, level: float) -> list[dict[str, Any]]:
    """Runs of a case are exchangeable: ICC(1,1) and (1,k), a few configs at a time."""
    cells = design.cells
    rows: list[dict[str, Any]] = []
    step = max(1, MOST_WEIGHTS // design.cases // 6)
    for start in range(0, len(design.configs), step):
        part = slice(start, start + step)
        n, mean = cells.n[part], cells.mean[part]
        sums = (n, mean * n, cells.within[part] + mean**2 * n)
        found, drawn = one_way(*sums), one_way(*sums, weights)
        alone = np.nan if not design.unit.any() else 1.0  # one unit says nothing about others
        f_low, f_high = f_interval(found, level)
        for j, config in enumerate(design.configs[part]):
            shared: dict[str, Any] = {"config": config, "target": "case", "over": "runs"}
            shared |= {"k": float(found.n0[j, 0]), "rows": int(found.groups[j, 0])}
            ends = {"f_low": float(f_low[j, 0]), "f_high": float(f_high[j, 0])}
            for form, value, draws in (
                (SINGLE | ends, found.single, drawn.single),
                (AVERAGE, found.average, drawn.average),
            ):
                numbers = _numbers(float(value[j, 0]), alone * draws[j], level)
                rows.append(shared | form | numbers)
    return rows


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
    kinds = ("each row has columns of its own", "equal scores", "equal order")
    about = {"config": "of configs from case to case", "case": "of case difficulty by config"}
    rows: list[dict[str, Any]] = []
    for target, over, ratings in (("config", "cases", table), ("case", "configs", table.T)):
        found = shrout_fleiss(ratings)
        for i, (one, many) in enumerate(zip(found.single, found.average, strict=True)):
            for form, value, mean in ((f"ICC({i + 1},1)", one, 0), (f"ICC({i + 1},k)", many, 1)):
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
                        "meaning": f"{kinds[i]} {about[target]}" + mean * ", for the mean of k",
                    }
                )
    return rows
