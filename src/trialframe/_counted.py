"""The n and c of a case, from the columns of a frame to checked arrays.

Whatever the expressions of `expr` compute in Python goes through here, so that
every metric refuses the same tables with the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from trialframe.errors import ArgumentError, ColumnError, CountsError, short

Column: TypeAlias = str | pl.Expr
"""A column name or an expression."""

Counts: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]

Formula: TypeAlias = Callable[..., npt.NDArray[np.generic]]
"""Numbers or truth values per case from the arrays n and c; NaN where undefined."""

_WHOLE = 2.0**53  # beyond it a float is no count


def inputs(n: Column, c: Column, passed: Column | None) -> list[pl.Expr]:
    """Return n and c as expressions, counted from the trials where `passed` is given."""
    if passed is None:
        return [_column(n, "n"), _column(c, "c")]
    if not (isinstance(n, str) and isinstance(c, str) and (n, c) == ("n", "c")):
        raise ArgumentError("passed= counts n and c itself: give passed=, or n= and c=, not both.")
    verdict = pl.map_batches(
        [_column(passed, "passed")], _verdicts, return_dtype=pl.Boolean, is_elementwise=True
    )
    passes = pl.when(verdict).then(pl.lit(True)).count()
    return [verdict.count().cast(pl.Int64), passes.cast(pl.Int64)]


def _verdicts(series: Sequence[pl.Series]) -> pl.Series:
    """The column as truth values; 0 and 1 are taken, anything else is refused."""
    verdict = series[0]
    if verdict.dtype in (pl.Boolean, pl.Null):
        return verdict.cast(pl.Boolean)
    if verdict.dtype.is_numeric() and ((verdict == 0) | (verdict == 1)).all():
        return verdict == 1
    raise ColumnError(
        f"passed={verdict.name!r} is {verdict.dtype} and must be true, false or null. Compare "
        f'it, for example passed=pl.col("{verdict.name}") == "pass".'
    )


def _column(value: Column, name: str) -> pl.Expr:
    if isinstance(value, str):
        return pl.col(value)
    if isinstance(value, pl.Expr):
        return value
    raise ArgumentError(f"{name} == {short(value)}, must be a column name or an expression.")


def per_case(columns: list[pl.Expr], formula: Formula, dtype: type[pl.DataType]) -> pl.Expr:
    """Return the formula as an expression over n, c and what else it takes, one value per row.

    The formula sees only rows where n and c are known; NaN becomes null.
    """

    def values(series: Sequence[pl.Series]) -> pl.Series:
        n, c, known = _arrays(series[0], series[1])
        rest = [np.broadcast_to(more.to_numpy(), known.shape)[known] for more in series[2:]]
        out = np.full(known.shape, np.nan)
        out[known] = formula(n[known], c[known], *rest)
        return pl.Series(series[0].name, out, nan_to_null=True).cast(dtype)

    # Elementwise, so that Polars hands over whole columns, never one group at a time.
    return pl.map_batches(columns, values, return_dtype=dtype(), is_elementwise=True)


def _arrays(n: pl.Series, c: pl.Series) -> Counts:
    """Counts as Int64 arrays, with 0 where either is null, and where both are known."""
    trials, passes = _whole(n, "n"), _whole(c, "c")
    known = (trials.is_not_null() & passes.is_not_null()).to_numpy()
    left, right, known = np.broadcast_arrays(
        trials.fill_null(0).to_numpy(), passes.fill_null(0).to_numpy(), known
    )
    wrong = np.flatnonzero(known & ((right < 0) | (right > left)))
    if wrong.size:
        row = int(wrong[0])
        raise CountsError(
            f"passes must lie between 0 and the trials, 0 <= c <= n; {wrong.size} of {left.size} "
            f"rows break that. The first of them (row {row} as evaluated) has n == {left[row]}, "
            f"c == {right[row]}. Check that n and c are not swapped and count the same trials."
        )
    return left, right, known


def _whole(series: pl.Series, name: str) -> pl.Series:
    """The series as Int64, or an error when it holds anything but whole numbers."""
    kind = series.dtype
    if kind.is_integer() or kind == pl.Null:
        return series.cast(pl.Int64)
    if not kind.is_numeric():
        raise ColumnError(
            f"{name} must hold whole numbers; column {series.name!r} is {kind}. "
            "Name another column, or pass an expression that casts it."
        )
    value = series.cast(pl.Float64)
    bad = ((value != value.floor()) | ~value.abs().lt(_WHOLE)).fill_null(value=False)
    if bad.any():
        first = bad.arg_true()[0]
        raise ColumnError(
            f"{name} must hold whole numbers; column {series.name!r} has {bad.sum()} other values. "
            f"The first of them (row {first} as evaluated) is {series[first]}. "
            "Give counts, not rates; unknown is null."
        )
    return value.cast(pl.Int64)
