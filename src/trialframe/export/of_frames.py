"""Tables that public functions return, told by their columns, as rows of the warehouse."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.counts import Counts
from trialframe.errors import ColumnError
from trialframe.export.of_results import of_counts
from trialframe.export.rows import Rows, as_text, json_of
from trialframe.schema import LEADERBOARD, SUMMARY
from trialframe.warehouse import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable


MOST_SETTINGS = 16
"""Distinct values of a column that are listed; they stand in every row."""


def _constant(frame: pl.DataFrame, *names: str) -> dict[str, Any]:
    """The distinct values of columns that hold settings, sorted, unknown ones left out.

    Of a column with many, which is no setting but data, only the hash is kept.
    """
    found = {
        name: sorted(frame[name].drop_nulls().unique().to_list(), key=str)
        for name in names
        if name in frame.columns
    }
    return {
        name: values if len(values) <= MOST_SETTINGS else _digest(values)
        for name, values in found.items()
    }


def _digest(values: list[Any]) -> dict[str, Any]:
    text = as_text(values)
    return {"values": len(values), "sha256": hashlib.sha256(text.encode()).hexdigest()}


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
    settings = {"by": groups} | _constant(made, "source", "estimand", "level")
    return Rows(table=table, frame=made, settings=settings)


def _summary(frame: pl.DataFrame) -> Rows:
    return _estimates(frame, "summary")


def _leaderboard(frame: pl.DataFrame) -> Rows:
    return _estimates(frame, "leaderboard")


def _compare_all(frame: pl.DataFrame) -> Rows:
    made = frame.with_columns(source=pl.lit("compare_all"), groups=pl.lit("{}"))
    settings = {"source": "compare_all"} | _constant(frame, "metric", "level", "adjust")
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
    settings = {"source": "regressions"} | _constant(frame, "baseline", "candidate")
    return Rows(table=TABLES["comparisons"], frame=made, settings=settings)


def _items(frame: pl.DataFrame) -> Rows:
    made = frame if "model" in frame.columns else frame.with_columns(model=pl.lit("unknown"))
    return Rows(table=TABLES["items"], frame=made, settings=_constant(made, "model", "method"))


def _audit(frame: pl.DataFrame) -> Rows:
    made = frame.with_columns(source=pl.lit("audit"))
    return Rows(table=TABLES["findings"], frame=made, settings={"source": "audit"})


def _check(frame: pl.DataFrame) -> Rows:
    made = frame.rename({"advice": "remedy"}).with_columns(source=pl.lit("check_trials"))
    return Rows(table=TABLES["findings"], frame=made, settings={"source": "check_trials"})


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
    _kind("findings", "rule severity rows advice", _check),
    _kind("counts", "case n c", _counted),
)
