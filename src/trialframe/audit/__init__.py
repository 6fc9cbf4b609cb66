"""Is this table of trials fit to support a claim? Findings, not exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trialframe.audit._inspect import Finding, findings_frame, inspect
from trialframe.audit._rules import problems

if TYPE_CHECKING:
    from typing import Unpack

    import polars as pl

    from trialframe.read._fields import Columns

__all__ = ["check_trials"]


def check_trials(
    trials: Any,
    *,
    threshold: float | None = None,
    **columns: Unpack[Columns],
) -> pl.DataFrame:
    """List what is wrong with a table of trials, and what to do about it.

    It reports where `tr.read` and `tr.counts` would raise, and also what they cannot see.
    It holds the columns it needs in memory, so do not use it on a table beyond memory:
    check a part of that.

    Args:
        trials: A source as in `tr.read`: files or a table in memory.
        threshold: Pass when score >= threshold; replaces `passed`. Unit of the score.
        **columns: Where each canonical column is, as in `tr.read`.

    Returns:
        One row per finding, errors first: `rule`, `severity` ("error" when numbers made from
        the table would be wrong or cannot be made, "warning" when it depends), `rows` that
        are concerned, `examples`, `advice`. No row means that nothing was found.

    Raises:
        SourceError: There is no table to check: a file is missing, empty or corrupt.

    Notes:
        Runs of one config count as copies when all their rows agree in case, verdict, score
        and measures, and something in them tells real runs apart: five or more different
        durations or start times (error), token counts or costs (warning: a deterministic
        system may repeat them), or at least 50 cases with 10 or more of either verdict
        (warning). Runs that agree by chance on a few cases are not reported. Of rows that
        share a key, `rows` counts those beyond the first of each key, as `tr.counts` does.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x", "x"], "trial": [1, 1], "passed": [True, False]}
        >>> tr.check_trials(rows).select("rule", "rows", "examples").rows()
        [('duplicate_key', 1, "case 'x' trial 1: 2 rows")]
    """
    inspection = inspect(trials, threshold=threshold, columns=columns)
    if isinstance(inspection, Finding):
        return findings_frame([inspection])
    return problems(inspection)
