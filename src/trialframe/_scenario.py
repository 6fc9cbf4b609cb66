"""Arguments of a simulation, checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from trialframe import _checks
from trialframe.errors import ArgumentError, short

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of a factor and what each adds to the pass rates."""

    values: Floats
    effects: Floats


def levels(levels: Sequence[float] | None, name: str, effect: float) -> Levels:
    effect = _checks.between(effect, f"effect of {name}", low=-1.0)
    if levels is None:
        return Levels(np.zeros(1), np.zeros(1))
    values = np.array(numbers(levels, name, low=0.0, high=1e6))
    if np.unique(values).size != values.size:
        raise ArgumentError(f"{name} == {short(levels)}, must name each level once.")
    return Levels(values, effect * values)


def config_names(configs: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(configs, int):
        return tuple(numbered("config", _checks.integer(configs, "configs", low=1)))
    return unique(configs, "configs")


def unique(words: Sequence[str], name: str) -> tuple[str, ...]:
    found = _checks.names(words, name)
    if not found or len(set(found)) != len(found):
        raise ArgumentError(f"{name} == {short(words)}, must be one or more different names.")
    return found


def clusters(
    clusters: int | Mapping[str, float] | None, cases: int, icc: float
) -> tuple[Sequence[str], Ints]:
    """Names of the clusters, and the number of the cluster of each case."""
    if clusters is None:
        if icc != 0:
            raise ArgumentError(f"icc == {short(icc)} needs clusters, for example clusters=20.")
        return (), np.arange(cases)
    if isinstance(clusters, Mapping):
        names = unique(tuple(clusters), "clusters")
        sizes = np.array(numbers(tuple(clusters.values()), "clusters", low=0.0, high=1e9))
        if not sizes.sum() > 0:
            raise ArgumentError(f"clusters == {short(clusters)}, must hold a size above 0.")
    else:
        count = _checks.integer(clusters, "clusters", low=1, high=cases)
        names, sizes = tuple(numbered("cluster", count)), np.ones(count)
    middles = (np.arange(cases) + 0.5) / cases
    return names, np.searchsorted(np.cumsum(sizes) / sizes.sum(), middles)


def lifts(lift: float | Sequence[float], configs: int) -> Floats:
    if isinstance(lift, Real):
        return np.linspace(0.0, _checks.between(lift, "lift", low=-1.0), configs)
    return per_config(lift, "lift", configs, low=-1.0, high=1.0)


def per_config(
    values: float | Sequence[float], name: str, configs: int, *, low: float, high: float
) -> Floats:
    if isinstance(values, Real):
        return np.full(configs, _checks.between(values, name, low=low, high=high))
    found = numbers(values, name, low=low, high=high)
    if len(found) != configs:
        raise ArgumentError(
            f"{name} holds {len(found)} numbers for {configs} configs: give one a config."
        )
    return np.array(found)


def pair(
    values: tuple[float, float], name: str, *, low: float, high: float, inclusive: bool = True
) -> tuple[float, float]:
    found = numbers(values, name, low=low, high=high, inclusive=inclusive)
    if len(found) != 2:  # noqa
        raise ArgumentError(f"{name} == {short(values)}, must be two numbers.")
    return found[0], found[1]


def numbers(
    values: Sequence[float], name: str, *, low: float, high: float, inclusive: bool = True
) -> list[float]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ArgumentError(f"{name} == {short(values)}, must be a list of numbers.")
    return [
        _checks.between(value, f"{name}[{i}]", low=low, high=high, inclusive=inclusive)
        for i, value in enumerate(values)
    ]


def trial_range(trials: int | tuple[int, int]) -> tuple[int, int]:
    if isinstance(trials, Sequence) and not isinstance(trials, str) and len(trials) == 2:
        high = _checks.integer(trials[1], "trials[1]", low=1)
        return _checks.integer(trials[0], "trials[0]", low=0, high=high), high
    count = _checks.integer(trials, "trials", low=1)
    return count, count


def attempts(attempts: int | None, learning: float) -> tuple[int, float]:
    gain = _checks.between(learning, "learning", low=-1.0)
    if attempts is None:
        if gain:
            raise ArgumentError(f"learning == {gain:g} needs attempts, for example attempts=5.")
        return 1, 0.0
    return _checks.integer(attempts, "attempts", low=1), gain


def outcomes(unscored: float | Mapping[str, float] | None) -> dict[str, float]:
    """Share of trials of each outcome that leaves no verdict."""
    if unscored is None:
        return {}
    if not isinstance(unscored, Mapping):
        return {"error": _checks.between(unscored, "unscored")}
    shares = {
        name: _checks.between(share, f"unscored[{name!r}]") for name, share in unscored.items()
    }
    if sum(shares.values()) > 1.0 + 1e-9 or "completed" in shares or not all(shares):
        raise ArgumentError(
            f"unscored == {short(unscored)}, must map outcomes other than 'completed' to shares"
            " that sum to at most 1."
        )
    return shares


def numbered(word: str, count: int) -> list[str]:
    """Names that sort in the order of their numbers."""
    width = len(str(count))
    return [f"{word}_{number:0{width}d}" for number in range(1, count + 1)]
