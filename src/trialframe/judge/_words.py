"""Numbers as words, and unknown numbers as None."""

from __future__ import annotations

from math import isnan
from typing import Any

from trialframe.schema import ONE_CONFIG


def known(number: Any) -> float | None:
    """A float, None for NaN."""
    value = float(number)
    return None if isnan(value) else value


def called(config: str | None) -> str:
    """What to call a config in a sentence: its name, or "the run" where there are no names.

    Examples:
        >>> called("new"), called(None)
        ('new', 'the run')
    """
    return "the run" if config is None or config == ONE_CONFIG else config


def percent(value: float | None) -> str:
    """A share as percent with one decimal, "-" when unknown.

    Examples:
        >>> percent(0.1234), percent(None)
        ('12.3 %', '-')
    """
    return "-" if value is None else f"{100.0 * value:.1f} %"


def points(value: float | None) -> str:
    """A difference of shares in points, "-" when unknown.

    Examples:
        >>> points(0.1234), points(-0.05)
        ('+12.3', '-5.0')
    """
    return "-" if value is None else f"{100.0 * value:+.1f}"
