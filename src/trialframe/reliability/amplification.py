"""Does the spread between tasks grow with their length?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, did_you_mean
from trialframe.kernels.anova import case_weights
from trialframe.kernels.decay import amplification, spread
from trialframe.reliability._buckets import BUCKET, bucketed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from trialframe.reliability._table import Where

    Floats = NDArray[np.float64]

LONG_PLACE = 2
MOST_WEIGHTS = 4_000_000
SCHEMA = {
    "config": pl.String,
    "short": pl.String,
    "long": pl.String,
    "vaf": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "corrected": pl.Float64,
    "corrected_low": pl.Float64,
    "corrected_high": pl.Float64,
    "sd_ratio": pl.Float64,
    "variance_short": pl.Float64,
    "variance_long": pl.Float64,
    "between_short": pl.Float64,
    "between_long": pl.Float64,
    "cases_short": pl.Int64,
    "cases_long": pl.Int64,
    "warnings": pl.String,
}


def vaf(
    table: Any,
    *,
    bucket: str,
    short: str | None = None,
    long: str | None = None,
    order: Sequence[str] | None = None,
    edges: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    units: str = "clusters",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> pl.DataFrame:
    """Variance amplification factor: variance of case pass rates, long tasks over short ones.

    There is no good direction: strong systems spread more on long tasks because they solve some.
    Do not compare the raw factor where trials per case differ, for noise of trials is in it; use
    `corrected`. HorizonBench means `sd_ratio` by the same name.

    Args:
        table: Counts, or trials of any kind.
        bucket: Column or measure that holds the length, as in `tr.decay_curve`.
        short: Name of the short bucket; None for the first.
        long: Name of the long bucket; None for the third (or the last of two).
        order: Names of the buckets in order.
        edges: Where buckets of a number begin.
        labels: Names of those.
        units: Resampling units: "clusters" when there are some, or "cases".
        level: Nominal coverage, in (0, 1).
        resamples: Bootstrap resamples of whole units, >= 100.
        seed: Seed of the bootstrap.
        unscored: What a trial without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`.

    Returns:
        One row per config: `vaf` with a percentile interval, `corrected` (trial noise taken out;
        null when a case has one trial or a variance is below 0), `sd_ratio`, the variances. A
        short variance of 0 gives infinity, 0/0 null.

    Notes:
        VAF = Var(c/n | long) / Var(c/n | short), ddof 1. The corrected factor subtracts the mean
        of p (1 - p) / (n - 1) from each. Case weights are not used.

    References:
        Khanal et al. (2026), arXiv:2603.29231.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": list("abcdef"), "n": [3] * 6, "c": [3, 3, 2, 3, 0, 1]}
        >>> rows["length"] = ["short"] * 3 + ["long"] * 3
        >>> counts = tr.counts(rows, by="length")
        >>> tr.vaf(counts, bucket="length", order=["short", "long"])["vaf"].round(3).to_list()
        [7.0]
    """
    level = _checks.between(level, "level", inclusive=False)
    resamples = _checks.integer(resamples, "resamples", low=100, high=1_000_000)
    seed = _checks.integer(seed, "seed", low=0)
    _checks.one_of(units, "units", ("clusters", "cases"))
    made = bucketed(
        table,
        columns,
        bucket=bucket,
        order=order,
        edges=edges,
        labels=labels,
        unscored=unscored,
        threshold=threshold,
    )
    first = _picked(short, "short", made.order, 0)
    last = _picked(long, "long", made.order, min(LONG_PLACE, len(made.order) - 1))
    if first == last:
        raise ArgumentError(f"short and long are both {first!r}: name two buckets.")
    rows = []
    wanted = made.counts.frame.filter(pl.col(BUCKET).is_in([first, last]))
    for name in made.counts.configs:
        part = wanted.filter((pl.col("config") == name) & (pl.col("n") > 0))
        clusters = units == "clusters" and "cluster" in part.columns
        row = _row(part, (first, last), level, resamples, seed, clusters=clusters)
        told = "; ".join([*made.notes, *row.pop("told")]) or None
        rows.append({"config": name, "short": first, "long": last, "warnings": told} | row)
    made_table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return made_table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _picked(name: str | None, what: str, order: tuple[str, ...], place: int) -> str:
    if name is None:
        return order[place]
    if name not in order:
        raise ArgumentError(f"{what} == {name!r} is no bucket. {did_you_mean(name, order)}")
    return name


def _row(
    part: pl.DataFrame,
    ends: tuple[str, str],
    level: float,
    resamples: int,
    seed: int,
    *,
    clusters: bool,
) -> dict[str, Any]:
    """The numbers of one config."""
    n, c = (part[name].to_numpy() for name in ("n", "c"))
    sides = [(part[BUCKET] == end).to_numpy() for end in ends]
    found = [spread(n[side], c[side]) for side in sides]
    told = []
    draws = np.full((2, resamples), np.nan)
    if part.height:
        unit = part["cluster" if clusters else "case"].rank("dense").to_numpy().astype(np.int64)
        if unit.max() > 1:
            draws = _draws(n, c, sides, unit - 1, resamples, np.random.default_rng(seed))
        else:
            told.append("one cluster: no interval")
    if min(int(side.sum()) for side in sides) < 2:
        told.append("a bucket has fewer than two cases")
    if part.height and int(n.min()) < 2:
        told.append("a case has one trial, so noise cannot be taken out")
    values = [amplification(found[1].observed, found[0].observed)[0]]
    values.append(amplification(found[1].between, found[0].between)[0])
    (low, high), (corrected_low, corrected_high) = (
        _ends(d, level) if not np.isnan(v) else (np.nan, np.nan)
        for v, d in zip(values, draws, strict=True)
    )
    return {
        "vaf": values[0],
        "low": low,
        "high": high,
        "level": level,
        "corrected": values[1],
        "corrected_low": corrected_low,
        "corrected_high": corrected_high,
        "sd_ratio": float(np.sqrt(values[0])),
        "variance_short": found[0].observed[0],
        "variance_long": found[1].observed[0],
        "between_short": found[0].between[0],
        "between_long": found[1].between[0],
        "cases_short": int(sides[0].sum()),
        "cases_long": int(sides[1].sum()),
        "told": told,
    }


def _draws(
    n: NDArray[np.int64],
    c: NDArray[np.int64],
    sides: list[NDArray[np.bool_]],
    unit: NDArray[np.int64],
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Both factors of every resample of whole units, shape (2, resamples)."""
    batch = max(1, MOST_WEIGHTS // len(n))
    made = []
    for start in range(0, resamples, batch):
        weights = case_weights(unit, min(batch, resamples - start), rng)
        one, two = (spread(n[side], c[side], weights[:, side]) for side in sides)
        made.append(
            np.stack(
                [
                    amplification(two.observed, one.observed),
                    amplification(two.between, one.between),
                ]
            )
        )
    return np.concatenate(made, axis=1)


def _ends(draws: Floats, level: float) -> tuple[float, float]:
    """Percentiles that are draws themselves, so that infinite ones do no harm."""
    kept = draws[~np.isnan(draws)]
    if not len(kept):
        return float("nan"), float("nan")
    low = np.quantile(kept, (1.0 - level) / 2.0, method="inverted_cdf")
    high = np.quantile(kept, (1.0 + level) / 2.0, method="inverted_cdf")
    return float(low), float(high)
