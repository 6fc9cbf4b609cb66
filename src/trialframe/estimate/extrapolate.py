"""pass@k and pass^k beyond the trials there are, from a fitted beta-binomial."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.counts import Counts
from trialframe.errors import ArgumentError
from trialframe.estimate.metrics import Cases, cases_of
from trialframe.kernels import betabinomial, extrapolation
from trialframe.kernels.histogram import resampled_counts
from trialframe.kernels.resample import quantile_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

USABLE = ("ok", "underdispersed")
"""Fits that say something about other k; the others sit on the edge of the model."""

COLUMNS = {
    "config": pl.String,
    "a": pl.Float64,
    "b": pl.Float64,
    "mean": pl.Float64,
    "rho": pl.Float64,
    "loglik": pl.Float64,
    "score": pl.Float64,
    "status": pl.String,
    "cases": pl.Int64,
    "zero_share": pl.Float64,
    "zero_loglik": pl.Float64,
}


def beta_binomial(counts: Counts) -> pl.DataFrame:
    """Fit a beta-binomial to the passes of each config: how case pass rates are spread.

    The basis of `tr.summary(..., method="beta-binomial")`. A higher `zero_loglik` than
    `loglik` (by more than about 2) speaks for cases that no number of trials solves; the plain
    model then lets pass@k rise to 1 too fast.

    Args:
        counts: Counts with two or more trials in some cases.

    Returns:
        One row per config: `a, b` of the Beta distribution of pass rates (inf when
        underdispersed: one common rate), `mean`, `rho` = 1 / (a + b + 1) (correlation of two
        trials of a case), `loglik` with binomial coefficients, `score` (its derivative in
        1 / (a + b) at 0; <= 0 means underdispersed), `status`, `cases`, and the
        zero-inflated variant's `zero_share` and `zero_loglik`. Unknown is null.

    Raises:
        ArgumentError: Not counts.

    References:
        Kazdan et al. 2025 (arXiv 2510.05197).

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> table = pl.DataFrame({"case": list("abcdef"), "n": 10, "c": [0, 1, 3, 5, 9, 10]})
        >>> fit = tr.beta_binomial(tr.Counts(table))
        >>> fit.select("status", pl.col("mean", "rho").round(2)).rows()
        [('ok', 0.48, 0.51)]
    """
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    rows = []
    for config in counts.configs:
        cases = cases_of(counts.frame.filter(pl.col("config") == config), clusters=False)
        fit = betabinomial.beta_binomial_fit(cases.n, cases.c)
        cells = betabinomial.distinct_cells(cases.n, cases.c)
        zero = extrapolation.zero_inflated_fit(cells, fit)
        values = asdict(fit) | {"zero_share": zero.share, "zero_loglik": zero.loglik}
        known = {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in values.items()}
        rows.append({"config": config} | known)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def extrapolated(
    cases: Cases,
    ks: NDArray[np.int64],
    hats: NDArray[np.bool_],
    *,
    suite: bool,
    level: float,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Model-based pass@k, or pass^k where `hats`, for K values of k at once.

    Args:
        cases: Counts of M cases.
        ks: Trials drawn, shape (K,).
        hats: Whether each is pass^k, shape (K,).
        suite: These very cases (posterior predictive, no interval) or cases like these.
        level: Nominal coverage of the bootstrap interval.
        resamples: Resamples of cases, or of whole clusters.
        seed: Seed of the resampling.

    Returns:
        `value, se, low, high`, each shape (K,), and `status` of the fit.
    """
    if np.ptp(cases.weight) > 0:
        raise ArgumentError("method='beta-binomial' knows no case weights: leave them out.")
    fit = betabinomial.beta_binomial_fit(cases.n, cases.c)
    cells = betabinomial.distinct_cells(cases.n, cases.c)
    nothing = np.full(len(ks), np.nan)
    out: dict[str, Any] = dict.fromkeys(("value", "se", "low", "high"), nothing)
    out["status"] = fit.status
    if fit.status not in USABLE:
        return out
    if suite:
        at = extrapolation.suite_pass_at(fit, cells, ks)
        hat = extrapolation.suite_pass_hat(fit, cells, ks)
        return out | {"value": np.where(hats, hat, at)}
    value = _population(fit.a, fit.b, fit.mean, ks, hats)
    seen = cases.n > 0
    if (seen.sum() if cases.cluster is None else len(np.unique(cases.cluster[seen]))) <= 1:
        return out | {"value": value}
    weights = _weights(cases, cells, resamples, np.random.default_rng(seed))
    refit = betabinomial.beta_binomial_refit(cells, weights, fit)
    draws = _population(refit.a[:, None], refit.b[:, None], refit.mean[:, None], ks, hats)
    draws = np.sort(draws[~np.isnan(draws).any(axis=1)], axis=0)
    rank = quantile_rank((1.0 - level) / 2.0, len(draws))
    return out | {
        "value": value,
        "se": draws.std(axis=0, ddof=1),
        "low": draws[rank - 1],
        "high": draws[-rank],
    }


def _population(a: Any, b: Any, mean: Any, ks: NDArray[np.int64], hats: Any) -> Floats:
    at = extrapolation.beta_binomial_pass_at(a, b, ks, mean)
    hat = extrapolation.beta_binomial_pass_hat(a, b, ks, mean)
    return np.where(hats, hat, at)


def _weights(
    cases: Cases, cells: betabinomial.Cells, resamples: int, rng: np.random.Generator
) -> Floats:
    """How often each distinct (n, c) occurs in each resample, shape (B, H)."""
    if cases.cluster is None:
        return resampled_counts(cells.multiplicity, resamples, rng).astype(np.float64)
    used = cases.n > 0
    codes = np.unique(cases.cluster[used], return_inverse=True)[1]
    base = int(cells.n.max()) + 1
    cell = np.searchsorted(cells.n * base + cells.c, cases.n[used] * base + cases.c[used])
    members = np.zeros((int(codes.max()) + 1, len(cells.n)))
    np.add.at(members, (codes, cell), 1.0)
    members = members[np.lexsort(members.T)]  # names of clusters must not matter
    return resampled_counts(np.ones(len(members), dtype=np.int64), resamples, rng) @ members
