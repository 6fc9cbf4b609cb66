"""The one group-by, on whatever engine holds the trials.

The only module that imports narwhals: project first, then sum, then bring the sums home.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import polars as pl
from narwhals.exceptions import NarwhalsError

from trialframe import _checks
from trialframe.errors import (
    ArgumentError,
    ColumnError,
    SourceError,
    TrialsError,
    did_you_mean,
    listed,
)
from trialframe.read._fields import LARGEST, Plan, broken, expression, kind_of, resolve
from trialframe.read._frames import to_lazy
from trialframe.read._trials import planned
from trialframe.schema import MEASURES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BITS = 41
"""Trial numbers per column of powers of two; 4,096 of them add up exactly in a double."""

RUNS = ("run", "run_id", "job", "log")
"""Columns of logs that may tell runs apart."""

MOST_WORDS = 8
"""Columns of powers of two at most; larger trial numbers are compared one by one."""

ROWS_AT_ONCE = 12_000_000
"""Rows that one Polars group-by takes: about 1 GiB at its peak."""

COUNTED = ("n", "c", "unscored")
REAL_SUMS = ("score_sum", "tests_share_sum")
CHECKED = (
    "config",
    "case",
    "cluster",
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
    if threshold is not None:
        threshold = _checks.between(threshold, "threshold", low=-LARGEST, high=LARGEST)
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


def first_attempts(source: Source) -> Source:
    """Only the first attempt of every sequence; attempts must count from 1."""
    attempt = source.plan.get("attempt")
    if attempt is None or attempt.kind == "null":
        return source
    frame = source.frame.filter(expression(attempt, nw) == 1)
    polars = None if source.polars is None else source.polars.filter(expression(attempt, pl) == 1)
    return Source(frame=frame, plan=source.plan, polars=polars)


def unnumbered_attempts(source: Source) -> int:
    """Rows whose attempt is unknown or less than 1."""
    attempt = source.plan.get("attempt")
    if attempt is None or attempt.kind == "null":
        return 0
    number = expression(attempt, nw)
    odd = source.frame.select(odd=(number.is_null() | (number < 1)).cast(nw.Int64))
    return int(_native(odd.select(nw.col("odd").sum()).collect(backend="polars")).item() or 0)


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


def refuse_made_runs(source: Source, what: str) -> None:
    """Raise when trials have no number, or one that is only the order of rows.

    Raises:
        TrialsError: Some are so.
    """
    made, trial = source.plan.get("trial_made"), source.plan.get("trial")
    flags = {}
    if made is not None and made.kind != "null":
        flags["numbered in the order of their log (trial_made is true)"] = expression(made, nw)
    if trial is not None:
        flags["given no number"] = nw.col(trial.sources[0]).is_null()
    for told, flag in flags.items():
        marked = source.frame.select(odd=flag.cast(nw.Int64))
        rows = int(
            _native(marked.select(nw.col("odd").sum()).collect(backend="polars")).item() or 0
        )
        if rows:
            known = source.frame.collect_schema().names()
            run = next((name for name in RUNS if name in known), "run")
            raise TrialsError(
                f"{rows:,} trials were {told}, so that {what}: trial 3 of one case has nothing to "
                "do with trial 3 of another. Name the column that tells runs apart, for example "
                f"trial={run!r}."
            )


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


def _trial_sums(source: Source) -> _Sums:
    """What is counted and summed per group when there is one row per trial."""
    plan, sums = source.plan, _Sums()
    passed = expression(next(f for f in plan.fields if f.name == "passed"), nw)
    sums.add("c", passed.cast(nw.Int64))
    sums.results["n"] = ("c", "count")
    if (secure := plan.get("secure")) is not None:
        safe = expression(secure, nw)
        sums.add("c_secure", (passed & safe).cast(nw.Int64))
        sums.add("secure_unknown", (passed & safe.is_null()).cast(nw.Int64))
    _add_trial_bits(source, sums)
    if (attempt := plan.get("attempt")) is not None:
        sums.add("retries", (expression(attempt, nw) > 1).cast(nw.Int64))
    _add_measures(plan, sums)
    return sums


def _add_trial_bits(source: Source, sums: _Sums) -> None:
    """Sums that tell whether the trial numbers of a case are all different.

    The sum of 2^trial has as many one bits as there are rows exactly when no number
    repeats; being a sum, it runs on every engine and can be rolled up. Numbers beyond 40 go
    to further columns; text and numbers out of reach are left to `distinct_trials`.
    """
    trial = source.plan.get("trial")
    if trial is None:
        return
    number = nw.col(trial.sources[0])
    if trial.kind not in {"integer", "float"}:
        sums.add("trial_rows", number, "count")
        return
    facts = source.frame.select(
        low=number.min(), high=number.max(), known=number.count(), rows=nw.len()
    )
    low, high, known, rows = _native(facts.collect(backend="polars")).row(0)
    if known < rows:
        sums.add("trial_rows", number, "count")
    if known and low >= 0 and high < BITS * MOST_WORDS:
        for word in range(int(high) // BITS + 1):
            bit = number.cast(nw.Float64) - float(BITS * word)
            inside = (bit >= 0) & (bit < BITS)
            power = nw.when(inside).then(nw.lit(2.0) ** bit).otherwise(None)
            sums.add(f"trial_bits_{word}", power)


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


def grouped(source: Source, by: tuple[str, ...]) -> pl.DataFrame:
    """Run the one group-by on the engine and bring its sums home as Int64 and Float64."""
    keys = _key_columns(source, by)
    counted = source.plan.shape == "counts"
    sums = _counted_sums(source) if counted else _trial_sums(source)
    for i, item in enumerate(source.plan.fields):
        if item.name in CHECKED and item.usable and (test := broken(item, nw)) is not None:
            sums.add(f"bad__{i}", test.cast(nw.Int64))

    def query(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        projected = frame.select(**keys, **sums.columns)
        return projected.group_by(*keys).agg(nw.len().alias("rows"), *sums.expressions())

    result = _ordered_texts(_collected(source, query))
    names = ["rows", *sums.results]
    real = [
        name for name in names if name.endswith("_sumsq") or name in REAL_SUMS or "_bits_" in name
    ]
    return result.with_columns(
        pl.col([name for name in names if name not in real]).cast(pl.Int64).fill_null(0),
        pl.col(real).cast(pl.Float64).fill_null(0.0),
    )


def _collected(
    source: Source, query: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]
) -> pl.DataFrame:
    """Run the query where the trials are; on Polars in parts of the cases when there are many.

    A streaming group-by holds its keys and values until the end, so memory would grow with
    the rows. Parts are disjoint by case: their results only have to be put together.
    """
    if source.polars is None:
        return _native(query(source.frame).collect(backend="polars"))
    try:
        parts = [query(nw.from_native(part)) for part in _parts(source.polars, source.plan)]
        return pl.concat([_native(part.collect(engine="streaming")) for part in parts])
    except (pl.exceptions.PolarsError, NarwhalsError) as error:
        raise SourceError(
            f"the trials could not be read or computed: {error}. Check the files, and the "
            "expressions that columns are made with."
        ) from error


def _parts(frame: pl.LazyFrame, plan: Plan) -> list[pl.LazyFrame]:
    """The trials in parts of whole cases, each of about ROWS_AT_ONCE rows."""
    rows = int(frame.select(pl.len()).collect().item())
    parts = -(-rows // ROWS_AT_ONCE)
    if parts <= 1:
        return [frame]
    case = pl.col(sources(plan, "case")[0]).hash() % parts
    return [frame.filter(case == part) for part in range(parts)]


def _native(frame: nw.DataFrame[Any]) -> pl.DataFrame:
    native: pl.DataFrame = frame.to_native()
    return native


def _ordered_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts as enumerations in alphabetical order: small, and they sort by code."""
    enums = {}
    for name, dtype in frame.schema.items():
        if dtype == pl.String:
            words = frame[name].unique().drop_nulls().sort()
            enums[name] = pl.col(name).cast(pl.Enum(words))
    return frame.with_columns(**enums)


def with_copies(source: Source, copies: Mapping[str, str]) -> Any:
    """The table of the engine with some columns repeated under new names."""
    added = {new: nw.col(old) for new, old in copies.items()}
    return source.frame.with_columns(**added).to_native()


def trial_rows(source: Source, names: tuple[str, ...]) -> pl.DataFrame:
    """Some canonical columns of every trial, with the parts of the key as text, brought home."""
    found = {n: f for n in names if (f := source.plan.get(n)) is not None and f.usable}
    keys = {
        f"{name}__{i}": part
        for name in ("config", "case", "trial")
        for i, part in enumerate(sources(source.plan, name))
    }
    raw = dict.fromkeys([*keys.values(), *(part for f in found.values() for part in f.sources)])
    home = _collected(source, lambda frame: frame.select(*raw))
    texts = {key: pl.col(part).cast(pl.String) for key, part in keys.items()}
    return home.select(**texts, **{name: expression(f, pl) for name, f in found.items()})


def distinct_trials(source: Source) -> int:
    """Number of different (config, case, trial), for trial numbers that are large or text."""
    names = {f"key__{i}": nw.col(name) for i, name in enumerate(trial_key(source.plan))}
    known = ~nw.col(sources(source.plan, "trial")[0]).is_null()

    def query(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        frame = frame.filter(known).select(**names, rows=nw.lit(1, nw.Int64))
        unique = frame.group_by(*names).agg(nw.col("rows").sum())
        return unique.select(nw.col("rows").count())

    return int(_collected(source, query)["rows"].sum())


def trial_key(plan: Plan) -> list[str]:
    """Source columns of the key of a trial."""
    return [name for part in ("config", "case", "trial") for name in sources(plan, part)]


def at_home(table: Any, names: Callable[[list[str]], list[str]]) -> pl.LazyFrame:
    """Some columns of any table as a Polars LazyFrame; other engines send only those.

    `names` picks from the columns that there are.
    """
    lazy = to_lazy(table)
    if lazy is not None:
        return lazy.select(names(lazy.collect_schema().names()))
    frame = nw.from_native(table).lazy()
    picked = frame.select(names(frame.collect_schema().names()))
    return _native(picked.collect(backend="polars")).lazy()
