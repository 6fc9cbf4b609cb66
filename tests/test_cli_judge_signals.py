"""The command that asks whether signals find failing trials: every format, refusals."""

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

    Run = Callable[..., tuple[int, str, str]]

BOARD = str(Path(__file__).resolve().parents[1] / "data" / "leaderboard.parquet")
ASKED = ("judge", "signals", BOARD, "--signal", "tokens_out,cost_uusd", "--length", "duration_ms")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: code, output, errors."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture(scope="module")
def expected() -> pl.DataFrame:
    return tr.signal_auroc(
        tr.read(BOARD), signals=["tokens_out", "cost_uusd"], length="duration_ms"
    )


def test_people_read_a_table(run: Run, expected: pl.DataFrame) -> None:
    code, out, _ = run(*ASKED)
    assert code == 0
    assert out.startswith("AUC: chance that a failing trial")
    assert "length duration_ms" in out
    assert "only 6 independent units" in out
    row = expected.row(0, named=True)
    assert f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in out


def test_every_format_holds_the_same(run: Run, expected: pl.DataFrame, tmp_path: Path) -> None:
    _, out, _ = run(*ASKED, "-f", "csv")
    assert_frame_equal(pl.read_csv(io.StringIO(out), schema=expected.schema), expected)
    _, out, _ = run(*ASKED, "-f", "json")
    assert json.loads(out) == expected.to_dicts()
    _, out, _ = run(*ASKED, "-f", "md")
    assert "| config | signal |" in out
    target = tmp_path / "signals.parquet"
    code, out, _ = run(*ASKED, "-o", str(target))
    assert (code, out) == (0, "")
    assert_frame_equal(pl.read_parquet(target), expected)


def test_one_config_needs_no_column_of_configs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task,ok,errors\nx,true,0\nx,false,2\ny,true,1\ny,false,1\n", encoding="utf-8")
    code, out, err = run("judge", "signals", str(path), "--passed", "ok", "-s", "errors")
    assert code == 0
    assert "config" not in out.splitlines()[-5]
    assert "0.750" in out
    assert "case <- task" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("judge",), "Missing command"),
        (("judge", "signals", BOARD), "--signal is missing"),
        (("judge", "signals", BOARD, "-s", "token_out"), "Did you mean 'tokens_out'"),
        (("judge", "signals", BOARD, "-s", "outcome"), "no order"),
        (("judge", "signals", "nowhere.parquet", "-s", "x"), "nowhere.parquet"),
        ((*ASKED, "--level", "2"), "level"),
        ((*ASKED, "--format", "xml"), "xml"),
    ],
)
def test_bad_input_is_told_in_one_line(run: Run, words: tuple[str, ...], told: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.splitlines()[-1].startswith("error: ")
