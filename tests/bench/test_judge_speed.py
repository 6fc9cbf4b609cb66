"""Speed of questions about judges on a million rows."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

import trialframe as tr

pytestmark = pytest.mark.bench
ROWS, LIMIT = 1_000_000, 20.0


def timed(what: str, start: float) -> None:
    took = time.perf_counter() - start
    print(f"\n{what:<64} {took:10.2f} s", flush=True)
    assert took < LIMIT


def trials() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    frame = tr.simulate(configs=1, cases=ROWS // 10, trials=10, seed=0)
    failed = (~frame["passed"]).cast(pl.Int64)
    return frame.with_columns(errors=failed + pl.Series(rng.poisson(1, frame.height)))


def test_a_signal_of_a_million_trials() -> None:
    frame = trials()
    start = time.perf_counter()
    found = tr.signal_auroc(frame, signals="errors")
    timed("signal_auroc, 1,000,000 trials", start)
    assert found["exact"][0]


def test_a_million_judge_draws() -> None:
    rng = np.random.default_rng(0)
    frame = tr.simulate(configs=["a", "b"], cases=ROWS // 50, trials=5, seed=0)
    frame = frame.join(pl.DataFrame({"judge_draw": range(5)}), how="cross")
    wrong = pl.Series(rng.random(frame.height) < 0.2)
    frame = frame.select("config", "case", "trial", "judge_draw", judge=pl.col("passed") ^ wrong)
    start = time.perf_counter()
    tr.judge_noise(frame, baseline="a", candidate="b")
    timed("judge_noise, 1,000,000 draws", start)


def test_a_million_grades() -> None:
    rng = np.random.default_rng(0)
    words = np.array(["ground_truth", "objective", "judge"])
    frame = pl.DataFrame(
        {
            "case": rng.integers(0, ROWS // 20, ROWS),
            "trial": rng.integers(0, 5, ROWS),
            "authority": words[rng.integers(0, 3, ROWS)],
            "grader": rng.integers(0, 3, ROWS),
            "passed": rng.random(ROWS) < 0.6,
        }
    )
    start = time.perf_counter()
    tr.verdicts(frame)
    timed("verdicts, 1,000,000 grades", start)
