"""What reports of test suites share: properties of tests, and names that repeats make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.read._take import Take
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MEASURED = (
    "score",
    "cluster",
    "secure",
    "label",
    "judge",
    "tests_passed",
    "tests_total",
    "tokens_in",
    "tokens_out",
    "cost_uusd",
    "seed",
    "context",
    "image",
    "split",
    "weight",
)
"""Columns that a test may record about itself, under their own names or their aliases."""

UNKNOWN = {"", "none", "null", "nan", "n/a"}
"""How an unknown value reads that was written as text."""

_REPEAT = re.compile(r"(?s)(.*[\[-])(\d{1,6})-(\d{1,6})\]\Z")


def fields(place: str) -> tuple[Take, ...]:
    """The columns of properties, which are found below a place of the record."""
    takes = []
    for name in MEASURED:
        others = [alias for alias in column(TRIALS, name).aliases if alias != name]
        if name == "cost_uusd":
            others += ["cost, in dollars"]
        note = f"also {', '.join(others)}" if others else ""
        takes.append(Take(column=name, path=f"{place}.{name}", note=note))
    return tuple(takes)


def needed(takes: Iterable[Take], measured: Iterable[Mapping[str, Any]]) -> tuple[Take, ...]:
    """The fields without those of properties that no test has: most suites measure nothing."""
    found = {name for row in measured for name in row}
    return tuple(t for t in takes if t.column not in MEASURED or t.column in found)


def _spellings() -> dict[str, tuple[str, float]]:
    found = {"cost": ("cost_uusd", 1e6)}
    for name in MEASURED:
        found |= {alias: (name, factor) for alias, factor in column(TRIALS, name).aliases.items()}
    return found | {name: (name, 1.0) for name in MEASURED}


SPELLINGS = _spellings()


def measured(properties: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The properties of a test as columns of trials, and those that are none.

    Raises:
        ValueError: A number is needed, and something else is there.
    """
    taken: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in properties.items():
        normal = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        target, factor = SPELLINGS.get(normal, ("", 1.0))
        if not target:
            others[name] = value
        elif not (isinstance(value, str) and value.strip().lower() in UNKNOWN):
            taken[target] = _cast(value, target, factor, name)
    return taken, others


def _cast(value: Any, target: str, factor: float, name: str) -> Any:
    dtype = column(TRIALS, target).dtype
    if dtype == pl.String or value is None:
        return value
    if dtype == pl.Boolean:
        return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower(), value)
    if not isinstance(value, str):
        return value * factor if isinstance(value, float) or factor != 1.0 else value
    try:
        return float(value) * factor if factor != 1.0 or not value.isdecimal() else int(value)
    except ValueError:
        raise ValueError(f"property {name} is {value!r}, and a number is needed") from None


def system(properties: Mapping[str, Any]) -> str | None:
    """The config of a test, as its properties say: `config`, or agent and model."""
    said = {name.lower(): str(value) for name, value in properties.items() if value}
    agent = said.get("agent") or said.get("agent_name")
    model = said.get("model") or said.get("model_name")
    both = "/".join(part for part in (agent, model) if part)
    return said.get("config") or said.get("config_id") or both or None


def named(rows: Sequence[dict[str, Any]], fallback: str) -> None:
    """Name the config of rows that name none, in place.

    A test that breaks early records nothing, so the only system of a file is that of all tests.
    """
    unnamed = [row for row in rows if row["config"] is None]
    known = {row["config"] for row in rows} - {None}
    for row in unnamed:
        row["config"] = next(iter(known)) if len(known) == 1 else fallback


def typed(rows: list[dict[str, Any]]) -> None:
    """Turn the text of columns that hold nothing but numbers into numbers, in place."""
    for name in dict.fromkeys(key for row in rows for key in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        if values and all(isinstance(value, str) and _is_number(value) for value in values):
            whole = all(value.lstrip("-").isdecimal() for value in values)
            for row in rows:
                if row.get(name) is not None:
                    row[name] = int(row[name]) if whole else float(row[name])


def _is_number(text: str) -> bool:
    """Whether it is a number, and not an id such as 007."""
    return re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d+)?(e[+-]?\d{1,2})?", text) is not None


def repeats(names: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Names that pytest-repeat made, as `test[left-2-3]`, with the test and the repeat.

    A parameter may look the same. So all repeats must be there, or some of a test beside
    another test that has all, as when the run was stopped.

    Examples:
        >>> repeats(["t[1-2]", "t[2-2]", "u[a-1-2]", "v[1-3]"])
        {'t[1-2]': ('t', 1), 't[2-2]': ('t', 2), 'u[a-1-2]': ('u[a]', 1)}
    """
    found: dict[tuple[str, int], dict[int, str]] = {}
    for name in dict.fromkeys(names):
        match = _REPEAT.match(name)
        if match and 1 <= int(match[2]) <= int(match[3]) > 1:
            found.setdefault((match[1], int(match[3])), {})[int(match[2])] = name
    whole = {count for (_, count), members in found.items() if len(members) == count}
    return {
        name: (stem[:-1] if stem.endswith("[") else f"{stem[:-1]}]", number)
        for (stem, count), members in found.items()
        if count in whole
        for number, name in members.items()
    }
