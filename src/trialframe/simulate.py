"""Simulated trials with a known truth: to learn the methods, to test them, to plan a study."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe import _scenario as scenario
from trialframe.errors import ArgumentError, short
from trialframe.kernels import simulation as sim
from trialframe.schema import TRIALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]
    Streams: TypeAlias = dict[str, np.random.Generator]
    Columns: TypeAlias = dict[str, pl.Series]

# One stream of draws a name, so that no column depends on which others were asked for.
# Append only: the place of a name fixes its draws.
_STREAMS = (
    "ease",
    "interaction",
    "sizes",
    "verdicts",
    "unscored",
    "secure",
    "judge",
    "label",
    "effort",
    "cost_uusd",
    "tokens_in",
    "tokens_out",
    "duration_ms",
    "suites",
    "results",
)
_EXTRA = ("perturbation", "fault", "difficulty", "true_rate")
_ORDER = (*(column.name for column in TRIALS), *_EXTRA)
_SPACING_US = 1_000_000  # trials start one second apart
_LARGEST = 1e12  # mean of a measure: its tail still fits 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows to be as arrays of one length; the first five hold positions, not values."""

    config: Ints
    case: Ints
    perturbation: Ints
    fault: Ints
    outcome: Ints
    trial: Ints
    attempt: Ints
    rate: Floats
    truth: Bools
    scored: Bools


def simulate(
    *,
    configs: int | Sequence[str] = 2,
    cases: int = 200,
    trials: int | tuple[int, int] = 5,
    clusters: int | Mapping[str, float] | None = None,
    difficulty: tuple[float, float] = (1.0, 1.0),
    lift: float | Sequence[float] = 0.0,
    icc: float = 0.0,
    interaction: float = 0.0,
    perturbation: Sequence[float] | None = None,
    perturbation_effect: float = -0.1,
    faults: Sequence[float] | None = None,
    fault_effect: float = -0.1,
    attempts: int | None = None,
    learning: float = 0.0,
    unscored: float | Mapping[str, float] | None = None,
    insecure: float | None = None,
    judge: tuple[float, float] | None = None,
    labelled: float | None = None,
    cost_uusd: float | Sequence[float] | None = None,
    tokens: tuple[float, float] | None = None,
    duration_ms: float | Sequence[float] | None = None,
    tests_total: float | None = None,
    difficulty_levels: Sequence[str] | None = None,
    started_at: datetime | None = None,
    schedule: Literal["interleaved", "blocked"] = "interleaved",
    seed: int = 0,
) -> pl.DataFrame:
    """Simulate a trial table whose true pass rates are known.

    Use it to see what a method does when the answer is known, to test a pipeline, or to plan a
    study. Do not use it to describe a real system: real failures are not Beta distributed, and
    real trials depend on each other in more ways than clusters.

    A column appears when its argument is given. The draws of one column never depend on which
    other columns were asked for, so adding `cost_uusd=` leaves every verdict as it was.

    Args:
        configs: Number of configs, or their names. The first is the baseline.
        cases: Number of cases, the same for every config, >= 1.
        trials: Trials per config, case and level; (low, high) draws each number evenly from
            low..high, so that tables are ragged. 0 means that the case was not run.
        clusters: Number of clusters of equal size, or name -> relative size. Adds `cluster`.
        difficulty: Parameters (a, b) > 0 of the Beta distribution of case pass rates: mean
            a / (a + b); below 1 most cases are nearly always or nearly never solved.
        lift: Added to the pass rates, in [-1, 1]: one number is the lift of the last config
            over the first, with those between evenly spaced; or one number a config.
        icc: Share of the variance of case ease that lies between clusters, in [0, 1].
        interaction: Standard deviation, on the normal (probit) scale on which the ease of a
            case has standard deviation 1, of what makes a case easier for one config only.
        perturbation: Levels of prompt perturbation, crossed with all else. Adds `perturbation`.
        perturbation_effect: Change of the pass rate per unit of perturbation, in [-1, 1].
        faults: Levels of fault injection, crossed with all else. Adds `fault`.
        fault_effect: Change of the pass rate per unit of faults, in [-1, 1].
        attempts: Attempts per trial, one row each, stopping at success. Adds `attempt`.
        learning: Change of the pass rate per further attempt, in [-1, 1].
        unscored: Share of trials without a verdict, or outcome -> share. They are missing at
            random. Adds `outcome`: "error" or the outcome given, else "completed".
        insecure: Share of passes with a security finding. Adds `secure`, null for failures.
        judge: (sensitivity, specificity) of an automatic judge. Adds `judge`.
        labelled: Share of scored trials that a human labelled, correctly. Adds `label`.
        cost_uusd: Mean price of a trial in micro-dollars, one or one a config; lognormal.
        tokens: Mean tokens (in, out) of a trial. Adds `tokens_in` and `tokens_out`.
        duration_ms: Mean time of a trial in milliseconds, one or one a config; lognormal.
        tests_total: Mean number of unit tests of a case, >= 1; a trial passes when all pass.
            Adds `tests_passed` and `tests_total`.
        difficulty_levels: Names of groups of cases of equal size, from the hardest to the
            easiest, for example ("hard", "medium", "easy"). Adds `difficulty`.
        started_at: Start of the first trial (UTC when it names no zone); the next starts a
            second later. Adds `started_at`.
        schedule: "interleaved" runs the configs side by side, "blocked" one after another.
        seed: Seed of the draws.

    Returns:
        One row a trial (an attempt, with `attempts`), sorted by config, case and trial, with
        the names and types of `trialframe.schema.TRIALS` and, as Float64, `true_rate`: the
        probability that this row passes when it is scored.

    Raises:
        ArgumentError: An argument is of the wrong type or outside its range.

    Notes:
        With z_i the ease of case i (correlated within clusters) and e_gi standard normal,

            rate_gi = clip(F^-1(Phi((z_i + s e_gi) / sqrt(1 + s^2))) + lift_g, 0, 1)

        where F is the Beta distribution of `difficulty` and s is `interaction`. The true pass@1
        of a config is the mean of `true_rate` over cases. Clipping at 0 and 1 makes the true
        difference of two configs smaller than their difference in lift: compare estimates to
        `true_rate`, not to `lift`. `icc` is the correlation on the normal scale; that of the
        rates is a little smaller.

    References:
        Miller (2024), "Adding Error Bars to Evals", arXiv:2411.00640, section 3.

    Examples:
        >>> import polars as pl
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=3, trials=2, lift=0.1, seed=1)
        >>> trials.columns
        ['config', 'case', 'trial', 'passed', 'true_rate']
        >>> trials.group_by("config").agg(pl.len(), pl.col("true_rate").mean().round(3)).sort(
        ...     "config"
        ... ).rows()
        [('base', 6, 0.42), ('new', 6, 0.52)]
    """
    names = scenario.config_names(configs)
    cases = _checks.integer(cases, "cases", low=1)
    icc = _checks.between(icc, "icc")
    streams = _streams(seed)
    groups, cluster = scenario.cluster_of_cases(clusters, cases, icc)
    ease = sim.case_ease(streams["ease"], cluster, icc)
    rates = sim.pass_rates(
        streams["interaction"],
        ease,
        scenario.lifts(lift, len(names)),
        scenario.pair(difficulty, "difficulty", low=0.0, high=1e6, inclusive=False),
        _checks.between(interaction, "interaction", high=1e6),
    )
    perturbed = scenario.levels(perturbation, "perturbation", perturbation_effect)
    faulty = scenario.levels(faults, "faults", fault_effect)
    tries = scenario.attempts(attempts, learning)
    outcomes = scenario.outcomes(unscored)
    rows = _rows(streams, rates, trials, (perturbed, faulty), tries, tuple(outcomes.values()))
    columns = {
        **_named("config", names, rows.config),
        **_named("case", scenario.numbered("case", cases), rows.case),
        **_named("cluster", groups, cluster[rows.case]),
        **_named("perturbation", perturbed.values, rows.perturbation),
        **_named("fault", faulty.values, rows.fault),
        **_named("outcome", (*outcomes, "completed") if outcomes else (), rows.outcome),
        **_outcome(rows, attempts),
        **_verdicts(streams, rows, insecure, judge, labelled),
        **_measures(streams, rows, cost_uusd, tokens, duration_ms, len(names)),
        **_tests(streams, rows, tests_total, cases),
        **_difficulty(ease, rows.case, difficulty_levels),
        **_clock(rows, started_at, schedule),
    }
    return pl.DataFrame(columns).select(name for name in _ORDER if name in columns)


def _streams(seed: int) -> Streams:
    sources = np.random.default_rng(_checks.integer(seed, "seed", low=0)).spawn(len(_STREAMS))
    return dict(zip(_STREAMS, sources, strict=True))


def _rows(
    streams: Streams,
    rates: Floats,
    trials: int | tuple[int, int],
    levels: tuple[scenario.Levels, scenario.Levels],
    attempts: tuple[int, float],
    unscored: tuple[float, ...],
) -> _Rows:
    """Lay out config x case x levels x trial x attempt, and draw what happened in each."""
    shape = (*rates.shape, levels[0].effects.size, levels[1].effects.size)
    sizes = sim.sizes(streams["sizes"], *scenario.trial_range(trials), int(np.prod(shape)))
    config, case, perturbation, fault = np.unravel_index(
        np.repeat(np.arange(sizes.size), sizes), shape
    )
    effect = levels[0].effects[perturbation] + levels[1].effects[fault]
    many, learning = attempts
    rate = (rates[config, case] + effect)[:, None] + learning * np.arange(many)
    rate = np.clip(rate, 0.0, 1.0)
    truth = streams["verdicts"].random(rate.shape) < rate
    outcome = sim.categories(streams["unscored"], np.array(unscored), rate.size)
    outcome = outcome.reshape(rate.shape)
    scored = outcome == len(unscored)
    trial, made = np.nonzero(sim.until_success(truth & scored))
    return _Rows(
        config=config[trial],
        case=case[trial],
        perturbation=perturbation[trial],
        fault=fault[trial],
        outcome=outcome[trial, made],
        trial=sim.within(config * rates.shape[1] + case)[trial],
        attempt=made + 1,
        rate=rate[trial, made],
        truth=truth[trial, made],
        scored=scored[trial, made],
    )


def _verdicts(
    streams: Streams,
    rows: _Rows,
    insecure: float | None,
    judge: tuple[float, float] | None,
    labelled: float | None,
) -> Columns:
    columns: Columns = {}
    size = rows.truth.size
    if insecure is not None:
        secure = streams["secure"].random(size) >= _checks.between(insecure, "insecure")
        columns["secure"] = _where(secure, rows.scored & rows.truth)
    if judge is not None:
        rates = scenario.pair(judge, "judge", low=0.0, high=1.0)
        columns["judge"] = _where(sim.judged(streams["judge"], rows.truth, *rates), rows.scored)
    if labelled is not None:
        seen = streams["label"].random(size) < _checks.between(labelled, "labelled")
        columns["label"] = _where(rows.truth, rows.scored & seen)
    return columns


def _measures(
    streams: Streams,
    rows: _Rows,
    cost_uusd: float | Sequence[float] | None,
    tokens: tuple[float, float] | None,
    duration_ms: float | Sequence[float] | None,
    configs: int,
) -> Columns:
    means: dict[str, Floats] = {}
    per_config = partial(scenario.per_config, configs=configs, low=1.0, high=_LARGEST)
    if cost_uusd is not None:
        means["cost_uusd"] = per_config(cost_uusd, "cost_uusd")
    if tokens is not None:
        pair = scenario.pair(tokens, "tokens", low=1.0, high=_LARGEST)
        means["tokens_in"], means["tokens_out"] = (np.full(configs, mean) for mean in pair)
    if duration_ms is not None:
        means["duration_ms"] = per_config(duration_ms, "duration_ms")
    shared = streams["effort"].standard_normal(rows.config.size)
    return {
        name: pl.Series(sim.amounts(streams[name], mean[rows.config], shared))
        for name, mean in means.items()
    }


def _tests(streams: Streams, rows: _Rows, mean: float | None, cases: int) -> Columns:
    if mean is None:
        return {}
    mean = _checks.between(mean, "tests_total", low=1.0, high=1e6)
    total = sim.suite_sizes(streams["suites"], mean, cases)[rows.case]
    passed = sim.suite_results(streams["results"], rows.truth, total)
    return {"tests_passed": _where(passed, rows.scored), "tests_total": pl.Series(total)}


def _difficulty(ease: Floats, case: Ints, levels: Sequence[str] | None) -> Columns:
    if levels is None:
        return {}
    words = scenario.unique(levels, "difficulty_levels")
    rank = np.empty(ease.size, dtype=np.int64)
    rank[np.argsort(ease)] = np.arange(ease.size)
    return {"difficulty": pl.Series(words).gather((rank * len(words) // ease.size)[case])}


def _clock(rows: _Rows, started_at: datetime | None, schedule: str) -> Columns:
    _checks.one_of(schedule, "schedule", ("interleaved", "blocked"))
    if started_at is None:
        return {}
    if not isinstance(started_at, datetime):
        raise ArgumentError(f"started_at == {short(started_at)}, must be a datetime.")
    start = started_at if started_at.tzinfo else started_at.replace(tzinfo=UTC)
    turn = np.arange(rows.trial.size)
    if schedule == "interleaved":
        turn[np.lexsort((rows.config, rows.case, rows.attempt, rows.trial))] = turn.copy()
    seconds = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    when = pl.Series(seconds + turn * _SPACING_US)
    return {"started_at": when.cast(pl.Datetime("us", "UTC"))}


def _outcome(rows: _Rows, attempts: int | None) -> Columns:
    columns = {
        "trial": pl.Series(rows.trial),
        "passed": _where(rows.truth, rows.scored),
        "true_rate": pl.Series(rows.rate),
    }
    return columns if attempts is None else columns | {"attempt": pl.Series(rows.attempt)}


def _named(name: str, values: Sequence[str] | Floats, index: Ints) -> Columns:
    """A column of the values at the positions of `index`; none when there are no values."""
    return {name: pl.Series(values).gather(index)} if len(values) else {}


def _where(values: Bools | Ints, known: Bools) -> pl.Series:
    """The values, null where they are not known."""
    series = pl.Series(values)
    return series.zip_with(pl.Series(known), pl.Series([None], dtype=series.dtype))
