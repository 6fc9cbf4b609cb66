"""Trials of any engine as one small table of counts: the hinge of the package.

One group-by, made of sums only, runs wherever the trials are. Everything that can be
decided afterwards (policies, checks, roll-ups) is decided on its small result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trialframe import _checks
from trialframe._invariants import RESERVED, normalised
from trialframe.engine import (
    Source,
    deduplicated,
    distinct_trials,
    grouped,
    source_of,
    sources,
    trial_key,
)
from trialframe.errors import ArgumentError, TrialsError, UnknownConfigError, did_you_mean, listed, short
from trialframe.read._fields import Columns, Field, broken, complaint
from trialframe.read._trials import examples, joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

Policy = Literal["exclude", "fail", "raise"]
POLICIES = ("exclude", "fail", "raise")
MOST_ROWS = 4096
"""Rows of one case up to which the sum of powers of two stays exact in a double."""

KEY_PARTS = ("config__", "case__", "by__", "outcome")

ONE_CONFIG = "system"
"""The config's name when the table has no config column."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Scored trials and passes per (config, case), validated and sorted.

    Build it with `tr.counts`, or hand over a table that was counted upstream.

    Attributes:
        frame: One row per config and case: `config, case`, case-level columns (`cluster`,
            `weight`, those kept with `by`), `n` scored trials, `c` passes, `unscored`
            trials, `unscored_failed` (trials without a verdict that a policy counts in `n`
            as failures), `c_secure`, and `<m>_n, <m>_sum, <m>_sumsq` per measure.
        outcomes: One row per config, case and outcome class with `n, c, unscored`, or None
            when the trials had no outcome column.
        by: Columns beside the key that rows can be grouped by.
        unscored: Policy for trials without a verdict that the counts were made with.
        mapping: Which source column was taken for what.
        notes: What was dropped, assumed or not checked.

    Raises:
        CountsError: The frame breaks a rule: unique (config, case), 0 <= c_secure <= c <= n,
            no nulls, one cluster and one weight per case.

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> table = pl.DataFrame({"config": ["a", "a"], "case": ["1", "2"], "n": 5, "c": [5, 2]})
        >>> tr.Counts(table).frame.select("case", "n", "c", "unscored").rows()
        [('1', 5, 5, 0), ('2', 5, 2, 0)]
    """

    frame: pl.DataFrame
    outcomes: pl.DataFrame | None = field(default=None, repr=False)
    by: tuple[str, ...] = ()
    unscored: str = "exclude"
    mapping: pl.DataFrame | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Normalise types and order, and check every invariant once."""
        frame, by = normalised(self.frame, self.by)
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "by", by)

    @property
    def configs(self) -> list[str]:
        """Names of the configs, sorted."""
        return self.frame["config"].unique().sort().to_list()

    @property
    def measures(self) -> list[str]:
        """Measures whose sums the counts hold."""
        suffix = "_sumsq"
        return [name.removesuffix(suffix) for name in self.frame.columns if name.endswith(suffix)]

    def select(self, *configs: str) -> Counts:
        """The counts of some configs only.

        Raises:
            UnknownConfigError: A config is not in these counts.
        """
        for name in configs:
            if name not in self.configs:
                raise UnknownConfigError(
                    f"no config {name!r} in these counts. {did_you_mean(name, self.configs)}"
                )
        keep = pl.col("config").is_in(list(configs))
        outcomes = None if self.outcomes is None else self.outcomes.filter(keep)
        return Counts(
            self.frame.filter(keep), outcomes, self.by, self.unscored, self.mapping, self.notes
        )

    def __len__(self) -> int:
        """Number of (config, case) pairs."""
        return self.frame.height

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{note}</li>" for note in self.notes)
        return f"{self.frame._repr_html_()}<ul>{notes}</ul>"


def counts(
    trials: Any,
    *,
    by: str | Sequence[str] = (),
    unscored: Policy | Mapping[str, Policy] = "exclude",
    keep: Literal["raise", "first", "last", "all"] = "raise",
    attempts: Literal["raise", "first"] = "raise",
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> Counts:
    """Count scored trials and passes per config and case, where the data is.

    Do not use it to count sequential attempts (retries that see the last failure) as if they
    were independent trials: `attempts` refuses that.

    Args:
        trials: One row per trial: a Polars, pandas or pyarrow table, a Polars LazyFrame, a
            DuckDB relation, a PySpark DataFrame, an Ibis table, or a dict of columns. A
            table with one row per case and columns n and c is taken as counts.
        by: Columns to keep for grouping; constant within a (config, case).
        unscored: What a trial without a verdict (null `passed`) is: "exclude" (not in n),
            "fail" (in n, not in c), "raise", or a mapping from outcome class to one of
            these; classes that the mapping does not name are excluded.
        keep: What to do with rows that share (config, case, trial): "raise", keep the
            "first" or "last" row in row order (Polars, pandas, pyarrow), or "all" as trials.
        attempts: "first" counts only rows with attempt 1; "raise" refuses later attempts.
        threshold: Pass when score >= threshold; replaces `passed`.
        **columns: Where each canonical column is: a name, several names for `config` and
            `case`, an expression (Polars, pandas, pyarrow), or None to leave it out.
            Common aliases are found without it; `Counts.mapping` says what was chosen.

    Returns:
        The counts, sorted by (config, case), the same on every engine.

    Raises:
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: No rows, null cases, verdicts that are not true/false/null, NaN or
            infinite measures, duplicate keys, a case in two clusters.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"model": ["a"] * 4, "task": ["x", "x", "y", "y"], "ok": [True, None, True, False]}
        >>> tr.counts(rows, passed="ok").frame.rows()
        [('a', 'x', 1, 1, 1), ('a', 'y', 2, 1, 0)]
    """
    _checks.one_of(keep, "keep", ("raise", "first", "last", "all"))
    _checks.one_of(attempts, "attempts", ("raise", "first"))
    policy = _policy(unscored)
    source = source_of(trials, columns, threshold)
    by = _kept(_checks.names(by, "by"), source)
    notes = []
    if keep == "first" or keep == "last":
        source, dropped = deduplicated(source, keep)
        notes.append(f"{dropped:,} rows with a repeated (config, case, trial) dropped, {keep} kept")
    groups = grouped(source, by, attempts)
    _refused(source, groups, attempts)
    return _rolled_up(source, groups, by, policy, keep, notes)


def _kept(by: tuple[str, ...], source: Source) -> tuple[str, ...]:
    """The columns to keep beside those that the counts hold in any case."""
    for name in by:
        if name in RESERVED and not {name, *sources(source.plan, name)} == {name}:
            raise ArgumentError(
                f"by: {name!r} has a meaning of its own in counts, and {name!r} is not what serves "
                f"as it here. Rename the column first."
            )
    return tuple(name for name in dict.fromkeys(by) if name not in RESERVED)


def _policy(unscored: object) -> dict[str, str]:
    """The policy as a mapping from outcome class to word; "" stands for every other class."""
    if isinstance(unscored, Mapping):
        words = {str(k): _checks.one_of(v, f"unscored[{k!r}]", POLICIES) for k, v in unscored.items()}
        return {"": "exclude"} | words
    return {"": _checks.one_of(unscored, "unscored", POLICIES)}


def _refused(source: Source, groups: pl.DataFrame, attempts: str) -> None:
    """Raise on rows that break the contract, with the first of them."""
    if groups.is_empty():
        raise TrialsError("the table has no rows. Check the path, the filter or the query.")
    for i, item in enumerate(source.plan.fields):
        if f"bad__{i}" in groups.columns and (bad := int(groups[f"bad__{i}"].sum())):
            raise TrialsError(complaint(item, bad, _examples(source, item)))
    _refuse_null_keys(source, groups)
    if attempts == "raise" and "retries" in groups.columns and (n := int(groups["retries"].sum())):
        raise TrialsError(
            f"{n:,} rows are second or later attempts. Attempts that see the last failure are not "
            'independent trials: count first attempts with attempts="first".'
        )


def _examples(source: Source, item: Field) -> str:
    test = broken(item, pl)
    if source.polars is None or test is None:
        return ""
    return examples(source.polars, item, test)


def _refuse_null_keys(source: Source, groups: pl.DataFrame) -> None:
    for name in ("config", "case"):
        parts = [c for c in groups.columns if c.startswith(f"{name}__")]
        empty = groups.filter(pl.any_horizontal(pl.col(parts).is_null())) if parts else groups[:0]
        if empty.height:
            where = listed(sources(source.plan, name))
            raise TrialsError(
                f"{name} is null in {int(empty['rows'].sum()):,} rows (column {where}). "
                f"Every row needs a {name}: fill or drop these rows first."
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
    if unnumbered := int((cases["rows"] - cases["trial_rows"]).sum()):
        notes.append(f"{unnumbered:,} rows without a trial number taken as trials of their own")
    if _repeats(source, cases):
        raise TrialsError(_duplicates_message(source))


def _repeats(source: Source, cases: pl.DataFrame) -> bool:
    """Whether any (config, case) has two rows with the same trial number."""
    known = int(cases["trial_rows"].sum())
    if "trial_bits" not in cases.columns:
        return distinct_trials(source) < known
    most = cases.select(pl.col("rows").max()).item()
    if most > MOST_ROWS or int(cases["trial_small"].sum()) < known:
        return distinct_trials(source) < known
    ones = pl.col("trial_bits").cast(pl.Int64).bitwise_count_ones().cast(pl.Int64)
    return bool(cases.select((ones != pl.col("trial_rows")).any()).item())


def _rolled_up(
    source: Source,
    groups: pl.DataFrame,
    by: tuple[str, ...],
    policy: Mapping[str, str],
    keep: str,
    notes: list[str],
) -> Counts:
    """From sums per group to one row per (config, case), with the policy applied."""
    groups = _with_policy(groups, source, policy, notes)
    case_level = {f"by__{i}": name for i, name in enumerate(by)}
    for name in ("config", "case"):
        parts = sources(source.plan, name)
        if len(parts) > 1:
            case_level |= {f"{name}__{i}": part for i, part in enumerate(parts)}
            key = joined(tuple(f"{name}__{i}" for i in range(len(parts))))
        else:
            key = pl.col(f"{name}__0") if parts else pl.lit(ONE_CONFIG)
        groups = groups.with_columns(key.alias(name))
    case_level = {old: new for old, new in case_level.items() if new not in RESERVED}
    cases = _one_row_per_case(_by_key(groups), case_level, notes)
    _refuse_duplicates(source, cases, keep, notes)
    unwanted = [c for c in cases.columns if c not in {*RESERVED, *case_level.values()}]
    return Counts(
        cases.drop(unwanted),
        outcomes=_outcomes(groups),
        by=tuple(case_level.values()),
        unscored=_policy_text(policy),
        mapping=source.plan.frame(),
        notes=tuple(notes),
    )


def _outcomes(groups: pl.DataFrame) -> pl.DataFrame | None:
    if "outcome" not in groups.columns:
        return None
    sums = pl.col("n", "c", "unscored", "unscored_failed").sum()
    table = groups.group_by("config", "case", "outcome").agg(sums)
    return table.sort("config", "case", "outcome", nulls_last=True)


def _by_key(groups: pl.DataFrame) -> pl.DataFrame:
    """Sort by (config, case) through whole-number ranks: millions of texts sort slowly."""
    ranks = []
    for name in ("config", "case"):
        words = groups[name].unique().sort()
        ranks.append(pl.col(name).replace_strict(words, pl.int_range(len(words), eager=True)))
    return groups.sort(*ranks)


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
        word = pl.col("outcome").replace_strict(policy, default=policy[""], return_dtype=pl.String)
        present = set(groups["outcome"].unique().to_list())
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


def _policy_text(policy: Mapping[str, str]) -> str:
    classes = ", ".join(f"{name}: {word}" for name, word in policy.items() if name)
    return f"{policy['']} ({classes})" if classes else policy[""]


def _duplicates_message(source: Source) -> str:
    """What repeats, where, and which column would tell the rows apart."""
    plan = source.plan
    names = trial_key(plan)
    message = f"rows share a (config, case, trial) (columns {listed(names)})."
    todo = 'Choose keep="first", "last" or "all" (as trials of their own), or make the key finer'
    if source.polars is None:
        return f"{message} {todo}."
    frame, key = source.polars, pl.struct(names)
    rows, distinct = frame.select(pl.len(), key.n_unique().alias("n")).collect().row(0)
    repeated = frame.filter(key.is_duplicated()).select(names).unique(maintain_order=True).head(3)
    first = ", ".join(str(row) for row in repeated.collect().rows())
    texts = [name for name in plan.unused if frame.collect_schema()[name] == pl.String]
    tellers = [
        name
        for name in texts[:12]
        if frame.select(pl.struct(*names, name).n_unique()).collect().item() == rows
        and frame.select(pl.col(name).n_unique()).collect().item() <= rows / 10
    ]
    hint = ""
    if tellers:
        config = [*(sources(plan, "config")), tellers[0]]
        hint = f": with {tellers[0]!r} every row is unique, for example config={config!r}"
    return f"{rows - distinct:,} {message} First: {short(first, 200)}. {todo}{hint}."
