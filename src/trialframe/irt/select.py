"""Probabilities, information, and which cases to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, short
from trialframe.kernels import irt_pick
from trialframe.kernels.irt import information, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trialframe.irt._solution import Solution
    from trialframe.irt._table import Table
    from trialframe.irt.result import IrtFit

    Floats = NDArray[np.float64]

GRID = np.linspace(-3.0, 3.0, 25)
FARTHEST = 20.0
CRITERIA = ("information", "maximin", "spread")
"""By what cases are picked."""

ALIKE = 5
"""Decimals of log a and b that two cases share when no criterion can tell them apart."""


def rates_of(solution: Solution) -> Floats:
    """Pass probabilities of all cells; NaN where config or case is unknown."""
    if solution.rate is not None:
        return solution.rate
    return probability(solution.theta, solution.a, solution.b)


def predicted(table: Table, solution: Solution) -> pl.DataFrame:
    """See `IrtFit.predict`."""
    configs, cases = table.configs.len(), table.cases.len()
    row, column = np.repeat(np.arange(configs), cases), np.tile(np.arange(cases), configs)
    return pl.DataFrame(
        {
            "config": table.configs.gather(row),
            "case": table.cases.gather(column),
            "probability": rates_of(solution).ravel(),
            "n": table.cells.trials.ravel().astype(np.int64),
            "c": table.cells.passes.ravel().astype(np.int64),
        }
    ).with_columns(pl.col("probability").fill_nan(None))


def abilities_at(fit: IrtFit, at: float | Sequence[float] | None) -> Floats:
    """Abilities to look at, finite and of sensible size."""
    if at is None:
        return fit.solution.theta[fit.solution.tried]
    try:
        made = np.atleast_1d(np.asarray(at, dtype=np.float64))
    except (TypeError, ValueError):
        made = np.array([np.nan])
    if made.ndim != 1 or not len(made) or not np.all(np.abs(made) <= FARTHEST):
        raise ArgumentError(
            f"at == {short(at)}, must be abilities between {-FARTHEST:g} and {FARTHEST:g}."
        )
    return made


def picked(fit: IrtFit, n: int, *, by: str, at: float | Sequence[float] | None) -> pl.DataFrame:
    """See `IrtFit.pick`."""
    _checks.one_of(by, "by", CRITERIA)
    usable = np.flatnonzero(fit.solution.fitted)
    n = _checks.integer(n, "n", low=1, high=len(usable))
    theta = abilities_at(fit, at)
    a, b = fit.solution.a[usable], fit.solution.b[usable]
    if by == "spread" and len(theta) < 2:
        raise ArgumentError('by == "spread" needs two abilities or more in at.')
    if by == "maximin":
        order, value = irt_pick.greedy_maximin(theta, a, b, n)
    else:
        rule = irt_pick.mean_information if by == "information" else irt_pick.spread
        criterion = rule(theta, a, b)
        order = irt_pick.best(criterion, n)
        value = criterion[order]
    rows: pl.DataFrame = fit.items[usable[order].tolist()].select("case", "a", "b", "rate", "flags")
    rank = pl.Series("rank", np.arange(1, n + 1))
    ties = pl.Series("ties", _alike(a, b)[order])
    return rows.select(rank, "case", pl.Series("value", value), "a", "b", "rate", ties, "flags")


def _alike(a: Floats, b: Floats) -> NDArray[np.int64]:
    """How many items have the parameters of each, up to what the fit leaves open, shape (I,)."""
    both = np.round(np.stack([np.log(a), b], axis=1), ALIKE)
    _, group, size = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(size[group.ravel()])


def informed(fit: IrtFit, at: Sequence[float] | None, *, of: str) -> pl.DataFrame:
    """See `IrtFit.information`."""
    _checks.one_of(of, "of", ("test", "items"))
    theta = GRID if at is None else abilities_at(fit, at)
    usable = fit.solution.fitted
    values = information(theta, fit.solution.a[usable], fit.solution.b[usable])
    if of == "test":
        total = values.sum(axis=1)
        return pl.DataFrame({"ability": theta, "information": total, "se": 1.0 / np.sqrt(total)})
    cases = fit.table.cases.filter(pl.Series(usable))
    column = np.tile(np.arange(len(cases)), len(theta))
    return pl.DataFrame(
        {
            "ability": np.repeat(theta, len(cases)),
            "case": cases.gather(column),
            "information": values.ravel(),
        }
    )


def curves(fit: IrtFit) -> pl.DataFrame:
    """Pass probabilities of all fitted cases over the usual abilities, for charts."""
    usable = fit.solution.fitted
    cases = fit.table.cases.filter(pl.Series(usable))
    a, b = fit.solution.a[usable], fit.solution.b[usable]
    return pl.DataFrame(
        {
            "case": cases.gather(np.tile(np.arange(len(b)), len(GRID))),
            "b": np.tile(b, len(GRID)),
            "ability": np.repeat(GRID, len(b)),
            "probability": probability(GRID, a, b).ravel(),
        }
    )
