"""Which cases to try again, so that a budget of trials decides as many as it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.counts import Counts
from trialframe.errors import ArgumentError, TrialsError
from trialframe.kernels.sequential import bernoulli_sequence, smallest, trials_to_decide

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

MANY = 1_000_000
"""Further trials beyond which a case is taken never to be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """What is known of R rows, each a case of one config or of a pair.

    Attributes:
        untried: Whether a side has no trial, shape (R,).
        needed: Further trials a side until it is decided, inf for never, shape (R,).
        width: Width of the wider confidence sequence, shape (R,).
        sides: Configs that are tried for one further trial a side.
    """

    untried: Bools
    needed: Floats
    width: Floats
    sides: int


def next_trials(
    counts: Counts,
    *,
    budget: int,
    baseline: str | None = None,
    candidate: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Say which cases to run again, and how often, within a budget.

    With one side named or none, a case is decided when its confidence sequence excludes 1/2: it
    passes more or less than half of its trials. With baseline and candidate it is decided when
    the sequences of both sides no longer meet, and both sides get the same trials.

    What stays valid after trials were added like this: the confidence sequence of each case (in
    `low` and `high`, at any time), and `tr.summary(counts, estimand="suite",
    stopping="adaptive")`. What does not: c / n of a case that was tried again because it was
    flaky, every mean of such rates, and so `tr.compare` and the other intervals of `tr.summary`.
    Keep a fixed number of trials per case for these, in a table of their own.

    Args:
        counts: What `tr.counts` made.
        budget: Trials to give away over all cases and configs, >= 1.
        baseline: Config to look at; by default every config on its own.
        candidate: Config to tell from the baseline, case by case.
        alpha: 1 minus the level of a case's confidence sequence, in (0, 1); half of it a side for
            pairs. It holds for each case, not for all at once.

    Returns:
        One row per config and case, those to run first: `config, case, n, c, rate, low, high`,
        `status` ("untried", "undecided", "decided"), `needed` (further trials a side until it is
        decided if the rate goes on as (c + 1) / (n + 2); null for never), `trials` to run now, and
        `reason`. The sum of `trials` is at most the budget.

    Raises:
        UnknownConfigError: A config is not in the counts.
        TrialsError: The two configs share no case.
        ArgumentError: A candidate without a baseline.

    Notes:
        Untried cases get one trial, then cases are given what they need, the cheapest first;
        what is left is spread evenly over the undecided cases that no budget decides, the most
        uncertain first. No draw is involved: the same counts give the same plan.

    References:
        Robbins 1970, Ann. Math. Stat. 41:1397.

    Examples:
        >>> import polars as pl, trialframe as tr
        >>> table = pl.DataFrame({"config": "a", "case": ["w", "x", "y", "z"], "n": [9, 4, 6, 0]})
        >>> made = tr.Counts(table.with_columns(c=pl.Series([9, 2, 6, 0])))
        >>> plan = tr.next_trials(made, budget=6)
        >>> for row in plan.select("case", "status", "needed", "trials").rows():
        ...     print(row)
        ('z', 'untried', None, 1)
        ('y', 'undecided', 4, 4)
        ('x', 'undecided', None, 1)
        ('w', 'decided', 0, 0)
    """
    budget = _checks.integer(budget, "budget", low=1)
    alpha = _checks.between(alpha, "alpha", inclusive=False)
    if not isinstance(counts, Counts):
        raise ArgumentError(f"counts is a {type(counts).__name__}, must be Counts.")
    if candidate is not None and baseline is None:
        raise ArgumentError("candidate is given without baseline. Name both, or one as baseline.")
    if candidate is not None and candidate == baseline:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    if baseline is None or candidate is None:
        chosen = counts if baseline is None else counts.select(baseline)
        return _alone(chosen.frame.sort("config", "case"), budget, alpha)
    both = counts.select(baseline, candidate).frame.filter(pl.len().over("case") == 2).sort("case")
    if both.is_empty():
        raise TrialsError(
            f"{baseline!r} and {candidate!r} share no case, so none can be told apart."
        )
    return _against(both, baseline, candidate, budget, alpha)


def _alone(frame: pl.DataFrame, budget: int, alpha: float) -> pl.DataFrame:
    n, c = (frame[name].to_numpy().astype(np.int64) for name in ("n", "c"))
    held = bernoulli_sequence(c, n, 1.0 - alpha)
    needed = trials_to_decide(c, n, 1.0 - alpha, MANY)
    state = _Open(untried=n == 0, needed=needed, width=held.high - held.low, sides=1)
    given = _shared_out(state, budget)
    words = {
        "decided": "it passes more, or less, than half of its trials",
        "goal": "on which side of one half its rate is",
    }
    return _table(
        frame.select("config", "case", "n", "c"), held.low, held.high, state, given, words
    )


def _against(
    both: pl.DataFrame, baseline: str, candidate: str, budget: int, alpha: float
) -> pl.DataFrame:
    first, second = (both.filter(pl.col("config") == name) for name in (baseline, candidate))
    n_a, c_a, n_b, c_b = (
        side[name].to_numpy().astype(np.int64) for side in (first, second) for name in ("n", "c")
    )
    level = 1.0 - alpha / 2.0
    a, b = bernoulli_sequence(c_a, n_a, level), bernoulli_sequence(c_b, n_b, level)
    rate_a, rate_b = (c_a + 1.0) / (n_a + 2.0), (c_b + 1.0) / (n_b + 2.0)

    def apart(more: Floats) -> Bools:
        one = bernoulli_sequence(c_a + more * rate_a, n_a + more, level)
        two = bernoulli_sequence(c_b + more * rate_b, n_b + more, level)
        return np.asarray((one.high < two.low) | (two.high < one.low))

    state = _Open(
        untried=(n_a == 0) | (n_b == 0),
        needed=smallest(apart, len(n_a), MANY),
        width=np.maximum(a.high - a.low, b.high - b.low),
        sides=2,
    )
    given = _shared_out(state, budget)
    words = {"decided": "the sides differ", "goal": "which side is better"}
    tables = [
        _table(side.select("config", "case", "n", "c"), held.low, held.high, state, given, words)
        for side, held in ((first, a), (second, b))
    ]
    joined = pl.concat([t.with_columns(place=pl.int_range(pl.len())) for t in tables])
    return joined.sort("place", maintain_order=True).drop("place")


def _shared_out(state: _Open, budget: int) -> Ints:
    """Trials a side for every row."""
    given = np.zeros(len(state.needed), dtype=np.int64)
    left = budget // state.sides
    new = np.flatnonzero(state.untried)[:left]
    given[new] = 1
    left -= len(new)
    near = np.flatnonzero(~state.untried & (state.needed > 0) & np.isfinite(state.needed))
    near = near[np.argsort(state.needed[near], kind="stable")]
    wanted = state.needed[near].astype(np.int64)
    given[near] = np.clip(left - (np.cumsum(wanted) - wanted), 0, wanted)
    left -= int(given[near].sum())
    far = np.flatnonzero(~state.untried & np.isinf(state.needed))
    if left and len(far):
        far = far[np.argsort(-state.width[far], kind="stable")]
        each, rest = divmod(left, len(far))
        given[far] = each
        given[far[:rest]] += 1
    return given


def _table(
    frame: pl.DataFrame,
    low: Floats,
    high: Floats,
    state: _Open,
    given: Ints,
    words: dict[str, str],
) -> pl.DataFrame:
    """Rows in the order of their claim on the budget."""
    never, done = np.isinf(state.needed), state.needed == 0
    place = np.select([state.untried, done, never], [0, 3, 2], default=1)
    status = np.select([state.untried, done], ["untried", "decided"], default="undecided")
    many = f"undecided, and no number of trials in sight tells {words['goal']}"
    reason = np.select(
        [state.untried, done, never],
        ["not tried yet", f"decided: {words['decided']}", many],
        default=f"undecided: `needed` trials more should tell {words['goal']}",
    )
    order = np.lexsort((-state.width, np.where(never, 0.0, state.needed), place))
    needed = np.where(never | state.untried, np.nan, state.needed)
    made = frame.with_columns(
        rate=pl.when(pl.col("n") > 0).then(pl.col("c") / pl.col("n")),
        low=pl.Series(low),
        high=pl.Series(high),
        status=pl.Series(status),
        needed=pl.Series(needed, nan_to_null=True).cast(pl.Int64),
        trials=pl.Series(given),
        reason=pl.Series(reason),
    )
    return made[order]
