"""Pairs of outcomes in the order in which they came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.errors import (
    ArgumentError,
    ColumnError,
    TrialsError,
    UnknownConfigError,
    did_you_mean,
    listed,
)
from trialframe.read import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Pairs in order.

    Attributes:
        frame: One row per case with K scored trials on both sides, in order: `case, c_baseline,
            c_candidate`.
        order: Where the order comes from.
        incomplete: Cases with fewer than K trials on a side.
        unscored: Cases left out for a trial without a verdict.
        warnings: What weakens a statement made of them.
    """

    frame: pl.DataFrame
    order: str
    incomplete: int
    unscored: int
    warnings: tuple[str, ...]


def ordered_pairs(
    trials: Any,
    baseline: str,
    candidate: str,
    *,
    order: str | Sequence[str],
    first: int,
    fail: bool,
    threshold: float | None,
    columns: Mapping[str, Any],
) -> Ordered:
    """Read the first K trials of both configs in every case, and sort the pairs.

    Raises:
        ColumnError: There is no such order column.
        TrialsError: No case has K trials on both sides, or the first K cannot be told.
        ArgumentError: An order that does not hold every case.
        UnknownConfigError: A config is not in the table.
    """
    frame = read(trials, threshold=threshold, **columns)
    names = frame.collect_schema().names()
    if "passed" not in names:
        raise TrialsError("a sequential comparison needs one row per trial: counts have no order.")
    column = order if isinstance(order, str) else None
    if column is not None and column not in names:
        raise ColumnError(
            f"order: the table has no column {column!r}. Name the column that says when a trial "
            "was run, or give the cases in the order in which they were run. "
            f"{did_you_mean(column, names)}"
        )
    clusters = columns.get("cluster", "") is not None
    rows = _rows(
        frame if clusters else frame.drop("cluster", strict=False), baseline, candidate, column
    )
    chosen = _first(rows, first, column)
    sides = chosen.group_by("case", "config").agg(
        pl.len().alias("n"),
        pl.col("passed").null_count().alias("unknown"),
        pl.col("passed").sum().cast(pl.Int64).alias("c"),
        pl.col("when").max() if column is not None else pl.lit(0).alias("when"),
    )
    pairs = sides.group_by("case").agg(
        (pl.col("n").min() * (pl.len() == len(("baseline", "candidate")))).alias("n"),
        pl.col("unknown").sum(),
        pl.col("c").filter(pl.col("config") == baseline).first().alias("c_baseline"),
        pl.col("c").filter(pl.col("config") == candidate).first().alias("c_candidate"),
        pl.col("when").max(),
    )
    whole = pairs.filter(pl.col("n") == first)
    kept = whole if fail else whole.filter(pl.col("unknown") == 0)
    if kept.is_empty():
        raise TrialsError(
            f"no case has {first} scored {'trial' if first == 1 else 'trials'} of both "
            f"{baseline!r} and {candidate!r}, so there is no pair to look at."
        )
    kept = _sorted(kept, order)
    return Ordered(
        frame=kept.select("case", "c_baseline", "c_candidate"),
        order=column if column is not None else "as given",
        incomplete=pairs.height - whole.height,
        unscored=whole.height - kept.height,
        warnings=tuple(_warnings(kept, rows, column, whole.height - kept.height)),
    )


def _rows(frame: pl.LazyFrame, baseline: str, candidate: str, column: str | None) -> pl.DataFrame:
    names = frame.collect_schema().names()
    kept = [name for name in ("trial", "trial_made", "attempt", "cluster") if name in names]
    config = pl.col("config") if "config" in names else pl.lit("", pl.String)
    wanted = [
        config.cast(pl.String).alias("config"),
        pl.col("case").cast(pl.String),
        "passed",
        *kept,
    ]
    if column is not None:
        wanted.append(pl.col(column).alias("when"))
    every = frame.select(wanted).collect()
    configs = every["config"].drop_nulls().unique().sort().to_list()
    for name in (baseline, candidate):
        if name not in configs:
            raise UnknownConfigError(
                f"no config {name!r} in these trials. {did_you_mean(name, configs)}"
            )
    rows = every.filter(pl.col("config").is_in([baseline, candidate]))
    if "attempt" in kept:
        rows = rows.filter(pl.col("attempt") == 1)
    if column is not None and (empty := rows["when"].null_count()):
        raise TrialsError(
            f"order: column {column!r} is null in {empty:,} rows, so these have no place. Fill it, "
            "or give the cases in order."
        )
    if _made(rows):  # the order of a log is no order in time
        rows = rows.with_columns(trial=pl.lit(None, pl.Int64))
    return rows


def _made(rows: pl.DataFrame) -> bool:
    """Whether numbers of trials say nothing of which came first."""
    return "trial_made" in rows.columns and bool(rows["trial_made"].any())


def _first(rows: pl.DataFrame, first: int, column: str | None) -> pl.DataFrame:
    """The first K trials of every config and case."""
    key = ["config", "case"]
    by = "trial" if "trial" in rows.columns and not rows["trial"].null_count() else "when"
    if by not in rows.columns:
        if rows.group_by(key).len()["len"].max() in {None, first}:
            return rows
        raise TrialsError(
            "some cases have several trials and nothing says which came first"
            + (": their numbers were made from the order of a log" if _made(rows) else "")
            + ". Name a trial column (trial=...) or order them by a column that says when they "
            "were run."
        )
    repeated = rows.filter(pl.struct(*key, by).is_duplicated())
    if repeated.height:
        at = repeated.sort(*key).row(0, named=True)
        what = "trial numbers" if by == "trial" else f"values of {column!r}"
        raise TrialsError(
            f"{repeated.height:,} rows share their {what} within a config and case, so the first "
            f"cannot be told. First: config {at['config']!r}, case {at['case']!r}."
        )
    return rows.filter(pl.col(by).rank("ordinal").over(key) <= first)


def _sorted(pairs: pl.DataFrame, order: str | Sequence[str]) -> pl.DataFrame:
    if isinstance(order, str):
        return pairs.sort("when", "case")
    given = [str(case) for case in _checks.names(order, "order")]
    if len(set(given)) < len(given):
        raise ArgumentError("order names a case twice. Name every case once.")
    missing = sorted(set(pairs["case"]) - set(given))
    if missing:
        raise ArgumentError(
            f"order lacks {len(missing)} cases that have a pair: {listed(missing)}. Name them all; "
            "an order that leaves cases out has been chosen."
        )
    place = pl.DataFrame({"case": given, "place": range(len(given))})
    return pairs.join(place, on="case", how="left").sort("place")


def _warnings(
    pairs: pl.DataFrame, rows: pl.DataFrame, column: str | None, unscored: int
) -> list[str]:
    found = []
    if "cluster" in rows.columns and rows["cluster"].n_unique() < rows["case"].n_unique():
        found.append(
            "cases come in clusters, which this test ignores: take one case of each cluster, or "
            "use tr.compare with a fixed number of cases"
        )
    if unscored:
        found.append(
            f"{unscored} cases without a verdict left out: fine only if chance decided which"
        )
    if column is not None:
        same = pairs.height - pairs["when"].n_unique()
        if same:
            found.append(f"{same} cases share their place in {column!r}: ordered by name")
    return found
