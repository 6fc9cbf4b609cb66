"""Evaluation logs and tables, in files or in memory, as trials."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import polars as pl

from trialframe import _checks
from trialframe.errors import ColumnError, SourceError, TrialframeError, listed
from trialframe.read._combine import failed
from trialframe.read._fields import STRICT, Columns, Plan
from trialframe.read._keys import KEEP, keyed
from trialframe.read._load import from_logs, load
from trialframe.read._trials import canonical, planned, refuse_broken
from trialframe.read.logs import UNREAD, Choice
from trialframe.schema import MEASURES, TRIALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Unpack

    from trialframe.read._combine import Raw

log = logging.getLogger("trialframe")

SPENT = ("tokens_in", "tokens_out", "cost_uusd", "duration_ms")
"""Measures of effort: in these a 0 often stands for unknown."""

TEXTS = frozenset(item.name for item in TRIALS if item.dtype == pl.String)
"""Canonical columns that hold text, whatever it is made of."""


@overload
def read(
    source: Any,
    *,
    format: str | None = ...,
    metric: str | Sequence[str] | None = ...,
    cases: Any = ...,
    absent: Literal["fail", "unscored"] = ...,
    keep: Literal["raise", "first", "last", "all"] = ...,
    errors: Literal["raise"] = ...,
    threshold: float | None = ...,
    zero_is_missing: str | Sequence[str] = ...,
    **columns: Unpack[Columns],
) -> pl.LazyFrame: ...


@overload
def read(
    source: Any,
    *,
    format: str | None = ...,
    metric: str | Sequence[str] | None = ...,
    cases: Any = ...,
    absent: Literal["fail", "unscored"] = ...,
    keep: Literal["raise", "first", "last", "all"] = ...,
    errors: Literal["collect"],
    threshold: float | None = ...,
    zero_is_missing: str | Sequence[str] = ...,
    **columns: Unpack[Columns],
) -> tuple[pl.LazyFrame, pl.DataFrame]: ...


def read(
    source: Any,
    *,
    format: str | None = None,
    metric: str | Sequence[str] | None = None,
    cases: Any = None,
    absent: Literal["fail", "unscored"] = "unscored",
    keep: Literal["raise", "first", "last", "all"] = "raise",
    errors: Literal["raise", "collect"] = "raise",
    threshold: float | None = None,
    zero_is_missing: str | Sequence[str] = (),
    **columns: Unpack[Columns],
) -> pl.LazyFrame | tuple[pl.LazyFrame, pl.DataFrame]:
    """Read evaluation logs or a table of trials: one row per trial, or per case with n and c.

    Do not use it for the tables of an engine that runs queries itself (DuckDB, Spark, Ibis):
    give those to `tr.counts`, which sends the group-by to the data.

    Args:
        source: A path, several paths, a glob or a folder (read with all folders below it) of
            evaluation logs (`tr.formats` lists them) or of Parquet, CSV, TSV, JSON lines, JSON
            or Arrow IPC files, text formats also as .gz or .zst; a URL that Polars can scan,
            such as s3://...; or a table in memory: Polars, pandas, pyarrow, a dict of columns,
            a list of dicts.
        format: Name of a log format, or "table"; None to tell it from the content. In a folder
            with logs all other files are left out, and named in the log of this package.
        metric: Of logs with several scores per trial, the one that decides, by its name there;
            of several names each log takes the first that it has.
        cases: The full list of cases, or a table with a column `case`. For every case of it
            that a config lacks a row is added, with the outcome "absent".
        absent: What such a row is: "fail", as boards count it, or "unscored".
        keep: Of rows that share config, case and trial, and of logs that are copies: "raise",
            keep the "first" or "last" (of logs in time, where it is known, else in the order of
            files and rows), or "all" as trials of their own. In plain tables "raise"
            leaves the check to `tr.counts`, so that nothing has to be read for it.
        errors: "raise" at the first thing in a log that cannot be read, or "collect" to read
            the rest and return a table of what could not be read as well.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        zero_is_missing: Measures in which 0 stands for unknown, for example "tokens_in".
        **columns: Where each canonical column is: a name, several names for `config` and
            `case`, a Polars expression, or None to leave it out. Common aliases are found
            without it; `tr.mapping` says what was chosen.

    Returns:
        Canonical columns first, all other columns as they are. Parquet, CSV and Arrow files,
        and JSON lines of more than 512 MiB, stay on disk until the frame is collected; other
        JSON and logs are read at once. With `errors="collect"` a pair of that and a table with
        columns `file`, `place`, `reason`.

    Raises:
        SourceError: A file is missing, empty, corrupt or of an unknown format, or a column
            has different types in different files.
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Verdicts that are not true, false or null; NaN or infinite numbers;
            trials of logs that share a key.
        ArgumentError: A choice is missing or unknown: format, metric, threshold, cases.

    Notes:
        Logs give three outcomes: passed, failed and not scored (null), with `outcome` for how
        the trial ended and `error` for the log's own words. Where a log numbers no trials they
        are numbered in the order of `started_at`, then of files and rows, and `trial_made` is
        true: such numbers are no runs and pair nothing across configs.

        A column that some files lack is null there. NaN in CSV and JSON is taken as null,
        since these formats have no other way to write a missing number; in Parquet, Arrow
        and Polars it is refused. A CSV column that serves as no number or truth value stays
        text where numbers would read otherwise than written: 1.10, 007, 1e3, True. What was
        taken for what is logged (logger "trialframe", INFO).

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> rows = {"model": ["a", "a"], "task": [1, 2], "reward": [0.9, 0.2]}
        >>> tr.read(rows, threshold=0.5).select("config", "case", "passed").collect().rows()
        [('a', '1', True), ('a', '2', False)]
    """
    _checks.one_of(errors, "errors", ("raise", "collect"))
    choice = Choice(
        format=format,
        metrics=_checks.names(metric, "metric"),
        threshold=threshold,
        keep=_checks.one_of(keep, "keep", KEEP),
        strict=errors == "raise",
    )
    trials, raw, plan = trials_of(
        source, columns, choice, cases=cases, absent=absent, zero_is_missing=zero_is_missing
    )
    if log.isEnabledFor(logging.INFO):
        for line in from_logs(plan.frame(), raw).filter(pl.col("how") != "unused").rows():
            log.info("column %s <- %s (%s) %s", *line)
    if errors == "collect":
        return trials, pl.DataFrame(schema=UNREAD) if raw.unread is None else raw.unread
    return trials


def trials_of(
    source: Any,
    columns: Mapping[str, Any],
    choice: Choice,
    *,
    cases: Any = None,
    absent: str = "unscored",
    zero_is_missing: str | Sequence[str] = (),
) -> tuple[pl.LazyFrame, Raw, Plan]:
    """The trials of a source, with what is known of it: as `read`, for those who tell people."""
    zeros = _zero_columns(zero_is_missing)
    raw, plan = resolved(source, columns, choice.threshold, choice)
    missing = [name for name in zeros if plan.get(name) is None]
    if missing:
        found = [name for name in SPENT if plan.get(name) is not None]
        raise ColumnError(
            f"zero_is_missing: the table has no {listed(missing)}; it has "
            f"{listed(found) or 'none of ' + listed(SPENT)}. Leave it out, or name its column."
        )
    if raw.rows is None or zeros or any(item.how != "name" for item in plan.fields):
        trials: pl.LazyFrame | pl.DataFrame = _canonical(raw, plan, zeros)
    else:  # logs are made of canonical columns
        trials = raw.rows
    if raw.unread is not None or choice.keep != "raise" or cases is not None:
        trials = keyed(trials, keep=choice.keep, cases=cases, absent=absent)
    return trials.lazy(), raw, plan


def _canonical(raw: Raw, plan: Plan, zeros: Sequence[str]) -> pl.LazyFrame:
    """A table as trials, once its values are known to fit."""
    try:
        refuse_broken(raw.frame, tuple(item for item in plan.fields if item.usable))
    except pl.exceptions.PolarsError as error:
        raise failed(error, raw.files) from error
    unknown = (pl.when(pl.col(name) != 0).then(pl.col(name)).alias(name) for name in zeros)
    return canonical(raw.frame, plan).with_columns(unknown)


def mapping(
    source: Any,
    *,
    format: str | None = None,
    metric: str | Sequence[str] | None = None,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """Report which source column `tr.read` and `tr.counts` take for which canonical column.

    It looks at names and types only, so do not use it to check values: `tr.check_trials` does.

    Args:
        source: As in `tr.read`.
        format: As in `tr.read`.
        metric: As in `tr.read`.
        threshold: As in `tr.read`.
        **columns: As in `tr.read`.

    Returns:
        One row per canonical column found and per unused source column: `column`, `source`,
        `how` ("given", "name", "alias", "derived", "log" for a place in a log, "not used",
        "unused"), `note`.

    Raises:
        SourceError: As in `tr.read`.
        ColumnError: As in `tr.read`.

    Examples:
        >>> import trialframe as tr
        >>> tr.mapping({"task": [1], "ok": [True], "lang": ["py"]}, passed="ok").rows()[:2]
        [('case', 'task', 'alias', ''), ('passed', 'ok', 'given', '')]
    """
    metrics = _checks.names(metric, "metric")
    choice = Choice(format=format, metrics=metrics, threshold=threshold, strict=False)
    raw, plan = resolved(source, columns, threshold, choice)
    return from_logs(plan.frame(), raw)


def resolved(
    source: Any,
    columns: Mapping[str, Any],
    threshold: float | None,
    choice: Choice | None = None,
) -> tuple[Raw, Plan]:
    """The source as one table (with columns made by expressions added) and its plan."""
    if threshold is not None:
        _checks.between(threshold, "threshold", low=-1e300, high=1e300)
    raw = load(source, choice or Choice(threshold=threshold))
    raw, frame, plan = _as_written(raw, columns, threshold)
    used = {s for f in plan.fields if f.usable and f.name not in TEXTS for s in f.sources}
    used |= {s for v in columns.values() if isinstance(v, pl.Expr) for s in v.meta.root_names()}
    for name, message in raw.conflicts.items():
        if name in used:
            raise SourceError(message)
        log.info("%s It is read as text.", message)
    strict = {s for f in plan.fields if f.name in STRICT for s in f.sources}
    for name, message in raw.missing.items():
        log.log(logging.WARNING if name in strict else logging.INFO, message)
    return replace(raw, frame=frame), plan


def _as_written(
    raw: Raw,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[Raw, pl.LazyFrame, Plan]:
    """The table and its plan, with ids of CSV files as they are written: 1.10 is not 1.1."""
    respelled = raw.respelled()
    texts = respelled & _roots(columns, TEXTS)
    if texts:
        try:
            _planned(raw.written(texts), columns, threshold)
        except (TrialframeError, pl.exceptions.PolarsError):  # the expression wants numbers
            respelled, texts = respelled - texts, frozenset()
    typed = raw.written(texts) if texts else raw
    frame, plan = _planned(typed, columns, threshold)
    more = respelled - _numbers(plan) - _roots(columns, set(columns) - TEXTS) - texts
    if more:
        typed = raw.written(texts | more)
        frame, plan = _planned(typed, columns, threshold)
    for name in sorted(texts | more):
        log.info("column %s is kept as text: its values are not written as numbers are", name)
    return typed, frame, plan


def _planned(
    raw: Raw,
    columns: Mapping[str, Any],
    threshold: float | None,
) -> tuple[pl.LazyFrame, Plan]:
    try:
        return planned(raw.frame, columns, threshold)
    except ColumnError as error:
        if raw.conflicts:
            raise SourceError(" ".join([*raw.conflicts.values(), str(error)])) from error
        raise


def _roots(columns: Mapping[str, Any], names: AbstractSet[str]) -> frozenset[str]:
    """Columns in the expressions that make the canonical columns `names`."""
    made = [v for k, v in columns.items() if k in names and isinstance(v, pl.Expr)]
    return frozenset(root for value in made for root in value.meta.root_names())


def _numbers(plan: Plan) -> frozenset[str]:
    """Source columns that serve as numbers or truth values, by mapping or by name."""
    used = {
        source
        for item in plan.fields
        if item.usable and item.name not in {*TEXTS, "trial"}
        for source in item.sources
    }
    if plan.shape == "counts":
        used |= {f"{m}_{part}" for m in MEASURES for part in ("n", "sum", "sumsq")}
        used |= {"unscored_failed", "c_secure"}
    return frozenset(used)


def _zero_columns(value: str | Sequence[str]) -> tuple[str, ...]:
    names = _checks.names(value, "zero_is_missing")
    for name in names:
        _checks.one_of(name, "zero_is_missing", SPENT)
    return names
