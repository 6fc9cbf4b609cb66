"""A decision as lines and rows for people, and as a comment on a pull request.

Names come from tables that anybody may have written: control characters in them are written out
before anything is printed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from trialframe.decide.gate import Decision
from trialframe.decide.words import broken_cases, percent
from trialframe.display import MISSING
from trialframe.errors import visible
from trialframe.report.text import markdown_section, print_section

if TYPE_CHECKING:
    from rich.console import Console

    from trialframe.decide.rules import PolicyDecision

    Section: TypeAlias = tuple[list[str], pl.DataFrame]

NOTHING = pl.DataFrame()
_STARTS_A_BLOCK = re.compile(r"^(\d*)([#+=~.)-])")
"""A name that would make a heading or a list of the line that it begins."""
HEADINGS = {"ship": "Ship", "hold": "Hold", "dont_ship": "Don't ship"}


def print_decision(console: Console, made: Decision | PolicyDecision) -> None:
    """Print the headline, the numbers behind it and the reasons."""
    (lines, rows), *tables = decision_tables(made)
    print_section(console, [visible(made.headline), *lines], rows)
    for title, frame in tables:
        print_section(console, ["", *title] if title else [], frame)
    console.file.write("\n")
    print_section(console, [f"- {visible(text)}" for text in _reasons(made)], NOTHING)


def markdown_decision(made: Decision | PolicyDecision) -> str:
    """The verdict first, then tables, then the reasons folded away: fit for a comment."""
    (lines, rows), *tables = decision_tables(made)
    heading = f"### {HEADINGS[made.verdict]}\n"
    sentence = markdown_section([_sentence(made)], NOTHING).strip()
    sentence = _STARTS_A_BLOCK.sub(r"\1\\\2", sentence)
    text = f"{heading}\n{sentence}\n{markdown_section(lines, rows)}"
    for title, frame in tables:
        text += markdown_section(title, frame)
    items = (
        f"- {markdown_section([visible(reason)], NOTHING).strip()}" for reason in _reasons(made)
    )
    reasons = "\n".join(items)
    folded = f"<details><summary>Reasons and cautions</summary>\n\n{reasons}\n\n</details>"
    return f"{text.strip()}\n\n{folded}\n"


def _sentence(made: Decision | PolicyDecision) -> str:
    """The headline without the verdict in front, as the heading says that."""
    text = visible(made.headline).removeprefix(f"{HEADINGS[made.verdict]}: ")
    named = text.startswith((visible(made.candidate), visible(made.baseline)))
    return text if named else text[:1].upper() + text[1:]


def decision_tables(made: Decision | PolicyDecision) -> list[Section]:
    """What stands below the headline, and further tables with their titles."""
    if isinstance(made, Decision):
        groups = _groups(made)
        more = [([broken_cases(made.broken)], NOTHING)] if made.broken else []
        more += [(["Groups and guard sets:"], groups)] if groups.height else []
        return [([], _ledger(made)), *more]
    tables: list[Section] = [([], _rules(made))]
    if made.gate is not None:
        (_, rows), *groups_ = decision_tables(made.gate)
        said = made.headline.startswith(made.gate.headline.removesuffix("."))
        head = [] if said else [f"Gate: {visible(made.gate.headline)}"]
        tables += [(head, rows), *groups_]
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
            percent(made.breakage) if made.solved else MISSING,
        ),
        ("further wins needed", missing),
        ("fewest wins that ship when nothing breaks", f"{made.smallest_clean_win:,}"),
    ]
    if made.p_clusters is not None:
        rows.append((f"p, signs of {made.clusters:,} clusters flipped", f"{made.p_clusters:.3g}"))
    if made.looks > 1:
        rows.append(("looks at this gate", f"{made.looks:,}"))
    return _visible(pl.DataFrame(rows, schema=["quantity", "value"], orient="row"))


def _groups(made: Decision) -> pl.DataFrame:
    """Groups and guard sets, the breached ones first."""
    share = [
        percent(value) if solved else MISSING
        for value, solved in made.groups.select("breakage", "solved").iter_rows()
    ]
    return _visible(
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
    rules = made.rules.select(
        "name", "tier", "status", "metric", "rule", "bound", where.alias("cases in"), "observed"
    )
    return _visible(rules)


def _visible(frame: pl.DataFrame) -> pl.DataFrame:
    """A table whose texts are fit to be printed."""
    texts = [
        pl.Series(column.name, [x if x is None else visible(x) for x in column], pl.String)
        for column in frame.select(pl.col(pl.String))
    ]
    return frame.with_columns(texts)
