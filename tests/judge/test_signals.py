from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable


def table(tasks: dict[str, dict[str, list[float]]]) -> pl.DataFrame:
    rows = [
        {"case": case, "flag": float(flag), "passed": not fail}
        for case, cell in tasks.items()
        for flag, fail in zip(cell["flag"], cell["fail"], strict=True)
    ]
    return pl.DataFrame(rows)


def made(seed: int = 0, cases: int = 30, trials: int = 4) -> pl.DataFrame:
    frame = tr.simulate(configs=["a", "b"], cases=cases, trials=trials, clusters=6, seed=seed)
    rng = np.random.default_rng(seed)
    failed = (~frame["passed"]).cast(pl.Int64).to_numpy()
    return frame.with_columns(
        errors=pl.Series(rng.poisson(0.5 + failed)),
        steps=pl.Series(rng.lognormal(3.0, 0.5, frame.height)),
    )


def test_golden(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("auroc_within_task"):
        frame, expected = table(entry["inputs"]["tasks"]), entry["expected"]
        row = tr.signal_auroc(frame, signals="flag").row(0, named=True)
        tolerance = entry["tolerance"]
        assert row["value"] == pytest.approx(expected["pair_weighted"], abs=tolerance)
        assert row["macro"] == pytest.approx(expected["macro"], abs=tolerance)
        assert row["pooled"] == pytest.approx(expected["pooled_across_tasks"], abs=tolerance)
        assert row["pairs"] == expected["pairs"]
        assert row["cases_used"] == expected["tasks_used"]
        for task, value in expected["per_task"].items():
            if len(entry["inputs"]["tasks"][task]["fail"]) < 2:
                continue
            own = tr.signal_auroc(frame.filter(case=task), signals="flag").row(0, named=True)
            assert own["value"] == (None if value is None else pytest.approx(value, abs=tolerance))


def test_rows_columns_and_engines_do_not_matter(require: Callable[[str], Any]) -> None:
    frame = made()
    expected = tr.signal_auroc(frame, signals=["errors"], length="steps", seed=3)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    others = [shuffled, shuffled.lazy(), shuffled.to_arrow(), shuffled.to_dict(as_series=False)]
    duckdb, pandas = require("duckdb"), require("pandas")
    assert pandas
    others += [shuffled.to_pandas(), duckdb.from_arrow(shuffled.to_arrow())]
    for other in others:
        assert tr.signal_auroc(other, signals=["errors"], length="steps", seed=3).equals(expected)


def test_one_row_per_config_and_signal_and_the_references() -> None:
    found = tr.signal_auroc(made(), signals=["errors"], length="steps")
    assert found["role"].to_list() == ["signal", "length", "difficulty", "difficulty"] * 2
    assert found["config"].to_list() == ["a"] * 4 + ["b"] * 4
    difficulty = found.filter(role="difficulty")
    assert difficulty["scope"].unique().to_list() == ["pooled across cases"]
    assert difficulty["low"].null_count() == difficulty.height
    signal = found.filter(role="signal")
    assert (signal["value"] > 0.6).all()
    assert (signal["low"] < signal["value"]).all()
    assert (signal["high"] > signal["value"]).all()
    assert (signal["units"] <= 6).all(), "clusters are the units"


def test_a_signal_that_knows_the_case_only_has_a_half() -> None:
    frame = made().with_columns(hard=pl.col("passed").mean().over("config", "case") * -1.0)
    found = tr.signal_auroc(frame, signals="hard", cluster=None).filter(role="signal")
    assert found["value"].to_list() == [0.5, 0.5]
    assert found["pvalue"].to_list() == [1.0, 1.0]
    assert (found["pooled"] > 0.8).all()
    assert all("tells cases apart more" in text for text in found["warnings"])


def test_the_interval_is_the_bootstrap_of_cases_done_by_hand() -> None:
    frame = made(cases=200).filter(config="a")
    row = tr.signal_auroc(frame, signals="errors", cluster=None, resamples=20_000).row(
        0, named=True
    )
    cells = []
    for _, case in frame.group_by("case", maintain_order=True):
        x, p = case["errors"].to_numpy(), case["passed"].to_numpy()
        gap = x[~p][:, None] - x[p]
        cells.append(((gap > 0).sum() + (gap == 0).sum() / 2, gap.size))
    won, pairs = np.array([cell for cell in cells if cell[1]]).T
    pick = np.random.default_rng(0).integers(len(won), size=(20_000, len(won)))
    draws = won[pick].sum(axis=1) / pairs[pick].sum(axis=1)
    assert row["value"] == pytest.approx(won.sum() / pairs.sum())
    assert row["low"] == pytest.approx(np.quantile(draws, 0.025), abs=0.003)
    assert row["high"] == pytest.approx(np.quantile(draws, 0.975), abs=0.003)


def test_unknown_signals_and_verdicts_are_left_out_and_counted() -> None:
    frame = (
        made()
        .with_row_index()
        .with_columns(
            passed=pl.when(pl.col("index") % 7 > 0).then("passed"),
            errors=pl.when(pl.col("index") % 5 > 0).then("errors"),
        )
    )
    row = tr.signal_auroc(frame, signals="errors").row(0, named=True)
    used = frame.filter(config="a").drop_nulls(["passed", "errors"])
    assert row["trials"] == used.height
    assert row["missing"] + row["trials"] + row["unscored"] == frame.filter(config="a").height
    plain = tr.signal_auroc(used, signals="errors").row(0, named=True)
    assert row["value"] == plain["value"]


def test_signals_may_be_canonical_columns_and_large_numbers() -> None:
    frame = pl.DataFrame(
        {
            "case": ["x"] * 4,
            "passed": [True, False, True, False],
            "duration_s": [1.0, 2.0, 1.5, 3.0],
            "stamp": [2**60, 2**60 + 1, 2**60 - 1, 2**60 + 2],
            "judge": [True, False, True, True],
        }
    )
    found = tr.signal_auroc(frame, signals=["duration_s", "stamp", "judge"])
    assert found["value"].to_list()[:3] == [1.0, 1.0, 0.25]


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.5"), Decimal("2.5"), None],
        [1.0, float("inf"), -float("inf")],
        [date(2026, 1, 1), date(2026, 1, 2), None],
        [False, True, None],
    ],
)
def test_anything_with_an_order_is_a_signal(values: list[Any]) -> None:
    frame = pl.DataFrame({"case": ["x"] * 3, "passed": [True, False, None], "s": values})
    row = tr.signal_auroc(frame, signals="s").row(0, named=True)
    assert (row["value"], row["low"], row["unscored"]) == (1.0, None, 1)
    assert row["warnings"] == "only one independent unit: no interval"


def test_trials_across_configs_when_the_config_is_left_out() -> None:
    rows = {"config": ["a", "b"], "case": ["x", "x"], "passed": [True, False], "flag": [0, 1]}
    with pytest.raises(TrialsError, match="two scored trials"):
        tr.signal_auroc(rows, signals="flag")
    assert tr.signal_auroc(rows, signals="flag", config=None)["value"][0] == 1.0


def test_no_case_with_both_outcomes_is_null() -> None:
    rows = {"case": ["x", "x"], "passed": [True, True], "flag": [0, 1]}
    row = tr.signal_auroc(rows, signals="flag").row(0, named=True)
    assert (row["value"], row["low"], row["pvalue"], row["pairs"]) == (None, None, None, 0)
    assert "no case has both" in row["warnings"]


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"signals": []}, ArgumentError, "name at least one"),
        ({"signals": "flagg"}, ColumnError, "Did you mean 'flag'"),
        ({"signals": "word"}, ColumnError, "no order"),
        ({"signals": "nan"}, TrialsError, "fill_nan"),
        ({"signals": "flag", "level": 1.0}, ArgumentError, "level"),
        ({"signals": "flag", "resamples": 0}, ArgumentError, "resamples"),
        ({"signals": "flag", "length": "steps"}, ColumnError, "for length"),
        ({"signals": "flag", "cluster": "word"}, TrialsError, "two clusters"),
        ({"signals": "flag", "trial": "same"}, TrialsError, "more than once"),
        ({"signals": "flag", "case": "none"}, TrialsError, "null"),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[Exception], told: str) -> None:
    frame = pl.DataFrame(
        {
            "case": ["x", "x"],
            "passed": [True, False],
            "flag": [1, 2],
            "word": ["p", "q"],
            "nan": [1.0, float("nan")],
            "same": [1, 1],
            "none": [None, "x"],
        }
    )
    with pytest.raises(error, match=told):
        tr.signal_auroc(frame, **change)
