"""Tables that platforms export, recognised by their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from trialframe.errors import ColumnError, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.read._combine import Raw
    from trialframe.read._log import Take
    from trialframe.read.logs import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """One kind of exported table.

    Attributes:
        name: The word for `format=`.
        title: The tool that writes it.
        files: What is exported.
        recognise: Whether a table is one, by its columns.
        convert: The table, the metric asked for and the threshold -> columns of trials.
        fields: Which column of the export becomes which column.
        trial: Where the number of a trial comes from.
        metric: What `metric=` names, and what is taken without it.
    """

    name: str
    title: str
    files: str
    recognise: Callable[[pl.Schema], bool]
    convert: Callable[[pl.LazyFrame, str | None, float | None], pl.LazyFrame]
    fields: tuple[Take, ...]
    trial: str
    metric: str = ""


def preset_of(raw: Raw, choice: Choice) -> Raw:
    """The table with the columns of trials, if it is a known export; else as it is.

    Raises:
        ColumnError: The format that was asked for does not fit the columns.
    """
    from trialframe.read._formats import TABLES

    asked = next((item for item in TABLES if item.name == choice.format), None)
    if choice.format == "table":
        return raw
    schema = raw.frame.collect_schema()
    found = asked or next((item for item in TABLES if item.recognise(schema)), None)
    if found is None:
        return raw
    if not found.recognise(schema):
        raise ColumnError(
            f"format={found.name!r}: the table is no export of {found.title}. Its columns: "
            f"{listed(schema, 20)}."
        )
    frame = found.convert(raw.frame, choice.metric, choice.threshold)
    unread = pl.DataFrame(schema={"file": pl.String, "place": pl.String, "reason": pl.String})
    return replace(
        raw, frame=frame, taken={take.column: take for take in found.fields}, unread=unread
    )
