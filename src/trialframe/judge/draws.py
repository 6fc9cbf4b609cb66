"""Judge draws: the same transcripts judged several times, and what that noise does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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
    short,
)
from trialframe.judge._rows import refuse_null_keys, refuse_repeats, refuse_split_cases, rows_of
from trialframe.judge.rejudged import RejudgedDifference, codes_of, rejudged_difference
from trialframe.kernels import retest as kernels
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias, Unpack

    from trialframe.judge._rows import Keys
    from trialframe.results import Estimate

    Row: TypeAlias = dict[str, Any]

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    _drawing: ClassVar[tuple[str, str, str]] = (
        "Agreement of a judge with itself",
        "level",
        "kappa of two draws",
    )

    draws: pl.DataFrame
    components: pl.DataFrame
    reliability: pl.DataFrame
    difference: RejudgedDifference | None
    level: float
    settings: str

    def _estimates(self) -> list[Estimate]:
        rows: list[Estimate] = self.draws.select("config", "kappa", "low", "high").rows()
        return rows


def judge_noise(
    frame: Any,
    *,
    judge: str = "judge",
    draw: str = "judge_draw",
    baseline: str | None = None,
    candidate: str | None = None,
    planned: int | Sequence[int] = (1, 2, 3, 5, 10),
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
        looks perfect. The difference is inside the judge's noise when `|diff|` <= z sd, sd^2 =
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
    several = planned if isinstance(planned, Sequence) else [planned]
    many = [_checks.integer(m, "planned", low=1) for m in several]
    if (baseline is None) != (candidate is None):
        raise ArgumentError("give both baseline= and candidate=, or neither.")
    trials = _trials(frame, judge, draw, columns)
    configs = trials["config"].unique().sort().to_list()
    for name in (baseline, candidate):
        if name is not None and name not in configs:
            raise UnknownConfigError(f"no config {name!r} here. {did_you_mean(name, configs)}")
    rows, parts, rates = _every(trials, many, level, resamples, seed)
    compared = None
    if baseline is not None and candidate is not None:
        compared = rejudged_difference(trials, baseline, candidate, level)
    return JudgeNoise(
        draws=_clean(rows, DRAWS),
        components=_clean(parts, COMPONENTS),
        reliability=_clean(rates, RELIABILITY),
        difference=compared,
        level=level,
        settings=f"judge={judge!r}, draw={draw!r}, resamples={resamples}, seed={seed}",
    )


def _every(
    trials: pl.DataFrame, many: list[int], level: float, resamples: int, seed: int
) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows of the three tables, config after config."""
    rows, parts, rates = [], [], []
    for (config,), part in trials.group_by("config", maintain_order=True):
        row, split = _one(part, level, resamples, np.random.default_rng(seed))
        rows.append({"config": config} | row)
        parts += [{"config": config} | line for line in _lines(split)]
        found = split.reliability(np.array(many, dtype=np.float64)).tolist()
        rates += [
            {"config": config, "draws": m, "reliability": value}
            for m, value in zip(many, found, strict=True)
        ]
    return rows, parts, rates


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
    case, n, c = codes_of(used["case"]), used["n"].to_numpy(), used["c"].to_numpy()
    split = kernels.components(case, n, c)
    unit = case
    if "cluster" in used.columns:
        alone = pl.format("\0{}", "case")
        unit = codes_of(used.select(pl.coalesce("cluster", alone)).to_series())
    found = kernels.draw_agreement(unit, n, c, rng, resamples=resamples, level=level)
    rates = used.group_by("case", maintain_order=True).agg((pl.col("c") / pl.col("n")).mean())
    noise = float(np.maximum(split.draw, 0.0))
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


def _cautions(row: Row, split: kernels.Components) -> list[str]:
    told = []
    if not row["trials"]:
        return ["the judge gave no verdict"]
    if row["units"] < 2:
        told.append("no two independent units: no interval")
    elif row["units"] < FEW:
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
            "variance": float(np.maximum(value, 0.0)),
            "share": float(np.maximum(value, 0.0)) / total if total > 0 else None,
        }
        for name, value in raw.items()
    ]
