"""What a result is: the table that it belongs to, by its type or its columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, ColumnError, TrialframeError, did_you_mean, listed
from trialframe.export.of_frames import FRAMES
from trialframe.export.of_results import RESULTS
from trialframe.export.rows import Rows, as_text
from trialframe.read._frames import to_lazy
from trialframe.warehouse import STAMPS, TABLES

if TYPE_CHECKING:
    from trialframe.export.of_frames import Kind

MAKERS = (
    *("tr.counts", "tr.summary", "tr.leaderboard", "tr.compare", "tr.compare_all"),
    *("tr.gate", "tr.gate_policy", "tr.fit_irt", "tr.audit", "tr.check_trials"),
)


def rows_of(result: Any, table: str | None) -> Rows:
    """The rows of a result, its table recognised by type or columns.

    Raises:
        ArgumentError: A result that no table holds, or one of another table than was named.
        ColumnError: Columns that the table needs are missing.
    """
    if table is not None and table not in TABLES:
        raise ArgumentError(f"table == {table!r}. {did_you_mean(str(table), TABLES)}")
    if isinstance(result, list | tuple) and result and not isinstance(result[0], dict):
        return _together([rows_of(part, table) for part in result])
    for kind, make in RESULTS.items():
        if isinstance(result, kind):
            made = make(result)
            break
    else:
        made = _of_frame(result, table)
    if table is not None and made.table.name != table:
        raise ArgumentError(
            f"table == {table!r}, but this {type(result).__name__} holds {made.table.name}: leave "
            "table out, or give what that table is made of."
        )
    return made


def _together(parts: list[Rows]) -> Rows:
    """Several results of one table as one."""
    names = sorted({part.table.name for part in parts})
    if len(names) > 1:
        raise ArgumentError(f"results of several tables, {listed(names)}: export each by itself.")
    settings = sorted({as_text(part.settings) for part in parts})
    every = [json.loads(text) for text in settings]
    frame = pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    return Rows(
        table=parts[0].table,
        frame=frame,
        settings=every[0] if len(every) == 1 else {"results": every},
    )


def _of_frame(result: Any, table: str | None) -> Rows:
    """The rows of a table in memory, told by its columns."""
    try:
        lazy = to_lazy(result)
    except TrialframeError:
        lazy = None
    if lazy is None:
        raise ArgumentError(
            f"cannot export a {type(result).__name__}. Give what {', '.join(MAKERS)} return, or a "
            "table in memory with their columns."
        )
    frame = lazy.collect()
    stamped = [column.name for column in STAMPS if column.name in frame.columns]
    if stamped:
        raise ArgumentError(
            f"the table has {listed(stamped)} already, so it was exported before. Copy it with the "
            "tools of the target, or drop these columns to export it anew."
        )
    for kind in FRAMES:
        if kind.needed <= set(frame.columns) and table in {None, kind.table}:
            return kind.make(frame)
    if table is not None:
        lacking = _lacking(frame.columns, [kind for kind in FRAMES if kind.table == table])
        raise ColumnError(f"{table}: {lacking}")
    raise ArgumentError(
        f"no table holds rows with the columns {listed(frame.columns)}. Give what "
        f"{', '.join(MAKERS)} return, or name one with table=: {listed(TABLES)}."
    )


def _lacking(columns: list[str], kinds: list[Kind]) -> str:
    fewest = min((kind.needed - set(columns) for kind in kinds), key=len)
    return f"the table lacks {listed(sorted(fewest))}. It has {listed(columns)}."
