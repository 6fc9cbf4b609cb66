"""What a suite is kept for: cases that must not fail, or cases that still tell systems apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.kernels.draws import fails_most

if TYPE_CHECKING:
    from trialframe.counts import Counts


def failing_cases(counts: Counts) -> pl.DataFrame:
    """Cases that fail more than half of their trials; an exact half is not that.

    Do not read it as a test: a case that passes 90 % of the time fails two of three trials
    once in 36 times.

    Args:
        counts: What `tr.counts` made.

    Returns:
        One row per config and case, sorted: `config, case, n, c, failed`.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 3 + ["y"] * 2, "passed": [False, False, True, True, False]}
        >>> failing_cases(tr.counts(rows)).rows()
        [('system', 'x', 3, 1, 2)]
    """
    frame = counts.frame.select("config", "case", "n", "c", failed=pl.col("n") - pl.col("c"))
    return frame.filter(fails_most(frame["n"].to_numpy(), frame["c"].to_numpy()))


def saturation(counts: Counts) -> pl.DataFrame:
    """Share of scored cases that pass every trial, and whether that is 90 % or more.

    Do not compare the share between configs with different numbers of trials: it falls as
    trials are added.

    Args:
        counts: What `tr.counts` made.

    Returns:
        One row per config, sorted: `config, cases, passed_all, share, saturated`.

    Examples:
        >>> import trialframe as tr
        >>> saturation(tr.counts({"case": ["x", "y"], "passed": [True, False]})).rows()
        [('system', 2, 1, 0.5, False)]
    """
    scored = counts.frame.filter(pl.col("n") > 0)
    table = scored.group_by("config").agg(
        cases=pl.len().cast(pl.Int64),
        passed_all=(pl.col("c") == pl.col("n")).sum().cast(pl.Int64),
    )
    share = pl.col("passed_all") / pl.col("cases")
    enough = 10 * pl.col("passed_all") >= 9 * pl.col("cases")
    return table.with_columns(share=share, saturated=enough).sort("config")
