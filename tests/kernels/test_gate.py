from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.gate import (
    Terms,
    cluster_check,
    fair_changes,
    ledger,
    smallest_clean_win,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

COUNTS = st.integers(0, 25)
COSTS = st.sampled_from(["1", "1.5", "2", "2.5", "3", "4", "10"])
ALPHAS = st.sampled_from(["0.01", "0.03125", "0.05", "0.2", "0.5", "0.64", "0.8", "1"])
LIMITS = st.sampled_from(["0", "0.05", "0.1", "0.3", "1"])


def terms(cost: object = 2, alpha: object = 0.05, limit: object = 0.1) -> Terms:
    cost, alpha, limit = (Fraction(str(x)) for x in (cost, alpha, limit))
    return Terms(break_cost=cost, alpha=alpha, max_breakage=limit)


def tail(k: int, n: int, q: Fraction) -> Fraction:
    return sum((comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1)), Fraction(0))


def by_definition(w: int, lost: int, solved: int, t: Terms) -> str:
    """The rule in fractions, word for word."""
    gain = w - t.break_cost * lost
    breakage = Fraction(lost, solved) if solved else Fraction(0)
    pvalue = tail(w, w + lost, t.break_cost / (1 + t.break_cost))
    if gain > 0 and pvalue < t.alpha and breakage <= t.max_breakage:
        return "ship"
    return "dont_ship" if tail(lost, w + lost, Fraction(1, 2)) < t.alpha else "hold"


def test_golden(golden: Golden) -> None:
    for entry in golden("sage_gate"):
        given_, wanted = entry["inputs"], entry["expected"]
        t = terms(given_["lam"], given_["alpha"], given_["tau"])
        got = ledger(given_["wins"], given_["losses"], given_["solved"], t)
        assert float(got.net_gain) == wanted["net"]
        assert float(got.pvalue) == pytest.approx(wanted["p"], abs=1e-12)
        assert float(got.p_losses) == pytest.approx(wanted["p_losses"], abs=1e-12)
        assert float(got.breakage) == pytest.approx(wanted["breakage"], abs=1e-15)
        assert str(verdicts(got)) == wanted["verdict"]


def test_smallest_clean_win_golden(golden: Golden) -> None:
    for entry in golden("sage_smallest_clean_win"):
        for cost, wanted in entry["expected"].items():
            assert smallest_clean_win(terms(cost, entry["inputs"]["alpha"])) == wanted


@given(COUNTS, COUNTS, COUNTS, COSTS, ALPHAS, LIMITS)
def test_against_fractions(w: int, lost: int, more: int, cost: str, alpha: str, limit: str) -> None:
    t = terms(cost, alpha, limit)
    got = ledger(w, lost, lost + more, t)
    assert str(verdicts(got)) == by_definition(w, lost, lost + more, t)
    assert float(got.net_gain) == float(w - t.break_cost * lost)
    chance = t.break_cost / (1 + t.break_cost)
    assert float(got.pvalue) == pytest.approx(float(tail(w, w + lost, chance)), rel=1e-11)
    assert float(got.p_losses) == pytest.approx(
        float(tail(lost, w + lost, Fraction(1, 2))), rel=1e-11
    )
    over = lost > t.max_breakage * (lost + more)
    assert bool(got.broken) == over
    assert bool(got.breached) == (lost > 0 and (w - t.break_cost * lost <= 0 or over))


@given(COUNTS, st.integers(0, 8), COUNTS, COSTS, ALPHAS, LIMITS)
def test_wins_missing_is_the_smallest_number_that_ships(
    w: int, lost: int, more: int, cost: str, alpha: str, limit: str
) -> None:
    t = terms(cost, alpha, limit)
    solved = lost + more
    missing = float(ledger(w, lost, solved, t).wins_missing)
    if np.isnan(missing):
        assert lost > t.max_breakage * solved
        return
    x = int(missing)
    assert by_definition(w + x, lost, solved, t) == "ship"
    assert x == 0 or by_definition(w + x - 1, lost, solved, t) != "ship"


def test_with_all_limits_open_it_ships_when_wins_exceed_losses() -> None:
    wins, losses = np.meshgrid(np.arange(61), np.arange(61))
    got = ledger(wins, losses, losses + 3, terms(1, 1, 1))
    assert np.array_equal(got.ships, wins > losses)
    assert np.array_equal(verdicts(got) == "ship", wins > losses)
    assert np.array_equal(verdicts(got) == "hold", (wins == 0) & (losses == 0))


@pytest.mark.parametrize("solved", [10, 30, 70, 110, 7_000])
def test_breakage_at_its_limit_is_within_it(solved: int) -> None:
    for limit in ("0.1", "0.3", "0.7"):
        lost = int(Fraction(limit) * solved)
        got = ledger(10 * solved, [lost, lost + 1], solved, terms(1, 0.05, float(limit)))
        assert got.broken.tolist() == [False, True]
        assert got.ships.tolist() == [True, False]


def test_p_at_alpha_is_not_below_it() -> None:
    assert not ledger(5, 0, 9, terms(1, "0.03125")).ships  # 2^-5
    assert ledger(6, 0, 9, terms(1, "0.03125")).ships
    assert not ledger(2, 0, 9, terms(4, "0.64")).ships  # 0.8^2
    assert not ledger(0, 5, 50, terms(1, "0.03125")).worse
    assert ledger(0, 6, 60, terms(1, "0.03125")).worse
    for losses in (10, 499, 4_000):  # odd numbers of changed cases: P is exactly 1/2
        assert not ledger(losses + 1, losses, 10 * losses, terms(1, "0.5")).ships


def test_a_net_gain_of_zero_does_not_ship() -> None:
    got = ledger([4, 5, 3], [2, 2, 2], 100, terms(2, 1))
    assert got.net_gain.tolist() == [0.0, 1.0, -1.0]
    assert got.ships.tolist() == [False, True, False]
    assert not ledger(3, 2, 100, terms(1.5, 1)).ships


@given(COUNTS, COUNTS, COUNTS, COSTS, ALPHAS, LIMITS)
def test_more_wins_never_unship_and_more_losses_never_ship(
    w: int, lost: int, more: int, cost: str, alpha: str, limit: str
) -> None:
    t = terms(cost, alpha, limit)
    got = ledger([w, w + 1, w], [lost, lost, lost + 1], lost + more + 1, t)
    now, won, broke = got.ships.tolist()
    assert won or not now
    assert now or not broke


@given(COUNTS, COUNTS)
def test_swapped_sides_swap_the_tests_at_a_cost_of_one(w: int, lost: int) -> None:
    t = terms(1, 0.05, 1)
    got, swapped = ledger(w, lost, 100, t), ledger(lost, w, 100, t)
    assert float(got.pvalue) == float(swapped.p_losses)
    assert bool(got.worse) == bool(swapped.ships and lost > w)


def test_precedence() -> None:
    made = ledger([20, 7, 2, 12], [2, 0, 9, 1], [30, 30, 40, 8], terms())
    assert verdicts(made).tolist() == ["ship", "hold", "dont_ship", "hold"]
    assert verdicts(made, breached=True).tolist() == ["dont_ship"] * 4
    both = ledger(5, 3, 100, terms(1, 1, 1))  # at alpha 1 both tests hold: shipping comes first
    assert bool(both.ships)
    assert bool(both.worse)
    assert str(verdicts(both)) == "ship"


def test_costs_with_many_digits_do_not_overflow() -> None:
    got = ledger(10**6, 5 * 10**5, 10**7, terms("1.234567890123456", 0.05, "0.123456789012345678"))
    assert float(got.net_gain) == pytest.approx(10**6 - 1.234567890123456 * 5 * 10**5)
    assert bool(got.ships)


def test_cluster_check_flips_whole_clusters() -> None:
    win = np.array([True] * 6 + [False] * 3)
    loss = np.array([False] * 6 + [True, False, False])
    cluster = np.array([4, 4, 4, 7, 7, 7, 7, 9, 9])
    rng = np.random.default_rng(0)
    got = cluster_check(win, loss, cluster, terms(), rng)  # sums 3, 3 - 2, 0
    assert (got.changed, got.greater, got.exact) == (2, 0.25, True)
    sums = np.array([3, 1])
    signs = np.array(np.meshgrid([-1, 1], [-1, 1])).reshape(2, -1)
    assert got.greater == np.mean(signs.T @ sums >= sums.sum())
    alone = cluster_check(win, np.zeros(9, bool), np.arange(9), terms(1.5), rng)
    assert alone.greater == 0.5**6


TRIALS = st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(1, 6), st.integers(0, 6))


def chance(n: int, c: int, m: int) -> Fraction:
    """Share of the draws of m trials whose majority passes."""
    drawn = list(combinations([True] * c + [False] * (n - c), m))
    return Fraction(sum(2 * sum(some) > m for some in drawn), len(drawn))


@given(st.lists(TRIALS, min_size=1, max_size=5))
def test_fair_changes_are_means_over_all_draws(rows: list[tuple[int, int, int, int]]) -> None:
    rows = [(n, min(c, n), m, min(d, m)) for n, c, m, d in rows]
    one = [chance(n, c, min(n, m)) for n, c, m, _ in rows]
    two = [chance(m, d, min(n, m)) for n, _, m, d in rows]
    got = fair_changes(*np.array(rows).T)
    assert got[0] == pytest.approx(
        float(sum(b * (1 - a) for a, b in zip(one, two, strict=True))), abs=1e-12
    )
    assert got[1] == pytest.approx(
        float(sum(a * (1 - b) for a, b in zip(one, two, strict=True))), abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("cost", [1, 2, 3])
def test_false_ship_rate_where_wins_pay_exactly_for_losses(cost: int) -> None:
    """At a true net gain of 0 it ships in at most alpha of the suites."""
    rng = np.random.default_rng(11)
    draws = 200_000
    for cases, changed in ((50, 0.2), (200, 0.3), (500, 0.1)):
        solved = cases // 2
        share = changed / (1 + cost)
        drawn = rng.multinomial(cases, [share * cost, share, 1 - changed], size=draws)
        got = ledger(
            drawn[:, 0], drawn[:, 1], np.maximum(solved, drawn[:, 1]), terms(cost, 0.05, 1)
        )
        rate = got.ships.mean()
        assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws), (cases, rate)
        assert rate > 0.01
