"""A comparison on parts of its pairs: one group at a time, or everything but one part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.comparison.difference import measured, relative, verdict_of
from trialframe.comparison.pairs import OWN_COLUMNS, ROUNDING, Difference, known_or_none, lower_wins
from trialframe.errors import ArgumentError, did_you_mean
from trialframe.kernels.multiple import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialframe.comparison.difference import Measured, Settings
    from trialframe.comparison.result import Comparison
    from trialframe.estimate.metrics import Request

MOST_PARTS = 200
MOST_CASES = 20

GROUPS = {
    "cases": pl.Int64,
    "units": pl.Int64,
    "baseline_value": pl.Float64,
    "candidate_value": pl.Float64,
    "diff": pl.Float64,
    "se": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "method": pl.String,
    "pvalue": pl.Float64,
    "pvalue_holm": pl.Float64,
    "wins": pl.Int64,
    "losses": pl.Int64,
    "verdict": pl.String,
}
REST = {
    "kind": pl.String,
    "left_out": pl.String,
    "cases": pl.Int64,
    "share": pl.Float64,
    "diff": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "pvalue": pl.Float64,
    "verdict": pl.String,
}


def refuse_unknown(frame: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise for columns that the pairs cannot be grouped by."""
    known = [n for n in frame.columns if n not in OWN_COLUMNS or n in {"case", "cluster"}]
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"by: the pairs have no column {name!r}. {did_you_mean(name, known)} A column is "
                "there when the counts keep it, tr.counts(..., by=[...]), it agrees on both sides "
                "of every case, and its name is none of the pairs' own."
            )


def grouped(
    frame: pl.DataFrame,
    request: Request,
    settings: Settings,
    by: Sequence[str],
    *,
    hopeless: bool,
) -> pl.DataFrame:
    """The comparison within every group, with Holm's adjustment over the groups.

    A verdict needs the interval of the group and its adjusted p-value.
    """
    refuse_unknown(frame, by)
    for name in by:
        if name in GROUPS:
            raise ArgumentError(f"by: {name!r} is a column of the result. Rename yours to keep it.")
    keys, parts = [], []
    for key, part in frame.sort(*by, "case").group_by(by, maintain_order=True):
        keys.append(key)
        parts.append(measured(Difference.of(part, request), request, settings))
    adjusted = holm(np.array([made.tested.pvalue for made in parts]))
    rows = [
        _row(made, float(p), settings, request) for made, p in zip(parts, adjusted, strict=True)
    ]
    if hopeless:
        rows = [row | {"verdict": "inconclusive"} for row in rows]
    labels = pl.DataFrame(keys, schema={name: frame.schema[name] for name in by}, orient="row")
    return labels.hstack(pl.DataFrame(rows, schema=GROUPS))


def _row(made: Measured, adjusted: float, settings: Settings, request: Request) -> dict[str, Any]:
    fit, ratio = made.fit, made.ratio
    ends = relative(made.interval, ratio, settings.effect)
    tested = replace(made.tested, pvalue=adjusted)
    return {
        "cases": int(fit.cases[0]),
        "units": int(fit.units[0]),
        "baseline_value": float(fit.mean[1]),
        "candidate_value": float(fit.mean[2]),
        "diff": float(fit.mean[0]),
        "se": known_or_none(fit.se[0]),
        "low": made.interval.low,
        "high": made.interval.high,
        "ratio": None if ratio is None else ratio.value,
        "ratio_low": None if ratio is None else ratio.low,
        "ratio_high": None if ratio is None else ratio.high,
        "method": made.interval.method,
        "pvalue": made.tested.pvalue,
        "pvalue_holm": adjusted,
        "wins": made.wins,
        "losses": made.losses,
        "verdict": verdict_of(*ends, tested, settings.level, lower_wins=lower_wins(request)),
    }


def influence(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Cases, summed difference and its share of every part (`part`), the largest first."""
    weight = pl.col("weight") if "weight" in frame.columns else pl.lit(1.0)
    sums = (
        frame.select(part=pl.col(column), diff=weight * pl.col("diff"))
        .group_by("part", maintain_order=True)  # else rounding would differ from call to call
        .agg(pl.len().alias("cases"), pl.col("diff").sum())
    )
    total = float(sums["diff"].to_numpy().sum())
    # what rounding leaves of a sum of 0 has no shares
    some = abs(total) > ROUNDING * float(np.abs(sums["diff"].to_numpy()).sum())
    share = pl.col("diff") / total if some else pl.lit(None, pl.Float64)
    # of equally large parts first those that pull where the difference goes
    order = [pl.col("diff").abs(), pl.col("diff") * (1.0 if total >= 0 else -1.0), pl.col("part")]
    return sums.with_columns(share=share).sort(*order, descending=[True, True, False])


def left_out(
    frame: pl.DataFrame,
    request: Request,
    settings: Settings,
    by: Sequence[str],
    *,
    hopeless: bool,
) -> pl.DataFrame:
    """The comparison without one cluster, group or case at a time."""
    refuse_unknown(frame, by)
    kinds = ["cluster" if "cluster" in frame.columns else "case", *by]
    rows = []
    for kind in dict.fromkeys(kinds):
        parts = influence(frame, kind).head(MOST_CASES if kind == "case" else MOST_PARTS)
        for name, cases, share in parts.select("part", "cases", "share").iter_rows():
            rest = frame.filter(pl.col(kind).ne_missing(pl.lit(name, frame.schema[kind])))
            rows.append({"kind": kind, "left_out": str(name), "cases": cases, "share": share})
            if not rest.is_empty():
                data = Difference.of(rest, request)
                made = measured(data, request, settings, hopeless=hopeless)
                rows[-1] |= {
                    "diff": float(made.fit.mean[0]),
                    "low": made.interval.low,
                    "high": made.interval.high,
                    "pvalue": made.tested.pvalue,
                    "verdict": made.verdict,
                }
    return pl.DataFrame(rows, schema=REST)


def with_whole(found: Comparison) -> pl.DataFrame:
    """The comparison as a whole in the first row, its groups, named as text, below."""
    names = [name for name in GROUPS if not name.startswith("ratio")]
    whole = pl.DataFrame(
        [{name: getattr(found, name, None) for name in names}],
        schema={name: GROUPS[name] for name in names},
    )
    if found.groups is None:
        return whole.insert_column(0, pl.Series("group", ["all cases"]))
    keys = found.groups.columns[: found.groups.columns.index("cases")]
    named = pl.concat_str(
        [pl.col(k).cast(pl.String).fill_null("none") for k in keys], separator=", "
    )
    groups = found.groups.select(named.alias("group"), *names)
    return pl.concat([whole.insert_column(0, pl.Series("group", ["all cases"])), groups])
