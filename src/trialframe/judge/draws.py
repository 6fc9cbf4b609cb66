"""Judge draws: the same transcripts judged several times, and what that noise does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.engine import at_home
from trialframe.errors import (
    ArgumentError,
    ColumnError,
    TrialsError,
    UnknownConfigError,
    did_you_mean,
    listed,
    short,
)
from trialframe.judge._rows import refuse_null_keys, refuse_repeats, refuse_split_cases, rows_of
from trialframe.kernels import retest as kernels
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias, Unpack

    from numpy.typing import NDArray

    from trialframe.judge._rows import Keys

    Ints: TypeAlias = NDArray[np.int64]
    Row: TypeAlias = dict[str, Any]

INSIDE, OUTSIDE = "inside the judge's noise", "outside the judge's noise"
FEW = 10
KEY = ("config", "case", "trial", "draw")
REALS = ("pass_rate", "retest_variance", "retest_sd", "judge_share", "agreement", "kappa")
DRAWS = {
    "config": pl.String,
    **dict.fromkeys(("cases", "trials", "draws", "min_draws", "max_draws", "missing"), pl.Int64),
    **dict.fromkeys((*REALS, "low", "high", "level"), pl.Float64),
    **dict.fromkeys(("undefined", "units"), pl.Int64),
    "warnings": pl.String,
}
COMPONENTS = {
    **dict.fromkeys(("config", "component"), pl.String),
    **dict.fromkeys(("raw", "variance", "share"), pl.Float64),
}
RELIABILITY = {"config": pl.String, "draws": pl.Int64, "reliability": pl.Float64}


@dataclass(frozen=True, slots=True, kw_only=True)
class RejudgedDifference(Result):
    """A difference of two configs beside what judging the same transcripts anew would move it.

    Attributes:
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        verdict: "inside the judge's noise" or "outside the judge's noise".
        diff: Mean over shared cases of the candidate's pass rate minus the baseline's.
        sd: Standard deviation of `diff` due to judging alone, with the draws there are.
        sd_one_draw: The same if every trial were judged once.
        low: Lower end of what re-judging alone does to a difference of 0.
        high: Upper end.
        level: Share of re-judgings inside of [low, high], by the normal approximation.
        se: Standard error of `diff` over cases, with all noise in it; None with one case.
        judge_share: sd^2 / se^2, the judge's share of that, at most 1.
        cases: Shared cases.
        claim: One sentence that the numbers support.
        warnings: What weakens it.
    """

    baseline: str
    candidate: str
    verdict: str
    diff: float
    sd: float
    sd_one_draw: float
    low: float
    high: float
    level: float
    se: float | None
    judge_share: float | None
    cases: int
    claim: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeNoise(Result):
    """How much of what a judge says is its own noise.

    Attributes:
        draws: One row per config: `cases`, `trials`, `draws`, `min_draws`, `max_draws`,
            `missing` verdicts, `pass_rate`, `retest_variance` and `retest_sd` of one draw,
            `judge_share` of the total variance, `agreement` of two draws of a trial, Fleiss'
            `kappa` with `low`, `high`, resamples without a kappa (`undefined`), `units` that
            were resampled, and `warnings`.
        components: One row per config and component (case, trial, draw): `raw` estimate, which
            may be negative, `variance` with those taken as 0, and its `share` of their sum.
        reliability: One row per config and number of draws: `reliability` of their mean, the
            share of its variance that is not the judge's.
        difference: The difference of two configs, or None.
        level: Nominal coverage.
        settings: What was asked for.
    """

    draws: pl.DataFrame
    components: pl.DataFrame
    reliability: pl.DataFrame
    difference: RejudgedDifference | None
    level: float
    settings: str


def judge_noise(
    frame: Any,
    *,
    judge: str = "judge",
    draw: str = "judge_draw",
    baseline: str | None = None,
    candidate: str | None = None,
    planned: Sequence[int] = (1, 2, 3, 5, 10),
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **columns: Unpack[Keys],
) -> JudgeNoise:
    """Split off the noise of a judge that judged the same transcripts several times.

    Use it to decide how many draws of a judge a verdict needs, and whether a difference could
    come from judging anew alone. It says nothing about whether the judge is right: a judge that
    is always wrong has no noise. See `tr.calibrate` for that.

    Args:
        frame: One row per draw, as for `tr.counts`; tables of other engines are collected.
        judge: Column with the judge's verdicts: true, false (1, 0), null where it gave none.
        draw: Column that tells the draws of a trial apart.
        baseline: Config to compare with `candidate`; give both or none.
        candidate: Config to compare.
        planned: Numbers of draws whose mean to rate, each >= 1.
        level: Nominal coverage of the intervals, in (0, 1).
        resamples: Bootstrap resamples of whole cases (clusters when there are any), >= 1.
        seed: Seed of the bootstrap.
        **columns: Where `config`, `case`, `trial` and `cluster` are, as in `tr.counts`. Without
            a trial column every case is one trial.

    Returns:
        Components of variance, agreement over draws, reliability, and the difference.

    Raises:
        ColumnError: A column is missing.
        TrialsError: No trial has two draws; repeated draws; unknown cases, trials or draws;
            verdicts that are not true, false or null.
        UnknownConfigError: `baseline` or `candidate` is not in the table.

    Notes:
        y = case + trial + draw on the 0/1 scale; moment estimators, as `kernels.retest` says.
        judge_share = draw / (case + trial + draw), negative components taken as 0. Draws of a
        trial are taken as independent: a judge at temperature 0 that repeats itself by caching
        looks perfect. The difference is inside the judge's noise when |diff| <= z sd, sd^2 =
        sum over both configs, cases and trials of s_ij^2 / n_ij / (M T_i)^2; outside of it, case
        and trial noise still stand, so it is no test of the configs: see `tr.compare`.

    References:
        Fleiss (1971), Psychol. Bull. 76:378; Brennan (2001), Generalizability Theory.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x", "y", "y", "z", "z"], "judge_draw": [1, 2] * 3}
        >>> rows["judge"] = [True, True, True, False, False, False]
        >>> made = tr.judge_noise(rows)
        >>> made.draws.select("trials", "retest_variance", "agreement").row(0)
        (3, 0.16666666666666666, 0.6666666666666666)
    """
    level = _checks.between(level, "level", inclusive=False)
    resamples = _checks.integer(resamples, "resamples", low=1)
    seed = _checks.integer(seed, "seed", low=0)
    many = np.array([_checks.integer(m, "planned", low=1) for m in planned], dtype=np.int64)
    if (baseline is None) != (candidate is None):
        raise ArgumentError("give both baseline= and candidate=, or neither.")
    trials = _trials(frame, judge, draw, columns)
    configs = trials["config"].unique().sort().to_list()
    for name in (baseline, candidate):
        if name is not None and name not in configs:
            raise UnknownConfigError(f"no config {name!r} here. {did_you_mean(name, configs)}")
    rows, parts, rates = [], [], []
    for (config,), part in trials.group_by("config", maintain_order=True):
        row, split = _one(part, level, resamples, np.random.default_rng(seed))
        rows.append({"config": config} | row)
        parts += [{"config": config} | line for line in _lines(split)]
        rates += [
            {"config": config, "draws": m, "reliability": value}
            for m, value in zip(
                many.tolist(), split.reliability(many.astype(np.float64)).tolist(), strict=True
            )
        ]
    compared = None
    if baseline is not None and candidate is not None:
        compared = _difference(trials, baseline, candidate, level)
    return JudgeNoise(
        draws=_clean(rows, DRAWS),
        components=_clean(parts, COMPONENTS),
        reliability=_clean(rates, RELIABILITY),
        difference=compared,
        level=level,
        settings=f"judge={judge!r}, draw={draw!r}, resamples={resamples}, seed={seed}",
    )


def _clean(rows: list[Row], schema: Mapping[str, Any]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _trials(frame: Any, judge: str, draw: str, columns: Keys) -> pl.DataFrame:
    """One row per trial, sorted: draws n, passing draws c, missing verdicts, codes of the case."""
    if "passed" in columns or "score" in columns:
        raise ArgumentError("the verdicts of the judge are named by judge=, not passed= or score=.")
    lazy = at_home(frame, list)
    names = lazy.collect_schema().names()
    if draw not in names:
        raise ColumnError(
            f"no column {short(draw)} (for draw). {did_you_mean(str(draw), names)} It tells the "
            "judgings of one transcript apart: 1, 2, 3, ..."
        )
    taken = {v for v in columns.values() if isinstance(v, str)} | {judge}
    # an unnamed draw column might pass for the trial: run, repeat and the like
    hidden = [] if draw in taken else [draw]
    lazy = lazy.with_columns(pl.col(draw).alias("__own_draw")).drop(hidden)
    every: Any = {**columns, "passed": judge, "score": None}
    rows = rows_of(lazy, every, {"draw": "__own_draw"}).collect()
    if rows.is_empty():
        raise TrialsError("the table has no rows.")
    refuse_null_keys(rows, KEY)
    refuse_repeats(rows, KEY, "Number the draws of a trial, and remove repeated rows.")
    refuse_split_cases(rows)
    key = [name for name in KEY[:-1] if name in rows.columns]
    verdict = pl.col("passed")
    units = {"cluster": pl.col("cluster").min()} if "cluster" in rows.columns else {}
    trials = (
        rows.group_by(key)
        .agg(
            n=verdict.count().cast(pl.Int64),
            c=verdict.sum().cast(pl.Int64),
            missing=verdict.null_count().cast(pl.Int64),
            **units,
        )
        .sort(key)
    )
    if trials["n"].max() in {0, 1}:
        raise TrialsError(
            "no trial was judged twice, so the judge's noise cannot be told from the trials'. "
            "Judge the same transcripts again, or check which columns are trial and draw."
        )
    return trials


def _one(
    part: pl.DataFrame, level: float, resamples: int, rng: np.random.Generator
) -> tuple[Row, kernels.Components]:
    """The numbers of one config, from its trials sorted by case."""
    used = part.filter(pl.col("n") > 0)
    case, n, c = _codes(used["case"]), used["n"].to_numpy(), used["c"].to_numpy()
    split = kernels.components(case, n, c)
    unit = case
    if "cluster" in used.columns:
        alone = pl.format("\0{}", "case")
        unit = _codes(used.select(pl.coalesce("cluster", alone)).to_series())
    found = kernels.draw_agreement(unit, n, c, rng, resamples=resamples, level=level)
    rates = used.group_by("case", maintain_order=True).agg((pl.col("c") / pl.col("n")).mean())
    noise = max(split.draw, 0.0)
    row = {
        "cases": used["case"].n_unique(),
        "trials": used.height,
        "draws": int(n.sum()),
        "min_draws": int(n.min()) if len(n) else 0,
        "max_draws": int(n.max()) if len(n) else 0,
        "missing": int(part["missing"].sum()),
        "pass_rate": rates["c"].mean(),
        "retest_variance": split.draw,
        "retest_sd": float(np.sqrt(noise)),
        "judge_share": noise / split.total if split.total > 0 else None,
        "agreement": found.observed,
        "kappa": found.kappa,
        "low": found.low,
        "high": found.high,
        "level": level,
        "undefined": found.undefined,
        "units": found.units,
    }
    return row | {"warnings": "; ".join(_cautions(row, split)) or None}, split


def _codes(values: pl.Series) -> Ints:
    """Codes 0, 1, ... in ascending order of the values."""
    codes: Ints = values.rank("dense").cast(pl.Int64).to_numpy() - 1
    return codes


def _cautions(row: Row, split: kernels.Components) -> list[str]:
    told = []
    if row["units"] < FEW:
        told.append(f"only {row['units']} independent units: the interval is too narrow")
    if np.isnan(split.trial):
        told.append("one trial per case: the variance of cases holds that of trials")
    if min(split.case, split.trial) < 0:
        told.append("a component came out negative and is taken as 0")
    if row["retest_variance"] == 0:
        told.append("no two draws differ: check that the judge was really run again")
    if row["undefined"]:
        told.append(f"{row['undefined']:,} resamples have no kappa and are left out")
    return told


def _lines(split: kernels.Components) -> list[Row]:
    total = split.total
    raw = {"case": split.case, "trial": split.trial, "draw": split.draw}
    return [
        {
            "component": name,
            "raw": value,
            "variance": np.nan if np.isnan(value) else max(value, 0.0),
            "share": max(value, 0.0) / total if total > 0 and not np.isnan(value) else np.nan,
        }
        for name, value in raw.items()
    ]


def _difference(
    trials: pl.DataFrame, baseline: str, candidate: str, level: float
) -> RejudgedDifference:
    """The candidate minus the baseline on shared cases, beside the judge's own noise."""
    from scipy.special import ndtri

    used = trials.filter(pl.col("n") > 0)
    sides = [used.filter(config=name) for name in (baseline, candidate)]
    shared = [side.join(other, on="case", how="semi") for side, other in (sides, sides[::-1])]
    if not shared[0].height:
        raise TrialsError(
            f"{baseline!r} and {candidate!r} share no case. Cases of the first: "
            f"{listed(sides[0]['case'].unique().sort().to_list(), 3)}; of the second: "
            f"{listed(sides[1]['case'].unique().sort().to_list(), 3)}."
        )
    shared = [side.sort("case") for side in shared]
    found = [
        kernels.rejudged(_codes(side["case"]), side["n"].to_numpy(), side["c"].to_numpy())
        for side in shared
    ]
    if any(np.isnan(side.variance) for side in found):
        raise TrialsError("one of the configs has no trial with two draws on the shared cases.")
    means = [
        side.group_by("case", maintain_order=True)
        .agg((pl.col("c") / pl.col("n")).mean())["c"]
        .to_numpy()
        for side in shared
    ]
    gap = means[1] - means[0]
    diff = float(gap.mean())
    sd = float(np.sqrt(sum(side.variance for side in found)))
    se = float(np.std(gap, ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None
    reach = float(ndtri((1.0 + level) / 2.0)) * sd
    # rounding must not put a difference of 0 outside of no noise at all
    inside = abs(diff) <= reach + 1e-12
    pooled = sum(side.pooled for side in found)
    return RejudgedDifference(
        baseline=baseline,
        candidate=candidate,
        verdict=INSIDE if inside else OUTSIDE,
        diff=diff,
        sd=sd,
        sd_one_draw=float(np.sqrt(sum(side.one_draw for side in found))),
        low=-reach,
        high=reach,
        level=level,
        se=se,
        judge_share=min(sd**2 / se**2, 1.0) if se else None,
        cases=len(gap),
        claim=_claim(baseline, candidate, diff, reach, level, inside=inside),
        warnings=(
            (f"{pooled:,} trials have one draw: the mean retest variance stands in for theirs",)
            if pooled
            else ()
        ),
    )


def _claim(
    baseline: str, candidate: str, diff: float, reach: float, level: float, *, inside: bool
) -> str:
    moves = f"judging the same transcripts anew moves it by up to {reach:.3f} ({level:.0%})"
    # rounded first, so that no -0.000 is said
    start = f"{candidate} minus {baseline} is {round(diff, 3) + 0.0:+.3f}; {moves}"
    if inside:
        return f"{start}, so it is inside the judge's noise."
    return f"{start}, so it is more than the judge's noise; cases and trials may still explain it."
