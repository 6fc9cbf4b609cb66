"""One function that draws whatever the package returns, or says what it can draw."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks, charts
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH
from trialframe.display import counted, unit_of
from trialframe.errors import ArgumentError, did_you_mean, listed
from trialframe.results import Result
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.charts._theme import Chart, Theme


@dataclass(frozen=True, slots=True)
class Kind:
    """A chart of a table.

    Attributes:
        needs: Columns by which the table is known.
        source: What returns such a table.
        draw: The function that draws it.
    """

    needs: tuple[str, ...]
    source: str
    draw: Callable[..., Chart]


MOST = 200
"""Most rows of a chart of plain estimates."""


def estimates_of(
    frame: pl.DataFrame,
    *,
    metric: str | None = None,
    theme: Theme = "light",
    width: int = WIDTH,
    limit: int = MOST,
) -> Chart:
    """Estimates of one metric with their intervals, one row a config and group.

    Args:
        frame: A long table with `config, metric, value, low, high`.
        metric: Which metric; None for the first in the table.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most rows to draw, the highest values first.
    """
    frame = _frames.taken(frame, KINDS["estimates"].needs, "estimates")
    names = frame["metric"].unique(maintain_order=True).to_list()
    metric = names[0] if metric is None else _checks.one_of(metric, "metric", names)
    limit = _checks.integer(limit, "limit", low=1)
    rows = frame.filter(pl.col("metric") == metric)
    keys = ["config", *(name for name in rows.columns if name not in _NUMBERS)]
    every = rows.sort(["value", *keys], descending=[True, *[False] * len(keys)], nulls_last=True)
    kept = every.head(limit)
    labels = _frames.labels(kept.select(keys).rows())
    drawn = kept.with_columns(pl.Series("name", labels, dtype=pl.String))
    others = [name for name in names if name != metric]
    return charts.estimates(
        drawn,
        title=f"{metric} of {counted(every.height, 'row')}",
        lines=[
            _made(rows),
            f"other metrics in the table: {', '.join(others[:8])}" if others else "",
            _frames.left_out(rows),
            _frames.truncated(kept.height, every.height, "row", "the highest first"),
        ],
        axis=metric,
        unit=rows["unit"][0] if "unit" in rows.columns else unit_of(metric),
        theme=theme,
        width=width,
    )


def _made(rows: pl.DataFrame) -> str:
    """What was estimated and how, as far as the table says it."""
    kinds = rows["estimand"].unique().to_list() if "estimand" in rows.columns else []
    told = [f"estimand: {', '.join(_frames.ESTIMANDS.get(kind, str(kind)) for kind in kinds)}"]
    level = _frames.percent(rows["level"].drop_nulls().max()) if "level" in rows.columns else ""  # type: ignore[arg-type]
    method = _frames.together(rows["method"].to_list()) if "method" in rows.columns else ""
    return "; ".join([*(told if kinds else []), f"line: {level} interval, {method}"])


_NUMBERS = {column.name for column in SUMMARY} | {"runs"}
"""Columns of a long table that do not name a row."""

KINDS = {
    "leaderboard": Kind(
        ("config", "rank", "rank_low", "plausibly_best"), "tr.leaderboard", charts.leaderboard
    ),
    "frontier": Kind(("config", "rank", "cost_uusd", "pareto"), "tr.leaderboard", charts.frontier),
    "forest": Kind(
        ("diff", "low", "high", "verdict", "wins", "losses"),
        "tr.compare_all, or .groups of a comparison",
        charts.forest,
    ),
    "strip": Kind(
        ("case", "value_baseline", "value_candidate", "diff"),
        ".pairs of a comparison",
        charts.strip,
    ),
    "power": Kind(("cases", "effect", "power", "alpha"), "tr.power_table", charts.power),
    "decay": Kind(("config", "bucket", "index", "value"), ".curve of tr.decay_curve", charts.decay),
    "surface": Kind(
        ("config", "k", "perturbation", "fault", "value"), ".cells of tr.surface", charts.surface
    ),
    "flakes": Kind(("config", "case", "n", "c"), ".frame of tr.counts", charts.flakes),
    "confusion": Kind(
        ("tp", "fp", "fn", "tn", "kappa"), ".table of tr.calibrate", charts.confusion
    ),
    "curves": Kind(
        ("config", "metric", "k", "value", "low", "high"),
        "tr.summary with several k",
        charts.curves,
    ),
    "estimates": Kind(("config", "metric", "value", "low", "high"), "tr.summary", estimates_of),
}
"""Charts of tables by name, in the order in which a table is tried."""


def plot(
    what: Any,
    *,
    kind: str | None = None,
    theme: Theme = "light",
    width: int = WIDTH,
    **options: Any,
) -> Chart:
    """Draw a result or a table of results as an Altair chart.

    Do not use it for trials: count or summarise them first.

    Args:
        what: A result, `Counts`, or a table that trialframe returned: of `tr.summary`,
            `tr.leaderboard`, `tr.compare_all`, `tr.power_table`, or the table of a result.
        kind: Which chart, where there are several: "leaderboard", "frontier", "forest", "strip",
            "power", "decay", "surface", "flakes", "confusion", "curves", "estimates". None for
            the first that fits.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        **options: What the chart takes beside: `limit` (most rows), `metric`, `level`, `sides`.

    Returns:
        An `altair` chart. `data` is the table it draws, with the numbers as they are;
        `chart.save("x.svg")`, `"x.png"` or `"x.html"` writes it. The subtitle names what was
        estimated and how, and what is not drawn; the description says in words what one sees.

    Raises:
        ArgumentError: Nothing to draw, an unknown kind or option.
        ColumnError: The table lacks columns that the kind needs.
        ImportError: Altair is not installed.

    Examples:
        >>> import trialframe as tr
        >>> trials = tr.simulate(configs=["base", "new"], cases=60, trials=4, lift=0.2, seed=1)
        >>> chart = tr.plot(tr.leaderboard(tr.counts(trials)), theme="dark")
        >>> chart.data.select("label", "state", "text").rows()
        [('new', 'plausibly best', '69.6 % [60.6, 77.3]'),
         ('base', 'significantly worse than the best', '47.1 % [39.3, 55.0]')]
        >>> print(chart.description.partition(";")[0])
        Leaderboard with intervals. new is first of 2 with 69.6 % [60.6, 77.3] in pass@1
    """
    if isinstance(what, Result):
        _refuse_unknown(what.plot, options, kind)
        named = {} if kind is None else {"kind": kind}
        return what.plot(**named, theme=theme, width=width, **options)
    if not isinstance(what, pl.DataFrame):
        raise ArgumentError(
            f"tr.plot takes a result or a polars.DataFrame, got {type(what).__name__}. {_known()}"
        )
    chosen = _kind_of(what) if kind is None else _checks.one_of(kind, "kind", KINDS)
    draw = KINDS[chosen].draw
    _refuse_unknown(draw, options)
    return draw(what, theme=theme, width=width, **options)


def _kind_of(frame: pl.DataFrame) -> str:
    for name, kind in KINDS.items():
        if set(kind.needs) <= set(frame.columns) and _has_curve(name, frame):
            return name
    raise ArgumentError(
        f"no chart for a table with the columns {listed(frame.columns, 12)}. {_known()}"
    )


def _has_curve(name: str, frame: pl.DataFrame) -> bool:
    """Whether a summary has several k, which curves need."""
    return name != "curves" or frame["k"].drop_nulls().n_unique() > 1


def _known() -> str:
    told = "; ".join(f"{name} ({kind.source})" for name, kind in KINDS.items())
    return f"It draws results, and tables as {told}."


def _refuse_unknown(draw: Any, options: dict[str, Any], kind: str | None = None) -> None:
    allowed = [
        name for name in signature(draw).parameters if name not in {"frame", "theme", "width"}
    ]
    asked = [*options, *(["kind"] if kind is not None else [])]
    for name in asked:
        if name not in allowed:
            raise ArgumentError(f"this chart has no option {name!r}. {did_you_mean(name, allowed)}")
