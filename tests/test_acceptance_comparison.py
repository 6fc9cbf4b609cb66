"""Comparisons of real evaluations: every number that is printed, once more from the raw rows."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import trialframe as tr
from reference import independent as plain
from reference.recomputed import (
    Raw,
    agree,
    bracket_agrees,
    cases_agree,
    flips_agree,
    majorities_agree,
    verdict,
)
from trialframe.cli import main
from trialframe.errors import TrialsError, UnknownConfigError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.shared


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and rows of a command that writes JSON."""
    code = main([*(str(word) for word in words), "-f", "json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else []


# SWE-bench Verified, one trial a side

OPUS, GEMINI, SONNET, GPT, MINI, O3 = (
    "20251124_mini-v1.16.0_claude-opus-4-5-20251101",
    "20251118_mini-v1.15.0_gemini-3-pro-preview-20251118",
    "20250929_mini-v1.13.3_sonnet-4-5-20250929",
    "20250807_mini-v1.7.0_gpt-5",
    "20250807_mini-v1.7.0_gpt-5-mini",
    "20250726_mini-v1.0.0_o3-2025-04-16",
)


@pytest.mark.parametrize("units", ["clusters", "cases"])
@pytest.mark.parametrize("names", [(GPT, OPUS), (GEMINI, OPUS), (SONNET, GPT), (MINI, O3)])
def test_swebench_verified(shared_data: Path, names: tuple[str, str], units: str) -> None:
    path = shared_data / "swebench_verified_bashonly.parquet"
    raw = Raw.of(pl.read_parquet(path), names, clusters=units == "clusters")
    for margin in (0.02, 0.05, 0.1):
        found = tr.compare(tr.counts(tr.read(path)), *names, units=units, margin=margin)
        assert found.non_inferiority is not None
        p, down = raw.flip(Fraction(str(margin)))[1], raw.flip(-Fraction(str(margin)))[2]
        assert found.non_inferiority.pvalue == pytest.approx(p, rel=1e-9)
        assert found.equivalence is not None
        assert found.equivalence.pvalue == pytest.approx(max(p, down), rel=1e-9)
        if units == "cases":
            holds, low, p = plain.non_inferior_tango(
                *raw.discordant, len(raw.case), Fraction(str(margin))
            )
            assert found.non_inferiority.decided_by == "tango"
            assert found.non_inferiority.bound == pytest.approx(low, abs=1e-7)
            assert found.non_inferiority.holds == holds
        elif found.changed >= 10:
            low = found.interval(method="t").low or 0.0
            assert found.non_inferiority.decided_by == "t"
            assert found.non_inferiority.bound == low
            assert found.non_inferiority.holds == (low > -margin and p < 0.025)
        else:
            lost = found.pairs.filter(pl.col("diff") < 0)["cluster"].n_unique()
            every = found.pairs["cluster"].n_unique()
            worse = stats.binomtest(lost, every).proportion_ci(0.95, "exact").high
            low = found.low or 0.0
            assert found.non_inferiority.bound == pytest.approx(worse, abs=1e-9)
            assert found.non_inferiority.holds == (worse < margin and low > -margin and p < 0.025)
    agree(found, raw)


@pytest.mark.parametrize("units", ["clusters", "cases"])
def test_swebench_verified_from_the_command_line(
    shared_data: Path, units: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "swebench_verified_bashonly.parquet"
    options = ("--units", units, "--margin", 0.05, "--by", "difficulty")
    code, rows = printed(capsys, "compare", path, GPT, OPUS, *options)
    trials = tr.read(path)
    counts = tr.counts(trials, by="difficulty")
    found = tr.compare(counts, GPT, OPUS, units=units, margin=0.05, by="difficulty", trials=trials)
    assert code == 0
    assert found.groups is not None
    (row,) = rows
    for group, wanted in zip(row.pop("groups"), found.groups.to_dicts(), strict=True):
        assert group == pytest.approx(wanted, abs=1e-15)
    assert row == found.to_frame().to_dicts()[0]
    assert main(["compare", str(path), OPUS, GPT, *map(str, options)]) == 1


def test_swebench_verified_by_difficulty(shared_data: Path) -> None:
    path = shared_data / "swebench_verified_bashonly.parquet"
    counts = tr.counts(tr.read(path), by="difficulty")
    groups = tr.compare(counts, GPT, OPUS, units="cases", by="difficulty").groups
    assert groups is not None
    rows = pl.read_parquet(path)
    for row in groups.iter_rows(named=True):
        part = Raw.of(rows.filter(difficulty=row["difficulty"]), (GPT, OPUS), clusters=False)
        assert row["pvalue"] == pytest.approx(part.flip()[0], rel=1e-9)
        interval = plain.tango(*part.discordant, len(part.case))
        assert (row["low"], row["high"]) == pytest.approx(interval, abs=1e-7)
        assert row["verdict"] == verdict(interval, row["pvalue_holm"], row["wins"] + row["losses"])
    adjusted = multipletests(groups["pvalue"].to_numpy(), method="holm")[1]
    np.testing.assert_allclose(groups["pvalue_holm"].to_numpy(), adjusted)


def test_swebench_verified_costs(shared_data: Path) -> None:
    path = shared_data / "swebench_verified_bashonly.parquet"
    found = tr.compare(tr.counts(tr.read(path)), GPT, OPUS, metric="cost_uusd", effect="ratio")
    rows = pl.read_parquet(path).sort("case_id")
    a, b = (rows.filter(config=name)["cost_usd"].to_numpy() * 1e6 for name in (GPT, OPUS))
    cluster = plain.codes(rows.filter(config=GPT)["cluster"].to_list())
    mean, se, df = plain.cr2(b - a, None, cluster)
    assert (found.diff, found.se, found.df) == pytest.approx((mean[0], se[0], df), rel=1e-6)
    assert found.ratio is not None
    ratio = (found.ratio.value, found.ratio.low, found.ratio.high)
    assert ratio == pytest.approx(plain.log_ratio(a, b, None, cluster), rel=1e-6)
    sums = np.bincount(cluster, b - a)
    assert found.pvalue == pytest.approx(plain.sign_flip_enumerated(sums.tolist())[0])
    assert found.verdict == "worse"
    assert (found.tango, found.majority) != (None, None)


# Terminal-Bench, five trials a side, some without a verdict

BENCH = [
    ("droid_claude-4-sonnet", "droid_claude-4-1-opus"),
    ("cursor-cli_claude-4-sonnet", "swe-agent-mini_claude-4-sonnet"),
    ("ob1-09-10-25", "droid_gpt-5"),
]


@pytest.mark.parametrize("unscored", ["fail", "exclude"])
@pytest.mark.parametrize("names", BENCH)
def test_terminal_bench(shared_data: Path, names: tuple[str, str], unscored: str) -> None:
    path = shared_data / "terminal_bench_core_0_1_1.parquet"
    mine = pl.read_parquet(path).filter(~pl.col("run_is_copy"))
    trials = tr.read(path).filter(~pl.col("run_is_copy"))
    found = tr.compare(tr.counts(trials, unscored=unscored), *names)
    raw = Raw.of(mine, names, clusters=True, failing=unscored == "fail")
    if unscored == "exclude":
        agree(found, raw)
        return
    whole = Raw.of(mine, names, clusters=True)
    bracket_agrees(found, whole)
    flips_agree(found, raw)
    majorities_agree(found, raw)
    mean, se, df = plain.cr2(raw.c[1] / raw.n[1] - raw.c[0] / raw.n[0], None, raw.cluster)
    assert (found.diff, found.se, found.df) == pytest.approx((mean[0], se[0], df), rel=1e-9)
    assert set(raw.n.ravel()) == {5}


def test_terminal_bench_cases(shared_data: Path) -> None:
    path = shared_data / "terminal_bench_core_0_1_1.parquet"
    names = BENCH[1]
    mine = pl.read_parquet(path).filter(~pl.col("run_is_copy"))
    raw = Raw.of(mine, names, clusters=False)
    counts = tr.counts(tr.read(path).filter(~pl.col("run_is_copy")))
    cases_agree(counts, names, raw, sample=25)


# tau2, one trial a side, three benchmarks

AB = ("gpt-4.1", "gpt-4.1-sft")


def keyed(rows: pl.DataFrame) -> pl.DataFrame:
    """Cases named as counts name a key of two columns."""
    return rows.with_columns(case_id=pl.concat_str("benchmark", "case_id", separator=" | "))


@pytest.mark.parametrize("units", ["clusters", "cases"])
def test_tau2_fine_tuning(shared_data: Path, units: str) -> None:
    path = shared_data / "tau2_gpt41_sft_ab.parquet"
    trials = tr.read(path)
    counts = tr.counts(trials, case=["benchmark", "case"], by="benchmark")
    found = tr.compare(counts, *AB, units=units, by="benchmark", trials=trials)
    rows = pl.read_parquet(path)
    raw = Raw.of(keyed(rows), AB, clusters=units == "clusters")
    agree(found, raw)
    groups = found.groups
    assert groups is not None
    assert groups["cases"].to_list() == [20, 40, 40]
    for row in groups.iter_rows(named=True):
        part = rows.filter(benchmark=row["benchmark"])
        whole = Raw.of(part, AB, clusters=units == "clusters")
        assert row["diff"] == pytest.approx(float(sum(whole.fractions)) / len(whole.case))
        assert row["pvalue"] == pytest.approx(whole.flip()[0], rel=1e-9)
    adjusted = multipletests(groups["pvalue"].to_numpy(), method="holm")[1]
    np.testing.assert_allclose(groups["pvalue_holm"].to_numpy(), adjusted)
    assert groups.filter(benchmark="tau2-bench-telecom")["diff"].item() == pytest.approx(0.30)


def test_tau2_from_the_command_line(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_data / "tau2_gpt41_sft_ab.parquet"
    key = ("--case", "benchmark", "--case", "case_id")
    code, (row,) = printed(capsys, "compare", path, *AB, *key, "--units", "cases")
    raw = Raw.of(keyed(pl.read_parquet(path)), AB, clusters=False)
    b, c = raw.discordant
    assert code == 0
    assert (row["majority_only_baseline"], row["majority_only_candidate"]) == (b, c)
    p = pytest.approx(plain.mcnemar(b, c)[0], rel=1e-12)
    assert (row["majority_pvalue"], row["pvalue"]) == (p, p)
    assert (row["low"], row["high"]) == pytest.approx(plain.tango(b, c, 100), abs=1e-7)
    code, cases = printed(capsys, "regressions", path, *AB, *key)
    moves = [row["transition"] for row in cases]
    assert (moves.count("pass to fail"), moves.count("fail to pass")) == (b, c)
    assert {row["status"] for row in cases} == {"untestable"}
    assert code == 0
    alike = ("gpt-4.1__no-user", "gpt-4.1-sft__no-user")
    _, (row,) = printed(capsys, "compare", path, *alike, *key, "--units", "cases")
    assert (row["cases"], row["diff"]) == (40, pytest.approx(0.35))


# SWE-bench Pro, uneven sets of cases

PRO = [
    ("kimi-k2-instruct-10132025", "claude-45sonnet-10132025"),
    ("gptoss-paper", "gemini-2-5-pro-preview-paper"),
    ("claude-4sonnet-10132025", "gpt-5-250-turns-10132025"),
]


@pytest.mark.parametrize("units", ["clusters", "cases"])
@pytest.mark.parametrize("names", PRO)
def test_swebench_pro(shared_data: Path, names: tuple[str, str], units: str) -> None:
    path = shared_data / "swebench_pro.parquet"
    found = tr.compare(tr.counts(tr.read(path)), *names, units=units)
    raw = Raw.of(pl.read_parquet(path), names, clusters=units == "clusters")
    agree(found, raw)
    assert sum(raw.alone) > 0
    left = f"left out: {raw.alone[0]} cases only of the baseline, {raw.alone[1]} only of the"
    assert any(text.startswith(left) for text in found.warnings)


# LiveCodeBench, ten trials and one

CODE = [
    ("DeepSeek-V3", "O4-Mini (High)", False),
    ("O3-Mini-2025-01-31 (Low)", "GPT-4O-2024-08-06", False),
    ("DeepSeek-V3", "Claude-3.5-Sonnet-20241022", True),
    ("O4-Mini (High)", "O4-Mini (Medium)", True),
]


@pytest.mark.parametrize("units", ["clusters", "cases"])
@pytest.mark.parametrize(("baseline", "candidate", "exact"), CODE)
def test_livecodebench(
    shared_data: Path, baseline: str, candidate: str, units: str, *, exact: bool
) -> None:
    path = shared_data / "livecodebench_2025_04.parquet"
    names = (baseline, candidate)
    found = tr.compare(tr.counts(tr.read(path)), *names, units=units)
    agree(found, Raw.of(pl.read_parquet(path), names, clusters=units == "clusters"))
    assert found.exact == exact
    said = "trial counts differ within cases: the sign flip is approximate" in found.warnings
    assert said != exact


def test_livecodebench_cases(shared_data: Path) -> None:
    path = shared_data / "livecodebench_2025_04.parquet"
    for names in (CODE[0][:2], CODE[2][:2]):
        raw = Raw.of(pl.read_parquet(path), names, clusters=False)
        cases_agree(tr.counts(tr.read(path)), names, raw, sample=12)


# BFCL, the same answers scored twice

SNAPSHOTS = ("2024-07-25 | gpt-4o-2024-05-13-FC", "2024-08-11 | gpt-4o-2024-05-13-FC")


def test_bfcl_snapshots(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_data / "bfcl_v1_2024.parquet"
    rows = pl.read_parquet(path).filter(pl.col("config").str.starts_with("gpt-4o-2024-05-13-FC"))
    rows = rows.with_columns(config=pl.concat_str("snapshot", "config", separator=" | "))
    counts = tr.counts(tr.read(path), config=["snapshot", "config"])
    for units in ("clusters", "cases"):
        found = tr.compare(counts, *SNAPSHOTS, units=units)
        raw = Raw.of(rows, SNAPSHOTS, clusters=units == "clusters")
        agree(found, raw)
    table = tr.regressions(counts, *SNAPSHOTS)
    moved = dict(zip(raw.case, raw.c.T.tolist(), strict=True))
    words = {(0, 0): "fail to fail", (0, 1): "fail to pass", (1, 0): "pass to fail"}
    words[1, 1] = "pass to pass"
    for case, transition in table.select("case", "transition").rows():
        assert transition == words[tuple(moved[case])]
    assert set(table["status"]) == {"untestable"}
    key = ("--config", "snapshot", "--config", "config")
    code, cases = printed(capsys, "regressions", path, *SNAPSHOTS, *key)
    assert (code, cases) == (0, table.to_dicts())


def test_bfcl_without_its_snapshot_says_how(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "bfcl_v1_2024.parquet"
    assert main(["compare", str(path), "gpt-4o-2024-05-13-FC", "claude-2.1"]) == 2
    assert "--config snapshot" in capsys.readouterr().err


# tau2 adversarial, dirty on purpose


def test_tau2_adversarial_says_what_is_wrong(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "tau2_adversarial_openrouter.parquet"
    names = ("gpt-oss-120b", "kimi-k2.5")
    code, rows = printed(capsys, "compare", path, *names)
    assert (code, rows) == (2, [])
    with pytest.raises(TrialsError, match="3"):
        tr.counts(tr.read(path))
    counts = tr.counts(tr.read(path), keep="last")
    with pytest.raises(UnknownConfigError, match=r"kimi-k2\.5"):
        tr.compare(counts, names[0], "kimi-k2")
    # every scored trial passed: nothing changed, and what was not scored decides
    found = tr.compare(counts, *names)
    assert (found.wins, found.losses, found.pvalue) == (0, 0, 1.0)
    assert found.verdict == "inconclusive"
    assert found.bracket_low is not None
    assert found.bracket_high is not None
    assert found.bracket_low < 0 < found.bracket_high
    assert any("coverage" in text for text in found.warnings)
    assert found.undefined > 0
