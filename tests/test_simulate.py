from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from trialframe.errors import ArgumentError
from trialframe.schema import TRIALS
from trialframe.simulate import simulate

START = datetime(2026, 5, 1, tzinfo=UTC)
EVERYTHING: dict[str, Any] = {
    "configs": ["base", "new", "newer"],
    "cases": 40,
    "trials": (1, 6),
    "clusters": {"webkit": 5, "parser": 2, "docs": 1},
    "difficulty": (0.8, 0.6),
    "lift": [0.0, 0.1, -0.1],
    "icc": 0.3,
    "interaction": 0.4,
    "perturbation": [0.0, 0.5],
    "faults": [0, 1, 2],
    "attempts": 4,
    "learning": 0.05,
    "unscored": {"timeout": 0.02, "infra_error": 0.03},
    "insecure": 0.1,
    "judge": (0.9, 0.8),
    "labelled": 0.2,
    "cost_uusd": [1_000, 2_000, 4_000],
    "tokens": (5_000, 800),
    "duration_ms": 30_000,
    "tests_total": 9,
    "difficulty_levels": ("hard", "medium", "easy"),
    "started_at": START,
    "seed": 3,
}


def test_the_same_seed_gives_the_same_table_and_another_one_does_not() -> None:
    assert_frame_equal(simulate(**EVERYTHING), simulate(**EVERYTHING))
    assert not simulate(seed=0).equals(simulate(seed=1))


def test_the_plain_table_holds_the_key_the_verdict_and_the_truth() -> None:
    trials = simulate(configs=2, cases=3, trials=2)
    assert trials.columns == ["config", "case", "trial", "passed", "true_rate"]
    assert trials.height == 2 * 3 * 2
    assert trials["config"].unique().sort().to_list() == ["config_1", "config_2"]


def test_names_and_types_are_those_of_the_contract() -> None:
    trials = simulate(**EVERYTHING)
    contract = {column.name: column.dtype for column in TRIALS}
    own = {"perturbation": pl.Float64, "fault": pl.Float64, "difficulty": pl.String}
    for name, dtype in trials.schema.items():
        assert dtype == (contract | own | {"true_rate": pl.Float64})[name], name
    absent = {"score", "seed", "context", "image", "split", "weight", "trial_made"}
    assert set(contract) | set(own) | {"true_rate"} == set(trials.columns) | absent
    key = ["config", "case", "trial", "attempt"]
    assert trials.select(key).is_unique().all()
    assert trials.select(*key, "true_rate").null_count().sum_horizontal().item() == 0
    assert trials["true_rate"].is_between(0, 1).all()


@pytest.mark.parametrize(
    "extra",
    [
        {"insecure": 0.2},
        {"judge": (0.9, 0.8), "labelled": 0.5},
        {"cost_uusd": 500, "duration_ms": 1_000},
        {"tokens": (100, 100), "tests_total": 4},
        {"difficulty_levels": ("hard", "easy"), "started_at": START, "clusters": 7},
    ],
)
def test_asking_for_more_columns_changes_no_verdict(extra: dict[str, Any]) -> None:
    plain = simulate(cases=50, seed=5)
    assert_frame_equal(simulate(cases=50, seed=5, **extra).select(plain.columns), plain)


def test_unscored_trials_lose_their_verdict_and_nothing_else() -> None:
    plain, holey = simulate(cases=500, seed=2), simulate(cases=500, seed=2, unscored=0.25)
    known = holey["passed"].is_not_null()
    assert_frame_equal(holey.filter(known).select(plain.columns), plain.filter(known))
    assert holey.filter(~known)["outcome"].unique().to_list() == ["error"]
    assert holey.filter(known)["outcome"].unique().to_list() == ["completed"]


@given(
    configs=st.integers(1, 4),
    cases=st.integers(1, 30),
    trials=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_a_full_table_is_sorted_and_complete(
    configs: int, cases: int, trials: int, seed: int
) -> None:
    table = simulate(configs=configs, cases=cases, trials=trials, seed=seed)
    key = ["config", "case", "trial"]
    assert table.height == configs * cases * trials
    assert_frame_equal(table, table.sort(key))
    assert table.group_by("config", "case").agg(pl.col("true_rate").n_unique())[
        "true_rate"
    ].to_list() == [1] * (configs * cases)


def test_pass_rates_agree_with_the_truth_within_their_error() -> None:
    trials = simulate(configs=3, cases=4_000, trials=5, lift=0.2, interaction=0.5, seed=11)
    p, hit = pl.col("true_rate"), pl.col("passed").cast(pl.Float64)
    error = trials.group_by("config").agg(
        ((hit - p).sum() / (p * (1 - p)).sum().sqrt()).alias("z"),
        p.mean(),
    )
    assert error["z"].abs().max() < 4
    assert error.sort("config")["true_rate"].to_list() == pytest.approx(
        [0.5, 0.5 + 0.095, 0.5 + 0.18], abs=0.02
    )  # E clip(U + d, 0, 1) = 1/2 + d - d^2/2


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 1.0), (8.0, 12.0)])
@pytest.mark.parametrize("interaction", [0.0, 1.0])
def test_rates_are_beta_distributed_with_or_without_interaction(
    a: float, b: float, interaction: float
) -> None:
    rates = simulate(
        configs=2, cases=20_000, trials=1, difficulty=(a, b), interaction=interaction, seed=4
    )
    for _, config in rates.group_by("config"):
        assert config["true_rate"].mean() == pytest.approx(a / (a + b), abs=0.015)
        variance = a * b / ((a + b) ** 2 * (a + b + 1))
        assert config["true_rate"].var() == pytest.approx(variance, rel=0.05)


def test_an_interaction_lowers_the_correlation_of_two_configs() -> None:
    def correlation(interaction: float) -> float:
        wide = simulate(cases=10_000, trials=1, interaction=interaction).pivot(
            "config", index="case", values="true_rate"
        )
        return wide.select(pl.corr("config_1", "config_2")).item()

    assert correlation(0.0) == pytest.approx(1.0)
    assert correlation(1.0) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("icc", [0.0, 0.3, 1.0])
def test_cases_of_a_cluster_are_alike_to_the_degree_asked_for(icc: float) -> None:
    rates = simulate(configs=1, cases=20_000, trials=1, clusters=2_000, icc=icc, seed=8)
    groups = rates.group_by("cluster").agg(
        pl.len(), pl.col("true_rate").mean(), pl.col("true_rate").var().alias("within")
    )
    assert groups["len"].unique().to_list() == [10]
    within = groups["within"].mean()
    between = groups["true_rate"].var() - within / 10
    observed = between / (between + within)
    # a uniform marginal turns a normal correlation r into (6/pi) asin(r/2)
    assert observed == pytest.approx(6 / np.pi * np.arcsin(icc / 2), abs=0.03)


def test_clusters_take_the_sizes_given() -> None:
    sizes = simulate(configs=1, cases=100, trials=1, clusters={"a": 3, "b": 1, "c": 1})["cluster"]
    assert sizes.value_counts().sort("cluster").rows() == [("a", 60), ("b", 20), ("c", 20)]


def test_ragged_tables_draw_each_number_of_trials() -> None:
    trials = simulate(configs=2, cases=3_000, trials=(0, 4), seed=1)
    n = trials.group_by("config", "case").len()["len"].value_counts().sort("len")
    assert n["len"].to_list() == [1, 2, 3, 4]
    assert n["count"].to_list() == pytest.approx([1_200] * 4, rel=0.15)
    first = trials.group_by("config", "case").agg(pl.col("trial").min())["trial"]
    assert first.unique().to_list() == [0]


def test_shares_of_outcomes_findings_and_labels_are_those_asked_for() -> None:
    trials = simulate(
        cases=10_000, unscored={"timeout": 0.1, "oom": 0.05}, insecure=0.3, labelled=0.4, seed=9
    )
    shares = dict(trials["outcome"].value_counts(normalize=True).rows())
    assert shares == pytest.approx({"completed": 0.85, "timeout": 0.1, "oom": 0.05}, abs=0.01)
    passes = trials.filter(pl.col("passed"))
    assert 1 - passes["secure"].mean() == pytest.approx(0.3, abs=0.01)
    assert trials.filter(pl.col("passed").not_() | pl.col("passed").is_null())[
        "secure"
    ].null_count() == (trials.height - passes.height)
    scored = trials.filter(pl.col("passed").is_not_null())
    assert scored["label"].is_not_null().mean() == pytest.approx(0.4, abs=0.01)
    assert scored.filter(pl.col("label") != pl.col("passed")).is_empty()


def test_the_judge_errs_as_asked() -> None:
    trials = simulate(cases=10_000, judge=(0.9, 0.7), unscored=0.1, seed=6)
    rates = trials.group_by("passed").agg(pl.col("judge").cast(pl.Float64).mean()).sort("passed")
    assert rates["judge"].to_list() == pytest.approx([None, 0.3, 0.9], abs=0.01)


def test_levels_move_the_rate_by_their_effect() -> None:
    trials = simulate(
        configs=1,
        cases=500,
        trials=2,
        difficulty=(50, 50),
        perturbation=[0, 0.5, 1],
        perturbation_effect=-0.2,
        faults=[0, 1],
        fault_effect=-0.1,
    )
    means = trials.group_by("perturbation", "fault").agg(pl.len(), pl.col("true_rate").mean())
    base = means.filter(pl.col("perturbation") + pl.col("fault") == 0)["true_rate"].item()
    for level, fault, rows, rate in means.rows():
        assert rows == 1_000
        assert rate == pytest.approx(base - 0.2 * level - 0.1 * fault)
    assert trials.select("case", "trial").is_unique().all()


def test_attempts_stop_at_the_first_success() -> None:
    trials = simulate(cases=300, trials=3, attempts=4, learning=0.1, unscored=0.1, seed=2)
    runs = trials.group_by("config", "case", "trial").agg(
        pl.col("attempt"), pl.col("passed").fill_null(value=False)
    )
    for attempts, passed in runs.select("attempt", "passed").rows():
        assert attempts == list(range(1, len(attempts) + 1))
        assert not any(passed[:-1])
        assert passed[-1] or len(attempts) == 4
    gain = (
        trials.filter(pl.col("attempt") <= 2)
        .group_by("config", "case", "trial")
        .agg(pl.col("true_rate").diff().drop_nulls().first())["true_rate"]
        .drop_nulls()
    )
    assert gain.max() == pytest.approx(0.1)


def test_tests_pass_all_or_fewer() -> None:
    trials = simulate(cases=2_000, tests_total=6.0, unscored=0.1)
    total, passed = pl.col("tests_total"), pl.col("tests_passed")
    assert trials["tests_total"].min() >= 1
    per_case = trials.group_by("case").agg(total.n_unique().alias("sizes"), total.first())
    assert per_case["sizes"].unique().to_list() == [1]
    assert per_case["tests_total"].mean() == pytest.approx(6.0, abs=0.3)
    scored = trials.filter(pl.col("passed").is_not_null())
    assert scored.filter((passed == total) != pl.col("passed")).is_empty()
    assert trials.filter(pl.col("passed").is_null())["tests_passed"].null_count() == (
        trials.height - scored.height
    )


def test_measures_are_whole_positive_and_have_their_means() -> None:
    trials = simulate(
        cases=20_000, cost_uusd=[1_000, 3_000], tokens=(4_000, 500), duration_ms=60_000, seed=3
    )
    means = trials.group_by("config").agg(pl.col("cost_uusd").mean()).sort("config")["cost_uusd"]
    assert means.to_list() == pytest.approx([1_000, 3_000], rel=0.02)
    for name, mean in {"tokens_in": 4_000, "tokens_out": 500, "duration_ms": 60_000}.items():
        assert trials[name].mean() == pytest.approx(mean, rel=0.02)
        assert trials[name].min() >= 1
    assert trials.select(pl.corr("tokens_in", "duration_ms")).item() > 0.3


def test_difficulty_groups_are_equal_and_ordered() -> None:
    cases = simulate(
        configs=1, cases=300, trials=1, difficulty_levels=("hard", "medium", "easy")
    ).group_by("difficulty")
    rate = pl.col("true_rate")
    found = cases.agg(pl.len(), rate.min().alias("low"), rate.max().alias("high")).sort("low")
    assert found["difficulty"].to_list() == ["hard", "medium", "easy"]
    assert found["len"].to_list() == [100] * 3
    assert (found["high"][:-1] < found["low"][1:]).all()


@pytest.mark.parametrize("start", [START, START.replace(tzinfo=None)])
def test_schedules_interleave_or_block_the_configs(start: datetime) -> None:
    size = {"configs": ["a", "b"], "cases": 2, "trials": 2, "started_at": start}
    mixed = simulate(**size).sort("started_at")
    assert mixed["config"].to_list() == ["a", "b"] * 4
    assert mixed["trial"].to_list() == [0] * 4 + [1] * 4
    assert mixed["started_at"].to_list() == [START + timedelta(seconds=i) for i in range(8)]
    blocked = simulate(**size, schedule="blocked").sort("started_at")
    assert blocked["config"].to_list() == ["a"] * 4 + ["b"] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"configs": 0}, "configs == 0"),
        ({"configs": True}, "configs == True"),
        ({"configs": []}, "configs == \\[\\]"),
        ({"configs": ["a", "a"]}, "different names"),
        ({"cases": 0}, "cases == 0"),
        ({"cases": 2.5}, "cases == 2.5"),
        ({"trials": 0}, "trials == 0"),
        ({"trials": (3, 1)}, "trials\\[0\\] == 3"),
        ({"trials": (1, 2, 3)}, "must be a number or \\(low, high\\)"),
        ({"trials": "5"}, "must be a number or \\(low, high\\)"),
        ({"clusters": 300}, "clusters == 300"),
        ({"clusters": {"a": -1}}, "clusters\\[0\\] == -1"),
        ({"difficulty": (0, 1)}, "difficulty\\[0\\] == 0"),
        ({"difficulty": (1, 1, 1)}, "2 numbers"),
        ({"difficulty": 0.5}, "2 numbers"),
        ({"lift": 1.5}, "lift == 1.5"),
        ({"lift": [0.1]}, "2 numbers"),
        ({"lift": float("nan")}, "lift == nan"),
        ({"icc": 1.2, "clusters": 5}, "icc == 1.2"),
        ({"icc": 0.2}, "needs clusters"),
        ({"interaction": -1}, "interaction == -1"),
        ({"perturbation": []}, "list of numbers"),
        ({"perturbation": [1, 1]}, "each level once"),
        ({"faults": [1], "fault_effect": 2}, "effect of faults == 2"),
        ({"attempts": 0}, "attempts == 0"),
        ({"learning": 0.1}, "needs attempts"),
        ({"unscored": 1.1}, "unscored == 1.1"),
        ({"unscored": {"a": 0.6, "b": 0.6}}, "sum to at most 1"),
        ({"unscored": {"completed": 0.1}}, "other than 'completed'"),
        ({"insecure": "no"}, "insecure == 'no'"),
        ({"judge": (0.9, 1.1)}, "judge\\[1\\] == 1.1"),
        ({"labelled": -0.1}, "labelled == -0.1"),
        ({"cost_uusd": 0}, "cost_uusd == 0"),
        ({"cost_uusd": [1, 2, 3]}, "2 numbers"),
        ({"tokens": 5}, "tokens == 5"),
        ({"tests_total": 0.5}, "tests_total == 0.5"),
        ({"difficulty_levels": ()}, "different names"),
        ({"started_at": "2026-05-01"}, "must be a datetime"),
        ({"schedule": "block"}, "Did you mean 'blocked'"),
        ({"seed": -1}, "seed == -1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        simulate(**arguments)


def test_a_million_rows_take_about_a_second() -> None:
    simulate(cases=10)  # SciPy is imported at the first call
    began = time.perf_counter()
    trials = simulate(configs=10, cases=20_000, trials=5, clusters=50, icc=0.2, interaction=0.3)
    assert trials.height == 1_000_000
    assert time.perf_counter() - began < 5  # half a second when nothing else runs


@pytest.mark.slow
def test_estimates_are_unbiased_over_many_seeds() -> None:
    rate, hit = pl.col("true_rate"), pl.col("passed").cast(pl.Float64)
    errors = [
        simulate(cases=50, trials=3, lift=0.1, clusters=5, icc=0.5, unscored=0.1, seed=seed)
        .filter(pl.col("passed").is_not_null())
        .group_by("config", maintain_order=True)
        .agg((hit - rate).sum() / (rate * (1 - rate)).sum().sqrt())["passed"]
        .to_numpy()
        for seed in range(500)
    ]
    z = np.stack(errors)
    assert np.abs(z.mean()) < 4 / np.sqrt(z.size)
    assert z.std() == pytest.approx(1.0, abs=0.1)
