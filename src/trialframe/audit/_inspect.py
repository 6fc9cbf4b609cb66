"""A table read once, with the facts that all rules need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trialframe.errors import ColumnError, short
from trialframe.read._combine import failed
from trialframe.read._fields import expression
from trialframe.read._trials import canonical, joined
from trialframe.read.tables import resolved
from trialframe.schema import ONE_CONFIG

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from trialframe.read._fields import Plan

    Severity: TypeAlias = Literal["error", "warning", "info"]

SEVERITIES = ("error", "warning", "info")

KEY = ("config", "case", "trial", "attempt")
CELL = ("config", "case")

CONTENT = (
    *("case", "attempt", "passed", "score", "tests_passed", "tests_total"),
    *("tokens_in", "tokens_out", "cost_uusd", "duration_ms", "started_at"),
)
"""What two runs share when one is a copy of the other."""

WANTED = {*KEY, *CONTENT, "trial_made", "cluster", "secure", "label", "judge", "n", "c", "unscored"}

SCHEMA = {
    "rule": pl.String,
    "severity": pl.String,
    "rows": pl.Int64,
    "examples": pl.String,
    "advice": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know of a table; its fields are the columns of `check_trials`."""

    rule: str
    severity: Severity
    rows: int
    examples: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A table and what all rules need of it.

    Attributes:
        frame: The source with its own columns, lazily.
        plan: What every column is taken for.
        trials: Canonical columns that rules look at, in memory; config is never absent.
        cells: One row per config and case: `rows, n, c, unscored`, and the range of trial
            numbers and of clusters.
    """

    frame: pl.LazyFrame
    plan: Plan
    trials: pl.DataFrame
    cells: pl.DataFrame

    def first_attempts(self) -> Inspection:
        """The same table without the attempts after the smallest number of their config."""
        if not self.has("attempt"):
            return self
        attempt = pl.col("attempt")
        trials = self.trials.filter(attempt == attempt.min().over("config"))
        return replace(self, trials=trials, cells=_cells(trials, self.plan))

    def only(self, configs: Sequence[str]) -> Inspection:
        """The same table without the rows of other configs."""
        field = self.plan.get("config")
        frame = self.frame
        if field is not None:
            several = len(field.sources) > 1
            name = joined(field.sources) if several else expression(field, pl)
            frame = frame.filter(name.is_in(configs))
        trials = self.trials.filter(pl.col("config").is_in(configs))
        return replace(self, frame=frame, trials=trials, cells=_cells(trials, self.plan))

    def has(self, *names: str) -> bool:
        """Whether the trials have all these columns, each with at least one value."""
        return all(name in self.trials and self.trials[name].count() for name in names)


def inspect(
    source: Any,
    *,
    threshold: float | None,
    columns: Mapping[str, Any],
    more: Collection[str] = (),
) -> Inspection | Finding:
    """Read what the rules need, or say in a finding why the columns cannot be resolved.

    Args:
        source: The table.
        threshold: Pass when score >= threshold.
        columns: Where canonical columns are.
        more: Names of further columns that rules look at, canonical or the table's own.
    """
    try:
        raw, plan = resolved(source, columns, threshold)
    except ColumnError as error:
        return Finding(rule="columns", severity="error", rows=0, examples="", advice=str(error))
    wanted = WANTED | set(more)
    names = [item.name for item in plan.fields if item.usable and item.name in wanted]
    taken = {item.name for item in plan.fields}
    names += [name for name in plan.unused if name in more and name not in taken]
    try:
        trials = canonical(raw.frame, plan).select(names).collect()
    except pl.exceptions.PolarsError as error:
        raise failed(error, raw.files) from error
    if "config" not in trials:
        trials = trials.with_columns(config=pl.lit(ONE_CONFIG))
    return Inspection(frame=raw.frame, plan=plan, trials=trials, cells=_cells(trials, plan))


def _cells(trials: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    if plan.shape == "counts":
        sums = {name: pl.col(name).sum() for name in ("n", "c")}
        left = pl.col("unscored").sum() if "unscored" in trials else pl.lit(0, pl.Int64).first()
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


def findings_frame(found: Sequence[Finding]) -> pl.DataFrame:
    """Findings as a frame, errors first, information last."""
    ordered = sorted(found, key=lambda f: SEVERITIES.index(f.severity))
    rows = [(f.rule, f.severity, f.rows, f.examples, f.advice) for f in ordered]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def named(frame: pl.DataFrame, columns: Sequence[str], end: str = "", limit: int = 3) -> str:
    """The first rows as "config 'a' case 'x' trial 3: END"; END may name columns in braces."""
    texts = []
    for row in frame.head(limit).iter_rows(named=True):
        words = " ".join(f"{name} {short(row[name])}" for name in columns if row[name] is not None)
        known = {k: short(v) if isinstance(v, str) else v for k, v in row.items()}
        texts.append(words + (": " + end.format(**known) if end else ""))
    rest = frame.height - limit
    return ", ".join(texts) + (f", and {rest:,} more" if rest > 0 else "")
