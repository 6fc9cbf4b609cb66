"""The answer of a comparison: its numbers, what weakens them, and the claim they support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trialframe.results import Result

FEWEST_CHANGED = 6
"""Changed units below which no sign flip can be significant at 5 %."""

SMALL_SUITE = 20
FEW_CLUSTERS = 10
LARGE_SHARE = 1 / 3
LOW_COVERAGE = 0.95
COVERAGE_GAP = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Result):
    """An interval and how it was made."""

    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority(Result):
    """Shared cases by majority outcome (pass when c > n/2), clusters ignored.

    Attributes:
        only_baseline: Cases that only the baseline passes (b).
        only_candidate: Cases that only the candidate passes (c).
        pvalue: Exact McNemar test, two-sided.
        mid_p: Its mid-p version.
        p_better: Posterior probability that the candidate wins more cases than it loses, under
            a uniform Dirichlet prior.
        mde_best: Smallest difference found with 80 % power when no case gets worse; None when
            there is none.
        mde: The same at the observed share of discordant cases.
    """

    only_baseline: int
    only_candidate: int
    pvalue: float
    mid_p: float
    p_better: float
    mde_best: float | None
    mde: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority(Result):
    """Whether a loss as large as the margin is excluded.

    Attributes:
        margin: D > 0, in units of the metric.
        holds: Whether all conditions hold.
        bound: Lower bound of the difference, or upper bound of the share of worse cases.
        decided_by: Which bound: "tango", "t", or "share of worse cases".
        pvalue: One-sided sign flip of d + D.
    """

    margin: float
    holds: bool
    bound: float | None
    decided_by: str
    pvalue: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """Candidate minus baseline over the cases that both have.

    Attributes:
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        metric: What is compared, on rates or values, not on majority outcomes.
        diff: Mean difference over shared cases.
        se: Its cluster-robust standard error; None with fewer than two units.
        low: Lower end of the interval.
        high: Upper end of the interval.
        level: Nominal coverage; the test is at 1 - level.
        interval: "tango" (one trial a side, no clusters) or "t-cr2".
        df: Degrees of freedom of the t interval.
        pvalue: Two-sided; where trial counts differ the larger of sign flip and permutation.
        test: How the p-value was computed.
        exact: Whether the sign flip is exact.
        verdict: "better", "worse" or "inconclusive": interval and test must both say so.
        baseline_value: The baseline's mean on the shared cases.
        candidate_value: The candidate's mean on the shared cases.
        cases: Shared cases with a value on both sides.
        only_baseline: Cases that the candidate lacks.
        only_candidate: Cases that the baseline lacks.
        undefined: Shared cases without a value on some side.
        units: Independent units: clusters or cases.
        changed: Units whose sum of differences is not 0.
        wins: Cases where the candidate is higher.
        losses: Cases where it is lower.
        bootstrap: Percentile bootstrap of whole units, 10,000 resamples by default.
        tango: Tango's interval on majority outcomes.
        wald_plus2: Wald interval with half a case added to each cell, on majority outcomes.
        majority: Tests on majority outcomes.
        bracket_low: Difference with the candidate's unscored trials failed, the baseline's passed.
        bracket_high: The other way round.
        non_inferiority: The non-inferiority claim when a margin was given.
        warnings: What weakens the statement.
        claim: One sentence that the numbers support.
    """

    baseline: str
    candidate: str
    metric: str
    diff: float
    se: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    df: float | None
    pvalue: float
    test: str
    exact: bool
    verdict: str
    baseline_value: float
    candidate_value: float
    cases: int
    only_baseline: int
    only_candidate: int
    undefined: int
    units: int
    changed: int
    wins: int
    losses: int
    bootstrap: Interval
    tango: Interval
    wald_plus2: Interval
    majority: Majority
    bracket_low: float | None
    bracket_high: float | None
    non_inferiority: NonInferiority | None
    warnings: tuple[str, ...]
    claim: str


def cautions(facts: dict[str, Any]) -> list[str]:
    """What weakens a comparison, one text each."""
    found = []
    unit = "cases" if facts["clusters"] is None else "clusters"
    if facts["hopeless"]:
        found.append(
            "the candidate ran only on cases that the baseline failed: it would look better "
            "without being better (regression to the mean)"
        )
    if facts["changed"] < FEWEST_CHANGED:
        found.append(f"{facts['changed']} changed {unit}: fewer than 6 can never be significant")
    if any(facts["alone"]):
        one, two = facts["alone"]
        found.append(f"left out: {one} cases only of the baseline, {two} only of the candidate")
    if facts["cases"] < SMALL_SUITE:
        found.append(f"small suite: {facts['cases']} cases")
    if facts["clusters"] is not None:
        if facts["clusters"] < FEW_CLUSTERS:
            found.append(f"few clusters: {facts['clusters']}")
        if facts["largest_share"] > LARGE_SHARE:
            found.append(f"one cluster holds {facts['largest_share']:.0%} of the cases")
    if not facts["equal_trials"]:
        found.append("trial counts differ within cases: the sign flip is approximate")
    first, second = facts["coverage"]
    if abs(first - second) > COVERAGE_GAP or min(first, second) < LOW_COVERAGE:
        found.append(f"coverage {first:.1%} against {second:.1%}: see the bracket")
    return found


def claim(made: Comparison) -> str:
    """One sentence that the numbers support."""
    names = f"{made.candidate} against {made.baseline}"
    numbers = f"{made.diff:+.4g} in {made.metric}"
    if made.low is not None and made.high is not None:
        numbers += f" [{made.low:+.4g}, {made.high:+.4g}]"
    told = f"{names}: {numbers} on {made.cases} shared cases, p = {made.pvalue:.3g}"
    ends = {
        "better": "it is better on cases like these.",
        "worse": "it is worse on cases like these.",
        "inconclusive": "the data do not tell which is better.",
    }
    extra = ""
    if made.non_inferiority is not None:
        word = "is" if made.non_inferiority.holds else "is not"
        extra = f" A loss of {made.non_inferiority.margin:g} {word} excluded."
    return f"{told}; {ends[made.verdict]}{extra}"
