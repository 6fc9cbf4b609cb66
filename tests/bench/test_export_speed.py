"""A million estimates leave in a small multiple of the time that writing alone takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.bench

ROWS = 1_000_000


@pytest.fixture(scope="module")
def estimates() -> pl.DataFrame:
    draw = np.random.default_rng(1)
    number = np.arange(ROWS)
    made: dict[str, Any] = {}
    for column in SUMMARY:
        if column.dtype == pl.Float64:
            made[column.name] = draw.random(ROWS)
        elif column.dtype == pl.Int64:
            made[column.name] = draw.integers(0, 1000, ROWS)
    frame = pl.DataFrame(made).with_columns(
        config=pl.format("config-{}", pl.lit(pl.Series(number % 200))),
        group=pl.Series(number // 800),
        metric=pl.format("pass@{}", pl.lit(pl.Series(number // 200 % 4))),
        estimand=pl.lit("cases"),
        level=pl.lit(0.95),
        method=pl.lit("score-cr2"),
        unit=pl.lit(None, pl.String),
        warnings=pl.lit(None, pl.String),
    )
    return frame.sample(fraction=1.0, shuffle=True, seed=1)


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def test_parquet(estimates: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    own = seconds(lambda: tr.export(estimates, path))
    table = pl.read_parquet(path)
    plain = min(seconds(lambda: table.write_parquet(tmp_path / "y.parquet")) for _ in range(3))
    print(f"\nParquet: {own:.2f} s, writing alone {plain:.2f} s, {own / plain:.1f} times")
    assert own < 6 * plain + 1


def test_duckdb(estimates: pl.DataFrame, tmp_path: Path, require: Callable[[str], Any]) -> None:
    duckdb = require("duckdb")
    tr.export(estimates, tmp_path / "x.parquet")
    table = pl.read_parquet(tmp_path / "x.parquet").to_arrow()

    def plain() -> None:
        with duckdb.connect(str(tmp_path / "y.duckdb")) as connection:
            connection.register("rows", table)
            connection.execute("CREATE OR REPLACE TABLE x AS SELECT * FROM rows")

    own = seconds(lambda: tr.export(estimates, tmp_path / "x.duckdb"))
    alone = min(seconds(plain) for _ in range(3))
    print(f"\nDuckDB: {own:.2f} s, writing alone {alone:.2f} s, {own / alone:.1f} times")
    assert own < 6 * alone + 1
