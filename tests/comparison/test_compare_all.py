"""All pairs: every row is the comparison of its pair, and the family keeps its level."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, TrialsError, UnknownConfigError
from trialframe.schema import COMPARISONS


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    """Four configs; one of them lacks cases."""
    made = tr.simulate(
        configs=["a", "b", "c", "d"],
        cases=70,
        trials=3,
        clusters=14,
        lift=[0, 0.05, 0.25, 0.3],
        icc=0.1,
        cost_uusd=[100, 200, 300, 400],
        seed=2,
    )
    some = made["case"].unique().sort()[:20].to_list()
    return made.filter((pl.col("config") != "d") | ~pl.col("case").is_in(some))


@pytest.mark.parametrize("units", ["cases", "clusters"])
@pytest.mark.parametrize("metric", ["pass@1", "pass^2", "cost_uusd"])
def test_a_row_is_the_comparison_of_its_pair(trials: pl.DataFrame, units: str, metric: str) -> None:
    counts = tr.counts(trials)
    got = tr.compare_all(counts, metric=metric, units=units, adjust="none", level=0.9)
    assert got.schema == {column.name: column.dtype for column in COMPARISONS}
    assert got.select("baseline", "candidate").rows() == list(combinations("abcd", 2))
    for row in got.iter_rows(named=True):
        pair = tr.compare(
            counts, row["baseline"], row["candidate"], metric=metric, units=units, level=0.9
        )
        for name in ("diff", "se", "low", "high", "pvalue", "verdict", "cases", "units", "wins"):
            assert row[name] == getattr(pair, name), name
        for name in ("losses", "changed", "exact", "df", "only_candidate", "baseline_value"):
            assert row[name] == getattr(pair, name), name
        assert row["interval"] == pair.method
        assert row["adjusted"] == row["pvalue"]
    assert "left out" in got["warnings"][2]


def test_one_trial_a_side_takes_tangos_interval() -> None:
    trials = tr.simulate(configs=3, cases=80, trials=1, lift=0.2, seed=1)
    counts = tr.counts(trials)
    first = counts.configs[0]
    for row in tr.compare_all(counts, first, adjust="max-t").iter_rows(named=True):
        pair = tr.compare(counts, first, row["candidate"])
        assert (row["interval"], row["low"], row["high"]) == ("tango", pair.low, pair.high)
        assert row["simultaneous_low"] < row["diff"] < row["simultaneous_high"]


def test_adjusted_pvalues_are_those_of_statsmodels(trials: pl.DataFrame) -> None:
    from statsmodels.stats.multitest import multipletests

    counts = tr.counts(trials)
    for adjust, name in (("holm", "holm"), ("bh", "fdr_bh")):
        got = tr.compare_all(counts, units="cases", adjust=adjust)
        expected = multipletests(got["pvalue"].to_numpy(), method=name)[1]
        np.testing.assert_allclose(got["adjusted"].to_numpy(), expected)
        unsure = got.filter(pl.col("adjusted") > 0.05)["verdict"].unique().to_list()
        assert unsure in ([], ["inconclusive"])
        assert got["simultaneous_low"].null_count() == got.height


@pytest.mark.parametrize("configs", [["a", "b", "c"], ["a", "b", "c", "d"]])  # d lacks cases
def test_max_t_is_sharper_than_holm_and_never_below_the_pair(
    trials: pl.DataFrame, configs: list[str]
) -> None:
    counts = tr.counts(trials).select(*configs)
    got = tr.compare_all(counts, units="cases", adjust="max-t", resamples=20_000)
    again = tr.compare_all(
        tr.Counts(counts.frame.reverse()), units="cases", adjust="max-t", resamples=20_000
    )
    assert got.equals(again)
    t = got["diff"] / got["se"]
    from scipy import stats

    raw = 2 * stats.t.sf(np.abs(t.to_numpy()), got["df"].to_numpy())
    adjusted = got["adjusted"].to_numpy()
    assert (adjusted >= got["pvalue"].to_numpy()).all()
    assert (adjusted <= np.minimum(got.height * raw, 1) + 0.01).all()
    wide = got["simultaneous_high"] - got["simultaneous_low"]
    assert (wide > got["high"] - got["low"]).all()
    bonferroni = stats.t.ppf(1 - 0.025 / got.height, got["df"].to_numpy())
    assert (wide.to_numpy() < 2.02 * bonferroni * got["se"].to_numpy()).all()


def test_shared_and_scattered_cases_draw_the_same_law(trials: pl.DataFrame) -> None:
    counts = tr.counts(trials)
    cases = counts.frame.filter(pl.col("config") == "d")["case"]
    whole = tr.Counts(counts.frame.filter(pl.col("case").is_in(cases.to_list())))
    alike = tr.compare_all(whole, adjust="max-t", resamples=40_000)
    extra = pl.concat(
        [
            whole.frame,
            whole.frame.head(1).with_columns(case=pl.lit("zzz"), cluster=pl.lit("zzz")),
        ]
    )
    scattered = tr.compare_all(tr.Counts(extra), adjust="max-t", resamples=40_000)
    np.testing.assert_allclose(
        alike["simultaneous_high"].to_numpy(), scattered["simultaneous_high"].to_numpy(), atol=0.004
    )
    np.testing.assert_allclose(
        alike["adjusted"].to_numpy(), scattered["adjusted"].to_numpy(), atol=0.012
    )


def frame(passes: dict[str, list[int]]) -> pl.DataFrame:
    return pl.concat(
        [
            pl.DataFrame({"config": k, "case": [f"{i:02d}" for i in range(len(c))], "n": 2, "c": c})
            for k, c in passes.items()
        ]
    )


def test_pairs_without_cases_spread_or_difference() -> None:
    table = frame({"a": [0] * 12, "b": [1] * 12, "c": [0] * 12, "d": [1, 2] * 6})
    table = table.with_columns(
        case=pl.when(pl.col("config") == "d").then("x" + pl.col("case")).otherwise("case")
    )
    got = tr.compare_all(tr.Counts(table), adjust="max-t", resamples=500)
    rows = {(r["baseline"], r["candidate"]): r for r in got.iter_rows(named=True)}
    assert rows["a", "d"]["diff"] is None
    assert rows["a", "d"]["adjusted"] is None
    assert rows["a", "d"]["verdict"] == "inconclusive"
    assert "no shared case" in rows["a", "d"]["warnings"]
    assert rows["a", "c"]["adjusted"] == 1.0
    assert rows["a", "b"]["adjusted"] == pytest.approx(3 * 2.0**-11)
    assert rows["a", "b"]["verdict"] == "better"


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("nobody",), {}, UnknownConfigError),
        ((), {"adjust": "tukey"}, ArgumentError),
        ((), {"metric": "pooled"}, ArgumentError),
        ((), {"metric": "cost_uusd_per_pass"}, ArgumentError),
        ((), {"level": 1}, ArgumentError),
        ((), {"units": "repos"}, ArgumentError),
        ((), {"short": "drop"}, ArgumentError),
        ((), {"resamples": 1}, ArgumentError),
        ((), {"metric": "pass@9"}, TrialsError),
    ],
)
def test_bad_arguments_are_refused(
    arguments: tuple[str, ...], options: dict[str, Any], error: type[Exception]
) -> None:
    counts = tr.Counts(frame({"a": [0, 1], "b": [1, 1]}))
    with pytest.raises(error):
        tr.compare_all(counts, *arguments, **options)


def test_one_config_is_refused() -> None:
    with pytest.raises(TrialsError, match="comparing takes two"):
        tr.compare_all(tr.Counts(frame({"a": [0, 1]})))
    with pytest.raises(ArgumentError, match="must be Counts"):
        tr.compare_all(frame({"a": [0, 1]}))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("adjust", ["holm", "max-t"])
def test_the_family_keeps_its_level(adjust: str) -> None:
    runs, wrong = 300, 0
    for seed in range(runs):
        trials = tr.simulate(configs=5, cases=50, trials=3, interaction=0.5, seed=seed)
        got = tr.compare_all(tr.counts(trials), adjust=adjust, resamples=500)
        wrong += (got["verdict"] != "inconclusive").any()
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
