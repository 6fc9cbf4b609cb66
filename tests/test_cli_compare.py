"""The commands compare and regressions: what they print, write and exit with."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main

ROOT = Path(__file__).resolve().parents[1]
TABLE = str(ROOT / "data" / "leaderboard.parquet")
PAIR = ("cirrus-flash", "cirrus-pro")


@pytest.fixture(scope="module")
def counts() -> tr.Counts:
    return tr.counts(tr.read(TABLE), by="difficulty")


def record(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]]]:
    code = main([*words, "-f", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_options_reach_the_comparison(
    capsys: pytest.CaptureFixture[str], counts: tr.Counts
) -> None:
    asked = {"effect": "ratio", "test": "mid-p", "units": "cases", "level": 0.9}
    words = [part for name, value in asked.items() for part in (f"--{name}", str(value))]
    code, [row] = record(capsys, "compare", TABLE, *PAIR, *words, "--by", "difficulty")
    assert code == 0
    made = tr.compare(counts, *PAIR, by="difficulty", **asked)  # type: ignore[arg-type]
    assert row["claim"] == made.claim
    assert row["settings_test"] == "mid-p"
    assert made.groups is not None
    assert row["groups"] == made.groups.to_dicts()


def test_the_exit_code_speaks_against_the_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--units", "cases"]
    assert main(["compare", TABLE, *PAIR, *words]) == 0
    assert main(["compare", TABLE, *PAIR[::-1], *words]) == 1
    assert main(["compare", TABLE, *PAIR, *words, "--margin", "0.02"]) == 0
    assert main(["compare", TABLE, *PAIR[::-1], *words, "--margin", "0.02"]) == 1
    assert main(["compare", TABLE, *PAIR, "--margin", "0"]) == 2
    assert main(["compare", TABLE, *PAIR, "--same", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_what_moved_comes_before_any_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "trials.parquet"
    pl.read_parquet(TABLE).with_columns(scorer=pl.col("config")).write_parquet(path)
    assert main(["compare", str(path), *PAIR, "--same", "scorer"]) == 1
    out = capsys.readouterr().out
    assert "not comparable, as the two sides of shared cases differ in scorer" in out
    assert "difference" not in out


@pytest.mark.parametrize("form", ["table", "md", "csv", "parquet", "json"])
def test_every_form_holds_the_decision(form: str, tmp_path: Path) -> None:
    target = tmp_path / f"made.{form}"
    words = ["--by", "difficulty", "--gate", "-f", form, "-o", str(target)]
    assert main(["compare", TABLE, *PAIR, *words]) == 1
    if form == "parquet":
        made = pl.read_parquet(target)
        assert made["gate_verdict"].to_list() == ["dont_ship"]
        assert made["groups"].list.len().to_list() == [3]
    else:
        text = target.read_text(encoding="utf-8")
        assert "Don't ship" in text
        assert "it is better on cases like these" in text


def test_headline_numbers_need_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--base", "0.90/1000", "--new", "0.894/1000"]) == 0
    assert "unpaired" in capsys.readouterr().out
    assert main(["compare", "--base", "0.90/1000", "--new", "0.80/1000"]) == 1
    assert main(["compare", "--base", "0.9/1000", "--new", "0.894/1000", "--margin", "0.02"]) == 1
    capsys.readouterr()
    for words in (
        ["--base", "0.9/1000"],
        ["--base", "0.9/1000", "--new", "x"],
        [TABLE, *PAIR, "--base", "0.9/1000", "--new", "0.8/1000"],
    ):
        assert main(["compare", *words]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_regressions_list_the_cases(capsys: pytest.CaptureFixture[str], counts: tr.Counts) -> None:
    code, rows = record(capsys, "regressions", TABLE, *PAIR[::-1], "--adjust", "none")
    wanted = tr.regressions(counts, *PAIR[::-1], adjust="none")
    assert rows == wanted.to_dicts()
    assert code == int("regression" in wanted["status"])
    assert main(["regressions", TABLE, *PAIR, "--adjust", "holm"]) == 0
    out = capsys.readouterr().out
    assert "of 150 shared cases got worse" in out
    assert main(["regressions", TABLE, *PAIR, "--method", "t"]) == 2


def test_single_runs_become_transitions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "single.csv"
    rows = {"config": ["a", "b"] * 3, "case": list("xxyyzz"), "passed": [1, 0, 0, 1, 1, 1]}
    pl.DataFrame(rows).write_csv(path)
    assert main(["regressions", str(path), "a", "b"]) == 0
    out = capsys.readouterr().out
    assert "1 of 3 shared cases went from pass to fail, 1 to pass." in out
    assert "3 untestable" in out


def test_labels_take_the_judges_errors_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trials = tr.simulate(
        configs=["a", "b"], cases=400, trials=1, lift=0.2, judge=(0.9, 0.7), labelled=0.5, seed=2
    )
    runs, labels = tmp_path / "runs.parquet", tmp_path / "labels.parquet"
    trials.drop("label").with_columns(passed=pl.col("judge")).write_parquet(runs)
    known = trials.filter(pl.col("label").is_not_null()).select("config", "case", "judge", "label")
    known.write_parquet(labels)
    files = []
    for name in ("a", "b"):
        path = tmp_path / f"labels-{name}.csv"
        known.filter(config=name).drop("config").write_csv(path)
        files.append(str(path))
    words = ["compare", str(runs), "a", "b"]
    code, [row] = record(capsys, *words, "--labels-a", files[0], "--labels-b", files[1])
    made = tr.rogan_gladen_difference(
        tr.counts(tr.read(runs)), "a", "b", tr.calibrate(known, config="config")
    )
    assert code == 0
    assert row["corrected_diff"] == pytest.approx(made.diff)
    assert row["corrected_method"] == "rogan-gladen, per config"
    shared = ["--labels-a", str(labels), "--labels-b", str(labels)]
    assert main([*words, *shared]) == 0
    assert "corrected" in capsys.readouterr().out
    assert main([*words, "--labels-a", files[0]]) == 2
    assert "go together" in capsys.readouterr().err
    assert main([*words, *shared]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("b is better: ")
    assert "after correction" in shown.splitlines()[0]
    assert "\nnot corrected: " in shown
    assert "verdict, corrected for the judge" in shown
    assert "correct it with" not in shown
    assert main([*words, *shared, "--margin", "0.05"]) == 0
    # passes that no judge gave have no errors of a judge
    own = trials.drop("label").with_columns(judge=~pl.col("passed"))
    own.write_parquet(runs)
    assert main([*words, *shared]) == 2
    assert "--passed judge" in capsys.readouterr().err
    assert main([*words, *shared, "--passed", "judge"]) in {0, 1}
    capsys.readouterr()
    texts = pl.when("label").then(pl.lit("good")).otherwise(pl.lit("bad"))
    known.with_columns(label=texts).write_parquet(labels)
    assert main([*words, *shared, "--passed", "judge"]) == 2
    assert "trialframe judge correct" in capsys.readouterr().err


def test_a_judge_behind_the_passes_is_named() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=60, trials=1, judge=(0.9, 0.7), seed=2)
    judged = tr.counts(trials, passed="judge")
    assert judged.judged_by == "judge"
    warnings = tr.compare(judged, "a", "b").warnings
    assert any("verdicts of a judge (column 'judge')" in text for text in warnings)
    assert tr.counts(trials).judged_by is None


def test_no_input_is_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trials.parquet"
    path.write_bytes(Path(TABLE).read_bytes())
    before = path.read_bytes()
    for words in (
        ["compare", str(path), *PAIR, "-o", str(path)],
        ["compare", str(tmp_path), *PAIR, f"--output={path}"],
        ["summary", str(tmp_path / "*.parquet"), "-o", str(path)],
        ["counts", str(path), "--output", str(tmp_path / "." / "trials.parquet")],
    ):
        assert main(words) == 2
        assert "one of the files that are read" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert main(["counts", str(path), "-o", str(tmp_path / "new.parquet")]) == 0


def test_control_characters_of_names_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "odd.parquet"
    names = ["a\x1b[31m", "b\nc"]
    rows = {"config": names * 8, "case": [str(i // 2) for i in range(16)], "passed": [1, 0] * 8}
    pl.DataFrame(rows).with_columns(pl.col("passed").cast(pl.Boolean)).write_parquet(path)
    for form in ("table", "md"):
        assert main(["compare", str(path), *names, "-f", form]) == 1
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert r"b\nc" in out.replace("\\\\", "\\")
