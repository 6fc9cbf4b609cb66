"""Spread of abilities over cases: sandwich errors and the bootstrap of cases or clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import probability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells
    from trialframe.kernels.irt_information import Prior

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

_BLOCK = 2**21
_NODES = 161  # most nodes per config
_SPACING = 0.6  # of a posterior standard deviation


def case_errors(
    cells: Cells, a: Floats, b: Floats, theta: Floats, curvature: Floats, cluster: Ints
) -> Floats:
    """Standard errors of abilities when cases (clusters of them) are drawn anew, shape (J,).

    The sandwich: squared sums of scores a (c - n P) per cluster over the squared curvature. It
    holds what a config does better or worse on some cases than the model says.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        theta: Abilities, shape (J,).
        curvature: Their posterior precisions, shape (J,).
        cluster: Cluster code of every item, shape (I,).
    """
    groups = int(cluster.max()) + 1
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(groups))
    made = np.empty(len(theta))
    size = max(1, _BLOCK // len(a))
    for start in range(0, len(theta), size):
        some = slice(start, start + size)
        rate = probability(theta[some], a, b)
        score = a * (cells.passes[some] - cells.trials[some] * rate)
        tried = np.add.reduceat(cells.trials[some][:, order], starts, axis=1) > 0
        sums = np.add.reduceat(score[:, order], starts, axis=1)
        number = np.maximum(tried.sum(axis=1), 1)
        around = np.where(tried, sums - (sums.sum(axis=1) / number)[:, None], 0.0)
        grown = number / np.maximum(number - 1, 1)
        made[some] = np.sqrt(grown * np.square(around).sum(axis=1)) / curvature[some]
    return made


def leverage(
    cells: Cells, a: Floats, b: Floats, theta: Floats, prior: Prior, *, shared: bool
) -> Floats:
    """Share of the information about each ability that fitting the items used up, shape (J,).

    Residuals of fitted items are too small by it, and what the items do not know adds to it: with J
    configs about 1 / J (one shared discrimination) or 2 / J.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        theta: Abilities, shape (J,).
        prior: Priors of log a and b.
        shared: Whether all items have the same discrimination.
    """
    used, total = np.zeros((2, len(theta)))
    size = max(1, _BLOCK // len(theta))
    for start in range(0, len(a), size):
        rows = slice(start, start + size)
        rate = probability(theta, a[rows], b[rows])
        weight = np.square(a[rows]) * cells.trials[:, rows] * rate * (1 - rate)
        away = theta[:, None] - b[rows]
        bb = weight.sum(axis=0) + prior.precision_b
        share = weight / bb
        if not shared:
            ab = -(weight * away).sum(axis=0)
            aa = (weight * np.square(away)).sum(axis=0) + prior.precision_log_a
            left = np.maximum(aa - np.square(ab) / bb, 1e-12)
            share += weight * np.square(away + ab / bb) / left
        used += (weight * np.minimum(share, 1.0)).sum(axis=1)
        total += weight.sum(axis=1)
    return np.asarray(used / np.maximum(total, 1e-300))


def bootstrap_abilities(
    cells: Cells,
    a: Floats,
    b: Floats,
    theta: Floats,
    curvature: Floats,
    cluster: Ints,
    rng: np.random.Generator,
    resamples: int,
) -> Floats:
    """Expected a posteriori abilities on resampled cases, shape (resamples, J).

    Items keep their parameters; whole clusters are drawn, the same for every config.

    Args:
        cells: Passes and trials.
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        theta: Abilities, shape (J,).
        curvature: Their posterior precisions, shape (J,).
        cluster: Cluster code of every item, shape (I,); a code per item for cases.
        rng: Source of the draws.
        resamples: How many.
    """
    spread = case_errors(cells, a, b, theta, curvature, cluster)
    nodes = _nodes(theta, 1.0 / np.sqrt(curvature), spread)
    groups = int(cluster.max()) + 1
    made = np.empty((resamples, len(theta)))
    size = max(1, _BLOCK // max(groups, len(a)))
    for start in range(0, resamples, size):
        number = min(size, resamples - start)
        drawn = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=number)
        weight = drawn[:, cluster].astype(np.float64)
        for some in _configs(len(theta), len(a), nodes.shape[1]):
            made[start : start + number, some] = _means(cells, a, b, nodes[some], some, weight)
    return made


def _configs(configs: int, items: int, nodes: int) -> Iterator[slice]:
    size = max(1, _BLOCK // (items * nodes))
    for start in range(0, configs, size):
        yield slice(start, min(start + size, configs))


def _nodes(theta: Floats, sd: Floats, spread: Floats) -> Floats:
    """Equally spaced abilities around each estimate, shape (J, Q)."""
    reach = np.minimum(7.0 * sd + 5.0 * spread, 9.0)
    count = int(np.clip(np.ceil(np.max(2 * reach / (_SPACING * sd))), 31, _NODES))
    return theta[:, None] + reach[:, None] * np.linspace(-1, 1, count)


def _means(
    cells: Cells, a: Floats, b: Floats, nodes: Floats, some: slice, weight: Floats
) -> Floats:
    """Posterior means with weighted cases, for a few configs, shape (resamples, configs)."""
    eta = (nodes[:, :, None] - b) * a
    soft = np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0.0)
    logs = cells.passes[some][:, None] * eta - cells.trials[some][:, None] * soft
    shape = (len(weight), *nodes.shape)
    logs = (weight @ logs.reshape(-1, len(a)).T).reshape(shape) - 0.5 * np.square(nodes)
    chance = np.exp(logs - logs.max(axis=2, keepdims=True))
    return np.asarray(np.einsum("rjq,jq->rj", chance, nodes) / chance.sum(axis=2))
