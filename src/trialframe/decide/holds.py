"""What keeps a gate from shipping though its numbers would: held, with the reason in words."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from trialframe.decide import words
from trialframe.kernels import gate as kernel

if TYPE_CHECKING:
    import polars as pl

    from trialframe.comparison.result import Comparison
    from trialframe.kernels.gate import Terms
    from trialframe.kernels.signflip import SignFlip

DIFFER = "not comparable"
ROUNDING = 1e-9
"""What sums of chances may be off by."""
FLIPPED = "the wins do not hold when whole clusters are flipped"


def blocked(comparison: Comparison, solved: int) -> str | None:
    """Why nothing can be decided about these two, if so."""
    if comparison.verdict == DIFFER:
        return comparison.claim.rstrip(".")
    told = any("regression to the mean" in text for text in comparison.warnings)
    left, added = comparison.only_baseline, comparison.only_candidate
    if told or (left > 0 and added == 0 and solved == 0):
        return (
            "the candidate ran only on cases that the baseline failed, so it can only gain there "
            "(regression to the mean); run it on the other cases too"
        )
    return None


def held(cases: pl.DataFrame, solved: int, flips: SignFlip | None, terms: Terms) -> str | None:
    """Why wins and losses that ship are not enough, if so."""
    return _owed_to_trials(cases, solved, terms) or _owed_to_clusters(flips, terms)


def _owed_to_trials(cases: pl.DataFrame, solved: int, terms: Terms) -> str | None:
    """Why the wins may come from unequal trial counts alone, if so."""
    if (cases["n_baseline"] == cases["n_candidate"]).all():
        return None
    gained, lost = at_equal_counts(cases)
    found = kernel.ledger(floor(gained + ROUNDING), ceil(lost - ROUNDING), solved, terms)
    if str(kernel.verdicts(found, breached=False)) == "ship":
        return None
    return (
        "trial counts differ, and the majority of more trials is steadier: at equal counts "
        f"{gained:.1f} wins and {lost:.1f} losses are expected, which would not ship; run both "
        "equally often"
    )


def _owed_to_clusters(flips: SignFlip | None, terms: Terms) -> str | None:
    """Why the wins may come from few clusters alone, if so."""
    if flips is None or kernel.flips_below(flips, terms.alpha):
        return None
    return (
        f"{FLIPPED}: p = {flips.greater:.3g} over "
        f"{words.many(flips.changed, 'cluster')} with a net gain or loss, not below "
        f"{float(terms.alpha):g} (units = cases would drop the clusters, and this check with them)"
    )


def at_equal_counts(cases: pl.DataFrame) -> tuple[float, float]:
    """Wins and losses to expect had both sides run the fewer trials of each case."""
    sides = (f"{name}_{side}" for side in ("baseline", "candidate") for name in ("n", "c"))
    return kernel.fair_changes(*(cases[name].to_numpy() for name in sides))


def flipped(cases: pl.DataFrame, terms: Terms) -> tuple[int | None, SignFlip | None]:
    """Number of clusters, and the test that flips their net gains."""
    if "cluster" not in cases.columns:
        return None, None
    codes = cases["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    win, loss = (cases[name].to_numpy() > 0 for name in ("wins", "losses"))
    flips = kernel.cluster_check(win, loss, codes, terms, np.random.default_rng(0))
    return int(codes.max()) + 1, flips
