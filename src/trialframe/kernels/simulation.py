"""Arrays of simulated rates, verdicts and measures; every draw comes from the generator given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]

_SIGMA = 0.7  # log-scale spread of costs, tokens and durations: a tail of about 5 times the median
_SHARED = 0.8  # correlation of a trial's measures with its effort


def case_ease(rng: np.random.Generator, cluster: Ints, icc: float) -> Floats:
    """Draw the ease of each case on the normal scale, correlated within clusters.

    Args:
        rng: Source of the draws.
        cluster: Cluster number of each case, from 0, shape (cases,).
        icc: Share of the variance that lies between clusters, in [0, 1].

    Returns:
        Standard normal values, shape (cases,); two cases of a cluster correlate by `icc`.

    Examples:
        >>> case_ease(np.random.default_rng(0), np.array([0, 0, 1]), 1.0).round(3)
        array([ 0.105,  0.105, -0.536])
    """
    own = rng.standard_normal(cluster.size)  # first, so that it does not depend on the clusters
    shared = rng.standard_normal(int(cluster.max()) + 1)[cluster]
    ease: Floats = np.sqrt(icc) * shared + np.sqrt(1.0 - icc) * own
    return ease


def pass_rates(
    rng: np.random.Generator,
    ease: Floats,
    lift: Floats,
    shape: tuple[float, float],
    interaction: float,
) -> Floats:
    """Turn the ease of cases into pass rates of each config: Beta marginals, then the lift.

    Args:
        rng: Source of the config x case interaction.
        ease: Standard normal ease of each case, shape (cases,).
        lift: What is added to the rates of each config, shape (configs,), in [-1, 1].
        shape: The two parameters of the Beta distribution of rates, each > 0.
        interaction: Standard deviation of the interaction beside an ease of standard
            deviation 1, on the normal scale, >= 0.

    Returns:
        Rates in [0, 1], shape (configs, cases).

    Notes:
        The ease plus the interaction is scaled back to variance 1 before it goes through
        the Gaussian copula, so an interaction leaves the Beta marginal of each config as it is.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> pass_rates(rng, np.array([-1.0, 0.0, 1.0]), np.array([0.0, 0.2]), (1, 1), 0.0).round(3)
        array([[0.159, 0.5  , 0.841],
               [0.359, 0.7  , 1.   ]])
    """
    from scipy.special import betaincinv, ndtr

    latent = ease[None, :]
    if interaction > 0:
        noise = rng.standard_normal((lift.size, ease.size))
        latent = (latent + interaction * noise) / np.hypot(1.0, interaction)
    base = betaincinv(shape[0], shape[1], ndtr(latent))
    rates: Floats = np.clip(base + lift[:, None], 0.0, 1.0)
    return rates


def sizes(rng: np.random.Generator, low: int, high: int, groups: int) -> Ints:
    """Number of trials of each group, uniform on low..high, shape (groups,).

    Examples:
        >>> sizes(np.random.default_rng(0), 3, 3, 4)
        array([3, 3, 3, 3])
    """
    return rng.integers(low, high, size=groups, endpoint=True)


def within(groups: Ints) -> Ints:
    """Position of each row inside its run of equal group numbers, from 0, shape (rows,).

    Examples:
        >>> within(np.array([0, 0, 0, 1, 1, 2]))
        array([0, 1, 2, 0, 1, 0])
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    lengths = np.diff(starts, append=groups.size)
    return np.arange(groups.size) - np.repeat(starts, lengths)


def until_success(verdicts: Bools) -> Bools:
    """Which attempts happen when a trial stops at its first success, shape (trials, attempts).

    Examples:
        >>> until_success(np.array([[False, True, True], [False, False, False]]))
        array([[ True,  True, False],
               [ True,  True,  True]])
    """
    made = np.ones_like(verdicts)
    made[:, 1:] = ~np.logical_or.accumulate(verdicts, axis=1)[:, :-1]
    return made


def categories(rng: np.random.Generator, shares: Floats, rows: int) -> Ints:
    """Draw a category for each row: j with probability shares[j], the last one else.

    Args:
        rng: Source of the draws.
        shares: Probabilities of the categories, shape (categories,), summing to at most 1.
        rows: Number of draws.

    Returns:
        Numbers in 0..categories, shape (rows,); `categories` itself stands for the rest.

    Examples:
        >>> categories(np.random.default_rng(0), np.array([0.5, 0.5]), 4)
        array([1, 0, 0, 0])
    """
    return np.searchsorted(np.cumsum(shares), rng.random(rows), side="right").astype(np.int64)


def judged(rng: np.random.Generator, truth: Bools, sensitivity: float, specificity: float) -> Bools:
    """Verdicts of a judge who passes good trials at `sensitivity`, bad ones at 1 - `specificity`.

    Examples:
        >>> judged(np.random.default_rng(0), np.array([True, False]), 1.0, 1.0)
        array([ True, False])
    """
    return rng.random(truth.size) < np.where(truth, sensitivity, 1.0 - specificity)


def amounts(rng: np.random.Generator, mean: Floats, shared: Floats) -> Ints:
    """Lognormal whole numbers >= 1 that go with the effort of the trial.

    Args:
        rng: Source of the part that effort does not explain.
        mean: Mean of each row, shape (rows,), > 0.
        shared: Standard normal effort, shape (rows,).

    Returns:
        Whole numbers, shape (rows,).

    Notes:
        ln x = ln mean - s^2/2 + s (.8 effort + .6 own) with s = 0.7, so that E x = mean up to
        rounding.

    Examples:
        >>> amounts(np.random.default_rng(0), np.full(2, 1000.0), np.array([0.0, 3.0]))
        array([ 825, 3973])
    """
    own = rng.standard_normal(mean.size)
    z = _SHARED * shared + np.sqrt(1.0 - _SHARED**2) * own
    drawn = np.rint(mean * np.exp(_SIGMA * z - _SIGMA**2 / 2.0))
    whole: Ints = np.maximum(drawn, 1.0).astype(np.int64)
    return whole


def suite_sizes(rng: np.random.Generator, mean: float, cases: int) -> Ints:
    """Number of unit tests of each case: one and a Poisson number more, shape (cases,).

    Examples:
        >>> suite_sizes(np.random.default_rng(0), 1.0, 3)
        array([1, 1, 1])
    """
    total: Ints = 1 + rng.poisson(mean - 1.0, size=cases)
    return total


def suite_results(rng: np.random.Generator, passed: Bools, total: Ints) -> Ints:
    """Unit tests that passed: all of them where the trial passed, else 0..total-1 evenly.

    Examples:
        >>> suite_results(np.random.default_rng(0), np.array([True, False]), np.array([8, 1]))
        array([8, 0])
    """
    fewer = np.floor(rng.random(total.size) * total).astype(np.int64)
    return np.where(passed, total, fewer)
