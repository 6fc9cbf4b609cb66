"""The pages that are made from the package say what it says today."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trialframe as tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NO_STATISTIC = {
    *("counts", "counts_sql", "doctor", "formats", "mapping", "read", "simulate", "check_trials"),
    *("pass_rate", "flaky", "majority", "saturated", "power_table"),
    *("ddl", "export", "plot", "report", "table"),
}
"""Public functions that read, write, draw or count, or whose formula is their one line."""


@pytest.fixture(scope="module")
def methods() -> Iterator[Any]:
    """The script of the methods page."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("methods")
    sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def pages(methods: Any) -> Any:
    """The script of the other pages, which imports that of the methods page."""
    assert methods
    return importlib.import_module("pages")


@pytest.mark.parametrize("name", ["methods.md", "formats.md", "llms.txt"])
def test_a_page_is_that_of_this_package(name: str, methods: Any, pages: Any) -> None:
    made = methods.page() if name == "methods.md" else pages.generated()[name]
    stored = (DOCS / name).read_text(encoding="utf-8")
    assert made == stored, "python docs/methods.py and python docs/pages.py make it again"


def test_the_methods_page_has_every_statistic_once(methods: Any) -> None:
    on_page = [name for group in methods.GROUPS.values() for name in group]
    assert len(on_page) == len(set(on_page))
    functions = {name for name in tr.__all__ if inspect.isfunction(getattr(tr, name))}
    assert set(on_page) == functions - NO_STATISTIC


def test_the_tests_that_pin_a_statistic_are_about_it(methods: Any) -> None:
    for group in methods.GROUPS.values():
        for name, tests in group.items():
            assert tests
            texts = [(ROOT / "tests" / test).read_text(encoding="utf-8") for test in tests]
            assert any(name in text for text in texts), f"{name}: {tests}"


def test_a_statistic_has_a_formula_or_says_its_source(methods: Any) -> None:
    for group in methods.GROUPS.values():
        for name in group:
            found = methods.sections(inspect.getdoc(getattr(tr, name)) or "")
            assert {"Notes", "References"} & set(found), name


def test_signs_of_formulas_stay_text(methods: Any) -> None:
    assert methods.as_markdown("a * b_i <x> `c_j`") == r"a \* b\_i \<x\> `c_j`"


def test_the_site_builds_without_a_warning(tmp_path: Path, require: Callable[[str], Any]) -> None:
    for module in ("sphinx", "myst_parser", "furo"):
        require(module)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(DOCS), str(tmp_path / "site")]
    command += ["-d", str(tmp_path / "doctrees")]
    quiet = os.environ | {"PYTHONWARNINGS": ""}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "site" / "methods.html").read_text(encoding="utf-8")
    assert "tr.compare" in text
    assert (tmp_path / "site" / "llms.txt").is_file()
