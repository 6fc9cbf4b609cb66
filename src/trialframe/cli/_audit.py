"""The command audit."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl

from trialframe.audit import audit as find
from trialframe.cli import _options as opt
from trialframe.cli._advice import as_options
from trialframe.cli._output import Output
from trialframe.cli._trials import Reading, for_rules
from trialframe.errors import ArgumentError, short

CLAIM = "What is claimed, and of what"


def _named(flag: str, metavar: str, text: str) -> Any:
    return opt.panel(CLAIM, flag, text, metavar)


Baseline = Annotated[
    str | None, _named("--baseline", "CONFIG", "Audit the comparison of this config")
]
Candidate = Annotated[str | None, _named("--candidate", "CONFIG", "with this one only.")]
Annotations = Annotated[
    str | None,
    _named(
        "--annotations",
        "FILE",
        "What reviewers say of cases: false_negative, underspecified, public, source_date...",
    ),
]
Public = Annotated[
    str | None, _named("--public", "COLUMN", "Whether the source of a case is public.")
]
SourceDate = Annotated[
    str | None, _named("--source-date", "COLUMN", "Day from which the source was public.")
]
ReleaseDate = Annotated[
    list[str] | None,
    _named(
        "--release-date",
        "COLUMN|CONFIG=DAY",
        "Release day of a config: a column, or config=2025-04-30, repeatable.",
    ),
]
All = Annotated[
    bool,
    opt.panel("Output", "--all", "Also list every rule that could not be tried."),
]
Strict = Annotated[bool, opt.panel("Output", "--strict", "Exit 1 on warnings too.")]


@opt.takes_options
def audit(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
    baseline: Baseline = None,
    candidate: Candidate = None,
    annotations: Annotations = None,
    public: Public = None,
    source_date: SourceDate = None,
    release_date: ReleaseDate = None,
    everything: All = False,
    strict: Strict = False,
) -> int:
    """Audit a table before a claim is made from it; exit 1 on errors, with --strict on warnings."""
    from trialframe.report import text

    source, named = for_rules(files, columns, trials)
    found = find(
        source,
        baseline=baseline,
        candidate=candidate,
        annotations=annotations,
        public=public,
        source_date=source_date,
        release_date=_release(release_date),
        show="all" if everything else "findings",
        **named,
    )
    words = [as_options(line).replace('show="all"', "--all") for line in found["remedy"]]
    told = found.with_columns(pl.Series("remedy", words, pl.String))
    out.write(
        found,
        table=lambda console: text.print_findings(console, told),
        markdown=lambda: text.markdown_frame(told),
    )
    bad = {"error", "warning"} if strict else {"error"}
    return int(bool(bad & set(found["severity"])))


def _release(given: list[str] | None) -> str | dict[str, str] | None:
    """A column, or the release day of each config."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    days: dict[str, str] = {}
    for item in given:
        config, sign, day = item.rpartition("=")
        if not sign or config in days:
            raise ArgumentError(
                f"--release-date {short(item)}: name one column, or every config once with its "
                "day, as in --release-date config=2025-04-30."
            )
        days[config] = day
    return days
