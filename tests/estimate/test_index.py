"""The index over suites, the spread over runs and the beta-binomial table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError


def suites(seed: int = 0, *, clusters: bool = False) -> tr.Counts:
    trials = tr.simulate(configs=2, cases=40, trials=3, clusters=6, seed=seed)
    suite = pl.when(pl.col("case") <= "case_12").then(pl.lit("a")).otherwise(pl.lit("b"))
    trials = trials.with_columns(suite=suite)
    return (
        tr.counts(trials, by="suite") if clusters else tr.counts(trials, by="suite", cluster=None)
    )


def test_independent_suites_add_their_variances() -> None:
    counts = suites()
    weights = {"a": 1.0, "b": 3.0}
    got = tr.index(counts, suite="suite", weights=weights).row(0, named=True)
    parts = tr.summary(counts, metrics="pass@1", by="suite", method="t")
    parts = parts.filter(pl.col("config") == got["config"]).sort("suite")
    value, se = parts["value"].to_numpy(), parts["se"].to_numpy()
    omega = np.array([0.25, 0.75])
    assert got["value"] == pytest.approx(omega @ value)
    assert got["se"] == pytest.approx(np.sqrt(omega**2 @ se**2))


def test_one_suite_is_the_plain_mean_with_its_clusters() -> None:
    counts = suites(clusters=True)
    alone = tr.Counts(counts.frame.with_columns(suite=pl.lit("a")))
    got = tr.index(alone, suite="suite").row(0, named=True)
    plain = tr.summary(alone, metrics="pass@1", method="t").row(0, named=True)
    for key in ("value", "se", "df", "low", "high", "clusters", "largest_share"):
        assert got[key] == pytest.approx(plain[key])


def test_shared_clusters_keep_their_covariance() -> None:
    rng = np.random.default_rng(4)
    shock = rng.integers(0, 11, 30)
    frame = pl.DataFrame(
        {
            "case": [f"{s}{i}" for s in "ab" for i in range(30)],
            "suite": ["a"] * 30 + ["b"] * 30,
            "cluster": [str(i) for i in range(30)] * 2,
            "n": 10,
            "c": [*shock, *shock],
        }
    )
    together = tr.index(tr.Counts(frame), suite="suite").row(0, named=True)
    apart = tr.index(tr.Counts(frame), suite="suite", units="cases").row(0, named=True)
    assert together["se"] == pytest.approx(np.std(shock / 10, ddof=1) / np.sqrt(30))
    assert apart["se"] == pytest.approx(together["se"] / np.sqrt(2))


def test_a_suite_without_a_value_makes_the_index_null() -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "suite": ["a", "b"], "n": [3, 1], "c": [1, 1]})
    got = tr.index(tr.Counts(frame), suite="suite", metric="pass@2").row(0, named=True)
    assert got["value"] is None
    assert got["warnings"] == "no value in suite 'b'"
    only_a = tr.index(tr.Counts(frame), suite="suite", metric="pass@2", weights={"a": 1})
    assert only_a["value"].to_list() == [pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"suite": "suit"}, ColumnError, "Did you mean 'suite'"),
        ({"weights": {"c": 1.0}}, ArgumentError, "no suite 'c'"),
        ({"weights": {"a": -1.0}}, ArgumentError, "must be in"),
        ({"weights": {"a": 0.0}}, ArgumentError, "all 0"),
        ({"metric": "pooled"}, ArgumentError, "no value per case"),
        ({"short": "drop"}, ArgumentError, "short"),
        ({"level": 0}, ArgumentError, "level"),
    ],
)
def test_bad_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tr.index(suites(), **{"suite": "suite", **options})


def test_run_summary_matches_numpy_and_needs_runs() -> None:
    trials = tr.simulate(configs=1, cases=30, trials=4, seed=8)
    got = tr.run_summary(trials).row(0, named=True)
    rates = trials.group_by("trial").agg(pl.col("passed").mean())["passed"].to_numpy()
    assert got["value"] == pytest.approx(rates.mean())
    assert got["se"] == pytest.approx(np.std(rates, ddof=1) / 2)
    assert (got["clusters"], got["df"], got["cases"], got["trials"]) == (4, 3.0, 30, 120)
    assert got["warnings"] == "few runs: 4"
    with pytest.raises(ColumnError, match="needs a trial column"):
        tr.run_summary(trials.drop("trial"))


def test_run_summary_with_unscored_trials() -> None:
    rows = {"case": ["x", "y"] * 2, "trial": [0, 0, 1, 1], "passed": [True, None, True, False]}
    left_out = tr.run_summary(rows).row(0, named=True)
    assert (left_out["value"], left_out["unscored"], left_out["coverage"]) == (0.75, 1, 0.75)
    failed = tr.run_summary(rows, unscored="fail").row(0, named=True)
    assert (failed["value"], failed["unscored"], failed["coverage"]) == (0.5, 1, 0.75)


def test_beta_binomial_table_says_why_there_is_no_fit() -> None:
    frame = pl.DataFrame({"config": list("aabb"), "case": list("xyxy"), "n": [1, 1, 3, 3]})
    counts = tr.Counts(frame.with_columns(c=pl.Series([0, 1, 3, 3])))
    assert tr.beta_binomial(counts)["status"].to_list() == ["single-trial", "all-pass"]
    with pytest.raises(ArgumentError):
        tr.beta_binomial(frame)  # type: ignore[arg-type]
    weighted = tr.Counts(frame.with_columns(c=1, weight=pl.Series([1.0, 2.0, 1.0, 2.0])))
    with pytest.raises(ArgumentError, match="no case weights"):
        tr.summary(weighted, metrics="pass@2", method="beta-binomial")
