from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.means import clustered_mean
from trialframe.kernels.ppi import (
    Part,
    Sample,
    best_lambda,
    post_stratified_lambda,
    ppi_mean,
    stacked,
    variance_ratio,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

Z = 1.959963984540054
BITS = st.integers(0, 1)


def array(values: Any) -> Any:
    return np.array(values, dtype=np.float64)


@st.composite
def samples(draw: Any) -> Sample:
    n, more = draw(st.integers(3, 25)), draw(st.integers(0, 40))
    y, f, u = (draw(st.lists(BITS, min_size=k, max_size=k)) for k in (n, n, more))
    codes = draw(st.none() | st.lists(st.integers(0, 9), min_size=n + more, max_size=n + more))
    cluster = None if codes is None else np.array(codes)
    return Sample(y=array(y), f=array(f), unlabelled=array(u), cluster=cluster)


def test_plus_plus_golden(golden: Golden) -> None:
    for entry in golden("ppi_plus_plus_mean"):
        given_, near = entry["inputs"], {"abs": entry["tolerance"]}
        sample = Sample(
            y=array(given_["y"]),
            f=array(given_["f_labeled"]),
            unlabelled=array(given_["f_unlabeled"]),
        )
        for lam, name in ((None, "plugin_opt"), (1.0, "lambda_1"), (0.0, "classical")):
            got, wanted = ppi_mean(sample, lam), entry["expected"][name]
            assert got.value == pytest.approx(wanted["theta"], **near)
            assert got.se == pytest.approx(wanted["se"], **near)
            assert got.value - Z * got.se == pytest.approx(wanted["interval"][0], **near)
        assert best_lambda(sample) == pytest.approx(entry["expected"]["lambda_plugin_opt"], **near)
        pooled = ppi_mean(sample, entry["expected"]["lambda_ppi_py"])
        assert pooled.value == pytest.approx(entry["expected"]["ppi_py"]["theta"], **near)


def test_never_wider_golden(golden: Golden) -> None:
    for entry in golden("ppi_never_wider"):
        given_, wanted = entry["inputs"], entry["expected"]
        ones, zeros = given_["f_unlabeled_ones"], given_["f_unlabeled_zeros"]
        sample = Sample(
            y=array(given_["y"]),
            f=array(given_["f_labeled"]),
            unlabelled=np.repeat([1.0, 0.0], [ones, zeros]),
        )
        got, near = ppi_mean(sample), {"abs": entry["tolerance"]}
        assert got.labels_se == pytest.approx(wanted["se_labels_only"], **near)
        assert got.lam == pytest.approx(wanted["lambda_plugin_opt"], **near)
        assert got.se == pytest.approx(wanted["se_lambda_plugin_opt"], **near)
        assert ppi_mean(sample, wanted["lambda_pooled"]).se == pytest.approx(
            wanted["se_lambda_pooled"], **near
        )
        assert variance_ratio(sample.f, sample.unlabelled) > 2


def test_all_cases_are_the_same_family_golden(golden: Golden) -> None:
    entry = golden("ppi_plus_plus_mean")[0]["inputs"]
    y, f, u = (array(entry[name]) for name in ("y", "f_labeled", "f_unlabeled"))
    for case in golden("ppi_all_cases_equivalence"):
        lam, n, more = (case["inputs"][name] for name in ("lambda_unlabeled", "n", "N"))
        every = lam * (more + n) / more
        assert every == pytest.approx(case["expected"]["lambda_all"], abs=1e-12)
        got = y.mean() + every * (np.concatenate([f, u]).mean() - f.mean())
        ours = ppi_mean(Sample(y=y, f=f, unlabelled=u), lam).value
        assert ours == pytest.approx(got, abs=1e-12)
        assert ours == pytest.approx(case["expected"]["theta_via_unlabeled"], abs=1e-12)


def test_two_runs_golden(golden: Golden) -> None:
    for entry in golden("ppi_two_run_delta"):
        data = {name: array(values) for name, values in entry["inputs"].items()}
        near, wanted = {"abs": entry["tolerance"]}, entry["expected"]
        paired = ppi_mean(
            Sample(
                y=data["y_b"] - data["y_a"],
                f=data["f_b"] - data["f_a"],
                unlabelled=data["u_b"] - data["u_a"],
            )
        )
        assert paired.lam == pytest.approx(wanted["paired"]["lambda_"], **near)
        assert paired.value == pytest.approx(wanted["paired"]["delta"], **near)
        assert paired.se == pytest.approx(wanted["paired"]["se"], **near)


def test_post_stratified_golden(golden: Golden) -> None:
    for entry in golden("post_stratified_eif"):
        given_, wanted = entry["inputs"], entry["expected"]
        y, f, u = (array(given_[name]) for name in ("y", "f_labeled", "f_unlabeled"))
        lam = post_stratified_lambda(y, f)
        assert lam == pytest.approx(wanted["mu1"] - wanted["mu0"], abs=entry["tolerance"])
        got = ppi_mean(Sample(y=y, f=f, unlabelled=u), lam)
        assert got.value == pytest.approx(wanted["theta"], abs=entry["tolerance"])
        assert u.mean() == pytest.approx(wanted["p"], abs=entry["tolerance"])
    assert np.isnan(post_stratified_lambda(y, np.ones(len(y))))


def bits(text: str) -> Any:
    return array(list(text))


# ppi_python 0.2.3: ppi_mean_pointestimate(y, f, u, lam=lam), ppi_mean_ci(..., alpha=0.05, lam=lam)
Y = bits("0011111110011000110111010010010111110110")
F = bits("0011111111011101110111010010010111101110")
U = bits(
    "00111011110001010111001111110111111001100101001001111111001110001010101011111110"
    "11100111011010001111110101110111110101111011111100010010101011001101011111111111"
)
PPI_PY = (
    (0.0, 0.6, 0.4481818425742008, 0.7518181574257992),
    (0.5, 0.590625, 0.47511057257471545, 0.7061394274252845),
    (1.0, 0.58125, 0.4513251256418884, 0.7111748743581117),
)


@pytest.mark.parametrize(("lam", "value", "low", "high"), PPI_PY)
def test_ppi_python_agrees_on_its_own_formula(
    lam: float, value: float, low: float, high: float
) -> None:
    sample = Sample(y=Y, f=F, unlabelled=U)
    assert ppi_mean(sample, lam).value == pytest.approx(value, abs=1e-12)
    # its variances divide by n, ours by n - 1
    parts = [stacked([part]).se[0] ** 2 for part in sample.parts(array([lam]))]
    sizes = (len(Y), len(U))
    biased = sum(v * (size - 1) / size for v, size in zip(parts, sizes, strict=True))
    assert value - Z * biased**0.5 == pytest.approx(low, abs=1e-12)
    assert value + Z * biased**0.5 == pytest.approx(high, abs=1e-12)


@given(samples())
def test_never_wider_than_labels_alone(sample: Sample) -> None:
    got = ppi_mean(sample)
    assert 0.0 <= got.lam <= 1.0
    if not np.isnan(got.labels_se):
        assert got.se <= got.labels_se * (1 + 1e-12)
        assert got.df <= got.labels_df * (1 + 1e-12)


@given(samples())
def test_lambda_is_the_lowest_point(sample: Sample) -> None:
    lam = best_lambda(sample)
    grid = np.append(np.linspace(0, 1, 101), lam)
    if len(sample.unlabelled) < 2 or sample.cluster is not None:
        return
    variances = stacked(sample.parts(grid)).se ** 2
    if not np.isnan(variances).any():
        assert variances[-1] <= variances.min() + 1e-12


@given(samples().filter(lambda sample: sample.cluster is None and len(sample.unlabelled) > 1))
def test_lambda_has_a_closed_form(sample: Sample) -> None:
    n, more = len(sample.y), len(sample.unlabelled)
    own, other = np.var(sample.f, ddof=1), np.var(sample.unlabelled, ddof=1)
    bottom = own + n / more * other
    wanted = 0.0
    if bottom > 0:
        wanted = np.clip(np.cov(sample.y, sample.f)[0, 1] / bottom, 0.0, 1.0)
    assert best_lambda(sample) == pytest.approx(wanted, abs=1e-9)


@given(samples())
def test_a_judge_without_a_say_is_not_used(sample: Sample) -> None:
    silent = Sample(
        y=sample.y,
        f=np.ones_like(sample.f),
        unlabelled=np.ones_like(sample.unlabelled),
        cluster=sample.cluster,
    )
    got = ppi_mean(silent)
    assert (got.lam, got.value, got.df) == pytest.approx(
        (0.0, got.labels, got.labels_df), nan_ok=True
    )
    none = Sample(y=sample.y, f=sample.f, unlabelled=array([]))
    assert ppi_mean(none).lam == 0.0


def test_parts_add_variances_without_clusters_and_contributions_with() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((30, 1)), rng.random((50, 1))
    free = stacked([Part(values=-a), Part(values=b)])
    wanted = a.var(ddof=1) / 30 + b.var(ddof=1) / 50
    assert float(free.se[0]) ** 2 == pytest.approx(wanted, rel=1e-12)
    codes = np.arange(30)
    tied = stacked([Part(values=-a, cluster=codes), Part(values=b[:30], cluster=codes)])
    paired = clustered_mean(b[:30] - a, np.ones(30))
    assert (tied.value[0], tied.se[0], tied.df[0]) == pytest.approx(
        (paired.mean[0], paired.se[0], paired.df[0]), rel=1e-12
    )


def test_weights_and_lonely_rows() -> None:
    values, weight = array([[0.0], [1.0], [1.0]]), array([1.0, 2.0, 1.0])
    assert float(stacked([Part(values=values, weight=weight)]).value[0]) == pytest.approx(0.75)
    assert np.isnan(stacked([Part(values=values[:1]), Part(values=values)]).se[0])
