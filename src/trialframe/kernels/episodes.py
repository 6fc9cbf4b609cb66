"""Single episodes: entropy of tool calls over sliding windows, and weighted subtasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_ROWS = 500_000  # positions worked on at a time
_TIE = 1e-12  # entropies that differ by less are equal


def window_entropy(action: Ints, position: Ints, window: int) -> Floats:
    """Entropy in bits of the last `window` actions at every position, shape (N,).

    Args:
        action: Action codes >= 0 of all episodes, one after the other, shape (N,).
        position: Place of each action in its episode, counted from 0, shape (N,).
        window: Actions in a window, >= 2. Where fewer have happened, counts are still divided
            by `window`, so that the shares do not add up to 1; mind `position`.

    Notes:
        H = -sum over actions in the window of log2(count of that action / w) / w.

    Example:
        >>> window_entropy(np.array([0, 0, 1, 2, 3, 4]), np.arange(6), 5).round(3).tolist()
        [0.464, 0.529, 0.993, 1.458, 1.922, 2.322]
    """
    out = np.empty(len(action))
    for start in range(0, len(action), _ROWS):
        stop = min(start + _ROWS, len(action))
        out[start:stop] = _entropy(action, position, window, start, stop)
    return out


def _entropy(action: Ints, position: Ints, window: int, start: int, stop: int) -> Floats:
    """The same for the positions start..stop."""
    here = np.arange(start, stop)
    back = np.arange(window)[:, None]
    held = action[np.maximum(here - back, 0)]
    known = back <= position[here]
    counts = np.zeros(held.shape)
    for i in range(window):
        counts += known[i] & (held == held[i])
    logs = np.where(known, np.log2(np.maximum(counts, 1.0) / window), 0.0)
    made: Floats = np.abs(logs.sum(axis=0)) / window
    return made


def onset(
    entropy: Floats,
    position: Ints,
    episode: Ints,
    window: int,
    threshold: float,
    rise: float,
    *,
    full: bool,
) -> Ints:
    """First position of each episode where entropy is high and rising, -1 for never.

    Args:
        entropy: Of each position, shape (N,).
        position: Place in the episode, counted from 0.
        episode: Episode code 0..E-1 of each position, ascending.
        window: Actions in a window.
        threshold: Entropy must be above it.
        rise: Entropy must have risen by more than this since `window` actions ago.
        full: Only positions with a full window and a full one before it; otherwise entropy
            before the start counts as 0.

    Example:
        >>> h = window_entropy(np.array([0] * 6 + [1, 2, 3, 4, 5, 6]), np.arange(12), 5)
        >>> [int(onset(h, np.arange(12), np.zeros(12, int), 5, 1.711, 0.0, full=f)[0])
        ...  for f in (True, False)]
        [9, 8]
    """
    before = np.zeros(len(entropy))
    reach = position >= window
    places = np.flatnonzero(reach)
    before[places] = entropy[places - window]
    found = (entropy > threshold + _TIE) & (entropy - before > rise + _TIE)
    if full:
        found &= position >= 2 * window - 1
    count = int(episode[-1]) + 1 if len(episode) else 0
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, episode[found], position[found])
    return np.where(first == np.iinfo(np.int64).max, -1, first)


def weighted_share(done: NDArray[np.bool_], weight: Floats, episode: Ints) -> Floats:
    """Weight of the subtasks done over that of all, per episode, NaN where there is no weight.

    Args:
        done: Whether each subtask was done, shape (N,).
        weight: Its weight, >= 0, on any scale.
        episode: Episode code 0..E-1.

    Example:
        >>> done, weight = np.array([True, True, False, True]), np.array([0.4, 0.3, 0.2, 0.1])
        >>> round(float(weighted_share(done, weight, np.zeros(4, int))[0]), 3)
        0.8
    """
    total = np.bincount(episode, weight)
    part = np.bincount(episode, weight * done)
    out = np.full(len(total), np.nan)
    np.divide(part, total, out=out, where=total > 0)
    return out
