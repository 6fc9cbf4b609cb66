"""A pass rate from few labels and many verdicts: prediction-powered inference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trialframe import _checks
from trialframe.errors import ArgumentError, listed
from trialframe.judge._estimators import (
    ESTIMATORS,
    labels_interval,
    no_random_part,
    stratified,
    worse_than_others,
)
from trialframe.judge._labelled import FIND
from trialframe.judge._samples import parts_of, sample_of
from trialframe.judge._splits import HELD_OUT, Splits
from trialframe.judge._words import called, known, percent
from trialframe.kernels import ppi as kernels
from trialframe.kernels.intervals import Interval, t_interval
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from trialframe.judge._samples import Parts
    from trialframe.kernels.ppi import Sample
    from trialframe.results import Estimate

FEW_OF_A_CLASS = 5
"""Labelled passes or fails below which a t interval is too narrow."""

FEW_CLUSTERS = 30
"""Units below which a lambda that is fitted to clusters fits their noise."""

ASSUMES = "the labelled cases are a random part of all cases, and the judge was not tuned on them"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Powered(Result):
    """A pass rate from labels, sharpened by a judge's verdicts on unlabelled cases.

    Attributes:
        status: "corrected"; "in-sample" (the judge was tuned on labelled cases: numbers are too
            good); "labels-only" (the interval is that of the labels, since passes or
            fails among them are few); "insufficient-data" (fewer labels than asked for; the same
            interval).
        reason: Why.
        claim: One sentence that the numbers support.
        method: The estimator, "labels, wilson" or "labels, score-t".
        config: The system, if it has a name.
        judge: The judge's column.
        value: Pass rate in [0, 1].
        se: Its standard error.
        df: Degrees of freedom of the interval; None for normal and Wilson's.
        low: Lower end of the interval, in [0, 1].
        high: Upper end.
        level: Nominal coverage.
        critical: "t" or "z".
        lam: How far the judge is trusted, 0 to 1.
        ppi_lam: The lambda with the smallest variance, clusters counted; with fewer than 30 of
            them another than `lam`.
        ppi_value: The prediction-powered estimate at `ppi_lam`, whatever `method` is; not clipped.
        ppi_se: Its standard error.
        ppi_low: Lower end of its interval, not clipped.
        ppi_high: Upper end.
        labels_value: Mean of the labels alone.
        labels_se: Its standard error.
        labels_low: Lower end of its t (or z) interval, not clipped.
        labels_high: Upper end.
        judge_rate: Judge's pass rate over all cases: what one would quote without labels.
        labelled: Labelled cases, n.
        unlabelled: Unlabelled cases, N.
        passes: Passes among the labels, as the sum of case means.
        effective: Labels alone that would give the same standard error: n times the ratio of
            variances.
        units: Independent units.
        assumes: What must hold.
        warnings: What weakens the statement.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Pass rate from labels and a judge",
        "level",
        "pass rate",
    )

    status: str
    reason: str
    claim: str
    method: str
    config: str | None
    judge: str
    value: float
    se: float | None
    df: float | None
    low: float | None
    high: float | None
    level: float
    critical: str
    lam: float
    ppi_lam: float
    ppi_value: float
    ppi_se: float | None
    ppi_low: float | None
    ppi_high: float | None
    labels_value: float
    labels_se: float | None
    labels_low: float | None
    labels_high: float | None
    judge_rate: float
    labelled: int
    unlabelled: int
    passes: float
    effective: float | None
    units: int
    assumes: str = ASSUMES
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 when in-sample or with fewer labels than asked for, else 0."""
        return int(self.status in {"in-sample", "insufficient-data"})

    def _estimates(self) -> list[Estimate]:
        return [
            ("by the judge", self.judge_rate, None, None),
            ("labels alone", self.labels_value, self.labels_low, self.labels_high),
            (self.status, self.value, self.low, self.high),
        ]

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"Powered: {self.claim}", *notes])


def ppi(
    labelled: Any,
    unlabelled: Any = None,
    *,
    label: str | None = None,
    judge: str | None = None,
    case: str | Sequence[str] | None = None,
    cluster: str | None = FIND,
    split: str | None = None,
    held_out: str | Sequence[str] = HELD_OUT,
    tuned_on: str | Sequence[str] | None = None,
    config: str | None = None,
    verdicts: Mapping[Any, bool | None] | None = None,
    critical: str = "t",
    estimator: str = "ppi++",
    min_labels: int = 20,
    level: float = 0.95,
) -> Powered:
    """Estimate a pass rate from a random part with labels and a judge's verdicts on the rest.

    The judge need not be calibrated: one that says nothing about the labels is not used. Do not use
    it when people labelled the hard cases, or those where the judge seemed wrong: the labels must
    be a random part.

    Args:
        labelled: One row per judged trial with its label; rows without a label count as unlabelled.
        unlabelled: Further rows without labels. Cases that have labels are left out of it.
        label: Column with the label. Default: `label`.
        judge: Column with the judge's verdict. Default: `judge`.
        case: Column of the case, or several; without one every row is a case.
        cluster: Column with groups of dependent cases.
            "auto" is `cluster`, when there is one; None leaves it out.
        split: Column with splits; a column `split` is used without being named.
        held_out: Splits whose labels count. Labels elsewhere are not used.
        tuned_on: Splits that the judge was tuned on: their rows are left out, verdicts too, and a
            labelled case that is also there makes the status "in-sample". None stands for every
            other split, () for none.
        config: Column with the system; it must be one system, see `ppi_difference` for two.
        verdicts: What texts mean, as in `tr.calibrate`.
        critical: "t" with n - 1 degrees of freedom, or "z" as in the literature, which is too
            narrow for few labels.
        estimator: "ppi++"; or, for one trial a case, the label rates mu1 among the judge's passes
            and mu0 among its fails, weighted by the judge's pass rate p on the unlabelled cases
            ("post-stratified") or on all ("post-stratified-all"). With fewer than ten unlabelled
            cases a label take the latter, or "ppi++": the former may be worse than labels alone.
        min_labels: Labelled cases below which the status is "insufficient-data", >= 2.
        level: Nominal coverage, in (0, 1).

    Returns:
        A `Powered`.

    Raises:
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Values that are neither pass nor fail, or no label.
        ArgumentError: Several systems or judges, fewer than two labelled cases, a setting out of
            range.

    Notes:
        theta = mean(y) + lam (mean(f unlabelled) - mean(f labelled)), on case means, with the lam
        in [0, 1] that makes Var = lam^2 s^2_fU/N + s^2_{y - lam f}/n smallest, so that the
        standard error is never larger than that of the labels alone. Cases with trials in both
        parts, and clusters, add their contributions before squaring (CR2). With fewer than 30
        clusters lam is the best one for independent cases: fitted to few clusters it fits their
        noise, and intervals cover .90 in place of .95; `ppi_lam` and its estimate are there too.
        The post-stratified (1 - p) mu0 + p mu1 has lam = mu1 - mu0, times N/(n + N) for p over
        all cases. With fewer than 5 passes or 5 fails among the labels the interval is that of the
        labels: Wilson's, or its cluster version.

    References:
        Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    Examples:
        >>> import trialframe as tr
        >>> label = [1] * 32 + [0] * 8 + [1] * 4 + [0] * 16 + [None] * 400
        >>> rows = {"judge": [1] * 40 + [0] * 20 + [1] * 280 + [0] * 120, "label": label}
        >>> found = tr.ppi(rows)
        >>> round(found.value, 3), round(found.low, 3), round(found.high, 3), found.method
        (0.618, 0.51, 0.725, 'ppi++')
        >>> round(found.effective)
        85
    """
    critical = _checks.one_of(critical, "critical", ("t", "z"))
    estimator = _checks.one_of(estimator, "estimator", ESTIMATORS)
    min_labels = _checks.integer(min_labels, "min_labels", low=2)
    level = _checks.between(level, "level", inclusive=False)
    given = {"label": label, "judge": judge, "case": case, "cluster": cluster, "config": config}
    given |= {"split": split}
    data = parts_of(labelled, unlabelled, given, verdicts, Splits.of(held_out, tuned_on))
    if len(data.configs) != 1:
        raise ArgumentError(
            f"column {config!r} holds {listed(data.configs)}. Filter the rows of one, or compare "
            "two with tr.ppi_difference."
        )
    return powered(
        data,
        data.configs[0],
        critical=critical,
        estimator=estimator,
        min_labels=min_labels,
        level=level,
    )


def powered(
    data: Parts,
    config: str | None,
    *,
    critical: str,
    estimator: str,
    min_labels: int,
    level: float,
) -> Powered:
    """The estimate of one config."""
    rows = data.of(config)
    sample = sample_of(rows, clustered=data.clustered)
    count = len(sample.y)
    if count < 2:
        raise ArgumentError(f"{count} labelled cases of {called(config)}: at least 2 are needed.")
    notes = list(data.notes)
    lam = None if estimator == "ppi++" else stratified(sample, estimator, notes)
    found = kernels.ppi_mean(sample, lam)
    own = interval(found.value, found.se, found.df, critical, level)
    alone = interval(found.labels, found.labels_se, found.labels_df, critical, level)
    made = Powered(
        status="corrected",
        reason=f"{count:,} labels and {len(sample.unlabelled):,} unlabelled cases",
        claim="",
        method=estimator,
        config=config,
        judge=data.judge,
        value=min(max(found.value, 0.0), 1.0),
        se=known(found.se),
        df=known(found.df) if critical == "t" else None,
        low=_clipped(own.low),
        high=_clipped(own.high),
        level=level,
        critical=critical,
        lam=found.lam,
        ppi_lam=found.lam,
        ppi_value=found.value,
        ppi_se=known(found.se),
        ppi_low=known(own.low),
        ppi_high=known(own.high),
        labels_value=found.labels,
        labels_se=known(found.labels_se),
        labels_low=known(alone.low),
        labels_high=known(alone.high),
        judge_rate=float(np.concatenate([sample.f, sample.unlabelled]).mean()),
        labelled=count,
        unlabelled=len(sample.unlabelled),
        passes=float(sample.y.sum()),
        effective=_effective(count, found.labels_se, found.se),
        units=found.units,
        warnings=(
            *notes,
            *worse_than_others(found, sample, estimator),
            *no_random_part(sample, rows["trials"]),
        ),
    )
    if sample.cluster is not None and found.units < FEW_CLUSTERS and estimator == "ppi++":
        made = _few_clusters(made, sample)
    made = _guarded(made, sample, rows, min_labels)
    if seen := data.in_sample(config):
        warnings = (f"in-sample: {seen}", *made.warnings)
        made = replace(made, status="in-sample", reason=seen, warnings=warnings)
    return _claimed(made)


def interval(value: float, se: float, df: float, critical: str, level: float) -> Interval:
    """Value -+ t or z standard errors, not clipped."""
    return t_interval(value, se, df if critical == "t" else np.inf, level)


def _few_clusters(made: Powered, sample: Sample) -> Powered:
    """The estimate at a lambda that does not fit the noise of a few clusters."""
    found = kernels.ppi_mean(sample, kernels.best_lambda_of_cases(sample))
    if not found.se <= found.labels_se:
        found = kernels.ppi_mean(sample, 0.0)
    own = interval(found.value, found.se, found.df, made.critical, made.level)
    free = replace(sample, cluster=None)  # what labels are worth is not to be read off few clusters
    alone, helped = (kernels.ppi_mean(free, lam).se for lam in (0.0, found.lam))
    return replace(
        made,
        value=min(max(found.value, 0.0), 1.0),
        se=known(found.se),
        df=known(found.df) if made.critical == "t" else None,
        low=_clipped(own.low),
        high=_clipped(own.high),
        lam=found.lam,
        effective=_effective(made.labelled, alone, helped),
        warnings=(
            *made.warnings,
            f"few clusters, {found.units}: lambda as of independent cases",
        ),
    )


def _guarded(made: Powered, sample: Sample, rows: pl.DataFrame, min_labels: int) -> Powered:
    """The interval of the labels alone where the other cannot be trusted."""
    fails = made.labelled - made.passes
    few = min(made.passes, fails)
    if made.labelled >= min_labels and few >= FEW_OF_A_CLASS:
        return made
    status, reason = (
        "labels-only",
        (
            f"{made.passes:g} passes and {fails:g} fails among the labels: with fewer than "
            f"{FEW_OF_A_CLASS} of either the interval is that of the labels alone"
        ),
    )
    if made.labelled < min_labels:
        status = "insufficient-data"
        reason = f"{made.labelled:,} labelled cases, fewer than {min_labels}: labels alone"
    bounds, method = labels_interval(sample, rows, made.level)
    return replace(
        made,
        status=status,
        reason=reason,
        method=method,
        value=made.labels_value,
        se=made.labels_se,
        df=None,
        low=known(bounds.low),
        high=known(bounds.high),
        effective=float(made.labelled),
    )


def _effective(count: int, alone: float, with_judge: float) -> float | None:
    if isnan(alone) or isnan(with_judge) or with_judge <= 0:
        return None
    return count * (alone / with_judge) ** 2


def _claimed(made: Powered) -> Powered:
    name = called(made.config)
    told = (
        f"{name} passes {percent(made.value)} [{percent(made.low)}, {percent(made.high)}] by "
        f"{made.method}; the judge alone says {percent(made.judge_rate)}"
    )
    if made.status == "corrected" and made.effective is not None:
        told += f"; {made.labelled:,} labels are worth {made.effective:,.0f}"
    if made.status == "in-sample":
        return replace(made, claim=f"in-sample: {told}; {made.reason}")
    return replace(made, claim=told if made.status == "corrected" else f"{made.reason}: {told}")


def _clipped(bound: Any) -> float | None:
    number = known(bound)
    return None if number is None else min(max(number, 0.0), 1.0)
