"""The page of coverages of corrected rates: its form, its closed forms, its promises."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "judge_calibration.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("judge_study", DOCS / "judge_calibration.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["judge_study"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def form(page: str) -> list[str]:
    """Titles and heads of tables, and the first cell of each row."""
    lines = page.splitlines()
    return [
        line if line[0] == "#" else line.split("|")[1]
        for line in lines
        if line[:1] in "#|" and line
    ]


def test_a_quick_run_has_the_form_of_the_page(study: Any, tmp_path: Path) -> None:
    study.main(["--quick", str(tmp_path / "page.md")])
    made = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert form(made) == form(PAGE)
    words = re.compile(r"[\d,.]+")
    told = [words.sub("", line) for line in PAGE.splitlines() if line[:1] != "|"]
    assert told == [words.sub("", line) for line in made.splitlines() if line[:1] != "|"]


def test_the_closed_forms_are_what_the_package_reports(study: Any) -> None:
    runs = study.drawn(0.85, 60, 200, 12, np.random.default_rng(0))
    low, high = study.guarded(runs)
    rates = study.adjusted(runs)
    for i in range(12):
        counts = [int(getattr(runs, name)[i]) for name in ("tp", "fp", "fn", "tn")]
        passed = int(runs.passed[i])
        rows = pl.DataFrame(
            {
                "judge": np.repeat([1, 1, 0, 0, 1, 0], [*counts, passed, 200 - passed]),
                "label": [1] * counts[0]
                + [0] * counts[1]
                + [1] * counts[2]
                + [0] * counts[3]
                + [None] * 200,
            }
        )
        made = tr.ppi(rows)
        assert (made.low, made.high) == pytest.approx((max(low[i], 0), min(high[i], 1)), abs=1e-9)
        found = tr.calibrate(rows.drop_nulls())
        fixed = tr.rogan_gladen((passed / 200, 200), found)
        if fixed.low is not None:
            assert (fixed.low, fixed.high) == pytest.approx((rates[0][i], rates[1][i]), abs=1e-12)


@pytest.mark.slow
def test_corrected_intervals_cover(study: Any) -> None:
    rng = np.random.default_rng(7)
    for theta in study.RATES:
        for labels in (50, 100, 200, 500):
            runs = study.drawn(theta, labels, study.JUDGED, 20_000, rng)
            assert study.covered(study.adjusted(runs), theta)[0] > 0.925
            assert study.covered(study.guarded(runs), theta)[0] > 0.915
    fragile = study.drawn(0.95, 20, study.JUDGED, 20_000, rng)
    assert study.covered(study.powered(fragile, "z"), 0.95)[0] < 0.7
    assert study.covered(study.guarded(fragile), 0.95)[0] > 0.9


@pytest.mark.slow
def test_few_clusters_keep_their_coverage(study: Any) -> None:
    of_cases, of_clusters, alone = (
        float(text.strip("*")) for text in study.clustered(6, 25, 0.1, 1_000)
    )
    assert of_cases > 0.92
    assert of_clusters < of_cases
    assert alone > 0.92


@pytest.mark.slow
def test_differences_with_a_shared_calibration_cover() -> None:
    rng, held, runs = np.random.default_rng(8), 0, 400
    for _ in range(runs):
        labels = np.repeat([1, 0], [60, 60])
        said = rng.random(120) < np.where(labels == 1, 0.9, 0.2)
        found = tr.calibrate({"judge": said, "label": labels}, resamples=100)
        hard = rng.random(300)
        passed = [hard < rate for rate in (0.5, 0.65)]
        verdicts = [rng.random(300) < np.where(truth, 0.9, 0.2) for truth in passed]
        counts = tr.Counts(
            pl.DataFrame(
                {
                    "config": ["a"] * 300 + ["b"] * 300,
                    "case": [*range(300)] * 2,
                    "n": 1,
                    "c": np.concatenate(verdicts).astype(int),
                }
            )
        )
        made = tr.rogan_gladen_difference(counts, "a", "b", found)
        held += made.low <= 0.15 <= made.high
    assert held / runs > 0.92


@pytest.mark.slow
def test_mixed_differences_by_labels_cover() -> None:
    rng, held, runs = np.random.default_rng(9), 0, 600
    for _ in range(runs):
        hard = rng.random(400)
        frames = []
        for run, rate in (("a", 0.5), ("b", 0.6)):
            truth = hard < rate
            judge = rng.random(400) < np.where(truth, 0.9, 0.25)
            # 40 cases are labelled in both runs, 40 more in each run alone
            mine = np.arange(400) < 40
            mine |= (np.arange(400) >= (40 if run == "a" else 80)) & (
                np.arange(400) < (80 if run == "a" else 120)
            )
            label = pl.Series(truth).set(pl.Series(~mine), None)
            frames.append(
                pl.DataFrame({"run": run, "case": np.arange(400), "judge": judge, "label": label})
            )
        made = tr.ppi_difference(pl.concat(frames), "a", "b", config="run")
        assert made.design == "mixed"
        held += made.low <= 0.1 <= made.high
    assert held / runs > 0.915
