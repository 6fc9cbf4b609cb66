"""What every test may ask for: real data beside the repository, golden values, extras."""

from __future__ import annotations

import importlib
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

# widths in tests are those without a terminal, also where tests run in several processes
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).resolve().parents[1]
# Set where every extra is installed: there a missing one is a failure, not a reason to skip.
EXTRAS_REQUIRED = os.environ.get("TRIALFRAME_REQUIRE_EXTRAS") == "1"

# Continuous integration repeats the same examples; new ones are found where people work.
settings.register_profile("trialframe", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("trialframe")


def _shared(folder: str) -> Path:
    base = Path(os.environ.get("TRIALFRAME_SHARED", ROOT.parent / "shared"))
    if not (base / folder).is_dir():
        pytest.skip(f"no {base / folder}: set TRIALFRAME_SHARED to the folder that holds {folder}/")
    return base / folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real evaluation tables."""
    return _shared("data")


@pytest.fixture(scope="session")
def shared_formats() -> Path:
    """Folder of sample logs, one folder a format."""
    return _shared("formats")


@pytest.fixture(scope="session")
def golden() -> Callable[[str], list[dict[str, Any]]]:
    """The golden entries of a method: inputs, expected, tolerance, how they were computed."""
    by_method: dict[str, list[dict[str, Any]]] = defaultdict(list)
    path = ROOT / "tests" / "reference" / "golden.json"
    for entry in json.loads(path.read_text(encoding="utf-8")):
        by_method[entry["method"]].append(entry)

    def entries(method: str) -> list[dict[str, Any]]:
        if method not in by_method:
            pytest.fail(f"no golden values for {method!r} in {path}")
        return by_method[method]

    return entries


@pytest.fixture(scope="session")
def require() -> Callable[[str], Any]:
    """Import an optional dependency, or skip the test (fail it where extras are required)."""

    def load(module: str) -> Any:
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if EXTRAS_REQUIRED:
                raise
            return pytest.skip(f"could not import {error.name}: it comes with an extra")

    return load
