"""The reliability surface: golden grid, pairing by case, missing cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def cell(found: tr.Surface, k: int, perturbation: float, fault: float) -> dict[str, Any]:
    here = (
        (pl.col("k") == k) & (pl.col("perturbation") == perturbation) & (pl.col("fault") == fault)
    )
    return found.cells.row(by_predicate=here, named=True)


def test_golden_grid(golden: Golden) -> None:
    for entry in golden("reliability_surface"):
        table, expected = pl.DataFrame(entry["inputs"]["rows"]), entry["expected"]
        found = tr.surface(table, perturbation="eps", fault="lam", k=(1, 2))
        for name, value in expected["R"].items():
            k, eps, lam = name.split(",")
            got = cell(found, int(k), float(eps), float(lam))
            assert got["value"] == pytest.approx(value, abs=1e-12)
        robust, faulty = cell(found, 1, 0.2, 0.0), cell(found, 1, 0.0, 0.2)
        assert robust["drop"] == pytest.approx(expected["robustness_drop_eps02"], abs=1e-12)
        assert robust["ratio"] == pytest.approx(expected["robustness_ratio_eps02"], abs=1e-12)
        assert faulty["ratio"] == pytest.approx(expected["fault_ratio_lam02"], abs=1e-12)
        assert cell(found, 2, 0.0, 0.0)["value"] == pytest.approx(expected["consistency_k2"])
        volume = found.volumes.filter(k=2)["volume"].item()
        assert volume == pytest.approx(expected["volume_k2"], abs=1e-12)
        assert {robust["role"], faulty["role"]} == {"robustness", "fault tolerance"}


def simulated(**more: Any) -> pl.DataFrame:
    options = {"configs": 2, "cases": 30, "trials": 4, "perturbation": [0, 0.2], "seed": 1}
    return tr.simulate(**(options | {"faults": [0, 0.3]} | more))  # type: ignore[arg-type]


def test_the_clean_cell_is_the_summary() -> None:
    trials = simulated()
    clean = trials.filter((pl.col("perturbation") == 0) & (pl.col("fault") == 0))
    rows = tr.summary(tr.counts(clean), metrics=["pass^1", "pass^2"])
    found = tr.surface(trials, k=(1, 2)).cells.filter(role="consistency")
    assert found.sort("config", "k")["value"].to_list() == pytest.approx(rows["value"].to_list())
    assert found["low"].to_list() == pytest.approx(rows["low"].to_list())
    assert (found["drop"] == 0).all()


def test_drops_are_paired_by_case() -> None:
    trials = simulated(configs=1, faults=None)
    found = cell(tr.surface(trials, fault=None, k=1), 1, 0.2, 0.0)
    counts = tr.counts(
        trials.with_columns(config=pl.format("at {}", "perturbation")).drop("perturbation")
    )
    expected = tr.compare(counts, "at 0.0", "at 0.2", interval="t")
    assert found["drop"] == pytest.approx(-expected.diff)  # type: ignore[operator]
    assert found["drop_low"] == pytest.approx(-expected.high)  # type: ignore[operator]
    assert found["drop_high"] == pytest.approx(-expected.low)  # type: ignore[operator]


def test_missing_cells_are_null() -> None:
    trials = simulated().filter((pl.col("perturbation") == 0) | (pl.col("fault") == 0))
    found = tr.surface(trials, k=1)
    both = found.cells.filter(pl.col("perturbation") > 0, pl.col("fault") > 0)
    assert both["value"].null_count() == 2
    assert found.volumes["volume"].null_count() == 2
    assert found.volumes["missing"].to_list() == [1, 1]


def test_cases_that_are_not_in_the_clean_cell_are_told() -> None:
    trials = simulated(configs=1, faults=None)
    first = pl.col("case") == "case_01"
    found = tr.surface(trials.filter(~first | (pl.col("perturbation") > 0)), fault=None, k=1)
    row = cell(found, 1, 0.2, 0.0)
    assert (row["cases"], row["shared"]) == (30, 29)
    assert "1 cases are not in the clean cell" in row["warnings"]
    without = tr.surface(trials.filter(pl.col("perturbation") > 0), fault=None, k=1)
    assert cell(without, 1, 0.2, 0.0)["drop"] is None


def test_short_cells_are_dropped_not_clamped() -> None:
    found = tr.surface(simulated(configs=1, trials=2), k=(1, 3))
    assert found.cells.filter(k=3)["value"].null_count() == 4
    assert found.cells.filter(k=3)["dropped"].to_list() == [30] * 4


def test_composite_cases_and_clusters() -> None:
    trials = simulated(clusters=6, icc=0.5).with_columns(suite=pl.lit("s"))
    found = tr.surface(trials, k=1)
    again = tr.surface(trials, k=1, case=["suite", "case"])
    assert again.cells.equals(found.cells)
    assert not tr.surface(trials, k=1, units="cases").cells.equals(found.cells)


def test_bad_input() -> None:
    trials = simulated()
    with pytest.raises(ArgumentError, match="needs trials"):
        tr.surface(tr.counts(trials.filter(perturbation=0.0, fault=0.0)))
    with pytest.raises(ArgumentError, match="both None"):
        tr.surface(trials, perturbation=None, fault=None)
    with pytest.raises(ColumnError, match="no column 'noise'"):
        tr.surface(trials, perturbation="noise")
    with pytest.raises(ColumnError, match="must hold numbers >= 0"):
        tr.surface(trials.with_columns(fault=pl.lit("none")))
    with pytest.raises(ColumnError, match="must hold numbers >= 0"):
        tr.surface(trials.with_columns(fault=-pl.col("fault")))
    with pytest.raises(ArgumentError, match="k"):
        tr.surface(trials, k=())


@pytest.mark.parametrize("name", ["perturbation", "fault"])
def test_a_null_level_is_told_by_its_own_name(name: str) -> None:
    trials = simulated().with_columns(pl.when(pl.col(name) > 0).then(name).alias(name))
    rows = trials[name].null_count()
    with pytest.raises(TrialsError, match=rf"^{name} is null in {rows} rows .column '{name}'"):
        tr.surface(trials)
    with pytest.raises(TrialsError, match=rf"^{name} is null in {rows} rows"):
        tr.surface(trials.to_pandas())
