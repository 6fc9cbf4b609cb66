"""The command irt: every format, and the rows of the library."""

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


@pytest.fixture(scope="module")
def fit() -> tr.IrtFit:
    return tr.fit_irt(tr.counts(tr.read(BOARD)), "2pl")


def tables(fit: tr.IrtFit) -> dict[str, pl.DataFrame]:
    return {
        "abilities": fit.abilities,
        "items": fit.items,
        "predictions": fit.predict(),
        "fit": fit.item_fit(),
        "pairs": fit.local_dependence(),
    }


@pytest.mark.parametrize("table", ["abilities", "items", "predictions", "fit", "pairs"])
def test_files_hold_every_row_unrounded(fit: tr.IrtFit, table: str, tmp_path: Path) -> None:
    wanted = tables(fit)[table]
    for ending in ("parquet", "csv", "json"):
        path = tmp_path / f"made.{ending}"
        command = ["irt", BOARD, "--model", "2pl", "--table", table, "-o", str(path)]
        assert main(command) == 0
        if ending == "parquet":
            assert_frame_equal(pl.read_parquet(path), wanted, rel_tol=1e-9)
        elif ending == "csv":
            made = pl.read_csv(path, schema=wanted.schema)
            assert_frame_equal(made, wanted, rel_tol=1e-9)
        else:
            assert len(json.loads(path.read_text())) == wanted.height


@pytest.mark.parametrize("by", ["information", "maximin", "spread"])
def test_picks(fit: tr.IrtFit, by: str, tmp_path: Path) -> None:
    path = tmp_path / "picks.parquet"
    assert main(["irt", BOARD, "--model", "2pl", "--pick", "7", "--by", by, "-o", str(path)]) == 0
    assert_frame_equal(pl.read_parquet(path), fit.pick(7, by=by), rel_tol=1e-9)


@pytest.mark.parametrize("form", ["table", "md"])
@pytest.mark.parametrize("more", [[], ["--pick", "3"], ["--table", "items"], ["--table", "pairs"]])
def test_people_see_what_was_fitted(
    form: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["irt", BOARD, "-f", form, *more]) == 0
    told = capsys.readouterr().out
    assert "1pl of 12 configs on 150 cases" in told
    assert "fewer than 30" in told
    if not more:
        assert "borealis-2-thinking" in told
        assert "10 of 150" in told


def test_warnings_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["irt", BOARD, "-f", "csv"]) == 0
    streams = capsys.readouterr()
    assert "note: 12 configs are fewer than 30" in streams.err
    assert streams.out.startswith("config,ability")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "3pl"], "'1pl', '2pl'"),
        (["--pick", "0"], "integer"),
        (["--pick", "3", "--by", "luck"], "maximin"),
        (["--by", "bogus"], "maximin"),
        (["--by", "spread"], "--pick"),
        (["--pick", "3", "--table", "items"], "give one"),
        (["--table", "rows"], "abilities"),
        (["--priors", "flat"], "default"),
        (["--method", "guess"], "mml"),
    ],
)
def test_bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["irt", BOARD, *words]) == 2
    error = capsys.readouterr().err
    assert message in error.splitlines()[-1]


def test_one_config_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.csv"
    pl.DataFrame({"case": ["a", "b"], "n": [3, 3], "c": [1, 2]}).write_csv(path)
    assert main(["irt", str(path)]) == 2
    assert "only one config" in capsys.readouterr().err


def test_the_interval_that_holds_stands_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["irt", BOARD, "-f", "md"]) == 0
    told = capsys.readouterr().out
    assert "times as much" in told
    assert told.index("ability, 95% over clusters") < told.index("by model")
    assert main(["irt", BOARD, "-f", "md", "--model", "2pl", "--no-cluster"]) == 0
    assert "ability, 95% by model" in capsys.readouterr().out


def test_headline_and_ties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "divided.csv"
    rows = [
        {"config": f"c{j}", "case": f"i{i}", "n": 4, "c": c}
        for j, row in enumerate([[0, 0, 1, 2], [0, 0, 2, 1], [4, 4, 3, 2], [4, 4, 2, 3]])
        for i, c in enumerate(row)
    ]
    pl.DataFrame(rows).write_csv(path)
    assert main(["irt", str(path), "--model", "2pl", "--priors", "none", "-f", "table"]) == 0
    assert "not converged (no finite maximum)" in capsys.readouterr().out
    assert main(["irt", str(path), "--pick", "2", "-f", "table"]) == 0
    assert "tie exactly" in " ".join(capsys.readouterr().out.split())


def test_narrow_predictions_keep_the_probability(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["irt", BOARD, "--table", "predictions", "-f", "table"]) == 0
    assert "probability" in capsys.readouterr().out
