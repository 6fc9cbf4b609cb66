"""Keys of trials: numbers that logs do not give, repeats, and cases that are absent."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, TrialsError, listed, short
from trialframe.read._frames import to_lazy
from trialframe.read._take import constant
from trialframe.schema import ONE_CONFIG, TRIALS

log = logging.getLogger("trialframe")

CELL = ("config", "case")
KEY = (*CELL, "trial")
KEEP = ("raise", "first", "last", "all")
ABSENT = ("fail", "unscored")
_ROW, _REPEATED = "_row of the source", "_repeated in the source"
_PLACE = "_place in time"
RESULTS = frozenset({"log", "error", "outcome", "grade", "reason", "limit", "run_status"})
"""Columns that tell how a trial went or where it is: no names of systems."""

APART = 12
"""Columns at most that are looked at for what tells repeated keys apart."""


def keyed(
    frame: pl.LazyFrame | pl.DataFrame, *, keep: str, cases: Any, absent: str
) -> pl.LazyFrame:
    """Trials with a number each, no key twice, and absent cases filled in if they are listed.

    Raises:
        TrialsError: A key is there twice and keep is "raise".
        ArgumentError: The list of cases does not fit the table.
    """
    _checks.one_of(absent, "absent", ABSENT)
    rows = with_config(frame if isinstance(frame, pl.DataFrame) else frame.collect())
    made = {"trial": pl.Int64, "trial_made": pl.Boolean}
    lacking = [name for name in made if name not in rows.columns]
    rows = rows.hstack([constant(name, None, made[name], rows.height) for name in lacking])
    rows, dropped = unique(rows, keep)
    if dropped:
        log.warning("%d rows with a repeated (config, case, trial) dropped, %s kept", dropped, keep)
    rows = numbered(rows)
    if cases is not None:
        rows, added = with_absent(rows, listed_cases(cases), absent)
        log.info("%d absent trials added as %s", added, absent)
    found = {column.name: column for column in rows.get_columns()}
    leading = [found.pop(item.name) for item in TRIALS if item.name in found]
    return pl.DataFrame([*leading, *found.values()]).lazy()


def with_config(frame: pl.DataFrame) -> pl.DataFrame:
    """One system where none is named."""
    if "config" in frame.columns:
        return frame
    return frame.with_columns(config=pl.lit(ONE_CONFIG))


def unique(frame: pl.DataFrame, keep: str) -> tuple[pl.DataFrame, int]:
    """Rows whose (config, case, trial) is there once, and how many were left out.

    Attempts of one trial repeat nothing, nor do rows without a trial number. With keep "all" the
    trials of a case that has a repeat lose their numbers, and are numbered anew.

    Raises:
        TrialsError: A key is there twice and keep is "raise".
    """
    if frame["trial"].null_count() == frame.height:
        return frame, 0
    key = (*KEY, "attempt") if "attempt" in frame.columns else KEY
    if not frame.select(key).is_duplicated().any():
        return frame, 0
    known = pl.all_horizontal(pl.col(KEY).is_not_null())
    repeated = frame.select((pl.len().over(key) > 1) & known).to_series()
    if not repeated.any():
        return frame, 0
    if keep == "raise":
        raise TrialsError(_repeats(frame, frame.filter(repeated)))
    # a literal has no groups, so what is asked of groups must be a column
    marked = frame.with_row_index(_ROW).with_columns(repeated.alias(_REPEATED))
    if keep == "all":
        alone = ~pl.col(_REPEATED).any().over(CELL)
        kept = marked.with_columns(trial=pl.when(alone).then("trial"))
    else:
        if {"log", "started_at"} <= set(frame.columns):  # files come in any order
            marked = marked.sort("started_at", maintain_order=True)
        place = pl.col(_PLACE)
        side = place.min() if keep == "first" else place.max()
        sides = ~pl.col(_REPEATED) | (place == side.over(key))
        kept = marked.with_row_index(_PLACE).filter(sides).drop(_PLACE).sort(_ROW)
    return kept.drop(_ROW, _REPEATED), frame.height - kept.height


def _repeats(frame: pl.DataFrame, rows: pl.DataFrame) -> str:
    """What to say of rows that share a key, with the column that tells them apart, if any."""
    first = rows.row(0, named=True)
    others = [n for n in rows.columns if n not in KEY and rows[n].dtype == pl.String]
    logs = rows.filter(pl.all_horizontal(pl.col(n) == first[n] for n in KEY))
    where = f" in {listed(logs['log'].unique(maintain_order=True), 3)}" if "log" in others else ""
    labels = rows.select(
        name for name in others[:APART] if name not in RESULTS and rows[name].null_count() == 0
    )
    apart = [
        name
        for name in labels.columns
        if rows.select((pl.col(name).n_unique().over(KEY) == pl.len().over(KEY)).all()).item()
        and _names_systems(frame, name)
    ]
    hint = (
        f" They differ in {listed(apart, 3)}: config=['config', {apart[0]!r}] keeps them apart."
        if apart
        else ""
    )
    return (
        f"{rows.height:,} rows share a config, case and trial. First: {short(first['config'])}, "
        f"{short(first['case'])}, trial {first['trial']}{where}.{hint} Else give "
        'keep="first" or "last" for copies and retries, or keep="all" for trials of their own.'
    )


def _names_systems(frame: pl.DataFrame, name: str) -> bool:
    """Whether a log has one value of a column, or each value all cases: a result has neither."""
    if "log" in frame.columns and frame["log"].n_unique() > 1:
        return bool(frame.group_by("log").agg(pl.col(name).n_unique())[name].max() == 1)
    cases = frame.group_by("config", name).agg(pl.col("case").n_unique())
    spread = cases.group_by("config").agg(pl.col("case").n_unique())["case"]
    return bool(spread.max() == 1)


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Give trials without a number the next free ones of their case, and mark them.

    Such a number is the order in time, where it is known, else that of the rows, and means nothing
    else: never pair it across configs. A second or later attempt belongs to the trial of the row
    before it.
    """
    if not frame["trial"].null_count():
        made_up = frame["trial_made"]
        if made_up.null_count() < frame.height:
            return frame.with_columns(made_up.fill_null(False))
        return frame.with_columns(constant("trial_made", False, pl.Boolean, frame.height))
    made = pl.col("trial").is_null()
    first = made
    if _in_order(frame):
        number = pl.int_range(pl.len(), dtype=pl.Int64).over(CELL)
        return frame.with_columns(trial=number, trial_made=pl.lit(True))
    frame = frame.with_row_index(_ROW)
    if "attempt" not in frame.columns and "started_at" in frame.columns:
        frame = frame.sort("started_at", nulls_last=True, maintain_order=True)
    if "attempt" in frame.columns:
        first = made & (pl.col("attempt").fill_null(1) <= 1)
    start = (pl.col("trial").max() + 1).fill_null(0).over(CELL)
    order = (first.cast(pl.Int64).cum_sum().over(CELL) - 1).clip(0) + start
    marked = frame.with_columns(
        trial=pl.when(made).then(order).otherwise("trial"),
        trial_made=made | pl.col("trial_made").fill_null(False),
    )
    return marked.sort(_ROW).drop(_ROW)


def _in_order(frame: pl.DataFrame) -> bool:
    """Whether all numbers are to be made, and from the order of the rows."""
    ordered = not {"attempt", "started_at"} & set(frame.columns)
    return ordered and frame["trial"].null_count() == frame.height


def listed_cases(cases: Any) -> pl.Series:
    """The full list of cases as text.

    Raises:
        ArgumentError: It is empty, holds nulls, or is no list of cases.
    """
    if isinstance(cases, str):
        raise ArgumentError(f"cases == {short(cases)}, must be a list of case names, or a table.")
    if isinstance(cases, pl.Series):
        values = cases
    elif isinstance(cases, Iterable) and not hasattr(cases, "columns"):
        values = pl.Series(list(cases), dtype=None, strict=False)
    else:
        table = to_lazy(cases)
        if table is None or "case" not in table.collect_schema():
            raise ArgumentError("cases must be a list of case names, or a table with column case.")
        values = table.select("case").collect().to_series()
    if not values.len() or values.null_count() or values.dtype.is_nested():
        raise ArgumentError(
            "cases must name at least one case, none of them null; they are compared as text."
        )
    return values.cast(pl.String).unique(maintain_order=True).alias("case")


def with_absent(frame: pl.DataFrame, cases: pl.Series, absent: str) -> tuple[pl.DataFrame, int]:
    """Add a row for every case of the list that a config's trial lacks, and how many.

    Raises:
        ArgumentError: The table has cases that the list lacks.
    """
    strange = frame.filter(~pl.col("case").is_in(cases.implode()))["case"].unique().sort()
    if strange.len():
        raise ArgumentError(
            f"cases: the table has {strange.len():,} cases that the list lacks: "
            f"{listed(strange, 4)}. "
            "The list must name every case, as they are written in the table."
        )
    runs = frame.select("config", "trial", "trial_made").unique(["config", "trial"])
    grid = runs.join(cases.to_frame(), how="cross")
    missing = grid.join(frame, on=list(KEY), how="anti").sort(KEY)
    verdict = pl.lit(False if absent == "fail" else None, pl.Boolean)
    rows = missing.with_columns(passed=verdict, outcome=pl.lit("absent"))
    if "attempt" in frame.columns:
        rows = rows.with_columns(attempt=pl.lit(1, pl.Int64))
    return pl.concat([frame, rows], how="diagonal_relaxed"), missing.height
