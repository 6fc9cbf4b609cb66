"""Counts as dense arrays of configs by cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trialframe.counts import Counts
from trialframe.counts import counts as count
from trialframe.errors import ArgumentError, CountsError, listed
from trialframe.kernels.irt import cells_of

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from trialframe.kernels.irt import Cells

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

MOST_CELLS = 2 * 10**8


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Names, counts and clusters.

    Attributes:
        configs: Names of the configs, sorted.
        cases: Names of the cases, sorted.
        cells: Passes and trials, configs by cases.
        cluster: Cluster code of every case; a code per case when there are no clusters.
        clusters: Cluster names of every case, or None.
    """

    configs: pl.Series
    cases: pl.Series
    cells: Cells
    cluster: Ints
    clusters: pl.Series | None

    def cut(self, configs: Bools, cases: Bools) -> Cells:
        """The cells of some configs and cases."""
        if configs.all() and cases.all():
            return self.cells
        keep = np.ix_(configs, cases)
        return cells_of(self.cells.passes[keep], self.cells.trials[keep])


def table_of(table: Any, cases: pl.Series | None = None) -> Table:
    """Dense passes and trials; cells that are not in the counts have none.

    Args:
        table: Counts, or trials of any kind, which are counted first.
        cases: The cases to have, in this order; None for those of the counts.

    Raises:
        CountsError: A case is not among those to have.
        ArgumentError: More cells than fit into memory.
    """
    frame = (table if isinstance(table, Counts) else count(table, unscored="exclude")).frame
    configs = frame["config"].unique().sort()
    known = frame["case"].unique().sort() if cases is None else cases
    if len(configs) * len(known) > MOST_CELLS:
        raise ArgumentError(
            f"{len(configs):,} configs on {len(known):,} cases are more than {MOST_CELLS:,} cells. "
            "Take fewer configs with counts.select."
        )
    unknown = sorted(set(frame["case"].unique()) - set(known)) if cases is not None else []
    if unknown:
        raise CountsError(
            f"{len(unknown):,} cases have not been fitted: {listed(unknown, 3)}. Fit counts that "
            "hold them, or leave them out."
        )
    row = _codes(frame["config"], configs)
    column = _codes(frame["case"], known)
    passes, trials = np.zeros((2, len(configs), len(known)))
    passes[row, column], trials[row, column] = frame["c"].to_numpy(), frame["n"].to_numpy()
    clusters, cluster = None, np.arange(len(known))
    if "cluster" in frame.columns:
        pairs = frame.select("case", "cluster").unique("case")
        wanted = pl.DataFrame({"case": known})
        clusters = wanted.join(pairs, on="case", how="left", maintain_order="left")["cluster"]
        cluster = clusters.rank("dense").cast(pl.Int64).to_numpy() - 1
    return Table(
        configs=configs.alias("config"),
        cases=known.alias("case"),
        cells=cells_of(passes, trials),
        cluster=cluster,
        clusters=clusters,
    )


def _codes(names: pl.Series, known: pl.Series) -> Ints:
    """The place of every name among the known ones."""
    return names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).to_numpy()
