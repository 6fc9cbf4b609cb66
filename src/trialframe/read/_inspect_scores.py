"""Scores of Inspect AI's samples: which one decides, and what it counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trialframe.errors import ArgumentError, listed, named, short
from trialframe.read._inspect_file import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trialframe.read._inspect_file import Run, Sample
    from trialframe.read._log import Log

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
YES_OR_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

NONE, NESTED = type(None), frozenset({dict, list})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decides:
    """The score that decides: all of a scorer's value, or one part of it."""

    scorer: str
    part: str | int | None = None

    def of(self, samples: Iterable[Sample]) -> tuple[list[Any], list[str | None]]:
        """Values and reasons of the samples' scores; None where there is none.

        Raises:
            ValueError: A value has another shape than in the other samples.
        """
        scores = [sample.scores.get(self.scorer) if sample.scores else None for sample in samples]
        values = [None if score is None else score.value for score in scores]
        if self.part is not None:
            values = [None if value is None else self._part(value) for value in values]
        for value in values if NESTED & {*map(type, values)} else ():
            if type(value) in NESTED:
                message = f"the score {self.scorer} is {short(value)} where one value is needed"
                raise ValueError(message)
        reasons = [
            (score.reason or (score.metadata or {}).get("unscored_reason")) if score else None
            for score in scores
        ]
        return values, reasons

    def _part(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value.get(self.part)
        if isinstance(value, list) and isinstance(self.part, int):
            return value[self.part] if self.part < len(value) else None
        raise ValueError(f"the score {self.scorer} is {short(value)} and has no {self.part!r}")


def value_to_float(value: Any) -> float | None:
    """A score as Inspect's own metrics count it; None for what is not scored.

    Letters are C 1, P 0.5, I and N 0; yes and no, true and false are 1 and 0; text that is a
    number is that number, and any other text counts 0.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        try:
            return float(value)
        except OverflowError:  # more digits than a float has
            return None
    if value in LETTERS:
        return LETTERS[value]
    if value.lower() in YES_OR_NO:
        return YES_OR_NO[value.lower()]
    return float(value) if is_number(value) else 0.0


def is_number(value: Any) -> bool:
    """Whether a score is a number, or text that is one."""
    if isinstance(value, str):
        try:
            return math.isfinite(float(value))
        except ValueError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def chosen(log: Log, run: Run) -> tuple[str | None, Decides | None]:
    """The score that decides, chosen among those of the samples and of the header."""
    found, bare = _given(run.samples)
    scorers = {item.scorer for item in found.values()}
    found |= {name: Decides(scorer=name) for name in bare if name not in scorers}
    scorers |= set(bare)
    for scorer, parts in _scorers(run.header):
        if scorer not in scorers:
            wanted = (log.metric or "").removeprefix(f"{scorer}.")  # none of the parts is known
            every = {*parts, wanted} if log.metric == f"{scorer}.{wanted}" else parts
            found |= {f"{scorer}.{part}": Decides(scorer=scorer, part=part) for part in every}
            found |= {} if every else {scorer: Decides(scorer=scorer)}
    if not found:  # nothing was scored, as where every sample failed
        return None, None
    parts = [name for name, item in found.items() if item.scorer == log.metric]
    if parts and log.metric not in found:
        raise ArgumentError(
            f"metric={log.metric!r}: in {named(log.path)} it has the parts {listed(parts)}. "
            f"Choose the one that decides, for example metric={parts[0]!r}."
        )
    name = log.chosen(found, "scorer", _headline(run.header, found))
    return name, None if name is None else found[name]


def _given(samples: Sequence[Sample]) -> tuple[dict[str, Decides], list[str]]:
    """Scores of the samples by name, and scorers that gave one without a value."""
    found: dict[str, Decides] = {}
    bare: list[str] = []
    every = [sample.scores for sample in samples if isinstance(sample.scores, dict)]
    pairs = [
        (scorer, type(score.value) if type(score) is Score else NONE)
        for scores in every
        for scorer, score in scores.items()
    ]
    kinds = dict.fromkeys(pairs)
    parts = _parts({scorer for scorer, kind in kinds if kind in NESTED}, every)
    for scorer, kind in kinds:
        if scorer in parts and kind in NESTED:
            names = parts[scorer]
            found |= {f"{scorer}.{part}": Decides(scorer=scorer, part=part) for part in names}
        elif kind is NONE:
            bare.append(scorer)
        else:
            found[scorer] = Decides(scorer=scorer)
    return found, bare


def _parts(
    scorers: set[str], every: Iterable[Mapping[str, Score | None]]
) -> dict[str, dict[str | int, None]]:
    """Names or positions of the parts of these scorers' values."""
    parts: dict[str, dict[str | int, None]] = {scorer: {} for scorer in scorers}
    for scores in every if scorers else ():
        for scorer in scorers.intersection(scores):
            score = scores[scorer]
            value = score.value if isinstance(score, Score) else None
            if isinstance(value, dict | list):
                parts[scorer] |= dict.fromkeys(
                    value if isinstance(value, dict) else range(len(value))
                )
    return parts


def _scorers(header: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The task's scorers and their parts, for those that gave no score to any sample."""
    for row in header["eval"].get("scorers") or []:
        metrics = row.get("metrics")
        groups = metrics if isinstance(metrics, list) else [metrics]
        parts = [part for group in groups if isinstance(group, dict) for part in group]
        known = [part for part in parts if part not in {"name", "options"} and "*" not in part]
        yield str(row.get("name")).rpartition("/")[2], known


def _headline(header: Mapping[str, Any], names: Mapping[str, Any]) -> str | None:
    """The score that the task itself declares to be its headline."""
    declared = header["eval"].get("headline_metric") or {}
    scorer, score = str(declared.get("scorer")), str(declared.get("score"))
    return next((n for n in (f"{scorer}.{score}", score, scorer) if n in names), None)
