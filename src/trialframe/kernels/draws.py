"""What happens when k of a case's n trials are drawn: pass@k, pass^k, G-Pass@k and their kin.

A credit says what a draw of k trials with j passes is worth. The metric is the
expected credit when the draw is made without replacement, that is, when j is
hypergeometric given n trials and c passes. Every metric here is that one idea.

Arrays in, arrays out: `n` and `c` are int64 with 0 <= c <= n < 2**40 (checked by
the callers); NaN marks what is undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, comb, factorial, log, pi, sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from trialframe.errors import ArgumentError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Credit: TypeAlias = Callable[[IntArray, IntArray], FloatArray]
"""Worth in [0, 1] of a draw, from j (passes drawn) and k (trials drawn), elementwise."""

Elementwise: TypeAlias = Callable[[IntArray, IntArray], FloatArray]

Short: TypeAlias = Literal["null", "clamp", "min", "rate", "raise"]
"""What to do with a case that has fewer than k trials."""

EXACT = 56  # largest n whose binomials are whole numbers below 2**53
RECURSION_LIMIT = 4096  # largest n for which a general credit is tabulated over every c
BLOCK = 1 << 15  # rows per block: the temporaries of a block stay in cache
CELLS = 1 << 20  # cells per block of the two-dimensional sums
TINY = 20.0  # 2 exp(-2 * TINY) = 8e-18 is the probability that a window may leave out


def any_passes(j: IntArray, k: IntArray) -> FloatArray:
    """Credit of pass@k: at least one of the drawn trials passes."""
    return ((j >= 1) & (k >= 1)).astype(np.float64)


def all_pass(j: IntArray, k: IntArray) -> FloatArray:
    """Credit of pass^k: every drawn trial passes."""
    return (j >= k).astype(np.float64)


def at_least(tau: float | Fraction) -> Credit:
    """Credit of G-Pass@k at tau: at least max(1, ceil(tau k)) of the drawn trials pass."""
    # The decimal that was written, not its binary neighbour: ceil(0.28 * 25) must be 7.
    share = Fraction(str(tau))

    def credit(j: IntArray, k: IntArray) -> FloatArray:
        sizes, where = np.unique(k, return_inverse=True)
        needed = np.array([max(1, ceil(share * int(size))) for size in sizes], dtype=np.int64)
        return (j >= needed[where].reshape(np.shape(k))).astype(np.float64)

    return credit


def common_size(n: IntArray, k: int) -> int:
    """The k of the policy "min": k, or the smallest n >= 1 when that is less."""
    return int(np.min(n, where=n >= 1, initial=k))


def drawn(
    n: IntArray,
    c: IntArray,
    k: int | IntArray,
    credit: Credit,
    *,
    short: Short = "null",
) -> FloatArray:
    """Expected credit of a draw of k trials, per case.

    Args:
        n: Scored trials per case.
        c: Passes per case.
        k: Trials drawn, >= 1: one number, or one per case.
        credit: What j passes among k drawn trials are worth.
        short: What a case with n < k gets. "null": NaN. "clamp": the value at
            k = n. "min": k is replaced by the smallest n >= 1 for every case.
            "rate": c / n, and 0 at n = 0. "raise": an error, also at n = 0.

    Returns:
        One value in [0, 1] per case; NaN at n = 0 unless `short` is "rate".

    Raises:
        ArgumentError: With `short="raise"`, when a case has fewer than k trials.
    """
    if short == "min":
        least = common_size(n, int(np.max(k, initial=1)))
        k = min(k, least) if isinstance(k, int) else np.minimum(k, least)
    enough = n >= k
    if short == "raise":
        _refuse_short(n, enough, k)
    out = np.full(n.shape, np.nan)
    for size, rows in _by_size(enough, k):
        out[rows] = _of_size(n[rows], c[rows], size, credit)
    if short == "clamp":
        rows = np.flatnonzero(~enough & (n > 0))
        out[rows] = credit(c[rows], n[rows])
    elif short == "rate":
        rows = np.flatnonzero(~enough)
        out[rows] = c[rows] / np.maximum(n[rows], 1)
    return out


def pass_at_variance(n: IntArray, c: IntArray, k: int) -> FloatArray:
    """Unbiased variance of a case's pass@k over repetitions of its n trials; NaN for n < 2k."""
    return _variance(n, n - c, k)


def pass_hat_variance(n: IntArray, c: IntArray, k: int) -> FloatArray:
    """Unbiased variance of a case's pass^k over repetitions of its n trials; NaN for n < 2k."""
    return _variance(n, c, k)


def flake_index(n: IntArray, c: IntArray) -> FloatArray:
    """Chance that two different trials of a case disagree, 2c(n-c) / (n(n-1)); NaN for n < 2."""
    out = np.full(n.shape, np.nan)
    np.divide(2.0 * c * (n - c), n * (n - 1.0), out=out, where=n > 1)
    return out


def flaky_probability(rate: FloatArray, n: IntArray) -> FloatArray:
    """Chance that n trials of a case with this pass rate both pass and fail.

    It grows with n, so shares of flaky cases compare at equal n only.
    """
    shown: FloatArray = 1.0 - rate**n - (1.0 - rate) ** n
    return shown


def majority(n: IntArray, c: IntArray) -> BoolArray:
    """Whether more than half of the trials pass; a tie is not a pass."""
    return 2 * c > n


def fails_most(n: IntArray, c: IntArray) -> BoolArray:
    """Whether more than half of the trials fail; a tie is not that either."""
    return 2 * (n - c) > n


def _refuse_short(n: IntArray, enough: BoolArray, k: int | IntArray) -> None:
    lacking = n[~enough]
    if lacking.size == 0:
        return
    least = int(lacking.min())
    use = f"a k of at most {least}, or " if least else ""
    raise ArgumentError(
        f"k == {np.max(k)}, but {lacking.size} of {n.size} cases have fewer trials than that "
        f"(smallest n == {least}). Use {use}short='null' to leave those cases out, "
        "or one of 'clamp', 'min', 'rate'."
    )


def _by_size(enough: BoolArray, k: int | IntArray) -> list[tuple[int, IntArray | slice]]:
    """Rows with enough trials, split by the k that applies to them."""
    if isinstance(k, int):
        rows = slice(None) if enough.all() else np.flatnonzero(enough)
        return [(k, rows)] if enough.any() else []
    rows = np.flatnonzero(enough)
    rows = rows[np.argsort(k[rows], kind="stable")]
    sizes, starts = np.unique(k[rows], return_index=True)
    return list(zip(sizes.tolist(), np.split(rows, starts[1:]), strict=False))


def _of_size(n: IntArray, c: IntArray, k: int, credit: Credit) -> FloatArray:
    """Expected credit where every case has n >= k."""
    known = _recognised(credit, k)
    if known is any_passes and k == 1:
        return c / n
    if known is any_passes:
        return _on_lattice(n, c, lambda n, c: _share_hit(n, n - c, k))
    if known is all_pass:
        return _on_lattice(n, c, lambda n, c: _share(n, c, k))
    # Chosen by n alone, so that a case has the same value in every batch.
    small = n <= RECURSION_LIMIT
    if small.all():
        return _by_recursion(n, c, k, credit)
    out = np.empty(n.shape)
    if small.any():
        out[small] = _by_recursion(n[small], c[small], k, credit)
    out[~small] = _by_window(n[~small], c[~small], k, credit)
    return out


def _recognised(credit: Credit, k: int) -> Credit:
    """`any_passes` or `all_pass` where the credit comes to the same at this k: both are faster."""
    if k > RECURSION_LIMIT:
        return credit
    j = np.arange(k + 1)
    drawn_trials = np.full(k + 1, k)
    worth = credit(j, drawn_trials)
    return next(
        (one for one in (any_passes, all_pass) if np.array_equal(worth, one(j, drawn_trials))),
        credit,
    )


def _on_lattice(n: IntArray, c: IntArray, f: Elementwise) -> FloatArray:
    """f(n, c) per row; over c = 0..n once per distinct n, then gathered, where that is less."""
    if n.size <= int(n.max(initial=0)):
        return _blocked(n, c, f)
    seen = np.zeros(int(n.max()) + 1, dtype=np.bool_)
    seen[n] = True
    sizes = np.flatnonzero(seen)
    ends = np.cumsum(sizes + 1)
    if ends[-1] > n.size:
        return _blocked(n, c, f)
    start = np.zeros(seen.size, dtype=np.int64)
    start[sizes] = ends - sizes - 1
    cells = np.repeat(sizes, sizes + 1)
    table = _blocked(cells, np.arange(cells.size) - start[cells], f)
    return np.take(table, start[n] + c)


def _blocked(n: IntArray, c: IntArray, f: Elementwise) -> FloatArray:
    out = np.empty(n.shape)
    for first in range(0, n.size, BLOCK):
        block = slice(first, first + BLOCK)
        out[block] = f(n[block], c[block])
    return out


def _share(n: IntArray, f: IntArray, k: int) -> FloatArray:
    """C(f, k) / C(n, k) for n >= k: the chance that k drawn trials are all among f."""
    small = n <= EXACT
    out = np.empty(n.shape)
    if not small.all():
        out[~small] = np.exp(_log_share(n[~small], f[~small], k))
    if k <= EXACT:
        out[small] = _CHOOSE[f[small], k] / _CHOOSE[n[small], k]
    return out


def _share_hit(n: IntArray, f: IntArray, k: int) -> FloatArray:
    """1 - C(f, k) / C(n, k), without cancellation where it is small."""
    small = n <= EXACT
    out = np.empty(n.shape)
    if not small.all():
        out[~small] = -np.expm1(_log_share(n[~small], f[~small], k))
    if k <= EXACT:
        whole = _CHOOSE[n[small], k]
        out[small] = (whole - _CHOOSE[f[small], k]) / whole
    return out


def _log_share(n: IntArray, f: IntArray, k: int) -> FloatArray:
    """Natural logarithm of `_share`, for any n.

    With a = n - f and r = f - k it is log of (n-a)! (n-k)! / (n! r!). The leading terms of
    Stirling's series are combined into log1p of well-conditioned ratios and only the
    remainders (`_stirling_rest`) are subtracted, so the share is accurate to about
    1e-15 at any n, in constant time and memory.
    """
    # r = 0 has no logarithm: use the share at f + 1, which is (f + 1) times as large.
    edge = (f == k) & (n > f)
    a = np.where(edge, n - f - 1, n - f)
    r = np.maximum(n - a - k, 1)
    b = np.maximum(n - k, 1)
    main = (n + 0.5) * np.log1p((a / n) * (k / r))
    main += a * np.log1p(-k / np.maximum(n - a, k + 0.5))
    main += k * np.log1p(-a / np.maximum(b, a + 0.5))
    # Paired so that a = 0 gives exactly 0.
    main += (_stirling_rest(n - a) - _stirling_rest(n)) + (_stirling_rest(b) - _stirling_rest(r))
    main -= np.where(edge, np.log(f + 1.0), 0.0)
    return np.where(f < k, -np.inf, np.minimum(main, 0.0))


def _stirling_rest(x: IntArray) -> FloatArray:
    """log(x!) minus its leading terms (x + 1/2) log(x) - x + log(2 pi) / 2."""
    y = 1.0 / np.maximum(x, 1)
    z = y * y
    series = y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188))))
    return np.where(x < _REST.size, _REST[np.minimum(x, _REST.size - 1)], series)


_CHOOSE = np.array([[comb(n, k) for k in range(EXACT + 1)] for n in range(EXACT + 1)], dtype=float)
_REST = np.array(
    [0.0] + [log(factorial(x)) - (x + 0.5) * log(x) + x - 0.5 * log(2 * pi) for x in range(1, 16)]
)


def _by_recursion(n: IntArray, c: IntArray, k: int, credit: Credit) -> FloatArray:
    """Expected credit by V(n, c) = c/n V(n-1, c-1) + (n-c)/n V(n-1, c), V(k, .) = worth.

    Among n trials, the one that is left out of n - 1 is a pass with chance c/n. All
    terms are positive, so no accuracy is lost.
    """
    order = np.argsort(n.astype(np.uint16), kind="stable")  # 16 bits: sorted in linear time
    sizes, starts = np.unique(n[order], return_index=True)
    groups = dict(zip(sizes.tolist(), np.split(order, starts[1:]), strict=True))
    out = np.empty(n.shape)
    value = credit(np.arange(k + 1), np.full(k + 1, k))
    for size in range(k, int(sizes[-1]) + 1):
        if size > k:
            share = np.arange(size + 1) / size
            longer = np.zeros(size + 1)
            longer[1:] = share[1:] * value
            longer[:-1] += share[:0:-1] * value
            value = longer
        rows = groups.get(size)
        if rows is not None:
            out[rows] = value[c[rows]]
    return np.clip(out, 0.0, 1.0, out=out)


def _by_window(n: IntArray, c: IntArray, k: int, credit: Credit) -> FloatArray:
    """Expected credit as a sum over the j that are not vastly improbable, per distinct (n, c)."""
    sizes, which = np.unique(n, return_inverse=True)
    pairs, back = np.unique(which * (c.max(initial=0) + 1) + c, return_inverse=True)
    which, passes = np.divmod(pairs, c.max(initial=0) + 1)
    reach = min(k, ceil(sqrt(TINY * k)) + 1)  # Hoeffding: P(|j - mean| >= t) <= 2 exp(-2 t^2 / k)
    step = max(1, CELLS // (2 * reach + 1))
    out = np.empty(pairs.shape)
    for first in range(0, pairs.size, step):
        block = slice(first, first + step)
        out[block] = _window(sizes[which[block]], passes[block], k, credit, reach)
    return out[back]


def _window(n: IntArray, c: IntArray, k: int, credit: Credit, reach: int) -> FloatArray:
    n, c = n[:, None], c[:, None]
    mode = ((k + 1.0) * (c + 1.0) / (n + 2.0)).astype(np.int64)
    mode = np.clip(mode, np.maximum(0, k + c - n), np.minimum(k, c))
    steps = np.arange(reach)
    # Probabilities relative to the mode's, by the ratios of neighbours on both sides.
    j = mode + steps
    up = np.maximum(c - j, 0.0) * np.maximum(k - j, 0.0) / ((j + 1.0) * (n - c - k + j + 1))
    j = mode - steps
    down = np.maximum(j, 0.0) * np.maximum(n - c - k + j, 0.0) / ((c - j + 1.0) * (k - j + 1))
    chance = np.concatenate(
        [np.cumprod(down, axis=1)[:, ::-1], np.ones(mode.shape), np.cumprod(up, axis=1)], axis=1
    )
    j = np.clip(mode + np.arange(-reach, reach + 1), 0, k)
    worth = credit(j.ravel(), np.full(j.size, k)).reshape(j.shape)
    value: FloatArray = (chance * worth).sum(axis=1) / chance.sum(axis=1)
    return np.clip(value, 0.0, 1.0)


def _variance(n: IntArray, f: IntArray, k: int) -> FloatArray:
    """[C(f,k) / C(n,k)]^2 - C(f,2k) / C(n,2k)."""
    out = np.full(n.shape, np.nan)
    rows = np.flatnonzero(n >= 2 * k)

    def difference(n: IntArray, f: IntArray) -> FloatArray:
        return _share(n, f, k) ** 2 - _share(n, f, 2 * k)

    out[rows] = _on_lattice(n[rows], f[rows], difference)
    return out
