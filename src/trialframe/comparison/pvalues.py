"""Tests of no difference on the pairs of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from trialframe.estimate.metrics import Cases
from trialframe.kernels import paired
from trialframe.kernels.lattice import cluster_sums, score_differences
from trialframe.kernels.permutation import LARGEST, drawn_permutation
from trialframe.kernels.signflip import rate_test, sign_flip
from trialframe.results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.comparison.pairs import Difference
    from trialframe.kernels.signflip import SignFlip

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TESTS = ("sign-flip", "mcnemar", "mid-p")


@dataclass(frozen=True, slots=True, kw_only=True)
class PValue(Result):
    """A p-value and what is behind it.

    Attributes:
        pvalue: Two-sided.
        greater: One-sided, small when the candidate is higher.
        less: One-sided, small when it is lower.
        permutation: P-value of the permutation within cases, where trial counts differ.
        changed: Units whose sum of differences is not 0.
        name: What was tested and how.
        exact: Whether the test is exact.
    """

    pvalue: float
    greater: float
    less: float
    permutation: float | None
    changed: int
    name: str
    exact: bool


def tested_with(data: Difference, test: str, seed: int) -> PValue:
    """The test of no difference that the settings name."""
    flips = flipped(data, Fraction(0), seed)
    if test == "sign-flip":
        return flips
    from scipy.special import bdtr

    b, c = data.discordant
    got = paired.mcnemar(b, c)
    greater, less = (float(bdtr(most, b + c, 0.5)) for most in (b, c))
    if test == "mid-p":
        half = (greater + less - 1.0) / 2.0  # both hold the observed table
        greater, less = greater - half, less - half
    return PValue(
        pvalue=float(got.pvalue if test == "mcnemar" else got.mid_p),
        greater=greater,
        less=less,
        permutation=flips.permutation,
        changed=b + c,
        name=f"McNemar on majority outcomes, {'exact' if test == 'mcnemar' else 'mid-p'}",
        exact=test == "mcnemar" and data.cluster is None and data.equal_weights,
    )


def flipped(data: Difference, margin: Fraction, seed: int) -> PValue:
    """Sign flip of the differences plus a margin, cases or whole clusters."""
    rng = np.random.default_rng(seed)
    scored = bool((np.minimum(data.n_a, data.n_b) > 0).all())
    if data.counted and data.equal_weights and scored:
        got = rate_test(
            data.n_a, data.c_a, data.n_b, data.c_b, rng, cluster=data.cluster, margin=margin
        )
        second = None if got.permutation is None else got.permutation.pvalue
        return _flips(data, got.sign_flip, got.pvalue, second, exact=got.exact)
    shifted = data.diff + float(margin) if margin else data.diff
    return flipped_scores(data, shifted, rng)


def flipped_scores(data: Difference, diff: Floats, rng: np.random.Generator) -> PValue:
    """Sign flip of differences that are not counted passes, with the weights of the cases.

    Where trial counts differ and the values follow from them, the permutation of trials within
    cases has to agree, as for pass rates.
    """
    lattice = score_differences(diff * (data.weight / data.weight.mean()))
    if data.cluster is not None:
        lattice = cluster_sums(lattice, data.cluster)
    flips = sign_flip(lattice, rng)
    plain = diff is data.diff
    second = _permuted(data, rng) if plain and data.drawn and not data.equal_trials else None
    pvalue = flips.pvalue if second is None else max(flips.pvalue, second)
    return _flips(data, flips, pvalue, second, exact=flips.exact and data.equal_trials)


def _permuted(data: Difference, rng: np.random.Generator) -> float | None:
    """P-value of a permutation of trials within cases; None where there are too many to draw."""
    if max(data.n_a.max(), data.n_b.max()) > LARGEST:
        return None

    def value(n: Ints, c: Ints) -> Floats:
        none = np.zeros(n.size, dtype=np.int64)
        flat = Cases(
            n=n.ravel(),
            c=c.ravel(),
            unscored=none,
            failed=none,
            secure=None,
            weight=np.ones(n.size),
            cluster=None,
        )
        return data.request.metric.values(flat, data.request, "null").reshape(n.shape)

    return drawn_permutation(data.n_a, data.c_a, data.n_b, data.c_b, value, data.weight, rng).pvalue


def _flips(
    data: Difference, flips: SignFlip, pvalue: float, second: float | None, *, exact: bool
) -> PValue:
    name = f"sign flip of {data.unit}, {flips.method}"
    if second is not None and second > flips.pvalue:
        name = "permutation of trials within cases, larger than the sign flip"
    return PValue(
        pvalue=pvalue,
        greater=flips.greater,
        less=flips.less,
        permutation=second,
        changed=flips.changed,
        name=name,
        exact=exact,
    )
