from __future__ import annotations

from fractions import Fraction
from math import ceil, comb
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.errors import ArgumentError
from trialframe.kernels import draws
from trialframe.kernels.draws import all_pass, any_passes, at_least, drawn

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

EXACT = 1e-12


def exact(n: int, c: int, k: int, needed: int) -> Fraction:
    """P(at least `needed` passes among k of n trials)."""
    ways = sum(comb(c, j) * comb(n - c, k - j) for j in range(needed, k + 1))
    return Fraction(ways, comb(n, k))


def one(n: int, c: int, k: int, credit: draws.Credit, short: draws.Short = "null") -> float:
    return float(drawn(np.array([n]), np.array([c]), k, credit, short=short)[0])


def table(limit: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(n, c) for n in range(limit + 1) for c in range(n + 1)]
    n, c = np.array(pairs).T
    return n, c


@pytest.mark.parametrize(
    ("method", "credit"), [("pass_at_k", any_passes), ("pass_hat_k", all_pass)]
)
def test_golden_cases(golden: Golden, method: str, credit: draws.Credit) -> None:
    for entry in golden(method):
        got = one(**entry["inputs"], credit=credit)
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0), entry["id"]


@pytest.mark.parametrize(
    ("method", "variance"),
    [
        ("pass_at_k_within_case_variance_unbiased", draws.pass_at_variance),
        ("pass_hat_k_within_case_variance_unbiased", draws.pass_hat_variance),
    ],
)
def test_golden_variances(golden: Golden, method: str, variance: Callable[..., Any]) -> None:
    for entry in golden(method):
        n, c, k = (entry["inputs"][name] for name in "nck")
        got = variance(np.array([n]), np.array([c]), k)[0]
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0), entry["id"]


def test_golden_misuse_of_unit_tests_as_trials(golden: Golden) -> None:
    for entry in golden("reliability_at_k_inflation"):
        given_ = entry["inputs"]
        got = one(given_["tests_total"], given_["tests_passed"], given_["k"], any_passes)
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0)


@pytest.mark.parametrize(
    ("method", "outcome"),
    [("majority_outcome", draws.majority), ("fails_most", draws.fails_most)],
)
def test_golden_majority(golden: Golden, method: str, outcome: Callable[..., Any]) -> None:
    for entry in golden(method):
        n, c = np.array(entry["inputs"]["cases"]).T
        assert outcome(n, c).tolist() == entry["expected"], entry["id"]


@pytest.mark.parametrize("k", range(1, 13))
def test_every_small_case_matches_counting(k: int) -> None:
    n, c = table(12)
    credits_ = {tau: at_least(tau) for tau in (0.1, 0.25, 0.28, 0.5, 2 / 3, 0.75, 0.9, 1.0)}
    needed = {tau: max(1, ceil(Fraction(str(tau)) * k)) for tau in credits_}
    for credit, at in [(any_passes, 1), (all_pass, k), *((credits_[t], needed[t]) for t in needed)]:
        got = drawn(n, c, k, credit)
        for i, (trials, passes) in enumerate(zip(n.tolist(), c.tolist(), strict=True)):
            if trials < k:
                assert np.isnan(got[i])
            else:
                want = exact(trials, passes, k, at)
                assert got[i] == pytest.approx(float(want), abs=EXACT, rel=0)
                assert (got[i] in (0.0, 1.0)) == (want in (0, 1))


@pytest.mark.parametrize("n", [56, 57, 100, 1000, 4096, 4097, 10_000])
def test_large_cases_match_counting(n: int) -> None:
    passes = sorted({0, 1, 2, 3, n // 100, n // 3, n // 2, n - 3, n - 1, n})
    sizes = sorted({1, 2, 5, 15, n // 100 + 1, n // 2, n - 16, n - 2, n - 1, n})
    c = np.array(passes)
    for k in sizes:
        at, hat = (drawn(np.full(c.shape, n), c, k, credit) for credit in (any_passes, all_pass))
        for i, value in enumerate(passes):
            total = comb(n, k)
            assert abs(at[i] - (1 - Fraction(comb(n - value, k), total))) < EXACT
            assert abs(hat[i] - Fraction(comb(value, k), total)) < EXACT


@pytest.mark.parametrize("n", [100, 4096, 4097, 10_000])
def test_large_general_credits_match_counting(n: int) -> None:
    c = np.array([0, 1, n // 100, n // 3, n // 2, n - 7, n])
    for k, tau in [(3, 0.5), (25, 0.28), (60, 0.9), (100, 0.02)]:
        got = drawn(np.full(c.shape, n), c, k, at_least(tau))
        for i, value in enumerate(c.tolist()):
            want = exact(n, value, k, max(1, ceil(Fraction(str(tau)) * k)))
            assert abs(got[i] - want) < EXACT


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
def test_variances_match_counting(k: int) -> None:
    n, c = table(12)
    for f, got in [(n - c, draws.pass_at_variance(n, c, k)), (c, draws.pass_hat_variance(n, c, k))]:
        for i, (trials, among) in enumerate(zip(n.tolist(), f.tolist(), strict=True)):
            if trials < 2 * k:
                assert np.isnan(got[i])
                continue
            once = Fraction(comb(among, k), comb(trials, k))
            both = Fraction(comb(among, 2 * k), comb(trials, 2 * k))
            assert got[i] == pytest.approx(float(once**2 - both), abs=EXACT, rel=0)


@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2), (10, 3), (12, 5), (60, 7)])
def test_variance_is_unbiased_under_bin_n_one_third(n: int, k: int) -> None:
    p = 1 / 3
    c = np.arange(n + 1)
    chance = np.array([comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)])
    trials = np.full(c.shape, n)
    for value, variance in [
        (drawn(trials, c, k, any_passes), draws.pass_at_variance(trials, c, k)),
        (drawn(trials, c, k, all_pass), draws.pass_hat_variance(trials, c, k)),
    ]:
        true = chance @ (value - chance @ value) ** 2
        assert chance @ variance == pytest.approx(true, abs=1e-13)


def test_variance_at_one_is_that_of_a_rate() -> None:
    n, c = table(12)
    rows = n >= 2
    p = c[rows] / n[rows]
    for variance in (draws.pass_at_variance, draws.pass_hat_variance):
        assert np.allclose(variance(n, c, 1)[rows], p * (1 - p) / (n[rows] - 1), atol=1e-15)


def test_estimates_are_unbiased() -> None:
    n, k, p = 9, 4, 0.3
    c = np.arange(n + 1)
    chance = np.array([comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)])
    trials = np.full(c.shape, n)
    assert chance @ drawn(trials, c, k, any_passes) == pytest.approx(1 - 0.7**k, abs=1e-14)
    assert chance @ drawn(trials, c, k, all_pass) == pytest.approx(0.3**k, abs=1e-14)


cases = st.lists(
    st.integers(0, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=40,
).map(lambda pairs: np.array(pairs, dtype=np.int64).T)
sizes = st.one_of(st.integers(1, 12), st.integers(1, 320))
policies = st.sampled_from(["null", "clamp", "min", "rate"])


@given(cases, sizes, st.floats(0.0, 1.0), policies)
def test_values_are_ordered_and_in_the_unit_interval(
    pairs: np.ndarray, k: int, tau: float, short: draws.Short
) -> None:
    n, c = pairs
    low, mid, high = (
        drawn(n, c, k, credit, short=short) for credit in (all_pass, at_least(tau), any_passes)
    )
    defined = ~np.isnan(high)
    rate = c[defined] / np.maximum(n[defined], 1)
    assert np.array_equal(defined, ~np.isnan(low))
    assert np.array_equal(defined, ~np.isnan(mid))
    for value in (low[defined], mid[defined], high[defined]):
        assert ((value >= 0) & (value <= 1)).all()
    slack = 1e-12
    assert (low[defined] <= rate + slack).all()
    assert (rate <= high[defined] + slack).all()
    assert (low[defined] <= mid[defined] + slack).all()
    assert (mid[defined] <= high[defined] + slack).all()


@given(cases, sizes, st.floats(0.0, 1.0))
def test_values_rise_with_passes(pairs: np.ndarray, k: int, tau: float) -> None:
    n, c = pairs
    more = np.minimum(c + 1, n)
    for credit in (any_passes, all_pass, at_least(tau)):
        fewer, greater = drawn(n, c, k, credit), drawn(n, more, k, credit)
        defined = ~np.isnan(fewer)
        assert (greater[defined] >= fewer[defined] - 1e-14).all()


@given(cases)
def test_one_draw_is_the_rate(pairs: np.ndarray) -> None:
    n, c = pairs[:, pairs[0] > 0]
    for credit in (any_passes, all_pass, at_least(0.7)):
        assert np.array_equal(drawn(n, c, 1, credit), c / n)


@given(cases, sizes)
def test_at_least_meets_pass_at_and_pass_hat(pairs: np.ndarray, k: int) -> None:
    n, c = pairs
    for short in ("null", "clamp"):
        at, hat = (drawn(n, c, k, credit, short=short) for credit in (any_passes, all_pass))
        assert np.array_equal(drawn(n, c, k, at_least(1e-9), short=short), at, equal_nan=True)
        assert np.array_equal(drawn(n, c, k, at_least(0), short=short), at, equal_nan=True)
        assert np.array_equal(drawn(n, c, k, at_least(1), short=short), hat, equal_nan=True)


@given(cases, sizes, policies, st.randoms(use_true_random=False))
def test_rows_and_batches_do_not_matter(
    pairs: np.ndarray, k: int, short: draws.Short, random: Any
) -> None:
    n, c = pairs
    order = np.array(random.sample(range(n.size), n.size))
    least = draws.common_size(n, k)
    for credit in (any_passes, all_pass, at_least(0.5)):
        whole = drawn(n, c, k, credit, short=short)
        moved = drawn(n[order], c[order], k, credit, short=short)
        assert np.array_equal(whole[order], moved, equal_nan=True)
        size, policy = (least, "null") if short == "min" else (k, short)
        parts = [drawn(n[[i]], c[[i]], size, credit, short=policy) for i in range(n.size)]
        assert np.array_equal(whole, np.concatenate(parts), equal_nan=True)


@given(cases, st.data())
def test_k_per_case(pairs: np.ndarray, data: st.DataObject) -> None:
    n, c = pairs
    k = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n.size, max_size=n.size)))
    for credit in (any_passes, all_pass, at_least(0.5)):
        for short in ("null", "clamp", "rate"):
            got = drawn(n, c, k, credit, short=short)
            want = [
                one(*row, credit=credit, short=short)
                for row in zip(n.tolist(), c.tolist(), k.tolist(), strict=True)
            ]
            assert np.array_equal(got, want, equal_nan=True)


def test_short_policies() -> None:
    n, c = np.array([0, 3, 10]), np.array([0, 1, 1])
    tenth = float(exact(10, 1, 5, 1))
    want = {
        "null": [np.nan, np.nan, tenth],
        "clamp": [np.nan, 1.0, tenth],
        "min": [np.nan, 1.0, float(exact(10, 1, 3, 1))],
        "rate": [0.0, 1 / 3, tenth],
    }
    for short, values in want.items():
        assert np.allclose(drawn(n, c, 5, any_passes, short=short), values, equal_nan=True)
    assert draws.common_size(n, 5) == 3
    assert draws.common_size(n, 2) == 2
    assert draws.common_size(n[:1], 5) == 5


def test_clamped_credit_uses_the_case_s_own_k() -> None:
    n, c = np.array([3, 3, 5, 5]), np.array([1, 2, 2, 3])
    got = drawn(n, c, 9, at_least(0.5), short="clamp")
    assert got.tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("n", "says"),
    [
        ([2, 4, 9, 3], "k == 4, but 2 of 4 cases have fewer trials than that .smallest n == 2"),
        ([0, 4], "k == 4, but 1 of 2 cases .* .smallest n == 0.. Use short='null'"),
        ([0], "smallest n == 0"),
    ],
)
def test_raise_says_how_many_and_what_to_do(n: list[int], says: str) -> None:
    trials = np.array(n)
    with pytest.raises(ArgumentError, match=says):
        drawn(trials, np.zeros_like(trials), 4, any_passes, short="raise")


def test_raise_is_silent_when_every_case_has_enough() -> None:
    got = drawn(np.array([4, 5]), np.array([1, 0]), 4, any_passes, short="raise")
    assert got.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("short", ["null", "clamp", "min", "rate", "raise"])
def test_no_cases(short: draws.Short) -> None:
    none = np.empty(0, dtype=np.int64)
    for credit in (any_passes, all_pass, at_least(0.5)):
        assert drawn(none, none, 3, credit, short=short).shape == (0,)
        assert drawn(none, none, none, credit, short=short).shape == (0,)
    assert draws.pass_at_variance(none, none, 2).shape == (0,)
    assert draws.flake_index(none, none).shape == (0,)


def test_ceiling_is_that_of_the_decimal_as_written() -> None:
    k = np.full(26, 25)
    assert int(np.argmax(at_least(0.28)(np.arange(26), k))) == 7  # 0.28 * 25 == 7.000000000000001
    assert int(np.argmax(at_least(Fraction(7, 25))(np.arange(26), k))) == 7
    assert int(np.argmax(at_least(np.float64(0.28))(np.arange(26), k))) == 7
    assert int(np.argmax(at_least(np.float32(0.28))(np.arange(26), k))) == 7


def test_any_credit_is_averaged_over_the_draw() -> None:
    def share(j: np.ndarray, k: np.ndarray) -> np.ndarray:
        return j / k

    n, c = np.array([9, 60, 5000]), np.array([4, 17, 1234])
    assert np.allclose(drawn(n, c, 7, share), c / n, atol=1e-13, rtol=0)


def test_flake_index_and_majority() -> None:
    n, c = table(8)
    got = draws.flake_index(n, c)
    for i, (trials, passes) in enumerate(zip(n.tolist(), c.tolist(), strict=True)):
        if trials < 2:
            assert np.isnan(got[i])
        else:
            assert got[i] == pytest.approx(
                1 - exact(trials, passes, 2, 2) - exact(trials, trials - passes, 2, 2)
            )
        assert draws.majority(n, c)[i] == (Fraction(passes) > Fraction(trials, 2))
        assert draws.fails_most(n, c)[i] == (Fraction(trials - passes) > Fraction(trials, 2))


def test_huge_distinct_sizes_need_no_table() -> None:
    rng = np.random.default_rng(5)
    n = rng.integers(1, 1_000_000, 50_000)
    c = rng.binomial(n, rng.random(n.size))
    started = perf_counter()
    at = drawn(n, c, 1000, any_passes)
    general = drawn(n[:2000], c[:2000], 100, at_least(0.5))
    assert perf_counter() - started < 5  # a table over c = 0..n would have 2.5e10 cells
    assert np.nanmax(at) <= 1
    assert np.array_equal(np.isnan(general), n[:2000] < 100)
