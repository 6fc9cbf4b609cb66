"""Halves of the cases against each other: does the leaderboard of one half hold on the other?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialframe.kernels.anova import coefficients, half_weights, mean_squares
from trialframe.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.reliability._design import Design

    Floats = NDArray[np.float64]

FEWEST_CONFIGS = 3
FEWEST_UNITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitHalf(Result):
    """Random halves of the cases (of whole clusters): one trains, the other is held out.

    Attributes:
        splits: Number of random halves.
        cases: Cases that all configs have, of which each half takes about one in two.
        agreement: Mean correlation of the config means of the two halves.
        agreement_low: Value below which 2.5 % of the splits lie; not a confidence bound.
        agreement_high: Value above which 2.5 % lie.
        full_length: The agreement expected between two boards as long as this one
            (Spearman-Brown).
        rank_agreement: Mean rank correlation.
        same_leader: Share of splits in which both halves have the same leader.
        g_train: Mean G coefficient of the training half.
        g_held_out: Mean G coefficient of the held-out half.
        g_correlation: Correlation of the two over splits. Halves of one suite share its cases
            out between them, so it is usually negative and says little about other suites.
    """

    splits: int
    cases: int
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    full_length: float | None
    rank_agreement: float | None
    same_leader: float | None
    g_train: float | None
    g_held_out: float | None
    g_correlation: float | None


def split_half(design: Design, splits: int, rng: np.random.Generator) -> SplitHalf | None:
    """Split the cases that all configs have; None with few configs or units."""
    shared = np.flatnonzero((design.cells.n > 0).all(axis=0))
    if len(design.configs) < FEWEST_CONFIGS or len(shared) < FEWEST_UNITS:
        return None
    unit = np.unique(design.unit[shared], return_inverse=True)[1]
    if int(unit.max()) + 1 < FEWEST_UNITS:
        return None
    cells = design.cells.take(shared)
    train = half_weights(unit, splits, rng)
    halves = (train, 1.0 - train)
    means = [w @ cells.mean.T / w.sum(axis=1, keepdims=True) for w in halves]
    agreement = _correlations(*means)
    ranks = _correlations(*(_ranks(side) for side in means))
    leaders = [side.argmax(axis=1) for side in means]
    g = [_g(mean_squares(cells, w).raw, w.sum(axis=1), cells.n) for w in halves]
    step = float(np.nanmean(agreement)) if not np.isnan(agreement).all() else np.nan
    low, high = _middle(agreement)
    return SplitHalf(
        splits=splits,
        cases=len(shared),
        agreement=_plain(step),
        agreement_low=low,
        agreement_high=high,
        full_length=_plain(2.0 * step / (1.0 + step)) if step > -1 else None,
        rank_agreement=_mean(ranks),
        same_leader=float((leaders[0] == leaders[1]).mean()),
        g_train=_mean(g[0]),
        g_held_out=_mean(g[1]),
        g_correlation=_plain(_correlations(g[0][None], g[1][None])[0]) if splits > 2 else None,
    )


def _g(raw: Floats, cases: Floats, n: NDArray[np.int64]) -> Floats:
    return coefficients(raw, cases, float(n.size / (1.0 / n).sum())).g


def _correlations(one: Floats, two: Floats) -> Floats:
    """Correlation of each row of `one` with that of `two`; NaN where one does not vary."""
    known = ~np.isnan(one) & ~np.isnan(two)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    sides = [np.where(known, side, 0.0) for side in (one, two)]
    sides = [np.where(known, s - s.sum(axis=1, keepdims=True) / count, 0.0) for s in sides]
    squares = [(s**2).sum(axis=1) for s in sides]
    scale = np.sqrt(squares[0] * squares[1])
    out = np.full(len(one), np.nan)
    np.divide((sides[0] * sides[1]).sum(axis=1), scale, out=out, where=scale > 1e-15)
    return out


def _ranks(means: Floats) -> Floats:
    from scipy.stats import rankdata

    made: Floats = np.asarray(rankdata(means, axis=1), dtype=np.float64)
    return made


def _middle(values: Floats) -> tuple[float | None, float | None]:
    kept = values[~np.isnan(values)]
    if not len(kept):
        return None, None
    low, high = np.quantile(kept, [0.025, 0.975])
    return float(low), float(high)


def _mean(values: Floats) -> float | None:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
