"""Every test and interval of a comparison over all replicates of a sample at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from trialframe.comparison.difference import FEWEST_CHANGED
from trialframe.kernels import paired
from trialframe.kernels.intervals import Interval, t_interval, z_interval
from trialframe.kernels.means import clustered_mean
from trialframe.kernels.resample import bootstrap_mean
from trialframe.kernels.signflip import rate_test

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from studies.designs import Floats, Ints, Sample

    Bools = NDArray[np.bool_]

ALPHA = 0.05
BOOTSTRAPS = ("percentile", "bca", "studentised")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """Tests of rates, shape (R,).

    Attributes:
        sign_flip: P-values of the sign flip alone.
        permutation: P-values of the permutation within cases; NaN where it is not needed.
        pvalue: What a comparison reports: the larger of both.
        changed: Cases or clusters that changed.
    """

    sign_flip: Floats
    permutation: Floats
    pvalue: Floats
    changed: Ints


def excludes(interval: Interval, value: float = 0.0) -> Bools:
    """Whether a value lies outside."""
    return np.asarray((interval.low > value) | (interval.high < value))


def holds(interval: Interval, value: float) -> Bools:
    """Whether the truth lies inside; an interval that is undefined does not hold it."""
    return np.asarray((interval.low <= value) & (value <= interval.high))


def repeated(sample: Sample) -> tuple[Ints, Ints]:
    """Replicates that stand for all others, and which stands for which.

    Of single verdicts only the two discordant counts matter.
    """
    if not sample.design.single:
        every = np.arange(sample.runs)
        return every, every
    _, first, inverse = np.unique(
        np.stack(sample.discordant), axis=1, return_index=True, return_inverse=True
    )
    return first, inverse.ravel()


def flips(sample: Sample, *, by_cluster: bool = True) -> Flips:
    """The sign flip of every replicate, with the second test where trial counts differ."""
    design = sample.design
    first, inverse = repeated(sample)
    found = np.empty((4, len(first)))
    for place, run in enumerate(first):
        got = rate_test(
            design.n_a,
            sample.c_a[:, run],
            design.n_b,
            sample.c_b[:, run],
            np.random.default_rng(0),
            cluster=design.cluster if by_cluster else None,
        )
        second = np.nan if got.permutation is None else got.permutation.pvalue
        found[:, place] = (got.sign_flip.pvalue, second, got.pvalue, got.sign_flip.changed)
    flipped, second, pvalue, changed = found[:, inverse]
    return Flips(
        sign_flip=flipped, permutation=second, pvalue=pvalue, changed=changed.astype(np.int64)
    )


def shifted_flips(sample: Sample, margin: float) -> Floats:
    """One-sided p-values of the sign flip of differences plus a margin."""
    design = sample.design
    first, inverse = repeated(sample)
    found = [
        rate_test(
            design.n_a,
            sample.c_a[:, run],
            design.n_b,
            sample.c_b[:, run],
            np.random.default_rng(0),
            cluster=design.cluster,
            margin=Fraction(str(margin)),
        ).sign_flip.greater
        for run in first
    ]
    return np.array(found)[inverse]


def default_interval(sample: Sample) -> Interval:
    """The interval that decides a comparison of this design."""
    return tango(sample) if sample.design.single else t(sample)


def verdicts(sample: Sample, found: Flips) -> Bools:
    """Whether a comparison says better or worse: interval, test and enough changed units."""
    apart = excludes(default_interval(sample))
    return np.asarray(apart & (found.pvalue < ALPHA) & (found.changed >= FEWEST_CHANGED))


def t(sample: Sample, *, variant: str = "cr2") -> Interval:
    """Student's t with cluster-robust errors; "clt" takes cases as independent."""
    a, b = sample.rates
    got = clustered_mean(b - a, np.ones(len(a)), sample.design.cluster, variant=variant)
    return t_interval(got.mean, got.se, got.df)


def tango(sample: Sample) -> Interval:
    """Tango's score interval on majority outcomes."""
    return paired.tango(*sample.discordant, sample.design.cases)


def wald_plus2(sample: Sample) -> Interval:
    """Wald's interval with half a case added to each cell."""
    return paired.wald_plus2(*sample.discordant, sample.design.cases)


def log_ratio(sample: Sample) -> Interval:
    """The t interval of the log ratio, where both means are above 0."""
    a, b = sample.rates
    before, after = a.mean(axis=0), b.mean(axis=0)
    known = (before > 0) & (after > 0)
    a, b, before, after = a[:, known], b[:, known], before[known], after[known]
    got = clustered_mean(b / after - a / before, np.ones(len(a)), sample.design.cluster)
    return t_interval(np.log(after / before), got.se, got.df)


def trials_as_rows(sample: Sample) -> Interval:
    """What not to do: every trial a row of its own, the two sides unpaired."""
    design = sample.design
    size_a, size_b = design.n_a.sum(), design.n_b.sum()
    a, b = sample.c_a.sum(axis=0) / size_a, sample.c_b.sum(axis=0) / size_b
    return z_interval(b - a, np.sqrt(a * (1.0 - a) / size_a + b * (1.0 - b) / size_b))


def bootstraps(sample: Sample, resamples: int) -> dict[str, Interval]:
    """Bootstrap intervals over cases or whole clusters."""
    a, b = sample.rates
    first, inverse = repeated(sample)
    made = {}
    for method in BOOTSTRAPS:
        ends = np.empty((2, len(first)))
        for place, run in enumerate(first):
            got = bootstrap_mean(
                b[:, run] - a[:, run],
                np.random.default_rng(int(run)),
                cluster=sample.design.cluster,
                resamples=resamples,
                method=method,
            )
            ends[:, place] = got.low, got.high
        low, high = ends[:, inverse]
        made[method] = Interval(low=low, high=high)
    return made


INTERVALS: dict[str, Callable[[Sample], Interval]] = {
    "t-cr2": t,
    "Tango": tango,
    "Wald+2": wald_plus2,
    "log ratio t": log_ratio,
}
