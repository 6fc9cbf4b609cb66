"""Is this table of trials fit to support a claim? Findings, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import polars.selectors as cs

from trialframe.counts import ONE_CONFIG
from trialframe.errors import ColumnError, short
from trialframe.read._fields import Plan, broken, complaint
from trialframe.read._trials import canonical, examples
from trialframe.read.tables import SPENT, failed, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

    from trialframe.read._fields import Columns

KEY = ("config", "case", "trial", "attempt")
CELL = ("config", "case")

CONTENT = (
    *("case", "attempt", "passed", "score", "tests_passed", "tests_total"),
    *("tokens_in", "tokens_out", "cost_uusd", "duration_ms", "started_at"),
)
"""What two runs share when one is a copy of the other."""

CLOCKS = ("duration_ms", "started_at")
"""Columns that no two real runs share over several rows, however deterministic the system."""

DISTINCT = 5
"""A measure tells runs apart when it takes at least this many values in one run."""

MANY_CASES = 50
MINORITY = 10
"""Without measures, equal verdicts are worth a word from this many cases and of each kind."""

SCHEMA = {
    "rule": pl.String,
    "severity": pl.String,
    "rows": pl.Int64,
    "examples": pl.String,
    "advice": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a table; the fields are the columns of `check_trials`."""

    rule: str
    severity: Literal["error", "warning"]
    rows: int
    examples: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A table, read once, with what all rules need.

    Attributes:
        frame: The source with its own columns, lazily.
        plan: What every column is taken for.
        trials: Canonical columns that rules look at, in memory; config is never absent.
        cells: One row per config and case: `rows, n, c, unscored`, range of trial numbers,
            range of clusters.
    """

    frame: pl.LazyFrame
    plan: Plan
    trials: pl.DataFrame
    cells: pl.DataFrame

    def has(self, *names: str) -> bool:
        """Whether the trials have all these columns, each with at least one value."""
        return all(name in self.trials and self.trials[name].count() for name in names)


def check_trials(
    trials: Any,
    *,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """List what is wrong with a table of trials, and what to do about it.

    It reports where `tr.read` and `tr.counts` would raise, and also what they cannot see.
    It holds the columns it needs in memory: for tables beyond memory check a part.

    Args:
        trials: A source as in `tr.read`: files or a table in memory.
        threshold: As in `tr.read`.
        **columns: As in `tr.read`.

    Returns:
        One row per finding, errors first: `rule`, `severity` ("error" when numbers made from
        the table would be wrong or cannot be made, "warning" when it depends), `rows` that
        are concerned, `examples`, `advice`. No row means nothing was found.

    Raises:
        SourceError: There is no table to check: a file is missing, empty or corrupt.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x"], "trial": [1, 1], "passed": [True, False]}
        >>> tr.check_trials(rows).select("rule", "rows", "examples").rows()
        [('duplicate_key', 2, "'system' 'x' trial 1: 2 rows")]
    """
    inspection = inspect(trials, threshold=threshold, columns=columns)
    if isinstance(inspection, Finding):
        return findings_frame([inspection])
    return problems(inspection)


def problems(inspection: Inspection) -> pl.DataFrame:
    """All findings of all rules as a frame, errors first."""
    return findings_frame([found for rule in RULES for found in rule(inspection)])


def findings_frame(found: list[Finding]) -> pl.DataFrame:
    """Findings as a frame, errors first."""
    rows = [(f.rule, f.severity, f.rows, f.examples, f.advice) for f in found]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return frame.sort("severity", maintain_order=True)


def inspect(
    source: Any,
    *,
    threshold: float | None,
    columns: Mapping[str, Any],
) -> Inspection | Finding:
    """Read what the rules need, or say in a finding why the columns cannot be resolved."""
    try:
        raw, plan = resolved(source, columns, threshold)
    except ColumnError as error:
        return Finding(
            rule="columns",
            severity="error",
            rows=0,
            examples="",
            advice=str(error),
        )
    wanted = [*KEY, *CONTENT, "cluster", "secure", "label", "judge", "n", "c", "unscored"]
    names = [f.name for f in plan.fields if f.usable and f.name in wanted]
    try:
        trials = canonical(raw.frame, plan).select(names).collect()
    except pl.exceptions.PolarsError as error:
        raise failed(error) from error
    if "config" not in trials:
        trials = trials.with_columns(config=pl.lit(ONE_CONFIG))
    return Inspection(frame=raw.frame, plan=plan, trials=trials, cells=_cells(trials, plan))


def _cells(trials: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Facts per config and case that most rules need."""
    if plan.shape == "counts":
        sums = {name: pl.col(name).sum() for name in ("n", "c")}
        left = pl.col("unscored").sum() if "unscored" in trials else pl.lit(0, pl.Int64)
    else:
        verdict = pl.col("passed")
        sums = {"n": verdict.count().cast(pl.Int64), "c": verdict.sum().cast(pl.Int64)}
        left = verdict.null_count().cast(pl.Int64)
    ranges = {
        f"{name}_{end}": getattr(pl.col(name), end)()
        for name in ("trial", "cluster")
        for end in ("min", "max")
        if name in trials
    }
    grouped = trials.group_by(CELL).agg(
        rows=pl.len().cast(pl.Int64), **sums, unscored=left, **ranges
    )
    return grouped.drop_nulls(CELL).sort(CELL)


def _examples(frame: pl.DataFrame, *columns: str, end: str = "", limit: int = 3) -> str:
    """The first rows as "'config' 'case' trial 3 END", END with {} for the last column."""
    texts = []
    for row in frame.head(limit).iter_rows(named=True):
        words = [
            short(row[name]) if isinstance(row[name], str) else f"{name} {row[name]}"
            for name in columns
            if row[name] is not None
        ]
        texts.append(" ".join(words) + (": " + end.format(**row) if end else ""))
    rest = frame.height - limit
    return ", ".join(texts) + (f", and {rest:,} more" if rest > 0 else "")


def _broken_values(data: Inspection) -> Iterator[Finding]:
    """Verdicts that are no verdicts; NaN and infinity in numbers."""
    fields = {f.name: f for f in data.plan.fields if f.usable}
    tests = {n: t for n, f in fields.items() if (t := broken(f, pl)) is not None}
    if not tests:
        return
    found = data.frame.select(**{name: test.sum() for name, test in tests.items()}).collect()
    for name, test in tests.items():
        if rows := int(found[name].item() or 0):
            first = examples(data.frame, fields[name], test)
            flag = fields[name].kind != "float" or fields[name].name in {"passed", "secure"}
            yield Finding(
                rule=f"not_boolean_{name}" if flag else "not_finite",
                severity="error",
                rows=rows,
                examples=f"column {short(fields[name].sources[0])}: {first}",
                advice=complaint(fields[name], rows, ""),
            )


def _null_keys(data: Inspection) -> Iterator[Finding]:
    for name in CELL:
        where = data.trials[name].is_null().arg_true()
        if where.len():
            yield Finding(
                rule=f"null_{name}",
                severity="error",
                rows=where.len(),
                examples=", ".join(f"row {row}" for row in where.head(3)),
                advice=f"Fill in the {name} of these rows, or leave them out.",
            )


def _duplicate_keys(data: Inspection) -> Iterator[Finding]:
    key = [name for name in KEY if name in data.trials]
    if data.plan.shape == "trials" and "trial" not in key:
        return
    numbered = data.trials.lazy().drop_nulls(key)
    groups = numbered.group_by(key).agg(rows=pl.len()).filter(pl.col("rows") > 1)
    repeated = groups.sort(key).collect()
    if repeated.height:
        yield Finding(
            rule="duplicate_key",
            severity="error",
            rows=int(repeated["rows"].sum()),
            examples=_examples(repeated, *key, end="{rows} rows"),
            advice=f"Keep one row per {', '.join(key)}, or number the trials apart."
            + _what_tells_apart(data, key),
        )


def _what_tells_apart(data: Inspection, key: list[str]) -> str:
    """Columns outside the key that differ between all rows of every repeated key."""
    every = canonical(data.frame, data.plan).with_columns(
        cs.by_name("config", require_all=False) if data.has("config") else pl.lit("")
    )
    unused = [name for name in data.plan.unused if name not in key]
    simple = cs.by_name(unused) & (cs.string() | cs.integer() | cs.boolean() | cs.temporal())
    own = [name for name in key if name in every.collect_schema()]
    groups = every.group_by(own).agg(pl.len().alias("__rows"), simple.n_unique())
    same = groups.filter(pl.col("__rows") > 1).select(
        (pl.exclude(*own, "__rows") == pl.col("__rows")).all()
    )
    row = same.collect().row(0, named=True)
    apart = next((name for name, yes in row.items() if yes), None)
    if apart is None:
        return ""
    own_config = data.plan.get("config")
    parts = [*(own_config.sources if own_config else ()), apart]
    return f" Column {short(apart)} tells them apart: config={parts!r}, or filter on it."
