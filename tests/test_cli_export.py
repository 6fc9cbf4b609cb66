"""The commands export and ddl."""

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


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    path = tmp_path / "trials.parquet"
    tr.simulate(configs=["base", "mid", "new"], cases=40, trials=4, lift=0.3, seed=2).write_parquet(
        path
    )
    return path


def test_several_tables_under_one_run(
    trials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "counts,estimates,comparisons,decisions,items,findings"
    words = ["export", str(trials), "--to", f"{tmp_path}/{{table}}.csv", "--table", names]
    words += ["--baseline", "base", "--candidate", "new", "--suite", "demo"]
    assert main(words) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in told] == names.split(",")
    found = {name: pl.read_csv(tmp_path / f"{name}.csv") for name in names.split(",")}
    (run,) = {*(run for table in found.values() for run in table["run_id"])}
    assert all(line.endswith(f", run {run}") for line in told)
    assert {s for table in found.values() for s in table["suite"]} == {"demo"}
    before = {name: (tmp_path / f"{name}.csv").read_bytes() for name in found}
    assert main(words) == 0
    for name, table in found.items():
        again = pl.read_csv(tmp_path / f"{name}.csv")
        assert again.drop("created_at").equals(table.drop("created_at")), name
        assert len(before[name]) == (tmp_path / f"{name}.csv").stat().st_size


def test_estimates_are_those_of_summary(trials: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    words = ["export", str(trials), "--to", str(target), "--metric", "pass@1", "--level", "0.9"]
    assert main([*words, "--run-id", "r", "--created-at", "2026-01-31T00:00:00Z"]) == 0
    found = pl.read_parquet(target)
    wanted = tr.summary(tr.counts(tr.read(trials)), metrics="pass@1", level=0.9).sort("config")
    assert found.select(wanted.columns).rows() == wanted.rows()
    assert found["created_at"].unique().dt.year().to_list() == [2026]
    assert main([*words, "--run-id", "s", "--mode", "upsert"]) == 0
    assert set(pl.read_parquet(target)["run_id"]) == {"s"}


def test_whole_runs(trials: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    assert main(["export", str(trials), "--to", str(target), "--estimand", "runs"]) == 0
    found = pl.read_parquet(target).sort("config")
    wanted = tr.run_summary(tr.read(trials)).sort("config")
    assert found["value"].to_list() == wanted["value"].to_list()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--to", "{}/x.parquet", "--table", "counts,estimates"], "put {table} into its name"),
        (["--to", "{}/x.parquet", "--table", "count"], "Did you mean 'counts'"),
        (["--to", "{}/x.parquet", "--table", "decisions"], "--baseline and --candidate"),
        (["--to", "{}/x.parquet", "--mode", "merge"], "'upsert'"),
        (["--to", "{}/x.xlsx"], "what kind of target"),
        (["--to", "{}/trials.parquet"], "not made by an export"),
        (["--to", "{}/x.parquet", "--created-at", "now"], "ISO 8601"),
        (["--to", "{}/none/x.csv"], "make it first"),
        (["--to", "{}/x.db", "--table", "counts"], "what kind of target"),
        (
            ["--to", "{}/x.sqlite", "--table", "counts,estimates", "--name", "one"],
            "--name one names one table",
        ),
        (["--to", "{}/x.csv", "--candidate", "new"], "--candidate is for decisions"),
        (["--to", "{}/x.csv", "--baseline", "base"], "--baseline is for comparisons"),
        (["--to", "{}/x.csv", "--table", "counts", "--metric", "flaky"], "are for estimates"),
        (["--to", "{}/x.parquet", "--estimand", "runs", "-k", "2"], "whole runs"),
        (["--to", "postgresql://me:topsecret@localhost:1/x?sslpassword=hidden"], "me:***@local"),
        (["--to", "postgresql://me:top%zzsecret@localhost:1/x"], "me:***@local"),
    ],
)
def test_bad_input_is_one_line_and_2(
    trials: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
    require: Callable[[str], Any],
) -> None:
    if "postgresql" in words[1]:
        require("adbc_driver_postgresql")
        require("adbc_driver_manager")
    before = trials.read_bytes()
    assert main(["export", str(trials), *(w.replace("{}", str(tmp_path)) for w in words)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.splitlines()[-1].startswith("error: ")
    assert not any(word in error for word in ("topsecret", "zzsecret", "hidden", "Traceback"))
    assert trials.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["trials.parquet"]


def test_a_target_is_looked_at_before_the_trials_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target, told in ((f"{tmp_path}/none/x.csv", "make it first"), ("x.xlsx", "what kind")):
        assert main(["export", f"{tmp_path}/no trials.parquet", "--to", target]) == 2
        assert told in capsys.readouterr().err


def test_ddl(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ddl", "counts", "--dialect", "snowflake", "--name", "evals.counts"]) == 0
    assert capsys.readouterr().out == tr.ddl("counts", "snowflake", name="evals.counts")
    assert main(["ddl", "count"]) == 2
    assert "Did you mean 'counts'" in capsys.readouterr().err
