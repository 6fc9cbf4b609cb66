"""Is the candidate better than the baseline, on the cases that both ran?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError
from trialframe.estimate.comparison import (
    FEWEST_CHANGED,
    Comparison,
    Interval,
    Majority,
    NonInferiority,
    cautions,
    claim,
)
from trialframe.estimate.metrics import SHORT, Cases, Request, cases_of, parsed
from trialframe.kernels import draws, paired
from trialframe.kernels.intervals import clopper_pearson, t_interval
from trialframe.kernels.lattice import cluster_sums, score_differences
from trialframe.kernels.means import clustered_mean
from trialframe.kernels.resample import bootstrap_mean
from trialframe.kernels.signflip import SignFlip, rate_test, sign_flip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]

FEWEST_FOR_T = 10
"""Changed units from which the t bound decides about non-inferiority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Both sides on the shared cases where the metric is defined on both."""

    request: Request
    a: Cases
    b: Cases
    values_a: Floats
    values_b: Floats
    undefined: int

    @property
    def diff(self) -> Floats:
        return self.values_b - self.values_a


def compare(
    counts: Counts,
    baseline: str,
    candidate: str,
    *,
    metric: str = "pass@1",
    margin: float | None = None,
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two configs on the cases that both ran, and say what the numbers support.

    Every case counts once, whatever its number of trials; nothing is imputed. Do not use it to
    pick the best of many configs: the more pairs, the more false winners.

    Args:
        counts: Counts that hold both configs.
        baseline: Config to compare with.
        candidate: Config under test. More is better, except for money, tokens, time and
            flakiness.
        metric: A metric with one value per case: "pass@1", "pass^5", "score", "cost_uusd".
        margin: Largest acceptable loss D > 0 for a non-inferiority claim.
        level: Nominal coverage of the intervals, in (0, 1); tests are at 1 - level.
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the counts have them, or "cases".
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of everything random; row order never changes a result.

    Returns:
        A `Comparison`.

    Raises:
        UnknownConfigError: A config is not in the counts.
        TrialsError: The configs share no case with a value on both sides.
        ArgumentError: The same config twice, or a metric without case values.

    Notes:
        d_i = metric of the candidate minus metric of the baseline in case i. The interval is
        mean(d) +- t se with CR2 standard errors and Satterthwaite degrees of freedom, or
        Tango's where every case has one trial on each side and there are no clusters. The
        test flips the signs of cases or whole clusters, exactly on integers. A verdict other
        than "inconclusive" needs an interval that excludes 0 and p < 1 - level.

    References:
        Miller 2024 (arXiv 2411.00640); Tango 1998, Stat. Med. 17:891; Phipson and Smyth 2010.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.12, seed=3)
        >>> found = tr.compare(tr.counts(trials), "base", "new")
        >>> found.verdict, round(found.diff, 3), found.exact
        ('better', 0.123, True)
    """
    level = _checks.between(level, "level", inclusive=False)
    _checks.one_of(short, "short", SHORT)
    clusters = _checks.one_of(units, "units", ("clusters", "cases")) == "clusters"
    resamples = _checks.integer(resamples, "resamples", low=100, high=1_000_000)
    seed = _checks.integer(seed, "seed", low=0)
    if margin is not None:
        margin = _checks.between(margin, "margin", low=0.0, high=1e300, inclusive=False)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    sides = counts.select(baseline, candidate).frame
    request = parsed(metric, ())[0] if not metric.endswith("k") else None
    if request is None or request.shape in {"pooled", "fact"} or "_per_pass" in metric:
        raise ArgumentError(f"metric == {metric!r} has no value per case to compare.")
    if margin is not None and _lower_wins(request):
        raise ArgumentError(f"margin is for metrics where more is better, not for {metric!r}.")
    pair = _paired(sides, baseline, candidate, request, clusters=clusters, short=short)
    return _compared(sides, pair, baseline, candidate, margin, level, resamples, seed)


def _paired(
    sides: pl.DataFrame,
    baseline: str,
    candidate: str,
    request: Request,
    *,
    clusters: bool,
    short: Short,
) -> _Pair:
    both = sides.filter(pl.len().over("case") == 2).sort("case")
    frames = [both.filter(pl.col("config") == name) for name in (baseline, candidate)]
    every = [cases_of(frame, clusters=clusters) for frame in frames]
    values = [request.metric.values(cases, request, short) for cases in every]
    known = ~np.isnan(values[0]) & ~np.isnan(values[1]) & (every[0].weight > 0)
    if not known.any():
        raise TrialsError(
            f"{baseline!r} and {candidate!r} share {frames[0].height:,} cases and none has "
            f"{request.name} on both sides, so there is nothing to compare."
        )
    kept = [cases_of(frame.filter(known), clusters=clusters) for frame in frames]
    return _Pair(
        request=request,
        a=kept[0],
        b=kept[1],
        values_a=values[0][known],
        values_b=values[1][known],
        undefined=int((~known).sum()),
    )


def _compared(
    sides: pl.DataFrame,
    pair: _Pair,
    baseline: str,
    candidate: str,
    margin: float | None,
    level: float,
    resamples: int,
    seed: int,
) -> Comparison:
    diff, weight, cluster = pair.diff, pair.a.weight, pair.a.cluster
    columns = np.column_stack([diff, pair.values_a, pair.values_b])
    fit = clustered_mean(columns, weight, cluster)
    majority = _majority(pair, level)
    tango, plus2 = _on_majority(pair, majority, level)
    single = _one_trial_each(pair)
    t = t_interval(fit.mean[0], fit.se[0], fit.df[0], level)
    interval = tango if single else Interval(low=_known(t.low), high=_known(t.high), method="t-cr2")
    pvalue, flips, exact = _tested(pair, Fraction(0), seed)
    boot = bootstrap_mean(
        diff, np.random.default_rng(seed), weight, cluster, resamples=resamples, level=level
    )
    alone = _alone(sides, baseline, candidate)
    facts = _coverage(sides, baseline, candidate) | {
        "alone": alone,
        "cases": len(diff),
        "clusters": None if cluster is None else int(fit.units[0]),
        "largest_share": float(fit.largest_share[0]),
        "changed": flips.changed,
        "equal_trials": bool((pair.a.n == pair.b.n).all()),
        "hopeless": _only_failures(sides, pair, baseline, candidate),
    }
    verdict = _verdict(interval, pvalue, level, facts, lower_wins=_lower_wins(pair.request))
    low, high = _bracket(pair)
    result = Comparison(
        baseline=baseline,
        candidate=candidate,
        metric=pair.request.name,
        diff=float(fit.mean[0]),
        se=_known(fit.se[0]),
        low=interval.low,
        high=interval.high,
        level=level,
        interval=interval.method,
        df=None if single else _known(fit.df[0]),
        pvalue=pvalue,
        test=f"sign flip of {'cases' if cluster is None else 'clusters'}, {flips.method}",
        exact=exact,
        verdict=verdict,
        baseline_value=float(fit.mean[1]),
        candidate_value=float(fit.mean[2]),
        cases=len(diff),
        only_baseline=alone[0],
        only_candidate=alone[1],
        undefined=pair.undefined,
        units=int(fit.units[0]),
        changed=flips.changed,
        wins=int((diff > 0).sum()),
        losses=int((diff < 0).sum()),
        bootstrap=Interval(low=_known(boot.low), high=_known(boot.high), method="percentile"),
        tango=tango,
        wald_plus2=plus2,
        majority=majority,
        bracket_low=low,
        bracket_high=high,
        non_inferiority=None,
        warnings=tuple(cautions(facts)),
        claim="",
    )
    if margin is not None:
        result = replace(result, non_inferiority=_non_inferior(pair, result, margin, seed))
    return replace(result, claim=claim(result))


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _one_trial_each(pair: _Pair) -> bool:
    """Whether Tango's interval is the default: decided by the design, not by the differences."""
    single = bool((pair.a.n == 1).all() and (pair.b.n == 1).all())
    return (
        single
        and pair.a.cluster is None
        and pair.request.shape == "rate"
        and pair.request.metric.bracketed
        and np.ptp(pair.a.weight) == 0
    )


def _tested(pair: _Pair, margin: Fraction, seed: int) -> tuple[float, SignFlip, bool]:
    """Two-sided p-value, the sign flip behind it, and whether it is exact."""
    rng = np.random.default_rng(seed)
    counted = pair.request.shape == "rate" and pair.request.metric.bracketed
    if counted and np.ptp(pair.a.weight) == 0 and (np.minimum(pair.a.n, pair.b.n) > 0).all():
        got = rate_test(
            pair.a.n, pair.a.c, pair.b.n, pair.b.c, rng, cluster=pair.a.cluster, margin=margin
        )
        return got.pvalue, got.sign_flip, got.exact
    weight = pair.a.weight / pair.a.weight.mean()
    lattice = score_differences((pair.diff + float(margin)) * weight)
    if pair.a.cluster is not None:
        lattice = cluster_sums(lattice, pair.a.cluster)
    flips = sign_flip(lattice, rng)
    return flips.pvalue, flips, flips.exact and bool((pair.a.n == pair.b.n).all())


def _majority(pair: _Pair, level: float) -> Majority:
    a, b = (draws.majority(side.n, side.c) for side in (pair.a, pair.b))
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    test = paired.mcnemar(only_a, only_b)
    cases, alpha = len(pair.diff), 1.0 - level
    discordance = (only_a + only_b + 1) / (cases + 2)
    return Majority(
        only_baseline=only_a,
        only_candidate=only_b,
        pvalue=float(test.pvalue),
        mid_p=float(test.mid_p),
        p_better=float(paired.dirichlet(only_a, only_b)),
        mde_best=_known(paired.mcnemar_mde(cases, alpha)),
        mde=_known(paired.mcnemar_mde(cases, alpha, discordance=discordance)),
    )


def _on_majority(pair: _Pair, majority: Majority, level: float) -> tuple[Interval, Interval]:
    made = []
    for name, kernel in (("tango", paired.tango), ("wald+2", paired.wald_plus2)):
        got = kernel(majority.only_baseline, majority.only_candidate, len(pair.diff), level)
        made.append(Interval(low=_known(got.low), high=_known(got.high), method=name))
    return made[0], made[1]


def _bracket(pair: _Pair) -> tuple[float | None, float | None]:
    """The difference over every verdict that the unscored trials of both sides may have."""
    if not pair.request.metric.bracketed:
        return None, None

    def mean(side: Cases, *, passed: bool) -> float:
        without = side.unscored + side.failed
        filled = replace(side, n=side.n + side.unscored, c=side.c + without * passed)
        values = pair.request.metric.values(filled, pair.request, "null")
        return float(clustered_mean(values[:, None], side.weight).mean[0])

    low = mean(pair.b, passed=False) - mean(pair.a, passed=True)
    high = mean(pair.b, passed=True) - mean(pair.a, passed=False)
    return _known(low), _known(high)


def _coverage(sides: pl.DataFrame, baseline: str, candidate: str) -> dict[str, Any]:
    failed = pl.col("unscored_failed") if "unscored_failed" in sides.columns else pl.lit(0)
    share = (pl.col("n") - failed).sum() / (pl.col("n") + pl.col("unscored")).sum()
    found = dict(sides.group_by("config").agg(share.alias("share")).rows())
    return {"coverage": (found[baseline], found[candidate])}


def _alone(sides: pl.DataFrame, baseline: str, candidate: str) -> tuple[int, int]:
    """Cases that only one of the two has."""
    lone = sides.filter(pl.len().over("case") == 1)["config"]
    return int((lone == baseline).sum()), int((lone == candidate).sum())


def _only_failures(sides: pl.DataFrame, pair: _Pair, baseline: str, candidate: str) -> bool:
    """Whether the candidate ran only on cases that the baseline had failed."""
    missing, extra = _alone(sides, baseline, candidate)
    return missing > 0 and extra == 0 and not draws.majority(pair.a.n, pair.a.c).any()


def _lower_wins(request: Request) -> bool:
    """Whether less is better: money, time, tokens, flakiness."""
    return request.shape == "amount" or request.metric.name in {"flaky", "flake_index"}


def _verdict(
    interval: Interval, pvalue: float, level: float, facts: dict[str, Any], *, lower_wins: bool
) -> str:
    if interval.low is None or interval.high is None or facts["hopeless"]:
        return "inconclusive"
    if pvalue >= 1.0 - level or facts["changed"] < FEWEST_CHANGED:
        return "inconclusive"
    if interval.low <= 0 <= interval.high:
        return "inconclusive"
    return "better" if (interval.low > 0) != lower_wins else "worse"


def _non_inferior(pair: _Pair, made: Comparison, margin: float, seed: int) -> NonInferiority:
    """Interval, one-sided sign flip and a bound that knows ties must all exclude a loss of D."""
    _, flips, _ = _tested(pair, Fraction(str(margin)), seed)
    alpha = (1.0 - made.level) / 2.0
    above = made.low is not None and made.low > -margin
    if made.interval == "tango":
        bound, decided, safe = made.low, "tango", above
    elif made.changed >= FEWEST_FOR_T:
        bound, decided, safe = made.low, "t", above
    else:
        worse = clopper_pearson(made.losses, made.cases, made.level).high
        bound, decided, safe = float(worse), "share of worse cases", bool(worse < margin)
    return NonInferiority(
        margin=margin,
        holds=bool(above and safe and flips.greater < alpha),
        bound=bound,
        decided_by=decided,
        pvalue=flips.greater,
    )
