"""Trials or counts, whichever is given, as counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

from trialframe.counts import Counts, counts
from trialframe.errors import ArgumentError, TrialsError, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialframe.read._columns import One, Several


class Where(TypedDict, total=False):
    """Where each canonical column is: a name, several (config, case), an expression, None."""

    config: Several
    case: Several
    trial: One
    attempt: One
    cluster: One
    passed: One
    score: One
    outcome: One
    secure: One
    tests_passed: One
    tests_total: One
    tokens_in: One
    tokens_out: One
    cost_uusd: One
    duration_ms: One
    weight: One
    n: One
    c: One


def counted(
    table: Any,
    columns: Mapping[str, Any],
    *,
    by: str | Sequence[str] = (),
    unscored: Any = "exclude",
    threshold: float | None = None,
) -> Counts:
    """The counts of trials, or the counts that were given.

    Args:
        table: Trials of any kind, or counts.
        columns: Where canonical columns of trials are.
        by: Case-level columns to keep.
        unscored: Policy for trials without a verdict.
        threshold: Pass when score >= threshold.

    Raises:
        ArgumentError: Counts together with what only trials can be asked for.
        TrialsError: No trial has a verdict.
    """
    if isinstance(table, Counts):
        if columns or threshold is not None or unscored != "exclude":
            asked = [*columns, *(["threshold"] if threshold is not None else [])]
            raise ArgumentError(
                f"{listed(asked or ['unscored'])}: these are counts already. Give the trials, or "
                "make the counts with tr.counts and these arguments."
            )
        found = table
    else:
        named = cast("Any", columns)
        found = counts(table, by=by, unscored=unscored, threshold=threshold, **named)
    if not int(found.frame["n"].sum()):
        raise TrialsError(
            "no trial has a verdict, so there is nothing to estimate. Score some, or choose "
            'unscored="fail".'
        )
    return found
