"""Scores of a whole suite from some of its cases: p-IRT, gp-IRT and a regression estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trialframe.kernels.irt import rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialframe.kernels.irt import Posterior

    Bools: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]


def p_irt(seen: Floats, unseen: Floats) -> float:
    """Mean over all cases: scores where seen, model probabilities elsewhere."""
    total = len(seen) + len(unseen)
    return float((np.sum(seen) + np.sum(unseen)) / total)


def gp_irt(seen: Floats, weight: Floats, unseen: Floats, share: float) -> float:
    """A mix of the weighted mean of the seen scores (`share`) and p-IRT (the rest)."""
    anchor = float(seen @ weight / weight.sum())
    return share * anchor + (1 - share) * p_irt(seen, unseen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Mean pass probability over the unseen cases of every config, shape (J,).

    Attributes:
        mean: Its posterior mean.
        variance: Its posterior variance: what the ability leaves open.
        noise: Mean over the unseen cases of P (1 - P): the variance of one trial.
    """

    mean: Floats
    variance: Floats
    noise: Floats


def unseen_means(unseen: Bools, a: Floats, b: Floats, post: Posterior) -> Unseen:
    """Sums over nodes of the mean probability of each config's unseen cases.

    Args:
        unseen: True for cells to predict, shape (J, I).
        a: Discriminations, shape (I,).
        b: Difficulties, shape (I,).
        post: Posterior of the abilities.
    """
    level, noise = np.zeros_like(post.weight), np.zeros_like(post.weight)
    mask = unseen.astype(np.float64)
    for rows, rate in rates(post, a, b):
        level += mask[:, rows] @ rate
        noise += mask[:, rows] @ (rate * (1 - rate))
    number = np.maximum(mask.sum(axis=1), 1)[:, None]
    level /= number
    mean = np.einsum("jq,jq->j", post.weight, level)
    second = np.einsum("jq,jq->j", post.weight, np.square(level - mean[:, None]))
    spread = np.einsum("jq,jq->j", post.weight, noise / number)
    return Unseen(mean=mean, variance=second, noise=spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A mean over all cases from a sample and a covariate known for all.

    Attributes:
        value: The estimate.
        se: Its standard error, with the finite-population correction.
        df: Degrees of freedom.
        r2: Share of the variance of the sampled scores that the covariate explains.
        plain_se: Standard error of the plain mean of the sample.
        worth: Size of a random sample whose plain mean has the standard error `se`.
    """

    value: float
    se: float
    df: int
    r2: float
    plain_se: float
    worth: float


def regression_estimate(score: Floats, known: Floats, everywhere: Floats) -> Regression:
    """The generalised regression estimator of a finite population mean.

    Args:
        score: Scores of the sampled cases, shape (n,), n >= 3.
        known: Covariates of the sampled cases, shape (n, p).
        everywhere: Covariates of all N cases, shape (N, p).
    """
    n, total = len(score), len(everywhere)
    design = np.column_stack([np.ones(n), known])
    beta, _, rank, _ = np.linalg.lstsq(design, score, rcond=None)
    left = score - design @ beta
    value = float(np.column_stack([np.ones(total), everywhere]).mean(axis=0) @ beta)
    df = n - int(rank)
    open_share = 1 - n / total
    around = float(np.sum(np.square(score - score.mean())))
    within = float(np.sum(np.square(left)))
    plain = around / (n - 1)
    # leverage of the population mean: the sample's covariates may lie beside it
    gram = np.linalg.pinv(design.T @ design)
    centre = np.append(1.0, everywhere.mean(axis=0)) - design.mean(axis=0)
    lean = 1 + n * float(centre @ gram @ centre)
    variance = open_share * within / max(df, 1) / n * lean
    return Regression(
        value=value,
        se=float(np.sqrt(variance)),
        df=df,
        r2=1 - within / around if around > 0 else float("nan"),
        plain_se=float(np.sqrt(open_share * plain / n)),
        worth=plain / (variance + plain / total) if plain > 0 else float("nan"),
    )
