"""The command line on logs: every command reads them as `convert` does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main
from trialframe.cli._options import Columns
from trialframe.cli._trials import Trials, loaded

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "read" / "fixtures"
BOARD = Path(__file__).parents[1] / "data" / "leaderboard.parquet"

COMMANDS = {
    "summary": (),
    "summary of runs": ("--estimand", "runs"),
    "counts": (),
    "compare": ("base", "new"),
    "regressions": ("base", "new"),
    "gate": ("base", "new"),
    "leaderboard": (),
    "compare-all": (),
    "irt": (),
    "power": ("--baseline", "base", "--candidate", "new"),
    "sequential": ("base", "new"),
    "next-trials": ("--budget", "5"),
    "reliability": ("-k", "2"),
    "gstudy": (),
    "decay": ("--bucket", "metadata.level", "-k", "2"),
    "seq": ("--map", "attempt=trial", "--map", "trial="),
    "audit": (),
    "check": (),
    "doctor": (),
    "judge signals": ("--signal", "metadata.noise"),
    "judge calibrate": ("--judge", "passed", "--label", "metadata.level", "--min-n", "5"),
    "judge correct": ("--method", "ppi", "--judge", "passed", "--label", "metadata.level"),
    "judge drift": (
        *("--judge", "passed", "--label", "metadata.level", "--config", "config"),
        *("--baseline", "base", "--candidate", "new"),
    ),
}
"""Commands that take trials, and what they ask for besides."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return code, " ".join((told.out + told.err).split())

    return call


def samples(passes: int) -> list[dict[str, Any]]:
    """Eight cases with three trials each; the lenient scorer lacks a few."""
    made = []
    for number in range(24):
        case, epoch = number // 3, number % 3
        strict = (case * 5 + epoch * 3 + passes) % 10 < passes
        scores = {"strict": strict, "lenient": strict or (case * 3 + epoch) % 4 == 0}
        if number % 7 == 2:
            del scores["lenient"]
        made.append(
            {
                "id": f"case {case}",
                "epoch": epoch + 1,
                "input": "",
                "target": "",
                "scores": {name: {"value": "C" if ok else "I"} for name, ok in scores.items()},
                "metadata": {"level": case % 2, "noise": (number * 7) % 5},
                "started_at": f"2026-01-01T{case:02}:0{epoch}:00+00:00",
            }
        )
    return made


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a log of two scorers for each of two configs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, passes in (("base", 4), ("new", 6)):
        spec = {"task": "t", "model": name, "created": "2026-01-01", "run_id": name}
        head = {"version": 2, "status": "success", "eval": spec, "plan": {}, "results": {}}
        log = json.dumps(head | {"samples": samples(passes)})
        (folder / f"{name}.json").write_text(log, encoding="utf-8")
    return folder


def given(command: str, source: Path) -> list[object]:
    words = COMMANDS[command]
    return [*command.removesuffix(" of runs").split(), source, *words]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_is_the_table_that_convert_writes(
    capsys: pytest.CaptureFixture[str], logs: Path, tmp_path: Path, command: str
) -> None:
    told = {}
    for scorer in ("strict", "lenient"):
        table = tmp_path / f"{scorer}.parquet"
        main(["convert", str(logs), "--scorer", scorer, "-o", str(table)])
        capsys.readouterr()
        out = []
        for words in ((*given(command, table),), (*given(command, logs), "--scorer", scorer)):
            assert main([str(word) for word in (*words, "-f", "json")]) in {0, 1}
            out.append(capsys.readouterr().out)
        assert out[0] == out[1]
        told[scorer] = out[0]
    assert told["strict"] != told["lenient"]


@pytest.mark.parametrize("command", [*COMMANDS, "report", "export"])
def test_the_advice_of_the_error_can_be_followed(
    run: Callable[..., tuple[int, str]],
    logs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.setitem(COMMANDS, "report", ("-f", "md"))
    monkeypatch.setitem(COMMANDS, "export", ("--to", tmp_path / "{table}.csv"))
    words = given(command, logs)
    code, told = run(*words)
    assert code == 2
    assert told.startswith("error: ")
    assert told.endswith("for example --scorer strict.")
    code, told = run(*words, "--scorer", "strict")
    assert code in {0, 1}
    code, told = run(*words, "--scorer", "harsh")
    assert code == 2
    assert told.startswith("error: --scorer harsh: ")


def test_the_trials_of_a_log_are_numbered_as_read_numbers_them(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    path = FIXTURES / "promptfoo" / "repeat3.json"
    trials = tr.read(path).collect()
    assert trials["trial_made"].all()
    code, told = run("counts", path, "-o", tmp_path / "counts.parquet")
    assert code == 0
    assert f"{trials.height} trials numbered in the order of the log" in told
    assert "without a trial number" not in told
    made = pl.read_parquet(tmp_path / "counts.parquet")
    assert made.equals(tr.counts(trials).frame)
    code, told = run("check", path)
    assert "made_trial" in told


def test_the_kind_of_log_can_be_said(run: Callable[..., tuple[int, str]], logs: Path) -> None:
    words = ("--scorer", "strict", "-m", "pass@1", "-f", "csv")
    assert run("summary", logs, "--from", "inspect", *words) == run("summary", logs, *words)
    code, told = run("summary", logs, "--from", "junit", *words)
    assert code == 2
    code, told = run("check", logs / "new.json", "--from", "table")
    assert code == 2
    assert "holds no table" in told


def test_cases_that_a_log_lacks_can_be_listed(
    run: Callable[..., tuple[int, str]], logs: Path, tmp_path: Path
) -> None:
    names = [f"t/case {number}" for number in range(10)]
    listed = tmp_path / "cases.txt"
    listed.write_text("\n".join(names), encoding="utf-8")
    read = tr.read(logs, metric="strict", cases=names, absent="fail")
    target = tmp_path / "counts.parquet"
    words = (logs, "--scorer", "strict", "--case-list", listed)
    assert run("counts", *words, "--absent", "fail", "-o", target)[0] == 0
    assert pl.read_parquet(target).equals(tr.counts(read).frame)
    assert run("counts", *words, "-o", target)[0] == 0
    assert pl.read_parquet(target)["unscored"].sum() == 12
    code, told = run("leaderboard", *words, "--absent", "fail", "--cases", "shared")
    assert code == 0
    assert "of 2 configs on 10 shared cases" in told
    code, told = run("audit", *words)
    assert "outcome 'absent'" in told or "'absent': 12" in told


def test_cases_can_be_listed_for_tables_too(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    table, listed = tmp_path / "trials.csv", tmp_path / "cases.csv"
    rows = {"case": ["x", "x", "y"], "trial": [0, 1, 0], "passed": [True, False, True]}
    pl.DataFrame(rows).write_csv(table)
    pl.DataFrame({"case": ["x", "y", "z"]}).write_csv(listed)
    code, told = run("summary", table, "--case-list", listed, "-m", "pass@1")
    assert code == 0
    assert "3 trials without a verdict" in told
    counts = tmp_path / "counts.csv"
    pl.DataFrame({"case": ["x"], "n": [3], "c": [1]}).write_csv(counts)
    code, told = run("summary", counts, "--case-list", listed)
    assert (code, told.count("error: ")) == (2, 1)
    assert "these are counts" in told


@pytest.mark.parametrize("command", ["summary", "leaderboard", "audit", "check", "doctor"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "inspct"), "Did you mean 'inspect'?"),
        (("--from", "inspect"), ""),
        (("--scorer", "pass^5"), "no logs but tables"),
        (("--case-list", "nowhere.txt"), "nowhere.txt"),
        (("--case-list", BOARD, "--absent", "some"), "absent == 'some'"),
        (("--absent", "fail"), "--absent needs --case-list"),
        (("--keep", "some"), "keep == 'some'"),
        (("--zero-is-missing", "passed"), "zero_is_missing == 'passed'"),
    ],
    ids=str,
)
def test_bad_words_end_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], command: str, words: tuple[object, ...], message: str
) -> None:
    assert main([command, str(BOARD), *map(str, words)]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert message in told.err


def test_what_is_left_out_stays_out(run: Callable[..., tuple[int, str]], logs: Path) -> None:
    words = ("--scorer", "strict", "--map", "cluster=metadata.level", "-m", "pass@1")
    assert "in 2 clusters" in run("summary", logs, *words)[1]
    told = run("summary", logs, "--scorer", "strict", "--no-cluster", "-m", "pass@1")[1]
    assert "clusters" not in told


@pytest.mark.shared
def test_verdicts_of_a_judge_in_a_log_stay_those_of_a_judge(shared_formats: Path) -> None:
    path = str(shared_formats / "tau2-bench" / "judge_summary_airline_cot.json")
    columns = Columns(given={"passed": "judge"}, threshold=None)
    assert loaded([path], columns, Trials()).counts.judged_by == "judge"


def test_keep_decides_about_copies_of_logs(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copytree(FIXTURES / "terminal-bench" / "toy-run", tmp_path / name)
    code, told = run("summary", tmp_path, "-k", "1")
    assert code == 2
    assert "is a copy of" in told
    code, told = run("summary", tmp_path, "-k", "1", "--keep", "first")
    assert code == 0
    assert "13 scored trials in all" in told


def test_the_worst_run_needs_runs(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[rule]]\nname = "floor"\nrule = "value >= 0.1"\nbound = "worst run"\n', encoding="utf-8"
    )
    path = tmp_path / "leaderboards.json"
    path.write_text(
        '{"leaderboards": [{"name": "b", "results": ['
        + ", ".join(
            f'{{"folder": "{name}", "per_instance_details": {{"a__a-1": {{"resolved": true}}}}}}'
            for name in "xy"
        )
        + "]}]}",
        encoding="utf-8",
    )
    code, told = run("gate", path, "x", "y", "--policy", policy)
    assert code == 2
    assert (
        "2 trials were numbered in the order of their log (trial_made is true), so that no run"
        in told
    )


def test_the_first_of_several_scorers_that_a_log_has_decides(
    run: Callable[..., tuple[int, str]], logs: Path
) -> None:
    code, told = run("summary", logs, "--scorer", "other", "--scorer", "strict", "-m", "pass@1")
    assert (code, told) == run("summary", logs, "--scorer", "strict", "-m", "pass@1")
    code, told = run("summary", logs, "--scorer", "other", "--scorer", "none", "-m", "pass@1")
    assert code == 2
    assert "none of --scorer other --scorer none is there" in told


def test_labels_may_be_in_logs(run: Callable[..., tuple[int, str]], logs: Path) -> None:
    words = ("--judge", "passed", "--label", "metadata.level")
    asked = ("judge", "correct", logs, logs, *words, "--scorer", "lenient", "-f", "json")
    assert run(*asked)[0] in {0, 1}
    assert run(*asked, "--from", "inspect") == run(*asked)
    copy = logs.with_name("copy.json")
    shutil.copy(logs / "new.json", copy)
    calibrate = ("judge", "calibrate", logs, copy, *words, "--scorer", "strict", "-f", "json")
    code, told = run(*calibrate)
    assert code == 2
    assert "is a copy of" in told
    alone = run("judge", "calibrate", logs, *words, "--scorer", "strict", "-f", "json")
    assert run(*calibrate, "--keep", "first") == alone


def test_scores_of_logs_with_labels_have_a_threshold(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    rows = [sample | {"scores": {"s": {"value": 0.7}}} for sample in samples(4)]
    spec = {"task": "t", "model": "m", "created": "2026-01-01", "run_id": "r"}
    head = {"version": 2, "status": "success", "eval": spec, "plan": {}, "results": {}}
    log = tmp_path / "log.json"
    log.write_text(json.dumps(head | {"samples": rows}), encoding="utf-8")
    words = ("judge", "calibrate", log, "--judge", "passed", "--label", "metadata.level")
    code, told = run(*words)
    assert code == 2
    assert "for example --score-threshold 1, or --score-threshold 0.5" in told
    assert "kappa" in run(*words, "--score-threshold", "0.5")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "inspct"), "Did you mean 'inspect'?"),
        (("--scorer", "strict"), "no logs but tables. Leave it out; --judge or --label names"),
        (("--keep", "first"), "no logs but tables. Leave it out; in a table, remove the copies"),
        (("--keep", "some"), "keep == 'some'"),
    ],
    ids=str,
)
def test_options_of_logs_fit_no_table_of_labels(
    run: Callable[..., tuple[int, str]], words: tuple[str, ...], message: str
) -> None:
    code, told = run("judge", "calibrate", BOARD, *words)
    assert code == 2
    assert message in told
    assert run("judge", "calibrate", BOARD, "--from", "table")[0] == 0


def test_the_scorer_of_a_comparison_is_that_of_its_labels(
    run: Callable[..., tuple[int, str]], logs: Path
) -> None:
    words = ("--labels-a", logs, "--labels-b", logs, "--map", "judge=passed", "--scorer", "strict")
    code, told = run("compare", logs, "base", "new", *words)
    assert code == 2
    assert "error: labels: which column is the judge?" in told
    assert told.endswith("Call it judge.")
