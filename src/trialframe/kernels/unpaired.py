"""Tests of one case: did B pass less often than A, given n trials of each?

All functions take arrays with one entry a case and work once per distinct pair of trial counts
and distinct outcome. A case without trials on a side gives NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

TESTS = ("boschloo", "barnard", "fisher", "fisher_mid", "z")

_TIE = 1e-9  # relative: Fisher p-values closer than this are the same
_LOOSE_TIE = 1e-7  # the same for large tables, whose logarithms are sums of many
_GRID = 1024  # nuisance values tried first, on the angular scale
_PEAKS = 3  # local maxima that are refined
_ROUNDS = 4  # each refines by _ZOOM
_ZOOM = 8  # intervals on each side of a refined maximum
_CELLS = 2**21  # probabilities held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ZTest:
    """Pooled two-proportion z test.

    Attributes:
        z: Positive where B passed more often; 0 where both sides all passed or all failed.
        pvalue: Two-sided normal p-values.
    """

    z: Floats
    pvalue: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Fisher:
    """Fisher's exact test.

    Attributes:
        less: One-sided p-values, small where B passed less often.
        greater: One-sided p-values, small where B passed more often.
        two_sided: Probability of all outcomes that are no more likely than the observed one.
        mid_less: `less` with half the probability of the observed outcome.
        mid_greater: `greater` with half the probability of the observed outcome.
    """

    less: Floats
    greater: Floats
    two_sided: Floats
    mid_less: Floats
    mid_greater: Floats


def z_test(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints) -> ZTest:
    """Pooled z test of two proportions.

    For comparison with gates that use it. Its true size is up to 0.038 at a nominal 0.025 with
    ten or fewer trials a side; `boschloo` keeps its level and finds more.

    Args:
        n_a: Trials of A, shape (M,).
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B.
        c_b: Passes of B, 0 <= c_b <= n_b.

    Returns:
        Statistics and p-values.

    Notes:
        z = (c_b/n_b - c_a/n_a)/sqrt(q (1 - q)(1/n_a + 1/n_b)), q = (c_a + c_b)/(n_a + n_b).

    Example:
        >>> got = z_test(*np.array([[5], [5], [5], [2]]))
        >>> got.z.round(4).tolist(), got.pvalue.round(4).tolist()
        ([-2.0702], [0.0384])
    """
    from scipy.special import ndtr

    known = (n_a > 0) & (n_b > 0)
    size_a, size_b = np.where(known, n_a, np.nan), np.where(known, n_b, np.nan)
    pooled = (c_a + c_b) / (size_a + size_b)
    se = np.sqrt(pooled * (1.0 - pooled) * (1.0 / size_a + 1.0 / size_b))
    z = np.where(known, 0.0, np.nan)
    np.divide(c_b / size_b - c_a / size_a, se, out=z, where=se > 0)
    return ZTest(z=z, pvalue=2.0 * ndtr(-np.abs(z)))


def fisher(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints) -> Fisher:
    """Fisher's exact test, with mid-p.

    Never rejects more often than its level, and usually much less; `boschloo` rejects wherever
    this does and more. Mid-p comes closest to the level but may exceed it a little.

    Args:
        n_a: Trials of A, shape (M,).
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B.
        c_b: Passes of B, 0 <= c_b <= n_b.

    Returns:
        P-values of every kind.

    Notes:
        Given all passes, those of B are hypergeometric.

    References:
        Fisher (1935), J. R. Stat. Soc. 98:39; Lancaster (1961), J. Am. Stat. Assoc. 56:223.

    Example:
        >>> got = fisher(*np.array([[3], [3], [3], [0]]))
        >>> got.less.round(4).tolist(), got.mid_less.round(4).tolist()
        ([0.05], [0.025])
    """
    less, here, rare = (np.full(len(n_a), np.nan) for _ in range(3))
    for rows, (size_a, size_b) in _pairs(n_a, n_b):
        passes, worse = (c_a + c_b)[rows], c_b[rows]
        if (size_a + size_b + 1) * (size_b + 1) > _CELLS:
            less[rows], here[rows], rare[rows] = _fisher_of_few(size_a, size_b, passes, worse)
            continue
        mass = _hypergeometric(size_a, size_b)
        less[rows] = _cumulated(mass)[passes, worse]
        here[rows] = mass[passes, worse]
        found, inverse = np.unique(passes * (size_b + 1) + worse, return_inverse=True)
        table = mass[found // (size_b + 1)]
        seen = table[np.arange(len(found)), found % (size_b + 1)][:, None]
        rare[rows] = np.where(table <= seen * (1.0 + _TIE), table, 0.0).sum(axis=1)[inverse]
    return Fisher(
        less=less,
        greater=np.minimum(1.0 - less + here, 1.0),
        two_sided=np.minimum(rare, 1.0),
        mid_less=less - here / 2.0,
        mid_greater=1.0 - less + here / 2.0,
    )


def boschloo(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints, alternative: str = "less") -> Floats:
    """Boschloo's exact unconditional test.

    Keeps its level for every common pass rate and is uniformly more powerful than Fisher's test.

    Args:
        n_a: Trials of A, shape (M,).
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B.
        c_b: Passes of B, 0 <= c_b <= n_b.
        alternative: "less" (B passes less often), "greater", or "two-sided": twice the smaller.

    Returns:
        P-values.

    Raises:
        ArgumentError: If `alternative` is another word.

    Notes:
        The probability that Fisher's one-sided p-value is at most the observed one, maximised
        over the common pass rate q. Given t passes in all, Fisher's p-value is at most p with
        probability F_t(p), the largest attainable value <= p; so it is the maximum over q of
        sum_t Bin(t; n_a + n_b, q) F_t(p).

    References:
        Boschloo (1970), Stat. Neerl. 24:1.

    Example:
        >>> boschloo(*np.array([[3], [3], [3], [0]])).round(6).tolist()
        [0.015625]
    """
    if alternative == "less":
        return _boschloo_less(n_a, c_a, n_b, c_b)
    if alternative == "greater":
        return _boschloo_less(n_b, c_b, n_a, c_a)
    if alternative == "two-sided":
        smaller = np.minimum(_boschloo_less(n_a, c_a, n_b, c_b), _boschloo_less(n_b, c_b, n_a, c_a))
        return np.minimum(2.0 * smaller, 1.0)
    hint = did_you_mean(alternative, ("less", "greater", "two-sided"))
    raise ArgumentError(f"no alternative {alternative!r}. {hint}")


def barnard(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints, alternative: str = "less") -> Floats:
    """Barnard's exact unconditional test with the pooled z as its statistic.

    Args:
        n_a: Trials of A, shape (M,).
        c_a: Passes of A, 0 <= c_a <= n_a.
        n_b: Trials of B.
        c_b: Passes of B, 0 <= c_b <= n_b.
        alternative: "less" (B passes less often), "greater", or "two-sided": |z|.

    Returns:
        P-values.

    Raises:
        ArgumentError: If `alternative` is another word.

    Notes:
        The probability of a z at least as extreme, maximised over the common pass rate. Equal z of
        different tables compare as equal; z is 0 where all trials pass or none does.

    References:
        Barnard (1947), Biometrika 34:123; Suissa and Shuster (1985), J. R. Stat. Soc. A 148:317.

    Example:
        >>> barnard(*np.array([[10], [10], [10], [6]]), alternative="two-sided").round(6).tolist()
        [0.042191]
    """
    if alternative not in {"less", "greater", "two-sided"}:
        hint = did_you_mean(alternative, ("less", "greater", "two-sided"))
        raise ArgumentError(f"no alternative {alternative!r}. {hint}")
    out = np.full(len(n_a), np.nan)
    for rows, (size_a, size_b) in _pairs(n_a, n_b):
        mass, z = _hypergeometric(size_a, size_b), _pooled_z(size_a, size_b)
        z = {"less": -z, "greater": z, "two-sided": np.abs(z)}[alternative]
        observed = z[(c_a + c_b)[rows], c_b[rows]]
        levels, inverse = np.unique(observed, return_inverse=True)
        shares = np.array([(mass * (z >= x - _TIE * (1.0 + abs(x)))).sum(axis=1) for x in levels])
        out[rows] = _maximised(shares)[inverse]
    return out


def _pooled_z(size_a: int, size_b: int) -> Floats:
    """Pooled z of c_b passes of B (column) among t passes in all (row)."""
    total = size_a + size_b
    passes, worse = np.arange(total + 1.0)[:, None], np.arange(size_b + 1.0)
    gap = worse * total - passes * size_b
    spread = size_a * size_b * passes * (total - passes) / total
    scale = np.sqrt(np.where(spread > 0, spread, 1.0))
    return np.asarray(np.where(spread > 0, gap / scale, 0.0) / np.sqrt(total), dtype=np.float64)


def least_p(n_a: Ints, n_b: Ints, test: str = "boschloo") -> Floats:
    """Least one-sided p-value that a test can attain at these trial counts.

    A case whose least p-value is above the level is untestable, whatever its outcome.

    Args:
        n_a: Trials of A, shape (M,).
        n_b: Trials of B.
        test: "boschloo", "barnard", "fisher", "fisher_mid" or "z".

    Returns:
        P-values of A passing always and B never, the most extreme outcome. For Fisher's two-sided
        test double them where n_a = n_b.

    Raises:
        ArgumentError: If there is no such test.

    Notes:
        With N = n_a + n_b: Boschloo and Barnard n_a^n_a n_b^n_b/N^N; Fisher 1/C(N, n_a), mid-p
        half of it; z at -sqrt(N).

    Example:
        >>> (1 / least_p(np.array([3, 5]), np.array([3, 5]))).round().tolist()
        [64.0, 1024.0]
    """
    from scipy.special import gammaln, ndtr, xlogy

    if test not in TESTS:
        raise ArgumentError(f"no test {test!r}. {did_you_mean(test, TESTS)}")
    known = (n_a > 0) & (n_b > 0)
    size_a, size_b = np.where(known, n_a, np.nan), np.where(known, n_b, np.nan)
    total = size_a + size_b
    if test == "z":
        return np.asarray(ndtr(-np.sqrt(total)), dtype=np.float64)
    if test in {"boschloo", "barnard"}:
        logs = xlogy(size_a, size_a / total) + xlogy(size_b, size_b / total)
        return np.asarray(np.exp(logs), dtype=np.float64)
    logs = gammaln(size_a + 1.0) + gammaln(size_b + 1.0) - gammaln(total + 1.0)
    return np.asarray(np.exp(logs) * (0.5 if test == "fisher_mid" else 1.0), dtype=np.float64)


def _boschloo_less(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints) -> Floats:
    out = np.full(len(n_a), np.nan)
    for rows, (size_a, size_b) in _pairs(n_a, n_b):
        table = _cumulated(_hypergeometric(size_a, size_b))
        levels, inverse = np.unique(table[(c_a + c_b)[rows], c_b[rows]], return_inverse=True)
        shares = np.empty((len(levels), len(table)))
        for passes, attainable in enumerate(table):
            below = np.searchsorted(attainable, levels * (1.0 + _TIE), side="right")
            shares[:, passes] = np.concatenate(([0.0], attainable))[below]
        out[rows] = _maximised(shares)[inverse]
    return out


def _maximised(shares: Floats) -> Floats:
    """Maximum over q of sum_t Bin(t; N, q) shares[:, t]: a grid, then its peaks refined."""
    size = shares.shape[1] - 1
    angles = np.linspace(0.0, 1.0, max(_GRID, 8 * size) + 1)
    grid = _binomial(angles, size)
    found = np.empty(len(shares))
    step = max(1, _CELLS // (_PEAKS * (2 * _ZOOM + 1) * (size + 1)))
    for start in range(0, len(shares), step):
        part = shares[start : start + step]
        values = part @ grid.T
        edged = np.pad(values, ((0, 0), (1, 1)), constant_values=-1.0)
        peak = (values >= edged[:, :-2]) & (values >= edged[:, 2:])
        best = np.argpartition(np.where(peak, values, -1.0), -_PEAKS, axis=1)[:, -_PEAKS:]
        refined = _refined(part, angles[best], angles[1])
        found[start : start + step] = np.maximum(values.max(axis=1), refined)
    return np.minimum(found, 1.0)


def _refined(shares: Floats, centre: Floats, width: float) -> Floats:
    """Zoom in on several angles per row; the largest value found."""
    offsets = np.linspace(-1.0, 1.0, 2 * _ZOOM + 1)
    for _ in range(_ROUNDS):
        angles = np.clip(centre[..., None] + width * offsets, 0.0, 1.0)
        values = np.einsum("rpat,rt->rpa", _binomial(angles, shares.shape[1] - 1), shares)
        best = np.argmax(values, axis=2)[..., None]
        centre, width = np.take_along_axis(angles, best, axis=2)[..., 0], width / _ZOOM
    return np.asarray(values.max(axis=(1, 2)), dtype=np.float64)


def _binomial(angles: Floats, size: int) -> Floats:
    """Bin(t; size, q) for t = 0..size along a new last axis, q = sin^2(angle pi/2)."""
    from scipy.special import gammaln, xlogy

    count = np.arange(size + 1.0)
    logs = gammaln(size + 1.0) - gammaln(count + 1.0) - gammaln(size - count + 1.0)
    turned = angles[..., None] * (np.pi / 2.0)
    odds = xlogy(count, np.sin(turned) ** 2) + xlogy(size - count, np.cos(turned) ** 2)
    return np.asarray(np.exp(logs + odds), dtype=np.float64)


def _hypergeometric(size_a: int, size_b: int) -> Floats:
    """P(c_b | t passes in all) in row t, column c_b."""
    from scipy.special import gammaln

    passes, worse = np.arange(size_a + size_b + 1.0)[:, None], np.arange(size_b + 1.0)
    taken = passes - worse
    inside = (taken >= 0) & (taken <= size_a)
    taken = np.where(inside, taken, 0.0)
    logs = gammaln(size_b + 1.0) - gammaln(worse + 1.0) - gammaln(size_b - worse + 1.0)
    logs = logs + gammaln(size_a + 1.0) - gammaln(taken + 1.0) - gammaln(size_a - taken + 1.0)
    logs = np.where(inside, logs, -np.inf)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)


def _fisher_of_few(size_a: int, size_b: int, passes: Ints, worse: Ints) -> Floats:
    """P(c_b <= worse), P(worse) and P(no more likely), shape (3, M), for large tables.

    One distribution per distinct outcome, in memory linear in the trials.
    """
    outcomes, inverse = np.unique(np.stack((passes, worse)), axis=1, return_inverse=True)
    found = [_one_table(size_a, size_b, int(total), int(own)) for total, own in outcomes.T]
    return np.array(found).T[:, inverse.reshape(-1)]


def _one_table(size_a: int, size_b: int, passes: int, worse: int) -> tuple[float, float, float]:
    low, high = max(0, passes - size_a), min(passes, size_b)
    count = np.arange(low, high, dtype=np.float64)
    # ratios of neighbours: logarithms of factorials would lose nine digits at a million trials
    above = np.log(passes - count) + np.log(size_b - count)
    below = np.log(count + 1.0) + np.log(size_a - passes + count + 1.0)
    logs = np.concatenate(([0.0], np.cumsum(above - below)))
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    here = mass[worse - low]
    rare = mass[mass <= here * (1.0 + _LOOSE_TIE)].sum()
    return float(mass[: worse - low + 1].sum()), float(here), float(rare)


def _cumulated(mass: Floats) -> Floats:
    return np.minimum(np.cumsum(mass, axis=1), 1.0)


def _pairs(n_a: Ints, n_b: Ints) -> Iterator[tuple[Ints, tuple[int, int]]]:
    """Rows of every distinct pair of trial counts, both >= 1."""
    rows = np.flatnonzero((n_a > 0) & (n_b > 0))
    rows = rows[np.lexsort((n_b[rows], n_a[rows]))]
    changes = (np.diff(n_a[rows]) != 0) | (np.diff(n_b[rows]) != 0)
    for part in np.split(rows, np.flatnonzero(changes) + 1):
        if len(part):
            yield part, (int(n_a[part[0]]), int(n_b[part[0]]))
