"""Options that several commands share, each spelled once.

A command takes the options that say where each column is as one argument, `columns`.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
import typer

from trialframe.cli._conditions import Condition, condition
from trialframe.errors import ArgumentError, ColumnError, did_you_mean, short
from trialframe.read._columns import COUNT_COLUMNS
from trialframe.schema import TRIALS, column

Command: TypeAlias = Callable[..., int]

KNOWN = tuple(spec.name for spec in (*TRIALS, *COUNT_COLUMNS))
BOOLEAN = tuple(spec.name for spec in TRIALS if spec.dtype == pl.Boolean)
SEVERAL = ("config", "case")
NAMED = (
    *("config", "case", "trial", "passed", "score", "cluster", "outcome", "secure", "weight"),
    *("cost_uusd", "tokens_in", "tokens_out", "duration_ms"),
)
"""Canonical columns that have an option of their own; --map serves the others."""

HELP = {
    "config": "the system under test; repeat for a key of several columns",
    "case": "the task; repeat for a key of several columns",
    "passed": "the verdict, or a condition: 'reward >= 1', 'grade == C'",
    "secure": "no security finding, or a condition: 'findings == 0'",
}

QUOTES = "'\""

RENAMED = {"format": "from"}
"""Arguments whose option has another name: --format is that of the output."""

ABOUT_COLUMNS = "Columns (common names are found without)"
ABOUT_ESTIMATES = "Estimates"
ABOUT_TRIALS = "Which trials count"
ABOUT_OUTPUT = "Output"

Files: TypeAlias = Annotated[
    list[str], typer.Argument(help="Parquet, CSV, JSON lines, Arrow: files, globs, folders.")
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="COLUMN", help="Group by a case-level column; repeatable."),
]
Unscored: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--unscored",
        metavar="POLICY",
        help="Trials without a verdict: exclude (the default), fail or raise, or one policy an "
        "outcome class, as in timeout=fail; repeatable.",
        rich_help_panel=ABOUT_TRIALS,
    ),
]
Keep: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Rows that share config, case and trial: raise, first, last, or all.",
        rich_help_panel=ABOUT_TRIALS,
    ),
]
Attempts: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="Second and later attempts: raise, or first to leave them out.",
        rich_help_panel=ABOUT_TRIALS,
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="table, md, json, csv or parquet; the default is what the file's ending says.",
        rich_help_panel=ABOUT_OUTPUT,
    ),
]
To: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write there, and only when all went well. Parquet without it goes to a pipe.",
        rich_help_panel=ABOUT_OUTPUT,
    ),
]
Zeros: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--zero-is-missing",
        metavar="MEASURE",
        help="0 stands for unknown in tokens_in, tokens_out, cost_uusd or duration_ms; repeatable.",
        rich_help_panel=ABOUT_TRIALS,
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed of random draws.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """Where each canonical column is, as given on the command line.

    Attributes:
        given: Canonical name -> name, names, condition, or None to leave it out.
        threshold: Pass when score >= threshold.
    """

    given: dict[str, str | list[str] | Condition | None]
    threshold: float | None

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `tr.read` and `tr.counts`, conditions as expressions."""
        return {
            name: value.expression() if isinstance(value, Condition) else value
            for name, value in self.given.items()
        }


Columns: TypeAlias = ColumnChoice


def _option(name: str, kind: Any) -> inspect.Parameter:
    text = HELP.get(name, column(TRIALS, name).meaning)
    word = "COLUMN" if name not in BOOLEAN else "COLUMN|CONDITION"
    flag = f"--{name.replace('_', '-')}"
    made = typer.Option(flag, metavar=word, help=text, rich_help_panel=ABOUT_COLUMNS)
    return _parameter(name, Annotated[kind, made], None)


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def _column_options() -> dict[str, inspect.Parameter]:
    made = {n: _option(n, list[str] | None if n in SEVERAL else str | None) for n in NAMED}
    threshold = typer.Option(
        "--threshold", help="Pass when score >= this.", rich_help_panel=ABOUT_COLUMNS
    )
    without = typer.Option(
        "--no-cluster",
        help="Every case stands alone, whatever columns there are.",
        rich_help_panel=ABOUT_COLUMNS,
    )
    others = typer.Option(
        "--map",
        metavar="CANONICAL=COLUMN",
        help="Any other column, as in attempt=try; attempt= leaves it out. Repeatable.",
        rich_help_panel=ABOUT_COLUMNS,
    )
    made["threshold"] = _parameter("threshold", Annotated[float | None, threshold], None)
    made["no_cluster"] = _parameter("no_cluster", Annotated[bool, without], False)
    made["others"] = _parameter("others", Annotated[list[str] | None, others], None)
    return made


COLUMN_OPTIONS = _column_options()


def takes_columns(command: Command) -> Command:
    """Give a command the column options; it gets them as one argument, `columns`."""
    own = inspect.signature(command, eval_str=True).parameters
    kept = [parameter for name, parameter in own.items() if name != "columns"]

    def with_columns(**given: Any) -> int:
        picked = {name: given.pop(name) for name in COLUMN_OPTIONS}
        return command(**given, columns=chosen(picked))

    every = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*kept, *COLUMN_OPTIONS.values())
    ]
    with_columns.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    with_columns.__annotations__ = {p.name: p.annotation for p in every}
    with_columns.__name__ = command.__name__
    with_columns.__doc__ = command.__doc__
    return with_columns


def chosen(picked: dict[str, Any]) -> ColumnChoice:
    """The columns behind the options.

    Raises:
        ColumnError: --map without an equals sign or with an unknown name, or a column twice.
    """
    given: dict[str, Any] = {name: picked[name] for name in NAMED if picked[name]}
    if picked["no_cluster"]:
        if "cluster" in given:
            raise ColumnError("give either --cluster or --no-cluster, not both.")
        given["cluster"] = None
    for text in picked["others"] or ():
        name, sign, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not sign:
            raise ColumnError(f"--map {short(text)}: write it as canonical=column.")
        if name not in KNOWN:
            raise ColumnError(f"--map: no canonical column {name!r}. {did_you_mean(name, KNOWN)}")
        if name in given:
            raise ColumnError(f"{name} is given twice: by its option and by --map, or by two.")
        given[name] = value or None
    for name in set(BOOLEAN) & set(given):
        given[name] = given[name] and (condition(given[name]) or given[name])
    for name in set(SEVERAL) & set(given):
        if isinstance(given[name], list) and len(given[name]) == 1:
            given[name] = given[name][0]
    return ColumnChoice(given=given, threshold=picked["threshold"])


def unscored_of(words: list[str] | None) -> Any:
    """The policy for trials without a verdict: one word, or a mapping from outcome class.

    Raises:
        ArgumentError: Two policies for all classes.

    Examples:
        >>> unscored_of(["timeout=fail"]), unscored_of(["fail"]), unscored_of(None)
        ({'timeout': 'fail'}, 'fail', 'exclude')
    """
    pairs = [word.rpartition("=") for word in words or ["exclude"]]
    general = [policy for _, sign, policy in pairs if not sign]
    if len(general) > 1:
        raise ArgumentError(f"--unscored: {general[0]} or {general[1]}? Give one for all classes.")
    classes = {name: policy for name, sign, policy in pairs if sign}
    if not classes:
        return general[0]
    return ({"": general[0]} if general else {}) | classes


def whole_numbers(texts: list[str] | None, name: str) -> list[int] | None:
    """Whole numbers from "1,5" and from a repeated option.

    Raises:
        ArgumentError: A text is no whole number.
    """
    if not texts:
        return None
    found = []
    for part in parts(texts):
        try:
            found.append(int(part))
        except ValueError:
            message = f"{name} == {short(part)}, must be whole numbers, as in {name} 1,5."
            raise ArgumentError(message) from None
    if not found:
        raise ArgumentError(f"{name} is empty: give whole numbers, as in {name} 1,5.")
    return found


def parts(texts: list[str] | None) -> list[str]:
    """The pieces of comma lists and of a repeated option.

    Examples:
        >>> parts(["pass@1,flaky", "pass^5"])
        ['pass@1', 'flaky', 'pass^5']
    """
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]


_PLANNED = ("baseline", "candidate", "rate", "icc", "correlation", "discordance", "trials")
_OTHERS = (
    "threshold",
    "keep",
    "order",
    "edges",
    "attempts",
    "unscored",
    "zero_is_missing",
    "by",
    "units",
    *_PLANNED,
    "format",
    "metric",
    "cases",
    "absent",
    "errors",
)
_CALL = re.compile(r"\btr\.\w+\(\.\.\., ([^()]*)\)")
_ARGUMENT = re.compile(
    rf"\b({'|'.join([*NAMED, *_OTHERS])})="
    r"""(\[[^\]]*\]|'[^']*'|"[^"]*"|pl\.col\("[^"]+"\) == "[^"]*"|[\d.]+|(?=[,) ]))"""
)


def as_options(message: str) -> str:
    r"""A message with arguments of functions in it, said in options.

    Examples:
        >>> as_options('Choose keep="first", or config=[\'model\', \'run\'].')
        'Choose --keep first, or --config model --config run.'
        >>> as_options('Map them: passed=pl.col("grade") == "C". Give threshold=, the score.')
        "Map them: --passed 'grade == C'. Give --threshold, the score."
        >>> as_options("Keep one with tr.counts(..., by='repo').")
        'Keep one with --by repo.'
        >>> as_options("Name one with format= of tr.read.")
        'Name one with --from of trialframe convert.'
        >>> as_options("Choose metric='acc,none'.")
        'Choose --metric acc,none.'
    """
    said = _ARGUMENT.sub(_as_option, _CALL.sub(r"\1", message))
    return said.replace(" of tr.read", " of trialframe convert")


def _as_option(match: re.Match[str]) -> str:
    flag = f"--{RENAMED.get(match[1], match[1]).replace('_', '-')}"
    value = match[2]
    if value.startswith("pl.col"):
        column, _, word = value.removeprefix('pl.col("').partition('") == ')
        words = [f"{column} == {word.strip(QUOTES)}"]
    else:
        parts = value.strip("[]").split(",") if value.startswith("[") else [value]
        words = [part.strip(f" {QUOTES}") for part in parts]
    return " ".join(f"{flag} {shlex.quote(word)}" if word else flag for word in words)
