"""From case values to an estimate with an interval: which method serves which metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trialframe.estimate.extrapolate import extrapolated
from trialframe.kernels.bayes import bayes_at_n
from trialframe.kernels.intervals import imbens_manski, score_t, t_interval, wilson, z_interval
from trialframe.kernels.means import ClusteredMean, clustered_mean
from trialframe.kernels.resample import bootstrap_mean
from trialframe.kernels.sequential import suite_sequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.estimate.metrics import Cases, Request

    Floats = NDArray[np.float64]

METHODS = ("default", "t", "score", "cr1", "bootstrap", "bca", "bayes", "beta-binomial")
SEQUENCE = "sequence"
"""Method of stopping="adaptive"; not one to ask for by name."""
HINT = (
    "score serves metrics between 0 and 1; bayes serves pass@1 with estimand='suite'; "
    "beta-binomial serves pass@k and pass^k; t, score, cr1, bootstrap and bca describe "
    "estimand='cases'."
)
BOUNDED = ("rate", "share", "bounded", "pooled")


def defined(method: str, estimand: str, request: Request) -> bool:
    """Whether a method says something about this metric under this estimand."""
    if request.metric.shape in {"fact", "pooled"}:
        return method == "default"
    if method == "beta-binomial":
        return request.metric.name in {"pass@k", "pass^k"}
    if method in {"bayes", SEQUENCE}:
        return estimand == "suite" and request.name in {"pass@1", "pass^1"}
    if method == "score" and request.shape not in BOUNDED:
        return False
    return estimand == "cases" or method == "default"


@dataclass(slots=True, kw_only=True)
class _Estimates:
    """Columns under construction, each shape (K,)."""

    value: Floats
    se: Floats
    low: Floats
    high: Floats
    df: Floats
    clusters: NDArray[np.int64]
    largest_share: Floats
    estimand: list[str]
    method: list[str]


def estimates(
    cases: Cases,
    asked: list[Request],
    values: Floats,
    *,
    estimand: str,
    method: str,
    level: float,
    resamples: int,
    seed: int,
) -> _Estimates:
    """Estimate K metrics at once.

    Args:
        cases: Counts of the M cases.
        asked: The K metrics.
        values: Case values, shape (M, K), NaN where undefined.
        estimand: "cases" or "suite".
        method: One of METHODS that `defined` allows.
        level: Nominal coverage.
        resamples: Bootstrap resamples.
        seed: Seed; every metric starts its own generator, so that one estimate does not
            depend on which others were asked for.
    """
    variant = "cr1" if method == "cr1" else "cr2"
    fit = clustered_mean(values, cases.weight, cases.cluster, variant=variant)
    bounds = np.array([request.shape in BOUNDED for request in asked])
    amounts = np.array([request.shape == "amount" for request in asked])
    made = _from_means(cases, asked, values, fit, level, variant, method)
    if method == "beta-binomial":
        suite = estimand == "suite"
        _beta_binomial(made, cases, asked, suite=suite, level=level, resamples=resamples, seed=seed)
    elif estimand == "suite":
        _suite(made, cases, asked, values, level)
    for j, request in enumerate(asked):
        if request.metric.shape == "pooled":
            _pooled(made, j, cases, level)
        elif request.metric.shape == "fact":
            _fact(made, j)
        elif method in {"bootstrap", "bca"}:
            _bootstrap(made, j, cases, values[:, j], method, level, resamples, seed)
        elif method == "bayes":
            _bayes(made, j, cases, level)
        elif method == SEQUENCE:
            _sequence(made, j, cases, level)
    least = np.where(bounds | amounts, 0.0, -np.inf)
    # adding 0 turns the -0.0 that clipping may leave into 0.0
    made.low = np.clip(made.low, least, np.where(bounds, 1.0, np.inf)) + 0.0
    made.high = np.clip(made.high, least, np.where(bounds, 1.0, np.inf)) + 0.0
    return made


def _from_means(
    cases: Cases,
    asked: list[Request],
    values: Floats,
    fit: ClusteredMean,
    level: float,
    variant: str,
    method: str,
) -> _Estimates:
    """Score interval where the metric is a rate, t interval elsewhere."""
    shapes = np.array([request.shape for request in asked])
    scored = np.isin(shapes, BOUNDED if method == "score" else ("rate", "share"))
    scored &= method in {"default", "score"}
    used = ~np.isnan(values) & (cases.weight > 0)[:, None]
    trials = np.where(shapes == "share", used.sum(axis=0), cases.n @ used)
    inside = np.clip(fit.mean, 0.0, 1.0)
    score = score_t(inside, fit.se, fit.df, trials, fit.units, level)
    t = t_interval(fit.mean, fit.se, fit.df, level)
    return _Estimates(
        value=fit.mean,
        se=fit.se,
        low=np.where(scored, score.low, t.low),
        high=np.where(scored, score.high, t.high),
        df=fit.df,
        clusters=fit.units,
        largest_share=fit.largest_share,
        estimand=["cases"] * len(asked),
        method=[f"{'score' if is_score else 't'}-{variant}" for is_score in scored],
    )


def _suite(
    made: _Estimates, cases: Cases, asked: list[Request], values: Floats, level: float
) -> None:
    """These very cases: the sum of unbiased within-case variances, normal interval."""
    used = ~np.isnan(values) & (cases.weight > 0)[:, None]
    weight = np.where(used, cases.weight[:, None], 0.0)
    variance = np.full(values.shape, np.nan)
    for j, request in enumerate(asked):
        if request.metric.variance is not None:
            variance[:, j] = request.metric.variance(cases, request)
    # where a case has too few trials its NaN must reach the sum: no guess stands in for it
    total = np.where(used, weight**2 * variance, 0.0).sum(axis=0)
    total = np.where(total > 0, total, np.nan)
    made.se = np.sqrt(total) / weight.sum(axis=0)
    interval = z_interval(made.value, made.se, level)
    made.low, made.high = interval.low, interval.high
    made.df = np.full(len(asked), np.nan)
    made.clusters = used.sum(axis=0)
    made.largest_share = np.full(len(asked), np.nan)
    made.estimand = ["suite"] * len(asked)
    made.method = ["unbiased-z"] * len(asked)


def _pooled(made: _Estimates, j: int, cases: Cases, level: float) -> None:
    passes, trials = int(cases.c.sum()), int(cases.n.sum())
    interval = wilson(passes, trials, level)
    made.value[j] = passes / trials if trials else np.nan
    made.se[j] = np.sqrt(made.value[j] * (1 - made.value[j]) / trials) if trials else np.nan
    made.low[j], made.high[j] = interval.low, interval.high
    made.df[j], made.largest_share[j], made.clusters[j] = np.nan, np.nan, trials
    made.estimand[j], made.method[j] = "trials", "wilson"


def _fact(made: _Estimates, j: int) -> None:
    for column in (made.se, made.low, made.high, made.df, made.largest_share):
        column[j] = np.nan
    made.estimand[j], made.method[j] = "these trials", "count"


def _bootstrap(
    made: _Estimates,
    j: int,
    cases: Cases,
    values: Floats,
    method: str,
    level: float,
    resamples: int,
    seed: int,
) -> None:
    got = bootstrap_mean(
        values,
        np.random.default_rng(seed),
        cases.weight,
        cases.cluster,
        resamples=resamples,
        level=level,
        method="bca" if method == "bca" else "percentile",
    )
    made.se[j], made.low[j], made.high[j], made.df[j] = got.se, got.low, got.high, np.nan
    made.method[j] = f"bootstrap-{got.method}"


def _bayes(made: _Estimates, j: int, cases: Cases, level: float) -> None:
    """Bayes@N with fail = 0 and pass = 1, weighted like every other mean."""
    got = bayes_at_n(np.column_stack([cases.n - cases.c, cases.c]), (0.0, 1.0))
    known = ~np.isnan(got.case_mean) & (cases.weight > 0)
    if not known.any():
        return
    weight = cases.weight[known] / cases.weight[known].sum()
    made.value[j] = weight @ got.case_mean[known]
    made.se[j] = np.sqrt(weight**2 @ got.case_var[known])
    interval = z_interval(made.value[j], made.se[j], level)
    made.low[j], made.high[j], made.df[j] = interval.low, interval.high, np.nan
    made.method[j] = "bayes@n"


def _sequence(made: _Estimates, j: int, cases: Cases, level: float) -> None:
    """Bounds that hold whatever decided about the next trial; untried cases may have any rate."""
    made.se[j], made.df[j] = np.nan, np.nan
    if (cases.weight > 0).any():
        interval = suite_sequence(cases.c, cases.n, cases.weight, level)
        made.low[j], made.high[j] = interval.low, interval.high
    made.method[j] = "mixture-sequence"


def _beta_binomial(
    made: _Estimates,
    cases: Cases,
    asked: list[Request],
    *,
    suite: bool,
    level: float,
    resamples: int,
    seed: int,
) -> None:
    ks = np.array([request.k for request in asked])
    hats = np.array([request.metric.name == "pass^k" for request in asked])
    got = extrapolated(cases, ks, hats, suite=suite, level=level, resamples=resamples, seed=seed)
    made.value, made.se, made.low, made.high = (got[c] for c in ("value", "se", "low", "high"))
    made.df = np.full(len(asked), np.nan)
    made.estimand = ["suite" if suite else "cases"] * len(asked)
    fit = "binomial" if got["status"] == "underdispersed" else "beta-binomial"
    made.method = [fit] * len(asked)
    seen = np.flatnonzero(cases.n > 0)
    sizes = np.bincount(seen if cases.cluster is None or suite else cases.cluster[seen])
    made.clusters = np.full(len(asked), int((sizes > 0).sum()))
    made.largest_share = np.full(len(asked), sizes.max(initial=0) / max(len(seen), 1))


def brackets(
    cases: Cases,
    asked: list[Request],
    low: Floats,
    high: Floats,
    made: _Estimates,
    level: float,
) -> dict[str, Any]:
    """The range over all verdicts of the unscored trials, and the interval over it.

    Args:
        cases: Counts of the M cases.
        asked: The K metrics.
        low: Case values with every unscored trial failed, shape (M, K).
        high: Case values with every unscored trial passed, shape (M, K).
        made: The estimates, whose interval stands where nothing is unscored.
        level: Nominal coverage.
    """
    pooled = np.array([request.metric.shape == "pooled" for request in asked])
    worst = clustered_mean(low, cases.weight, cases.cluster)
    best = worst if high is low else clustered_mean(high, cases.weight, cases.cluster)
    bottom, top = worst.mean.copy(), best.mean.copy()
    without = int((cases.unscored + cases.failed).sum())
    passes, trials = int(cases.c.sum()), int((cases.n + cases.unscored).sum())
    if trials:
        bottom[pooled], top[pooled] = passes / trials, (passes + without) / trials
    if without:
        df = np.minimum(worst.df, best.df)
        interval = imbens_manski(worst.mean, best.mean, worst.se, best.se, df, level)
        sampled = np.array([kind == "cases" for kind in made.estimand]) & ~pooled
        inner = np.where(sampled, np.clip(interval.low, 0.0, 1.0), np.nan)
        outer = np.where(sampled, np.clip(interval.high, 0.0, 1.0), np.nan)
    else:
        bracketed = ~np.isnan(bottom)
        inner, outer = (np.where(bracketed, end, np.nan) for end in (made.low, made.high))
    return {
        "bracket_low": bottom,
        "bracket_high": top,
        "identified_low": inner,
        "identified_high": outer,
    }
