"""What k independent rollouts are worth, with and without security findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import polars as pl

from trialframe import _checks
from trialframe.counts import Counts, counts
from trialframe.engine import at_home
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.estimate.cautions import ENOUGH_ROLLOUTS
from trialframe.estimate.metrics import METRICS, parsed
from trialframe.estimate.summary import summary
from trialframe.reliability._table import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from trialframe.kernels.draws import Short as ShortPolicy
    from trialframe.reliability._table import Where

SECURITY_FAIL = ("security_fail", "security_failed", "security_failure")
PASS = ("pass", "passed")
FAIL = ("fail", "failed")
FAR_ABOVE = 0.2
"""How far the mean share of tests may lie above strict resolution without a word."""


def reliability(
    table: Any,
    *,
    k: int = 5,
    status: str | None = None,
    by: str | Sequence[str] = (),
    level: float = 0.95,
    short: ShortPolicy = "null",
    units: str = "clusters",
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> pl.DataFrame:
    """reliability@k and secure_reliability@k, always beside pass^k and strict resolution.

    reliability@k is a best-of-k number: the chance that at least one of k independent rollouts
    passes every test. Quote it with pass^k, the chance that all of them do. Do not feed it unit
    tests as trials (n counts rollouts), nor retries that saw the last failure.

    Args:
        table: Counts, or trials of any kind, one row per rollout.
        k: Rollouts drawn, >= 1. A case with fewer does what `short` says.
        status: Column with "pass", "fail" or "security_fail" (in any case) in place of `passed`;
            other words are rollouts without a verdict.
        by: Columns to group by; constant within a (config, case).
        level: Nominal coverage, in (0, 1).
        short: What a case with fewer than k rollouts does, as in `tr.summary`.
        units: "clusters" when there are some, or "cases".
        unscored: What a rollout without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`.

    Returns:
        The rows of `tr.summary` with their `meaning`: reliability@k, secure_reliability@k, pass^k,
        secure_pass^k, pass@1 (strict resolution), tests_share (macro-averaged share of tests),
        cost and duration where they are known. Without security checks the secure rows are null,
        never equal to the others. Fewer than 5 rollouts in a case are flagged.

    Raises:
        ColumnError: No such status column.
        TrialsError: No status is one of the words above.

    Notes:
        A rollout whose outcome or status is SECURITY_FAIL passed its tests: it is in c and not in
        c_secure, whatever `passed` says; n is the same for both, so secure <= plain.

    References:
        Chen et al. (2021), arXiv:2107.03374; Yao et al. (2024), arXiv:2406.12045.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": ["x"] * 5, "status": ["pass", "fail", "SECURITY_FAIL", "pass", "fail"]}
        >>> found = tr.reliability(rows, k=2, status="status")
        >>> dict(found.select("metric", pl.col("value").round(3)).head(4).rows())
        {'reliability@2': 0.9, 'secure_reliability@2': 0.7, 'pass^2': 0.3, 'secure_pass^2': 0.1}
    """
    k = _checks.integer(k, "k", low=1)
    names = _checks.names(by, "by")
    if status is not None:
        found = _by_status(table, columns, status, names, unscored, threshold)
    else:
        found = counted(table, columns, by=names, unscored=unscored, threshold=threshold)
    found = _security_failed(found)
    metrics = [f"reliability@{k}", f"secure_reliability@{k}", f"pass^{k}", f"secure_pass^{k}"]
    metrics += ["pass@1", *(name for name in ("tests_share",) if name in found.measures)]
    for name in ("cost_uusd", "duration_ms"):
        if name in found.measures:
            metrics += [name] if name == "duration_ms" else [name, f"{name}_per_pass"]
    rows = summary(
        found, metrics=list(dict.fromkeys(metrics)), by=names, level=level, short=short, units=units
    )
    return _told(rows, found, names, k)


def _by_status(
    table: Any,
    columns: Mapping[str, Any],
    status: str,
    by: tuple[str, ...],
    unscored: Any,
    threshold: float | None,
) -> Counts:
    """Counts of trials whose verdict is a word."""
    if isinstance(table, Counts):
        raise ArgumentError("status: these are counts already. Give the trials.")
    given = [name for name in ("passed", "secure", "outcome") if name in columns]
    if given or threshold is not None:
        raise ArgumentError(f"status: give it or {listed(given or ['threshold'])}, not both.")
    lazy = at_home(table, list)
    names = lazy.collect_schema().names()
    if status not in names:
        raise ColumnError(f"no column {short(status)} (for status). {did_you_mean(status, names)}")
    made = status_columns(status)
    if not lazy.select(made["passed"].count()).collect().item():
        seen = lazy.select(pl.col(status).unique()).collect().to_series().drop_nulls().sort()
        raise TrialsError(
            f"no {status!r} is one of {listed([*PASS, *FAIL, SECURITY_FAIL[0]])}; it holds "
            f"{listed(seen)}. Map them first, or give passed= and secure=."
        )
    return counts(lazy, by=by, unscored=unscored, **cast("Any", {**columns, **made}))


def status_columns(status: str) -> dict[str, Any]:
    """The verdict, the security and the outcome in a column of words, as columns of `tr.counts`."""
    word = _word(pl.col(status).cast(pl.String))
    passes = pl.when(word.is_in([*PASS, *SECURITY_FAIL])).then(pl.lit(value=True))
    passed = passes.when(word.is_in(FAIL)).then(pl.lit(value=False)).otherwise(None)
    return {"passed": passed, "secure": word.is_in(PASS), "outcome": status}


def _word(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase().str.replace_all(r"[\s-]+", "_")


def _security_failed(found: Counts) -> Counts:
    """Take trials with outcome SECURITY_FAIL as passing their tests, and not as secure."""
    if found.outcomes is None:
        return found
    odd = found.outcomes.filter(_word(pl.col("outcome")).is_in(SECURITY_FAIL))
    if odd.is_empty():
        return found
    sums = odd.group_by("config", "case").agg(
        _passed=pl.col("c").sum(),
        _failed=(pl.col("n") - pl.col("c")).sum(),
        _open=pl.col("unscored").sum(),
        _policy=pl.col("unscored_failed").sum(),
    )
    frame = found.frame.join(sums, on=["config", "case"], how="left").with_columns(
        pl.col("_passed", "_failed", "_open", "_policy").fill_null(0)
    )
    # passes that were no security failure are secure unless a column says otherwise
    secure = pl.col("c_secure") if "c_secure" in frame.columns else pl.col("c") - pl.col("_passed")
    changed = {
        "c_secure": secure,
        "n": pl.col("n") + pl.col("_open"),
        "c": pl.col("c") + pl.col("_failed") + pl.col("_open"),
        "unscored": pl.col("unscored") - pl.col("_open"),
    }
    if "unscored_failed" in frame.columns:
        changed["unscored_failed"] = pl.col("unscored_failed") - pl.col("_policy")
    moved = sum(int(sums[name].sum()) for name in ("_failed", "_open"))
    notes = found.notes
    if moved:
        notes = (*notes, f"{moved:,} SECURITY_FAIL trials taken as passing their tests, not secure")
    made = frame.with_columns(**changed).drop("_passed", "_failed", "_open", "_policy")
    return Counts(made, None, found.by, found.unscored, found.mapping, notes)


def _told(rows: pl.DataFrame, found: Counts, by: tuple[str, ...], k: int) -> pl.DataFrame:
    """The rows with what they mean and what to know before quoting them."""
    meanings = {
        name: METRICS[parsed(name, (k,))[0].metric.name].meaning
        for name in rows["metric"].unique().to_list()
    }
    meanings["pass@1"] = "strict resolution: mean share of rollouts that pass every test"
    keys = ["config", *by]
    strict = rows.filter(pl.col("metric") == "pass@1").select(*keys, _strict="value")
    fewest = found.frame.filter(pl.col("n") > 0).group_by(keys).agg(_fewest=pl.col("n").min())
    rows = rows.join(strict, on=keys, how="left", maintain_order="left", nulls_equal=True)
    rows = rows.join(fewest, on=keys, how="left", maintain_order="left", nulls_equal=True)
    secure = pl.col("metric").str.starts_with("secure_")
    few = f"fewer than {ENOUGH_ROLLOUTS} rollouts in some cases"
    some = pl.when(pl.col("warnings") != "").then("warnings")
    known = "c_secure" in found.frame.columns
    own = [some if known else pl.when(~secure).then(some)]
    notes = [note for note in found.notes if "secur" in note.lower()]
    about = notes if known else ["no security check: unknown"]
    own.append(pl.when(secure).then(pl.lit("; ".join(about) or None)))
    drawn = pl.col("metric").str.contains(r"[@^]")
    said = pl.col("warnings").fill_null("").str.contains(few, literal=True)
    enough = pl.col("_fewest") >= ENOUGH_ROLLOUTS
    own.append(pl.when(drawn & ~said & ~enough).then(pl.lit(few)))
    far = (pl.col("metric") == "tests_share") & (pl.col("value") > pl.col("_strict") + FAR_ABOVE)
    own.append(pl.when(far).then(pl.lit("far above strict resolution: partial credit")))
    told = pl.concat_str(own, separator="; ", ignore_nulls=True)
    return rows.with_columns(
        warnings=pl.when(told != "").then(told),
        meaning=pl.col("metric").replace_strict(meanings),
    ).drop("_strict", "_fewest")
