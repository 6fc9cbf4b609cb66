"""The columns that a caller can name: those of trials, and n and c of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import polars as pl

from trialframe.schema import Column

One = str | pl.Expr | None
Several = str | Sequence[str] | pl.Expr | None

COUNT_COLUMNS: tuple[Column, ...] = (
    Column(
        name="n",
        dtype=pl.Int64,
        meaning="scored trials",
        aliases=dict.fromkeys(("n_trials", "num_trials", "n_samples", "num_samples"), 1.0),
    ),
    Column(
        name="c",
        dtype=pl.Int64,
        meaning="passes",
        aliases=dict.fromkeys(("n_passed", "num_passed", "n_correct", "num_correct"), 1.0),
    ),
    Column(name="unscored", dtype=pl.Int64, meaning="trials without a verdict"),
)


class Columns(TypedDict, total=False):
    """Where each canonical column is: a name, several (config, case), an expression, None."""

    config: Several
    case: Several
    trial: One
    trial_made: One
    attempt: One
    cluster: One
    passed: One
    score: One
    outcome: One
    secure: One
    label: One
    judge: One
    tests_passed: One
    tests_total: One
    tokens_in: One
    tokens_out: One
    cost_uusd: One
    duration_ms: One
    started_at: One
    seed: One
    context: One
    image: One
    split: One
    weight: One
    n: One
    c: One
