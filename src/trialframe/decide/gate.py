"""Should the candidate take the baseline's place? Ship, hold or don't ship."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.comparison.result import Comparison
from trialframe.decide import holds, words
from trialframe.decide.groups import SUMS, Guard, part_sums
from trialframe.errors import ArgumentError, TrialsError, short, visible
from trialframe.kernels import gate as kernel
from trialframe.kernels.draws import majority
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.kernels.gate import Ledger, Terms
    from trialframe.results import Estimate

MOST_BREAK_COST = 1e6
EXIT_CODES = {"ship": 0, "hold": 1, "dont_ship": 1}

NO_CASES = {
    "case": pl.String,
    **dict.fromkeys(("n_baseline", "c_baseline", "n_candidate", "c_candidate", *SUMS), pl.Int64),
}
"""What a comparison that is none has in place of its pairs."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Decision(Result):
    """The verdict of a gate, its numbers and its reasons.

    Attributes:
        verdict: "ship", "hold" or "dont_ship".
        headline: One line with the numbers that decided.
        claim: One sentence, no stronger than the verdict.
        reasons: Every condition and how it came out.
        warnings: What weakens the decision.
        exit_code: 0 ship, 1 hold or don't ship.
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        outcome: What a win is made of: "majority" (c > n/2 on each side), never the rates.
        cases: Shared cases.
        wins: Cases that only the candidate passes.
        losses: Cases that only the baseline passes.
        ties: Cases where both do the same.
        solved: Cases that the baseline passes.
        net_gain: wins - break_cost losses.
        pvalue: Probability of as many wins among the changed cases if the net gain were 0.
        p_losses: Probability of as many losses if a loss were as likely as a win.
        breakage: losses / solved; 0 when the baseline solves nothing.
        smallest_clean_win: Fewest wins that ship when nothing breaks.
        wins_missing: Fewest further wins that would ship, losses as they are; 0 when it ships,
            None when wins alone do not help: breakage is too high, a group is breached, the two
            cannot be compared, or the wins rest on unequal trial counts or on few clusters.
        break_cost: Wins that one loss costs.
        alpha: Level of both tests.
        max_breakage: Largest acceptable breakage.
        by: Columns whose groups were looked at.
        looks: Looks at this gate so far, this one included.
        groups: One row per group and guard set: `kind, name, cases, wins, losses, ties, solved,
            net_gain, breakage, breached, why`.
        ignores_clusters: Whether the cases have clusters, which `pvalue` and `p_losses` do not
            know of.
        clusters: Number of clusters; None when there are none.
        p_clusters: One-sided sign flip of whole clusters' net gains, below alpha to ship; None
            without clusters.
        broken: Names of the cases lost, sorted.
    """

    _unit: ClassVar[str | None] = "trials"
    _drawing: ClassVar[tuple[str, str, str]] = ("Cases won and lost", "level", "shared cases")

    verdict: str
    headline: str = ""
    claim: str = ""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    exit_code: int
    baseline: str
    candidate: str
    outcome: str = "majority"
    cases: int
    wins: int
    losses: int
    ties: int
    solved: int
    net_gain: float
    pvalue: float
    p_losses: float
    breakage: float
    smallest_clean_win: int
    wins_missing: int | None
    break_cost: float
    alpha: float
    max_breakage: float
    by: tuple[str, ...]
    looks: int
    groups: pl.DataFrame = field(compare=False)
    ignores_clusters: bool
    clusters: int | None
    p_clusters: float | None
    broken: tuple[str, ...] = ()

    def _estimates(self) -> list[Estimate]:
        numbers = {"wins": self.wins, "losses": self.losses, "ties": self.ties}
        return [(name, float(number), None, None) for name, number in numbers.items()]

    def __repr__(self) -> str:
        """The headline, the reasons and what weakens it."""
        return "\n".join([self.headline, *(f"- {t}" for t in (*self.reasons, *self.warnings))])


def gate(
    comparison: Comparison,
    *,
    break_cost: float = 2,
    alpha: float = 0.05,
    max_breakage: float = 0.10,
    by: str | Sequence[str] | None = None,
    guard: Guard | Sequence[Guard] | None = (),
    looks: int = 1,
) -> Decision:
    """Decide whether to ship the candidate: it must gain clearly more than it breaks.

    A case is a win when only the candidate passes it by majority (c > n/2), a loss when only the
    baseline does. Do not use it to ask how large the difference is (`tr.compare` says), nor
    again and again on a growing suite: the level holds for one look.

    Args:
        comparison: What `tr.compare` made.
        break_cost: Wins that one broken case costs, 1 to 1,000,000.
        alpha: Level of both tests, in (0, 1].
        max_breakage: Largest acceptable share of broken cases among those that the baseline
            solves, in [0, 1].
        by: Columns of the counts whose groups must not be breached.
        guard: Sets of cases that must not be breached: "column=value", a Polars expression over
            the columns of `comparison.pairs`, a mapping from name to cases, or several of these.
        looks: Looks at this gate so far, this one included, >= 1.

    Returns:
        A `Decision`.

    Raises:
        ArgumentError: A setting outside its range; a guard value or case that does not occur.
        ColumnError: A column that the shared cases do not have.

    Notes:
        With w wins, l losses, s solved cases and lambda = break_cost: ship iff w - lambda l > 0,
        P(Bin(w + l, lambda/(1 + lambda)) >= w) < alpha and l/s <= max_breakage. A group or guard
        set is breached when it has a loss and w - lambda l <= 0 or l/s > max_breakage. In this
        order: a breach -> don't ship; ship; P(Bin(w + l, 1/2) >= l) < alpha -> don't ship; hold.
        Where the two cannot be compared it holds, and also where only unequal trial counts
        ship: at equal counts the expected wins and losses must ship too. Boundaries are decided
        on fractions, the settings taken as the decimals they are typed as. Both tests take cases
        as independent. Where there are clusters, shipping also needs P(sum e_g s_g >= sum s_g) <
        alpha, s_g the net gain of cluster g and e_g its sign, + or - alike; else it holds.
        The flip is exact for break_cost = 1; above it net gains lean to one side and with few
        clusters it is approximate: 12 that vary a lot ship in .058 of the runs at 2, .071 at 4.
        `tr.compare(..., units="cases")` drops the clusters, and this check with them.

    References:
        Wang et al. 2026 (arXiv 2609.36043); McNemar 1947, Psychometrika 12:153.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.2, seed=3)
        >>> made = tr.gate(tr.compare(tr.counts(trials), "base", "new"))
        >>> made.verdict, made.wins, made.losses, made.exit_code
        ('ship', 27, 4, 0)
    """
    if not isinstance(comparison, Comparison):
        raise ArgumentError(
            f"comparison is a {type(comparison).__name__}, must be what tr.compare(...) returns."
        )
    terms = terms_of(break_cost, alpha, max_breakage)
    by = tuple(dict.fromkeys(_checks.names(by, "by")))
    looks = _checks.integer(looks, "looks", low=1)
    comparable = comparison.verdict != holds.DIFFER
    cases = _ledger(comparison) if comparable else pl.DataFrame(schema=NO_CASES)
    sums = {name: int(cases[name].sum()) for name in SUMS}
    found = kernel.ledger(sums["wins"], sums["losses"], sums["solved"], terms)
    parts = (
        part_sums(cases, by, () if guard is None else guard, units=comparison.settings.units)
        if comparable
        else part_sums(cases, (), ())
    )
    groups = _groups(parts, terms)
    breached = bool(groups["breached"].any())
    blocked = holds.blocked(comparison, sums["solved"])
    verdict = "hold" if blocked else str(kernel.verdicts(found, breached=breached))
    clusters, flips = holds.flipped(cases, terms)
    if verdict == "ship" and (held := holds.held(cases, sums["solved"], flips, terms)):
        verdict, blocked = "hold", held
    made = Decision(
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        wins_missing=None if blocked or breached or found.broken else int(found.wins_missing),
        by=by,
        looks=looks,
        groups=groups,
        ignores_clusters=clusters is not None,
        clusters=clusters,
        p_clusters=None if flips is None else flips.greater,
        broken=tuple(cases.filter(pl.col("losses") > 0)["case"].sort()),
        **_numbers(sums, found, terms),
    )
    return replace(
        made,
        headline=visible(words.headline(made, blocked)),
        claim=visible(words.claim(made, blocked)),
        reasons=tuple(map(visible, words.reasons(made, blocked, found))),
        warnings=tuple(map(visible, _warnings(made, comparison, found, blocked))),
    )


def _numbers(sums: dict[str, int], found: Ledger, terms: Terms) -> dict[str, Any]:
    """The ledger of the whole suite and the settings, by the fields of `Decision`."""
    return {
        **sums,
        "ties": sums["cases"] - sums["wins"] - sums["losses"],
        "net_gain": float(found.net_gain),
        "pvalue": float(found.pvalue),
        "p_losses": float(found.p_losses),
        "breakage": float(found.breakage),
        "smallest_clean_win": kernel.smallest_clean_win(terms),
        "break_cost": float(terms.break_cost),
        "alpha": float(terms.alpha),
        "max_breakage": float(terms.max_breakage),
    }


def terms_of(break_cost: object, alpha: object, max_breakage: object) -> Terms:
    """The settings as the decimals they are typed as.

    Raises:
        ArgumentError: A setting outside its range.
    """
    if isinstance(break_cost, Real) and break_cost < 1:
        raise ArgumentError(
            f"break_cost == {short(break_cost)}, must be at least 1: below it a broken case would "
            "cost less than a gained one is worth."
        )
    cost = _checks.between(break_cost, "break_cost", low=1.0, high=MOST_BREAK_COST)
    level = _checks.between(alpha, "alpha")
    if level == 0:
        raise ArgumentError("alpha == 0, must be above 0 and at most 1: at 0 nothing ships.")
    limit = _checks.between(max_breakage, "max_breakage")
    return kernel.Terms(
        break_cost=Fraction(str(cost)),
        alpha=Fraction(str(level)),
        max_breakage=Fraction(str(limit)),
    )


def _ledger(comparison: Comparison) -> pl.DataFrame:
    """The shared cases with trials on both sides, and whether each is a win, a loss, solved."""
    pairs = comparison.pairs.filter((pl.col("n_baseline") > 0) & (pl.col("n_candidate") > 0))
    if pairs.is_empty():
        raise TrialsError(
            f"{comparison.baseline!r} and {comparison.candidate!r} share no case with scored "
            "trials on both sides, so there is nothing to decide. Compare configs that ran the "
            "same cases."
        )
    before, after = (
        majority(pairs[f"n_{side}"].to_numpy(), pairs[f"c_{side}"].to_numpy())
        for side in ("baseline", "candidate")
    )
    flags = {"wins": after & ~before, "losses": before & ~after, "solved": before}
    columns = [pl.Series(name, flag.astype(np.int64)) for name, flag in flags.items()]
    return pairs.with_columns(*columns, cases=pl.lit(1, dtype=pl.Int64))


def _groups(sums: pl.DataFrame, terms: Terms) -> pl.DataFrame:
    """The ledger of every group and guard set, and why it is breached."""
    won, lost, passed = (sums[name].to_numpy() for name in ("wins", "losses", "solved"))
    found = kernel.ledger(won, lost, passed, terms)
    table = sums.select(
        "kind",
        "name",
        "cases",
        "wins",
        "losses",
        (pl.col("cases") - pl.col("wins") - pl.col("losses")).alias("ties"),
        "solved",
        pl.Series("net_gain", found.net_gain, pl.Float64),
        pl.Series("breakage", found.breakage, pl.Float64),
        pl.Series("breached", found.breached, pl.Boolean),
    )
    limit = float(terms.max_breakage)
    why = [
        words.why_breached(row, limit, broken=bool(broken)) if row["breached"] else None
        for row, broken in zip(table.iter_rows(named=True), found.broken, strict=True)
    ]
    return table.with_columns(pl.Series("why", why, pl.String))


def _warnings(
    made: Decision, comparison: Comparison, found: Ledger, blocked: str | None
) -> list[str]:
    """What weakens the decision, one text each."""
    told: list[str] = []
    if made.looks > 1:
        told.append(
            f"look {made.looks} at this gate: its level holds for one look, repeated gating is "
            "not controlled; a sequential test by e-values may be looked at any time"
        )
    flips = made.p_clusters
    known = flips is None or (blocked or "").startswith(holds.FLIPPED)
    if flips is not None and not known and (flips < made.alpha) != bool(found.proven):
        told.append(
            f"the test takes cases as independent; with the signs of {made.clusters:,} whole "
            f"clusters flipped p = {flips:.3g}, which says otherwise than "
            f"p = {made.pvalue:.3g} at {made.alpha:g}"
        )
    if comparison.verdict != holds.DIFFER:
        told += _about_majorities(comparison)
    against = {"ship": "worse", "dont_ship": "better"}.get(made.verdict)
    if comparison.verdict == against:
        told.append(f"the comparison of {comparison.metric} says {against}: look at both")
    return told + [f"of the comparison: {text}" for text in comparison.warnings]


def _about_majorities(comparison: Comparison) -> list[str]:
    """Where one pass or failure a case says too little, or is not what was compared."""
    pairs, told = comparison.pairs, []
    pairs = pairs.filter((pl.col("n_baseline") > 0) & (pl.col("n_candidate") > 0))
    differ = int((pairs["n_baseline"] != pairs["n_candidate"]).sum())
    if differ:
        gained, lost = holds.at_equal_counts(pairs)
        told.append(
            f"trial counts differ in {words.many(differ, 'case')}, and the majority of more trials "
            f"is steadier: at equal counts {gained:.1f} wins and {lost:.1f} losses are expected"
        )
    half = [pl.col(f"c_{side}") * 2 == pl.col(f"n_{side}") for side in ("baseline", "candidate")]
    halves = pairs.filter(pl.any_horizontal(half)).height
    if halves:
        told.append(
            f"{words.many(halves, 'case')} passed exactly half of the trials on some side, which "
            "is no majority: not passed"
        )
    if comparison.metric != "pass@1":
        told.append(f"the gate counts passes by majority, not {comparison.metric}")
    if "weight" in pairs.columns and pairs["weight"].n_unique() > 1:
        told.append("the gate does not use case weights: every case counts once")
    return told
