"""Reading against the parser alone, as ratios: `python -m pytest -m bench -s tests/bench`.

TRIALFRAME_BENCH_LINES scales the files (default 1 million rows).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import trialframe as tr

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.bench
ROWS = int(os.environ.get("TRIALFRAME_BENCH_LINES", "1000000"))


def compare(what: str, path: Path, rounds: int = 7) -> None:
    """Print how much longer `tr.read` takes than the parser; rounds alternate, the best count."""
    best = {"ours": float("inf"), "parser": float("inf")}
    for _ in range(rounds):
        for name, took in best.items():
            start = time.perf_counter()
            frame = tr.read(path).collect() if name == "ours" else pl.read_ndjson(path)
            best[name] = min(took, time.perf_counter() - start)
            assert frame.height == ROWS
    ratio = best["ours"] / best["parser"]
    print(f"\n{what:<58} {ratio:8.2f} x    (limit 2)", flush=True)


def plain() -> pl.DataFrame:
    """Trials of 100 configs, 10 trials a case."""
    i = np.arange(ROWS)
    rng = np.random.default_rng(0)
    return pl.DataFrame({"i": i, "passed": rng.random(ROWS) < 0.5}).select(
        config=pl.format("model-{}", pl.col("i") % 100),
        case=pl.format("task-{}", pl.col("i") // 1000),
        trial=pl.col("i") // 100 % 10,
        passed="passed",
        cost_uusd=pl.col("i") * 31 % 100_000,
        duration_ms=pl.col("i") * 17 % 100_000,
    )


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    plain().write_ndjson(path)
    compare(f"JSON lines, {ROWS:,} trials / read_ndjson", path)


def test_json_lines_with_nulls_and_text(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    words = pl.lit("TimeoutError: no answer, {x: null}")
    failed = pl.when(pl.col("cost_uusd") % 7 == 3).then(words)
    plain().with_columns(error=failed, seed=pl.lit(None, pl.String)).write_ndjson(path)
    compare(f"the same with nulls and colons in text, {ROWS:,} trials", path)


def test_human_eval_results(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl_results.jsonl"
    text = pl.format("    return {} + 1\n    # what else the model wrote: x", "case")
    plain().select(
        task_id=pl.format("HumanEval/{}", pl.col("case").str.slice(5)),
        completion=text,
        result=pl.when("passed").then(pl.lit("passed")).otherwise(pl.lit("failed: x")),
        passed="passed",
    ).write_ndjson(path)
    compare(f"human-eval results, {ROWS:,} samples / read_ndjson", path)
