"""What stands above and below the numbers: estimand, methods, data, dropped cases, warnings."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from trialframe.display import counted, cut, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

ESTIMANDS = {
    "cases": "cases: tasks like these, so the spread between cases counts",
    "suite": "suite: these very tasks, so only trial noise counts",
    "runs": "runs: further runs of this suite, so the spread between runs counts",
}
COUNTED = ("trials", "these trials")
"""Estimands of rows that describe the table, or take every trial as independent."""

SOME = 4
LONGEST = 40
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def head(rows: Sequence[Row], configs: int, policy: str | None) -> Iterator[tuple[str, str]]:
    """Pairs of a word and what it is."""
    estimated = [row for row in rows if row["estimand"] not in COUNTED]
    words = dict.fromkeys(row["estimand"] for row in estimated)
    if words:
        yield "estimand", "; ".join(ESTIMANDS.get(word, str(word)) for word in words)
    levels = sorted({row["level"] for row in rows if row["low"] is not None})
    if levels:
        told = ", ".join(f"{level:.10g} %" for level in (100 * level for level in levels))
        yield "interval", f"{told}; {_methods(rows)}"
    yield "data", _data(rows, configs)
    without = {_key(row): row["unscored"] for row in rows if row["unscored"]}
    total = sum(without.values())
    if policy is not None or total:
        start = f"{policy}: " if policy else ""
        end = {"exclude": ", left out", "fail": ", counted as failures"}.get(policy or "", "")
        some = f"{counted(total, 'trial')} without a verdict{end}"
        yield "unscored", start + (some if total else "every trial has a verdict")


def _methods(rows: Sequence[Row]) -> str:
    """Which method serves which metrics; the commonest one serves the rest."""
    metrics: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        if row["low"] is not None:
            metrics[row["method"]][row["metric"]] = None
    if len(metrics) == 1:
        return next(iter(metrics))
    ranked = sorted(metrics.items(), key=lambda item: len(item[1]))
    parts = [f"{method} for {_some(list(names), SOME)}" for method, names in ranked[:-1]]
    return "; ".join([*parts, f"{ranked[-1][0]} for the rest"])


def _key(row: Row) -> tuple[Any, ...]:
    """What tells the rows of one config and group from those of another."""
    names = list(row)
    return tuple(row[name] for name in names[: names.index("metric")])


def _data(rows: Sequence[Row], configs: int) -> str:
    groups = dict.fromkeys(_key(row)[1:] for row in rows)
    parts = [counted(configs, "config")]
    if len(groups) > 1:
        names = list(rows[0])[1 : list(rows[0]).index("metric")]
        parts[0] += f" in {len(groups)} groups by {', '.join(names)}"
    estimated = [row for row in rows if row["estimand"] not in COUNTED] or list(rows)
    cases = [row["cases"] for row in estimated if row["cases"]]
    clusters = [row["clusters"] for row in estimated if row["clusters"]]
    if cases:
        one = "case" if max(cases) == 1 else "cases"
        parts.append(f"{span(min(cases), max(cases))} {one}")
    if clusters and clusters != cases:
        unit = "runs" if estimated[0]["estimand"] == "runs" else "clusters"
        parts[-1] += f" in {span(min(clusters), max(clusters))} {unit}"
    if len(groups) > 1 and cases:
        parts[-1] += " each"
    low = [row["value"] for row in rows if row["metric"] == "min_trials"]
    high = [row["value"] for row in rows if row["metric"] == "max_trials"]
    if low and high and None not in (*low, *high):
        word = "trial" if max(high) == 1 else "trials"
        parts.append(f"{span(min(low), max(high))} scored {word} per case")
    trials: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["unit"] == "share of trials":
            continue  # these count trials without a verdict too
        trials[_key(row)] = max(trials.get(_key(row), 0), row["trials"] or 0)
    parts.append(f"{counted(sum(trials.values()), 'scored trial')} in all")
    return ", ".join(parts)


def dropped(rows: Iterable[Row]) -> Iterator[str]:
    """Cases without a value, one line for metrics that lost the same."""
    lost: dict[str, dict[tuple[Any, ...], int]] = defaultdict(dict)
    for row in rows:
        if row["dropped"] and row["value"] is not None:
            lost[row["metric"]][_key(row)] = row["dropped"]
    same: dict[tuple[tuple[tuple[Any, ...], int], ...], list[str]] = defaultdict(list)
    for metric, where in lost.items():
        same[tuple(where.items())].append(metric)
    for where_items, metrics in same.items():
        numbers = [number for _, number in where_items]
        configs = _some(dict.fromkeys(cut(str(key[0]), LONGEST) for key, _ in where_items), 3)
        cases = span(min(numbers), max(numbers))
        word = "case" if max(numbers) == 1 else "cases"
        yield f"{_some(metrics, SOME)}: {cases} {word} without a value left out ({configs})"


def warnings(rows: Sequence[Row]) -> Iterator[str]:
    """Every distinct warning once, with the range of its number and where it applies."""
    found: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    for row in rows:
        for text in filter(None, (row["warnings"] or "").split("; ")):
            found[_NUMBER.sub("#", text)].append((text, row))
    metrics = dict.fromkeys(row["metric"] for row in rows if row["estimand"] != "these trials")
    configs = len({row["config"] for row in rows})
    placed: dict[str, list[str]] = defaultdict(list)
    for pattern, hits in found.items():
        about = dict.fromkeys(row["metric"] for _, row in hits)
        who = dict.fromkeys(cut(str(row["config"]), LONGEST) for _, row in hits)
        places = []
        if configs > 1:
            places.append(f"all {configs} configs" if len(who) == configs else _some(who, 3))
        others = [name for name in metrics if name not in about]
        if others:
            few = len(others) < min(len(about), SOME)
            places.append(f"all but {_some(others, SOME)}" if few else _some(about, SOME))
        placed["; ".join(places)].append(_ranged(pattern, [text for text, _ in hits]))
    for place, texts in placed.items():
        yield "; ".join(texts) + (f" ({place})" if place else "")


def _ranged(pattern: str, texts: list[str]) -> str:
    """One text for warnings that differ in their numbers only."""
    places = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    spans = []
    for found in places:
        numbers = sorted(set(found), key=_value)
        spans.append(numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}")
    first, *others = pattern.split("#")
    return first + "".join(map("".join, zip(spans, others, strict=True)))


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _some(names: Iterable[str], limit: int) -> str:
    """The first names and how many more there are."""
    every = list(names)
    rest = len(every) - limit
    return ", ".join(every) if rest <= 1 else f"{', '.join(every[:limit])} and {rest} more"
