"""Time horizons: known curves, one-class resamples, bad minutes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError


def board(c: list[int], n: int = 4, **more: Any) -> tr.Counts:
    """Tasks of 1, 2, 4, ... minutes with c of n passes."""
    rows = {"case": [f"t{i:02d}" for i in range(len(c))], "n": [n] * len(c), "c": c}
    rows["human_minutes"] = [2.0**i for i in range(len(c))]
    return tr.Counts(pl.DataFrame(rows | more))


def test_a_symmetric_board_has_its_horizon_in_the_middle() -> None:
    found = tr.time_horizon(board([4, 3, 1, 0]))
    assert found["minutes"][0] == pytest.approx(2**1.5)
    assert found["minutes"][1] < found["minutes"][0]
    assert (found["low"] <= found["minutes"]).all()
    assert (found["minutes"] <= found["high"]).all()


def test_the_fit_is_that_of_statsmodels() -> None:
    import statsmodels.api as sm

    c = [4, 4, 3, 4, 2, 1, 1, 0]
    x = sm.add_constant(np.arange(8.0))
    fit = sm.GLM(np.column_stack([c, 4 - np.array(c)]), x, sm.families.Binomial()).fit()
    found = tr.time_horizon(board(c), ridge=0.0, weights="equal").row(0, named=True)
    assert (found["intercept"], found["slope"]) == pytest.approx(tuple(fit.params), rel=1e-6)
    assert found["minutes"] == pytest.approx(2 ** (-fit.params[0] / fit.params[1]))


def test_resamples_without_a_pass_stay_in() -> None:
    """With 1 of 30 tasks solved, (29/30)^30 = 36 % of resamples hold no success at all."""
    rows = {"case": [f"t{i:02d}" for i in range(30)], "n": [1] * 30, "c": [1] + [0] * 29}
    rows["human_minutes"] = [2.0 ** (i % 6) for i in range(30)]
    found = tr.time_horizon(tr.Counts(pl.DataFrame(rows)), resamples=2000).row(0, named=True)
    assert found["one_class"] == pytest.approx((29 / 30) ** 30, abs=0.04)
    assert found["low"] == 0.0


def test_one_class_and_rising_boards() -> None:
    none = tr.time_horizon(board([0, 0, 0]))
    assert none["minutes"].to_list() == [0.0, 0.0]
    assert none["slope"].null_count() == 2
    every = tr.time_horizon(board([4, 4, 4]))
    assert every["minutes"].to_list() == [float("inf")] * 2
    rising = tr.time_horizon(board([0, 1, 4]))
    assert rising["minutes"].null_count() == 2
    assert rising["warnings"].str.contains("no horizon").all()


def test_a_horizon_outside_the_tasks_is_extrapolated() -> None:
    found = tr.time_horizon(board([4, 4, 3], n=4), targets=0.5)
    assert "beyond the longest task" in found["warnings"].item()


def test_large_families_do_not_rule() -> None:
    c, family = [4, 3, 1, 0, 4, 4], ["a", "b", "c", "d", "e", "e"]
    found = [
        tr.time_horizon(board(c, cluster=family), weights=weights)["minutes"][0]
        for weights in ("family", "equal")
    ]
    assert found[0] != found[1]
    assert tr.time_horizon(board(c, cluster=family))["families"][0] == 5


def test_levels_of_the_bootstrap() -> None:
    counts = board([4, 3, 3, 2, 1, 0], cluster=list("aabbcc"))
    widths = []
    for levels in (("family", "case", "trial"), ("trial",)):
        row = tr.time_horizon(counts, resample=levels).row(0, named=True)
        widths.append(np.log2(row["high"] / row["low"]))
        assert row["method"].endswith(" > ".join(levels))
    assert widths[0] > widths[1]
    with pytest.raises(ArgumentError, match="at least one of"):
        tr.time_horizon(counts, resample=())


def test_equal_minutes_have_no_slope() -> None:
    rows = {"config": ["a", "a", "b", "b"], "case": ["x", "y", "x", "z"]}
    rows |= {"n": [2] * 4, "c": [1, 2, 1, 0], "human_minutes": [5.0, 5.0, 5.0, 9.0]}
    frame = pl.DataFrame(rows)
    with pytest.raises(TrialsError, match="all tasks take 5 minutes"):
        tr.time_horizon(tr.Counts(frame.filter(config="a")))
    found = tr.time_horizon(tr.Counts(frame), targets=0.5)
    assert found["warnings"].to_list()[0] == "all its tasks take 5 minutes, so no slope"
    assert found["minutes"].is_null().to_list() == [True, False]


def test_boards_of_one_class_are_bounded_on_one_side() -> None:
    every = tr.time_horizon(board([4] * 8)).rows(named=True)
    # 0.5^5 <= 0.05 and 0.8^14 <= 0.05: the five longest of eight tasks begin at 8 minutes
    assert [(row["low"], row["high"]) for row in every] == [(8.0, np.inf), (0.0, np.inf)]
    assert "at least 8 minutes, one-sided" in every[0]["warnings"]
    assert "would need 14 families" in every[1]["warnings"]
    none = tr.time_horizon(board([0] * 8)).rows(named=True)
    assert [(row["low"], row["high"]) for row in none] == [(0.0, 16.0), (0.0, 2.0)]
    assert "at most 16 minutes" in none[0]["warnings"]
    assert "extrapolated" not in none[0]["warnings"]
    # tasks of one family are one unit
    few = tr.time_horizon(board([4] * 8, cluster=list("aabbccdd")), targets=0.5)
    assert few["low"].item() == 0.0


def test_rows_do_not_matter() -> None:
    trials = tr.simulate(configs=2, cases=20, trials=3, clusters=5, seed=1)
    minutes = 1.0 + pl.col("case").str.tail(2).cast(pl.Float64)
    trials = trials.with_columns(human_minutes=minutes)
    one = tr.time_horizon(trials)
    assert one.height == 4
    assert one.equals(tr.time_horizon(trials.sample(fraction=1.0, shuffle=True, seed=2)))


@pytest.mark.parametrize("bad", [0.0, -5.0, None, float("inf"), float("nan")])
def test_minutes_must_be_positive(bad: float | None) -> None:
    rows = {"case": ["x", "y"], "n": [2, 2], "c": [1, 1], "human_minutes": [1.0, bad]}
    with pytest.raises(TrialsError, match="First: case 'y'"):
        tr.time_horizon(tr.Counts(pl.DataFrame(rows)))


def test_bad_arguments() -> None:
    counts = board([1, 0])
    with pytest.raises(ColumnError, match="no column 'minutes'"):
        tr.time_horizon(counts, minutes="minutes")
    with pytest.raises(ArgumentError, match="targets"):
        tr.time_horizon(counts, targets=[1.0])
    with pytest.raises(ArgumentError, match="targets"):
        tr.time_horizon(counts, targets=[])
    with pytest.raises(ArgumentError, match="resample"):
        tr.time_horizon(counts, resample=["task"])
    with pytest.raises(ArgumentError, match="weights"):
        tr.time_horizon(counts, weights="sqrt")
    words = pl.DataFrame({"case": ["x"], "n": [1], "c": [1], "human_minutes": ["long"]})
    with pytest.raises(ColumnError, match="not a number"):
        tr.time_horizon(tr.Counts(words))


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Families without effects of their own: drawing trials again makes it a little wide."""
    rng = np.random.default_rng(5)
    x = np.linspace(0, 8, 40)
    truth, hits, runs = 2.0**4, 0, 200
    for _ in range(runs):
        rate = 1 / (1 + np.exp(0.9 * (x - 4) + rng.normal(0, 1, 40)))
        rows = {"case": [f"t{i:02d}" for i in range(40)], "human_minutes": 2.0**x}
        rows |= {"n": np.full(40, 5), "c": rng.binomial(5, rate)}
        row = tr.time_horizon(tr.Counts(pl.DataFrame(rows)), targets=0.5, resamples=300)
        hits += bool(row["low"].item() <= truth <= row["high"].item())
    assert 0.92 <= hits / runs <= 0.995
