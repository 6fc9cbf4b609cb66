"""The commands leaderboard and compare-all: every format, and the rows of the library."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.cli import main

ROOT = Path(__file__).resolve().parents[1]
BOARD = str(ROOT / "data" / "leaderboard.parquet")
COMMANDS = {
    "leaderboard": [BOARD, "--by", "split", "-m", "pass^2", "--best", "mcs", "--resamples", "200"],
    "compare-all": [BOARD, "--baseline", "atlas-large", "--adjust", "max-t", "--units", "cases"],
}


@pytest.fixture(scope="module")
def wanted() -> dict[str, pl.DataFrame]:
    """What the library says."""
    counts = tr.counts(tr.read(BOARD), by="split")
    return {
        "leaderboard": tr.leaderboard(
            counts, by="split", metric="pass^2", best="mcs", resamples=200
        ),
        "compare-all": tr.compare_all(counts, "atlas-large", adjust="max-t", units="cases"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_files_hold_every_row_unrounded(
    command: str, wanted: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    table = wanted[command]
    for ending in ("parquet", "csv", "json"):
        path = tmp_path / f"made.{ending}"
        assert main([command, *COMMANDS[command], "-o", str(path)]) == 0
        if ending == "parquet":
            assert_frame_equal(pl.read_parquet(path), table)
        elif ending == "csv":
            made = pl.read_csv(path, schema=table.schema)
            empty = table.with_columns(pl.col("warnings").replace("", None))
            made = made.with_columns(pl.col("warnings").replace("", None))
            assert_frame_equal(made, empty, rel_tol=1e-14)
        else:
            assert json.loads(path.read_text(encoding="utf-8")) == table.to_dicts()


@pytest.mark.parametrize("command", COMMANDS)
def test_people_read_a_table(
    command: str,
    wanted: dict[str, pl.DataFrame],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for form in ("table", "md"):
        assert main([command, *COMMANDS[command], "-f", form]) == 0
        shown = capsys.readouterr().out
        assert "borealis-2-thinking" in shown
        assert "trial counts differ" in shown or "shared cases" in shown
        if form == "table":
            assert max(map(len, shown.splitlines()[-10:])) <= 100
        else:
            rows = [line for line in shown.splitlines() if line.startswith("|")]
            assert len(rows) == wanted[command].height + 2


def test_long_names_are_cut_and_warnings_are_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    names = [f"a-rather-long-name-of-a-config-{i:02d}-with-a-date-20251101" for i in range(6)]
    trials = tr.simulate(configs=names, cases=8, trials=2, clusters=2, seed=1)
    path = tmp_path / "trials.parquet"
    trials.filter(pl.col("case") != trials["case"][0]).write_parquet(path)
    for command in COMMANDS:
        assert main([command, str(path), "--resamples", "100"]) == 0
        shown = capsys.readouterr().out
        rows = [line for line in shown.splitlines() if "…" in line and "[" in line]
        assert rows
        assert max(map(len, rows)) <= 90
        assert shown.count("small suite: 7 cases") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["leaderboard"],
        ["leaderboard", BOARD, "--best", "winner"],
        ["leaderboard", BOARD, "--cases", "all"],
        ["leaderboard", BOARD, "--by", "suite"],
        ["leaderboard", BOARD, "-m", "pass@9"],
        ["compare-all", BOARD, "--baseline", "nobody"],
        ["compare-all", BOARD, "--adjust", "tukey"],
    ],
)
def test_bad_input_ends_with_2_and_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_configs_can_be_picked_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--only", "cirrus-pro", "--only", "cirrus-flash"]
    assert main(["leaderboard", BOARD, *pair, "-f", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["config"] for row in rows] == ["cirrus-pro", "cirrus-flash"]
    assert main(["compare-all", BOARD, *pair, "--without", "cirrus-pro", "-f", "json"]) == 2
    assert main(["leaderboard", BOARD, "--without", "cirrus"]) == 2
    assert "Did you mean 'cirrus-pro'" in capsys.readouterr().err
    assert main(["leaderboard", BOARD, *pair, "--without", "cirrus-pro", "-f", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
