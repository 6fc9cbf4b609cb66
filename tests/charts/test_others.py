"""The charts of single results: what they draw is what the results hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from results_made import results
from trialframe import charts
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

UNDRAWN = {"PolicyDecision", "LabelsNeeded", "Verdicts", "Settings", "Interval", "Ratio"}
UNDRAWN |= {"Majority", "NonInferiority", "Equivalence", "Evidence", "CalibrationSettings"}
UNDRAWN |= {"Convergence", "SplitHalf"}


def head(chart: Any) -> str:
    made = chart.to_dict()["title"]
    return " ".join([*made["text"], *made["subtitle"]])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_result_that_can_be_drawn_is(theme: str, svg: Callable[[Any], str]) -> None:
    for name, made in results().items():
        if name in UNDRAWN:
            with pytest.raises(ArgumentError, match=rf"{name} has no chart.*to_frame"):
                made.plot()
            continue
        chart = made.plot(theme=theme, width=560)
        svg(chart)
        assert len(chart.to_dict()["description"]) > 40, name


def test_a_comparison_draws_the_whole_and_its_groups() -> None:
    found = results()["Comparison"]
    forest = found.plot()
    assert forest.data["value"].to_list() == [found.diff, *found.groups["diff"]]
    assert forest.data["label"].to_list() == ["all cases", *found.groups["half"]]
    assert "new minus base in pass@1" in head(forest)
    assert "adjusted (holm)" in head(forest)
    assert found.plot(kind="strip").data.height == found.cases
    with pytest.raises(ArgumentError, match="kind == 'pie'"):
        found.plot(kind="pie")


def test_power_is_drawn_at_the_plan_and_around_it() -> None:
    planned = results()["Power"]
    drawn = planned.plot().data
    assert drawn.filter(cases=200)["value"].item() == pytest.approx(planned.power, abs=1e-12)
    wanted = [
        tr.power(effect=0.05, cases=n, trials=5, rate=0.6, icc=0.5).power for n in drawn["cases"]
    ]
    assert drawn["value"].to_list() == pytest.approx(wanted, abs=1e-12)
    exact = tr.power(effect=0.1, cases=80, trials=1, rate=0.6, icc=0.5)
    assert exact.plot().data.filter(cases=80)["value"].item() == pytest.approx(exact.power)
    impossible = tr.cases_needed(effect=1e-6, trials=5, rate=0.6, icc=0.5)
    assert impossible.cases is None
    assert impossible.plot().data["value"].max() < 0.1


def test_a_table_of_powers_has_a_curve_an_effect(svg: Callable[[Any], str]) -> None:
    table = tr.power_table(effects=[0.03, -0.05], cases=[200, 1000], rate=0.6, icc=0.5)
    chart = charts.power(table)
    assert set(chart.data["label"]) == {"+3.0 points", "-5.0 points"}
    assert sorted(chart.data["value"]) == sorted(table["power"])
    assert "McNemar" in head(chart)
    svg(charts.power(table.with_columns(power=pl.lit(None, pl.Float64))))


def test_a_path_is_thinned_and_keeps_its_end_and_the_verdict() -> None:
    made = results()["Sequential"]
    long = pl.concat([made.path] * 30).with_columns(pl.int_range(1, pl.len() + 1).alias("pair"))
    chart = charts.sequential(long, alpha=0.05, decided_at=777, limit=100)
    upper = chart.data
    assert upper["pair"][-1] == long.height
    assert 777 in upper["pair"]
    assert upper.height <= 102
    assert "evenly spaced" in head(chart)
    whole = made.plot()
    assert whole.data["log_e"].to_list() == made.path["log_e"].to_list()
    dashed = whole.to_dict()["vconcat"][0]["layer"][0]["encoding"]["y"]["datum"]
    assert dashed == pytest.approx(-math.log(made.alpha))


def test_item_curves_pass_one_half_at_their_difficulty() -> None:
    fit = results()["IrtFit"]
    chart = fit.plot()
    curves = chart.vconcat[0].data
    items = fit.items.select("case", "b")
    joined = curves.join(items, on="case", suffix="_item")
    assert joined["b"].to_list() == joined["b_item"].to_list()
    low = joined.filter(pl.col("ability") < pl.col("b"))["probability"]
    assert low.max() <= 0.5
    information = chart.vconcat[1].layer[0].data
    assert information["information"].to_list() == fit.information()["information"].to_list()


def test_cells_of_a_judge_are_those_of_its_table() -> None:
    made = results()["Calibration"]
    row = made.table.row(0, named=True)
    chart = made.plot()
    cells = dict(zip(("tp", "fn", "fp", "tn"), chart.data["n"], strict=True))
    assert cells == {name: row[name] for name in cells}
    assert chart.data["share"][0] == pytest.approx(row["sensitivity"])
    assert chart.data["share"][3] == pytest.approx(row["specificity"])
    assert f"kappa {row['kappa']:.3f}" in head(chart)


def test_a_judge_without_labels_of_a_class_has_no_share(svg: Callable[[Any], str]) -> None:
    table = results()["Calibration"].table.with_columns(tp=pl.lit(0), fn=pl.lit(0))
    chart = charts.confusion(table)
    assert chart.data["share"].to_list()[:2] == [None, None]
    svg(chart)


def test_corrections_stand_beside_what_the_judge_says() -> None:
    made = results()["Corrected"]
    chart = made.plot()
    assert chart.data["value"].to_list() == [made.judge_rate, made.value]
    assert chart.data["low"].to_list() == [made.judge_low, made.low]
    assert "assumes" in head(chart)


def test_decay_keeps_gaps_and_the_order_of_buckets(svg: Callable[[Any], str]) -> None:
    made = results()["Decay"]
    gap = (pl.col("config") == "config_1") & (pl.col("bucket") == "long")
    curve = made.curve.with_columns(
        pl.when(gap).then(None).otherwise(pl.col("value", "low", "high")).name.keep()
    )
    chart = charts.decay(curve, bucket="length")
    assert chart.data.height == curve.height
    assert "without a value, not drawn: 1 bucket" in head(chart)
    svg(chart)
    x = chart.to_dict()["layer"][0]["encoding"]["x"]
    assert x["scale"]["domain"] == ["short", "long"]


def test_cells_of_a_surface_are_those_of_the_result(svg: Callable[[Any], str]) -> None:
    made = results()["Surface"]
    chart = made.plot()
    assert chart.data["value"].to_list() == made.cells["value"].to_list()
    assert "drawn: 2 of 6 panels" in head(charts.surface(made.cells, limit=2))
    empty = made.cells.with_columns(value=pl.lit(None, pl.Float64))
    svg(charts.surface(empty))


def test_many_configs_of_a_summary_are_few_rows() -> None:
    names = [f"m{i}" for i in range(230)]
    table = pl.DataFrame({"config": names, "metric": "pass@1", "value": 0.5})
    table = table.with_columns(low=pl.lit(0.4), high=pl.lit(0.6))
    chart = tr.plot(table)
    assert chart.data.height == 200
    assert "drawn: 200 of 230 rows" in head(chart)
