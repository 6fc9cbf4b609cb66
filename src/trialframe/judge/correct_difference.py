"""Differences of two judged configs, corrected for the errors of the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError
from trialframe.judge._judged import joint_codes
from trialframe.judge._words import known, points
from trialframe.judge.correct import corrected, row_of, side_of
from trialframe.kernels import judge as kernels
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.ppi import Part, stacked
from trialframe.results import Result

if TYPE_CHECKING:
    from trialframe.judge._judged import Judged
    from trialframe.judge.calibrate import Calibration
    from trialframe.judge.correct import Corrected
    from trialframe.results import Estimate


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

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Difference, corrected for the judge",
        "difference",
        "difference",
    )

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

    def _estimates(self) -> list[Estimate]:
        judge = ("by the judge", self.judge_diff, None, None)
        return [judge, (self.status, self.diff, self.low, self.high)]

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"CorrectedDifference: {self.claim}", *notes])


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
    sides = [side_of(judged, name) for name in (baseline, candidate)]
    rows = [row_of(calibration, name) for name in (baseline, candidate)]
    shared = rows[0] == rows[1]
    ends = [corrected(side, row, level) for side, row in zip(sides, rows, strict=True)]
    return _difference(sides, rows, ends, shared="shared" if shared else "per config", level=level)


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
        if worst.status != "corrected":
            claim = f"{worst.status}: {claim}; {worst.reason}"
    leaks = [
        f"{end.status}: {end.config}: {end.reason}" for end in ends if end.status == "in-sample"
    ]
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
        warnings=tuple(dict.fromkeys([*leaks, *(text for end in ends for text in end.warnings)])),
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
        (
            row["specificity"],
            row["m0_effective"] or 0.0,
            row["sensitivity"],
            row["m1_effective"] or 0.0,
        )
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
