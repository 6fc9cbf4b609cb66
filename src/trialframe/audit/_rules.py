"""The rules: each looks at one inspection and yields what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe._rollup import tells_apart
from trialframe.audit._copies import copied_runs
from trialframe.audit._inspect import CELL, KEY, Finding, Inspection, findings_frame, named
from trialframe.errors import short
from trialframe.read._fields import broken, complaint
from trialframe.read._trials import canonical, examples
from trialframe.read.tables import SPENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COVERAGE_FLOOR = 0.95
COVERAGE_GAP = 0.02
FLAGS = ("passed", "secure", "label", "judge")


def problems(data: Inspection) -> pl.DataFrame:
    """All findings of all rules, errors first."""
    return findings_frame(problems_of(data))


def problems_of(data: Inspection) -> list[Finding]:
    """All findings of all rules."""
    if data.trials.is_empty():
        empty = Finding(
            rule="no_rows",
            severity="error",
            rows=0,
            examples="",
            advice="The table has columns but no rows. Check the file or the filter before it.",
        )
        return [empty]
    return [found for rule in RULES for found in rule(data)]


def _broken_values(data: Inspection) -> Iterator[Finding]:
    """Verdicts that are no verdicts; NaN and infinity in numbers."""
    score = data.plan.get("score")
    fields = {f.name: f for f in data.plan.fields if f.usable}
    if score is not None and fields["passed"].threshold is not None:
        del fields["passed"]  # the score it comes from is tested itself
    tests = {n: t for n, f in fields.items() if (t := broken(f, pl)) is not None}
    if not tests:
        return
    found = data.frame.select(**{name: test.sum() for name, test in tests.items()}).collect()
    for name, test in tests.items():
        if rows := int(found[name].item() or 0):
            yield Finding(
                rule=f"not_boolean_{name}" if name in FLAGS else "not_finite",
                severity="error",
                rows=rows,
                examples=examples(data.frame, fields[name], test),
                advice=complaint(fields[name], rows, ""),
            )


def _null_keys(data: Inspection) -> Iterator[Finding]:
    for name in CELL:
        where = data.trials[name].is_null().arg_true()
        if where.len():
            yield Finding(
                rule=f"null_{name}",
                severity="error",
                rows=where.len(),
                examples=", ".join(f"row {row}" for row in where.head(3)),
                advice=f"Fill in the {name} of these rows, or leave them out.",
            )


def _duplicate_keys(data: Inspection) -> Iterator[Finding]:
    key = [name for name in KEY if name in data.trials]
    if data.plan.shape == "trials" and not {"trial", "attempt"} & set(key):
        return  # without numbers every row of a case is a trial of its own
    numbered = data.trials.lazy().drop_nulls(key)
    groups = numbered.group_by(key).agg(rows=pl.len().cast(pl.Int64)).filter(pl.col("rows") > 1)
    repeated = groups.sort(key).collect()
    if repeated.height:
        shown = [name for name in key if name != "config" or data.plan.get("config")]
        yield Finding(
            rule="duplicate_key",
            severity="error",
            rows=int((repeated["rows"] - 1).sum()),
            examples=named(repeated, shown, "{rows} rows"),
            advice=f"Keep one row per {', '.join(shown)}, or number the trials apart."
            + _what_tells_apart(data, shown),
        )


def _what_tells_apart(data: Inspection, key: list[str]) -> str:
    """A sentence on a label outside the key that differs within every repeated key."""
    rows = canonical(data.frame, data.plan).drop_nulls(key)
    schema = rows.collect_schema()
    texts = [name for name in data.plan.unused if schema.get(name) == pl.String]
    apart = tells_apart(rows, key, texts)
    if apart is None:
        return ""
    parts = [*_sources(data, "config"), apart]
    return f" Column {short(apart)} tells them apart: filter on it, or config={short(parts, 200)}."


def _sources(data: Inspection, name: str) -> tuple[str, ...]:
    field = data.plan.get(name)
    return field.sources if field else ()


def _unnumbered(data: Inspection) -> Iterator[Finding]:
    """Trials without a number of their own; attempts that do not count from 1."""
    made = data.trials.filter("trial_made") if data.has("trial_made") else data.trials.clear()
    if made.height:
        configs = made["config"].n_unique()
        yield Finding(
            rule="made_trial",
            severity="info",
            rows=made.height,
            examples=f"{configs:,} {'config' if configs == 1 else 'configs'}",
            advice="Their log numbers no trials, so they were numbered in its order: such numbers "
            "are no runs, pair nothing across configs, and hide repeats. Where a column tells "
            "runs apart, name it: trial='run'.",
        )
    where = data.trials["trial"].is_null().arg_true() if data.has("trial") else None
    if where is not None and where.len():
        yield Finding(
            rule="null_trial",
            severity="warning",
            rows=where.len(),
            examples=", ".join(f"row {row}" for row in where.head(3)),
            advice="Rows without a trial number are taken as trials of their own, and repeats "
            "among them cannot be seen. Number them, or leave the column out: trial=None.",
        )
    if not data.has("attempt"):
        return
    attempt = pl.col("attempt")
    odd = data.trials.filter(attempt.is_null() | (attempt < 1))
    if odd.height:
        source = data.plan.get("attempt")
        name = source.sources[0] if source else "attempt"
        yield Finding(
            rule="attempts_not_from_1",
            severity="error",
            rows=odd.height,
            examples=named(odd.sort(*CELL, "attempt"), CELL, "attempt {attempt}"),
            advice="Attempts count from 1, and none is null. If these count from 0, "
            f'attempt=pl.col("{name}") + 1.',
        )


def _counts_in_range(data: Inspection) -> Iterator[Finding]:
    if data.plan.shape != "counts":
        return
    n, c = pl.col("n"), pl.col("c")
    bad = data.trials.filter(~((n >= 0) & (c >= 0) & (c <= n)).fill_null(value=False))
    if bad.height:
        yield Finding(
            rule="counts_out_of_range",
            severity="error",
            rows=bad.height,
            examples=named(bad, CELL, "n {n}, c {c}"),
            advice="c passes of n trials need 0 <= c <= n, neither of them null.",
        )


def _two_clusters(data: Inspection) -> Iterator[Finding]:
    if not data.has("cluster"):
        return
    low, high = pl.col("cluster_min").min(), pl.col("cluster_max").max()
    cases = data.cells.group_by("case").agg(pl.col("rows").sum(), low=low, high=high)
    split = cases.filter(pl.col("low") != pl.col("high")).sort("case")
    if split.height:
        parts = [name for item in ("cluster", "case") for name in _sources(data, item)]
        yield Finding(
            rule="two_clusters",
            severity="error",
            rows=int(split["rows"].sum()),
            examples=named(split, ["case"], "{low} and {high}"),
            advice="A case belongs to one cluster. Mend the column, or tell the cases apart: "
            f"case={short(parts, 200)}.",
        )


def _spent_zeros(data: Inspection) -> Iterator[Finding]:
    """0 and negative numbers where effort was spent: unknown, written as a number."""
    measures = [name for name in SPENT if name in data.trials]
    if not measures:
        return
    zeros = {f"{m}_zero": (pl.col(m) == 0).sum().cast(pl.Int64) for m in measures}
    below = {f"{m}_below": (pl.col(m) < 0).sum().cast(pl.Int64) for m in measures}
    by_config = data.trials.group_by("config").agg(pl.len().alias("rows"), **zeros, **below)
    for name in measures:
        words = {
            "zero": ("zero_for_unknown", f"If 0 means unknown here, zero_is_missing={name!r}."),
            "below": ("negative_measure", f"Unknown is null: mend column {name}."),
        }
        for sign, (rule, advice) in words.items():
            column = f"{name}_{sign}"
            hit = by_config.filter(pl.col(column) > 0).sort(column, "config", descending=True)
            if hit.height:
                yield Finding(
                    rule=rule,
                    severity="warning" if sign == "zero" else "error",
                    rows=int(hit[column].sum()),
                    examples=f"{name}: " + named(hit, ["config"], f"{{{column}}} of {{rows}} rows"),
                    advice=advice,
                )


def _mixed_bases(data: Inspection) -> Iterator[Finding]:
    """Some configs count their trials from 0, others from 1."""
    trial = data.plan.get("trial")
    if trial is None or trial.kind == "string" or "trial_min" not in data.cells:
        return
    numbered = data.cells
    if "trial_made" in data.trials:
        made = data.trials.filter("trial_made")["config"].unique()
        numbered = numbered.filter(~pl.col("config").is_in(made.implode()))
    bases = numbered.group_by("config").agg(pl.col("rows").sum(), base=pl.col("trial_min").min())
    zero, one = (bases.filter(base=base).sort("config") for base in (0, 1))
    if zero.height and one.height:
        fewer = min(zero, one, key=lambda frame: frame.height)
        yield Finding(
            rule="mixed_trial_base",
            severity="warning",
            rows=int(fewer["rows"].sum()),
            examples=f"from 0: {named(zero, ['config'])}; from 1: {named(one, ['config'])}",
            advice="Number the trials of all configs from one base, or pairs by trial shift.",
        )


def _near_ids(data: Inspection) -> Iterator[Finding]:
    """Ids that differ only by letter case or by space around them."""
    for name in CELL:
        ids = data.cells.group_by(name).agg(pl.col("rows").sum())
        plain = pl.col(name).str.normalize("NFKC").str.strip_chars().str.to_lowercase()
        near = ids.with_columns(plain=plain).filter(pl.len().over("plain") > 1)
        if near.height:
            near = near.sort("plain", name)
            yield Finding(
                rule=f"near_{name}_ids",
                severity="warning",
                rows=int(near["rows"].sum()),
                examples=named(near, [name], limit=4),
                advice=f"If they are one {name}, write them alike, for example "
                f'{name}=pl.col("{name}").str.strip_chars().str.to_lowercase().',
            )


def _unscored(data: Inspection) -> Iterator[Finding]:
    """Configs without a verdict, and coverage that is low or uneven (warning)."""
    sums = data.cells.group_by("config").agg(pl.col("rows", "n", "unscored").sum())
    none = sums.filter(n=0).sort("config")
    if none.height:
        yield Finding(
            rule="no_scored_trials",
            severity="error",
            rows=int(none["rows"].sum()),
            examples=named(none, ["config"], "{unscored} unscored"),
            advice="Nothing can be said of a config without verdicts. Score it, or leave it out.",
        )
    some = sums.filter(pl.col("n") > 0).with_columns(
        share=pl.col("n") / (pl.col("n") + pl.col("unscored"))
    )
    shares = some["share"].to_list() or [1.0]
    if min(shares) < COVERAGE_FLOOR or max(shares) - min(shares) > COVERAGE_GAP:
        low = some.filter(pl.col("unscored") > 0)
        low = low.sort("share", "config")
        yield Finding(
            rule="unscored_trials",
            severity="warning",
            rows=int(low["unscored"].sum()),
            examples=named(low, ["config"], "{unscored} unscored, {n} scored"),
            advice="Decide what a trial without a verdict is (unscored=), and read the bracket.",
        )


def _grid(data: Inspection) -> Iterator[Finding]:
    """Cases that some configs lack."""
    configs = data.cells["config"].n_unique()
    held = data.cells.with_columns(held=pl.len().over("case"))
    partial = held.filter(pl.col("held") < configs)
    if partial.height:
        cases = data.cells["case"].n_unique()
        have = data.cells.group_by("config").agg(missing=cases - pl.len().cast(pl.Int64))
        have = have.filter(pl.col("missing") > 0).sort(-pl.col("missing"), "config")
        yield Finding(
            rule="missing_cases",
            severity="warning",
            rows=int(partial["rows"].sum()),
            examples=named(have, ["config"], f"{{missing}} of {cases} missing"),
            advice=f"{held.filter(held=configs)['case'].n_unique()} of {cases} cases are in all "
            f"{configs} configs: compare on shared cases only.",
        )


def _uneven_trials(data: Inspection) -> Iterator[Finding]:
    if data.has("attempt"):
        return  # attempts end at success: their number says nothing of trials
    size = pl.col("n") + pl.col("unscored")
    sizes = data.cells.group_by(size=size).agg(pl.len().alias("cells"), pl.col("rows").sum())
    if sizes.height > 1:
        sizes = sizes.sort("cells", "size", descending=True)
        yield Finding(
            rule="uneven_trials",
            severity="warning",
            rows=int(sizes["rows"][1:].sum()),
            examples=", ".join(
                f"{row['cells']:,} config-case pairs with n = {row['size']}"
                for row in sizes.head(4).iter_rows(named=True)
            ),
            advice="Metrics of k trials leave out cases with fewer than k. Top up the short cases.",
        )


def _sequential(data: Inspection) -> Iterator[Finding]:
    if not data.has("attempt"):
        return
    first = pl.col("attempt").min().over("config").clip(upper_bound=1)
    later = data.trials.filter(pl.col("attempt") > first)
    if later.height:
        yield Finding(
            rule="sequential_attempts",
            severity="warning",
            rows=later.height,
            examples=named(later.sort(*CELL, "attempt"), [*CELL, "attempt"]),
            advice='Later attempts are no independent trials: count with attempts="first".',
        )


RULES: tuple[Callable[[Inspection], Iterator[Finding]], ...] = (
    _broken_values,
    _null_keys,
    _duplicate_keys,
    _unnumbered,
    copied_runs,
    _counts_in_range,
    _two_clusters,
    _unscored,
    _mixed_bases,
    _sequential,
    _spent_zeros,
    _near_ids,
    _grid,
    _uneven_trials,
)
