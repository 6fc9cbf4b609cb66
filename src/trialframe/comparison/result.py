"""The answer of a comparison: its numbers, and what can be asked of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.comparison import difference, subsets
from trialframe.comparison.pairs import Difference, per_case
from trialframe.errors import ArgumentError
from trialframe.kernels.means import clustered_mean
from trialframe.results import Result

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Theme
    from trialframe.comparison.difference import Interval, Ratio, Settings
    from trialframe.comparison.evidence import Evidence
    from trialframe.comparison.margins import Equivalence, NonInferiority


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority(Result):
    """Shared cases by majority outcome (pass when c > n/2).

    Attributes:
        only_baseline: Cases that only the baseline passes (b).
        only_candidate: Cases that only the candidate passes (c).
        pvalue: Exact McNemar test, two-sided.
        mid_p: Its mid-p version.
        p_better: Posterior probability that the candidate wins more cases than it loses, under
            a uniform Dirichlet prior.
        mde_best: Smallest difference found with 80 % power when no case gets worse; None when
            there is none.
        mde: The same at the observed share of discordant cases.
        ignores_clusters: Whether cases were taken as independent though they have clusters.
        ignores_weights: Whether cases counted alike though they have different weights.
    """

    only_baseline: int
    only_candidate: int
    pvalue: float
    mid_p: float
    p_better: float
    mde_best: float | None
    mde: float | None
    ignores_clusters: bool
    ignores_weights: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """Candidate minus baseline over the cases that both have.

    Numbers are None where the data do not define them, and all of them when the sides are not
    comparable.

    Attributes:
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        verdict: "better", "worse" or "inconclusive": interval and test must both say so; "not
            comparable" when columns that should agree do not.
        status: "resolved", or what stands in the way: "untestable: ...", "unresolved: needs
            about N more cases".
        claim: One sentence that the numbers support.
        warnings: What weakens the statement.
        settings: What was asked for.
        metric: What is compared, on rates or values, not on majority outcomes.
        diff: Mean difference over shared cases, weighted if they have weights.
        se: Its cluster-robust standard error; None with fewer than two units.
        low: Lower end of the interval.
        high: Upper end of the interval.
        level: Nominal coverage; the test is at 1 - level.
        method: How the interval was made: "tango" (one trial a side, no clusters) or "t-cr2"
            unless another was asked for.
        df: Degrees of freedom of the t interval.
        ratio: Candidate over baseline with an interval; None unless both are > 0.
        pvalue: Two-sided; where trial counts differ the larger of sign flip and permutation.
        permutation: P-value of the permutation within cases, where trial counts differ.
        test: How the p-value was computed.
        exact: Whether the test is exact.
        baseline_value: The baseline's mean on the shared cases.
        candidate_value: The candidate's mean on the shared cases.
        cases: Shared cases with a value on both sides.
        only_baseline: Cases that the candidate lacks.
        only_candidate: Cases that the baseline lacks.
        undefined: Shared cases without a value on some side.
        units: Independent units: clusters or cases.
        changed: Units whose sum of differences is not 0.
        wins: Cases where the candidate is higher.
        losses: Cases where it is lower.
        ties: Cases where both are alike.
        largest_unit: The case or cluster that moves the difference most.
        largest_unit_share: Its share of the difference; above 1 when others pull back.
        bootstrap: Percentile bootstrap of whole units, 10,000 resamples by default.
        tango: Tango's interval on majority outcomes.
        wald_plus2: Wald interval with half a case added to each cell, on majority outcomes.
        majority: Tests on majority outcomes.
        bracket_low: Difference with the candidate's unscored trials failed, the baseline's passed.
        bracket_high: The other way round.
        identified_low: Lower end of the interval over that bracket (Imbens and Manski).
        identified_high: Its upper end.
        non_inferiority: The non-inferiority claim when a margin was given.
        equivalence: The equivalence claim when a margin was given.
        evidence: What the trials tell, when they were given.
        only_failures: Whether the candidate ran only on cases that the baseline failed; then
            nothing can be said for it (regression to the mean).
        moved: Columns that should agree and do not.
        groups: One row per group when `by` was given.
        pairs: One row per shared case: `case`, `cluster`, `weight`, columns to group by, and `n_`,
            `c_`, `value_` of `baseline` and `candidate`, and `diff`.
    """

    baseline: str
    candidate: str
    verdict: str
    status: str
    claim: str
    warnings: tuple[str, ...]
    settings: Settings
    metric: str
    level: float
    diff: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    df: float | None = None
    ratio: Ratio | None = None
    pvalue: float | None = None
    permutation: float | None = None
    test: str | None = None
    exact: bool = False
    baseline_value: float | None = None
    candidate_value: float | None = None
    cases: int = 0
    only_baseline: int = 0
    only_candidate: int = 0
    undefined: int = 0
    units: int = 0
    changed: int = 0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    largest_unit: str | None = None
    largest_unit_share: float | None = None
    bootstrap: Interval | None = None
    tango: Interval | None = None
    wald_plus2: Interval | None = None
    majority: Majority | None = None
    bracket_low: float | None = None
    bracket_high: float | None = None
    identified_low: float | None = None
    identified_high: float | None = None
    non_inferiority: NonInferiority | None = None
    equivalence: Equivalence | None = None
    evidence: Evidence | None = None
    only_failures: bool = False
    moved: tuple[str, ...] = ()
    groups: pl.DataFrame | None = field(default=None, compare=False)
    pairs: pl.DataFrame = field(
        default_factory=pl.DataFrame, compare=False, metadata={"export": False}
    )

    def __repr__(self) -> str:
        """The claim and what weakens it."""
        return "\n".join([f"Comparison: {self.claim}", *(f"- {text}" for text in self.warnings)])

    @property
    def mcnemar(self) -> float | None:
        """P-value of the exact McNemar test on majority outcomes."""
        return None if self.majority is None else self.majority.pvalue

    @property
    def p_better(self) -> float | None:
        """Posterior probability that the candidate wins more cases than it loses."""
        return None if self.majority is None else self.majority.p_better

    @property
    def mde(self) -> float | None:
        """Smallest difference found with 80 % power at the observed discordance."""
        return None if self.majority is None else self.majority.mde

    def interval(self, level: float | None = None, method: str = "default") -> Interval:
        """The interval of the difference at another level or by another method.

        Args:
            level: Nominal coverage in (0, 1); None for that of the comparison.
            method: "default", "t", "score", "tango", "wald+2", "bootstrap", "bca" or
                "studentised".

        Raises:
            ArgumentError: An unknown method, or one that these pairs do not allow.

        Examples:
            >>> import trialframe as tr
            >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, seed=3)
            >>> found = tr.compare(tr.counts(trials), "base", "new")
            >>> found.interval(0.9, "bca").method
            'bca'
        """
        _checks.one_of(method, "method", difference.INTERVALS)
        level = self.level if level is None else _checks.between(level, "level", inclusive=False)
        data = Difference.of(self._pairs(), per_case(self.metric))
        columns = np.column_stack([data.diff, data.a, data.b])
        fit = clustered_mean(columns, data.weight, data.cluster)
        asked = replace(self.settings, interval=method, level=level)
        return difference.interval_of(data, fit, asked)

    def fragility(self, by: str | tuple[str, ...] = ()) -> pl.DataFrame:
        """What is left of the difference when one cluster, group or case is left out.

        Args:
            by: Columns of `pairs` whose groups are left out, one at a time, beside the clusters.

        Returns:
            One row per part left out, the most influential first: `kind`, `left_out`, its
            `cases`, its `share` of the difference, and `diff, low, high, pvalue, verdict` of the
            rest. At most 200 clusters and groups of a kind; without clusters the 20 cases that
            move the difference most.

        Raises:
            ArgumentError: A column that the pairs do not have.
        """
        names = _checks.names(by, "by")
        request = per_case(self.metric)
        return subsets.left_out(
            self._pairs(), request, self.settings, names, hopeless=self.only_failures
        )

    def plot(self, *, kind: str | None = None, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """The groups as a forest, or every case as a strip; see `Result.plot`.

        Args:
            kind: "forest" (the whole and its groups) or "strip" (one line a case); None for the
                forest where there are groups, else the strip.
            theme: "light" or "dark".
            width: Pixels that the chart takes, labels included.

        Raises:
            ArgumentError: Another kind, or sides that are not comparable.
        """
        from trialframe import charts

        default = "strip" if self.groups is None else "forest"
        kind = _checks.one_of(kind or default, "kind", ("forest", "strip"))
        pairs, sides = self._pairs(), (self.baseline, self.candidate)
        if kind == "strip":
            return charts.strip(pairs, metric=self.metric, sides=sides, theme=theme, width=width)
        return charts.forest(
            subsets.with_whole(self),
            metric=self.metric,
            level=self.level,
            sides=sides,
            theme=theme,
            width=width,
        )

    def _pairs(self) -> pl.DataFrame:
        if self.pairs.is_empty():
            raise ArgumentError(
                f"{self.baseline!r} and {self.candidate!r} are {self.verdict}: there are no pairs."
            )
        return self.pairs
