"""Components of a design by the method that it allows, with draws for intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialframe.errors import ArgumentError, TrialsError, listed
from trialframe.kernels.anova import case_weights, mean_squares
from trialframe.kernels.icc import one_way
from trialframe.kernels.reml import reml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from trialframe.reliability._design import Design

    Floats = NDArray[np.float64]

MOST_WEIGHTS = 4_000_000  # held at a time: 32 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Components of config, case, config x case and run.

    Attributes:
        method: How they were estimated.
        raw: Estimates, shape (4,); NaN where not identified.
        mean_squares: Mean squares, shape (4,); NaN for REML.
        df: Their degrees of freedom, shape (4,).
        runs: Harmonic mean of the runs of a cell.
        confounded: Whether config x case holds the noise of runs.
        draws: Bootstrap draws around `raw`, shape (resamples, 4).
        converged: Whether the estimation settled.
    """

    method: str
    raw: Floats
    mean_squares: Floats
    df: Floats
    runs: float
    confounded: bool
    draws: Floats
    converged: bool = True


def solved(design: Design, method: str, resamples: int, rng: np.random.Generator) -> Solved:
    """Estimate the components, and draw them again with cases (clusters) resampled."""
    cells = design.cells
    if len(design.configs) == 1:
        return _one_config(design, resamples, rng)
    if method == "auto":
        method = "reml" if cells.empty else "anova" if cells.balanced else "unweighted"
    _refuse(design, method)
    if method == "reml":
        return _by_likelihood(design, resamples, rng)
    found = mean_squares(cells)
    raw = found.raw[0]
    draws = _drawn(design, resamples, rng, lambda w: mean_squares(cells, w).raw)
    return Solved(
        method=method,
        raw=raw,
        mean_squares=found.ms[0],
        df=found.df[0],
        runs=float(found.runs[0]),
        confounded=bool(np.isnan(raw[3])),
        draws=_centred(draws, raw),
    )


def _refuse(design: Design, method: str) -> None:
    """Raise where the method does not fit the cells."""
    cells = design.cells
    lacking = int((cells.n == 0).sum())
    if method in {"anova", "unweighted"} and lacking:
        raise ArgumentError(
            f"method == {method!r}: {lacking:,} of {cells.n.size:,} cells have no run. Use "
            'method="reml", or keep the cases that all configs share.'
        )
    if method == "anova" and not cells.balanced:
        raise ArgumentError(
            f"method == 'anova' needs equally many runs in every cell, there are {cells.n.min()} "
            f'to {cells.n.max()}. Use method="unweighted" or "reml".'
        )
    if lacking and (blocks := _blocks(design)):
        told = "; ".join(listed(block, 3) for block in blocks[:3])
        raise TrialsError(
            f"the configs fall into {len(blocks)} blocks that share no case ({told}), so nothing "
            "tells configs from cases. Keep one block with counts.select(...), or run shared cases."
        )


def _blocks(design: Design) -> list[list[str]]:
    """Configs by connected block; empty when all hang together."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    config, case = np.nonzero(design.cells.n)
    size = sum(design.cells.n.shape)
    links = coo_matrix((np.ones(len(config)), (config, case + len(design.configs))), (size, size))
    count, label = connected_components(links, directed=False)
    if count == 1:
        return []
    own = label[: len(design.configs)]
    return [[n for n, b in zip(design.configs, own, strict=True) if b == i] for i in range(count)]


def _by_likelihood(design: Design, resamples: int, rng: np.random.Generator) -> Solved:
    fit = reml(design.cells)
    known = design.cells.n > 0
    moved = fit.influence - fit.influence.mean(axis=0)
    draws = fit.components + _drawn(design, resamples, rng, lambda w: (w - 1.0) @ moved)
    nothing = np.full(4, np.nan)
    return Solved(
        method="reml",
        raw=fit.components,
        mean_squares=nothing,
        df=nothing,
        runs=float(known.sum() / (1.0 / design.cells.n[known]).sum()),
        confounded=bool(np.isnan(fit.components[3])),
        draws=draws,
        converged=fit.converged,
    )


def _one_config(design: Design, resamples: int, rng: np.random.Generator) -> Solved:
    """Cases and runs alone: one-way analysis of variance."""
    cells = design.cells
    n, total = cells.n[0], cells.mean[0] * cells.n[0]
    squares = cells.within[0] + cells.mean[0] * total

    def components(weights: Floats | None) -> Floats:
        found = one_way(n, total, squares, weights)
        unknown = np.full(len(found.between), np.nan)
        alone = np.isnan(found.within_ms)
        case = np.where(alone, found.between_ms, found.between)
        return np.column_stack([unknown, case, unknown, found.within_ms])

    found = one_way(n, total, squares)
    raw = components(None)[0]
    m, all_runs = float(found.groups[0]), float(found.runs[0])
    draws = _drawn(design, resamples, rng, components)
    return Solved(
        method="one-way",
        raw=raw,
        mean_squares=np.array([np.nan, found.between_ms[0], np.nan, found.within_ms[0]]),
        df=np.array([np.nan, m - 1.0, np.nan, all_runs - m]),
        runs=float(len(n) / (1.0 / n).sum()),
        confounded=bool(np.isnan(raw[3])),
        draws=_centred(draws, raw),
    )


def _drawn(
    design: Design,
    resamples: int,
    rng: np.random.Generator,
    made: Callable[[Floats], Floats],
) -> Floats:
    """What `made` says of resamples of whole units, a batch at a time; NaN for one unit."""
    if not design.unit.any():
        return np.full((resamples, 4), np.nan)
    return np.concatenate([made(w) for w in _batches(design, resamples, rng)])


def _batches(design: Design, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    batch = max(1, MOST_WEIGHTS // design.cases)
    for start in range(0, resamples, batch):
        yield case_weights(design.unit, min(batch, resamples - start), rng)


def _centred(draws: Floats, raw: Floats) -> Floats:
    """Draws moved so that their mean is the estimate.

    Copies of a case in a resample share their interaction and noise, which the config component
    would take for its own.
    """
    known = ~np.isnan(draws)
    count = np.maximum(known.sum(axis=0), 1)
    made: Floats = draws + (raw - np.where(known, draws, 0.0).sum(axis=0) / count)
    return made
