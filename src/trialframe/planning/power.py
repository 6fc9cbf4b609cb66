"""How much a comparison can show, how many cases it needs, and what more trials would buy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, TrialsError
from trialframe.kernels.planning import t_cases, t_power, t_shift
from trialframe.kernels.variance import cases_for, detectable
from trialframe.planning.exact import (
    MOST_CASES,
    discordance_at,
    exact_effects,
    exact_powers,
    exact_sizes,
    opened,
)
from trialframe.planning.plan import Plan, checked
from trialframe.planning.planned import METHODS, Power, reading, reason
from trialframe.planning.spread import check_rates, most_effect, variance_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from trialframe.counts import Counts
    from trialframe.planning.spread import Spread

TARGET = 0.8
CASES = (50, 100, 200, 500, 1000, 2000)
EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.1)


def power(
    counts: Counts | None = None,
    *,
    effect: float,
    cases: int | None = None,
    **plan: Unpack[Plan],
) -> Power:
    """Probability that a paired comparison shows a true difference.

    Plan with it before the runs. Do not compute the power of the effect that was just observed:
    that says no more than the p-value.

    Args:
        counts: Counts of a pilot with one or two configs, or None to plan from `rate` and `icc`,
            or `discordance`.
        effect: True difference, candidate minus baseline, not 0.
        cases: Planned shared cases, >= 2; those of the pilot by default.
        **plan: `baseline, candidate, metric, short, units` name the pilot; `trials` is one number
            of trials per case or (baseline, candidate); `rate, icc, correlation, discordance,
            design_effect` are assumptions; `test` is "auto", "t", "z" or "mcnemar"; `alpha` is
            0.05. "auto" is McNemar's exact test for pass@1 with one trial a side and without
            clusters, and the t test of case differences otherwise.

    Returns:
        A `Power`. For "mcnemar" `power` is at the discordance of the pilot or as assumed, None
        when an effect that large needs more (`reason` says so), and `best_case` is the power when
        no case gets worse. That is the smaller one where so few cases change that the test cannot
        reject: fewer than six at alpha 0.05.

    Raises:
        ArgumentError: Too few assumptions, some that contradict each other or the pilot.
        TrialsError: A pilot without any spread.

    Notes:
        The variance of one case's difference is omega^2 + s_A^2 / K_A + s_B^2 / K_B: omega^2
        between cases, s^2 / K trial noise. A pilot of two configs gives it as cases times the
        squared CR2 standard error, so clusters are in omega^2; where they make it smaller than
        that of independent cases, which is chance, the latter is taken. With one config omega^2 is
        2 (1 - r) times its variance between cases, r the `correlation` of case rates.
        The t test rejects with the probability that `|T|` is above t_{1 - alpha/2}, T noncentral
        t with shift effect / se. Assumptions enter as beta-binomial trials would: between =
        icc p (1 - p).
        McNemar's test rejects with its exact probability at the discordance, which is
        (b + c + 1) / (n + 2) of the pilot's outcomes, of single trials where `trials` is 1 and
        the pilot had more, or variance + effect^2 where only rates are assumed.
        A verdict of `tr.compare` also needs the sign flip, which costs power. Simulated with 50,
        100, 150 and 500 cases, "t" promised 10, 5, 5 and 3 points too much at one trial a side,
        and 5, 2, 0 and 0 at four; "mcnemar" is within 3 points at one trial a side.

    References:
        Miller 2024 (arXiv 2411.00640), section 5; Duffy 1984, Biometrics 40:1005.

    Examples:
        >>> import trialframe as tr
        >>> planned = tr.power(effect=0.03, cases=1000, trials=5, rate=0.6, icc=0.5)
        >>> round(planned.power, 3)
        0.644
        >>> print(planned.reading.partition(" (")[0])
        1,000 cases with 5 trials a side show a true difference of 0.03 with power 64.4 %
    """
    full, spread = opened(counts, checked(dict(plan)))
    effect, cases = _effect(effect), _cases(cases, spread)
    if full["test"] == "mcnemar":
        found, best = exact_powers(effect, cases, spread, full)
        return _answer("power", full, spread, effect=effect, cases=cases, power=found, best=best)
    made = float(_powers(effect, cases, spread, full))
    return _answer("power", full, spread, effect=effect, cases=cases, power=made)


def mde(
    counts: Counts | None = None,
    *,
    power: float = TARGET,
    cases: int | None = None,
    **plan: Unpack[Plan],
) -> Power:
    """Smallest true difference that a paired comparison shows with a given power.

    Args:
        counts: As in `tr.power`.
        power: Probability to show it, above alpha and below 1.
        cases: Planned shared cases, >= 2; those of the pilot by default.
        **plan: As in `tr.power`.

    Returns:
        A `Power` whose `effect` is positive, or None when no difference is shown with that power
        (`reason` says why).
        For "mcnemar" `effect` is at the discordance of the pilot or as assumed, and `best_case`
        the smallest effect when no case gets worse.

    Raises:
        ArgumentError: Too few assumptions, or some that contradict each other or the pilot.
        TrialsError: A pilot without any spread.

    Notes:
        `tr.power` turned round. With `rate`, effects above 1 - rate are not looked at.

    References:
        Miller 2024 (arXiv 2411.00640), section 5.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=150, trials=4, lift=0.05, seed=2)
        >>> round(tr.mde(tr.counts(trials)).effect, 3)
        0.064
        >>> round(tr.mde(cases=50, test="mcnemar", discordance=0.2).effect, 4)
        0.1757
    """
    full, spread = opened(counts, checked(dict(plan)))
    cases, target = _cases(cases, spread), _target(power, full)
    check_rates(spread, full["icc"], 0.0)
    if full["test"] == "mcnemar":
        found, best = exact_effects(cases, spread, full, target)
        return _answer("mde", full, spread, effect=found, cases=cases, power=target, best=best)
    made = _smallest(cases, spread, full, target)
    return _answer("mde", full, spread, effect=made, cases=cases, power=target)


def cases_needed(
    counts: Counts | None = None,
    *,
    effect: float,
    power: float = TARGET,
    **plan: Unpack[Plan],
) -> Power:
    """Smallest number of shared cases that shows a true difference with a given power.

    Args:
        counts: As in `tr.power`.
        effect: True difference, candidate minus baseline, not 0.
        power: Probability to show it, above alpha and below 1.
        **plan: As in `tr.power`.

    Returns:
        A `Power` whose `cases` is the answer, None when there is none below ten million (`reason`
        says why). For "mcnemar" `cases` is at the discordance of the pilot or as assumed, and
        `best_case` when no case gets worse.

    Raises:
        ArgumentError: Too few assumptions, or some that contradict each other or the pilot.
        TrialsError: A pilot without any spread.

    Notes:
        "z" is n = (z_{1-alpha/2} + z_power)^2 variance / effect^2, rounded up. "t" searches the
        smallest n with enough power, "mcnemar" the n from which the saw blade of exact power
        stays above the target. New cases are taken to be like those of the pilot.

    References:
        Miller 2024 (arXiv 2411.00640), section 5.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=150, trials=4, lift=0.05, seed=2)
        >>> pilot = tr.counts(trials)
        >>> tr.cases_needed(pilot, effect=0.03).cases
        671
        >>> tr.cases_needed(pilot, effect=0.03, trials=8).cases
        385
    """
    full, spread = opened(counts, checked(dict(plan)))
    effect, target = _effect(effect), _target(power, full)
    alpha = full["alpha"]
    if full["test"] == "mcnemar":
        found = exact_sizes(effect, spread, full, target)
        return _answer(
            "cases", full, spread, effect=effect, cases=found[0], power=target, best=found[1]
        )
    variance = _positive(variance_of(spread, full, effect))
    if cases_for(variance, effect, alpha, target) > MOST_CASES:
        return _answer("cases", full, spread, effect=effect, cases=None, power=target)
    if full["test"] == "z":
        made = int(np.ceil(cases_for(variance, effect, alpha, target)))
    else:
        made = t_cases(
            variance,
            effect,
            alpha,
            target,
            df_per_case=spread.df_per_case,
            df_lost=spread.df_lost,
        )
    return _answer("cases", full, spread, effect=effect, cases=made, power=target)


def power_table(
    counts: Counts | None = None,
    *,
    effects: Sequence[float] = EFFECTS,
    cases: Sequence[int] = CASES,
    **plan: Unpack[Plan],
) -> pl.DataFrame:
    """Power for every combination of cases and effect.

    Args:
        counts: As in `tr.power`.
        effects: True differences, not 0; repeated ones count once.
        cases: Numbers of shared cases, >= 2; repeated ones count once.
        **plan: As in `tr.power`.

    Returns:
        One row per number of cases and effect, in the order given: `cases`, `effect`, `power`,
        for "mcnemar" also `power_best_case`; `trials_baseline`, `trials_candidate`, `test`,
        `alpha`. Power is null where the effect cannot occur at the discordance. What the plan
        rests on and what weakens it is in the results of the other functions.

    Raises:
        ArgumentError: As in `tr.power`.

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> table = tr.power_table(effects=[0.03, 0.05], cases=[200, 1000], rate=0.6, icc=0.5)
        >>> table["test"].unique().to_list()
        ['mcnemar']
        >>> table.select("cases", "effect", pl.col("power").round(3)).rows()
        [(200, 0.03, 0.089), (200, 0.05, 0.188), (1000, 0.03, 0.337), (1000, 0.05, 0.744)]
    """
    full, spread = opened(counts, checked(dict(plan)))
    sizes = list(dict.fromkeys(_cases(size, spread) for size in cases))
    gaps = list(dict.fromkeys(_effect(effect) for effect in effects))
    if not sizes or not gaps:
        raise ArgumentError("cases and effects must hold at least one number each.")
    one, two = _trials(full, spread)
    base = {"trials_baseline": one, "trials_candidate": two}
    base |= {"test": full["test"], "alpha": full["alpha"]}
    rows: list[dict[str, Any]] = []
    exact = full["test"] == "mcnemar"
    if exact:
        for size in sizes:
            for gap in gaps:
                found, best = exact_powers(gap, size, spread, full)
                row = {"cases": size, "effect": gap, "power": found, "power_best_case": best}
                rows.append(row | base)
    else:
        made = np.column_stack([_powers(gap, np.array(sizes), spread, full) for gap in gaps])
        rows = [
            {"cases": size, "effect": gap, "power": float(made[i, j])} | base
            for i, size in enumerate(sizes)
            for j, gap in enumerate(gaps)
        ]
    numbers = ("trials_baseline", "trials_candidate", "power")
    types = dict.fromkeys([*numbers, *(["power_best_case"] if exact else [])], pl.Float64)
    return pl.DataFrame(rows, schema_overrides=types)


def _effect(effect: Any) -> float:
    made = _checks.between(effect, "effect", low=-1e300, high=1e300, inclusive=False)
    if made == 0:
        raise ArgumentError("effect == 0, must be the difference to find.")
    return made


def _cases(cases: int | None, spread: Spread) -> int:
    if cases is None and spread.cases is None:
        raise ArgumentError("cases is not given, and there is no pilot to take it from.")
    return _checks.integer(spread.cases if cases is None else cases, "cases", low=2)


def _target(power: Any, full: dict[str, Any]) -> float:
    made = _checks.between(power, "power", inclusive=False)
    if made <= full["alpha"]:
        raise ArgumentError(f"power == {made:g}, must be above alpha == {full['alpha']:g}.")
    return made


def _positive(variance: float) -> float:
    if variance <= 0:
        raise TrialsError(
            "every case differs by the same amount, so there is no spread to plan with. Use a "
            "larger pilot, or leave out counts and give rate= and icc=."
        )
    return variance


def _powers(effect: float, cases: Any, spread: Spread, full: dict[str, Any]) -> Any:
    """Power of the t or normal test for numbers of cases, same shape as `cases`."""
    variance = _positive(variance_of(spread, full, effect))
    return t_power(effect / np.sqrt(variance / cases), _df(cases, spread, full), full["alpha"])


def _along(
    effect: float, spread: Spread, full: dict[str, Any], cases: Sequence[int]
) -> list[float | None]:
    """Power at several numbers of cases, None where the effect cannot occur."""
    if full["test"] == "mcnemar":
        return [exact_powers(effect, size, spread, full)[0] for size in cases]
    made: list[float | None] = _powers(effect, np.array(cases), spread, full).tolist()
    return made


def _df(cases: Any, spread: Spread, full: dict[str, Any]) -> Any:
    if full["test"] == "z":
        return np.full(np.shape(cases), np.inf)
    return np.maximum(cases * spread.df_per_case - spread.df_lost, 1.0)


def _smallest(cases: int, spread: Spread, full: dict[str, Any], target: float) -> float | None:
    """The effect at which the power is reached."""
    alpha, df = full["alpha"], _df(cases, spread, full)
    if spread.observed is not None:
        variance = _positive(variance_of(spread, full, 0.0))
        if full["test"] == "z":
            return detectable(variance, cases, alpha, target)
        return float(t_shift(df, alpha, target)) * sqrt(variance / cases)
    from scipy.optimize import brentq

    def shortfall(effect: float) -> float:
        return float(_powers(effect, cases, spread, full)) - target

    most = most_effect(spread) * (1.0 - 1e-9)
    if most <= 0 or shortfall(most) < 0:
        return None
    return float(brentq(shortfall, 1e-12, most, xtol=1e-12))


def _trials(full: dict[str, Any], spread: Spread) -> tuple[float | None, float | None]:
    if full["trials"] is not None:
        return float(full["trials"][0]), float(full["trials"][1])
    if full["test"] == "mcnemar" and spread.trials is None and not full["single"]:
        return None, None
    return spread.trials or (1.0, 1.0)


def _answer(
    solved_for: str,
    full: dict[str, Any],
    spread: Spread,
    *,
    effect: float | None,
    cases: int | None,
    power: float | None,
    best: float | None = None,
) -> Power:
    """The result, with its sentence."""
    exact = full["test"] == "mcnemar"
    variance = None if exact or effect is None else variance_of(spread, full, effect)
    psi = discordance_at(effect, spread, full) if exact and effect else spread.discordance
    one, two = _trials(full, spread)
    made = Power(
        solved_for=solved_for,
        effect=effect,
        power=power,
        cases=cases,
        best_case=best,
        trials_baseline=one,
        trials_candidate=two,
        test=full["test"],
        method=METHODS[full["test"]],
        alpha=full["alpha"],
        sd=None if variance is None else sqrt(variance),
        se=None if variance is None or cases is None else sqrt(variance / cases),
        design_effect=spread.design_effect,
        discordance=psi if exact else None,
        assumptions=spread.notes,
        warnings=spread.warnings,
        reason=None,
        reading="",
    )
    made = replace(made, reason=reason(made, most_effect(spread)))
    if made.effect is not None:
        made = replace(made, powers=partial(_along, made.effect, spread, full))
    return replace(made, reading=reading(made, spread.discordance_words))
