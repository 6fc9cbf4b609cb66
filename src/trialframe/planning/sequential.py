"""Comparing while trials come in: a verdict and an interval that hold whenever one looks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.errors import ArgumentError
from trialframe.kernels.betting import Betting, betting_interval, betting_path
from trialframe.kernels.sequential import anytime_pvalue, log_e_one_sided, log_e_two_sided
from trialframe.planning.ordered import Ordered, ordered_pairs
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from trialframe.charts._theme import Chart, Theme
    from trialframe.read._fields import Columns

_LARGEST = 690.0  # natural log of the largest e that is given as a number


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sequential(Result):
    """Where a comparison stands after the pairs so far.

    Attributes:
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        verdict: "better", "worse", or "continue".
        decided_at: Number of pairs after which the verdict stood, or None.
        e: Evidence against wins and losses being equally likely, after the last pair; None where
            it is too large for a number.
        log_e: Its natural logarithm.
        pvalue: 1 over the largest e so far: valid at any time.
        alpha: Chance of a wrong verdict, however often one looks.
        pairs: Cases with an outcome on both sides.
        wins: Pairs that only the candidate passed, by majority of its trials.
        losses: Pairs that only the baseline passed.
        diff: Mean difference of pass rates over the pairs.
        low: Lower end of its confidence sequence at level 1 - alpha.
        high: Upper end.
        trials: Trials per case and side that make an outcome.
        order: Where the order comes from.
        break_cost: What a loss costs in wins, or None.
        net_log_e: Log e-value against the wins not paying for the losses, or None.
        net_pvalue: Its p-value, valid at any time, or None.
        pays: Whether the wins have been shown to pay for the losses; None without `break_cost`.
        incomplete: Cases with too few trials on a side, left out.
        unscored: Cases with a trial that has no verdict, left out.
        warnings: What weakens the statement.
        claim: One sentence.
        path: One row per pair, in order: `pair, case, rate_baseline, rate_candidate, diff,
            wins, losses, log_e, pvalue, low, high`; the bounds on a grid of 0.002, outwards, but
            in the last row, which holds `low` and `high` themselves.
    """

    baseline: str
    candidate: str
    verdict: str
    decided_at: int | None
    e: float | None
    log_e: float
    pvalue: float
    alpha: float
    pairs: int
    wins: int
    losses: int
    diff: float
    low: float
    high: float
    trials: int
    order: str
    break_cost: float | None
    net_log_e: float | None
    net_pvalue: float | None
    pays: bool | None
    incomplete: int
    unscored: int
    warnings: tuple[str, ...]
    claim: str
    path: pl.DataFrame = field(repr=False, compare=False)

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """Evidence and interval after every pair; see `Result.plot`."""
        from trialframe import charts

        return charts.sequential(
            self.path,
            alpha=self.alpha,
            decided_at=self.decided_at,
            sides=(self.baseline, self.candidate),
            diff=self.diff,
            left_out=self.incomplete + self.unscored,
            theme=theme,
            width=width,
        )


def sequential(
    trials: Any,
    baseline: str,
    candidate: str,
    *,
    order: str | Sequence[str] = "started_at",
    first: int = 1,
    unscored: str = "exclude",
    break_cost: float | None = None,
    alpha: float = 0.05,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> Sequential:
    """Compare two configs while cases are still being run, and stop when it is decided.

    Look after every case if you like: the chance of a wrong verdict stays below alpha. The price:
    an 80 % chance of a verdict takes 1.5 to 1.9 times the cases of a test that looks once, though
    half of the time it comes sooner. Where the number of cases is fixed use `tr.compare`. The
    cases must come in random order: sort them by difficulty or by repository and neither the
    verdict nor the interval holds for the suite.

    Args:
        trials: One row per trial: a table or files, what `tr.read` takes. Counts have no order.
        baseline: Config to compare with.
        candidate: Config under test.
        order: Column that says when a trial was run, or the cases in the order in which they
            were run. A pair enters when its last trial is there; ties go by name.
        first: K, the number of trials per case and side that make an outcome, >= 1; the first K
            by trial number. It must have been fixed beforehand: an outcome made of "as many
            trials as there are" would depend on who was tried again.
        unscored: "exclude" leaves a case out that has a trial without a verdict among the first
            K, "fail" takes the trial as failed.
        break_cost: What a loss costs in wins, >= 1; tests whether the wins pay.
        alpha: Chance of a wrong verdict, in (0, 1).
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.read`.

    Returns:
        A `Sequential`.

    Raises:
        ColumnError: There is no such order column.
        TrialsError: No case has K trials on both sides, or the first K cannot be told.
        ArgumentError: An order that does not hold every case.
        UnknownConfigError: A config is not in the table.

    Notes:
        Of the pairs that differ, w wins and l losses in m = w + l give e = 2^m w! l! / (m + 1)!,
        a fair bet against a chance of 1/2; it reaches 1 / alpha with probability at most alpha.
        With `break_cost` b the bet is against a chance of b / (1 + b) or less. The interval is a
        betting confidence sequence of (d + 1) / 2, d the difference of pass rates of a pair. The
        two may disagree for a while: the verdict follows e.

    References:
        Ville 1939; Robbins 1970; Waudby-Smith and Ramdas 2024, J. R. Stat. Soc. B 86:1.

    Examples:
        >>> import datetime, trialframe as tr
        >>> start = datetime.datetime(2026, 1, 1)
        >>> trials = tr.simulate(
        ...     configs=["base", "new"], cases=300, trials=1, lift=0.2, started_at=start, seed=1
        ... )
        >>> found = tr.sequential(trials, "base", "new")
        >>> found.verdict, found.decided_at, found.wins, found.losses
        ('better', 47, 80, 22)
    """
    alpha = _checks.between(alpha, "alpha", inclusive=False)
    first = _checks.integer(first, "first", low=1)
    fail = _checks.one_of(unscored, "unscored", ("exclude", "fail")) == "fail"
    if break_cost is not None:
        break_cost = _checks.between(break_cost, "break_cost", low=1.0, high=1e6)
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    data = ordered_pairs(
        trials,
        baseline,
        candidate,
        order=order,
        first=first,
        fail=fail,
        threshold=threshold,
        columns=columns,
    )
    return _followed(data, baseline, candidate, first, alpha, break_cost)


def _followed(
    data: Ordered, baseline: str, candidate: str, first: int, alpha: float, cost: float | None
) -> Sequential:
    path, needed = _path(data, first, 1.0 - alpha), -log(alpha)
    diff, wins, losses, log_e = (
        path[name].to_numpy() for name in ("diff", "wins", "losses", "log_e")
    )
    crossed = np.flatnonzero(log_e >= needed)
    at = int(crossed[0]) if len(crossed) else None
    net = None if cost is None else log_e_one_sided(wins, losses, cost / (1.0 + cost))
    last = float(log_e[-1])
    made = Sequential(
        baseline=baseline,
        candidate=candidate,
        verdict="continue" if at is None else "better" if wins[at] > losses[at] else "worse",
        decided_at=None if at is None else at + 1,
        e=exp(last) if last < _LARGEST else None,
        log_e=last,
        pvalue=float(path["pvalue"][-1]),
        alpha=alpha,
        pairs=len(diff),
        wins=int(wins[-1]),
        losses=int(losses[-1]),
        diff=float(diff.mean()),
        low=float(path["low"][-1]),
        high=float(path["high"][-1]),
        trials=first,
        order=data.order,
        break_cost=cost,
        net_log_e=None if net is None else float(net[-1]),
        net_pvalue=None if net is None else float(anytime_pvalue(net)[-1]),
        pays=None if net is None else bool(net.max() >= needed),
        incomplete=data.incomplete,
        unscored=data.unscored,
        warnings=data.warnings,
        claim="",
        path=path,
    )
    return replace(made, claim=_claim(made))


def _path(data: Ordered, first: int, level: float) -> pl.DataFrame:
    """One row per pair: outcomes, evidence and bounds so far."""
    a, b = (data.frame[name].to_numpy() for name in ("c_baseline", "c_candidate"))
    passed_a, passed_b, diff = 2 * a > first, 2 * b > first, (b - a) / first
    wins, losses = np.cumsum(passed_b & ~passed_a), np.cumsum(passed_a & ~passed_b)
    log_e = log_e_two_sided(wins, losses)
    scores, how = (diff + 1.0) / 2.0, Betting(level=level)
    bounds, last = betting_path(scores, how), betting_interval(scores, how)
    bounds.low[-1], bounds.high[-1] = last.low, last.high  # finer than the grid
    return pl.DataFrame(
        {
            "pair": np.arange(1, len(diff) + 1),
            "case": data.frame["case"],
            "rate_baseline": a / first,
            "rate_candidate": b / first,
            "diff": diff,
            "wins": wins,
            "losses": losses,
            "log_e": log_e,
            "pvalue": anytime_pvalue(log_e),
            "low": 2.0 * bounds.low - 1.0,
            "high": 2.0 * bounds.high - 1.0,
        }
    )


def _claim(made: Sequential) -> str:
    told = (
        f"{made.candidate} against {made.baseline}: {made.wins} wins and {made.losses} losses in "
        f"{made.pairs:,} pairs, {made.diff:+.4g} [{made.low:+.4g}, {made.high:+.4g}], "
        f"p = {made.pvalue:.3g} at any time"
    )
    if made.decided_at is None:
        told += "; not decided yet."
    else:
        told += f"; {made.verdict} from pair {made.decided_at:,} on."
    if made.pays is None:
        return told
    words = "pay" if made.pays else "have not been shown to pay"
    return f"{told} Wins {words} for losses at {made.break_cost:g} each."
