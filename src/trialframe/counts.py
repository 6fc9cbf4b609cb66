"""Trials of any engine as one small table of counts: the hinge of the package.

One group-by, made of sums only, runs wherever the trials are. Everything that can be
decided afterwards (policies, checks, roll-ups) is decided on its small result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trialframe import _checks
from trialframe._invariants import RESERVED, normalised
from trialframe._rollup import rolled_up
from trialframe.charts._theme import WIDTH
from trialframe.display import counted
from trialframe.engine import (
    Source,
    deduplicated,
    first_attempts,
    grouped,
    source_of,
    sources,
    unnumbered_attempts,
)
from trialframe.errors import (
    ArgumentError,
    CountsError,
    TrialsError,
    UnknownConfigError,
    did_you_mean,
    visible,
)
from trialframe.read._frames import to_lazy
from trialframe.results import Result, html_table
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from trialframe.charts._theme import Chart, Theme
    from trialframe.read._fields import Columns

Policy = Literal["exclude", "fail", "raise"]
POLICIES = ("exclude", "fail", "raise")


@dataclass(frozen=True, slots=True, repr=False)
class Counts(Result):
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
        table = to_lazy(self.frame)
        if table is None:
            raise CountsError("tr.Counts takes a table in memory; give lazy tables to tr.counts.")
        frame, by = normalised(table.collect(), self.by)
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

    @property
    def judged_by(self) -> str | None:
        """The column of an automatic judge that the passes were taken from, None otherwise.

        Passes made by an expression, or counted upstream, name no column.
        """
        if self.mapping is None:
            return None
        known = {"judge", *column(TRIALS, "judge").aliases}
        taken = self.mapping.filter(pl.col("column") == "passed")["source"].to_list()
        return next((name for name in taken if str(name).lower() in known), None)

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

    def to_frame(self) -> pl.DataFrame:
        """The counts, one row per config and case."""
        return self.frame

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """Which cases are flaky for which configs; see `Result.plot`."""
        from trialframe import charts

        return charts.flakes(self.frame, theme=theme, width=width)

    def __repr__(self) -> str:
        """How much was counted, and what was dropped, assumed or not checked."""
        sums = self.frame.select(pl.col("n", "unscored").sum()).row(0)
        configs, cases = (self.frame[name].n_unique() for name in ("config", "case"))
        said = (
            f"Counts: {counted(configs, 'config')}, {counted(cases, 'case')}, "
            f"{counted(sums[0], 'scored trial')}, {sums[1]:,} without a verdict "
            f"({self.unscored})"
        )
        return "\n".join([said, *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        first, *notes = repr(self).splitlines()
        lines = "".join(f"<li>{escape(visible(note[2:]))}</li>" for note in notes)
        brief = self.frame.select(pl.exclude("^.*_(n|sum|sumsq)$"))
        remarks = f"<ul>{lines}</ul>" if lines else ""
        return f"<p><b>{escape(visible(first))}</b></p>{remarks}{html_table(brief)}"


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
        >>> rows = {"model": ["a"] * 4, "task": ["x", "x", "y", "y"]}
        >>> rows["ok"] = [True, None, True, False]
        >>> tr.counts(rows, passed="ok").frame.rows()
        [('a', 'x', 1, 1, 1), ('a', 'y', 2, 1, 0)]
    """
    _checks.one_of(keep, "keep", ("raise", "first", "last", "all"))
    _checks.one_of(attempts, "attempts", ("raise", "first"))
    policy = _policy(unscored)
    source = source_of(trials, columns, threshold)
    by = _kept(_checks.names(by, "by"), source)
    notes = []
    if keep in {"first", "last"}:
        source, dropped = deduplicated(source, keep)
        notes.append(f"{dropped:,} rows with a repeated (config, case, trial) dropped, {keep} kept")
    if odd := unnumbered_attempts(source):
        raise TrialsError(
            f"the attempt is null or less than 1 in {odd:,} rows. Attempts count from 1: "
            'number them first, for example attempt=pl.col("attempt") + 1.'
        )
    if attempts == "first":
        source = first_attempts(source)
    # no name here for the sums: at millions of groups each copy that is kept alive counts
    frame, outcomes, by = rolled_up(source, grouped(source, by), by, policy, keep, notes)
    words = _policy_text(policy)
    return Counts(frame, outcomes, by, words, source.plan.frame(), tuple(notes))


def _kept(by: tuple[str, ...], source: Source) -> tuple[str, ...]:
    """The columns to keep beside those that the counts hold in any case."""
    for name in by:
        if name in RESERVED and name not in sources(source.plan, name):
            raise ArgumentError(
                f"by: counts have a column {name!r} of their own, and here it was left out or made "
                "from another column. Rename yours to keep it."
            )
    return tuple(name for name in dict.fromkeys(by) if name not in RESERVED)


def _policy(unscored: object) -> dict[str, str]:
    """The policy as a mapping from outcome class to word; "" stands for every other class."""
    if isinstance(unscored, Mapping):
        words = {
            str(outcome): _checks.one_of(word, f"unscored[{outcome!r}]", POLICIES)
            for outcome, word in unscored.items()
        }
        return {"": "exclude"} | words
    return {"": _checks.one_of(unscored, "unscored", POLICIES)}


def _policy_text(policy: Mapping[str, str]) -> str:
    classes = ", ".join(f"{name}: {word}" for name, word in policy.items() if name)
    return f"{policy['']} ({classes})" if classes else policy[""]
