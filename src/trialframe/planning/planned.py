"""The answer of a planning question and its sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from trialframe.charts._theme import WIDTH
from trialframe.errors import ArgumentError
from trialframe.planning.exact import fewest_changes
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trialframe.charts._theme import Chart, Theme

_STEPS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Parts of the number of cases at which a chart shows the power."""

_UNKNOWN = "how often outcomes disagree is not known: give discordance=, or a pilot of two configs"

METHODS = {
    "t": "t test of case differences, noncentral t",
    "z": "normal approximation (Miller)",
    "mcnemar": "McNemar's exact test on majority outcomes",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Power(Result):
    """One answer about a planned comparison.

    Attributes:
        solved_for: "power", "mde" (the effect) or "cases": which of the three was asked for.
        effect: True difference, candidate minus baseline.
        power: Probability that the test rejects.
        cases: Shared cases.
        best_case: For McNemar's test what was solved for when no case gets worse; else None. A
            power can be smaller then: with few cases too few change for the test to reject.
        trials_baseline: Trials per case of the baseline; the pilot's mean where not planned.
        trials_candidate: The same of the candidate.
        test: "t", "z" or "mcnemar": what "auto" came to.
        method: What that is.
        alpha: Two-sided level.
        sd: Standard deviation of one case's difference; None for McNemar's test.
        se: Standard error of the difference, sd / sqrt(cases).
        design_effect: Factor on the variance for clustered cases, at least 1.
        discordance: Share of cases whose outcomes disagree, for McNemar's test.
        assumptions: What was taken from where.
        warnings: What weakens the plan.
        reason: Why what was asked for is None, or None.
        reading: One sentence.
        powers: Power at the effect for other numbers of cases, all else alike.
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
    warnings: tuple[str, ...]
    reason: str | None
    reading: str
    powers: Callable[[Sequence[int]], list[float | None]] | None = field(
        default=None, repr=False, compare=False, metadata={"export": False}
    )

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """Power at the effect against the number of cases; see `Result.plot`."""
        from trialframe import charts

        if self.effect is None or self.powers is None:
            raise ArgumentError(f"there is no effect to draw the power of: {self.reason}.")
        sizes = sorted({max(2, round((self.cases or 100) * step)) for step in _STEPS})
        table = pl.DataFrame(
            {"cases": sizes, "power": self.powers(sizes)}, schema_overrides={"power": pl.Float64}
        ).with_columns(
            effect=pl.lit(self.effect),
            test=pl.lit(self.test),
            alpha=pl.lit(self.alpha),
            trials_baseline=pl.lit(self.trials_baseline, pl.Float64),
            trials_candidate=pl.lit(self.trials_candidate, pl.Float64),
        )
        return charts.power(table, theme=theme, width=width)


def reason(made: Power, most: float) -> str | None:
    """Why there is no answer; `most` is the largest difference that is possible."""
    if _asked(made) is not None:
        return None
    if made.test == "mcnemar" and made.discordance is None and made.solved_for != "mde":
        return _UNKNOWN
    psi = made.discordance
    if made.effect is not None and psi is not None and abs(made.effect) > psi:
        return (
            f"a difference of {made.effect:g} cannot be where outcomes disagree in only {psi:.3g}"
        )
    if made.solved_for == "cases":
        return "it takes more than 10,000,000 cases"
    if made.test == "mcnemar" and psi is None and made.trials_baseline is None:
        return _UNKNOWN
    return f"not even the largest possible one ({most:.3g}) is shown with that power"


def reading(made: Power, discordance: str = "discordance") -> str:
    """One sentence, or two; `discordance` is what to call it."""
    words = {"t": "t test", "z": "normal approximation", "mcnemar": "McNemar's exact test"}
    test = f"({words[made.test]}, alpha {made.alpha:g})"
    told = _told(made, test)
    if made.test != "mcnemar":
        return told
    if made.discordance is not None:
        told = f"At {discordance} = {made.discordance:.3g}: {told}"
    return f"{told} {_best(made)}."


def _told(made: Power, test: str) -> str:
    """What was found, or why nothing was."""
    effect = "" if made.effect is None else f"a true difference of {made.effect:.3g}"
    power = "" if made.power is None else f"power {made.power:.1%}".replace("%", " %")
    cases = "" if made.cases is None else f"{made.cases:,} cases{_per_side(made)}"
    if made.reason is None:
        return f"{cases} show {effect} with {power} {test}."
    if made.solved_for == "cases":
        return f"no number of cases for {effect} with {power} {test}: {made.reason}."
    if made.solved_for == "mde":
        return f"{cases} show no true difference with {power} {test}: {made.reason}."
    return f"no power of {cases} for {effect} {test}: {made.reason}."


def _asked(made: Power) -> float | None:
    return {"power": made.power, "mde": made.effect, "cases": made.cases}[made.solved_for]


def _best(made: Power) -> str:
    fewest = fewest_changes(made.alpha)
    if made.best_case is None:
        few = made.cases is not None and made.cases < fewest
        why = f": fewer than {fewest} changed cases are never significant" if few else ""
        return f"Not even when no case gets worse can it be reached{why}"
    told = {
        "power": f"power {made.best_case:.1%}".replace("%", " %"),
        "mde": f"a difference of {made.best_case:.3g}",
        "cases": f"{made.best_case:,.0f} cases",
    }[made.solved_for]
    small = made.power is not None and made.solved_for == "power" and made.best_case < made.power
    why = f", for with so few cases seldom {fewest} change" if small else ""
    return f"When no case gets worse: {told}{why}"


def _per_side(made: Power) -> str:
    one, two = made.trials_baseline, made.trials_candidate
    if one is None or two is None:
        return ""
    if one == two:
        return f" with {one:.3g} {'trial' if one == 1 else 'trials'} a side"
    return f" with {one:.3g} and {two:.3g} trials a side"
