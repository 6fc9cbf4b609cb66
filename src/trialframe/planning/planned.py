"""The answer of a planning question and its sentence."""

from __future__ import annotations

from dataclasses import dataclass

from trialframe.results import Result

METHODS = {
    "t": "t test of case differences, noncentral t",
    "z": "normal approximation (Miller)",
    "mcnemar": "McNemar's exact test on majority outcomes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Power(Result):
    """One answer about a planned comparison.

    Attributes:
        solved_for: "power", "mde" (the effect) or "cases": which of the three was asked for.
        effect: True difference, candidate minus baseline.
        power: Probability that the test rejects.
        cases: Shared cases.
        best_case: For McNemar's test what was solved for when no case gets worse; else None.
        trials_baseline: Trials per case of the baseline; the pilot's mean where not planned.
        trials_candidate: The same of the candidate.
        test: "t", "z" or "mcnemar".
        method: What that is.
        alpha: Two-sided level.
        sd: Standard deviation of one case's difference; None for McNemar's test.
        se: Standard error of the difference, sd / sqrt(cases).
        design_effect: Factor on the variance for clustered cases.
        discordance: Share of cases whose outcomes disagree, for McNemar's test.
        assumptions: What was taken from where.
        reading: One sentence.
    """

    solved_for: str
    effect: float | None
    power: float | None
    cases: int | None
    best_case: float | None
    trials_baseline: float | None
    trials_candidate: float | None
    test: str
    method: str
    alpha: float
    sd: float | None
    se: float | None
    design_effect: float
    discordance: float | None
    assumptions: tuple[str, ...]
    reading: str


def reading(made: Power) -> str:
    """One sentence."""
    words = {"t": "t test", "z": "normal approximation", "mcnemar": "McNemar's exact test"}
    test = f"({words[made.test]}, alpha {made.alpha:g})"
    cases = "no number of" if made.cases is None else f"{made.cases:,}"
    effect = (
        "no true difference" if made.effect is None else f"a true difference of {made.effect:.3g}"
    )
    at = "" if made.power is None else f" with power {made.power:.1%}".replace("%", " %")
    told = f"{cases} cases{_per_side(made)} show {effect}{at} {test}."
    if made.test != "mcnemar":
        return told
    where = (
        "unknown discordance" if made.discordance is None else f"discordance {made.discordance:.3g}"
    )
    value = {"power": made.power, "mde": made.effect, "cases": made.cases}[made.solved_for]
    best = _best(made)
    if value is None:
        reason = "" if made.discordance is None else f" At {where} it cannot be reached."
        return f"{best} {test}.{reason}"
    return f"At {where}: {told} {best}."


def _best(made: Power) -> str:
    if made.best_case is None:
        return "Not even when no case gets worse can it be reached"
    told = {
        "power": f"power {made.best_case:.1%}".replace("%", " %"),
        "mde": f"a difference of {made.best_case:.3g}",
        "cases": f"{made.best_case:,.0f} cases",
    }
    return f"When no case gets worse: {told[made.solved_for]}"


def _per_side(made: Power) -> str:
    one, two = made.trials_baseline, made.trials_candidate
    if one is None or two is None:
        return ""
    if one == two:
        return f" with {one:.3g} {'trial' if one == 1 else 'trials'} a side"
    return f" with {one:.3g} and {two:.3g} trials a side"
