"""One result of every kind, small, made once: for tests of what all results can do."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

import polars as pl

import trialframe as tr


@cache
def results() -> dict[str, Any]:
    """Results by the name of their class."""
    made = [*_comparisons(), *_plans(), *_judges(), *_reliability()]
    return {type(each).__name__: each for each in made}


def _comparisons() -> list[Any]:
    trials = tr.simulate(configs=["base", "new"], cases=40, trials=4, lift=0.2, seed=1)
    half = (pl.col("case").rank("dense") % 2).cast(pl.String)
    counts = tr.counts(trials.with_columns(half=half), by="half")
    found = tr.compare(counts, "base", "new", by="half", margin=0.05, trials=trials)
    gate = tr.gate(found)
    fit = tr.fit_irt(tr.counts(tr.simulate(configs=8, cases=30, trials=4, seed=2)))
    rule = {"name": "no loss", "rule": "difference >= -0.5"}
    return [
        counts,
        found,
        found.settings,
        found.bootstrap,
        found.ratio,
        found.majority,
        found.non_inferiority,
        found.equivalence,
        found.evidence,
        gate,
        tr.gate_policy(counts, "base", "new", policy={"rule": [rule]}),
        tr.compare_rates((900, 1000), (894, 1000)),
        fit,
        fit.convergence,
    ]


def _plans() -> list[Any]:
    start = datetime(2026, 1, 1)  # noqa: DTZ001
    names = ["base", "new"]
    trials = tr.simulate(configs=names, cases=60, trials=3, lift=0.3, started_at=start, seed=4)
    return [
        tr.power(effect=0.05, cases=200, trials=5, rate=0.6, icc=0.5),
        tr.sequential(trials, "base", "new", first=3),
        tr.confidence_sequence([1, 0, 1, 1] * 10),
    ]


def _judges() -> list[Any]:
    names = ["base", "new"]
    judged = tr.simulate(
        configs=names, cases=200, trials=1, judge=(0.95, 0.85), labelled=0.5, seed=5
    )
    calibration = tr.calibrate(judged)
    counts = tr.counts(judged, passed="judge")
    draws = {"case": ["x", "x", "y", "y", "z", "z"] * 2, "judge_draw": [1, 2] * 6}
    draws |= {"config": ["a"] * 6 + ["b"] * 6, "judge": [True, True, True, False, False, False] * 2}
    noise = tr.judge_noise(draws, baseline="a", candidate="b")
    orders = {"ab": [1] * 40 + [0] * 20, "ba": [1] * 28 + [0] * 29 + [1] * 3}
    grades = {"case": ["x", "x", "y"], "authority": ["judge", "objective", "judge"]}
    return [
        calibration,
        calibration.settings,
        tr.rogan_gladen(counts.select("new"), calibration),
        tr.rogan_gladen_difference(counts, "base", "new", calibration),
        tr.ppi(judged.filter(pl.col("config") == "new")),
        tr.ppi_difference(judged, "base", "new", config="config"),
        tr.judge_drift(judged, "base", "new", config="config"),
        tr.labels_needed(0.1, rate=0.7, sensitivity=0.95, specificity=0.9, judged=2000),
        tr.position_bias(orders, first="ab", second="ba"),
        noise,
        noise.difference,
        tr.verdicts(grades | {"passed": [True, False, True]}),
    ]


def _reliability() -> list[Any]:
    trials = tr.simulate(configs=3, cases=30, trials=4, perturbation=[0, 0.2], seed=3)
    clean = trials.filter(pl.col("perturbation") == 0)
    length = pl.when(pl.col("case").rank("dense") % 2 == 0).then(pl.lit("long"))
    lengths = clean.with_columns(length=length.otherwise(pl.lit("short")))
    components = tr.variance_components(tr.counts(clean))
    return [
        components,
        components.split_half,
        tr.decay_curve(lengths, bucket="length", order=["short", "long"], k=2),
        tr.surface(trials, fault=None, k=[1, 2]),
    ]
