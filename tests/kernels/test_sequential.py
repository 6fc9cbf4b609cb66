"""E-values and confidence sequences of pass/fail: golden values, fractions, coverage."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.sequential import (
    anytime_pvalue,
    bernoulli_sequence,
    log_e_one_sided,
    log_e_two_sided,
    log_fixed_bet,
    smallest,
    suite_sequence,
    trials_to_decide,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

COUNT = st.integers(0, 300)


def test_e_values_golden(golden: Golden) -> None:
    for entry in golden("e_value_sequential_mcnemar"):
        w, lost, wanted = entry["inputs"]["wins"], entry["inputs"]["losses"], entry["expected"]
        two, one = log_e_two_sided(w, lost), log_e_one_sided(w, lost)
        assert two == pytest.approx(wanted["log_e"], abs=1e-9)
        assert np.exp(two) == pytest.approx(wanted["e_uniform_two_sided"], abs=1e-9)
        assert np.exp(one) == pytest.approx(wanted["e_one_sided_q_gt_half"], abs=1e-9)
        assert bool(two >= log(20)) is wanted["reject_at_20_two_sided"]
        assert bool(one >= log(20)) is wanted["reject_at_20_one_sided"]


def test_fixed_bet_golden(golden: Golden) -> None:
    for entry in golden("e_process_fixed_bet"):
        given_, wanted = entry["inputs"], entry["expected"]
        path = np.exp(log_fixed_bet(given_["outcomes"], given_["bet"], given_["null_q"]))
        assert path == pytest.approx(wanted["path"], abs=entry["tolerance"])
        assert bool(path.max() >= 20) is wanted["crosses_20"]


def test_bernoulli_sequence_golden(golden: Golden) -> None:
    for entry in golden("bernoulli_mixture_confidence_sequence"):
        given_ = entry["inputs"]
        prior = (float(given_["prior"][0]), float(given_["prior"][1]))
        got = bernoulli_sequence(given_["passes"], given_["trials"], 1 - given_["alpha"], prior)
        wanted = entry["expected"]["interval"]
        assert [got.low, got.high] == pytest.approx(wanted, abs=entry["tolerance"])


def two_sided(w: int, lost: int) -> Fraction:
    m = w + lost
    return Fraction(2**m * factorial(w) * factorial(lost), factorial(m + 1))


def one_sided(w: int, lost: int, q: Fraction) -> Fraction:
    """The integral of p^w (1-p)^l over (q, 1) by its binomial tail, over (1-q) q^w (1-q)^l."""
    m = w + lost + 1
    tail = sum((comb(m, j) * q**j * (1 - q) ** (m - j) for j in range(w + 1)), Fraction(0))
    beta = Fraction(factorial(w) * factorial(lost), factorial(m))
    return beta * tail / ((1 - q) ** (lost + 1) * q**w)


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([Fraction(1, 2), Fraction(2, 3)]))
def test_e_values_by_fractions(w: int, lost: int, q: Fraction) -> None:
    assert np.exp(log_e_two_sided(w, lost)) == pytest.approx(float(two_sided(w, lost)), rel=1e-10)
    got = np.exp(log_e_one_sided(w, lost, float(q)))
    assert got == pytest.approx(float(one_sided(w, lost, q)), rel=1e-9)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(2, 3), Fraction(1, 4)])
def test_the_mean_of_an_e_value_is_one_under_the_null(q: Fraction) -> None:
    for m in (1, 5, 12):
        chance = [comb(m, w) * q**w * (1 - q) ** (m - w) for w in range(m + 1)]
        mean = sum(p * one_sided(w, m - w, q) for w, p in enumerate(chance))
        assert mean == 1
        fair = sum(Fraction(comb(m, w), 2**m) * two_sided(w, m - w) for w in range(m + 1))
        assert fair == 1


def test_each_step_is_a_fair_bet_under_the_null() -> None:
    w, lost = np.meshgrid(np.arange(60.0), np.arange(60.0))
    for q in (0.5, 2 / 3):
        now, won, gone = (log_e_one_sided(w + i, lost + j, q) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert q * np.exp(won - now) + (1 - q) * np.exp(gone - now) == pytest.approx(1, abs=1e-9)


def test_hundred_thousand_pairs_neither_overflow_nor_underflow() -> None:
    w = np.array([100_000, 0, 50_000, 40_000, 10])
    lost = 100_000 - w
    for value in (
        log_e_two_sided(w, lost),
        log_e_one_sided(w, lost),
        log_e_one_sided(w, lost, 2 / 3),
    ):
        assert np.isfinite(value).all()
    assert log_e_two_sided(100_000, 0) == pytest.approx(100_000 * log(2) - log(100_001), rel=1e-12)
    # nearly no wins: e is about 1 / ((1 - q0) (l / (1 - q0) - w / q0))
    assert log_e_one_sided(0, 100_000) == pytest.approx(-log(100_000), abs=1e-3)


def test_the_series_meets_the_formula() -> None:
    lost = np.arange(600.0, 1300.0)
    value = log_e_one_sided(3.0, lost)
    steps = np.diff(value)
    assert (steps < 0).all(), "more losses, less evidence: also across the change of formula"
    assert np.abs(np.diff(steps)).max() < 1e-5


@given(COUNT, COUNT)
def test_sides_are_exchangeable(w: int, lost: int) -> None:
    assert log_e_two_sided(w, lost) == log_e_two_sided(lost, w)
    assert log_e_one_sided(w, lost) <= log_e_two_sided(w, lost) + log(2) + 1e-9


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_anytime_p_never_rises(outcomes: list[bool]) -> None:
    won = np.cumsum(outcomes)
    pvalue = anytime_pvalue(log_e_two_sided(won, np.arange(1, len(outcomes) + 1) - won))
    assert ((pvalue > 0) & (pvalue <= 1)).all()
    assert (np.diff(pvalue) <= 0).all()


def test_a_gambler_who_stakes_all_can_lose_all() -> None:
    assert log_fixed_bet([1, 0, 1], 1.0).tolist() == [log(2), -np.inf, -np.inf]


@given(st.integers(0, 200), st.integers(0, 200), st.floats(0.5, 0.999))
def test_bernoulli_sequences_hold_the_rate_and_mirror(c: int, f: int, level: float) -> None:
    n = c + f
    got, mirrored = bernoulli_sequence(c, n, level), bernoulli_sequence(f, n, level)
    assert 0.0 <= got.low <= got.high <= 1.0
    assert got.low == pytest.approx(1 - mirrored.high, abs=1e-12)
    assert got.high == pytest.approx(1 - mirrored.low, abs=1e-12)
    if n:
        assert got.low <= c / n <= got.high
        more = bernoulli_sequence(c, n, (1 + level) / 2)
        assert more.low <= got.low
        assert more.high >= got.high
    else:
        assert (got.low, got.high) == (0.0, 1.0)


@given(st.integers(0, 200), st.integers(0, 200))
def test_excluding_a_half_is_the_two_sided_e_value(c: int, f: int) -> None:
    got = bernoulli_sequence(c, c + f)
    excluded = not got.low < 0.5 < got.high
    assert excluded == bool(log_e_two_sided(c, f) >= log(20))


@given(st.integers(0, 100), st.integers(0, 100), st.floats(0.5, 0.99))
def test_a_suite_of_one_case_is_that_case(c: int, f: int, level: float) -> None:
    one, suite = bernoulli_sequence(c, c + f, level), suite_sequence([c], [c + f], [2.0], level)
    assert [suite.low, suite.high] == pytest.approx([float(one.low), float(one.high)], abs=1e-6)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of older versions of SciPy
def test_suite_bounds_are_the_extremes_of_a_search() -> None:
    from scipy.optimize import minimize
    from scipy.special import betaln, xlog1py, xlogy

    c, n, w = np.array([9.0, 1.0, 6.0]), np.array([10.0, 8.0, 12.0]), np.array([0.5, 0.3, 0.2])

    def room(p: Any) -> float:
        ratio = betaln(c + 1, n - c + 1) - xlogy(c, p) - xlog1py(n - c, -p)
        return float(log(20) - ratio.sum())

    got = suite_sequence(c, n, w)
    for sign, wanted in ((1, got.low), (-1, got.high)):
        found = minimize(
            lambda p, sign=sign: sign * float(w @ p),
            c / n,
            bounds=[(1e-9, 1 - 1e-9)] * 3,
            constraints={"type": "ineq", "fun": room},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert w @ found.x == pytest.approx(float(wanted), abs=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_suite_sequences_mirror_and_know_no_order(cases: list[tuple[int, int]], rng: Any) -> None:
    def bounds(rows: list[tuple[int, int]]) -> tuple[float, float]:
        c, f = np.array(rows).T
        got = suite_sequence(c, c + f, np.ones(len(rows)))
        return float(got.low), float(got.high)

    low, high = bounds(cases)
    assert 0.0 <= low <= high <= 1.0
    assert bounds([(f, c) for c, f in cases]) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    shuffled = list(cases)
    rng.shuffle(shuffled)
    assert bounds(shuffled) == pytest.approx((low, high), abs=1e-7)


def test_untried_cases_may_have_any_rate() -> None:
    got = suite_sequence([5, 0], [5, 0], [1, 1])
    assert got.high == pytest.approx(1.0)
    assert got.low < 0.5


def test_trials_to_decide_decides() -> None:
    c, n = np.array([9, 1, 5, 0, 3]), np.array([10, 4, 10, 0, 3])
    more = trials_to_decide(c, n, 0.95, 1000)
    rate = (c + 1) / (n + 2)
    known = np.isfinite(more)
    assert known.tolist() == [True, True, False, False, True]
    c, n, rate, more = (row[known] for row in (c, n, rate, more))
    for trials, enough in ((more, True), (more - 1, False)):
        wins = c + trials * rate
        assert ((log_e_two_sided(wins, n + trials - wins) >= log(20)) == enough).all()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=10), st.integers(1, 40))
def test_smallest_finds_thresholds(thresholds: list[int], most: int) -> None:
    wanted = np.array(thresholds, dtype=np.float64)
    found = smallest(lambda x: x >= wanted, len(wanted), most)
    assert found.tolist() == [t if t <= most else np.inf for t in wanted]


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.5, 0.4, 0.2])
def test_peeking_after_every_pair_rejects_too_often_at_most_alpha(q: float) -> None:
    rng = np.random.default_rng(1)
    won = np.cumsum(rng.random((4000, 1000)) < q, axis=1)
    lost = np.arange(1, 1001) - won
    one = (log_e_one_sided(won, lost) >= log(20)).any(axis=1).mean()
    two = ((log_e_two_sided(won, lost) >= log(20)) & (won > lost)).any(axis=1).mean()
    assert one <= 0.05 + 2 * 0.0035
    assert two <= 0.05 + 2 * 0.0035
    net = (log_e_one_sided(won, lost, 2 / 3) >= log(20)).any(axis=1).mean()
    assert net <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_bernoulli_sequences_cover_at_every_time(p: float) -> None:
    rng = np.random.default_rng(2)
    c, n = np.cumsum(rng.random((2000, 300)) < p, axis=1), np.arange(1, 301)
    got = bernoulli_sequence(c, np.broadcast_to(n, c.shape))
    assert ((got.low <= p) & (p <= got.high)).all(axis=1).mean() >= 0.95 - 2 * 0.005


@pytest.mark.slow
def test_suite_sequences_cover_when_flaky_cases_are_tried_again() -> None:
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(200):
        p, held = rng.beta(1, 1, 20), True
        n = np.full(20, 3)
        c = rng.binomial(3, p)
        for _ in range(12):
            flaky = np.flatnonzero((c > 0) & (c < n))
            again = flaky if len(flaky) else np.arange(5)
            n[again] += 5
            c[again] += rng.binomial(5, p[again])
            got = suite_sequence(c, n, np.ones(20))
            held &= bool(got.low <= p.mean() <= got.high)
        covered.append(held)
    assert np.mean(covered) >= 0.95
