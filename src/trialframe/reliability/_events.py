"""Tables of what happened inside episodes: one row per tool call or subtask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import polars as pl

from trialframe.engine import at_home
from trialframe.errors import ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.means import clustered_mean
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

KEY = ("config", "case", "trial", "cluster")
ONE = {"config": "system", "trial": "0"}
"""What stands in for a column that a table does not have."""


class EventKeys(TypedDict, total=False):
    """Where the keys of an episode are: a name, or None to leave it out."""

    config: str | None
    case: str | None
    trial: str | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events sorted into episodes.

    Attributes:
        rows: The columns asked for, with `episode`, a code 0..E-1, ascending.
        episodes: One row per episode, in the order of the codes: config, case, trial and, when
            there is one, cluster.
    """

    rows: pl.DataFrame
    episodes: pl.DataFrame


def events_of(
    table: Any,
    columns: Mapping[str, Any],
    wanted: Mapping[str, str],
    order: str | None = None,
) -> Events:
    """Bring home the keys and some columns, each episode in order.

    Args:
        table: One row per event.
        columns: Where config, case, trial and cluster are.
        wanted: New name -> source column.
        order: Column that holds the order within an episode; None for that of the rows.

    Raises:
        ColumnError: A column is missing or could be one of several.
        TrialsError: No rows, or a key is null.
    """
    lazy = at_home(table, list)
    names = lazy.collect_schema().names()
    for new, old in wanted.items():
        if old not in names:
            raise ColumnError(
                f"no column {short(old)} (for {new}). {did_you_mean(str(old), names)}"
            )
    if order is not None and order not in names:
        raise ColumnError(f"no column {short(order)} (for step). {did_you_mean(order, names)}")
    keys = {name: _found(name, names, columns) for name in KEY}
    if keys["case"] is None:
        raise ColumnError(f"no case column. Name it: case=... {did_you_mean('case', names)}")
    made = [
        pl.lit(ONE[name]).alias(name) if old is None else pl.col(old).cast(pl.String).alias(name)
        for name, old in keys.items()
        if old is not None or name in ONE
    ]
    others = [pl.col(old).alias(f"_{new}") for new, old in wanted.items()]
    step = [
        pl.int_range(pl.len()).alias("_step") if order is None else pl.col(order).alias("_step")
    ]
    rows = lazy.select(*made, *others, *step).collect()
    return _sorted(rows, wanted, order)


def _sorted(rows: pl.DataFrame, wanted: Mapping[str, str], order: str | None) -> Events:
    if rows.is_empty():
        raise TrialsError("the table has no rows.")
    for name in (*(key for key in KEY if key in rows.columns), "_step"):
        if missing := rows[name].null_count():
            told = order if name == "_step" else name
            raise TrialsError(f"{told} is null in {missing:,} rows. Fill it in, or drop these.")
    key = [name for name in ("config", "case", "trial") if name in rows.columns]
    rows = rows.sort(*key, "_step")
    if order is not None:
        again = rows.select(pl.struct(*key, "_step").is_duplicated().sum()).item()
        if again:
            raise TrialsError(
                f"{again:,} rows share an episode and a {order}: number the steps, or name the "
                "trial column that tells episodes apart."
            )
    new = rows.select(
        pl.any_horizontal(pl.col(k) != pl.col(k).shift(1) for k in key).fill_null(value=True)
    ).to_series()
    rows = rows.with_columns(episode=new.cast(pl.Int64).cum_sum() - 1)
    kept = [name for name in KEY if name in rows.columns]
    episodes = rows.filter(new).select(kept)
    return Events(
        rows=rows.select("episode", *(pl.col(f"_{name}").alias(name) for name in wanted)),
        episodes=episodes,
    )


def _found(name: str, names: list[str], columns: Mapping[str, Any]) -> str | None:
    """The column of a key: as given, by its name, or by the only alias there is."""
    if name in columns:
        given = columns[name]
        if given is not None and given not in names:
            raise ColumnError(
                f"no column {short(given)} (for {name}). {did_you_mean(given, names)}"
            )
        return None if given is None else str(given)
    if name in names:
        return name
    some = [alias for alias in column(TRIALS, name).aliases if alias in names]
    if len(some) > 1:
        raise ColumnError(f"{name} could be {listed(some)}. Name it: {name}={some[0]!r}.")
    return some[0] if some else None


def averaged(
    episodes: pl.DataFrame, value: str, level: float, *, clusters: bool
) -> list[dict[str, Any]]:
    """Mean of a column over the episodes of a case, then over cases, for every config.

    Episodes without a value are left out and counted in `missing`.
    """
    rows = []
    for key, part in episodes.group_by("config", maintain_order=True):
        known = part.filter(pl.col(value).is_not_null())
        named = ["case", *(["cluster"] if clusters and "cluster" in part.columns else [])]
        cases = known.group_by(named).agg(pl.col(value).cast(pl.Float64).mean()).sort(named)
        if cases["case"].n_unique() < cases.height:
            raise TrialsError(f"config {key[0]!r}: a case is in two clusters. Give it one.")
        codes: NDArray[np.int64] | None = None
        if "cluster" in named:
            codes = cases["cluster"].rank("dense").to_numpy().astype(np.int64)
        row: dict[str, Any] = {
            "config": key[0],
            "level": level,
            "cases": cases.height,
            "episodes": known.height,
            "missing": part.height - known.height,
        }
        if cases.height:
            fit = clustered_mean(cases[value].to_numpy()[:, None], np.ones(cases.height), codes)
            ends = t_interval(fit.mean, fit.se, fit.df, level, bounds=(0.0, 1.0))
            row |= {
                "value": float(fit.mean[0]),
                "se": float(fit.se[0]),
                "low": float(ends.low[0]),
                "high": float(ends.high[0]),
                "clusters": int(fit.units[0]),
            }
        rows.append(row)
    return rows


MEANS = {
    "config": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "se": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "cases": pl.Int64,
    "clusters": pl.Int64,
    "episodes": pl.Int64,
    "missing": pl.Int64,
}


def means(rows: list[dict[str, Any]], metric: str) -> pl.DataFrame:
    """Rows of `averaged` as a table."""
    table = pl.DataFrame([{"metric": metric} | row for row in rows], schema=MEANS, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))
