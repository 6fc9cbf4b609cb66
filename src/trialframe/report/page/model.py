"""What a report says, before it is a page: plain sections and tables, the same for every format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trialframe.errors import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    Ends: TypeAlias = tuple[float, float, float]
    Key: TypeAlias = float | str | None

Kind: TypeAlias = Literal["name", "text", "number", "verdict", "interval"]
Tone: TypeAlias = Literal["good", "bad", "open", "plain"]

TONES: dict[str, Tone] = {
    "better": "good",
    "worse": "bad",
    "improvement": "good",
    "regression": "bad",
    "fail to pass": "good",
    "pass to fail": "bad",
    "ship": "good",
    "dont_ship": "bad",
    "hold": "open",
    "inconclusive": "open",
    "not comparable": "open",
    "error": "bad",
    "warning": "open",
    "maybe": "good",
}
"""How good a word of a table is; what is not named here is neither."""


def _seen(part: object, *names: str) -> None:
    """Write out what cannot be seen, so that no name turns or hides what stands beside it."""
    for name in names:
        given = getattr(part, name)
        clean = visible(given) if isinstance(given, str) else tuple(map(_clean, given))
        object.__setattr__(part, name, clean)


def _clean(text: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return visible(text) if isinstance(text, str) else tuple(map(visible, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table for people.

    Attributes:
        title: What stands above it.
        texts: One text a row.
        keys: What the column is sorted by: numbers unrounded, texts, None for unknown.
        kind: "name" (says what the row is), "text", "number", "verdict" or "interval".
        asides: An interval that stands with each text; empty where there is none.
        ends: Low, value and high of each row, to draw; None where unknown.
        reference: The value that says "no difference", drawn through all rows.
    """

    title: str
    texts: tuple[str, ...]
    keys: tuple[Key, ...]
    kind: Kind = "number"
    asides: tuple[str, ...] = ()
    ends: tuple[Ends | None, ...] = ()
    reference: float | None = None

    @property
    def longest(self) -> int:
        """Letters of the longest text."""
        return max(map(len, self.texts), default=0)

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "title", "texts", "asides")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table for people, and the frame behind it.

    Attributes:
        name: What it is called in links and file names.
        caption: What it shows, in one line.
        columns: Columns for people, rounded.
        frame: All that is known of it, unrounded, for the download.
        sorted_by: Title of the column that the rows are in order of; empty for none.
        order: "ascending" or "descending".
        brief: Rows to show until more are asked for.
        fixed: Whether the rows are a list of facts, which nobody sorts.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    frame: pl.DataFrame
    sorted_by: str = ""
    order: Literal["ascending", "descending"] = "ascending"
    brief: int = 40
    fixed: bool = False

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "caption")

    @property
    def height(self) -> int:
        """Number of rows that people see."""
        return len(self.columns[0].texts)


MOST_ROWS = {"limit": 40}
"""Option of charts with one row a config; the table below has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart that a section asks for.

    Attributes:
        kind: A function of `trialframe.charts`.
        frame: What it draws.
        caption: What stands below it.
        options: What else the function is given.
    """

    kind: str
    frame: pl.DataFrame
    caption: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "caption")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a report.

    Attributes:
        name: What it is called in links.
        title: Its heading.
        lines: Sentences; those that begin with "- " are cautions.
        facts: Pairs of a word and what it is.
        charts: Charts, drawn above the tables.
        tables: Tables.
        quiet: Whether there is nothing in it that a reader must see.
    """

    name: str
    title: str
    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    quiet: bool = False

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "title", "lines", "facts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One answer in words.

    Attributes:
        word: The answer in a word or two.
        tone: Whether that is good, bad, open, or neither.
        sentence: The answer with its numbers.
        section: Name of the section that says more.
    """

    word: str
    tone: Tone
    sentence: str
    section: str

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "word", "sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole report.

    Attributes:
        title: Heading.
        subject: What was evaluated, in one line.
        verdicts: Answers, the most important first.
        sections: What they rest on.
        exit_code: 1 when a gate that was asked for says no, else 0.
    """

    title: str
    subject: str
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]
    exit_code: int = 0

    def __post_init__(self) -> None:
        """Write out what cannot be seen."""
        _seen(self, "title", "subject")
