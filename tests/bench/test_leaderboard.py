"""The leaderboard of 200 configs on 5,000 cases: seconds, memory and a plain loop beside it."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = pytest.mark.bench
CONFIGS, CASES, TRIALS, RESAMPLES = 200, 5_000, 5, 10_000

MAKE = f"""
import resource, sys, time
import numpy as np, polars as pl, trialframe as tr
rng = np.random.default_rng(0)
ease = rng.normal(size=(1, {CASES}))
skill = np.linspace(-0.5, 0.5, {CONFIGS})[:, None]
rate = 1 / (1 + np.exp(-(ease + skill + rng.normal(0, 0.5, ({CONFIGS}, {CASES})))))
case = np.tile(np.arange({CASES}), {CONFIGS})
frame = pl.DataFrame({{
    "config": np.repeat(np.arange({CONFIGS}), {CASES}),
    "case": case,
    "n": {TRIALS},
    "c": rng.binomial({TRIALS}, rate).ravel(),
}})
if sys.argv[1] == "clusters":
    frame = frame.with_columns(cluster=pl.col("case") % 200)
counts = tr.Counts(frame)
start = time.perf_counter()
tr.leaderboard(counts)
print(time.perf_counter() - start)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def report(what: str, figure: float, limit: float, unit: str = "x") -> None:
    print(f"\n{what:<58} {figure:8.3g} {unit:<4} (limit {limit:g})", flush=True)


def by_hand(resamples: int) -> float:
    """Seconds of a gather loop for bootstrap means, scaled up to all resamples."""
    rng = np.random.default_rng(0)
    values = rng.random((CASES, CONFIGS))
    start = time.perf_counter()
    for _ in range(resamples):
        values[rng.integers(0, CASES, CASES)].mean(axis=0)
    return (time.perf_counter() - start) * RESAMPLES / resamples


@pytest.mark.parametrize("units", ["cases", "clusters"])
def test_two_hundred_configs(units: str) -> None:
    command = [sys.executable, "-c", MAKE, units]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, memory = (float(line) for line in done.stdout.split())
    name = f"leaderboard of {CONFIGS} x {CASES:,} {units}"
    report(name, seconds, 20, "s")
    report(f"{name}, peak memory", memory, 4, "GiB")
    report(f"{name} / only its means by a loop", seconds / by_hand(50), 1)
