"""What a reader should know before quoting an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.estimate.metrics import Cases, Request

SMALL_SUITE = 20
FEW_CLUSTERS = 10
LARGE_SHARE = 1 / 3
FEW_DF = 5.0
LOW_COVERAGE = 0.95
FAR_BEYOND = 10
"""Times the most trials of a case beyond which a model-based value is a guess."""

TRIALS_TO_DISAGREE = 2
ENOUGH_ROLLOUTS = 5


def cautions(cases: Cases, request: Request, row: dict[str, Any]) -> Iterator[str]:
    """Short texts, one a caution.

    Args:
        cases: The counts behind the estimate.
        request: The metric.
        row: The finished row of the summary.
    """
    if row["value"] is None:
        most = cases.n.max(initial=0)
        if request.k is not None and request.k > most > 0:
            yield f"no case has {request.k} trials, the most is {most}"
        else:
            yield "no case has a value" if row["cases"] == 0 else "undefined"
    elif request.shape != "fact":
        yield from _of_sample(row)
        if cases.cluster is not None and row["estimand"] == "cases":
            yield from _of_clusters(row)
        yield from _of_metric(cases, request)
        yield from _of_method(cases, request, row)


def _of_sample(row: dict[str, Any]) -> Iterator[str]:
    if row["cases"] < SMALL_SUITE:
        yield f"small suite: {row['cases']} cases"
    if row["coverage"] is not None and row["coverage"] < LOW_COVERAGE:
        yield f"coverage {row['coverage']:.1%}"
    if row["se"] == 0:
        yield "no spread between cases"


def _of_clusters(row: dict[str, Any]) -> Iterator[str]:
    if row["clusters"] < FEW_CLUSTERS:
        yield f"few clusters: {row['clusters']}"
    if (row["largest_share"] or 0) > LARGE_SHARE:
        yield f"one cluster holds {row['largest_share']:.0%}"
    if row["df"] is not None and row["df"] < FEW_DF:
        yield f"{row['df']:.1f} degrees of freedom"


def _of_metric(cases: Cases, request: Request) -> Iterator[str]:
    name = request.metric.name
    if name in {"flaky", "flake_index"} and cases.n.max(initial=0) < TRIALS_TO_DISAGREE:
        yield "one trial per case cannot show flakiness"
    if "reliability" in name and cases.n.min(initial=ENOUGH_ROLLOUTS) < ENOUGH_ROLLOUTS:
        yield f"fewer than {ENOUGH_ROLLOUTS} rollouts in some cases"


def _of_method(cases: Cases, request: Request, row: dict[str, Any]) -> Iterator[str]:
    if row["method"] == "wilson":
        yield "trials taken as independent"
    if row["method"] == "mixture-sequence":
        yield "biased when outcomes decided about trials: quote the interval"
    if row["method"] in {"beta-binomial", "binomial"}:
        yield "model-based"
        if row["method"] == "binomial":
            yield "no more spread than one common rate"
        if request.k is not None and request.k > FAR_BEYOND * cases.n.max(initial=1):
            yield f"more than {FAR_BEYOND} times beyond the trials"
