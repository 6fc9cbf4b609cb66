"""The ledger of a ship-or-hold gate: wins against losses, where a loss costs more than a win.

Wins are the cases that only the candidate passes, losses those that only the baseline passes,
solved those that the baseline passes. What is decided is decided on integers and fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trialframe.kernels.lattice import Lattice, cluster_sums
from trialframe.kernels.signflip import SignFlip, sign_flip

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_LARGEST = 2**62  # beyond it sums are kept as Python integers
_CLOSE = 1e-9  # relative: p-values this close to alpha are compared as fractions
_MOST_EXACT = 5_000  # changed cases up to which they are; beyond, p as close as that equals alpha
_MOST_BITS = 40  # clusters up to which a p-value gives back the count of sign patterns
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a gate asks for.

    Attributes:
        break_cost: Wins that one loss costs, lambda >= 1.
        alpha: Level of both tests, in (0, 1].
        max_breakage: Largest acceptable share of losses among solved cases, tau in [0, 1].
    """

    break_cost: Fraction
    alpha: Fraction
    max_breakage: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The numbers of a gate; arrays of one shape.

    Attributes:
        net_gain: wins - lambda losses.
        breakage: losses / solved; 0 where nothing is solved.
        pvalue: P(X >= wins), X ~ Bin(wins + losses, lambda / (1 + lambda)).
        p_losses: P(X >= losses), X ~ Bin(wins + losses, 1/2).
        ships: Net gain above 0, pvalue below alpha and breakage within its limit.
        proven: pvalue below alpha.
        worse: p_losses below alpha.
        broken: Breakage above its limit.
        breached: At least one loss, and a net gain of at most 0 or breakage above its limit:
            what a group must not be.
        wins_missing: Fewest further wins, losses as they are, with which it would ship; 0 where
            it ships, NaN where no number of wins helps.
    """

    net_gain: Floats
    breakage: Floats
    pvalue: Floats
    p_losses: Floats
    ships: Bools
    proven: Bools
    worse: Bools
    broken: Bools
    breached: Bools
    wins_missing: Floats


def ledger(wins: ArrayLike, losses: ArrayLike, solved: ArrayLike, terms: Terms) -> Ledger:
    """Weigh wins against losses.

    The tests take every changed case as independent: with clusters see `cluster_check`. Each
    call is one look; repeated looks at a growing suite are not controlled.

    Args:
        wins: Cases only the candidate passes, >= 0.
        losses: Cases only the baseline passes, >= 0, broadcast against `wins`.
        solved: Cases the baseline passes, >= losses.
        terms: What is asked for.

    Returns:
        Numbers and decisions in the broadcast shape.

    Notes:
        Ships iff wins - lambda losses > 0, P(Bin(wins + losses, lambda/(1 + lambda)) >= wins) <
        alpha and losses/solved <= tau. With lambda = 1 the test is McNemar's exact one, one-sided.

    References:
        Wang et al. 2026 (arXiv 2609.36043); McNemar (1947), Psychometrika 12:153.

    Example:
        >>> terms = Terms(
        ...     break_cost=Fraction(2), alpha=Fraction("0.05"), max_breakage=Fraction("0.1")
        ... )
        >>> got = ledger([8, 7], 0, 30, terms)
        >>> got.pvalue.round(7).tolist(), got.ships.tolist(), got.wins_missing.tolist()
        ([0.0390184, 0.0585277], [True, False], [0.0, 1.0])
    """
    won, lost, passed = np.broadcast_arrays(*(_ints(x) for x in (wins, losses, solved)))
    gain = _weighed(won, lost, terms.break_cost)
    share = _weighed(lost, passed, terms.max_breakage)
    broken = np.asarray((share > 0) & (passed > 0), dtype=np.bool_)
    breakage = np.zeros(won.shape)
    np.divide(lost, passed, out=breakage, where=passed > 0)
    odds = _chance(terms)
    missing = np.where(broken, np.nan, _missing(won, lost, terms))
    return Ledger(
        net_gain=np.asarray(gain / terms.break_cost.denominator, dtype=np.float64),
        breakage=breakage,
        pvalue=_at_least(won, won + lost, odds),
        p_losses=_at_least(lost, won + lost, _HALF),
        ships=np.asarray(missing == 0, dtype=np.bool_),
        proven=_below(won, won + lost, odds, terms.alpha),
        worse=_below(lost, won + lost, _HALF, terms.alpha),
        broken=broken,
        breached=np.asarray((lost > 0) & ((gain <= 0) | broken), dtype=np.bool_),
        wins_missing=missing,
    )


def verdicts(made: Ledger, *, breached: ArrayLike = False) -> NDArray[np.str_]:
    """One word for each ledger: a breach weighs most, then what ships, then what is worse.

    Args:
        made: The ledger of the whole suite.
        breached: Whether a group or a guard set of it is breached.

    Returns:
        "ship", "dont_ship" or "hold".
    """
    stopped = np.broadcast_to(np.asarray(breached, dtype=np.bool_), made.ships.shape)
    conditions = [stopped, made.ships, made.worse]
    return np.select(conditions, ["dont_ship", "ship", "dont_ship"], default="hold")


def smallest_clean_win(terms: Terms) -> int:
    """Fewest wins without a loss that ship: the least w with (lambda/(1 + lambda))^w < alpha.

    Example:
        >>> smallest_clean_win(
        ...     Terms(break_cost=Fraction(2), alpha=Fraction("0.05"), max_breakage=Fraction(0))
        ... )
        8
    """
    nothing = np.zeros(1, dtype=np.int64)
    return int(_missing(nothing, nothing, terms)[0])


def cluster_check(
    win: Bools, loss: Bools, cluster: Ints, terms: Terms, rng: np.random.Generator
) -> SignFlip:
    """Flip the signs of whole clusters' net gains: the same question where cases depend.

    Read `greater`. The null hypothesis is that a net gain is as likely as a net loss of its size
    in every cluster, which is not quite that of the ledger's test: a check beside it.

    Args:
        win: Cases only the candidate passes, shape (M,).
        loss: Cases only the baseline passes, shape (M,).
        cluster: Cluster codes, shape (M,).
        terms: What is asked for.
        rng: Used only where no exact method fits.

    Returns:
        The sign flip of sums of wins - lambda losses.
    """
    gains = _weighed(win.astype(np.int64), loss.astype(np.int64), terms.break_cost)
    codes = np.unique(cluster, return_inverse=True)[1]
    cases = Lattice(values=gains, unit=Fraction(1, terms.break_cost.denominator))
    return sign_flip(cluster_sums(cases, codes), rng)


def flips_below(flips: SignFlip, alpha: Fraction) -> bool:
    """Whether the one-sided p-value for gains is below alpha.

    Args:
        flips: What `cluster_check` returned.
        alpha: The level.

    Notes:
        An exact p-value is a count over 2^m, so a tie with alpha is seen in spite of rounding.

    Example:
        >>> terms = Terms(break_cost=Fraction(2), alpha=Fraction(1, 4), max_breakage=Fraction(1))
        >>> win = np.array([True, True])
        >>> found = cluster_check(win, ~win, np.array([0, 1]), terms, np.random.default_rng(0))
        >>> found.greater, flips_below(found, terms.alpha)
        (0.25, False)
    """
    if not flips.exact or flips.changed > _MOST_BITS:
        return flips.greater < float(alpha)
    patterns = 2**flips.changed
    return Fraction(round(flips.greater * patterns), patterns) < alpha


def fair_changes(n_a: Ints, c_a: Ints, n_b: Ints, c_b: Ints) -> tuple[float, float]:
    """Expected wins and losses had both sides run the fewer trials of each case.

    The majority of more trials is steadier: at unequal counts the side with more trials wins
    cases without being better. Not for a test, the numbers are no counts.

    Args:
        n_a: Trials of A in every case, shape (M,), >= 1.
        c_a: Passes of A.
        n_b: Trials of B, >= 1.
        c_b: Passes of B.

    Returns:
        Sums over cases of the chance that only B, and only A, passes by majority when
        m = min(n_a, n_b) of the trials of each side are drawn without replacement.

    Example:
        >>> one, five = np.array([1, 1]), np.array([5, 5])
        >>> np.round(fair_changes(one, np.array([1, 0]), five, np.array([4, 4])), 3).tolist()
        [0.8, 0.2]
    """
    from scipy.stats import hypergeom

    fewer = np.minimum(n_a, n_b)
    sides = []
    for trials, passes in ((n_a, c_a), (n_b, c_b)):
        kinds, which = np.unique(np.stack([trials, passes, fewer]), axis=1, return_inverse=True)
        chance = hypergeom.sf(kinds[2] // 2, kinds[0], kinds[1], kinds[2])
        sides.append(chance[np.ravel(which)])
    before, after = sides
    return float(after @ (1.0 - before)), float(before @ (1.0 - after))


def _missing(won: Ints, lost: Ints, terms: Terms) -> Floats:
    """Fewest further wins at which net gain and test both ship; more wins never hurt."""

    def enough(more: Ints) -> Bools:
        wins = won + more
        gains = np.asarray(_weighed(wins, lost, terms.break_cost) > 0, dtype=np.bool_)
        return gains & _below(wins, wins + lost, _chance(terms), terms.alpha)

    none = np.zeros_like(won)
    reached = enough(none)
    short, far = none, np.where(reached, 0, 1)
    while not (there := enough(far)).all():
        short, far = np.where(there, short, far), np.where(there, far, 2 * far)
    while (gap := far - short > 1).any():
        middle = (short + far) // 2
        there = enough(middle)
        short = np.where(gap & ~there, middle, short)
        far = np.where(gap & there, middle, far)
    return far.astype(np.float64)


def _weighed(plus: Ints, minus: Ints, price: Fraction) -> NDArray[Any]:
    """(plus - price minus) times the denominator of the price, exactly."""
    largest = price.denominator * int(plus.max(initial=0)) + price.numerator * int(
        minus.max(initial=0)
    )
    dtype: Any = np.int64 if largest < _LARGEST else object
    return np.asarray(
        plus.astype(dtype) * price.denominator - minus.astype(dtype) * price.numerator
    )


def _chance(terms: Terms) -> Fraction:
    """Share of wins among changed cases at which the net gain is 0."""
    return terms.break_cost / (1 + terms.break_cost)


def _at_least(k: Ints, n: Ints, chance: Fraction) -> Floats:
    """P(X >= k) for X ~ Bin(n, chance)."""
    from scipy.special import betainc

    some = k > 0
    tail = betainc(np.where(some, k, 1.0), np.where(some, n - k, 0.0) + 1.0, float(chance))
    return np.where(some, tail, 1.0)


def _below(k: Ints, n: Ints, chance: Fraction, alpha: Fraction) -> Bools:
    """Whether P(X >= k) < alpha, decided on fractions where floats cannot tell."""
    if alpha >= 1:
        return np.asarray(k > 0, dtype=np.bool_)
    limit = float(alpha)
    tail = _at_least(k, n, chance)
    close = np.abs(tail - limit) <= _CLOSE * limit
    less = np.asarray((tail < limit) & ~close, dtype=np.bool_)
    for i in np.flatnonzero(close & (n <= _MOST_EXACT)):
        less.flat[i] = _tail(int(k.flat[i]), int(n.flat[i]), chance) < alpha
    return less


def _tail(k: int, n: int, chance: Fraction) -> Fraction:
    """P(X >= k) for X ~ Bin(n, chance) as a fraction."""
    up, down = chance.numerator, chance.denominator - chance.numerator
    term, total = up**n, 0
    for j in range(n, k - 1, -1):
        total += term
        term = term * j * down // ((n - j + 1) * up)
    return Fraction(total, chance.denominator**n)


def _ints(values: ArrayLike) -> Ints:
    return np.asarray(values, dtype=np.int64)
