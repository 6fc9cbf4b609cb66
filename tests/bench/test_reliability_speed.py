"""Variance components beside the group-by they start from; run it with -m bench -s."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import trialframe as tr

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.bench


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def test_components_of_five_million_trials() -> None:
    rng = np.random.default_rng(0)
    configs, cases, trials = 200, 5_000, 5
    rate = np.clip(rng.beta(1, 1, cases) + rng.normal(0, 0.05, (configs, 1)), 0, 1)
    place = np.indices((configs, cases, trials)).reshape(3, -1)
    names = [
        pl.Series([f"{w}{i:04d}" for i in range(m)]) for w, m in (("c", configs), ("t", cases))
    ]
    table = pl.DataFrame(
        {
            "config": names[0].gather(place[0]),
            "case": names[1].gather(place[1]),
            "trial": place[2],
            "passed": (rng.random((configs, cases, trials)) < rate[:, :, None]).ravel(),
        }
    )
    counts = tr.counts(table)
    grouping = seconds(lambda: tr.counts(table))
    whole = seconds(lambda: tr.variance_components(table, resamples=400, splits=100))
    print(f"\ncounts {grouping:.2f} s, trials to components {whole:.2f} s")
    print(f"which is {whole / grouping:.2f} times as long (limit 2)")
    alone = seconds(lambda: tr.variance_components(counts), rounds=1)
    print(f"components of counts with 1,000 resamples and 200 splits {alone:.2f} s")
    holes = counts.frame.filter(pl.int_range(pl.len()) % 7 > 0)
    fit = seconds(lambda: tr.variance_components(tr.Counts(holes), resamples=100, splits=10), 1)
    print(f"REML of 200 x 5,000 cells, one in seven empty: {fit:.2f} s")
