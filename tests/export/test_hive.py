"""Folders of Parquet: names of partitions, files that stay, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ExportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNTS = tr.counts(tr.simulate(configs=["a/b=c", "%41", "z é"], cases=6, trials=2, seed=1))
TABLE = tr.summary(COUNTS)


def parts(folder: Path) -> list[str]:
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_a_folder_a_config_and_a_file_a_run(tmp_path: Path) -> None:
    for run in ("one", "two"):
        tr.export(TABLE, f"{tmp_path}/x/", run_id=run)
    names = {name.partition("/")[0] for name in parts(tmp_path / "x")}
    assert names == {"config=a%2Fb%3Dc", "config=%2541", "config=z %C3%A9"}
    assert len(parts(tmp_path / "x")) == 6
    assert "config" not in pl.read_parquet_schema(tmp_path / "x" / parts(tmp_path / "x")[0])


def test_files_of_other_runs_stay_as_they_are(tmp_path: Path) -> None:
    for run in ("one", "two"):
        tr.export(TABLE, f"{tmp_path}/x/", run_id=run)
    before = {p: (tmp_path / "x" / p).stat().st_ino for p in parts(tmp_path / "x")}
    tr.export(TABLE, f"{tmp_path}/x/", run_id="two")
    after = {p: (tmp_path / "x" / p).stat().st_ino for p in parts(tmp_path / "x")}
    assert set(before) == set(after)
    assert sum(before[p] == after[p] for p in before) == 3


def test_several_columns_and_the_same_ever_after(tmp_path: Path) -> None:
    target = f"{tmp_path}/x/"
    tr.export(TABLE, target, partition_by=["suite", "metric"], run_id="one")
    first = parts(tmp_path / "x")[0].split("/")
    assert [p.partition("=")[0] for p in first[:-1]] == ["suite", "metric"]
    tr.export(TABLE, target, run_id="two")
    with pytest.raises(ArgumentError, match=r"is in folders by .*leave partition_by out"):
        tr.export(TABLE, target, partition_by="config", run_id="three")
    tr.export(TABLE, target, partition_by="config", run_id="three", mode="replace")
    assert {p.partition("=")[0] for p in parts(tmp_path / "x")} == {"config"}


@pytest.mark.parametrize("name", ["run_id", "schema_version", "settings_hash"])
def test_where_a_row_is_from_may_make_the_folders(tmp_path: Path, name: str) -> None:
    for run in ("one", "two", "one"):
        tr.export(TABLE, f"{tmp_path}/x/", run_id=run, partition_by=name)
    assert all(part.startswith(f"{name}=") for part in parts(tmp_path / "x"))
    found = pl.read_parquet(tmp_path / "x", hive_partitioning=True)
    assert sorted(found["run_id"]) == ["one"] * TABLE.height + ["two"] * TABLE.height


def test_a_value_too_long_for_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"partition_by 'config': .* of 309 bytes"):
        tr.export(TABLE.head(1).with_columns(config=pl.lit("é" * 50 + "xx")), f"{tmp_path}/x/")
    assert parts(tmp_path) == []


def test_duckdb_reads_the_folders(tmp_path: Path, require: Callable[[str], Any]) -> None:
    duckdb = require("duckdb")
    tr.export(TABLE, f"{tmp_path}/x/")
    query = (
        f"SELECT config, metric, value FROM read_parquet('{tmp_path}/x/*/*.parquet', "
        "hive_partitioning = true, hive_types = {config: VARCHAR}) ORDER BY config, metric"
    )
    with duckdb.connect() as connection:
        found = connection.execute(query).fetchall()
    assert found == TABLE.sort("config", "metric").select("config", "metric", "value").rows()


@pytest.mark.parametrize("by", ["value", "warnings", "nothing", "k"])
def test_only_known_texts_make_folders(tmp_path: Path, by: str) -> None:
    with pytest.raises(ArgumentError, match=f"no column '{by}'"):
        tr.export(TABLE, f"{tmp_path}/x/", partition_by=by)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="an empty value makes no folder"):
        tr.export(TABLE.with_columns(config=pl.lit("")).unique("metric"), f"{tmp_path}/x/")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ExportError, match="a folder with other files"):
        tr.export(TABLE, tmp_path)
    assert parts(tmp_path) == ["notes.txt"]


def test_other_files_among_the_parts_stay(tmp_path: Path) -> None:
    tr.export(TABLE, f"{tmp_path}/x/", run_id="one")
    (tmp_path / "x" / "README.md").write_text("mine")
    tr.export(TABLE, f"{tmp_path}/x/", run_id="two")
    assert (tmp_path / "x" / "README.md").read_text() == "mine"
    tr.export(TABLE, f"{tmp_path}/x/", run_id="three", mode="replace")
    assert (tmp_path / "x" / "README.md").read_text() == "mine"


def test_delta_takes_partitions(tmp_path: Path, require: Callable[[str], Any]) -> None:
    delta = require("deltalake")
    for run in ("one", "two", "one"):
        tr.export(TABLE, f"delta:{tmp_path}/d", partition_by="metric", run_id=run)
    table = delta.DeltaTable(f"{tmp_path}/d")
    assert table.metadata().partition_columns == ["metric"]
    assert pl.DataFrame(table.to_pyarrow_table()).height == 2 * TABLE.height
    tr.export(TABLE, f"{tmp_path}/d", run_id="three")  # a folder that is a Delta table
    assert (
        pl.DataFrame(delta.DeltaTable(f"{tmp_path}/d").to_pyarrow_table()).height
        == 3 * TABLE.height
    )
