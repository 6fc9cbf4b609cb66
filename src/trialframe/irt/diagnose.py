"""Residuals of items and pairs of items, and abilities over resampled cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.kernels.irt_bootstrap import bootstrap_abilities
from trialframe.kernels.irt_checks import mean_squares, q3, saturated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.irt.result import IrtFit

    Floats = NDArray[np.float64]

LEAST = 0.5
"""Information about a pair of cases below which it is not judged: two binary cases of middling
difficulty reach it with 8 configs."""


def fit_of(fit: IrtFit, of: str) -> pl.DataFrame:
    """See `IrtFit.item_fit`."""
    _checks.one_of(of, "of", ("items", "configs"))
    solution, table = fit.solution, fit.table
    part = table.cut(solution.tried, solution.fitted)
    a, b = solution.a[solution.fitted], solution.b[solution.fitted]
    made = mean_squares(part, a, b, solution.theta[solution.tried], 0 if of == "items" else 1)
    names = (
        table.cases.filter(pl.Series(solution.fitted))
        if of == "items"
        else table.configs.filter(pl.Series(solution.tried))
    )
    told = np.ones(len(names), dtype=bool)
    if of == "items":  # a case with one outcome fits any curve that is far enough away
        told = saturated(part.passes, part.trials) == 0
    return pl.DataFrame(
        {
            names.name: names,
            "infit": np.where(told, made.infit, np.nan),
            "infit_z": np.where(told, made.infit_z, np.nan),
            "outfit": np.where(told, made.outfit, np.nan),
            "outfit_z": np.where(told, made.outfit_z, np.nan),
            "cells": made.cells,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def dependent(fit: IrtFit, top: int) -> pl.DataFrame:
    """See `IrtFit.local_dependence`."""
    from scipy.special import ndtr

    solution = fit.solution
    part = fit.table.cut(solution.tried, solution.fitted)
    a, b = solution.a[solution.fitted], solution.b[solution.fitted]
    theta = solution.theta[solution.tried]
    found = q3(part, a, b, theta, top=top, least=LEAST)
    names = fit.table.cases.filter(pl.Series(solution.fitted))
    pvalue = 2 * ndtr(-np.abs(found.z))
    return pl.DataFrame(
        {
            "case": names.gather(found.first),
            "other": names.gather(found.second),
            "q3": found.q3,
            "excess": found.q3 - found.mean,
            "configs": found.configs,
            "z": found.z,
            "pvalue": pvalue,
            "adjusted": np.minimum(pvalue * found.number, 1.0),
        }
    )


def bootstrapped(fit: IrtFit, resamples: int, units: str, level: float, seed: int) -> pl.DataFrame:
    """See `IrtFit.bootstrap`."""
    solution, table = fit.solution, fit.table
    tried, fitted = solution.tried, solution.fitted
    clustered = units == "clusters" and table.clusters is not None
    raw = table.cluster if clustered else np.arange(len(fitted))
    codes = np.unique(raw[fitted], return_inverse=True)[1]
    theta = solution.theta[tried]
    drawn = bootstrap_abilities(
        table.cut(tried, fitted),
        solution.a[fitted],
        solution.b[fitted],
        theta,
        solution.curvature[tried],
        codes,
        np.random.default_rng(seed),
        resamples,
    )
    drawn = theta + (drawn - theta) * solution.growth[tried]
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(drawn, tails, axis=0)
    ranks = 1 + np.argsort(np.argsort(-drawn, axis=1, kind="stable"), axis=1)
    rank_low, rank_high = np.quantile(ranks, tails, axis=0, method="nearest")
    return pl.DataFrame(
        {
            "config": table.configs.filter(pl.Series(tried)),
            "ability": theta,
            "se": drawn.std(axis=0, ddof=1),
            "low": low,
            "high": high,
            "rank": 1 + np.argsort(np.argsort(-theta, kind="stable")),
            "rank_low": rank_low.astype(np.int64),
            "rank_high": rank_high.astype(np.int64),
            "units": ["clusters" if clustered else "cases"] * len(theta),
            "resamples": [resamples] * len(theta),
            "level": [level] * len(theta),
        }
    )
