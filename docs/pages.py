"""Pages made from the package itself: the list of public names, the log formats.

python docs/pages.py writes them beside this file.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import methods
import trialframe as tr

if TYPE_CHECKING:
    import polars as pl

HERE = Path(__file__).resolve().parent

API = """# API

Everything public, with examples. `import trialframe as tr`.
"""

FORMATS = """# Log formats

What `tr.read` and every command that takes trials recognise, and where each column comes from.
`passed` is true, false or null for not scored; `outcome` says how a trial ended; a trial number
that a log does not hold is made from the order of rows and marked by `trial_made`. On the command
line `--from` names a format, and `--scorer` one of several scores.
"""


def generated() -> dict[str, str]:
    """The text of every page by its name."""
    return {"api.md": api(), "formats.md": formats(), "llms.txt": llms()}


def api() -> str:
    """All public names, functions before classes."""
    functions = [n for n in tr.__all__ if inspect.isfunction(getattr(tr, n))]
    classes = [n for n in tr.__all__ if inspect.isclass(getattr(tr, n))]
    parts = [API.strip()]
    for title, names, directive in (
        ("Functions", functions, "autofunction"),
        ("Results and other classes", classes, "autoclass"),
    ):
        parts.append(f"## {title}")
        for name in names:
            members = "\n:members:" if directive == "autoclass" else ""
            parts.append(f"### {name}")
            parts.append(
                f"```{{eval-rst}}\n.. {directive}:: trialframe.{name}"
                + members.replace("\n", "\n   ")
                + "\n```"
            )
    return "\n\n".join(parts) + "\n"


def formats() -> str:
    """A table of formats, and a table of columns for each."""
    every = tr.formats()
    parts = [FORMATS.strip(), _table(every)]
    for name in every["format"]:
        parts += [f"## {name}", _table(tr.formats(name))]
    return "\n\n".join(parts) + "\n"


def _table(frame: pl.DataFrame) -> str:
    """A frame as a Markdown table."""
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.rows()]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return methods.as_markdown(text) if "`" not in text else text


def llms() -> str:
    """What a language model that writes code with the package needs to know, on one page."""
    lines = [
        "# trialframe",
        "",
        "> Analytics for repeated-trial evaluations of language models and agents. Trials (rows)",
        "> become counts (one row per config and case), counts become estimates, comparisons and",
        "> decisions, each with its estimand, method, interval and what was left out.",
        "",
        "Rules: read with `tr.read` (files, logs, frames), count with `tr.counts`, then ask. Data",
        "come first, then configs (baseline before candidate), everything else by keyword. Rates",
        "are in [0, 1], costs in micro-dollars, times in milliseconds; null is unknown, `passed`",
        "null is not scored. Randomness takes `seed=`. Errors are `trialframe.TrialframeError` and",
        "say what to do. Never compare two configs by overlapping intervals: use `tr.compare`.",
        "",
        "## Functions",
        "",
    ]
    for name in tr.__all__:
        value = getattr(tr, name)
        if inspect.isfunction(value):
            first = (inspect.getdoc(value) or "").partition("\n\n")[0]
            lines.append(f"- `tr.{name}`: {' '.join(first.split())}")
    lines += ["", "## Pages", ""]
    pages = {
        "guide.md": "which number answers which question",
        "methods.md": "formula, assumptions, source and tests of every statistic",
        "calibration.md": "size of tests and coverage of intervals by simulation",
        "judge_calibration.md": "the same for judges",
        "formats.md": "log formats and their columns",
        "warehouse.md": "tables in warehouses, SQL and dbt",
        "api.md": "all public names",
    }
    lines += [f"- [{name}]({name}): {what}" for name, what in pages.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the pages."""
    for name, text in generated().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
