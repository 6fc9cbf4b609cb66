"""Exports to one target at the same time lose no rows."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

WRITERS, RUNS = 3, 2

CHILD = """
import sys
import polars as pl
import trialframe as tr

frame = pl.read_parquet(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    tr.export(frame, sys.argv[1], run_id=f"{sys.argv[3]}-{number}")
tr.export(frame, sys.argv[1], run_id="shared")
"""


def test_many_writers_at_once(
    tmp_path: Path, place: Any, child_environment: dict[str, str]
) -> None:
    frame = pl.DataFrame(
        {
            "config": ["a", "b", "c"],
            "metric": "pass@1",
            **dict.fromkeys(("value", "se", "low", "high"), 0.5),
            "estimand": "cases",
            "method": "score",
        }
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    common = [sys.executable, str(tmp_path / "child.py"), place.target]
    children = [
        subprocess.Popen(
            [*common, str(tmp_path / "rows.parquet"), f"w{number}", str(RUNS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=child_environment,
        )
        for number in range(WRITERS)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    told = [child.communicate(timeout=240)[1] for child in children]
    assert [child.returncode for child in children] == [0] * WRITERS, told
    found = place.read("estimates").group_by("run_id").agg(pl.col("config").sort())
    runs = {"shared", *(f"w{w}-{n}" for w in range(WRITERS) for n in range(RUNS))}
    assert set(found["run_id"]) == runs
    assert {tuple(names) for names in found["config"]} == {("a", "b", "c")}
