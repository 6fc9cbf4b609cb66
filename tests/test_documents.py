"""What README and notebooks show is what the package does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
SHOWN = [
    (command, shown)
    for block in CONSOLE
    for command, shown in re.findall(
        r"^\$ (trialframe .*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE
    )
]


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_the_command_prints(
    command: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name in ("data", "tests"):  # what commands write goes beside them, not into the repository
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    main(shlex.split(command)[1:])
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    expected = [line.rstrip() for line in shown.splitlines() if line != "..."]
    assert printed[: len(expected)] == expected


def test_the_readme_opens_with_two_commands() -> None:
    assert CONSOLE[0].splitlines() == [
        "$ python -m pip install . && trialframe summary data/leaderboard.parquet",
        "$ python -m pip install '.[all,test]' && python -m pytest -n auto",
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, require: Callable[[str], Any]) -> None:
    nbformat, nbclient = require("nbformat"), require("nbclient")
    require("ipykernel")
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=120, resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code)
