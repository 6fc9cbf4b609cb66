"""Columns named on the command line: a name, or a simple condition such as 'reward >= 1'."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, short

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
EQUALITY = ("==", "!=")

_CONDITION = re.compile(
    r"""\s*(?P<quote>["'`]?)(?P<column>.+?)(?P=quote)"""
    r"""\s*(?P<sign>==|!=|>=|<=|>|<)\s*(?P<value>.+?)\s*""",
    re.DOTALL,
)
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison of a column with a fixed value: a number, true or false, or a text."""

    column: str
    sign: str
    value: float | bool | str

    def expression(self) -> pl.Expr:
        """The condition in Polars; null and NaN have no verdict."""
        column = pl.col(self.column)
        if isinstance(self.value, bool):
            value = column
        elif isinstance(self.value, str):
            value = column.cast(pl.String)
        else:
            value = column.cast(pl.Float64).fill_nan(None)
        made: pl.Expr = OPERATORS[self.sign](value, self.value)
        return made


def condition(text: str) -> Condition | None:
    """The condition that a text holds, or None when it is a plain column name.

    Args:
        text: A column, `== != >= <= > <`, and a number, true, false or a text. Quotes round
            the column allow any name; quotes round the value make it a text.

    Raises:
        ArgumentError: A text or a truth value is put in order.

    Examples:
        >>> condition("grade == C")
        Condition(column='grade', sign='==', value='C')
        >>> condition("'tests passed' >= 1").value, condition("resolved")
        (1.0, None)
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        return None
    value = _literal(match["value"])
    if isinstance(value, bool | str) and match["sign"] not in EQUALITY:
        raise ArgumentError(
            f"{short(text)}: {match['sign']} compares numbers, and {short(match['value'])} is "
            "none. Use == or !=."
        )
    return Condition(column=match["column"], sign=match["sign"], value=value)


def _literal(text: str) -> float | bool | str:
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return quoted[2]
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
