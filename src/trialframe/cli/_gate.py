"""The command that decides whether to ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from trialframe.cli import _options as opt
from trialframe.cli._compare import sides
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Trials, loaded
from trialframe.comparison.compare import compare
from trialframe.decide.gate import Decision
from trialframe.decide.gate import gate as decided
from trialframe.decide.policy import UNITS, Policy, policy_of
from trialframe.decide.rules import PolicyDecision, gate_policy
from trialframe.errors import ArgumentError, ColumnError, short

ABOUT_GATE = "Gate"
OWN = {"case", "cluster"}
"""Columns that counts have without being asked to keep them."""

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE... BASELINE CANDIDATE", help="Tables or logs, then the two configs."
    ),
]
BreakCost = Annotated[
    float | None,
    opt.panel(ABOUT_GATE, "--break-cost", "Wins that one broken case costs (2)."),
]
Alpha = Annotated[float | None, opt.panel(ABOUT_GATE, "--alpha", "Level of both tests (0.05).")]
MaxBreakage = Annotated[
    float | None,
    opt.panel(
        ABOUT_GATE,
        "--max-breakage",
        "Largest share of broken cases among those the baseline solves (0.1).",
    ),
]
Guards = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT_GATE, "--guard", "Cases that must not be breached; repeatable.", "COLUMN=VALUE"
    ),
]
Looks = Annotated[
    int | None,
    opt.panel(ABOUT_GATE, "--looks", "Looks at this gate so far, with this one."),
]
PolicyFile = Annotated[
    Path | None,
    opt.panel(
        ABOUT_GATE,
        "--policy",
        r"TOML file with \[gate] settings and \[\[rule]] rows, and units above them.",
        "FILE",
    ),
]

UnitsIfGiven = Annotated[
    str | None,
    opt.panel(
        ABOUT_GATE,
        "--units",
        "clusters where there are some (the default), or cases, without the clusters' check.",
        "WORD",
    ),
]


@opt.takes_options
def gate(
    words: Words,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    break_cost: BreakCost = None,
    alpha: Alpha = None,
    max_breakage: MaxBreakage = None,
    by: opt.By = None,
    guard: Guards = None,
    looks: Looks = None,
    policy: PolicyFile = None,
    units: UnitsIfGiven = None,
    seed: opt.Seed = 0,
) -> int:
    """Ship or hold: exit 0 when the candidate gains clearly more than it breaks, else 1."""
    files, baseline, candidate = sides("gate", words)
    settings = settings_of(break_cost, alpha, max_breakage, by, guard, looks)
    asked = None if policy is None else policy_of(policy)
    if asked is not None and settings:
        raise ArgumentError(
            f"--{next(iter(settings)).replace('_', '-')} and --policy: write the settings of the "
            "gate in the [gate] table of the policy, or leave --policy out."
        )
    kept = columns_of(settings, asked)
    try:
        data = loaded(files, columns, trials, by=[*kept])
    except ColumnError as error:
        raise _named(error, kept) from error
    made: Decision | PolicyDecision
    if asked is None:
        found = compare(data.counts, baseline, candidate, units=units or UNITS[0], seed=seed)
        made = decided(found, **settings)
    else:
        runs = any(rule.bound == "worst run" for rule in asked.rules)
        pair, behind = (data.counts, baseline, candidate), data.trials() if runs else None
        made = gate_policy(*pair, asked, trials=behind, units=units, seed=seed)
    show(made, out)
    for note in data.counts.notes:
        say(note)
    return made.exit_code


def settings_of(
    break_cost: float | None,
    alpha: float | None,
    max_breakage: float | None,
    by: list[str] | None,
    guard: list[str] | None,
    looks: int | None,
) -> dict[str, Any]:
    """What was given, by the words of `tr.gate`; what was not keeps its default."""
    given = {
        "break_cost": break_cost,
        "alpha": alpha,
        "max_breakage": max_breakage,
        "by": by,
        "guard": guard,
        "looks": looks,
    }
    return {name: value for name, value in given.items() if value is not None and value != []}


def columns_of(settings: dict[str, Any], policy: Policy | None = None) -> dict[str, str]:
    """Columns that the counts must keep for groups and guard sets, and who asks for each."""
    made, where = settings, "--"
    if policy is not None:
        made, where = policy.gate or {}, f"{policy.source}, [gate] "
    asking = [(name, f"{where}by") for name in made.get("by") or ()]
    guards = [(text, f"{where}guard") for text in made.get("guard") or ()]
    if policy is not None:
        of_rules = ((rule.guard, rule.name) for rule in policy.rules if rule.guard is not None)
        guards += [(text, f"{policy.source}, rule {name!r}, guard") for text, name in of_rules]
    asking += [(text.partition("=")[0].strip(), f"{words} {short(text)}") for text, words in guards]
    found = {name: words for name, words in reversed(asking) if name and name not in OWN}
    return dict(reversed(found.items()))


def _named(error: ColumnError, kept: dict[str, str]) -> ColumnError:
    """An error about a column that must be kept, with who asks for it in place of "by"."""
    told = str(error)
    for name, asker in kept.items():
        if told.startswith(f"by: no column {name!r}"):
            return ColumnError(f"{asker}{told.removeprefix('by')}")
    return error


def show(made: Decision | PolicyDecision, out: Output) -> None:
    """Write a decision: JSON with everything, CSV and Parquet as rows."""
    from trialframe.report import decision

    if out.kind == "json":
        text = json.dumps(made.to_dict(), indent=1, ensure_ascii=False, default=str)
        out.write_bytes(f"{text}\n".encode())
        return
    out.write(
        made.rules if isinstance(made, PolicyDecision) else made.to_frame(),
        table=lambda console: decision.print_decision(console, made),
        markdown=lambda: decision.markdown_decision(made),
    )
