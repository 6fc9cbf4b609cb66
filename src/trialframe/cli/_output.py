"""Where results go: the terminal, a pipe or a file that appears when it is whole."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._advice import as_options
from trialframe.errors import ArgumentError, SourceError
from trialframe.read._paths import files_of
from trialframe.report.formats import FORMATS, encoded, format_of, replacing

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence

    import polars as pl
    from rich.console import Console

PIPED_WIDTH = 120
"""Characters per line when nobody watches."""

Format = Annotated[
    str | None,
    opt.panel(
        opt.ABOUT_OUTPUT,
        "--format",
        "table, md, json, csv or parquet; the default is what the file's ending says.",
        "FORMAT",
        "-f",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A format and a place.

    Attributes:
        kind: One of `FORMATS`.
        path: The file, or None for standard output.
    """

    kind: str
    path: Path | None = None

    @classmethod
    def options(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        return [opt.parameter("format_", Format, None), opt.parameter("output", opt.To, None)]

    @classmethod
    def of(cls, picked: dict[str, Any]) -> Output:
        """The format and the place that were asked for."""
        return output_of(picked["format_"], picked["output"])

    @property
    def for_people(self) -> bool:
        """Whether it is read rather than parsed."""
        return self.kind in {"table", "md"}

    def write(
        self,
        frame: pl.DataFrame,
        *,
        table: Callable[[Console], None],
        markdown: Callable[[], str],
    ) -> None:
        """Write a result in the form that was asked for.

        Args:
            frame: The rows, for formats that are parsed.
            table: Prints the result for people.
            markdown: Makes the result as Markdown.
        """
        if self.kind == "table" and self.path is None:
            table(console())
        elif self.kind == "table":
            buffer = io.StringIO()
            table(console(buffer))
            self.write_bytes(buffer.getvalue().encode())
        elif self.kind == "md":
            self.write_bytes(markdown().lstrip("\n").encode())
        else:
            self.write_bytes(encoded(frame, self.kind))

    def write_bytes(self, data: bytes) -> None:
        """Write bytes to the file or to standard output."""
        if self.path is not None:
            with replacing(self.path) as file:
                file.write(data)
            return
        if self.kind == "parquet" and sys.stdout.isatty():
            raise ArgumentError("Parquet is no text: name a file with --output, or redirect it.")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def output_of(kind: str | None, path: Path | None) -> Output:
    """The format and the place that were asked for.

    Raises:
        ArgumentError: A format that does not exist, or none where the file's ending says none.
    """
    if kind is not None:
        _checks.one_of(kind, "format", FORMATS)
    return Output(kind=format_of(kind, path), path=path)


def refuse_own_input(words: Sequence[str]) -> None:
    """Refuse to write to a file that is read: the words of a command say which.

    Raises:
        ArgumentError: --output names one of the files, or lies in a folder that is read.
    """
    target = None
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word in {"-o", "--output"}:
            target = following
        elif word.startswith("--output="):
            target = word.partition("=")[2]
    if not target or not Path(target).is_file():
        return
    for word in words:
        if word not in {target, "-o", "--output"} or words.count(word) > 1:
            try:
                files = files_of(word)
            except (SourceError, ValueError):
                continue
            if any(not f.remote and Path(f.path).samefile(target) for f in files):
                raise ArgumentError(
                    f"--output {target} is one of the files that are read: choose another name, "
                    "or the trials would be lost."
                )


def console(file: io.StringIO | None = None) -> Console:
    """A console as wide as the terminal; no colour in pipes and files."""
    from rich.console import Console

    if file is not None:
        return Console(file=file, width=PIPED_WIDTH, highlight=False, markup=False, emoji=False)
    watched = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if watched else PIPED_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def say(message: str, word: str = "note") -> None:
    """One line on standard error, with arguments of functions said in options."""
    sys.stderr.write(f"{word}: {' '.join(as_options(message).split())}\n")
