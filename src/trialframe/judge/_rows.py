"""Any table, one row per verdict, with the columns that a question about judges needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl

from trialframe.engine import at_home
from trialframe.errors import ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.read import read
from trialframe.schema import ONE_CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialframe.read._columns import One, Several

KEPT = ("config", "case", "trial", "cluster", "passed", "score")
"""Canonical columns that are kept when the table has them."""


class Keys(TypedDict, total=False):
    """Where the columns of a row are: a name, several (config, case), an expression, None."""

    config: Several
    case: Several
    trial: One
    cluster: One
    passed: One
    score: One


def rows_of(
    table: Any,
    columns: Mapping[str, Any],
    others: Mapping[str, str],
    threshold: float | None = None,
) -> pl.LazyFrame:
    """Canonical columns, and other columns under names of their own, lazily.

    Args:
        table: Any table.
        columns: Where canonical columns are.
        others: New name -> source column; sources may also serve as canonical columns.
        threshold: Pass when score >= threshold.

    Raises:
        ColumnError: A column is not there.
        TrialsError: A case or config is null.
    """
    lazy = at_home(table, list)
    names = lazy.collect_schema().names()
    for new, old in others.items():
        if old not in names:
            raise ColumnError(
                f"no column {short(old)} (for {new}). {did_you_mean(str(old), names)}"
            )
    # copies first: reading renames canonical columns, and others may be one of them
    copies = {f"__{new}": pl.col(old) for new, old in others.items()}
    trials: pl.LazyFrame = read(lazy.with_columns(**copies), threshold=threshold, **columns)
    # a column that was left out stays in the table under its own name
    left_out = {name for name, value in columns.items() if value is None}
    present = set(trials.collect_schema().names()) - left_out
    kept = [pl.col(name) for name in KEPT if name in present]
    if "config" not in present:
        kept.append(pl.lit(ONE_CONFIG).alias("config"))
    return trials.select(*kept, *(pl.col(f"__{new}").alias(new) for new in others))


def refuse_null_keys(rows: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise when a part of the key is unknown."""
    for name in names:
        if name in rows.columns and (missing := rows[name].null_count()):
            raise TrialsError(
                f"{name} is null in {missing:,} rows. Fill it in, or leave these rows out."
            )


def refuse_split_cases(rows: pl.DataFrame) -> None:
    """Raise when a case of one config is in two clusters."""
    if "cluster" not in rows.columns:
        return
    ends = (pl.col("cluster").min().alias("low"), pl.col("cluster").max().alias("high"))
    odd = rows.group_by("config", "case").agg(ends).filter(pl.col("low") != pl.col("high"))
    if odd.height:
        raise TrialsError(
            f"{odd.height:,} cases are in two clusters: {listed(odd['case'].sort().to_list(), 3)}. "
            "Give each case one cluster, or cluster=None."
        )


def refuse_repeats(rows: pl.DataFrame, key: Sequence[str], advice: str) -> None:
    """Raise when rows share a key."""
    names = [name for name in key if name in rows.columns]
    repeated = rows.group_by(names).len().filter(pl.col("len") > 1)
    if repeated.height:
        first = repeated.sort(names).row(0, named=True)
        told = ", ".join(f"{name} {short(first[name])}" for name in names)
        raise TrialsError(
            f"{repeated.height:,} keys occur more than once. First: {told}: {first['len']} rows. "
            f"{advice}"
        )
