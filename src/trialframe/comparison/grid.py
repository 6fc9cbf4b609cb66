"""Many configs over the cases that all of them share: one matrix of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, listed
from trialframe.estimate.metrics import Cases, Request, cases_of, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trialframe.counts import Counts
    from trialframe.kernels.draws import Short

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CASES = ("shared", "raise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """J configs on the M cases that all of them have a value for.

    Attributes:
        configs: Names, shape (J,).
        values: Case values, shape (M, J), rows in the order of the cases.
        sides: The counts of each config on these cases.
        left_out: Cases of each config that are not among them, shape (J,).
    """

    configs: tuple[str, ...]
    values: Floats
    sides: tuple[Cases, ...]
    left_out: tuple[int, ...]

    @property
    def weight(self) -> Floats:
        """Case weights, the same for all configs."""
        return self.sides[0].weight

    @property
    def cluster(self) -> Ints | None:
        """Cluster codes, the same for all configs."""
        return self.sides[0].cluster


def ranked(metric: object) -> Request:
    """The request behind a metric that configs can be ranked by."""
    if isinstance(metric, str) and metric.endswith(("@k", "^k")):
        raise ArgumentError(f"metric == {metric!r}: name one k, such as {metric[:-1] + '1'!r}.")
    request = parsed(metric, ())[0]
    if request.shape in {"pooled", "fact"}:
        raise ArgumentError(
            f"metric == {metric!r} has no value per case, so configs cannot be ranked by it. "
            "Use pass@1 in its place."
        )
    return request


def groups(
    counts: Counts, by: object, own: tuple[str, ...]
) -> tuple[tuple[str, ...], Iterator[tuple[dict[str, Any], pl.DataFrame]]]:
    """The columns to group by, and the parts of the counts in the order of their values.

    Args:
        counts: The counts.
        by: None, a column or several.
        own: Names of the columns of the result, which none of them may have.
    """
    names = _checks.names(by, "by")
    for name in names:
        if name in own:
            raise ColumnError(f"by: the result has a column {name!r} of its own; rename yours.")
        if name not in counts.by and not (name == "cluster" and name in counts.frame.columns):
            raise ColumnError(
                f"by: these counts hold no column {name!r}; keep it with "
                f"tr.counts(..., by={name!r}). {did_you_mean(name, counts.by)}"
            )
    return names, _parts(counts.frame, names)


def _parts(
    frame: pl.DataFrame, names: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    if not names:
        yield {}, frame
        return
    parts = frame.partition_by(names, as_dict=True, include_key=True)
    for key in sorted(parts, key=lambda key: [(v is None, str(v)) for v in key]):
        yield dict(zip(names, key, strict=True)), parts[key]


def shared(
    frame: pl.DataFrame,
    request: Request,
    *,
    clusters: bool,
    short: Short,
    cases: str = "shared",
    where: str = "",
) -> Grid:
    """Lay out the configs of a counts frame on the cases that all of them share.

    Args:
        frame: Counts, sorted by config and case.
        request: The metric; a case without its value is not shared.
        clusters: Whether clusters are the units.
        short: What a case with fewer than k trials does.
        cases: "shared", or "raise" when a config has a case that another lacks.
        where: The group, for messages.

    Raises:
        TrialsError: The configs share no case, or different cases with cases="raise".
    """
    frame = frame.with_columns(_place=pl.col("case").rank("dense").cast(pl.Int64) - 1)
    parts = frame.partition_by("config", maintain_order=True)
    configs = [str(part["config"][0]) for part in parts]
    known = np.zeros((len(parts), frame["case"].n_unique()), dtype=np.bool_)
    for row, part in zip(known, parts, strict=True):
        side = cases_of(part, clusters=False)
        defined = ~np.isnan(request.metric.values(side, request, short)) & (side.weight > 0)
        row[part["_place"].to_numpy()[defined]] = True
    common: Bools = np.logical_and.reduce(known, axis=0)
    if not common.any():
        raise TrialsError(_nothing_shared(configs, known, request, where))
    kept = [part.filter(pl.Series(common[part["_place"].to_numpy()])) for part in parts]
    left_out = tuple(part.height - some.height for part, some in zip(parts, kept, strict=True))
    if cases == "raise":
        _refuse(configs, left_out, int(common.sum()), where)
    sides = tuple(cases_of(part, clusters=clusters) for part in kept)
    columns = [request.metric.values(side, request, short) for side in sides]
    _refuse_undefined(configs, columns, request, where)
    return Grid(
        configs=tuple(configs), values=np.column_stack(columns), sides=sides, left_out=left_out
    )


def _refuse(configs: list[str], left_out: tuple[int, ...], common: int, where: str) -> None:
    """Raise when some config has cases that another lacks."""
    told = [f"{name}: {n:,}" for name, n in zip(configs, left_out, strict=True) if n]
    if told:
        raise TrialsError(
            f"the configs cover different cases{where}: {common:,} are shared, these have more: "
            f'{listed(told)}. Choose cases="shared" to rank on the shared cases only.'
        )


def _refuse_undefined(
    configs: list[str], columns: list[Floats], request: Request, where: str
) -> None:
    """Raise when the shared cases alone leave a config without a value."""
    for name, column in zip(configs, columns, strict=True):
        if np.isnan(column).any():
            raise TrialsError(
                f"{name!r} has no {request.name} on the cases that all configs share{where}. "
                "Leave it out: counts.select(...) takes the configs to keep."
            )


def _nothing_shared(configs: list[str], known: Bools, request: Request, where: str) -> str:
    """What to leave out so that some cases are shared."""
    every = f"in all {len(configs)} configs" if len(configs) > 1 else "in the one config"
    told = f"no case has {request.name} {every}{where}"
    empty = [name for name, row in zip(configs, known, strict=True) if not row.any()]
    if len(empty) == len(configs):
        nor = ", nor in any" if len(configs) > 1 else ""
        return f"{told}{nor}: check the metric, its k, and whether trials have verdicts."
    if empty:
        return f"{told}: nowhere in {listed(empty)}. Keep the others with counts.select(...)."
    rest = np.arange(len(configs))
    while not known[rest].all(axis=0).any():
        # the config without which most cases are shared; if none helps alone, the one with fewest
        lacking = (~known[rest]).sum(axis=0)
        gain = (~known[rest])[:, lacking == 1].sum(axis=1)
        sizes = known[rest].sum(axis=1)
        rest = np.delete(rest, np.lexsort((sizes, -gain))[0])
    dropped = [name for i, name in enumerate(configs) if i not in set(rest.tolist())]
    cases = int(known[rest].all(axis=0).sum())
    one = "case is" if cases == 1 else "cases are"
    return (
        f"{told}. Without {listed(dropped)}, {cases:,} {one} shared by the other {len(rest)}: "
        "keep those with counts.select(...)."
    )
