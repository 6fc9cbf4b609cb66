"""Labelled and unlabelled cases of two runs: what they share, and the difference they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trialframe.errors import ArgumentError
from trialframe.judge._samples import LABELLED, UNLABELLED, codes_of, sample_of
from trialframe.judge.ppi import FEW_CLUSTERS
from trialframe.kernels import ppi as kernels
from trialframe.kernels.ppi import Part, Sample

LEAST_ROWS = 2
"""Labelled cases that a part needs to have a variance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Rows of both runs, split by what they share.

    Attributes:
        pairs: Differences of cases with the same part in both runs: `case, part, y, f, unit`.
        sides: What is left of baseline and candidate; empty when it is not used.
        notes: What was left out.
    """

    pairs: pl.DataFrame
    sides: tuple[pl.DataFrame, pl.DataFrame]
    notes: tuple[str, ...]


def design_of(a: pl.DataFrame, b: pl.DataFrame) -> Design:
    """Split the rows of two runs into pairs and the rest."""
    parts = (
        a.group_by("case")
        .agg(pl.col("part").sort())
        .join(b.group_by("case").agg(pl.col("part").sort()), on="case", suffix="_b")
    )
    both = parts.filter((pl.col("part") == pl.col("part_b")) & (pl.col("part").list.len() == 1))
    shared = both["case"].implode()
    key = ["case", "part"]
    pairs = (
        a.filter(pl.col("case").is_in(shared))
        .join(b.filter(pl.col("case").is_in(shared)), on=key, suffix="_b")
        .sort("case")
    )
    pairs = pairs.select(
        *key,
        "unit",
        y=pl.col("y_b") - pl.col("y"),
        f=pl.col("f_b") - pl.col("f"),
        trials=pl.max_horizontal("trials", "trials_b"),
    )
    rest = (a.filter(~pl.col("case").is_in(shared)), b.filter(~pl.col("case").is_in(shared)))
    enough = [int((side["part"] == LABELLED).sum()) >= LEAST_ROWS for side in rest]
    paired = int((pairs["part"] == LABELLED).sum()) >= LEAST_ROWS
    notes = []
    if not paired:
        pairs, rest, enough = pairs.clear(), (a, b), [True, True]
    elif not all(enough):
        alone = rest[0].height + rest[1].height
        if alone:
            notes.append(
                f"{alone:,} cases with a label in one config only, or only there at all, left out"
            )
        rest = (rest[0].clear(), rest[1].clear())
    return Design(pairs=pairs, sides=rest, notes=tuple(notes))


def fitted(made: Design, *, clustered: bool) -> dict[str, Any]:
    """The difference with its parts put together."""
    for side, word in zip(made.sides, ("baseline", "candidate"), strict=True):
        count = int((side["part"] == LABELLED).sum())
        if made.pairs.is_empty() and count < LEAST_ROWS:
            raise ArgumentError(f"{count} labelled cases of the {word}: at least 2 are needed.")
    blocks = []
    lam: float | None = None
    if made.pairs.height:
        sample = sample_of(made.pairs, clustered=clustered)
        lam = _lambda(sample)
        blocks.append([(sample, lam, 1.0, made.pairs)])
    lams: tuple[float | None, float | None] = (None, None)
    if made.sides[0].height:
        samples = [sample_of(side, clustered=clustered) for side in made.sides]
        chosen = [_lambda(sample) for sample in samples]
        lams = (chosen[0], chosen[1])
        blocks.append(
            [(samples[i], chosen[i], sign, made.sides[i]) for i, sign in enumerate((-1.0, 1.0))]
        )
    weights = _weights(blocks)
    found = _summed(blocks, weights, clustered=clustered)
    alone = _summed(
        [[(sample, 0.0, sign, rows) for sample, _, sign, rows in block] for block in blocks],
        weights,
        clustered=clustered,
    )
    design = "mixed" if len(blocks) > 1 else "paired" if made.pairs.height else "independent"
    return {
        **found,
        "labels_diff": alone["diff"],
        "labels_se": alone["se"],
        "design": design,
        "lam": lam,
        "lams": lams,
        "share": 0.0 if made.pairs.is_empty() else weights[0],
    }


def _weights(blocks: list[Any]) -> list[float]:
    """Weights of the parts by what they would know if labels varied as verdicts do.

    Weights from the variances of few labels would favour the part whose variance comes out small
    by chance, and the interval would be too narrow.
    """
    spreads = [
        sum(
            float(np.var(np.concatenate([s.f, s.unlabelled]), ddof=1)) / len(s.y) for s, *_ in block
        )
        for block in blocks
    ]
    if min(spreads) <= 0:
        return [1.0 / len(blocks)] * len(blocks)
    return [1.0 / spread / sum(1.0 / other for other in spreads) for spread in spreads]


def _lambda(sample: Sample) -> float:
    """The best lambda; with few clusters the one for independent cases."""
    if sample.cluster is not None and len(np.unique(sample.cluster)) < FEW_CLUSTERS:
        return kernels.best_lambda_of_cases(sample)
    return kernels.best_lambda(sample)


def _summed(blocks: list[Any], weights: list[float], *, clustered: bool) -> dict[str, float]:
    """Weighted sum of blocks of samples, contributions of a unit added before squaring."""
    pieces = [
        (sample, lam, sign * weight, rows)
        for block, weight in zip(blocks, weights, strict=True)
        for sample, lam, sign, rows in block
    ]
    frames = [
        pl.concat([rows.filter(part=LABELLED), rows.filter(part=UNLABELLED)]) for *_, rows in pieces
    ]
    units = pl.concat([frame.select("unit") for frame in frames])
    joint = clustered or units["unit"].n_unique() < units.height
    codes = np.split(codes_of(units), np.cumsum([frame.height for frame in frames])[:-1])
    parts: list[Part] = []
    for (sample, lam, sign, _), code in zip(pieces, codes, strict=True):
        own = Sample(
            y=sample.y, f=sample.f, unlabelled=sample.unlabelled, cluster=code if joint else None
        )
        parts += own.parts(np.array([lam]), sign)
    found = kernels.stacked(parts)
    df = float(found.df[0])
    if not joint:
        # Welch's: each sample has the degrees of freedom of its labels
        own_var = [
            float(kernels.stacked(s.parts(np.array([lam]), sign)).se[0]) ** 2
            for s, lam, sign, _ in pieces
        ]
        bottom = sum(v**2 / (len(p[0].y) - 1.0) for v, p in zip(own_var, pieces, strict=True))
        df = sum(own_var) ** 2 / bottom if bottom > 0 else min(len(p[0].y) for p in pieces) - 1.0
    else:
        labels = [
            len(np.unique(code[: len(p[0].y)])) for code, p in zip(codes, pieces, strict=True)
        ]
        df = min(df, float(sum(labels) - 1))
    return {"diff": float(found.value[0]), "se": float(found.se[0]), "df": df}
