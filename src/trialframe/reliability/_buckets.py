"""Cases in ordered buckets: of duration, of steps, of difficulty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.reliability._table import counted
from trialframe.schema import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUCKET = "bucket"
KEYS = ("config", "case", "trial", "attempt", "passed")
MOST_NUMBERS = 12
"""Different whole numbers up to which each is a bucket of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketed:
    """Counts whose cases are in buckets.

    Attributes:
        counts: Counts with a column `bucket`, null where it is unknown.
        order: Names of the buckets, in order.
        notes: What was left out or taken for what.
    """

    counts: Counts
    order: tuple[str, ...]
    notes: tuple[str, ...]


def bucketed(
    table: Any,
    columns: Mapping[str, Any],
    *,
    bucket: str,
    order: Sequence[str] | None,
    edges: Sequence[float] | None,
    labels: Sequence[str] | None,
    unscored: Any,
    threshold: float | None,
) -> Bucketed:
    """Count, and put every case in its bucket.

    Args:
        table: Trials or counts.
        columns: Where canonical columns of trials are.
        bucket: A column that is constant within a case, or a measure of the counts.
        order: Names of the buckets, first to last.
        edges: Where buckets of a number begin, ascending: below the first, from it on, ...
        labels: Names of those, one more than edges.
        unscored: Policy for trials without a verdict.
        threshold: Pass when score >= threshold.

    Raises:
        ArgumentError: Buckets without an order, or an order that does not fit.
        ColumnError: No such column.
        TrialsError: Fewer than two buckets hold cases.
    """
    if not isinstance(bucket, str):
        raise ArgumentError(f"bucket == {short(bucket)}, must be the name of a column.")
    if bucket in KEYS:
        raise ArgumentError(
            f"bucket == {bucket!r} tells the {bucket}s apart and is no length. Name a column that "
            "groups cases, such as a difficulty or the minutes that a task takes."
        )
    spent = bucket in MEASURES
    if order is None and edges is None:
        order = _enumerated(table, bucket)
    kept = () if spent or isinstance(table, Counts) else (bucket,)
    found = counted(table, columns, by=kept, unscored=unscored, threshold=threshold)
    values, notes = _values(found, bucket, spent=spent)
    if edges is not None or labels is not None:
        texts, order = _cut(values, bucket, edges, labels)
    else:
        texts, order = _named(values, bucket, order)
    if missing := int(texts.null_count()):
        notes.append(f"{missing:,} rows without a known {bucket} are left out")
    taken = [name for name in found.by if name != BUCKET]
    frame = found.frame.drop(BUCKET, strict=False).with_columns(texts.alias(BUCKET))
    held = frame.filter(pl.col("n") > 0)[BUCKET].drop_nulls().n_unique()
    if held < 2:
        raise TrialsError(
            f"only {held} bucket of {bucket!r} holds scored cases: a curve needs two or more."
        )
    made = Counts(frame, None, (*taken, BUCKET), found.unscored, found.mapping, found.notes)
    return Bucketed(counts=made, order=order, notes=tuple(notes))


def _enumerated(table: Any, bucket: str) -> Sequence[str] | None:
    """The order that the type of a Polars column holds."""
    if not isinstance(table, pl.DataFrame | pl.LazyFrame):
        return None
    dtype = table.collect_schema().get(bucket)
    return dtype.categories.to_list() if isinstance(dtype, pl.Enum) else None


def _values(found: Counts, bucket: str, *, spent: bool) -> tuple[pl.Series, list[str]]:
    """The column behind the buckets, one value a row of the counts."""
    frame = found.frame
    if bucket in found.by:
        return frame[bucket], []
    if spent and bucket in found.measures:
        per_case = pl.col(f"{bucket}_sum").sum().over("case").cast(pl.Float64)
        known = pl.col(f"{bucket}_n").sum().over("case")
        mean = pl.when(known > 0).then(per_case / known)
        note = (
            f"cases are put in buckets by their mean {bucket} over all configs, which failing "
            "trials move too: a length known beforehand is better"
        )
        return frame.select(mean.alias(bucket)).to_series(), [note]
    raise ColumnError(
        f"bucket: these counts hold no column {bucket!r}; keep it with "
        f"tr.counts(..., by={bucket!r}). {did_you_mean(bucket, [*found.by, *found.measures])}"
    )


def _cut(
    values: pl.Series, bucket: str, edges: Any, labels: Sequence[str] | None
) -> tuple[pl.Series, tuple[str, ...]]:
    """Numbers as buckets that begin at the edges."""
    if not values.dtype.is_numeric():
        raise ArgumentError(f"edges: column {bucket!r} is {values.dtype}, edges cut numbers.")
    if values.dtype.is_float() and (odd := int(values.is_nan().sum())):
        raise TrialsError(f"{bucket!r} is NaN in {odd:,} rows. Unknown is null.")
    cuts = list(edges) if isinstance(edges, Iterable) and not isinstance(edges, str) else []
    if not cuts:
        raise ArgumentError(f"edges == {short(edges)}, must be numbers, as in [5, 30, 120].")
    numbers = [
        _checks.between(cut, f"edges[{i}]", low=-1e300, high=1e300) for i, cut in enumerate(cuts)
    ]
    if any(b <= a for a, b in pairwise(numbers)):
        raise ArgumentError(f"edges == {short(edges)}, must rise.")
    words = _words(numbers) if labels is None else _checks.names(labels, "labels")
    if len(words) != len(numbers) + 1 or len(set(words)) != len(words):
        raise ArgumentError(f"labels == {short(labels)}, must be {len(numbers) + 1} names.")
    known = values.is_not_null()
    place = np.searchsorted(numbers, values.cast(pl.Float64).fill_null(0.0).to_numpy(), "right")
    made = pl.Series(words).gather(place)
    return made.zip_with(known, pl.Series([None], dtype=pl.String)), tuple(words)


def _words(edges: list[float]) -> tuple[str, ...]:
    middle = [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
    return (f"< {edges[0]:g}", *middle, f">= {edges[-1]:g}")


def _named(
    values: pl.Series, bucket: str, order: Sequence[str] | None
) -> tuple[pl.Series, tuple[str, ...]]:
    """Names as buckets, in the order given, or numbers in their own."""
    seen = values.drop_nulls().unique().sort()
    if order is None:
        if values.dtype.is_integer() and len(seen) <= MOST_NUMBERS:
            return values.cast(pl.String), tuple(str(number) for number in seen)
        if values.dtype.is_numeric():
            raise ArgumentError(
                f"bucket {bucket!r} holds {len(seen):,} different numbers: say where buckets "
                "begin, as in edges=[5, 30, 120]."
            )
        raise ArgumentError(
            f"the buckets of {bucket!r} have no order that can be seen: {listed(seen)}. Name it, "
            f"as in order={list(map(str, seen[:4]))!r}, from the shortest to the longest."
        )
    words = _checks.names(list(order), "order")
    if len(set(words)) != len(words) or len(words) < 2:
        raise ArgumentError(f"order == {short(order)}, must be two or more different buckets.")
    texts = values.cast(pl.String)
    if unknown := sorted(set(texts.drop_nulls()) - set(words)):
        raise ArgumentError(
            f"order == {short(order)} lacks {listed(unknown)}, which {bucket!r} holds. Name every "
            "bucket, or leave these rows out."
        )
    return texts, words
