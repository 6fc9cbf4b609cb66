"""A source table as canonical trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.read._fields import (
    Field,
    Plan,
    broken,
    complaint,
    expression,
    kind_of,
    resolve,
)
from trialframe.read._frames import reason

if TYPE_CHECKING:
    from collections.abc import Mapping

SEPARATOR = " | "

_MISFITS = (
    pl.exceptions.ColumnNotFoundError,
    pl.exceptions.ComputeError,
    pl.exceptions.DuplicateError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.SchemaError,
)


def planned(
    frame: pl.LazyFrame,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[pl.LazyFrame, Plan]:
    """Add the columns that are given as expressions, then resolve all columns."""
    made = {name: value for name, value in columns.items() if isinstance(value, pl.Expr)}
    if made:
        frame = _with_made(frame, made)
    named = {name: name if name in made else value for name, value in columns.items()}
    kinds = {name: kind_of(dtype) for name, dtype in frame.collect_schema().items()}
    return frame, resolve(kinds, named, threshold=threshold)


def _with_made(frame: pl.LazyFrame, made: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Add columns that are given as expressions, once these are known to fit."""
    before = frame.collect_schema()
    _refuse_unknown(made, before.names())
    frame = frame.with_columns(**made)
    try:
        frame.collect_schema()
        pl.DataFrame(schema=before).with_columns(**made)  # some type errors show only when run
    except _MISFITS as error:
        raise ColumnError(
            f"the expression for {listed(made)} does not fit the table: {reason(error)}."
        ) from error
    _refuse_single_values(made, before)
    return frame


def _refuse_single_values(made: Mapping[str, pl.Expr], schema: pl.Schema) -> None:
    """An aggregate gives one value, which every row would get; a constant is meant that way."""
    empty = pl.DataFrame(schema=schema)
    for name, value in made.items():
        if value.meta.root_names() and empty.select(value).height:
            raise ColumnError(
                f"{name}= gives one value for the whole table, every row needs its own. Compare "
                'the column itself, for example pl.col("reward") >= 1.'
            )


def _refuse_unknown(made: Mapping[str, pl.Expr], available: list[str]) -> None:
    for name, value in made.items():
        for root in value.meta.root_names():
            if root not in available:
                raise ColumnError(
                    f"no column {short(root)} (in the expression for {name}). "
                    f"{did_you_mean(root, available)}"
                )


def canonical(frame: pl.LazyFrame, plan: Plan) -> pl.LazyFrame:
    """Rename, cast and scale to the canonical columns; every other column stays as it is."""
    columns = {}
    for field in plan.fields:
        if not field.usable:
            columns.update({name: pl.col(name) for name in field.sources})
        elif len(field.sources) > 1:
            columns[field.name] = joined(field.sources)
            columns.update({name: pl.col(name) for name in field.sources if name not in columns})
        else:
            columns[field.name] = expression(field, pl)
    columns.update({name: pl.col(name) for name in plan.unused if name not in columns})
    return frame.select(**columns)


def joined(parts: tuple[str, ...]) -> pl.Expr:
    """Several key columns as one text, so escaped that different keys never meet."""
    escaped = [
        pl.col(part)
        .cast(pl.String)
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all("|", "\\|", literal=True)
        for part in parts
    ]
    return pl.concat_str(escaped, separator=SEPARATOR)


def refuse_broken(frame: pl.LazyFrame, fields: tuple[Field, ...]) -> None:
    """Raise where values break the contract, with how many rows and the first of them."""
    tests = {f.name: test for f in fields if (test := broken(f, pl)) is not None}
    if not tests:
        return
    found = frame.select(**{name: test.sum() for name, test in tests.items()}).collect()
    for field in fields:
        rows = int(found[field.name].item() or 0) if field.name in tests else 0
        if rows:
            raise TrialsError(complaint(field, rows, examples(frame, field, tests[field.name])))


def examples(frame: pl.LazyFrame, field: Field, test: pl.Expr, limit: int = 3) -> str:
    """The first rows where `test` holds, as "row 17 'Y', row 212 'yes'"."""
    name = (field.floats or field.sources)[0]
    first = frame.select(name, test.alias("_test")).with_row_index("_row").filter("_test")
    rows = first.select("_row", name).head(limit).collect().rows()
    return ", ".join(f"row {row} {short(value)}" for row, value in rows)
