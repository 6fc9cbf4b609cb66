"""The arguments that every planning function takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from trialframe import _checks
from trialframe.errors import ArgumentError, did_you_mean
from trialframe.estimate.metrics import SHORT

if TYPE_CHECKING:
    from trialframe.kernels.draws import Short

CORRELATION = 0.5
"""Assumed correlation of case rates between two configs where nothing tells."""

TESTS = ("auto", "t", "z", "mcnemar")


class Plan(TypedDict, total=False):
    """Keyword arguments that every planning function takes.

    Attributes:
        baseline: Config of the pilot; not needed where the counts hold one or two configs.
        candidate: The other config of the pilot.
        metric: Metric of the pilot with one value per case, "pass@1" by default.
        short: What a pilot case with fewer than k trials does, as in `tr.summary`.
        units: "clusters" when the pilot has them, or "cases".
        trials: Planned trials per case and side, one number or (baseline, candidate). Those of
            the pilot by default, 1 without a pilot.
        rate: Assumed pass rate of the baseline, in (0, 1), without a pilot.
        icc: Assumed share of a trial's variance that lies between cases, in [0, 1].
        correlation: Assumed correlation of case rates between the configs, in [-1, 1]; 0.5 by
            default where there is no pilot of two configs.
        discordance: Assumed probability that one trial of each side disagree, in (0, 1]; for
            McNemar's test that majority outcomes disagree.
            With `rate` it must be one that such rates can have.
        design_effect: Assumed factor on the variance for clustered cases, >= 1.
        test: "auto", "t", "z" (Miller's normal formula), or "mcnemar" (exact, on majority
            outcomes). "auto" is "mcnemar" for pass@1 with one trial a side and without clusters
            or unequal weights, else "t"; `assumptions` names the choice.
        alpha: Two-sided level, in (0, 1), 0.05 by default.
    """

    baseline: str | None
    candidate: str | None
    metric: str
    short: Short
    units: str
    trials: int | tuple[int, int] | None
    rate: float | None
    icc: float | None
    correlation: float | None
    discordance: float | None
    design_effect: float | None
    test: str
    alpha: float


ASSUMED = ("rate", "icc", "correlation", "discordance", "design_effect")


def checked(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with defaults, refused where a name or a value is wrong."""
    known = list(Plan.__annotations__)
    for name in plan:
        if name not in known:
            raise ArgumentError(f"no argument {name!r}. {did_you_mean(name, known)}")
    full: dict[str, Any] = dict.fromkeys(known) | {
        "metric": "pass@1",
        "test": "auto",
        "alpha": 0.05,
    }
    full |= {"short": "null", "units": "clusters"} | plan
    _checks.one_of(full["test"], "test", TESTS)
    _checks.one_of(full["short"], "short", SHORT)
    _checks.one_of(full["units"], "units", ("clusters", "cases"))
    full["alpha"] = _checks.between(full["alpha"], "alpha", inclusive=False)
    full["trials"] = _pair_of_trials(full["trials"])
    bounds = {"rate": (0.0, 1.0), "icc": (0.0, 1.0), "correlation": (-1.0, 1.0)}
    bounds |= {"discordance": (0.0, 1.0), "design_effect": (1.0, 1e6)}
    full["single"] = False
    for name, (low, high) in bounds.items():
        if full[name] is not None:
            full[name] = _checks.between(full[name], name, low=low, high=high)
    if full["rate"] in {0.0, 1.0} or full["discordance"] == 0.0:
        name = "discordance" if full["discordance"] == 0.0 else "rate"
        raise ArgumentError(f"{name} == {full[name]:g} leaves nothing to vary. Give another value.")
    return full


def _pair_of_trials(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    several = list(value) if isinstance(value, tuple | list) else [value, value]
    if len(several) != len(("baseline", "candidate")):
        raise ArgumentError("trials: give one number, or two: (baseline, candidate).")
    one, two = (_checks.integer(number, "trials", low=1) for number in several)
    return one, two
