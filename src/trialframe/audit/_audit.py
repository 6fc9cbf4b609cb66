"""All rules on one table, one row a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.audit import _outcomes, _rollouts, _suite
from trialframe.audit._evidence import Audited, Rule, Skip
from trialframe.audit._inspect import SEVERITIES, Finding, findings_frame
from trialframe.audit._rules import problems_of
from trialframe.errors import ArgumentError, UnknownConfigError, did_you_mean, short
from trialframe.read._fields import broken
from trialframe.read.tables import SPENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.audit._inspect import Inspection

RULES: tuple[Rule, ...] = (*_rollouts.RULES, *_outcomes.RULES, *_suite.RULES)


def pair_of(baseline: Any, candidate: Any, configs: Sequence[str]) -> list[str] | None:
    """The two configs that a claim is about, or None for all.

    Raises:
        ArgumentError: One of two.
        UnknownConfigError: The table does not hold one of them.
    """
    if baseline is None and candidate is None:
        return None
    if baseline is None or candidate is None:
        raise ArgumentError("give baseline and candidate both, or neither to audit every config.")
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {short(baseline)}: name two configs.")
    for name in (baseline, candidate):
        if name not in configs:
            raise UnknownConfigError(
                f"no config {short(name)} in these trials. {did_you_mean(str(name), configs)}"
            )
    return [baseline, candidate]


def answers(data: Audited, show: str) -> pl.DataFrame:
    """What all rules find, and which of them could not be tried.

    Args:
        data: The table and what is known of it.
        show: "findings", or "all" for one row a rule that could not be tried.
    """
    found = _merged(problems_of(data.table), data.table)
    if data.table.trials.is_empty():
        return audit_frame(found)
    skipped: dict[str, str] = {}
    for rule in RULES:
        answer = rule.answer(data)
        if isinstance(answer, Skip):
            skipped[rule.name] = answer.why
        elif answer is not None:
            found.append(answer)
    return audit_frame([*found, *_untried(skipped, show)])


def audit_frame(found: Sequence[Finding]) -> pl.DataFrame:
    """Findings as a frame, errors first."""
    return findings_frame(found).rename({"advice": "remedy"})


def _untried(skipped: dict[str, str], show: str) -> list[Finding]:
    """Rows that say what was not looked at."""
    if show == "all":
        return [
            Finding(
                rule=name,
                severity="info",
                rows=0,
                examples=f"not checked: {why}",
                advice="Nothing is known of this. Add what is missing, or name its column.",
            )
            for name, why in skipped.items()
        ]
    if not skipped:
        return []
    names = list(skipped)
    return [
        Finding(
            rule="not_checked",
            severity="info",
            rows=0,
            examples=f"{len(names)} of {len(RULES)} rules: {', '.join(names)}",
            advice='These lack what they look at, so they did not pass. show="all" says what.',
        )
    ]


def _merged(found: list[Finding], table: Inspection) -> list[Finding]:
    """Findings of one rule, on several columns or of several severities, as one."""
    by_rule: dict[str, list[Finding]] = {}
    for item in found:
        by_rule.setdefault(item.rule, []).append(item)
    return [
        items[0]
        if len(items) == 1
        else Finding(
            rule=name,
            severity=min((i.severity for i in items), key=SEVERITIES.index),
            rows=_rows_together(name, items, table),
            examples="; ".join(item.examples for item in items),
            advice=" ".join(dict.fromkeys(item.advice for item in items)),
        )
        for name, items in by_rule.items()
    ]


def _rows_together(rule: str, items: list[Finding], table: Inspection) -> int:
    """Rows that any of the findings is about, each once."""
    spent = [pl.col(name) for name in SPENT if name in table.trials]
    if rule == "zero_for_unknown":
        return table.trials.filter(pl.any_horizontal(m == 0 for m in spent)).height
    if rule == "negative_measure":
        return table.trials.filter(pl.any_horizontal(m < 0 for m in spent)).height
    if rule == "not_finite":
        numbers = [f for f in table.plan.fields if f.usable and f.kind == "float"]
        tests = [test for f in numbers if (test := broken(f, pl)) is not None]
        return int(table.frame.select(pl.any_horizontal(tests).sum()).collect().item())
    return sum(item.rows for item in items)  # the others share no row
