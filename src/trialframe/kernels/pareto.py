"""Which configs lie on the front of cost and quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]


def on_the_front(cost: Floats, value: Floats) -> Bools:
    """Configs that no other config beats: none is as cheap and as good, and better in one.

    Args:
        cost: Less is better, shape (B, J), one row a resample.
        value: More is better, shape (B, J).

    Returns:
        Shape (B, J).

    Example:
        >>> cost, value = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 0.4, 0.6]])
        >>> on_the_front(cost, value).tolist()
        [[True, False, True]]
    """
    order = np.lexsort((-value, cost), axis=-1)
    cost, value = (np.take_along_axis(side, order, axis=-1) for side in (cost, value))
    before = np.maximum.accumulate(value, axis=-1)
    before = np.concatenate([np.full_like(before[:, :1], -np.inf), before[:, :-1]], axis=-1)
    place = np.where(value > before, np.arange(value.shape[-1]), 0)
    leader = np.maximum.accumulate(place, axis=-1)
    # one that equals the last on the front in both is on it as well
    front = value == np.take_along_axis(value, leader, axis=-1)
    front &= cost == np.take_along_axis(cost, leader, axis=-1)
    made: Bools = np.empty_like(front)
    np.put_along_axis(made, order, front, axis=-1)
    return made
