"""Speed and memory as ratios within one run: `python -m pytest -m bench -s tests/bench`.

Nothing here fails on a slow machine; the table that is printed holds each figure beside the
limit it is meant to keep. TRIALFRAME_BENCH_ROWS scales the tables (default 20 million).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import trialframe as tr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.bench
ROWS = int(os.environ.get("TRIALFRAME_BENCH_ROWS", "20000000"))

BY_HAND = """
select config, "case", any_value(cluster) as cluster,
  count(passed)::bigint as n, coalesce(sum(passed::int), 0)::bigint as c,
  (count(*) - count(passed))::bigint as unscored,
  count(cost_uusd)::bigint as cost_uusd_n, sum(cost_uusd)::bigint as cost_uusd_sum,
  sum(cost_uusd::double * cost_uusd) as cost_uusd_sumsq
from '{path}' group by config, "case" order by config, "case"
"""


def report(what: str, figure: float, limit: float, unit: str = "x") -> None:
    print(f"\n{what:<58} {figure:8.2f} {unit:<4} (limit {limit:g})", flush=True)


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """The fastest of some rounds: what the work costs when nothing disturbs it."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def write_trials(path: Path, rows: int, *, trials: int = 10, batch: int = 10_000_000) -> None:
    """Shuffled-looking trials of 100 configs, 10 trials a case, written in row groups."""
    configs = 100
    cases = max(1, rows // (configs * trials))
    # a step that shares no factor with the number of rows visits every row once, far apart
    step = next(s for s in range(7_368_787, 9_000_000) if np.gcd(s, rows) == 1)
    writer = None
    import pyarrow.parquet as pq

    for first in range(0, rows, batch):
        i = (np.arange(first, min(first + batch, rows), dtype=np.int64) * step) % rows
        config, case = i // (cases * trials) % configs, i // trials % cases
        hard = (case * 2_654_435_761 % 1000) / 1000
        frame = pl.DataFrame({"config": config, "case": case}).select(
            config=pl.format("model-{}", "config"),
            case=pl.format("task-{}", "case"),
            cluster=pl.format("repo-{}", pl.col("case") % 200),
            trial=pl.Series(i % trials),
            passed=pl.Series((i * 40_503 % 65_536) / 65_536 > hard),
            cost_uusd=pl.Series(i * 31 % 100_000),
        )
        table = frame.to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of ROWS trials."""
    path = tmp_path_factory.mktemp("bench") / "trials.parquet"
    write_trials(path, ROWS)
    return path


@pytest.fixture(scope="module")
def by_hand(trials: Path) -> float:
    """Seconds of the hand-written query for the same frame."""
    duckdb = pytest.importorskip("duckdb")
    return seconds(lambda: pl.DataFrame(duckdb.sql(BY_HAND.format(path=trials)).to_arrow_table()))


def test_counts_against_a_query_by_hand(trials: Path, by_hand: float) -> None:
    duckdb = pytest.importorskip("duckdb")
    ours = seconds(lambda: tr.counts(tr.read(trials)))
    expected = pl.DataFrame(duckdb.sql(BY_HAND.format(path=trials)).to_arrow_table())
    assert tr.counts(tr.read(trials)).frame.equals(tr.Counts(expected).frame)
    report(f"counts of {ROWS:,} rows / DuckDB by hand", ours / by_hand, 1.5)


@pytest.mark.parametrize("k", [1, 10, 100, 1000])
def test_k_metrics_on_a_million_counts(by_hand: float, k: int) -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(1, 1001, 1_000_000)
    frame = pl.DataFrame({"n": n, "c": rng.integers(0, n + 1)})
    for name, expression in {
        f"pass@{k}": tr.pass_at_k(k),
        f"pass^{k}": tr.pass_hat_k(k),
        f"g_pass@{k}_0.5": tr.g_pass_at_k(k, 0.5),
    }.items():
        ours = seconds(lambda e=expression: frame.select(e.mean()))
        report(f"{name} of 1,000,000 counts / group-by of {ROWS:,}", ours / by_hand, 0.2)


def run(*command: str) -> None:
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)


def test_summary_of_a_million_trials_from_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "million.parquet"
    write_trials(path, 1_000_000)
    whole = seconds(lambda: run("-m", "trialframe", "summary", str(path)))
    bare = seconds(lambda: run("-c", "import trialframe"))
    report("summary of 1,000,000 trials above the import", whole - bare, 2.0, "s")
    report("import trialframe", bare, 0.5, "s")


def test_peak_memory_of_a_hundred_million_rows(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    write_trials(path, 5 * ROWS)
    script = (
        "import resource, sys, trialframe as tr;"
        "tr.counts(tr.read(sys.argv[1]));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    command = [sys.executable, "-c", script, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    report(f"peak memory of counts on {5 * ROWS:,} rows", float(out.stdout), 3.0, "GiB")
