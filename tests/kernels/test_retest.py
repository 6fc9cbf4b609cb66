from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.retest import Components, components, draw_agreement, rejudged

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)

# kinds of cases, alike likely: chances of a trial's rate of passing draws
KINDS = (
    ((QUARTER, THIRD), (3 * QUARTER, 2 * THIRD)),
    ((Fraction(0), HALF), (HALF, HALF)),
)


def binomial(n: int, c: int, q: Fraction) -> Fraction:
    return comb(n, c) * q**c * (1 - q) ** (n - c)


def outcomes(draws: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Chance of the passing draws of the trials of one case."""
    out = {}
    for found in product(*(range(n + 1) for n in draws)):
        total = Fraction(0)
        for kind in KINDS:
            chance = HALF
            for n, c in zip(draws, found, strict=True):
                chance *= sum((w * binomial(n, c, q) for q, w in kind), Fraction(0))
            total += chance
        out[found] = total
    return out


@pytest.mark.parametrize(
    "design",
    [((2, 2), (2, 2)), ((2, 3), (2,)), ((1, 2), (3, 1)), ((2, 1), (2,), (1,))],
)
def test_components_are_unbiased_over_all_outcomes(design: tuple[tuple[int, ...], ...]) -> None:
    mean = [sum((q * w for q, w in kind), Fraction(0)) for kind in KINDS]
    square = [sum((q * q * w for q, w in kind), Fraction(0)) for kind in KINDS]
    noise = [sum((q * (1 - q) * w for q, w in kind), Fraction(0)) for kind in KINDS]
    truth = (
        (mean[0] - mean[1]) ** 2 / 4,
        sum(s - m**2 for s, m in zip(square, mean, strict=True)) / 2,
        sum(noise) / 2,
    )
    case = np.repeat(np.arange(len(design)), [len(cell) for cell in design])
    n = np.array([draws for cell in design for draws in cell])
    expected = np.zeros(3)
    for picked in product(*(outcomes(cell).items() for cell in design)):
        chance = np.prod([float(weight) for _, weight in picked])
        c = np.array([draws for cell, _ in picked for draws in cell])
        got = components(case, n, c)
        expected += chance * np.array([got.case, got.trial, got.draw])
    np.testing.assert_allclose(expected, [float(x) for x in truth], atol=1e-12)


def test_balanced_components_are_nested_analysis_of_variance() -> None:
    rng = np.random.default_rng(0)
    cases, trials, draws = 6, 4, 3
    y = (rng.random((cases, trials, draws)) < 0.5).astype(float)
    within = y.var(axis=2, ddof=1).mean()
    middle = draws * y.mean(axis=2).var(axis=1, ddof=1).mean()
    outer = trials * draws * y.mean(axis=(1, 2)).var(ddof=1)
    case = np.repeat(np.arange(cases), trials)
    got = components(case, np.full(len(case), draws), y.sum(axis=2).ravel().astype(int))
    assert got.draw == pytest.approx(within, abs=1e-14)
    assert got.trial == pytest.approx((middle - within) / draws, abs=1e-14)
    assert got.case == pytest.approx((outer - middle) / (trials * draws), abs=1e-14)


def test_what_is_not_identified_is_nan() -> None:
    one = components(np.array([0, 1]), np.array([2, 2]), np.array([1, 2]))
    assert np.isnan(one.trial)
    assert one.case == pytest.approx(0.125 - 0.25 / 2)
    single = components(np.array([0, 0]), np.array([1, 1]), np.array([1, 0]))
    assert np.isnan(single.draw)
    assert np.isnan(single.case)


def test_reliability_is_spearman_brown() -> None:
    split = Components(case=0.1, trial=-0.02, draw=0.1)
    one, two = split.reliability(np.array([1.0, 2.0]))
    assert one == pytest.approx(0.5)
    assert two == pytest.approx(2 * one / (1 + one))
    assert np.isnan(Components(case=0.0, trial=0.0, draw=0.0).reliability(np.ones(1))).all()


TRIALS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=12
).map(lambda rows: [(unit, n, min(c, n)) for unit, n, c in sorted(rows)])


@given(st.integers(2, 6), st.lists(st.integers(0, 6), min_size=2, max_size=15))
def test_kappa_is_that_of_statsmodels(n: int, passes: list[int]) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    c = np.minimum(passes, n)
    got = draw_agreement(
        np.arange(len(c)), np.full(len(c), n), c, np.random.default_rng(0), resamples=5
    )
    if c.sum() in {0, n * len(c)}:
        assert np.isnan(got.kappa)
    else:
        assert got.kappa == pytest.approx(fleiss_kappa(np.stack([c, n - c], axis=1)), abs=1e-12)


@given(TRIALS)
def test_agreement_is_that_of_pairs_of_draws(rows: list[tuple[int, int, int]]) -> None:
    unit, n, c = np.array(rows).T
    shares = []
    for _, draws, passes in rows:
        y = [1] * passes + [0] * (draws - passes)
        pairs = [(i, j) for i in range(draws) for j in range(draws) if i != j]
        if pairs:
            shares.append(Fraction(sum(y[i] == y[j] for i, j in pairs), len(pairs)))
    got = draw_agreement(unit, n, c, np.random.default_rng(0), resamples=20)
    assert got.trials == len(shares)
    if shares:
        assert got.observed == pytest.approx(float(sum(shares) / len(shares)), abs=1e-12)
    else:
        assert np.isnan(got.observed)


@given(TRIALS)
def test_rows_and_names_do_not_matter(rows: list[tuple[int, int, int]]) -> None:
    unit, n, c = np.array(rows).T
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    expected = draw_agreement(unit, n, c, np.random.default_rng(3), resamples=50)
    got = draw_agreement(
        7 - unit[order], n[order], c[order], np.random.default_rng(3), resamples=50
    )
    for name in ("low", "high", "kappa"):
        assert getattr(got, name) == pytest.approx(getattr(expected, name), abs=1e-9, nan_ok=True)


def test_the_bootstrap_resamples_units() -> None:
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(40), 5)
    rate = np.repeat(rng.beta(0.5, 0.5, 40), 5)
    n = np.full(200, 3)
    c = rng.binomial(n, rate)
    got = draw_agreement(unit, n, c, np.random.default_rng(0), resamples=4000)
    draws = []
    for _ in range(2000):
        pick = np.concatenate([np.arange(5) + 5 * u for u in rng.integers(0, 40, 40)])
        q, f = c[pick].mean() / 3, 3 - c[pick]
        agree = ((c[pick] * (c[pick] - 1) + f * (f - 1)) / 6).mean()
        draws.append(1 - (1 - agree) / (2 * q * (1 - q)))
    assert got.low == pytest.approx(np.quantile(draws, 0.025), abs=0.02)
    assert got.high == pytest.approx(np.quantile(draws, 0.975), abs=0.02)
    assert got.units == 40


def test_the_noise_of_a_mean_is_unbiased_over_all_draws() -> None:
    case, n = np.array([0, 0, 1]), np.array([2, 3, 2])
    q = [QUARTER, HALF, 2 * THIRD]
    size = [2, 2, 1]
    truth = sum(p * (1 - p) / m / (2 * t) ** 2 for p, m, t in zip(q, n.tolist(), size, strict=True))
    once = sum(p * (1 - p) / (2 * t) ** 2 for p, t in zip(q, size, strict=True))
    expected = np.zeros(2)
    for c in product(*(range(m + 1) for m in n)):
        chance = np.prod([float(binomial(int(m), x, p)) for m, x, p in zip(n, c, q, strict=True)])
        got = rejudged(case, n, np.array(c))
        expected += chance * np.array([got.variance, got.one_draw])
    np.testing.assert_allclose(expected, [float(truth), float(once)], atol=1e-12)


def test_trials_with_one_draw_borrow_the_mean_noise() -> None:
    got = rejudged(np.array([0, 1]), np.array([2, 1]), np.array([1, 1]))
    assert got.pooled == 1
    assert got.variance == pytest.approx((0.5 / 2 + 0.5) / 4)
    assert np.isnan(rejudged(np.array([0]), np.array([1]), np.array([1])).variance)
