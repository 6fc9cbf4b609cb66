"""What is wrong with a table is found, and nothing is found in a clean one."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.audit import check_trials
from trialframe.counts import counts
from trialframe.errors import SourceError, TrialsError

if TYPE_CHECKING:
    from pathlib import Path


def grid(configs: int = 2, cases: int = 12, trials: int = 3, seed: int = 0) -> pl.DataFrame:
    """A clean table: every config tries every case equally often, and every run differs."""
    size = configs * cases * trials
    rng = np.random.default_rng(seed)
    index = np.arange(size)
    return pl.DataFrame(
        {
            "config": [f"m{i}" for i in index // (cases * trials)],
            "case": [f"case-{i}" for i in index // trials % cases],
            "trial": index % trials,
            "cluster": [f"c{i}" for i in index // trials % cases // 3],
            "passed": rng.random(size) < 0.5,
            "duration_ms": rng.integers(1, 10**6, size),
            "tokens_out": rng.integers(1, 10**4, size),
        }
    )


def rules(table: Any, **columns: Any) -> dict[str, int]:
    found = check_trials(table, **columns)
    assert found.columns == ["rule", "severity", "rows", "examples", "advice"]
    assert found["severity"].is_in(["error", "warning"]).all()
    assert found["severity"].is_sorted()
    assert not found["advice"].is_null().any()
    return dict(found.select("rule", "rows").iter_rows())


CLEAN = grid()


def set_where(column: str, value: Any, *rows: int) -> pl.DataFrame:
    hit = pl.int_range(pl.len()).is_in(list(rows))
    return CLEAN.with_columns(pl.when(hit).then(pl.lit(value)).otherwise(column).alias(column))


def test_a_clean_table_has_no_findings() -> None:
    found = check_trials(CLEAN)
    assert found.is_empty()
    assert found.schema["rows"] == pl.Int64


M0 = pl.col("config") == "m0"
DIRTY: list[tuple[str, pl.DataFrame, int]] = [
    ("duplicate_key", set_where("trial", 0, 1), 1),
    ("not_boolean_passed", CLEAN.with_columns(passed=pl.lit("Y")), 72),
    ("not_boolean_passed", CLEAN.with_columns(passed=pl.lit(0.5)), 72),
    ("not_finite", CLEAN.with_columns(score=pl.lit(float("nan"))), 72),
    ("not_finite", CLEAN.with_columns(cost_usd=pl.lit(float("inf"))), 72),
    ("null_case", set_where("case", None, 3, 4), 2),
    ("null_config", set_where("config", None, 3), 1),
    ("two_clusters", set_where("cluster", "other", 0), 6),
    ("zero_for_unknown", set_where("tokens_out", 0, 5, 6), 2),
    ("zero_for_unknown", CLEAN.with_columns(cost_usd=pl.lit(0.0)), 72),
    ("negative_measure", set_where("duration_ms", -1, 5), 1),
    ("mixed_trial_base", CLEAN.with_columns(trial=pl.col("trial") + M0.cast(pl.Int64)), 36),
    ("near_case_ids", CLEAN.with_columns(case=pl.col("case").replace("case-1", " Case-2")), 12),
    ("near_config_ids", CLEAN.with_columns(config=pl.col("config").replace("m1", "M0 ")), 72),
    ("no_scored_trials", CLEAN.with_columns(passed=pl.when(~M0).then("passed")), 36),
    ("unscored_trials", set_where("passed", None, 0, 1, 2), 3),
    ("missing_cases", CLEAN.filter(~(M0 & (pl.col("case") == "case-1"))), 3),
    ("uneven_trials", CLEAN.slice(1), 2),
    ("sequential_attempts", CLEAN.with_columns(attempt=pl.col("trial") + 1), 48),
]


@pytest.mark.parametrize(("rule", "table", "rows"), DIRTY)
def test_every_rule_finds_its_rows(rule: str, table: pl.DataFrame, rows: int) -> None:
    found = rules(table)
    assert found[rule] == rows
    shuffled = rules(table.sample(fraction=1.0, shuffle=True, seed=1))
    assert shuffled == found


def test_a_copied_run_is_found_in_a_table_without_flag() -> None:
    copy = CLEAN.filter(M0, trial=1).with_columns(trial=pl.lit(7, pl.Int64))
    found = check_trials(pl.concat([CLEAN, copy])).filter(rule="copied_run")
    assert found.select("severity", "rows").rows() == [("error", 12)]
    assert "trials [1, 7]" in found["examples"].item()
    other = copy.with_columns(duration_ms=pl.col("duration_ms") + (pl.col("case") == "case-3"))
    assert "copied_run" not in rules(pl.concat([CLEAN, other]))


def test_copies_without_a_clock_may_be_a_deterministic_system() -> None:
    table = CLEAN.drop("duration_ms")
    copy = table.filter(M0, trial=1).with_columns(trial=pl.lit(7, pl.Int64))
    found = check_trials(pl.concat([table, copy])).filter(rule="copied_run")
    assert found["severity"].to_list() == ["warning"]


def test_runs_that_agree_by_chance_are_no_copies() -> None:
    few = CLEAN.select("config", "case", "trial").with_columns(passed=pl.col("case") == "case-1")
    assert "copied_run" not in rules(few)
    constant = few.with_columns(duration_ms=pl.lit(5), tokens_out=pl.lit(3))
    assert "copied_run" not in rules(constant)
    many = grid(cases=60).select("config", "case", "trial")
    easy = many.with_columns(passed=pl.lit(value=True))
    assert "copied_run" not in rules(easy)
    mixed = many.with_columns(passed=pl.col("case").str.ends_with("1"))
    assert "copied_run" not in rules(mixed)  # 6 passes are too few
    half = many.with_columns(passed=pl.col("case").str.contains("[1-4]$"))
    assert rules(half)["copied_run"] == 2 * 2 * 60


@given(st.integers(0, 2**32 - 1))
def test_independent_runs_are_never_called_copies(seed: int) -> None:
    assert "copied_run" not in rules(grid(cases=6, trials=4, seed=seed))


def test_a_column_that_tells_repeated_rows_apart_is_named() -> None:
    twice = pl.concat(
        [CLEAN.with_columns(snapshot=pl.lit("july")), CLEAN.with_columns(snapshot=pl.lit("august"))]
    )
    found = check_trials(twice).filter(rule="duplicate_key").row(0, named=True)
    assert found["rows"] == 72
    assert "config=['config', 'snapshot']" in found["advice"]
    assert "duplicate_key" not in rules(twice, config=["config", "snapshot"])


def test_free_text_is_not_suggested_as_part_of_a_key() -> None:
    size = 2 * CLEAN.height
    index = pl.int_range(pl.len())
    twice = pl.concat([CLEAN, CLEAN]).with_columns(
        error=pl.when(index < size // 2).then(pl.format("failed {}", index)),
        half=pl.when(index < size // 2).then(pl.lit("a")).otherwise(pl.lit("b")),
        note=pl.when(index < size // 2).then(pl.lit("once")),
    )
    for columns, words in ((["error", "note"], ""), (["error", "note", "half"], "'half'")):
        table = twice.select(*CLEAN.columns, *columns)
        advice = check_trials(table).filter(rule="duplicate_key")["advice"].item()
        assert ("tells them apart" in advice) == bool(words)
        assert words in advice
        assert "error" not in advice


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=20))
def test_as_many_rows_are_called_duplicates_as_when_counting(keys: list[tuple[str, int]]) -> None:
    table = {"case": [k for k, _ in keys], "trial": [t for _, t in keys], "passed": [1] * len(keys)}
    found = rules(table).get("duplicate_key", 0)
    assert found == len(keys) - len(set(keys))
    if found:
        with pytest.raises(TrialsError, match=f"^{found:,} rows share"):
            counts(table)


def test_attempts_and_trials_without_a_number_are_said() -> None:
    table = {"case": ["x", "x", "y", "y"], "passed": [0, 1, 0, 1], "attempt": [0, 1, 0, 1]}
    found = rules(table)
    assert found["attempts_not_from_1"] == 2
    assert found["sequential_attempts"] == 2
    assert "attempts_not_from_1" not in rules(table, attempt=pl.col("attempt") + 1)
    assert rules({**table, "attempt": [1, None, 1, 2]})["attempts_not_from_1"] == 1
    assert "attempts_not_from_1" not in rules({**table, "attempt": [1, 2, 1, 2]})
    trials = {"case": ["x", "x", "y"], "passed": [0, 1, 0], "trial": [0, None, None]}
    assert rules(trials)["null_trial"] == 2
    assert "null_trial" not in rules({**trials, "trial": [None, None, None]})
    assert check_trials(trials).filter(rule="null_trial")["severity"].to_list() == ["warning"]


def test_a_table_without_configs_or_trial_numbers_is_one_system() -> None:
    table = {"case": ["x", "x", "y", "y"], "passed": [True, False, True, True]}
    assert rules(table) == {}
    assert rules({"case": ["x"], "passed": [None]}) == {"no_scored_trials": 1}


def test_counts_are_checked_too() -> None:
    table = {"config": ["a", "a", "a"], "case": [1, 1, 2], "n": [5, 5, 5], "c": [5, 6, None]}
    found = rules(table)
    assert found["duplicate_key"] == 1
    assert found["counts_out_of_range"] == 2


def test_it_reports_where_reading_would_raise() -> None:
    assert rules({"task": [1], "item": [1], "passed": [1]}) == {"columns": 0}
    assert rules({"case": [1]}) == {"columns": 0}
    assert rules({"case": [1], "passed": [1]}, case="tsk") == {"columns": 0}
    assert rules({"case": [], "passed": []}) == {"no_rows": 0}
    mess = {"case": [None, "x", "x"], "passed": ["Y", "True", "True"], "trial": [0, 0, 0]}
    assert rules(mess) == {
        "not_boolean_passed": 1,
        "null_case": 1,
        "duplicate_key": 1,
    }
    score = {"case": [1, 2], "score": [float("nan"), 1.0]}
    assert rules(score, threshold=0.5)["not_finite"] == 1


def test_a_missing_file_is_an_error_and_a_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        check_trials(tmp_path / "a.parquet")
    CLEAN.write_parquet(tmp_path / "a.parquet")
    assert check_trials(tmp_path / "a.parquet").is_empty()


def test_examples_stay_short_when_ids_are_long() -> None:
    ids = ["x" * 1_000_000 + end for end in "aAbB"] * 2
    found = check_trials({"case": ids, "trial": [0] * 8, "passed": [True] * 8})
    assert {"duplicate_key", "near_case_ids"} <= set(found["rule"])
    assert (found["examples"].str.len_chars() < 1000).all()


def test_the_copied_run_of_a_real_table(shared_data: Path) -> None:
    path = shared_data / "terminal_bench_core_0_1_1.parquet"
    found = check_trials(path)
    copies = found.filter(rule="copied_run").row(0, named=True)
    assert (copies["severity"], copies["rows"]) == ("error", 80)
    assert "swe-agent-mini_claude-4-sonnet" in copies["examples"]
    zeros = found.filter(rule="zero_for_unknown")
    assert zeros["rows"].to_list() == [2556, 2556]
    clean = pl.scan_parquet(path).filter(~pl.col("run_is_copy"))
    assert "copied_run" not in rules(clean)


REAL = {
    "bfcl_v1_2024": {"duplicate_key": 86_700},
    "livecodebench_2025_04": {},
    "reflexion_attempts": {"sequential_attempts": 1026},
    "swebench_case_annotations": {"columns": 0},
    "swebench_pro": {"missing_cases": 2844},
    "swebench_verified_bashonly": {},
    "tau2_adversarial_openrouter": {"duplicate_key": 3},
    "tau2_gpt41_sft_ab": {"zero_for_unknown": 140},
    "tau2_llm_judges": {"duplicate_key": 834},
    "tau_bench_airline_gpt4o": {},
}


@pytest.mark.parametrize("name", REAL)
def test_what_is_known_of_real_tables_is_found(shared_data: Path, name: str) -> None:
    found = rules(shared_data / f"{name}.parquet")
    assert REAL[name].items() <= found.items()
    assert "copied_run" not in found
    if name == "bfcl_v1_2024":
        assert "duplicate_key" not in rules(
            shared_data / f"{name}.parquet", config=["config", "snapshot"]
        )


@pytest.mark.bench
def test_a_million_rows_take_less_than_three_seconds() -> None:
    table = grid(configs=50, cases=4000, trials=5)
    start = perf_counter()
    assert check_trials(table).is_empty()
    assert perf_counter() - start < 3
