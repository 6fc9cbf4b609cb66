"""An export that is killed leaves the old table or the new one, and can be run again.

Children are killed with SIGKILL: before and after every step that counts (renames, syncs, links,
statements, commits), and at moments drawn from a seed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.export import atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")

EVERY = range(60)
SOME = (0, 1, 2, 3, 4, 6, 9, 14, 22, 35, 56, 90, 145)
"""Where to kill: the last ones are more steps than any export has."""

# Imports everything once; every line of input is an export in a process of its own. It answers
# with the signal that ended the export, 0 for none.
PARENT = """
import importlib, os, signal, sys, time
import polars as pl
import trialframe as tr

kind, target, rows = sys.argv[1:]
module = {"parquet": "file", "csv": "file", "json": "file", "postgresql": "postgres"}
writer = importlib.import_module("trialframe.export.to_" + module.get(kind, kind))
left = [10**9]

def step():
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def around(owner, name):
    plain = getattr(owner, name)
    def wrapped(*args, **kwargs):
        step()
        made = plain(*args, **kwargs)
        step()
        return made
    setattr(owner, name, wrapped)

for name in ("replace", "fsync", "link"):
    around(os, name)
if kind in ("duckdb", "sqlite", "postgresql"):
    classes = {"duckdb": "DuckDB", "sqlite": "SQLite", "postgresql": "Postgres"}
    for name in ("run", "stage"):
        around(getattr(writer, classes[kind]), name)
    around(writer, "put")
elif kind == "hive":
    around(writer, "put_in_place")
elif kind == "delta":
    import deltalake
    around(deltalake, "write_deltalake")
elif kind == "iceberg":
    from pyiceberg.catalog.sql import SqlCatalog
    for name in ("commit_table", "create_namespace_if_not_exists"):
        around(SqlCatalog, name)
if kind == "postgresql":
    import adbc_driver_postgresql
if kind == "duckdb":
    import duckdb

def export(run, mode):
    tr.export(pl.read_parquet(rows), target, run_id=run, mode=mode)
    os._exit(0)

print("ready", flush=True)
for line in sys.stdin:
    steps, seconds, run, mode = line.split()
    child = os.fork()
    if child == 0:
        left[0] = int(steps)
        try:
            export(run, mode)
        finally:
            os._exit(1)
    until = time.monotonic() + float(seconds)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


def estimates(value: float, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "config": [f"config {i % 3}" for i in range(rows)],
            "metric": "pass@1",
            "value": value,
            **dict.fromkeys(("se", "low", "high"), 0.5),
            "estimand": "cases",
            "method": "score",
            "group": range(rows),
        }
    )


class Exports:
    """Exports to a place in processes that die."""

    def __init__(self, place: Any, new: pl.DataFrame, environment: dict[str, str]) -> None:
        self.place, self.new = place, new
        work = place.folder.with_name(f"{place.folder.name}_work")
        work.mkdir()
        new.write_parquet(work / "rows.parquet")
        self.saved = work / "saved"
        command = [sys.executable, "-W", "ignore", "-c", PARENT, place.kind, place.target]
        self.parent = subprocess.Popen(
            [*command, str(work / "rows.parquet")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._answer() == "ready"

    def _answer(self) -> str:
        assert self.parent.stdout is not None
        return self.parent.stdout.readline().strip()

    def killed(self, mode: str, *, steps: int = 10**9, seconds: float = 60.0) -> bool:
        """Export the new rows in a process; whether it was killed before its end."""
        assert self.parent.stdin is not None
        self.parent.stdin.write(f"{steps} {seconds} run {mode}\n")
        self.parent.stdin.flush()
        code = self._answer()
        assert code in {"0", str(-signal.SIGKILL)}
        return code != "0"

    def state(self) -> list[tuple[Any, ...]]:
        if not self.place.exists("estimates"):
            return []
        return sorted(self.place.read("estimates").select("run_id", "groups", "value").rows())

    def before(self, old: pl.DataFrame) -> None:
        """A table with the rows of two runs, whatever was there."""
        if self.place.kind != "postgresql" and self.saved.exists():
            shutil.rmtree(self.place.folder)
            shutil.copytree(self.saved, self.place.folder, symlinks=True)
            return
        tr.export(old, self.place.target, run_id="kept", mode="replace")
        tr.export(old, self.place.target, run_id="run")
        if self.place.kind != "postgresql":
            shutil.copytree(self.place.folder, self.saved, symlinks=True)

    def litter(self) -> list[str]:
        """What killed exports left behind."""
        every = sorted(path.name for path in self.place.folder.rglob(".*"))
        return [name for name in every if name.endswith((".tmp", ".wal", ".old", ".lock"))]

    def close(self) -> None:
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.close()
        self.parent.wait(60)
        self.parent.stdout.close()


def rows(frame: pl.DataFrame, run: str) -> list[tuple[Any, ...]]:
    return [
        (run, f'{{"group":{group}}}', value)
        for group, value in frame.select("group", "value").rows()
    ]


OLD, NEW = estimates(0.25, 6), estimates(0.75, 4)
BEFORE = sorted(rows(OLD, "kept") + rows(OLD, "run"))
AFTER = {
    "append": sorted(rows(OLD, "kept") + rows(NEW, "run")),
    "replace": sorted(rows(NEW, "run")),
    "upsert": sorted(rows(NEW, "run") + rows(OLD, "kept")[4:] + rows(OLD, "run")[4:]),
}


@pytest.fixture
def exports(place: Any, child_environment: dict[str, str]) -> Iterator[Exports]:
    made = Exports(place, NEW, child_environment)
    yield made
    made.close()


@pytest.mark.parametrize("mode", AFTER)
def test_killed_at_every_step(exports: Exports, mode: str) -> None:
    found = []
    for steps in EVERY if mode == "append" else SOME:
        exports.before(OLD)
        killed = exports.killed(mode, steps=steps)
        found.append(exports.state())
        assert found[-1] in (BEFORE, AFTER[mode]), f"killed at step {steps}"
        tr.export(NEW, exports.place.target, run_id="run", mode=mode)
        assert exports.state() == AFTER[mode], f"again after step {steps}"
        assert exports.litter() == []
        if not killed:
            break
    else:
        pytest.fail("more steps than there can be")
    assert BEFORE in found[:-1]
    assert found[-1] == AFTER[mode]


def test_killed_while_the_first_export_makes_the_table(
    place: Any, child_environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    exports = Exports(place, NEW, child_environment)
    request.addfinalizer(exports.close)
    new = sorted(rows(NEW, "run"))
    shutil.copytree(place.folder, exports.saved)
    for steps in SOME:
        if place.kind == "postgresql":
            place.query(f"DROP TABLE IF EXISTS {place.schema}.estimates")
        else:
            exports.before(OLD)
        killed = exports.killed("append", steps=steps)
        assert exports.state() in ([], new), f"killed at step {steps}"
        tr.export(NEW, place.target, run_id="run")
        assert exports.state() == new, f"again after step {steps}"
        assert exports.litter() == []
        if not killed:
            assert steps > 1
            return
    pytest.fail("more steps than there can be")


@pytest.mark.slow
def test_killed_at_any_moment(
    place: Any, child_environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    old, new = estimates(0.25, 3_000), estimates(0.75, 3_000)
    exports = Exports(place, new, child_environment)
    request.addfinalizer(exports.close)
    before = sorted(rows(old, "kept") + rows(old, "run"))
    after = sorted(rows(old, "kept") + rows(new, "run"))
    draw, longest, deaths = random.Random(5), 0.2, 0  # noqa: S311
    for _ in range(60):
        exports.before(old)
        dead = exports.killed("append", seconds=draw.uniform(0.0, longest))
        deaths += dead
        longest *= 1.3 if dead else 0.8  # about as long as an export takes here
        assert exports.state() in (before, after)
        tr.export(new, place.target, run_id="run")
        assert exports.state() == after
        assert exports.litter() == []
        if deaths == 10:
            return
    pytest.fail("exports are too fast to be killed")


def test_a_file_system_that_cannot_exchange_names(
    new_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place("hive")
    monkeypatch.setattr(atomic, "_exchanged", lambda *_: False)
    tr.export(OLD, place.target, run_id="run")
    tr.export(NEW, place.target, run_id="run")
    found = sorted(place.read("estimates").select("run_id", "groups", "value").rows())
    assert found == sorted(rows(NEW, "run"))
    folder = place.path("estimates")
    os.replace(folder, atomic.beside(folder, "old"))  # noqa: PTH105 - killed between two renames
    tr.export(OLD, place.target, run_id="other")
    assert place.read("estimates").height == OLD.height + NEW.height
    assert [path.name for path in place.path("").iterdir()] == ["estimates"]
