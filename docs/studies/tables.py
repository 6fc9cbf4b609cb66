"""Cells that know their Monte Carlo error, and tables of them in Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

ERRORS = 3.0
"""Monte Carlo errors from which a cell counts as off its nominal value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A share of replicates.

    Attributes:
        value: The share; NaN where the method does not apply.
        runs: Replicates behind it; 0 when it was enumerated, without any error.
        nominal: What it should be.
        wanted: "at most" the nominal value (sizes) or "at least" (coverage).
    """

    value: float
    runs: int
    nominal: float
    wanted: str

    @property
    def error(self) -> float:
        """Monte Carlo standard error at the nominal value."""
        return float(np.sqrt(self.nominal * (1.0 - self.nominal) / self.runs)) if self.runs else 0.0

    @property
    def off(self) -> int:
        """1 where the method promises too much by more than the error, -1 where too little."""
        gap = self.value - self.nominal
        if np.isnan(gap) or abs(gap) <= ERRORS * self.error + 1e-9:
            return 0
        return 1 if (gap > 0) == (self.wanted == "at most") else -1

    def __str__(self) -> str:
        """Bold where it promises too much, in brackets where it errs on the safe side."""
        if np.isnan(self.value):
            return "-"
        text = f"{self.value:.3f}"
        return {1: f"**{text}**", 0: text, -1: f"({text})"}[self.off]


def size(rejected: ArrayLike, nominal: float = 0.05) -> Cell:
    """Share of replicates in which a true null hypothesis was rejected."""
    found = np.asarray(rejected)
    return Cell(value=float(found.mean()), runs=len(found), nominal=nominal, wanted="at most")


def coverage(inside: ArrayLike, nominal: float = 0.95) -> Cell:
    """Share of replicates in which an interval or a set held the truth."""
    found = np.asarray(inside)
    known = float(found.mean()) if len(found) else float("nan")
    return Cell(value=known, runs=len(found), nominal=nominal, wanted="at least")


def exact(value: float, nominal: float) -> Cell:
    """A size that was enumerated."""
    return Cell(value=value, runs=0, nominal=nominal, wanted="at most")


NOTHING = Cell(value=float("nan"), runs=0, nominal=0.05, wanted="at most")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the report.

    Attributes:
        title: Its heading.
        before: How to read it.
        labels: Names of the columns that say which design.
        methods: Names of the other columns; those after "|" are what not to do.
        rows: Labels and cells of every row.
        after: What it shows, in plain words.
    """

    title: str
    before: str
    labels: tuple[str, ...]
    methods: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], dict[str, Cell]], ...]
    after: str

    @property
    def lines(self) -> list[str]:
        """The table in Markdown."""
        heads = [*self.labels, *self.methods]
        lines = [_line(heads), _line(["---"] * len(self.labels) + ["--:"] * len(self.methods))]
        for label, cells in self.rows:
            lines.append(_line([*label, *(str(cells.get(name, NOTHING)) for name in self.methods)]))
        return [
            "",
            f"## {self.title}",
            "",
            _filled(self.before),
            "",
            *lines,
            "",
            _filled(self.after),
        ]


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_on_hyphens=False)


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"
