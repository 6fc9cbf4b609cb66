"""The one group-by, on whatever engine holds the trials.

The only module that imports narwhals: project first, then sum, then bring the sums home.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def deduplicated(source: Source, keep: Literal["first", "last"]) -> tuple[Source, int]:
    """Keep one row per (config, case, trial); rows without a trial number are all kept."""
    trial = source.plan.get("trial")
    if source.polars is None or trial is None:
        reason = "there is no trial column" if trial is None else "an engine has no row order"
        raise ArgumentError(f"keep={keep!r}: {reason}. Remove repeated rows before counting.")
    names = trial_key(source.plan)
    numbered = pl.col(trial.sources[0]).is_not_null()
    unique = source.polars.filter(numbered).unique(names, keep=keep, maintain_order=True)
    frame = pl.concat([unique, source.polars.filter(~numbered)])
    before, after = (int(f.select(pl.len()).collect().item()) for f in (source.polars, frame))
    return Source(frame=nw.from_native(frame), plan=source.plan, polars=frame), before - after


def sources(plan: Plan, name: str) -> tuple[str, ...]:
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
        dtype = {"integer": nw.Int64, "float": nw.Float64, "boolean": nw.Boolean}.get(kind)
        keys[f"by__{i}"] = nw.col(name).cast(dtype or nw.String)
    return keys


def _trial_columns(plan: Plan) -> dict[str, nw.Expr]:
    """What is summed per group when there is one row per trial."""
    passed = expression(plan.fields[[f.name for f in plan.fields].index("passed")], nw)
    one = nw.lit(1, nw.Int64)
    columns = {
        "rows": one,
        "n": (~passed.is_null()).cast(nw.Int64),
        "c": passed.cast(nw.Int64),
    }
    if (secure := plan.get("secure")) is not None:
        safe = expression(secure, nw)
        columns["c_secure"] = (passed & safe).cast(nw.Int64)
        columns["secure_unknown"] = (passed & safe.is_null()).cast(nw.Int64)
    if (trial := plan.get("trial")) is not None:
        columns |= _trial_bits(trial)
    if (attempt := plan.get("attempt")) is not None:
        columns["retries"] = (expression(attempt, nw) > 1).cast(nw.Int64)
    return columns | _measure_columns(plan)


def _trial_bits(trial: Field) -> dict[str, nw.Expr]:
    """Columns whose sums tell whether the trial numbers of a group are all different.

    The sum of 2^trial has as many one bits as there are rows exactly when no number
    repeats, and, being a sum, it can be rolled up. Numbers outside 0..40 are counted apart.
    """
    known = (~nw.col(trial.sources[0]).is_null()).cast(nw.Int64)
    if trial.kind not in {"integer", "float"}:
        return {"trial_rows": known, "trial_odd": known}
    number = nw.col(trial.sources[0]).cast(nw.Float64)
    small = (number >= 0) & (number <= SMALL_TRIAL)
    return {
        "trial_rows": known,
        "trial_odd": (~small).cast(nw.Int64),
        "trial_bits": nw.when(small).then(nw.lit(2.0) ** number).otherwise(None),
    }


def _measure_columns(plan: Plan) -> dict[str, nw.Expr]:
    values = {f.name: expression(f, nw) for f in plan.fields if f.usable and f.name in MEASURES}
    done, total = plan.get("tests_passed"), plan.get("tests_total")
    if done is not None and total is not None:
        share = expression(done, nw).cast(nw.Float64) / expression(total, nw).cast(nw.Float64)
        values["tests_share"] = nw.when(expression(total, nw) > 0).then(share).otherwise(None)
    columns = {}
    for name in MEASURES:
        if name in values:
            value = values[name]
            real = value.cast(nw.Float64)
            columns[f"{name}_n"] = (~value.is_null()).cast(nw.Int64)
            columns[f"{name}_sum"] = value
            columns[f"{name}_sumsq"] = real * real
    return columns


def _counted_columns(source: Source) -> dict[str, nw.Expr]:
    """What is summed per group when the rows already are counts."""
    schema = source.frame.collect_schema()
    sums = [f"{m}_{part}" for m in MEASURES for part in ("n", "sum", "sumsq")]
    names = [name for name in ("unscored_failed", "c_secure", *sums) if name in schema]
    columns = {f.name: expression(f, nw) for f in source.plan.fields if f.name in COUNTED}
    return columns | {"rows": nw.lit(1, nw.Int64)} | {name: nw.col(name) for name in names}


def grouped(source: Source, by: tuple[str, ...], attempts: str) -> pl.DataFrame:
    """Run the one group-by on the engine and bring its sums home as Int64 and Float64."""
    keys = _key_columns(source, by)
    if source.plan.shape == "counts":
        sums = _counted_columns(source)
    else:
        sums = _trial_columns(source.plan)
    for i, item in enumerate(source.plan.fields):
        if item.name in CHECKED and item.usable and (test := broken(item, nw)) is not None:
            sums[f"bad__{i}"] = test.cast(nw.Int64)
    frame = source.frame
    attempt = source.plan.get("attempt")
    if attempts == "first" and attempt is not None:
        frame = frame.filter(expression(attempt, nw) == 1)
    projected = frame.select(**keys, **sums)
    grouped = projected.group_by(*keys).agg(*(nw.col(name).sum() for name in sums))
    options = {"engine": "streaming"} if source.polars is not None else {}
    result = grouped.collect(backend="polars", **options).to_native()
    real = [name for name in sums if name.endswith("_sumsq") or name in REAL_SUMS]
    return result.with_columns(
        pl.col([name for name in sums if name not in real]).cast(pl.Int64).fill_null(0),
        pl.col(real).cast(pl.Float64).fill_null(0.0),
    )


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
