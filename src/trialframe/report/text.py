"""Tables for terminals and for Markdown."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from trialframe.display import MISSING, shown
from trialframe.errors import visible
from trialframe.report.layout import GAP, Column, Panel, Report, report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

LONG = 24
"""Characters from which on the texts of a column are folded together with other long ones."""

SHORTEST = 8
"""Characters that the name of a config gets at least."""

_TRAILING = re.compile(r" +$", re.MULTILINE)
_CALLS = re.compile(r"(?<!\w)@(?=\w)")

MARKDOWN_WIDTH = 160
"""Characters from which a Markdown table is shared out over several."""


def print_report(
    console: Console,
    summary: pl.DataFrame,
    *,
    policy: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print a summary to a rich console, as wide as that is.

    Args:
        console: Where to print.
        summary: What `tr.summary` or `tr.run_summary` returned.
        policy: What the counts took trials without a verdict for.
        notes: Notes of the counts.
    """
    from rich.text import Text

    made = report(summary, width=console.width, policy=policy, notes=notes)
    with console.capture() as capture:
        console.print(_hanging([(f"{word:<9}", meaning) for word, meaning in made.head]))
        for panel in made.panels:
            console.print()
            if panel.title:
                console.print(Text(panel.title, style="bold"))
            console.print(_table(panel, console.width))
        if made.notes:
            console.print()
            console.print(_hanging([("-", note) for note in made.notes]))
    console.file.write(_TRAILING.sub("", capture.get()))


def _hanging(lines: Sequence[tuple[str, str]]) -> Table:
    """Words and what is said about each, wrapped beside it."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for word, meaning in lines:
        grid.add_row(Text(word, style="dim"), Text(meaning))
    return grid


def _table(panel: Panel, width: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    room = width - sum(column.width + GAP for column in panel.columns)
    numbers = any(not column.left for column in panel.columns)
    side: Literal["top", "bottom"] = "bottom" if numbers else "top"  # of a name that is folded
    for column, most in zip(panel.names, _shared(panel.names, room), strict=True):
        table.add_column(Text(column.title), overflow="fold", max_width=most, vertical=side)
    for column in panel.columns:
        table.add_column(
            Text(column.heading),
            justify="left" if column.left else "right",
            no_wrap=True,
            vertical=side,
        )
    texts = [column.cells() for column in (*panel.names, *panel.columns)]
    for i, row in enumerate(zip(*texts, strict=True)):
        if i in panel.starts:
            table.add_section()
        table.add_row(*(_styled(text) for text in row))
    return table


def _shared(names: Sequence[Column], room: int) -> list[int]:
    """Widths of the names: long ones are folded alike when room is short, then the longest."""
    widths = [column.width for column in names]
    free = room - GAP * (len(widths) - 1)
    most = max(widths, default=0)
    while most > LONG and sum(min(width, most) for width in widths) > free:
        most -= 1
    widths = [min(width, most) for width in widths]
    if widths and sum(widths) > free:
        longest = widths.index(max(widths))
        widths[longest] = max(SHORTEST, widths[longest] + free - sum(widths))
    return widths


def _styled(cell: str) -> Text:
    """A cell whose interval is less prominent than its value."""
    from rich.text import Text

    text = Text(cell)
    if cell.strip() == MISSING:
        text.stylize("dim")
    elif (at := cell.find("[")) > 0:
        text.stylize("dim", at)
    return text


def print_frame(console: Console, frame: pl.DataFrame, *, limit: int = 40) -> None:
    """Print a plain table, at most `limit` rows of it.

    Args:
        console: Where to print.
        frame: Any table.
        limit: Rows to print, >= 1.
    """
    columns = _columns(frame.head(limit))
    lead = next((i for i, column in enumerate(columns) if not column.left), len(columns))
    fitting = max(lead, _fitting(columns, console.width))
    panel = Panel(title="", names=tuple(columns[:lead]), columns=tuple(columns[lead:fitting]))
    with console.capture() as capture:
        console.print(_table(panel, console.width))
    console.file.write(_TRAILING.sub("", capture.get()))
    if frame.height > limit:
        rest = frame.height - limit
        console.file.write(f"... and {rest:,} more rows; --format csv writes all of them\n")
    if hidden := columns[fitting:]:
        names = ", ".join(column.title for column in hidden)
        console.file.write(f"columns not shown, for want of room: {names}\n")


def _fitting(columns: Sequence[Column], width: int) -> int:
    """How many of the columns fit beside each other."""
    ends = accumulate(column.width + GAP for column in columns)
    return sum(end - GAP <= width for end in ends)


def _columns(frame: pl.DataFrame) -> list[Column]:
    """Texts flush left, numbers flush right, null as `MISSING`."""
    made = []
    for name, dtype in frame.schema.items():
        texts = (_text(value, name, whole=dtype.is_integer()) for value in frame[name])
        made.append(Column(title=name, values=tuple(texts), left=not dtype.is_numeric()))
    return made


def _text(value: object, name: str, *, whole: bool) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and name == "share":
        return shown(value, "share")
    if isinstance(value, int | float):
        return f"{value:,}" if whole else f"{value:,.6g}"
    return visible(str(value))


def print_section(console: Console, lines: Sequence[str], frame: pl.DataFrame) -> None:
    """Print sentences, and the rows that they are about."""
    console.file.write("".join(f"{visible(line)}\n" for line in lines))
    if frame.height:
        console.file.write("\n")
        print_frame(console, frame)


def print_findings(console: Console, findings: pl.DataFrame) -> None:
    """Print what `tr.check_trials` found: rule, rows, examples and advice, one below the other."""
    lines = [
        (f"{severity:<8}", "\n".join(filter(None, [f"{rule} ({rows:,} rows)", some, advice])))
        for rule, severity, rows, some, advice in findings.rows()
    ]
    with console.capture() as capture:
        console.print(_hanging(lines or [("fine", "nothing was found")]))
    console.file.write(_TRAILING.sub("", capture.get()))


def markdown(
    summary: pl.DataFrame,
    *,
    policy: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A summary as Markdown with GitHub tables.

    Args:
        summary: What `tr.summary` or `tr.run_summary` returned.
        policy: What the counts took trials without a verdict for.
        notes: Notes of the counts.
    """
    made: Report = report(summary, width=MARKDOWN_WIDTH, names="whole", policy=policy, notes=notes)
    lines = [f"- **{word}**: {escaped(meaning)}" for word, meaning in made.head]
    for panel in made.panels:
        lines.append("")
        if panel.title:
            lines += [f"**{escaped(panel.title)}**", ""]
        lines += pipes([*panel.names, *panel.columns])
    if made.notes:
        lines += ["", *(f"- {escaped(note)}" for note in made.notes)]
    return "\n".join(lines) + "\n"


def pipes(columns: Sequence[Column]) -> Iterator[str]:
    """The lines of a GitHub table."""
    yield f"| {' | '.join(escaped(column.title) for column in columns)} |"
    yield f"|{'|'.join(':---' if column.left else '---:' for column in columns)}|"
    cells = [[escaped(" ".join(c.split())) for c in column.cells()] for column in columns]
    for row in zip(*cells, strict=True):
        yield f"| {' | '.join(row)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line; a name after an @ calls nobody."""
    text = visible(text)
    for sign in "\\`*_<>|[]~":
        text = text.replace(sign, f"\\{sign}")
    return _CALLS.sub("@<!-- -->", text.replace("&", "&amp;"))


def markdown_frame(frame: pl.DataFrame) -> str:
    """Any table as a GitHub table."""
    return "\n".join(pipes(_columns(frame))) + "\n"


def markdown_section(lines: Sequence[str], frame: pl.DataFrame) -> str:
    """Sentences, and the rows that they are about, as Markdown."""
    text, listed = "", False
    for line in lines:
        item = line.startswith("- ")
        text += ("" if item and listed else "\n") + f"{escaped(line)}\n"
        listed = item
    return f"{text}\n{markdown_frame(frame)}" if frame.height else text
