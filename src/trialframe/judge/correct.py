"""Pass rates corrected for the errors of the judge that gave the verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, UnknownConfigError, did_you_mean, short
from trialframe.judge._judged import Judged, joint_codes, judged_of
from trialframe.judge._words import known, percent, points
from trialframe.judge.calibrate import Calibration
from trialframe.kernels import judge as kernels
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.ppi import Part, stacked
from trialframe.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ASSUMES = (
    "the judge errs in this run as it did on the labels: same sensitivity, same specificity; "
    "the share of passes may differ"
)
SAME_SIDE = "judge error rates do not fit this run"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Corrected(Result):
    """A pass rate behind a judge's pass rate.

    Attributes:
        status: "corrected"; "in-sample" (the labels are not held out: numbers are too good);
            "refused" (no numbers: the judge does not tell passes from fails, or a class has no
            label); "does not fit" (no numbers: no pass rate explains the judge's with these error
            rates).
        reason: Why.
        claim: One sentence that the numbers support.
        method: "rogan-gladen".
        config: The system, if it has a name.
        judge: The judge's column.
        value: Corrected pass rate in [0, 1]; None when refused or not fitting.
        low: Lower end of the adjusted interval, in [0, 1].
        high: Upper end.
        level: Nominal coverage.
        raw: The corrected rate before it is clipped; may lie outside [0, 1].
        low_raw: Lower end before clipping.
        high_raw: Upper end before clipping.
        se: Standard error of the interval.
        se_delta: Delta-method standard error without smoothing.
        judge_rate: The judge's own pass rate.
        judge_low: Lower end of its interval.
        judge_high: Upper end.
        cases: Judged cases.
        trials: Judged trials.
        units: Independent units behind the judge's rate.
        sensitivity: Judge's pass rate on labelled passes.
        specificity: Judge's fail rate on labelled fails.
        m1: Labelled passes.
        m0: Labelled fails.
        calibration: Status of the calibration.
        assumes: What must hold.
        warnings: What weakens the statement.
    """

    status: str
    reason: str
    claim: str
    method: str = "rogan-gladen"
    config: str | None
    judge: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    raw: float | None
    low_raw: float | None
    high_raw: float | None
    se: float | None
    se_delta: float | None
    judge_rate: float
    judge_low: float | None
    judge_high: float | None
    cases: int
    trials: int
    units: int
    sensitivity: float | None
    specificity: float | None
    m1: int
    m0: int
    calibration: str
    assumes: str = ASSUMES
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when corrected on held-out labels, else 1."""
        return int(self.status != "corrected")

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"Corrected: {self.claim}", *notes])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CorrectedDifference(Result):
    """Difference of two corrected pass rates, candidate minus baseline.

    Attributes:
        status: As of `Corrected`.
        reason: Why.
        claim: One sentence that the numbers support.
        verdict: "better", "worse", "inconclusive", or the status when there is no answer.
        method: "rogan-gladen, shared" with one calibration for both, "rogan-gladen, per config"
            with one each.
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        baseline_value: Corrected rate of the baseline, not clipped.
        candidate_value: Corrected rate of the candidate, not clipped.
        diff: Their difference; None when refused.
        se: Its standard error.
        df: Degrees of freedom.
        low: Lower end of the interval.
        high: Upper end.
        level: Nominal coverage.
        judge_diff: Difference of the judge's own pass rates.
        units: Independent units behind the judge's rates.
        assumes: What must hold.
        warnings: What weakens the statement.
    """

    status: str
    reason: str
    claim: str
    verdict: str
    method: str
    baseline: str
    candidate: str
    baseline_value: float | None
    candidate_value: float | None
    diff: float | None
    se: float | None
    df: float | None
    low: float | None
    high: float | None
    level: float
    judge_diff: float
    units: int
    assumes: str
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when corrected on held-out labels, else 1."""
        return int(self.status != "corrected")

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"CorrectedDifference: {self.claim}", *notes])


def rogan_gladen(
    judged: Counts | tuple[float, int],
    calibration: Calibration,
    *,
    config: str | None = None,
    level: float = 0.95,
) -> Corrected:
    """Correct a judge's pass rate for the errors that a calibration found.

    Do not use it on a run whose failures look different from those that were labelled; label some
    of the run itself then, and use `tr.ppi`.

    Args:
        judged: Counts made from the judge's verdicts (`tr.counts(table, passed="judge")`), or the
            pair (judge's pass rate, judged cases).
        calibration: A calibration of the judge: one row, or one per config.
        config: Which config of the counts; needed when there are several.
        level: Nominal coverage, in (0, 1).

    Returns:
        A `Corrected`. It is "refused", without numbers, when sensitivity + specificity <= 1 or a
        class has no label.

    Raises:
        UnknownConfigError: The counts have no such config.
        ArgumentError: Several configs and none named, a calibration of several judges, or a rate
            out of range.

    Notes:
        theta = (p + q0 - 1)/(q0 + q1 - 1), p the mean of the cases' pass rates. The interval is
        the adjusted one of Lee et al. With several trials a case, clusters or weights, Var(p) is
        that of CR2 standard errors times (t/z)^2, and labels count by their effective number.

    References:
        Rogan and Gladen (1978), Am. J. Epidemiol. 107:71; Lee et al. (2025), arXiv:2511.21140.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"judge": [1] * 180 + [0] * 20 + [1] * 60 + [0] * 140}
        >>> found = tr.calibrate(rows | {"label": [1] * 200 + [0] * 200})
        >>> made = tr.rogan_gladen((0.4, 1000), found)
        >>> round(made.value, 3), round(made.low, 3), round(made.high, 3)
        (0.167, 0.056, 0.263)
    """
    level = _checks.between(level, "level", inclusive=False)
    found = _judged(judged, config)
    row = _row(calibration, found.config)
    return _corrected(found, row, level)


def rogan_gladen_difference(
    judged: Counts,
    baseline: str,
    candidate: str,
    calibration: Calibration,
    *,
    level: float = 0.95,
) -> CorrectedDifference:
    """Difference of two judged configs, corrected for the judge's errors.

    With one calibration for both, check first that the judge errs alike on both
    (`tr.judge_drift`): a shared correction of different errors makes differences out of nothing.

    Args:
        judged: Counts made from the judge's verdicts, with both configs.
        baseline: Config to compare with.
        candidate: Config under test.
        calibration: One row that serves both configs, or a row for each config.
        level: Nominal coverage, in (0, 1).

    Returns:
        A `CorrectedDifference`.

    Raises:
        UnknownConfigError: The counts have no such config.
        ArgumentError: The same config twice, or a calibration of several judges.

    Notes:
        Shared: delta = (p_B - p_A)/J and Var = [Var(p_B - p_A) + delta^2 (v0 + v1)]/J^2: the same
        error rates correct both sides, so their errors do not add up. Per config:
        delta = theta_B - theta_A, Var = Var(p_B/J_B - p_A/J_A) + the label parts of both. Cases
        that both configs ran are paired. Satterthwaite degrees of freedom.

    References:
        Rogan and Gladen (1978), Am. J. Epidemiol. 107:71.

    Examples:
        >>> import trialframe as tr
        >>> labels = {"judge": [1] * 90 + [0] * 10 + [1] * 20 + [0] * 80}
        >>> found = tr.calibrate(labels | {"label": [1] * 100 + [0] * 100})
        >>> runs = {"config": ["a"] * 200 + ["b"] * 200, "case": [*range(200)] * 2}
        >>> runs["passed"] = [1, 0, 0, 1] * 50 + [1, 1, 0, 1] * 50
        >>> made = tr.rogan_gladen_difference(tr.counts(runs), "a", "b", found)
        >>> round(made.diff, 3), made.verdict
        (0.357, 'better')
    """
    level = _checks.between(level, "level", inclusive=False)
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    if not isinstance(judged, Counts):
        raise ArgumentError(f"judged is a {type(judged).__name__}, must be Counts of both configs.")
    sides = [_judged(judged, name) for name in (baseline, candidate)]
    rows = [_row(calibration, name) for name in (baseline, candidate)]
    shared = rows[0] == rows[1]
    ends = [_corrected(side, row, level) for side, row in zip(sides, rows, strict=True)]
    return _difference(sides, rows, ends, shared="shared" if shared else "per config", level=level)


def _judged(judged: Any, config: str | None) -> Judged:
    if isinstance(judged, Counts):
        names = judged.configs
        if config is None and len(names) != 1:
            raise ArgumentError(
                f"these counts hold {len(names)} configs. Name one: config={names[0]!r}."
            )
        if config is not None and config not in names:
            raise UnknownConfigError(
                f"no config {config!r} in these counts. {did_you_mean(config, names)}"
            )
        return judged_of(judged, names[0] if config is None else config)
    if not isinstance(judged, tuple) or len(judged) != 2:
        raise ArgumentError(
            f"judged == {short(judged)}, must be Counts of the judge's verdicts or a pair "
            "(judge's pass rate, judged cases), as in (0.4, 1000)."
        )
    rate = _checks.between(judged[0], "judged rate")
    return Judged.headline(rate, _checks.integer(judged[1], "judged cases", low=1), config)


def _row(calibration: Calibration, config: str | None) -> dict[str, Any]:
    """The row of the calibration that serves a config."""
    if not isinstance(calibration, Calibration):
        raise ArgumentError(
            f"calibration is a {type(calibration).__name__}, must be what tr.calibrate returns."
        )
    table = calibration.table
    if table.height > 1 and config is not None and config in set(table["config"].drop_nulls()):
        table = table.filter(pl.col("config") == config)
    elif table.height > 1 and table["config"].null_count() < table.height:
        raise ArgumentError(
            f"the calibration has rows for {sorted(set(table['config'].drop_nulls()))}, none for "
            f"{config!r}. Calibrate without config= to use one calibration for all."
        )
    if table.height != 1:
        return calibration.select().table.row(0, named=True)  # which says what to choose from
    return table.row(0, named=True)


def _corrected(found: Judged, row: dict[str, Any], level: float) -> Corrected:
    q0, q1 = (row["specificity"], row["sensitivity"])
    unseen = "passes" if q1 is None else "fails" if q0 is None else None
    made = kernels.rogan_gladen(
        found.rate,
        found.cases,
        np.nan if q0 is None else q0,
        row["m0_effective"] or 0.0,
        np.nan if q1 is None else q1,
        row["m1_effective"] or 0.0,
        level,
        found.variance_at(level),
    )
    status, reason = _status(made, row, unseen)
    judge = found.interval(level)
    gone = status in {"refused", "does not fit"}
    value = None if gone else known(made.clipped)
    result = Corrected(
        status=status,
        reason=reason,
        claim="",
        config=found.config,
        judge=row["judge"],
        value=value,
        low=None if gone else known(made.low),
        high=None if gone else known(made.high),
        level=level,
        raw=known(made.theta),
        low_raw=known(made.low_raw),
        high_raw=known(made.high_raw),
        se=known(made.se),
        se_delta=known(made.se_delta),
        judge_rate=found.rate,
        judge_low=known(judge.low),
        judge_high=known(judge.high),
        cases=found.cases,
        trials=found.trials,
        units=found.units,
        sensitivity=q1,
        specificity=q0,
        m1=row["m1"],
        m0=row["m0"],
        calibration=row["status"],
        warnings=tuple(_warnings(found, row)),
    )
    return _claimed(result)


def _status(made: Any, row: dict[str, Any], unseen: str | None) -> tuple[str, str]:
    if unseen is not None:
        return "refused", f"no labelled {unseen}: half of the judge's errors are unseen"
    if made.refused:
        total = row["sensitivity"] + row["specificity"]
        smooth = "" if total <= 1 else " once a pass and a fail are added to each class"
        return "refused", (
            f"sensitivity {row['sensitivity']:.3g} + specificity {row['specificity']:.3g} <= 1"
            f"{smooth}: the judge does not tell passes from fails"
        )
    if made.outside:
        return "does not fit", f"{SAME_SIDE}: both ends of the interval are outside [0, 1]"
    if row["status"] == "in-sample":
        return "in-sample", f"the labels are not held out: {row['reason']}"
    return "corrected", f"calibrated on {row['m1']:,} passes and {row['m0']:,} fails"


def _claimed(made: Corrected) -> Corrected:
    name = "the run" if made.config is None else made.config
    judge = f"the judge passes {percent(made.judge_rate)} of {name}"
    if made.value is None:
        return replace(made, claim=f"{made.status}: {judge}, and {made.reason}")
    told = (
        f"{name} passes {percent(made.value)} [{percent(made.low)}, {percent(made.high)}] after "
        f"correction; {judge}"
    )
    return replace(made, claim=told if made.status == "corrected" else f"{made.status}: {told}")


def _warnings(found: Judged, row: dict[str, Any]) -> list[str]:
    made = list(found.warnings)
    if row["status"] in {"insufficient-data", "uncalibrated"}:
        made.append(f"the judge is {row['status']}: {row['reason']}")
    if row["warnings"]:
        made.append(f"calibration: {row['warnings']}")
    return made


def _difference(
    sides: list[Judged],
    rows: list[dict[str, Any]],
    ends: list[Corrected],
    *,
    shared: str,
    level: float,
) -> CorrectedDifference:
    gone = next((end for end in ends if end.status in {"refused", "does not fit"}), None)
    worst = gone or next((end for end in ends if end.status != "corrected"), ends[1])
    judged = sides[1].rate - sides[0].rate
    numbers: dict[str, Any] = dict.fromkeys(("diff", "se", "df", "low", "high"))
    units = min(side.units for side in sides)
    if gone is None:
        numbers, units = _numbers(sides, rows, shared=shared, level=level)
    low, high = numbers["low"], numbers["high"]
    verdict = worst.status
    if low is not None:
        verdict = "better" if low > 0 else "worse" if high < 0 else "inconclusive"
    baseline, candidate = (str(side.config) for side in sides)
    claim = f"{worst.status}: {worst.config}: {worst.reason}"
    if low is not None:
        claim = (
            f"{candidate} is {verdict}: {points(numbers['diff'])} points [{points(low)}, "
            f"{points(high)}] after correction, {points(judged)} by the judge"
        )
    return CorrectedDifference(
        status=worst.status,
        reason=worst.reason,
        claim=claim,
        verdict=verdict,
        method=f"rogan-gladen, {shared}",
        baseline=baseline,
        candidate=candidate,
        baseline_value=ends[0].raw,
        candidate_value=ends[1].raw,
        level=level,
        judge_diff=judged,
        units=units,
        assumes="the judge errs alike on both configs and on the labels"
        if shared == "shared"
        else "the judge errs on each config as it did on that config's labels",
        warnings=tuple(dict.fromkeys(text for end in ends for text in end.warnings)),
        **numbers,
    )


def _numbers(
    sides: list[Judged], rows: list[dict[str, Any]], *, shared: str, level: float
) -> tuple[dict[str, Any], int]:
    """Difference, standard error, degrees of freedom and interval."""
    youden = [row["sensitivity"] + row["specificity"] - 1.0 for row in rows]
    codes = joint_codes(sides)
    parts = [
        Part(values=sign * side.rates[:, None] / scale, cluster=code, weight=side.weights)
        for side, code, sign, scale in zip(sides, codes, (-1.0, 1.0), youden, strict=True)
    ]
    found = stacked(parts)
    spread, df, units = float(found.se[0]) ** 2, float(found.df[0]), found.units
    if not spread > 0:
        # no spread between cases: as if one case had changed among two more
        spread = (1.0 / (units + 2.0) / min(youden)) ** 2
        df = max(units - 1.0, 1.0)
    size = [
        (row["specificity"], row["m0_effective"], row["sensitivity"], row["m1_effective"])
        for row in rows
    ]
    if shared == "shared":
        gap = sides[1].rate - sides[0].rate
        delta, se = kernels.shared_difference(gap, spread * youden[0] ** 2, *size[0])
        diff, labels = float(delta), float(se) ** 2 - spread
    else:
        thetas = [
            (side.rate + q[0] - 1.0) / j for side, q, j in zip(sides, size, youden, strict=True)
        ]
        diff = thetas[1] - thetas[0]
        labels = sum(
            float(kernels.calibration_variance(theta, *q))
            for theta, q in zip(thetas, size, strict=True)
        )
    total = spread + labels
    many = sum(row["m0"] + row["m1"] for row in rows) - 2.0
    freedom = total**2 / (spread**2 / df + labels**2 / many)
    bounds = t_interval(diff, total**0.5, freedom, level, bounds=(-1.0, 1.0))
    made = {"diff": diff, "se": total**0.5, "df": freedom}
    return made | {"low": known(bounds.low), "high": known(bounds.high)}, units
