"""Any table with verdicts and labels as counts per judge, group and case."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.engine import at_home
from trialframe.errors import ColumnError, SourceError, TrialsError, did_you_mean, listed, short
from trialframe.judge._verdicts import UNMAPPED, Truth, truth
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CELLS = ("tp", "fp", "fn", "tn")
"""Judge and label pass, judge only, label only, neither."""

OTHERS = ("judged", "judged_pass", "no_verdict")
"""Rows without a label, those of them that the judge passes, rows with a label only."""

CLUSTER, SPLIT = "_cluster", "_split"
"""Their names in the cells, so that a column of that name may be a group as well."""

FIND = "auto"
"""The default of every `cluster=`: the column `cluster`, or an alias, when there is one."""

_TRIAL, _CONFIG, _ATTEMPT = "_trial", "_other_config", "_attempt"

TAKEN = frozenset(
    (
        *("judge", "config", "case", "n", "cases", "clusters", "agreement", "chance", "level"),
        *("kappa", "kappa_low", "kappa_high", "kappa_se", "kappa_analytic", "kappa_analytic_low"),
        *("kappa_analytic_high", "undefined_resamples", "rate_interval", "m1", "m0", "youden"),
        *("sensitivity", "sensitivity_low", "sensitivity_high", "m1_effective", "m0_effective"),
        *("specificity", "specificity_low", "specificity_high", "prevalence", "judge_rate"),
        *("positive_agreement", "negative_agreement", "no_label", "leaked_cases", "status"),
        *("reason", "warnings", "judge_pass", "label_pass", CLUSTER, SPLIT, *CELLS, *OTHERS),
        *(_TRIAL, _CONFIG, _ATTEMPT),
    )
)
"""Columns of results, which no group may be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column of a table is what.

    Attributes:
        judge: Columns with verdicts of judges, at least one.
        label: Column with labels; None for a table without any.
        case: Columns that make the case together; empty when every row is its own case.
        config: Column with the system under test, or None to take all together.
        cluster: Column with groups of dependent cases, or None.
        split: Column with splits, or None.
        by: Columns to group by.
        once: Canonical name -> column that with the keys makes a row unique: trial, attempt, and
            a config that was not asked for.
        notes: What was assumed.
    """

    judge: tuple[str, ...]
    label: str | None
    case: tuple[str, ...]
    config: str | None = None
    cluster: str | None = None
    split: str | None = None
    by: tuple[str, ...] = ()
    once: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def every(self) -> list[str]:
        """All columns once."""
        single = [
            name for name in (self.label, self.config, self.cluster, self.split) if name is not None
        ]
        known = [*self.judge, *single, *self.case, *self.by, *self.once.values()]
        return list(dict.fromkeys(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Verdicts and labels, counted.

    Attributes:
        cells: One row per judge, config, group, case, cluster and split, sorted, with `tp, fp, fn,
            tn` rows that have both, `judged` and `judged_pass` rows without a label, and
            `no_verdict` rows that have a label only.
        unmapped: Texts that no mapping knows: `column, text, rows`.
        columns: Where everything came from.
    """

    cells: pl.DataFrame
    unmapped: pl.DataFrame
    columns: Columns
    notes: tuple[str, ...] = field(default=())


def labelled(
    frame: Any,
    given: Mapping[str, Any],
    verdicts: Mapping[Any, bool | None] | None = None,
    *,
    wants: str = "labels",
) -> Labelled:
    """Read a table of verdicts and labels.

    Args:
        frame: Any table.
        given: judge, label, case, config, cluster, split, by as the caller named them.
        verdicts: What texts mean.
        wants: "labels", or "verdicts" for a table whose labels, if any, do not matter.

    Raises:
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: No rows, null cases, or values that are neither pass nor fail.
    """
    picked: list[Columns] = []

    def choose(names: list[str]) -> list[str]:
        picked.append(_columns(names, given, wants))
        return picked[0].every

    home = at_home(frame, choose)
    columns = picked[0]
    try:
        table = home.collect()
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"the table could not be read: {error}. Check the files.") from error
    if table.is_empty():
        raise TrialsError("the table has no rows. Give one row per judged trial.")
    label = _labels(table, columns.label, verdicts)
    judges = [truth(table, name, "judge", verdicts) for name in columns.judge]
    keys = _keys(table, columns)
    repeats = _repeats(table, keys, columns)
    parts = [
        _counted(keys.with_columns(judge_pass=made.values, label_pass=label.values), name)
        for name, made in sorted(zip(columns.judge, judges, strict=True), key=lambda pair: pair[0])
    ]
    unmapped = pl.concat([label.unmapped, *(made.unmapped for made in judges)])
    notes = [*columns.notes, *repeats]
    notes += _unused(verdicts, [label, *judges]) if wants == "labels" else []
    cells = pl.concat(parts)
    return Labelled(cells=cells, unmapped=unmapped, columns=columns, notes=tuple(notes))


def key_columns(cells: pl.DataFrame) -> list[str]:
    """The columns that tell rows of a calibration apart: judge, config and groups."""
    rest = {"case", CLUSTER, SPLIT, *OTHERS, *CELLS}
    return [name for name in cells.columns if name not in rest]


def _unused(verdicts: Mapping[Any, bool | None] | None, columns: Sequence[Truth]) -> list[str]:
    """Meanings that were given for texts which no row holds."""
    seen = frozenset[str]().union(*(made.seen for made in columns))
    idle = [text for text in map(str, verdicts or {}) if text not in seen]
    return [f"no labelled row says {listed(idle)}: the meaning given is not used"] if idle else []


def _repeats(table: pl.DataFrame, keys: pl.DataFrame, columns: Columns) -> list[str]:
    """Raise when a trial is there twice, and say when rows of a case are taken as its trials."""
    if not columns.case:
        return []
    if "trial" not in columns.once:
        more = [table[columns.once["config"]].alias(_CONFIG)] if "config" in columns.once else []
        rows = keys.with_columns(more)
        several = rows.group_by(rows.columns).len().filter(pl.col("len") > 1)["case"].n_unique()
        told = "have several rows, which are taken as trials of the case"
        return [f"no trial column: {several:,} cases {told}"] if several else []
    names = {"trial": _TRIAL, "config": _CONFIG, "attempt": _ATTEMPT}
    more = [table[old].alias(names[new]) for new, old in columns.once.items()]
    rows = keys.with_columns(more).filter(pl.col(_TRIAL).is_not_null())
    repeated = rows.group_by(rows.columns).len().filter(pl.col("len") > 1)
    if repeated.is_empty():
        return []
    shown = [name for name in rows.columns if name not in {CLUSTER, _ATTEMPT}]
    first = repeated.sort(shown).row(0, named=True)
    words = {SPLIT: "split", _TRIAL: "trial", _CONFIG: "config"}
    told = ", ".join(
        f"{words.get(name, name)} {short(first[name])}" for name in shown if first[name] is not None
    )
    raise TrialsError(
        f"{repeated.height:,} trials occur more than once and would count more than once. First: "
        f"{told}: {first['len']} rows. Remove the copies. Where a column names the judge, take one "
        "judge at a time: tr.calibrate(..., by='judge_name'), or keep the rows of one judge."
    )


def _labels(
    table: pl.DataFrame, name: str | None, verdicts: Mapping[Any, bool | None] | None
) -> Truth:
    if name is not None:
        return truth(table, name, "label", verdicts)
    none = pl.Series([None], dtype=pl.Boolean).new_from_index(0, table.height)
    return Truth(values=none, unmapped=pl.DataFrame(schema=UNMAPPED), seen=frozenset())


def _columns(names: list[str], given: Mapping[str, Any], wants: str) -> Columns:
    """Match what the caller named, and names that need no naming, to the columns there are."""
    notes = []
    judge = _checks.names(given.get("judge"), "judge") or (_found(names, "judge"),)
    label = None
    if wants == "labels":
        label = given.get("label") or _found(names, "label")
    case = _checks.names(given.get("case"), "case") or _case(names)
    if not case:
        notes.append("no case column: every row is taken as a case of its own")
    asked = "split" in given
    split = given.get("split") or ("split" if asked and "split" in names else None)
    if split is not None and not given.get("split"):
        notes.append("splits are those of the column 'split'")
    if wants == "verdicts" and split not in names:
        split = None  # a run need not be split as its labels are
    cluster = given.get("cluster")
    found = _alias(names, "cluster") if cluster == FIND else None
    if cluster == FIND:
        cluster = found
    if found is not None:
        notes.append(f"cases of the same {cluster!r} are taken as dependent")
    config = given.get("config")
    made = Columns(
        judge=judge,
        label=label,
        case=case,
        config=config,
        cluster=cluster,
        split=split,
        by=_checks.names(given.get("by"), "by"),
        notes=tuple(notes),
    )
    _refuse(made, names)
    free = [name for name in names if name not in made.every]
    wanted = ("trial", "attempt") if config else ("trial", "attempt", "config")
    once = {name: found for name in wanted if (found := _alias(free, name)) is not None}
    return replace(made, once=once)


def _refuse(made: Columns, names: list[str]) -> None:
    """Raise when a column is not there, or serves as two things."""
    for word in ("label", "config", "cluster", "split"):
        value = getattr(made, word)
        if value is not None and not isinstance(value, str):
            raise ColumnError(f"{word}={short(value)}: give the name of one column.")
    if taken := [name for name in made.by if name in TAKEN]:
        raise ColumnError(
            f"by: the result has columns {listed(taken)} of its own. Rename yours, for example "
            f"by='{taken[0].strip('_')}_name'."
        )
    for name in made.every:
        if name not in names:
            raise ColumnError(f"no column {name!r}. {did_you_mean(name, names)}")
    if twice := [name for name in dict.fromkeys(made.judge) if made.judge.count(name) > 1]:
        raise ColumnError(f"judge: {listed(twice)} is named twice. Name every judge once.")
    if made.label in made.judge:
        raise ColumnError(
            f"judge and label are both {made.label!r}: a column agrees with itself. Name the "
            "column of the labels: label=..."
        )


def _alias(names: list[str], wanted: str) -> str | None:
    """The one column that goes by a canonical name or an alias, None without exactly one."""
    if wanted in names:
        return wanted
    known = column(TRIALS, wanted).aliases
    found = [name for name in names if name.lower() in known]
    return found[0] if len(found) == 1 else None


def _found(names: list[str], wanted: str) -> str:
    """The column that goes by a canonical name or one of its aliases."""
    known = (wanted, *column(TRIALS, wanted).aliases)
    found = [name for name in names if name.lower() in known]
    exact = [name for name in found if name == wanted]
    if len(exact or found) == 1:
        return (exact or found)[0]
    told = f"{listed(found)} could all be it" if found else f"there is none among {listed(names)}"
    raise ColumnError(f"which column is the {wanted}? {told}. Name it: {wanted}=...")


def _case(names: list[str]) -> tuple[str, ...]:
    known = ("case", *column(TRIALS, "case").aliases)
    found = [name for name in names if name.lower() in known]
    if "case" in found or len(found) == 1:
        return ("case",) if "case" in found else (found[0],)
    if found:
        raise ColumnError(
            f"column 'case' is ambiguous: {listed(found)} could be it. Choose one, for example "
            f"case={found[0]!r}, or several, for example case={found!r}."
        )
    return ()


def _keys(table: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Case, config, groups, cluster and split of every row, checked for null."""
    if not columns.case:
        case: pl.Expr = pl.int_range(pl.len())
    elif len(columns.case) == 1:
        case = pl.col(columns.case[0])
    else:
        case = pl.struct(pl.col(columns.case).cast(pl.String)).struct.json_encode()
    made = {} if columns.config is None else {"config": pl.col(columns.config).cast(pl.String)}
    made |= {name: pl.col(name) for name in columns.by} | {"case": case}
    if columns.cluster is not None:
        made[CLUSTER] = pl.col(columns.cluster)
    if columns.split is not None:
        made[SPLIT] = pl.col(columns.split).cast(pl.String)
    for name in (*columns.case, columns.config, columns.cluster):
        if name is not None and (holes := table[name].null_count()):
            raise TrialsError(
                f"column {name!r} is null in {holes:,} rows. Fill it in or leave those rows out."
                + (
                    " cluster=None (on the command line --no-cluster) leaves clusters out."
                    if name == columns.cluster
                    else ""
                )
            )
    return table.select(**made)


def _counted(rows: pl.DataFrame, judge: str) -> pl.DataFrame:
    """Rows of one judge as counts per key."""
    said, true = pl.col("judge_pass"), pl.col("label_pass")
    keys = [name for name in rows.columns if name not in {"judge_pass", "label_pass"}]
    made = {
        "tp": said & true,
        "fp": said & ~true,
        "fn": ~said & true,
        "tn": ~said & ~true,
        "judged": said.is_not_null() & true.is_null(),
        "judged_pass": said & true.is_null(),
        "no_verdict": said.is_null() & true.is_not_null(),
    }
    projected = rows.select(*keys, **{name: test.cast(pl.Int64) for name, test in made.items()})
    counted = projected.group_by(keys).agg(pl.col(list(made)).sum()).sort(keys)
    config = pl.col("config") if "config" in keys else pl.lit(None, pl.String).alias("config")
    rest = [name for name in keys if name != "config"]
    return counted.select(pl.lit(judge).alias("judge"), config, *rest, *made)


def one_cluster_per_case(cells: pl.DataFrame, keys: Sequence[str]) -> None:
    """Check that a case lies in one cluster; `cells` are sorted by keys and case.

    Raises:
        TrialsError: It does not.
    """
    if CLUSTER not in cells.columns:
        return
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in keys)
    again = cells.filter(same & pl.col("case").eq_missing(pl.col("case").shift(1)))
    if again.height:
        several = again["case"].unique(maintain_order=True)
        raise TrialsError(
            f"{len(several):,} cases are in more than one cluster, as {listed(several)}. A case "
            "belongs to one cluster; make case names differ between clusters."
        )
