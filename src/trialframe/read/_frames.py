"""In-memory tables of any library as a Polars LazyFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from trialframe.errors import SourceError, short


def to_lazy(table: Any) -> pl.LazyFrame | None:
    """Turn an in-memory table into a LazyFrame; None for the lazy frame of another engine.

    In pandas NaN is how a missing value is written, so there it becomes null; everywhere
    else NaN stays NaN and is refused later on.
    """
    if isinstance(table, pl.LazyFrame):
        return table
    if isinstance(table, pl.DataFrame):
        return table.lazy()
    if _is_lazy_engine(table):
        return None
    try:
        if type(table).__module__.partition(".")[0] == "pandas":
            return pl.from_pandas(table, nan_to_null=True).lazy()
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False).lazy()
        if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
            return pl.from_dicts(list(table), infer_schema_length=None).lazy()
        if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__"):
            return pl.DataFrame(table).lazy()
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"cannot turn this {type(table).__name__} into a table: {reason(error)}. "
            "Give equally long columns, each of one type.",
        ) from error
    raise SourceError(
        f"cannot read a {type(table).__name__}. Give a path, a list of paths, or a table: Polars, "
        "pandas, pyarrow, a DuckDB relation, a Spark DataFrame, an Ibis table, a dict of columns.",
    )


def _is_lazy_engine(table: Any) -> bool:
    """Whether the table belongs to an engine that runs the group-by itself."""
    return type(table).__module__.partition(".")[0].lstrip("_") in {
        "duckdb",
        "pyspark",
        "ibis",
        "sqlframe",
        "dask",
    }


def reason(error: BaseException) -> str:
    """The first line of another library's error, cut when it is long, for our messages."""
    return short(str(error).strip().partition("\n")[0].rstrip("."), 300)[1:-1]
