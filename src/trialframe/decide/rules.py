"""A policy on the counts of two configs: which rules hold, and what follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.comparison.compare import compare
from trialframe.counts import POLICIES, Counts
from trialframe.counts import counts as count
from trialframe.decide.gate import EXIT_CODES, Decision, gate
from trialframe.decide.groups import equal
from trialframe.decide.policy import UNITS, Policy, Rule, policy_of
from trialframe.decide.words import many, percent
from trialframe.engine import refuse_made_runs, source_of, sources
from trialframe.errors import ArgumentError, ColumnError, TrialframeError, TrialsError, visible
from trialframe.estimate.metrics import cases_of
from trialframe.estimate.summary import summary
from trialframe.results import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from trialframe.comparison.result import Comparison

    Floats = NDArray[np.float64]

MOST_WARNED = 3
"""Rules of tier "warn" that the headline names."""

TIE = 1e-9
"""Relative: a number this close to the limit of a rule is at the limit."""

COLUMNS = {
    "name": pl.String,
    "tier": pl.String,
    "metric": pl.String,
    "rule": pl.String,
    "bound": pl.String,
    "guard": pl.String,
    "observed": pl.Float64,
    "limit": pl.Float64,
    "cases": pl.Int64,
    "status": pl.String,
    "why": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PolicyDecision(Result):
    """What a policy says of a candidate.

    Attributes:
        verdict: "ship", "hold" (undecided, or the gate holds) or "dont_ship".
        headline: One line with what decided.
        exit_code: 0 ship, 1 hold or don't ship.
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        policy: File of the policy, or "policy".
        rules: One row per rule: `name, tier, metric, rule, bound, guard, observed, limit, cases,
            status` ("pass", "fail", "undecided") and `why`.
        gate: The gate's decision; None when the policy has no [gate].
        warnings: Rules of tier "warn" that do not hold, and the gate's warnings.
    """

    verdict: str
    headline: str
    exit_code: int
    baseline: str
    candidate: str
    policy: str
    rules: pl.DataFrame = field(compare=False)
    gate: Decision | None
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The headline, every rule and what weakens it."""
        rules = (
            f"- {s}: {n}: {w}" for n, s, w in self.rules.select("name", "status", "why").rows()
        )
        lines = [self.headline, *rules, *(f"- {text}" for text in self.warnings)]
        return "\n".join(map(visible, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The counts a rule looks at, and what else is needed to judge it."""

    counts: Counts
    baseline: str
    candidate: str
    trials: Any
    units: str
    seed: int

    def compared(self, rule: Rule) -> Comparison:
        effect = "ratio" if rule.quantity == "ratio" else "difference"
        return compare(
            self.counts,
            self.baseline,
            self.candidate,
            metric=rule.request.name,
            effect=effect,
            level=rule.level,
            units=self.units,
            seed=self.seed,
        )


def gate_policy(
    counts: Counts,
    baseline: str,
    candidate: str,
    policy: str | os.PathLike[str] | Mapping[str, Any] | Policy,
    *,
    trials: Any = None,
    units: str | None = None,
    seed: int = 0,
) -> PolicyDecision:
    """Judge a candidate by the rules of a policy file, as a release pipeline does.

    Every rule is one more chance to fail: keep them few, and prefer "lower" or "upper" bounds to
    points where noise must not decide.

    Args:
        counts: Counts that hold both configs, with the columns that guards name.
        baseline: Config to compare with.
        candidate: Config under test.
        policy: Path of a TOML file, or its content as a dict. A [gate] table takes the settings
            of `tr.gate`. Every [[rule]] has a `name` and a `rule` such as "value >= 0.8",
            "difference >= -0.02" or "ratio <= 1.1", and may have `metric` ("pass@1"), `bound`
            ("point", "lower", "upper" or "worst run"), `guard` ("column=value"),
            `allowed_failure_rate` (share of cases that may break the rule, each judged by
            itself), `tier` ("block" or "warn") and `level` (0.95). `units` above the tables
            holds for gate and rules.
        trials: The trials behind the counts, as `tr.read` gives them; for "worst run" only.
        units: What gate and rules take for independent: "clusters" where the counts have some,
            or "cases". None for what the policy says, else "clusters".
        seed: Seed of everything random.

    Returns:
        A `PolicyDecision`. Only rules of tier "block" and the gate decide.

    Raises:
        SourceError: No such file, or no TOML.
        ArgumentError: An unknown key, metric or word, a wrong type, nothing to decide, or
            `units` that are not those of the policy.
        TrialframeError: A rule that these counts cannot answer.

    Notes:
        "value" is what `tr.summary` says of the candidate, "difference" and "ratio" what
        `tr.compare` says. A number within 1e-9 of its limit is at the limit. A bound that is not
        defined (fewer than two cases or clusters) leaves its rule undecided: hold.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.2, seed=3)
        >>> rule = {"name": "no loss", "rule": "difference >= -0.02", "bound": "lower"}
        >>> made = tr.gate_policy(tr.counts(trials), "base", "new", {"rule": [rule]})
        >>> made.headline, made.exit_code
        ('Ship: new satisfies the one rule that decides.', 0)
    """
    asked = policy_of(policy)
    seed = _checks.integer(seed, "seed", low=0)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    sides = _Sides(
        counts=counts.select(baseline, candidate),
        baseline=baseline,
        candidate=candidate,
        trials=trials,
        units=_units(asked, units),
        seed=seed,
    )
    rows = [_judged(sides, rule, asked.source) for rule in asked.rules]
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return _decided(asked, sides, table, _gated(asked, sides))


def _units(asked: Policy, given: str | None) -> str:
    """What is taken for independent, said in one place."""
    if given is not None:
        _checks.one_of(given, "units", UNITS)
    if given is not None and asked.units not in {None, given}:
        raise ArgumentError(
            f"units == {given!r}, but {asked.source} says {asked.units!r}. Say it in one place."
        )
    return given or asked.units or UNITS[0]


def _gated(asked: Policy, sides: _Sides) -> Decision | None:
    if asked.gate is None:
        return None
    try:
        names = sides.baseline, sides.candidate
        found = compare(sides.counts, *names, units=sides.units, seed=sides.seed)
        return gate(found, **asked.gate)
    except TrialframeError as error:
        raise type(error)(f"{asked.source}, [gate]: {error}") from error


def _judged(sides: _Sides, rule: Rule, source: str) -> dict[str, Any]:
    try:
        part = replace(sides, counts=_part(sides.counts, rule.guard))
        observed, limit, cases, known = _observed(part, rule)
    except TrialframeError as error:
        raise type(error)(f"{source}, rule {rule.name!r}: {error}") from error
    holds = known and (
        Fraction(observed).limit_denominator(cases) <= Fraction(str(limit))
        if rule.allowed_failure_rate is not None
        else bool(_holds(np.array([observed]), rule)[0])
    )
    row = {
        "name": rule.name,
        "tier": rule.tier,
        "metric": rule.request.name,
        "rule": rule.text,
        "bound": "each case" if rule.allowed_failure_rate is not None else rule.bound,
        "guard": rule.guard,
        "observed": observed if known else None,
        "limit": limit,
        "cases": cases,
        "status": ("pass" if holds else "fail") if known else "undecided",
    }
    return row | {"why": _why(row, rule)}


def _part(counts: Counts, guard: str | None) -> Counts:
    """The counts of the cases that a rule looks at."""
    if guard is None:
        return counts
    columns = [name for name in ("case", "cluster") if name in counts.frame.columns]
    inside = equal(counts.frame, guard, [*columns, *counts.by])
    return Counts(counts.frame.filter(inside), None, counts.by, counts.unscored)


def _observed(sides: _Sides, rule: Rule) -> tuple[float, float, int, bool]:
    """What the rule looks at, its limit, the cases behind it, and whether it is known."""
    if rule.allowed_failure_rate is not None:
        share, cases = _failing(sides, rule)
        return share, rule.allowed_failure_rate, cases, True
    if rule.bound == "worst run":
        value, cases = _worst_run(sides, rule)
        return value, rule.limit, cases, True
    ends, cases = _estimated(sides, rule)
    end = ends[rule.bound]
    return (0.0 if end is None else end), rule.limit, cases, end is not None


def _estimated(sides: _Sides, rule: Rule) -> tuple[dict[str, float | None], int]:
    """Point and bounds of what the rule is about, and the cases behind them."""
    if rule.quantity == "value":
        row = _summarised(sides.counts.select(sides.candidate), rule, sides)
        return {"point": row["value"], "lower": row["low"], "upper": row["high"]}, row["cases"]
    found = sides.compared(rule)
    if rule.quantity == "ratio":
        return _ratio_ends(found), found.cases
    return {"point": found.diff, "lower": found.low, "upper": found.high}, found.cases


def _ratio_ends(found: Comparison) -> dict[str, float | None]:
    if found.ratio is None:
        raise TrialsError(
            "a mean is not above 0, so there is no ratio. Write a rule on difference."
        )
    return {"point": found.ratio.value, "lower": found.ratio.low, "upper": found.ratio.high}


def _summarised(counts: Counts, rule: Rule, sides: _Sides) -> dict[str, Any]:
    name, units = rule.request.name, sides.units
    made = summary(counts, metrics=[name], level=rule.level, units=units, seed=sides.seed)
    row = made.row(0, named=True)
    if row["value"] is None:
        raise TrialsError(
            f"{row['config']!r} has no {name} on {many(len(counts), 'case')}: a measure that is "
            "not there, or too few trials for its k. Choose another metric."
        )
    return row


def _failing(sides: _Sides, rule: Rule) -> tuple[float, int]:
    """Share of cases that break the rule by themselves, and how many were judged."""
    if rule.request.shape in {"pooled", "fact"} or "_per_pass" in rule.request.name:
        raise ArgumentError(f"{rule.request.name} has no value per case to judge.")
    if rule.quantity == "difference":
        values = sides.compared(rule).pairs["diff"].to_numpy()
    else:
        cases = cases_of(sides.counts.select(sides.candidate).frame, clusters=False)
        values = rule.request.metric.values(cases, rule.request, "null")
        values = values[~np.isnan(values)]
    if not len(values):
        raise TrialsError(f"no case has {rule.request.name}. Choose another metric.")
    return float(np.mean(~_holds(values, rule))), len(values)


def _worst_run(sides: _Sides, rule: Rule) -> tuple[float, int]:
    """The candidate's worst run among those that hold the most cases, and its fewest scored."""
    if sides.trials is None:
        raise ArgumentError(
            "bound == 'worst run' needs the trials: pass trials=, as tr.read gives them."
        )
    source = source_of(sides.trials, {}, None)
    run = sources(source.plan, "trial")
    if not run:
        raise ColumnError("bound == 'worst run' needs a trial column: which run is which?")
    refuse_made_runs(source, "no run of them is the worst")
    unscored: Any = sides.counts.unscored
    if unscored not in POLICIES:
        raise ArgumentError(f"bound == 'worst run' needs one policy, not unscored = {unscored!r}.")
    case = sources(source.plan, "case")
    columns: dict[str, Any] = {"case": [*case, *run], "trial": None, "cluster": None}
    by = [name for name in sides.counts.by if name not in run]
    cells = count(sides.trials, unscored=unscored, by=by, **columns)
    mine = _part(cells.select(sides.candidate), rule.guard).frame
    parts = [part.drop(run) for part in mine.partition_by(run)]
    fullest = max(part.height for part in parts)
    complete = [part.filter(pl.col("n") > 0) for part in parts if part.height == fullest]
    scored = [part for part in complete if part.height]
    if not scored:
        raise TrialsError(f"{sides.candidate!r} has no complete run with a verdict.")
    values = [_summarised(Counts(part), rule, sides)["value"] for part in scored]
    worst = min if rule.sign.startswith(">") else max
    return worst(values), min(part.height for part in scored)


def _holds(values: Floats, rule: Rule) -> NDArray[np.bool_]:
    """Whether each value is on the right side of the limit; within rounding it is at it."""
    at = np.abs(values - rule.limit) <= TIE * max(abs(rule.limit), 1.0)
    beyond = values > rule.limit if rule.sign.startswith(">") else values < rule.limit
    reached = (beyond | at) if rule.sign.endswith("=") else (beyond & ~at)
    return np.asarray(reached, dtype=np.bool_)


def _why(row: dict[str, Any], rule: Rule) -> str:
    where = f" in {rule.guard}" if rule.guard else ""
    if row["status"] == "undecided":
        return f"no {rule.bound} bound of {rule.request.name}{where}: too few cases or clusters"
    if rule.allowed_failure_rate is not None:
        return (
            f"{percent(row['observed'])} of {many(row['cases'], 'case')}{where} break "
            f"{rule.request.name} {rule.text}, {percent(row['limit'])} may"
        )
    what = {"point": "", "lower": "lower bound of the ", "upper": "upper bound of the "}
    named = f"worst run's {rule.quantity}" if rule.bound == "worst run" else rule.quantity
    return (
        f"{what.get(rule.bound, '')}{named} of {rule.request.name}{where} is "
        f"{row['observed']:.6g}, must be {rule.sign} {rule.limit:g}"
    )


def _decided(
    asked: Policy, sides: _Sides, table: pl.DataFrame, made: Decision | None
) -> PolicyDecision:
    block = table.filter(pl.col("tier") == "block")
    failed = block.filter(pl.col("status") == "fail")
    open_ = block.filter(pl.col("status") == "undecided")
    warned = table.filter(pl.col("tier") == "warn", pl.col("status") != "pass")
    words = [made.verdict] if made else []
    words += ["dont_ship"] * failed.height + ["hold"] * open_.height
    verdict = next((word for word in ("dont_ship", "hold") if word in words), "ship")
    headline = _headline(verdict, block, sides.candidate, made)
    told = [f"rule {name!r}: {why}" for name, why in warned.select("name", "why").rows()]
    return PolicyDecision(
        verdict=verdict,
        headline=visible(_with_warnings(headline, warned["name"].to_list())),
        exit_code=EXIT_CODES[verdict],
        baseline=sides.baseline,
        candidate=sides.candidate,
        policy=asked.source,
        rules=table,
        gate=made,
        warnings=(*map(visible, told), *(made.warnings if made else ())),
    )


def _with_warnings(headline: str, names: list[str]) -> str:
    """A headline that ends with the rules of tier "warn" that do not hold."""
    if not names:
        return headline
    more = f" and {len(names) - MOST_WARNED} more" if len(names) > MOST_WARNED else ""
    told = f"{many(len(names), 'warning')}: {', '.join(names[:MOST_WARNED])}{more}"
    return f"{headline.removesuffix('.')}; {told}."


def _headline(verdict: str, block: pl.DataFrame, candidate: str, made: Decision | None) -> str:
    """The verdict and the first thing that decided it."""
    start = {"ship": "Ship", "hold": "Hold", "dont_ship": "Don't ship"}[verdict]
    status = {"hold": "undecided", "dont_ship": "fail"}.get(verdict, "")
    causes = block.filter(pl.col("status") == status)
    if causes.height:
        name, why = causes.select("name", "why").row(0)
        others = f"; and {many(causes.height - 1, 'other rule')}" if causes.height > 1 else ""
        return f"{start}: rule {name!r}: {why}{others}."
    if made is not None and made.verdict == verdict:
        return made.headline
    rules = "the one rule that decides" if block.height == 1 else f"all {block.height} rules"
    return f"{start}: {candidate} satisfies {rules}."
