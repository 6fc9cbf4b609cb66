"""Every pair of configs, or every config against a baseline, with the multiplicity of looking."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.comparison.compare import checked
from trialframe.comparison.difference import FEWEST_CHANGED, Measured, Settings, measured
from trialframe.comparison.pairs import Difference, Pairs, known_or_none, paired, per_case
from trialframe.comparison.wording import COVERAGE_GAP
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError, UnknownConfigError, did_you_mean
from trialframe.estimate.cautions import FEW_CLUSTERS, LOW_COVERAGE, SMALL_SUITE
from trialframe.kernels.joint import influence
from trialframe.kernels.maxt import MaxT, max_t
from trialframe.kernels.multiple import benjamini_hochberg, holm
from trialframe.schema import COMPARISONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trialframe.estimate.metrics import Request
    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ADJUST = ("holm", "max-t", "bh", "none")

_MOST_CELLS = 250_000_000  # units times pairs held for max-t: 2 GB


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two configs, and what is known of them; `data` and `found` are None without shared cases."""

    baseline: str
    candidate: str
    pairs: Pairs | None = None
    data: Difference | None = None
    found: Measured | None = None


def compare_all(
    counts: Counts,
    baseline: str | None = None,
    *,
    metric: str = "pass@1",
    adjust: str = "holm",
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare all pairs of configs, or all configs with a baseline, and adjust for their number.

    Each pair stands on its own shared cases, so that one config with few cases weakens its own
    rows only. Do not use it to name the best config: `tr.leaderboard` asks that question with
    one test in place of many.

    Args:
        counts: Counts of two or more configs.
        baseline: Config to compare all others with; None for all pairs, in order of their names.
        metric: A metric with one value per case, as in `tr.compare`.
        adjust: "holm" (no false winner with probability `level`, whatever the dependence), "max-t"
            (the same, sharper where pairs share configs, with simultaneous intervals), "bh"
            (the share of false winners), "none".
        level: Nominal coverage of the intervals; verdicts are at 1 - level, in (0, 1).
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the counts have them, or "cases".
        resamples: Draws of max-t, 100 to 1,000,000.
        seed: Seed of everything random; row order and engine never change a result.

    Returns:
        One row per pair: see `trialframe.schema.COMPARISONS`. `diff`, `low`, `high` and `pvalue`
        are those of `tr.compare`; the verdict needs the pair's own interval and p-value and an
        `adjusted` p-value of at most 1 - level. A pair without a shared case has null numbers.

    Raises:
        UnknownConfigError: The baseline is not in the counts.
        TrialsError: One config only, or no pair shares a case.
        ArgumentError: A metric without case values, or an option that does not exist.

    Notes:
        Holm: adj_(i) = max over j <= i of (P - j + 1) p_(j) for P pairs. Max-T: stepdown over
        `|diff / se|` with normal errors that have the covariance of all differences (CR2, on their
        own cases or clusters); an adjusted p-value is never below the pair's own. The exact sign
        flip is one dynamic programme a pair: all 190 pairs of 20 configs on 1,000 cases take
        seconds.

    References:
        Holm (1979), Scand. J. Stat. 6:65; Westfall and Young (1993); Benjamini and Hochberg
        (1995), J. R. Stat. Soc. B 57:289.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["a", "b", "c"], cases=150, lift=[0, 0.3, 0.31], seed=1)
        >>> table = tr.compare_all(tr.counts(trials), adjust="max-t")
        >>> table.select("baseline", "candidate", "verdict").rows()
        [('a', 'b', 'better'), ('a', 'c', 'better'), ('b', 'c', 'inconclusive')]
    """
    _checks.one_of(adjust, "adjust", ADJUST)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    request = per_case(metric)
    settings = checked(
        Settings(
            metric=request.name,
            level=level,
            short=short,
            units=units,
            resamples=resamples,
            seed=seed,
        )
    )
    made = [_pair(counts, a, b, request, settings) for a, b in _names(counts.configs, baseline)]
    if all(pair.found is None for pair in made):
        raise TrialsError(
            f"no two of these {len(counts.configs)} configs share a case with {request.name} on "
            "both sides, so there is nothing to compare."
        )
    # a hair wider than 1 - level, whose rounding would undo a tie
    alpha = (1.0 - settings.level) * (1.0 + 1e-12)
    rows = [_row(pair, settings) for pair in made]
    for row, extra in zip(rows, _adjusted(made, settings, adjust), strict=True):
        row.update(extra, adjust=adjust)
        if row["adjusted"] is None or (adjust != "none" and row["adjusted"] > alpha):
            row["verdict"] = "inconclusive"
    schema = {column.name: column.dtype for column in COMPARISONS}
    return pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)


def _names(configs: list[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is not None and baseline not in configs:
        raise UnknownConfigError(
            f"no config {baseline!r} in these counts. {did_you_mean(str(baseline), configs)}"
        )
    if len(configs) < 2:
        raise TrialsError(f"{len(configs)} config in these counts: comparing takes two.")
    if baseline is None:
        return list(combinations(configs, 2))
    return [(baseline, name) for name in configs if name != baseline]


def _pair(
    counts: Counts, baseline: str, candidate: str, request: Request, settings: Settings
) -> _Pair:
    clusters = settings.units == "clusters"
    try:
        pairs = paired(
            counts, baseline, candidate, request, clusters=clusters, short=settings.short
        )
    except TrialsError:
        return _Pair(baseline=baseline, candidate=candidate)
    data = Difference.of(pairs.frame, request)
    return _Pair(
        baseline=baseline,
        candidate=candidate,
        pairs=pairs,
        data=data,
        found=measured(data, request, settings, hopeless=pairs.only_failures),
    )


def _row(pair: _Pair, settings: Settings) -> dict[str, Any]:
    """What the pair says by itself."""
    row: dict[str, Any] = {
        "baseline": pair.baseline,
        "candidate": pair.candidate,
        "metric": settings.metric,
        "level": settings.level,
        "verdict": "inconclusive",
        "cases": 0,
        "warnings": "no shared case has a value on both sides",
    }
    if pair.found is None or pair.pairs is None or pair.data is None:
        return row
    found, fit, own = pair.found, pair.found.fit, pair.found.interval
    row |= {
        "diff": float(fit.mean[0]),
        "se": known_or_none(fit.se[0]),
        "low": own.low,
        "high": own.high,
        "interval": own.method,
        "df": known_or_none(fit.df[0]) if own.method == "t-cr2" else None,
        "pvalue": found.tested.pvalue,
        "exact": found.tested.exact,
        "verdict": found.verdict,
        "baseline_value": float(fit.mean[1]),
        "candidate_value": float(fit.mean[2]),
        "cases": len(pair.data.diff),
        "units": int(fit.units[0]),
        "changed": found.tested.changed,
        "wins": found.wins,
        "losses": found.losses,
        "only_baseline": pair.pairs.alone[0],
        "only_candidate": pair.pairs.alone[1],
        "undefined": pair.pairs.undefined,
    }
    row["warnings"] = "; ".join(_cautions(pair.data, pair.pairs, row))
    return row


def _cautions(data: Difference, pairs: Pairs, row: dict[str, Any]) -> Iterator[str]:
    """What weakens the row; `tr.compare` of the pair says more."""
    unit = "cases" if data.cluster is None else "clusters"
    if pairs.only_failures:
        yield "the candidate ran only on cases that the baseline failed"
    if row["changed"] < FEWEST_CHANGED:
        yield f"{row['changed']} changed {unit}: fewer than 6 can never be significant"
    if any(pairs.alone):
        yield f"left out: {pairs.alone[0]} cases only of one, {pairs.alone[1]} only of the other"
    if row["cases"] < SMALL_SUITE:
        yield f"small suite: {row['cases']} cases"
    if data.cluster is not None and row["units"] < FEW_CLUSTERS:
        yield f"few clusters: {row['units']}"
    if not data.equal_trials:
        yield "trial counts differ within cases: the sign flip is approximate"
    first, second = pairs.coverage
    if abs(first - second) > COVERAGE_GAP or min(first, second) < LOW_COVERAGE:
        yield f"coverage {first:.1%} against {second:.1%}"


def _adjusted(made: list[_Pair], settings: Settings, adjust: str) -> list[dict[str, Any]]:
    """Adjusted p-values and simultaneous intervals of all pairs."""
    pvalues = np.array([np.nan if p.found is None else p.found.tested.pvalue for p in made])
    if adjust == "max-t":
        return _by_max_t(made, pvalues, settings)
    adjusted = pvalues
    if adjust != "none":
        adjusted = holm(pvalues) if adjust == "holm" else benjamini_hochberg(pvalues)
    return [{"adjusted": known_or_none(p)} for p in adjusted]


def _by_max_t(made: list[_Pair], pvalues: Floats, settings: Settings) -> list[dict[str, Any]]:
    fits = [None if p.found is None else p.found.fit for p in made]
    diff, se, df = (
        np.array([np.nan if fit is None else getattr(fit, name)[0] for fit in fits])
        for name in ("mean", "se", "df")
    )
    spread = se > 0
    statistic = np.divide(diff, se, out=np.full(len(made), np.nan), where=spread)
    joint = _drawn(made, statistic, df, settings)
    # without spread there is no statistic: Bonferroni's rule stands in
    tested = int((~np.isnan(pvalues)).sum())
    adjusted = np.where(spread, joint.adjusted, np.minimum(tested * pvalues, 1.0))
    adjusted = np.fmax(adjusted, pvalues)
    reach = joint.critical * se
    return [
        {
            "adjusted": known_or_none(adjusted[i]),
            "simultaneous_low": known_or_none(diff[i] - reach[i]),
            "simultaneous_high": known_or_none(diff[i] + reach[i]),
        }
        for i in range(len(made))
    ]


def _drawn(made: list[_Pair], statistic: Floats, df: Floats, settings: Settings) -> MaxT:
    """Max-T over the differences, from one column a config where all share their cases."""
    rng = np.random.default_rng(settings.seed)
    ends = None
    if _alike(made):
        columns: dict[str, Floats] = {}
        for pair in made:
            if pair.data is not None:
                weight, cluster = pair.data.weight, pair.data.cluster
                columns |= {pair.baseline: pair.data.a, pair.candidate: pair.data.b}
        parts = influence(np.column_stack(list(columns.values())), weight, cluster)
        place = {name: j for j, name in enumerate(columns)}
        sides = [(place[pair.candidate], place[pair.baseline]) for pair in made]
        second, first = np.array(sides, dtype=np.int64).T
        ends = (second, first)
    else:
        parts = _scattered(made)
    return max_t(
        parts, statistic, df, rng, ends=ends, draws=settings.resamples, level=settings.level
    )


def _alike(made: list[_Pair]) -> bool:
    """Whether all pairs have the same cases."""
    cases = [None if pair.pairs is None else pair.pairs.frame["case"] for pair in made]
    first = cases[0]
    return first is not None and all(one is not None and one.equals(first) for one in cases)


def _scattered(made: list[_Pair]) -> Floats:
    """Influence of every unit on every difference where pairs have cases of their own."""
    frames = [p.pairs.frame for p in made if p.pairs is not None]
    unit = "cluster" if "cluster" in frames[0].columns else "case"
    every = pl.concat([frame[unit] for frame in frames]).unique().sort()
    if len(every) * len(made) > _MOST_CELLS:
        raise ArgumentError(
            f"adjust == 'max-t': {len(made):,} pairs over {len(every):,} {unit}s that they do not "
            "all share need too much memory. Choose adjust='holm', name a baseline, or keep fewer "
            "configs with counts.select."
        )
    parts = np.zeros((len(every), len(made)))
    for j, p in enumerate(made):
        if p.pairs is None or p.data is None:
            continue
        names = p.pairs.frame[unit].unique().sort()
        rows = every.search_sorted(names).to_numpy()
        found = influence(p.data.diff[:, None], p.data.weight, p.data.cluster)
        parts[rows, j] = found[:, 0]
    return parts
