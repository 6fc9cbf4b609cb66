"""The answers of a report in words, each with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.display import counted, cut, interval, shown
from trialframe.report.page.cases import NO_VERDICT, UNSEEN
from trialframe.report.page.model import TONES, Tone, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trialframe.comparison.result import Comparison
    from trialframe.decide.gate import Decision
    from trialframe.report.page.cases import Changes, Flaky

FEW = 3
NAME = 48
"""Names in a sentence, and the characters of each."""
GATE = {"ship": "Ship", "hold": "Hold", "dont_ship": "Don't ship"}


def some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = [cut(name, NAME) for name in names]
    rest = len(every) - FEW
    if rest > 1:
        return f"{', '.join(every[:FEW])} and {rest} more"
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def of_gate(made: Decision) -> Verdict:
    """Whether to ship."""
    word = GATE[made.verdict]
    text = made.headline.removeprefix(f"{word}: ")
    return Verdict(word=word, tone=TONES[made.verdict], sentence=text, section="gate")


def of_pair(found: Comparison) -> Verdict:
    """Whether the candidate is better than the baseline."""
    word = found.verdict.capitalize()
    tone = TONES.get(found.verdict, "plain")
    return Verdict(word=word, tone=tone, sentence=found.claim, section="comparison")


def of_board(table: pl.DataFrame | str) -> Verdict:
    """Which config is best, or which may be."""
    if isinstance(table, str):
        return Verdict(word="No ranking", tone="open", sentence=table, section="leaderboard")
    first = table.row(0, named=True)
    value = f"{shown(first['value'], first['unit'])} "
    value += interval(first["low"], first["high"], first["unit"])
    number = f"{first['metric']} {value.strip()}"
    on = f"on {counted(first['cases'], 'case')}"
    name = cut(first["config"], NAME)
    inside = table.filter("plausibly_best")["config"].to_list()
    tone: Tone
    if table.height == 1:
        word, tone, text = "One config", "plain", f"{name} has {number} {on}."
    elif len(inside) == 1:
        word, tone = "Clear best", "good"
        text = f"{name} is the best of {table.height} configs, with {number} {on}."
    else:
        word, tone = f"{len(inside)} may be best", "open"
        text = (
            f"{name} has the first place with {number} {on}, but the data do not tell which of "
            f"{len(inside)} configs is best: {some(inside)}."
        )
    return Verdict(word=word, tone=tone, sentence=text, section="leaderboard")


def of_many(table: pl.DataFrame) -> Verdict:
    """How many configs are better than the baseline, and how many worse."""
    names = {
        word: table.filter(pl.col("verdict") == word)
        .sort(pl.col("diff").abs(), descending=True, maintain_order=True)["candidate"]
        .to_list()
        for word in ("better", "worse", "inconclusive")
    }
    better, worse, unknown = names["better"], names["worse"], names["inconclusive"]
    adjust = table["adjust"][0]
    how = "without adjustment for their number" if adjust == "none" else f"adjusted by {adjust}"
    base, metric = cut(table["baseline"][0], NAME), table["metric"][0]
    if not better and not worse:
        every = counted(table.height, "config")
        text = f"The data tell none of {every} apart from {base} in {metric}; {how}."
        return Verdict(word="None told apart", tone="open", sentence=text, section="comparison")
    told = []
    for word, who in (("better", better), ("worse", worse)):
        told.append(f"{len(who)} {_are(who)} {word} ({some(who)})" if who else f"none is {word}")
    if unknown:
        told.append(f"of {len(unknown)} the data do not tell")
    text = f"Of {counted(table.height, 'config')} compared with {base} in {metric}, "
    text += f"{', '.join(told)}; {how}."
    tone: Tone = "good" if better and not worse else "bad" if worse and not better else "open"
    word = f"{len(better)} better, {len(worse)} worse"
    return Verdict(word=word, tone=tone, sentence=text, section="comparison")


def _are(who: Sequence[str]) -> str:
    return "is" if len(who) == 1 else "are"


def of_changes(found: Changes) -> Verdict:
    """How many single cases got worse for certain."""
    total = found.tallies.drop("candidate").sum().row(0, named=True)
    worse, better = total["got worse"], total["got better"]
    down, up = (total[word] if found.single else 0 for word in ("pass to fail", "fail to pass"))
    what = "shared cases" if found.candidate else "pairs of a case and a config"
    first, second = (f"{number:,}" if number else "none" for number in (worse, better))
    text = f"{first.capitalize()} of {found.every:,} {what} got worse for certain, {second} better."
    if found.single:
        text += f" Of those with one trial a side {down:,} went from pass to fail, {up:,} to pass."
    if total["untestable"]:
        text += f" In {total['untestable']:,} so few trials cannot show a change."
    if worse:
        cases = found.rows.filter(pl.col("status") == "regression")["case"]
        text += f" First: {some(cases.unique(maintain_order=True).to_list())}."
    text += f" {found.tested}" if found.tested else ""
    word = f"{first.capitalize()} got worse" if worse or not down else f"{down:,} pass to fail"
    tone: Tone = "bad" if worse else "open" if down or total["untestable"] else "plain"
    return Verdict(word=word, tone=tone, sentence=text, section="cases")


def of_flaky(found: Flaky) -> Verdict:
    """How many cases come out both ways."""
    if not found.pairs:
        word, text = ("One trial each", UNSEEN) if found.scored else ("No verdicts", NO_VERDICT)
        return Verdict(word=word, tone="open", sentence=text, section="flaky")
    share = shown(found.flaky_pairs / found.pairs, "share")
    text = (
        f"{found.flaky:,} of {counted(found.cases, 'case')} came out both ways under some config; "
        f"{share} of the config-case pairs with two trials or more did."
    )
    tone: Tone = "open" if found.flaky else "plain"
    return Verdict(word=f"{found.flaky:,} flaky", tone=tone, sentence=text, section="flaky")


def of_findings(table: pl.DataFrame | None) -> Verdict:
    """Whether the trials support a claim."""
    if table is None:
        text = (
            "Counts were given, or trials on another engine, so nothing is known of their making."
        )
        return Verdict(word="Not audited", tone="open", sentence=text, section="findings")
    rules = {
        word: table.filter(pl.col("severity") == word)["rule"].to_list()
        for word in ("error", "warning")
    }
    errors, warnings = rules["error"], rules["warning"]
    if not errors and not warnings:
        text = "The audit found nothing that speaks against a claim from these trials."
        return Verdict(word="Sound", tone="good", sentence=text, section="findings")
    told = [f"{counted(len(who), word)} ({some(who)})" for word, who in rules.items() if who]
    text = f"The audit of the trials found {' and '.join(told)}."
    text += " Numbers below rest on them as they are." if errors else ""
    word = counted(len(errors), "error") if errors else counted(len(warnings), "warning")
    tone: Tone = "bad" if errors else "open"
    return Verdict(word=word, tone=tone, sentence=text, section="findings")
