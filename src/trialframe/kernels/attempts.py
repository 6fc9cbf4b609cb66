"""Sequential attempts: sequences that stop at the first success."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


def solved_by(solved_at: Ints, k: int) -> Floats:
    """Whether each sequence is solved by attempt t, shape (S, k); never less later on.

    A sequence that stopped without success stays unsolved.

    Args:
        solved_at: Attempt of the first success, counted from 1, 0 for none; shape (S,).
        k: Attempts to look at, >= 1.

    Example:
        >>> solved_by(np.array([2, 0, 1]), 2).tolist()
        [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    attempts = np.arange(1, k + 1)
    reached = (solved_at[:, None] <= attempts) & (solved_at > 0)[:, None]
    return reached.astype(np.float64)


def kaplan_meier(length: Ints, solved_at: Ints, k: int) -> Floats:
    """Share solved by attempt t when unsolved sequences that stopped early are censored, (k,).

    For sequences that stopped for reasons that have nothing to do with the case, a budget for
    example; not for agents that give up on hard cases.

    Args:
        length: Attempts made, shape (S,), >= 1.
        solved_at: Attempt of the first success, 0 for none; shape (S,).
        k: Attempts to look at, >= 1.

    Notes:
        1 - prod over t of (1 - d_t / r_t), d_t solved at t, r_t not solved before t and with
        an attempt t. Where nobody is left to try, the curve stays where it was.

    Example:
        >>> kaplan_meier(np.array([2, 1, 1]), np.array([2, 0, 1]), 3).round(3).tolist()
        [0.333, 1.0, 1.0]
    """
    attempts = np.arange(1, k + 1)
    solved = np.where(solved_at > 0, solved_at, np.iinfo(np.int64).max)
    at_risk = ((length[:, None] >= attempts) & (solved[:, None] >= attempts)).sum(axis=0)
    events = (solved[:, None] == attempts).sum(axis=0)
    hazard = np.divide(events, at_risk, out=np.zeros(k), where=at_risk > 0)
    curve: Floats = 1.0 - np.cumprod(1.0 - hazard)
    return curve


def gains(curve: Floats) -> tuple[float, float, float]:
    """Total gain over the first attempt, and the shares of it that come first and last.

    Args:
        curve: Share solved by attempt t, shape (K,).

    Returns:
        curve[K] - curve[1]; (curve[2] - curve[1]) over it; (curve[K] - curve[K-1]) over it.
        Shares are NaN when nothing was gained or K < 2.

    Example:
        >>> [round(share, 3) for share in gains(np.array([0.2, 0.6, 0.8]))]
        [0.6, 0.667, 0.333]
    """
    total = float(curve[-1] - curve[0])
    if len(curve) == 1 or total <= 0:
        return total, float("nan"), float("nan")
    return total, float(curve[1] - curve[0]) / total, float(curve[-1] - curve[-2]) / total
