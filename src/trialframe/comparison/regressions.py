"""Which single cases got worse, with the multiplicity of looking at all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError
from trialframe.estimate.metrics import ratio
from trialframe.kernels import multiple, unpaired

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Sides = tuple[Ints, Ints, Ints, Ints]

METHODS = {"boschloo": "boschloo", "barnard": "barnard", "fisher": "fisher_mid", "z": "z"}
ADJUSTMENTS = ("holm", "bh", "tarone", "none")
Z_GATE = 1.96

COLUMNS = {
    "case": pl.String,
    "n_baseline": pl.Int64,
    "c_baseline": pl.Int64,
    "rate_baseline": pl.Float64,
    "n_candidate": pl.Int64,
    "c_candidate": pl.Int64,
    "rate_candidate": pl.Float64,
    "diff": pl.Float64,
    "z": pl.Float64,
    "pvalue_worse": pl.Float64,
    "adjusted_worse": pl.Float64,
    "pvalue_better": pl.Float64,
    "adjusted_better": pl.Float64,
    "least_pvalue": pl.Float64,
    "status": pl.String,
    "transition": pl.String,
}


def regressions(
    counts: Counts,
    baseline: str,
    candidate: str,
    *,
    method: str = "boschloo",
    adjust: str = "holm",
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Test every shared case for a change of its pass rate.

    With few trials a case almost nothing can be shown: such cases are "untestable", which does
    not mean unchanged. Gate on `tr.compare`; read this to see where to look.

    Args:
        counts: Counts that hold both configs.
        baseline: Config to compare with.
        candidate: Config under test.
        method: "boschloo" or "barnard" (exact, one-sided), "fisher" (mid-p, one-sided), or "z"
            (the pooled z gate at 1.96 that other tools use, without adjustment; not exact).
        adjust: Over the tested cases: "holm", "bh" (false discovery rate), "tarone" (discrete
            tests), or "none". Worse and better are families of their own.
        alpha: Level of each family, in (0, 1).

    Returns:
        One row per shared case, sorted by case: `n_`, `c_` and `rate_` of both sides, `diff`, `z`,
        p-values and adjusted p-values for worse and better, `least_pvalue` that these trial
        counts can attain, `status` ("regression", "improvement", "no evidence", "untestable",
        "not scored"), and `transition` ("pass to fail" and so on) where both sides have one trial.

    Raises:
        UnknownConfigError: A config is not in the counts.
        TrialsError: The configs share no case.
        ArgumentError: An unknown method or adjustment.

    Notes:
        A case is untestable when its least p-value is above alpha, for Tarone above alpha / K.
        Only testable cases count in the adjustment; a status needs adjusted p <= alpha.

    References:
        Boschloo 1970; Holm 1979; Benjamini and Hochberg 1995; Tarone 1990.

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> table = pl.DataFrame({"config": ["a", "a", "b", "b"], "case": ["x", "y"] * 2, "n": 5})
        >>> made = tr.Counts(table.with_columns(c=pl.Series([5, 3, 0, 3])))
        >>> tr.regressions(made, "a", "b").select("case", "diff", "status").rows()
        [('x', -1.0, 'regression'), ('y', 0.0, 'no evidence')]
    """
    test = METHODS[_checks.one_of(method, "method", METHODS)]
    _checks.one_of(adjust, "adjust", ADJUSTMENTS)
    alpha = _checks.between(alpha, "alpha", inclusive=False)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    both = counts.select(baseline, candidate).frame.filter(pl.len().over("case") == 2)
    first, second = (
        both.filter(pl.col("config") == name).sort("case") for name in (baseline, candidate)
    )
    if first.is_empty():
        raise TrialsError(f"{baseline!r} and {candidate!r} share no case, so none can be compared.")
    n_a, c_a, n_b, c_b = (side[name].to_numpy() for side in (first, second) for name in ("n", "c"))
    return _table(first["case"], (n_a, c_a, n_b, c_b), test, adjust, alpha)


def _table(case: pl.Series, sides: Sides, test: str, adjust: str, alpha: float) -> pl.DataFrame:
    n_a, c_a, n_b, c_b = sides
    z = unpaired.z_test(n_a, c_a, n_b, c_b).z
    least = unpaired.least_p(n_a, n_b, test)
    worse, better = _pvalues(sides, z, test)
    if test == "z":
        changed = [z <= -Z_GATE, z >= Z_GATE]
        adjusted = [worse, better]
        testable = ~np.isnan(z)
    else:
        found = [_adjusted(p, least, adjust, alpha) for p in (worse, better)]
        adjusted = [p for p, _ in found]
        testable = found[0][1]
        changed = [np.nan_to_num(p, nan=1.0) <= alpha for p in adjusted]
    rate_a, rate_b = ratio(c_a, n_a), ratio(c_b, n_b)
    columns = {
        "case": case,
        "n_baseline": n_a,
        "c_baseline": c_a,
        "rate_baseline": rate_a,
        "n_candidate": n_b,
        "c_candidate": c_b,
        "rate_candidate": rate_b,
        "diff": rate_b - rate_a,
        "z": z,
        "pvalue_worse": worse,
        "adjusted_worse": adjusted[0],
        "pvalue_better": better,
        "adjusted_better": adjusted[1],
        "least_pvalue": least,
        "status": _status(np.isnan(z), changed, testable),
    }
    table = pl.DataFrame(columns, schema_overrides=COLUMNS, nan_to_null=True)
    return table.with_columns(transition=_transition(sides))


def _status(
    unscored: NDArray[np.bool_], changed: list[NDArray[np.bool_]], testable: NDArray[np.bool_]
) -> NDArray[np.str_]:
    return np.select(
        [unscored, *changed, ~testable],
        ["not scored", "regression", "improvement", "untestable"],
        default="no evidence",
    )


def _transition(sides: Sides) -> pl.Series:
    """What happened to the one trial of each side; null where there are several."""
    n_a, c_a, n_b, c_b = sides
    words = np.array([["fail to fail", "fail to pass"], ["pass to fail", "pass to pass"]])
    moves = words[(c_a > 0).astype(np.int64), (c_b > 0).astype(np.int64)]
    single = pl.Series((n_a == 1) & (n_b == 1))
    return pl.select(pl.when(single).then(pl.Series(moves))).to_series()


def _pvalues(sides: Sides, z: Floats, test: str) -> tuple[Floats, Floats]:
    """One-sided p-values for worse and for better."""
    if test in {"boschloo", "barnard"}:
        kernel = unpaired.boschloo if test == "boschloo" else unpaired.barnard
        return kernel(*sides, alternative="less"), kernel(*sides, alternative="greater")
    if test == "fisher_mid":
        found = unpaired.fisher(*sides)
        return found.mid_less, found.mid_greater
    from scipy.special import ndtr

    return np.asarray(ndtr(z)), np.asarray(ndtr(-z))


def _adjusted(
    pvalues: Floats, least: Floats, adjust: str, alpha: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Adjusted p-values of the testable cases, NaN for the others, and which are testable."""
    if adjust == "tarone":
        rule = multiple.tarone(pvalues, least, alpha)
        corrected = np.minimum(pvalues * rule.factor, 1.0)
        return np.where(rule.testable, corrected, np.nan), rule.testable
    testable = least <= alpha
    tested = np.where(testable, pvalues, np.nan)
    if adjust == "none":
        return tested, testable
    kernel = multiple.holm if adjust == "holm" else multiple.benjamini_hochberg
    return kernel(tested), testable
