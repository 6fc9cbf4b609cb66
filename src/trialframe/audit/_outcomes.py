"""Rules about how trials ended, what they cost, where they ran and how they were scored."""

from __future__ import annotations

import polars as pl

from trialframe.audit._evidence import Audited, Rule, Skip, per_config, spread
from trialframe.audit._inspect import CELL, Finding, Inspection, named
from trialframe.audit._rules import COVERAGE_FLOOR, COVERAGE_GAP
from trialframe.errors import listed, short

FAR_ABOVE = 0.2
"""How far the mean share of tests may lie above strict resolution without a word."""

TIMEOUT = r"time_?d?_?out|deadline"
INFRA = (
    r"^error$|infra|crash|rate_?limit|out_of_memory|(^|_)oom|killed|docker|container|sandbox"
    r"|unavailable|(agent|api|server|network|connection|environment|env|system|internal|setup"
    r"|install|parse|harness|grader|bad_?request)_?(error|failure)|(^|_)too_many_errors"
)
SECURITY_FAIL = r"^security_fail(ed|ure)?$"

DIGEST = r"(^|[@:])([0-9a-fA-F]{40,}|sha(256|384|512):[0-9a-fA-F]{12,})$"

GIVE_TRIALS = Skip(why="counts, not trials")


def _word() -> pl.Expr:
    """The outcome in small letters, words joined by underscores."""
    snake = pl.col("outcome").str.replace_all(r"([a-z])([A-Z])", "${1}_$2")
    return snake.str.strip_chars().str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "_")


def _classes(hit: pl.DataFrame) -> str:
    """Classes of outcomes, with what became of their trials."""
    verdict = pl.col("passed")
    table = hit.group_by("outcome").agg(
        rows=pl.len(), won=verdict.sum(), lost=(~verdict).sum(), none=verdict.null_count()
    )
    table = table.sort("rows", "outcome", descending=[True, False])
    return named(table, ["outcome"], "{won} passed, {lost} failed, {none} unscored", limit=4)


def _uneven(table: Inspection, hit: pl.DataFrame) -> str:
    """A sentence on configs where trials end so more often than elsewhere, or nothing."""
    all_ = table.trials.group_by("config").agg(rows=pl.len())
    some = hit.group_by("config").agg(hit=pl.len())
    shares = all_.join(some, on="config", how="left").with_columns(
        share=pl.col("hit").fill_null(0) / pl.col("rows")
    )
    if spread(shares, "share") <= COVERAGE_GAP:
        return ""
    return "; uneven: " + per_config(shares, pl.col("share"), limit=3)


def _timeouts(data: Audited) -> Finding | None:
    hit = data.table.trials.filter(_word().str.contains(TIMEOUT))
    if hit.is_empty():
        return None
    uneven = _uneven(data.table, hit)
    often = hit.height > (1 - COVERAGE_FLOOR) * data.table.trials.height
    open_ = hit["passed"].null_count() > 0
    return Finding(
        rule="timeouts",
        severity="warning" if uneven or often or open_ else "info",
        rows=hit.height,
        examples=_classes(hit) + uneven,
        advice="A time limit measures the limit too, and a trial that ran out of time may have "
        "passed. Say what counts (unscored=), and give all the same limit.",
    )


def _infra_errors(data: Audited) -> Finding | None:
    word = _word()
    hit = data.table.trials.filter(word.str.contains(INFRA) & ~word.str.contains(TIMEOUT))
    if hit.is_empty():
        return None
    uneven = _uneven(data.table, hit)
    lost = int((~hit["passed"]).sum())
    counted = f"; {lost:,} are counted as failures" if lost else ""
    return Finding(
        rule="infra_errors",
        severity="warning" if uneven or lost else "info",
        rows=hit.height,
        examples=_classes(hit) + counted + uneven,
        advice="What broke was not the system under test, or nobody knows. Run these trials "
        "again, or say what they are (unscored=) and read the bracket.",
    )


def _unscored_by_class(data: Audited) -> Finding | None:
    hit = data.table.trials.filter(pl.col("passed").is_null())
    if hit.is_empty():
        return None
    classes = hit.group_by("outcome").agg(rows=pl.len())
    told = classes.sort("rows", "outcome", descending=[True, False])
    texts = [
        f"{'no outcome' if name is None else short(name)}: {rows:,}"
        for name, rows in told.head(6).iter_rows()
    ]
    uneven = _uneven(data.table, hit)
    return Finding(
        rule="unscored_by_class",
        severity="warning" if uneven or classes["outcome"].null_count() else "info",
        rows=hit.height,
        examples=", ".join(texts) + uneven,
        advice="Decide class by class what a trial without a verdict is (unscored=).",
    )


def _coverage_differs(data: Audited) -> Finding | Skip | None:
    sums = data.first.cells.group_by("config").agg(pl.col("n", "unscored", "rows").sum())
    if sums.height < 2:
        return Skip(why="one config")
    shares = sums.with_columns(share=pl.col("unscored") / (pl.col("n") + pl.col("unscored")))
    if spread(shares, "share") <= COVERAGE_GAP:
        return None
    return Finding(
        rule="coverage_differs",
        severity="warning",
        rows=int(shares["unscored"].sum()),
        examples="without a verdict: " + per_config(shares, pl.col("share")),
        advice="Leaving trials out favours the config that lost more of its hard ones. Compare "
        'with unscored="fail" too, and read the bracket.',
    )


def _missing_cost(data: Audited) -> Finding | None:
    table = data.table
    if data.counted and "cost_uusd_sum" in table.plan.unused:
        return None
    known = table.has("cost_uusd")
    bare = table.trials.filter(pl.col("cost_uusd").fill_null(0) == 0) if known else table.trials
    if bare.is_empty():
        return None
    of = table.trials.group_by("config").agg(rows=pl.len())
    some = bare.group_by("config").agg(bare=pl.len()).join(of, on="config")
    some = some.sort("bare", "config", descending=[True, False])
    return Finding(
        rule="missing_cost",
        severity="warning" if known else "info",
        rows=bare.height,
        examples=named(some, ["config"], "{bare} of {rows} rows null or 0") if known else "no cost",
        advice="A rate without its price favours the system that spends more. Record cost_uusd "
        "of every trial, null where it is unknown.",
    )


def _no_image_digest(data: Audited) -> Finding | Skip | None:
    if data.counted:
        return GIVE_TRIALS
    trials = data.table.trials
    known = data.table.has("image")
    bare = trials.filter(pl.col("image").is_null()) if known else trials
    tags = trials.filter(~pl.col("image").str.contains(DIGEST)) if known else trials.clear()
    if bare.is_empty() and tags.is_empty():
        return None
    seen = listed(tags["image"].unique().sort(), 3) if known else ""
    return Finding(
        rule="no_image_digest",
        severity="warning" if bare.height else "info",
        rows=bare.height or tags.height,
        examples=f"{bare.height:,} rows without an image"
        if bare.height
        else f"tags, which can be moved: {seen}",
        advice="Nobody can run these trials again as they were. Record the digest of the "
        "environment (sha256:...) in image.",
    )


def _images_differ(data: Audited) -> Finding | None:
    known = data.table.trials.drop_nulls([*CELL, "image"])
    seen = known.group_by("case").agg(
        rows=pl.len().cast(pl.Int64), images=pl.col("image").n_unique()
    )
    hit = seen.filter(pl.col("images") > 1).sort("case")
    if hit.is_empty():
        return None
    return Finding(
        rule="images_differ",
        severity="warning",
        rows=int(hit["rows"].sum()),
        examples=named(hit, ["case"], "{images} images"),
        advice="Trials of a case in different environments differ by more than the config. Run "
        "all in one image.",
    )


def _one_reliability(data: Audited) -> Finding | Skip | None:
    """Only one of reliability and secure reliability can be reported."""
    if data.counted:
        return None if "c_secure" in data.table.plan.unused else _without_security(data)
    table = data.table
    told = table.has("outcome") and bool(
        table.trials.select(_word().str.contains(SECURITY_FAIL).any()).item()
    )
    if not table.has("secure"):
        return None if told else _without_security(data)
    bare = table.trials.filter("passed", pl.col("secure").is_null())
    if bare.is_empty():
        return None
    some = (
        bare.group_by("config").agg(bare=pl.len()).sort("bare", "config", descending=[True, False])
    )
    return Finding(
        rule="one_reliability",
        severity="warning",
        rows=bare.height,
        examples=named(some, ["config"], "{bare} passes not checked"),
        advice="Passes that nobody checked are not known to be secure. Check all, or report both "
        "reliability@k and secure_reliability@k on the checked ones.",
    )


def _without_security(data: Audited) -> Finding:
    return Finding(
        rule="one_reliability",
        severity="info",
        rows=data.table.trials.height,
        examples="no secure column",
        advice="Only reliability@k can be reported; secure_reliability@k is unknown, not equal to "
        "it. Check passes for security findings where that matters.",
    )


def _security_in_passed(data: Audited) -> Finding | None:
    """Trials with a security failure that do not count as passing their tests."""
    fail = _word().str.contains(SECURITY_FAIL)
    hit = data.table.trials.filter(fail & ~pl.col("passed").fill_null(value=False))
    if hit.is_empty():
        return None
    return Finding(
        rule="security_in_passed",
        severity="warning",
        rows=hit.height,
        examples=_classes(hit),
        advice="A SECURITY_FAIL passed its tests: it belongs to passed and not to secure, else "
        "reliability@k and secure_reliability@k are one number. tr.reliability counts it so.",
    )


def _macro_share(data: Audited) -> Finding | Skip | None:
    """Share of tests passed, averaged, far above the share of trials that pass all."""
    table = data.first
    if data.counted:
        return GIVE_TRIALS
    if table.has("tests_passed", "tests_total"):
        total = pl.when(pl.col("tests_total") > 0).then(pl.col("tests_total"))
        share = pl.col("tests_passed") / total
    elif table.has("score") and table.trials["score"].is_between(0, 1).all():
        share = pl.col("score")
    else:
        return Skip(why="no tests_passed and tests_total, and no score in [0, 1]")
    rows = table.trials.with_columns(_share=share).drop_nulls(["_share", "passed"])
    cells = rows.group_by(CELL).agg(
        pl.col("_share").mean(), strict=pl.col("passed").mean(), rows=pl.len().cast(pl.Int64)
    )
    means = cells.group_by("config").agg(
        pl.col("_share", "strict").mean(), pl.col("rows").sum(), away=pl.lit(0.0)
    )
    means = means.with_columns(away=pl.col("_share") - pl.col("strict"))
    far = means.filter(pl.col("away") > FAR_ABOVE).sort("away", "config", descending=[True, False])
    if far.is_empty():
        return None
    return Finding(
        rule="macro_share",
        severity="warning",
        rows=int(far["rows"].sum()),
        examples=named(far, ["config"], "tests {_share:.1%}, strict {strict:.1%}"),
        advice="A mean share of tests is partial credit: most tests also pass without the work. "
        "Report strict resolution (all tests pass) beside it.",
    )


RULES: tuple[Rule, ...] = (
    Rule(name="no_image_digest", find=_no_image_digest),
    Rule(name="images_differ", needs=("image",), find=_images_differ),
    Rule(name="one_reliability", find=_one_reliability),
    Rule(name="security_in_passed", needs=("outcome",), find=_security_in_passed),
    Rule(name="macro_share", find=_macro_share),
    Rule(name="coverage_differs", find=_coverage_differs),
    Rule(name="timeouts", needs=("outcome",), find=_timeouts),
    Rule(name="infra_errors", needs=("outcome",), find=_infra_errors),
    Rule(name="unscored_by_class", needs=("outcome",), find=_unscored_by_class),
    Rule(name="missing_cost", find=_missing_cost),
)
