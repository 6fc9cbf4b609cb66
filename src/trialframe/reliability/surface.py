"""Reliability under stress: over repeats, perturbed prompts and injected faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.counts import Counts
from trialframe.display import shown
from trialframe.engine import Source, at_home, source_of, sources, with_copies
from trialframe.errors import ArgumentError, ColumnError, TrialsError, did_you_mean, short
from trialframe.estimate.metrics import METRICS, Request, cases_of
from trialframe.kernels.intervals import score_t, t_interval
from trialframe.kernels.means import clustered_mean
from trialframe.reliability._table import counted
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias, Unpack

    from numpy.typing import NDArray

    from trialframe.charts._theme import Chart, Theme
    from trialframe.reliability._table import Where

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

CELLS = {
    "config": pl.String,
    "role": pl.String,
    "k": pl.Int64,
    "perturbation": pl.Float64,
    "fault": pl.Float64,
    "value": pl.Float64,
    "se": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "cases": pl.Int64,
    "trials": pl.Int64,
    "dropped": pl.Int64,
    "drop": pl.Float64,
    "drop_low": pl.Float64,
    "drop_high": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "shared": pl.Int64,
    "warnings": pl.String,
}
VOLUMES = {
    "config": pl.String,
    "k": pl.Int64,
    "volume": pl.Float64,
    "cells": pl.Int64,
    "missing": pl.Int64,
}


_SHOWN = 6
"""Rows that the text of a result names."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Surface(Result):
    """R(k, epsilon, lambda): pass^k at perturbation level epsilon and fault level lambda.

    Attributes:
        cells: One row per config, k and cell of the grid. `value` with its interval on the cell's
            own cases; against the clean cell, on the `shared` cases: `drop` in points (clean
            minus cell) and `ratio` (cell over clean), each with an interval that pairs by case.
            `role` is "consistency" (the clean cell over k), "robustness" (perturbed only),
            "fault tolerance" (faults only) or "both". A cell without cases is null.
        volumes: Per config and k the plain mean over the grid; null when a cell is missing.
    """

    cells: pl.DataFrame
    volumes: pl.DataFrame

    def __repr__(self) -> str:
        """How large the grid is, and what it holds on average."""
        sides = [self.cells[name].n_unique() for name in ("perturbation", "fault")]
        lines = [f"Surface: {sides[0]} levels of perturbation by {sides[1]} of faults"]
        lines += [
            f"- {row['config']}, k = {row['k']}: mean over the grid {shown(row['volume'], 'share')}"
            for row in self.volumes.head(_SHOWN).iter_rows(named=True)
        ]
        left = self.volumes.height - _SHOWN
        return "\n".join([*lines, *([f"- and {left} more"] if left > 0 else [])])

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """The cells with their values and intervals; see `Result.plot`."""
        from trialframe import charts

        return charts.surface(self.cells, theme=theme, width=width)


def surface(
    table: Any,
    *,
    perturbation: str | None = "perturbation",
    fault: str | None = "fault",
    k: int | Sequence[int] = (1, 2, 3),
    level: float = 0.95,
    units: str = "clusters",
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> Surface:
    """Reliability surface: consistency over k, robustness and fault tolerance.

    A fall from 0.97 to 0.88 is 9 points and 9 per cent only by accident: `drop` and `ratio` are
    both given. Do not average over cells that different cases were run in.

    Args:
        table: Trials of any kind, the same cases under every condition.
        perturbation: Column with the level of perturbation, 0 for none; None without one.
        fault: Column with the level of faults, 0 for none; None without one.
        k: Trials drawn for pass^k, each >= 1.
        level: Nominal coverage, in (0, 1).
        units: "clusters" when there are some, or "cases". All variants of a case are one unit.
        unscored: What a trial without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`.

    Returns:
        The cells and the volumes. Nothing is interpolated.

    Raises:
        ArgumentError: Counts instead of trials, or neither column.
        ColumnError: A level is missing or not a number.
        TrialsError: A level is null or below 0.

    Notes:
        Drop and ratio compare means over the shared cases, u of the cell and v of the clean one;
        the ratio's standard error is that of (u_i - r v_i) / mean(v). Both are CR2 over cases or
        clusters with t quantiles.

    References:
        Gupta (2026), arXiv:2601.06112 (ReliabilityBench).

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=1, cases=40, trials=4, perturbation=[0, 0.2], seed=3)
        >>> found = tr.surface(trials, fault=None, k=1)
        >>> found.cells.select("role", "perturbation", pl.col("value", "drop").round(3)).rows()
        [('consistency', 0.0, 0.538, 0.0), ('robustness', 0.2, 0.506, 0.031)]
    """
    level = _checks.between(level, "level", inclusive=False)
    _checks.one_of(units, "units", ("clusters", "cases"))
    ks = [k] if isinstance(k, int) else list(k)
    ks = sorted({_checks.integer(each, f"k[{i}]", low=1) for i, each in enumerate(ks)})
    if not ks:
        raise ArgumentError("k is empty: give whole numbers, as in k=(1, 2).")
    frame = _counted(table, columns, perturbation, fault, unscored, threshold)
    cells: list[dict[str, Any]] = []
    volumes: list[dict[str, Any]] = []
    for key, part in frame.group_by("config", maintain_order=True):
        for each in ks:
            made = _grid(part, each, level, clusters=units == "clusters")
            cells += [{"config": key[0]} | row for row in made]
            missing = sum(row.get("value") is None for row in made)
            mean = None if missing else float(np.mean([row["value"] for row in made]))
            volumes.append(
                {
                    "config": key[0],
                    "k": each,
                    "volume": mean,
                    "cells": len(made),
                    "missing": missing,
                }
            )
    table_of_cells = pl.DataFrame(cells, schema=CELLS, orient="row")
    return Surface(
        cells=table_of_cells.with_columns(pl.col(pl.Float64).fill_nan(None)),
        volumes=pl.DataFrame(volumes, schema=VOLUMES, orient="row"),
    )


def _counted(
    table: Any,
    columns: Mapping[str, Any],
    perturbation: str | None,
    fault: str | None,
    unscored: Any,
    threshold: float | None,
) -> pl.DataFrame:
    """Counts per config, case, perturbation and fault."""
    if isinstance(table, Counts):
        raise ArgumentError("tr.surface needs trials: counts have lost the conditions of a trial.")
    levels = {"perturbation": perturbation, "fault": fault}
    given = {name: source for name, source in levels.items() if source is not None}
    if not given:
        raise ArgumentError("perturbation and fault are both None: name at least one column.")
    source = source_of(table, columns, threshold)
    _refuse_unknown(source, given)
    # copies under names of their own: a column called "case" could not be kept beside the key
    case = {f"_case_{i}": old for i, old in enumerate(sources(source.plan, "case"))}
    conditions = {f"_{name}_0": old for name, old in given.items()}
    named = {k: k if isinstance(v, pl.Expr) else v for k, v in columns.items()}
    copied = with_copies(source, case | conditions)
    _refuse_null(copied, {f"_{name}_0": (name, old) for name, old in given.items()})
    found = counted(
        copied,
        {**named, "case": [*case, *conditions]},
        unscored=unscored,
        threshold=threshold,
    ).frame
    for name, old in given.items():
        number = found[f"_{name}_0"].cast(pl.Float64, strict=False)
        if number.null_count() or not bool(((number >= 0) & number.is_finite()).all()):
            raise ColumnError(f"{name}: column {old!r} must hold numbers >= 0, 0 for none.")
        found = found.with_columns(number.alias(f"_{name}"))
    for name in set(levels) - set(given):
        found = found.with_columns(pl.lit(0.0).alias(f"_{name}"))
    joined = pl.concat_str([pl.col(part) for part in case], separator=" | ")
    return found.with_columns(_case=joined)


def _refuse_unknown(source: Source, given: Mapping[str, str]) -> None:
    """Raise on a condition that is no column of the trials."""
    plan = source.plan
    held = [*plan.unused, *(part for field in plan.fields for part in field.sources)]
    for name, old in given.items():
        if old not in held:
            raise ColumnError(
                f"{name}: no column {short(old)}. {did_you_mean(str(old), held)} Give {name}=None "
                "when there is none."
            )


def _refuse_null(table: Any, levels: Mapping[str, tuple[str, str]]) -> None:
    """Raise on trials whose level of a condition is unknown, by the name they were given."""
    lazy = at_home(table, lambda _: list(levels))
    empty = lazy.select(pl.all().null_count()).collect().row(0, named=True)
    for copy, (name, old) in levels.items():
        if empty[copy]:
            raise TrialsError(
                f"{name} is null in {empty[copy]:,} rows (column {old!r}). Every trial needs a "
                "level, 0 for none: fill or drop these rows first."
            )


def _grid(part: pl.DataFrame, k: int, level: float, *, clusters: bool) -> list[dict[str, Any]]:
    """All cells of one config at one k."""
    request = Request(name=f"pass^{k}", metric=METRICS["pass^k"], k=k)
    side = cases_of(part, clusters=clusters)
    case = part["_case"].rank("dense").to_numpy().astype(np.int64) - 1
    many = int(case.max()) + 1
    weight, cluster = np.zeros(many), np.zeros(many, dtype=np.int64)
    weight[case] = side.weight
    if side.cluster is not None:
        cluster[case] = side.cluster
    codes = None if side.cluster is None else cluster
    values = request.metric.values(side, request, "null")
    where = {name: part[f"_{name}"].to_numpy() for name in ("perturbation", "fault")}
    cells = [(p, f) for p in np.unique(where["perturbation"]) for f in np.unique(where["fault"])]
    clean = _column(values, case, many, where, (0.0, 0.0))
    rows = []
    for p, f in cells:
        here = (where["perturbation"] == p) & (where["fault"] == f)
        own = _column(values, case, many, where, (p, f))
        row = {"role": _role(p, f), "k": k, "perturbation": p, "fault": f, "level": level}
        row |= {
            "trials": int(side.n[here].sum()),
            "dropped": int(np.isnan(values[here]).sum()),
        }
        trials = row["trials"] if k == 1 else None
        rows.append(row | _cell(own, clean, weight, codes, level, trials))
    return rows


def _column(
    values: Floats, case: Ints, many: int, where: Mapping[str, Floats], cell: tuple[float, float]
) -> Floats:
    """Values of one cell by case, NaN where it has none."""
    here = (where["perturbation"] == cell[0]) & (where["fault"] == cell[1])
    out = np.full(many, np.nan)
    out[case[here]] = values[here]
    return out


def _role(perturbation: float, fault: float) -> str:
    if perturbation and fault:
        return "both"
    if perturbation or fault:
        return "robustness" if perturbation else "fault tolerance"
    return "consistency"


def _cell(
    own: Floats,
    clean: Floats,
    weight: Floats,
    codes: Ints | None,
    level: float,
    trials: int | None,
) -> dict[str, Any]:
    """Value of a cell, and what it lost against the clean one.

    `trials` is given where the value is a plain rate, whose interval is then a score interval.
    """
    cases = int((~np.isnan(own)).sum())
    if not cases:
        return {"cases": 0, "shared": 0, "warnings": "no case has a value here"}
    shared = np.where(np.isnan(own), np.nan, clean)
    pairs = int((~np.isnan(shared)).sum())
    ratio, linear = _ratio(own, shared, weight)
    fit = clustered_mean(np.column_stack([own, shared - own, linear]), weight, codes)
    ends = t_interval(np.array([fit.mean[0], fit.mean[1], ratio]), fit.se, fit.df, level)
    low, high = np.clip([ends.low[0], ends.high[0]], 0.0, 1.0)
    if trials is not None:
        rate = score_t(fit.mean[0], fit.se[0], fit.df[0], trials, int(fit.units[0]), level)
        low, high = rate.low, rate.high
    told = [] if pairs else ["the clean cell shares no case"]
    if fit.se[0] == 0 or (
        fit.se[1] == 0 < pairs and not np.array_equal(own, clean, equal_nan=True)
    ):
        told.append("no spread between cases")
    if 0 < pairs < cases:
        told.append(f"{cases - pairs} cases are not in the clean cell")
    return {
        "value": float(fit.mean[0]),
        "se": float(fit.se[0]),
        "low": float(low),
        "high": float(high),
        "cases": cases,
        "drop": float(fit.mean[1]),
        "drop_low": float(ends.low[1]),
        "drop_high": float(ends.high[1]),
        "ratio": ratio,
        "ratio_low": max(float(ends.low[2]), 0.0) if not np.isnan(ends.low[2]) else np.nan,
        "ratio_high": float(ends.high[2]),
        "shared": pairs,
        "warnings": "; ".join(told) or None,
    }


def _ratio(own: Floats, clean: Floats, weight: Floats) -> tuple[float, Floats]:
    """Ratio of the means where both are known, and values whose spread is its spread."""
    kept = ~np.isnan(clean)
    base = float(weight[kept] @ clean[kept])
    if base <= 0:
        return float("nan"), np.full(len(own), np.nan)
    ratio = float(weight[kept] @ own[kept]) / base
    return ratio, (own - ratio * clean) * float(weight[kept].sum()) / base
