"""Paired trials with a known truth: how cases are drawn, clustered and tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

SEED = 20
ALIKE = 0.6
"""Share of cases that take the rates of their cluster."""
RARE = 0.1
"""Share of cases that get much worse in a skewed change."""
GAIN = {0.5: 0.05, 0.9: 0.09}
"""What all other cases gain there, by rate of the baseline."""
LIFT = {0.5: 0.2, 0.9: 0.5}
"""Mean share of failures that a lift turns into passes."""
BETA = {0.5: (0.5, 0.5), 0.9: (1.8, 0.2)}
"""Distribution of case rates."""
TRUTHS = ("same", "independent", "skewed", "lift")


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Shared cases with trials on both sides.

    Attributes:
        name: What a table calls it.
        n_a: Trials of the baseline, shape (M,).
        n_b: Trials of the candidate.
        rate: Mean rate of the baseline: 0.5 or 0.9.
        truth: "same" (equal rates in every case), "independent" (rates of both sides drawn
            apart, equal means), "skewed" (most cases gain a little, few lose much, equal means),
            or "lift" (a share of the failures, which differs from case to case, is gone).
        cluster: Cluster codes, shape (M,), or None.
    """

    name: str
    n_a: Ints
    n_b: Ints
    rate: float
    truth: str = "same"
    cluster: Ints | None = None

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.n_a)

    @property
    def single(self) -> bool:
        """Whether these are single verdicts without clusters, where Tango's interval is used."""
        return self.cluster is None and bool(((self.n_a == 1) & (self.n_b == 1)).all())

    @property
    def means(self) -> tuple[float, float]:
        """Mean rate of the baseline and of the candidate over the population of cases."""
        if self.truth != "lift":
            return self.rate, self.rate
        return self.rate, self.rate + LIFT[self.rate] * (1.0 - self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Replicates of a design; passes have shape (M, R)."""

    design: Design
    c_a: Ints
    c_b: Ints

    @property
    def runs(self) -> int:
        """Number of replicates."""
        return self.c_a.shape[1]

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """Observed rates of both sides, shape (M, R)."""
        return self.c_a / self.design.n_a[:, None], self.c_b / self.design.n_b[:, None]

    @property
    def discordant(self) -> tuple[Ints, Ints]:
        """Cases that only the baseline passes and only the candidate passes, by majority."""
        a = 2 * self.c_a > self.design.n_a[:, None]
        b = 2 * self.c_b > self.design.n_b[:, None]
        return (a & ~b).sum(axis=0), (b & ~a).sum(axis=0)

    def first(self, runs: int) -> Sample:
        """The first replicates only."""
        return Sample(design=self.design, c_a=self.c_a[:, :runs], c_b=self.c_b[:, :runs])

    def pairs(self, run: int) -> pl.DataFrame:
        """One replicate, as a comparison takes it: one row per case."""
        a, b = (rates[:, run] for rates in self.rates)
        frame = pl.DataFrame(
            {
                "n_baseline": self.design.n_a,
                "c_baseline": self.c_a[:, run],
                "value_baseline": a,
                "n_candidate": self.design.n_b,
                "c_candidate": self.c_b[:, run],
                "value_candidate": b,
                "diff": b - a,
            }
        )
        codes = self.design.cluster
        return frame if codes is None else frame.with_columns(cluster=pl.Series(codes))


def drawn(design: Design, runs: int, rng: np.random.Generator) -> Sample:
    """Draw replicates of a design."""
    p_a, p_b = _rates(design, runs, rng)
    return Sample(
        design=design,
        c_a=rng.binomial(design.n_a[:, None], p_a),
        c_b=rng.binomial(design.n_b[:, None], p_b),
    )


def _rates(design: Design, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rates of both sides, shape (M, R)."""
    cluster, shape = design.cluster, (design.cases, runs)
    own = rng.random(shape) >= ALIKE if cluster is not None else np.ones(shape, dtype=np.bool_)

    def mixed(draw: Callable[[tuple[int, int]], Floats]) -> Floats:
        """What a case draws for itself, or shares with its cluster."""
        if cluster is None:
            return draw(shape)
        return np.where(own, draw(shape), draw((int(cluster.max()) + 1, runs))[cluster])

    if design.truth == "skewed":
        gain = GAIN[design.rate]
        change = np.where(mixed(rng.random) < RARE, gain - gain / RARE, gain)
        return np.full(shape, design.rate), design.rate + change
    p_a = mixed(partial(rng.beta, *BETA[design.rate]))
    if design.truth == "same":
        return p_a, p_a
    # with clusters a lift alone would hardly be shared: there both sides are drawn apart
    apart = design.truth == "independent" or cluster is not None
    p_b = mixed(partial(rng.beta, *BETA[design.rate])) if apart else p_a
    if design.truth == "independent":
        return p_a, p_b
    lift = mixed(partial(rng.uniform, 0.0, 2.0 * LIFT[design.rate]))
    return p_a, 1.0 - (1.0 - p_b) * (1.0 - lift)


def independent(
    cases: int, trials: int, rate: float, truth: str = "same", name: str = ""
) -> Design:
    """Every case by itself, with as many trials on both sides."""
    n = np.full(cases, trials)
    return Design(name=name or f"{cases} cases", n_a=n, n_b=n, rate=rate, truth=truth)


CLUSTERS = {
    "5 clusters of 10": (10,) * 5,
    "10 clusters of 10": (10,) * 10,
    "30 clusters of 5": (5,) * 30,
    "one of 40, 12 of 5": (40, *(5,) * 12),
}
"""Sizes of clusters."""


def clustered(
    name: str, sizes: Sequence[int], trials: int, rate: float, truth: str = "independent"
) -> Design:
    """Cases in clusters that share a part of their rates."""
    n = np.full(sum(sizes), trials)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return Design(name=name, n_a=n, n_b=n, rate=rate, truth=truth, cluster=codes)


RAGGED = ("1 against 10", "1 to 8, mixed")


def ragged(kind: str, cases: int, rate: float, truth: str = "same") -> Design:
    """Trial counts that differ: between the sides, or between cases and sides."""
    if kind == "1 against 10":
        n_a, n_b = np.full(cases, 1), np.full(cases, 10)
    else:
        place = np.arange(cases)
        n_a, n_b = 2 ** (place % 4), 2 ** ((place + 1 + place // 4) % 4)
    return Design(name=f"{kind}, {cases} cases", n_a=n_a, n_b=n_b, rate=rate, truth=truth)
