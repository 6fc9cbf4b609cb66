"""Counts as configs crossed with cases: cells, names and resampling units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe.counts import Counts
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed, short
from trialframe.kernels.anova import Cells, cells_of
from trialframe.reliability._table import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

FACETS = ("config", "case", "run")
VERDICT = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """J configs by M cases.

    Attributes:
        configs: Names of the configs, sorted.
        cases: Number of cases.
        cells: The cells, cases sorted by name.
        unit: Code of the resampling unit of each case, shape (M,).
        clustered: Whether units are clusters.
        facets: What the object, the case and the run are called.
        notes: What was left out.
    """

    configs: tuple[str, ...]
    cases: int
    cells: Cells
    unit: Ints
    clustered: bool
    facets: tuple[str, str, str]
    notes: tuple[str, ...]


def names_of(facets: object) -> tuple[str, str, str]:
    """Three different names: what is measured, the case, the run."""
    found = tuple(facets) if isinstance(facets, list | tuple) else ()
    if len(found) != len(FACETS) or len(set(found)) != len(found):
        raise ArgumentError(
            f"facets == {short(facets)}, must name three columns: what is measured, the case and "
            "the run, as in ('config', 'case', 'run')."
        )
    if not all(isinstance(name, str) for name in found):
        raise ArgumentError(f"facets == {short(facets)}, must be names of columns.")
    return str(found[0]), str(found[1]), str(found[2])


def design_of(
    table: Any,
    columns: Mapping[str, Any],
    *,
    facets: tuple[str, str, str],
    measure: str,
    units: str,
    unscored: Any,
    threshold: float | None,
) -> Design:
    """Lay out counts or trials.

    Args:
        table: Trials or counts.
        columns: Where canonical columns of trials are.
        facets: Names of what is measured, the case and the run.
        measure: "passed", or a measure whose sums counts hold.
        units: "clusters" when there are some, or "cases".
        unscored: Policy for trials without a verdict.
        threshold: Pass when score >= threshold.

    Raises:
        ColumnError: A facet or measure that the counts do not hold.
        TrialsError: Fewer than two cases, or nothing known.
    """
    named = dict(columns)
    if not isinstance(table, Counts):
        # config and case keep their aliases; other names are columns of the trials
        kinds = zip(FACETS, ("config", "case", "trial"), facets, strict=True)
        named |= {kind: own for default, kind, own in kinds if own != default}
        facets_here = ("config", "case")
    else:
        facets_here = (facets[0], facets[1])
    found = counted(table, named, unscored=unscored, threshold=threshold)
    rows = _sums(found, facets_here, measure, units)
    notes = _left_out(rows, found)
    rows, configs, cases = _coded(rows.filter(pl.col("n") > 0))
    if rows.is_empty():
        raise TrialsError(f"no trial has a known {measure}, so nothing can be estimated.")
    if len(cases) < 2:
        raise TrialsError(
            f"variance components need at least 2 cases, there is {len(cases)}. One case says "
            "nothing about cases: add some, or name another column in facets=."
        )
    return Design(
        configs=tuple(configs.to_list()),
        cases=len(cases),
        cells=_cells(rows, len(configs), len(cases)),
        unit=_units(rows, len(cases)),
        clustered="cluster" in rows.columns,
        facets=facets,
        notes=notes,
    )


def _sums(found: Counts, facets: tuple[str, str], measure: str, units: str) -> pl.DataFrame:
    """n, sum and sum of squares per object and case, and the case's cluster."""
    frame = found.frame
    known = ["config", "case", *found.by]
    for name in facets:
        if name not in known:
            raise ColumnError(
                f"facets: these counts hold no column {name!r}; keep it with "
                f"tr.counts(..., by={name!r}). {did_you_mean(name, known)}"
            )
    if measure == VERDICT:
        sums = {"n": pl.col("n"), "total": pl.col("c"), "squares": pl.col("c")}
    elif measure in found.measures:
        parts = {"n": "n", "total": "sum", "squares": "sumsq"}
        sums = {name: pl.col(f"{measure}_{part}") for name, part in parts.items()}
    else:
        held = [VERDICT, *found.measures]
        raise ColumnError(f"measure: no sums of {measure!r}. {did_you_mean(measure, held)}")
    clusters = units == "clusters" and "cluster" in frame.columns and facets[1] == "case"
    if frame.select(pl.any_horizontal(pl.col(*facets).is_null()).any()).item():
        raise TrialsError(f"facets: {listed(facets)} must be known in every row of the counts.")
    rows = frame.select(
        pl.col(facets[0]).cast(pl.String).alias("object"),
        pl.col(facets[1]).cast(pl.String).alias("case"),
        *([pl.col("cluster")] if clusters else []),
        **sums,
    )
    if facets == FACETS[:2]:
        return rows  # sorted and unique, as all counts are
    return (
        rows.group_by("object", "case", *(["cluster"] if clusters else []))
        .agg(pl.col("n", "total", "squares").sum())
        .sort("object", "case")
    )


def _coded(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
    """Names as enumerations, whose codes are places in the design, and those names, sorted."""
    configs, cases = (rows[name].unique().sort() for name in ("object", "case"))
    kinds = {"object": pl.Enum(configs), "case": pl.Enum(cases)}
    coded = rows.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    return coded, configs, cases


def _left_out(rows: pl.DataFrame, found: Counts) -> tuple[str, ...]:
    """Notes on configs and cases without a known value, and on weights."""
    notes = []
    empty = bool((rows["n"] == 0).any())
    for name, word in (("object", "configs"), ("case", "cases")) if empty else ():
        known = rows.filter(pl.col("n") > 0)[name].unique()
        lost = rows.filter(~pl.col(name).is_in(known.implode()))[name].unique().sort()
        if len(lost):
            notes.append(f"{len(lost):,} {word} without a known trial left out: {listed(lost, 3)}")
    if "weight" in found.frame.columns:
        notes.append("case weights are not used: every case counts alike")
    if unscored := int(found.frame["unscored"].sum()):
        notes.append(f"{unscored:,} trials without a verdict are left out")
    return tuple(notes)


def _cells(rows: pl.DataFrame, configs: int, cases: int) -> Cells:
    codes = (rows[name].to_physical().to_numpy() for name in ("object", "case"))
    place = tuple(code.astype(np.int64) for code in codes)
    n = np.zeros((configs, cases), dtype=np.int64)
    total, squares = np.zeros((2, configs, cases))
    n[place] = rows["n"].to_numpy()
    total[place] = rows["total"].cast(pl.Float64).to_numpy()
    squares[place] = rows["squares"].cast(pl.Float64).to_numpy()
    return cells_of(n, total, squares)


def _units(rows: pl.DataFrame, cases: int) -> Ints:
    """Codes of the clusters of the cases in their order, or of the cases themselves."""
    if "cluster" not in rows.columns:
        return np.arange(cases)
    each = rows.group_by("case").agg(pl.col("cluster").first()).sort("case")
    return each["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
