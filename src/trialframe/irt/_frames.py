"""The tables of items and abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe.kernels.irt import mle
from trialframe.kernels.irt_bootstrap import case_errors
from trialframe.kernels.irt_checks import blocks, free_slopes, saturated, separated
from trialframe.kernels.irt_fit import FARTHEST, STEEPEST, STEEPEST_SHARED
from trialframe.kernels.irt_pick import mean_information

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.irt._solution import Solution
    from trialframe.irt._table import Table

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

SURE = 1.645
"""Standard errors below zero from which a slope is negative beyond chance (one-sided 5 %)."""


LEAST_CLUSTERS = 5
"""Clusters below which errors over clusters say nothing, and errors over cases are given."""


def quantile(level: float) -> float:
    """Standard normal quantile of a two-sided interval."""
    from scipy.special import ndtri

    return float(ndtri((1.0 + level) / 2.0))


def units(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """What errors over cases are taken over: clusters, or cases where clusters are too few."""
    codes = np.unique(cluster, return_inverse=True)[1]
    return codes if codes.max() + 1 >= LEAST_CLUSTERS else np.arange(len(codes))


def items_frame(table: Table, solution: Solution) -> pl.DataFrame:
    """One row per case: parameters, errors, counts, what is odd about it."""
    cells, fitted, tried = table.cells, solution.fitted, solution.tried
    slope, slope_se, information = np.full((3, len(fitted)), np.nan)
    part = table.cut(tried, fitted)
    a, b = solution.a[fitted], solution.b[fitted]
    theta = solution.theta[tried]
    slope[fitted], slope_se[fitted] = free_slopes(part, a, b, theta, solution.curvature[tried])
    information[fitted] = mean_information(theta, a, b)
    n, c = cells.trials.sum(axis=0), cells.passes.sum(axis=0)
    kind = saturated(cells.passes, cells.trials)
    slope[kind != 0] = slope_se[kind != 0] = np.nan
    divided = np.zeros(len(fitted), dtype=bool)
    divided[fitted] = separated(part, theta)
    by_config = (cells.trials > 0).sum(axis=0)
    steepest = STEEPEST if np.ptp(a) > 0 else STEEPEST_SHARED
    at_bound = (np.abs(np.log(solution.a)) >= steepest - 1e-6) | (
        np.abs(solution.b) >= FARTHEST - 1e-6
    )
    flags = _flags(
        {
            "no trials": n == 0,
            "all pass": kind > 0,
            "all fail": kind < 0,
            "one config": by_config == 1,
            "negative": slope + SURE * slope_se < 0,
            "separated": divided,
            "at bound": at_bound & fitted,
            "runs away": np.zeros_like(fitted) if solution.endless is None else solution.endless,
        }
    )
    named = {"case": table.cases}
    if table.clusters is not None:
        named["cluster"] = table.clusters
    return pl.DataFrame(
        {
            **named,
            "a": np.where(fitted, solution.a, np.nan),
            "a_se": solution.a_se,
            "b": np.where(fitted, solution.b, np.nan),
            "b_se": solution.b_se,
            "information": information,
            "slope": slope,
            "slope_se": slope_se,
            "n": n.astype(np.int64),
            "c": c.astype(np.int64),
            "configs": by_config.astype(np.int64),
            "rate": c / np.where(n > 0, n, np.nan),
            "flags": flags,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def abilities_frame(table: Table, solution: Solution, level: float) -> pl.DataFrame:
    """One row per config: ability, errors, counts, what is odd about it."""
    cells, tried, fitted = table.cells, solution.tried, solution.fitted
    part = table.cut(tried, fitted)
    a, b, theta = solution.a[fitted], solution.b[fitted], solution.theta[tried]
    by_case, best, best_se = np.full((3, len(tried)), np.nan)
    curvature = solution.curvature[tried]
    codes = units(table.cluster[fitted])
    raw = case_errors(part, a, b, theta, curvature, codes)
    by_case[tried] = raw * solution.growth[tried]
    if solution.rate is None:
        best[tried], best_se[tried] = mle(part, a, b, theta)
    n, c = cells.trials.sum(axis=1), cells.passes.sum(axis=1)
    seen = cells.trials > 0
    share = np.divide(cells.passes, cells.trials, out=np.zeros_like(cells.passes), where=seen)
    wide = quantile(level) * solution.sd
    return pl.DataFrame(
        {
            "config": table.configs,
            "ability": solution.theta,
            "se": solution.sd,
            "low": solution.theta - wide,
            "high": solution.theta + wide,
            "case_se": by_case,
            "mle": best,
            "mle_se": best_se,
            "n": n.astype(np.int64),
            "c": c.astype(np.int64),
            "cases": seen.sum(axis=1).astype(np.int64),
            "rate": share.sum(axis=1) / np.where(tried, seen.sum(axis=1), np.nan),
            "block": _block_numbers(cells.trials, tried),
            "flags": _flags(
                {"no trials": ~tried, "all pass": tried & (c == n), "all fail": tried & (c == 0)}
            ),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _block_numbers(trials: Floats, tried: Bools) -> pl.Series:
    """Connected groups of configs, numbered from 1; null without trials."""
    label, _ = blocks(trials)
    number = np.zeros(len(tried), dtype=np.int64)
    number[tried] = np.unique(label[tried], return_inverse=True)[1] + 1
    return pl.Series("block", number).replace(0, None)


def _flags(found: dict[str, Bools]) -> pl.Series:
    """The words that apply, joined by semicolons, or null."""
    frame = pl.DataFrame({name: np.asarray(mask, dtype=bool) for name, mask in found.items()})
    words = frame.select(
        flags=pl.concat_str(
            *(pl.when(pl.col(name)).then(pl.lit(name)) for name in found),
            separator="; ",
            ignore_nulls=True,
        )
    ).to_series()
    return words.replace("", None)
