"""The command line: every command, every format, every way to be refused."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.cli import main
from trialframe.cli._advice import as_options
from trialframe.cli._conditions import condition
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
BOARD = str(ROOT / "data" / "leaderboard.parquet")
DIRTY = str(ROOT / "data" / "dirty.parquet")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the command line in this process."""

    def call(*words: object) -> Ran:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return call


def process(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "trialframe", *words],
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
    )


def table(path: Path, **columns: list[object]) -> Path:
    pl.DataFrame(columns, strict=False).write_parquet(path)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two configs, three cases, three trials."""
    verdicts = [1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1]
    return table(
        tmp_path / "small.parquet",
        model=["a"] * 9 + ["b"] * 9,
        task=["x", "x", "x", "y", "y", "y", "z", "z", "z"] * 2,
        epoch=[0, 1, 2] * 6,
        ok=[bool(v) for v in verdicts],
        reward=[v * 0.75 for v in verdicts],
        grade=["C" if v else "I" for v in verdicts],
        level=["low", "low", "low", "low", "low", "low", "high", "high", "high"] * 2,
        cost=[100 + i for i in range(18)],
    )


# summary


def test_a_summary_is_that_of_the_library(run: Callable[..., Ran]) -> None:
    ran = run("summary", BOARD, "-m", "pass@1,flaky", "-m", "pass^2", "--format", "json")
    expected = tr.summary(tr.counts(tr.read(BOARD)), metrics=["pass@1", "flaky", "pass^2"])
    assert ran.code == 0
    assert pl.DataFrame(json.loads(ran.out), schema=expected.schema).equals(expected)


def test_a_table_for_people_names_estimand_units_and_policy(run: Callable[..., Ran]) -> None:
    ran = run("summary", BOARD, "-k", "1,2", "-m", "pass@k")
    assert ran.code == 0
    for text in (
        "cases: tasks like these",
        "95 %; score-cr2 for pass@1; t-cr2 for the rest",
        "12 configs, 150 cases in 6 clusters",
        "exclude: 334 trials without a verdict, left out",
        "65.7 % [52.1, 77.1]",
        "all failed to",
        "few clusters: 6",
    ):
        assert text in ran.out
    rows = [line.split()[0] for line in ran.out.splitlines() if "[" in line and "%" in line]
    assert rows[0] == "borealis-2-thinking"
    assert rows[11] == "atlas-small"


@pytest.mark.parametrize(("name", "reader"), [("csv", pl.read_csv), ("parquet", pl.read_parquet)])
def test_files_hold_the_long_table_unrounded(
    run: Callable[..., Ran], tmp_path: Path, name: str, reader: Callable[..., pl.DataFrame]
) -> None:
    path = tmp_path / f"out.{name}"
    assert run("summary", BOARD, "-m", "pass@1", "-o", path).code == 0
    expected = tr.summary(tr.counts(tr.read(BOARD)), metrics="pass@1")
    assert reader(path)["value"].to_list() == expected["value"].to_list()
    assert reader(path).columns == expected.columns
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_markdown_is_a_github_table(run: Callable[..., Ran]) -> None:
    ran = run("summary", BOARD, "-m", "pass@1", "-f", "md")
    lines = [line for line in ran.out.splitlines() if line.startswith("|")]
    assert lines[0] == "| config | pass@1 |"
    assert lines[1] == "|:---|---:|"
    assert len({line.count("|") - line.count("\\|") for line in lines[:14]}) == 1


def test_parquet_goes_to_a_pipe() -> None:
    ran = process("summary", BOARD, "-m", "pass@1", "-f", "parquet")
    assert pl.read_parquet(io.BytesIO(ran.stdout)).height == 12


def test_columns_are_named_and_the_report_says_so(run: Callable[..., Ran], small: Path) -> None:
    ran = run("summary", small, "--passed", "ok", "--cost-uusd", "cost", "-f", "csv")
    assert ran.code == 0
    assert "columns: config <- model; case <- task; trial <- epoch" in ran.err
    assert "cost_uusd" in ran.out


@pytest.mark.parametrize(
    "option",
    [
        ("--passed", "ok"),
        ("--passed", "grade == C"),
        ("--passed", "grade != I"),
        ("--passed", "'grade' == \"C\""),
        ("--passed", "reward >= 0.7"),
        ("--passed", "ok == true"),
        ("--threshold", "0.5"),
        ("--map", "passed=ok"),
    ],
)
def test_verdicts_can_be_named_in_many_ways(
    run: Callable[..., Ran], small: Path, option: tuple[str, str]
) -> None:
    ran = run("summary", small, *option, "-m", "pass@1", "-f", "json")
    assert [row["value"] for row in json.loads(ran.out)] == pytest.approx([4 / 9, 7 / 9])


def test_groups_policies_and_suites_reach_the_library(run: Callable[..., Ran]) -> None:
    ran = run(
        *("summary", BOARD, "-m", "pass@1", "--by", "difficulty", "--estimand", "suite"),
        *("--level", "0.9", "--unscored", "timeout=fail", "--no-cluster", "-f", "json"),
    )
    counts = tr.counts(tr.read(BOARD), by="difficulty", unscored={"timeout": "fail"}, cluster=None)
    expected = tr.summary(counts, metrics="pass@1", by="difficulty", estimand="suite", level=0.9)
    assert [row["low"] for row in json.loads(ran.out)] == expected["low"].to_list()


def test_runs_are_an_estimand(run: Callable[..., Ran]) -> None:
    ran = run("summary", BOARD, "--estimand", "runs")
    assert "150 cases in 5 runs" in ran.out
    expected = tr.run_summary(tr.read(BOARD))
    found = run("summary", BOARD, "--estimand", "runs", "-f", "json")
    assert [row["se"] for row in json.loads(found.out)] == expected["se"].to_list()
    assert run("summary", BOARD, "--estimand", "runs", "--by", "difficulty").code == 2


def test_zero_can_stand_for_unknown(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", case=["x", "y"], passed=[True, True], tokens_in=[0, 10])
    ran = run("summary", path, "-m", "tokens_in", "-f", "json", "--zero-is-missing", "tokens_in")
    assert json.loads(ran.out)[0]["value"] == 10.0


# suites


def test_a_regression_suite_fails_where_most_trials_fail(
    run: Callable[..., Ran], small: Path
) -> None:
    ran = run("summary", small, "--passed", "ok", "-m", "pass@1", "--suite", "regression")
    assert ran.code == 1
    assert "2 of 6 pairs of config and case failed most of their trials" in ran.out
    assert "small suite: 3 cases" in ran.out
    assert [line.split()[:2] for line in ran.out.splitlines()[-2:]] == [["a", "y"], ["a", "z"]]


def test_an_exact_half_does_not_fail_most(
    run: Callable[..., Ran], golden: Callable[[str], list[dict[str, Any]]], tmp_path: Path
) -> None:
    path = table(tmp_path / "half.parquet", case=["x", "x"], passed=[True, False])
    assert run("summary", path, "-m", "pass@1", "--suite", "regression").code == 0
    [entry] = golden("majority_outcome")
    for n, c in entry["inputs"]["cases"]:
        path = table(tmp_path / "g.parquet", case=["x"] * n, passed=[i < c for i in range(n)])
        ran = run("summary", path, "-m", "pass@1", "--suite", "regression")
        assert ran.code == int(Fraction(n - c, n) > Fraction(1, 2))


def test_a_capability_suite_says_whether_it_is_saturated(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    cases = [str(i) for i in range(20)]
    path = table(tmp_path / "c.parquet", case=cases, passed=[True] * 18 + [False] * 2)
    ran = run("summary", path, "-m", "pass@1", "--suite", "capability")
    assert ran.code == 0
    assert "saturated for system" in ran.out
    assert "small suite" not in ran.out
    ran = run("summary", BOARD, "-m", "pass@1", "--suite", "capability", "-f", "csv")
    assert "not saturated" in ran.err


# the other commands


def test_counts_are_those_of_the_library(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    assert run("counts", BOARD, "--by", "difficulty", "-o", path).code == 0
    expected = tr.counts(tr.read(BOARD), by="difficulty").frame
    assert_frame_equal(pl.read_parquet(path), expected)
    again = run("summary", path, "-m", "pass@1", "-f", "json")
    direct = run("summary", BOARD, "-m", "pass@1", "-f", "json")
    assert json.loads(again.out)[0]["value"] == json.loads(direct.out)[0]["value"]
    shown = run("counts", BOARD)
    assert "... and 1,760 more rows" in shown.out
    assert "the sums of score" in shown.err


def test_sql_is_that_of_the_library(run: Callable[..., Ran], tmp_path: Path) -> None:
    words = ("sql", "--table", "evals.trials", "--config", "model", "--case", "task")
    ran = run(*words, "--passed", "ok", "--cluster", "repo", "--measure", "duration_ms")
    assert ran.out == (
        tr.counts_sql(
            table="evals.trials",
            config="model",
            case="task",
            passed="ok",
            cluster="repo",
            measures=["duration_ms"],
        )
        + "\n"
    )
    condition_ = run(*words, "--passed", "reward >= 1")
    assert condition_.out == (
        tr.counts_sql(
            table="evals.trials", config="model", case="task", score="reward", threshold=1.0
        )
        + "\n"
    )
    path = tmp_path / "counts.sql"
    assert run(*words, "-o", path).code == 0
    assert path.read_text(encoding="utf-8").startswith("SELECT")
    assert run(*words, "--passed", "grade == C").code == 2
    assert run(*words, "--unscored", "timeout=fail").code == 2
    assert run(*words, "--outcome", "status").code == 2
    assert run("sql").code == 2


def test_check_says_no_to_errors_only(run: Callable[..., Ran]) -> None:
    ran = run("check", DIRTY)
    assert ran.code == 1
    assert "duplicate_key" in ran.out
    assert run("check", BOARD).code == 0
    found = run("check", DIRTY, "-f", "json")
    assert [row["rule"] for row in json.loads(found.out)] == tr.check_trials(DIRTY)[
        "rule"
    ].to_list()


def test_a_clean_table_has_no_findings(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "clean.parquet"
    assert run("simulate", "-o", path).code == 0
    ran = run("check", path)
    assert (ran.code, ran.out) == (0, "fine nothing was found\n")


def test_doctor_reports(run: Callable[..., Ran]) -> None:
    assert "Data is there for" in run("doctor", BOARD).out
    assert json.loads(run("doctor", DIRTY, "-f", "json").out)["healthy"] is False
    assert run("doctor", BOARD, "-f", "md").out.startswith("```text\n")
    assert run("doctor", BOARD, "-f", "csv").code == 2


def test_simulate_is_that_of_the_library(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    ran = run(
        *("simulate", "--configs", "base,new", "--cases", 30, "--trials", "2-4", "--seed", 3),
        *("--clusters", 5, "--lift", 0.1, "--cost-uusd", 900, "-o", path),
    )
    assert ran.code == 0
    expected = tr.simulate(
        configs=["base", "new"],
        cases=30,
        trials=(2, 4),
        clusters=5,
        lift=0.1,
        cost_uusd=900,
        seed=3,
    )
    assert pl.read_parquet(path).equals(expected)
    assert run("simulate", "--trials", "many").code == 2
    assert run("simulate", "--cases", "0").code == 2


def test_help_and_version(run: Callable[..., Ran]) -> None:
    assert run("--version").out.startswith("trialframe ")
    for command in ("summary", "counts", "sql", "check", "simulate", "doctor"):
        assert run(command, "--help").code == 0
        assert command in run("--help").out
    assert run().code == 2


# bad input: exit code 2 and one line


def bad_tables(folder: Path) -> dict[str, tuple[Path, str]]:
    empty = folder / "empty.parquet"
    empty.touch()
    corrupt = folder / "corrupt.parquet"
    corrupt.write_bytes(b"PAR1 this is no Parquet file PAR1")
    bare = folder / "bare"
    bare.mkdir()
    (bare / "notes.txt").write_text("nothing here", encoding="utf-8")
    two = {"case": ["x", "y"], "passed": [True, False]}

    def made(name: str, **columns: list[object]) -> Path:
        return table(folder / f"{name}.parquet", **columns)

    return {
        "missing file": (folder / "absent.parquet", "no file or folder"),
        "empty file": (empty, "is empty"),
        "corrupt file": (corrupt, "corrupt"),
        "folder without data": (bare, "no data file in folder"),
        "no rows": (made("none", case=[], passed=[]), "no"),
        "no verdict": (made("mute", case=["x"], thing=[1]), "no column says whether"),
        "no case": (made("lost", passed=[True]), "no column says which case"),
        "two cases": (made("both", task=["x"], item=["x"], passed=[True]), "ambiguous"),
        "text verdicts": (made("words", case=["x", "y"], passed=["yes", "no"]), "row 0 'yes'"),
        "null case": (made("null", case=["x", None], passed=[True, True]), "case is null"),
        "same key": (made("same", case=["x", "x"], passed=[True, False], trial=[0, 0]), "share a"),
        "NaN scores": (made("nan", **two, score=[float("nan"), 1.0]), "NaN"),
        "infinite": (made("inf", **two, score=[float("inf"), 1.0]), "infinity"),
    }


def test_bad_tables_end_with_2_and_one_line(run: Callable[..., Ran], tmp_path: Path) -> None:
    for name, (path, text) in bad_tables(tmp_path).items():
        for command in ("summary", "counts"):
            ran = run(command, path)
            lines = [line for line in ran.err.splitlines() if not line.startswith("columns: ")]
            assert ran.code == 2, name
            assert len(lines) == 1, (name, ran.err)
            assert lines[0].startswith("error: "), name
            assert text in lines[0], (name, lines[0])
            assert not ran.out, name


@pytest.mark.parametrize(
    "words",
    [
        ("-k", "0"),
        ("-k", "-1"),
        ("-k", "abc"),
        ("-k", ","),
        ("-m", "pass@0"),
        ("-m", "nonsense"),
        ("--by", "nosuch"),
        ("--estimand", "nosuch"),
        ("--method", "nosuch"),
        ("--level", "1"),
        ("--level", "much"),
        ("--short", "nosuch"),
        ("--units", "nosuch"),
        ("--keep", "nosuch"),
        ("--attempts", "nosuch"),
        ("--resamples", "1"),
        ("--seed", "-1"),
        ("--unscored", "nosuch"),
        ("--unscored", "fail", "--unscored", "exclude"),
        ("--unscored", "raise"),
        ("--suite", "nosuch"),
        ("--format", "nosuch"),
        ("--output", "out.xlsx"),
        ("--output", "/nosuch/folder/out.csv"),
        ("--output", "/"),
        ("--config", "nosuch"),
        ("--passed", "nosuch >= 1"),
        ("--passed", "outcome >= C"),
        ("--passed", "case >= 1"),
        ("--cluster", "cluster", "--no-cluster"),
        ("--map", "nosuch=case"),
        ("--map", "case"),
        ("--map", "case=case", "--case", "case"),
        ("--zero-is-missing", "nosuch"),
        ("--nosuch",),
    ],
    ids=" ".join,
)
def test_bad_options_end_with_2_and_one_line(
    run: Callable[..., Ran], words: tuple[str, ...]
) -> None:
    ran = run("summary", BOARD, *words)
    lines = [line for line in ran.err.splitlines() if not line.startswith("columns: ")]
    assert ran.code == 2
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("error: ")
    assert not ran.out


def test_no_error_leaves_a_file(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("before", encoding="utf-8")
    assert run("summary", BOARD, "-m", "nonsense", "-o", path).code == 2
    assert path.read_text(encoding="utf-8") == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.csv"]


def test_a_reader_that_leaves_is_no_error() -> None:
    words = [sys.executable, "-m", "trialframe", "simulate", "--cases", "20000", "-f", "csv"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        told = child.stderr.read()
        code = child.wait()
    assert (code, told) == (141, b"")


def test_pipes_get_no_colour_and_any_encoding_will_do() -> None:
    ran = process("summary", BOARD, "-m", "pass@1", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert b"\x1b" not in ran.stdout


def test_tables_are_as_wide_as_they_may_be() -> None:
    for width in (80, 120):
        ran = process("summary", BOARD, COLUMNS=str(width))
        assert max(map(len, ran.stdout.decode().splitlines())) <= width


# conditions and messages


def test_conditions_are_parsed() -> None:
    made = condition('"tests passed" >= 1e2')
    assert made is not None
    assert (made.column, made.sign, made.value) == ("tests passed", ">=", 100.0)
    assert condition("plain name") is None
    assert condition("grade = C") is None
    word = condition("grade == '1'")
    assert word is not None
    assert word.value == "1"
    with pytest.raises(ArgumentError, match="compares numbers"):
        condition("grade < C")


def test_what_is_unknown_has_no_verdict() -> None:
    made = condition("x >= 1")
    assert made is not None
    frame = pl.DataFrame({"x": [1.0, 0.5, float("nan"), None]})
    assert frame.select(made.expression()).to_series().to_list() == [True, False, None, None]


def test_messages_speak_of_options() -> None:
    assert as_options("x keep='last' y") == "x --keep last y"
    assert as_options("case=['a', 'b c']") == "--case a --case 'b c'"
    assert as_options('score=pl.col("x").fill_nan(None)') == 'score=pl.col("x").fill_nan(None)'
    assert as_options("--map attempt=1, --threshold=0.5") == "--map attempt=1, --threshold=0.5"
    assert as_options("(trial=...) or order") == "(--trial COLUMN) or order"
    told = as_options("say verdicts={'a': True} (with `trialframe judge calibrate`: --verdict x);")
    assert told == "say --verdict x;"


@pytest.mark.parametrize("word", ["", "1", "true", "it's", "C", " a", "'a'", '"'])
def test_the_condition_of_a_message_is_the_one_that_was_meant(word: str) -> None:
    said = as_options(f"Say passed=pl.col('my grade') == {word!r}.")
    flag, text = shlex.split(said.removeprefix("Say ").removesuffix("."))
    made = condition(text)
    assert flag == "--passed"
    assert made is not None
    assert (made.column, made.sign, made.value) == ("my grade", "==", word)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("seq", "{}"), "Name it: --map attempt=COLUMN."),
        (("counts", "{}", "--unscored", "timeout=x"), "error: --unscored timeout=x. Available"),
        (("counts", "{}", "--keep", "raise"), "Choose --keep first, --keep last or --keep all"),
    ],
)
def test_errors_speak_of_options(
    run: Callable[..., Ran], tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    path = tmp_path / "trials.csv"
    rows = {"case": ["x", "x"], "trial": [1, 1], "passed": [True, False]}
    pl.DataFrame(rows).write_csv(path)
    ran = run(*(word.format(path) for word in words))
    assert ran.code == 2
    assert told in ran.err


def test_notes_speak_of_options(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"task": "t", "model": "m", "created": "2026-01-01", "run_id": "r"}
    grades = ["C", "", "I", ""]
    samples = [
        {"id": str(i), "epoch": 1, "input": "", "target": "", "scores": {"s": {"value": grade}}}
        for i, grade in enumerate(grades)
    ]
    log = {"version": 2, "status": "success", "eval": spec, "plan": {}, "results": {}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log | {"samples": samples}), encoding="utf-8")
    ran = run("counts", path)
    assert """for example --passed "grade == ''\"""" in ran.err


# real evaluations


@pytest.mark.shared
def test_published_numbers_of_tau_bench(run: Callable[..., Ran], shared_data: Path) -> None:
    ran = run("summary", shared_data / "tau_bench_airline_gpt4o.parquet", "-m", "pass^k")
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("pass^")]
    assert [(row[0], row[1]) for row in rows] == [
        ("pass^1", "42.0"),
        ("pass^2", "27.3"),
        ("pass^3", "22.0"),
        ("pass^4", "20.0"),
    ]


@pytest.mark.shared
def test_published_numbers_of_terminal_bench(run: Callable[..., Ran], shared_data: Path) -> None:
    path = shared_data / "terminal_bench_core_0_1_1.parquet"
    ran = run("summary", path, "--unscored", "fail", "-m", "pass@1", "-f", "json")
    values = {row["config"]: round(100 * row["value"], 2) for row in json.loads(ran.out)}
    assert values["droid_claude-4-1-opus"] == 58.75
    assert values["droid_gpt-5"] == 52.5
    assert values["droid_claude-4-sonnet"] == 50.5
    runs = run("summary", path, "--unscored", "fail", "--estimand", "runs", "-f", "json")
    errors = {row["config"]: round(100 * row["se"], 3) for row in json.loads(runs.out)}
    assert errors["droid_claude-4-1-opus"] == 0.884
    assert errors["droid_gpt-5"] == 2.092


@pytest.mark.shared
def test_a_table_that_needs_a_finer_key_says_which(
    run: Callable[..., Ran], shared_data: Path
) -> None:
    path = shared_data / "bfcl_v1_2024.parquet"
    ran = run("summary", path)
    assert ran.code == 2
    assert "--config config --config snapshot" in ran.err
    ran = run("summary", path, "--config", "config", "--config", "snapshot", "-m", "pass@1")
    assert ran.code == 0
    assert "128 configs, 1,700 cases in 12 clusters" in ran.out


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("livecodebench_2025_04", "16 configs, 1,055 cases in 3 clusters"),
        ("swebench_pro", "9 configs, 562 to 955 cases in 11 clusters"),
        ("swebench_verified_bashonly", "25 configs, 500 cases in 12 clusters"),
    ],
)
def test_real_tables_are_summarised(
    run: Callable[..., Ran], shared_data: Path, name: str, text: str
) -> None:
    ran = run("summary", shared_data / f"{name}.parquet")
    assert ran.code == 0
    assert text in ran.out
    assert max(map(len, ran.out.splitlines())) <= 120


def test_compare_prints_the_claim_and_every_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = str(ROOT / "data" / "leaderboard.parquet")
    assert main(["compare", table, "atlas-small", "borealis-2-thinking", "--units", "cases"]) == 0
    shown = capsys.readouterr().out
    assert "it is better on cases like these." in shown.replace("\n", " ")
    assert "McNemar exact / mid-p" in shown
    target = tmp_path / "made.json"
    assert main(["compare", table, "atlas-small", "atlas-large", "-o", str(target)]) == 0
    [record] = json.loads(target.read_text(encoding="utf-8"))
    assert record["verdict"] in {"better", "worse", "inconclusive"}
    assert record["majority_only_candidate"] >= 0
    for words in (["compare", table], ["compare", table, "a", "b"], ["compare", "a", "b"]):
        assert main(words) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
