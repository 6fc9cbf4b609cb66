"""The one group-by, on whatever engine holds the trials.

The only module that imports narwhals: project first, then sum, then bring the sums home.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import polars as pl

from trialframe.errors import ArgumentError, ColumnError, did_you_mean, listed
from trialframe.read._fields import Field, Plan, broken, expression, kind_of, resolve
from trialframe.read._frames import to_lazy
from trialframe.read._trials import planned
from trialframe.schema import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL_TRIAL = 40
"""Trial numbers up to here are checked for repeats by the sum of their powers of two."""

COUNTED = ("n", "c", "unscored")
REAL_SUMS = ("score_sum", "tests_share_sum", "trial_bits")
CHECKED = (
    "passed",
    "score",
    "secure",
    "weight",
    "tests_passed",
    "tests_total",
    "tokens_in",
    "tokens_out",
    "cost_uusd",
    "duration_ms",
)
"""Columns whose broken values are counted along with the sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Trials of one engine, the plan of their columns, and the Polars frame if there is one."""

    frame: nw.LazyFrame[Any]
    plan: Plan
    polars: pl.LazyFrame | None


def source_of(trials: Any, columns: Mapping[str, Any], threshold: float | None) -> Source:
    """Any table as a lazy frame of its own engine, with the plan of its columns."""
    lazy = to_lazy(trials)
    if lazy is not None:
        lazy, plan = planned(lazy, columns, threshold)
        return Source(frame=nw.from_native(lazy), plan=plan, polars=lazy)
    made = [name for name, value in columns.items() if isinstance(value, pl.Expr)]
    if made:
        raise ColumnError(
            f"{listed(made)}: an expression cannot run on a {type(trials).__name__}. "
            "Make the column there and name it here."
        )
    frame = nw.from_native(trials).lazy()
    kinds = {name: kind_of(dtype) for name, dtype in frame.collect_schema().items()}
    return Source(frame=frame, plan=resolve(kinds, columns, threshold=threshold), polars=None)


def deduplicated(
    source: Source, keep: Literal["raise", "first", "last", "all"]
) -> tuple[Source, int]:
    """Keep one row per (config, case, trial); rows without a trial number are all kept."""
    trial = source.plan.get("trial")
    if source.polars is None or trial is None:
        reason = "there is no trial column" if trial is None else "an engine has no row order"
        raise ArgumentError(f"keep={keep!r}: {reason}. Remove repeated rows before counting.")
    names = trial_key(source.plan)
    numbered = pl.col(trial.sources[0]).is_not_null()
    side: Literal["first", "last"] = "first" if keep == "first" else "last"
    unique = source.polars.filter(numbered).unique(names, keep=side, maintain_order=True)
    frame = pl.concat([unique, source.polars.filter(~numbered)])
    before, after = (int(f.select(pl.len()).collect().item()) for f in (source.polars, frame))
    return Source(frame=nw.from_native(frame), plan=source.plan, polars=frame), before - after


def sources(plan: Plan, name: str) -> tuple[str, ...]:
    """Source columns of a canonical column; empty when there is none."""
    found = plan.get(name)
    return () if found is None else found.sources


def _key_columns(source: Source, by: tuple[str, ...]) -> dict[str, nw.Expr]:
    """The columns to group by: parts of the key, case-level columns, the outcome class."""
    plan = source.plan
    keys = {}
    for name in ("config", "case"):
        for i, part in enumerate(sources(plan, name)):
            keys[f"{name}__{i}"] = nw.col(part).cast(nw.String)
    for name in ("cluster", "weight", "outcome"):
        if (found := plan.get(name)) is not None:
            keys[name] = expression(found, nw)
    schema = source.frame.collect_schema()
    for i, name in enumerate(by):
        if name not in schema:
            raise ColumnError(f"by: no column {name!r}. {did_you_mean(name, schema.names())}")
        kind = kind_of(schema[name])
        dtypes: dict[str, Any] = {"integer": nw.Int64, "float": nw.Float64, "boolean": nw.Boolean}
        keys[f"by__{i}"] = nw.col(name).cast(dtypes.get(kind, nw.String))
    return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Columns to project, and the elementary aggregate that makes each result column.

    Attributes:
        columns: Projected column -> expression.
        results: Result column -> (projected column, "sum" or "count").
    """

    columns: dict[str, nw.Expr] = field(default_factory=dict)
    results: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, name: str, value: nw.Expr, how: str = "sum") -> None:
        """Project `value` under `name` and aggregate it into a result of that name."""
        self.columns[name] = value
        self.results[name] = (name, how)

    def expressions(self) -> list[nw.Expr]:
        """The aggregates, never of anything but a plain column."""
        return [
            (nw.col(column).count() if how == "count" else nw.col(column).sum()).alias(result)
            for result, (column, how) in self.results.items()
        ]


def _trial_sums(plan: Plan) -> _Sums:
    """What is counted and summed per group when there is one row per trial."""
    sums = _Sums()
    passed = expression(next(f for f in plan.fields if f.name == "passed"), nw)
    sums.add("c", passed.cast(nw.Int64))
    sums.results["n"] = ("c", "count")
    if (secure := plan.get("secure")) is not None:
        safe = expression(secure, nw)
        sums.add("c_secure", (passed & safe).cast(nw.Int64))
        sums.add("secure_unknown", (passed & safe.is_null()).cast(nw.Int64))
    if (trial := plan.get("trial")) is not None:
        sums.add("trial_rows", nw.col(trial.sources[0]), "count")
        if trial.kind in {"integer", "float"}:
            sums.add("trial_bits", _power_of_two(trial))
            sums.results["trial_small"] = ("trial_bits", "count")
    if (attempt := plan.get("attempt")) is not None:
        sums.add("retries", (expression(attempt, nw) > 1).cast(nw.Int64))
    _add_measures(plan, sums)
    return sums


def _power_of_two(trial: Field) -> nw.Expr:
    """2^trial, null outside 0..40.

    Its sum over a case has as many one bits as there are rows exactly when no number
    repeats; being a sum, it runs on every engine and can be rolled up.
    """
    number = nw.col(trial.sources[0]).cast(nw.Float64)
    small = (number >= 0) & (number <= SMALL_TRIAL)
    return nw.when(small).then(nw.lit(2.0) ** number).otherwise(None)


def _add_measures(plan: Plan, sums: _Sums) -> None:
    values = {f.name: expression(f, nw) for f in plan.fields if f.usable and f.name in MEASURES}
    done, total = plan.get("tests_passed"), plan.get("tests_total")
    if done is not None and total is not None:
        share = expression(done, nw).cast(nw.Float64) / expression(total, nw).cast(nw.Float64)
        values["tests_share"] = nw.when(expression(total, nw) > 0).then(share).otherwise(None)
    for name in MEASURES:
        if name in values:
            real = values[name].cast(nw.Float64)
            sums.add(f"{name}_sum", values[name])
            sums.add(f"{name}_sumsq", real * real)
            sums.results[f"{name}_n"] = (f"{name}_sum", "count")


def _counted_sums(source: Source) -> _Sums:
    """What is summed per group when the rows already are counts."""
    schema = source.frame.collect_schema()
    measures = [f"{m}_{part}" for m in MEASURES for part in ("n", "sum", "sumsq")]
    sums = _Sums()
    for item in source.plan.fields:
        if item.name in COUNTED:
            sums.add(item.name, expression(item, nw))
    for name in ("unscored_failed", "c_secure", *measures):
        if name in schema:
            sums.add(name, nw.col(name))
    return sums


def grouped(source: Source, by: tuple[str, ...], attempts: str) -> pl.DataFrame:
    """Run the one group-by on the engine and bring its sums home as Int64 and Float64."""
    keys = _key_columns(source, by)
    if source.polars is not None:  # codes in place of texts: half the memory of the group-by
        keys = {name: _coded(source.frame, key) for name, key in keys.items()}
    counted = source.plan.shape == "counts"
    sums = _counted_sums(source) if counted else _trial_sums(source.plan)
    for i, item in enumerate(source.plan.fields):
        if item.name in CHECKED and item.usable and (test := broken(item, nw)) is not None:
            sums.add(f"bad__{i}", test.cast(nw.Int64))
    frame = source.frame
    attempt = source.plan.get("attempt")
    if attempts == "first" and attempt is not None:
        frame = frame.filter(expression(attempt, nw) == 1)
    projected = frame.select(**keys, **sums.columns)
    query = projected.group_by(*keys).agg(nw.len().alias("rows"), *sums.expressions())
    options: dict[str, Any] = {"engine": "streaming"} if source.polars is not None else {}
    result: pl.DataFrame = query.collect(backend="polars", **options).to_native()
    result = _ordered_texts(result)
    names = ["rows", *sums.results]
    real = [name for name in names if name.endswith("_sumsq") or name in REAL_SUMS]
    return result.with_columns(
        pl.col([name for name in names if name not in real]).cast(pl.Int64).fill_null(0),
        pl.col(real).cast(pl.Float64).fill_null(0.0),
    )


def _coded(frame: nw.LazyFrame[Any], key: nw.Expr) -> nw.Expr:
    """A text key as a categorical, any other key as it is."""
    is_text = frame.select(key.alias("key")).collect_schema()["key"] == nw.String
    return key.cast(nw.Categorical()) if is_text else key


def _ordered_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts as enumerations in alphabetical order: small, and they sort by code."""
    enums = {}
    for name, dtype in frame.schema.items():
        if dtype == pl.String or dtype == pl.Categorical:
            words = frame[name].unique().cast(pl.String).drop_nulls().sort()
            enums[name] = pl.col(name).cast(pl.Enum(words))
    return frame.with_columns(**enums)


def distinct_trials(source: Source) -> int:
    """Number of different (config, case, trial), for trial numbers that are large or text."""
    names = {f"key__{i}": nw.col(name) for i, name in enumerate(trial_key(source.plan))}
    trial = nw.col(sources(source.plan, "trial")[0])
    frame = source.frame.filter(~trial.is_null()).select(**names, rows=nw.lit(1, nw.Int64))
    unique = frame.group_by(*names).agg(nw.col("rows").sum())
    total = unique.select(nw.col("rows").count()).collect(backend="polars").to_native()
    return int(total.item())


def trial_key(plan: Plan) -> list[str]:
    """Source columns of the key of a trial."""
    return [name for part in ("config", "case", "trial") for name in sources(plan, part)]
