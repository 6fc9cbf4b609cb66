"""What to know before a fit is used: choices made, odd data, odd results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe.errors import listed
from trialframe.irt._frames import LEAST_CLUSTERS
from trialframe.kernels.irt_fit import ENDLESS, STUCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.irt._solution import Solution
    from trialframe.irt.result import Convergence

FEW_CLUSTERS = 10
"""Clusters below which errors over clusters are too small."""

SPREAD = 1.25
"""Ratio of case-to-case errors to posterior ones from which the latter are too small."""


LEAST_SPREAD = 0.4
"""Standard deviation of abilities, or its inverse, below which the scale is not that of N(0, 1)."""


def identification(model: str) -> str:
    """What fixes location, scale and sign."""
    if model == "hierarchical":
        return "effects of configs and cases have mean 0 on the logit scale"
    return "abilities ~ N(0, 1) fix location and scale; a > 0 fixes the sign"


def of_choice(asked: str, chosen: str, configs: int, few: int) -> Iterator[str]:
    """Which model was taken, where the number of configs has a say."""
    if configs >= few or chosen == "hierarchical":
        return
    if not asked:
        yield (
            f"{configs} configs are fewer than {few}: one discrimination for all cases "
            "(1pl); ask for 2pl to have one a case"
        )
    elif chosen == "2pl":
        yield (
            f"{configs} configs are fewer than {few}: discriminations of single cases rest on the "
            "prior; look at a_se"
        )


def of_data(items: pl.DataFrame, abilities: pl.DataFrame) -> Iterator[str]:
    """Saturated cases, missing trials, blocks that share nothing."""
    for flag, words in (
        ("no trials", "without a scored trial: no parameters"),
        ("all pass", "passed by every trial: b is what the prior makes of it, if there is one"),
        ("all fail", "failed by every trial: b is what the prior makes of it, if there is one"),
    ):
        number = _flagged(items, flag)
        if number:
            yield f"{number:,} of {items.height:,} cases {words}"
    groups = items["cluster"].n_unique() if "cluster" in items.columns else FEW_CLUSTERS
    if error_units(items) == "cases" and groups < LEAST_CLUSTERS:
        yield (
            f"{_counted(groups, 'cluster')}, fewer than {LEAST_CLUSTERS}: case_se is taken over "
            "cases, as if cases of a cluster were independent, and may be too small"
        )
    elif groups < FEW_CLUSTERS:
        yield f"only {groups} clusters: case_se, which is taken over clusters, is too small"
    unused = abilities.filter(pl.col("n") == 0)["config"].to_list()
    if unused:
        yield f"{_counted(len(unused), 'config')} without a scored trial: {listed(unused, 3)}"
    groups = abilities["block"].drop_nulls().n_unique()
    if groups > 1:
        yield (
            f"the configs fall into {groups} blocks that share no case: abilities of different "
            "blocks compare only if the blocks are alike on average"
        )


def of_fit(
    solution: Solution, convergence: Convergence, items: pl.DataFrame, abilities: pl.DataFrame
) -> Iterator[str]:
    """Signs, separation, convergence, errors that are too small."""
    yield from _of_scale(abilities["ability"].drop_nulls())
    negative = _flagged(items, "negative")
    if negative:
        yield (
            f"{_counted(negative, 'case')} passed more often by weaker configs, beyond chance: "
            "look for wrong verdicts"
        )
    if not convergence.converged:
        yield _unfinished(convergence, _flagged(items, "runs away"))
    if convergence.divergences:
        yield f"{convergence.divergences} divergent transitions: do not trust the tails"
    if not solution.exact_errors:
        yield "too many configs and cases: errors of items take the abilities as known"
    elif items.filter(pl.col("b").is_not_null() & pl.col("b_se").is_null()).height:
        yield "the information is not positive definite: items have no standard errors"
    typical = spread(abilities)
    if typical > SPREAD:
        yield (
            f"abilities vary {typical:.1f} times as much from case to case as the model says: use "
            "case_se or bootstrap in place of se"
        )


def error_units(items: pl.DataFrame) -> str:
    """What case_se is taken over: "clusters", or "cases" without clusters or with too few."""
    fitted = items.filter(pl.col("information").is_not_null())
    many = "cluster" in items.columns and fitted["cluster"].n_unique() >= LEAST_CLUSTERS
    return "clusters" if many else "cases"


def spread(abilities: pl.DataFrame) -> float:
    """Median ratio of errors over cases to those of the model; above `SPREAD` the latter fail."""
    ratio = (abilities["case_se"] / abilities["se"]).drop_nulls()
    return float(np.nanmedian(ratio.to_numpy())) if ratio.len() else 0.0


def _unfinished(end: Convergence, away: int) -> str:
    """Why a fit has not converged, and what to do."""
    if end.rhat is not None:
        return f"chains disagree (R-hat {end.rhat:.3f}, ESS {end.ess:,.0f}): raise draws"
    if end.status == ENDLESS:
        return (
            f"no finite maximum: parameters of {_counted(away, 'case')} run away (flags), and "
            "every number depends on where the fit stopped: give priors"
        )
    if end.status == STUCK:
        return (
            f"not converged: after {end.iterations} iterations no step climbs, the largest "
            f"derivative is {end.gradient:.2g}: give priors"
        )
    return f"not converged after {end.iterations} iterations: raise max_iter"


def _of_scale(abilities: pl.Series) -> Iterator[str]:
    """Few abilities cannot hold the scale against the priors of many cases."""
    spread = float(np.sqrt(np.mean(np.square(abilities.to_numpy()))))
    if not LEAST_SPREAD <= spread <= 1 / LEAST_SPREAD:
        yield (
            f"abilities have a standard deviation of {spread:.2g}, not 1: with few configs the "
            "prior of b sets the scale; ranks and probabilities do not depend on it"
        )


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}" + ("" if number == 1 else "s")


def _flagged(frame: pl.DataFrame, word: str) -> int:
    return int(frame["flags"].fill_null("").str.split("; ").list.contains(word).sum())
