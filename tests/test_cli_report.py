"""The command report: pages and Markdown, exit codes, files, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
BOARD = str(ROOT / "data" / "leaderboard.parquet")
PAIR = ("--baseline", "cirrus-flash", "--candidate", "cirrus-pro", "--units", "cases")


def test_markdown_is_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", BOARD, "--baseline", "atlas-large", "-f", "md", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    wanted = tr.report(BOARD, baseline="atlas-large", format="md", seed=3)
    ours, theirs = shown.splitlines(), wanted.splitlines()
    # remedies are said in options, not in arguments
    differing = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    assert len(differing) < 12
    assert all(one.startswith("|") for one, _ in differing)
    assert "--unscored" in shown
    assert "unscored=" not in shown


def test_a_page_is_written_whole(
    require: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("jinja2", "altair", "vl_convert"):
        require(module)
    path = tmp_path / "report.html"
    words = ["report", BOARD, "--by", "difficulty", "--title", "Spring board", "-o", str(path)]
    assert main([*words, *PAIR]) == 0
    made = path.read_text(encoding="utf-8")
    assert made.startswith("<!doctype html>")
    assert made.rstrip().endswith("</html>")
    assert "<h1>Spring board</h1>" in made
    assert "Groups by difficulty" in made
    assert "written: " in capsys.readouterr().err
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_the_exit_code_is_the_gates_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", BOARD, "-f", "md", *PAIR]) == 0
    assert main(["report", BOARD, "-f", "md", *PAIR, "--gate"]) == 1
    assert "### Gate: hold" in capsys.readouterr().out


def test_counts_need_no_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counts.parquet"
    tr.counts(tr.read(BOARD)).frame.write_parquet(path)
    assert main(["report", str(path), "-f", "md"]) == 0
    assert "**Not audited**" in capsys.readouterr().out


def test_columns_and_policies_are_those_of_other_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    rows = tr.simulate(configs=2, cases=30, trials=3, unscored=0.2, seed=1)
    rows.select(
        who="config", what="case", which="trial", verdict="passed", repo="cluster"
    ).write_csv(path) if "cluster" in rows.columns else rows.select(
        pl.col("config").alias("who"),
        pl.col("case").alias("what"),
        pl.col("trial").alias("which"),
        pl.col("passed").alias("verdict"),
    ).write_csv(path)
    words = ["--config", "who", "--case", "what", "--map", "trial=which", "--passed", "verdict"]
    assert main(["report", str(path), "-f", "md", *words, "--unscored", "fail"]) == 0
    shown = capsys.readouterr().out
    assert "counted as failures" in shown
    assert "180 scored trials" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "pdf"], "format == 'pdf'"),
        (["-o", "x.pdf"], "end in .html or .md"),
        (["--baseline", "atlas-larg", "-f", "md"], "Did you mean 'atlas-large'"),
        (["--candidate", "atlas-large", "-f", "md"], "--baseline"),
        (["--gate", "-f", "md"], "--baseline"),
        (["--gate", "--baseline", "atlas-large", "-f", "md"], "--candidate"),
        (["--by", "nothing", "-f", "md"], "nothing"),
        (["--title", "", "-f", "md"], "title"),
        (["-o", "no/such/folder/x.md"], "no folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", BOARD, *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err.splitlines()[-1]


def test_a_page_is_not_poured_into_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["report", BOARD]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "--output" in told.err


def test_its_own_input_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trials.parquet"
    path.write_bytes(Path(BOARD).read_bytes())
    assert main(["report", str(path), "-f", "md", "-o", str(path)]) == 2
    assert "is one of the files that are read" in capsys.readouterr().err
    assert path.read_bytes() == Path(BOARD).read_bytes()
