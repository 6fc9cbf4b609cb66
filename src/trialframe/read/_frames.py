"""In-memory tables of any library as a Polars LazyFrame."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import polars as pl

from trialframe.errors import SourceError, listed, short

_TEXT = (str, bytes, bytearray, memoryview)

FAILURES = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
"""What pandas, pyarrow and Polars raise when a table cannot be taken over."""


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
            return _of_pandas(table).lazy()
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False).lazy()
        if (
            isinstance(table, Sequence)
            and not isinstance(table, _TEXT)
            and all(isinstance(row, Mapping) for row in table)
        ):
            return _of_dicts(table).lazy()
        if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__"):
            return pl.DataFrame(table).lazy()
    except FAILURES as error:
        raise SourceError(
            f"cannot turn this {type(table).__name__} into a table: "
            f"{_mixed(table) or reason(error)}. Give equally long columns, each of one type.",
        ) from error
    raise SourceError(f"cannot read a {type(table).__name__}. {_instead(table)}")


def _of_pandas(table: Any) -> pl.DataFrame:
    """A pandas table; nested values that have no common type become JSON text, ids text."""
    try:
        return pl.from_pandas(table, nan_to_null=True)
    except FAILURES:
        odd = {}
        for name in dict.fromkeys(table.columns):
            column = table[name]
            if str(getattr(column, "dtype", "")) == "object":
                kinds = {type(value) for value in column.dropna()}
                if kinds <= {dict, list, tuple}:
                    odd[name] = column.map(_as_json, na_action="ignore")
                elif kinds == {UUID}:
                    odd[name] = column.map(str, na_action="ignore")
        if not odd:
            raise
        return pl.from_pandas(table.assign(**odd), nan_to_null=True)


def _of_dicts(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows; columns of nested values that have no common type become JSON text."""
    try:
        return pl.from_dicts(list(rows), infer_schema_length=None)
    except FAILURES:
        names = {name for row in rows for name, v in row.items() if isinstance(v, dict | list)}
        if not names:
            raise
        flat = [
            dict(row) | {n: _as_json(row[n]) for n in names if row.get(n) is not None}
            for row in rows
        ]
        return pl.from_dicts(flat, infer_schema_length=None)


def _as_json(value: Any) -> str:
    return json.dumps(value, default=str)


def _instead(table: Any) -> str:
    """What to give in place of something that is no table."""
    first = next(iter(table), None) if isinstance(table, Sequence) else None
    if isinstance(table, str | os.PathLike) or isinstance(first, str | os.PathLike):
        path = os.fspath(table) if isinstance(table, os.PathLike) else table
        return f"Read it first: tr.read({short(path)})."
    if isinstance(table, bytes | bytearray | memoryview):
        return "Write it to a file and give the path, or read it with Polars."
    if type(table).__module__.partition(".")[0] == "numpy":
        return 'Name its columns: pl.DataFrame(array, schema=["config", "case", "passed"]).'
    if isinstance(table, Sequence):
        return (
            f"It holds {short(first)}, and a dict per row is needed, or a dict of columns: "
            '{"config": [...], "case": [...], "passed": [...]}.'
        )
    return (
        "Give a path, a list of paths, or a table: Polars, pandas, pyarrow, a DuckDB relation, a "
        "Spark DataFrame, an Ibis table, a dict of columns."
    )


def _mixed(table: Any) -> str:
    """The first pandas column of several types, or whose name is there twice."""
    if type(table).__module__.partition(".")[0] != "pandas" or not hasattr(table, "columns"):
        return ""
    names = list(table.columns)
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        return f"several columns are named {listed(repeated)}"
    for name in names:
        try:
            pl.from_pandas(table[[name]], nan_to_null=True)
        except FAILURES as error:
            kinds = table[name].dropna().map(lambda value: type(value).__name__).unique().tolist()
            if len(kinds) > 1:
                return f"column {short(name)} mixes {' and '.join(sorted(kinds)[:4])}"
            return f"column {short(name)}: {reason(error)}"
    return ""


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
