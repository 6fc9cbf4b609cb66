"""A report as compact Markdown: for pull requests and the summaries of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe.display import counted
from trialframe.report import layout
from trialframe.report.text import escaped, pipes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.report.page.model import Page, Section, Table

OPEN = {"gate": 12, "leaderboard": 10, "comparison": 20, "cases": 10}
"""Sections that are not folded away, and the rows of their tables."""
FOLDED = 20
"""Rows of a table that is folded away."""
LEFT_OUT = {"metrics", "columns", "flaky-cases"}
"""Tables that are for the page only."""
WIDEST = 9
"""Columns of a table."""


def markdown(page: Page) -> str:
    """The report.

    Args:
        page: What to say.
    """
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield f"## {escaped(page.title)}"
    yield ""
    yield escaped(page.subject)
    yield ""
    for verdict in page.verdicts:
        yield f"- **{escaped(verdict.word)}**: {escaped(verdict.sentence)}"
    for section in page.sections:
        yield ""
        if section.name in OPEN and not section.quiet:
            yield f"### {escaped(section.title)}"
            yield from _body(section, OPEN[section.name])
        else:
            yield f"<details><summary>{_html(section.title)}</summary>"
            yield from _body(section, FOLDED)
            yield ""
            yield "</details>"


def _body(section: Section, rows: int) -> Iterator[str]:
    """Sentences, then cautions, facts and tables, each after an empty line."""
    cautions = [line for line in section.lines if line.startswith("- ")]
    for line in section.lines:
        if not line.startswith("- "):
            yield ""
            yield _not_a_block(escaped(line))
    items = [f"- {_not_a_block(escaped(line[2:]))}" for line in cautions]
    items += [f"- **{escaped(word)}**: {escaped(meaning)}" for word, meaning in section.facts]
    if items:
        yield ""
        yield from items
    for table in section.tables:
        if table.name not in LEFT_OUT:
            yield ""
            yield from _table(table, rows)


def _table(table: Table, rows: int) -> Iterator[str]:
    yield f"**{escaped(table.caption)}**"
    yield ""
    yield from pipes(
        [
            layout.Column(
                title=column.title,
                values=column.texts[:rows],
                intervals=column.asides[:rows],
                left=column.kind not in {"number", "interval"},
            )
            for column in table.columns[:WIDEST]
        ]
    )
    if table.height > rows:
        yield ""
        yield f"... and {counted(table.height - rows, 'more row', 'more rows')}"


def _not_a_block(text: str) -> str:
    """A sentence that begins with a name, which must not make a heading or a list."""
    sign = text[:1]
    digits = len(text) - len(text.lstrip("0123456789"))
    if sign and sign in "#+=~-":
        return f"\\{text}"
    if digits and text[digits : digits + 1] in {".", ")"}:
        return f"{text[:digits]}\\{text[digits:]}"
    return text


def _html(text: str) -> str:
    """Text inside an HTML element of Markdown."""
    from html import escape

    return escape(text)
