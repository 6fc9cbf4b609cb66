"""A judge's pass rate per case, and how uncertain its mean is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.counts import Counts
from trialframe.errors import ArgumentError, CountsError, listed
from trialframe.judge._labelled import CLUSTER, labelled, one_cluster_per_case
from trialframe.kernels.intervals import Interval, score_t, wilson
from trialframe.kernels.means import clustered_mean
from trialframe.schema import ONE_CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FEW_UNITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judge's verdicts on one config.

    Attributes:
        config: Its name, if it has one.
        rate: Mean pass rate over cases.
        cases: Judged cases.
        trials: Judged trials.
        units: Independent units.
        se: CR2 standard error; NaN where rows are independent or nothing can be said.
        df: Its degrees of freedom.
        plain: One trial a case, no clusters, equal weights: a binomial share.
        names: Case of each row of `rates`, with cluster names if there are clusters.
        rates: Pass rate per case.
        weights: Weights per case.
        warnings: What weakens the rate.
    """

    config: str | None
    rate: float
    cases: int
    trials: int
    units: int
    se: float = float("nan")
    df: float = float("nan")
    plain: bool = True
    names: pl.DataFrame = field(default_factory=pl.DataFrame)
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    warnings: tuple[str, ...] = ()

    @classmethod
    def headline(cls, rate: float, cases: int, config: str | None) -> Judged:
        """A rate of which only the number of cases is known."""
        return cls(config=config, rate=rate, cases=cases, trials=cases, units=cases)

    def interval(self, level: float) -> Interval:
        """The judge's own rate with its interval."""
        if self.plain:
            return wilson(self.rate * self.cases, self.cases, level)
        return score_t(self.rate, self.se, self.df, self.trials, self.units, level)

    def variance_at(self, level: float) -> float:
        """Variance of the rate, with what few units add to the quantile; NaN for binomial."""
        if self.plain:
            return float("nan")
        from scipy.special import ndtri, stdtrit

        tail = (1.0 + level) / 2.0
        if not self.se > 0:
            share = (self.rate * self.units + 1.0) / (self.units + 2.0)
            return share * (1.0 - share) / (self.units + 2.0)
        return float(self.se**2 * (stdtrit(self.df, tail) / ndtri(tail)) ** 2)


def judged_of(counts: Counts, config: str) -> Judged:
    """The judge's verdicts of one config of some counts.

    Raises:
        CountsError: No judged trial.
    """
    frame = counts.frame.filter((pl.col("config") == config) & (pl.col("n") > 0)).sort("case")
    if frame.is_empty():
        raise CountsError(f"config {config!r} has no judged trial.")
    n = frame["n"].to_numpy()
    weights = np.ones(len(n))
    if "weight" in frame.columns:
        weights = frame["weight"].to_numpy().astype(np.float64)
    clustered = "cluster" in frame.columns
    rates = frame["c"].to_numpy() / n
    names = frame.select("case", *(["cluster"] if clustered else []))
    codes = None
    if clustered:
        codes = frame["cluster"].rank("dense").cast(pl.Int64).to_numpy()
    found = clustered_mean(rates[:, None], weights, codes)
    units = int(found.units[0])
    plain = bool(not clustered and (n == 1).all() and (weights == weights[0]).all())
    return Judged(
        config=config,
        rate=float(found.mean[0]),
        cases=int(found.cases[0]),
        trials=int(n.sum()),
        units=units,
        se=float(found.se[0]),
        df=float(found.df[0]),
        plain=plain,
        names=names,
        rates=rates,
        weights=weights,
        warnings=tuple(_warnings(frame, units if not plain else FEW_UNITS)),
    )


def _warnings(frame: pl.DataFrame, units: int) -> list[str]:
    made = [] if units >= FEW_UNITS else [f"few independent units: {units}"]
    failed = int(frame["unscored_failed"].sum()) if "unscored_failed" in frame.columns else 0
    if failed:
        made.append(f"{failed:,} trials without a verdict count as fails of the judge")
    if missing := int(frame["unscored"].sum()):
        made.append(f"{missing:,} trials without a verdict left out")
    return made


def joint_codes(sides: list[Judged]) -> list[Ints]:
    """Codes of clusters, or of cases, that mean the same on every side."""
    unit = "cluster" if "cluster" in sides[0].names.columns else "case"
    every = pl.concat([side.names[unit].cast(pl.String) for side in sides])
    codes = every.rank("dense").cast(pl.Int64).to_numpy()
    ends = np.cumsum([len(side.names) for side in sides])
    return list(np.split(codes, ends[:-1]))


def counts_of_verdicts(
    frame: Any, given: Mapping[str, Any], verdicts: Mapping[Any, bool | None] | None = None
) -> tuple[Counts, tuple[str, ...]]:
    """Counts of a judge's verdicts, whatever words they are in, and what was left out.

    Args:
        frame: Any table of verdicts; its labels, if any, do not matter.
        given: judge, case, config, cluster as the caller named them.
        verdicts: What texts mean.

    Raises:
        ArgumentError: Several judges.
        CountsError: No verdict.
    """
    found = labelled(frame, given, verdicts, wants="verdicts")
    if len(found.columns.judge) != 1:
        raise ArgumentError(f"judge == {listed(found.columns.judge)}: one judge at a time.")
    cells = found.cells.filter(pl.col("judged") > 0)
    if cells.is_empty():
        raise CountsError("no row has a verdict that is pass or fail.")
    one_cluster_per_case(cells, ["config"])
    groups = ["config", "case", *([CLUSTER] if CLUSTER in cells.columns else [])]
    table = (
        cells.with_columns(pl.col("config").fill_null(ONE_CONFIG))
        .group_by(groups)
        .agg(n=pl.col("judged").sum(), c=pl.col("judged_pass").sum())
        .rename({CLUSTER: "cluster"}, strict=False)
        .with_columns(pl.col("^(case|cluster)$").cast(pl.String))
    )
    notes = list(found.notes)
    if found.unmapped.height:
        texts = listed(found.unmapped["text"].unique().sort())
        rows = found.unmapped["rows"].sum()
        notes.append(f"{rows:,} judged rows left out: no meaning for {texts}")
    return Counts(table), tuple(notes)
