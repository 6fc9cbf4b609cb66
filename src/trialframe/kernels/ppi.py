"""Means of labels that a judge's verdicts on unlabelled cases make sharper.

Rows are cases (several trials of a case are averaged first). A part is a set of rows whose mean is
one term of the estimate: labelled and unlabelled cases, of one run or of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows whose mean is one term of a sum of means.

    Attributes:
        values: Shape (n, K), one column an estimate; n >= 1.
        cluster: Cluster codes, shape (n,), comparable between parts; None when every row is alone.
        weight: Weights of the rows, shape (n,), >= 0, not all 0; None for equal ones.
    """

    values: Floats
    cluster: Ints | None = None
    weight: Floats | None = None

    @property
    def shares(self) -> Floats:
        """Weights that add up to 1."""
        if self.weight is None:
            return np.full(len(self.values), 1.0 / len(self.values))
        shares: Floats = self.weight / self.weight.sum()
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked:
    """Sums of the means of several parts, shape (K,) each.

    Attributes:
        value: Sums of means.
        se: CR2 standard errors; NaN with fewer than two clusters, or one row without clusters.
        df: Satterthwaite degrees of freedom under equal variances.
        units: Independent units.
    """

    value: Floats
    se: Floats
    df: Floats
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Labelled and unlabelled cases of one run, or differences between two runs.

    Attributes:
        y: Labels, shape (n,).
        f: Judge's verdicts on the same cases, shape (n,).
        unlabelled: Judge's verdicts on the other cases, shape (N,), N >= 0.
        cluster: Cluster codes of the n + N cases in that order; None when every case is alone.
    """

    y: Floats
    f: Floats
    unlabelled: Floats
    cluster: Ints | None = None

    def parts(self, lam: Floats, sign: float = 1.0) -> list[Part]:
        """The parts of the estimate at K values of lambda, times `sign`."""
        n, codes = len(self.y), self.cluster
        labelled = sign * (self.y[:, None] - lam * self.f[:, None])
        made = [Part(values=labelled, cluster=None if codes is None else codes[:n])]
        if len(self.unlabelled):
            rest = sign * lam * self.unlabelled[:, None]
            made.append(Part(values=rest, cluster=None if codes is None else codes[n:]))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Ppi:
    """A mean of labels, sharpened by a judge.

    Attributes:
        value: The estimate.
        se: Its standard error.
        df: Degrees of freedom for the t quantile.
        lam: How far the judge is trusted, 0 (not at all) to 1.
        labels: The mean of the labels alone.
        labels_se: Its standard error; never smaller than `se` at the chosen lambda.
        labels_df: Its degrees of freedom.
        units: Independent units.
    """

    value: float
    se: float
    df: float
    lam: float
    labels: float
    labels_se: float
    labels_df: float
    units: int


def stacked(parts: Sequence[Part]) -> Stacked:
    """Sum of the means of parts, with contributions added within a cluster before squaring.

    Args:
        parts: At least one part; either all have clusters or none has.

    Returns:
        Sums with CR2 standard errors.

    Notes:
        Without clusters the variance is the sum of s^2/n over parts.
    """
    sizes = [len(part.values) for part in parts]
    codes = [part.cluster for part in parts if part.cluster is not None]
    found = clustered_mean(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.shares for part in parts]),
        np.concatenate(codes) if codes else None,
        np.repeat(np.arange(len(parts)), sizes),
    )
    # a row that is the only one of its part has no spread to see
    alone = not codes and min(sizes) < 2
    count = float(len(parts))
    return Stacked(
        value=count * found.mean,
        se=np.full_like(found.se, np.nan) if alone else count * found.se,
        df=found.df,
        units=int(found.units[0]),
    )


def ppi_mean(sample: Sample, lam: float | None = None) -> Ppi:
    """Prediction-powered mean of the labels.

    The labelled cases must be a random part of all cases; the judge may be as wrong as it likes, it
    is then trusted less. Not for fewer than about five passes or fails among the labels: the t
    interval is too narrow there.

    Args:
        sample: Labels and verdicts, n >= 2.
        lam: How far to trust the judge; None for the value with the smallest variance in [0, 1].

    Returns:
        The estimate, beside the one from labels alone.

    Notes:
        theta = mean(y) + lam (mean(f unlabelled) - mean(f labelled)),
        Var = lam^2 s^2_fU/N + s^2_{y - lam f}/n. The variance is a parabola in lam; its lowest
        point, clipped to [0, 1], makes the standard error no larger than that of labels alone.
        With clusters both are those of CR2, contributions added within a cluster before squaring.
        df = n - 1 without clusters; with them Satterthwaite's, at most that of the labels alone.

    References:
        Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    Example:
        >>> y, f = np.array([1.0, 0, 1, 1, 0, 1]), np.array([1.0, 0, 1, 1, 0, 0])
        >>> got = ppi_mean(Sample(y=y, f=f, unlabelled=np.array([1.0, 0, 1, 0, 1, 1, 1, 0])))
        >>> round(got.value, 4), round(got.lam, 4), got.se < got.labels_se
        (0.7166, 0.3993, True)
    """
    count = len(sample.y)
    alone = stacked([Part(values=sample.y[:, None], cluster=_first(sample.cluster, count))])
    own_df = float(alone.df[0]) if sample.cluster is not None else count - 1.0
    chosen = best_lambda(sample) if lam is None else lam
    made = stacked(sample.parts(np.array([chosen])))
    value, se = float(made.value[0]), float(made.se[0])
    # the unlabelled part has many units, but it is the labels that bring the variance
    df = own_df if sample.cluster is None else float(np.fmin(made.df[0], own_df))
    labels, labels_se = float(alone.value[0]), float(alone.se[0])
    if chosen == 0.0 or (lam is None and not se <= labels_se):
        # clusters that hold both parts weigh differently in the two designs
        chosen, value, se, df = 0.0, labels, labels_se, own_df
    return Ppi(
        value=value,
        se=se,
        df=df,
        lam=chosen,
        labels=labels,
        labels_se=labels_se,
        labels_df=own_df,
        units=made.units,
    )


def best_lambda(sample: Sample) -> float:
    """The lambda in [0, 1] with the smallest variance; 0 where the judge cannot help.

    Args:
        sample: Labels and verdicts.

    Returns:
        cov(y, f)/(s^2_fL + n/N s^2_fU), clipped, without clusters; the lowest point of the CR2
        variance with them.
    """
    if not len(sample.unlabelled) or not (np.ptp(sample.f) or np.ptp(sample.unlabelled)):
        return 0.0
    at_zero, at_one, at_minus_one = stacked(sample.parts(np.array([0.0, 1.0, -1.0]))).se ** 2
    bend = (at_one + at_minus_one) / 2.0 - at_zero
    slope = (at_minus_one - at_one) / 4.0
    return float(np.clip(slope / bend, 0.0, 1.0)) if bend > 0 else 0.0


def best_lambda_of_cases(sample: Sample) -> float:
    """The lambda that would be best if cases were independent.

    With few clusters `best_lambda` fits their noise: with 6 clusters intervals at its lambda cover
    .90 at a nominal .95, at this one .94, and are hardly wider.

    Args:
        sample: Labels and verdicts; the clusters are not looked at.
    """
    return best_lambda(Sample(y=sample.y, f=sample.f, unlabelled=sample.unlabelled))


def post_stratified_lambda(y: Floats, f: Floats) -> float:
    """Label rate among the judge's passes minus among its fails; NaN without one of the two.

    With this lambda the estimate is (1 - p) mu0 + p mu1, p the judge's pass rate on the unlabelled
    cases.

    Args:
        y: Labels, shape (n,).
        f: Judge's verdicts, each 0 or 1.
    """
    passed = f == 1.0
    if passed.all() or not passed.any():
        return float("nan")
    return float(y[passed].mean() - y[~passed].mean())


def variance_ratio(f: Floats, unlabelled: Floats) -> float:
    """Judge's variance on labelled over unlabelled cases; NaN where one has none."""
    if len(f) < 2 or len(unlabelled) < 2:
        return float("nan")
    below = float(np.var(unlabelled, ddof=1))
    above = float(np.var(f, ddof=1))
    return above / below if below > 0 and above > 0 else float("nan")


def _first(codes: Ints | None, count: int) -> Ints | None:
    return None if codes is None else codes[:count]
