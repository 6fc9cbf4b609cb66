"""A confidence sequence of a mean: an interval that may be looked at after every value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.errors import ArgumentError, short
from trialframe.kernels.betting import SHRINK, Betting, betting_interval, betting_path
from trialframe.kernels.sequential import bernoulli_sequence
from trialframe.results import Result

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Theme

METHODS = ("bernoulli", "betting")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfidenceSequence(Result):
    """An interval for a mean that holds at all times at once.

    Attributes:
        mean: Mean of the values so far, None without any.
        low: Lower end; None where a running intersection is empty.
        high: Upper end; None where a running intersection is empty.
        level: Probability to hold at every time.
        values: Number of values.
        method: "bernoulli" (uniform mixture) or "betting" (hedged capital).
        shrink: "current" or "running".
        warnings: What weakens the statement.
        path: One row per value: `value`, `mean` so far, `low`, `high`; for "betting" on a grid of a
            thousandth of the range, outwards, but in the last row, which holds the ends themselves.
    """

    mean: float | None
    low: float | None
    high: float | None
    level: float
    values: int
    method: str
    shrink: str
    warnings: tuple[str, ...]
    path: pl.DataFrame = field(repr=False, compare=False)

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """The mean and its band as values came in; see `Result.plot`."""
        from trialframe import charts

        return charts.confidence(
            self.path, level=self.level, method=self.method, theme=theme, width=width
        )


def confidence_sequence(
    values: Any,
    *,
    method: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    shrink: str = "current",
    level: float = 0.95,
) -> ConfidenceSequence:
    """Interval for the mean of values that come one by one, valid whenever one stops.

    For the trials of one case, or for one value per case (its first trial, its mean of a fixed
    number of trials) with the cases in random order. Not for the trials of several cases one
    after another: they have no common mean. Where the number of values was fixed beforehand
    `tr.summary` gives narrower intervals.

    Args:
        values: Numbers or truth values in the order in which they came; no unknown ones.
        method: "bernoulli" (only 0 and 1), "betting"; by default "bernoulli" for truth values
            and "betting" for numbers.
        bounds: Smallest and largest value that could have come: (0, 1) for scores, (-1, 1) for
            differences of rates.
        shrink: "current", or "running" for the intersection with all earlier intervals: valid too
            and never wider, but empty when the mean drifts.
        level: Probability to hold at every time, in (0, 1).

    Returns:
        A `ConfidenceSequence`.

    Raises:
        ArgumentError: Unknown values, values out of bounds, or other values than 0 and 1 for
            "bernoulli".

    Notes:
        "bernoulli": {p : B(1+c, 1+n-c) / (p^c (1-p)^(n-c)) < 1/alpha}. "betting": hedged capital of
        Waudby-Smith and Ramdas with predictable plug-in bets. Both hold when each value has the
        same mean given those before it.

    References:
        Robbins 1970; Waudby-Smith and Ramdas 2024, J. R. Stat. Soc. B 86:1.

    Examples:
        >>> import trialframe as tr
        >>> found = tr.confidence_sequence([True] * 9 + [False])
        >>> round(found.low, 4), round(found.high, 4), found.method
        (0.4549, 0.9995, 'bernoulli')
        >>> drops = tr.confidence_sequence([0.0, -0.5, 0.0, -1.0] * 10, bounds=(-1, 1))
        >>> round(drops.low, 3), round(drops.high, 3)
        (-0.565, -0.125)
    """
    level = _checks.between(level, "level", inclusive=False)
    _checks.one_of(shrink, "shrink", SHRINK)
    low, high = _bounds(bounds)
    series = _series(values)
    how = _method(series, method)
    x = series.cast(pl.Float64).to_numpy()
    outside = ~((x >= low) & (x <= high))
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise ArgumentError(
            f"values[{at}] == {x[at]:g} is outside bounds == ({low:g}, {high:g}). Give the bounds "
            "that hold for every value that could have come, or map the values first."
        )
    scaled = (x - low) / (high - low)
    if how == "bernoulli" and not np.isin(scaled, (0.0, 1.0)).all():
        raise ArgumentError("method == 'bernoulli' is for 0 and 1 only. Use method='betting'.")
    path, ends = _sequences(scaled, how, shrink, level)
    empty = ends[0] > ends[1]
    told = "the running intersection is empty: the mean has drifted, or a rare miss"
    mean = np.cumsum(x) / np.arange(1, len(x) + 1)
    low_path, high_path = (low + (high - low) * end for end in path)
    return ConfidenceSequence(
        mean=float(mean[-1]) if len(x) else None,
        low=None if empty else low + (high - low) * ends[0],
        high=None if empty else low + (high - low) * ends[1],
        level=level,
        values=len(x),
        method=how,
        shrink=shrink,
        warnings=(told,) if empty else (),
        path=pl.DataFrame({"value": x, "mean": mean, "low": low_path, "high": high_path}),
    )


def _sequences(
    x: Any, how: str, shrink: str, level: float
) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """Bounds after every value, and after the last."""
    if how == "betting":
        betting = Betting(level=level)
        path, last = betting_path(x, betting, shrink), betting_interval(x, betting, shrink)
        path.low[-1:], path.high[-1:] = last.low, last.high  # finer than the grid
        return (path.low, path.high), (float(last.low), float(last.high))
    made = bernoulli_sequence(np.cumsum(x), np.arange(1, len(x) + 1), level)
    low, high = made.low, made.high
    if shrink == "running":
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    return (low, high), (float(low[-1]), float(high[-1])) if len(x) else (0.0, 1.0)


def _bounds(bounds: Any) -> tuple[float, float]:
    several = list(bounds) if isinstance(bounds, tuple | list) else []
    if len(several) != len(("low", "high")):
        raise ArgumentError(f"bounds == {short(bounds)}, must be two numbers, as in (0, 1).")
    low, high = (_checks.between(b, "bounds", low=-1e300, high=1e300) for b in several)
    if low >= high:
        raise ArgumentError(f"bounds == {short(bounds)}: the first must be below the second.")
    return low, high


def _series(values: Any) -> pl.Series:
    try:
        series = values if isinstance(values, pl.Series) else pl.Series(values, strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ArgumentError(
            f"values must be a sequence of numbers or truth values: {error}."
        ) from None
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise ArgumentError(f"values are {series.dtype}, must be numbers or truth values.")
    unknown = series.null_count()
    if series.dtype.is_float():
        unknown += int(series.is_nan().sum())
    if unknown:
        raise ArgumentError(
            f"values hold {unknown} unknown ones. Leave out, or score as failures, what has no "
            "verdict, by a rule that does not look at the others."
        )
    return series


def _method(series: pl.Series, method: str | None) -> str:
    if method is not None:
        return _checks.one_of(method, "method", METHODS)
    return "bernoulli" if series.dtype == pl.Boolean else "betting"
