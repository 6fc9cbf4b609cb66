"""The rules that every counts table obeys, checked in this one place."""

from __future__ import annotations

import polars as pl

from trialframe.errors import CountsError, did_you_mean, listed
from trialframe.schema import MEASURES

MEASURE_SUMS = tuple(f"{name}_{part}" for name in MEASURES for part in ("n", "sum", "sumsq"))
INTEGERS = ("n", "c", "unscored", "unscored_failed", "c_secure")
RESERVED = frozenset(("config", "case", "cluster", "weight", *INTEGERS, *MEASURE_SUMS))
"""Names with a meaning of their own; every other column is one to group by."""


def normalised(frame: pl.DataFrame, by: tuple[str, ...]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Canonical types, columns and order of a counts table, or a CountsError.

    Returns:
        The frame sorted by (config, case), and the columns that rows can be grouped by.
    """
    frame = _typed(frame)
    extra = [name for name in frame.columns if name not in RESERVED]
    by = tuple(by) + tuple(name for name in extra if name not in by)
    ints = [name for name in INTEGERS if name in frame.columns]
    sums = [name for name in MEASURE_SUMS if name in frame.columns]
    level = [name for name in ("cluster", "weight") if name in frame.columns]
    frame = _sorted(frame.select("config", "case", *level, *by, *ints, *sums))
    _check_numbers(frame, ints)
    for name in level:
        _check_case_level(frame, name)
    return frame, by


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    for name in ("case", "n", "c"):
        if name not in frame.columns:
            raise CountsError(f"counts need a column {name!r}. {did_you_mean(name, frame.columns)}")
    added = {}
    if "config" not in frame.columns:
        added["config"] = pl.lit("system")
    if "unscored" not in frame.columns:
        added["unscored"] = pl.lit(0, pl.Int64)
    frame = frame.with_columns(**added)
    schema = frame.schema
    for name in INTEGERS:
        if name in schema and not schema[name].is_integer():
            raise CountsError(f"column {name!r} is {schema[name]}, counts are whole numbers.")
    texts = [n for n in ("config", "case", "cluster") if n in schema and schema[n] != pl.String]
    ints = [n for n in INTEGERS if n in schema and schema[n] != pl.Int64]
    casts = [pl.col(texts).cast(pl.String), pl.col(ints).cast(pl.Int64)]
    if "weight" in schema and schema["weight"] != pl.Float64:
        casts.append(pl.col("weight").cast(pl.Float64))
    return frame.with_columns(casts)


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by key; one pass over neighbours tells order and uniqueness together."""
    if _rising(frame):
        return frame
    frame = frame.sort("config", "case")
    if not _rising(frame):
        for name in ("config", "case"):
            if rows := frame[name].null_count():
                raise CountsError(f"{name} is null in {rows:,} rows of the counts.")
        repeated = frame.filter(pl.struct("config", "case").is_duplicated())
        first = repeated.select(pl.concat_str("config", "case", separator=", ")).to_series()
        raise CountsError(
            f"{repeated.height:,} rows share a (config, case). First: {listed(first, 3)}. "
            "Add them up, or make the key finer."
        )
    return frame


def _rising(frame: pl.DataFrame) -> bool:
    config, case = pl.col("config"), pl.col("case")
    before = (config.shift(1) < config) | ((config.shift(1) == config) & (case.shift(1) < case))
    known = frame["config"].null_count() == 0 and frame["case"].null_count() == 0
    return known and bool(frame.select(before.slice(1).all()).item())


def _check_numbers(frame: pl.DataFrame, ints: list[str]) -> None:
    rules = {f"{name} is null": pl.col(name).is_null() for name in ints}
    rules |= {f"{name} < 0": pl.col(name) < 0 for name in ints}
    rules["c > n"] = pl.col("c") > pl.col("n")
    if "c_secure" in ints:
        rules["c_secure > c"] = pl.col("c_secure") > pl.col("c")
    if "unscored_failed" in ints:
        rules["unscored_failed > n - c"] = pl.col("unscored_failed") > pl.col("n") - pl.col("c")
    failing = frame.select(**{name: rule.sum() for name, rule in rules.items()}).row(0, named=True)
    for name, rows in failing.items():
        if rows:
            first = frame.filter(rules[name]).select("config", "case", *ints).row(0, named=True)
            raise CountsError(f"{name} in {rows:,} rows of the counts. First: {first}.")


def _check_case_level(frame: pl.DataFrame, name: str) -> None:
    """A cluster or weight is known, and the same for a case in every config."""
    if rows := frame[name].null_count():
        raise CountsError(
            f"{name} is null in {rows:,} of {frame.height:,} rows of the counts. Give every case "
            f"a {name}; a case that stands alone can be its own cluster."
        )
    if name == "weight" and (bad := frame.filter(~pl.col("weight").is_between(0, 1e300))).height:
        raise CountsError(f"weight must be >= 0 and finite; {bad.height:,} rows are not.")
    pairs = frame.select("case", name).unique()
    if pairs.height == pairs["case"].n_unique():
        return
    torn = (
        pairs.group_by("case")
        .agg(pl.col(name).sort().implode())
        .filter(pl.col(name).list.len() > 1)
    )
    first = torn.sort("case").row(0, named=True)
    raise CountsError(
        f"{torn.height:,} cases have more than one {name}. First: case {first['case']!r} has "
        f"{listed(first[name], 4)}. If they are different cases, make the key finer, for example "
        f"case=['suite', 'case']."
    )
