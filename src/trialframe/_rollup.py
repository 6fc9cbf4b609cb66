"""From the sums of an engine to one checked row per (config, case)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from trialframe._invariants import RESERVED
from trialframe.engine import Source, distinct_trials, sources, trial_key
from trialframe.errors import ArgumentError, TrialsError, listed, short
from trialframe.read._fields import Field, broken, complaint
from trialframe.read._trials import examples, joined
from trialframe.schema import ONE_CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_ROWS = 4096
"""Rows of one case up to which the sum of powers of two stays exact in a double."""

TEXTS = cs.enum().cast(pl.String)

LABEL_ROWS = 10
"""Rows per value from which a text column is taken for a label."""

KEY_PARTS = ("config__", "case__", "by__", "outcome")


def rolled_up(
    source: Source,
    groups: pl.DataFrame,
    by: tuple[str, ...],
    policy: Mapping[str, str],
    keep: str,
    notes: list[str],
) -> tuple[pl.DataFrame, pl.DataFrame | None, tuple[str, ...]]:
    """From sums per group to one row per (config, case), with the policy applied.

    Returns:
        Counts, counts by outcome class or None, and the columns to group by. What was
        assumed or dropped is added to `notes`.
    """
    _refuse_rows(source, groups)
    groups = _with_policy(groups, source, policy, notes)
    level = {name: f"by__{i}" for i, name in enumerate(by)}
    for name in ("config", "case"):
        parts = sources(source.plan, name)
        if len(parts) > 1:
            level |= {part: f"{name}__{i}" for i, part in enumerate(parts)}
            key = joined(tuple(f"{name}__{i}" for i in range(len(parts))))
        else:
            key = pl.col(f"{name}__0") if parts else pl.lit(ONE_CONFIG)
        groups = groups.with_columns(key.alias(name))
    case_level = {old: new for new, old in level.items() if new not in RESERVED}
    outcomes = _outcomes(groups)
    groups = groups.sort("config", "case")
    cases = _one_row_per_case(groups, case_level, notes)
    _refuse_duplicates(source, cases, keep, notes)
    kept = tuple(case_level.values())
    unwanted = [c for c in cases.columns if c not in {*RESERVED, *kept}]
    return cases.drop(unwanted).with_columns(TEXTS), outcomes, kept


def _refuse_rows(source: Source, groups: pl.DataFrame) -> None:
    """Raise on rows that break the contract, with the first of them."""
    if groups.is_empty():
        raise TrialsError("the table has no rows. Check the path, the filter or the query.")
    for i, item in enumerate(source.plan.fields):
        if f"bad__{i}" in groups.columns and (bad := int(groups[f"bad__{i}"].sum())):
            raise TrialsError(complaint(item, bad, _examples(source, item)))
    _refuse_null_keys(source, groups)
    if "retries" in groups.columns and (n := int(groups["retries"].sum())):
        raise TrialsError(
            f"{n:,} rows are second or later attempts. Attempts that see the last failure are not "
            'independent trials: count first attempts with attempts="first", or see tr.seq_at_k.'
        )


def _examples(source: Source, item: Field) -> str:
    test = broken(item, pl)
    if source.polars is None or test is None:
        return ""
    return examples(source.polars, item, test)


def _refuse_null_keys(source: Source, groups: pl.DataFrame) -> None:
    for name in ("config", "case"):
        for i, part in enumerate(sources(source.plan, name)):
            empty = groups.filter(pl.col(f"{name}__{i}").is_null())
            if empty.height:
                raise TrialsError(
                    f"{name} is null in {int(empty['rows'].sum()):,} rows (column {part!r}). "
                    "Every row needs one: fill or drop these rows first."
                )


def _refuse_duplicates(source: Source, cases: pl.DataFrame, keep: str, notes: list[str]) -> None:
    """Raise when trial numbers, or rows of counts, repeat within a (config, case)."""
    if keep == "all":
        return
    if source.plan.shape == "counts":
        repeated = cases.filter(pl.col("rows") > 1)
        if repeated.height:
            pairs = repeated.select(pl.concat_str("config", "case", separator=", ")).to_series()
            raise TrialsError(
                f"{repeated.height:,} (config, case) pairs have several rows of counts. First: "
                f'{listed(pairs, 3)}. Add them up with keep="all", or make the key finer.'
            )
        return
    if source.plan.get("trial") is None:
        notes.append("no trial column: the rows of a case are its trials, repeats cannot be seen")
        return
    if "trial_rows" not in cases.columns:
        cases = cases.with_columns(trial_rows=pl.col("rows"))
    if unnumbered := int((cases["rows"] - cases["trial_rows"]).sum()):
        notes.append(f"{unnumbered:,} rows without a trial number taken as trials of their own")
    if _repeats(source, cases):
        raise TrialsError(_duplicates_message(source))


def _repeats(source: Source, cases: pl.DataFrame) -> bool:
    """Whether any (config, case) has two rows with the same trial number."""
    words = [name for name in cases.columns if name.startswith("trial_bits_")]
    if not words or cases.select(pl.col("rows").max()).item() > MOST_ROWS:
        return distinct_trials(source) < int(cases["trial_rows"].sum())
    ones = [pl.col(name).cast(pl.Int64).bitwise_count_ones().cast(pl.Int64) for name in words]
    return bool(cases.select((pl.sum_horizontal(ones) != pl.col("trial_rows")).any()).item())


def _outcomes(groups: pl.DataFrame) -> pl.DataFrame | None:
    if "outcome" not in groups.columns:
        return None
    sums = pl.col("n", "c", "unscored", "unscored_failed").sum()
    table = groups.group_by("config", "case", "outcome").agg(sums)
    return table.sort("config", "case", "outcome", nulls_last=True).with_columns(TEXTS)


def _with_policy(
    groups: pl.DataFrame, source: Source, policy: Mapping[str, str], notes: list[str]
) -> pl.DataFrame:
    """Split the trials without a verdict into left out and counted as failures."""
    classes = [name for name in policy if name]
    if source.plan.shape == "trials":
        groups = groups.with_columns(unscored=pl.col("rows") - pl.col("n"))
    elif "unscored" not in groups.columns:
        groups = groups.with_columns(unscored=pl.lit(0, pl.Int64))
    word = pl.lit(policy[""])
    if classes:
        if "outcome" not in groups.columns:
            raise ArgumentError(
                "unscored= by outcome class needs an outcome column. Name it, for example "
                "outcome='status', or give one policy for all."
            )
        word = pl.col("outcome").cast(pl.String)
        word = word.replace_strict(policy, default=policy[""], return_dtype=pl.String)
        present = set(groups["outcome"].cast(pl.String).unique().to_list())
        if absent := [name for name in classes if name not in present]:
            notes.append(f"no trial has outcome {listed(absent)}")
    groups = groups.with_columns(_word=word)
    refused = groups.filter((pl.col("_word") == "raise") & (pl.col("unscored") > 0))
    if refused.height:
        raise TrialsError(
            f"{int(refused['unscored'].sum()):,} trials have no verdict and unscored='raise'. "
            'Score them, or choose unscored="exclude" or "fail".'
        )
    failed = pl.when(pl.col("_word") == "fail").then(pl.col("unscored")).otherwise(0)
    if "unscored_failed" not in groups.columns:
        groups = groups.with_columns(unscored_failed=pl.lit(0, pl.Int64))
    return groups.with_columns(
        n=pl.col("n") + failed,
        unscored=pl.col("unscored") - failed,
        unscored_failed=pl.col("unscored_failed") + failed,
    ).drop("_word")


def _one_row_per_case(
    groups: pl.DataFrame, case_level: Mapping[str, str], notes: list[str]
) -> pl.DataFrame:
    """Add up the sorted groups of a (config, case); case-level columns must not differ."""
    level = dict(case_level) | {n: n for n in ("cluster", "weight") if n in groups.columns}
    keys = ["config", "case"]
    sums = [c for c in groups.columns if not c.startswith(KEY_PARTS) and c not in {*keys, *level}]
    if groups["unscored_failed"].sum() == 0:
        sums.remove("unscored_failed")
    if "secure_unknown" in sums and (unknown := int(groups["secure_unknown"].sum())):
        notes.append(f"{unknown:,} passes without a security check are not counted as secure")
    if "cluster" in level and groups["cluster"].null_count() == groups.height:
        notes.append("the cluster column is empty: every case is its own cluster")
        level.pop("cluster")
    cases = groups.select(*keys, *level, *sums)
    again = pl.all_horizontal(pl.col(key) == pl.col(key).shift(1) for key in keys)
    if cases.select(again.any()).item():
        spread = cases.group_by(keys, maintain_order=True).agg(
            pl.col(list(level)).first(),
            pl.col(sums).sum(),
            *(pl.col(name).n_unique().alias(f"_{name}") for name in level),
        )
        _refuse_torn(spread, level)
        cases = spread.select(cases.columns)
    return cases.rename(dict(case_level))


def _refuse_torn(cases: pl.DataFrame, level: Mapping[str, str]) -> None:
    for old, new in level.items():
        torn = cases.filter(pl.col(f"_{old}") > 1)
        if torn.height:
            raise TrialsError(
                f"{new!r} differs within {torn.height:,} (config, case) pairs. First: "
                f"{listed(torn.row(0)[:2])}. Make it part of the key, for example "
                f"case=['case', {new!r}], or leave it out."
            )


def _duplicates_message(source: Source) -> str:
    """What repeats, where, and which column would tell the rows apart."""
    plan = source.plan
    names = trial_key(plan)
    message = f"rows share a (config, case, trial) (columns {listed(names)})."
    todo = (
        'Choose keep="first", keep="last" or keep="all" (trials of their own), '
        "or make the key finer"
    )
    if source.polars is None:
        return f"{message} {todo}."
    numbered = pl.col(sources(plan, "trial")[0]).is_not_null()
    frame, key = source.polars.filter(numbered), pl.struct(names)
    rows, distinct = frame.select(pl.len(), key.n_unique().alias("n")).collect().row(0)
    repeated = frame.filter(key.is_duplicated()).select(names).unique(maintain_order=True).head(3)
    first = ", ".join(str(row) for row in repeated.collect().rows())
    schema = frame.collect_schema()
    texts = [name for name in plan.unused if schema[name] == pl.String]
    teller = tells_apart(frame, names, texts)
    hint = ""
    if teller is not None:
        config = [*(sources(plan, "config")), teller]
        hint = f": with {teller!r} every row is unique, for example config={config!r}"
    return f"{rows - distinct:,} {message} First: {short(first, 200)}. {todo}{hint}."


def tells_apart(rows: pl.LazyFrame, key: Sequence[str], texts: Sequence[str]) -> str | None:
    """The first label that differs between all rows of every repeated key, None without one.

    A label sorts the rows into a few named groups, as a snapshot or a suite does; free text, such
    as an error, is no part of a key.

    Args:
        rows: Rows whose key is known.
        key: Its columns.
        texts: Columns of text outside the key.
    """
    kinds = rows.select(pl.len().alias("__rows"), pl.col(texts).n_unique())
    blank = rows.select(pl.col(texts).null_count()).collect()
    seen = kinds.collect().row(0, named=True)
    most = seen["__rows"] / LABEL_ROWS
    labels = [name for name in texts if seen[name] <= most and not blank[name].item()]
    if not labels:
        return None
    groups = rows.group_by(key).agg(pl.len().alias("__rows"), pl.col(labels).n_unique())
    repeated = groups.filter(pl.col("__rows") > 1).drop(key)
    facts = repeated.select((pl.exclude("__rows") == pl.col("__rows")).all()).collect()
    return next((name for name in facts.columns if facts[name].item()), None)
