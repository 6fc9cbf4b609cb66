"""Results that are no tables, as rows of the warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe._invariants import RESERVED
from trialframe.comparison.result import Comparison
from trialframe.counts import Counts
from trialframe.decide.gate import Decision
from trialframe.decide.rules import PolicyDecision
from trialframe.export.rows import Rows, as_text, distinct, json_of
from trialframe.irt.result import IrtFit
from trialframe.warehouse import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.warehouse import Table


def of_counts(counts: Counts) -> Rows:
    """Counts, with the columns that were kept as one."""
    table = TABLES["counts"]
    kept = [name for name in counts.frame.columns if name not in RESERVED]
    made = counts.frame.with_columns(attributes=json_of(counts.frame, kept)).drop(kept)
    settings: dict[str, Any] = {"by": list(counts.by), "unscored": counts.unscored}
    settings |= distinct(counts.frame, "config")
    if counts.mapping is not None:
        used = counts.mapping.filter(pl.col("how").is_in(["name", "alias", "derived", "given"]))
        settings["columns"] = dict(sorted(used.select("column", "source").unique().rows()))
    return Rows(table=table, frame=made, settings=settings)


def _comparison(found: Comparison) -> Rows:
    table = TABLES["comparisons"]
    whole = found.to_dict()
    settings = whole.pop("settings")
    groups = whole.pop("groups")
    whole |= {"interval": whole.pop("method"), "warnings": "; ".join(found.warnings) or None}
    pair: dict[str, Any] = {
        "source": "compare",
        "baseline": found.baseline,
        "candidate": found.candidate,
    }
    row = {name: whole.pop(name) for name in list(whole) if name in table.schema}
    rows = [row | pair | {"groups": "{}", "details": as_text(whole)}]
    by: list[str] = []
    if found.groups is not None:
        by = [name for name in found.groups.columns if name not in GROUP_NUMBERS]
        pair |= {"metric": found.metric, "level": found.level}
        rows += [pair | _group(group, by, table) for group in groups]
    schema = {name: dtype for name, dtype in table.schema.items() if name in row}
    schema |= {"source": pl.String(), "groups": pl.String(), "details": pl.String()}
    settings = {"source": "compare", "by": by} | settings
    settings |= {"baseline": found.baseline, "candidate": found.candidate}
    return Rows(table=table, frame=pl.DataFrame(rows, schema=schema), settings=settings)


GROUP_NUMBERS = (
    *("cases", "units", "baseline_value", "candidate_value", "diff", "se", "low", "high"),
    *("ratio", "ratio_low", "ratio_high", "method", "pvalue", "pvalue_holm"),
    *("wins", "losses", "verdict", "status", "changed"),
)
"""Columns of the groups of a comparison that are not what it is grouped by."""


def _group(group: dict[str, Any], by: list[str], table: Table) -> dict[str, Any]:
    named = {name: group.pop(name) for name in by}
    group["interval"] = group.pop("method", None)
    row = {name: group.pop(name) for name in list(group) if name in table.schema}
    return row | {"groups": as_text(named), "details": as_text(group)}


def _decision(found: Decision) -> Rows:
    return _decided([_of_gate(found)], _gate_settings(found))


def _gate_settings(found: Decision) -> dict[str, Any]:
    words = ("baseline", "candidate", "outcome", "break_cost", "alpha", "max_breakage", "by")
    settings: dict[str, Any] = {name: getattr(found, name) for name in (*words, "looks")}
    return {"source": "gate"} | settings | {"by": list(found.by)}


def _of_gate(found: Decision) -> dict[str, Any]:
    whole = found.to_dict()
    whole |= {"reasons": as_text(found.reasons), "warnings": "; ".join(found.warnings) or None}
    row = {name: whole.pop(name) for name in list(whole) if name in TABLES["decisions"].schema}
    return row | {"source": "gate", "rule": "gate", "details": as_text(whole)}


def _policy(found: PolicyDecision) -> Rows:
    pair = {"source": "policy", "baseline": found.baseline, "candidate": found.candidate}
    whole = {
        "rule": "policy",
        "verdict": found.verdict,
        "headline": found.headline,
        "warnings": "; ".join(found.warnings) or None,
        "exit_code": found.exit_code,
        "details": as_text({"policy": found.policy}),
    }
    rows = [pair | whole]
    if found.gate is not None:
        rows.append(_of_gate(found.gate) | pair)
    asked = ("name", "tier", "metric", "rule", "bound", "guard", "limit")
    for rule in found.rules.iter_rows(named=True):
        row = {"rule": f"rule:{rule['name']}", "verdict": rule["status"], "headline": rule["why"]}
        row |= {name: rule[name] for name in ("tier", "metric", "observed", "cases")}
        row |= {"limit_value": rule["limit"]}
        rest = {name: rule[name] for name in ("rule", "bound", "guard")}
        rows.append(pair | row | {"details": as_text(rest)})
    settings: dict[str, Any] = {
        "policy": found.policy,
        "rules": found.rules.select(asked).to_dicts(),
    }
    if found.gate is not None:
        settings["gate"] = _gate_settings(found.gate)
    return _decided(rows, pair | settings)


def _decided(rows: list[dict[str, Any]], settings: dict[str, Any]) -> Rows:
    table = TABLES["decisions"]
    named = {name for row in rows for name in row}
    schema = {name: dtype for name, dtype in table.schema.items() if name in named}
    return Rows(table=table, frame=pl.DataFrame(rows, schema=schema), settings=settings)


def _fit(fit: IrtFit) -> Rows:
    made = fit.items.with_columns(model=pl.lit(fit.model), method=pl.lit(fit.method))
    words = ("model", "method", "priors", "identification", "level")
    settings = {name: getattr(fit, name) for name in words}
    return Rows(table=TABLES["items"], frame=made, settings=settings)


RESULTS: dict[type, Callable[[Any], Rows]] = {
    Counts: of_counts,
    Comparison: _comparison,
    Decision: _decision,
    PolicyDecision: _policy,
    IrtFit: _fit,
}
