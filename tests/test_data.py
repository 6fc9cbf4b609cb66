from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

DATA = Path(__file__).resolve().parents[1] / "data"


def test_the_documented_command_makes_the_tables_again(tmp_path: Path) -> None:
    command = [sys.executable, str(DATA / "make.py"), str(tmp_path)]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(DATA.parent / "src")})
    for path in DATA.glob("*.parquet"):
        assert_frame_equal(
            pl.read_parquet(path), pl.read_parquet(tmp_path / path.name), rel_tol=1e-9
        )
    assert len(list(tmp_path.iterdir())) == len(list(DATA.glob("*.parquet")))


def test_the_tables_are_small() -> None:
    assert all(path.stat().st_size < 1.5e6 for path in DATA.glob("*.parquet"))


def test_the_truth_in_the_readme_is_that_of_the_table() -> None:
    rows = [
        [cell.strip() for cell in line.split("|")[1:3]]
        for line in (DATA / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    truth = (
        pl.read_parquet(DATA / "leaderboard.parquet")
        .group_by("config")
        .agg(pl.col("true_rate").mean())
        .sort("true_rate", descending=True)
    )
    documented = [(name, float(rate)) for name, rate in rows[2:14]]
    assert [name for name, _ in documented] == truth["config"].to_list()
    assert [rate for _, rate in documented] == pytest.approx(truth["true_rate"].to_list(), abs=5e-5)


def test_the_defects_in_the_readme_are_in_the_dirty_table() -> None:
    dirty = pl.read_parquet(DATA / "dirty.parquet")
    key = ["config", "case", "trial"]
    assert dirty.height == 204
    assert set(dirty["passed"].unique().to_list()) == {"True", "False", "Y", None}
    assert dirty.filter(pl.col("passed") == "Y").height == 6
    assert dirty.group_by(key).len().filter(pl.col("len") > 1).height == 4
    first = dirty.group_by("config").agg(pl.col("trial").min()).sort("config")
    assert first["trial"].to_list() == [0, 1]
    second = dirty.filter(pl.col("config") == "copper-2").drop("tokens_out", "score", "passed")
    assert_frame_equal(*(second.filter(pl.col("trial") == t).drop("trial") for t in (4, 5)))
    clusters = dirty.group_by("case").agg(pl.col("cluster").n_unique())
    assert clusters.filter(pl.col("cluster") > 1)["case"].to_list() == ["case_05"]
    assert dirty["score"].is_nan().sum() == 9
    assert (dirty["tokens_out"] == 0).sum() == 34
