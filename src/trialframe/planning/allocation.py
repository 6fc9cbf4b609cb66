"""More trials of the same cases, or more cases: what each buys."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isnan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.comparison.pairs import per_case
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError
from trialframe.estimate.metrics import SHORT, cases_of
from trialframe.kernels.variance import detectable, optimal_trials
from trialframe.planning.pilot import one_sided, spread_of
from trialframe.planning.plan import checked

if TYPE_CHECKING:
    from trialframe.kernels.draws import Short

TRIALS = (1, 2, 3, 4, 5, 8, 10, 16, 32)
"""Trials per case that are laid side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Variance of the mean times cases: `between` + `within` / K."""

    between: float
    within: float
    observed: float
    cases: int
    trials: float
    sides: int


def trials_or_cases(
    counts: Counts,
    *,
    case_cost: float,
    trial_cost: float = 1.0,
    budget: float | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    metric: str = "pass@1",
    short: Short = "null",
    units: str = "clusters",
    alpha: float = 0.05,
    power: float = 0.8,
) -> pl.DataFrame:
    """Weigh more trials of the same cases against more cases, at equal cost.

    Trials average out the luck of a case, cases the choice of cases; the second kind of noise
    stays however many trials are run. Not for metrics of several trials such as pass@5.

    Args:
        counts: Counts of a pilot with at least two trials in some cases.
        case_cost: What a new case costs (writing, environment), >= 0, in any unit.
        trial_cost: What one trial of one config costs in the same unit, > 0.
        budget: Money to lay out; what the pilot would cost by default.
        baseline: Config of the pilot; not needed where the counts hold one or two configs.
        candidate: The other config. With two configs all is about their difference.
        metric: A metric with one value per trial: "pass@1", "score", "cost_uusd".
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the pilot has them, or "cases".
        alpha: Two-sided level of `mde`, in (0, 1).
        power: Power of `mde`, in (0, 1).

    Returns:
        One row per design: `plan` ("pilot", "twice the trials", "twice the cases", "same
        budget", "best": the whole number of trials with the smallest standard error), `cases`,
        `trials` per case and side (the pilot's mean), `cost`, `se` of the mean or of the
        difference, `mde` (normal approximation), and, the same in every row, `between`, `within`,
        `icc` and `optimal_trials`, null where cases do not differ beyond trial noise.

    Raises:
        ArgumentError: Costs out of range, or a budget that does not pay two cases.
        TrialsError: A pilot with one trial a case throughout.

    Notes:
        Var = (between + within / K) / M for M cases with K trials a side, at the cost
        M (case_cost + sides K trial_cost), is smallest for a given cost at K* =
        sqrt(within / between * case_cost / (sides trial_cost)). Clusters are in `between`, and
        new cases are taken to come in clusters like those of the pilot; a variance below that of
        independent cases is taken for chance, and theirs is used.

    References:
        Miller 2024 (arXiv 2411.00640), section 3.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=200, trials=4, seed=1)
        >>> table = tr.trials_or_cases(tr.counts(trials), case_cost=10)
        >>> for row in table.head(3).select("plan", "cases", "trials", "cost").rows():
        ...     print(row)
        ('pilot', 200, 4.0, 3600.0)
        ('twice the trials', 200, 8.0, 5200.0)
        ('twice the cases', 400, 4.0, 7200.0)
    """
    case_cost = _checks.between(case_cost, "case_cost", low=0.0, high=1e300)
    trial_cost = _checks.between(trial_cost, "trial_cost", low=0.0, high=1e300, inclusive=False)
    alpha = _checks.between(alpha, "alpha", inclusive=False)
    power = _checks.between(power, "power", inclusive=False)
    _checks.one_of(short, "short", SHORT)
    named: dict[str, Any] = {"baseline": baseline, "candidate": candidate, "metric": metric}
    split = _split(counts, named | {"short": short, "units": units})

    def cost(cases: float, trials: float) -> float:
        return cases * (case_cost + split.sides * trials * trial_cost)

    spent = cost(split.cases, split.trials)
    money = spent if budget is None else _checks.between(budget, "budget", high=1e300)
    best = optimal_trials(split.between, split.within, case_cost, split.sides * trial_cost)
    designs = _designs(split, money, best, case_cost, split.sides * trial_cost)
    rows = [
        {
            "plan": plan,
            "cases": cases,
            "trials": float(trials),
            "cost": cost(cases, trials),
            "se": sqrt(variance / cases),
            "mde": detectable(variance, cases, alpha, power),
        }
        for plan, cases, trials, variance in designs
    ]
    floored = max(split.between, 0.0)
    return pl.DataFrame(rows).with_columns(
        between=pl.lit(split.between),
        within=pl.lit(split.within),
        icc=pl.lit(floored / (floored + split.within) if floored + split.within > 0 else None),
        optimal_trials=pl.lit(None if isnan(best) else best, dtype=pl.Float64),
    )


def _split(counts: Counts, named: dict[str, Any]) -> _Split:
    """Variance between and within the cases of one config, or of the difference of two."""
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    plan = checked(named)
    two = named["candidate"] is not None
    two |= named["baseline"] is None and len(counts.configs) > 1
    if two:
        found = spread_of(counts, plan)
        within, between, cases = sum(found.noise), found.between, found.cases or 0
        trials = float(np.mean(found.trials or (1.0, 1.0)))
        observed = found.observed or 0.0
    else:
        frame = counts.select(named["baseline"] or counts.configs[0]).frame
        made = cases_of(frame, clusters=plan["units"] == "clusters")
        request = per_case(plan["metric"])
        values = request.metric.values(made, request, plan["short"])
        known = ~np.isnan(values) & (made.weight > 0)
        side = one_sided(made, values, request, known)
        within, between, observed = side.one_trial, side.total - side.noise, side.total
        cases, trials = int(known.sum()), float(made.n[known].mean())
    if isnan(within) or isnan(between):
        raise TrialsError(
            "this pilot does not separate trial noise from differences between cases: that takes "
            "a metric of single trials, two cases, and two trials or more in some cases."
        )
    return _Split(
        between=between,
        within=within,
        observed=observed,
        cases=cases,
        trials=trials,
        sides=2 if two else 1,
    )


def _designs(
    split: _Split, money: float, best: float, case_cost: float, round_cost: float
) -> list[tuple[str, int, float, float]]:
    """(plan, cases, trials, variance of one case) of everything that is laid side by side."""
    floored = max(split.between, 0.0)

    def variance(trials: float) -> float:
        return floored + split.within / trials

    made = [
        ("pilot", split.cases, split.trials, split.observed),
        ("twice the trials", split.cases, 2 * split.trials, variance(2 * split.trials)),
        ("twice the cases", 2 * split.cases, split.trials, split.observed),
    ]
    near = [] if isnan(best) else [max(1, floor(best)), max(1, floor(best)) + 1]
    options = []
    for trials in sorted({*TRIALS, *near}):
        cases = floor(money / (case_cost + trials * round_cost) * (1.0 + 1e-12))
        if cases > 1:
            options.append((cases, trials, variance(trials)))
    if not options:
        raise ArgumentError(
            f"budget == {money:g} does not pay two cases with one trial a side: raise it."
        )
    winner = min(options, key=lambda option: (option[2] / option[0], option[1]))
    made += [("best" if o == winner else "same budget", o[0], float(o[1]), o[2]) for o in options]
    return made
