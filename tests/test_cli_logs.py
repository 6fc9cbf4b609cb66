"""The command line on logs: what `--keep` does about copies, and runs that are none."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "read" / "fixtures"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return code, " ".join((told.out + told.err).split())

    return call


def test_keep_decides_about_copies_of_logs(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copytree(FIXTURES / "terminal-bench" / "toy-run", tmp_path / name)
    code, told = run("summary", tmp_path, "-k", "1")
    assert code == 2
    assert "is a copy of" in told
    code, told = run("summary", tmp_path, "-k", "1", "--keep", "first")
    assert code == 0
    assert "13 scored trials in all" in told


def test_the_worst_run_needs_runs(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[rule]]\nname = "floor"\nrule = "value >= 0.1"\nbound = "worst run"\n', encoding="utf-8"
    )
    path = tmp_path / "leaderboards.json"
    path.write_text(
        '{"leaderboards": [{"name": "b", "results": ['
        + ", ".join(
            f'{{"folder": "{name}", "per_instance_details": {{"a__a-1": {{"resolved": true}}}}}}'
            for name in "xy"
        )
        + "]}]}",
        encoding="utf-8",
    )
    code, told = run("gate", path, "x", "y", "--policy", policy)
    assert code == 2
    assert "2 trials were given no number, so that no run of them is the worst" in told
