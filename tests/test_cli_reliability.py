"""The commands reliability, gstudy, decay and seq."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.cli import main

DATA = str(Path(__file__).resolve().parents[1] / "data" / "leaderboard.parquet")
COMMANDS = {
    "reliability": ["reliability", DATA, "-k", "3", "--units", "cases"],
    "variance": ["gstudy", DATA, "--units", "cases", "--resamples", "100"],
    "decay": ["decay", DATA, "--bucket", "difficulty", "--order", "easy,medium,hard"],
}


def run(words: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[int, bytes, str]:
    code = main(words)
    out, err = capfdbinary.readouterr()
    return code, out, err.decode()


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_formats_hold_the_same_rows(
    name: str, kind: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    words = COMMANDS[name]
    code, out, _ = run([*words, "--format", kind], capfdbinary)
    assert code == 0
    rows = _read(out, kind)
    path = tmp_path / f"out.{kind}"
    assert main([*words, "--output", str(path)]) == 0
    # sums of real numbers may differ in the last bits from run to run
    assert_frame_equal(_read(path.read_bytes(), kind), rows, rel_tol=1e-12)
    expected = {"reliability": 12 * 9, "variance": 4, "decay": 36}
    assert rows.height == expected[name]


def _read(out: bytes, kind: str) -> pl.DataFrame:
    if kind == "json":
        return pl.DataFrame(json.loads(out), infer_schema_length=None)
    return pl.read_csv(out) if kind == "csv" else pl.read_parquet(io.BytesIO(out))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["table", "md"])
def test_people_get_a_table(
    name: str, kind: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, _ = run([*COMMANDS[name], "--format", kind], capfdbinary)
    text = out.decode()
    said = {"reliability": "secure", "variance": "main effect", "decay": "per bucket"}
    assert code == 0
    assert said[name] in text
    assert ("| ---" in text or "|:---" in text) == (kind == "md")


def test_the_numbers_are_those_of_the_functions(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    trials = pl.read_parquet(DATA)
    _, out, _ = run([*COMMANDS["variance"], "-f", "json", "--table", "d-study"], capfdbinary)
    expected = tr.variance_components(trials, units="cases", resamples=100)
    assert json.loads(out) == expected.d_study.to_dicts()
    _, out, _ = run([*COMMANDS["decay"], "-f", "json"], capfdbinary)
    curve = tr.decay_curve(trials, bucket="difficulty", order=["easy", "medium", "hard"]).curve
    assert [row["value"] for row in json.loads(out)] == curve["value"].to_list()


def test_a_status_column(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "status.csv"
    words = ["pass", "fail", "SECURITY_FAIL", "pass", "fail"]
    pl.DataFrame({"case": "x", "trial": range(5), "status": words}).write_csv(path)
    line = ["reliability", str(path), "--status", "status", "-k", "2", "-f", "json"]
    code, out, _ = run(line, capfdbinary)
    found = {row["metric"]: row["value"] for row in json.loads(out)}
    assert code == 0
    assert found["reliability@2"] == pytest.approx(0.9)
    assert found["secure_reliability@2"] == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["decay", DATA, "--bucket", "difficulty"], "Name it, as in --order"),
        (["decay", DATA, "--bucket", "case"], "is no length"),
        (["reliability", DATA, "--status", "passed"], "goes to --passed passed"),
        (["decay", DATA, "--bucket", "length"], "error: bucket: no column 'length'"),
        (["decay", DATA, "--bucket", "duration_ms", "--edges", "a"], "must be numbers"),
        (["gstudy", DATA, "--method", "anova"], "equally many runs"),
        (["gstudy", DATA, "--table", "g"], "table == 'g'"),
        (["gstudy", DATA, "--d-cases", "x"], "whole numbers"),
        (["reliability", DATA, "-k", "0"], "k == 0"),
        (["reliability", DATA, "--status", "outcome", "--passed", "passed"], "not both"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = run(words, capfdbinary)
    assert code == 2
    assert not out
    last: list[Any] = [line for line in err.splitlines() if line.startswith("error")]
    assert len(last) == 1
    assert message in last[0]


def test_a_bucket_that_is_not_there_is_named_by_options_of_decay(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    trials, counts = tmp_path / "trials.csv", tmp_path / "counts.csv"
    rows = {"case": ["x", "x", "y"], "trial": [0, 1, 0], "passed": [True, False, True]}
    pl.DataFrame(rows | {"took": [3, 4, 90]}).write_csv(trials)
    pl.DataFrame({"case": ["x", "y"], "n": 2, "c": 1, "duration_ms": [3, 90]}).write_csv(counts)
    words = ["decay", str(trials), "--bucket"]
    code, _, err = run([*words, "duration_ms"], capfdbinary)
    assert code == 2
    assert err.endswith("have no duration_ms. Name it: --duration-ms COLUMN.\n")
    named = ["--duration-ms", "took", "--edges", "5", "-k", "1"]
    assert run([*words, "duration_ms", *named], capfdbinary)[0] == 0
    code, _, err = run([*words, "tests_share"], capfdbinary)
    assert err.endswith("Name it: --map tests_passed=COLUMN, --map tests_total=COLUMN.\n")
    code, _, err = run(["decay", str(counts), "--bucket", "duration_ms"], capfdbinary)
    assert code == 2
    assert "no sums of duration_ms" in err
    assert "--by" not in err


def test_sequences(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    options: dict[str, Any] = {"configs": 2, "cases": 30, "tokens": (100, 50), "seed": 1}
    paths = [tmp_path / name for name in ("sequences.parquet", "independent.parquet")]
    sequences = tr.simulate(**options, trials=1, attempts=3, learning=0.1)
    independent = tr.simulate(**options, trials=3)
    sequences.write_parquet(paths[0])
    independent.write_parquet(paths[1])
    words = ["seq", str(paths[0]), "--independent", str(paths[1])]
    code, out, _ = run([*words, "-f", "json"], capfdbinary)
    expected = tr.seq_at_k(sequences, independent=tr.counts(independent))
    assert code == 0
    assert [row["value"] for row in json.loads(out)] == expected["value"].to_list()
    code, out, _ = run(words, capfdbinary)
    assert "pass_tokens@k" in out.decode()
    assert "k = 3" in out.decode()
    code, _, err = run(["seq", DATA], capfdbinary)
    assert code == 2
    assert "attempt" in err


def test_one_table_of_variance(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _, out, _ = run([*COMMANDS["variance"], "--table", "d-study", "-f", "table"], capfdbinary)
    text = out.decode()
    assert text.lstrip().startswith("cases")
    assert "component" not in text
