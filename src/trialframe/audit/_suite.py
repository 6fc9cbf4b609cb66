"""Rules about the cases: enough of them, apart in what they show, unseen, and judged rightly."""

from __future__ import annotations

from math import isnan

import polars as pl

from trialframe.audit._evidence import SEVERE, Audited, Rule, Skip, per_config
from trialframe.audit._inspect import Finding, named
from trialframe.errors import listed
from trialframe.estimate.cautions import FEW_CLUSTERS, SMALL_SUITE
from trialframe.kernels.dependence import no_difference, tied_with_best

ALPHA = 0.05
SATURATED = 0.9

WITH_AND_WITHOUT = "Report the result with and without these cases."


def _small_suite(data: Audited) -> Finding | None:
    scored = data.first.cells.filter(pl.col("n") > 0)
    cases = scored["case"].n_unique()
    if cases >= SMALL_SUITE:
        return None
    return Finding(
        rule="small_suite",
        severity="warning",
        rows=data.table.trials.height,
        examples=f"{cases} cases with a verdict",
        advice=f"Below {SMALL_SUITE} cases no interval over cases is worth much. Add cases: more "
        "trials of the same ones do not replace them.",
    )


def _few_clusters(data: Audited) -> Finding | None:
    rows = data.first.trials.drop_nulls("cluster").group_by("cluster").len("rows")
    if rows.height >= FEW_CLUSTERS:
        return None
    return Finding(
        rule="few_clusters",
        severity="warning",
        rows=int(rows["rows"].sum()),
        examples=f"{rows.height} clusters: {listed(rows['cluster'].sort(), 4)}",
        advice=f"Fewer than {FEW_CLUSTERS} clusters carry few degrees of freedom. Sample cases "
        "from more sources.",
    )


def _saturated(data: Audited) -> Finding | None:
    scored = data.first.cells.filter(pl.col("n") > 0)
    configs = scored.group_by("config").agg(
        pl.col("rows").sum(), share=(pl.col("c") == pl.col("n")).mean()
    )
    full = configs.filter(pl.col("share") >= SATURATED - 1e-12)
    if full.is_empty():
        return None
    return Finding(
        rule="saturated",
        severity="warning",
        rows=int(full["rows"].sum()),
        examples="cases that always pass: " + per_config(full, pl.col("share")),
        advice="A suite that is nearly always passed shows no progress and hides differences. "
        "Add harder cases, or keep it to guard against regressions.",
    )


def _no_separation(data: Audited) -> Finding | Skip | None:
    """Configs whose scores lie closer together than cases let one tell."""
    scored = data.first.cells.filter(pl.col("n") > 0)
    configs = scored["config"].unique().sort()
    if len(configs) < 2:
        return Skip(why="one config")
    shared = scored.filter(pl.len().over("case") == len(configs)).sort("case", "config")
    cases = shared.height // len(configs)
    if cases < 2:
        return Skip(why="no two cases in all configs")
    values = (shared["c"] / shared["n"]).to_numpy().reshape(cases, len(configs))
    first = shared.gather_every(len(configs))
    unit = first["case"] if "cluster_min" not in first else first["cluster_min"]
    block = unit.fill_null(first["case"]).rank("dense").cast(pl.Int64).to_numpy() - 1
    pvalue = no_difference(values, block)
    tied = tied_with_best(values, block)
    none = isnan(pvalue) or pvalue >= ALPHA
    if not none and tied.sum() < 2:
        return None
    means = pl.DataFrame({"config": configs, "share": values.mean(axis=0)})
    shown = means if none else means.filter(pl.Series(tied))
    told = "none differ" if isnan(pvalue) else f"p = {pvalue:.2g} of no difference at all"
    words = told if none else f"{int(tied.sum())} of {len(configs)} not told from the best"
    return Finding(
        rule="no_separation",
        severity="warning" if none else "info",
        rows=int(scored.filter(pl.col("config").is_in(shown["config"].implode()))["rows"].sum()),
        examples=f"{words} on {cases:,} cases: " + per_config(shown, pl.col("share")),
        advice="Do not rank these configs: the cases do not tell them apart. Add cases or trials.",
    )


def _public_source(data: Audited) -> Finding | Skip | None:
    if "public" not in data.cases:
        return Skip(why="no column says whether the source of a case is public")
    hit = data.cases.filter("public")
    if hit.is_empty():
        return None
    return Finding(
        rule="public_source",
        severity="warning",
        rows=int(hit["rows"].sum()),
        examples=f"{hit.height:,} of {data.cases.height:,} cases: " + named(hit, ["case"]),
        advice="Answers to public tasks may be in the training data. "
        f"{WITH_AND_WITHOUT} Better: add cases that were never published.",
    )


def _public_before_release(data: Audited) -> Finding | Skip | None:
    lacking = [
        *(["date of the source of a case"] if "source_date" not in data.cases else []),
        *(["release date of a config"] if data.released.is_empty() else []),
    ]
    if lacking:
        return Skip(why="no " + " and no ".join(lacking))
    known = data.cases.filter(~pl.col("public")) if "public" in data.cases else data.cases.clear()
    cases = data.cases.join(known.select("case"), on="case", how="anti")
    cells = data.table.cells.join(data.released, on="config")
    cells = cells.join(cases.select("case", "source_date"), on="case")
    hit = cells.filter(pl.col("source_date") < pl.col("release_date"))
    if hit.is_empty():
        return None
    counts = cells.group_by("config", "release_date").agg(
        cases=pl.len(), before=(pl.col("source_date") < pl.col("release_date")).sum()
    )
    counts = counts.filter(pl.col("before") > 0).sort("before", "config", descending=[True, False])
    return Finding(
        rule="public_before_release",
        severity="warning",
        rows=int(hit["rows"].sum()),
        examples=named(counts, ["config"], "{before} of {cases} cases before {release_date}"),
        advice="These cases could be in the training data of these configs. Compare on cases that "
        "are newer than every config.",
    )


_REVIEWS = {
    "false_negative": (
        "false_negative_tests",
        "The tests may fail right solutions, so failures here are partly the verifier's.",
    ),
    "underspecified": (
        "underspecified_cases",
        "The task does not say all that the tests ask for, so failures here are partly luck.",
    ),
    "other_major_issues": ("cases_with_issues", "Reviewers found these cases faulty."),
    "filter_out": ("rejected_cases", "Reviewers would leave these cases out."),
}


def _review(name: str) -> Rule:
    """A rule for what reviewers said of cases."""
    rule, meaning = _REVIEWS[name]

    def find(data: Audited) -> Finding | Skip | None:
        if name not in data.cases:
            return Skip(why=f"no {name} annotation")
        hit = data.cases.filter(pl.col(name) > 0)
        if hit.is_empty():
            return None
        severe = hit.filter(pl.col(name) >= SEVERE)
        shown = (severe if severe.height else hit).sort(-pl.col(name), "case")
        cells = data.first.cells.join(shown.select("case"), on="case")
        never = cells.group_by("case").agg(pl.col("c").sum()).filter(c=0).height
        grade = "severe" if severe.height else "minor"
        return Finding(
            rule=rule,
            severity="warning" if severe.height else "info",
            rows=int(shown["rows"].sum()),
            examples=f"{shown.height:,} of {data.cases.height:,} cases {grade}, {never:,} of them "
            "never passed: " + named(shown, ["case"], f"{{{name}}}"),
            advice=f"{meaning} {WITH_AND_WITHOUT}",
        )

    return Rule(name=rule, find=find)


def _not_annotated(data: Audited) -> Finding | Skip | None:
    if not data.annotations:
        return Skip(why="no annotations given")
    bare = data.cases.filter(~pl.col("annotated"))
    if bare.is_empty():
        return None
    none = bare.height == data.cases.height
    return Finding(
        rule="not_annotated",
        severity="error" if none else "warning",
        rows=int(bare["rows"].sum()),
        examples=f"{bare.height:,} of {data.cases.height:,} cases: " + named(bare, ["case"]),
        advice="No case of the table is in the annotations: write the ids of both alike."
        if none
        else "Nobody looked at these cases: nothing is known of their tests.",
    )


RULES: tuple[Rule, ...] = (
    Rule(name="small_suite", find=_small_suite),
    Rule(name="few_clusters", needs=("cluster",), find=_few_clusters),
    Rule(name="saturated", find=_saturated),
    Rule(name="no_separation", find=_no_separation),
    Rule(name="public_source", find=_public_source),
    Rule(name="public_before_release", find=_public_before_release),
    *(_review(name) for name in _REVIEWS),
    Rule(name="not_annotated", find=_not_annotated),
)
