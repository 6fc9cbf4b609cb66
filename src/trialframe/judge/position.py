"""Does a judge of pairs prefer the answer that it sees first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.engine import at_home
from trialframe.errors import ColumnError, TrialsError, did_you_mean, listed
from trialframe.judge._verdicts import truth
from trialframe.judge._words import known, percent, points
from trialframe.kernels.intervals import score_t, t_interval, wilson
from trialframe.kernels.means import clustered_mean
from trialframe.kernels.paired import mcnemar, tango
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trialframe.results import Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PositionBias(Result):
    """A judge of pairs that saw every pair in both orders.

    Attributes:
        status: "biased", "not detected" or "insufficient-data" (fewer pairs than asked for).
        claim: One sentence that the numbers support.
        consistency: Share of pairs with the same winner in both orders.
        consistency_low: Lower end of its interval.
        consistency_high: Upper end.
        bias: Share of pairs won by whichever was shown first, minus by whichever was second.
        bias_low: Lower end of its interval.
        bias_high: Upper end.
        pvalue: Of no preference for a position.
        method: "mcnemar, tango, wilson", or "t-cr2" for several pairs a case or clusters.
        pairs: Pairs with a winner in both orders.
        consistent: Pairs with the same winner.
        prefers_first: Pairs won by the answer shown first, both times.
        prefers_second: Pairs won by the answer shown second, both times.
        undecided: Pairs without a winner in some order, left out.
        unmapped: Rows with a text that the mapping does not know, left out.
        level: Nominal coverage; the test is at 1 - level.
        warnings: What weakens the statement.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Pairs won by the first answer minus by the second",
        "difference",
        "difference",
    )

    status: str
    claim: str
    consistency: float
    consistency_low: float | None
    consistency_high: float | None
    bias: float
    bias_low: float | None
    bias_high: float | None
    pvalue: float
    method: str
    pairs: int
    consistent: int
    prefers_first: int
    prefers_second: int
    undecided: int
    unmapped: int
    level: float
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when no bias was detected, else 1."""
        return int(self.status != "not detected")

    def _estimates(self) -> list[Estimate]:
        return [("preference for the first", self.bias, self.bias_low, self.bias_high)]

    def __repr__(self) -> str:
        """The claim and what weakens it."""
        return "\n".join([f"PositionBias: {self.claim}", *(f"- {text}" for text in self.warnings)])


def position_bias(
    frame: Any,
    *,
    first: str,
    second: str,
    cluster: str | None = None,
    verdicts: Mapping[Any, bool | None] | None = None,
    min_n: int = 20,
    level: float = 0.95,
) -> PositionBias:
    """Consistency and position bias of a judge that compared pairs of answers in both orders.

    Do not use it on pairs that were shown in one order only: the better answer may well stand first
    more often.

    Args:
        frame: One row per pair.
        first: Column: whether answer A won when it was shown first; true, false, null for a tie.
        second: Column: whether the same answer A won when it was shown second.
        cluster: Column with groups of dependent pairs, such as the case when it has several.
        verdicts: What texts mean, as {"A": True, "B": False, "tie": None}.
        min_n: Pairs below which the status is "insufficient-data".
        level: Nominal coverage, in (0, 1).

    Returns:
        A `PositionBias`.

    Raises:
        ColumnError: A column is missing or of an unusable type.
        TrialsError: Values that are neither, or no pair with a winner in both orders.

    Notes:
        With b pairs won by whichever was first, c by whichever was second: bias (b - c)/n with
        Tango's interval, exact McNemar test; consistency 1 - (b + c)/n with Wilson's. With
        clusters both are means with CR2 standard errors.

    References:
        Tango (1998), Stat. Med. 17:891; Zheng et al. (2023), arXiv:2306.05685.

    Examples:
        >>> import trialframe as tr
        >>> pairs = {"ab": [1] * 40 + [0] * 20, "ba": [1] * 28 + [0] * 12 + [0] * 17 + [1] * 3}
        >>> found = tr.position_bias(pairs, first="ab", second="ba")
        >>> found.status, round(found.bias, 3), round(found.consistency, 3)
        ('biased', 0.15, 0.75)
    """
    level = _checks.between(level, "level", inclusive=False)
    min_n = _checks.integer(min_n, "min_n", low=1)
    if first == second:
        raise ColumnError(
            f"first and second are both {first!r}: name a column for each order in which the "
            "answers were shown."
        )
    wanted = [first, second, *([] if cluster is None else [cluster])]

    def choose(names: list[str]) -> list[str]:
        for name in wanted:
            if name not in names:
                raise ColumnError(f"no column {name!r}. {did_you_mean(str(name), names)}")
        return list(dict.fromkeys(wanted))

    table = at_home(frame, choose).collect()
    sides = [truth(table, name, "judge", verdicts) for name in (first, second)]
    rows = pl.DataFrame({"first": sides[0].values, "second": sides[1].values})
    if cluster is not None:
        rows = rows.with_columns(unit=table[cluster].cast(pl.String))
    decided = rows.drop_nulls()
    if decided.is_empty():
        raise TrialsError(f"no pair has a winner in both {listed([first, second])}.")
    lost = sum(int(side.unmapped["rows"].sum()) for side in sides)
    return _biased(decided, rows.height - decided.height, lost, min_n, level)


def _biased(
    rows: pl.DataFrame, undecided: int, unmapped: int, min_n: int, level: float
) -> PositionBias:
    toward = (rows["first"].cast(pl.Int64) - rows["second"].cast(pl.Int64)).to_numpy()
    count = len(toward)
    ahead, behind = int((toward > 0).sum()), int((toward < 0).sum())
    found = _by_unit(rows, toward, level) if "unit" in rows.columns else None
    if found is None:
        bounds, same = tango(ahead, behind, count, level), count - ahead - behind
        # Tango counts what only the second side has as positive
        found = {
            "bias_low": -float(bounds.high),
            "bias_high": -float(bounds.low),
            "consistency_low": float(wilson(same, count, level).low),
            "consistency_high": float(wilson(same, count, level).high),
            "pvalue": float(mcnemar(ahead, behind).pvalue),
            "method": "mcnemar, tango, wilson",
        }
    bias, consistency = (ahead - behind) / count, 1.0 - (ahead + behind) / count
    status = "biased" if found["pvalue"] < 1.0 - level else "not detected"
    status = "insufficient-data" if count < min_n else status
    told = f"same winner in {percent(consistency)} of {count:,} pairs; first minus second place"
    warnings = [f"{undecided:,} pairs without a winner in some order left out"] if undecided else []
    if unmapped:
        warnings.append(f"{unmapped:,} texts without a meaning")
    return PositionBias(
        status=status,
        claim=f"{status}: {told} {points(bias)} points [{points(found['bias_low'])}, "
        f"{points(found['bias_high'])}], p {found['pvalue']:.2g}",
        consistency=consistency,
        bias=bias,
        pairs=count,
        consistent=count - ahead - behind,
        prefers_first=ahead,
        prefers_second=behind,
        undecided=undecided,
        unmapped=unmapped,
        level=level,
        warnings=tuple(warnings),
        **found,
    )


def _by_unit(rows: pl.DataFrame, toward: np.ndarray, level: float) -> dict[str, Any]:
    """The same with clusters as units."""
    from scipy.special import stdtr

    codes = rows["unit"].rank("dense").cast(pl.Int64).to_numpy()
    values = np.column_stack([toward, toward == 0]).astype(np.float64)
    fit = clustered_mean(values, np.ones(len(values)), codes)
    bias = t_interval(fit.mean[0], fit.se[0], fit.df[0], level, bounds=(-1.0, 1.0))
    if fit.se[0] == 0:  # every unit alike: what that many units would say
        units = int(fit.units[0])
        ahead, behind = (round(max(side * fit.mean[0], 0.0) * units) for side in (1.0, -1.0))
        bias = tango(behind, ahead, units, level)
    same = score_t(fit.mean[1], fit.se[1], fit.df[1], len(values), fit.units[1], level)
    mean, se = float(fit.mean[0]), float(fit.se[0])
    pvalue = 2.0 * float(stdtr(fit.df[0], -abs(mean) / se)) if se > 0 else float(mean == 0)
    return {
        "bias_low": known(bias.low),
        "bias_high": known(bias.high),
        "consistency_low": known(same.low),
        "consistency_high": known(same.high),
        "pvalue": pvalue,
        "method": "t-cr2",
    }
