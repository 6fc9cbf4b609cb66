"""A comparison as lines and rows for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.comparison.difference import Interval
    from trialframe.comparison.result import Comparison, Majority
    from trialframe.judge.correct_difference import CorrectedDifference

MANY_PAIRS = 100
"""Cases from which the Bayesian check adds nothing."""


def lines(found: Comparison) -> list[str]:
    """The claim first, then what it lacks and what weakens it."""
    unresolved = [] if found.status == "resolved" or found.moved else [f"- {found.status}"]
    return [found.claim, *unresolved, *(f"- {caution}" for caution in found.warnings)]


def rows(found: Comparison) -> pl.DataFrame:
    """What a reader wants to see beside the claim: quantity and value."""
    made = [("verdict", found.verdict)]
    if not found.moved:
        made += [*_estimate(found), *_tests(found), *_ranges(found), *_margins(found)]
        made += _trials(found)
    return pl.DataFrame(made, schema=["quantity", "value"], orient="row")


def with_corrected(table: pl.DataFrame, made: CorrectedDifference) -> pl.DataFrame:
    """The rows with what a correction for the judge's errors says in front."""
    ends = "" if made.low is None else f" {_ends(made.low, made.high)}"
    first = [
        ("verdict, corrected for the judge", made.verdict),
        ("difference, corrected", f"{number(made.diff)}{ends}"),
    ]
    front = pl.DataFrame(first, schema=table.schema, orient="row")
    words = pl.col("quantity").replace({"verdict": "verdict, not corrected"})
    return pl.concat([front, table.with_columns(words)])


def groups(found: Comparison) -> pl.DataFrame:
    """The groups of a comparison, the columns that people read."""
    if found.groups is None:
        return pl.DataFrame()
    prefix = "ratio_" if found.settings.effect == "ratio" else ""
    effect = "ratio" if prefix else "diff"
    keys = found.groups.columns[: found.groups.columns.index("cases")]
    ends = zip(found.groups[f"{prefix}low"], found.groups[f"{prefix}high"], strict=True)
    numbers = {
        "baseline": "baseline_value",
        "candidate": "candidate_value",
        effect: effect,
        "p (Holm)": "pvalue_holm",
    }
    shown = found.groups.select(
        *keys,
        "cases",
        *(pl.Series(new, map(number, found.groups[old])) for new, old in numbers.items()),
        "verdict",
    )
    sign = "" if prefix else "+"
    told = [_ends(low, high, sign) for low, high in ends]
    interval = pl.Series(f"{found.level:.0%} interval", told)
    return shown.insert_column(shown.columns.index("p (Holm)"), interval)


def _estimate(found: Comparison) -> Iterator[tuple[str, str]]:
    yield f"{found.metric} of {found.baseline}", number(found.baseline_value)
    yield f"{found.metric} of {found.candidate}", number(found.candidate_value)
    yield "difference", number(found.diff)
    yield f"{found.level:.0%} interval, {found.method}", _ends(found.low, found.high)
    yield f"{found.level:.0%} interval, bootstrap", _interval(found.bootstrap)
    if (ratio := found.ratio) is not None:
        told = f"{ratio.value - 1:+.1%}"
        if ratio.low is not None and ratio.high is not None:
            told += f" [{ratio.low - 1:+.1%}, {ratio.high - 1:+.1%}]"
        yield "relative to the baseline", told
    yield (
        "cases compared / only baseline / only candidate",
        f"{found.cases} / {found.only_baseline} / {found.only_candidate}",
    )
    if found.undefined:
        yield f"shared cases without {found.metric} on some side", str(found.undefined)
    yield "independent units / changed", f"{found.units} / {found.changed}"
    yield "wins / losses / ties", f"{found.wins} / {found.losses} / {found.ties}"
    if found.largest_unit_share is not None:
        told = f"{found.largest_unit}, {found.largest_unit_share:.0%} of it"
        yield "moves the difference most", told


def _tests(found: Comparison) -> Iterator[tuple[str, str]]:
    exact = "" if found.exact else " (approximate)"
    yield f"p, {found.test}", number(found.pvalue) + exact
    if found.majority is not None:
        yield from _majority(found.majority, found.cases)


def _majority(made: Majority, cases: int) -> Iterator[tuple[str, str]]:
    yield (
        "majority outcomes: only baseline / only candidate passes",
        f"{made.only_baseline} / {made.only_candidate}",
    )
    words = ", clusters ignored" if made.ignores_clusters else ""
    yield f"McNemar exact / mid-p{words}", f"{number(made.pvalue)} / {number(made.mid_p)}"
    if cases < MANY_PAIRS:
        yield "posterior probability of more wins than losses", number(made.p_better)
    yield (
        "smallest effect found with 80 % power, no losses / as discordant as here",
        f"{number(made.mde_best)} / {number(made.mde)}",
    )


def _ranges(found: Comparison) -> Iterator[tuple[str, str]]:
    if found.bracket_low is not None and found.bracket_low != found.bracket_high:
        told = _ends(found.bracket_low, found.bracket_high)
        yield "difference over the unscored trials", told
        yield (
            f"{found.level:.0%} interval over that range",
            _ends(found.identified_low, found.identified_high),
        )


def _margins(found: Comparison) -> Iterator[tuple[str, str]]:
    worse, both = found.non_inferiority, found.equivalence
    if worse is None or both is None:
        return
    told = "excluded" if worse.holds else "not excluded"
    level = (1.0 - found.level) / 2.0
    yield f"loss of {worse.margin:g}, by {worse.decided_by}, one-sided at {level:g}", told
    told = "excluded" if both.holds else "not excluded"
    yield f"change of {both.margin:g} in either direction", told


def _trials(found: Comparison) -> Iterator[tuple[str, str]]:
    seen = found.evidence
    if seen is None:
        return
    if seen.started_later is not None:
        yield "pairs of trials where the candidate started later", f"{seen.started_later:.0%}"
    if seen.worst_run_baseline is not None or seen.worst_run_candidate is not None:
        one, two = number(seen.worst_run_baseline), number(seen.worst_run_candidate)
        yield "worst run of baseline / candidate", f"{one} / {two}"


def number(value: float | None) -> str:
    """Four significant digits, or that there is none."""
    return "none" if value is None else f"{value:.4g}"


def _interval(interval: Interval | None) -> str:
    return "none" if interval is None else _ends(interval.low, interval.high)


def _ends(low: float | None, high: float | None, sign: str = "+") -> str:
    if low is None or high is None:
        return "none"
    return f"[{low + 0.0:{sign}.4g}, {high + 0.0:{sign}.4g}]"  # no minus in front of a 0


def case_lines(found: pl.DataFrame, adjust: str) -> list[str]:
    """How many cases got worse and better, and how many could not tell."""
    status = dict(found["status"].value_counts().rows())
    worse, better = status.get("regression", 0), status.get("improvement", 0)
    told = [f"{worse} of {found.height} shared cases got worse, {better} better."]
    moves = found["transition"].drop_nulls()
    if moves.len():
        changed = dict(moves.value_counts().rows())
        down, up = changed.get("pass to fail", 0), changed.get("fail to pass", 0)
        told = [f"{down} of {found.height} shared cases went from pass to fail, {up} to pass."]
        if moves.len() < found.height:
            told.append(f"- of {found.height - moves.len()} cases with several trials {worse} got")
            told[-1] += f" worse, {better} better"
    if some := status.get("no evidence", 0):
        told.append(f"- no evidence of a change in {some}")
    if unable := status.get("untestable", 0):
        words = "" if adjust == "none" else f", adjusted by {adjust}"
        told.append(f"- {unable} untestable: so few trials cannot show a change{words}")
    if without := status.get("not scored", 0):
        told.append(f"- {without} without a scored trial on some side")
    return told


def case_rows(found: pl.DataFrame) -> pl.DataFrame:
    """The cases that changed, what got worse first; else those that moved."""
    changed = found.filter(pl.col("status").is_in(["regression", "improvement"]))
    if changed.is_empty():
        changed = found.filter(pl.col("diff") != 0)
    p = pl.when(pl.col("diff") < 0).then("adjusted_worse").otherwise("adjusted_better")
    shown = changed.with_columns(p=p).sort(pl.col("diff") > 0, "p", "diff", "case")
    sides = ("baseline", "candidate")
    trials = [pl.format("{}/{}", f"c_{side}", f"n_{side}").alias(side) for side in sides]
    texts = {"diff": map(_signed, shown["diff"]), "p": map(number, shown["p"])}
    columns = [pl.Series(name, list(made), pl.String) for name, made in texts.items()]
    return shown.select("case", *trials, *columns, "status")


def _signed(value: float) -> str:
    return f"{value:+.3g}"
