"""Speed of comparisons against what one would write by hand, as ratios within one run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import trialframe as tr
from trialframe.kernels.lattice import rate_differences
from trialframe.kernels.resample import bootstrap_mean
from trialframe.kernels.signflip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.bench
CASES, TRIALS, RESAMPLES = 100_000, 5, 10_000


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def report(what: str, figure: float, limit: str) -> None:
    print(f"\n{what:<64} {figure:10.2f} ({limit})", flush=True)


def passes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = np.full(CASES, TRIALS)
    return n, rng.integers(0, TRIALS + 1, CASES), rng.integers(0, TRIALS + 1, CASES)


def test_bootstrap_against_a_gather_loop() -> None:
    n, a, b = passes()
    d = (b - a) / n
    ours = seconds(lambda: bootstrap_mean(d, np.random.default_rng(0), resamples=RESAMPLES))
    loops = 200

    def gather() -> None:
        rng = np.random.default_rng(0)
        for _ in range(loops):
            d[rng.integers(CASES, size=CASES)].mean()

    loop = seconds(gather, rounds=2) * RESAMPLES / loops
    report(f"gather loop / bootstrap of {CASES:,} pairs, {RESAMPLES:,} draws", loop / ours, "> 200")
    report("  seconds of the bootstrap", ours, "s")


def test_exact_sign_flip_against_monte_carlo() -> None:
    n, a, b = passes()
    d = (b - a) / n
    rng = np.random.default_rng(0)
    ours = seconds(lambda: sign_flip(rate_differences(n, a, n, b), rng))

    def draws() -> None:
        for _ in range(100):
            (d * (2 * rng.integers(0, 2, CASES) - 1)).sum()

    report(f"100 draws / exact sign flip of {CASES:,} cases", seconds(draws) / ours, "> 1")
    report("  seconds of the exact test", ours, "s")


def test_a_whole_comparison_of_many_cases() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=CASES, trials=TRIALS, seed=1)
    made = tr.counts(trials)
    group_by = seconds(lambda: tr.counts(trials))
    whole = seconds(lambda: tr.compare(made, "a", "b"))
    report(f"tr.compare of {CASES:,} cases / its group-by", whole / group_by, "for the record")
    report("  seconds", whole, "s")
    cases = seconds(lambda: tr.regressions(made, "a", "b"))
    report(f"tr.regressions of {CASES:,} cases", cases, "about 1 s")
