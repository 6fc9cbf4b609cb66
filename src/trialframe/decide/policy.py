"""What a release must satisfy, as a TOML file: read strictly and checked as a whole."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialframe import _checks
from trialframe.decide.gate import terms_of
from trialframe.errors import ArgumentError, SourceError, TrialframeError, did_you_mean, short
from trialframe.estimate.metrics import parsed

if TYPE_CHECKING:
    from trialframe.estimate.metrics import Request

UNITS = ("clusters", "cases")
GATE_KEYS = ("break_cost", "alpha", "max_breakage", "by", "guard", "looks")
RULE_KEYS = (
    *("name", "metric", "rule", "bound", "guard"),
    *("allowed_failure_rate", "tier", "level"),
)
QUANTITIES = ("value", "difference", "ratio")
BOUNDS = ("point", "lower", "upper", "worst run")
TIERS = ("block", "warn")
MOST_BYTES = 1_000_000

_NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_RULE = re.compile(
    rf"\s*(?P<quantity>[a-z]+)\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>{_NUMBER})\s*", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of a policy.

    Attributes:
        name: What it goes by.
        request: The metric.
        quantity: "value" of the candidate, "difference" candidate minus baseline, or "ratio".
        sign: ">=", "<=", ">" or "<".
        limit: The number on its right.
        bound: "point", "lower" or "upper" end of the interval, or "worst run".
        guard: "column=value" of the cases it looks at; None for all.
        allowed_failure_rate: Share of cases that may break it, each judged by itself; None where
            the suite as a whole is judged.
        tier: "block" decides, "warn" only tells.
        level: Nominal coverage of the interval.
    """

    name: str
    request: Request
    quantity: str
    sign: str
    limit: float
    bound: str
    guard: str | None
    allowed_failure_rate: float | None
    tier: str
    level: float

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return f"{self.quantity} {self.sign} {self.limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy that was read.

    Attributes:
        source: Its file, or "policy".
        gate: Settings of the gate; None without a gate.
        rules: Its rules.
        units: What gate and rules take for independent, "clusters" or "cases"; None where the
            policy does not say.
    """

    source: str
    gate: dict[str, Any] | None
    rules: tuple[Rule, ...]
    units: str | None = None


def policy_of(policy: str | os.PathLike[str] | Mapping[str, Any] | Policy) -> Policy:
    """Read a policy and check all of it; one that was read already is returned.

    Raises:
        SourceError: No such file, or no TOML.
        ArgumentError: An unknown key, metric or word, a wrong type, or nothing to decide.
    """
    if isinstance(policy, Policy):
        return policy
    source, table = ("policy", policy) if isinstance(policy, Mapping) else _read(policy)
    _known_keys(table, ("units", "gate", "rule"), source)
    units = table.get("units")
    if units is not None:
        _checks.one_of(units, f"{source}: units", UNITS)
    settings, rows = table.get("gate"), table.get("rule", [])
    if not isinstance(rows, list):
        raise ArgumentError(f"{source}: rule must be a list of tables: write [[rule]] above each.")
    rules = tuple(_rule(row, f"{source}, rule {i}") for i, row in enumerate(rows, 1))
    if not rules and settings is None:
        raise ArgumentError(
            f"{source} has neither a [gate] table nor a [[rule]]: there is nothing to decide."
        )
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"{source}: two rules are named {name!r}. Give each its own name.")
    made = _gate(settings, f"{source}, [gate]")
    return Policy(source=source, gate=made, rules=rules, units=units)


def _read(path: object) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"policy == {short(path)}, must be the path of a TOML file or a dict.")
    file = Path(path)
    if not file.is_file():
        raise SourceError(f"no policy file {short(str(file))}. Name a TOML file that exists.")
    if file.stat().st_size > MOST_BYTES:
        raise SourceError(f"{file}: {file.stat().st_size:,} bytes are too many for a policy.")
    try:
        return str(file), tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # TOML and UTF-8 errors are ValueErrors
        told = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SourceError(f"{file} is no TOML: {told}. Correct it there.") from error


def _known_keys(table: object, keys: tuple[str, ...], where: str) -> None:
    if not isinstance(table, Mapping):
        raise ArgumentError(f"{where} is {short(table)}, must be a table with {', '.join(keys)}.")
    for key in table:
        if key not in keys:
            raise ArgumentError(f"{where}: no key {short(key)}. {did_you_mean(str(key), keys)}")


def _gate(settings: Any, where: str) -> dict[str, Any] | None:
    if settings is None:
        return None
    if isinstance(settings, Mapping) and "units" in settings:
        raise ArgumentError(
            f"{where}: units holds for the rules too, so write it at the top, above the tables."
        )
    _known_keys(settings, GATE_KEYS, where)
    try:
        given = {"break_cost": 2, "alpha": 0.05, "max_breakage": 0.10, **settings}
        terms_of(given["break_cost"], given["alpha"], given["max_breakage"])
        for key in ("by", "guard"):
            given[key] = list(_checks.names(given.get(key), key))
        given["looks"] = _checks.integer(given.get("looks", 1), "looks", low=1)
    except TrialframeError as error:
        raise ArgumentError(f"{where}: {error}") from error
    return given


def _rule(row: Any, where: str) -> Rule:
    _known_keys(row, RULE_KEYS, where)
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ArgumentError(f"{where}: name == {short(name)}, must be a text that names the rule.")
    where = f"{where} ({short(name)})"
    try:
        return _checked(row, name)
    except TrialframeError as error:
        raise ArgumentError(f"{where}: {error}") from error


def _checked(row: Mapping[str, Any], name: str) -> Rule:
    quantity, sign, limit = _condition(row.get("rule"))
    bound = _checks.one_of(row.get("bound", "point"), "bound", BOUNDS)
    guard, rate = row.get("guard"), row.get("allowed_failure_rate")
    if guard is not None and not isinstance(guard, str):
        raise ArgumentError(f"guard == {short(guard)}, must be 'column=value'.")
    if rate is not None:
        rate = _checks.between(rate, "allowed_failure_rate")
        if bound != "point" or quantity == "ratio":
            raise ArgumentError(
                "allowed_failure_rate judges every case by itself, so it goes with bound = "
                "'point' and a rule on value or difference only."
            )
    if bound == "worst run" and quantity != "value":
        raise ArgumentError(f"bound == 'worst run' goes with a rule on value, not on {quantity}.")
    return Rule(
        name=name,
        request=_request(row.get("metric", "pass@1")),
        quantity=quantity,
        sign=sign,
        limit=limit,
        bound=bound,
        guard=guard,
        allowed_failure_rate=rate,
        tier=_checks.one_of(row.get("tier", "block"), "tier", TIERS),
        level=_checks.between(row.get("level", 0.95), "level", inclusive=False),
    )


def _request(metric: object) -> Request:
    found = parsed(metric, ())
    if len(found) != 1:
        raise ArgumentError(f"metric == {short(metric)}: name its k, as in 'pass@1' or 'pass^5'.")
    return found[0]


def _condition(text: object) -> tuple[str, str, float]:
    match = _RULE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(
            f"rule == {short(text)}, must be one of {', '.join(QUANTITIES)}, then >=, <=, > or <, "
            "then a number, as in 'difference >= -0.02'."
        )
    quantity = _checks.one_of(match["quantity"], "the quantity of the rule", QUANTITIES)
    limit = float(match["limit"])
    return quantity, match["sign"], _checks.between(limit, "rule limit", low=-1e300, high=1e300)
