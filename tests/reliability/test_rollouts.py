"""reliability@k with and without security, beside pass^k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]


def values(table: pl.DataFrame) -> dict[str, float | None]:
    return dict(zip(table["metric"], table["value"], strict=True))


@pytest.mark.parametrize("form", ["status", "outcome", "outcome failed", "secure"])
def test_golden(golden: Golden, form: str) -> None:
    for entry in golden("reliability_at_k"):
        words, k, expected = entry["inputs"]["statuses"], entry["inputs"]["k"], entry["expected"]
        rows: dict[str, Any] = {"case": ["x"] * len(words)}
        options: dict[str, Any] = {"k": k}
        if form == "status":
            rows["status"], options["status"] = [w.upper() for w in words], "status"
        elif form == "secure":
            rows["passed"] = [w != "fail" for w in words]
            rows["secure"] = [{"pass": True, "security_fail": False}.get(w) for w in words]
        else:
            rows["outcome"] = words
            rows["passed"] = [w == "pass" or (w != "fail" and form == "outcome") for w in words]
        found = values(tr.reliability(rows, **options))
        assert found[f"reliability@{k}"] == pytest.approx(expected["reliability"], abs=1e-12)
        assert found[f"secure_reliability@{k}"] == pytest.approx(
            expected["security_adjusted"], abs=1e-12
        )
        assert found[f"pass^{k}"] == pytest.approx(expected["pass_hat_k_functional"], abs=1e-12)
        assert found[f"secure_pass^{k}"] == pytest.approx(expected["pass_hat_k_secure"], abs=1e-12)


def test_unit_tests_are_no_rollouts(golden: Golden) -> None:
    entry = golden("reliability_at_k_inflation")[0]
    done, total, k = (entry["inputs"][n] for n in ("tests_passed", "tests_total", "k"))
    misuse = {"case": ["x"] * total, "passed": [True] * done + [False] * (total - done)}
    assert values(tr.reliability(misuse, k=k))[f"reliability@{k}"] == pytest.approx(
        entry["expected"]
    )
    honest = {"case": ["x"], "passed": [False], "tests_passed": [done], "tests_total": [total]}
    table = tr.reliability(honest, k=1)
    found = values(table)
    assert found["reliability@1"] == 0.0
    assert found["tests_share"] == pytest.approx(0.4)
    far = table.filter(metric="tests_share")["warnings"].item()
    assert "far above strict resolution" in far


def test_without_a_security_check_the_secure_numbers_are_unknown() -> None:
    table = tr.reliability(tr.simulate(configs=1, cases=30, trials=5, seed=1))
    secure = table.filter(pl.col("metric").str.starts_with("secure"))
    assert secure["value"].null_count() == 2
    assert secure["warnings"].str.contains("no security check").all()


def test_secure_never_exceeds_plain() -> None:
    trials = tr.simulate(configs=3, cases=40, trials=5, insecure=0.4, seed=2)
    for _, part in tr.reliability(trials).group_by("config"):
        found = values(part)
        assert found["secure_reliability@5"] <= found["reliability@5"]  # type: ignore[operator]
        assert found["secure_pass^5"] <= found["pass^5"]  # type: ignore[operator]


def test_few_rollouts_are_flagged_and_short_cases_dropped() -> None:
    table = tr.reliability(tr.simulate(configs=1, cases=30, trials=3, seed=3), k=3)
    drawn = table.filter(pl.col("metric").str.contains("[@^]"))
    assert drawn["warnings"].str.contains("fewer than 5 rollouts").all()
    beyond = tr.reliability(tr.simulate(configs=1, cases=30, trials=3, seed=3), k=5)
    assert beyond.filter(metric="reliability@5")["value"].item() is None
    clamp = tr.reliability(tr.simulate(configs=1, cases=30, trials=3, seed=3), k=5, short="clamp")
    assert clamp.filter(metric="reliability@5")["value"].item() is not None
    enough = tr.reliability(tr.simulate(configs=1, cases=30, trials=5, seed=3))
    assert not enough["warnings"].fill_null("").str.contains("rollouts").any()


def test_a_security_failure_without_verdict_passes_its_tests() -> None:
    rows = {"case": ["x"] * 5, "outcome": ["ok", "ok", "Security-Fail", "ok", "ok"]}
    rows["passed"] = [True, False, None, True, False]
    table = tr.reliability(rows, k=2)
    assert table["trials"].max() == 5
    assert values(table)["pass@1"] == pytest.approx(0.6)
    told = table.filter(metric="secure_pass^2")["warnings"].item()
    assert "1 SECURITY_FAIL trials" in told
    policy = values(tr.reliability(rows, k=2, unscored="fail"))
    assert policy["pass@1"] == pytest.approx(0.6)


def test_other_status_words_have_no_verdict() -> None:
    rows = {"case": ["x"] * 4, "status": ["pass", "timeout", None, "fail"]}
    table = tr.reliability(rows, k=1, status="status")
    assert table["trials"].max() == 2
    assert table["unscored"].max() == 2


def test_bad_input() -> None:
    rows = {"case": ["x"], "status": ["great"], "passed": [True]}
    with pytest.raises(TrialsError, match="no 'status' is one of"):
        tr.reliability(rows, status="status")
    with pytest.raises(ColumnError, match="no column 'state'"):
        tr.reliability(rows, status="state")
    with pytest.raises(ArgumentError, match="not both"):
        tr.reliability(rows, status="status", passed="passed")
    with pytest.raises(ArgumentError, match="counts already"):
        tr.reliability(tr.counts(rows), status="status")
    with pytest.raises(ArgumentError, match="k == 0"):
        tr.reliability(rows, k=0)


def test_groups_and_counts() -> None:
    trials = tr.simulate(configs=2, cases=30, trials=5, difficulty_levels=["hard", "easy"], seed=4)
    direct = tr.reliability(trials, by="difficulty")
    counts = tr.counts(trials, by="difficulty")
    assert direct.equals(tr.reliability(counts, by="difficulty"))
    assert direct["difficulty"].n_unique() == 2


def test_tau_airline(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "tau_bench_airline_gpt4o.parquet")
    found = values(tr.reliability(table, k=4))
    assert found["pass@1"] == pytest.approx(0.42)
    assert found["pass^4"] == pytest.approx(0.2)
    assert found["reliability@4"] == pytest.approx(0.72)


def test_terminal_bench(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "terminal_bench_core_0_1_1.parquet")
    table = table.filter(pl.col("config") == "droid_claude-4-1-opus")
    found = values(tr.reliability(table, unscored="fail", tokens_in=None, tokens_out=None))
    assert found["pass@1"] == pytest.approx(0.5875)
    assert found["reliability@5"] == pytest.approx(0.6875)
    assert found["pass^5"] == pytest.approx(0.4375)
    assert found["tests_share"] == pytest.approx(0.7356, abs=1e-4)
