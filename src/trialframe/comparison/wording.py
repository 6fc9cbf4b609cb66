"""What a comparison says in words: what weakens it, what it lacks, the claim it supports."""

from __future__ import annotations

from math import ceil, floor, log, log1p, log2, log10
from typing import TYPE_CHECKING

from trialframe.comparison.difference import FEWEST_CHANGED
from trialframe.comparison.evidence import APART
from trialframe.comparison.pairs import per_case
from trialframe.estimate.cautions import (
    FEW_CLUSTERS,
    FEW_DF,
    LARGE_SHARE,
    LOW_COVERAGE,
    SMALL_SUITE,
)
from trialframe.kernels.variance import cases_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.comparison.evidence import Evidence
    from trialframe.comparison.result import Comparison

COVERAGE_GAP = 0.02

ENDS = {
    "better": "it is better on cases like these.",
    "worse": "it is worse on cases like these.",
    "inconclusive": "the data do not tell which is better.",
}


def cautions(
    made: Comparison,
    *,
    coverage: tuple[float, float],
    largest_share: float,
    dominance: float,
    equal_trials: bool,
    judge: str | None,
) -> Iterator[str]:
    """What weakens a comparison, one text each.

    Args:
        made: The comparison, all but its words.
        coverage: Share of trials with a verdict, of both sides.
        largest_share: Share of the cases in the largest cluster.
        dominance: Share of all change, whatever its direction, in the largest unit.
        equal_trials: Whether every case has as many trials on both sides.
        judge: The column of an automatic judge that passes come from.
    """
    clustered = "cluster" in made.pairs.columns
    yield from _of_cases(made, "clusters" if clustered else "cases")
    if clustered:
        yield from _of_clusters(made, largest_share)
    if dominance > LARGE_SHARE and made.changed >= FEWEST_CHANGED:
        word = "cluster" if clustered else "case"
        share = made.largest_unit_share
        told = (
            f"{dominance:.0%} of all change" if share is None else f"{share:.0%} of the difference"
        )
        yield f"{word} {made.largest_unit!r} carries {told}"
    if judge is not None:
        yield (
            f"passes are verdicts of a judge (column {judge!r}), whose errors move the difference: "
            "correct it with tr.rogan_gladen_difference or tr.ppi_difference"
        )
    if not equal_trials:
        yield "trial counts differ within cases: the sign flip is approximate"
    first, second = coverage
    if abs(first - second) > COVERAGE_GAP or min(first, second) < LOW_COVERAGE:
        yield f"coverage {first:.1%} against {second:.1%}: see the bracket"
    if made.non_inferiority is not None and made.non_inferiority.holds:
        yield from _of_margin(made)
    if made.evidence is not None:
        yield from _of_trials(made.evidence)


def _of_cases(made: Comparison, unit: str) -> Iterator[str]:
    if made.only_failures:
        yield (
            "the candidate ran only on cases that the baseline failed: it would look better "
            "without being better (regression to the mean)"
        )
    if made.changed < FEWEST_CHANGED:
        yield f"{made.changed} changed {unit}: fewer than 6 can never be significant"
    if made.only_baseline or made.only_candidate:
        yield (
            f"left out: {made.only_baseline} cases only of the baseline, {made.only_candidate} "
            "only of the candidate"
        )
    if made.undefined:
        yield f"left out: {made.undefined} shared cases without {made.metric} on some side"
    if made.se == 0 and made.method == "t-cr2":
        yield "all differences are equal: the interval has no width"
    if made.majority is not None and made.majority.ignores_weights:
        yield "weights are ignored by all methods on majority outcomes"
    if made.cases < SMALL_SUITE:
        yield f"small suite: {made.cases} cases"


def _of_clusters(made: Comparison, largest_share: float) -> Iterator[str]:
    if made.units < FEW_CLUSTERS:
        yield f"few clusters: {made.units}"
    if largest_share > LARGE_SHARE:
        yield f"one cluster holds {largest_share:.0%} of the cases"
    if made.df is not None and made.df < FEW_DF:
        yield f"{made.df:.1f} degrees of freedom"
    if made.settings.test != "sign-flip" or made.method in {"tango", "wald+2"}:
        yield "clusters are ignored by the methods that were asked for"


def _of_margin(made: Comparison) -> Iterator[str]:
    """Whether so few units could have missed a loss of the margin in a few of them."""
    margin = made.settings.margin or 0.0
    most = made.baseline_value or 1.0 if made.settings.effect == "ratio" else 1.0
    if made.method != "tango" and margin * most < 1.0 and per_case(made.metric).shape == "rate":
        enough = ceil(log((1.0 - made.level) / 2.0) / log1p(-margin * most))
        if made.units < enough:
            yield (
                f"fewer than {enough} independent units: a loss that sits in a few of them could "
                "be missed, so the claim of non-inferiority is weak"
            )


def _of_trials(found: Evidence) -> Iterator[str]:
    later = found.started_later
    if later is not None and not 1.0 - APART <= later <= APART:
        order = "after" if later > APART else "before"
        share = max(later, 1.0 - later)
        yield (
            f"runs are not interleaved: the candidate's trials started {order} the baseline's in "
            f"{share:.0%} of pairs, so that a drift of the environment would look like a difference"
        )
    for name, cases in (("seed", found.same_seed), ("context", found.same_context)):
        if cases:
            yield f"trials are not independent: in {cases} cases trials of a config share a {name}"


def status(made: Comparison) -> str:
    """Whether the question is resolved, and if not what it would take."""
    if made.verdict in {"better", "worse"}:
        return "resolved"
    if made.only_failures:
        return "unresolved: needs trials of the candidate on the cases that the baseline passed"
    alpha = 1.0 - made.level
    fewest = max(FEWEST_CHANGED, floor(log2(1.0 / alpha)) + 2)
    if made.units < fewest:
        unit = "clusters" if "cluster" in made.pairs.columns else "cases"
        return f"untestable: {made.units} {unit}, and fewer than {fewest} can never be significant"
    if not made.diff or not made.se:
        return "unresolved: no difference was seen"
    more = cases_for(made.se**2 * made.cases, made.diff, alpha) - made.cases
    if more < 1:
        return "unresolved: interval and test do not agree"
    return f"unresolved: needs about {_rounded(more):,} more cases"


def _rounded(number: float) -> int:
    """Two significant digits, upwards."""
    step = 10 ** max(0, floor(log10(number)) - 1)
    return int(ceil(number / step) * step)


def claim(made: Comparison) -> str:
    """One sentence that the numbers support."""
    names = f"{made.candidate} against {made.baseline}"
    if made.settings.effect == "ratio":
        numbers = _ratio_words(made)
    else:
        numbers = f"{made.diff:+.4g} in {made.metric}"
        if made.low is not None and made.high is not None:
            numbers += f" [{made.low:+.4g}, {made.high:+.4g}]"
    shared = "1 shared case" if made.cases == 1 else f"{made.cases} shared cases"
    told = f"{names}: {numbers} on {shared}, p = {made.pvalue:.3g}"
    return f"{told}; {ENDS[made.verdict]}{_margins(made)}"


def _ratio_words(made: Comparison) -> str:
    ratio = made.ratio
    if ratio is None:
        return f"no ratio in {made.metric}, as a mean is not above 0,"
    numbers = f"{ratio.value - 1.0:+.1%} of the baseline's {made.metric}"
    if ratio.low is not None and ratio.high is not None:
        numbers += f" [{ratio.low - 1.0:+.1%}, {ratio.high - 1.0:+.1%}]"
    return numbers


def _margins(made: Comparison) -> str:
    worse, both = made.non_inferiority, made.equivalence
    if worse is None or both is None:
        return ""
    relative = made.settings.effect == "ratio"
    size = f"{worse.margin:.4g}" if not relative else f"{worse.margin:.4g} of the baseline"
    if both.holds:
        return f" A change of {size} is excluded in both directions."
    return f" A loss of {size} {'is' if worse.holds else 'is not'} excluded."


def not_comparable(baseline: str, candidate: str, moved: dict[str, int]) -> str:
    """The claim when the two sides were not measured alike."""
    told = ", ".join(f"{name} in {cases:,}" for name, cases in moved.items())
    return (
        f"{candidate} against {baseline}: not comparable, as the two sides of shared cases differ "
        f"in {told} of them."
    )
