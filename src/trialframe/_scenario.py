"""Arguments of a simulation, checked and turned into names and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialframe import _checks
from trialframe.errors import ArgumentError, short

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of a factor (none when it is not in the design) and what each adds to the rates."""

    values: Floats
    effects: Floats


def numbered(word: str, count: int) -> tuple[str, ...]:
    """Names that sort in the order of their numbers."""
    width = len(str(count))
    return tuple(f"{word}_{number:0{width}d}" for number in range(1, count + 1))


def unique(words: Sequence[str], name: str) -> tuple[str, ...]:
    """One or more different names."""
    found = _checks.names(words, name)
    if not all(found) or not found or len(set(found)) != len(found):
        raise ArgumentError(f"{name} == {short(words)}, must be one or more different names.")
    return found


def numbers(
    values: Iterable[float],
    name: str,
    *,
    low: float,
    high: float,
    count: int | None = None,
    inclusive: bool = True,
) -> Floats:
    """Numbers in [low, high], `count` of them when it is given."""
    wanted = "numbers" if count is None else f"{count} numbers"
    problem = f"{name} == {short(values)}, must be a list of {wanted}."
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ArgumentError(problem)
    found = list(values)
    if not found or count not in {None, len(found)}:
        raise ArgumentError(problem)
    return np.array(
        [
            _checks.between(value, f"{name}[{i}]", low=low, high=high, inclusive=inclusive)
            for i, value in enumerate(found)
        ]
    )


def pair(
    values: tuple[float, float], name: str, *, low: float, high: float, inclusive: bool = True
) -> tuple[float, float]:
    """Two numbers in [low, high]."""
    first, second = numbers(values, name, low=low, high=high, count=2, inclusive=inclusive)
    return float(first), float(second)


def per_config(
    values: float | Iterable[float], name: str, configs: int, *, low: float, high: float
) -> Floats:
    """One number for all configs, or one a config, shape (configs,)."""
    if isinstance(values, Iterable):
        return numbers(values, name, low=low, high=high, count=configs)
    return np.full(configs, _checks.between(values, name, low=low, high=high))


def lifts(lift: float | Iterable[float], configs: int) -> Floats:
    """Lift of each config; one number is that of the last, with those between evenly spaced."""
    if isinstance(lift, Iterable):
        return per_config(lift, "lift", configs, low=-1.0, high=1.0)
    return np.linspace(0.0, _checks.between(lift, "lift", low=-1.0), configs)


def levels(values: Iterable[float] | None, name: str, effect: float) -> Levels:
    """Levels of a factor; one effect of nothing when there is no such factor."""
    slope = _checks.between(effect, f"effect of {name}", low=-1.0)
    if values is None:
        return Levels(np.zeros(0), np.zeros(1))
    found = numbers(values, name, low=0.0, high=1e6)
    if np.unique(found).size != found.size:
        raise ArgumentError(f"{name} == {short(values)}, must name each level once.")
    return Levels(found, slope * found)


def config_names(configs: int | Sequence[str]) -> tuple[str, ...]:
    """Names of the configs, made up when only their number is given."""
    if isinstance(configs, Iterable):
        return unique(configs, "configs")
    return numbered("config", _checks.integer(configs, "configs", low=1))


def cluster_of_cases(
    clusters: int | Mapping[str, float] | None, cases: int, icc: float
) -> tuple[tuple[str, ...], Ints]:
    """Names of the clusters, and the number of the cluster of each case, shape (cases,)."""
    if clusters is None:
        if icc > 0:
            raise ArgumentError(f"icc == {icc:g} needs clusters, for example clusters=20.")
        return (), np.arange(cases)
    if isinstance(clusters, Mapping):
        names = unique(tuple(clusters), "clusters")
        sizes = numbers(clusters.values(), "clusters", low=0.0, high=1e9, inclusive=False)
    else:
        names = numbered("cluster", _checks.integer(clusters, "clusters", low=1, high=cases))
        sizes = np.ones(len(names))
    middles = (np.arange(cases) + 0.5) / cases
    return names, np.searchsorted(np.cumsum(sizes)[:-1] / sizes.sum(), middles).astype(np.int64)


def trial_range(trials: int | Iterable[int]) -> tuple[int, int]:
    """Fewest and most trials of a config, case and level."""
    if not isinstance(trials, Iterable):
        count = _checks.integer(trials, "trials", low=1)
        return count, count
    try:
        fewest, most = trials
    except ValueError as error:
        raise ArgumentError(
            f"trials == {short(trials)}, must be a number or (low, high)."
        ) from error
    most = _checks.integer(most, "trials[1]", low=1)
    return _checks.integer(fewest, "trials[0]", low=0, high=most), most


def attempts(most: int | None, learning: float) -> tuple[int, float]:
    """Attempts of a trial, and what each adds to the pass rate of the next."""
    gain = _checks.between(learning, "learning", low=-1.0)
    if most is not None:
        return _checks.integer(most, "attempts", low=1), gain
    if gain:
        raise ArgumentError(f"learning == {gain:g} needs attempts, for example attempts=5.")
    return 1, 0.0


def outcomes(unscored: float | Mapping[str, float] | None) -> dict[str, float]:
    """Share of trials of each outcome that leaves no verdict."""
    if unscored is None:
        return {}
    if not isinstance(unscored, Mapping):
        return {"error": _checks.between(unscored, "unscored")}
    names = unique(tuple(unscored), "unscored")
    shares = numbers(unscored.values(), "unscored", low=0.0, high=1.0)
    if shares.sum() > 1.0 + 1e-9 or "completed" in names:
        raise ArgumentError(
            f"unscored == {short(unscored)}, must map outcomes other than 'completed' to shares"
            " that sum to at most 1."
        )
    return dict(zip(names, shares.tolist(), strict=True))
