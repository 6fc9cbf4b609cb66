"""Checks of scalar arguments at the public border; one message shape for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TypeVar

from trialframe.errors import ArgumentError, did_you_mean, short

Word = TypeVar("Word", bound=str)


def integer(value: object, name: str, *, low: int, high: int | None = None) -> int:
    """Return `value` as an int, or raise when it is not a whole number in [low, high]."""
    wanted = f"an integer >= {low}" + ("" if high is None else f" and <= {high}")
    number = None
    if not isinstance(value, bool) and isinstance(value, Integral):
        number = int(value)
    if number is None or number < low or (high is not None and number > high):
        raise ArgumentError(f"{name} == {short(value)}, must be {wanted}.")
    return number


def between(
    value: object,
    name: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    inclusive: bool = True,
) -> float:
    """Return `value` as a float, or raise when it is outside the interval from low to high."""
    bounds = f"[{low:g}, {high:g}]" if inclusive else f"({low:g}, {high:g})"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentError(f"{name} == {short(value)}, must be a number in {bounds}.")
    number = float(value)
    inside = low <= number <= high if inclusive else low < number < high
    if not inside:
        raise ArgumentError(f"{name} == {short(value)}, must be in {bounds}.")
    return number


def one_of(value: object, name: str, allowed: Iterable[Word]) -> Word:
    """Return `value`, or raise with the allowed words when it is none of them."""
    words = list(allowed)
    for word in words:
        if isinstance(value, str) and value == word:
            return word
    raise ArgumentError(f"{name} == {short(value)}. {did_you_mean(str(value), words)}")


def names(value: object, name: str) -> tuple[str, ...]:
    """Return a tuple of column names from None, one name or several."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        items = tuple(value)
        if all(isinstance(item, str) for item in items):
            return items
    raise ArgumentError(f"{name} == {short(value)}, must be a column name or a list of names.")
