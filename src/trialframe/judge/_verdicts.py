"""Verdicts as true, false or unknown, in the words that judges and people use."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, ColumnError, TrialsError, short
from trialframe.read._kinds import kind_of

UNMAPPED = {"column": pl.String, "text": pl.String, "rows": pl.Int64}
PLAIN = {"true": True, "false": False}
GOOD = ("pass", "yes", "correct", "satisf", "accept", "good", "success", "ok", "true")
"""For the example in a message only; no verdict is ever guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A column of verdicts.

    Attributes:
        values: True, false or null.
        unmapped: Texts that the mapping does not know, and their rows.
        seen: Texts of the column.
    """

    values: pl.Series
    unmapped: pl.DataFrame
    seen: frozenset[str] = frozenset()


if TYPE_CHECKING:
    Words = Mapping[Any, bool | None]


def truth(table: pl.DataFrame, name: str, role: str, verdicts: Words | None) -> Truth:
    """The verdicts of a column.

    Args:
        table: The table.
        name: The column.
        role: "judge" or "label", for messages.
        verdicts: What texts mean; texts that are missing there are reported and left out.

    Raises:
        ColumnError: A type that holds no verdicts.
        TrialsError: Numbers other than 0 and 1, or texts without a mapping.
        ArgumentError: A mapping to something else than True, False or None.
    """
    words = checked(verdicts)
    series, kind = table[name], kind_of(table.schema[name])
    nothing = pl.DataFrame(schema=UNMAPPED)
    if kind == "null":
        return Truth(values=series.cast(pl.Boolean), unmapped=nothing)
    if kind == "boolean":
        return Truth(values=series, unmapped=nothing)
    if kind in {"integer", "float"}:
        _refuse_numbers(series, name, role)
        return Truth(values=series == 1, unmapped=nothing)
    if kind != "string":
        raise ColumnError(
            f"column {name!r} ({role}) holds {table.schema[name]}. Verdicts are true or false, 0 "
            "or 1, or texts with a mapping in verdicts=."
        )
    return _texts(series.cast(pl.String), name, role, words)


def checked(verdicts: Words | None) -> dict[str, bool | None] | None:
    """The mapping with texts as keys.

    Raises:
        ArgumentError: It is no mapping, or maps to something else than True, False or None.
    """
    if verdicts is None:
        return None
    if not isinstance(verdicts, Mapping):
        raise ArgumentError(
            f'verdicts == {short(verdicts)}, must map texts, as in {{"pass": True, "fail": False}}.'
        )
    for text, value in verdicts.items():
        if value is not None and not isinstance(value, bool):
            raise ArgumentError(
                f"verdicts[{text!r}] == {short(value)}, must be True, False or None (left out)."
            )
    return {str(text): value for text, value in verdicts.items()}


def _refuse_numbers(series: pl.Series, name: str, role: str) -> None:
    odd = series.filter((series != 0) & (series != 1))
    if len(odd):
        first = ", ".join(f"{value:g}" for value in odd.unique().sort().head(5))
        raise TrialsError(
            f"column {name!r} ({role}) must hold 0, 1 or null; {len(odd):,} rows hold other "
            f"numbers, as {first}. Make verdicts of them first, for example "
            f'pl.col("{name}") >= 0.5.'
        )


def _texts(series: pl.Series, name: str, role: str, words: dict[str, bool | None] | None) -> Truth:
    counted = series.drop_nulls().value_counts(sort=True, name="rows")
    texts, rows = counted[series.name].to_list(), counted["rows"].to_list()
    known: dict[str, bool | None] = dict(words or {})
    for text in texts:
        if words is None and text.strip().lower() in PLAIN:
            known[text] = PLAIN[text.strip().lower()]
    missing = [(text, count) for text, count in zip(texts, rows, strict=True) if text not in known]
    missing.sort(key=lambda pair: (-pair[1], pair[0]))
    if missing and words is None:
        raise TrialsError(_ask(name, role, missing))
    values = series.replace_strict(
        list(known), list(known.values()), default=None, return_dtype=pl.Boolean
    )
    found = [(name, text, count) for text, count in missing]
    table = pl.DataFrame(found, schema=UNMAPPED, orient="row")
    return Truth(values=values, unmapped=table, seen=frozenset(texts))


def _sounds(text: str, words: tuple[str, ...]) -> bool:
    plain = text.strip().lower()
    return plain.startswith(words) or plain in {"1", "y", "t", "p"}


def _ask(name: str, role: str, missing: list[tuple[str, int]]) -> str:
    """Which texts there are, and how a mapping would look; both ways when nothing tells."""
    told = ", ".join(f"{short(text)} ({count:,})" for text, count in missing[:12])
    rest = f", and {len(missing) - 12} more" if len(missing) > 12 else ""
    texts = [text for text, _ in missing]
    good = next((text for text in texts if _sounds(text, GOOD)), None)
    bad = next((text for text in texts if text != good and not _sounds(text, GOOD)), None)
    if good is None and len(texts) > 1:
        ways = [{texts[0]: True, texts[1]: False}, {texts[0]: False, texts[1]: True}]
    else:
        ways = [{good or texts[0]: True} | ({} if bad is None or good is None else {bad: False})]
    if good is None and len(texts) == 1:
        ways.append({texts[0]: False})
    examples = " or ".join(f"verdicts={way!r}" for way in ways)
    options = " or ".join(
        " ".join(
            f"--verdict {shlex.quote(f'{word}={str(value).lower()}')}"
            for word, value in way.items()
        )
        for way in ways
    )
    question = "for example" if len(ways) == 1 else "whichever is true:"
    return (
        f"column {name!r} ({role}) holds texts that are not true or false: {told}{rest}. Say what "
        f"they mean, {question} {examples} (with `trialframe judge calibrate` or `trialframe "
        f"judge correct`: {options}); texts that you leave out are reported and not counted."
    )
