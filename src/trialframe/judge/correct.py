"""Pass rates corrected for the errors of the judge that gave the verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, UnknownConfigError, did_you_mean, short
from trialframe.judge._judged import Judged, judged_of
from trialframe.judge._words import called, known, percent
from trialframe.judge.calibrate import Calibration
from trialframe.kernels import judge as kernels
from trialframe.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.results import Estimate

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

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Pass rate, corrected for the judge's errors",
        "level",
        "pass rate",
    )

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

    def _estimates(self) -> list[Estimate]:
        judge = ("by the judge", self.judge_rate, self.judge_low, self.judge_high)
        return [judge, (self.status, self.value, self.low, self.high)]

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"Corrected: {self.claim}", *notes])


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
    found = side_of(judged, config)
    row = row_of(calibration, found.config)
    return corrected(found, row, level)


def side_of(judged: Any, config: str | None) -> Judged:
    """The judged rate of one config, from counts or from a pair of numbers."""
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


def row_of(calibration: Calibration, config: str | None) -> dict[str, Any]:
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
            f"{config!r}. To use one calibration for all, calibrate without config= (on the "
            "command line: --calibration shared)."
        )
    if table.height != 1:
        return calibration.select().table.row(0, named=True)  # which says what to choose from
    return table.row(0, named=True)


def corrected(found: Judged, row: dict[str, Any], level: float) -> Corrected:
    """The corrected rate of one config by one row of a calibration."""
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
    name = called(made.config)
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
    if row["config"] is not None and found.config not in {None, row["config"]}:
        made.append(f"{found.config} is corrected by labels of {row['config']}")
    if row["warnings"]:
        made.append(f"calibration: {row['warnings']}")
    return made
