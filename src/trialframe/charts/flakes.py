"""Which cases are flaky for which configs: a map of configs by cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Look, Theme

NEEDS = ("config", "case", "n", "c")
CELLS = 4800
"""Most cells of a chart: Altair refuses more than 5,000 rows, and eyes do long before."""
STEP = 15
NAMED = 40
STATES = ("passes every time", "flaky", "fails every time", "one trial", "not scored")


def flakes(
    frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH, limit: int = 200
) -> Chart:
    """Configs by cases: always passing, always failing, or flaky.

    A case that passed each of few trials may still be flaky; one trial cannot show it at all,
    and is marked as such.

    Args:
        frame: `Counts.frame`.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most configs to draw, from 1 to 400, those with most flaky cases first.

    Returns:
        A chart whose `data` has one row per config and case with `n, c`, `state` and `text`; or,
        with more than 4,800 cells, one row per config and block of cases of like difficulty, with
        `flaky` cases of `known` ones (two trials or more) and their `share`.

    Raises:
        ArgumentError: No rows, an unknown theme, no case with a scored trial.
        ColumnError: No counts.
    """
    frame = _frames.taken(frame, NEEDS, "flakes")
    limit = _checks.integer(limit, "limit", low=1, high=400)
    if not frame["n"].sum():
        raise ArgumentError("no trial is scored: the chart 'flakes' has nothing to show.")
    marked = _marked(frame)
    kept, cases = _order(marked, limit)
    cells = marked.join(kept.select("config", "label"), on="config").join(cases, on="case")
    size = math.ceil(cases.height / max(1, CELLS // kept.height))
    layer = _cells if size == 1 else _blocks
    chart, note = layer(cells, kept["label"].to_list(), size, theme)
    rows = kept.height
    chart = chart.properties(height=alt_step(rows))
    count = int((marked["state"] == "flaky").sum())
    every = int((marked["n"] > 1).sum())
    configs = counted(frame["config"].n_unique(), "config")
    return finished(
        chart,
        theme=theme,
        width=width,
        title=f"Flaky cases: {configs}, {counted(cases.height, 'case')}",
        lines=[
            "cases from the easiest (left) to the hardest, configs from the best down",
            "flaky: some of the scored trials of the case pass and some fail",
            note,
            "" if every else "no case has two scored trials: nothing can be said of flakiness",
            _frames.left_out(frame),
            _frames.truncated(rows, frame["config"].n_unique(), "config", "the flakiest"),
        ],
        alt=f"Flake map of {configs} by {counted(cases.height, 'case')}: {count:,} of {every:,} "
        f"cells with two trials or more are flaky. {_extremes(marked)}",
    )


def alt_step(rows: int) -> Any:
    """Rows of fixed height, however many there are."""
    return altair().Step(STEP if rows > 12 else STEP + 6)


def _marked(frame: pl.DataFrame) -> pl.DataFrame:
    n, c = pl.col("n"), pl.col("c")
    state = (
        pl.when(n == 0)
        .then(pl.lit("not scored"))
        .when(n == 1)
        .then(pl.lit("one trial"))
        .when(c == n)
        .then(pl.lit("passes every time"))
        .when(c == 0)
        .then(pl.lit("fails every time"))
        .otherwise(pl.lit("flaky"))
    )
    return frame.select(
        "config",
        "case",
        "n",
        "c",
        state.alias("state"),
        pl.format("{} of {} trials pass", "c", "n").alias("text"),
    )


def _order(marked: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Configs, best first, and cases, easiest first, with their places."""
    rate = (pl.col("c") / pl.col("n").replace(0, None)).mean()
    configs = marked.group_by("config").agg(
        rate.alias("rate"), (pl.col("state") == "flaky").sum().alias("flaky")
    )
    kept = configs.sort(["flaky", "config"], descending=[True, False]).head(limit)
    kept = kept.sort(["rate", "config"], descending=[True, False], nulls_last=True)
    kept = kept.with_columns(
        pl.Series("label", _frames.labels(kept.select("config").rows()), dtype=pl.String)
    )
    cases = marked.group_by("case").agg(rate.alias("easy"))
    cases = cases.sort(["easy", "case"], descending=[True, False], nulls_last=True)
    return kept, cases.select("case").with_row_index("place")


def _axes(names: list[str], *, labels: bool, title: str | None, domain: list[Any]) -> Any:
    alt = altair()
    many = len(names) > 25
    x = alt.X(
        "place:O",
        title=title,
        scale=alt.Scale(domain=domain, paddingInner=0.06 if len(domain) < 80 else 0),
        axis=alt.Axis(labels=False, ticks=False, domain=False, orient="top" if many else "bottom"),
    )
    if labels:
        x = alt.X(
            "case_label:N",
            title=None,
            scale=alt.Scale(domain=domain, paddingInner=0.06),
            axis=alt.Axis(ticks=False, domain=False, labelAngle=-60, labelLimit=150),
        )
    y = alt.Y(
        "label:N",
        title=None,
        scale=alt.Scale(domain=names, paddingInner=0.12),
        axis=alt.Axis(ticks=False, domain=False, labelPadding=6, labelLimit=300),
    )
    return {"x": x, "y": y}


def _colours(now: Look, theme: str) -> dict[str, str]:
    still = ("#9cc3e4", "#6b7580") if theme == "light" else ("#2f6f9f", "#4a525b")
    empty = {"light": "#f1f2f4", "dark": "#1f242a"}[theme]
    pale = {"light": "#d5d9de", "dark": "#333a42"}[theme]
    return dict(zip(STATES, (still[0], now.odd, still[1], pale, empty), strict=True))


def _cells(cells: pl.DataFrame, names: list[str], size: int, theme: str) -> tuple[Any, str]:  # noqa: ARG001
    """One cell a config and case."""
    alt, now = altair(), look(theme)
    few = cells["place"].n_unique() <= NAMED
    cases = cells.select("place", "case").unique().sort("place")
    short = pl.Series("case_label", _frames.labels(cases.select("case").rows(), 24))
    cells = cells.join(cases.select("place").with_columns(short), on="place")
    cells = cells.select(
        "config", "case", "label", "case_label", "place", "n", "c", "state", "text"
    )
    cells = cells.with_columns(pl.col("place").cast(pl.Int64)).sort("label", "place")
    domain = short.to_list() if few else cases["place"].cast(pl.Int64).to_list()
    title = "cases, easiest first"
    colours = _colours(now, theme)
    present = [state for state in STATES if state in set(cells["state"])]
    single = int((cells["n"] == 1).sum())
    chart = (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            **_axes(names, labels=few, title=title, domain=domain),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=present, range=[colours[state] for state in present]),
                legend=alt.Legend(title=None, orient="top", symbolType="square"),
            ),
            tooltip=[
                alt.Tooltip("label:N", title="config"),
                alt.Tooltip("case_label:N", title="case"),
                alt.Tooltip("text:N", title="trials"),
                alt.Tooltip("state:N"),
            ],
        )
    )
    told = f"{counted(single, 'cell')} with one trial, which cannot show flakiness"
    return chart, told if single else ""


def _blocks(cells: pl.DataFrame, names: list[str], size: int, theme: str) -> tuple[Any, str]:
    """One cell a config and block of cases that are about equally hard."""
    alt, now = altair(), look(theme)
    known = pl.col("n") > 1
    blocks = (
        cells.group_by("config", "label", (pl.col("place") // size).cast(pl.Int64))
        .agg(
            (pl.col("state") == "flaky").sum().cast(pl.Int64).alias("flaky"),
            known.sum().cast(pl.Int64).alias("known"),
        )
        .with_columns((pl.col("flaky") / pl.col("known").replace(0, None)).alias("share"))
        .sort("label", "place")
    )
    domain = blocks["place"].unique().sort().to_list()
    ends = {"light": ["#ece5d8", "#e69f00", "#5b3a00"], "dark": ["#262b31", "#b98a1d", "#ffe9a8"]}
    axes = _axes(names, labels=False, title="blocks of cases, easiest first", domain=domain)
    pale = _colours(now, theme)["one trial"]
    unknown = alt.Chart(blocks).transform_filter("datum.known === 0").mark_rect(color=pale)
    cells_known = (
        alt.Chart(blocks)
        .transform_filter("datum.known > 0")
        .mark_rect()
        .encode(
            **axes,
            color=alt.Color(
                "share:Q",
                scale=alt.Scale(domain=[0, 0.5, 1], range=ends[theme], interpolate="rgb"),
                legend=alt.Legend(
                    title="share of cases that are flaky",
                    orient="top",
                    direction="horizontal",
                    gradientLength=220,
                    labelExpr="format(datum.value * 100, '.0f') + ' %'",
                ),
            ),
            tooltip=[
                alt.Tooltip("label:N", title="config"),
                alt.Tooltip("flaky:Q", title="flaky cases"),
                alt.Tooltip("known:Q", title="of cases with two trials or more"),
            ],
        )
    )
    chart = alt.layer(unknown.encode(**axes), cells_known, data=blocks)
    return chart, f"each cell: up to {size:,} cases of like difficulty; grey: none with two trials"


def _extremes(marked: pl.DataFrame) -> str:
    """The config with the most flaky cases and the one with the fewest."""
    known = pl.col("n") > 1
    shares = (
        marked.group_by("config")
        .agg((pl.col("state") == "flaky").sum().alias("flaky"), known.sum().alias("known"))
        .filter(pl.col("known") > 0)
        .sort("config")
        .with_columns((pl.col("flaky") / pl.col("known")).alias("share"))
    )
    if shares.is_empty():
        return "No case has two scored trials, so flakiness cannot be seen."
    words = []
    for text, place in (("Most", shares["share"].arg_max()), ("fewest", shares["share"].arg_min())):
        row = shares.row(place or 0, named=True)
        words.append(
            f"{text}: {_frames.named(row['config'])}, {row['flaky']:,} of {row['known']:,}"
        )
    return "; ".join(words[: shares.height]) + "."
