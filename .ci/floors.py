"""Print the core dependencies of a pyproject.toml at their lowest versions, one a line."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def floors(pyproject: str) -> list[str]:
    """Turn each "name>=version" into "name==version"; refuse anything else."""
    dependencies = tomllib.loads(pyproject)["project"]["dependencies"]
    found = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", entry) for entry in dependencies]
    if None in found:
        sys.exit(f"each core dependency must read name>=version: {dependencies}")
    return [f"{match[1]}=={match[2]}" for match in found if match]


if __name__ == "__main__":
    sys.stdout.write("\n".join(floors(Path(sys.argv[1]).read_text(encoding="utf-8"))) + "\n")
