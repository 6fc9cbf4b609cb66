from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialframe.errors import ArgumentError
from trialframe.kernels.means import VARIANTS, ClusteredMean, clustered_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

FIELDS = ("mean", "se", "df", "units", "cases", "largest_share", "unseen_share")
SEEDS = st.integers(0, 2**32 - 1)


def by_matrix(
    u: np.ndarray, w: np.ndarray, cluster: np.ndarray, stratum: np.ndarray
) -> tuple[float, float, float]:
    """Mean, CR2 SE and Satterthwaite df from the C x M matrix that maps values to S_g."""
    groups = np.unique(cluster)
    maps = np.zeros((len(groups), len(u)))
    for row, group in enumerate(groups):
        for j in range(len(u)):
            inside = stratum == stratum[j]
            share = w[inside & (cluster == group)].sum() / w[inside].sum()
            maps[row, j] = w[j] * ((cluster[j] == group) - share)
    covariance = maps @ maps.T
    squares = np.array([(w[cluster == group] ** 2).sum() for group in groups])
    own = np.diag(covariance)
    seen = own > 1e-12 * squares
    leverage = np.where(seen, squares / np.where(seen, own, 1.0), 0.0)
    variance = (leverage * (maps @ u) ** 2).sum()
    expected = (leverage * own).sum()
    spread = (np.outer(leverage, leverage) * covariance**2).sum()
    if not seen.any():
        return (w @ u) / w.sum(), np.nan, np.nan
    return (w @ u) / w.sum(), np.sqrt(variance) / w.sum(), expected**2 / spread


def same(one: ClusteredMean, two: ClusteredMean) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-13, err_msg=name
        )


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def codes(names: list[str]) -> np.ndarray:
    return np.unique(names, return_inverse=True)[1]


def test_cr2_golden(golden: Golden) -> None:
    for entry in golden("clustered_mean_cr2"):
        scores, cluster = entry["inputs"]["scores"], codes(entry["inputs"]["clusters"])
        got = clustered_mean(column(*scores), np.ones(len(scores)), cluster)
        expected, tolerance = entry["expected"], entry["tolerance"]
        assert got.mean[0] == pytest.approx(expected["mean"], abs=tolerance)
        assert got.se[0] == pytest.approx(expected["se_cr2"], abs=tolerance)
        assert got.df[0] == pytest.approx(expected["df_satterthwaite"], abs=tolerance)
        assert got.units[0] == expected["n_clusters"]
        assert got.largest_share[0] == pytest.approx(expected["largest_share"], abs=tolerance)


def test_other_variants_golden(golden: Golden) -> None:
    for entry in golden("clustered_se"):
        scores, cluster = entry["inputs"]["scores"], codes(entry["inputs"]["clusters"])
        expected = entry["expected"]
        for variant, name in (
            ("cr0", "se_cluster_cr0"),
            ("cr1", "se_cluster_cr1"),
            ("miller", "se_clustered_miller"),
            ("clt", "se_clt"),
        ):
            got = clustered_mean(column(*scores), np.ones(len(scores)), cluster, variant=variant)
            assert got.se[0] == pytest.approx(expected[name], abs=entry["tolerance"])
        got = clustered_mean(column(*scores), np.ones(len(scores)), cluster, variant="cr1")
        assert got.df[0] == expected["df"]


def test_paired_se_golden(golden: Golden) -> None:
    for entry in golden("paired_se"):
        inputs, expected = entry["inputs"], entry["expected"]
        a, b = (np.array(inputs[name], dtype=float) for name in sorted(inputs)[:2])
        got = clustered_mean((b - a)[:, None], np.ones(len(a)))
        wanted = expected["se_paired"] if isinstance(expected, dict) else expected
        assert got.se[0] == pytest.approx(wanted, abs=entry["tolerance"])


@example(seed=46923068, strata=4, nested=True)  # one cluster holds 99.6 % of its stratum
@given(seed=SEEDS, strata=st.integers(1, 4), nested=st.booleans())
def test_cr2_equals_the_matrix_route(seed: int, strata: int, *, nested: bool) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 25))
    u, w = rng.normal(size=m), rng.gamma(1.0, size=m) + 0.01
    stratum = rng.integers(0, strata, m)
    cluster = rng.integers(0, 7, m) + (100 * stratum if nested else 0)
    got = clustered_mean(u[:, None], w, cluster, stratum)
    expected = by_matrix(u, w, cluster, stratum)
    if len(np.unique(cluster)) < 2:
        assert np.isnan(got.se[0])
    else:
        np.testing.assert_allclose([got.mean[0], got.se[0], got.df[0]], expected, rtol=1e-9)


@given(seed=SEEDS, nested=st.booleans())
def test_weights_of_very_different_size_keep_their_digits(seed: int, *, nested: bool) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 25))
    u, w = rng.normal(size=m), 10.0 ** rng.uniform(-2, 2, size=m)
    stratum = rng.integers(0, 3, m)
    cluster = rng.integers(0, 5, m) + (100 * stratum if nested else 0)
    got = clustered_mean(u[:, None], w, cluster, stratum)
    expected = by_matrix(u, w, cluster, stratum)
    if len(np.unique(cluster)) > 1:
        np.testing.assert_allclose(got.df[0], expected[2], rtol=1e-11)
        np.testing.assert_allclose(got.se[0], expected[1], rtol=1e-7)


@given(seed=SEEDS)
def test_equal_weights_give_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 6, 40)
    u = rng.random(40)
    size = np.bincount(cluster, minlength=6)[np.unique(cluster)]
    w = size / 40
    q = w**2 / (1 - w)
    sums = np.array([(u - u.mean())[cluster == g].sum() for g in np.unique(cluster)])
    got = clustered_mean(u[:, None], np.full(40, 3.0), cluster)
    assert got.se[0] == pytest.approx(np.sqrt((sums**2 / (1 - w)).sum()) / 40)
    assert got.df[0] == pytest.approx(1 / ((w**2).sum() + q.sum() ** 2 - (q**2).sum()))
    assert got.largest_share[0] == pytest.approx(w.max())


@pytest.mark.parametrize("variant", VARIANTS)
def test_own_clusters_give_the_plain_standard_error(variant: str) -> None:
    u = np.random.default_rng(1).random((30, 2))
    got = clustered_mean(u, np.ones(30), variant=variant)
    expected = u.std(axis=0, ddof=0 if variant == "cr0" else 1) / np.sqrt(30)
    np.testing.assert_allclose(got.se, expected)
    np.testing.assert_allclose(got.df, 29)
    assert got.units.tolist() == got.cases.tolist() == [30, 30]


def test_equal_clusters_give_cr1() -> None:
    u = np.random.default_rng(2).random((20, 1))
    cluster = np.repeat(np.arange(5), 4)
    two, one = (clustered_mean(u, np.ones(20), cluster, variant=v) for v in ("cr2", "cr1"))
    np.testing.assert_allclose(two.se, one.se)
    np.testing.assert_allclose(two.df, [4.0])


@given(seed=SEEDS, variant=st.sampled_from(VARIANTS))
def test_order_names_and_scale_do_not_matter(seed: int, variant: str) -> None:
    rng = np.random.default_rng(seed)
    m = 20
    u, w = rng.random((m, 3)), rng.random(m) + 0.1
    u[rng.random((m, 3)) < 0.2] = np.nan
    cluster, stratum = rng.integers(0, 6, m), rng.integers(0, 2, m)
    got = clustered_mean(u, w, cluster, stratum, variant)
    order, names = rng.permutation(m), rng.permutation(100)
    same(
        got,
        clustered_mean(u[order], w[order], names[cluster[order]], -stratum[order], variant),
    )
    same(got, clustered_mean(u, 7.0 * w, cluster.astype(np.uint32), stratum, variant))


@given(seed=SEEDS)
def test_missing_values_and_zero_weights_are_absent_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k = 20, 4
    u, w = rng.random((m, k)), rng.random(m) + 0.1
    w[rng.random(m) < 0.2] = 0.0
    u[rng.random((m, k)) < 0.3] = np.nan
    cluster, stratum = rng.integers(0, 6, m), rng.integers(0, 3, m)
    got = clustered_mean(u, w, cluster, stratum)
    for j in range(k):
        keep = ~np.isnan(u[:, j]) & (w > 0)
        alone = clustered_mean(u[keep, j : j + 1], w[keep], cluster[keep], stratum[keep])
        for name in FIELDS:
            np.testing.assert_allclose(getattr(got, name)[j], getattr(alone, name)[0], rtol=1e-9)


def test_clt_ignores_clusters() -> None:
    u, w = np.random.default_rng(3).random((12, 1)), np.ones(12)
    same(
        clustered_mean(u, w, np.repeat([0, 1], 6), variant="clt"),
        clustered_mean(u, w),
    )


def test_equal_rows_of_one_cluster_merge_in_the_cluster_sums() -> None:
    # CR0 sees only S_g: a case counted twice is a case of weight two
    u, w, cluster = column(1, 0, 0.5), np.ones(3), np.array([0, 1, 2])
    twice = clustered_mean(
        np.repeat(u, 2, axis=0), np.ones(6), np.repeat(cluster, 2), variant="cr0"
    )
    once = clustered_mean(u, 2 * w, cluster, variant="cr0")
    np.testing.assert_allclose(twice.se, once.se)


def test_constant_values_have_no_spread_and_an_exact_mean() -> None:
    u = np.column_stack([np.ones(7), np.full(7, 0.1), np.full(7, 1 / 3)])
    got = clustered_mean(u, np.array([0.3, 0.1, 0.7, 1.1, 0.2, 0.9, 0.4]))
    assert got.mean.tolist() == [1.0, 0.1, 1 / 3]
    assert got.se.tolist() == [0.0, 0.0, 0.0]
    assert (got.df > 1).all()


@pytest.mark.parametrize("rows", [30, 300, 3000])
def test_differences_that_cancel_have_the_mean_zero(rows: int) -> None:
    made = np.random.default_rng(rows)
    thirds = made.integers(0, 4, rows) / 3
    difference = made.permutation(thirds) - thirds
    fit = clustered_mean(np.column_stack([difference, difference + 1e-12]), np.ones(rows))
    assert fit.mean[0] == 0.0
    assert fit.mean[1] == pytest.approx(1e-12, rel=1e-3)
    small = clustered_mean(np.array([[1e-20], [0.0], [3.0]]), np.array([1.0, 1.0, 1e-20]))
    assert small.mean[0] > 0.0


def test_large_offsets_keep_the_spread() -> None:
    noise = np.random.default_rng(4).normal(size=(50, 1))
    cluster = np.repeat(np.arange(10), 5)
    near = clustered_mean(noise, np.ones(50), cluster)
    far = clustered_mean(noise + 1e9, np.ones(50), cluster)
    np.testing.assert_allclose(far.se, near.se, rtol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_unit_has_no_standard_error(variant: str) -> None:
    cluster = None if variant == "clt" else np.zeros(1, dtype=int)
    got = clustered_mean(column(0.4), np.ones(1), cluster, variant=variant)
    assert got.mean.tolist() == [0.4]
    assert np.isnan(got.se[0])
    assert np.isnan(got.df[0])
    assert got.largest_share.tolist() == [1.0]


def test_one_cluster_has_no_standard_error() -> None:
    got = clustered_mean(column(1, 0, 1), np.ones(3), np.zeros(3, dtype=int))
    assert np.isnan(got.se[0])
    assert got.units.tolist() == [1]
    assert got.cases.tolist() == [3]


def test_nothing_at_all() -> None:
    for u, w in ((np.empty((0, 2)), np.empty(0)), (np.ones((3, 2)), np.zeros(3))):
        got = clustered_mean(u, w)
        assert np.isnan(got.mean).all()
        assert got.units.tolist() == [0, 0]
    got = clustered_mean(column(np.nan, np.nan, np.nan), np.ones(3))
    assert np.isnan([got.mean[0], got.se[0], got.largest_share[0], got.unseen_share[0]]).all()


def test_a_cluster_that_fills_its_stratum_is_reported_as_unseen() -> None:
    u, w = column(1, 0, 1, 0, 1, 1), np.full(6, 1 / 6)
    stratum = np.array([0, 0, 0, 0, 1, 1])
    got = clustered_mean(u, w, np.array([0, 1, 2, 3, 9, 9]), stratum)
    assert got.unseen_share[0] == pytest.approx(1 / 3)
    assert np.isfinite(got.se[0])
    alone = clustered_mean(u, w, stratum, stratum)
    assert np.isnan(alone.se[0])
    assert alone.unseen_share.tolist() == [1.0]


def test_unknown_variant_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'cr2'"):
        clustered_mean(column(1, 0), np.ones(2), variant="cr22")
