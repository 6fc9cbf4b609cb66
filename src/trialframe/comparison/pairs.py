"""Two configs side by side: one row per shared case with a value on both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.errors import ArgumentError, TrialsError, did_you_mean
from trialframe.estimate.metrics import Cases, Request, cases_of, parsed
from trialframe.kernels import draws
from trialframe.kernels.intervals import imbens_manski
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from trialframe.counts import Counts
    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bounds = tuple[float | None, float | None]

NO_BOUNDS: Bounds = (None, None)

ROUNDING = 1e-12
"""Relative: values that differ by less are the same number."""

SIDES = ("baseline", "candidate")
OWN_COLUMNS = frozenset(
    ("case", "cluster", "weight", "diff", *(f"{p}_{s}" for p in ("n", "c", "value") for s in SIDES))
)
"""Columns that every table of pairs has; a column of that name that the counts keep is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The two sides and what they share.

    Attributes:
        frame: One row per shared case with a value on both sides, sorted by case: `case`,
            `cluster` and `weight` if there are, columns to group by that agree on both sides,
            and `n_`, `c_`, `value_` of `baseline` and `candidate`, and `diff`.
        shared: The counts of every shared case, baseline and candidate.
        undefined: Shared cases without a value on some side.
        alone: Cases that only the baseline has, and only the candidate.
        coverage: Share of trials with a verdict, of both.
    """

    frame: pl.DataFrame
    shared: tuple[Cases, Cases]
    undefined: int
    alone: tuple[int, int]
    coverage: tuple[float, float]

    @property
    def only_failures(self) -> bool:
        """Whether the candidate ran only on cases that the baseline had failed."""
        missing, extra = self.alone
        passed = draws.majority(
            self.frame["n_baseline"].to_numpy(), _ints(self.frame, "c_baseline")
        )
        return missing > 0 and extra == 0 and not passed.any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The pairs of one comparison as arrays of shape (M,)."""

    n_a: Ints
    c_a: Ints
    n_b: Ints
    c_b: Ints
    a: Floats
    b: Floats
    diff: Floats
    weight: Floats
    cluster: Ints | None
    request: Request

    @classmethod
    def of(cls, frame: pl.DataFrame, request: Request) -> Difference:
        """From the rows of `Pairs.frame`."""
        ints = {
            f"{name}_{side[0]}": frame[f"{name}_{side}"].to_numpy().astype(np.int64, copy=False)
            for name in ("n", "c")
            for side in ("baseline", "candidate")
        }
        codes = None
        if "cluster" in frame.columns:
            codes = frame["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
        weight = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
        return cls(
            n_a=ints["n_b"],
            c_a=ints["c_b"],
            n_b=ints["n_c"],
            c_b=ints["c_c"],
            a=frame["value_baseline"].to_numpy(),
            b=frame["value_candidate"].to_numpy(),
            diff=frame["diff"].to_numpy(),
            weight=weight / np.max(weight, initial=np.finfo(np.float64).tiny),
            cluster=codes,
            request=request,
        )

    @property
    def counted(self) -> bool:
        """Whether values are plain pass rates, whose differences are exact fractions."""
        return self.request.shape == "rate" and self.request.metric.bracketed

    @property
    def drawn(self) -> bool:
        """Whether values follow from trials and passes, so that trials can be permuted."""
        return self.request.metric.shape == "drawn" and self.request.metric.bracketed

    @property
    def unit(self) -> str:
        """What is independent: "cases" or "clusters"."""
        return "cases" if self.cluster is None else "clusters"

    @property
    def equal_trials(self) -> bool:
        """Whether every case has as many trials on both sides."""
        return bool((self.n_a == self.n_b).all())

    @property
    def equal_weights(self) -> bool:
        """Whether the cases count alike."""
        return len(self.weight) == 0 or float(np.ptp(self.weight)) == 0.0

    @property
    def one_trial_each(self) -> bool:
        """Whether these are single verdicts, so that paired binary methods serve."""
        single = bool((self.n_a == 1).all() and (self.n_b == 1).all())
        return single and self.counted and self.equal_weights

    @property
    def discordant(self) -> tuple[int, int]:
        """Cases that only the baseline passes and that only the candidate passes, by majority."""
        a, b = draws.majority(self.n_a, self.c_a), draws.majority(self.n_b, self.c_b)
        return int((a & ~b).sum()), int((b & ~a).sum())


def per_case(metric: str) -> Request:
    """The request behind a metric that has one value per case."""
    request = parsed(metric, ())[0] if not str(metric).endswith("k") else None
    if request is None or request.shape in {"pooled", "fact"} or "_per_pass" in metric:
        raise ArgumentError(f"metric == {metric!r} has no value per case to compare.")
    return request


def lower_wins(request: Request) -> bool:
    """Whether less is better: money, time, tokens, flakiness."""
    return request.shape == "amount" or request.metric.name in {"flaky", "flake_index"}


def paired(
    counts: Counts,
    baseline: str,
    candidate: str,
    request: Request,
    *,
    clusters: bool,
    short: Short,
) -> Pairs:
    """Pair two configs on their cases.

    Raises:
        UnknownConfigError: A config is not in the counts.
        TrialsError: No shared case has a value on both sides.
    """
    made = counts.select(baseline, candidate)
    sides, lone = made.frame, pl.len().over("case") == 1
    both = sides.filter(~lone).sort("case")
    first, second = (both.filter(pl.col("config") == name) for name in (baseline, candidate))
    every = [cases_of(side, clusters=clusters) for side in (first, second)]
    values = [request.metric.values(cases, request, short) for cases in every]
    known = ~np.isnan(values[0]) & ~np.isnan(values[1]) & (every[0].weight > 0)
    if not known.any():
        most = min(int(side.n.max(initial=0)) for side in every)
        if not first.height:
            few = " Do both name their cases alike?"
        elif not most:
            few = " On one side no trial of them has a verdict."
        else:
            few = (
                f" With at most {most} trials a case on one side" if (request.k or 0) > most else ""
            )
            few += f" k = {request.k} cannot be estimated; choose a smaller k." if few else ""
        raise TrialsError(
            f"{baseline!r} and {candidate!r} share {first.height:,} cases and none has "
            f"{request.name} on both sides and a weight above 0, so there is nothing to "
            f"compare.{few}"
        )
    alone = sides.filter(lone)["config"]
    frame = _frame(first, second, made.by, values, clusters=clusters)
    return Pairs(
        frame=frame.filter(pl.Series(known)),
        shared=(every[0], every[1]),
        undefined=int((~known).sum()),
        alone=(int((alone == baseline).sum()), int((alone == candidate).sum())),
        coverage=_coverage(sides, baseline, candidate),
    )


def _frame(
    first: pl.DataFrame,
    second: pl.DataFrame,
    by: Iterable[str],
    values: list[Floats],
    *,
    clusters: bool,
) -> pl.DataFrame:
    level = [name for name in ("cluster", "weight") if name in first.columns]
    if not clusters:
        level = [name for name in level if name != "cluster"]
    agreeing = [n for n in by if n not in OWN_COLUMNS and first[n].equals(second[n])]
    columns = [first[name] for name in ("case", *level, *agreeing)]
    for side, name, value in zip((first, second), ("baseline", "candidate"), values, strict=True):
        columns += [side["n"].alias(f"n_{name}"), side["c"].alias(f"c_{name}")]
        columns.append(pl.Series(f"value_{name}", value))
    frame = pl.DataFrame(columns)
    before, after = pl.col("value_baseline"), pl.col("value_candidate")
    # sums of scores that differ by rounding only are the same: 0.1 + 0.2 is 0.3
    alike = (after - before).abs() <= ROUNDING * pl.max_horizontal(after.abs(), before.abs())
    return frame.with_columns(diff=pl.when(alike).then(0.0).otherwise(after - before))


def _coverage(sides: pl.DataFrame, baseline: str, candidate: str) -> tuple[float, float]:
    failed = pl.col("unscored_failed") if "unscored_failed" in sides.columns else pl.lit(0)
    share = (pl.col("n") - failed).sum() / (pl.col("n") + pl.col("unscored")).sum()
    found = dict(sides.group_by("config").agg(share.alias("share")).rows())
    return found[baseline], found[candidate]


def moved(counts: Counts, baseline: str, candidate: str, same: tuple[str, ...]) -> dict[str, int]:
    """Columns that should agree on both sides of every shared case, with the cases that differ.

    Raises:
        ArgumentError: The counts have no such column.
    """
    made = counts.select(baseline, candidate)
    for name in same:
        if name not in made.by:
            raise ArgumentError(
                f"same: the counts have no column {name!r}. {did_you_mean(name, made.by)} "
                f"Keep it with tr.counts(..., by=[{name!r}])."
            )
    both = made.frame.filter(pl.len().over("case") == 2).sort("case")
    first, second = (both.filter(pl.col("config") == name) for name in (baseline, candidate))
    differ = {name: int(first[name].ne_missing(second[name]).sum()) for name in same}
    return {name: cases for name, cases in differ.items() if cases}


def bracket(pairs: Pairs, request: Request, level: float) -> tuple[Bounds, Bounds]:
    """The difference over all verdicts of the unscored trials, and the interval over that range.

    Every shared case with enough trials takes part, also one without any verdict.
    """
    if not request.metric.bracketed:
        return NO_BOUNDS, NO_BOUNDS
    a, b = pairs.shared
    ends = [
        _filled(b, request, passed=passed) - _filled(a, request, passed=not passed)
        for passed in (False, True)
    ]
    known = ~np.isnan(ends[0]) & (a.weight > 0)
    if not known.any():
        return NO_BOUNDS, NO_BOUNDS
    cluster = None if a.cluster is None else a.cluster[known]
    fit = clustered_mean(np.column_stack(ends)[known], a.weight[known], cluster)
    inner = imbens_manski(fit.mean[0], fit.mean[1], fit.se[0], fit.se[1], fit.df.min(), level)
    outer = known_or_none(inner.low), known_or_none(inner.high)
    return (known_or_none(fit.mean[0]), known_or_none(fit.mean[1])), outer


def _filled(side: Cases, request: Request, *, passed: bool) -> Floats:
    """Case values with every trial that has no verdict taken as failed or passed."""
    without = side.unscored + side.failed
    filled = replace(side, n=side.n + side.unscored, c=side.c + without * passed)
    return request.metric.values(filled, request, "null")


def known_or_none(value: Any) -> float | None:
    """A number for people: null where it is NaN."""
    return None if np.isnan(value) else float(value)


def _ints(frame: pl.DataFrame, name: str) -> Ints:
    return frame[name].to_numpy().astype(np.int64, copy=False)
