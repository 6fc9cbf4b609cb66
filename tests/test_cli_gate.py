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


def test_markdown_starts_with_the_verdict_and_folds_the_reasons(
    board: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "comment.md"
    assert board("--by", "split", "-o", file).code == 1
    text = file.read_text(encoding="utf-8")
    assert text.startswith("### Don't ship\n\ncirrus-pro breaks ")
    assert "| name | breached | cases | wins | losses | solved | net\\_gain | breakage |" in text
    head, _, folded = text.partition("<details>")
    assert "net gain 12" not in head
    assert folded.count("\n- ") >= 4
    assert folded.endswith("</details>\n")
    made = tr.gate(tr.compare(tr.counts(BOARD_TRIALS), "cirrus-flash", "cirrus-pro"))
    assert f"Broken cases: {', '.join(made.broken)}\n" in head.replace("\\", "")


def table(path: Path, **columns: Any) -> Path:
    """Wins in 14 cases of one cluster, 46 ties, and what else is asked for."""
    rest = [f"c{1 + i % 9}" for i in range(46)]
    base = pl.DataFrame(
        {"config": "base", "case": [f"k{i:02d}" for i in range(60)], "cluster": ["c0"] * 14 + rest}
    ).with_columns(passed=pl.Series([False] * 14 + [True] * 46), **columns)
    new = base.with_columns(config=pl.lit("new"), passed=pl.lit(True))
    pl.concat([base, new]).write_parquet(path)
    return path


def test_wins_of_one_cluster_do_not_ship(run: Callable[..., Ran], tmp_path: Path) -> None:
    file = table(tmp_path / "t.parquet")
    held = run(file, "base", "new")
    assert (held.code, held.out.partition(": p =")[0]) == (
        1,
        "Hold: the wins do not hold when whole clusters are flipped",
    )
    ship = run(file, "base", "new", "--units", "cases")
    assert (ship.code, ship.out.partition(":")[0]) == (0, "Ship")


def test_many_broken_cases_are_cut_for_people_only(run: Callable[..., Ran], tmp_path: Path) -> None:
    file = table(tmp_path / "t.parquet")
    text = run(file, "new", "base").out
    assert "Broken cases: k00, k01, " in text
    pl.concat(
        pl.DataFrame({"config": name, "case": [f"{i:02d}" for i in range(25)], "passed": passed})
        for name, passed in (("a", True), ("b", False))
    ).write_parquet(file)
    for kind in ("table", "md"):
        assert ", 18, 19 and 5 more\n" in run(file, "a", "b", "-f", kind).out
    assert len(json.loads(run(file, "a", "b", "-f", "json").out)["broken"]) == 25
    assert run(file, "b", "a", "-f", "md").out.startswith("### Ship\n\na gains 25 cases")
    assert "Broken" not in run(file, "b", "a").out


def test_control_characters_are_written_out(run: Callable[..., Ran], tmp_path: Path) -> None:
    bad = "x\n# y\x1b[31m\u202e\r"
    frame = pl.DataFrame({"case": [f"{i}{bad}" for i in range(9)], "area": [bad] * 9})
    pl.concat(
        frame.with_columns(config=pl.lit(f"{name}{bad}"), passed=pl.lit(passed))
        for name, passed in (("a", True), ("b", False))
    ).write_parquet(tmp_path / "t.parquet")
    words = [tmp_path / "t.parquet", f"a{bad}", f"b{bad}", "--by", "area"]
    for kind in ("table", "md"):
        got = run(*words, "-f", kind)
        assert got.code == 1
        assert all(line.isprintable() for line in got.out.split("\n"))
        assert "\n# y" not in got.out
    assert json.loads(run(*words, "-f", "json").out)["broken"][0] == f"0{bad}"


def test_a_name_makes_no_heading_or_list(run: Callable[..., Ran], tmp_path: Path) -> None:
    for name in ("# b", "+ b", "1. b"):
        pl.concat(
            pl.DataFrame({"config": config, "case": ["1", "2"], "passed": passed})
            for config, passed in (("a", False), (name, True))
        ).write_parquet(tmp_path / "t.parquet")
        got = run(tmp_path / "t.parquet", "a", name, *OPEN, "-f", "md").out
        start = name.replace(name.strip(" 1b"), f"\\{name.strip(' 1b')}")
        assert got.startswith(f"### Ship\n\n{start} gains 2 cases")


def test_groups_without_solved_cases_have_no_breakage(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    file = table(tmp_path / "t.parquet")
    lines = [
        " ".join(x.split()) for x in run(file, "base", "new", "--by", "cluster").out.split("\n")
    ]
    assert "cluster=c0 no 14 14 0 0 14 -" in lines
    assert any(line.startswith("cluster=c1 no") and line.endswith(" 0 %") for line in lines)


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


def test_units_go_with_a_policy(board: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text(POLICY, encoding="utf-8")
    plain = json.loads(board("--policy", file, "--units", "cases", "-f", "json").out)
    assert plain["gate"]["clusters"] is None
    assert json.loads(board("--policy", file, "-f", "json").out)["gate"]["clusters"] is not None
    file.write_text(f'units = "cases"\n{POLICY}', encoding="utf-8")
    assert json.loads(board("--policy", file, "-f", "json").out) == plain
    other = board("--policy", file, "--units", "clusters")
    assert other.code == 2
    assert f"units == 'clusters', but {file} says 'cases'. Say it in one place." in other.err


def test_a_failed_warning_is_in_the_headline(board: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text(POLICY, encoding="utf-8")
    assert board("--policy", file).out.splitlines()[0].endswith("; 1 warning: every run.")
    text = board("--policy", file, "-f", "md").out
    assert text.splitlines()[2].endswith("; 1 warning: every run.")
    assert "Gate: " not in text  # the headline is the gate's


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--units", "cases", "--by", "cluster"], "by: --units cases drops the clusters. Leave"),
        (["--units", "cases", "--guard", "cluster=c0"], "--units cases drops the clusters. Leave"),
        (
            ["--no-cluster", "--by", "cluster"],
            "have no clusters. Say where they are with --cluster",
        ),
        (["--by", "case"], "'case' would make every case a group of its own"),
        (["--by", "wins"], "by: 'wins' is a column of the result. Rename yours to keep it."),
        (["--guard", "wins=1"], "'wins' is a column of the result. Rename yours to keep it."),
        (["--by", "diff"], "by: 'diff' is a column of the result. Rename yours to keep it."),
        (["--by", "side"], "it differs, or it was not kept with --by side."),
        (["--by", "nope"], "error: --by: no column 'nope'."),
        (["--guard", "nope=1"], "error: --guard 'nope=1': no column 'nope'."),
    ],
)
def test_columns_that_cannot_be_used_are_told_in_words_of_the_shell(
    run: Callable[..., Ran], tmp_path: Path, words: list[str], told: str
) -> None:
    file = table(tmp_path / "t.parquet", wins=pl.lit(1), diff=pl.lit("x"))
    side = pl.col("config").alias("side")
    pl.read_parquet(file).with_columns(side).write_parquet(file)
    got = run(file, "base", "new", *words)
    assert got.code == 2
    assert told in got.err
    assert "tr." not in got.err


def test_bad_columns_of_a_policy_are_placed(board: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    rule = '[[rule]]\nname = "r"\nrule = "value >= 0.1"\nguard = "nope=1"\n'
    for text, where in (
        ('[gate]\nby = "nope"\n', "[gate] by"),
        ('[gate]\nguard = ["split=dev", "nope=x"]\n', "[gate] guard 'nope=x'"),
        (rule, "rule 'r', guard 'nope=1'"),
    ):
        file.write_text(text, encoding="utf-8")
        got = board("--policy", file)
        assert got.code == 2
        assert f"error: {file}, {where}: no column 'nope'. Available: " in got.err


def test_the_help_shows_the_tables_of_a_policy(run: Callable[..., Ran]) -> None:
    got = " ".join(run("--help").out.replace("│", " ").split())
    assert "TOML file with [gate] settings and [[rule]] rows" in got
