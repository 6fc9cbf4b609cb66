"""Labelled and unlabelled cases of a run as the arrays of a prediction-powered mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, TrialsError, listed
from trialframe.judge._labelled import CELLS, CLUSTER, OTHERS, SPLIT, labelled, one_cluster_per_case
from trialframe.kernels.ppi import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

LABELLED, UNLABELLED = "labelled", "unlabelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Rows of cases, labelled or not.

    Attributes:
        rows: One row per config, case and part, sorted: `config, case, part` ("labelled" or
            "unlabelled"), `y` (null without label), `f`, `trials`, `unit` (cluster or case).
        judge: The judge's column.
        clustered: Whether there is a cluster column.
        notes: What was left out.
    """

    rows: pl.DataFrame
    judge: str
    clustered: bool
    notes: tuple[str, ...]

    def of(self, config: str | None) -> pl.DataFrame:
        """The rows of one config."""
        return self.rows.filter(pl.col("config").eq_missing(pl.lit(config)))

    @property
    def configs(self) -> list[str | None]:
        """Configs, sorted."""
        return self.rows["config"].unique().sort().to_list()


def parts_of(
    table: Any,
    unlabelled: Any,
    given: Mapping[str, Any],
    verdicts: Mapping[Any, bool | None] | None,
) -> Parts:
    """Read labelled and unlabelled cases from one table or two.

    Args:
        table: Rows with verdicts, and labels where there are any.
        unlabelled: Rows with verdicts only, or None when `table` holds them.
        given: Columns as the caller named them.
        verdicts: What texts mean.

    Raises:
        ArgumentError: Several judges.
        TrialsError: No label at all.
    """
    first = labelled(table, given, verdicts)
    if len(first.columns.judge) != 1:
        raise ArgumentError(f"judge == {listed(first.columns.judge)}: one judge at a time.")
    notes = list(first.notes)
    cells = first.cells.drop(SPLIT, strict=False)
    unmapped = [first.unmapped]
    if unlabelled is not None:
        second = labelled(unlabelled, given, verdicts, wants="verdicts")
        unmapped.append(second.unmapped)
        more = second.cells.drop(SPLIT, strict=False)
        if not second.columns.case:  # row numbers: none of them is a case of the other table
            more = more.with_columns(case=-1 - pl.col("case"))
        cells, dropped = _joined(cells, more)
        if dropped:
            notes.append(
                f"{dropped:,} cases of the unlabelled table are labelled and count there only"
            )
    lost = pl.concat(unmapped)
    if lost.height:
        texts = lost["text"].unique().sort()
        notes.append(f"{lost['rows'].sum():,} rows left out: no meaning for {listed(texts)}")
    if silent := int(cells["no_verdict"].sum()):
        notes.append(f"{silent:,} labelled rows without a verdict left out")
    one_cluster_per_case(cells, ["judge", "config"])
    rows = _rows(cells)
    if not (rows["part"] == LABELLED).any():
        raise TrialsError("no row has both a verdict and a label. Labels must be in the same row.")
    return Parts(
        rows=rows,
        judge=first.columns.judge[0],
        clustered=CLUSTER in cells.columns,
        notes=tuple(notes),
    )


def _joined(cells: pl.DataFrame, more: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Both tables, without unlabelled rows of cases that have labels; and how many those are."""
    key = ["config", "case"]
    try:
        has_label = cells.filter(pl.sum_horizontal(CELLS) > 0).select(key)
        fresh = more.join(has_label, on=key, how="anti", nulls_equal=True)
        both = pl.concat([cells, fresh], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise TrialsError(
            f"the two tables do not fit together: {error}. Cases and clusters need the same names "
            "and types in both."
        ) from error
    groups = [name for name in both.columns if name not in {*CELLS, *OTHERS}]
    summed = both.group_by(groups).agg(pl.col(*CELLS, *OTHERS).sum()).sort(groups)
    return summed, more.height - fresh.height


def _rows(cells: pl.DataFrame) -> pl.DataFrame:
    """Case means of labels and verdicts, one row per case and part."""
    unit = pl.col(CLUSTER if CLUSTER in cells.columns else "case").cast(pl.String).alias("unit")
    key: list[pl.Expr] = [pl.col("config"), pl.col("case").cast(pl.String), unit]
    known = pl.sum_horizontal(CELLS)
    with_label = cells.filter(known > 0).select(
        *key,
        part=pl.lit(LABELLED),
        y=(pl.col("tp") + pl.col("fn")) / known,
        f=(pl.col("tp") + pl.col("fp")) / known,
        trials=known,
    )
    without = cells.filter(pl.col("judged") > 0).select(
        *key,
        part=pl.lit(UNLABELLED),
        y=pl.lit(None, pl.Float64),
        f=pl.col("judged_pass") / pl.col("judged"),
        trials=pl.col("judged"),
    )
    return pl.concat([with_label, without]).sort("config", "case", "part")


def sample_of(rows: pl.DataFrame, *, clustered: bool) -> Sample:
    """The arrays of some rows; clusters are those there are, or cases that are in both parts."""
    known, rest = rows.filter(part=LABELLED), rows.filter(part=UNLABELLED)
    shared = clustered or bool(known["case"].is_in(rest["case"].implode()).any())
    return Sample(
        y=known["y"].to_numpy(),
        f=known["f"].to_numpy(),
        unlabelled=rest["f"].to_numpy(),
        cluster=codes_of(pl.concat([known, rest])) if shared else None,
    )


def codes_of(rows: pl.DataFrame) -> NDArray[np.int64]:
    """Integer codes of the independent units."""
    return rows["unit"].rank("dense").cast(pl.Int64).to_numpy()
