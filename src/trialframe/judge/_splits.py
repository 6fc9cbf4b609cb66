"""Which splits are held out, and which ones the judge was tuned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialframe import _checks
from trialframe.errors import ArgumentError, listed
from trialframe.judge._labelled import SPLIT

if TYPE_CHECKING:
    import polars as pl

HELD_OUT = ("test",)
"""Splits whose labels count when nobody says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """What was asked for.

    Attributes:
        held_out: Splits whose labels count.
        tuned_on: Splits that the judge was tuned on; None for every other split.
    """

    held_out: tuple[str, ...]
    tuned_on: tuple[str, ...] | None

    @classmethod
    def of(cls, held_out: Any, tuned_on: Any) -> Splits:
        """Names of splits as the caller gave them."""
        return cls(
            held_out=_checks.names(held_out, "held_out"),
            tuned_on=None if tuned_on is None else _checks.names(tuned_on, "tuned_on"),
        )


def resolved(
    cells: pl.DataFrame, column: str | None, asked: Splits
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Held-out splits and those the judge was tuned on; None for a table without splits.

    Args:
        cells: Counts per case, with `SPLIT` when there is a column.
        column: The column of splits.
        asked: What was asked for.

    Raises:
        ArgumentError: A split that is not there, or splits without a column.
    """
    if column is None:
        for name, given in (("tuned_on", asked.tuned_on), ("held_out", asked.held_out)):
            if given and given != HELD_OUT:
                raise ArgumentError(
                    f"{name} == {list(given)}, but there is no split column. Name it: split=..."
                )
        return None
    there = cells[SPLIT].unique().drop_nulls().sort().to_list()
    for name in (*asked.held_out, *(asked.tuned_on or ())):
        if name not in there:
            raise ArgumentError(
                f"no split {name!r} in column {column!r}, which holds {listed(there)}. "
                "Name the held-out splits with held_out= (on the command line --held-out)."
            )
    others = tuple(name for name in there if name not in asked.held_out)
    return asked.held_out, others if asked.tuned_on is None else asked.tuned_on
