"""The log formats that can be read: add the module of a new one to this list.

A format is imported when it is asked for: `import trialframe` needs none of them, and a file that
the first one knows needs one.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from trialframe.read._log import LogFormat
    from trialframe.read._presets import TableFormat

Format_co = TypeVar("Format_co", covariant=True)


class Formats(Sequence[Format_co]):
    """The `FORMAT` of modules of this package, each imported when its turn comes."""

    def __init__(self, *modules: str) -> None:
        """Take the names of the modules, in order."""
        self.modules = modules

    def __len__(self) -> int:
        """How many there are."""
        return len(self.modules)

    def __iter__(self) -> Iterator[Format_co]:
        """One after the other."""
        return (_format(module) for module in self.modules)

    @overload
    def __getitem__(self, place: int) -> Format_co: ...
    @overload
    def __getitem__(self, place: slice) -> Formats[Format_co]: ...
    def __getitem__(self, place: int | slice) -> Format_co | Formats[Format_co]:
        """One of them, or some."""
        if isinstance(place, slice):
            return Formats(*self.modules[place])
        found: Format_co = _format(self.modules[place])
        return found


def _format(module: str) -> Any:
    return importlib.import_module(f"trialframe.read.{module}").FORMAT


LOGS: Formats[LogFormat] = Formats(
    "inspect_log",
    "junit",
    "deepeval",
    "promptfoo",
    "pytest_report",
    "tau_bench",
    "swe_bench",
    "terminal_bench",
    "harbor",
    "tau2_bench",
    "tau2_judge",
    "bfcl",
    "livecodebench",
    "alpaca_eval",
    "judgebench",
    "metr",
    "reflexion",
    "aider",
    "every_eval_ever",
    "helm",
    "openai_evals",
    "evalplus",
    "human_eval",
    "lm_eval",
)
"""Logs in files, in the order in which they are asked whether a file is theirs."""

TABLES: Formats[TableFormat] = Formats(
    "inspect_frame", "langsmith", "braintrust", "langfuse", "mlflow"
)
"""Tables that platforms export."""

EVERY: Formats[LogFormat | TableFormat] = Formats(*LOGS.modules, *TABLES.modules)
