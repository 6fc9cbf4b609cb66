"""Tables that public functions return, told by their columns, as rows of the warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from trialframe.counts import Counts
from trialframe.errors import ColumnError
from trialframe.export.of_results import of_counts
from trialframe.export.rows import Rows, distinct, json_of
from trialframe.schema import LEADERBOARD, SUMMARY
from trialframe.warehouse import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable


def _estimates(frame: pl.DataFrame, source: str) -> Rows:
    table = TABLES["estimates"]
    known = {column.name for column in (*SUMMARY, *LEADERBOARD)} | set(table.schema)
    groups = [name for name in frame.columns if name not in known]
    named = {"groups": json_of(frame, groups)} if "groups" not in frame.columns else {}
    if "source" not in frame.columns:
        named["source"] = pl.lit(source)
    if "estimand" not in frame.columns:
        named["estimand"] = pl.lit("cases")
    made = frame.with_columns(**named).drop(groups)
    settings = {"by": groups} | distinct(made, "source", "estimand", "level", "config", "metric")
    return Rows(table=table, frame=made, settings=settings)


def _summary(frame: pl.DataFrame) -> Rows:
    return _estimates(frame, "summary")


def _leaderboard(frame: pl.DataFrame) -> Rows:
    return _estimates(frame, "leaderboard")


def _compare_all(frame: pl.DataFrame) -> Rows:
    made = frame.with_columns(source=pl.lit("compare_all"), groups=pl.lit("{}"))
    named = ("metric", "level", "adjust", "baseline", "candidate")
    settings = {"source": "compare_all"} | distinct(frame, *named)
    return Rows(table=TABLES["comparisons"], frame=made, settings=settings)


def _regressions(frame: pl.DataFrame) -> Rows:
    for name in ("baseline", "candidate"):
        if name not in frame.columns:
            raise ColumnError(
                f"regressions do not say which {name} they are of. Add it: "
                "found.with_columns(baseline=pl.lit(...), candidate=pl.lit(...))."
            )
    rest = [name for name in frame.columns if name not in {"baseline", "candidate", "case", "diff"}]
    made = frame.select(
        "baseline",
        "candidate",
        "diff",
        source=pl.lit("regressions"),
        metric=pl.lit("pass@1"),
        groups=json_of(frame, ["case"]),
        baseline_value="rate_baseline",
        candidate_value="rate_candidate",
        cases=pl.lit(1, pl.Int64),
        verdict=pl.col("status").replace({"regression": "worse", "improvement": "better"}),
        status="status",
        details=json_of(frame, rest),
    )
    settings = {"source": "regressions"} | distinct(frame, "baseline", "candidate")
    return Rows(table=TABLES["comparisons"], frame=made, settings=settings)


def _items(frame: pl.DataFrame) -> Rows:
    made = frame if "model" in frame.columns else frame.with_columns(model=pl.lit("unknown"))
    return Rows(table=TABLES["items"], frame=made, settings=distinct(made, "model", "method"))


def _audit(frame: pl.DataFrame) -> Rows:
    made = frame.with_columns(source=pl.lit("audit"))
    return Rows(table=TABLES["findings"], frame=made, settings={"source": "audit"})


def _check(frame: pl.DataFrame) -> Rows:
    made = _one_a_rule(frame.rename({"advice": "remedy"}))
    made = made.with_columns(source=pl.lit("check_trials"))
    return Rows(table=TABLES["findings"], frame=made, settings={"source": "check_trials"})


def _one_a_rule(found: pl.DataFrame) -> pl.DataFrame:
    """Findings of one rule on several columns as one, as `tr.audit` has them.

    How many rows they concern together nobody knows here, so each says it for itself.
    """
    rows = pl.col("rows")
    each = pl.format("{} rows: {}", rows, "examples")
    return found.group_by("rule", "severity", maintain_order=True).agg(
        rows=pl.when(pl.len() == 1).then(rows.first()),
        examples=pl.when(pl.len() == 1)
        .then(pl.col("examples").first())
        .otherwise(each.str.join("; ")),
        remedy=pl.col("remedy").unique(maintain_order=True).str.join(" "),
    )


def _counted(frame: pl.DataFrame) -> Rows:
    return of_counts(Counts(frame))


@dataclass(frozen=True, slots=True)
class Kind:
    """A table in memory that a function returns, told by columns that it must have."""

    table: str
    needed: frozenset[str]
    make: Callable[[pl.DataFrame], Rows]


def _kind(table: str, needed: str, make: Callable[[pl.DataFrame], Rows]) -> Kind:
    return Kind(table, frozenset(needed.split()), make)


FRAMES = (
    _kind("estimates", "config metric value rank rank_low rank_high", _leaderboard),
    _kind("estimates", "config metric value se low high estimand method", _summary),
    _kind("comparisons", "baseline candidate metric diff verdict adjusted", _compare_all),
    _kind("comparisons", "case diff n_baseline n_candidate status transition", _regressions),
    _kind("items", "case a b information", _items),
    _kind("findings", "rule severity rows remedy", _audit),
    _kind("findings", "rule severity rows examples advice", _check),
    _kind("counts", "case n c", _counted),
)
