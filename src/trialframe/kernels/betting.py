"""Confidence sequences of a mean of bounded scores, by betting against every candidate value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.errors import ArgumentError, did_you_mean
from trialframe.kernels.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

SHRINK = ("current", "running")
_BISECTIONS = 56
_GRID = 1000  # steps of the path's bounds
_CELLS = 1 << 19  # products of times and grid points held at once: 4 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Betting:
    """How the capital is hedged and how bold the bets are.

    Attributes:
        level: Probability to hold at every time, in (0, 1).
        theta: Share of the capital that bets on a larger mean, in (0, 1).
        truncation: Share of the capital that a bet may lose at most, in (0, 1).
    """

    level: float = 0.95
    theta: float = 0.5
    truncation: float = 0.5


def log_capital(x: ArrayLike, mean: float, betting: Betting | None = None) -> Floats:
    """Log of the hedged capital against one value of the mean, after each score.

    Args:
        x: Scores in [0, 1] in the order in which they came, shape (T,).
        mean: The value bet against, in [0, 1].
        betting: Settings; None for those of the paper.

    Returns:
        Logarithms, shape (T,).

    Notes:
        K_t(m) = max(theta prod(1 + l_i (x_i - m)), (1 - theta) prod(1 - l_i (x_i - m))), with
        l_t = sqrt(2 log(1 / (alpha theta)) / (s2_{t-1} t log(1 + t))) from the scores before t,
        truncated at c / m above and c / (1 - m) below.

    References:
        Waudby-Smith and Ramdas (2024), J. R. Stat. Soc. B 86:1.

    Example:
        >>> np.exp(log_capital([1, 1, 0], 0.5)).tolist()
        [0.75, 1.125, 0.5625]
    """
    how = betting or Betting()
    scores = _floats(x)
    value = np.array([mean])
    up = np.cumsum(_gains(scores, _bets(scores, how), value, how)[:, 0])
    down = np.cumsum(_gains(1.0 - scores, _bets(scores, how), 1.0 - value, how)[:, 0])
    hedged: Floats = np.maximum(up + np.log(how.theta), down + np.log1p(-how.theta))
    return hedged


def betting_interval(
    x: ArrayLike, betting: Betting | None = None, shrink: str = "current"
) -> Interval:
    """Confidence sequence of the mean after the last score.

    Not for scores whose order or number depended on what later ones would show, and not for
    trials of several cases in blocks: cases must come in random order.

    Args:
        x: Scores in [0, 1] in the order in which they came, shape (T,); none gives [0, 1].
        betting: Settings; None for those of the paper.
        shrink: "current": the set at this time; "running": the intersection with all earlier
            ones, which is valid too and may be empty (low > high) when the mean drifts.

    Returns:
        Scalar bounds in [0, 1].

    Raises:
        ArgumentError: An unknown `shrink`.

    Notes:
        {m : K_t(m) < 1 / alpha}. The first product falls in m and the second grows, so that the
        set is an interval and bisection finds its ends.

    Example:
        >>> got = betting_interval([1, 1, 0, 1, 1, 1, 0, 1, 1, 1] * 2)
        >>> round(float(got.low), 4), round(float(got.high), 4)
        (0.4964, 0.9844)
    """
    how = betting or Betting()
    if shrink not in SHRINK:
        raise ArgumentError(f"shrink == {shrink!r}. {did_you_mean(str(shrink), SHRINK)}")
    scores = _floats(x)
    bets = _bets(scores, how)
    return Interval(
        low=np.asarray(_low(scores, bets, how, np.log(how.theta), shrink)),
        high=np.asarray(1.0 - _low(1.0 - scores, bets, how, np.log1p(-how.theta), shrink)),
    )


def betting_path(x: ArrayLike, betting: Betting | None = None, shrink: str = "current") -> Interval:
    """The same after every score, on a grid of 0.001, rounded outwards.

    Args:
        x: Scores in [0, 1] in order, shape (T,).
        betting: Settings; None for those of the paper.
        shrink: "current" or "running".

    Returns:
        Bounds, shape (T,). Memory is bounded, the time grows as 1000 T.

    Example:
        >>> got = betting_path([1, 1, 0, 1] * 10)
        >>> float(got.low[-1]), float(got.high[-1])
        (0.536, 0.925)
    """
    how = betting or Betting()
    scores = _floats(x)
    bets = _bets(scores, how)
    low = _low_path(scores, bets, how, np.log(how.theta), shrink)
    return Interval(
        low=low,
        high=1.0 - _low_path(1.0 - scores, bets, how, np.log1p(-how.theta), shrink),
    )


def _bets(x: Floats, how: Betting) -> Floats:
    """Bets before truncation, each from the scores before it."""
    time = np.arange(1, len(x) + 1, dtype=np.float64)
    mean = (0.5 + np.cumsum(x)) / (time + 1.0)
    spread = (0.25 + np.cumsum((x - mean) ** 2)) / (time + 1.0)
    before = np.concatenate(([0.25], spread[:-1]))[: len(x)]
    scale = 2.0 * np.log(1.0 / ((1.0 - how.level) * how.theta))
    return np.asarray(np.sqrt(scale / (before * time * np.log1p(time))))


def _gains(x: Floats, bets: Floats, mean: Floats, how: Betting) -> Floats:
    """Log factors of betting on a larger mean, shape (times, values of the mean)."""
    limit = np.divide(how.truncation, mean, out=np.full_like(mean, np.inf), where=mean > 0)
    gains: Floats = np.log1p(np.minimum(bets[:, None], limit) * (x[:, None] - mean))
    return gains


def _low(x: Floats, bets: Floats, how: Betting, start: float, shrink: str) -> float:
    """Largest mean that the bet on more has beaten; 0 where it has beaten none."""
    target = -np.log1p(-how.level) - start

    def beaten(mean: float) -> bool:
        gains = _gains(x, bets, np.array([mean]), how)[:, 0]
        capital = np.cumsum(gains).max(initial=-np.inf) if shrink == "running" else gains.sum()
        return bool(capital >= target)

    if not beaten(0.0):
        return 0.0
    outside, inside = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (outside + inside) / 2.0
        outside, inside = (middle, inside) if beaten(middle) else (outside, middle)
    return outside


def _low_path(x: Floats, bets: Floats, how: Betting, start: float, shrink: str) -> Floats:
    """Lower bounds after every score, on the grid."""
    grid = np.arange(_GRID + 1) / _GRID
    target = -np.log1p(-how.level) - start
    low = np.empty(len(x))
    capital, best = np.zeros(_GRID + 1), np.zeros(_GRID + 1)
    block = max(1, _CELLS // (_GRID + 1))
    for begin in range(0, len(x), block):
        part = slice(begin, begin + block)
        path = capital + np.cumsum(_gains(x[part], bets[part], grid, how), axis=0)
        capital = path[-1]
        if shrink == "running":
            path = np.maximum(best, np.maximum.accumulate(path, axis=0))
            best = path[-1]
        beaten = np.count_nonzero(path >= target, axis=1)
        low[part] = np.maximum(beaten - 1, 0) / _GRID
    return low


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
