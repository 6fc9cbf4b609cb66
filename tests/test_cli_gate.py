"""`trialframe gate`: formats, exit codes, policies and refusals."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
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
BOARD_TRIALS = tr.read(BOARD)
OPEN = ["--break-cost", "1", "--alpha", "1", "--max-breakage", "1"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*words: object) -> Ran:
        code = main(["gate", *(str(word) for word in words)])
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return call


@pytest.fixture
def board(run: Callable[..., Ran]) -> Callable[..., Ran]:
    return lambda *words: run(BOARD, "cirrus-flash", "cirrus-pro", *words)


def test_exit_codes_and_headlines(board: Callable[..., Ran], run: Callable[..., Ran]) -> None:
    held = board()
    assert (held.code, held.out.partition(":")[0]) == (1, "Hold")
    ship = board(*OPEN)
    assert (ship.code, ship.out.partition(":")[0]) == (0, "Ship")
    back = run(BOARD, "cirrus-pro", "cirrus-flash")
    assert (back.code, back.out.partition(":")[0]) == (1, "Don't ship")
    assert board("--alpha", "7").code == 2


def test_the_table_shows_the_result(board: Callable[..., Ran]) -> None:
    made = tr.gate(
        tr.compare(tr.counts(BOARD_TRIALS, by="split"), "cirrus-flash", "cirrus-pro"), by="split"
    )
    got = board("--by", "split").out
    lines = {" ".join(line.split()) for line in got.splitlines()}
    assert got.splitlines()[0] == made.headline
    assert f"losses: only cirrus-flash passes {made.losses}" in lines
    assert "Groups and guard sets:" in lines
    assert got.index("split=test") < got.index("split=dev")  # breached first
    for reason in (*made.reasons, *made.warnings):
        assert f"- {reason}" in got


def test_json_holds_everything(board: Callable[..., Ran]) -> None:
    got = json.loads(board("--by", "split", "--guard", "difficulty=hard", "-f", "json").out)
    assert got["verdict"] == "dont_ship"
    assert [row["name"] for row in got["groups"]] == [
        "split=dev",
        "split=test",
        "difficulty=hard",
    ]
    assert isinstance(got["reasons"], list)


def test_csv_and_parquet_are_one_row(board: Callable[..., Ran], tmp_path: Path) -> None:
    row = next(csv.DictReader(io.StringIO(board("-f", "csv").out)))
    assert row["verdict"] == "hold"
    assert board("-o", tmp_path / "gate.parquet").code == 1
    assert pl.read_parquet(tmp_path / "gate.parquet")["verdict"].to_list() == ["hold"]


def test_markdown_starts_with_the_headline_and_folds_the_reasons(
    board: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "comment.md"
    assert board("--by", "split", "-o", file).code == 1
    text = file.read_text(encoding="utf-8")
    assert text.startswith("### Don't ship: cirrus-pro breaks ")
    assert "| name | breached | cases | wins | losses | solved | net\\_gain | breakage |" in text
    head, _, folded = text.partition("<details>")
    assert "net gain 12" not in head
    assert folded.count("\n- ") >= 4
    assert folded.endswith("</details>\n")


def test_names_cannot_break_out_of_the_comment(run: Callable[..., Ran], tmp_path: Path) -> None:
    name = "x</details><img src=y>|`"
    frame = pl.DataFrame(
        {"config": ["a"] * 3 + [name] * 3, "case": ["1", "2", "3"] * 2, "passed": True}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    got = run(tmp_path / "t.parquet", "a", name, "-f", "md").out
    assert "<img" not in got.replace("\\<img", "")
    assert got.replace("\\</details", "").count("</details>") == 1


def test_looks_clusters_and_units(board: Callable[..., Ran]) -> None:
    got = board("--looks", "3")
    assert "looks at this gate" in got.out
    assert "look 3 at this gate" in got.out
    assert "clusters flipped" in got.out
    assert "clusters flipped" not in board("--units", "cases").out


POLICY = """
[gate]
max_breakage = 0.3
by = "split"

[[rule]]
name = "no regression"
rule = "difference >= -0.02"
bound = "lower"
guard = "difficulty=hard"

[[rule]]
name = "every run"
rule = "value >= 0.55"
bound = "worst run"
tier = "warn"
"""


def test_policy_file(board: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text(POLICY, encoding="utf-8")
    got = board("--policy", file)
    assert got.code == 1
    assert "no regression" in got.out
    assert "- every run: fail: worst run's value of pass@1 is 0.546" in got.out
    plain = json.loads(board("--policy", file, "-f", "json").out)
    assert [row["status"] for row in plain["rules"]] == ["pass", "fail"]
    assert plain["gate"]["by"] == ["split"]
    rows = list(csv.DictReader(io.StringIO(board("--policy", file, "-f", "csv").out)))
    assert [row["name"] for row in rows] == ["no regression", "every run"]
    text = board("--policy", file, "-f", "md").out
    assert text.startswith("### ")
    assert "| every run | warn | fail |" in text


def test_policy_with_columns_under_other_names(run: Callable[..., Ran], tmp_path: Path) -> None:
    frame = pl.read_parquet(BOARD).select(
        sut="config", item="case", go="trial", grade="score", area="split"
    )
    frame.write_csv(tmp_path / "t.csv")
    file = tmp_path / "p.toml"
    file.write_text(
        '[[rule]]\nname = "r"\nrule = "value >= 0.5"\nbound = "worst run"\nguard = "area=dev"\n',
        encoding="utf-8",
    )
    words = ["--config", "sut", "--case", "item", "--map", "trial=go", "--score", "grade"]
    got = run(
        tmp_path / "t.csv",
        "cirrus-flash",
        "cirrus-pro",
        *words,
        *("--threshold", "0.5", "--policy", file, "-f", "json"),
    )
    assert got.code in {0, 1}, got.err
    assert json.loads(got.out)["rules"][0]["cases"] <= 30


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([BOARD, "cirrus-pro"], "gate needs at least one table"),
        ([BOARD, "cirrus-flash", "nope"], "no config 'nope'"),
        ([BOARD, "cirrus-pro", "cirrus-pro"], "name two configs"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--break-cost", "0.5"], "must be at least 1"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--alpha", "0"], "alpha == 0"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--max-breakage", "nan"], "max_breakage == nan"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--guard", "split"], "column=value"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--guard", "split=x"], "no case has split 'x'"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--guard", "spl=x"], "spl"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--policy", "none.toml"], "no policy file"),
        ([BOARD, "cirrus-flash", "cirrus-pro", "--looks", "0"], "looks == 0"),
        (["none.parquet", "a", "b"], "none.parquet"),
    ],
)
def test_bad_input_is_told_in_one_line(
    run: Callable[..., Ran], words: list[Any], told: str
) -> None:
    got = run(*words)
    assert got.code == 2
    assert told in got.err
    assert not got.out
    assert sum(line.startswith("error: ") for line in got.err.splitlines()) == 1


def test_settings_are_given_in_one_place(board: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text(POLICY, encoding="utf-8")
    got = board("--policy", file, "--max-breakage", "0.2")
    assert got.code == 2
    assert "--max-breakage and --policy" in got.err
    assert "--units and --policy" in board("--policy", file, "--units", "cases").err
