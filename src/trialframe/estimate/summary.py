"""Estimates per config: one row per config, group, metric and k."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed
from trialframe.estimate import intervals
from trialframe.estimate.cautions import cautions
from trialframe.estimate.metrics import SHORT, Cases, Request, cases_of, parsed
from trialframe.estimate.outcomes import outcome_rows
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]

MOST_DEFAULT_K = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    estimand: str
    method: str
    level: float
    short: Short
    clusters: bool
    resamples: int
    seed: int


def summary(
    counts: Counts,
    *,
    metrics: str | Sequence[str] | None = None,
    k: int | Sequence[int] | None = None,
    by: str | Sequence[str] = (),
    estimand: str = "cases",
    method: str = "default",
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    stopping: str = "fixed",
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Estimate every metric of every config, with an interval and what it rests on.

    Do not compare two configs by whether their intervals overlap: they share cases, and a
    paired comparison is sharper.

    Args:
        counts: What `tr.counts` made.
        metrics: Names such as "pass@1", "pass^5", "g_pass@5_0.8", "flaky", "cost_uusd_per_pass";
            "pass@k" stands for every k, "outcomes" for the shares of pass, failure and
            unscored classes. None: all that these counts allow, without outcome shares.
        k: Trials drawn, >= 1, for names that end in k. None: 1 up to the fewest trials of a
            case of the config (powers of two from 5 trials on).
        by: Columns kept in the counts; estimates are made within each of their values.
        estimand: "cases": tasks like these, the spread between cases counts. "suite": these
            very tasks, only trial noise counts.
        method: "default" (score interval for rates, t for the others, Satterthwaite degrees
            of freedom), "t", "score" (all metrics in [0, 1]; near 0 and 1 it covers
            better than t), "cr1", "bootstrap" (percentile), "bca", "bayes"
            (Bayes@N, pass@1 of the suite), "beta-binomial" (model-based pass@k and pass^k at
            any k, also beyond the trials there are).
        level: Nominal coverage of the intervals, in (0, 1).
        short: What a case with fewer than k trials does: "null" (dropped and reported),
            "clamp" (k = n), "min" (one smaller k for all), "rate" (c / n), "raise".
        units: "clusters" when the counts have them, or "cases".
        stopping: "fixed": outcomes did not decide how often a case was tried. "adaptive": they
            did. Then c / n is biased and no interval above holds; what holds is a confidence
            sequence of pass@1 with estimand="suite", wide and valid at any time.
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of the bootstrap; row order and engine never change a result.

    Returns:
        One row per config, group, metric and k: see `trialframe.schema.SUMMARY` for the
        columns. Rates are in [0, 1]. `bracket_low` and `bracket_high` are the metric with
        every unscored trial failed and passed: a range without sampling error;
        `identified_low` and `identified_high` add it (Imbens and Manski).

    Raises:
        ArgumentError: A metric, k, policy, method or level that does not exist.
        ColumnError: A `by` column that the counts do not hold.

    Notes:
        The value is sum(w_i u_i) / sum(w_i) over cases with a value u_i, w_i = 1 unless the
        counts hold a weight. Its standard error is cluster-robust (CR2) with
        Satterthwaite degrees of freedom; without clusters that is sd / sqrt(M) with M - 1. The
        suite estimand sums unbiased within-case variances instead. `pooled` divides all
        passes by all trials and takes every trial as independent (Wilson).

    References:
        Chen et al. 2021 (arXiv 2107.03374); Yao et al. 2024 (2406.12045); Miller 2024
        (2411.00640); Bell and McCaffrey 2002; Imbens and Manski 2004.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 4 + ["y"] * 4, "passed": [True, True, True, False] * 2}
        >>> table = tr.summary(tr.counts(rows), metrics=["pass@1", "pass^2"])
        >>> table.select("metric", "value", "cases", "trials").rows()
        [('pass@1', 0.75, 2, 8), ('pass^2', 0.5, 2, 8)]
    """
    settings = _Settings(
        estimand=_checks.one_of(estimand, "estimand", ("cases", "suite")),
        method=_checks.one_of(method, "method", intervals.METHODS),
        level=_checks.between(level, "level", inclusive=False),
        short=_checks.one_of(short, "short", SHORT),
        clusters=_checks.one_of(units, "units", ("clusters", "cases")) == "clusters",
        resamples=_checks.integer(resamples, "resamples", low=100, high=1_000_000),
        seed=_checks.integer(seed, "seed", low=0),
    )
    adaptive = _checks.one_of(stopping, "stopping", ("fixed", "adaptive")) == "adaptive"
    if adaptive:
        settings, metrics = _adaptive(settings, metrics)
    if not isinstance(counts, Counts):
        raise ArgumentError(
            f"counts is a {type(counts).__name__}, must be Counts: call tr.counts(...) first."
        )
    if counts.frame.is_empty():
        raise TrialsError("these counts have no rows, so there is nothing to estimate.")
    names = _checks.names(metrics, "metrics")
    if metrics is not None and not names:
        raise ArgumentError("metrics == [], must name at least one metric; None stands for all.")
    ks = _grid(k)
    groups = _checks.names(by, "by")
    for name in groups:
        if name in {c.name for c in SUMMARY}:
            raise ColumnError(f"by: the summary has a column {name!r} of its own; rename yours.")
        if name not in counts.by and name != "cluster":
            raise ColumnError(
                f"by: these counts hold no column {name!r}; keep it with "
                f"tr.counts(..., by={name!r}). {did_you_mean(name, counts.by)}"
            )
    rows: list[dict[str, Any]] = []
    for key, frame in _parts(counts.frame, ("config", *groups)):
        cases = cases_of(frame, clusters=settings.clusters)
        head = dict(zip(("config", *groups), key, strict=True))
        asked = _requests(names, ks, cases, settings)
        rows += [head | row for row in _rows(cases, asked, settings)]
        if "outcomes" in names:
            rows += [head | row for row in outcome_rows(counts, frame, settings.level)]
    return _table(rows, counts, groups)


def _adaptive(settings: _Settings, metrics: Any) -> tuple[_Settings, Any]:
    """Settings of the only estimate that holds when outcomes decided about trials."""
    asked = ("pass@1",) if metrics is None else _checks.names(metrics, "metrics")
    odd = [name for name in asked if name not in {"pass@1", "pass^1"}]
    if settings.estimand != "suite" or settings.method != "default" or odd:
        raise ArgumentError(
            "stopping='adaptive': where outcomes decided how often a case was tried, only pass@1 "
            "with estimand='suite' and method='default' has an interval that holds. For cases like "
            "these use tr.confidence_sequence or tr.sequential on the first trial of every case."
        )
    return replace(settings, method=intervals.SEQUENCE), asked


def _grid(k: object) -> tuple[int, ...] | None:
    if k is None:
        return None
    values = [k] if not isinstance(k, list | tuple | range | np.ndarray | pl.Series) else list(k)
    if not values:
        raise ArgumentError("k == [], must be at least one integer >= 1.")
    return tuple(dict.fromkeys(_checks.integer(value, "k", low=1) for value in values))


def _parts(
    frame: pl.DataFrame, keys: tuple[str, ...]
) -> Iterable[tuple[tuple[Any, ...], pl.DataFrame]]:
    parts = frame.partition_by(keys, as_dict=True, include_key=True)
    return sorted(parts.items(), key=lambda item: [(v is None, str(v)) for v in item[0]])


def _requests(
    names: tuple[str, ...], ks: tuple[int, ...] | None, cases: Cases, settings: _Settings
) -> list[Request]:
    grid = ks or default_ks(cases)
    wanted = [name for name in names if name != "outcomes"] if names else _default(cases)
    asked = [request for name in wanted for request in parsed(name, grid)]
    able = [r for r in asked if intervals.defined(settings.method, settings.estimand, r)]
    if (names and len(able) < len(asked)) or (asked and not able):
        lost = [r.name for r in asked if r not in able]
        raise ArgumentError(
            f"method={settings.method!r} with estimand={settings.estimand!r} is not defined for "
            f"{listed(lost)}. {intervals.HINT}"
        )
    return list({request.name: request for request in able}.values())


def default_ks(cases: Cases) -> tuple[int, ...]:
    """1 up to the fewest trials of a case; powers of two and the end from 5 on."""
    least = int(np.min(cases.n, where=cases.n > 0, initial=np.iinfo(np.int64).max))
    if least == np.iinfo(np.int64).max:
        return (1,)
    if least <= MOST_DEFAULT_K:
        return tuple(range(1, least + 1))
    powers = [2**i for i in range(least.bit_length())]
    return tuple(sorted({*powers, least}))


def _default(cases: Cases) -> list[str]:
    names = ["pass@k", "pass^k", "pooled", "flaky", "flake_index", "saturated"]
    if cases.secure is not None:
        names += ["reliability@k", "secure_reliability@k", "secure_pass^k"]
    for measure, (known, total, _) in cases.measures.items():
        if measure == "score" and np.array_equal(known, cases.n) and np.array_equal(total, cases.c):
            continue  # the verdict again, as a number
        names.append(measure)
        if measure not in {"score", "tests_share"}:
            names.append(f"{measure}_per_pass")
    return [*names, "min_trials", "max_trials"]


def _rows(cases: Cases, asked: list[Request], settings: _Settings) -> list[dict[str, Any]]:
    if not asked:
        return []
    values = np.column_stack([r.metric.values(cases, r, settings.short) for r in asked])
    made = intervals.estimates(
        cases,
        asked,
        values,
        estimand=settings.estimand,
        method=settings.method,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    failing, passing = _sides(cases, asked)
    columns = asdict(made)
    columns |= intervals.brackets(cases, asked, failing, passing, made, settings.level)
    columns["bracket_cases"] = (~np.isnan(failing)).sum(axis=0)
    used = ~np.isnan(values)
    if settings.method == "beta-binomial":  # the fit uses every case, also those with n < k
        used = np.repeat((cases.n > 0)[:, None], len(asked), axis=1)
    columns["cases"], columns["trials"] = used.sum(axis=0), cases.n @ used
    without = int(cases.unscored.sum() + cases.failed.sum())
    known = int(cases.n.sum() - cases.failed.sum())
    rows = []
    for j, request in enumerate(asked):
        row = {name: _plain(column[j]) for name, column in columns.items()} | {
            "metric": request.name,
            "k": request.k,
            "unit": request.metric.unit,
            "level": settings.level,
            "dropped": int(len(cases) - used[:, j].sum()),
            "unscored": without,
            "coverage": known / (known + without) if known + without else None,
        }
        if not request.metric.bracketed:
            row["bracket_cases"] = None
        row["warnings"] = "; ".join(cautions(cases, request, row))
        rows.append(row)
    return rows


def _plain(value: Any) -> Any:
    """A Python value; NaN is null from here on."""
    if isinstance(value, str):
        return value
    return None if np.isnan(value) else value.item()


def _sides(cases: Cases, asked: list[Request]) -> tuple[Floats, Floats]:
    """Case values with every unscored trial failed, and passed; NaN where not bracketed."""
    without = cases.unscored + cases.failed
    failing = replace(cases, n=cases.n + cases.unscored)
    passing = replace(failing, c=cases.c + without)

    def values(side: Cases) -> Floats:
        undefined = np.full(len(cases), np.nan)
        return np.column_stack(
            [r.metric.values(side, r, "null") if r.metric.bracketed else undefined for r in asked]
        )

    low = values(failing)
    return low, values(passing) if without.any() else low


def _table(rows: list[dict[str, Any]], counts: Counts, groups: tuple[str, ...]) -> pl.DataFrame:
    kept = {name: counts.frame.schema[name] for name in groups}
    config, *others = SUMMARY
    schema = {config.name: config.dtype} | kept | {c.name: c.dtype for c in others}
    return pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
