from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from trialframe.errors import ArgumentError
from trialframe.kernels import histogram as histograms
from trialframe.kernels import resample
from trialframe.kernels.draws import any_passes, drawn
from trialframe.kernels.histogram import histogram, resampled_counts
from trialframe.kernels.resample import (
    Bootstrap,
    bootstrap_mean,
    quantile_rank,
    resampled_means,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Golden = Callable[[str], list[dict[str, Any]]]

SEEDS = st.integers(0, 2**32 - 1)


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def exact_means(units: Sequence[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """Means of all len(units)^len(units) resamples, ascending."""
    draws = product(units, repeat=len(units))
    return sorted(sum(s for s, _ in draw) / sum(w for _, w in draw) for draw in draws)


def atoms_around(means: list[Fraction], share: Fraction) -> list[float]:
    """The exact inverse-CDF quantile with the atoms next to it."""
    quantile = means[ceil(share * len(means)) - 1]
    distinct = sorted(set(means))
    at = distinct.index(quantile)
    return [float(atom) for atom in distinct[max(at - 1, 0) : at + 2]]


def near(value: float, atoms: list[float]) -> bool:
    return any(value == pytest.approx(atom, abs=1e-12) for atom in atoms)


def check(got: Bootstrap, units: list[tuple[Fraction, Fraction]], sd: float) -> None:
    means = exact_means(units)
    assert near(got.low, atoms_around(means, Fraction(1, 40)))
    assert near(got.high, atoms_around(means, Fraction(39, 40)))
    assert got.se == pytest.approx(sd, rel=0.03)


def test_paired_bootstrap_golden(golden: Golden) -> None:
    for entry in golden("paired_bootstrap_exact"):
        d, expected = np.array(entry["inputs"]["d"]), entry["expected"]
        got = bootstrap_mean(d, seeded())
        assert got.mean == pytest.approx(expected["mean"], abs=1e-12)
        assert got.low == pytest.approx(expected["q025"], abs=1e-12)
        assert got.high == pytest.approx(expected["q975"], abs=1e-12)
        check(got, [(Fraction(x), Fraction(1)) for x in d], expected["boot_sd"])


def test_cluster_bootstrap_golden(golden: Golden) -> None:
    for entry in golden("cluster_bootstrap_exact"):
        groups, expected = list(entry["inputs"]["clusters"].values()), entry["expected"]
        d = np.concatenate(groups)
        cluster = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        got = bootstrap_mean(d, seeded(), cluster=cluster)
        assert got.mean == pytest.approx(expected["mean"], abs=1e-12)
        units = [(Fraction(sum(group)), Fraction(len(group))) for group in groups]
        check(got, units, expected["boot_sd"])
        assert near(expected["q025"], atoms_around(exact_means(units), Fraction(1, 40)))


def test_pass_at_k_bootstrap_golden(golden: Golden) -> None:
    for entry in golden("pass_at_k_bootstrap_cases_exact"):
        inputs, expected = entry["inputs"], entry["expected"]
        c = np.array(inputs["c"])
        u = drawn(np.full(len(c), inputs["n"]), c, inputs["k"], any_passes)
        got = bootstrap_mean(u, seeded())
        assert [got.mean, got.low, got.high] == pytest.approx(
            [expected["mean"], expected["q025"], expected["q975"]], abs=1e-12
        )
        assert got.se == pytest.approx(expected["boot_sd"], rel=0.03)


@pytest.mark.parametrize("way", ["_counted", "_gathered"])
def test_resampled_means_have_the_exact_distribution(way: str) -> None:
    # two clusters of two cases, one of one: ratios, not means of means
    units = histogram(np.array([1.0, 0, 0, 1, 1, 1]), cluster=np.array([0, 0, 1, 1, 2, 3]))
    columns = np.column_stack([units.sums, units.sizes])
    sums, sizes = getattr(histograms, way)(units, columns, 60_000, seeded(1)).T
    single = [
        (Fraction(s), Fraction(w))
        for s, w, m in zip(units.sums, units.sizes, units.multiplicity, strict=True)
        for _ in range(m)
    ]
    exact, weight = np.unique([float(m) for m in exact_means(single)], return_counts=True)
    drawn_ = np.searchsorted(exact, sums / sizes - 1e-9)
    observed = np.bincount(drawn_, minlength=len(exact))
    assert stats.chisquare(observed, weight / weight.sum() * 60_000).pvalue > 1e-4


@given(seed=SEEDS, method=st.sampled_from(resample.METHODS), grouped=st.booleans())
@settings(max_examples=40)
def test_order_and_names_cannot_change_a_bit(seed: int, method: str, *, grouped: bool) -> None:
    rng = seeded(seed)
    d = rng.integers(-3, 4, 30) / 3
    cluster, w = rng.integers(0, 8, 30), rng.integers(1, 4, 30) * 1.0
    order, names = rng.permutation(30), rng.permutation(50)
    first, second = (
        bootstrap_mean(
            values,
            seeded(5),
            weights,
            groups if grouped else None,
            resamples=500,
            method=method,
        )
        for values, weights, groups in (
            (d, w, cluster),
            (d[order], w[order], names[cluster[order]]),
        )
    )
    assert first == second


@example(thirds=[0, 1, 1, -1, -1], method="percentile")
@given(
    thirds=st.lists(st.integers(-3, 3), min_size=2, max_size=12),
    method=st.sampled_from(resample.METHODS),
)
@settings(max_examples=60)
def test_swapping_the_sides_mirrors_the_interval(thirds: list[int], method: str) -> None:
    d = np.array(thirds) / 3
    there, back = (bootstrap_mean(x, seeded(), resamples=400, method=method) for x in (d, -d))
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)
    assert (there.se, there.method) == (back.se, back.method)


def test_batches_cannot_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for units in (histogram(np.arange(100) % 4 / 3.0), histogram(seeded(2).random(50))):
        whole = resampled_means(units, 200, seeded())
        with monkeypatch.context() as patch:
            patch.setattr(histograms, "_CELLS", 333)
            np.testing.assert_allclose(resampled_means(units, 200, seeded()), whole, rtol=1e-13)


def test_values_apart_by_rounding_are_one_unit() -> None:
    d = np.array([2 / 3 - 1 / 3, 1 / 3, 1 - 2 / 3, 0.0])
    units = histogram(d)
    assert units.multiplicity.tolist() == [1, 3]


def test_a_mean_of_zero_is_exactly_zero() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in floats, and a bound of 5e-17 would exclude 0
    means = resampled_means(histogram(np.array([0.1, 0.2, -0.3])), 2000, seeded())
    close = np.abs(means) < 1e-9
    assert close.any()
    assert (means[close] == 0.0).all()


def test_missing_and_weightless_cases_are_absent() -> None:
    d, w = np.array([0.0, 1, np.nan, 0.5, 1]), np.array([1.0, 1, 1, 0, 2])
    keep = np.array([True, True, False, False, True])
    assert bootstrap_mean(d, seeded(), w) == bootstrap_mean(d[keep], seeded(), w[keep])


def test_weights_make_a_ratio() -> None:
    d, w = np.array([0.0, 1, 1, 0, 1]), np.array([1.0, 2, 1, 3, 1])
    got = bootstrap_mean(d, seeded(), w)
    assert got.mean == pytest.approx(0.5)
    means = exact_means([(Fraction(x * y), Fraction(y)) for x, y in zip(d, w, strict=True)])
    assert near(got.low, atoms_around(means, Fraction(1, 40)))
    assert near(got.high, atoms_around(means, Fraction(39, 40)))


def test_bca_agrees_with_scipy_on_a_smooth_sample() -> None:
    x = seeded(3).gamma(1.0, size=60)
    got = bootstrap_mean(x, seeded(), resamples=20_000, method="bca")
    expected = stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, method="BCa", rng=seeded(1)
    ).confidence_interval
    assert got.method == "bca"
    assert not got.fallback
    assert got.low == pytest.approx(expected.low, abs=0.02)
    assert got.high == pytest.approx(expected.high, abs=0.02)


def test_bca_moves_with_the_skew() -> None:
    x = seeded(4).gamma(0.5, size=40)
    plain, moved = (bootstrap_mean(x, seeded(), method=m) for m in ("percentile", "bca"))
    assert moved.low > plain.low
    assert moved.high > plain.high


@pytest.mark.parametrize("method", resample.METHODS)
def test_equal_values_have_no_width_and_say_so(method: str) -> None:
    got = bootstrap_mean(np.full(6, 1 / 3), seeded(), method=method)
    assert (got.low, got.mean, got.high, got.se) == (1 / 3, 1 / 3, 1 / 3, 0.0)
    assert got.degenerate
    assert got.fallback == (method != "percentile")
    assert got.method == "percentile"


def test_clusters_with_equal_means_are_degenerate() -> None:
    d, cluster = np.array([0.0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 1, 1])
    assert bootstrap_mean(d, seeded(), cluster=cluster).degenerate


def test_bca_without_a_rank_falls_back() -> None:
    # a single resample is all below, at or above the mean
    got = bootstrap_mean(seeded(1).random(9), seeded(), resamples=1, method="bca")
    assert got.fallback
    assert got.method == "percentile"


@pytest.mark.parametrize("d", [[], [0.5], [0.5, np.nan]])
def test_fewer_than_two_units_have_no_interval(d: list[float]) -> None:
    got = bootstrap_mean(np.array(d), seeded())
    assert np.isnan([got.low, got.high, got.se]).all()
    assert got.units == min(len(d), 1)
    one = bootstrap_mean(np.array([0.0, 1.0]), seeded(), cluster=np.zeros(2, dtype=int))
    assert np.isnan(one.low)
    assert one.mean == 0.5


def test_rank_is_not_moved_by_rounding() -> None:
    assert quantile_rank((1 - 0.95) / 2, 10_000) == 250
    assert quantile_rank((1 - 0.9) / 2, 1000) == 50
    assert quantile_rank(0.0251, 10_000) == 251
    assert quantile_rank(0.0, 10) == 1
    assert quantile_rank(1.0, 10) == 10


def test_resampled_counts_hold_every_unit() -> None:
    counts = resampled_counts(np.array([3, 1, 6]), 1000, seeded())
    assert (counts.sum(axis=1) == 10).all()
    np.testing.assert_allclose(counts.mean(axis=0), [3, 1, 6], atol=0.2)


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'bca'"):
        bootstrap_mean(np.array([0.0, 1.0]), seeded(), method="bcas")


def test_the_studentised_interval_is_the_textbook_one() -> None:
    d = seeded(3).integers(-2, 3, 40) / 2.0
    got = bootstrap_mean(d, seeded(1), resamples=4000, method="studentised")
    rng = seeded(9)
    draws = d[rng.integers(40, size=(20_000, 40))]
    ratios = (draws.mean(axis=1) - d.mean()) / (draws.std(axis=1, ddof=1) / np.sqrt(40))
    low, high = np.quantile(ratios, [0.025, 0.975])
    se = d.std(ddof=1) / np.sqrt(40)
    assert got.low == pytest.approx(d.mean() - se * high, abs=0.03 * se * 3)
    assert got.high == pytest.approx(d.mean() - se * low, abs=0.03 * se * 3)
    assert (got.method, got.fallback) == ("studentised", False)


def test_a_studentised_interval_that_has_no_end_falls_back() -> None:
    # most resamples of one change in five hold no change at all: no spread, an infinite ratio
    got = bootstrap_mean(np.array([1.0, 0, 0, 0, 0]), seeded(), method="studentised")
    assert got.fallback
    assert got.method == "percentile"
