"""Real tables reproduce the numbers that were published for them."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import TrialsError

if TYPE_CHECKING:
    from pathlib import Path


REFUSED = {
    "bfcl_v1_2024",  # two snapshots of every case
    "reflexion_attempts",  # attempts, not trials
    "swebench_case_annotations",  # no verdicts
    "tau2_adversarial_openrouter",  # three keys twice
    "tau2_llm_judges",  # four judges of every case
}


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> dict[str, Any]:
    """Published numbers by table."""
    return dict(json.loads((shared_data / "expected.json").read_text(encoding="utf-8")))


def values(table: pl.DataFrame, column: str = "value") -> dict[tuple[str, str], float]:
    return {
        (config, metric): v for config, metric, v in table.select("config", "metric", column).rows()
    }


def test_tau_bench_airline(shared_data: Path, expected: dict[str, Any]) -> None:
    counts = tr.counts(tr.read(shared_data / "tau_bench_airline_gpt4o.parquet"))
    got = values(tr.summary(counts, metrics="pass^k"))
    for k, value in expected["tau_bench_airline_gpt4o"]["pass_hat_k"].items():
        assert round(got["tool-calling__gpt-4o", f"pass^{k}"], 3) == value
    assert "195 of 200" not in str(counts.notes)
    assert int(counts.frame["cost_uusd_n"].sum()) == 195


@pytest.fixture(scope="module")
def terminal_bench(shared_data: Path) -> pl.LazyFrame:
    """The Terminal-Bench trials without the run that is a copy."""
    trials = tr.read(shared_data / "terminal_bench_core_0_1_1.parquet")
    return trials.filter(~pl.col("run_is_copy"))


def test_terminal_bench_pass_at_k_and_runs(
    terminal_bench: pl.LazyFrame, expected: dict[str, Any]
) -> None:
    counts = tr.counts(terminal_bench, unscored="fail")
    got = values(tr.summary(counts, metrics="pass@k", k=[2, 4, 5]))
    runs = tr.counts(terminal_bench, unscored="fail", config=["config", "run"], trial="trial")
    by_run = values(tr.summary(runs, metrics="pooled"))
    for row in expected["terminal_bench_core_0_1_1"]["runs"]:
        name = f"{row['config']} | {row['run']}"
        assert by_run[name, "pooled"] == pytest.approx(row["accuracy"], abs=1e-12)
        for k, value in row["pass_at_k"].items():
            assert got[row["config"], f"pass@{k}"] == pytest.approx(value, abs=1e-12)


def test_terminal_bench_has_three_standard_errors_and_each_has_a_name(
    terminal_bench: pl.LazyFrame, expected: dict[str, Any]
) -> None:
    counts = tr.counts(terminal_bench, unscored="fail")
    over_runs = tr.run_summary(terminal_bench, unscored="fail")
    suite = tr.summary(counts, metrics="pass@1", estimand="suite")
    cases = tr.summary(counts, metrics="pass@1", units="cases")
    published = {
        "droid_claude-4-1-opus": (58.75, 0.884, 1.22, 4.96),
        "droid_gpt-5": (52.5, 2.092, 1.41, 4.84),
        "droid_claude-4-sonnet": (50.5, 1.346, 1.29, 4.99),
    }
    for row in expected["terminal_bench_core_0_1_1"]["leaderboard_public"]:
        name = row["config"]
        accuracy, run_se, suite_se, case_se = published[name]
        assert accuracy == pytest.approx(row["accuracy_pct"], abs=0.051)
        for table, se, digits in (
            (over_runs, run_se, 3),
            (suite, suite_se, 2),
            (cases, case_se, 2),
        ):
            assert 100 * values(table)[name, "pass@1"] == pytest.approx(accuracy, abs=1e-9)
            assert round(100 * values(table, "se")[name, "pass@1"], digits) == se
    methods = [table["method"][0] for table in (over_runs, suite, cases)]
    assert methods == ["t-runs", "unbiased-z", "score-cr2"]
    assert [t["estimand"][0] for t in (over_runs, suite, cases)] == ["runs", "suite", "cases"]


def test_terminal_bench_unscored_trials_are_reported(shared_data: Path) -> None:
    trials = tr.read(shared_data / "terminal_bench_core_0_1_1.parquet")
    config = "swe-agent-mini_claude-4-sonnet"
    mini = trials.filter(pl.col("config") == config)
    mini = mini.filter(~pl.col("run_is_copy"))
    left_out = tr.summary(tr.counts(mini), metrics="pooled").row(0, named=True)
    failed = tr.summary(tr.counts(mini, unscored="fail"), metrics="pooled").row(0, named=True)
    assert round(100 * failed["value"], 2) == 12.75
    assert round(100 * left_out["value"], 1) == 20.4
    assert left_out["bracket_low"] == pytest.approx(failed["value"])
    assert failed["coverage"] == pytest.approx(left_out["coverage"])
    assert "coverage" in left_out["warnings"]
    tests = tr.summary(tr.counts(mini), metrics="tests_share").row(0, named=True)
    assert tests["value"] > left_out["value"]
    shares = tr.summary(tr.counts(mini), metrics="outcomes")
    assert shares["value"].sum() == pytest.approx(1.0)


def test_swebench_pro(shared_data: Path, expected: dict[str, Any]) -> None:
    counts = tr.counts(tr.read(shared_data / "swebench_pro.parquet"))
    got = tr.summary(counts, metrics="pass@1")
    found = {r["config"]: (r["value"], r["trials"]) for r in got.rows(named=True)}
    for row in expected["swebench_pro"]["rows"]:
        assert found[row["config"]] == (pytest.approx(row["c"] / row["n"]), row["n"])
    assert got["clusters"].to_list() == [11] * 9


def test_livecodebench(shared_data: Path, expected: dict[str, Any]) -> None:
    window = pl.col("release_date").is_between(pl.date(2024, 8, 1), pl.date(2025, 2, 1))
    trials = tr.read(shared_data / "livecodebench_2025_04.parquet").filter(window)
    got = tr.summary(tr.counts(trials), metrics="pass@1")
    found = {r["config"]: (r["cases"], r["value"]) for r in got.rows(named=True)}
    for row in expected["livecodebench_2025_04"]["rows"]:
        cases, value = found[row["config"]]
        assert (cases, round(100 * value, 3)) == (row["n_questions"], row["pass1"])


def test_bfcl(shared_data: Path, expected: dict[str, Any]) -> None:
    trials = tr.read(shared_data / "bfcl_v1_2024.parquet")
    with pytest.raises(TrialsError, match="with 'snapshot' every row is unique"):
        tr.counts(trials)
    counts = tr.counts(trials, config=["snapshot", "config"])
    got = tr.summary(counts, metrics="pooled", by="cluster")
    found = {(r["config"], r["cluster"]): (r["value"], r["trials"]) for r in got.rows(named=True)}
    assert len(found) == 1536
    for snapshot, config, category, passes, trials_run in expected["bfcl_v1_2024"]["rows"]:
        value, n = found[f"{snapshot} | {config}", category]
        assert n == trials_run
        assert value == pytest.approx(passes / trials_run, abs=1e-12)


def test_swebench_verified_costs(shared_data: Path, expected: dict[str, Any]) -> None:
    counts = tr.counts(tr.read(shared_data / "swebench_verified_bashonly.parquet"))
    got = values(tr.summary(counts, metrics=["pass@1", "cost_uusd", "cost_uusd_per_pass"]))
    wrong = expected["swebench_verified_bashonly"]["known_mismatch"]
    for row in expected["swebench_verified_bashonly"]["rows"]:
        name = row["config"]
        if name not in wrong:
            assert round(100 * got[name, "pass@1"], 2) == row["resolved_pct"]
            solved = row["instance_cost"] * 1e8 / row["resolved_pct"]
            assert got[name, "cost_uusd_per_pass"] == pytest.approx(solved, rel=1e-5)
        assert got[name, "cost_uusd"] / 1e6 == pytest.approx(row["instance_cost"], abs=1e-6)


def test_reflexion_attempts_are_not_trials(shared_data: Path) -> None:
    trials = tr.read(shared_data / "reflexion_attempts.parquet")
    with pytest.raises(TrialsError, match="second or later attempts"):
        tr.counts(trials)
    first = tr.counts(trials, attempts="first", config=["benchmark", "config"])
    got = values(tr.summary(first, metrics="pass@1"))
    solved = {name: value for (name, _), value in got.items() if name.startswith("alfworld")}
    assert any(value == pytest.approx(84 / 134) for value in solved.values())


def test_every_table_is_summarised_or_says_why_not(shared_data: Path) -> None:
    for path in sorted(shared_data.glob("*.parquet")):
        table = None
        with contextlib.suppress(tr.TrialframeError):
            table = tr.summary(tr.counts(tr.read(path)))
        assert (table is None) == (path.stem in REFUSED)
        assert table is None or table.height > 0


def test_leaderboard_of_swebench_verified(shared_data: Path, expected: dict[str, Any]) -> None:
    counts = tr.counts(tr.read(shared_data / "swebench_verified_bashonly.parquet"))
    board = tr.leaderboard(counts, units="cases")
    wrong = expected["swebench_verified_bashonly"]["known_mismatch"]
    value = dict(board.select("config", "value").rows())
    for row in expected["swebench_verified_bashonly"]["rows"]:
        if row["config"] not in wrong:
            assert round(100 * value[row["config"]], 2) == row["resolved_pct"]
    assert board["cases"].unique().to_list() == [500]
    assert board["plausibly_best"].to_list() == [True] * 3 + [False] * 22
    assert board["rank"][4:6].to_list() == [5, 5]  # 66.0 % twice
    assert (board["rank_low"] <= board["rank"]).all()
    assert (board["rank"] <= board["rank_high"]).all()
    assert board["pareto_share"].is_between(0, 1).all()
    pairs = tr.compare_all(counts, board["config"][0], units="cases", adjust="max-t")
    better = pairs.filter(pl.col("adjusted") < 0.01)
    assert better.height >= 15
    assert set(better["verdict"]) == {"worse"}
    clustered = tr.leaderboard(counts)
    assert "one cluster holds 46%" in clustered["warnings"][0]
    assert clustered["clusters"].unique().to_list() == [12]


def test_leaderboards_of_uneven_and_wide_tables(shared_data: Path) -> None:
    pro = tr.counts(tr.read(shared_data / "swebench_pro.parquet"))
    board = tr.leaderboard(pro)
    assert board["cases"].unique().to_list() == [418]
    with pytest.raises(TrialsError, match="cover different cases: 418 are shared"):
        tr.leaderboard(pro, cases="raise")
    pairs = tr.compare_all(pro)
    assert pairs.height == 36
    assert pairs["cases"].min() >= 418
    bfcl = tr.read(shared_data / "bfcl_v1_2024.parquet")
    wide = tr.leaderboard(tr.counts(bfcl, config=["snapshot", "config"]), units="cases")
    assert wide.height == 128
    assert 1 <= wide["plausibly_best"].sum() < 20


def test_leaderboard_of_terminal_bench(terminal_bench: pl.LazyFrame) -> None:
    board = tr.leaderboard(tr.counts(terminal_bench, unscored="fail"), units="cases")
    assert board["config"][0] == "droid_claude-4-1-opus"
    assert board["value"][0] == pytest.approx(0.5875)
    assert board["plausibly_best"][0]
    assert not board["plausibly_best"][-1]
