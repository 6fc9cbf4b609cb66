"""Trials on the command line: how they are read, which of them count, and their counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, get_type_hints

import polars as pl

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import say
from trialframe.counts import Counts
from trialframe.counts import counts as count
from trialframe.display import counted
from trialframe.errors import ArgumentError, ColumnError, TrialsError, listed, short
from trialframe.read import read
from trialframe.read._keys import ABSENT, KEEP, keyed
from trialframe.read._known import TABLE, formats
from trialframe.read._load import load
from trialframe.read._trials import canonical, refuse_broken
from trialframe.read.logs import Choice
from trialframe.read.tables import SPENT, resolved
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    import inspect
    from collections.abc import Sequence

    from trialframe.read._combine import Raw
    from trialframe.read._fields import Plan

SCORER = "The score that decides, where a log has several; repeatable: the first that a log has."
CASE_LIST = "The full list of cases: a table with a column case, or a text file."

Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None


def _log(flag: str, text: str, word: str, *more: str) -> Any:
    return opt.panel(opt.ABOUT_LOGS, flag, text, word, *more)


def _which(flag: str, text: str, word: str, *more: str) -> Any:
    return opt.panel(opt.ABOUT_TRIALS, flag, text, word, *more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """How logs are read: the options of commands that take tables of any kind beside them."""

    format: Annotated[
        Text, _log("--from", "Kind of log, as `trialframe formats` names it, or table.", "FORMAT")
    ] = None
    scorer: Annotated[Texts, _log("--scorer", SCORER, "NAME")] = None
    keep: Annotated[
        str,
        _which(
            "--keep", "Rows that share config, case and trial: raise, first, last, or all.", "RULE"
        ),
    ] = "raise"

    columns: ClassVar[str] = "--passed or --score"
    """The options that say in a table what a scorer says in a log."""

    def __post_init__(self) -> None:
        """Refuse words that say nothing."""
        if self.format is not None:
            _checks.one_of(self.format, "--from", [TABLE, *formats()["format"]])
        _checks.one_of(self.keep, "keep", KEEP)

    @classmethod
    def options(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        kinds = get_type_hints(cls, include_extras=True)
        return [opt.parameter(one.name, kinds[one.name], one.default) for one in fields(cls)]

    @classmethod
    def of(cls, picked: dict[str, Any]) -> Self:
        """What was chosen, behind the options."""
        return cls(**picked)

    def choice(self, threshold: float | None, **more: Any) -> Choice:
        """How logs are to be read."""
        return Choice(
            format=self.format,
            metrics=tuple(self.scorer or ()),
            keep=self.keep,
            threshold=threshold,
            **more,
        )

    def refuse_idle(self, *tables: Raw) -> None:
        """Raise when a score was chosen, and there is no log to choose it from."""
        if self.scorer and all(raw.unread is None for raw in tables):
            raise ArgumentError(
                f"--scorer {short(self.scorer[0])}: these are no logs but tables. Leave it out; "
                f"{self.columns} names a column."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Logs):
    """How logs and tables are read as trials: the options of commands that count none."""

    case_list: Annotated[Text, _which("--case-list", CASE_LIST, "FILE")] = None
    absent: Annotated[
        Text,
        _which("--absent", "What a listed case without trials is: unscored, or fail.", "WORD"),
    ] = None
    zeros: Annotated[
        Texts,
        _which(
            "--zero-is-missing",
            "0 stands for unknown in tokens_in, tokens_out, cost_uusd or duration_ms; repeatable.",
            "MEASURE",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse words that say nothing."""
        Logs.__post_init__(self)
        _checks.one_of(self.absent or ABSENT[1], "absent", ABSENT)
        if self.absent is not None and self.case_list is None:
            raise ArgumentError("--absent needs --case-list, the full list of cases.")

    def cases(self) -> pl.Series | None:
        """The full list of cases: one a line of a text file, or a column of a table."""
        path = self.case_list
        if path is None:
            return None
        if path.endswith(".txt"):
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
            return pl.Series("case", [line.strip() for line in lines if line.strip()], pl.String)
        frame = load([path], Choice(format="table")).frame
        names = frame.collect_schema().names()
        usual = ("case", *column(TRIALS, "case").aliases)
        found = [n for n in names if n.lower() in usual] or (names if len(names) == 1 else [])
        if not found:
            raise ArgumentError(
                f"--case-list {short(path)}: no column names cases. Call it case. It has "
                f"{listed(names)}."
            )
        return frame.select(pl.col(found[0]).alias("case")).collect().to_series()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Logs):
    """How logs are read where tables hold verdicts of judges, whose columns are named."""

    columns: ClassVar[str] = "--judge or --label"

    score_threshold: Annotated[
        float | None,
        opt.panel(
            opt.ABOUT_LOGS, "--score-threshold", "A trial of a log passes when its score >= this."
        ),
    ] = None

    def raw(self, source: str | list[str]) -> Raw:
        """A table as it is written, or logs."""
        try:
            return load(source, self.choice(self.score_threshold))
        except ArgumentError as error:  # --threshold is that of kappa
            told = re.sub(r"\bthreshold=", "--score-threshold ", str(error))
            raise ArgumentError(told) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials(Reading):
    """How trials are read, and which of them count."""

    unscored: opt.Unscored = None
    attempts: Annotated[
        str,
        _which(
            "--attempts", "Second and later attempts: raise, or first to leave them out.", "RULE"
        ),
    ] = "raise"

    @property
    def policy(self) -> Any:
        """What a trial without a verdict is: a word, or a word for each outcome class."""
        return opt.unscored_of(self.unscored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the files hold.

    Attributes:
        frame: The trials, or counts: of tables as they are, of logs as `tr.read` gives them.
        columns: Keyword arguments that say where its columns are, with the threshold.
        plan: What the columns of the files are taken for.
        keep: What is still to be done about repeated trials.
        renamed: Whether the columns have been given their canonical names.
    """

    frame: pl.LazyFrame
    columns: dict[str, Any]
    plan: Plan
    keep: str
    renamed: bool

    def trials(self) -> pl.LazyFrame | None:
        """The trials, canonical; None where the files hold counts."""
        return None if self.plan.shape == "counts" else read(self.frame, **self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Given):
    """What the files hold, and its counts."""

    counts: Counts


def given(files: list[str], columns: opt.Columns, reading: Reading) -> Given:
    """Read the files once; repeated rows of tables are left to the counts, where there are any.

    Raises:
        ArgumentError: An option fits neither the logs nor the table.
    """
    named, cases = columns.arguments(), reading.cases()
    raw, plan = resolved(files, named, columns.threshold, reading.choice(columns.threshold))
    reading.refuse_idle(raw)
    if cases is not None and plan.shape == "counts":
        raise ArgumentError("--case-list adds trials, and these are counts: leave it out.")
    frame = _without_zeros(raw.frame, plan, opt.parts(reading.zeros))
    later = reading.keep == "raise" or isinstance(reading, Trials) or plan.shape == "counts"
    if raw.unread is None and cases is None and later:
        known = {n: n if isinstance(value, pl.Expr) else value for n, value in named.items()}
        known["threshold"] = columns.threshold
        return Given(frame=frame, columns=known, plan=plan, keep=reading.keep, renamed=False)
    refuse_broken(frame, tuple(item for item in plan.fields if item.usable))
    left_out = [n for n, value in named.items() if value is None and plan.get(n) is None]
    trials = canonical(frame, plan).drop(left_out, strict=False)
    trials = keyed(trials, keep=reading.keep, cases=cases, absent=reading.absent or ABSENT[1])
    say_made(trials)
    names = dict.fromkeys(left_out)
    return Given(frame=trials, columns=names, plan=plan, keep="raise", renamed=True)


def judged(sources: Sequence[str | list[str]], logs: Verdicts) -> list[pl.LazyFrame]:
    """Tables with verdicts of judges as they are written, and logs.

    Raises:
        ArgumentError: An option fits no log, or there is none.
    """
    raws = [logs.raw(source) for source in sources]
    logs.refuse_idle(*raws)
    if logs.keep == "raise":  # a table with a row a judge repeats trials
        return [raw.frame for raw in raws]
    if all(raw.unread is None for raw in raws):
        raise ArgumentError(
            f"--keep {logs.keep}: these are no logs but tables. Leave it out; in a table, remove "
            "the copies."
        )
    return [
        raw.frame
        if raw.unread is None
        else keyed(raw.frame, keep=logs.keep, cases=None, absent=ABSENT[1])
        for raw in raws
    ]


def for_rules(
    files: list[str], columns: opt.Columns, reading: Reading
) -> tuple[Any, dict[str, Any]]:
    """What rules are to look at, and its columns; what cannot be taken for trials they tell."""
    try:
        found = given(files, columns, reading)
    except (ColumnError, TrialsError):
        if reading != type(reading)():
            raise
        return files, {"threshold": columns.threshold, **columns.arguments()}
    return found.frame, found.columns


def loaded(
    files: list[str], columns: opt.Columns, trials: Trials, *, by: list[str] | None = None
) -> Loaded:
    """Read the files once, count, and say on standard error what was taken for what."""
    policy = trials.policy
    data = given(files, columns, trials)
    words: dict[str, Any] = {"keep": data.keep, "attempts": trials.attempts}
    found = count(data.frame, by=by or (), unscored=policy, **words, **data.columns)
    if data.renamed:
        found = replace(found, mapping=data.plan.frame())
    say_mapping(data.plan)
    parts = {one.name: getattr(data, one.name) for one in fields(data)}
    return Loaded(counts=found, **parts)


def _without_zeros(frame: pl.LazyFrame, plan: Plan, names: list[str]) -> pl.LazyFrame:
    """Make 0 null in measures where it stands for unknown."""
    for name in names:
        _checks.one_of(name, "zero_is_missing", SPENT)
        found = plan.get(name)
        if found is None:
            raise ColumnError(f"zero_is_missing: the table has no {name}. Leave it out, or map it.")
        source = pl.col(found.sources[0])
        frame = frame.with_columns(pl.when(source != 0).then(source))
    return frame


def say_mapping(plan: Plan) -> None:
    """One line for columns that were found under another name or are of no use."""
    taken = plan.frame().filter(pl.col("how").is_in(["alias", "derived", "not used"]))
    words = [
        f"{name} not used: {note or source}"
        if how == "not used"
        else f"{name} <- {source}" + (f" ({note})" if note else "")
        for name, source, how, note in taken.rows()
    ]
    if words:
        say("; ".join(words), "columns")


def say_made(trials: pl.LazyFrame) -> None:
    """How many trials have a number that is only an order."""
    known = "trial_made" in trials.collect_schema()
    made = trials.select(pl.col("trial_made").sum()).collect().item() if known else 0
    if made:
        say(f"{counted(made, 'trial')} numbered in the order of the log: trial_made is true")
