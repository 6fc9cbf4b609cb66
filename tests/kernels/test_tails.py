from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels import tails
from trialframe.kernels.tails import Sum, Tail, lower_tail, partial_sums

STEPS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 6)), min_size=1, max_size=6)


def flips(groups: list[tuple[int, int]]) -> Sum:
    step, times = np.array(groups, dtype=np.int64).T
    return Sum(step=step, probs=np.full((len(step), 2), 0.5), times=times)


def brute(total: Sum, probs: list[list[Fraction]]) -> dict[int, Fraction]:
    mass = {0: Fraction(1)}
    for step, chances, times in zip(total.step.tolist(), probs, total.times.tolist(), strict=True):
        for _ in range(times):
            grown: dict[int, Fraction] = {}
            for value, weight in mass.items():
                for number, chance in enumerate(chances):
                    at = value + number * step
                    grown[at] = grown.get(at, Fraction(0)) + weight * chance
            mass = grown
    return mass


def check(got: Tail | None, mass: dict[int, Fraction], most: int, rel: float) -> None:
    assert got is not None
    at_most = float(sum((w for v, w in mass.items() if v <= most), Fraction(0)))
    below = float(sum((w for v, w in mass.items() if v < most), Fraction(0)))
    assert got.at_most == pytest.approx(at_most, rel=rel, abs=1e-300)
    assert got.below == pytest.approx(below, rel=rel, abs=1e-14 * at_most)


@given(STEPS, st.data())
def test_every_method_agrees_with_fractions(
    groups: list[tuple[int, int]], data: st.DataObject
) -> None:
    total = flips(groups)
    mass = brute(total, [[Fraction(1, 2)] * 2] * len(groups))
    most = data.draw(st.integers(0, int(total.span)))
    check(tails._dense(total, most), mass, most, 1e-13)
    check(tails._fourier(total, most), mass, most, 1e-9)
    check(partial_sums(total, most), mass, most, 1e-12)
    check(lower_tail(total, most), mass, most, 1e-9)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 9),
            st.lists(st.integers(1, 9), min_size=2, max_size=5),
            st.integers(1, 4),
        ),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_general_numbers_agree_with_fractions(
    groups: list[tuple[int, list[int], int]], data: st.DataObject
) -> None:
    exact = [[Fraction(w, sum(weights)) for w in weights] for _, weights, _ in groups]
    probs = np.zeros((len(groups), max(len(row) for row in exact)))
    for row, chances in enumerate(exact):
        probs[row, : len(chances)] = [float(chance) for chance in chances]
    total = Sum(
        step=np.array([step for step, _, _ in groups]),
        probs=probs,
        times=np.array([times for _, _, times in groups]),
    )
    mass = brute(total, exact)
    most = data.draw(st.integers(0, int(total.span)))
    check(tails._fourier(total, most), mass, most, 1e-9)
    check(partial_sums(total, most), mass, most, 1e-11)
    mirrored = {int(total.span) - value: weight for value, weight in mass.items()}
    check(tails._fourier(total.mirrored(), most), mirrored, most, 1e-9)


def test_a_tail_far_out_keeps_its_digits() -> None:
    total = flips([(2, 300), (3, 300)])
    mass = brute(total, [[Fraction(1, 2)] * 2] * 2)
    for most in (0, 2, 7, 100, 400, 700):
        check(tails._fourier(total, most), mass, most, 1e-9)


def test_large_steps_use_partial_sums() -> None:
    step = np.array([10**9 + 7, 10**9 + 9, 3 * 10**9, 10**10])
    total = flips([(int(s), 9) for s in step])
    got = lower_tail(total, int(total.span) // 2)
    assert got is not None
    assert got.method == "partial sums"
    assert got.at_most + got.below == pytest.approx(1.0, abs=1e-12)  # symmetric
    huge = Sum(step=step.astype(object) * 10**30, probs=total.probs, times=total.times)
    same = lower_tail(huge, int(huge.span) // 2)
    assert same is not None
    assert same.at_most == got.at_most


def test_a_window_narrower_than_the_span_loses_nothing() -> None:
    total = flips([(1, 20_000), (2, 30_000), (5, 9_000)])
    assert tails._window(total) < total.span / 10
    middle = int(total.span) // 2
    got = tails._fourier(total, middle - 1)
    assert got.at_most < 0.5
    whole = tails._fourier(total, middle)
    assert whole.at_most + got.at_most == pytest.approx(1.0 + (total.span % 2) * 0, abs=1e-10)
    sd = np.sqrt(np.sum(total.times * total.step.astype(float) ** 2)) / 2
    from scipy.stats import norm

    far = tails._fourier(total, int(middle - 4 * sd))
    assert far.at_most == pytest.approx(norm.cdf(-4), rel=0.01)


def test_sums_beyond_every_bound_give_none() -> None:
    rng = np.random.default_rng(1)
    step = rng.integers(2**50, 2**51, size=200)
    total = Sum(step=step, probs=np.full((200, 2), 0.5), times=np.ones(200, dtype=np.int64))
    assert lower_tail(total, int(total.span) // 3) is None


def test_values_outside_the_range() -> None:
    total = flips([(2, 3)])
    for most, expected in ((-1, 0.0), (99, 1.0)):
        got = lower_tail(total, most)
        assert got is not None
        assert (got.at_most, got.below) == (expected, expected)
