"""The command audit: formats, what it is told, and the exit code by severity."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
DIRTY, BOARD = ROOT / "data" / "dirty.parquet", ROOT / "data" / "leaderboard.parquet"


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, bytes, str]]:
    """Run the command: exit code, standard output, standard error."""

    def ran(*words: object) -> tuple[int, bytes, str]:
        code = main(["audit", *map(str, words)])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return ran


Run = "Callable[..., tuple[int, bytes, str]]"


def test_the_exit_code_is_the_worst_severity(run: Run, tmp_path: Path) -> None:
    assert run(DIRTY)[0] == 1
    assert run(BOARD)[0] == 0
    assert run(BOARD, "--strict")[0] == 1
    trials = tr.simulate(
        configs=2, cases=60, trials=6, lift=0.5, interaction=0.5, insecure=0.1, cost_uusd=9, seed=1
    )
    trials.with_columns(image=pl.lit("sha256:" + "ab" * 32)).write_parquet(tmp_path / "a.parquet")
    code, out, _ = run(tmp_path / "a.parquet", "--strict", "-f", "csv")
    told = pl.read_csv(out)
    assert set(told["severity"]) <= {"info", "warning"}
    assert code == int("warning" in told["severity"])


def test_every_format_holds_the_same_rows(run: Run, tmp_path: Path) -> None:
    expected = tr.audit(DIRTY)
    assert json.loads(run(DIRTY, "-f", "json")[1]) == expected.to_dicts()
    assert pl.read_csv(run(DIRTY, "-f", "csv")[1])["rule"].equals(expected["rule"])
    assert pl.read_parquet(io.BytesIO(run(DIRTY, "-f", "parquet")[1])).equals(expected)
    assert run(DIRTY, "-f", "md")[1].decode().startswith("| rule")
    assert run(DIRTY, "-o", tmp_path / "a.parquet")[0] == 1
    assert pl.read_parquet(tmp_path / "a.parquet").equals(expected)
    text = run(DIRTY)[1].decode()
    assert text.startswith("error")
    assert "--unscored fail" in text
    assert "--all says what" in text


def test_what_is_claimed_is_told(run: Run, tmp_path: Path) -> None:
    cases = pl.read_parquet(BOARD)["case"].unique().sort()
    notes = pl.DataFrame({"case": cases, "false_negative": [2] * 5 + [0] * 145}).with_columns(
        created=pl.lit("2024-01-01"), open=pl.lit("yes")
    )
    notes.write_csv(tmp_path / "notes.csv")
    words = ["--baseline", "borealis-1", "--candidate", "borealis-2", "-f", "json", "--all"]
    words += ["--annotations", tmp_path / "notes.csv", "--public", "open"]
    words += ["--source-date", "created", "--release-date", "borealis-1=2025-01-01"]
    _, out, _ = run(BOARD, *words)
    found = {row["rule"]: row for row in json.loads(out)}
    assert found["false_negative_tests"]["rows"] == 5 * 2 * 5
    assert found["public_source"]["rows"] == 1500
    assert found["public_before_release"]["rows"] == 750
    assert found["dependent_trials"]["examples"].startswith("not checked: ")
    assert found["dependent_trials"]["rows"] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.parquet"], "nowhere.parquet"),
        ([BOARD, "--baseline", "borealis-1"], "both"),
        ([BOARD, "--baseline", "borealis-1", "--candidate", "borealis-3"], "Did you mean"),
        ([BOARD, "--public", "opne"], "no column 'opne'"),
        ([BOARD, "--release-date", "a=2025-01-01", "--release-date", "b"], "--release-date"),
        ([BOARD, "--release-date", "a=soon"], "2025-04-30"),
        ([BOARD, "--annotations", "nowhere.csv"], "nowhere.csv"),
        ([BOARD, "-f", "xml"], "format"),
        ([], "argument"),
    ],
)
def test_bad_input_ends_with_2(run: Run, words: list[object], told: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, b"")
    assert told in err
    assert err.count("\n") == 1


def test_names_in_any_script(run: Run, tmp_path: Path) -> None:
    rows = {"model": ["模型", "модель"] * 30, "task": [f"задача {i // 2}" for i in range(60)]}
    path = tmp_path / "прогон ☂.csv"
    pl.DataFrame({**rows, "ok": [True, False] * 30}).write_csv(path)
    code, out, _ = run(path, "--passed", "ok", "-f", "md")
    assert code == 0
    assert "模型" in out.decode()
