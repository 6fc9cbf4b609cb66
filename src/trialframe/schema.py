"""The contract of every table: column, dtype, unit, nullability, key, meaning, aliases.

Unknown is null, never 0 and never NaN. Money is in micro-dollars and time in
milliseconds, both whole numbers, so that sums are the same on every engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars._typing import PolarsDataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table.

    Attributes:
        name: Canonical name.
        dtype: Polars data type.
        meaning: What the column holds, in one line.
        unit: Unit of the values, empty when they have none.
        key: Whether the column is part of the table's key.
        nullable: Whether null (unknown) is allowed.
        required: Whether a table without the column is refused.
        aliases: Other names under which the column is found, with the factor
            that turns their unit into this one (1 for the same unit).
    """

    name: str
    dtype: PolarsDataType
    meaning: str
    unit: str = ""
    key: bool = False
    nullable: bool = True
    required: bool = False
    aliases: Mapping[str, float] = field(default_factory=dict)


ONE_CONFIG = "system"
"""The config's name when a table has no config column."""


def _same(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 1.0)


TRIALS: tuple[Column, ...] = (
    Column(
        name="config",
        dtype=pl.String,
        key=True,
        nullable=False,
        meaning="the system under test: model, agent, scaffold",
        aliases=_same("config_id", "model", "agent", "system", "model_name", "agent_name"),
    ),
    Column(
        name="case",
        dtype=pl.String,
        key=True,
        nullable=False,
        required=True,
        meaning="the task, question or instance that was tried",
        aliases=_same(
            "case_id",
            "task_id",
            "item_id",
            "instance_id",
            "sample_id",
            "question_id",
            "problem_id",
            "doc_id",
            "task",
            "item",
            "instance",
            "question",
            "problem",
        ),
    ),
    Column(
        name="trial",
        dtype=pl.Int64,
        key=True,
        meaning="which repetition of the case this row is",
        aliases=_same(
            "trial_id",
            "trial_index",
            "epoch",
            "repeat",
            "repetition",
            "run",
            "run_index",
            "run_id",
            "iteration",
            "rollout",
        ),
    ),
    Column(
        name="trial_made",
        dtype=pl.Boolean,
        meaning="whether the trial number is only the order of rows: no pair across configs",
    ),
    Column(
        name="attempt",
        dtype=pl.Int64,
        meaning="sequential attempt inside a trial, counted from 1, stopping at success",
        aliases=_same("attempt_index"),
    ),
    Column(
        name="cluster",
        dtype=pl.String,
        meaning="group of dependent cases: repository, source, passage",
        aliases=_same("cluster_id"),
    ),
    Column(
        name="passed",
        dtype=pl.Boolean,
        required=True,
        meaning="verdict of the trial; null when it was not scored",
        aliases=_same(
            "pass",
            "resolved",
            "is_resolved",
            "correct",
            "is_correct",
            "success",
            "is_success",
            "solved",
        ),
    ),
    Column(
        name="score",
        dtype=pl.Float64,
        meaning="graded result, any real number",
        aliases=_same("reward"),
    ),
    Column(
        name="outcome",
        dtype=pl.String,
        meaning="how the trial ended: completed, timeout, infra_error...",
        aliases=_same("failure_mode", "status", "termination", "error_type"),
    ),
    Column(
        name="secure",
        dtype=pl.Boolean,
        meaning="no high-severity security finding; null when not checked",
        aliases=_same("is_secure"),
    ),
    Column(
        name="label",
        dtype=pl.Boolean,
        meaning="human verdict, null where nobody looked",
        aliases=_same("human_label", "human_passed"),
    ),
    Column(
        name="judge",
        dtype=pl.Boolean,
        meaning="verdict of an automatic judge",
        aliases=_same("judge_pass", "judge_passed"),
    ),
    Column(name="tests_passed", dtype=pl.Int64, unit="tests", meaning="unit tests that passed"),
    Column(name="tests_total", dtype=pl.Int64, unit="tests", meaning="unit tests that ran"),
    Column(
        name="tokens_in",
        dtype=pl.Int64,
        unit="tokens",
        meaning="tokens sent to the model",
        aliases=_same("input_tokens", "prompt_tokens"),
    ),
    Column(
        name="tokens_out",
        dtype=pl.Int64,
        unit="tokens",
        meaning="tokens the model wrote",
        aliases=_same("output_tokens", "completion_tokens"),
    ),
    Column(
        name="cost_uusd",
        dtype=pl.Int64,
        unit="micro-dollars",
        meaning="price of the trial",
        aliases={"cost_usd": 1e6},
    ),
    Column(
        name="duration_ms",
        dtype=pl.Int64,
        unit="milliseconds",
        meaning="wall time of the trial",
        aliases={"latency_ms": 1.0, "duration_s": 1e3, "latency_s": 1e3},
    ),
    Column(
        name="started_at",
        dtype=pl.Datetime("us", "UTC"),
        meaning="when the trial started",
        aliases=_same("start_time", "timestamp"),
    ),
    Column(name="seed", dtype=pl.String, meaning="sampling seed of the trial"),
    Column(name="context", dtype=pl.String, meaning="what trials share: session, cache, container"),
    Column(name="image", dtype=pl.String, meaning="environment image or version"),
    Column(name="split", dtype=pl.String, meaning="train, test, held-out..."),
    Column(
        name="weight",
        dtype=pl.Float64,
        meaning="weight of the case in every mean, >= 0, one value per case",
    ),
)

COUNTS: tuple[Column, ...] = (
    Column(name="config", dtype=pl.String, key=True, nullable=False, meaning="system under test"),
    Column(
        name="case", dtype=pl.String, key=True, nullable=False, required=True, meaning="the task"
    ),
    Column(name="cluster", dtype=pl.String, meaning="group of dependent cases"),
    Column(name="weight", dtype=pl.Float64, nullable=False, meaning="weight of the case, >= 0"),
    Column(
        name="n",
        dtype=pl.Int64,
        unit="trials",
        nullable=False,
        required=True,
        meaning="scored trials",
    ),
    Column(
        name="c", dtype=pl.Int64, unit="trials", nullable=False, required=True, meaning="passes"
    ),
    Column(
        name="unscored",
        dtype=pl.Int64,
        unit="trials",
        nullable=False,
        meaning="trials without a verdict that are left out of n",
    ),
    Column(
        name="unscored_failed",
        dtype=pl.Int64,
        unit="trials",
        nullable=False,
        meaning="trials without a verdict that a policy counts in n as failures",
    ),
    Column(
        name="c_secure",
        dtype=pl.Int64,
        unit="trials",
        nullable=False,
        meaning="passes without a high-severity security finding",
    ),
)

MEASURES: tuple[str, ...] = (
    "score",
    "tests_share",
    "tokens_in",
    "tokens_out",
    "cost_uusd",
    "duration_ms",
)
"""Trial columns whose count, sum and sum of squares go into the counts.

`tests_share` is tests_passed / tests_total of a trial.
"""

SUMMARY: tuple[Column, ...] = (
    Column(name="config", dtype=pl.String, key=True, nullable=False, meaning="system under test"),
    Column(name="metric", dtype=pl.String, key=True, nullable=False, meaning="what is estimated"),
    Column(name="k", dtype=pl.Int64, key=True, meaning="trials drawn, for pass@k and its kin"),
    Column(name="value", dtype=pl.Float64, meaning="the estimate"),
    Column(name="se", dtype=pl.Float64, meaning="standard error of the estimate"),
    Column(name="low", dtype=pl.Float64, meaning="lower end of the interval"),
    Column(name="high", dtype=pl.Float64, meaning="upper end of the interval"),
    Column(name="level", dtype=pl.Float64, meaning="nominal coverage of the interval"),
    Column(name="df", dtype=pl.Float64, meaning="degrees of freedom of the interval"),
    Column(name="unit", dtype=pl.String, meaning="unit of value, se, low and high"),
    Column(name="estimand", dtype=pl.String, meaning="cases: tasks like these; suite: these tasks"),
    Column(name="method", dtype=pl.String, meaning="how se and interval were made"),
    Column(name="cases", dtype=pl.Int64, unit="cases", meaning="cases in the estimate"),
    Column(name="trials", dtype=pl.Int64, unit="trials", meaning="scored trials in the estimate"),
    Column(name="clusters", dtype=pl.Int64, meaning="independent units behind the interval"),
    Column(name="largest_share", dtype=pl.Float64, meaning="share of the largest cluster"),
    Column(name="dropped", dtype=pl.Int64, unit="cases", meaning="cases without a value"),
    Column(name="unscored", dtype=pl.Int64, unit="trials", meaning="trials without a verdict"),
    Column(name="coverage", dtype=pl.Float64, meaning="share of trials with a verdict"),
    Column(name="bracket_low", dtype=pl.Float64, meaning="value if every unscored trial failed"),
    Column(name="bracket_high", dtype=pl.Float64, meaning="value if every unscored trial passed"),
    Column(name="bracket_cases", dtype=pl.Int64, unit="cases", meaning="cases in the bracket"),
    Column(
        name="identified_low",
        dtype=pl.Float64,
        meaning="lower end of the interval over the bracket (Imbens-Manski)",
    ),
    Column(
        name="identified_high",
        dtype=pl.Float64,
        meaning="upper end of the interval over the bracket (Imbens-Manski)",
    ),
    Column(name="warnings", dtype=pl.String, meaning="what to know before quoting the row"),
)


LEADERBOARD: tuple[Column, ...] = (
    Column(name="config", dtype=pl.String, key=True, nullable=False, meaning="system under test"),
    Column(name="metric", dtype=pl.String, key=True, nullable=False, meaning="what is estimated"),
    Column(name="value", dtype=pl.Float64, meaning="the estimate on the shared cases"),
    Column(name="se", dtype=pl.Float64, meaning="standard error of the estimate"),
    Column(name="low", dtype=pl.Float64, meaning="lower end of the interval"),
    Column(name="high", dtype=pl.Float64, meaning="upper end of the interval"),
    Column(name="level", dtype=pl.Float64, meaning="nominal coverage of every interval and set"),
    Column(name="unit", dtype=pl.String, meaning="unit of value, se, low and high"),
    Column(name="method", dtype=pl.String, meaning="how se and interval were made"),
    Column(name="rank", dtype=pl.Int64, nullable=False, meaning="1 is best; ties share a rank"),
    Column(name="rank_low", dtype=pl.Int64, nullable=False, meaning="best rank the data allow"),
    Column(name="rank_high", dtype=pl.Int64, nullable=False, meaning="worst rank the data allow"),
    Column(
        name="plausibly_best",
        dtype=pl.Boolean,
        nullable=False,
        meaning="not significantly worse than the best, whichever that is",
    ),
    Column(name="cases", dtype=pl.Int64, unit="cases", meaning="cases that all configs share"),
    Column(name="trials", dtype=pl.Int64, unit="trials", meaning="scored trials in the estimate"),
    Column(name="clusters", dtype=pl.Int64, meaning="independent units behind the intervals"),
    Column(name="dropped", dtype=pl.Int64, unit="cases", meaning="cases of the config left out"),
    Column(name="unscored", dtype=pl.Int64, unit="trials", meaning="trials without a verdict"),
    Column(name="coverage", dtype=pl.Float64, meaning="share of trials with a verdict"),
    Column(
        name="cost_uusd",
        dtype=pl.Float64,
        unit="micro-dollars",
        meaning="mean price of a trial, averaged over cases",
    ),
    Column(
        name="cost_uusd_per_pass",
        dtype=pl.Float64,
        unit="micro-dollars",
        meaning="price of one solved case",
    ),
    Column(
        name="cost_uusd_per_pass_low",
        dtype=pl.Float64,
        unit="micro-dollars",
        meaning="lower end of its interval",
    ),
    Column(
        name="cost_uusd_per_pass_high",
        dtype=pl.Float64,
        unit="micro-dollars",
        meaning="upper end of its interval",
    ),
    Column(
        name="pareto",
        dtype=pl.Boolean,
        meaning="on the front of cost_uusd and value: nothing is as cheap and as good and better",
    ),
    Column(
        name="pareto_share",
        dtype=pl.Float64,
        meaning="share of bootstrap resamples in which it is on the front",
    ),
    Column(name="warnings", dtype=pl.String, meaning="what to know before quoting the row"),
)

COMPARISONS: tuple[Column, ...] = (
    Column(name="baseline", dtype=pl.String, key=True, nullable=False, meaning="compared with"),
    Column(name="candidate", dtype=pl.String, key=True, nullable=False, meaning="compared"),
    Column(name="metric", dtype=pl.String, key=True, nullable=False, meaning="what is compared"),
    Column(name="diff", dtype=pl.Float64, meaning="candidate minus baseline on shared cases"),
    Column(name="se", dtype=pl.Float64, meaning="standard error of the difference"),
    Column(name="low", dtype=pl.Float64, meaning="lower end of the pair's own interval"),
    Column(name="high", dtype=pl.Float64, meaning="upper end of the pair's own interval"),
    Column(name="level", dtype=pl.Float64, meaning="nominal coverage of the intervals"),
    Column(name="interval", dtype=pl.String, meaning="how low and high were made"),
    Column(name="df", dtype=pl.Float64, meaning="degrees of freedom of the t interval"),
    Column(name="pvalue", dtype=pl.Float64, meaning="the pair's own two-sided p-value"),
    Column(name="exact", dtype=pl.Boolean, meaning="whether that test is exact"),
    Column(name="adjust", dtype=pl.String, meaning="how p-values are adjusted for each other"),
    Column(name="adjusted", dtype=pl.Float64, meaning="adjusted p-value"),
    Column(name="simultaneous_low", dtype=pl.Float64, meaning="lower end over all pairs, max-t"),
    Column(name="simultaneous_high", dtype=pl.Float64, meaning="upper end over all pairs, max-t"),
    Column(name="verdict", dtype=pl.String, nullable=False, meaning="better, worse, inconclusive"),
    Column(name="baseline_value", dtype=pl.Float64, meaning="the baseline's mean on shared cases"),
    Column(name="candidate_value", dtype=pl.Float64, meaning="the candidate's mean"),
    Column(name="cases", dtype=pl.Int64, unit="cases", meaning="shared cases with both values"),
    Column(name="units", dtype=pl.Int64, meaning="independent units: clusters or cases"),
    Column(name="changed", dtype=pl.Int64, meaning="units whose sum of differences is not 0"),
    Column(name="wins", dtype=pl.Int64, unit="cases", meaning="where the candidate is higher"),
    Column(name="losses", dtype=pl.Int64, unit="cases", meaning="where it is lower"),
    Column(name="only_baseline", dtype=pl.Int64, unit="cases", meaning="which the candidate lacks"),
    Column(name="only_candidate", dtype=pl.Int64, unit="cases", meaning="which the baseline lacks"),
    Column(name="undefined", dtype=pl.Int64, unit="cases", meaning="shared without both values"),
    Column(name="warnings", dtype=pl.String, meaning="what weakens the row"),
)


SIGNALS: tuple[Column, ...] = (
    Column(name="config", dtype=pl.String, key=True, nullable=False, meaning="system under test"),
    Column(name="signal", dtype=pl.String, key=True, nullable=False, meaning="what is judged"),
    Column(name="role", dtype=pl.String, meaning="signal, or a reference: length, difficulty"),
    Column(name="value", dtype=pl.Float64, meaning="concordant share of fail/pass pairs"),
    Column(name="low", dtype=pl.Float64, meaning="lower end of the interval"),
    Column(name="high", dtype=pl.Float64, meaning="upper end of the interval"),
    Column(name="se", dtype=pl.Float64, meaning="bootstrap standard error"),
    Column(name="level", dtype=pl.Float64, meaning="nominal coverage of the interval"),
    Column(name="macro", dtype=pl.Float64, meaning="mean over cases of their own AUC"),
    Column(name="pooled", dtype=pl.Float64, meaning="AUC over all pairs, also of different cases"),
    Column(name="pvalue", dtype=pl.Float64, meaning="two-sided, outcomes permuted within cases"),
    Column(name="test", dtype=pl.String, meaning="how the p-value was computed"),
    Column(name="exact", dtype=pl.Boolean, meaning="whether that test is exact"),
    Column(name="scope", dtype=pl.String, meaning="pairs of the same case, or of all cases"),
    Column(name="method", dtype=pl.String, meaning="how the interval or the reference was made"),
    Column(name="cases_used", dtype=pl.Int64, unit="cases", meaning="cases that give pairs"),
    Column(name="cases", dtype=pl.Int64, unit="cases", meaning="cases of the config"),
    Column(name="units", dtype=pl.Int64, meaning="cases or clusters that were resampled"),
    Column(name="pairs", dtype=pl.Int64, meaning="pairs of a failing and a passing trial"),
    Column(name="trials", dtype=pl.Int64, unit="trials", meaning="scored trials with the signal"),
    Column(name="missing", dtype=pl.Int64, unit="trials", meaning="scored, without the signal"),
    Column(name="unscored", dtype=pl.Int64, unit="trials", meaning="trials without a verdict"),
    Column(name="warnings", dtype=pl.String, meaning="what to know before quoting the row"),
)


def column(table: tuple[Column, ...], name: str) -> Column:
    """The column of a table by name."""
    return next(item for item in table if item.name == name)
