"""A weighted index over suites, with what the suites share kept in its standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, ColumnError, did_you_mean, listed
from trialframe.estimate.metrics import SHORT, Cases, Request, cases_of, parsed
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.means import clustered_mean
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from trialframe.kernels.draws import Short


def index(
    counts: Counts,
    *,
    suite: str,
    weights: Mapping[str, float] | None = None,
    metric: str = "pass@1",
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
) -> pl.DataFrame:
    """One number per config over several suites: a weighted mean of the suites' means.

    Adding the suites' variances would treat them as independent; here cases of one cluster
    count together also when they lie in different suites.

    Args:
        counts: Counts with a column that names the suite of each case (`by` in `tr.counts`).
        suite: That column.
        weights: Suite -> weight >= 0, scaled to add up to 1; None for equal weights.
        metric: A metric with one value per case, such as "pass@1", "pass^5" or "score".
        level: Nominal coverage, in (0, 1).
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the counts have them, or "cases".

    Returns:
        One row per config with the columns of `tr.summary`. A config without a value in some
        suite with positive weight gets null and says which suite is missing.

    Raises:
        ColumnError: The counts do not hold the suite column.
        ArgumentError: Weights that name unknown suites, are negative or all zero.

    Notes:
        value = sum_s omega_s m_s with m_s the mean of suite s. The contributions
        omega_s w_i (u_i - m_s) / W_s are added within a cluster before squaring (CR2,
        Satterthwaite degrees of freedom).

    References:
        Bell and McCaffrey 2002; Miller 2024 (arXiv 2411.00640).

    Examples:
        >>> import trialframe as tr
        >>> rows = {"suite": ["a", "a", "b", "b"], "case": ["1", "2", "3", "4"]}
        >>> rows["passed"] = [True, False, True, True]
        >>> made = tr.counts(rows, by="suite")
        >>> tr.index(made, suite="suite", weights={"a": 3, "b": 1})["value"].to_list()
        [0.625]
    """
    _checks.one_of(units, "units", ("clusters", "cases"))
    _checks.one_of(short, "short", SHORT)
    level = _checks.between(level, "level", inclusive=False)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if suite not in counts.by and not (suite == "cluster" and suite in counts.frame.columns):
        raise ColumnError(
            f"these counts hold no column {suite!r}; keep it with tr.counts(..., by={suite!r}). "
            f"{did_you_mean(suite, counts.by)}"
        )
    request = parsed(metric, ())[0]
    if request.shape in {"pooled", "fact"}:
        raise ArgumentError(f"metric == {metric!r} has no value per case, so it has no index.")
    names = counts.frame[suite].cast(pl.String).fill_null("null")
    omega = _omega(names.unique().sort().to_list(), weights)
    rows = []
    for config in counts.configs:
        frame = counts.frame.filter(pl.col("config") == config)
        cases = cases_of(frame, clusters=units == "clusters")
        suites = frame[suite].cast(pl.String).fill_null("null")
        rows.append({"config": config} | _row(cases, suites, omega, request, short, level))
    return pl.DataFrame(rows, schema={c.name: c.dtype for c in SUMMARY}, orient="row")


def _omega(suites: list[str], weights: Mapping[str, float] | None) -> dict[str, float]:
    given = dict.fromkeys(suites, 1.0) if weights is None else dict(weights)
    for name, weight in given.items():
        if name not in suites:
            raise ArgumentError(f"weights: no suite {name!r}. {did_you_mean(str(name), suites)}")
        _checks.between(weight, f"weights[{name!r}]", high=1e300)
    total = sum(given.values())
    if total <= 0:
        raise ArgumentError("weights are all 0: at least one suite must count.")
    return {name: weight / total for name, weight in given.items() if weight > 0}


def _row(
    cases: Cases,
    suites: pl.Series,
    omega: Mapping[str, float],
    request: Request,
    short: Short,
    level: float,
) -> dict[str, Any]:
    values = request.metric.values(cases, request, short)
    names = sorted(omega)
    stratum = np.array([names.index(s) if s in omega else -1 for s in suites.to_list()])
    used = ~np.isnan(values) & (stratum >= 0)
    mass = np.bincount(stratum[used], cases.weight[used], minlength=len(names))
    without = int((cases.unscored + cases.failed).sum())
    known = int((cases.n - cases.failed).sum())
    row: dict[str, Any] = {
        "metric": f"index[{request.name}]",
        "k": request.k,
        "unit": request.metric.unit,
        "level": level,
        "estimand": "cases",
        "method": "t-cr2",
        "cases": int(used.sum()),
        "trials": int(cases.n[used].sum()),
        "dropped": int((stratum >= 0).sum() - used.sum()),
        "unscored": without,
        "coverage": known / (known + without) if known + without else None,
    }
    if (mass <= 0).any():
        missing = [name for name, weight in zip(names, mass, strict=True) if weight <= 0]
        return row | {"warnings": f"no value in suite {listed(missing)}"}
    share = np.array([omega[name] for name in names]) / mass
    weight = np.where(used, cases.weight * share[np.maximum(stratum, 0)], 0.0)
    return row | _estimate(values, weight, cases.cluster, stratum, request, level)


def _estimate(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    cluster: NDArray[np.int64] | None,
    stratum: NDArray[np.int64],
    request: Request,
    level: float,
) -> dict[str, Any]:
    fit = clustered_mean(values[:, None], weight, cluster, stratum)
    bounds = {"real": None, "amount": (0.0, np.inf)}.get(request.shape, (0.0, 1.0))
    interval = t_interval(fit.mean, fit.se, fit.df, level, bounds=bounds)
    numbers = {
        "value": fit.mean,
        "se": fit.se,
        "low": interval.low,
        "high": interval.high,
        "df": fit.df,
        "largest_share": fit.largest_share,
    }
    plain = {k: None if np.isnan(v[0]) else float(v[0]) for k, v in numbers.items()}
    unseen = float(fit.unseen_share[0])
    warning = f"{unseen:.0%} of the variance is in suites with one cluster" if unseen > 0 else ""
    return plain | {"clusters": int(fit.units[0]), "warnings": warning}
