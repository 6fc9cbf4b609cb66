"""Two headline numbers, without the cases behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trialframe import _checks
from trialframe.errors import ArgumentError, short
from trialframe.kernels.unpaired import z_test
from trialframe.results import Result

if TYPE_CHECKING:
    from trialframe.results import Estimate

Headline = str | tuple[float | int, int]

_WRITTEN = re.compile(
    r"\s*(?P<part>[0-9]*\.?[0-9]+|[0-9]+\.)\s*(?P<percent>%?)\s*/\s*(?P<n>[0-9]+)\s*"
)

WARNINGS = (
    "unpaired: on the same cases a paired comparison of the trials finds smaller differences",
    "every trial is taken as independent: repeated trials or related cases widen the interval",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Headlines(Result):
    """The difference of two pass rates of independent trials.

    Attributes:
        baseline_passes: Passes of the baseline.
        baseline_trials: Its trials.
        candidate_passes: Passes of the candidate.
        candidate_trials: Its trials.
        diff: Candidate's rate minus the baseline's.
        low: Lower end of the interval.
        high: Upper end.
        level: Nominal coverage.
        method: "newcombe": the interval of two independent proportions from Wilson's two.
        pvalue: Two-sided pooled score test.
        verdict: "better", "worse" or "inconclusive": interval and test must both say so.
        margin: D > 0, or None.
        non_inferior: Whether the interval excludes a loss of D; None without a margin.
        warnings: What weakens the statement.
        claim: One sentence that the numbers support.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Difference of two published rates",
        "difference",
        "difference",
    )

    baseline_passes: int
    baseline_trials: int
    candidate_passes: int
    candidate_trials: int
    diff: float
    low: float
    high: float
    level: float
    method: str
    pvalue: float
    verdict: str
    margin: float | None
    non_inferior: bool | None
    warnings: tuple[str, ...]
    claim: str

    def _estimates(self) -> list[Estimate]:
        return [("candidate minus baseline", self.diff, self.low, self.high)]


def compare_rates(
    baseline: Headline,
    candidate: Headline,
    *,
    margin: float | None = None,
    level: float = 0.95,
) -> Headlines:
    """Compare two published pass rates of which only the number of trials is known.

    Do not use it when the trials are at hand: `tr.compare` pairs the cases, which is both more
    powerful and right about repeated trials.

    Args:
        baseline: Rate and trials, as "0.90/1000", "90%/1000" or (0.9, 1000); whole numbers are
            passes, as in "900/1000".
        candidate: The same of the candidate.
        margin: Largest acceptable loss D > 0 for a non-inferiority claim.
        level: Nominal coverage of the interval, in (0, 1); the test is at 1 - level.

    Returns:
        A `Headlines`.

    Raises:
        ArgumentError: A headline that cannot be read, or a rate that no number of passes gives.

    References:
        Newcombe 1998, Stat. Med. 17:873, method 10.

    Examples:
        >>> import trialframe as tr
        >>> found = tr.compare_rates("0.90/1000", "0.894/1000")
        >>> found.verdict, round(found.low, 3), round(found.high, 3)
        ('inconclusive', -0.033, 0.021)
    """
    level = _checks.between(level, "level", inclusive=False)
    if margin is not None:
        margin = _checks.between(margin, "margin", low=0.0, high=1.0, inclusive=False)
    one, two = _read(baseline, "baseline"), _read(candidate, "candidate")
    diff = two[0] / two[1] - one[0] / one[1]
    low, high, pvalue = _score(one, two, level)
    excluded = (low > 0 or high < 0) and pvalue < 1.0 - level
    verdict = ("better" if diff > 0 else "worse") if excluded else "inconclusive"
    non_inferior = None if margin is None else low > -margin
    return Headlines(
        baseline_passes=one[0],
        baseline_trials=one[1],
        candidate_passes=two[0],
        candidate_trials=two[1],
        diff=diff,
        low=low,
        high=high,
        level=level,
        method="newcombe",
        pvalue=pvalue,
        verdict=verdict,
        margin=margin,
        non_inferior=non_inferior,
        warnings=WARNINGS,
        claim=f"{two[0]:,} of {two[1]:,} against {one[0]:,} of {one[1]:,}, "
        + _claim(diff, low, high, pvalue, verdict, margin, holds=bool(non_inferior)),
    )


def _read(given: object, name: str) -> tuple[int, int]:
    """Passes and trials."""
    wrong = ArgumentError(
        f"{name} == {short(given)}: write rate and trials as '0.90/1000', or passes and trials as "
        "'900/1000'."
    )
    if isinstance(given, str):
        found = _WRITTEN.fullmatch(given)
        if found is None:
            raise wrong
        text, trials = found["part"], int(found["n"])
        counted = "." not in text and not found["percent"]
        part, digits = Fraction(text), len(text.partition(".")[2])
        if found["percent"]:
            part, digits = part / 100, digits + 2
    elif isinstance(given, tuple) and len(given) == len(("part", "trials")):
        whole = [isinstance(item, int) and not isinstance(item, bool) for item in given]
        if not whole[1] or not (whole[0] or isinstance(given[0], float)):
            raise wrong
        counted, trials, text = whole[0], int(given[1]), repr(given[0])
        part, digits = Fraction(text), len(text.partition(".")[2])
    else:
        raise wrong
    return _passes(part, digits, trials, name, counted=counted), trials


def _passes(part: Fraction, digits: int, trials: int, name: str, *, counted: bool) -> int:
    if trials < 1:
        raise ArgumentError(f"{name}: {trials} trials, must be at least 1.")
    if not 0 <= part <= (trials if counted else 1):
        told = f"{part} passes of {trials}" if counted else f"a rate of {float(part):g}"
        raise ArgumentError(f"{name}: {told} cannot be. Whole numbers are passes, others rates.")
    if counted:
        return int(part)
    passes = round(part * trials)
    if abs(passes - part * trials) > Fraction(trials, 2 * 10**digits):
        raise ArgumentError(
            f"{name}: {float(part):g} of {trials} trials is {float(part * trials):g} passes. Give "
            "the number of trials, or the passes."
        )
    return passes


def _score(one: tuple[int, int], two: tuple[int, int], level: float) -> tuple[float, float, float]:
    """Newcombe's interval and the p-value of the pooled score test."""
    from scipy.special import ndtr
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(*two, *one, method="newcomb", alpha=1.0 - level)
    (c_a, n_a), (c_b, n_b) = (np.array([pair]).T for pair in (one, two))
    z = float(z_test(n_a, c_a, n_b, c_b).z[0])
    return float(low), float(high), float(2.0 * ndtr(-abs(z)))


def _claim(
    diff: float,
    low: float,
    high: float,
    pvalue: float,
    verdict: str,
    margin: float | None,
    *,
    holds: bool,
) -> str:
    ends = {
        "better": "the candidate passes more often",
        "worse": "the candidate passes less often",
        "inconclusive": "the numbers do not tell which is better",
    }
    told = f"unpaired: {diff:+.4g} [{low:+.4g}, {high:+.4g}], p = {pvalue:.3g}; {ends[verdict]}."
    if margin is None:
        return told
    return f"{told} A loss of {margin:g} {'is' if holds else 'is not'} excluded."
