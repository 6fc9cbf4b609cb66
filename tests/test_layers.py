"""Data flows one way: a module never imports a later stage."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "trialframe"
STAGES = (
    {"errors"},
    {"schema", "_checks", "_optional"},
    {"display"},
    {"warehouse"},
    {"kernels", "_counted", "_invariants", "_scenario", "charts"},
    {"results"},
    {"read", "simulate"},
    {"engine", "expr"},
    {"_rollup"},
    {"counts"},
    {"estimate"},
    {"comparison"},
    {"planning"},
    {"judge", "irt", "reliability"},
    {"audit"},
    {"doctor", "decide"},
    {"report", "export"},
    {"cli"},
    {"__init__", "__main__"},
)
STAGE = {part: stage for stage, parts in enumerate(STAGES) for part in parts}
MODULES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Full names of what a module imports, also inside functions and for type checking."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: write the import in full"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_earlier_stages_only(path: Path) -> None:
    own = part_of(path)
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("trialframe.")}
    assert ours | {own} <= set(STAGE), (
        f"{(ours | {own}) - set(STAGE)} have no stage: give it one in STAGES"
    )
    later = {part for part in ours - {own} if STAGE[part] >= STAGE[own]}
    assert not later, f"{own} imports {later}, which come with it or after it"
    if own == "kernels":
        assert ours <= {"kernels", "errors"}, "kernels take arrays and know no table"
    narwhals = {name for name in imported(path) if name.startswith("narwhals")}
    assert own == "engine" or not narwhals, "only engine.py talks to other engines"
