"""Labelled and unlabelled cases of a run as the arrays of a prediction-powered mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import ArgumentError, TrialsError, listed
from trialframe.judge._labelled import CELLS, CLUSTER, OTHERS, SPLIT, labelled, one_cluster_per_case
from trialframe.judge._splits import resolved
from trialframe.kernels.ppi import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from trialframe.judge._labelled import Labelled
    from trialframe.judge._splits import Splits

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
        leaked: Labelled cases that the judge was tuned on as well, by config.
    """

    rows: pl.DataFrame
    judge: str
    clustered: bool
    notes: tuple[str, ...]
    leaked: Mapping[str | None, list[str]]

    def in_sample(self, config: str | None) -> str | None:
        """Why the labels of a config are not held out, None when they are."""
        cases = self.leaked.get(config, [])
        if not cases:
            return None
        return (
            f"{len(cases):,} labelled cases are also in a split the judge was tuned on: "
            f"{listed(cases, 5)}"
        )

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
    splits: Splits,
) -> Parts:
    """Read labelled and unlabelled cases from one table or two.

    Args:
        table: Rows with verdicts, and labels where there are any.
        unlabelled: Rows with verdicts only, or None when `table` holds them.
        given: Columns as the caller named them.
        verdicts: What texts mean.
        splits: Which splits are held out, and which ones the judge was tuned on.

    Raises:
        ArgumentError: Several judges, or a split that is not there.
        TrialsError: No label at all.
    """
    first = labelled(table, given, verdicts)
    if len(first.columns.judge) != 1:
        raise ArgumentError(f"judge == {listed(first.columns.judge)}: one judge at a time.")
    notes = list(first.notes)
    cells, tuned, leaked = _by_split(first, splits, notes)
    unmapped = [first.unmapped]
    if unlabelled is not None:
        second = labelled(unlabelled, given, verdicts, wants="verdicts")
        unmapped.append(second.unmapped)
        more = _not_tuned_on(second, splits, tuned)
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
        leaked=leaked,
    )


def _by_split(
    data: Labelled, splits: Splits, notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str | None, list[str]]]:
    """Cells with held-out labels only, cells that the judge was tuned on, and leaked cases.

    Rows of a split that is neither keep their verdicts and lose their labels.
    """
    cells, word = data.cells, data.columns.split
    found = resolved(cells, word, splits)
    if found is None:
        return cells, cells.clear(), {}
    held, seen = (pl.col(SPLIT).is_in(list(names)).fill_null(value=False) for names in found)
    tuned = cells.filter(seen)
    known = pl.sum_horizontal(CELLS)
    both = cells.filter(held & (known > 0)).join(tuned.select("case"), on="case", how="semi")
    leaks = both.group_by("config").agg(pl.col("case").unique().sort())
    rest = cells.filter(~held & ~seen)
    if hidden := int(rest.select(known.sum()).item()):
        notes.append(
            f"{hidden:,} labels outside {listed(found[0])} are not used, their verdicts are"
        )
    if gone := tuned.filter(~held)["case"].n_unique():
        notes.append(
            f"{gone:,} cases of {listed(found[1])}, which the judge was tuned on, left out"
        )
    rest = rest.with_columns(
        judged=pl.col("judged") + known,
        judged_pass=pl.col("judged_pass") + pl.col("tp") + pl.col("fp"),
        **{name: pl.lit(0, pl.Int64) for name in (*CELLS, "no_verdict")},
    )
    kept = pl.concat([cells.filter(held), rest.select(cells.columns)]).drop(SPLIT)
    groups = [name for name in kept.columns if name not in {*CELLS, *OTHERS}]
    summed = kept.group_by(groups).agg(pl.col(*CELLS, *OTHERS).sum()).sort(groups)
    return summed.select(kept.columns), tuned, dict(leaks.rows())


def _not_tuned_on(data: Labelled, splits: Splits, tuned: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of cases that the judge was not tuned on."""
    cells = data.cells
    if SPLIT in cells.columns:
        names = set(tuned[SPLIT].unique()) if SPLIT in tuned.columns else set()
        names |= set(splits.tuned_on or ())
        cells = cells.filter(~pl.col(SPLIT).is_in(sorted(names)).fill_null(value=False))
        cells = cells.drop(SPLIT)
        groups = [name for name in cells.columns if name not in {*CELLS, *OTHERS}]
        cells = cells.group_by(groups).agg(pl.col(*CELLS, *OTHERS).sum()).sort(groups)
        cells = cells.select(name for name in data.cells.columns if name != SPLIT)
    if tuned.is_empty() or not data.columns.case:
        return cells
    text = pl.col("case").cast(pl.String)
    return cells.filter(~text.is_in(tuned["case"].cast(pl.String).implode()))


def _joined(cells: pl.DataFrame, more: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Both tables, without unlabelled rows of cases that have labels; and how many those are."""
    key = ["config", "case"]
    if (CLUSTER in cells.columns) != (CLUSTER in more.columns):
        raise TrialsError(
            "one of the two tables has clusters, the other has none. Add the column to both, or "
            "leave clusters out: cluster=None (on the command line --no-cluster)."
        )
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
