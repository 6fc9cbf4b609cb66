"""Options that several commands share, each spelled once.

A command takes a set of options as one argument: `columns`, where each column is, and `trials`,
how trials are read and which of them count (`_trials.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

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

ABOUT_COLUMNS = "Columns (common names are found without)"
ABOUT_ESTIMATES = "Estimates"
ABOUT_LOGS = "Logs"
ABOUT_TRIALS = "Which trials count"
ABOUT_OUTPUT = "Output"


def panel(about: str | None, flag: str, text: str, word: str | None = None, *more: str) -> Any:
    """An option of a command.

    Args:
        about: The panel of the help that it stands in; None for the first.
        flag: How it is spelled.
        text: What it says.
        word: What stands for its value; None for the type.
        *more: Other spellings.
    """
    return typer.Option(flag, *more, metavar=word, help=text, rich_help_panel=about)


Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        help="Tables (Parquet, CSV, JSON lines, Arrow) or evaluation logs: files, globs, folders."
    ),
]
By: TypeAlias = Annotated[
    list[str] | None, panel(None, "--by", "Group by a case-level column; repeatable.", "COLUMN")
]
Metric: TypeAlias = Annotated[
    str,
    panel(None, "--metric", "A metric with one value per case, such as pass^5.", "NAME", "-m"),
]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    panel(
        ABOUT_ESTIMATES,
        "--metric",
        "pass@1, pass^5, pass@k (every k), flaky, cost_uusd_per_pass, outcomes...; a comma list or "
        "repeated. Default: all that the table allows.",
        "NAME",
        "-m",
    ),
]
Ks: TypeAlias = Annotated[
    list[str] | None, panel(ABOUT_ESTIMATES, "-k", "Trials drawn, as in 1,5.", "K")
]
Estimand: TypeAlias = Annotated[
    str,
    panel(
        ABOUT_ESTIMATES,
        "--estimand",
        "cases: tasks like these; suite: these very tasks; runs: further runs of the suite.",
        "WORD",
    ),
]
Level: TypeAlias = Annotated[
    float, panel(ABOUT_ESTIMATES, "--level", "Nominal coverage of the intervals.")
]
Short: TypeAlias = Annotated[
    str,
    panel(
        ABOUT_ESTIMATES,
        "--short",
        "Cases with fewer than k trials: null (dropped), clamp, min, rate, raise.",
        "WORD",
    ),
]
Units: TypeAlias = Annotated[
    str, panel(ABOUT_ESTIMATES, "--units", "clusters where there are some, or cases.", "WORD")
]
Resamples: TypeAlias = Annotated[int, panel(ABOUT_ESTIMATES, "--resamples", "Bootstrap resamples.")]
Unscored: TypeAlias = Annotated[
    list[str] | None,
    panel(
        ABOUT_TRIALS,
        "--unscored",
        "Trials without a verdict: exclude (the default), fail or raise, or one policy an outcome "
        "class, as in timeout=fail; repeatable.",
        "POLICY",
    ),
]
To: TypeAlias = Annotated[
    Path | None,
    panel(
        ABOUT_OUTPUT,
        "--output",
        "Write there, and only when all went well. Parquet without it goes to a pipe.",
        "FILE",
        "-o",
    ),
]
Seed: TypeAlias = Annotated[int, panel(None, "--seed", "Seed of random draws.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
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

    @classmethod
    def options(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        made = [_option(n, list[str] | None if n in SEVERAL else str | None) for n in NAMED]
        return [*made, *(parameter(*one) for one in _OTHER_COLUMNS)]

    @classmethod
    def of(cls, picked: dict[str, Any]) -> Self:
        """The columns behind the options.

        Raises:
            ColumnError: --map without an equals sign or with an unknown name, or a column twice.
        """
        given: dict[str, Any] = {name: picked[name] for name in NAMED if picked[name]}
        if picked["no_cluster"]:
            if "cluster" in given:
                raise ColumnError("give either --cluster or --no-cluster, not both.")
            given["cluster"] = None
        for name, value in map(_mapped, picked["others"] or ()):
            if name in given:
                raise ColumnError(f"{name} is given twice: by its option and by --map, or by two.")
            given[name] = value
        for name in set(BOOLEAN) & set(given):
            given[name] = given[name] and (condition(given[name]) or given[name])
        for name in set(SEVERAL) & set(given):
            if isinstance(given[name], list) and len(given[name]) == 1:
                given[name] = given[name][0]
        return cls(given=given, threshold=picked["threshold"])


def _mapped(text: str) -> tuple[str, str | None]:
    """The canonical name and the column of one --map; no column leaves it out."""
    name, sign, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not sign:
        raise ColumnError(f"--map {short(text)}: write it as canonical=column.")
    if name not in KNOWN:
        raise ColumnError(f"--map: no canonical column {name!r}. {did_you_mean(name, KNOWN)}")
    return name, value or None


def _option(name: str, kind: Any) -> inspect.Parameter:
    text = HELP.get(name, column(TRIALS, name).meaning)
    word = "COLUMN" if name not in BOOLEAN else "COLUMN|CONDITION"
    made = panel(ABOUT_COLUMNS, f"--{name.replace('_', '-')}", text, word)
    return parameter(name, Annotated[kind, made], None)


def parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    """A parameter that is given by its name."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


_THRESHOLD = panel(ABOUT_COLUMNS, "--threshold", "Pass when score >= this.")
_NO_CLUSTER = panel(
    ABOUT_COLUMNS, "--no-cluster", "Every case stands alone, whatever columns there are."
)
_MAP = panel(
    ABOUT_COLUMNS,
    "--map",
    "Any other column, as in attempt=try; attempt= leaves it out. Repeatable.",
    "CANONICAL=COLUMN",
)
_OTHER_COLUMNS: tuple[tuple[str, Any, object], ...] = (
    ("threshold", Annotated[float | None, _THRESHOLD], None),
    ("no_cluster", Annotated[bool, _NO_CLUSTER], False),
    ("others", Annotated[list[str] | None, _MAP], None),
)


def takes_options(command: Command) -> Command:
    """Give a command the options of its sets, each of which it gets as one argument.

    A set is a class that lists its `options` and is made `of` what was given.
    """
    own = inspect.signature(command, eval_str=True).parameters
    sets = {n: one.annotation for n, one in own.items() if hasattr(one.annotation, "options")}
    options = {name: kind.options() for name, kind in sets.items()}

    def with_options(**given: Any) -> int:
        made = {
            name: kind.of({one.name: given.pop(one.name) for one in options[name]})
            for name, kind in sets.items()
        }
        return command(**given, **made)

    every = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in (
            *(one for name, one in own.items() if name not in sets),
            *(one for several in options.values() for one in several),
        )
    ]
    with_options.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in every}
    with_options.__name__ = command.__name__
    with_options.__doc__ = command.__doc__
    return with_options


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
