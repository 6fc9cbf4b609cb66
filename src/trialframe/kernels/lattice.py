"""Differences per case as integers: sums that are equal compare as equal.

Rates are fractions, so their differences are whole multiples of one unit, a_i * unit. A test that
counts sums "at least as large" must compare these integers; rounding of thirds turns ties around.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_LARGEST = 2**62  # sums beyond it are kept as Python integers
_FINEST = 2**20  # scores on a lattice finer than 1/2^20 are taken as real numbers
TIE = 1e-9  # of the sum of |d|: sums of real scores that differ by less are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """Differences d = values * unit.

    Attributes:
        values: Integers of dtype int64, or of dtype object (Python integers) where those would
            overflow; float64 for real scores that lie on no lattice. Shape (M,).
        unit: What one step is worth; 1 for real scores.
    """

    values: NDArray[Any]
    unit: Fraction

    @property
    def integral(self) -> bool:
        """Whether sums compare exactly."""
        return self.values.dtype.kind != "f"


def rate_differences(
    n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints, margin: Fraction = Fraction(0)
) -> Lattice:
    """Differences of pass rates c_b/n_b - c_a/n_a + margin, exactly.

    Args:
        n_a: Trials of A in every case, shape (M,), >= 1.
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B, >= 1.
        c_b: Passes of B, 0 <= c_b <= n_b.
        margin: Added to every difference; `Fraction(str(0.05))` for a margin typed as 0.05.

    Returns:
        The differences in units of their greatest common divisor.

    Example:
        >>> got = rate_differences(*np.array([[3, 3], [1, 2], [3, 2], [2, 1]]))
        >>> got.values.tolist(), got.unit
        ([2, -1], Fraction(1, 6))
    """
    whole = lcm(margin.denominator, *np.unique(n_a).tolist(), *np.unique(n_b).tolist())
    largest = whole * (1 + abs(margin)) * max(len(n_a), 1)
    dtype: Any = np.int64 if largest < _LARGEST else object
    before, after = whole // n_a.astype(dtype), whole // n_b.astype(dtype)
    values = c_b.astype(dtype) * after - c_a.astype(dtype) * before
    return _reduced(values + int(margin * whole), Fraction(1, whole))


def score_differences(diff: Floats, margin: Fraction = Fraction(0)) -> Lattice:
    """Differences of scores plus a margin: on a lattice when they lie on one, else as they are.

    Args:
        diff: Differences, shape (M,), finite.
        margin: Added to every difference.

    Returns:
        Integers when all differences are multiples of one unit that is not finer than 2^-20, to
        within the tolerance for ties.

    Example:
        >>> score_differences(np.array([1 / 3, -2 / 3, 0.5])).values.tolist()
        [2, -4, 3]
    """
    tolerance = TIE / 4.0 * float(np.mean(np.abs(diff))) if len(diff) else 0.0
    whole = margin.denominator
    while whole <= _FINEST and whole * float(np.max(np.abs(diff), initial=0.0)) < _FINEST**2:
        off = np.abs(np.round(diff * whole) / whole - diff)
        if not np.any(off > tolerance):
            steps = np.round(diff * whole).astype(np.int64) + int(margin * whole)
            return _reduced(steps, Fraction(1, whole))
        # the value that fits worst names a denominator that is missing
        missing = Fraction(float(diff[np.argmax(off)])).limit_denominator(_FINEST).denominator
        whole = lcm(whole, missing) if whole % missing else _FINEST + 1
    return Lattice(values=diff + float(margin), unit=Fraction(1))


def cluster_sums(lattice: Lattice, cluster: Ints) -> Lattice:
    """Sums of the differences within every cluster.

    Args:
        lattice: Differences per case, shape (M,).
        cluster: Cluster codes 0..C-1, shape (M,).

    Returns:
        Differences of shape (C,) in the same unit.

    Example:
        >>> cases = rate_differences(*np.array([[1, 1, 1], [0, 0, 1], [1, 1, 1], [1, 1, 0]]))
        >>> cluster_sums(cases, np.array([0, 0, 1])).values.tolist()
        [2, -1]
    """
    sums = np.zeros(int(cluster.max(initial=-1)) + 1, dtype=lattice.values.dtype)
    np.add.at(sums, cluster, lattice.values)
    return replace(lattice, values=sums)


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Ascending distinct values and how often each occurs; Python integers also work."""
    found, times = np.unique(values, return_counts=True)
    return found, times.astype(np.int64)


def _reduced(values: NDArray[Any], unit: Fraction) -> Lattice:
    """Divide the integers by their greatest common divisor."""
    common = gcd(*np.unique(values).tolist()) or 1
    return Lattice(values=values // common, unit=unit * common)
