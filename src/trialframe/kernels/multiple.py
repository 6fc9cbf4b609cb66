"""Many tests at once: which of them to reject.

NaN marks a case that was not tested; it counts in no family and stays NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tarone:
    """Rejections by Tarone's rule.

    Attributes:
        factor: The correction K: a test is rejected at p <= alpha/K.
        reject: Tests that are rejected, shape (m,).
        testable: Tests whose least attainable p-value is at most alpha/K, shape (m,).
    """

    factor: int
    reject: Bools
    testable: Bools


def holm(pvalues: Floats) -> Floats:
    """Holm's adjusted p-values: no false rejection at all with probability 1 - alpha.

    Holds under any dependence. Reject where the adjusted p-value is <= alpha.

    Args:
        pvalues: Shape (m,), in [0, 1]; NaN is not tested.

    Returns:
        Adjusted p-values, NaN where they were.

    Notes:
        adj_(i) = max over j <= i of min(1, (m - j + 1) p_(j)), p-values ascending.

    References:
        Holm (1979), Scand. J. Stat. 6:65.

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
        [0.03, 0.06, 0.06]
    """
    adjusted = np.array(pvalues, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(adjusted))
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    grown = adjusted[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(grown), 1.0)
    return adjusted


def benjamini_hochberg(pvalues: Floats) -> Floats:
    """Benjamini-Hochberg adjusted p-values: a share of at most alpha of rejections is false.

    That share is an expectation, for independent or positively dependent tests. Reject where the
    adjusted p-value is <= alpha.

    Args:
        pvalues: Shape (m,), in [0, 1]; NaN is not tested.

    Returns:
        Adjusted p-values, NaN where they were.

    Notes:
        adj_(i) = min over j >= i of min(1, m p_(j)/j), p-values ascending.

    References:
        Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57:289.

    Example:
        >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
        [0.03, 0.04, 0.04]
    """
    from scipy.stats import false_discovery_control

    adjusted = np.array(pvalues, dtype=np.float64)
    tested = ~np.isnan(adjusted)
    if tested.any():
        adjusted[tested] = false_discovery_control(adjusted[tested])
    return adjusted


def tarone(pvalues: Floats, least: Floats, alpha: float = 0.05) -> Tarone:
    """Tarone's rule for discrete tests: tests that can never be rejected cost nothing.

    Holds under any dependence, like Bonferroni's rule. With few trials a case most tests cannot
    reach significance; say so of them, never that there was no change.

    Args:
        pvalues: Shape (m,), in [0, 1]; NaN is not tested.
        least: Least p-value each test can attain, shape (m,).
        alpha: Level of the family, in (0, 1).

    Returns:
        Rejections and the correction.

    Notes:
        K is the smallest integer with #{i: least_i <= alpha/K} <= K.

    References:
        Tarone (1990), Biometrics 46:515.

    Example:
        >>> got = tarone(np.array([0.02, 0.3, 1.0]), np.array([0.001, 0.1, 0.1]))
        >>> got.factor, got.reject.tolist()
        (1, [True, False, False])
    """
    tested = ~np.isnan(pvalues)
    ascending = np.sort(least[tested])
    factors = np.arange(1, len(ascending) + 2)
    able = np.searchsorted(ascending, alpha / factors, side="right")
    factor = int(factors[np.argmax(able <= factors)])
    testable = tested & (least <= alpha / factor)
    return Tarone(factor=factor, reject=testable & (pvalues <= alpha / factor), testable=testable)
