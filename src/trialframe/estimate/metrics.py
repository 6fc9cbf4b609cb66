"""The table of metrics: what each one is worth per case, and how uncertain that is.

A metric turns the counts of a case into one number; a suite's value is the (weighted) mean
over cases. The table drives the summary, the command line and the documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, did_you_mean, short
from trialframe.kernels import draws
from trialframe.schema import TRIALS, column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SHORT: tuple[Short, ...] = ("null", "clamp", "min", "rate", "raise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The counts of M cases of one config as arrays.

    Attributes:
        n: Scored trials, shape (M,).
        c: Passes, shape (M,).
        unscored: Trials left out of n, shape (M,).
        failed: Trials without a verdict that n holds as failures, shape (M,).
        secure: Secure passes, shape (M,), or None.
        weight: Case weights, shape (M,).
        cluster: Cluster codes, shape (M,), or None when cases are the units.
        measures: Measure -> (known trials, sum, sum of squares), each shape (M,).
    """

    n: Ints
    c: Ints
    unscored: Ints
    failed: Ints
    secure: Ints | None
    weight: Floats
    cluster: Ints | None
    measures: Mapping[str, tuple[Ints, Floats, Floats]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric.

    Attributes:
        name: Its name; "k" stands for the number of trials drawn.
        meaning: One line for the documentation.
        unit: Unit of the value.
        values: (cases, request, short policy) -> value per case, NaN where undefined.
        variance: (cases, request) -> unbiased variance of the value over repetitions of the
            case's own trials, NaN where unknown; None when there is no such estimate.
        shape: "drawn" (a rate for k = 1, else bounded), "share" (of cases: score interval),
            "bounded" (t interval inside [0, 1]), "amount" (not below 0), "real", "pooled",
            "fact" (no interval).
        bracketed: Whether the value rises with passes, so that scoring every unscored trial
            as a failure or a pass bounds it.
    """

    name: str
    meaning: str
    unit: str
    values: Callable[[Cases, Request, Short], Floats]
    variance: Callable[[Cases, Request], Floats] | None = None
    shape: str = "bounded"
    bracketed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A metric that was asked for, by the name it goes by, with its k and tau."""

    name: str
    metric: Metric
    k: int | None = None
    tau: str | None = None

    @property
    def shape(self) -> str:
        """Interval family; drawing one trial is a plain rate."""
        if self.metric.shape != "drawn":
            return self.metric.shape
        return "rate" if self.k == 1 else "bounded"


def _drawn(
    name: str,
    meaning: str,
    credit: draws.Credit,
    kernel: Callable[[Ints, Ints, int], Floats],
    *,
    secure: bool = False,
) -> Metric:
    """A metric of k drawn trials, of all passes or of the secure ones only."""

    def values(cases: Cases, request: Request, short_cases: Short) -> Floats:
        passes = cases.secure if secure else cases.c
        if passes is None:
            return np.full(len(cases), np.nan)
        return draws.drawn(cases.n, passes, _k(request), credit, short=short_cases)

    def variance(cases: Cases, request: Request) -> Floats:
        passes = cases.secure if secure else cases.c
        return kernel(cases.n, cases.c if passes is None else passes, _k(request))

    return Metric(
        name=name,
        meaning=meaning,
        unit="share",
        values=values,
        variance=variance,
        shape="drawn",
        bracketed=not secure,
    )


def _g_pass(cases: Cases, request: Request, short_cases: Short) -> Floats:
    credit = draws.at_least(float(request.tau or 1))
    return draws.drawn(cases.n, cases.c, _k(request), credit, short=short_cases)


def _k(request: Request) -> int:
    return request.k or 1


def _share(name: str, meaning: str, test: Callable[[Cases], NDArray[np.bool_]]) -> Metric:
    """A share of cases."""

    def values(cases: Cases, _request: Request, _short: Short) -> Floats:
        return np.where(cases.n > 0, test(cases).astype(np.float64), np.nan)

    return Metric(name=name, meaning=meaning, unit="share", values=values, shape="share")


def _measure(name: str) -> Metric:
    """The mean of a measure over trials, then over cases."""
    units = {c.name: c.unit for c in TRIALS}
    return Metric(
        name=name,
        meaning=f"mean {name} of a trial, averaged over cases",
        unit="share" if name == "tests_share" else units[name],
        values=lambda cases, _request, _short: measured(cases, name),
        variance=lambda cases, _request: _measured_variance(cases, name),
        shape={"tests_share": "bounded", "score": "real"}.get(name, "amount"),
    )


def measured(cases: Cases, name: str) -> Floats:
    """Mean of a measure over the trials of each case where it is known, shape (M,)."""
    if name not in cases.measures:
        return np.full(len(cases), np.nan)
    known, total, _ = cases.measures[name]
    return ratio(total, known)


def ratio(part: Floats | Ints, whole: Ints) -> Floats:
    """Elementwise part / whole, NaN where whole is 0."""
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _measured_variance(cases: Cases, name: str) -> Floats:
    """Unbiased variance of those means, NaN for fewer than two known trials."""
    out = np.full(len(cases), np.nan)
    if name in cases.measures:
        known, total, squares = cases.measures[name]
        many = known > 1
        n = known[many].astype(np.float64)
        out[many] = np.maximum(squares[many] - total[many] ** 2 / n, 0.0) / ((n - 1.0) * n)
    return out


def _per_pass(name: str) -> Metric:
    """The ratio of means R = mean(measure) / mean(pass rate), as values whose mean is R.

    x_i -> R + (x_i - R p_i) / mean(p): the linearised ratio, so that the standard error of
    the mean of these values is that of R.
    """

    def values(cases: Cases, _request: Request, _short: Short) -> Floats:
        spent = measured(cases, name)
        rate = ratio(cases.c, cases.n)
        used = ~np.isnan(spent) & ~np.isnan(rate) & (cases.weight > 0)
        out = np.full(len(cases), np.nan)
        total = cases.weight[used].sum()
        passing = (cases.weight[used] @ rate[used]) / total if total > 0 else 0.0
        if passing > 0:
            price = (cases.weight[used] @ spent[used]) / total / passing
            out[used] = price + (spent[used] - price * rate[used]) / passing
        return out

    return Metric(
        name=f"{name}_per_pass",
        meaning=f"mean {name} of a trial over the pass rate: the price of one solved case",
        unit=column(TRIALS, name).unit,
        values=values,
        shape="amount",
    )


def _extreme(name: str, meaning: str, pick: Callable[[Ints], int]) -> Metric:
    """A fact about the number of trials, not an estimate."""

    def values(cases: Cases, _request: Request, _short: Short) -> Floats:
        return np.full(len(cases), float(pick(cases.n)) if len(cases) else np.nan)

    return Metric(name=name, meaning=meaning, unit="trials", values=values, shape="fact")


PRICED = ("cost_uusd", "tokens_in", "tokens_out", "duration_ms")
"""Measures that have a price per solved case."""

_TABLE: tuple[Metric, ...] = (
    _drawn(
        "pass@k",
        "chance that at least one of k trials passes",
        draws.any_passes,
        draws.pass_at_variance,
    ),
    _drawn("pass^k", "chance that all of k trials pass", draws.all_pass, draws.pass_hat_variance),
    Metric(
        name="g_pass@k_tau",
        meaning="chance that at least ceil(tau k) of k trials pass",
        unit="share",
        values=_g_pass,
        shape="drawn",
        bracketed=True,
    ),
    _drawn(
        "reliability@k",
        "pass@k over independent rollouts that pass every test (a best-of-k number)",
        draws.any_passes,
        draws.pass_at_variance,
    ),
    _drawn(
        "secure_reliability@k",
        "reliability@k where only rollouts without a security finding count",
        draws.any_passes,
        draws.pass_at_variance,
        secure=True,
    ),
    _drawn(
        "secure_pass^k",
        "chance that all of k trials pass without a security finding",
        draws.all_pass,
        draws.pass_hat_variance,
        secure=True,
    ),
    Metric(
        name="pooled",
        meaning="passes over scored trials of all cases together",
        unit="share",
        values=lambda cases, _request, _short: ratio(cases.c, cases.n),
        shape="pooled",
        bracketed=True,
    ),
    _share(
        "majority",
        "share of cases that pass more than half of their trials",
        lambda cases: draws.majority(cases.n, cases.c),
    ),
    _share(
        "flaky",
        "share of cases that both passed and failed; compare at equal n only",
        lambda cases: (cases.c > 0) & (cases.c < cases.n),
    ),
    Metric(
        name="flake_index",
        meaning="chance that two trials of a case disagree, whatever n is",
        unit="share",
        values=lambda cases, _request, _short: draws.flake_index(cases.n, cases.c),
    ),
    _share("saturated", "share of cases that passed every trial", lambda cases: cases.c == cases.n),
    _extreme("min_trials", "fewest scored trials of a case", np.min),
    _extreme("max_trials", "most scored trials of a case", np.max),
    *(_measure(name) for name in ("score", "tests_share", *PRICED)),
    *(_per_pass(name) for name in PRICED),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _TABLE}
_NUMBERED = re.compile(r"(?P<stem>.+[@^])(?P<k>[0-9]+)(_(?P<tau>0?\.[0-9]+|1(\.0+)?))?")


def parsed(name: object, ks: tuple[int, ...]) -> list[Request]:
    """The requests behind one name: "pass@5", or "pass@k" once for every k."""
    if not isinstance(name, str):
        raise ArgumentError(f"metric == {short(name)}, must be a name such as 'pass@1'.")
    if name in METRICS and not name.endswith(("k", "tau")):
        return [Request(name=name, metric=METRICS[name])]
    if name in METRICS and not name.endswith("tau"):
        return [Request(name=f"{name[:-1]}{k}", metric=METRICS[name], k=k) for k in ks]
    match = _NUMBERED.fullmatch(name)
    stem = f"{match['stem']}k" + ("_tau" if match["tau"] else "") if match else ""
    if match is None or stem not in METRICS:
        known = [*METRICS, "pass@1", "pass^5", "g_pass@5_0.5"]
        raise ArgumentError(f"no metric {short(name)}. {did_you_mean(name, known)}")
    k = _checks.integer(int(match["k"]), f"k of {name!r}", low=1)
    plain = f"{match['stem']}{k}" + (f"_{match['tau']}" if match["tau"] else "")
    return [Request(name=plain, metric=METRICS[stem], k=k, tau=match["tau"])]


def cases_of(frame: pl.DataFrame, *, clusters: bool) -> Cases:
    """The arrays of a counts frame of one config."""

    def ints(name: str) -> Ints:
        if name not in frame.columns:
            return np.zeros(frame.height, dtype=np.int64)
        return frame[name].to_numpy().astype(np.int64, copy=False)

    def floats(name: str) -> Floats:
        return frame[name].cast(pl.Float64).to_numpy()

    names = [c.removesuffix("_sumsq") for c in frame.columns if c.endswith("_sumsq")]
    codes = None
    if clusters and "cluster" in frame.columns:
        codes = frame["cluster"].rank("dense").to_numpy().astype(np.int64)
    return Cases(
        n=ints("n"),
        c=ints("c"),
        unscored=ints("unscored"),
        failed=ints("unscored_failed"),
        secure=ints("c_secure") if "c_secure" in frame.columns else None,
        weight=_relative(floats("weight")) if "weight" in frame.columns else np.ones(frame.height),
        cluster=codes,
        measures={m: (ints(f"{m}_n"), floats(f"{m}_sum"), floats(f"{m}_sumsq")) for m in names},
    )


def _relative(weight: Floats) -> Floats:
    """Weights in units of the largest: means do not change, and squares cannot overflow."""
    most = float(np.max(weight, initial=0.0))
    return weight / most if most > 0 else weight
