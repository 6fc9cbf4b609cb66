"""Scores of the whole suite from some of its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.errors import CountsError
from trialframe.irt._frames import quantile, units
from trialframe.irt._table import table_of
from trialframe.irt.select import rates_of
from trialframe.kernels.irt import cells_of, grid_rule, modes, posterior
from trialframe.kernels.irt_bootstrap import case_errors
from trialframe.kernels.irt_subset import regression_estimate, unseen_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.counts import Counts
    from trialframe.irt._table import Table
    from trialframe.irt.result import IrtFit

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

LEAST = 5
"""Fewest sampled cases of a config for a regression."""


def _given(fit: IrtFit, counts: Counts) -> tuple[Table, Bools]:
    """Counts on the cases of the fit, and which of these have a pass probability."""
    given = table_of(counts, fit.table.cases)
    usable = fit.solution.usable
    if not (given.cells.trials[:, usable] > 0).any():
        raise CountsError("these counts have no scored trial on a fitted case: run some first.")
    return given, usable


def pirt(fit: IrtFit, counts: Counts, level: float) -> pl.DataFrame:
    """See `IrtFit.pirt`."""
    given, usable = _given(fit, counts)
    a, b = fit.solution.a[usable], fit.solution.b[usable]
    cells = cells_of(given.cells.passes[:, usable], given.cells.trials[:, usable])
    rule, mode = grid_rule(cells, a, b, np.zeros(len(cells.trials)))
    post = posterior(cells, a, b, rule)
    seen = cells.trials > 0
    n, total = seen.sum(axis=1), int(usable.sum())
    share = np.divide(cells.passes, cells.trials, out=np.zeros_like(cells.passes), where=seen)
    mean = share.sum(axis=1) / np.where(n > 0, n, np.nan)
    rest = unseen_means(~seen, a, b, post)
    _, curvature = modes(cells, a, b, mode)
    codes = units(fit.table.cluster[usable])
    wider = case_errors(cells, a, b, mode, curvature, codes) / post.sd
    left = 1 - n / total
    value = np.where(n > 0, n / total * np.nan_to_num(mean), 0.0) + left * rest.mean
    open_variance = rest.variance * np.maximum(1.0, np.square(wider))
    se = left * np.sqrt(open_variance + rest.noise / np.maximum(total - n, 1))
    wide = quantile(level) * se
    return _framed(
        {
            "config": given.configs,
            "value": value,
            "se": se,
            "low": np.maximum(value - wide, 0.0),
            "high": np.minimum(value + wide, 1.0),
            "seen": mean,
            "unseen": np.where(n < total, rest.mean, np.nan),
            "ability": post.mean,
            "ability_se": post.sd,
            "cases": n,
            "suite": total,
            "level": level,
        }
    )


def full_suite(fit: IrtFit, counts: Counts, level: float) -> pl.DataFrame:
    """See `IrtFit.full_suite`."""
    given, usable = _given(fit, counts)
    known = _rates_or_model(fit)
    total = known.sum(axis=0)
    place = {name: row for row, name in enumerate(fit.table.configs.to_list())}
    rows = []
    for row, name in enumerate(given.configs.to_list()):
        own = place.get(name)
        others = int(fit.solution.tried.sum()) - int(own is not None and fit.solution.tried[own])
        mean = (total - (known[own] if own is not None else 0.0)) / max(others, 1)
        n, c = given.cells.trials[row], given.cells.passes[row]
        rows.append({"config": name} | _regressed(n, c, mean, usable, level))
    return _framed(rows)


def _rates_or_model(fit: IrtFit) -> Floats:
    """Pass rates of all cells, model probabilities where there are no trials, 0 for no config."""
    cells = fit.table.cells
    rate = np.array(rates_of(fit.solution))
    seen = cells.trials > 0
    rate[seen] = cells.passes[seen] / cells.trials[seen]
    rate[~fit.solution.tried] = 0.0
    return rate


def _regressed(n: Floats, c: Floats, mean: Floats, usable: Bools, level: float) -> dict[str, Any]:
    from scipy.special import stdtrit

    seen = (n > 0) & usable
    size = {"cases": int(seen.sum()), "suite": int(usable.sum())}
    if size["cases"] < LEAST:
        return {**dict.fromkeys(NUMBERS), **size, "df": None, "level": level}
    score = c[seen] / n[seen]
    made = regression_estimate(score, mean[seen, None], mean[usable, None])
    wide = float(stdtrit(max(made.df, 1), (1 + level) / 2)) * made.se
    return {
        "value": made.value,
        "se": made.se,
        "low": max(made.value - wide, 0.0),
        "high": min(made.value + wide, 1.0),
        "plain": float(score.mean()),
        "plain_se": made.plain_se,
        "r2": made.r2,
        "worth": made.worth,
        **size,
        "df": made.df,
        "level": level,
    }


WHOLE = ("cases", "suite", "df")
NUMBERS = ("value", "se", "low", "high", "plain", "plain_se", "r2", "worth")


def _framed(data: Any) -> pl.DataFrame:
    frame = pl.DataFrame(data, infer_schema_length=None)
    whole = [name for name in frame.columns if name in WHOLE]
    numbers = [name for name in frame.columns if name not in {"config", *WHOLE}]
    return frame.with_columns(
        pl.col(whole).cast(pl.Int64), pl.col(numbers).cast(pl.Float64).fill_nan(None)
    )
