"""Decay curves and variance amplification over ordered buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]

ORDER = ["hard", "medium", "easy"]


def table_of(buckets: dict[str, list[list[int]]]) -> pl.DataFrame:
    rows = [
        (f"{name}{i}", name, n, c)
        for name, pairs in buckets.items()
        for i, (n, c) in enumerate(pairs)
    ]
    return pl.DataFrame(rows, schema=["case", "length", "n", "c"], orient="row")


def simulated(**more: Any) -> pl.DataFrame:
    options = {"configs": 2, "cases": 60, "trials": 4, "difficulty_levels": ORDER, "seed": 1}
    return tr.simulate(**(options | more))  # type: ignore[arg-type]


def test_golden_curve(golden: Golden) -> None:
    for entry in golden("reliability_decay_curve"):
        buckets, expected = entry["inputs"]["buckets"], entry["expected"]
        found = tr.decay_curve(
            table_of(buckets), bucket="length", order=list(buckets), k=entry["inputs"]["k"]
        )
        assert found.curve["bucket"].to_list() == list(expected["curve"])
        assert found.curve["value"].to_list() == pytest.approx(
            list(expected["curve"].values()), abs=1e-12
        )
        assert found.slopes["slope"].item() == pytest.approx(
            expected["slope_per_bucket"], abs=1e-12
        )
        assert found.slopes["monotone"].item()


def test_the_order_of_rows_does_not_turn_the_slope() -> None:
    trials = simulated()
    one, two = (
        tr.decay_curve(t, bucket="difficulty", order=ORDER) for t in (trials, trials.reverse())
    )
    assert one.curve.equals(two.curve)
    assert one.slopes.equals(two.slopes)
    back = tr.decay_curve(trials, bucket="difficulty", order=ORDER[::-1])
    assert back.slopes["slope"].to_list() == pytest.approx((-one.slopes["slope"]).to_list())
    assert back.slopes["trend_pvalue"].to_list() == pytest.approx(
        one.slopes["trend_pvalue"].to_list()
    )


def test_the_curve_is_the_summary() -> None:
    trials = simulated()
    found = tr.decay_curve(trials, bucket="difficulty", order=ORDER, metric="pass@1")
    rows = tr.summary(tr.counts(trials, by="difficulty"), metrics="pass@1", by="difficulty")
    both = found.curve.join(
        rows, left_on=["config", "bucket"], right_on=["config", "difficulty"], suffix="_summary"
    )
    for name in ("value", "low", "high", "cases"):
        assert both[name].to_list() == both[f"{name}_summary"].to_list()


def test_an_enum_or_whole_numbers_bring_their_order() -> None:
    trials = simulated()
    named = tr.decay_curve(trials, bucket="difficulty", order=ORDER)
    enum = trials.with_columns(pl.col("difficulty").cast(pl.Enum(ORDER)))
    assert tr.decay_curve(enum, bucket="difficulty").slopes.equals(named.slopes)
    code = pl.col("difficulty").replace_strict({name: i for i, name in enumerate(ORDER)})
    number = tr.decay_curve(trials.with_columns(step=code), bucket="step")
    assert number.slopes["slope"].to_list() == named.slopes["slope"].to_list()


def test_edges_cut_numbers_and_measures() -> None:
    rows = {"case": list("abcdef"), "minutes": [1.0, 5.0, 29.0, 30.0, 120.0, 500.0]}
    rows |= {"n": [3] * 6, "c": [3, 3, 2, 1, 0, 0]}
    found = tr.decay_curve(tr.counts(rows, by="minutes"), bucket="minutes", edges=[5, 30, 120], k=1)
    assert found.order == ("< 5", "5 to 30", "30 to 120", ">= 120")
    assert found.curve["cases"].to_list() == [1, 2, 1, 2]
    spent = simulated(duration_ms=60_000)
    timed = tr.decay_curve(spent, bucket="duration_ms", edges=[50_000, 70_000], k=1)
    assert sum(timed.curve["cases"]) == 120
    assert "failing trials move too" in timed.warnings[0]


def test_an_empty_bucket_stays_empty_and_keeps_its_number() -> None:
    table = table_of({"a": [[2, 2], [2, 1]], "c": [[2, 0], [2, 1]]})
    found = tr.decay_curve(table, bucket="length", order=["a", "b", "c"], k=1)
    assert found.curve["value"].to_list() == [0.75, None, 0.25]
    assert found.slopes["slope"].item() == pytest.approx(-0.25)
    assert found.slopes["warnings"].item() == "1 buckets have no value"


def test_a_curve_that_rises_is_told() -> None:
    table = table_of({"a": [[4, 1]] * 9 + [[4, 0]], "b": [[4, 4]] * 9 + [[4, 3]]})
    found = tr.decay_curve(table, bucket="length", order=["a", "b"], k=1).slopes.row(0, named=True)
    assert not found["monotone"]
    assert found["rise"] == "a to b"
    assert found["rise_pvalue"] < 0.001


def test_clusters_may_lie_in_several_buckets() -> None:
    trials = simulated(clusters=12, icc=0.5)
    found = tr.decay_curve(trials, bucket="difficulty", order=ORDER)
    assert found.slopes["se"].null_count() == 0
    assert found.slopes["warnings"].str.contains("independent").all()
    alone = tr.decay_curve(trials, bucket="difficulty", order=ORDER, units="cases")
    assert alone.slopes["slope"].to_list() == pytest.approx(found.slopes["slope"].to_list())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bucket": "difficulty"}, ArgumentError, "no order that can be seen"),
        ({"bucket": "difficulty", "order": ["hard", "easy"]}, ArgumentError, "lacks 'medium'"),
        ({"bucket": "difficulty", "order": ["hard", "hard"]}, ArgumentError, "different buckets"),
        ({"bucket": "difficulty", "edges": [1]}, ArgumentError, "edges cut numbers"),
        ({"bucket": "length"}, ColumnError, "no column 'length'"),
        ({"bucket": "true_rate"}, ArgumentError, "say where buckets begin"),
        ({"bucket": "true_rate", "edges": [0.5, 0.5]}, ArgumentError, "must rise"),
        ({"bucket": "true_rate", "edges": [9.0]}, TrialsError, "only 1 bucket"),
        ({"bucket": "true_rate", "edges": [0.5], "labels": ["a"]}, ArgumentError, "2 names"),
        ({"bucket": 3}, ArgumentError, "name of a column"),
        ({"bucket": "difficulty", "order": ORDER, "metric": "pooled"}, ArgumentError, "per case"),
        ({"bucket": "difficulty", "order": ORDER, "k": 0}, ArgumentError, "k == 0"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tr.decay_curve(simulated(), **options)


def test_one_case_a_bucket_has_a_slope_without_an_interval() -> None:
    table = table_of({"a": [[3, 3]], "b": [[3, 0]]})
    found = tr.decay_curve(table, bucket="length", order=["a", "b"], k=1).slopes.row(0, named=True)
    assert found["slope"] == -1.0
    assert found["se"] is None
    assert found["pvalue"] is None


def test_livecodebench_gets_harder(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "livecodebench_2025_04.parquet")
    found = tr.decay_curve(
        table, bucket="difficulty", order=["easy", "medium", "hard"], metric="pass@1", units="cases"
    )
    assert (found.slopes["slope"] < -0.15).all()
    assert found.slopes["monotone"].all()
    assert (found.slopes["trend_pvalue"] < 1e-10).all()


def test_golden_vaf(golden: Golden) -> None:
    for entry in golden("variance_amplification_factor"):
        sides = (entry["inputs"]["pass1_short"], entry["inputs"]["pass1_long"])
        pairs = [[[3, round(3 * rate)] for rate in side] for side in sides]
        table = table_of({"short": pairs[0], "long": pairs[1]})
        found = tr.vaf(table, bucket="length", order=["short", "long"]).row(0, named=True)
        expected = entry["expected"].get("vaf", entry["expected"].get("vaf_ddof1"))
        assert found["vaf"] == pytest.approx(float(expected), abs=1e-12)


def test_golden_corrected_vaf(golden: Golden) -> None:
    entry = golden("variance_amplification_factor_noise_corrected")[0]
    n = entry["inputs"]["n"]
    pairs = [[[n, round(n * p)] for p in entry["inputs"][f"pass1_{e}"]] for e in ("short", "long")]
    table = table_of({"short": pairs[0], "long": pairs[1]})
    found = tr.vaf(table, bucket="length", order=["short", "long"]).row(0, named=True)
    assert found["vaf"] == pytest.approx(entry["expected"]["raw"], abs=1e-12)
    assert found["corrected"] == pytest.approx(entry["expected"]["corrected"], abs=1e-12)
    assert found["low"] <= found["vaf"] <= found["high"]


def test_vaf_takes_the_third_bucket_as_long() -> None:
    table = table_of({name: [[2, 2], [2, 1], [2, 0]] for name in "abcd"})
    assert tr.vaf(table, bucket="length", order=list("abcd"))["long"].item() == "c"
    named = tr.vaf(table, bucket="length", order=list("abcd"), short="b", long="d")
    assert named["vaf"].item() == pytest.approx(1.0)


def test_vaf_without_variance_or_cases() -> None:
    same = table_of({"a": [[2, 2], [2, 2]], "b": [[2, 2], [2, 2]]})
    assert tr.vaf(same, bucket="length", order=["a", "b"])["vaf"].item() is None
    single = table_of({"a": [[1, 1], [1, 0]], "b": [[1, 1]]})
    found = tr.vaf(single, bucket="length", order=["a", "b"]).row(0, named=True)
    assert found["vaf"] is None
    assert found["corrected"] is None
    assert "fewer than two cases" in found["warnings"]
    with pytest.raises(ArgumentError, match="both 'a'"):
        tr.vaf(same, bucket="length", order=["a", "b"], long="a")
    with pytest.raises(ArgumentError, match="is no bucket"):
        tr.vaf(same, bucket="length", order=["a", "b"], long="z")


@pytest.mark.slow
def test_the_slope_covers_and_the_trend_errs_as_told() -> None:
    rng = np.random.default_rng(3)
    rejected, covered, runs = 0, 0, 400
    for _ in range(runs):
        rate = rng.beta(0.8, 0.8, 45)
        table = pl.DataFrame(
            {
                "case": [f"t{i:02d}" for i in range(45)],
                "length": np.repeat([0, 1, 2], 15),
                "n": np.full(45, 4),
                "c": rng.binomial(4, rate),
            }
        )
        row = tr.decay_curve(table, bucket="length", metric="pass@1").slopes.row(0, named=True)
        rejected += row["trend_pvalue"] < 0.05
        covered += row["low"] <= 0 <= row["high"]
    assert 0.02 < rejected / runs < 0.08
    assert 0.92 < covered / runs < 0.98


def test_vaf_of_one_cluster_has_no_interval() -> None:
    table = table_of({"a": [[3, 3], [3, 2]], "b": [[3, 0], [3, 3]]})
    found = tr.vaf(
        table.with_columns(cluster=pl.lit("one")), bucket="length", order=["a", "b"]
    ).row(0, named=True)
    assert found["vaf"] is not None
    assert found["low"] is None
    assert "one cluster" in found["warnings"]


def test_a_bucket_where_all_cases_agree_keeps_an_interval() -> None:
    rows = {"case": list("abcdefgh"), "n": [4] * 8, "c": [4, 3, 4, 2, 0, 0, 0, 0]}
    counts = tr.counts(rows | {"length": [1] * 4 + [2] * 4}, by="length")
    found = tr.decay_curve(counts, bucket="length", k=2)
    flat = found.curve.row(1, named=True)
    assert (flat["value"], flat["low"]) == (0.0, 0.0)
    assert 0.4 < flat["high"] < 1.0
    assert "all cases agree" in flat["warnings"]
    assert "too narrow" in found.slopes["warnings"][0]
    assert "all cases agree" not in (found.curve["warnings"][0] or "")
