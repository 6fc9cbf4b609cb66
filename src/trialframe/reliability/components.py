"""Where the variance comes from: configs, cases, their interaction and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError
from trialframe.kernels.anova import Coefficients, coefficients, shares
from trialframe.reliability._design import FACETS, VERDICT, design_of, names_of
from trialframe.reliability._icc import icc_table
from trialframe.reliability._reading import ends, reading
from trialframe.reliability._solve import Solved, solved
from trialframe.reliability._split import SplitHalf, split_half
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from trialframe.reliability._design import Design
    from trialframe.reliability._table import Where
    from trialframe.results import Estimate

    Floats = NDArray[np.float64]

METHODS = ("auto", "anova", "unweighted", "reml")
FEW_CONFIGS = 5
FEW_UNITS = 10
MOST_SPLITS = 200


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VarianceComponents(Result):
    """Variance components of a board of configs by cases, and what they mean for its use.

    Attributes:
        reading: What the shares say, in plain words.
        method: "anova", "unweighted", "reml", or "one-way" for one config.
        facets: Names of what is measured, the case and the run.
        configs: Number of configs.
        cases: Number of cases.
        runs: Runs a cell (harmonic mean).
        trials: Runs in all.
        g: G coefficient of this board: share of the variance of observed config means that is
            the configs' own, for ranking; None where it is undefined.
        g_low: Lower end of its interval.
        g_high: Upper end.
        phi: The same for absolute scores.
        phi_low: Lower end of its interval.
        phi_high: Upper end.
        se_relative: Standard error of a config's distance from the mean of all.
        se_absolute: Standard error of a config's score.
        level: Nominal coverage of the intervals.
        components: Per component `raw` (may be negative), `value` (floored at 0) with `se, low,
            high`, `share` of the sum with `share_low, share_high`, mean square and df.
        d_study: The coefficients of other numbers of cases and runs, with intervals.
        icc: Intraclass correlations: runs of a case (one-way, per config), configs over cases and
            cases over configs (Shrout and Fleiss' forms).
        split_half: What halves of the cases say about each other; None where there are too few.
        warnings: What to know before quoting it.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "Shares of the variance of a single trial",
        "level",
        "share of variance",
    )

    reading: str
    method: str
    facets: tuple[str, str, str]
    configs: int
    cases: int
    runs: float
    trials: int
    g: float | None
    g_low: float | None
    g_high: float | None
    phi: float | None
    phi_low: float | None
    phi_high: float | None
    se_relative: float | None
    se_absolute: float | None
    level: float
    components: pl.DataFrame
    d_study: pl.DataFrame
    icc: pl.DataFrame
    split_half: SplitHalf | None
    warnings: tuple[str, ...]

    def _estimates(self) -> list[Estimate]:
        columns = ("component", "share", "share_low", "share_high")
        rows: list[Estimate] = self.components.select(columns).rows()
        return rows

    def __repr__(self) -> str:
        """The reading, with what it rests on."""
        return (
            f"{self.reading} [{self.method}, {self.configs} x {self.cases} cells, "
            f"{self.runs:.3g} runs]"
        )


def variance_components(
    table: Any,
    *,
    facets: Sequence[str] = FACETS,
    method: str = "auto",
    measure: str = VERDICT,
    d_cases: Sequence[int] | None = None,
    d_runs: Sequence[int] | None = None,
    units: str = "clusters",
    level: float = 0.95,
    resamples: int = 1000,
    splits: int = MOST_SPLITS,
    seed: int = 0,
    unscored: Any = "exclude",
    threshold: float | None = None,
    **columns: Unpack[Where],
) -> VarianceComponents:
    """Split the variance of results into configs, cases, config x case and runs.

    Use it to see what a leaderboard ranks, how many cases and runs it needs, and how much of a
    single run is luck. Do not use it to compare two configs (`tr.compare`), and do not compare
    its shares with those of a logit model: verdicts are taken as 0 and 1.

    Args:
        table: Counts, or trials of any kind.
        facets: What is measured, the case, the run: columns of the trials, or "config", "case"
            or a `by` column of counts. Runs are nested in cells.
        method: "anova" (balanced cells), "unweighted" (analysis of variance of unweighted means,
            any numbers of runs but no empty cell), "reml" (restricted maximum likelihood), or
            "auto": the first of these that the table allows.
        measure: "passed", or "score", "tests_share" and other measures of the counts.
        d_cases: Numbers of cases of the D-study; None for 1/4 to 4 times those there are.
        d_runs: Numbers of runs of the D-study.
        units: Resampling units: "clusters" when there are some, or "cases".
        level: Nominal coverage of intervals, in (0, 1).
        resamples: Bootstrap resamples of whole units, >= 100. Configs are fixed.
        splits: Random halves of the units, >= 1.
        seed: Seed of both; row order and engine never change a result.
        unscored: What a trial without a verdict is, as in `tr.counts`.
        threshold: Pass when score >= threshold.
        **columns: Where each canonical column is, as in `tr.counts`.

    Returns:
        Components, coefficients, D-study, intraclass correlations and the split-half check. One
        config leaves cases and runs; one run a cell leaves config x case and run in one (flagged).

    Raises:
        TrialsError: Fewer than two cases, no verdict, or configs and cases in blocks that share
            nothing.
        ArgumentError: "anova" on ragged cells, "unweighted" on empty ones, and the like.

    Notes:
        With mean squares of J configs, M cases, h runs: v_config = (MS_a - MS_at) / (M h),
        v_case = (MS_t - MS_at) / (J h), v_config_case = (MS_at - MS_e) / h, v_run = MS_e.
        G = v_a / (v_a + v_at / M + v_e / (M h)); phi has v_t / M more below. Coefficients and
        shares take negative components as 0; `raw` keeps them. Intervals are percentiles of a
        bootstrap of cases, draws moved so that their mean is the estimate: duplicates in a
        resample would make the config component too large by v_at / M. For REML the draws are
        first-order (from the influence of each case).

    References:
        Brennan (2001), Generalizability Theory; Srinivasan (2026), arXiv:2608.11323; Shrout and
        Fleiss (1979), Psychol. Bull. 86:420.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=6, cases=60, trials=3, lift=0.2, interaction=0.5, seed=2)
        >>> found = tr.variance_components(trials)
        >>> found.components.select("component", pl.col("share").round(3)).rows()
        [('config', 0.017), ('case', 0.25), ('config x case', 0.026), ('run', 0.708)]
        >>> round(found.g, 3), found.method
        (0.793, 'anova')
    """
    names = names_of(facets)
    method = _checks.one_of(method, "method", METHODS)
    _checks.one_of(units, "units", ("clusters", "cases"))
    level = _checks.between(level, "level", inclusive=False)
    resamples = _checks.integer(resamples, "resamples", low=100, high=1_000_000)
    splits = _checks.integer(splits, "splits", low=1, high=100_000)
    seed = _checks.integer(seed, "seed", low=0)
    design = design_of(
        table,
        columns,
        facets=names,
        measure=measure,
        units=units,
        unscored=unscored,
        threshold=threshold,
    )
    fit = solved(design, method, resamples, np.random.default_rng(seed))
    here = coefficients(fit.raw, design.cases, fit.runs)
    drawn = coefficients(fit.draws, design.cases, fit.runs)
    return VarianceComponents(
        reading=reading(design, fit, level),
        method=fit.method,
        facets=names,
        configs=len(design.configs),
        cases=design.cases,
        runs=fit.runs,
        trials=int(design.cells.n.sum()),
        **_headline(here, drawn, level),
        level=level,
        components=_components(design, fit, level),
        d_study=_d_study(design, fit, d_cases, d_runs, level),
        icc=icc_table(design, level, resamples, np.random.default_rng([seed, 2])),
        split_half=split_half(design, splits, np.random.default_rng([seed, 1])),
        warnings=tuple(_warnings(design, fit)),
    )


def _headline(here: Coefficients, drawn: Coefficients, level: float) -> dict[str, float | None]:
    g, phi = ends(drawn.g, level), ends(drawn.phi, level)
    known = not np.isnan(here.g) or bool(here.se_absolute > 0)
    return {
        "g": _plain(here.g),
        "g_low": _plain(g[0]),
        "g_high": _plain(g[1]),
        "phi": _plain(here.phi),
        "phi_low": _plain(phi[0]),
        "phi_high": _plain(phi[1]),
        "se_relative": float(here.se_relative) if known else None,
        "se_absolute": float(here.se_absolute) if known else None,
    }


def _components(design: Design, fit: Solved, level: float) -> pl.DataFrame:
    """One row per component."""
    first, second, third = design.facets
    own = shares(fit.raw)
    drawn = shares(fit.draws)
    value = np.maximum(fit.raw, 0.0)
    names = (first, second, f"{first} x {second}", third)
    rows = []
    for j, name in enumerate(names):
        low, high = ends(np.maximum(fit.draws[:, j], 0.0), level)
        share_low, share_high = ends(drawn[:, j], level)
        rows.append(
            {
                "component": name,
                "raw": fit.raw[j],
                "value": value[j],
                "se": _spread(fit.draws[:, j]),
                "low": low,
                "high": high,
                "share": own[j],
                "share_low": share_low,
                "share_high": share_high,
                "mean_square": fit.mean_squares[j],
                "df": fit.df[j],
                "method": fit.method,
            }
        )
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))


def _d_study(
    design: Design,
    fit: Solved,
    d_cases: Sequence[int] | None,
    d_runs: Sequence[int] | None,
    level: float,
) -> pl.DataFrame:
    """Coefficients of every number of cases with every number of runs."""
    cases = _grid(d_cases, "d_cases", _cases_grid(design.cases))
    runs = _run_grid(d_runs, fit)
    if len(design.configs) < 2:
        return pl.DataFrame(schema=dict.fromkeys(D_STUDY, pl.Float64)).with_columns(
            pl.col("cases", "runs").cast(pl.Int64)
        )
    rows = []
    for m in cases:
        for r in runs:
            here, drawn = coefficients(fit.raw, m, r), coefficients(fit.draws, m, r)
            both = (*ends(drawn.g, level), *ends(drawn.phi, level))
            errors = (float(here.se_relative), float(here.se_absolute))
            numbers = (float(here.g), *both[:2], float(here.phi), *both[2:], *errors)
            rows.append((m, r, *numbers))
    kinds = dict.fromkeys(D_STUDY, pl.Float64) | {"cases": pl.Int64, "runs": pl.Int64}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


D_STUDY = (
    *("cases", "runs", "g", "g_low", "g_high", "phi", "phi_low", "phi_high"),
    *("se_relative", "se_absolute"),
)


def _cases_grid(cases: int) -> list[int]:
    return sorted({max(2, round(cases * share)) for share in (0.25, 0.5, 1, 2, 4)})


def _grid(values: Sequence[int] | None, name: str, default: list[int]) -> list[int]:
    """Whole numbers >= 1, each once, in the order given."""
    if values is None:
        return default
    found = [values] if isinstance(values, int) else list(values)
    if not found:
        raise ArgumentError(f"{name} is empty: give whole numbers, as in {name}=[50, 100].")
    each = [_checks.integer(v, f"{name}[{i}]", low=1) for i, v in enumerate(found)]
    return list(dict.fromkeys(each))


def _run_grid(values: Sequence[int] | None, fit: Solved) -> list[int]:
    """Numbers of runs; with one run a cell only one can be told of."""
    if not fit.confounded:
        return _grid(values, "d_runs", sorted({1, 2, 5, 10, max(1, round(fit.runs))}))
    asked = _grid(values, "d_runs", [1])
    if asked != [1]:
        raise ArgumentError(
            "d_runs: every cell has one run, so what more runs would bring is unknown. Run some "
            "cells twice, or leave d_runs out."
        )
    return asked


def _warnings(design: Design, fit: Solved) -> Iterable[str]:
    yield from design.notes
    names = (design.facets[0], design.facets[1], f"{design.facets[0]} x {design.facets[1]}")
    for name, raw in zip(names, fit.raw, strict=False):
        if raw < 0:
            yield f"{name} is estimated at {raw:.4g}, below 0, and taken as 0"
    if fit.confounded:
        yield f"one {design.facets[2]} a cell: {names[2]} holds the noise of runs too"
    single = int((design.cells.n < 2).all(axis=1).sum())
    if single and not fit.confounded:
        yield (
            f"{single} of {len(design.configs)} configs have one {design.facets[2]} a cell: the "
            "noise of the others stands for theirs"
        )
    if 1 < len(design.configs) < FEW_CONFIGS:
        yield f"only {len(design.configs)} configs: intervals take them as fixed"
    units = int(design.unit.max()) + 1
    if units == 1:
        yield "one cluster: nothing is known about others, so there are no intervals"
    elif units < FEW_UNITS:
        word = "clusters" if design.clustered else "cases"
        yield f"only {units} {word}: intervals are too narrow"
    if not fit.converged:
        yield "the likelihood did not settle: take the components as rough"


def _spread(draws: Floats) -> float:
    kept = draws[~np.isnan(draws)]
    return float(kept.std(ddof=1)) if len(kept) > 1 else float("nan")


def _plain(value: Floats | float) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number
