"""Difference of two runs from few labels and many verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from trialframe import _checks
from trialframe.errors import ArgumentError, UnknownConfigError, did_you_mean
from trialframe.judge._estimators import labels_interval
from trialframe.judge._labelled import FIND
from trialframe.judge._samples import LABELLED, Parts, parts_of, sample_of
from trialframe.judge._splits import HELD_OUT, Splits
from trialframe.judge._two_runs import Design, design_of, fitted
from trialframe.judge._words import known, points
from trialframe.judge.ppi import ASSUMES, FEW_OF_A_CLASS, interval
from trialframe.kernels.judge import of_two
from trialframe.kernels.paired import tango
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from trialframe.kernels.intervals import Interval
    from trialframe.results import Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PoweredDifference(Result):
    """Difference of two pass rates, candidate minus baseline, from labels and verdicts.

    Attributes:
        status: "corrected"; "in-sample" (the judge was tuned on labelled cases: numbers are too
            good); "labels-only" (fewer than 5 labels differ between the runs, or fewer
            than 5 passes or fails among those of a run); "insufficient-data" (fewer labels in a
            run than asked for).
        reason: Why.
        claim: One sentence that the numbers support.
        verdict: "better", "worse" or "inconclusive".
        design: "paired" (cases labelled in both runs), "independent" (in one run only) or "mixed".
        method: "ppi++", or "labels, tango" (paired), "labels, newcombe" (otherwise).
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        diff: The difference.
        se: Its standard error.
        df: Degrees of freedom; None for "z" and Tango.
        low: Lower end of the interval, in [-1, 1].
        high: Upper end.
        level: Nominal coverage.
        critical: "t" or "z".
        lam: Lambda of the paired part; None without one.
        lam_baseline: Lambda of the baseline in the independent part.
        lam_candidate: Lambda of the candidate there.
        paired_share: Weight of the paired part in the difference.
        ppi_diff: The prediction-powered difference, whatever `method` is.
        ppi_se: Its standard error.
        ppi_low: Lower end of its interval, not clipped.
        ppi_high: Upper end.
        labels_diff: Difference of the labels alone, same design and weights.
        labels_se: Its standard error.
        judge_diff: Difference of the judge's pass rates over all cases.
        paired_labels: Cases labelled in both runs.
        baseline_labels: Further labelled cases of the baseline that are used.
        candidate_labels: Further labelled cases of the candidate that are used.
        assumes: What must hold.
        warnings: What weakens the statement, what was left out.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Difference from labels and a judge",
        "difference",
        "difference",
    )

    status: str
    reason: str
    claim: str
    verdict: str
    design: str
    method: str
    baseline: str
    candidate: str
    diff: float
    se: float | None
    df: float | None
    low: float | None
    high: float | None
    level: float
    critical: str
    lam: float | None
    lam_baseline: float | None
    lam_candidate: float | None
    paired_share: float
    ppi_diff: float
    ppi_se: float | None
    ppi_low: float | None
    ppi_high: float | None
    labels_diff: float
    labels_se: float | None
    judge_diff: float
    paired_labels: int
    baseline_labels: int
    candidate_labels: int
    assumes: str = ASSUMES
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 when in-sample or with fewer labels than asked for, else 0."""
        return int(self.status in {"in-sample", "insufficient-data"})

    def _estimates(self) -> list[Estimate]:
        return [
            ("by the judge", self.judge_diff, None, None),
            ("labels alone", self.labels_diff, None, None),
            (self.status, self.diff, self.low, self.high),
        ]

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"PoweredDifference: {self.claim}", *notes])


def ppi_difference(
    labelled: Any,
    baseline: str,
    candidate: str,
    *,
    unlabelled: Any = None,
    config: str,
    label: str | None = None,
    judge: str | None = None,
    case: str | Sequence[str] | None = None,
    cluster: str | None = FIND,
    split: str | None = None,
    held_out: str | Sequence[str] = HELD_OUT,
    tuned_on: str | Sequence[str] | None = None,
    verdicts: Mapping[Any, bool | None] | None = None,
    critical: str = "t",
    min_labels: int = 20,
    level: float = 0.95,
) -> PoweredDifference:
    """Compare two runs with labels on some cases and a judge's verdicts on all.

    Unlike a correction by error rates it needs no judge that errs alike on both runs. The labelled
    cases of each run must be a random part of it.

    Args:
        labelled: One row per judged trial of either run; rows without a label count as unlabelled.
        baseline: System to compare with, a value of `config`.
        candidate: System under test.
        unlabelled: Further rows without labels.
        config: Column with the system.
        label: Column with the label. Default: `label`.
        judge: Column with the judge's verdict. Default: `judge`.
        case: Column of the case, or several; cases of the same name are paired.
        cluster: Column with groups of dependent cases.
            "auto" is `cluster`, when there is one; None leaves it out.
        split: Column with splits; a column `split` is used without being named.
        held_out: Splits whose labels count. Labels elsewhere are not used.
        tuned_on: Splits that the judge was tuned on: their rows are left out, verdicts too, and a
            labelled case that is also there makes the status "in-sample". None stands for every
            other split, () for none.
        verdicts: What texts mean, as in `tr.calibrate`.
        critical: "t", or "z" as in the literature.
        min_labels: Labelled cases in each run below which the status is "insufficient-data".
        level: Nominal coverage, in (0, 1).

    Returns:
        A `PoweredDifference`.

    Raises:
        UnknownConfigError: A system that the table does not hold.
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Values that are neither pass nor fail, or no label.
        ArgumentError: The same system twice, or too few labels to see a spread.

    Notes:
        Cases labelled in both runs give differences of labels and of verdicts and one lambda for
        them; that keeps the pairing. Cases labelled in one run give an estimate per run with its
        own lambda, and variances add. With both kinds the differences are weighted by what their
        labels would tell if they varied as verdicts do: those variances come from many cases.
        Cases or clusters that occur on several sides add their contributions before squaring, so
        that no sharing is taken for independence. Satterthwaite degrees of freedom.

    References:
        Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    Examples:
        >>> import trialframe as tr
        >>> old = {"config": ["a"] * 80, "case": range(80), "judge": [1, 0, 1, 0] * 20}
        >>> new = {"config": ["b"] * 80, "case": range(80), "judge": [1, 1, 1, 0] * 20}
        >>> rows = {name: [*old[name], *new[name]] for name in old}
        >>> rows["label"] = [1, 0, 0, 0] * 10 + [None] * 40 + [1, 1, 0, 0] * 10 + [None] * 40
        >>> found = tr.ppi_difference(rows, "a", "b", config="config")
        >>> round(found.diff, 3), found.design, found.verdict
        (0.25, 'paired', 'better')
    """
    critical = _checks.one_of(critical, "critical", ("t", "z"))
    min_labels = _checks.integer(min_labels, "min_labels", low=2)
    level = _checks.between(level, "level", inclusive=False)
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    given = {"label": label, "judge": judge, "case": case, "cluster": cluster, "config": config}
    given |= {"split": split}
    data = parts_of(labelled, unlabelled, given, verdicts, Splits.of(held_out, tuned_on))
    for name in (baseline, candidate):
        if name not in data.configs:
            told = did_you_mean(name, [str(other) for other in data.configs])
            raise UnknownConfigError(f"no config {name!r} in column {config!r}. {told}")
    return _compared(data, baseline, candidate, critical=critical, least=min_labels, level=level)


def _compared(
    data: Parts, baseline: str, candidate: str, *, critical: str, least: int, level: float
) -> PoweredDifference:
    a, b = data.of(baseline), data.of(candidate)
    made = design_of(a, b)
    fit = fitted(made, clustered=data.clustered)
    own = interval(fit["diff"], fit["se"], fit["df"], critical, level)
    fewest = min(int((side["part"] == LABELLED).sum()) for side in (a, b))
    result = PoweredDifference(
        status="corrected",
        reason="",
        claim="",
        verdict="",
        design=fit["design"],
        method="ppi++",
        baseline=baseline,
        candidate=candidate,
        diff=fit["diff"],
        se=known(fit["se"]),
        df=known(fit["df"]) if critical == "t" else None,
        low=_clipped(own.low),
        high=_clipped(own.high),
        level=level,
        critical=critical,
        lam=fit["lam"],
        lam_baseline=fit["lams"][0],
        lam_candidate=fit["lams"][1],
        paired_share=fit["share"],
        ppi_diff=fit["diff"],
        ppi_se=known(fit["se"]),
        ppi_low=known(own.low),
        ppi_high=known(own.high),
        labels_diff=fit["labels_diff"],
        labels_se=known(fit["labels_se"]),
        judge_diff=_judge_rate(b) - _judge_rate(a),
        paired_labels=int((made.pairs["part"] == LABELLED).sum()),
        baseline_labels=int((made.sides[0]["part"] == LABELLED).sum()),
        candidate_labels=int((made.sides[1]["part"] == LABELLED).sum()),
        warnings=(*data.notes, *made.notes),
    )
    guarded = _guarded(result, made, (a, b), clustered=data.clustered)
    if fewest < least:
        reason = f"{fewest:,} labelled cases of a config, fewer than {least}"
        guarded = replace(guarded, status="insufficient-data", reason=reason)
    for name in (baseline, candidate):
        if (seen := data.in_sample(name)) and guarded.status != "in-sample":
            told = f"{name}: {seen}"
            warnings = (f"in-sample: {told}", *guarded.warnings)
            guarded = replace(guarded, status="in-sample", reason=told, warnings=warnings)
    return _worded(guarded, few=fewest < least)


def _guarded(
    made: PoweredDifference,
    design: Design,
    sides: tuple[pl.DataFrame, pl.DataFrame],
    *,
    clustered: bool,
) -> PoweredDifference:
    """The interval of the labels alone where they are too few of a kind for a t interval."""
    pairs = design.pairs.filter(part=LABELLED)
    changed = int((pairs["y"] != 0).sum())
    plain = bool((pairs["trials"] == 1).all()) and pairs["unit"].n_unique() == pairs.height
    if made.design == "paired":
        if changed >= FEW_OF_A_CLASS:
            return made
        reason = f"labels differ on {changed} of {made.paired_labels:,} cases"
        if plain:
            worse, better = (int((pairs["y"] == sign).sum()) for sign in (-1, 1))
            bounds = tango(worse, better, pairs.height, made.level)
            return _labels_only(made, reason, "labels, tango", bounds, made.labels_diff)
    else:
        known_rows = [side.filter(part=LABELLED)["y"] for side in sides]
        fewest = min(min(y.sum(), len(y) - y.sum()) for y in known_rows)
        if fewest >= FEW_OF_A_CLASS:
            return made
        reason = f"{fewest:g} passes or fails among the labels of a config"
    samples = [sample_of(side, clustered=clustered) for side in sides]
    rates = [float(sample.y.mean()) for sample in samples]
    ends = [labels_interval(*pair, made.level)[0] for pair in zip(samples, sides, strict=True)]
    bounds = of_two(rates[0], ends[0], rates[1], ends[1])
    return _labels_only(made, reason, "labels, newcombe", bounds, rates[1] - rates[0])


def _labels_only(
    made: PoweredDifference, reason: str, method: str, bounds: Interval, diff: float
) -> PoweredDifference:
    return replace(
        made,
        status="labels-only",
        reason=f"{reason}: with fewer than {FEW_OF_A_CLASS} the interval is of labels alone",
        method=method,
        diff=diff,
        se=made.labels_se,
        df=None,
        low=known(bounds.low),
        high=known(bounds.high),
    )


def _worded(made: PoweredDifference, *, few: bool) -> PoweredDifference:
    low, high = made.low, made.high
    verdict = "inconclusive"
    if not few and low is not None and high is not None:
        verdict = "better" if low > 0 else "worse" if high < 0 else "inconclusive"
    told = (
        f"{made.candidate} is {verdict}: {points(made.diff)} points [{points(low)}, "
        f"{points(high)}] by {made.method}, {made.design}; {points(made.judge_diff)} by the judge"
    )
    reason = made.reason or (
        f"{made.paired_labels:,} cases labelled in both configs, {made.baseline_labels:,} and "
        f"{made.candidate_labels:,} in one"
    )
    claim = told if made.status == "corrected" else f"{made.reason}: {told}"
    if made.status == "in-sample":
        claim = f"in-sample: {told}; {made.reason}"
    return replace(made, verdict=verdict, reason=reason, claim=claim)


def _judge_rate(rows: pl.DataFrame) -> float:
    return float(rows["f"].to_numpy().mean())


def _clipped(bound: Any) -> float | None:
    number = known(bound)
    return None if number is None else min(max(number, -1.0), 1.0)
