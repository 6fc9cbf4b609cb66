"""Seq@k from trials to curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialframeError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable


def rows(sequences: list[list[int]], **columns: Any) -> pl.DataFrame:
    found = [
        (f"case {i}", attempt, bool(passed))
        for i, sequence in enumerate(sequences)
        for attempt, passed in enumerate(sequence, 1)
    ]
    frame = pl.DataFrame(found, schema=["case", "attempt", "passed"], orient="row")
    return frame.with_columns(**columns)


def values(table: pl.DataFrame) -> dict[str, float]:
    return dict(table.select("metric", "value").rows())


def test_golden_curves(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("seq_at_k"):
        got = values(tr.seq_at_k(rows(entry["inputs"]["sequences"]), k=entry["inputs"]["K"]))
        wanted = entry["expected"]
        curve = [got[f"seq@{t}"] for t in range(1, entry["inputs"]["K"] + 1)]
        assert curve == pytest.approx(wanted["curve"])
        assert got["early_gain_share"] == pytest.approx(wanted["early_gain_share"])
        assert got["late_gain_share"] == pytest.approx(wanted["late_gain_share"])
    for entry in golden("seq_at_k_short_sequence"):
        frame, k = rows(entry["inputs"]["sequences"]), entry["inputs"]["K"]
        got = values(tr.seq_at_k(frame, k=k, stopped="censored"))
        expected = entry["expected"]["curve_kaplan_meier"]
        assert [got[f"seq@{t}"] for t in range(1, k + 1)] == pytest.approx(expected)


def test_several_sequences_of_a_case_are_averaged_first() -> None:
    frame = pl.DataFrame(
        {
            "case": ["x", "x", "x", "y"],
            "trial": [0, 0, 1, 0],
            "attempt": [1, 2, 1, 1],
            "passed": [False, True, False, True],
        }
    )
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=2)
    assert values(tr.seq_at_k(frame))["seq@2"] == pytest.approx((0.5 + 1) / 2)
    assert tr.seq_at_k(frame).equals(tr.seq_at_k(shuffled))


def test_the_curve_starts_where_first_attempts_are_counted() -> None:
    trials = tr.simulate(configs=2, cases=30, trials=2, clusters=5, attempts=4, learning=0.1)
    curve = tr.seq_at_k(trials).filter(pl.col("metric") == "seq@1")
    first = tr.summary(tr.counts(trials, attempts="first"), metrics="pass@1", method="t")
    assert curve["value"].to_list() == pytest.approx(first["value"].to_list())
    assert curve["se"].to_list() == pytest.approx(first["se"].to_list())
    assert curve["clusters"].to_list() == [5, 5]


def test_an_attempt_without_a_verdict_solves_nothing_and_is_counted() -> None:
    frame = rows([[0, 1], [1]]).with_columns(
        passed=pl.when(pl.col("attempt") == 2).then(None).otherwise(pl.col("passed"))
    )
    got = tr.seq_at_k(frame)
    assert values(got)["seq@2"] == 0.5
    assert got["unscored"].to_list() == [1] * 5


def test_alfworld(shared_data: Any) -> None:
    import json

    trials = tr.read(shared_data / "reflexion_attempts.parquet")
    got = tr.seq_at_k(trials, config=["benchmark", "config"])
    curve = got.filter(
        (pl.col("config") == "alfworld | reflexion") & pl.col("metric").str.starts_with("seq@")
    )
    expected = json.loads((shared_data / "expected.json").read_text(encoding="utf-8"))
    solved = expected["reflexion_attempts"]["alfworld_reflexion"]
    assert [round(134 * value) for value in curve["value"]] == solved


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (rows([[0, 1]]).drop("attempt"), ColumnError, "counts attempts from 1"),
        (rows([[0, 1]]).filter(pl.col("attempt") > 1), TrialsError, "do not count"),
        (pl.concat([rows([[0, 1]])] * 2), TrialsError, "do not count|share a"),
        (rows([[0, 0, 1]]).filter(pl.col("attempt") != 2), TrialsError, "do not count"),
    ],
)
def test_attempts_must_count_from_one(
    frame: pl.DataFrame, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tr.seq_at_k(frame)


@pytest.mark.parametrize("options", [{"k": 0}, {"stopped": "never"}, {"level": 2}])
def test_bad_arguments_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        tr.seq_at_k(rows([[0, 1]]), **options)


def test_what_sequences_have_spent_by_each_attempt() -> None:
    frame = rows([[0, 1], [1], [0, 0, 0]]).with_columns(
        tokens_in=pl.lit(10), tokens_out=pl.lit(5), cost_uusd=100 * pl.col("attempt")
    )
    got = values(tr.seq_at_k(frame))
    tokens = [got[f"seq_tokens@{t}"] for t in (1, 2, 3)]
    assert tokens == pytest.approx([15, (30 + 15 + 30) / 3, (30 + 15 + 45) / 3])
    costs = [got[f"seq_cost_uusd@{t}"] for t in (1, 2, 3)]
    assert costs == pytest.approx([100, (300 + 100 + 300) / 3, (300 + 100 + 600) / 3])
    hole = frame.with_columns(cost_uusd=pl.when(pl.col("attempt") < 3).then("cost_uusd"))
    table = tr.seq_at_k(hole).filter(pl.col("metric").str.starts_with("seq_cost"))
    assert table["value"].null_count() == 3
    assert table["warnings"].unique().to_list() == ["unknown in 1 attempts"]


def test_independent_trials_beside_the_curve() -> None:
    options: dict[str, Any] = {"configs": 2, "cases": 30, "tokens": (100, 50), "seed": 1}
    sequences = tr.simulate(**options, trials=1, attempts=3, learning=0.1)
    independent = tr.counts(tr.simulate(**options, trials=3))
    table = tr.seq_at_k(sequences, k=3, independent=independent)
    expected = tr.summary(independent, metrics="pass@k", k=[1, 2, 3])
    passes = table.filter(pl.col("metric").str.starts_with("pass@"))
    assert passes["value"].to_list() == pytest.approx(expected["value"].to_list())
    assert passes["low"].to_list() == pytest.approx(expected["low"].to_list())
    first = table.filter(config="config_1")
    got = values(first)
    assert got["pass_tokens@3"] == pytest.approx(3 * got["pass_tokens@1"])
    assert got["seq_tokens@3"] < got["pass_tokens@3"]
    with pytest.raises(TrialframeError, match="independent: no config 'config_2'"):
        tr.seq_at_k(sequences, independent=independent.select("config_1"))
