"""How many labels does an interval of a given width need?"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, isnan, sqrt
from typing import TYPE_CHECKING

from trialframe import _checks
from trialframe.errors import ArgumentError
from trialframe.judge._words import percent
from trialframe.judge.ppi import FEW_OF_A_CLASS
from trialframe.kernels.judge import rogan_gladen
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.judge.calibrate import Calibration

MOST = 10_000_000
LEAST = 20


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabelsNeeded(Result):
    """Labels for an interval of a given width.

    Attributes:
        labels: Labelled cases, a random part of all; None when no number of labels is enough.
        width: Full width of the interval that was asked for.
        method: "ppi++" or "rogan-gladen".
        expected: Width to expect with that many labels.
        alone: Labels that would be needed without a judge.
        narrowest: Width that no number of labels gets below.
        rate: Pass rate that was assumed.
        sensitivity: Judge's pass rate on passes that was assumed.
        specificity: Judge's fail rate on fails that was assumed.
        judged: Judged cases without a label.
        level: Nominal coverage.
        claim: One sentence.
    """

    labels: int | None
    width: float
    method: str
    expected: float | None
    alone: int | None
    narrowest: float
    rate: float
    sensitivity: float
    specificity: float
    judged: int
    level: float
    claim: str

    def __repr__(self) -> str:
        """The claim."""
        return f"LabelsNeeded: {self.claim}"


def labels_needed(
    width: float,
    pilot: Calibration | None = None,
    *,
    rate: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    judged: int = 1_000,
    method: str = "ppi++",
    level: float = 0.95,
) -> LabelsNeeded:
    """Labels that an interval of a given width needs, from pilot numbers.

    Do not take it for a promise: pilot numbers from few labels are themselves uncertain.

    Args:
        width: Full width of the interval, in (0, 1): 0.1 for plus or minus 5 points.
        pilot: A calibration of one row; its prevalence and error rates serve where none is given.
        rate: True pass rate, in (0, 1).
        sensitivity: Judge's pass rate on passes, in [0, 1].
        specificity: Judge's fail rate on fails, in [0, 1].
        judged: Judged cases without a label, >= 0.
        method: "ppi++" or "rogan-gladen".
        level: Nominal coverage, in (0, 1).

    Returns:
        A `LabelsNeeded`.

    Raises:
        ArgumentError: A number that is neither given nor in the pilot, or out of range.

    Notes:
        "ppi++": 2 t_{n-1} sqrt(V(n)) <= width with V(n) at the best lambda for these error rates,
        at least 20 labels and 5 expected of each class. "rogan-gladen": width of the adjusted
        interval when n rate labels are passes. Cases are taken as independent, one trial each.

    References:
        Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453; Lee et al. (2025),
        arXiv:2511.21140.

    Examples:
        >>> import trialframe as tr
        >>> made = tr.labels_needed(0.1, rate=0.7, sensitivity=0.95, specificity=0.9, judged=2000)
        >>> made.labels, made.alone
        (106, 326)
    """
    width = _checks.between(width, "width", inclusive=False)
    method = _checks.one_of(method, "method", ("ppi++", "rogan-gladen"))
    level = _checks.between(level, "level", inclusive=False)
    judged = _checks.integer(judged, "judged", low=0)
    theta = _from(rate, pilot, "rate", "prevalence", inclusive=False)
    q1 = _from(sensitivity, pilot, "sensitivity", "sensitivity")
    q0 = _from(specificity, pilot, "specificity", "specificity")
    least = max(LEAST, ceil(FEW_OF_A_CLASS / min(theta, 1.0 - theta)))

    def with_judge(n: int) -> float:
        if method == "ppi++":
            return _ppi_width(n, theta, q1, q0, judged, level)
        return _rogan_gladen_width(n, theta, q1, q0, judged, level)

    labels = _smallest(with_judge, width, least)
    alone = _smallest(lambda n: _ppi_width(n, theta, q1, q0, 0, level), width, least)
    narrowest = 0.0 if method == "ppi++" else with_judge(MOST)
    told = f"{labels:,} labels" if labels is not None else "no number of labels"
    limit = ""
    if labels is None:
        limit = "; there are no judged cases without a label to correct"
        if isfinite(narrowest):
            limit = f"; no number gets below {percent(narrowest)}"
        elif judged:
            limit = "; sensitivity + specificity <= 1: the judge does not tell passes from fails"
    elif labels == least:
        limit = f"; that is the least for any width: {_why(least, theta)}"
    only = "" if alone is None else f", {alone:,} without the judge"
    return LabelsNeeded(
        labels=labels,
        width=width,
        method=method,
        expected=None if labels is None else with_judge(labels),
        alone=alone,
        narrowest=narrowest,
        rate=theta,
        sensitivity=q1,
        specificity=q0,
        judged=judged,
        level=level,
        claim=f"{told} for an interval of width {percent(width)} by {method}{only}{limit}",
    )


def _why(least: int, rate: float) -> str:
    if least == LEAST:
        return f"{LEAST} labels"
    word = "passes" if rate < 1.0 - rate else "fails"
    return f"{FEW_OF_A_CLASS} {word} expected among them at a pass rate of {percent(rate)}"


def _from(
    value: float | None,
    pilot: Calibration | None,
    name: str,
    column: str,
    *,
    inclusive: bool = True,
) -> float:
    if value is None and pilot is not None:
        value = pilot.row()[column]
    if value is None:
        raise ArgumentError(f"{name} is not known: give {name}=, or a pilot that has it.")
    return _checks.between(value, name, inclusive=inclusive)


def _ppi_width(n: int, theta: float, q1: float, q0: float, judged: int, level: float) -> float:
    from scipy.special import stdtrit

    passed = theta * q1 + (1.0 - theta) * (1.0 - q0)
    spread, own = theta * (1.0 - theta), passed * (1.0 - passed)
    shared = spread * (q1 + q0 - 1.0)
    lam = 0.0
    if judged and own > 0:
        lam = min(max(shared / (own * (1.0 + n / judged)), 0.0), 1.0)
    variance = (spread - 2.0 * lam * shared + lam**2 * own) / n
    variance += lam**2 * own / judged if judged else 0.0
    return float(2.0 * stdtrit(n - 1.0, (1.0 + level) / 2.0) * sqrt(variance))


def _rogan_gladen_width(
    n: int, theta: float, q1: float, q0: float, judged: int, level: float
) -> float:
    passed = theta * q1 + (1.0 - theta) * (1.0 - q0)
    if not judged:
        return float("inf")
    found = rogan_gladen(passed, judged, q0, n * (1.0 - theta), q1, n * theta, level)
    wide = float(found.high_raw - found.low_raw)
    return float("inf") if isnan(wide) else wide


def _smallest(width_of: Callable[[int], float], width: float, least: int) -> int | None:
    """The smallest n >= `least` whose width is at most `width`, the width falling in n."""
    if width_of(MOST) > width:
        return None
    low, high = least - 1, least
    while width_of(high) > width:
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width_of(middle) <= width else (middle, high)
    return high
