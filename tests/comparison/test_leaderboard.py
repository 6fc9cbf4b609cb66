"""The leaderboard: what it takes from the summary, shared cases, ranks, the front, bad input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ["a", "b", "c", "d"]


def counted(passes: Mapping[str, list[int]], n: int = 4, **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame(
            {"config": name, "case": [f"{i:03d}" for i in range(len(c))], "n": n, "c": c}
        ).with_columns(**columns)
        for name, c in passes.items()
    ]
    return tr.Counts(pl.concat(frames))


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    """Four configs with clusters, prices, unscored trials and cases that two of them lack."""
    made = tr.simulate(
        configs=NAMES,
        cases=60,
        trials=3,
        clusters=15,
        lift=[0, 0.02, 0.3, 0.3],
        icc=0.2,
        unscored=0.05,
        cost_uusd=[100, 200, 300, 4000],
        difficulty_levels=["hard", "easy"],
        seed=5,
    )
    missing = (pl.col("config") == "b") & (pl.col("case") == made["case"][0])
    return made.filter(~missing)


def test_numbers_are_those_of_the_summary_on_shared_cases(trials: pl.DataFrame) -> None:
    counts = tr.counts(trials)
    for metric in ("pass@1", "pass^2", "flaky", "cost_uusd", "cost_uusd_per_pass"):
        got = tr.leaderboard(counts, metric=metric, resamples=200)
        every = [set(part["case"]) for part in counts.frame.partition_by("config")]
        if metric != "cost_uusd":
            defined = counts.frame.filter(pl.col("n") >= (2 if metric == "pass^2" else 1))
            every = [set(part["case"]) for part in defined.partition_by("config")]
        shared = counts.frame.filter(pl.col("case").is_in(list(set.intersection(*every))))
        wanted = tr.summary(tr.Counts(shared), metrics=[metric, "cost_uusd_per_pass"])
        for row in got.iter_rows(named=True):
            mine = wanted.filter((pl.col("config") == row["config"]) & (pl.col("metric") == metric))
            for name in ("value", "se", "low", "high", "cases", "clusters", "unscored"):
                assert row[name] == pytest.approx(mine[name][0], rel=1e-12), (metric, name)
            own = counts.frame.filter(pl.col("config") == row["config"]).height
            assert row["dropped"] == own - row["cases"]
            price = wanted.filter(
                (pl.col("config") == row["config"]) & (pl.col("metric") == "cost_uusd_per_pass")
            )
            assert row["cost_uusd_per_pass_low"] == pytest.approx(price["low"][0])
        ascending = metric in {"flaky", "cost_uusd", "cost_uusd_per_pass"}
        assert got["value"].to_list() == sorted(got["value"], reverse=not ascending)
    assert "not all configs have" in got["warnings"][0]


def test_the_schema_and_missing_prices() -> None:
    got = tr.leaderboard(counted({"a": [1, 2, 3], "b": [2, 2, 4]}), resamples=100)
    assert got.schema == {column.name: column.dtype for column in LEADERBOARD}
    assert got["cost_uusd"].to_list() == got["pareto"].to_list() == [None, None]
    assert got["config"].to_list() == ["b", "a"]


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=4, max_size=12),
    st.permutations(["x", "y", "z"]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=25)
def test_row_order_and_names_do_not_matter(
    rows: list[tuple[int, int, int]], names: list[str], random: Any
) -> None:
    passes = dict(zip("xyz", map(list, zip(*rows, strict=True)), strict=True))
    plain = counted(passes)
    got = tr.leaderboard(plain, resamples=100, level=0.8)
    order = list(range(plain.frame.height))
    random.shuffle(order)
    assert_frame_equal(tr.leaderboard(tr.Counts(plain.frame[order]), resamples=100, level=0.8), got)
    values = got["value"].to_list()
    if len(set(values)) == len(values):
        renamed = counted({new: passes[old] for old, new in zip("xyz", names, strict=True)})
        other = tr.leaderboard(renamed, resamples=100, level=0.8)
        back = dict(zip(names, "xyz", strict=True))
        other = other.with_columns(pl.col("config").replace_strict(back))
        assert_frame_equal(other, got)
    assert got["rank"].to_list() == [1 + sum(v > own for v in values) for own in values]
    assert got["plausibly_best"][0]


@pytest.mark.parametrize("best", ["max-t", "bootstrap", "mcs"])
@pytest.mark.parametrize("ranks", ["simultaneous", "marginal"])
def test_copies_share_everything(best: str, ranks: str) -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 5, 60)
    worse = np.maximum(base - rng.integers(0, 4, 60), 0)
    passes = {"a": base.tolist(), "copy": base.tolist(), "c": worse.tolist()}
    got = tr.leaderboard(counted(passes), best=best, ranks=ranks)
    assert got["config"].to_list() == ["a", "copy", "c"]
    assert got["rank"].to_list() == [1, 1, 3]
    assert got["plausibly_best"].to_list() == [True, True, False]
    assert got["rank_low"].to_list() == [1, 1, 3]
    assert got["rank_high"].to_list() == [2, 2, 3]


def test_groups_are_leaderboards_of_their_own(trials: pl.DataFrame) -> None:
    counts = tr.counts(trials, by="difficulty")
    got = tr.leaderboard(counts, by="difficulty", resamples=200)
    assert got.columns[0] == "difficulty"
    for level in ("easy", "hard"):
        alone = tr.leaderboard(
            tr.Counts(counts.frame.filter(pl.col("difficulty") == level)), resamples=200
        )
        mine = got.filter(pl.col("difficulty") == level).drop("difficulty")
        assert_frame_equal(mine, alone)


def test_the_front_and_its_share(trials: pl.DataFrame) -> None:
    got = tr.leaderboard(tr.counts(trials), resamples=500)
    rows = {row["config"]: row for row in got.iter_rows(named=True)}
    for row in rows.values():
        beaten = any(
            o["cost_uusd"] <= row["cost_uusd"]
            and o["value"] >= row["value"]
            and (o["cost_uusd"] < row["cost_uusd"] or o["value"] > row["value"])
            for o in rows.values()
        )
        assert row["pareto"] == (not beaten)
        assert 0 <= row["pareto_share"] <= 1
    assert rows["a"]["pareto_share"] == 1.0  # the cheapest is always on it
    assert tr.leaderboard(tr.counts(trials), metric="cost_uusd")["pareto"].null_count() == 4
    unknown = trials.with_columns(
        cost_uusd=pl.when(pl.col("config") != "c").then(pl.col("cost_uusd"))
    )
    got = tr.leaderboard(tr.counts(unknown), resamples=200)
    assert got.filter(pl.col("pareto").is_null())["config"].to_list() == ["c"]
    assert "price unknown" in got.filter(pl.col("config") == "c")["warnings"][0]


def test_weights_and_clusters_enter() -> None:
    weight = pl.Series([0.0, 1.0, 3.0, 1.0, 1.0, 1.0] * 5)
    rng = np.random.default_rng(1)
    passes = {name: rng.integers(0, 5, 30).tolist() for name in "ab"}
    got = tr.leaderboard(counted(passes, weight=weight))
    assert got["cases"].to_list() == [25, 25]
    expected = np.average(np.array(passes["a"]) / 4, weights=weight.to_numpy())
    assert got.filter(pl.col("config") == "a")["value"][0] == pytest.approx(expected)
    clustered = counted(passes, cluster=pl.Series([str(i // 6) for i in range(30)]))
    assert tr.leaderboard(clustered)["clusters"].to_list() == [5, 5]
    assert tr.leaderboard(clustered, units="cases")["clusters"].to_list() == [30, 30]


def test_odd_tables() -> None:
    alone = tr.leaderboard(counted({"a": [1, 2, 3]}), resamples=100).row(0, named=True)
    assert (alone["rank"], alone["rank_low"], alone["rank_high"]) == (1, 1, 1)
    assert alone["plausibly_best"]
    assert "one config" in alone["warnings"]
    single = tr.leaderboard(counted({"a": [1], "b": [4], "c": [0]}), resamples=100)
    assert single["rank"].to_list() == [1, 2, 3]
    assert single["rank_low"].to_list() == [1, 1, 1]
    assert single["rank_high"].to_list() == [3, 3, 3]
    assert single["plausibly_best"].all()
    assert "one independent unit" in single["warnings"][0]
    one_cluster = counted({"a": [1] * 9, "b": [4, 3, 2] * 3}, cluster=pl.lit("only"))
    assert tr.leaderboard(one_cluster, resamples=100)["plausibly_best"].all()
    flat = tr.leaderboard(counted({"a": [2] * 30, "b": [2] * 30}), resamples=100)
    assert flat["rank"].to_list() == [1, 1]
    assert flat["plausibly_best"].all()
    apart = tr.leaderboard(counted({"a": [2] * 30, "b": [1] * 30}), resamples=100)
    assert apart["plausibly_best"].to_list() == [True, False]


def test_cases_that_are_not_shared() -> None:
    frame = counted({"a": [1] * 9, "b": [2] * 9, "c": [3] * 9}).frame
    left = tr.Counts(frame.filter((pl.col("config") != "c") | (pl.col("case") < "005")))
    got = tr.leaderboard(left, resamples=100)
    assert dict(got.select("config", "dropped").rows()) == {"a": 4, "b": 4, "c": 0}
    with pytest.raises(TrialsError, match="cover different cases: 5 are shared"):
        tr.leaderboard(left, cases="raise")
    assert tr.leaderboard(tr.Counts(frame), cases="raise", resamples=100).height == 3
    other = frame.with_columns(
        case=pl.when(pl.col("config") == "b").then(pl.lit("x") + pl.col("case")).otherwise("case")
    )
    with pytest.raises(TrialsError, match=r"Without 'b', 9 cases are shared by the other 2"):
        tr.leaderboard(tr.Counts(other))
    none = frame.with_columns(pl.when(pl.col("config") == "b").then(0).otherwise("n").alias("n"))
    none = none.with_columns(c=pl.min_horizontal("c", "n"))
    with pytest.raises(TrialsError, match=r"in all 3 configs: nowhere in 'b'"):
        tr.leaderboard(tr.Counts(none))
    with pytest.raises(TrialsError, match="nor in any"):
        tr.leaderboard(tr.Counts(frame), metric="pass@9")
    apart = frame.with_columns(case=pl.col("config") + pl.col("case"))
    with pytest.raises(TrialsError, match=r"Without 'a', 'b', 9 cases are shared by the other 1"):
        tr.leaderboard(tr.Counts(apart))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"metric": "pooled"}, ArgumentError),
        ({"metric": "min_trials"}, ArgumentError),
        ({"metric": "pass@k"}, ArgumentError),
        ({"metric": "pas@1"}, ArgumentError),
        ({"metric": 3}, ArgumentError),
        ({"level": 1.0}, ArgumentError),
        ({"level": 0}, ArgumentError),
        ({"best": "dunnett"}, ArgumentError),
        ({"ranks": "all"}, ArgumentError),
        ({"cases": "all"}, ArgumentError),
        ({"units": "repos"}, ArgumentError),
        ({"short": "drop"}, ArgumentError),
        ({"resamples": 5}, ArgumentError),
        ({"seed": -1}, ArgumentError),
        ({"by": "suite"}, ColumnError),
        ({"by": "rank"}, ColumnError),
        ({"metric": "cost_uusd"}, TrialsError),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tr.leaderboard(counted({"a": [1, 2], "b": [2, 2]}), **options)


def test_what_is_no_table_of_counts_is_refused() -> None:
    frame = counted({"a": [1, 2]}).frame
    with pytest.raises(ArgumentError, match="must be Counts"):
        tr.leaderboard(frame)  # type: ignore[arg-type]
    with pytest.raises(TrialsError, match="nothing to rank"):
        tr.leaderboard(tr.Counts(frame.clear()))
    money = {"cost_uusd_n": 4, "cost_uusd_sum": 8, "cost_uusd_sumsq": 9.0}
    with pytest.raises(TrialsError, match="nowhere in 'a'"):
        tr.leaderboard(counted({"a": [0, 0], "b": [1, 2]}, **money), metric="cost_uusd_per_pass")
    # passes that lie outside the shared cases do not count
    some = counted({"a": [0, 0, 3], "b": [1, 2, 3]}, **money).frame.head(5)
    with pytest.raises(TrialsError, match="'a' has no cost_uusd_per_pass on the cases"):
        tr.leaderboard(tr.Counts(some), metric="cost_uusd_per_pass")


@pytest.mark.slow
def test_the_best_config_is_among_the_plausibly_best() -> None:
    runs, inside, covered = 300, 0, 0
    for seed in range(runs):
        trials = tr.simulate(
            configs=["a", "b", "c", "d"],
            cases=60,
            trials=3,
            lift=[0, 0, 0, -0.15],
            interaction=0.5,
            seed=seed,
        )
        got = tr.leaderboard(tr.counts(trials), resamples=500)
        rows = {row["config"]: row for row in got.iter_rows(named=True)}
        inside += rows["a"]["plausibly_best"]
        covered += rows["d"]["rank_high"] == 4 and all(
            rows[name]["rank_low"] == 1 and rows[name]["rank_high"] >= 3 for name in "abc"
        )
    assert min(inside, covered) / runs >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)
