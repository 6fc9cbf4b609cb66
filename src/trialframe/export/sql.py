"""Counts as SQL, for warehouses that count where the trials are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe import _checks
from trialframe.errors import ArgumentError, did_you_mean, short
from trialframe.schema import MEASURES, TRIALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REAL = ("score",)
"""Measures whose sums are not whole numbers."""


def counts_sql(
    *,
    table: str,
    config: str | Sequence[str] | None = None,
    case: str | Sequence[str] = "case",
    passed: str = "passed",
    score: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
    secure: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] = (),
    measures: Sequence[str] | Mapping[str, str] = (),
    unscored: str = "exclude",
) -> str:
    """The query of `tr.counts` as one ANSI SQL statement, for a warehouse or a dbt model.

    The database checks nothing: run `tr.check_trials` on the trials once, and hand the result
    to `tr.Counts`, which refuses tables that break a rule. Where a case-level column differs
    within a case, the result has two rows for the case, and `tr.Counts` says so.

    Args:
        table: Table name, dotted parts allowed; a template such as "{{ ref('trials') }}" is
            taken as it is.
        config: Column or columns of the system under test; None for a single system.
        case: Column or columns of the task.
        passed: Boolean verdict, null when not scored. For verdicts kept as numbers give
            `score` and `threshold=1`.
        score: Graded result; counted as a measure.
        threshold: Pass when score >= threshold, in place of `passed`.
        cluster: Column of dependent cases.
        secure: Boolean column: no high-severity security finding.
        weight: Column of case weights.
        by: Further case-level columns to keep.
        measures: Canonical measures that the table holds under their own name, or a mapping
            from measure to column, e.g. {"cost_uusd": "cost_usd"}; units are converted.
        unscored: "exclude" or "fail".

    Returns:
        The statement, without a semicolon at the end.

    Raises:
        ArgumentError: A name with a null character, an unknown measure or policy, a threshold
            without a score.

    Examples:
        >>> import trialframe as tr
        >>> print(tr.counts_sql(table="evals.trials", config="model", case="task"))
        SELECT
          CAST("model" AS VARCHAR) AS "config",
          CAST("task" AS VARCHAR) AS "case",
          COUNT(CASE WHEN "passed" THEN 1 WHEN NOT "passed" THEN 0 END) AS "n",
          COUNT(CASE WHEN "passed" THEN 1 END) AS "c",
          COUNT(*) - COUNT(CASE WHEN "passed" THEN 1 WHEN NOT "passed" THEN 0 END) AS "unscored"
        FROM "evals"."trials"
        GROUP BY "model", "task"
        ORDER BY "config", "case"
    """
    _checks.one_of(unscored, "unscored", ("exclude", "fail"))
    if threshold is not None and score is None:
        raise ArgumentError("threshold needs score: name the column to compare.")
    if threshold is not None:
        threshold = _checks.between(threshold, "threshold", low=-1e300, high=1e300)
    condition = _quoted(passed) if threshold is None else f"{_quoted(score)} >= {threshold!r}"
    scored = f"COUNT(CASE WHEN {condition} THEN 1 WHEN NOT {condition} THEN 0 END)"
    keys = {"config": _checks.names(config, "config"), "case": _checks.names(case, "case")}
    level = {"cluster": cluster, "weight": weight}
    level |= {name: name for name in _checks.names(by, "by")}
    parts = {p: p for names in keys.values() if len(names) > 1 for p in names if p not in keys}
    kept = {new: old for new, old in (parts | level).items() if old is not None}
    columns = {name: _key(parts) for name, parts in keys.items()}
    columns |= {new: _quoted(old) for new, old in kept.items()}
    missing = f"COUNT(*) - {scored}"
    columns["n"] = "COUNT(*)" if unscored == "fail" else scored
    columns["c"] = f"COUNT(CASE WHEN {condition} THEN 1 END)"
    columns["unscored"] = "0" if unscored == "fail" else missing
    if unscored == "fail":
        columns["unscored_failed"] = missing
    if secure is not None:
        columns["c_secure"] = f"COUNT(CASE WHEN {condition} AND {_quoted(secure)} THEN 1 END)"
    for name, column in _measures(measures, score).items():
        columns |= _sums(name, column)
    grouped = [part for names in keys.values() for part in names] + list(kept.values())
    lines = ",\n".join(f"  {value} AS {_quoted(name)}" for name, value in columns.items())
    groups = ", ".join(dict.fromkeys(_quoted(name) for name in grouped))
    return f'SELECT\n{lines}\nFROM {_table(table)}\nGROUP BY {groups}\nORDER BY "config", "case"'


def _quoted(name: object) -> str:
    if not isinstance(name, str) or not name or "\x00" in name:
        raise ArgumentError(f"{short(name)} is no column name.")
    return '"' + name.replace('"', '""') + '"'


def _table(name: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ArgumentError(f"table == {short(name)}, must be a table name.")
    if name.lstrip().startswith("{{"):
        return name
    return ".".join(_quoted(part) for part in name.split("."))


def _key(parts: tuple[str, ...]) -> str:
    """One column as text, or several joined as `tr.counts` joins them."""
    texts = [f"CAST({_quoted(part)} AS VARCHAR)" for part in parts]
    if not texts:
        return "'system'"
    if len(texts) == 1:
        return texts[0]
    escaped = [f"REPLACE(REPLACE({text}, '\\', '\\\\'), '|', '\\|')" for text in texts]
    return " || ' | ' || ".join(escaped)


def _measures(measures: Sequence[str] | Mapping[str, str], score: str | None) -> dict[str, str]:
    named = dict(measures) if hasattr(measures, "keys") else {name: name for name in measures}
    if score is not None:
        named = {"score": score} | named
    allowed = [name for name in MEASURES if name != "tests_share"]
    for name in named:
        if name not in allowed:
            raise ArgumentError(f"no measure {short(name)}. {did_you_mean(str(name), allowed)}")
    return {name: named[name] for name in allowed if name in named}


def _sums(name: str, source: str) -> dict[str, str]:
    column = _quoted(source)
    spec = next(c for c in TRIALS if c.name == name)
    factor = spec.aliases.get(source, 1.0)
    real = f"CAST({column} AS DOUBLE PRECISION)"
    if name in REAL:
        value, total = real, f"COALESCE(SUM({real}), 0)"
    else:
        value = column if factor == 1.0 else f"CAST(FLOOR({real} * {factor:.0f} + 0.5) AS BIGINT)"
        total = f"CAST(COALESCE(SUM({value}), 0) AS BIGINT)"
    square = f"CAST({value} AS DOUBLE PRECISION) * CAST({value} AS DOUBLE PRECISION)"
    return {
        f"{name}_n": f"COUNT({column})",
        f"{name}_sum": total,
        f"{name}_sumsq": f"COALESCE(SUM({square}), 0)",
    }
