"""The command that decides whether to ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trialframe.cli import _options as opt
from trialframe.cli._estimate import Units, loaded
from trialframe.cli._output import Output, output_of, say
from trialframe.comparison.compare import compare
from trialframe.decide.gate import Decision
from trialframe.decide.gate import gate as decided
from trialframe.decide.policy import Policy, policy_of
from trialframe.decide.rules import PolicyDecision, gate_policy
from trialframe.errors import ArgumentError
from trialframe.read import read

if TYPE_CHECKING:
    from collections.abc import Iterable

ABOUT_GATE = "Gate"
OWN = {"case", "cluster"}
"""Columns that counts have without being asked to keep them."""

Words = Annotated[
    list[str],
    typer.Argument(metavar="FILE... BASELINE CANDIDATE", help="Tables, then the two configs."),
]
BreakCost = Annotated[
    float | None,
    typer.Option(help="Wins that one broken case costs (2).", rich_help_panel=ABOUT_GATE),
]
Alpha = Annotated[
    float | None, typer.Option(help="Level of both tests (0.05).", rich_help_panel=ABOUT_GATE)
]
MaxBreakage = Annotated[
    float | None,
    typer.Option(
        help="Largest share of broken cases among those the baseline solves (0.1).",
        rich_help_panel=ABOUT_GATE,
    ),
]
Guards = Annotated[
    list[str] | None,
    typer.Option(
        "--guard",
        metavar="COLUMN=VALUE",
        help="Cases that must not be breached; repeatable.",
        rich_help_panel=ABOUT_GATE,
    ),
]
Looks = Annotated[
    int | None,
    typer.Option(help="Looks at this gate so far, with this one.", rich_help_panel=ABOUT_GATE),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="TOML file with [gate] settings and [[rule]] rows.",
        rich_help_panel=ABOUT_GATE,
    ),
]


@opt.takes_columns
def gate(
    words: Words,
    *,
    columns: opt.Columns,
    break_cost: BreakCost = None,
    alpha: Alpha = None,
    max_breakage: MaxBreakage = None,
    by: opt.By = None,
    guard: Guards = None,
    looks: Looks = None,
    policy: PolicyFile = None,
    units: Units = "clusters",
    seed: opt.Seed = 0,
    unscored: opt.Unscored = None,
    zeros: opt.Zeros = None,
    keep: opt.Keep = "raise",
    attempts: opt.Attempts = "raise",
    format_: opt.Format = None,
    output: opt.To = None,
) -> int:
    """Ship or hold: exit 0 when the candidate gains clearly more than it breaks, else 1."""
    if len(words) <= len(("baseline", "candidate")):
        raise ArgumentError("gate needs at least one table, then the baseline and the candidate.")
    *files, baseline, candidate = words
    out = output_of(format_, output)
    settings = settings_of(break_cost, alpha, max_breakage, by, guard, looks)
    asked = None if policy is None else policy_of(policy)
    elsewhere = [*settings, *(["units"] if units != "clusters" else [])]
    if asked is not None and elsewhere:
        raise ArgumentError(
            f"--{elsewhere[0].replace('_', '-')} and --policy: write the settings of the gate in "
            "the [gate] table of the policy, or leave --policy out."
        )
    data = loaded(
        files,
        columns,
        by=columns_of(settings, asked),
        zeros=zeros,
        unscored=opt.unscored_of(unscored),
        keep=keep,
        attempts=attempts,
    )
    made: Decision | PolicyDecision
    if asked is None:
        found = compare(data.counts, baseline, candidate, units=units, seed=seed)
        made = decided(found, **settings)
    else:
        runs = any(rule.bound == "worst run" for rule in asked.rules)
        trials = read(data.frame, threshold=columns.threshold, **data.columns) if runs else None
        made = gate_policy(data.counts, baseline, candidate, asked, trials=trials, seed=seed)
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


def columns_of(settings: dict[str, Any], policy: Policy | None = None) -> list[str]:
    """Columns that the counts must keep for groups and guard sets."""
    gates = [settings] if policy is None else [policy.gate or {}]
    guards: Iterable[str] = [text for made in gates for text in made.get("guard") or ()]
    if policy is not None:
        guards = [*guards, *(rule.guard for rule in policy.rules if rule.guard is not None)]
    names = [name for made in gates for name in made.get("by") or ()]
    names += [text.partition("=")[0].strip() for text in guards]
    return [name for name in dict.fromkeys(names) if name and name not in OWN]


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
