"""The public surface is what tests/reference/public_api.txt says it is.

Renew the file after a deliberate change: python tests/test_public_api.py
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import trialframe as tr

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "reference" / "public_api.txt"
SLOW = ("scipy", "statsmodels", "pandas", "pymc", "duckdb", "pyspark", "altair", "typer", "rich")


def signature(name: str, thing: object) -> str:
    """Name and parameters: `*` opens the keyword-only ones, `=` marks an optional one."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return f"{name}: exception"
    if not callable(thing):
        return f"{name}: {type(thing).__name__}"
    words, keyword_only = [], False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            words.append("*")
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        optional = "" if parameter.default is parameter.empty else "="
        words.append(f"{star.get(parameter.kind, '')}{parameter.name}{optional}")
        keyword_only |= parameter.kind is parameter.VAR_POSITIONAL
    return f"{name}({', '.join(words)})"


def surface() -> str:
    return "".join(f"{signature(name, getattr(tr, name))}\n" for name in sorted(tr.__all__))


def documented() -> list[str]:
    """Public functions and classes, errors aside: those are shown where they are raised."""
    things = {name: getattr(tr, name) for name in tr.__all__}
    return sorted(
        name
        for name, thing in things.items()
        if inspect.isroutine(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception))
    )


def test_the_surface_is_the_stored_one() -> None:
    assert surface() == STORED.read_text(encoding="utf-8"), (
        "the public surface changed. If that is meant, note it in CHANGELOG.md and run"
        " python tests/test_public_api.py"
    )


def test_names_are_listed_once() -> None:
    assert len(tr.__all__) == len(set(tr.__all__))


@pytest.mark.parametrize("name", documented())
def test_a_public_name_is_explained_with_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(tr, name)) or ""
    assert text.strip(), f"{name} has no docstring"
    if inspect.isroutine(getattr(tr, name)):
        assert ">>>" in text, f"the docstring of {name} has no example"


def test_importing_loads_nothing_slow() -> None:
    code = f"import sys, trialframe; print(*sorted({set(SLOW)} & set(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert loaded.stdout.split() == []


if __name__ == "__main__":
    STORED.write_text(surface(), encoding="utf-8")
