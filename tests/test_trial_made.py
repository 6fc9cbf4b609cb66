"""Numbers that were made from the order of rows are never used as runs, nor paired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = 60


def made(*, flag: bool = True) -> pl.DataFrame:
    """Three trials of every case, sorted so that those with the same number agree."""
    rows = [
        {"config": config, "case": f"c{case}", "trial": trial, "passed": (case + trial) % 3 > 0}
        for config in ("a", "b")
        for case in range(CASES)
        for trial in range(3)
    ]
    table = pl.DataFrame(rows).with_columns(trial_made=pl.lit(flag))
    return table.with_columns(run=pl.concat_str(pl.lit("day "), "trial"))


def test_runs_are_refused_and_a_column_that_tells_them_apart_is_offered() -> None:
    with pytest.raises(TrialsError, match=r"360 trials were numbered .* for example trial='run'"):
        tr.run_summary(made())
    named = tr.run_summary(made(), trial="run")
    assert named.equals(tr.run_summary(made(flag=False)))
    assert named["clusters"].to_list() == [3, 3]


def test_one_made_number_is_enough_and_nulls_are_none() -> None:
    table = made(flag=False)
    first = pl.int_range(pl.len()) == 0
    with pytest.raises(TrialsError, match=r"^1 trials"):
        tr.run_summary(table.with_columns(trial_made=first))
    unknown = table.with_columns(trial_made=pl.lit(None, pl.Boolean))
    assert tr.run_summary(unknown)["clusters"].to_list() == [3, 3]


def test_trials_without_a_number_are_no_run_either() -> None:
    first = pl.int_range(pl.len()) == 0
    table = made(flag=False).with_columns(trial=pl.when(~first).then("trial"))
    with pytest.raises(TrialsError, match=r"^1 trials were given no number, .* trial='run'"):
        tr.run_summary(table)
    assert tr.run_summary(table, trial="run")["clusters"].to_list() == [3, 3]


@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
def test_every_engine_refuses_them(kind: str, require: Callable[[str], Any]) -> None:
    module, table = require(kind), made()
    there = table.to_pandas() if kind == "pandas" else module.from_arrow(table.to_arrow())
    with pytest.raises(TrialsError, match="360 trials were numbered"):
        tr.run_summary(there)
    assert tr.run_summary(there, trial="run")["clusters"].to_list() == [3, 3]


def test_the_worst_of_runs_is_refused() -> None:
    rules = {"rule": [{"name": "floor", "rule": "value >= 0.1", "bound": "worst run"}]}
    with pytest.raises(TrialsError, match="no run of them is the worst"):
        tr.gate_policy(tr.counts(made()), "a", "b", rules, trials=made())
    real = made(flag=False)
    told = tr.gate_policy(tr.counts(real), "a", "b", rules, trials=real)
    assert told.rules["observed"].to_list() == [pytest.approx(2 / 3)]


def test_the_first_trials_are_not_those_of_the_first_rows() -> None:
    table = made()
    with pytest.raises(TrialsError, match="made from the order of a log"):
        tr.sequential(table, "a", "b", order=[f"c{i}" for i in range(CASES)])
    timed = table.with_columns(when=-pl.int_range(pl.len()))
    real = timed.drop("trial", "trial_made", "run")
    told = tr.sequential(timed, "a", "b", order="when")
    assert told.to_dict() == tr.sequential(real, "a", "b", order="when").to_dict()


def test_the_audit_says_so_and_finds_no_copies_in_their_making() -> None:
    sorted_rows = (
        made()
        .sort("config", "case", "passed")
        .with_columns(
            trial=pl.int_range(pl.len()).over("config", "case"),
            passed=pl.int_range(pl.len()).over("config", "case") < 2,
        )
    )
    mixed = pl.col("case").str.slice(1).cast(pl.Int64) % 2 == 0
    alike = sorted_rows.with_columns(passed=pl.col("passed") & mixed)
    found = tr.check_trials(alike)
    assert found.filter(rule="made_trial").select("severity", "rows").rows() == [("info", 360)]
    assert found.filter(rule="copied_run").is_empty()
    real = tr.check_trials(alike.with_columns(trial_made=pl.lit(value=False)))
    assert real.filter(rule="made_trial").is_empty()
    assert real.filter(rule="copied_run")["severity"].to_list() == ["warning"]


def test_a_clock_gives_copies_away_whatever_their_numbers() -> None:
    clock = pl.col("case").str.slice(1).cast(pl.Int64) * 1_000 + 7
    table = made().filter(pl.col("config") == "a").with_columns(duration_ms=clock, passed=pl.lit(1))
    found = tr.check_trials(table.with_columns(pl.col("passed").cast(pl.Boolean)))
    assert found.filter(rule="copied_run")["severity"].to_list() == ["error"]


def test_made_numbers_have_no_base() -> None:
    table = made().with_columns(
        trial=pl.col("trial") + (pl.col("config") == "b"),
        trial_made=pl.col("config") == "a",
    )
    assert tr.check_trials(table).filter(rule="mixed_trial_base").is_empty()
    real = table.with_columns(trial_made=pl.lit(value=False))
    assert tr.check_trials(real).filter(rule="mixed_trial_base").height == 1


def test_other_numbers_taken_for_trials_are_not_made_up() -> None:
    read = tr.read(made(), trial="run").collect()
    assert "trial_made" not in read.columns
    assert tr.read(made()).collect()["trial_made"].all()
    given = tr.read(made(), trial="run", trial_made="trial_made").collect()
    assert given["trial_made"].all()
