"""Import an optional dependency, or say which extra installs it."""

from __future__ import annotations

import importlib
from typing import Any


def installed_version(missing: str) -> str:
    """The version of the installed package, or `missing` when it is used from its sources."""
    from importlib import metadata

    try:
        return metadata.version("trialframe")
    except metadata.PackageNotFoundError:
        return missing


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Return the imported module, or raise ImportError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.split(".", maxsplit=1)[0]
        raise ImportError(
            f"{purpose} need {top}: pip install 'trialframe[{extra}]'",
        ) from error
