"""Counts per case as numbers per judge: agreement, error rates, their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.judge._labelled import CELLS, CLUSTER
from trialframe.kernels import kappa as kernels
from trialframe.kernels.intervals import score_t, t_interval, wilson
from trialframe.kernels.judge import effective_size
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables (tp, fp, fn, tn) of cases.

    Attributes:
        cases: Counts per case, shape (M, 4), only cases that have any.
        cluster: Cluster codes, shape (M,), or None.
        plain: Whether every case has one row and there are no clusters, so that rows are
            independent.
    """

    cases: Ints
    cluster: Ints | None

    @property
    def plain(self) -> bool:
        """Whether rows are independent: one a case, no clusters."""
        return self.cluster is None and bool((self.cases.sum(axis=1) == 1).all())

    @property
    def units(self) -> Ints:
        """Counts per independent unit, shape (U, 4)."""
        if self.cluster is None:
            return self.cases
        sums = [np.bincount(self.cluster, column) for column in self.cases.T]
        return np.column_stack(sums).astype(np.int64)

    @classmethod
    def of(cls, cells: pl.DataFrame) -> Tables:
        """The tables of cells that are sorted by case."""
        kept = cells.filter(pl.sum_horizontal(CELLS) > 0)
        cluster = None
        if CLUSTER in cells.columns:
            cluster = kept[CLUSTER].rank("dense").cast(pl.Int64).to_numpy() - 1
        return cls(cases=kept.select(CELLS).to_numpy(), cluster=cluster)


def measured(tables: Tables, resamples: int, seed: int, level: float) -> dict[str, Any]:
    """The numbers of one judge, NaN where undefined."""
    pooled, units = tables.cases.sum(axis=0), tables.units
    n, plain = int(pooled.sum()), tables.plain
    found = kernels.agreement(pooled)
    tp, fp, fn, tn = (int(count) for count in pooled)
    se = float(found.se) if plain else kernels.clustered_se(units)
    analytic = t_interval(found.kappa, se, np.inf if plain else len(units) - 1.0, level)
    rng = np.random.default_rng(seed)
    boot = kernels.bootstrap_kappa(units, resamples, rng, level) if n else None
    return {
        "n": n,
        "cases": len(tables.cases),
        "clusters": len(units),
        **dict(zip(CELLS, (tp, fp, fn, tn), strict=True)),
        "agreement": found.observed,
        "chance": found.chance,
        "kappa": found.kappa,
        "kappa_low": boot.low if boot else np.nan,
        "kappa_high": boot.high if boot else np.nan,
        "undefined_resamples": boot.undefined if boot else 0,
        "kappa_se": se,
        "kappa_analytic_low": analytic.low,
        "kappa_analytic_high": analytic.high,
        "kappa_analytic": "fleiss-cohen-everitt" if plain else "linearised",
        **_error_rate(tables, "sensitivity", 0, 2, level),
        **_error_rate(tables, "specificity", 3, 1, level),
        "rate_interval": "wilson" if plain else "score-t",
        "m1": tp + fn,
        "m0": fp + tn,
        "youden": (tp / (tp + fn) if tp + fn else np.nan)
        + (tn / (tn + fp) if tn + fp else np.nan)
        - 1.0,
        "prevalence": (tp + fn) / n if n else np.nan,
        "judge_rate": (tp + fp) / n if n else np.nan,
        "positive_agreement": found.positive,
        "negative_agreement": found.negative,
    }


def _error_rate(tables: Tables, name: str, hit: int, miss: int, level: float) -> dict[str, Any]:
    """Share of hits with its interval, and how many independent rows would say as much."""
    hits = tables.cases[:, hit]
    rows = hits + tables.cases[:, miss]
    total = int(rows.sum())
    size = "m1_effective" if name == "sensitivity" else "m0_effective"
    if not total:
        nothing = dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
        return {**nothing, size: 0.0}
    rate = float(hits.sum() / total)
    if tables.plain:
        bounds, effective = wilson(hits.sum(), total, level), float(total)
    else:
        found = clustered_mean(
            (hits / np.maximum(rows, 1))[:, None], rows.astype(np.float64), tables.cluster
        )
        se, units = found.se[0], found.units[0]
        bounds = score_t(rate, se, found.df[0], total, units, level)
        effective = float(effective_size(rate, se, total, units))
    return {name: rate, f"{name}_low": bounds.low, f"{name}_high": bounds.high, size: effective}
