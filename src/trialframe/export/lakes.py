"""What Delta and Iceberg share: Arrow tables with the contract, and new tries after conflicts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from trialframe.warehouse import Table

TRIES = 20


def arrow_of(frame: pl.DataFrame, table: Table, note: str) -> Any:
    """The rows as an Arrow table whose fields say what is never null, and what they mean.

    Args:
        frame: The rows with all columns of the table.
        table: The contract.
        note: Name under which the format keeps the meaning of a column.
    """
    import pyarrow as pa

    made = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    fields = []
    for column, field in zip(table.columns, made.schema, strict=True):
        told = f"{column.meaning} ({column.unit})" if column.unit else column.meaning
        fields.append(pa.field(field.name, field.type, column.nullable, {note: told}))
    return made.cast(pa.schema(fields))


def until_done(attempt: Callable[[], None], conflicts: tuple[type[Exception], ...]) -> None:
    """Try again from the start while others commit in between.

    Raises:
        Exception: The conflict, after the last try.
    """
    for number in range(TRIES):
        try:
            attempt()
        except conflicts:
            if number == TRIES - 1:
                raise
            time.sleep(min(0.05 * 2**number, 2.0))
        else:
            return
