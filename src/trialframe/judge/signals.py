"""Does a signal tell failing from passing trials of the same case?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.judge._rows import refuse_null_keys, refuse_repeats, refuse_split_cases, rows_of
from trialframe.kernels.auroc import concordance, leave_one_out_auc, permute_within
from trialframe.kernels.resample import bootstrap_mean
from trialframe.read._fields import kind_of
from trialframe.schema import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias, Unpack

    from numpy.typing import NDArray

    from trialframe.judge._rows import Keys
    from trialframe.kernels.auroc import Concordance

    Row: TypeAlias = dict[str, Any]
    Ints: TypeAlias = NDArray[np.int64]

ORDERED = ("boolean", "integer", "float", "time")
"""Kinds of columns whose values have an order that means something."""

FEW = 10
"""Units below which a bootstrap interval is too narrow to lean on."""

APART = 0.1
"""How far the pooled AUC may lie from the one within cases without a word."""

IN_SAMPLE = "difficulty, in-sample"
LEFT_OUT = "difficulty, others"


def signal_auroc(
    trials: Any,
    *,
    signals: str | Sequence[str],
    length: str | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 9999,
    seed: int = 0,
    **columns: Unpack[Keys],
) -> pl.DataFrame:
    """How well signals tell failing from passing trials of the same case (AUROC within case).

    Use it before a flag, a count of tool errors or a judge's confidence is trusted to find bad
    runs. A signal that only knows which cases are hard has 0.5 here, however well it looks over
    all trials (`pooled`). Do not use it with one trial per case: it refuses.

    Args:
        trials: One row per trial, as for `tr.counts`; tables of other engines are collected.
        signals: Columns to judge: truth values, numbers or times; higher should mean failure.
        length: A column with the length of a trial (tokens, steps, time), as a reference.
        threshold: Pass when score >= threshold; replaces `passed`.
        level: Nominal coverage of the intervals, in (0, 1).
        resamples: Bootstrap resamples of whole cases (clusters when there are any), >= 1.
        permutations: Draws of the permutation test where it is not exact, >= 1.
        seed: Seed of both.
        **columns: Where `config`, `case`, `trial`, `cluster`, `passed` and `score` are, as in
            `tr.counts`. `config=None` compares trials of a case across configs.

    Returns:
        One row per config and signal: `value`, the share of fail/pass pairs of the same case in
        which the failing trial has the higher signal, ties half, with `low`, `high`, `se`;
        `macro`, its mean over cases; `pooled`, over all pairs, also of different cases;
        `pvalue` (two-sided); `cases_used` of `cases` have both outcomes and give `pairs`; trials
        without the signal are `missing`, without a verdict `unscored`. Then references: the
        same for `length`, and two rows for the difficulty of a case, over pairs of different
        cases (`scope`): from its failure rate, which has seen the trial itself and is too good,
        and from its other trials only. Numbers are null where no case has both outcomes.

    Raises:
        ColumnError: A column is missing, or a signal has no order.
        TrialsError: No config has a case with two scored trials; repeated trials; a case in two
            clusters.

    Notes:
        For case i with f_i fails and g_i passes, U_i pairs are concordant. value = sum U_i /
        sum f_i g_i; macro = mean of U_i / (f_i g_i). The interval is a percentile bootstrap of
        the ratio over cases with pairs; at nominal .95 it covers .93 with 30 cases of 4 trials
        and .89 with 15. The test permutes outcomes within cases, exactly unless the cases are
        large or of very many kinds (`test`). P-values are one by one: adjust them for the number
        of rows that were looked at.

    References:
        Mann and Whitney (1947), Ann. Math. Stat. 18:50; Phipson and Smyth (2010), Stat. Appl.
        Genet. Mol. Biol. 9:39.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 4 + ["y"] * 3, "flag": [1, 1, 0, 0, 1, 0, 0]}
        >>> rows["passed"] = [False, True, True, True, False, False, True]
        >>> table = tr.signal_auroc(rows, signals="flag")
        >>> table.select("signal", pl.col("value").round(3), "pairs", "scope").rows()[0]
        ('flag', 0.8, 5, 'within case')
    """
    level = _checks.between(level, "level", inclusive=False)
    draws = (
        _checks.integer(resamples, "resamples", low=1),
        _checks.integer(permutations, "permutations", low=1),
        _checks.integer(seed, "seed", low=0),
    )
    names = _checks.names(signals, "signals")
    if not names:
        raise ArgumentError("signals is empty: name at least one column.")
    asked = {f"signal {i}": name for i, name in enumerate(dict.fromkeys(names))}
    if length is not None:
        asked["length"] = length
    rows = rows_of(trials, columns, asked, threshold).collect()
    _refuse_unordered(rows, asked)
    cells, rows = _prepared(rows, list(asked))
    made: list[Row] = []
    for config, part in cells.group_by("config", maintain_order=True):
        low, high = int(part["row"][0]), int(part["row"][-1])
        own = rows.filter(pl.col("row").is_between(low, high))
        for name, source in asked.items():
            role = "length" if name == "length" else "signal"
            found = _within(own, part, name, level, draws)
            made.append({"config": config[0], "signal": source, "role": role} | found)
        made += [{"config": config[0]} | row for row in _difficulty(part)]
    table = pl.DataFrame(made, schema={c.name: c.dtype for c in SIGNALS}, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def _refuse_unordered(rows: pl.DataFrame, asked: dict[str, str]) -> None:
    for name, source in asked.items():
        kind = kind_of(rows.schema[name])
        if kind not in ORDERED and kind != "null":
            raise ColumnError(
                f"column {source!r} ({kind}) has no order that means something. Make it a number "
                f'or a truth value first, for example pl.col("{source}") == "error".'
            )
        odd = int(rows[name].is_nan().sum()) if rows.schema[name].is_float() else 0
        if odd:
            raise TrialsError(
                f"column {source!r} is NaN in {odd:,} rows. Unknown is null: "
                f'pl.col("{source}").fill_nan(None).'
            )


def _prepared(rows: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One numbered row per (config, case), sorted, and the scored trials that point to it."""
    if rows.is_empty():
        raise TrialsError("the table has no rows.")
    refuse_null_keys(rows, ("config", "case"))
    if "trial" in rows.columns:
        numbered = rows.filter(pl.col("trial").is_not_null())
        refuse_repeats(
            numbered, ("config", "case", "trial"), "Remove repeated rows, or name trial=None."
        )
    passed = pl.col("passed")
    refuse_split_cases(rows)
    clusters = {"cluster": pl.col("cluster").min()}
    cells = (
        rows.group_by("config", "case")
        .agg(
            fails=(~passed).sum().cast(pl.Int64),
            passes=passed.sum().cast(pl.Int64),
            unscored=passed.null_count().cast(pl.Int64),
            **(clusters if "cluster" in rows.columns else {}),
        )
        .sort("config", "case")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
    )
    _refuse_cells(cells)
    ranks = (pl.col(name).rank("dense").cast(pl.Int64) for name in names)
    scored = rows.filter(passed.is_not_null()).with_columns(*ranks)
    linked = scored.join(cells.select("config", "case", "row"), on=["config", "case"])
    return cells, linked.select("row", ~passed.alias("fail"), *names)


def _refuse_cells(cells: pl.DataFrame) -> None:
    most = cells.select((pl.col("fails") + pl.col("passes")).max()).item()
    if most < 2:
        raise TrialsError(
            "no case has two scored trials of one config, and a signal is judged between trials of "
            "the same case. Run the cases twice or more, or give config=None to compare the "
            "trials of a case across configs."
        )


def _within(
    rows: pl.DataFrame, cells: pl.DataFrame, name: str, level: float, draws: tuple[int, int, int]
) -> Row:
    """The numbers of one signal in one config."""
    resamples, permutations, seed = draws
    used = rows.filter(pl.col(name).is_not_null())
    case = used["row"].to_numpy() - int(cells["row"][0])
    rank, fail = used[name].to_numpy() - 1, used["fail"].to_numpy()
    found = concordance(case, rank, fail, cells.height)
    row: Row = {
        "value": found.pair_weighted,
        "level": level,
        "macro": found.macro,
        "pooled": concordance(np.zeros_like(case), rank, fail, 1).pair_weighted,
        "scope": "within case",
        "cases_used": int(np.count_nonzero(found.pairs)),
        "cases": cells.height,
        "pairs": int(found.pairs.sum()),
        "trials": len(case),
        "missing": rows.height - len(case),
        "unscored": int(cells["unscored"].sum()),
    }
    row |= _interval(found, _codes(cells), level, resamples, np.random.default_rng(seed))
    if row["cases_used"]:
        rng = np.random.default_rng(seed)
        test = permute_within(case, rank, fail, cells.height, rng, permutations)
        told = test.method if test.exact else f"{test.method}, {test.draws:,} draws"
        row |= {"pvalue": test.pvalue, "test": told, "exact": test.exact}
    return row | {"warnings": "; ".join(_cautions(row)) or None}


def _interval(
    found: Concordance,
    cluster: Ints | None,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> Row:
    """Percentile bootstrap of the ratio over cases with pairs, or over their clusters."""
    made = bootstrap_mean(
        found.auc,
        rng,
        found.pairs.astype(np.float64),
        cluster,
        resamples=resamples,
        level=level,
        orient=False,
    )
    return {
        "low": made.low,
        "high": made.high,
        "se": made.se,
        "units": made.units,
        "method": "percentile bootstrap of " + ("cases" if cluster is None else "clusters"),
    }


def _codes(cells: pl.DataFrame) -> Ints | None:
    """Cluster codes of the cases; a case without a cluster stands alone."""
    if "cluster" not in cells.columns or cells["cluster"].null_count() == cells.height:
        return None
    alone = pl.format("\0{}", pl.col("row"))
    return (
        cells.select(pl.coalesce("cluster", alone).rank("dense"))
        .to_series()
        .cast(pl.Int64)
        .to_numpy()
    )


def _cautions(row: Row) -> list[str]:
    if not row["cases_used"]:
        return ["no case has both failing and passing trials with this signal"]
    told = []
    if row["units"] < 2:
        told.append("only one independent unit: no interval")
    elif row["units"] < FEW:
        told.append(f"only {row['units']} independent units: the interval is too narrow")
    elif row["low"] == row["high"]:
        told.append("all resamples agree: is the signal the same in all trials of a case?")
    if abs(row["pooled"] - row["value"]) > APART:
        told.append(
            f"over all cases {row['pooled']:.2f}, within a case {row['value']:.2f}: it tells cases "
            "apart " + ("more" if row["pooled"] > row["value"] else "less") + " than trials"
        )
    if row["missing"]:
        told.append(f"{row['missing']:,} scored trials lack the signal and are left out")
    return told


def _difficulty(cells: pl.DataFrame) -> list[Row]:
    """Reference rows: what knowing the case is worth, over pairs of different cases."""
    fails, passes = cells["fails"].to_numpy(), cells["passes"].to_numpy()
    size = fails + passes
    rate = np.unique(fails / np.maximum(size, 1), return_inverse=True)[1]
    rank = np.repeat(rate, size)
    failed = np.concatenate([np.zeros(0, dtype=bool), _outcomes(fails, passes)])
    pooled = concordance(np.zeros(len(rank), dtype=np.int64), rank, failed, 1)
    fair = size > 1
    across = int(fails[fair].sum()) * int(passes[fair].sum()) - int(fails[fair] @ passes[fair])
    shared: Row = {
        "role": "difficulty",
        "scope": "pooled across cases",
        "cases": cells.height,
        "unscored": int(cells["unscored"].sum()),
    }
    seen = {
        "signal": IN_SAMPLE,
        "value": pooled.pair_weighted,
        "pooled": pooled.pair_weighted,
        "pairs": int(pooled.pairs.sum()),
        "cases_used": int(np.count_nonzero(size)),
        "trials": int(size.sum()),
        "method": "failure rate of the case, the trial itself included: too good",
    }
    unseen = {
        "signal": LEFT_OUT,
        "value": leave_one_out_auc(fails, passes),
        "pairs": across,
        "cases_used": int(np.count_nonzero(fair)),
        "trials": int(size[fair].sum()),
        "method": "failure rate of the case's other trials, pairs of different cases",
    }
    return [shared | seen, shared | unseen | {"pooled": unseen["value"]}]


def _outcomes(fails: Ints, passes: Ints) -> NDArray[np.bool_]:
    """Outcomes of all trials, case after case: fails first."""
    return np.repeat(np.tile([True, False], len(fails)), np.stack((fails, passes), axis=1).ravel())
