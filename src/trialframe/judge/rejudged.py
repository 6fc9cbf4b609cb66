"""A difference of two configs beside what judging the same transcripts anew would move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from trialframe.errors import TrialsError, listed
from trialframe.kernels.retest import rejudged
from trialframe.results import Result

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from trialframe.results import Estimate

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

INSIDE, OUTSIDE = "inside the judge's noise", "outside the judge's noise"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RejudgedDifference(Result):
    """A difference of two configs beside what judging the same transcripts anew would move it.

    Attributes:
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        verdict: "inside the judge's noise" or "outside the judge's noise".
        diff: Mean over shared cases of the candidate's pass rate minus the baseline's.
        sd: Standard deviation of `diff` due to judging alone, with the draws there are.
        sd_one_draw: The same if every trial were judged once.
        low: Lower end of what re-judging alone does to a difference of 0.
        high: Upper end.
        level: Share of re-judgings inside of [low, high], by the normal approximation.
        se: Standard error of `diff` over cases, with all noise in it; None with one case.
        judge_share: sd^2 / se^2, the judge's share of that, at most 1.
        cases: Shared cases.
        claim: One sentence that the numbers support.
        warnings: What weakens it.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "A difference beside what judging anew would move",
        "difference",
        "difference",
    )

    baseline: str
    candidate: str
    verdict: str
    diff: float
    sd: float
    sd_one_draw: float
    low: float
    high: float
    level: float
    se: float | None
    judge_share: float | None
    cases: int
    claim: str
    warnings: tuple[str, ...]

    def _estimates(self) -> list[Estimate]:
        return [
            (f"{self.candidate} minus {self.baseline}", self.diff, None, None),
            ("judging anew alone", 0.0, self.low, self.high),
        ]


def codes_of(values: pl.Series) -> Ints:
    """Codes 0, 1, ... in ascending order of the values."""
    codes: Ints = values.rank("dense").cast(pl.Int64).to_numpy() - 1
    return codes


def rejudged_difference(
    trials: pl.DataFrame, baseline: str, candidate: str, level: float
) -> RejudgedDifference:
    """The candidate minus the baseline on shared cases, beside the judge's own noise.

    Args:
        trials: One row per trial: config, case, draws n and passing draws c.
        baseline: Config to compare with.
        candidate: Config to compare.
        level: Nominal coverage, in (0, 1).

    Raises:
        TrialsError: No shared case, or no trial with two draws on one side.
    """
    from scipy.special import ndtri

    shared = _shared(trials.filter(pl.col("n") > 0), baseline, candidate)
    found = [rejudged(codes_of(s["case"]), s["n"].to_numpy(), s["c"].to_numpy()) for s in shared]
    if any(np.isnan(side.variance) for side in found):
        raise TrialsError("one of the configs has no trial with two draws on the shared cases.")
    gap = _rates(shared[1]) - _rates(shared[0])
    diff = float(gap.mean())
    sd = float(np.sqrt(sum(side.variance for side in found)))
    se = float(np.std(gap, ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None
    reach = float(ndtri((1.0 + level) / 2.0)) * sd
    # rounding must not put a difference of 0 outside of no noise at all
    inside = abs(diff) <= reach + 1e-12
    pooled = sum(side.pooled for side in found)
    borrowed = f"{pooled:,} trials have one draw: the mean retest variance stands in for theirs"
    return RejudgedDifference(
        baseline=baseline,
        candidate=candidate,
        verdict=INSIDE if inside else OUTSIDE,
        diff=diff,
        sd=sd,
        sd_one_draw=float(np.sqrt(sum(side.one_draw for side in found))),
        low=-reach,
        high=reach,
        level=level,
        se=se,
        judge_share=min(sd**2 / se**2, 1.0) if se else None,
        cases=len(gap),
        claim=_claim((baseline, candidate), diff, reach, level, inside=inside),
        warnings=(borrowed,) if pooled else (),
    )


def _shared(trials: pl.DataFrame, baseline: str, candidate: str) -> list[pl.DataFrame]:
    """Trials of both configs on the cases that both have, sorted by case."""
    sides = [trials.filter(config=name) for name in (baseline, candidate)]
    shared = [side.join(other, on="case", how="semi") for side, other in (sides, sides[::-1])]
    if not shared[0].height:
        first, second = (listed(side["case"].unique().sort().to_list(), 3) for side in sides)
        raise TrialsError(
            f"{baseline!r} and {candidate!r} share no case. Cases of the first: {first}; of the "
            f"second: {second}."
        )
    return [side.sort("case") for side in shared]


def _rates(trials: pl.DataFrame) -> Floats:
    """Pass rate of every case: the mean over its trials of their shares of passing draws."""
    share = (pl.col("c") / pl.col("n")).mean().alias("rate")
    rates: Floats = trials.group_by("case", maintain_order=True).agg(share)["rate"].to_numpy()
    return rates


def _claim(names: tuple[str, str], diff: float, reach: float, level: float, *, inside: bool) -> str:
    moves = f"judging the same transcripts anew moves it by up to {reach:.3f} ({level:.0%})"
    # rounded first, so that no -0.000 is said
    start = f"{names[1]} minus {names[0]} is {round(diff, 3) + 0.0:+.3f}; {moves}"
    if inside:
        return f"{start}, so it is inside the judge's noise."
    return f"{start}, so it is more than the judge's noise; cases and trials may still explain it."
