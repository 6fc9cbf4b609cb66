"""Rules about what the trials of a table are: how many, of what kind, and whether independent."""

from __future__ import annotations

import numpy as np
import polars as pl

from trialframe.audit._copies import CLOCKS, nearly_copied, sets_of_copies
from trialframe.audit._evidence import TESTS, Audited, Rule, Skip
from trialframe.audit._inspect import CELL, Finding, Inspection, named
from trialframe.errors import listed, short
from trialframe.estimate.cautions import ENOUGH_ROLLOUTS
from trialframe.kernels.dependence import Agreement, later_shares, shared_agreement

APART = 0.9
"""Share of pairs of trials in one order from which runs do not count as interleaved."""

ALPHA = 0.01
"""Chance of calling independent trials dependent."""

MANY_SIZES = 5
"""Different numbers of rows a case, the same in every config, that hint at test suites."""

SHARED = ("context", "seed")


def _size() -> pl.Expr:
    return pl.col("n") + pl.col("unscored")


def _tests_as_trials(data: Audited) -> Finding | None:
    """Rows or counts that are unit tests."""
    for severity, why in ((s, w) for s, w in _signs_of_tests(data.first) if w):
        return Finding(
            rule="tests_as_trials",
            severity="error" if severity else "warning",
            rows=data.table.trials.height,
            examples=why,
            advice="n counts rollouts, each with one verdict: it passes when all its tests pass. "
            "Tests of one rollout are not independent; put them into tests_passed and tests_total.",
        )
    return None


def _signs_of_tests(table: Inspection) -> list[tuple[bool, str]]:
    """Whether it is sure, and what is seen; empty where nothing is."""
    return [
        (True, _one_row_a_test(table)),
        (True, _as_many_as_tests(table)),
        (False, _sizes_of_suites(table)),
    ]


def _one_row_a_test(table: Inspection) -> str:
    for name in TESTS:
        if name in table.trials:
            key = [*CELL, *(part for part in ("trial",) if table.has(part))]
            tests = table.trials.group_by(key).agg(tests=pl.col(name).drop_nulls().n_unique())
            several = tests.filter(pl.col("tests") > 1).sort(key)
            if several.height:
                return f"column {short(name)} differs within " + named(
                    several, key, "{tests} tests"
                )
    return ""


def _as_many_as_tests(table: Inspection) -> str:
    if not table.has("tests_total"):
        return ""
    total = table.trials.group_by(CELL).agg(
        tests=pl.col("tests_total").max(),
        won=pl.col("tests_passed").max() if table.has("tests_passed") else pl.lit(None, pl.Int64),
    )
    cells = table.cells.join(total, on=CELL).filter(pl.col("tests") > 1)
    alike = cells.height and bool((cells["n"] + cells["unscored"] == cells["tests"]).all())
    won = bool((cells["won"] == cells["c"]).all()) and cells["won"].count() == cells.height
    if not alike or not (cells["tests"].n_unique() > 1 or (won and table.plan.shape == "counts")):
        return ""
    return "as many trials as tests: " + named(cells.sort(CELL), CELL, "n = {tests} = tests_total")


def _sizes_of_suites(table: Inspection) -> str:
    sizes = table.cells.group_by("case").agg(
        low=_size().min(), high=_size().max(), configs=pl.len()
    )
    same = bool((sizes["low"] == sizes["high"]).all()) and bool((sizes["configs"] > 1).all())
    if not same or sizes["low"].n_unique() < MANY_SIZES or table.has("attempt"):
        return ""
    return "trials vary by case and not by config, as tests do: " + named(
        sizes.sort("case"), ["case"], "{low} trials"
    )


def _single_rollout(data: Audited) -> Finding | None:
    cells = data.first.cells
    once = cells.filter(_size() == 1)
    if once.is_empty():
        return None
    return Finding(
        rule="single_rollout",
        severity="warning",
        rows=int(once["rows"].sum()),
        examples=f"{once.height:,} of {cells.height:,} config-case pairs: " + named(once, CELL),
        advice="One trial cannot show whether it would come out the same again: no pass^k, no "
        f"flakiness, no trial noise. Run every case {ENOUGH_ROLLOUTS} times or claim pass@1 only.",
    )


def _few_rollouts(data: Audited) -> Finding | None:
    cells = data.first.cells
    few = cells.filter(pl.col("n") < ENOUGH_ROLLOUTS)
    if few.is_empty():
        return None
    sizes = few.group_by("n").len("cells").sort("n")
    told = ", ".join(f"n = {n}: {pairs:,}" for n, pairs in sizes.iter_rows())
    return Finding(
        rule="few_rollouts",
        severity="warning",
        rows=int(few["rows"].sum()),
        examples=f"{few.height:,} of {cells.height:,} config-case pairs ({told})",
        advice=f"reliability@k and pass^k want {ENOUGH_ROLLOUTS} or more scored rollouts a case.",
    )


def _shared(name: str) -> Rule:
    """A rule for trials of a case that have a column in common."""

    def find(data: Audited) -> Finding | None:
        known = data.first.trials.drop_nulls([*CELL, name])
        hit = known.group_by(*CELL, name).agg(trials=pl.len()).filter(pl.col("trials") > 1)
        if hit.is_empty():
            return None
        return Finding(
            rule=f"shared_{name}",
            severity="warning",
            rows=int(hit["trials"].cast(pl.Int64).sum()),
            examples=named(hit.sort(*CELL, name), [*CELL, name], "{trials} trials"),
            advice=f"Trials of a case that share a {name} are not independent by design: the "
            f"{_WORTH[name]}. Run them apart, or count one of each.",
        )

    return Rule(name=f"shared_{name}", needs=(name,), find=find)


_WORTH = {
    "seed": "same seed may give the same answer again",
    "context": "state that one leaves behind is there for the next",
}


def _context_across_cases(data: Audited) -> Finding | None:
    known = data.first.trials.drop_nulls([*CELL, "context"])
    seen = known.group_by("config", "context").agg(
        cases=pl.col("case").n_unique(), trials=pl.len().cast(pl.Int64)
    )
    wide = seen.filter(pl.col("cases") > 1).sort("config", "context")
    if wide.is_empty():
        return None
    return Finding(
        rule="context_across_cases",
        severity="warning",
        rows=int(wide["trials"].sum()),
        examples=named(wide, ["config", "context"], "{cases} cases"),
        advice="Cases run in one context may fail together: take the context as the cluster, "
        "or run every case in one of its own.",
    )


def _dependent_trials(data: Audited) -> Finding | Skip | None:
    """Trials that share something agree more often than others of their case."""
    names = [name for name in SHARED if data.first.has(name)]
    if data.counted or not names:
        return Skip(why="no context and no seed" if not data.counted else "counts, not trials")
    tried = {name: found for name in names if (found := _agreement(data.first, name)) is not None}
    if not tried:
        return Skip(
            why=f"no case has trials that share a {' or a '.join(names)}, trials that do not, "
            "and both verdicts"
        )
    hit = {name: found for name, found in tried.items() if found.pvalue < ALPHA / len(tried)}
    if not hit:
        return None
    rows = data.first.trials.filter(
        pl.any_horizontal(pl.struct(*CELL, name).is_duplicated() for name in hit)
    )
    return Finding(
        rule="dependent_trials",
        severity="error",
        rows=rows.height,
        examples=", ".join(_told(name, found) for name, found in hit.items()),
        advice="These trials are worth fewer than their number: intervals that take them as "
        "independent are too narrow. Keep one trial of each context, or run them again apart.",
    )


def _told(name: str, found: Agreement) -> str:
    return (
        f"trials of a case with one {name} agree in {found.together:.0%} of pairs, others in "
        f"{found.apart:.0%} ({found.cells:,} config-case pairs, p = {found.pvalue:.2g})"
    )


def _agreement(table: Inspection, name: str) -> Agreement | None:
    rows = table.trials.drop_nulls([*CELL, name, "passed"])
    groups = rows.group_by(*CELL, name).agg(size=pl.len())
    cells = groups.group_by(CELL).agg(groups=pl.len(), most=pl.col("size").max())
    mixed = (
        cells.filter(pl.col("groups") > 1, pl.col("most") > 1).sort(CELL).with_row_index("_cell")
    )
    order = [
        part for part in ("_cell", "trial", name, "passed") if part in (*rows.columns, "_cell")
    ]
    kept = rows.join(mixed.select(*CELL, "_cell"), on=CELL).sort(order)
    return shared_agreement(
        kept["_cell"].cast(pl.Int64).to_numpy(),
        kept[name].rank("dense").cast(pl.Int64).to_numpy(),
        kept["passed"].to_numpy(),
    )


def _not_interleaved(data: Audited) -> Finding | Skip | None:
    known = data.first.trials.drop_nulls(["config", "started_at"])
    configs = known["config"].unique().sort()
    if len(configs) < 2:
        return Skip(why="one config")
    place = known["config"].rank("dense").cast(pl.Int64).to_numpy() - 1
    shares = later_shares(place, known["started_at"].cast(pl.Int64).to_numpy(), len(configs))
    rows = [
        (configs[a], configs[b], float(shares[a, b]))
        for a, b in np.argwhere(shares >= APART).tolist()
        if a != b
    ]
    if not rows:
        return None
    apart = pl.DataFrame(rows, schema=["first", "later", "share"], orient="row")
    apart = apart.sort("share", "first", "later", descending=[True, False, False])
    told = pl.concat([apart["first"], apart["later"]]).unique()
    pairs = len(configs) * (len(configs) - 1) // 2
    texts = [
        f"config {short(b)} after {short(a)} in {share:.0%} of pairs of trials"
        for a, b, share in apart.head(3).iter_rows()
    ]
    return Finding(
        rule="not_interleaved",
        severity="warning",
        rows=known.filter(pl.col("config").is_in(told.implode())).height,
        examples=f"{apart.height:,} of {pairs:,} pairs of configs: " + ", ".join(texts),
        advice="Whatever changed in between (load, versions, the service) is in the difference "
        "too. Run the configs side by side, case by case.",
    )


def _changed_copy(data: Audited) -> Finding | Skip | None:
    """Runs that were copied and then changed: the clock still gives them away."""
    clocks = [name for name in CLOCKS if data.table.has(name)]
    if not clocks or not data.table.has("trial"):
        return Skip(why="no trial" if clocks else f"no {' and no '.join(CLOCKS)}")
    pairs = nearly_copied(data.table.trials)
    exact = sets_of_copies(data.table.trials).explode("trials")
    copies = exact.select("config", pl.col("trials").alias("trial_right")).drop_nulls()
    pairs = pairs.join(copies, on=["config", "trial_right"], how="anti")
    if pairs.is_empty():
        return None
    return Finding(
        rule="changed_copy",
        severity="error",
        rows=int(pairs["cases"].sum()),
        examples=named(
            pairs,
            ["config"],
            "trials {trial} and {trial_right} share the clock in {alike} of {cases} cases",
        ),
        advice="No two real runs take the same time in nearly every case: one of them is a copy "
        "that was changed. Keep the one that is the original.",
    )


def _copied_config(data: Audited) -> Finding | Skip | None:
    """Whole runs that appear under two names."""
    if data.counted:
        return Skip(why="counts, not trials")
    if data.first.cells["config"].n_unique() < 2:
        return Skip(why="one config")
    trials = data.table.trials
    if not data.table.has("trial"):
        if bool((data.first.cells["rows"] > 1).any()):
            return Skip(why="no trial")
        trials = trials.with_columns(trial=pl.lit(0, pl.Int64))
    trials = trials.drop_nulls(["config", "case", "trial"])
    runs = trials.select("config", "trial").unique().sort("config", "trial")
    runs = runs.with_row_index("run").with_columns(pl.col("run").cast(pl.Int64))
    of_run = trials.join(runs, on=["config", "trial"])
    sets = sets_of_copies(of_run.with_columns(config=pl.lit(""), trial=pl.col("run")))
    sets = sets.filter(pl.col("severity").is_not_null()).sort("first")
    members = sets.select("first", "size", "severity", run="trials").explode("run")
    named_ = members.join(runs, on="run").group_by("first", "size", "severity", maintain_order=True)
    across = named_.agg(pl.col("config").unique().sort(), pl.col("trial").min())
    across = across.filter(pl.col("config").list.len() > 1)
    if across.is_empty():
        return None
    sure = "error" in across["severity"].to_list()
    return Finding(
        rule="copied_config",
        severity="error" if sure else "warning",
        rows=int((across["size"] * (across["config"].list.len() - 1)).sum()),
        examples="; ".join(
            f"configs {listed(row['config'], 4)} have a run of {row['size']:,} equal rows"
            for row in across.head(3).iter_rows(named=True)
        ),
        advice="One run under two names says nothing about their difference. Find out whose it "
        "is, and leave it out of the other."
        + ("" if sure else " Systems that never fail alike by chance may be one system."),
    )


RULES: tuple[Rule, ...] = (
    Rule(name="tests_as_trials", find=_tests_as_trials),
    Rule(name="single_rollout", find=_single_rollout),
    Rule(name="few_rollouts", find=_few_rollouts),
    _shared("seed"),
    _shared("context"),
    Rule(name="context_across_cases", needs=("context",), find=_context_across_cases),
    Rule(name="dependent_trials", find=_dependent_trials),
    Rule(name="not_interleaved", needs=("started_at",), find=_not_interleaved),
    Rule(name="changed_copy", find=_changed_copy),
    Rule(name="copied_config", find=_copied_config),
)
