"""The difference of two configs on their pairs: its interval, its test and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialframe.comparison.pairs import known_or_none, lower_wins
from trialframe.comparison.pvalues import tested_with
from trialframe.errors import ArgumentError
from trialframe.kernels import paired
from trialframe.kernels.intervals import score_t, square_and_add, t_interval
from trialframe.kernels.means import clustered_mean
from trialframe.kernels.resample import bootstrap_mean
from trialframe.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.comparison.pairs import Difference
    from trialframe.comparison.pvalues import PValue
    from trialframe.estimate.metrics import Request
    from trialframe.kernels.draws import Short
    from trialframe.kernels.means import ClusteredMean

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

INTERVALS = ("default", "t", "score", "tango", "wald+2", "bootstrap", "bca", "studentised")
EFFECTS = ("difference", "ratio")

FEWEST_CHANGED = 6
"""Changed units below which no sign flip can be significant at 5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Result):
    """What a comparison was asked for; the words of `tr.compare`."""

    metric: str
    effect: str = "difference"
    interval: str = "default"
    test: str = "sign-flip"
    level: float = 0.95
    margin: float | None = None
    short: Short = "null"
    units: str = "clusters"
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Result):
    """An interval and how it was made.

    Attributes:
        low: Lower end, None where it is undefined.
        high: Upper end.
        method: "t-cr2", "score", "tango", "wald+2", "percentile", "bca" or "studentised"; where
            one is undefined on these data, the one that stood in.
        ignores_clusters: Whether cases were taken as independent though they have clusters.
        ignores_weights: Whether cases counted alike though they have different weights.
        degenerate: Whether all differences or resamples agree, so that there is no width.
    """

    low: float | None
    high: float | None
    method: str
    ignores_clusters: bool = False
    ignores_weights: bool = False
    degenerate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Result):
    """The candidate's mean over the baseline's, on the shared cases.

    Attributes:
        value: Ratio of the means, > 0.
        low: Lower end of its interval, None with fewer than two units.
        high: Upper end.
        method: "log-t-cr2": a t interval of the logarithm, with a linearised standard error.
    """

    value: float
    low: float | None
    high: float | None
    method: str = "log-t-cr2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one set of pairs says: the numbers of a comparison, of a group, of a rest."""

    fit: ClusteredMean
    interval: Interval
    ratio: Ratio | None
    tested: PValue
    wins: int
    losses: int
    verdict: str


def measured(
    data: Difference, request: Request, settings: Settings, *, hopeless: bool = False
) -> Measured:
    """Estimate, interval, test and verdict of some pairs.

    Args:
        data: The pairs.
        request: The metric.
        settings: The methods.
        hopeless: Whether no verdict is possible whatever the numbers say.
    """
    fit = clustered_mean(np.column_stack([data.diff, data.a, data.b]), data.weight, data.cluster)
    interval = interval_of(data, fit, settings)
    ratio = ratio_of(data, fit, settings.level)
    tested = tested_with(data, settings.test, settings.seed)
    ends = relative(interval, ratio, settings.effect)
    return Measured(
        fit=fit,
        interval=interval,
        ratio=ratio,
        tested=tested,
        wins=int((data.diff > 0).sum()),
        losses=int((data.diff < 0).sum()),
        verdict="inconclusive"
        if hopeless
        else verdict_of(*ends, tested, settings.level, lower_wins=lower_wins(request)),
    )


def relative(
    interval: Interval, ratio: Ratio | None, effect: str
) -> tuple[float | None, float | None]:
    """Ends of the effect's interval around 0: of the difference, or of the ratio minus 1."""
    if effect == "difference":
        return interval.low, interval.high
    if ratio is None or ratio.low is None or ratio.high is None:
        return None, None
    return ratio.low - 1.0, ratio.high - 1.0


def verdict_of(
    low: float | None, high: float | None, tested: PValue, level: float, *, lower_wins: bool
) -> str:
    """Better or worse when interval and test both say so, else inconclusive."""
    if low is None or high is None or tested.changed < FEWEST_CHANGED:
        return "inconclusive"
    if tested.pvalue >= 1.0 - level or low <= 0 <= high:
        return "inconclusive"
    # a test of majority outcomes can point the other way than the mean
    toward, away = (tested.greater, tested.less) if low > 0 else (tested.less, tested.greater)
    if toward > away:
        return "inconclusive"
    return "better" if (low > 0) != lower_wins else "worse"


def interval_of(data: Difference, fit: ClusteredMean, settings: Settings) -> Interval:
    """The interval of the mean difference by the method of the settings."""
    name, level = settings.interval, settings.level
    if name == "default":
        name = "tango" if data.one_trial_each and data.cluster is None else "t"
    if name == "t":
        t = t_interval(fit.mean[0], fit.se[0], fit.df[0], level)
        shares = data.request.metric.unit == "share"  # whose differences end at -1 and 1
        low, high = (np.clip(end, -1.0, 1.0) if shares else end for end in (t.low, t.high))
        return Interval(
            low=known_or_none(low),
            high=known_or_none(high),
            method="t-cr2",
            degenerate=bool(fit.se[0] == 0),
        )
    if name == "score":
        return _of_scores(data, fit, level)
    if name in {"tango", "wald+2"}:
        if not data.one_trial_each:
            raise ArgumentError(
                f"interval == {name!r} is for pass@1 with one trial a case on each side and equal "
                'weights. Choose "t", "bootstrap", "bca" or "studentised"; the result holds '
                "Tango's interval on majority outcomes in any case."
            )
        return on_majority(data, name, level)
    return bootstrap(data, "percentile" if name == "bootstrap" else name, settings)


def _of_scores(data: Difference, fit: ClusteredMean, level: float) -> Interval:
    """From the score intervals of both sides and the correlation of their means."""
    if data.request.metric.unit != "share":
        raise ArgumentError(
            f"interval == 'score' is for metrics in [0, 1], not for {data.request.name}. Choose "
            '"t", "bootstrap", "bca" or "studentised".'
        )
    both, (se_a, se_b) = float(fit.se[0]), fit.se[1:]
    together = float(se_a * se_b)
    shared = (se_a**2 + se_b**2 - both**2) / (2.0 * together) if together > 0 else 0.0
    sides = [
        (float(mean), score_t(mean, se, df, trials.sum(), units, level))
        for mean, se, df, units, trials in zip(
            fit.mean[1:], fit.se[1:], fit.df[1:], fit.units[1:], (data.n_a, data.n_b), strict=True
        )
    ]
    got = square_and_add(sides[0], sides[1], float(np.clip(shared, -1.0, 1.0)))
    return Interval(low=known_or_none(got.low), high=known_or_none(got.high), method="score")


def on_majority(data: Difference, name: str, level: float) -> Interval:
    """Tango's interval or Wald+2 on majority outcomes; both take cases as independent."""
    kernel = paired.tango if name == "tango" else paired.wald_plus2
    got = kernel(*data.discordant, len(data.diff), level)
    return Interval(
        low=known_or_none(got.low),
        high=known_or_none(got.high),
        method=name,
        ignores_clusters=data.cluster is not None,
        ignores_weights=not data.equal_weights,
    )


def bootstrap(data: Difference, method: str, settings: Settings) -> Interval:
    """A bootstrap interval over cases or whole clusters."""
    got = bootstrap_mean(
        data.diff,
        np.random.default_rng(settings.seed),
        data.weight,
        data.cluster,
        resamples=settings.resamples,
        level=settings.level,
        method=method,
    )
    return Interval(
        low=known_or_none(got.low),
        high=known_or_none(got.high),
        method=got.method,
        degenerate=got.degenerate,
    )


def ratio_of(data: Difference, fit: ClusteredMean, level: float) -> Ratio | None:
    """Ratio of the two means with an interval on the log scale; None unless both are > 0."""
    before, after = float(fit.mean[1]), float(fit.mean[2])
    if not (before > 0 and after > 0):
        return None
    # log(B/A) moves like the mean of b_i / B - a_i / A
    parts = data.b / after - data.a / before
    spread = clustered_mean(parts[:, None], data.weight, data.cluster)
    got = t_interval(np.log(after / before), spread.se[0], spread.df[0], level)
    low, high = known_or_none(float(np.exp(got.low))), known_or_none(float(np.exp(got.high)))
    return Ratio(value=after / before, low=low, high=high)
