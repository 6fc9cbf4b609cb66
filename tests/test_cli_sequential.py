"""The commands for looking while trials come in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]

BOARD = str(Path(__file__).resolve().parents[1] / "data" / "leaderboard.parquet")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: code, output, errors."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def trials(tmp_path: Path) -> str:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = tr.simulate(
        configs=["base", "new"], cases=120, trials=3, lift=0.3, started_at=start, seed=2
    )
    path = tmp_path / "trials.parquet"
    made.write_parquet(path)
    return str(path)


def test_a_comparison_is_followed(run: Run, trials: str, tmp_path: Path) -> None:
    found = tr.sequential(tr.read(trials), "base", "new", first=3, break_cost=2)
    words = ("sequential", trials, "base", "new", "--first", "3", "--break-cost", "2")
    code, out, _ = run(*words)
    assert code == 0
    assert found.claim in out
    assert "verdict so far" in out
    path = tmp_path / "path.parquet"
    assert run(*words, "-o", str(path))[0] == 0
    assert_frame_equal(pl.read_parquet(path), found.path)
    _, out, err = run(*words, "-f", "json")
    assert json.loads(out)[-1]["wins"] == found.wins
    assert found.claim in err
    assert run(*words, "-f", "csv")[1].startswith("pair,case,")
    assert "| quantity | value |" in run(*words, "-f", "md")[1]


def test_a_worse_candidate_ends_with_1(run: Run, trials: str) -> None:
    code, out, _ = run("sequential", trials, "new", "base")
    assert code == 1
    assert "worse from pair" in out


def test_order_is_never_made_up(run: Run) -> None:
    code, out, err = run("sequential", BOARD, "cirrus-flash", "cirrus-pro", "--order", "started")
    assert (code, out) == (2, "")
    assert "the table has no column 'started'" in err
    assert run("sequential", BOARD, "cirrus-pro")[0] == 2


def test_next_trials_keeps_the_budget(run: Run, trials: str, tmp_path: Path) -> None:
    words = ("next-trials", trials, "--budget", "50", "--baseline", "new")
    wanted = tr.next_trials(tr.counts(tr.read(trials)), budget=50, baseline="new")
    path = tmp_path / "next.csv"
    assert run(*words, "-o", str(path))[0] == 0
    assert pl.read_csv(path)["trials"].to_list() == wanted["trials"].to_list()
    code, out, _ = run(*words)
    assert code == 0
    assert "50 of 50 trials go to" in out
    assert "decided: against a pass rate of 1/2, which the 95 % confidence sequence" in out
    _, out, _ = run(*words, "--candidate", "base")
    assert "decided: new and base differ in the case, for the 97.5 % confidence" in out
    assert "| config |" in run(*words, "-f", "md")[1]


def test_a_summary_of_adaptive_trials(run: Run, trials: str) -> None:
    words = ("summary", trials, "--estimand", "suite", "--stopping", "adaptive")
    code, out, _ = run(*words, "-f", "json")
    assert code == 0
    assert {row["method"] for row in json.loads(out)} == {"mixture-sequence"}
    assert run(*words)[0] == 0
    code, _, err = run("summary", trials, "--stopping", "adaptive")
    assert code == 2
    assert "only pass@1" in err
    assert run("summary", trials, "--estimand", "runs", "--stopping", "adaptive")[0] == 2
