"""Which config is best, and how sure is that: ranks, intervals, the plausibly best, the front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.comparison.grid import CASES, Grid, groups, ranked, shared
from trialframe.comparison.pairs import lower_wins
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError
from trialframe.estimate import intervals
from trialframe.estimate.cautions import cautions
from trialframe.estimate.metrics import SHORT, Request, measured, parsed
from trialframe.kernels.joint import Joint, bootstrap_draws, gaussian_draws, joint_means
from trialframe.kernels.pareto import on_the_front
from trialframe.kernels.ranks import (
    Ranks,
    confidence_set,
    independent,
    plausibly_best,
    rank_intervals,
)
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

BEST = ("max-t", "bootstrap", "mcs")
RANKS = ("simultaneous", "marginal")
PRICE = "cost_uusd"

_GAUSSIAN = (10_000, 2**19)  # fewest and most normal draws
_COMPARED = 40_000_000  # differences drawn between the two


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    level: float
    short: Short
    clusters: bool
    cases: str
    best: str
    ranks: str
    resamples: int
    seed: int


def leaderboard(
    counts: Counts,
    *,
    metric: str = "pass@1",
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
    short: Short = "null",
    units: str = "clusters",
    cases: str = "shared",
    best: str = "max-t",
    ranks: str = "simultaneous",
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Rank configs on the cases that all of them share, and say how sure the ranks are.

    Only shared cases enter: a config that skipped the hard ones would lead otherwise. Do not use
    it to ask about one pair (`tr.compare` is sharper), and do not read the first row as the
    winner: every config that is `plausibly_best` may be.

    Args:
        counts: Counts of two or more configs; one config alone has rank 1.
        metric: A metric with a value per case, such as "pass@1", "pass^5", "score" or
            "cost_uusd_per_pass". More is better, except for money, tokens, time and flakiness.
        by: Columns kept in the counts; one leaderboard within each of their values.
        level: Coverage of intervals, rank intervals and of the plausibly best set, in (0, 1).
        short: What a case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the counts have them, or "cases".
        cases: "shared" (cases that some config lacks are left out and reported) or "raise".
        best: How the plausibly best are found: "max-t" (every config is tested as the best, normal
            errors with the covariance of the data), "bootstrap" (the same with errors from the
            bootstrap), "mcs" (model confidence set).
        ranks: Rank intervals that hold "simultaneous"ly for all configs, or "marginal" ones, for
            one config that was chosen beforehand.
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of everything random; row order and engine never change a result.

    Returns:
        One row per group and config, best first: see `trialframe.schema.LEADERBOARD`. `value`,
        `low` and `high` are what `tr.summary` gives on the shared cases; `dropped` counts the
        cases of the config that are left out. Money columns and the front are null without
        `cost_uusd`.

    Raises:
        TrialsError: The configs share no case (the message says which to leave out), or they
            cover different cases and `cases` is "raise".
        ArgumentError: A metric without case values, or an option that does not exist.

    Notes:
        j is plausibly best iff max_l (m_l - m_j)/se_lj <= c_j, with c_j the level quantile of
        the same maximum over errors of the means, times t_df/z. A best config is inside with
        probability >= level, however many configs there are. Standard errors of differences are
        CR2 over cases or clusters; df is M - 1 for cases and Satterthwaite's for clusters, at
        most C - 1. Rank intervals come from stepdown tests of all ordered pairs with errors from
        a joint bootstrap of whole units, times sqrt(units / (units - 1)). The set and the rank
        intervals are different procedures and can disagree by a config. With six clusters both
        cover about .9 at a nominal .95.

    References:
        Hsu (1984), Ann. Stat. 12:1136; Mogstad, Romano, Shaikh and Wilhelm (2024), Rev. Econ.
        Stud. 91:476; Hansen, Lunde and Nason (2011), Econometrica 79:453.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["a", "b", "c"], cases=150, lift=[0, 0.3, 0.31], seed=1)
        >>> table = tr.leaderboard(tr.counts(trials))
        >>> table.select("config", "rank", "rank_low", "rank_high", "plausibly_best").rows()
        [('b', 1, 1, 2, True), ('c', 2, 1, 2, True), ('a', 3, 3, 3, False)]
    """
    settings = _Settings(
        level=_checks.between(level, "level", inclusive=False),
        short=_checks.one_of(short, "short", SHORT),
        clusters=_checks.one_of(units, "units", ("clusters", "cases")) == "clusters",
        cases=_checks.one_of(cases, "cases", CASES),
        best=_checks.one_of(best, "best", BEST),
        ranks=_checks.one_of(ranks, "ranks", RANKS),
        resamples=_checks.integer(resamples, "resamples", low=100, high=1_000_000),
        seed=_checks.integer(seed, "seed", low=0),
    )
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if counts.frame.is_empty():
        raise TrialsError("these counts have no rows, so there is nothing to rank.")
    request = ranked(metric)
    own = tuple(column.name for column in LEADERBOARD)
    names, parts = groups(counts, by, own)
    rows = [row for head, frame in parts for row in _group(frame, head, request, settings)]
    kept = {name: counts.frame.schema[name] for name in names}
    schema = kept | {column.name: column.dtype for column in LEADERBOARD}
    return pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)


def _group(
    frame: pl.DataFrame, head: dict[str, Any], request: Request, settings: _Settings
) -> list[dict[str, Any]]:
    """The rows of one leaderboard, best first."""
    where = "".join(f" where {name} is {value}" for name, value in head.items())
    grid = shared(
        frame,
        request,
        clusters=settings.clusters,
        short=settings.short,
        cases=settings.cases,
        where=where,
    )
    priced = f"{PRICE}_sumsq" in frame.columns
    rows = [_row(grid, j, request, settings, priced=priced) for j in range(len(grid.configs))]
    sign = -1.0 if lower_wins(request) else 1.0
    # best first before anything is drawn: another order of names gives the same draws
    order = sorted(range(len(rows)), key=lambda j: (-sign * rows[j]["value"], grid.configs[j]))
    grid = _ordered(grid, order)
    joint = joint_means(sign * grid.values, grid.weight, grid.cluster)
    draws = _resampled(grid, sign, settings, priced=priced)
    # resampled means spread less than means do, by a share of 1 / units of the variance
    wider = np.sqrt(joint.units / max(joint.units - 1, 1))
    errors = wider * (draws[:, : len(order)] - joint.mean)
    found = _ranks(joint, errors, settings)
    inside = _best(joint, errors, settings)
    front = _front(joint, draws, grid, request) if priced else {}
    for place, j in enumerate(order):
        rows[j] |= head | {
            "rank": int(found.rank[place]),
            "rank_low": int(found.low[place]),
            "rank_high": int(found.high[place]),
            "plausibly_best": bool(inside[place]),
        }
        rows[j] |= {name: column[place] for name, column in front.items()}
    return [rows[j] for j in order]


def _ordered(grid: Grid, order: list[int]) -> Grid:
    return Grid(
        configs=tuple(grid.configs[j] for j in order),
        values=np.ascontiguousarray(grid.values[:, order]),
        sides=tuple(grid.sides[j] for j in order),
        left_out=tuple(grid.left_out[j] for j in order),
    )


def _row(
    grid: Grid, j: int, request: Request, settings: _Settings, *, priced: bool
) -> dict[str, Any]:
    """What the summary says about one config on the shared cases."""
    side = grid.sides[j]
    money = [parsed(name, ())[0] for name in (PRICE, f"{PRICE}_per_pass")] if priced else []
    asked = [request, *money]
    columns = [one.metric.values(side, one, settings.short) for one in money]
    made = intervals.estimates(
        side,
        asked,
        np.column_stack([grid.values[:, j], *columns]),
        estimand="cases",
        method="default",
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    without, known = int((side.unscored + side.failed).sum()), int((side.n - side.failed).sum())
    row: dict[str, Any] = {
        "config": grid.configs[j],
        "metric": request.name,
        "unit": request.metric.unit,
        "level": settings.level,
        "estimand": "cases",
        "method": made.method[0],
        "cases": int((side.weight > 0).sum()),
        "trials": int(side.n[side.weight > 0].sum()),
        "clusters": int(made.clusters[0]),
        "dropped": grid.left_out[j],
        "unscored": without,
        "coverage": known / (known + without) if known + without else None,
    }
    for name in ("value", "se", "low", "high", "df", "largest_share"):
        row[name] = _known(getattr(made, name)[0])
    if priced:
        row[PRICE], row[f"{PRICE}_per_pass"] = _known(made.value[1]), _known(made.value[2])
        row[f"{PRICE}_per_pass_low"] = _known(made.low[2])
        row[f"{PRICE}_per_pass_high"] = _known(made.high[2])
    row["warnings"] = "; ".join(_cautions(grid, j, request, row, columns))
    kept = {column.name for column in LEADERBOARD}
    return {name: value for name, value in row.items() if name in kept}


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _cautions(
    grid: Grid, j: int, request: Request, row: dict[str, Any], money: list[Floats]
) -> list[str]:
    """What to know before quoting a row."""
    found = []
    if len(grid.configs) == 1:
        found.append("one config: there is nothing to rank it against")
    if row["clusters"] < 2:
        found.append("one independent unit: nothing can be said about ranks")
    if grid.left_out[j]:
        found.append(f"{grid.left_out[j]:,} cases left out, which not all configs have")
    found += cautions(grid.sides[j], request, row)
    if money and (lacking := int(np.isnan(money[0]).sum())):
        found.append(f"price unknown in {lacking:,} cases")
    return found


def _resampled(grid: Grid, sign: float, settings: _Settings, *, priced: bool) -> Floats:
    """Bootstrap means of all configs, better is larger, then of their prices."""
    table = sign * grid.values
    if priced:
        table = np.column_stack([table, *(measured(side, PRICE) for side in grid.sides)])
    rng = np.random.default_rng(settings.seed)
    return bootstrap_draws(table, grid.weight, rng, grid.cluster, resamples=settings.resamples)


def _ranks(joint: Joint, errors: Floats, settings: _Settings) -> Ranks:
    return rank_intervals(joint, errors, settings.level, family=settings.ranks)


def _best(joint: Joint, errors: Floats, settings: _Settings) -> Bools:
    """Configs that may be the best."""
    if settings.best == "mcs":
        return confidence_set(joint, errors, settings.level)
    if settings.best == "bootstrap" or joint.units < 2:
        return plausibly_best(joint, errors, settings.level).inside
    if independent(joint):
        return plausibly_best(joint, None, settings.level).inside
    fewest, most = _GAUSSIAN
    draws = min(max(_COMPARED // len(joint.mean) ** 2, fewest), most)
    normal = gaussian_draws(joint, np.random.default_rng(settings.seed), draws)
    return plausibly_best(joint, normal, settings.level).inside


def _front(joint: Joint, draws: Floats, grid: Grid, request: Request) -> dict[str, list[Any]]:
    """Which configs are on the front of price and quality, and in how many resamples."""
    configs = len(grid.configs)
    prices = np.column_stack([measured(side, PRICE) for side in grid.sides])
    made: dict[str, list[Any]] = {"pareto": [None] * configs, "pareto_share": [None] * configs}
    with_price = np.flatnonzero((~np.isnan(prices)).any(axis=0))
    if request.shape == "amount" or not len(with_price):
        return made  # money against money is no front
    known = ~np.isnan(prices[:, with_price])
    weight = grid.weight[:, None] * known
    spent = (np.where(known, prices[:, with_price], 0.0) * weight).sum(axis=0) / weight.sum(axis=0)
    here = on_the_front(spent[None], joint.mean[None, with_price])[0]
    value, cost = draws[:, with_price], draws[:, configs + with_price]
    share = on_the_front(np.where(np.isnan(cost), np.inf, cost), value).mean(axis=0)
    for place, j in enumerate(with_price):
        made["pareto"][j] = bool(here[place])
        made["pareto_share"][j] = float(share[place]) if joint.units > 1 else None
    return made
