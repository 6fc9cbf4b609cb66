"""A decision as lines and rows for people, and as a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from trialframe.decide.gate import Decision
from trialframe.decide.words import percent
from trialframe.report.text import markdown_section, print_section

if TYPE_CHECKING:
    from rich.console import Console

    from trialframe.decide.rules import PolicyDecision

    Section: TypeAlias = tuple[list[str], pl.DataFrame]

NOTHING = pl.DataFrame()


def print_decision(console: Console, made: Decision | PolicyDecision) -> None:
    """Print the headline, the numbers behind it and the reasons."""
    (lines, rows), *tables = _tables(made)
    print_section(console, [made.headline, *lines], rows)
    for title, frame in tables:
        print_section(console, ["", *title] if title else [], frame)
    console.file.write("\n")
    print_section(console, [f"- {text}" for text in _reasons(made)], NOTHING)


def markdown_decision(made: Decision | PolicyDecision) -> str:
    """The headline first, then tables, then the reasons folded away: fit for a comment."""
    (lines, rows), *tables = _tables(made)
    text = markdown_section([f"### {made.headline}", *lines], rows)
    for title, frame in tables:
        text += markdown_section(title, frame)
    items = (markdown_section([f"- {reason}"], NOTHING).strip() for reason in _reasons(made))
    reasons = "\n".join(items)
    folded = f"<details><summary>Reasons and cautions</summary>\n\n{reasons}\n\n</details>"
    return f"{text.strip()}\n\n{folded}\n"


def _tables(made: Decision | PolicyDecision) -> list[Section]:
    """What stands below the headline, and further tables with their titles."""
    if isinstance(made, Decision):
        groups = _groups(made)
        more = [(["Groups and guard sets:"], groups)] if groups.height else []
        return [([], _ledger(made)), *more]
    tables: list[Section] = [([], _rules(made))]
    if made.gate is not None:
        (_, rows), *groups_ = _tables(made.gate)
        head = [] if made.gate.headline == made.headline else [made.gate.headline]
        tables += [([f"Gate: {line}" for line in head], rows), *groups_]
    return tables


def _reasons(made: Decision | PolicyDecision) -> list[str]:
    if isinstance(made, Decision):
        return [*made.reasons, *made.warnings]
    told = [f"{name}: {status}: {why}" for name, status, why in _said(made.rules).rows()]
    return told if made.gate is None else [*told, *_reasons(made.gate)]


def _said(rules: pl.DataFrame) -> pl.DataFrame:
    return rules.select("name", "status", "why")


def _ledger(made: Decision) -> pl.DataFrame:
    """The ledger of the whole suite: quantity and value."""
    missing = "-" if made.wins_missing is None else f"{made.wins_missing:,}"
    rows = [
        ("verdict", made.verdict),
        (f"wins: only {made.candidate} passes, by majority", f"{made.wins:,}"),
        (f"losses: only {made.baseline} passes", f"{made.losses:,}"),
        ("ties", f"{made.ties:,}"),
        (f"net gain, a loss costing {made.break_cost:g}", f"{made.net_gain:g}"),
        (f"p of the wins, below {made.alpha:g} to ship", f"{made.pvalue:.3g}"),
        (f"p of the losses, below {made.alpha:g} to refuse", f"{made.p_losses:.3g}"),
        (
            f"breakage of {made.solved:,} solved, at most {percent(made.max_breakage)}",
            percent(made.breakage),
        ),
        ("further wins needed", missing),
        ("fewest wins that ship when nothing breaks", f"{made.smallest_clean_win:,}"),
    ]
    if made.p_clusters is not None:
        rows.append((f"p, signs of {made.clusters:,} clusters flipped", f"{made.p_clusters:.3g}"))
    if made.looks > 1:
        rows.append(("looks at this gate", f"{made.looks:,}"))
    return pl.DataFrame(rows, schema=["quantity", "value"], orient="row")


def _groups(made: Decision) -> pl.DataFrame:
    """Groups and guard sets, the breached ones first."""
    share = [percent(value) for value in made.groups["breakage"]]
    return (
        made.groups.with_columns(pl.Series("breakage", share, pl.String))
        .select(
            "name",
            "breached",
            "cases",
            "wins",
            "losses",
            "solved",
            "net_gain",
            "breakage",
        )
        .sort("breached", descending=True, maintain_order=True)
    )


def _rules(made: PolicyDecision) -> pl.DataFrame:
    where = pl.when(pl.col("guard").is_null()).then(pl.lit("all")).otherwise(pl.col("guard"))
    return made.rules.select(
        "name", "tier", "status", "metric", "rule", "bound", where.alias("cases in"), "observed"
    )
