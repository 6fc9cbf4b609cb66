"""What serves estimates from labels and verdicts: stratification, labels alone, cautions."""

from __future__ import annotations

from math import isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialframe.errors import ArgumentError
from trialframe.judge._words import percent
from trialframe.kernels import ppi as kernels
from trialframe.kernels.intervals import Interval, score_t, wilson
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    import polars as pl

    from trialframe.kernels.ppi import Ppi, Sample

UNEQUAL_SPREAD = 2.0
"""Ratio of the judge's variances from which labels do not look like a random part."""

UNEQUAL_MEANS = 2.576
"""Standard errors between the judge's two pass rates from which they do not either."""

ESTIMATORS = ("ppi++", "post-stratified", "post-stratified-all")
"""What an estimator may be."""

MANY_UNLABELLED = 10
"""Unlabelled cases per label from which it no longer matters over which cases p is taken."""


def stratified(sample: Sample, estimator: str, notes: list[str]) -> float:
    """Lambda of a post-stratified estimator; 0, and a note, where there is none."""
    if not np.isin(sample.f, (0.0, 1.0)).all():
        raise ArgumentError(
            f"estimator == {estimator!r} needs one trial a case: there are cases on which the "
            "judge both passed and failed trials. Use 'ppi++'."
        )
    lam = kernels.post_stratified_lambda(sample.y, sample.f)
    if isnan(lam) or not len(sample.unlabelled):
        notes.append(
            "the judge gave one verdict on all labelled cases, or none elsewhere: not used"
        )
        return 0.0
    many = len(sample.unlabelled)
    return lam if estimator == "post-stratified" else lam * many / (many + len(sample.y))


def worse_than_others(found: Ppi, sample: Sample, estimator: str) -> list[str]:
    """Whether the chosen estimator loses to another one."""
    made = []
    if estimator == "post-stratified" and len(sample.unlabelled) < MANY_UNLABELLED * len(sample.y):
        made.append(
            f"fewer than {MANY_UNLABELLED} unlabelled cases a label: 'post-stratified-all' or "
            "'ppi++' makes more of them"
        )
    if found.se > found.labels_se:
        made.append(
            f"{estimator} is worse here than the labels alone: standard error {found.se:.3g}, "
            f"theirs {found.labels_se:.3g}"
        )
    return made


def labels_interval(sample: Sample, rows: pl.DataFrame, level: float) -> tuple[Interval, str]:
    """Wilson's interval of the labels, or its version for trials of cases and clusters."""
    own = rows.filter(part="labelled")
    trials, count = int(own["trials"].sum()), len(sample.y)
    codes = None if sample.cluster is None else sample.cluster[:count]
    if trials == count and (codes is None or len(np.unique(codes)) == count):
        return wilson(sample.y.sum(), count, level), "labels, wilson"
    found = clustered_mean(sample.y[:, None], np.ones(count), codes)
    bounds = score_t(found.mean[0], found.se[0], found.df[0], trials, found.units[0], level)
    return bounds, "labels, score-t"


def no_random_part(sample: Sample, trials: pl.Series) -> list[str]:
    """Signs that the labelled cases are no random part."""
    single = bool((trials == 1).all())
    made = []
    ratio = float("nan")
    if single:  # a mean of more trials varies less
        ratio = kernels.variance_ratio(sample.f, sample.unlabelled)
    told = "the labelled cases may be no random part"
    if not isnan(ratio) and not 1.0 / UNEQUAL_SPREAD < ratio < UNEQUAL_SPREAD:
        made.append(f"{told}: the judge's variance is {ratio:.2g} times that on unlabelled cases")
    if len(sample.unlabelled) > 1:
        here, there = float(sample.f.mean()), float(sample.unlabelled.mean())
        every = np.concatenate([sample.f, sample.unlabelled])
        sizes = 1.0 / len(sample.f) + 1.0 / len(sample.unlabelled)
        spread = sqrt(float(np.var(every, ddof=1)) * sizes)
        if spread > 0 and abs(here - there) > UNEQUAL_MEANS * spread:
            made.append(f"{told}: the judge passes {percent(here)} of them, {percent(there)} else")
    if not len(sample.unlabelled):
        made.append("no unlabelled case: the judge adds nothing")
    elif not np.ptp(sample.f):
        made.append("the judge gave one verdict on all labelled cases: it adds nothing")
    return made
