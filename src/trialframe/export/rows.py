"""Rows on their way to a warehouse table, and what every row must satisfy."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from trialframe.errors import ColumnError
from trialframe.warehouse import STAMPS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trialframe.warehouse import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A result on its way out.

    Attributes:
        table: The table that its rows belong to.
        frame: The rows; columns of the table that are missing are null.
        settings: What the result says it was made with, plain values.
    """

    table: Table
    frame: pl.DataFrame
    settings: dict[str, Any] = field(default_factory=dict)


def as_text(value: object) -> str:
    """Plain values as JSON with sorted names; what JSON does not know becomes text.

    Examples:
        >>> as_text({"b": (1, None), "a": float("nan")})
        '{"a":null,"b":[1,null]}'
    """
    return json.dumps(
        _finite(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    )


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(inner) for inner in value]
    return value


MOST_SETTINGS = 16
"""Distinct values of a column that are listed; they stand in every row."""


def distinct(frame: pl.DataFrame, *names: str) -> dict[str, Any]:
    """The distinct values of columns as settings, sorted, unknown ones left out.

    Of a column with many only their number and hash are kept.
    """
    found = {
        name: sorted(frame[name].drop_nulls().unique().to_list(), key=str)
        for name in names
        if name in frame.columns
    }
    return {
        name: values if len(values) <= MOST_SETTINGS else _digest(values)
        for name, values in found.items()
    }


def _digest(values: list[Any]) -> dict[str, Any]:
    text = as_text(values)
    return {"values": len(values), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def json_of(frame: pl.DataFrame, names: Iterable[str]) -> pl.Expr:
    """Some columns as one JSON object a row, names sorted; numbers stay numbers.

    Raises:
        ColumnError: A column of lists, structs, bytes, durations or objects.
    """
    columns = []
    for name in sorted(names):
        dtype = frame.schema[name]
        column = pl.col(name)
        if dtype.is_nested() or dtype.base_type() in {pl.Binary, pl.Duration, pl.Object}:
            raise ColumnError(
                f"column {name!r} of type {dtype} cannot be one that rows are grouped by: drop it, "
                "or turn it into text first."
            )
        if dtype.is_float():
            column = pl.when(column.is_finite()).then(column)
        elif not (dtype.is_integer() or dtype in {pl.Boolean, pl.String}):
            column = column.cast(pl.String)
        columns.append(column.alias(name))
    if not columns:
        return pl.lit("{}")
    return pl.struct(columns).struct.json_encode()


def conformed(rows: Rows, suite: str) -> pl.DataFrame:
    """The rows in the columns and types of their table, sorted by key, without stamps.

    NaN and infinity become null.

    Raises:
        ColumnError: A column of another type, null where the table allows none, a repeated key.
    """
    table, frame = rows.table, rows.frame
    own = table.columns[: -len(STAMPS)]
    frame = frame.with_columns(suite=pl.lit(suite))
    try:
        frame = frame.select(
            (pl.col(c.name) if c.name in frame.columns else pl.lit(None))
            .cast(c.dtype)
            .alias(c.name)
            for c in own
        )
    except pl.exceptions.InvalidOperationError as error:
        first = str(error).partition("\n")[0]
        raise ColumnError(
            f"{table.name}: a column is not of the type it must have: {first}"
        ) from None
    real = cs.float()
    frame = frame.with_columns(pl.when(real.is_finite()).then(real))
    for column in own:
        if not column.nullable and (missing := frame[column.name].null_count()):
            raise ColumnError(
                f"{table.name}: {column.name} is null in {missing:,} rows, and must be known: "
                f"{column.meaning}."
            )
    return _in_order(frame, table)


def _in_order(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Sorted by key, each key once."""
    keys = list(table.key)
    frame = frame.sort(keys)
    if frame.height < 2:
        return frame
    same = frame.select(
        pl.all_horizontal(pl.col(k) == pl.col(k).shift(1) for k in keys)
    ).to_series()
    if same.any():
        first = frame.filter(same).select(keys).row(0, named=True)
        raise ColumnError(
            f"{table.name}: rows share the key ({', '.join(keys)}). First: {first}. Export them "
            "one after another, under run ids of their own."
        )
    return frame
