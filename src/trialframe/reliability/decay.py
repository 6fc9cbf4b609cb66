"""Reliability over tasks of rising length: the decay curve and how spread grows along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.display import differing
from trialframe.errors import ArgumentError, listed, short
from trialframe.estimate.intervals import BOUNDED
from trialframe.estimate.metrics import Request, cases_of, parsed
from trialframe.estimate.summary import summary
from trialframe.kernels.decay import contrast, slope_coefficients, trend
from trialframe.kernels.intervals import score_t, t_interval
from trialframe.reliability._buckets import BUCKET, Bucketed, bucketed
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias, Unpack

    from numpy.typing import NDArray

    from trialframe.charts._theme import Chart, Theme
    from trialframe.kernels.draws import Short
    from trialframe.reliability._table import Where

    Row: TypeAlias = dict[str, Any]
    Floats: TypeAlias = NDArray[np.float64]

TIE = 1e-12
SHORTS = ("null", "clamp", "min", "rate", "raise")
CURVE = (
    *("config", "bucket", "index", "metric", "k", "value", "se", "low", "high", "level"),
    *("method", "cases", "trials", "clusters", "dropped", "unscored", "warnings"),
)
SLOPES = {
    "config": pl.String,
    "metric": pl.String,
    "slope": pl.Float64,
    "se": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "df": pl.Float64,
    "pvalue": pl.Float64,
    "drop": pl.Float64,
    "monotone": pl.Boolean,
    "trend_share": pl.Float64,
    "trend_pvalue": pl.Float64,
    "rise": pl.String,
    "rise_pvalue": pl.Float64,
    "buckets": pl.Int64,
    "cases": pl.Int64,
    "warnings": pl.String,
}


_SHOWN = 6
"""Configs that the text of a result names."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Decay(Result):
    """How a metric falls from bucket to bucket.

    Attributes:
        metric: What is on the curve.
        bucket: The column that made the buckets.
        order: The buckets, in order.
        curve: One row per config and bucket: `value` with interval, `cases`, `dropped`. A bucket
            without cases is null; nothing is filled in.
        slopes: One row per config: least-squares `slope` per bucket with interval and p-value;
            `drop` from the first to the last bucket; `monotone`, whether no bucket is above the
            one before; `trend_share` and `trend_pvalue` (Jonckheere-Terpstra: 0.5 is no trend);
            `rise`, the steepest step upwards, and `rise_pvalue`, adjusted for having looked at
            all steps: small means that the curve is not monotone.
        warnings: What was left out or taken for what.
    """

    metric: str
    bucket: str
    order: tuple[str, ...]
    curve: pl.DataFrame
    slopes: pl.DataFrame
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The slopes of the first configs."""
        lines = [f"Decay: {self.metric} over {' | '.join(self.order)}"]
        for row in self.slopes.head(_SHOWN).iter_rows(named=True):
            slope, low, high = (differing(row[end], "share") for end in ("slope", "low", "high"))
            lines.append(f"- {row['config']}: {slope} a bucket, {low} to {high}")
        left = self.slopes.height - _SHOWN
        return "\n".join([*lines, *([f"- and {left} more configs"] if left > 0 else [])])

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """The curves with their bands; see `Result.plot`."""
        from trialframe import charts

        return charts.decay(self.curve, bucket=self.bucket, theme=theme, width=width)


def decay_curve(
    table: Any,
    *,
    bucket: str,
    order: Sequence[str] | None = None,
    edges: Sequence[float] | None = None,
    labels: Sequence[str] | None = None,
    metric: str = "pass^k",
    k: int = 3,
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> Decay:
    """Reliability decay curve: pass^k (or another metric) over ordered buckets of tasks.

    Use it to see how fast a system loses reliability as tasks get longer. Do not read the slope
    as a law: buckets hold different tasks, and length is not all that differs between them.

    Args:
        table: Counts, or trials of any kind.
        bucket: A column that is constant within a case (kept with `by=` in counts), or a measure
            of the trials such as "duration_ms", averaged per case.
        order: Names of the buckets from the shortest to the longest. Not needed for whole
            numbers and for a Polars Enum, whose type holds the order.
        edges: For numbers: where buckets begin, as in [5, 30, 120] minutes.
        labels: Names of those, one more than edges.
        metric: "pass^k", or a metric per case: "pass@1", "tests_share", "score" (which can hold
            partial credit, see `tr.gds`).
        k: Trials drawn for pass^k and pass@k, >= 1.
        level: Nominal coverage, in (0, 1).
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when there are some, or "cases".
        unscored: What a trial without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`.

    Returns:
        The curve, and a slope per config in units of the metric per bucket.

    Raises:
        ArgumentError: Buckets without an order, or an order that does not fit.
        ColumnError: No such column.
        TrialsError: Fewer than two buckets hold cases.

    Notes:
        The slope is that of the bucket means on 0, 1, 2, ..., each bucket counting alike, with a
        CR2 standard error over cases or whole clusters. Empty buckets keep their number.

    References:
        Khanal et al. (2026), arXiv:2603.29231 (reliability decay curve and slope); Jonckheere
        (1954), Biometrika 41:133.

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> rows = {"case": list("abcdef"), "n": [3] * 6, "c": [3, 3, 3, 1, 2, 0]}
        >>> rows["length"] = ["short"] * 2 + ["medium"] * 2 + ["long"] * 2
        >>> counts = tr.counts(rows, by="length")
        >>> found = tr.decay_curve(counts, bucket="length", order=["short", "medium", "long"], k=2)
        >>> found.curve["value"].round(3).to_list(), round(found.slopes["slope"][0], 3)
        ([1.0, 0.5, 0.167], -0.417)
    """
    level = _checks.between(level, "level", inclusive=False)
    _checks.one_of(units, "units", ("clusters", "cases"))
    _checks.one_of(short, "short", SHORTS)
    request = _request(metric, _checks.integer(k, "k", low=1))
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
    parts = made.counts.frame.filter(pl.col(BUCKET).is_not_null()).group_by(
        "config", maintain_order=True
    )
    slopes = [
        {"config": key[0]}
        | _slope(part, made.order, request, level, short, clusters=units == "clusters")
        for key, part in parts
    ]
    return Decay(
        metric=request.name,
        bucket=bucket,
        order=made.order,
        curve=_curve(made, request, level, short, units),
        slopes=pl.DataFrame(slopes, schema=SLOPES, orient="row").with_columns(
            pl.col(pl.Float64).fill_nan(None)
        ),
        warnings=made.notes,
    )


def _curve(
    made: Bucketed, request: Request, level: float, policy: Short, units: str
) -> pl.DataFrame:
    """One row per config and bucket, also where there is no case."""
    rows = summary(
        made.counts, metrics=request.name, by=BUCKET, level=level, short=policy, units=units
    )
    index = pl.DataFrame({BUCKET: made.order, "index": range(len(made.order))})
    grid = pl.DataFrame({"config": made.counts.configs}).join(index, how="cross")
    curve = grid.join(rows, on=["config", BUCKET], how="left").sort("config", "index")
    curve = curve.with_columns(
        pl.col("metric").fill_null(request.name),
        pl.col("cases", "trials").fill_null(0),
        pl.col("warnings").fill_null("no case in this bucket"),
    )
    return _kept_width(curve, request, level).select(CURVE)


def _kept_width(curve: pl.DataFrame, request: Request, level: float) -> pl.DataFrame:
    """Give buckets in which all cases agree an interval with a width, or none.

    Without spread a t interval has no width, which reads as certainty: a share has its score
    interval in its place, with as many observations as units; other metrics have no interval.
    """
    value, se, low, high, units = (
        curve[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in ("value", "se", "low", "high", "clusters")
    )
    flat = (se == 0) & (low == high)
    score = score_t(value, se, np.maximum(units - 1.0, 1.0), units, units, level)
    share = request.shape in BOUNDED and bool(((value[flat] >= 0) & (value[flat] <= 1)).all())
    ends = {
        "low": np.where(flat, score.low if share else np.nan, low),
        "high": np.where(flat, score.high if share else np.nan, high),
    }
    here = pl.Series(flat)
    said = "all cases agree: score interval" if share else "all cases agree: no interval"
    told = pl.concat_str(
        pl.when(pl.col("warnings") != "").then("warnings"),
        pl.lit(said),
        separator="; ",
        ignore_nulls=True,
    )
    return curve.with_columns(
        **{name: pl.Series(end).fill_nan(None) for name, end in ends.items()},
        method=pl.when(here & share).then(pl.lit("score")).otherwise("method"),
        warnings=pl.when(here).then(told).otherwise("warnings"),
    )


def _request(metric: object, k: int) -> Request:
    """The one metric that is asked for; it needs a value per case."""
    found = parsed(metric, (k,))[0]
    if found.shape in {"pooled", "fact"}:
        raise ArgumentError(
            f"metric == {short(metric)} has no value per case. Use pass^k or pass@1 in its place."
        )
    return found


def _slope(
    part: pl.DataFrame,
    order: tuple[str, ...],
    request: Request,
    level: float,
    policy: Short,
    *,
    clusters: bool,
) -> Row:
    """The slope and the tests of one config."""
    cases = cases_of(part, clusters=clusters)
    values = request.metric.values(cases, request, policy)
    used = ~np.isnan(values) & (cases.weight > 0)
    place = {name: i for i, name in enumerate(order)}
    bucket = part[BUCKET].replace_strict(place, return_dtype=pl.Int64).to_numpy()[used]
    cluster = None if cases.cluster is None else cases.cluster[used]
    values, weights = values[used], cases.weight[used]
    held = np.unique(bucket)
    row: Row = {"metric": request.name, "buckets": len(held), "cases": len(values), "level": level}
    if len(held) < 2:
        return row | {"warnings": "fewer than two buckets have a value"}
    full = np.zeros(len(order))
    full[held] = slope_coefficients(held)
    fit = contrast(values, weights, bucket, full, cluster)
    interval = t_interval(fit.value, fit.se, fit.df, level)
    told = []
    if len(held) < len(order):
        told.append(f"{len(order) - len(held)} buckets have no value")
    if flat := [order[b] for b in held if np.ptp(values[bucket == b]) <= TIE]:
        told.append(f"all cases agree in {listed(flat)}: the slope's interval is too narrow")
    if cluster is not None:
        told.append("the trend test takes cases as independent")
    return row | {
        "slope": fit.value,
        "se": fit.se,
        "low": float(interval.low),
        "high": float(interval.high),
        "df": fit.df,
        "pvalue": _two_sided(fit.value, fit.se, fit.df),
        "warnings": "; ".join(told) or None,
        **_shape(values, weights, bucket, held, cluster, order),
    }


def _shape(
    values: Floats,
    weights: Floats,
    bucket: NDArray[np.int64],
    held: NDArray[np.int64],
    cluster: NDArray[np.int64] | None,
    order: tuple[str, ...],
) -> Row:
    """Whether the curve falls from bucket to bucket, and where it does not."""
    totals = np.bincount(bucket, weights, len(order))[held]
    means = np.bincount(bucket, weights * values, len(order))[held] / totals
    down, steps = trend(values, bucket), np.diff(means)
    rise, adjusted = _rise(values, weights, bucket, held, cluster, steps, order)
    return {
        "drop": float(means[0] - means[-1]),
        "monotone": bool((steps <= TIE).all()),
        "trend_share": down.share,
        "trend_pvalue": down.pvalue,
        "rise": rise,
        "rise_pvalue": adjusted,
    }


def _two_sided(value: float, se: float, df: float) -> float:
    from scipy.special import stdtr

    if not se > 0:
        return float("nan")
    return float(2.0 * stdtr(df, -abs(value / se)))


def _rise(
    values: Floats,
    weights: Floats,
    bucket: NDArray[np.int64],
    held: NDArray[np.int64],
    cluster: NDArray[np.int64] | None,
    steps: Floats,
    order: tuple[str, ...],
) -> tuple[str | None, float | None]:
    """The step up with the smallest p-value (one-sided), adjusted for all steps."""
    from scipy.special import stdtr

    best: tuple[float, str] | None = None
    for i in np.flatnonzero(steps > TIE):
        one = np.zeros(len(order))
        one[held[i]], one[held[i + 1]] = -1.0, 1.0
        fit = contrast(values, weights, bucket, one, cluster)
        p = float(stdtr(fit.df, -fit.value / fit.se)) if fit.se > 0 else float("nan")
        name = f"{order[held[i]]} to {order[held[i + 1]]}"
        if best is None or p < best[0] or np.isnan(best[0]):
            best = (p, name)
    if best is None:
        return None, None
    return best[1], min(1.0, best[0] * len(steps)) if not np.isnan(best[0]) else None
