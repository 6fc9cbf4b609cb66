"""What an audit looks at: an inspected table, and what is known of its cases and configs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.audit._inspect import named as _named
from trialframe.errors import ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.read._fields import kind_of
from trialframe.read._load import load
from trialframe.read._trials import joined
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import TypeAlias

    from trialframe.audit._inspect import Finding, Inspection

PUBLIC = ("public", "is_public")
SOURCED = ("source_date", "created_at", "published_at", "publication_date")
RELEASED = ("release_date", "released_at", "model_release_date", "config_release_date")
REVIEWED = ("false_negative", "underspecified", "other_major_issues", "filter_out")
"""What reviewers say of a case: 0 fine, 1 minor, 2 and 3 severe; or true and false."""

SEVERE = 2
TESTS = ("test", "test_name", "test_id", "test_case", "unit_test")
CANONICAL = ("outcome", "seed", "context", "image", "split", "c_secure")
MORE = frozenset((*PUBLIC, *SOURCED, *RELEASED, *REVIEWED, *TESTS, *CANONICAL))
"""Columns that only an audit looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Why a rule could not be tried."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of an audit.

    Attributes:
        name: Its name, which its finding bears.
        needs: Canonical columns without which it cannot be tried.
        find: Looks at a table.
    """

    name: str
    needs: tuple[str, ...] = ()
    find: Callable[[Audited], Answer]

    def answer(self, data: Audited) -> Answer:
        """What the rule finds, nothing, or why it could not be tried."""
        lacking = [name for name in self.needs if not data.table.has(name)]
        if lacking:
            return Skip(why=f"no {' and no '.join(lacking)}")
        return self.find(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A table, and what is known of its cases and configs.

    Attributes:
        table: The table.
        first: The same without later attempts, which are no trials of their own.
        cases: One row a case: `case, rows, annotated`, and those of `public`, `source_date`
            and `REVIEWED` that are known of any case.
        released: One row a config with a release date: `config, release_date`.
        annotations: Whether annotations were given.
    """

    table: Inspection
    first: Inspection
    cases: pl.DataFrame
    released: pl.DataFrame
    annotations: bool

    @property
    def counted(self) -> bool:
        """Whether the table has one row a case in place of one a trial."""
        return self.table.plan.shape == "counts"


if TYPE_CHECKING:
    Answer: TypeAlias = Finding | Skip | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Columns that have no canonical name, as the caller names them.

    Attributes:
        public: Whether the source of a case is public.
        source_date: When it became public.
        release_date: When a config was released: a column, or config -> date.
    """

    public: str | None = None
    source_date: str | None = None
    release_date: str | Mapping[str, Any] | None = None

    def columns(self) -> set[str]:
        """The names given."""
        given = (self.public, self.source_date, self.release_date)
        return {name for name in given if isinstance(name, str)}


def audited(table: Inspection, annotations: Any, named: Named) -> Audited:
    """Gather what is known of cases and configs.

    Raises:
        ColumnError: A named column does not exist, or annotations have no column of cases.
        TrialsError: A date cannot be read.
    """
    notes = None if annotations is None else _annotations(annotations, table)
    held = set(table.trials.columns) | set(notes.columns if notes is not None else ())
    for name in sorted(named.columns() - held):
        raise ColumnError(f"no column {short(name)} in the table. {did_you_mean(name, held)}")
    released, of_cases = _released(table.trials, named)
    cases = _facts(table.trials, named, of_cases)
    if notes is not None:
        known = _facts(notes, named, None).drop("rows").with_columns(annotated=True)
        both = [name for name in known.columns if name in cases.columns and name != "case"]
        cases = cases.join(known, on="case", how="left", suffix="_noted")
        cases = cases.with_columns(
            pl.coalesce(f"{name}_noted", name).alias(name) for name in both
        ).drop(f"{name}_noted" for name in both)
        cases = cases.with_columns(pl.col("annotated").fill_null(value=False))
    return Audited(
        table=table,
        first=table.first_attempts(),
        cases=cases.sort("case"),
        released=released,
        annotations=notes is not None,
    )


def _annotations(source: Any, table: Inspection) -> pl.DataFrame:
    """Notes on cases, with the column `case` as trials have it."""
    frame = load(source).frame
    names = frame.collect_schema().names()
    field = table.plan.get("case")
    sources = field.sources if field else ("case",)
    usual = ("case", *column(TRIALS, "case").aliases)
    found = sources if set(sources) <= set(names) else [n for n in usual if n in names][:1]
    if not found:
        raise ColumnError(
            f"annotations: no column says which case a row is about. Name it {listed(sources)}, "
            f"as in the trials. Columns: {listed(names)}."
        )
    key = joined(tuple(found)) if len(found) > 1 else pl.col(found[0]).cast(pl.String)
    return frame.with_columns(case=key).collect().drop_nulls("case")


def _facts(frame: pl.DataFrame, named: Named, dated: str | None) -> pl.DataFrame:
    """What columns say of each case, the worst where rows disagree."""
    made: dict[str, pl.Expr] = {}
    public = _present(frame, named.public, PUBLIC)
    if public:
        made["public"] = _level(frame, public).max() > 0
    sourced = _present(frame, named.source_date, SOURCED) or dated
    if sourced:
        made["source_date"] = _date(frame, sourced, given=named.source_date == sourced).min()
    for name in REVIEWED:
        if name in frame.columns:
            made[name] = _level(frame, name).max()
    rows = frame.group_by("case").agg(rows=pl.len().cast(pl.Int64), **made)
    known = [name for name in made if rows[name].count()]
    return rows.select("case", "rows", *known).drop_nulls("case")


def _present(frame: pl.DataFrame, given: str | None, usual: Collection[str]) -> str | None:
    if given is not None:
        return given if given in frame.columns else None
    return next((name for name in usual if name in frame.columns), None)


def _level(frame: pl.DataFrame, name: str) -> pl.Expr:
    """A grade from 0; true is severe, and text says true or false."""
    kind = kind_of(frame.schema[name])
    if kind == "boolean":
        return pl.col(name).cast(pl.Int64) * SEVERE
    if kind == "string":
        word = pl.col(name).str.strip_chars().str.to_lowercase()
        yes = word.replace_strict(
            {"true": SEVERE, "yes": SEVERE, "false": 0, "no": 0},
            default=None,
            return_dtype=pl.Int64,
        )
        return pl.coalesce(yes, word.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False))
    if kind in {"integer", "float"}:
        return pl.col(name).cast(pl.Float64).fill_nan(None).cast(pl.Int64, strict=False)
    return pl.lit(None, pl.Int64)


def _date(frame: pl.DataFrame, name: str, *, given: bool) -> pl.Expr:
    """A day; text must begin with one, as in 2025-04-30."""
    kind = kind_of(frame.schema[name])
    if kind == "string":
        day = pl.col(name).str.strip_chars().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    elif frame.schema[name].is_temporal():
        day = pl.col(name).cast(pl.Date, strict=False)
    else:
        day = pl.lit(None, pl.Date)
    bad = frame.filter(day.is_null() & pl.col(name).is_not_null()) if given else frame.clear()
    if bad.height:
        raise TrialsError(
            f"column {short(name)} holds no date in {bad.height:,} rows; the first is "
            f"{short(bad[name][0])}. Write dates as 2025-04-30."
        )
    return day


def _released(trials: pl.DataFrame, named: Named) -> tuple[pl.DataFrame, str | None]:
    """Release dates of configs; and a column of that name which dates cases, if that is so."""
    given = named.release_date
    schema = {"config": pl.String, "release_date": pl.Date}
    told = pl.DataFrame(schema=schema)
    if given is not None and not isinstance(given, str):
        days = [_day(config, value) for config, value in given.items()]
        told = pl.DataFrame({"config": list(given), "release_date": days}, schema=schema)
        given = None
    name = _present(trials, given, RELEASED)
    if name is None:
        return told, None
    day = _date(trials, name, given=given == name)
    dated = trials.select("config", "case", day=day).drop_nulls("day")
    per_config = dated.group_by("config").agg(pl.col("day").min(), days=pl.col("day").n_unique())
    if (per_config["days"] > 1).any():
        return told, name  # dates that vary within a config belong to its cases
    if told.height:
        return told, None
    return per_config.select("config", release_date="day").sort("config"), None


def _day(config: str, value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        raise TrialsError(
            f"release_date of config {short(config)} is {short(value)}: write it as 2025-04-30."
        ) from None


def per_config(frame: pl.DataFrame, share: pl.Expr, limit: int = 4) -> str:
    """A share of every config as "config 'a': 12.0%, ...", the largest first."""
    shown = frame.with_columns(_share=share).sort("_share", "config", descending=[True, False])
    return _named(shown, ["config"], "{_share:.1%}", limit)


def spread(frame: pl.DataFrame, name: str) -> float:
    """Largest less smallest value of a column."""
    values = frame[name].drop_nulls().to_list()
    return max(values) - min(values) if values else 0.0
