"""The same transcripts judged several times: how much of the variance is the judge's own.

Rows are trials, sorted by case: case code, draws n >= 1 and passing draws c.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.histogram import Histogram, totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_DIGITS = 12  # sums per unit that agree so far are one kind of unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Moment estimates of variance components on the 0/1 scale; NaN where not identified.

    Attributes:
        case: Variance of the cases' pass rates; holds the trials' when no case has two trials.
        trial: Variance of the trials' pass rates within a case; NaN when no case has two trials.
        draw: Retest variance: that of draws of one trial; NaN when no trial has two draws.
    """

    case: float
    trial: float
    draw: float

    @property
    def true(self) -> float:
        """Variance that is not the judge's, negative components taken as 0."""
        inner = 0.0 if np.isnan(self.trial) else max(self.trial, 0.0)
        return float(np.maximum(self.case, 0.0)) + inner

    @property
    def total(self) -> float:
        """Variance of one draw, negative components taken as 0; NaN with a single case."""
        return self.true + float(np.maximum(self.draw, 0.0))

    def reliability(self, draws: Floats) -> Floats:
        """Share of the variance of a mean of m draws that is not the judge's (Spearman-Brown)."""
        whole = self.true + float(np.maximum(self.draw, 0.0)) / draws
        out = np.full(len(draws), np.nan)
        np.divide(self.true, whole, out=out, where=whole > 0)
        return out


def components(case: Ints, n: Ints, c: Ints) -> Components:
    """Split the variance of judge verdicts into cases, trials within cases and draws.

    Args:
        case: Case code 0..M-1 of every trial, ascending, shape (T,).
        n: Draws of the trial, shape (T,), >= 1.
        c: Passing draws, 0 <= c <= n.

    Returns:
        Raw components, which may be negative.

    Notes:
        With rates r_ij = c_ij / n_ij, draw = sum n r (1 - r) / sum (n - 1). The variance of the
        r_ij within case i, averaged with weights T_i - 1, has expectation trial + draw * mean of
        1/n_ij; that of the case means r_i. has case + mean of (trial + draw * mean 1/n_ij)/T_i.
        Solved one after the other; balanced, this is nested analysis of variance.

    References:
        Searle, Casella and McCulloch (1992), Variance Components, chapter 3.

    Example:
        >>> got = components(np.array([0, 0, 1, 1]), np.full(4, 2), np.array([2, 1, 0, 0]))
        >>> [round(x, 4) for x in (got.case, got.trial, got.draw)]
        [0.25, 0.0, 0.125]
    """
    if not len(case):
        return Components(case=float("nan"), trial=float("nan"), draw=float("nan"))
    rate = c / n
    freedom = float((n - 1).sum())
    draw = float((n * rate * (1.0 - rate)).sum()) / freedom if freedom else float("nan")
    start = np.flatnonzero(np.diff(case, prepend=-1))
    size = np.diff(start, append=len(case)).astype(np.float64)
    mean = np.add.reduceat(rate, start) / size
    harmonic = np.add.reduceat(1.0 / n, start) / size
    apart = np.add.reduceat((rate - np.repeat(mean, size.astype(np.int64))) ** 2, start)
    left = float((size - 1).sum())
    noise = 0.0 if np.isnan(draw) else draw
    trial = (float(apart.sum()) - noise * float((size - 1) @ harmonic)) / left if left else np.nan
    inner = (0.0 if np.isnan(trial) else trial) + noise * harmonic
    spread = float(np.var(mean, ddof=1)) if len(mean) > 1 else float("nan")
    return Components(case=spread - float(np.mean(inner / size)), trial=trial, draw=draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawAgreement:
    """Agreement of draws of the same trial.

    Attributes:
        observed: Chance that two draws of a trial agree.
        kappa: Fleiss' kappa; NaN when all draws are alike.
        low: Lower bound of the percentile bootstrap; NaN when no resample has a kappa.
        high: Upper bound.
        undefined: Resamples without a kappa, left out of the bounds.
        trials: Trials with two or more draws.
        units: Cases or clusters that were resampled.
    """

    observed: float
    kappa: float
    low: float
    high: float
    undefined: int
    trials: int
    units: int


def draw_agreement(
    unit: Ints,
    n: Ints,
    c: Ints,
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
    level: float = 0.95,
) -> DrawAgreement:
    """Agreement and Fleiss' kappa over draws, with a bootstrap of whole cases or clusters.

    Args:
        unit: Code of the case or cluster of every trial, shape (T,), >= 0.
        n: Draws of the trial, shape (T,); trials with one draw are left out.
        c: Passing draws.
        rng: Source of randomness; row order cannot change the result.
        resamples: Number of resamples, >= 1.
        level: Nominal coverage in (0, 1).

    Notes:
        P = mean of [c (c - 1) + (n - c)(n - c - 1)] / [n (n - 1)] over trials; with q the mean of
        c/n, kappa = (P - q^2 - (1 - q)^2) / (2 q (1 - q)). With equally many draws that is
        Fleiss' kappa; else Gwet's form for ratings that are missing.

    References:
        Fleiss (1971), Psychol. Bull. 76:378; Gwet (2014), Handbook of Inter-Rater Reliability.

    Example:
        >>> unit, n = np.arange(4), np.full(4, 3)
        >>> got = draw_agreement(unit, n, np.array([3, 2, 0, 0]), np.random.default_rng(0))
        >>> round(got.observed, 4), round(got.kappa, 4)
        (0.8333, 0.6571)
    """
    several = n > 1
    unit, n, c = unit[several], n[several], c[several]
    if not len(n):
        nothing = float("nan")
        return DrawAgreement(
            observed=nothing,
            kappa=nothing,
            low=nothing,
            high=nothing,
            undefined=0,
            trials=0,
            units=0,
        )
    f = n - c
    agree = (c * (c - 1) + f * (f - 1)) / (n * (n - 1))
    codes = np.unique(unit, return_inverse=True)[1]
    sums = np.column_stack([np.bincount(codes, x) for x in (np.ones(len(n)), agree, c / n)])
    kinds, times = np.unique(np.round(sums, _DIGITS), axis=0, return_counts=True)
    flat = np.arange(len(kinds), dtype=np.float64)
    units = Histogram(sums=flat, sizes=np.ones_like(flat), multiplicity=times, sign=1.0)
    draws = _kappa(totals(units, kinds.astype(np.float64), resamples, rng))
    defined = np.sort(draws[~np.isnan(draws)])
    rank = max(ceil((1.0 - level) / 2.0 * len(defined) - 1e-6), 1)
    enough = len(defined) > 0 and len(sums) > 1
    return DrawAgreement(
        observed=float(agree.mean()),
        kappa=float(_kappa(sums.sum(axis=0)[None, :])[0]),
        low=float(defined[rank - 1]) if enough else float("nan"),
        high=float(defined[-rank]) if enough else float("nan"),
        undefined=resamples - len(defined),
        trials=len(n),
        units=len(sums),
    )


def _kappa(sums: Floats) -> Floats:
    """Kappa from trials, sum of agreements and sum of rates, one row each."""
    trials, agree, rate = sums.T
    passes = rate / trials
    chance = 2.0 * passes * (1.0 - passes)
    out = np.full(len(sums), np.nan)
    # all alike: what is left of 1 - q is rounding
    np.divide(agree / trials - 1.0 + chance, chance, out=out, where=chance > 10.0**-_DIGITS)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """Variance of a mean over cases when the same transcripts are judged anew.

    Attributes:
        variance: With as many draws of every trial as there were.
        one_draw: With one draw of every trial.
        pooled: Trials with one draw, for which the mean retest variance stands in.
    """

    variance: float
    one_draw: float
    pooled: int


def rejudged(case: Ints, n: Ints, c: Ints) -> Rejudged:
    """Variance that judging alone gives to the mean over cases of their pass rates.

    Args:
        case: Case code 0..M-1 of every trial, ascending, shape (T,).
        n: Draws of the trial, shape (T,), >= 1.
        c: Passing draws.

    Returns:
        Variances; NaN when no trial has two draws.

    Notes:
        sum over cases and trials of s_ij^2 / n_ij / (M T_i)^2 with s_ij^2 = n r (1 - r)/(n - 1),
        unbiased for independent draws.

    Example:
        >>> got = rejudged(np.array([0, 1]), np.array([2, 2]), np.array([1, 2]))
        >>> got.variance, got.one_draw
        (0.0625, 0.125)
    """
    rate = c / n
    freedom = float((n - 1).sum())
    mean = float((n * rate * (1.0 - rate)).sum()) / freedom if freedom else float("nan")
    single = n == 1
    own = np.where(single, mean, n * rate * (1.0 - rate) / np.maximum(n - 1, 1))
    size = np.bincount(case)
    weight = 1.0 / (len(size) * size[case].astype(np.float64)) ** 2
    return Rejudged(
        variance=float((own / n * weight).sum()),
        one_draw=float((own * weight).sum()),
        pooled=int(single.sum()),
    )
