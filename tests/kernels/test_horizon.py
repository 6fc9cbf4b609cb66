"""Logistic fits in batches, and resamples of families, cases and trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.horizon import horizons, logistic, nested_resamples


def test_fits_agree_with_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, 40)
    n = rng.integers(1, 6, 40)
    c = rng.binomial(n, 1 / (1 + np.exp(x - 3)))
    fit = sm.GLM(np.column_stack([c, n - c]), sm.add_constant(x), sm.families.Binomial()).fit()
    found = logistic(x, c[None].astype(float), n[None].astype(float), 0.0)
    assert found.converged.all()
    assert (found.intercept[0], found.slope[0]) == pytest.approx(tuple(fit.params), rel=1e-6)


def test_a_batch_is_its_fits_one_by_one() -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(size=15))
    total = rng.random((20, 15))
    passes = total * rng.random((20, 15))
    whole = logistic(x, passes, total, 1e-3)
    for b in range(20):
        alone = logistic(x, passes[b : b + 1], total[b : b + 1], 1e-3)
        assert whole.slope[b] == pytest.approx(alone.slope[0], rel=1e-8)


@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=10),
    st.sampled_from([1e-5, 1e-2]),
)
def test_the_slope_of_the_loss_is_zero(passes: list[int], ridge: float) -> None:
    x = np.linspace(0, 6, len(passes))
    share = np.array(passes, dtype=float)[None] / 4
    found = logistic(x, share, np.ones_like(share), ridge)
    assert found.converged.all()
    if found.one_class[0]:
        assert found.slope[0] == 0
        assert np.isinf(found.intercept[0])
        return
    p = 1 / (1 + np.exp(-(found.intercept[0] + found.slope[0] * x)))
    gap = (share[0] - p) / len(passes)
    assert abs(gap.sum()) < 1e-7
    assert abs(gap @ x - ridge * found.slope[0]) < 1e-6


def test_one_class_and_rising_fits_have_an_end() -> None:
    x = np.array([0.0, 1.0, 2.0])
    passes = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
    fits = logistic(x, passes, np.ones((4, 3)), 1e-3)
    found = horizons(fits, 0.8, passes.mean(axis=1))
    assert found[:3].tolist() == [-np.inf, np.inf, -np.inf]
    assert 0 < found[3] < 1
    assert fits.one_class.tolist() == [True, True, False, False]


@pytest.mark.parametrize("levels", [("family", "case", "trial"), ("case",), ("family",), ()])
def test_resamples_keep_sizes_and_means(levels: tuple[str, ...]) -> None:
    family = np.array([0, 0, 0, 1, 2, 2])
    n, c = np.array([4, 2, 3, 5, 1, 4]), np.array([1, 2, 0, 3, 1, 2])
    copies, rates = nested_resamples(family, n, c, 4000, np.random.default_rng(0), levels)
    if "family" not in levels:
        assert (copies.sum(axis=1) == 6).all()
    assert copies.mean(axis=0) == pytest.approx(np.ones(6), abs=0.07)
    assert rates.mean(axis=0) == pytest.approx(c / n, abs=0.07)
    assert (rates <= copies + 1e-12).all()
    if not levels:
        assert (copies == 1).all()
        assert rates[0] == pytest.approx(c / n)


def test_a_family_that_is_drawn_brings_as_many_cases_as_it_has() -> None:
    family = np.repeat([0, 1], [4, 1])
    n, c = np.full(5, 2), np.array([0, 1, 2, 1, 1])
    copies, _ = nested_resamples(family, n, c, 500, np.random.default_rng(1))
    first, second = copies[:, :4].sum(axis=1), copies[:, 4]
    assert (first / 4 + second == 2).all()
