"""The commands convert and formats: logs in, one table of trials out."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = "Callable[..., tuple[int, bytes, str]]"


def episode(task: Any, trial: Any, reward: Any, **info: Any) -> dict[str, Any]:
    return {"task_id": task, "trial": trial, "reward": reward, "info": info, "traj": []}


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, bytes, str]]:
    """Run a command: exit code, standard output, standard error."""

    def ran(*words: object) -> tuple[int, bytes, str]:
        code = main([*map(str, words)])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return ran


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two tasks with two trials each."""
    rows = [episode(0, 0, 1.0), episode(0, 1, 0.0), episode(1, 0, 1.0), episode(1, 1, 1.0)]
    path = tmp_path / "gpt-airline.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_the_file_holds_what_python_reads(run: Run, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "trials.parquet"
    code, out, err = run("convert", log, "-o", target)
    assert code == 0
    assert pl.read_parquet(target).equals(tr.read(log).collect())
    assert out.decode().split()[:6] == ["config", "cases", "trials", "passed", "failed", "unscored"]
    assert out.decode().split()[-5:] == ["2", "4", "3", "1", "0"]
    assert "column: case <- [].task_id (log)" in err
    assert "4 trials written to" in err


def test_every_format_goes_to_a_pipe(run: Run, log: Path) -> None:
    expected = tr.read(log).collect()
    assert pl.read_parquet(io.BytesIO(run("convert", log, "-f", "parquet")[1])).equals(expected)
    assert json.loads(run("convert", log, "-f", "json")[1]) == expected.to_dicts()
    assert pl.read_csv(run("convert", log, "-f", "csv")[1]).height == 4
    assert run("convert", log, "-f", "md")[1].decode().startswith("| config")


def test_the_table_can_be_summarised_like_the_log(run: Run, log: Path, tmp_path: Path) -> None:
    run("convert", log, "-o", tmp_path / "trials.parquet")
    words = ("-m", "pass@1", "-f", "csv")
    from_table = run("summary", tmp_path / "trials.parquet", *words)
    assert from_table[0] == 0
    assert from_table[1] == run("summary", log, *words)[1]


def test_absent_cases_are_filled_in(run: Run, log: Path, tmp_path: Path) -> None:
    listed = tmp_path / "cases.txt"
    listed.write_text("0\n1\n\n2\n", encoding="utf-8")
    code, out, _ = run("convert", log, "--cases", listed, "--absent", "fail", "-f", "json")
    rows = json.loads(out)
    assert code == 0
    assert [r["passed"] for r in rows if r["outcome"] == "absent"] == [False, False]
    table = tmp_path / "cases.csv"
    pl.DataFrame({"task_id": [0, 1, 2], "more": [0, 0, 0]}).write_csv(table)
    _, out, _ = run("convert", log, "--cases", table, "-f", "json")
    assert [r["passed"] for r in json.loads(out) if r["case"] == "2"] == [None, None]


def test_what_cannot_be_read_is_listed(run: Run, log: Path, tmp_path: Path) -> None:
    bad = log.with_name("bad.json")
    rows = [episode(0, 0, "high"), episode(1, 0, 1.0)]
    bad.write_text(json.dumps(rows), encoding="utf-8")
    target, unread = tmp_path / "trials.csv", tmp_path / "unread.csv"
    code, _, err = run("convert", log, bad, "-o", target)
    assert (code, target.exists()) == (2, False)
    assert "episodes[0]" in err
    words = ("--errors", "collect", "--unread", unread)
    code, _, err = run("convert", log, bad, "-o", target, *words)
    assert code == 1
    assert pl.read_csv(target).height == 5
    listed = pl.read_csv(unread)
    assert listed["file"].to_list() == [str(bad)]
    assert listed["place"].to_list() == ["episodes[0]"]
    assert "unread: 1 thing could not be read" in err


def test_a_clean_log_leaves_an_empty_list(run: Run, log: Path, tmp_path: Path) -> None:
    unread = tmp_path / "unread.csv"
    code, _, _ = run("convert", log, "-f", "csv", "--errors", "collect", "--unread", unread)
    assert code == 0
    assert unread.read_text(encoding="utf-8").strip() == "file,place,reason"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "tau-bnech"), "Did you mean 'tau-bench'"),
        (("--unread", "x.csv"), "--errors collect"),
        (("--absent", "fail"), "--case-list"),
        (("--errors", "ignore"), "errors == 'ignore'"),
        (("--keep", "some"), "keep == 'some'"),
        (("--cases", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_words_are_refused(run: Run, log: Path, words: tuple[str, ...], message: str) -> None:
    code, out, err = run("convert", log, *words)
    assert (code, out) == (2, b"")
    assert message in err


def test_formats_are_listed(run: Run) -> None:
    code, out, _ = run("formats", "-f", "json")
    assert code == 0
    assert json.loads(out) == tr.formats().to_dicts()
    assert json.loads(run("formats", "tau-bench", "-f", "json")[1])[1]["source"] == "[].task_id"
    assert "tau-bench" in run("formats")[1].decode()
    assert run("formats", "nothing")[0] == 2
