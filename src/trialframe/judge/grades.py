"""Grades of several graders as one verdict per trial: the highest authority decides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.engine import at_home
from trialframe.errors import ArgumentError, TrialsError, did_you_mean, listed, short
from trialframe.judge._rows import refuse_null_keys, refuse_split_cases, rows_of
from trialframe.read.tables import resolved
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias, Unpack

    from trialframe.judge._rows import Keys

    Row: TypeAlias = dict[str, Any]

RANKING = ("ground_truth", "objective", "judge")
TIES = ("unscored", "all", "any", "majority")
KEY = ("config", "case", "trial")
SHOWN = 3

CONFLICTS = {
    "finding": pl.String,
    "authority": pl.String,
    "against": pl.String,
    "trials": pl.Int64,
    "conflicts": pl.Int64,
    "share": pl.Float64,
    "decided_by": pl.String,
    "examples": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdicts(Result):
    """One verdict per trial, and where graders contradict each other.

    Attributes:
        trials: One row per trial, sorted: `config`, `case`, `trial` and `cluster` if there are
            any, `passed` (null when nothing decides), `score` (mean of the deciding grades),
            `authority` that decided, number of `grades` that did, names of their `graders`, and
            `conflict`, whether any two grades of the trial disagree. Goes into `tr.counts`.
        conflicts: One row per authority with several grades of a trial ("within"), per pair of
            authorities ("between", of what they say with `ties`), and for what else was found ("no
            deciding grade", "repeated grades"): `trials` looked at, `conflicts` among them and
            their `share`, who decided those (`decided_by`), and `examples`.
        ranking: Authorities, the highest first.
        ties: Rule where graders of the deciding authority disagree.
        threshold: Score from which a grade without `passed` passes, or None.
        scored: Trials with a verdict.
        unscored: Trials without one.
        conflicting: Trials in which any two grades disagree.
    """

    trials: pl.DataFrame
    conflicts: pl.DataFrame
    ranking: tuple[str, ...]
    ties: str
    threshold: float | None
    scored: int
    unscored: int
    conflicting: int


def verdicts(
    grades: Any,
    *,
    authority: str = "authority",
    grader: str | None = None,
    ranking: Sequence[str] = RANKING,
    ties: str = "unscored",
    threshold: float | None = None,
    **columns: Unpack[Keys],
) -> Verdicts:
    """Turn a long table of grades into one verdict per trial.

    Of all authorities with a grade that decides, the highest decides alone: a judge never
    outvotes a unit test. Do not use it to average several draws of one judge: see
    `tr.judge_noise`.

    Args:
        grades: One row per grade, as for `tr.counts`; tables of other engines are collected.
        authority: Column with the authority of the grade, one of `ranking`.
        grader: Column with who graded; None takes "grader" if there is one.
        ranking: Authorities, the highest first.
        ties: What the graders of the deciding authority say when they disagree: "unscored" (no
            verdict), "all" (pass when all pass), "any" (pass when one passes), "majority"
            (pass when more than half pass).
        threshold: A grade without `passed` passes when score >= threshold; without a threshold
            a grade needs `passed` to decide.
        **columns: Where `config`, `case`, `trial`, `cluster`, `passed` and `score` are, as in
            `tr.counts`.

    Returns:
        The trials and the conflicts. A trial without a deciding grade stays, with `passed`
        null, so that it is counted as unscored.

    Raises:
        ColumnError: A column is missing or ambiguous.
        TrialsError: An authority that is not in the ranking, an unknown authority, case or
            trial, verdicts that are not true, false or null, a case in two clusters.

    Notes:
        Rows that agree in trial, authority, grader, verdict and score are one grade; without a
        grader column every row is a grade. A grader who says both counts with both.

    Examples:
        >>> import trialframe as tr
        >>> rows = {
        ...     "case": ["x", "x", "y", "z"],
        ...     "authority": ["judge", "objective", "judge", "judge"],
        ...     "passed": [True, False, True, None],
        ... }
        >>> made = tr.verdicts(rows)
        >>> made.trials.select("case", "passed", "authority").rows()
        [('x', False, 'objective'), ('y', True, 'judge'), ('z', None, None)]
        >>> made.conflicts.filter(finding="between").select("conflicts", "decided_by").rows()
        [(1, 'objective')]
    """
    order = _ranking(ranking)
    rule = _checks.one_of(ties, "ties", TIES)
    table, repeated = _grades(grades, authority, grader, order, threshold, columns)
    key = [name for name in KEY if name in table.columns]
    cells = _per_trial(table, key, order, rule)
    trials = _decided(cells, key, order)
    found = _conflicts(cells, trials, key, order)
    if repeated:
        found.append({"finding": "repeated grades", "conflicts": repeated})
    scored = trials["passed"].count()
    return Verdicts(
        trials=trials,
        conflicts=pl.DataFrame(found, schema=CONFLICTS, orient="row"),
        ranking=order,
        ties=rule,
        threshold=threshold,
        scored=scored,
        unscored=trials.height - scored,
        conflicting=int(trials["conflict"].sum()),
    )


def _ranking(ranking: Sequence[str]) -> tuple[str, ...]:
    order = _checks.names(ranking, "ranking")
    if not order or len(set(order)) < len(order):
        raise ArgumentError(
            f"ranking == {short(ranking)}, must name each authority once, the highest first."
        )
    return order


def _grades(
    grades: Any,
    authority: str,
    grader: str | None,
    order: tuple[str, ...],
    threshold: float | None,
    columns: Keys,
) -> tuple[pl.DataFrame, int]:
    """Checked grades without repetitions, and how many of them were repeated."""
    lazy = at_home(grades, list)
    who = grader or ("grader" if "grader" in lazy.collect_schema() else None)
    others = {"authority": authority} | ({"grader": who} if who else {})
    _, plan = resolved(lazy, columns, None)
    verdict = plan.get("passed")
    derived = verdict is not None and verdict.how == "derived"
    rows = rows_of(lazy, columns, others, threshold if derived else None)
    names = rows.collect_schema().names()
    if threshold is not None and not derived:
        if "score" not in names:
            raise ArgumentError(f"threshold={threshold:g} needs a score column. Name it: score=...")
        limit = _checks.between(threshold, "threshold", low=-1e300, high=1e300)
        rows = rows.with_columns(pl.coalesce("passed", pl.col("score") >= limit).alias("passed"))
    texts = [pl.col(name).cast(pl.String) for name in others]
    table = rows.with_columns(texts).collect()
    if table.is_empty():
        raise TrialsError("the table of grades has no rows.")
    refuse_null_keys(table, (*KEY, "authority"))
    _refuse_unranked(table, order)
    refuse_split_cases(table)
    if who is None:
        return table, 0
    known = table.filter(pl.col("grader").is_not_null())
    unique = known.unique()
    unknown = table.filter(pl.col("grader").is_null())
    return pl.concat([unique, unknown]), known.height - unique.height


def _refuse_unranked(table: pl.DataFrame, order: tuple[str, ...]) -> None:
    odd = table.filter(~pl.col("authority").is_in(list(order)))
    if odd.height:
        words = odd["authority"].unique().sort().to_list()
        raise TrialsError(
            f"{listed(words)} in {odd.height:,} rows: no such authority in the ranking "
            f"{listed(order)}. {did_you_mean(words[0], order)} Name all of them: ranking=[...], "
            "the highest first."
        )


def _per_trial(
    table: pl.DataFrame, key: list[str], order: tuple[str, ...], rule: str
) -> pl.DataFrame:
    """One row per trial: of every authority its grades, passes and verdict, and who decides."""
    passed = pl.col("passed")
    columns = {"top": pl.col("rank").filter(passed.is_not_null()).min()}
    for i in range(len(order)):
        own = (pl.col("rank") == i) & passed.is_not_null()
        columns[f"n_{i}"] = own.sum().cast(pl.Int64)
        columns[f"c_{i}"] = (own & passed).sum().cast(pl.Int64)
    if "cluster" in table.columns:
        columns["cluster"] = pl.col("cluster").min()
    codes = pl.col("authority").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
    table = table.with_columns(rank=codes)
    cells = table.group_by(key).agg(**columns).sort(key)
    cells = cells.with_columns(**{f"v_{i}": _verdict(i, rule) for i in range(len(order))})
    deciding = table.join(cells.select(*key, rank="top"), on=[*key, "rank"])
    return _with_details(cells, deciding.filter(passed.is_not_null()), key)


def _with_details(cells: pl.DataFrame, deciding: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Add the mean score and the graders of the deciding grades."""
    made = {"score": pl.lit(None, pl.Float64), "graders": pl.lit(None, pl.String)}
    if "score" in deciding.columns:
        # sorted, so that the order of rows cannot change the last digit
        scores = deciding.sort("score").group_by(key).agg(pl.col("score").mean())
        cells = cells.join(scores, on=key, how="left", maintain_order="left")
        del made["score"]
    if "grader" in deciding.columns:
        named = deciding.select(*key, "grader").drop_nulls("grader").unique().sort("grader")
        graders = named.group_by(key).agg(graders=pl.col("grader").str.join(", "))
        cells = cells.join(graders, on=key, how="left", maintain_order="left")
        del made["graders"]
    return cells.with_columns(**made)


def _verdict(i: int, rule: str) -> pl.Expr:
    """What the graders of one authority say together; null when they say nothing."""
    n, c = pl.col(f"n_{i}"), pl.col(f"c_{i}")
    split = {
        "unscored": pl.lit(None, pl.Boolean),
        "all": pl.lit(False),
        "any": pl.lit(True),
        "majority": 2 * c > n,
    }[rule]
    said = pl.when(c == n).then(True).when(c == 0).then(False).otherwise(split)
    return pl.when(n > 0).then(said)


def _first(column: str, last: int) -> pl.Expr:
    """A column of the highest authority with a deciding grade, also where it is null."""
    chosen = pl.when(pl.col(f"n_{last}") > 0).then(f"{column}_{last}").otherwise(None)
    for i in reversed(range(last)):
        chosen = pl.when(pl.col(f"n_{i}") > 0).then(f"{column}_{i}").otherwise(chosen)
    return chosen


def _decided(cells: pl.DataFrame, key: list[str], order: tuple[str, ...]) -> pl.DataFrame:
    """The verdict of the highest authority that has one, and who gave it."""
    last = len(order) - 1
    who = [pl.when(pl.col(f"n_{i}") > 0).then(pl.lit(name)) for i, name in enumerate(order)]
    passes = pl.sum_horizontal(f"c_{i}" for i in range(len(order)))
    every = pl.sum_horizontal(f"n_{i}" for i in range(len(order)))
    return cells.select(
        *key,
        *(["cluster"] if "cluster" in cells.columns else []),
        passed=_first("v", last),
        score="score",
        authority=pl.coalesce(who),
        grades=_first("n", last).fill_null(0),
        graders="graders",
        conflict=(passes > 0) & (passes < every),
    )


def _conflicts(
    cells: pl.DataFrame, trials: pl.DataFrame, key: list[str], order: tuple[str, ...]
) -> list[Row]:
    """Disagreements within and between authorities, and trials that nobody decided."""
    by = pl.when(pl.col("passed").is_null()).then(pl.lit("nobody")).otherwise("authority")
    cells = cells.with_columns(trials.select(by.alias("_by")).to_series())
    found: list[Row] = []
    for i, name in enumerate(order):
        n, c = pl.col(f"n_{i}"), pl.col(f"c_{i}")
        row = _finding(cells.filter(n > 1), key, (c > 0) & (c < n))
        found.append({"finding": "within", "authority": name} | row)
    for i, j in combinations(range(len(order)), 2):
        one, two = pl.col(f"v_{i}"), pl.col(f"v_{j}")
        row = _finding(cells.filter(one.is_not_null() & two.is_not_null()), key, one != two)
        found.append({"finding": "between", "authority": order[i], "against": order[j]} | row)
    silent = _finding(
        cells, key, pl.all_horizontal(pl.col(f"n_{i}") == 0 for i in range(len(order)))
    )
    found = [row for row in found if row["trials"]]
    return [*found, {"finding": "no deciding grade"} | silent] if silent["conflicts"] else found


def _finding(looked_at: pl.DataFrame, key: list[str], conflict: pl.Expr) -> Row:
    odd = looked_at.filter(conflict)
    return {
        "trials": looked_at.height,
        "conflicts": odd.height,
        "share": odd.height / looked_at.height if looked_at.height else None,
        "decided_by": ", ".join(odd["_by"].unique().sort().to_list()) or None,
        "examples": _examples(odd, key, SHOWN) or None,
    }


def _examples(rows: pl.DataFrame, key: list[str], limit: int) -> str:
    """The first trials, as "case 'x' trial 3"."""
    told = [
        " ".join(f"{name} {short(row[name])}" for name in key)
        for row in rows.head(limit).iter_rows(named=True)
    ]
    rest = rows.height - limit
    return ", ".join(told) + (f", and {rest:,} more" if rest > 0 else "")
