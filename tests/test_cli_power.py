"""The command that plans a comparison: every format, pilots, assumptions, refusals."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

BOARD = str(Path(__file__).resolve().parents[1] / "data" / "leaderboard.parquet")
PILOT = (
    "power",
    BOARD,
    "--baseline",
    "cirrus-flash",
    "--candidate",
    "cirrus-pro",
    "--units",
    "cases",
)
ASSUMED = ("power", "--rate", "0.6", "--icc", "0.5")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: code, output, errors."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def test_a_pilot_plans(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run(*PILOT, "--effect", "0.02,0.05", "--cases", "100,400", "--trials", "8,4")
    assert code == 0
    counts = tr.counts(tr.read(BOARD))
    named = {"baseline": "cirrus-flash", "candidate": "cirrus-pro", "units": "cases"}
    named |= {"trials": (8, 4)}
    assert tr.mde(counts, **named).reading in out
    needed = tr.cases_needed(counts, effect=0.05, **named).cases
    assert f"0.05: {needed:,}" in out
    power = tr.power(counts, effect=0.05, cases=400, **named).power
    assert f"{power:.1%}".replace("%", " %") in out
    assert "- spread of cirrus-pro minus cirrus-flash in 150 shared cases of the pilot" in out


def test_assumptions_need_no_file(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    wanted = tr.power_table(rate=0.6, icc=0.5, cases=[50, 500], effects=[0.05])
    words = (*ASSUMED, "--cases", "50,500", "--effect", "0.05")
    _, out, _ = run(*words, "-f", "csv")
    assert_frame_equal(pl.read_csv(io.StringIO(out)), wanted)
    _, out, _ = run(*words, "-f", "json")
    assert json.loads(out) == wanted.to_dicts()
    path = tmp_path / "power.parquet"
    assert run(*words, "-o", str(path))[:2] == (0, "")
    assert_frame_equal(pl.read_parquet(path), wanted)
    _, out, _ = run(*words, "-f", "md")
    assert "| cases | +0.05 |" in out
    assert "- test: mcnemar, for one trial a side and no clusters" in out
    assert "- assumed rate 0.6, icc 0.5" in out


def test_exact_power_has_two_numbers(run: Callable[..., tuple[int, str, str]]) -> None:
    words = ("power", "--test", "mcnemar", "--discordance", "0.2", "--effect", "0.05,0.3")
    code, out, _ = run(*words, "--cases", "50")
    assert code == 0
    assert "- / 99.9 %" in out
    assert "80.0 % power when no case gets worse 0.05: 157; 0.3: 25" in out
    assert "0.3: none, a difference of 0.3 cannot be where outcomes disagree in only 0.2" in out
    assert "- cells: power at discordance 0.200 / power when no case gets worse" in out
    assert "- the second is the smaller where so few cases change" in out
    assert "fewer than 6 at alpha 0.05" in out


def test_repeated_effects_and_cases_count_once(run: Callable[..., tuple[int, str, str]]) -> None:
    words = ("--effect", "0.1,0.05,0.05", "--effect", "0.0500000001", "--cases", "50,50")
    code, out, _ = run("power", "--rate", "0.8", "--icc", "0.2", *words, "-f", "md")
    assert code == 0
    assert "| cases | +0.1 | +0.05 | +0.0500000001 |" in out.replace("  ", " ")
    assert out.count("| 50 |") == 1
    assert "the discordance that follows (0.1: " in out


def test_missing_answers_have_a_reason(run: Callable[..., tuple[int, str, str]]) -> None:
    _, out, _ = run(*ASSUMED, "--effect", "0.0001")
    assert "0.0001: none, it takes more than 10,000,000 cases" in out
    code, out, _ = run("power", "--rate", "0.95", "--icc", "0.2")
    assert code == 0
    assert "+0.1" not in out


def test_warnings_reach_people_and_pipes(run: Callable[..., tuple[int, str, str]]) -> None:
    told = "with one trial a side this promises more power"
    assert f"- warning: {told}" in run(*ASSUMED, "--test", "t")[1]
    _, out, err = run(*ASSUMED, "--test", "t", "-f", "json")
    assert told not in out
    assert f"warning: {told}" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("power",), "give --rate and --icc, or --discordance (of single trials)"),
        ((*ASSUMED, "--effect", "big"), "--effect == 'big', must be numbers"),
        ((*ASSUMED, "--trials", "1,2,3"), "two: (baseline, candidate)"),
        ((*ASSUMED, "--test", "f"), "test == 'f'"),
        (("power", BOARD), "12 configs. Name --baseline and --candidate"),
        ((*PILOT, "--icc", "0.5"), "the pilot tells that already"),
    ],
)
def test_bad_plans_end_with_2(
    words: tuple[str, ...], told: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert told in err
