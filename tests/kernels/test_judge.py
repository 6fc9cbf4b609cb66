from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from trialframe.kernels.judge import (
    calibration_variance,
    differential_bias,
    effective_size,
    newcombe,
    rogan_gladen,
    shared_difference,
)
from trialframe.kernels.unpaired import fisher

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

SHARES = st.fractions(0, 1, max_denominator=50)


def asked(inputs: dict[str, Any]) -> tuple[Any, ...]:
    sizes = (inputs.get("n", 100), inputs.get("m0", 50), inputs.get("m1", 50))
    return inputs["p"], sizes[0], inputs["q0"], sizes[1], inputs["q1"], sizes[2]


def test_rogan_gladen_golden(golden: Golden) -> None:
    for entry in golden("rogan_gladen"):
        got = rogan_gladen(*asked(entry["inputs"]), 1.0 - entry["inputs"]["alpha"])
        wanted, near = entry["expected"], {"abs": entry["tolerance"]}
        assert float(got.clipped) == pytest.approx(wanted["theta_hat"], **near)
        assert float(got.theta) == pytest.approx(wanted["theta"], **near)
        assert float(got.smoothed) == pytest.approx(wanted["theta_tilde"], **near)
        assert float(got.shift) == pytest.approx(wanted["shift"], **near)
        assert float(got.se) == pytest.approx(wanted["se"], **near)
        assert [got.low, got.high] == pytest.approx([wanted["lower"], wanted["upper"]], **near)
        assert float(got.se_delta) == pytest.approx(wanted["se_delta"], **near)
        wald = float(got.theta) + np.array([-1, 1]) * 1.959963984540054 * float(got.se_delta)
        assert wald == pytest.approx(wanted["wald"], **near)


def test_refusals_golden(golden: Golden) -> None:
    for entry in golden("rogan_gladen_refuse"):
        got = rogan_gladen(*asked(entry["inputs"]))
        assert bool(got.refused) is entry["expected"]["refused"]
        assert np.isnan([got.theta, got.clipped, got.low, got.high, got.se]).all()
    for entry in golden("rogan_gladen_out_of_range"):
        got = rogan_gladen(*asked(entry["inputs"]))
        assert float(got.theta) == pytest.approx(entry["expected"]["raw"], abs=1e-12)
        assert float(got.clipped) == entry["expected"]["clipped"]


def test_a_run_that_does_not_fit_has_no_interval(golden: Golden) -> None:
    for entry in golden("rogan_gladen_outside"):
        got, wanted = rogan_gladen(*asked(entry["inputs"])), entry["expected"]
        ends = [wanted["lower_unclipped"], wanted["upper_unclipped"]]
        assert [got.low_raw, got.high_raw] == pytest.approx(ends, abs=entry["tolerance"])
        assert bool(got.outside)
        assert np.isnan([got.low, got.high]).all()


def test_differential_bias_golden(golden: Golden) -> None:
    for entry in golden("differential_judge_error_bias"):
        names = ("theta_a", "theta_b", "q0_a", "q1_a", "q0_b", "q1_b")
        got = differential_bias(*(entry["inputs"][name] for name in names))
        wanted, near = entry["expected"], {"abs": entry["tolerance"]}
        assert float(got.naive_a) == pytest.approx(wanted["naive_p_a"], **near)
        assert float(got.naive_b) == pytest.approx(wanted["naive_p_b"], **near)
        assert float(got.naive_delta) == pytest.approx(wanted["naive_delta"], **near)
        assert float(got.shared_delta) == pytest.approx(wanted["shared_correction_delta"], **near)
        assert float(got.true_delta) == pytest.approx(wanted["true_delta"], **near)


def test_differential_tests_golden(golden: Golden) -> None:
    for entry in golden("differential_judge_error_test"):
        a, b = entry["inputs"]["a"], entry["inputs"]["b"]
        for hit, miss, name in (("tp", "fn", "sens"), ("tn", "fp", "spec")):
            counts = (a[hit] + a[miss], a[hit], b[hit] + b[miss], b[hit])
            got = fisher(*(np.array([count]) for count in counts))
            wanted = entry["expected"][f"fisher_{name}"]
            assert float(got.two_sided[0]) == pytest.approx(wanted, abs=entry["tolerance"])


@given(SHARES, SHARES, SHARES)
def test_the_correction_undoes_the_judge(theta: Fraction, q0: Fraction, q1: Fraction) -> None:
    passed = theta * q1 + (1 - theta) * (1 - q0)
    got = rogan_gladen(float(passed), 10**6, float(q0), 10**6, float(q1), 10**6)
    if q0 + q1 <= 1:
        assert bool(got.refused)
    elif q0 + q1 > 1 + Fraction(1, 1000):
        exact = (passed + q0 - 1) / (q0 + q1 - 1)
        assert exact == theta
        assert float(got.theta) == pytest.approx(float(theta), abs=1e-9)


@given(
    st.integers(0, 60),
    st.integers(60, 90),
    st.integers(0, 20),
    st.integers(20, 40),
    st.integers(0, 20),
    st.integers(20, 40),
)
def test_swapping_pass_and_fail_mirrors(
    c: int, n: int, hit0: int, m0: int, hit1: int, m1: int
) -> None:
    got = rogan_gladen(c / n, n, hit0 / m0, m0, hit1 / m1, m1)
    mirrored = rogan_gladen(1 - c / n, n, hit1 / m1, m1, hit0 / m0, m0)
    near = {"abs": 1e-9, "nan_ok": True}
    soft = (hit0 + 1) / (m0 + 2) + (hit1 + 1) / (m1 + 2)
    if min(abs(hit0 / m0 + hit1 / m1 - 1), abs(soft - 1)) < 1e-6:
        return
    assert float(mirrored.theta) == pytest.approx(1 - float(got.theta), **near)
    assert float(mirrored.low_raw) == pytest.approx(1 - float(got.high_raw), rel=1e-7, **near)


def test_a_given_variance_replaces_the_binomial_one() -> None:
    same = rogan_gladen(0.4, 100, 0.8, 50, 0.9, 50, variance=[np.nan, 0.0, 0.4 * 0.6 / 100])
    assert same.se[0] == same.se[1]
    wide = rogan_gladen(0.4, 100, 0.8, 50, 0.9, 50, variance=0.02)
    assert float(wide.se) > float(same.se[0])
    assert float(wide.smoothed) == float(same.smoothed[0])


def test_a_shared_calibration_is_counted_once() -> None:
    delta, se = shared_difference(0.0, 0.0004, 0.7, 50, 0.9, 50)
    assert (float(delta), float(se)) == pytest.approx((0.0, 0.02 / 0.6))
    # two calibrations would add their variances even where there is no difference
    alone = calibration_variance(0.5, 0.7, 50, 0.9, 50)
    assert float(se) ** 2 < 0.0004 / 0.36 + 2 * float(alone)
    assert np.isnan(shared_difference(0.1, 0.1, 0.5, 50, 0.5, 50)[0])


def test_the_shared_standard_error_is_that_of_draws() -> None:
    rng = np.random.default_rng(3)
    q0, q1, m, n, rates = 0.8, 0.9, 400, 4_000, (0.4, 0.6)
    size = 20_000
    s0, s1 = rng.binomial(m, q0, size) / m, rng.binomial(m, q1, size) / m
    judged = [rng.binomial(n, t * q1 + (1 - t) * (1 - q0), size) / n for t in rates]
    drawn = (judged[1] - judged[0]) / (s0 + s1 - 1)
    spread = sum(p.mean() * (1 - p.mean()) / n for p in judged)
    gap = judged[1].mean() - judged[0].mean()
    _, se = shared_difference(gap, spread, q0, m, q1, m)
    assert float(se) == pytest.approx(drawn.std(), rel=0.03)


@given(st.integers(1, 80), st.integers(1, 80), st.data())
def test_newcombe_agrees_with_statsmodels(n_a: int, n_b: int, data: Any) -> None:
    c_a, c_b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    low, high = confint_proportions_2indep(c_b, n_b, c_a, n_a, method="newcomb", compare="diff")
    got = newcombe(c_a, n_a, c_b, n_b)
    assert [got.low, got.high] == pytest.approx([low, high], abs=1e-10)
    back = newcombe(c_b, n_b, c_a, n_a)
    assert float(back.low) == pytest.approx(-float(got.high), abs=1e-12)
    assert np.isnan(newcombe(0, 0, 1, 5).low)


def test_effective_sizes() -> None:
    got = effective_size([0.5, 0.5, 1.0, 0.5], [0.1, 0.01, 0.0, np.nan], 50, 7)
    assert got.tolist()[:3] == pytest.approx([25.0, 50.0, 7.0])
    assert np.isnan(got[3])
