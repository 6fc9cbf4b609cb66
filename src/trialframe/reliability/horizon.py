"""How long a task may be for a system to pass it half of the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.kernels.horizon import (
    families_needed,
    horizons,
    logistic,
    nested_resamples,
    one_sided,
)
from trialframe.reliability._table import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias, Unpack

    from numpy.typing import NDArray

    from trialframe.reliability._table import Where

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """log2 horizons of the resamples, one array a target, and how many were odd."""

    log2: list[Floats]
    one_class: float
    rising: float


LEVELS = ("family", "case", "trial")
WEIGHTS = ("family", "equal")
MOST_CELLS = 2_000_000
FEW_FAMILIES = 10
SCHEMA = {
    "config": pl.String,
    "target": pl.Float64,
    "minutes": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "intercept": pl.Float64,
    "slope": pl.Float64,
    "shortest": pl.Float64,
    "longest": pl.Float64,
    "cases": pl.Int64,
    "families": pl.Int64,
    "trials": pl.Int64,
    "one_class": pl.Float64,
    "rising": pl.Float64,
    "method": pl.String,
    "warnings": pl.String,
}


def time_horizon(
    table: Any,
    *,
    minutes: str = "human_minutes",
    targets: Sequence[float] = (0.5, 0.8),
    weights: str = "family",
    ridge: float = 1e-5,
    resample: Sequence[str] = LEVELS,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> pl.DataFrame:
    """Time horizon: the human time of tasks that a system passes with a given chance.

    Do not read it as the time the system takes, nor as a promise for any single task: tasks of
    the same length differ far more than the curve says.

    Args:
        table: Counts with the minutes kept (`by=`), or trials of any kind.
        minutes: Column with the time that a task takes people, in minutes, > 0, one per case.
        targets: Chances to pass, in (0, 1).
        weights: "family" (a case counts 1 / sqrt(cases in its cluster), so that large families
            do not rule) or "equal". Trials of a case share its weight.
        ridge: Penalty of the slope, >= 0, beside weights that sum to 1.
        resample: What the bootstrap draws again, one or more of "family" (clusters), "case",
            "trial".
        level: Nominal coverage, in (0, 1).
        resamples: Bootstrap resamples, >= 100.
        seed: Seed of the bootstrap; row order and engine never change a result.
        unscored: What a trial without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`; `cluster` is the family.

    Returns:
        One row per config and target: `minutes` with a percentile interval, the fit, and the
        share of resamples with one class only. Those stay in: a resample in which nothing passed
        has a horizon of 0, one in which nothing failed has infinity. `rising` is the share in
        which longer tasks pass more often; they count as 0 or infinity too, by whether the
        overall rate reaches the target. `minutes` is null when the data themselves rise. Where
        every trial passed (failed) `minutes` is infinite (0), and the interval one-sided: from the
        longest length that enough families reach (0) to infinity (the shortest such length).

    Raises:
        ColumnError: No column of minutes.
        TrialsError: Minutes that are unknown, not positive, not finite or all the same.
        ArgumentError: Nothing to draw again, and the like.

    Notes:
        logit P(pass) = a + b log2(minutes), weighted maximum likelihood; horizon of p is
        2^((logit p - a) / b). Trials drawn again add their noise a second time, so the interval
        errs on the wide side; resample=("family", "case") leaves them as they are.

    References:
        Kwa et al. (2025), "Measuring AI Ability to Complete Long Tasks", arXiv:2503.14499.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": [f"t{i}" for i in range(8)], "n": [4] * 8}
        >>> rows |= {"c": [4, 4, 3, 3, 2, 1, 0, 0], "human_minutes": [1, 2, 4, 8, 16, 32, 64, 128]}
        >>> found = tr.time_horizon(tr.counts(rows, by="human_minutes"))
        >>> found.select("target", pl.col("minutes").round(1)).rows()
        [(0.5, 13.5), (0.8, 6.1)]
    """
    level = _checks.between(level, "level", inclusive=False)
    resamples = _checks.integer(resamples, "resamples", low=100, high=1_000_000)
    seed = _checks.integer(seed, "seed", low=0)
    ridge = _checks.between(ridge, "ridge", high=1e6)
    _checks.one_of(weights, "weights", WEIGHTS)
    levels = tuple(
        _checks.one_of(w, "resample", LEVELS) for w in _checks.names(resample, "resample")
    )
    if not levels:
        raise ArgumentError(
            f"resample == {short(resample)}, must name at least one of {listed(LEVELS)}: with "
            "nothing drawn again there is no interval."
        )
    asked = _targets(targets)
    by = () if isinstance(table, Counts) else (minutes,)
    found = counted(table, columns, by=by, unscored=unscored, threshold=threshold)
    frame = _with_minutes(found, minutes)
    rows: list[dict[str, Any]] = []
    for name in found.configs:
        part = frame.filter(pl.col("config") == name)
        if part.is_empty():
            rows += [{"config": name, "target": t, "warnings": "no scored trial"} for t in asked]
            continue
        if part["_minutes"].n_unique() == 1:
            told = f"all its tasks take {part['_minutes'][0]:g} minutes, so no slope"
            rows += [{"config": name, "target": t, "warnings": told} for t in asked]
            continue
        made = _rows(part, asked, weights, ridge, levels, level, resamples, seed)
        rows += [{"config": name} | row for row in made]
    made_table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return made_table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _targets(targets: Any) -> list[float]:
    found = list(targets) if not isinstance(targets, int | float | str) else [targets]
    if not found:
        raise ArgumentError(f"targets == {short(targets)}, must be chances, as in (0.5, 0.8).")
    return [
        _checks.between(value, f"targets[{i}]", inclusive=False) for i, value in enumerate(found)
    ]


def _with_minutes(found: Counts, minutes: str) -> pl.DataFrame:
    """Scored rows with `minutes` and `family`, sorted by family and case."""
    if minutes not in found.by:
        raise ColumnError(
            f"minutes: these counts hold no column {minutes!r}; keep it with "
            f"tr.counts(..., by={minutes!r}). {did_you_mean(minutes, found.by)}"
        )
    frame = found.frame.filter(pl.col("n") > 0)
    if not frame.schema[minutes].is_numeric():
        raise ColumnError(f"minutes: column {minutes!r} is {frame.schema[minutes]}, not a number.")
    value = pl.col(minutes).cast(pl.Float64)
    good = (value > 0) & value.is_finite()
    bad = frame.filter(~good.fill_null(value=False))
    if bad.height:
        first = bad.select("case", minutes).row(0)
        raise TrialsError(
            f"{minutes!r} must be known, finite and > 0; {bad.height:,} rows are not. First: case "
            f"{first[0]!r} has {first[1]}. Leave these cases out, or correct their time."
        )
    if frame[minutes].n_unique() == 1:
        raise TrialsError(
            f"all tasks take {float(frame[minutes][0]):g} minutes ({minutes!r}), so there is no "
            "slope and no horizon. Give tasks of different lengths, or use tr.summary."
        )
    family = "cluster" if "cluster" in frame.columns else "case"
    return frame.with_columns(_minutes=value, _family=pl.col(family)).sort("_family", "case")


def _rows(
    part: pl.DataFrame,
    targets: list[float],
    weights: str,
    ridge: float,
    levels: tuple[str, ...],
    level: float,
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """The horizons of one config."""
    family = part["_family"].rank("dense").to_numpy().astype(np.int64) - 1
    n, c = (part[name].to_numpy() for name in ("n", "c"))
    times = part["_minutes"].to_numpy()
    x = np.log2(times)
    size = np.bincount(family)[family]
    own = part["weight"].to_numpy() if "weight" in part.columns else np.ones(len(n))
    weight = own / np.sqrt(size) if weights == "family" else own
    fit = logistic(x, (weight * c / n)[None], weight[None], ridge)
    rate = float(weight @ (c / n) / weight.sum())
    drawn = _drawn(x, family, n, c, weight, ridge, levels, targets, resamples, seed)
    shared: dict[str, Any] = {
        "level": level,
        "intercept": float(fit.intercept[0]) if np.isfinite(fit.intercept[0]) else None,
        "slope": None if fit.one_class[0] else float(fit.slope[0]),
        "shortest": float(times.min()),
        "longest": float(times.max()),
        "cases": len(n),
        "families": int(family[-1]) + 1,
        "trials": int(n.sum()),
        "one_class": drawn.one_class,
        "rising": drawn.rising,
        "method": f"logistic, bootstrap of {' > '.join(levels)}",
    }
    rising = bool(fit.slope[0] >= 0 and not fit.one_class[0])
    rows = []
    for log2, target in zip(drawn.log2, targets, strict=True):
        here = float(horizons(fit, target, np.array([rate]))[0])
        low, high = (_minutes(end) for end in _ends(log2, level))
        value = float("nan") if rising else _minutes(here)
        if fit.one_class[0]:
            passed = bool(fit.intercept[0] > 0)
            low, high = one_sided(times, family, target, level, passed=passed)
            told = [_one_class(low, high, target, level, passed=passed)]
            told += [*_few(shared["families"])]
        else:
            told = [*_cautions(value, times, rising=rising), *_few(shared["families"])]
        if not fit.converged[0]:
            told.append("the fit did not settle")
        row = {"target": target, "minutes": value, "low": low, "high": high}
        rows.append(shared | row | {"warnings": "; ".join(told) or None})
    return rows


def _drawn(
    x: Floats,
    family: Ints,
    n: Ints,
    c: Ints,
    weight: Floats,
    ridge: float,
    levels: tuple[str, ...],
    targets: list[float],
    resamples: int,
    seed: int,
) -> _Drawn:
    """Fit every resample, a batch at a time."""
    rng = np.random.default_rng(seed)
    batch = max(1, MOST_CELLS // len(n))
    found: list[list[Floats]] = [[] for _ in targets]
    one_class, rising = 0, 0
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        copies, rates = nested_resamples(family, n, c, size, rng, levels)
        passes, total = weight * rates, weight * copies
        fits = logistic(x, passes, total, ridge)
        overall = passes.sum(axis=1) / total.sum(axis=1)
        one_class += int(fits.one_class.sum())
        rising += int((~fits.one_class & (fits.slope >= 0)).sum())
        for j, target in enumerate(targets):
            found[j].append(horizons(fits, target, overall))
    return _Drawn(
        log2=[np.concatenate(each) for each in found],
        one_class=one_class / resamples,
        rising=rising / resamples,
    )


def _one_class(low: float, high: float, target: float, level: float, *, passed: bool) -> str:
    """What can be said when every trial ended alike."""
    what = "every trial passed" if passed else "every trial failed"
    if low == 0 and np.isinf(high):
        needed = families_needed(target, level, passed=passed)
        return f"{what}: a bound at {level:g} would need {needed} families"
    if passed:
        return f"{what}: at least {low:g} minutes, one-sided at {level:g}, and no upper bound"
    return f"{what}: at most {high:g} minutes, one-sided at {level:g}, and no lower bound"


def _few(families: int) -> Iterable[str]:
    if families < FEW_FAMILIES:
        yield f"only {families} families"


def _cautions(value: float, times: Floats, *, rising: bool) -> Iterable[str]:
    if rising:
        yield "longer tasks pass at least as often: there is no horizon"
    elif value > times.max():
        yield f"beyond the longest task of {times.max():g} minutes: extrapolated"
    elif value < times.min():
        yield f"below the shortest task of {times.min():g} minutes: extrapolated"


def _minutes(log2: float) -> float:
    """2^x, 0 and infinity at the ends."""
    if np.isnan(log2) or np.isinf(log2):
        return 0.0 if log2 < 0 else log2
    return float(2.0 ** min(log2, 1000.0))


def _ends(draws: Floats, level: float) -> tuple[float, float]:
    """Percentiles that are draws themselves: infinite ones keep their place."""
    low = np.quantile(draws, (1.0 - level) / 2.0, method="inverted_cdf")
    high = np.quantile(draws, (1.0 + level) / 2.0, method="inverted_cdf")
    return float(low), float(high)
