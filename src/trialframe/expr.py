"""Polars expressions over the trials n and passes c of a case.

Each function returns a plain `pl.Expr` with one value per row, so it works in
`select`, `with_columns`, `group_by().agg` and `.over`, eager, lazy and streaming.
`n` and `c` are column names or expressions. With `passed=`, a Boolean column of
trials is counted first: one value per group, as `pl.len()` gives.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from trialframe._checks import between, integer, one_of
from trialframe._counted import inputs, per_case
from trialframe.errors import ArgumentError
from trialframe.kernels import draws, intervals

if TYPE_CHECKING:
    from fractions import Fraction

    from trialframe._counted import Column, Formula
    from trialframe.kernels.draws import Credit, FloatArray, IntArray, Short


def pass_at_k(
    k: int,
    *,
    n: Column = "n",
    c: Column = "c",
    passed: Column | None = None,
    short: Short = "null",
) -> pl.Expr:
    """Chance that at least one of k trials of a case passes.

    What a system reaches when a verifier picks the best of k tries. Do not read it
    as reliability: it rises with k however unsteady the system is (see `pass_hat_k`).

    Args:
        k: Trials drawn, >= 1.
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.
        short: What a case with n < k gets. "null": null. "clamp": the value at k = n.
            "min": k becomes the smallest n >= 1 of the frame or group. "rate": c / n,
            and 0 at n = 0. "raise": an error, in which a streaming engine counts
            the cases of one batch of rows.

    Returns:
        Expression named "pass@k" (with the number), Float64 in [0, 1]; null where n or
        c is null, and at n = 0 unless `short` is "rate".

    Raises:
        ArgumentError: When k or `short` is invalid; on evaluation, with `short="raise"`,
            when a case has fewer than k trials.
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Notes:
        1 - C(n-c, k) / C(n, k), unbiased for 1 - (1-p)^k when the trials are
        independent. The mean over cases is the value of a suite.

    References:
        Chen et al. 2021, Evaluating Large Language Models Trained on Code,
        arXiv:2107.03374, section 2.1.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import pass_at_k
        >>> cases = pl.DataFrame({"n": [5, 5, 2], "c": [2, 5, 1]})
        >>> cases.select(pass_at_k(3)).to_series().to_list()
        [0.9, 1.0, None]
    """
    return _drawn(f"pass@{_size(k)}", k, draws.any_passes, n, c, passed, short)


def pass_hat_k(
    k: int,
    *,
    n: Column = "n",
    c: Column = "c",
    passed: Column | None = None,
    short: Short = "null",
) -> pl.Expr:
    """Chance that all of k trials of a case pass (pass^k).

    How often a system can be relied on k times in a row. A flaky case counts as a
    failure only for k = n; for k < n it still earns C(c, k) / C(n, k).

    Args:
        k: Trials drawn, >= 1.
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.
        short: What a case with n < k gets, as in `pass_at_k`.

    Returns:
        Expression named "pass^k" (with the number), Float64 in [0, 1]; null where n or
        c is null, and at n = 0 unless `short` is "rate".

    Raises:
        ArgumentError: When k or `short` is invalid; on evaluation, with `short="raise"`,
            when a case has fewer than k trials.
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Notes:
        C(c, k) / C(n, k), unbiased for p^k; the plug-in (c/n)^k is biased upwards. n is
        the case's own number of trials: a missing trial is not a failure.

    References:
        Yao et al. 2024, tau-bench, arXiv:2406.12045.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import pass_hat_k
        >>> trials = pl.DataFrame(
        ...     {"case": ["a", "a", "a", "b", "b"], "passed": [True, True, False, True, True]}
        ... )
        >>> found = trials.group_by("case").agg(pass_hat_k(2, passed="passed")).sort("case")
        >>> [round(value, 4) for value in found["pass^2"]]
        [0.3333, 1.0]
    """
    return _drawn(f"pass^{_size(k)}", k, draws.all_pass, n, c, passed, short)


def g_pass_at_k(
    k: int,
    tau: float | Fraction,
    *,
    n: Column = "n",
    c: Column = "c",
    passed: Column | None = None,
    short: Short = "null",
) -> pl.Expr:
    """Chance that at least a share tau of k trials of a case pass (G-Pass@k).

    Lies between pass@k (tau near 0) and pass^k (tau = 1). Compare systems only at the
    same k and tau.

    Args:
        k: Trials drawn, >= 1.
        tau: Share of the k trials that must pass, in [0, 1]; at least one must.
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.
        short: What a case with n < k gets, as in `pass_at_k`.

    Returns:
        Expression named "g_pass@k_tau" (with the numbers), Float64 in [0, 1]; null where
        n or c is null, and at n = 0 unless `short` is "rate".

    Raises:
        ArgumentError: When k, tau or `short` is invalid; on evaluation, with
            `short="raise"`, when a case has fewer than k trials.
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Notes:
        The upper tail at max(1, ceil(tau k)) of the hypergeometric distribution of the
        passes among k of n trials. The ceiling is that of the decimal as written:
        ceil(0.28 * 25) is 7.

    References:
        Liu et al. 2024, Are Your LLMs Capable of Stable Reasoning?, arXiv:2412.13147.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import g_pass_at_k
        >>> cases = pl.DataFrame({"n": [5, 5], "c": [3, 4]})
        >>> cases.select(g_pass_at_k(2, 0.5)).to_series().to_list()
        [0.9, 1.0]
    """
    between(tau, "tau")
    return _drawn(f"g_pass@{_size(k)}_{tau}", k, draws.at_least(tau), n, c, passed, short)


def pass_rate(*, n: Column = "n", c: Column = "c", passed: Column | None = None) -> pl.Expr:
    """Share of a case's trials that pass, c / n: the same as pass@1 and pass^1.

    The mean over cases weighs every case alike; for the rate over all trials divide
    the sum of c by the sum of n.

    Args:
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "pass_rate", Float64 in [0, 1]; null at n = 0.

    Raises:
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import pass_rate
        >>> pl.DataFrame({"n": [4, 0], "c": [3, 0]}).select(pass_rate()).to_series().to_list()
        [0.75, None]
    """
    return _scored("pass_rate", lambda n, c: c / np.maximum(n, 1), pl.Float64, n, c, passed)


def flaky(*, n: Column = "n", c: Column = "c", passed: Column | None = None) -> pl.Expr:
    """Whether a case both passed and failed, 0 < c < n.

    More trials find more flaky cases: compare shares of flaky cases only at equal n,
    and use `flake_index` otherwise.

    Args:
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "flaky", Boolean; null at n = 0.

    Raises:
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import flaky
        >>> pl.DataFrame({"n": [3, 3, 0], "c": [1, 3, 0]}).select(flaky()).to_series().to_list()
        [True, False, None]
    """
    return _scored("flaky", lambda n, c: (c > 0) & (c < n), pl.Boolean, n, c, passed)


def flake_index(*, n: Column = "n", c: Column = "c", passed: Column | None = None) -> pl.Expr:
    """Chance that two trials of a case disagree: flakiness that does not depend on n.

    Args:
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "flake_index", Float64 in [0, 1]; null for n < 2.

    Raises:
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Notes:
        2c(n-c) / (n(n-1)), unbiased for 2p(1-p). A single case with few trials can
        exceed the largest true value 1/2; average over cases.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import flake_index
        >>> pl.DataFrame({"n": [4, 1], "c": [1, 1]}).select(flake_index()).to_series().to_list()
        [0.5, None]
    """
    return per_case(inputs(n, c, passed), draws.flake_index, pl.Float64).alias("flake_index")


def majority(*, n: Column = "n", c: Column = "c", passed: Column | None = None) -> pl.Expr:
    """Whether a case passes more than half of its trials; an exact half is not a pass.

    The outcome that McNemar's test and the gate count. It hides drift (p from .9 to .6
    moves it little): prefer `pass_rate` for means and differences.

    Args:
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "majority", Boolean; null at n = 0.

    Raises:
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import majority
        >>> pl.DataFrame({"n": [3, 4, 0], "c": [2, 2, 0]}).select(majority()).to_series().to_list()
        [True, False, None]
    """
    return _scored("majority", draws.majority, pl.Boolean, n, c, passed)


def saturated(*, n: Column = "n", c: Column = "c", passed: Column | None = None) -> pl.Expr:
    """Whether every trial of a case passed, c = n.

    Such a case no longer tells systems apart. A suite counts as saturated when at least
    .9 of its cases are: `saturated().mean() >= 0.9`. Few trials make a case look
    saturated by luck.

    Args:
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "saturated", Boolean; null at n = 0.

    Raises:
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import saturated
        >>> pl.DataFrame({"n": [3, 3, 0], "c": [3, 2, 0]}).select(saturated()).to_series().to_list()
        [True, False, None]
    """
    return _scored("saturated", lambda n, c: c == n, pl.Boolean, n, c, passed)


def wilson(
    level: float = 0.95,
    *,
    n: Column = "n",
    c: Column = "c",
    passed: Column | None = None,
) -> pl.Expr:
    """Wilson interval of the pass rate of one case.

    Only for the trials of one case. Over the pooled trials of several cases it takes
    them for independent and is far too narrow: use an interval over cases there.

    Args:
        level: Nominal coverage, in (0, 1).
        n: Scored trials of the case, whole numbers >= 0.
        c: Passes among them, 0 <= c <= n.
        passed: Boolean column of trials, null where unscored, in place of n and c.

    Returns:
        Expression named "wilson", a struct of Float64 fields low and high in [0, 1],
        both null at n = 0.

    Raises:
        ArgumentError: When the level is not in (0, 1).
        ColumnError: On evaluation, when n or c holds anything but whole numbers.
        CountsError: On evaluation, when 0 <= c <= n does not hold.

    Notes:
        With p = c/n and z the normal quantile: centre (p + z^2/2n) / (1 + z^2/n), half
        width z sqrt(p(1-p)/n + z^2/4n^2) / (1 + z^2/n).

    References:
        Wilson 1927, Journal of the American Statistical Association 22, 209-212.

    Examples:
        >>> import polars as pl
        >>> from trialframe.expr import wilson
        >>> found = pl.DataFrame({"n": [10], "c": [8]}).select(wilson()).unnest("wilson")
        >>> [round(value, 4) for value in found.row(0)]
        [0.4902, 0.9433]
    """
    between(level, "level", inclusive=False)
    columns = inputs(n, c, passed)

    def bound(side: str) -> pl.Expr:
        def formula(n: IntArray, c: IntArray) -> FloatArray:
            bounds = intervals.wilson(c, n, level)
            return bounds.low if side == "low" else bounds.high

        return per_case(columns, formula, pl.Float64).alias(side)

    return pl.struct(bound("low"), bound("high")).alias("wilson")


def _size(k: object) -> int:
    return integer(k, "k", low=1)


def _scored(
    name: str,
    value: Formula,
    dtype: type[pl.DataType],
    n: Column,
    c: Column,
    passed: Column | None,
) -> pl.Expr:
    """Return the value as an expression that is null at n = 0."""

    def formula(n: IntArray, c: IntArray) -> FloatArray:
        return np.where(n > 0, value(n, c), np.nan)

    return per_case(inputs(n, c, passed), formula, dtype).alias(name)


def _drawn(
    name: str, k: int, credit: Credit, n: Column, c: Column, passed: Column | None, short: Short
) -> pl.Expr:
    one_of(short, "short", get_args(draws.Short))
    columns = inputs(n, c, passed)
    size = min(int(k), 2**62)  # beyond any n, and within Int64
    if short != "min":
        formula = partial(draws.drawn, k=size, credit=credit, short=short)
        return per_case(columns, formula, pl.Float64).alias(name)
    if passed is not None:
        raise ArgumentError(
            "short == 'min' with passed=: a group of trials is one case, so there is no smallest "
            "n. Count the trials first and use n= and c=, or use short='clamp'."
        )
    # The smallest n belongs to the whole frame or group, so Polars finds it and hands it on
    # per row; what runs in Python stays elementwise under every engine.
    # Not strict: what is no count is refused there, with a better message.
    trials = columns[0].cast(pl.Float64, strict=False)
    least = trials.filter(trials >= 1).min().cast(pl.Int64, strict=False)
    sizes = pl.when(trials.is_not_null()).then(pl.min_horizontal(size, least)).otherwise(size)
    formula = partial(draws.drawn, credit=credit)
    return per_case([*columns, sizes], formula, pl.Float64).alias(name)
