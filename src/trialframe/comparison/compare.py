"""Is the candidate better than the baseline, on the cases that both ran?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe import _checks
from trialframe.comparison import difference, pvalues, subsets, wording
from trialframe.comparison.difference import Settings, measured, on_majority
from trialframe.comparison.evidence import evidence_of
from trialframe.comparison.margins import claims
from trialframe.comparison.pairs import (
    Difference,
    bracket,
    known_or_none,
    lower_wins,
    moved,
    paired,
    per_case,
)
from trialframe.comparison.result import Comparison, Majority
from trialframe.counts import Counts
from trialframe.errors import ArgumentError
from trialframe.estimate.metrics import SHORT
from trialframe.kernels import paired as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.comparison.difference import Measured
    from trialframe.comparison.pairs import Pairs
    from trialframe.estimate.metrics import Request
    from trialframe.kernels.draws import Short


def compare(
    counts: Counts,
    baseline: str,
    candidate: str,
    *,
    metric: str = "pass@1",
    by: str | Sequence[str] = (),
    same: str | Sequence[str] = (),
    effect: str = "difference",
    margin: float | None = None,
    interval: str = "default",
    test: str = "sign-flip",
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    trials: Any = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two configs on the cases that both ran, and say what the numbers support.

    Every case counts once, whatever its number of trials; nothing is imputed. Do not use it to
    pick the best of many configs: the more pairs, the more false winners (`tr.leaderboard`).

    Args:
        counts: Counts that hold both configs.
        baseline: Config to compare with.
        candidate: Config under test. More is better, except for money, tokens, time and
            flakiness.
        metric: A metric with one value per case: "pass@1", "pass^5", "score", "cost_uusd".
        by: Columns of the counts to compare within, one row of `groups` each.
        same: Columns of the counts that must agree on both sides of every shared case, such as
            the scorer or a hash of the data; else the verdict is "not comparable".
        effect: What interval, verdict and margin are about: the "difference" of the means or
            their "ratio".
        margin: D > 0 for a claim that no loss as large as D is left: in units of the metric,
            or a share of the baseline for ratios.
        interval: "default", "t", "score" (metrics in [0, 1]; better near 0 and 1), "tango",
            "wald+2", "bootstrap" (percentile), "bca" or "studentised".
        test: "sign-flip", or on majority outcomes "mcnemar" (exact) or "mid-p".
        level: Nominal coverage of the intervals, in (0, 1); tests are at 1 - level, and claims
            within a margin one-sided at (1 - level)/2.
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the counts have them, or "cases".
        trials: The trials that were counted, as `tr.read` gives them: adds whether runs were
            interleaved in time, shared seeds and contexts, and the worst runs.
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of everything random; row order never changes a result.

    Returns:
        A `Comparison`.

    Raises:
        UnknownConfigError: A config is not in the counts.
        TrialsError: The configs share no case with a value on both sides.
        ArgumentError: The same config twice, a metric without case values, a column that the
            counts do not have, or a method that does not fit the data.

    Notes:
        d_i = metric of the candidate minus metric of the baseline in case i. The interval is
        mean(d) +- t se with CR2 standard errors and Satterthwaite degrees of freedom, or
        Tango's where every case has one trial on each side and there are no clusters. The
        ratio's interval is the same on the log scale. The test flips the signs of cases or whole
        clusters, exactly on integers. A verdict other than "inconclusive" needs an interval that
        excludes no effect, p < 1 - level, and 6 changed units.

    References:
        Miller 2024 (arXiv 2411.00640); Tango 1998, Stat. Med. 17:891; Phipson and Smyth 2010.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.12, seed=3)
        >>> found = tr.compare(tr.counts(trials), "base", "new")
        >>> found.verdict, round(found.diff, 3), found.exact
        ('better', 0.123, True)
    """
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    request = per_case(metric)
    settings = checked(
        Settings(
            metric=request.name,
            effect=effect,
            interval=interval,
            test=test,
            level=level,
            margin=margin,
            short=short,
            units=units,
            resamples=resamples,
            seed=seed,
        )
    )
    if differing := moved(counts, baseline, candidate, _checks.names(same, "same")):
        return _not_comparable(baseline, candidate, settings, differing)
    pairs = paired(
        counts,
        baseline,
        candidate,
        request,
        clusters=settings.units == "clusters",
        short=settings.short,
    )
    made = _compared(pairs, request, settings, baseline, candidate)
    groups = _checks.names(by, "by")
    if groups:
        parts = subsets.grouped(pairs.frame, request, settings, groups, hopeless=made.only_failures)
        made = replace(made, groups=parts)
    if trials is not None:
        found = evidence_of(
            trials,
            baseline,
            candidate,
            pairs.frame["case"],
            failing=counts.unscored == "fail",
        )
        made = replace(made, evidence=found)
    return _worded(made, pairs, counts.judged_by)


def checked(given: Settings) -> Settings:
    """The settings with their types and ranges checked.

    Raises:
        ArgumentError: An unknown word, a number out of range, or words that do not go together.
    """
    _checks.one_of(given.effect, "effect", difference.EFFECTS)
    _checks.one_of(given.interval, "interval", difference.INTERVALS)
    _checks.one_of(given.test, "test", pvalues.TESTS)
    _checks.one_of(given.short, "short", SHORT)
    _checks.one_of(given.units, "units", ("clusters", "cases"))
    if given.effect == "ratio" and given.interval not in {"default", "t"}:
        raise ArgumentError(
            f"interval == {given.interval!r}: a ratio has a t interval on the log scale only. "
            'Leave it out, or choose effect="difference".'
        )
    margin, share = given.margin, per_case(given.metric).metric.unit == "share"
    if margin is not None:
        most = 1.0 if given.effect == "ratio" or share else 1e300
        margin = _checks.between(margin, "margin", low=0.0, high=most, inclusive=False)
    return replace(
        given,
        level=_checks.between(given.level, "level", inclusive=False),
        margin=margin,
        resamples=_checks.integer(given.resamples, "resamples", low=100, high=1_000_000),
        seed=_checks.integer(given.seed, "seed", low=0),
    )


def _compared(
    pairs: Pairs, request: Request, settings: Settings, baseline: str, candidate: str
) -> Comparison:
    data = Difference.of(pairs.frame, request)
    found = measured(data, request, settings, hopeless=pairs.only_failures)
    fit, own = found.fit, found.interval
    inner, outer = bracket(pairs, request, settings.level)
    if inner[0] is not None and inner[0] == inner[1] and not pairs.undefined:
        outer = (own.low, own.high)  # every trial has its verdict
    return replace(
        _claims(data, found, settings, baseline, candidate, hopeless=pairs.only_failures),
        diff=float(fit.mean[0]),
        se=known_or_none(fit.se[0]),
        low=own.low,
        high=own.high,
        method=own.method,
        df=known_or_none(fit.df[0]) if own.method == "t-cr2" else None,
        ratio=found.ratio,
        pvalue=found.tested.pvalue,
        permutation=found.tested.permutation,
        test=found.tested.name,
        exact=found.tested.exact,
        baseline_value=float(fit.mean[1]),
        candidate_value=float(fit.mean[2]),
        cases=len(data.diff),
        only_baseline=pairs.alone[0],
        only_candidate=pairs.alone[1],
        undefined=pairs.undefined,
        units=int(fit.units[0]),
        changed=found.tested.changed,
        wins=found.wins,
        losses=found.losses,
        ties=len(data.diff) - found.wins - found.losses,
        bracket_low=inner[0],
        bracket_high=inner[1],
        identified_low=outer[0],
        identified_high=outer[1],
        only_failures=pairs.only_failures,
        pairs=pairs.frame,
    )


def _claims(
    data: Difference,
    found: Measured,
    settings: Settings,
    baseline: str,
    candidate: str,
    *,
    hopeless: bool,
) -> Comparison:
    """The verdict, the methods beside the one that decides, and claims within the margin."""
    level = settings.level
    made = Comparison(
        baseline=baseline,
        candidate=candidate,
        verdict=found.verdict,
        status="",
        claim="",
        warnings=(),
        settings=settings,
        metric=settings.metric,
        level=level,
        bootstrap=difference.bootstrap(data, "percentile", settings),
        tango=on_majority(data, "tango", level),
        wald_plus2=on_majority(data, "wald+2", level),
        majority=_majority(data, level),
    )
    if settings.margin is None:
        return made
    worse, both = claims(
        data,
        found,
        settings,
        settings.margin,
        lower_wins=lower_wins(data.request),
        hopeless=hopeless,
    )
    return replace(made, non_inferiority=worse, equivalence=both)


def _majority(data: Difference, level: float) -> Majority:
    only_a, only_b = data.discordant
    test = kernels.mcnemar(only_a, only_b)
    cases, alpha = len(data.diff), 1.0 - level
    discordance = (only_a + only_b + 1) / (cases + 2)
    return Majority(
        only_baseline=only_a,
        only_candidate=only_b,
        pvalue=float(test.pvalue),
        mid_p=float(test.mid_p),
        p_better=float(kernels.dirichlet(only_a, only_b)),
        mde_best=known_or_none(kernels.mcnemar_mde(cases, alpha)),
        mde=known_or_none(kernels.mcnemar_mde(cases, alpha, discordance=discordance)),
        ignores_clusters=data.cluster is not None,
        ignores_weights=not data.equal_weights,
    )


def _worded(made: Comparison, pairs: Pairs, judge: str | None) -> Comparison:
    """Add what moves the difference most, and what the numbers say in words."""
    unit = "cluster" if "cluster" in made.pairs.columns else "case"
    parts = subsets.influence(made.pairs, unit)
    moves = np.abs(parts["diff"].to_numpy())
    if moves[0] > 0:
        name, share = parts.select("part", "share").row(0)
        made = replace(made, largest_unit=name, largest_unit_share=share)
    warnings = wording.cautions(
        made,
        coverage=pairs.coverage,
        largest_share=float(np.max(parts["cases"].to_numpy()) / made.cases),
        dominance=float(moves[0] / moves.sum()) if moves[0] > 0 else 0.0,
        equal_trials=bool((made.pairs["n_baseline"] == made.pairs["n_candidate"]).all()),
        judge=judge,
    )
    made = replace(made, warnings=tuple(warnings))
    return replace(
        made,
        status=wording.status(made),
        claim=wording.claim(made),
    )


def _not_comparable(
    baseline: str, candidate: str, settings: Settings, differing: dict[str, int]
) -> Comparison:
    told = wording.not_comparable(baseline, candidate, differing)
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        verdict="not comparable",
        status=f"not comparable: {', '.join(differing)} moved",
        claim=told,
        warnings=(),
        settings=settings,
        metric=settings.metric,
        level=settings.level,
        moved=tuple(differing),
    )
