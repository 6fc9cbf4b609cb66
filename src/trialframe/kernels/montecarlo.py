"""P-values from drawn outcomes, and how draws are split into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_CELLS = 2**22  # random numbers held at a time
_SUMMED = 10_000  # outcomes up to here are added one by one


def monte_carlo_p(extreme: int, draws: int) -> float:
    """P-value of a Monte Carlo test, never 0: (extreme + 1)/(draws + 1).

    Args:
        extreme: Draws at least as extreme as the data.
        draws: All draws.

    Returns:
        The p-value; a test at p < alpha keeps its level.

    Example:
        >>> monte_carlo_p(0, 9999)
        0.0001
    """
    return (extreme + 1) / (draws + 1)


def phipson_smyth(extreme: int, draws: int, total: int) -> float:
    """P-value of a Monte Carlo test that draws from a known number of distinct outcomes.

    A little below `monte_carlo_p`, which is the limit of many outcomes.

    Args:
        extreme: Draws at least as extreme as the data.
        draws: All draws, with replacement.
        total: Equally likely outcomes, for example 2^m sign assignments.

    Returns:
        The exact p-value.

    Notes:
        Mean over i = 1..total of P(X <= extreme), X ~ Bin(draws, i/total); beyond 10,000
        outcomes the sum is replaced by its integral with a midpoint correction.

    References:
        Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9:39.

    Example:
        >>> round(phipson_smyth(3, 99, 126), 6)
        0.036031
    """
    from scipy.stats import binom

    if total <= _SUMMED:
        return float(np.mean(binom.cdf(extreme, draws, np.arange(1, total + 1) / total)))
    nodes, weights = np.polynomial.legendre.leggauss(128)
    half = 0.25 / total
    missing = half * float(weights @ binom.cdf(extreme, draws, half * (nodes + 1.0)))
    return monte_carlo_p(extreme, draws) - missing


def batches(draws: int, width: int) -> Iterator[int]:
    """Sizes of batches of bounded memory.

    Args:
        draws: All draws.
        width: Random numbers one draw needs, >= 1.

    Yields:
        Draws of one batch.

    Example:
        >>> list(batches(3, 2**21))
        [2, 1]
    """
    most = max(1, _CELLS // width)
    for start in range(0, draws, most):
        yield min(most, draws - start)
