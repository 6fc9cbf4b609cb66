"""Comparing two configs: golden values, symmetry, brute force, level and cautions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialframe as tr
from trialframe.comparison.difference import verdict_of
from trialframe.comparison.pvalues import PValue
from trialframe.errors import ArgumentError, TrialsError, UnknownConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

PAIRS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9
)


def sides(first: list[tuple[int, int]], second: list[tuple[int, int]], **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame(
            {
                "config": name,
                "case": [f"case {i:03d}" for i in range(len(rows))],
                "n": [n for n, _ in rows],
                "c": [c for _, c in rows],
            }
        ).with_columns(**columns)
        for name, rows in (("a", first), ("b", second))
    ]
    return tr.Counts(pl.concat(frames))


def single(only_a: int, only_b: int, ties: int) -> tr.Counts:
    first = [(1, 1)] * only_a + [(1, 0)] * only_b + [(1, 1)] * ties
    second = [(1, 0)] * only_a + [(1, 1)] * only_b + [(1, 1)] * ties
    return sides(first, second)


def test_verdict_rule_golden(golden: Golden) -> None:
    for entry in golden("paired_verdict"):
        p = entry["inputs"]["p"]
        tested = PValue(
            pvalue=p, greater=p, less=p, permutation=None, changed=20, name="", exact=True
        )
        got = verdict_of(*entry["inputs"]["interval"], tested, 0.95, lower_wins=False)
        assert got == entry["expected"]


def test_tango_and_mcnemar_golden(golden: Golden) -> None:
    for entry in golden("mcnemar_exact"):
        b, c = (entry["inputs"][key] for key in ("b", "c"))
        if b + c == 0:
            continue
        got = tr.compare(single(b, c, 5), "a", "b")
        wanted = entry["expected"]
        wanted = wanted if isinstance(wanted, dict) else {"p": wanted}
        assert got.majority.pvalue == pytest.approx(next(iter(wanted.values())), abs=1e-9)
        assert got.pvalue == pytest.approx(got.majority.pvalue)
    ties = tr.compare(single(0, 0, 20), "a", "b")
    assert ties.high == pytest.approx(0.1611252, abs=1e-6)
    assert (ties.method, ties.verdict, ties.pvalue) == ("tango", "inconclusive", 1.0)


def test_ties_do_not_certify_non_inferiority(golden: Golden) -> None:
    entry = golden("non_inferiority_seed_rule")[0]
    got = tr.compare(single(0, 0, 20), "a", "b", margin=entry["inputs"]["margin"])
    assert got.non_inferiority is not None
    assert got.low == pytest.approx(entry["expected"]["tango_95_lower"], abs=1e-6)
    assert got.non_inferiority.pvalue == pytest.approx(entry["expected"]["sign_flip_p"], abs=1e-9)
    assert not got.non_inferiority.holds
    for entry in golden("non_inferiority_few_changed"):
        cases, wanted = entry["inputs"]["cases"], entry["expected"]
        same = sides([(2, 1)] * cases, [(2, 1)] * cases)
        few = tr.compare(same, "a", "b", margin=entry["inputs"]["margin"]).non_inferiority
        assert few is not None
        assert few.decided_by == "share of worse cases"
        assert few.bound == pytest.approx(wanted["upper_share_worse"], abs=1e-9)
        assert few.holds == wanted["bound_allows_claim"]


@given(pairs=PAIRS)
@settings(max_examples=40)
def test_the_test_is_the_enumeration_of_signs(pairs: list[tuple[int, int, int]]) -> None:
    first = [(n, min(a, n)) for n, a, _ in pairs]
    second = [(n, min(b, n)) for n, _, b in pairs]
    d = [Fraction(y, n) - Fraction(x, n) for (n, x), (_, y) in zip(first, second, strict=True)]
    got = tr.compare(sides(first, second), "a", "b")
    changed = [x for x in d if x]
    sums = [
        sum(s * x for s, x in zip(signs, changed, strict=True))
        for signs in product((1, -1), repeat=len(changed))
    ]
    p = Fraction(sum(abs(s) >= abs(sum(d)) for s in sums), len(sums))
    assert got.pvalue == pytest.approx(float(p), abs=1e-12)
    assert got.diff == pytest.approx(float(sum(d) / len(d)), abs=1e-12)
    assert got.exact
    assert (got.wins, got.losses) == (sum(x > 0 for x in d), sum(x < 0 for x in d))


@given(pairs=PAIRS, seed=st.integers(0, 3))
@settings(max_examples=25)
def test_swapping_sides_mirrors_everything(pairs: list[tuple[int, int, int]], seed: int) -> None:
    first = [(n, min(a, n)) for n, a, _ in pairs]
    second = [(max(1, n - 1), min(b, max(1, n - 1))) for n, _, b in pairs]
    counts = sides(first, second)
    there = tr.compare(counts, "a", "b", resamples=200, seed=seed)
    back = tr.compare(counts, "b", "a", resamples=200, seed=seed)
    assert there.diff == pytest.approx(-back.diff, abs=1e-15)
    assert there.pvalue == pytest.approx(back.pvalue, abs=1e-12)
    for one, two in ((there, back), (there.bootstrap, back.bootstrap), (there.tango, back.tango)):
        if one.low is None:
            assert two.high is None
        else:
            assert one.low == pytest.approx(-two.high, abs=1e-9)
    assert {there.verdict, back.verdict} in ({"inconclusive"}, {"better", "worse"})


def test_clusters_widen_and_are_flipped_whole() -> None:
    rng = np.random.default_rng(2)
    shock = np.repeat(rng.integers(-2, 3, 12), 5)
    second = [(4, int(2 + s)) for s in shock]
    cluster = pl.Series([f"g{i // 5}" for i in range(60)])
    counts = sides([(4, 2)] * 60, second, cluster=cluster)
    apart = tr.compare(counts, "a", "b", units="cases")
    together = tr.compare(counts, "a", "b")
    sums = shock.reshape(12, 5).sum(axis=1) / 4
    assert together.se == pytest.approx(np.std(sums, ddof=1) / np.sqrt(12) / 5)
    assert apart.se is not None
    assert together.se is not None
    assert together.se > apart.se
    assert together.units == 12
    assert together.pvalue > apart.pvalue
    assert together.pvalue * 2**together.changed == pytest.approx(
        round(together.pvalue * 2**together.changed)
    )


def test_the_t_interval_is_the_paired_one_of_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    first = [(5, int(c)) for c in rng.integers(0, 6, 40)]
    second = [(5, int(c)) for c in rng.integers(0, 6, 40)]
    got = tr.compare(sides(first, second), "a", "b", level=0.9)
    d = np.array([y - x for (_, x), (_, y) in zip(first, second, strict=True)]) / 5
    interval = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    assert (got.low, got.high) == pytest.approx((interval.low, interval.high))
    assert got.df == 39


def test_different_trial_counts_are_natural_and_said() -> None:
    got = tr.compare(sides([(1, 1)] * 30, [(10, 9)] * 30), "a", "b")
    assert not got.exact
    assert "trial counts differ" in "; ".join(got.warnings)
    assert got.diff == pytest.approx(-0.1)


def test_running_only_failed_cases_is_not_an_improvement() -> None:
    first = pl.DataFrame({"config": "a", "case": [f"{i:02d}" for i in range(40)], "n": 3})
    first = first.with_columns(c=pl.when(pl.col("case") < "20").then(0).otherwise(3))
    second = first.filter(pl.col("c") == 0).with_columns(config=pl.lit("b"), c=pl.lit(2))
    counts = tr.Counts(pl.concat([first, second]).with_columns(pl.col("c").cast(pl.Int64)))
    got = tr.compare(counts, "a", "b")
    assert got.verdict == "inconclusive"
    assert "regression to the mean" in got.warnings[0]
    assert (got.only_baseline, got.only_candidate, got.cases) == (20, 0, 20)
    assert "left out: 20 cases only of the baseline, 0 only of the candidate" in got.warnings


def test_less_is_better_for_money_and_flakiness() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=80, trials=4, cost_uusd=1000, seed=4)
    dear = pl.when(pl.col("config") == "b").then(3).otherwise(1)
    counts = tr.counts(trials.with_columns(cost_uusd=pl.col("cost_uusd") * dear))
    assert tr.compare(counts, "a", "b", metric="cost_uusd").verdict == "worse"
    assert tr.compare(counts, "b", "a", metric="cost_uusd").verdict == "better"
    dearer = tr.compare(counts, "a", "b", metric="cost_uusd", margin=1.0)
    assert dearer.non_inferiority is not None
    assert not dearer.non_inferiority.holds
    cheaper = tr.compare(counts, "b", "a", metric="cost_uusd", margin=1.0)
    assert cheaper.non_inferiority is not None
    assert cheaper.non_inferiority.holds


def test_the_bracket_of_a_difference() -> None:
    counts = sides([(4, 2)] * 10, [(4, 3)] * 10, unscored=pl.lit(1))
    got = tr.compare(counts, "a", "b")
    assert got.bracket_low == pytest.approx(3 / 5 - 3 / 5)
    assert got.bracket_high == pytest.approx(4 / 5 - 2 / 5)
    assert "coverage" in got.warnings[-1]


def test_results_become_dicts_frames_and_tables() -> None:
    got = tr.compare(single(2, 12, 10), "a", "b", margin=0.1)
    assert got.to_dict()["majority"]["only_candidate"] == 12
    frame = got.to_frame()
    assert frame.height == 1
    assert frame["majority_pvalue"].item() == got.majority.pvalue
    assert got.claim in got._repr_html_()
    assert got.verdict == "better"
    assert got.claim.startswith("b against a: +0.4167 in pass@1")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"candidate": "c"}, UnknownConfigError),
        ({"candidate": "a"}, ArgumentError),
        ({"metric": "pooled"}, ArgumentError),
        ({"metric": "pass@k"}, ArgumentError),
        ({"metric": "cost_uusd_per_pass"}, ArgumentError),
        ({"margin": 0}, ArgumentError),
        ({"margin": float("nan")}, ArgumentError),
        ({"level": 1}, ArgumentError),
        ({"units": "repos"}, ArgumentError),
        ({"resamples": 1}, ArgumentError),
        ({"metric": "pass@9"}, TrialsError),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    arguments = {"baseline": "a", "candidate": "b"} | options
    with pytest.raises(error):
        tr.compare(single(2, 3, 4), **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 15])
def test_the_verdict_keeps_its_level(clusters: int | None) -> None:
    wrong = 0
    for seed in range(400):
        trials = tr.simulate(
            configs=2,
            cases=60,
            trials=3,
            clusters=clusters,
            icc=0.3 if clusters else 0.0,
            interaction=0.5,
            seed=seed,
        )
        shuffled = tr.counts(trials)
        got = tr.compare(shuffled, *shuffled.configs, resamples=100)
        wrong += got.verdict != "inconclusive"
    assert wrong / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
