"""Inspect logs beside Inspect's own reader: a run of 1,000 samples, and thousands of runs.

TRIALFRAME_INSPECT_PYTHON names a Python that has inspect_ai, pandas and pyarrow; without it the
comparison skips. TRIALFRAME_BENCH_LOGS is the number of small runs (default 3,000).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import trialframe as tr

pytestmark = pytest.mark.bench

MAKE = Path(__file__).parents[1] / "read" / "fixtures" / "make" / "inspect_large.py"
LOGS = int(os.environ.get("TRIALFRAME_BENCH_LOGS", "3000"))

# The first call and the fastest of the later ones, in seconds of the processor: what other
# processes do at the time changes it least.
TIMED = """
import sys, time
{imports}
took = []
for _ in range(8):
    start = time.process_time()
    rows = len({call})
    took.append(time.process_time() - start)
print(took[0], min(took[1:]), rows)
"""
THEIRS = TIMED.format(
    imports="from inspect_ai.analysis import *\n"
    "columns = [*EvalInfo, *EvalTask, *EvalModel, *SampleSummary]",
    call="samples_df(sys.argv[1], columns=columns, quiet=True)",
)
OURS = TIMED.format(
    imports="import trialframe as tr", call='tr.read(sys.argv[1], metric="verdict").collect()'
)


def report(what: str, figure: float, limit: float, unit: str = "x") -> None:
    print(f"\n{what:<58} {figure:8.2f} {unit:<4} (limit {limit:g})", flush=True)


def timed(python: str, script: str, path: Path) -> tuple[float, float, int]:
    command = [python, "-c", script, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, later, rows = done.stdout.split()
    return float(first), float(later), int(rows)


def test_a_thousand_samples_beside_samples_df(tmp_path: Path) -> None:
    peer = os.environ.get("TRIALFRAME_INSPECT_PYTHON")
    if not peer:
        pytest.skip("TRIALFRAME_INSPECT_PYTHON names no Python with inspect_ai")
    path = tmp_path / "large.eval"
    subprocess.run([peer, str(MAKE), str(path), "1000", "1"], check=True, capture_output=True)
    theirs, ours = timed(peer, THEIRS, path), timed(sys.executable, OURS, path)
    assert theirs[2] == ours[2] == 1000
    report("read 1,000 samples, s", ours[1], 0.015, "s")
    report("samples_df / read, first call of a process", theirs[0] / ours[0], 10)
    report("samples_df / read, later calls", theirs[1] / ours[1], 20)


def write_run(path: Path, number: int, samples: int = 20) -> None:
    spec = {"task": f"task-{number}", "model": "m", "created": "2026-01-01", "run_id": str(number)}
    used = {"m": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}}
    rows = [
        {
            "id": f"case-{case}",
            "epoch": 1,
            "input": "what is asked " * 30,
            "metadata": {"topic": f"topic-{case % 5}"},
            "scores": {"verdict": {"value": "CI"[(case + number) % 2]}},
            "model_usage": used,
            "total_time": 1.5,
        }
        for case in range(samples)
    ]
    start = {"version": 2, "eval": spec, "plan": {}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(start))
        for row in rows:
            archive.writestr(f"samples/{row['id']}_epoch_1.json", json.dumps(row))
        archive.writestr("summaries.json", json.dumps(rows))
        archive.writestr("header.json", json.dumps(start | {"status": "success"}))


def test_thousands_of_runs(tmp_path: Path) -> None:
    import resource

    for number in range(LOGS):
        write_run(tmp_path / f"{number:05d}.eval", number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    frame = tr.read(tmp_path).collect()
    took = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert frame.height == LOGS * 20
    assert frame["passed"].sum() == LOGS * 10
    report(f"{LOGS:,} runs of 20 samples, a run", took / LOGS * 1e3, 2, "ms")
    report(f"{LOGS:,} runs of 20 samples, more memory", grown, 300, "MB")
