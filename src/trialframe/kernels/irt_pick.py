"""Which cases tell configs apart: orders of items by several criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import information, probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


def mean_information(theta: Floats, a: Floats, b: Floats) -> Floats:
    """Information about theta of one trial, averaged over abilities, shape (I,)."""
    return np.asarray(information(theta, a, b).mean(axis=0))


def spread(theta: Floats, a: Floats, b: Floats) -> Floats:
    """Variance over abilities (ddof 1) of the pass probabilities, shape (I,)."""
    rate = probability(theta, a, b)
    return rate.var(axis=0, ddof=1) if len(rate) > 1 else np.zeros(len(a))


def best(value: Floats, count: int) -> Ints:
    """The items with the largest values, largest first; ties go to the earlier item."""
    return np.argsort(-value, kind="stable")[:count]


def greedy_maximin(theta: Floats, a: Floats, b: Floats, count: int) -> tuple[Ints, Floats]:
    """Add, item by item, the one that leaves the worst-measured ability with most information.

    Args:
        theta: Abilities, shape (J,).
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        count: How many items to take.

    Returns:
        Items in the order taken, and the least information over abilities after each.
    """
    info = information(theta, a, b)
    total = np.zeros(len(info))
    free = np.ones(info.shape[1], dtype=bool)
    order = np.empty(count, dtype=np.int64)
    least = np.empty(count)
    for k in range(count):
        after = np.where(free, (total[:, None] + info).min(axis=0), -np.inf)
        order[k] = int(np.argmax(after))
        least[k] = after[order[k]]
        total += info[:, order[k]]
        free[order[k]] = False
    return order, least
