from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trialframe.kernels.draws import all_pass, any_passes, drawn
from trialframe.kernels.intervals import (
    clopper_pearson,
    imbens_manski,
    score_t,
    t_interval,
    wilson,
    z_interval,
)
from trialframe.kernels.means import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

LEVELS = st.floats(0.5, 0.999)
RATES = st.floats(0.0, 1.0)


def rates_of(cases: list[list[int]]) -> tuple[float, float, float, int, int]:
    n, c = np.array(cases).T
    got = clustered_mean((c / n)[:, None], np.ones(len(n)))
    return got.mean[0], got.se[0], got.df[0], int(n.sum()), len(n)


def test_wilson_golden(golden: Golden) -> None:
    for entry in golden("wilson"):
        given_ = entry["inputs"]
        got = wilson(given_["successes"], given_["n"], given_["confidence"])
        assert [got.low, got.high] == pytest.approx(entry["expected"], abs=entry["tolerance"])


def test_clopper_pearson_golden(golden: Golden) -> None:
    for entry in golden("clopper_pearson"):
        got = clopper_pearson(entry["inputs"]["passes"], entry["inputs"]["trials"])
        assert [got.low, got.high] == pytest.approx(entry["expected"], abs=entry["tolerance"])


def test_score_t_golden(golden: Golden) -> None:
    for entry in golden("rate_interval_score_t"):
        mean, se, df, trials, units = rates_of(entry["inputs"]["cases"])
        got = score_t(mean, se, df, trials, units, entry["inputs"]["confidence"])
        expected = entry["expected"]
        assert [mean, se, df] == pytest.approx(
            [expected["mean"], expected["se"], expected["df"]], abs=entry["tolerance"]
        )
        assert [got.low, got.high] == pytest.approx(expected["interval"], abs=entry["tolerance"])


def test_pooled_against_clustered_golden(golden: Golden) -> None:
    (entry,) = golden("pass_at_1_interval_pooled_vs_clustered")
    expected, tolerance = entry["expected"], entry["tolerance"]
    mean, se, df, trials, _ = rates_of(entry["inputs"]["cases"])
    pooled = wilson(mean * trials, trials)
    assert [pooled.low, pooled.high] == pytest.approx(expected["wilson_pooled"], abs=tolerance)
    got = t_interval(mean, se, df)
    assert [got.low, got.high] == pytest.approx(expected["t_interval"], abs=tolerance)
    sample = mean * (1 - mean) / se**2
    assert sample == pytest.approx(expected["n_eff"], abs=tolerance)
    shrunk = wilson(mean * sample, sample)
    assert [shrunk.low, shrunk.high] == pytest.approx(expected["wilson_n_eff"], abs=tolerance)


def test_case_intervals_golden(golden: Golden) -> None:
    for method, credit in (
        ("pass_at_k_ci_cases_clt", any_passes),
        ("pass_hat_k_ci_cases_clt", all_pass),
    ):
        for entry in golden(method):
            expected, c = entry["expected"], np.array(entry["inputs"]["c"])
            u = drawn(np.full(len(c), entry["inputs"]["n"]), c, entry["inputs"]["k"], credit)
            got = clustered_mean(u[:, None], np.ones(len(u)))
            assert got.se[0] == pytest.approx(expected["se"], abs=entry["tolerance"])
            pairs = {
                "z_interval": z_interval(got.mean, got.se),
                "t_interval": t_interval(got.mean, got.se, got.df),
            }
            for name in pairs.keys() & expected.keys():
                pair = [pairs[name].low[0], pairs[name].high[0]]
                assert pair == pytest.approx(expected[name], abs=entry["tolerance"])


@given(n=st.integers(1, 400), share=RATES, level=LEVELS)
def test_wilson_bounds_solve_the_score_equation(n: int, share: float, level: float) -> None:
    c = round(share * n)
    got = wilson(c, n, level)
    z = stats.norm.ppf((1 + level) / 2)
    for p in (got.low, got.high):
        assert (c / n - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, abs=1e-10)
    assert 0 <= got.low <= c / n <= got.high <= 1
    mirrored = wilson(n - c, n, level)
    assert 1 - mirrored.high == pytest.approx(float(got.low), abs=1e-12)
    assert 1 - mirrored.low == pytest.approx(float(got.high), abs=1e-12)


@given(n=st.integers(1, 60), share=RATES, level=LEVELS)
def test_clopper_pearson_inverts_the_binomial_tails(n: int, share: float, level: float) -> None:
    c = round(share * n)
    got = clopper_pearson(c, n, level)
    tail = (1 - level) / 2
    if c > 0:
        assert stats.binom.sf(c - 1, n, got.low) == pytest.approx(tail, abs=1e-9)
    if c < n:
        assert stats.binom.cdf(c, n, got.high) == pytest.approx(tail, abs=1e-9)
    assert (got.low == 0) == (c == 0)
    assert (got.high == 1) == (c == n)


@given(
    mean=st.integers(0, 1000).map(lambda i: i / 1000),
    se=st.floats(0.0, 0.5),
    df=st.floats(1.0, 200.0),
    trials=st.integers(2, 5000),
    units=st.integers(2, 500),
    level=LEVELS,
)
def test_score_t_stays_inside_and_mirrors(
    mean: float, se: float, df: float, trials: int, units: int, level: float
) -> None:
    got = score_t(mean, se, df, trials, units, level)
    assert 0 <= got.low <= mean + 1e-12
    assert mean - 1e-12 <= got.high <= 1
    assert got.low < got.high
    mirrored = score_t(1 - mean, se, df, trials, units, level)
    assert 1 - mirrored.high == pytest.approx(float(got.low), abs=1e-7)
    assert 1 - mirrored.low == pytest.approx(float(got.high), abs=1e-7)


def test_score_t_never_has_more_trials_than_were_run() -> None:
    narrow = score_t(0.5, 1e-6, np.inf, 40, 10)
    expected = wilson(20, 40)
    assert narrow.low == pytest.approx(expected.low)
    assert narrow.high == pytest.approx(expected.high)


def test_score_t_of_next_to_no_spread_counts_the_trials() -> None:
    narrow, expected = score_t(0.001, 1e-157, np.inf, 40, 10), score_t(0.001, 1e-9, np.inf, 40, 10)
    assert (narrow.low, narrow.high) == (expected.low, expected.high)


def test_score_t_of_ones_uses_the_units_and_reaches_one() -> None:
    got = score_t(np.nextafter(1.0, 2.0), 0.0, 9.0, 1000, 10)
    assert got.high == 1.0
    assert got.low == pytest.approx(0.6614913773398168)


def test_undefined_stays_undefined() -> None:
    nan = np.nan
    for got in (
        wilson([0, 3], [0, 4]),
        clopper_pearson([0, 3], [0, 4]),
        t_interval([0.5, 0.5], [nan, 0.1], 3.0),
        t_interval([0.5, 0.5], 0.1, [nan, 3.0]),
        score_t([0.5, 0.5], [nan, 0.1], 3.0, 10, 5),
        score_t([0.5, 0.5], [0.0, 0.1], [nan, 3.0], 10, 5),
        score_t([nan, 0.5], [0.1, 0.1], 3.0, 10, 5),
        imbens_manski([0.4, 0.4], [nan, 0.5], 0.1, 0.1, 5.0),
        imbens_manski([0.4, 0.4], 0.5, [nan, 0.1], 0.1, 5.0),
        imbens_manski([0.4, 0.4], 0.5, 0.1, 0.1, [nan, 5.0]),
    ):
        assert np.isnan(got.low).tolist() == np.isnan(got.high).tolist() == [True, False]


def test_t_interval_clips_on_request_only() -> None:
    assert t_interval(0.9, 0.2, 5).high > 1
    got = t_interval(0.9, 0.2, 5, bounds=(0.0, 1.0))
    assert got.high == 1.0
    assert got.low == pytest.approx(0.9 - stats.t.ppf(0.975, 5) * 0.2)


def test_infinite_df_is_the_normal_interval() -> None:
    one, two = t_interval(0.5, 0.1, np.inf, 0.9), z_interval(0.5, 0.1, 0.9)
    assert one == two
    assert one.high == pytest.approx(0.5 + 0.1 * stats.norm.ppf(0.95))


@given(
    low=RATES,
    gap=st.floats(0.0, 1.0),
    se_low=st.floats(1e-4, 0.3),
    se_high=st.floats(1e-4, 0.3),
    df=st.one_of(st.floats(1.0, 100.0), st.just(np.inf)),
    level=LEVELS,
)
def test_imbens_manski_solves_its_equation(
    low: float, gap: float, se_low: float, se_high: float, df: float, level: float
) -> None:
    got = imbens_manski(low, low + gap, se_low, se_high, df, level)
    critical = (low - got.low) / se_low
    ratio = (low + gap - low) / max(se_low, se_high)
    reached = stats.t.cdf(critical + ratio, df) - stats.t.cdf(-critical, df)
    assert reached == pytest.approx(level, abs=1e-9)
    assert (got.high - low - gap) / se_high == pytest.approx(critical, abs=1e-7)


def test_imbens_manski_limits() -> None:
    point = imbens_manski(0.5, 0.5, 0.1, 0.1, 7.0)
    plain = t_interval(0.5, 0.1, 7.0)
    assert (point.low, point.high) == (plain.low, plain.high)
    wide = imbens_manski(0.1, 0.9, 0.001, 0.001, np.inf)
    assert (0.1 - wide.low) / 0.001 == pytest.approx(stats.norm.ppf(0.95))
    exact = imbens_manski(0.2, 0.4, 0.0, 0.0, 5.0)
    assert (exact.low, exact.high) == (0.2, 0.4)
