"""A leaderboard: every config with its interval, and which of them may be the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._rows import rows
from trialframe.charts._theme import WIDTH, finished, look
from trialframe.display import counted
from trialframe.schema import LEADERBOARD

if TYPE_CHECKING:
    from trialframe.charts._theme import Chart, Theme

NEEDS = ("config", "metric", "value", "low", "high", "rank", "rank_low", "rank_high")
BEST = "plausibly best"
WORSE = "significantly worse than the best"


def leaderboard(
    frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH, limit: int = 200
) -> Chart:
    """Configs with their intervals, the best first; the plausibly best are marked.

    Args:
        frame: What `tr.leaderboard` returned.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most rows to draw, best first; the subtitle says so when there are more.

    Returns:
        A chart whose `data` has one row per config and group: `label`, `name`, the columns of the
        leaderboard unchanged, `text` and `state`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No leaderboard.
    """
    frame = _frames.taken(frame, (*NEEDS, "plausibly_best"), "leaderboard")
    limit = _checks.integer(limit, "limit", low=1)
    now = look(theme)
    by = _frames.others(frame, LEADERBOARD)
    drawn = _labelled(frame.sort([*by, "rank", "config"]).head(limit), by)
    first = drawn.row(0, named=True)
    chart = rows(
        drawn,
        theme=theme,
        unit=first["unit"],
        title=str(first["metric"]),
        states={BEST: (now.good, "circle"), WORSE: (now.faint, "diamond")},
        tooltip={"name": "config", "text": str(first["metric"]), "ranks": "rank"},
    )
    configs = counted(frame["config"].n_unique(), "config")
    return finished(
        chart,
        theme=theme,
        width=width,
        title=f"{first['metric']} of {configs} on {_frames.span_of(frame['cases'].to_list())} "
        "shared cases",
        lines=_lines(frame, drawn),
        alt=_alt(frame, by),
    )


def _labelled(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    texts = [
        _frames.estimate(row["value"], row["low"], row["high"], row["unit"])
        for row in frame.iter_rows(named=True)
    ]
    ranks = pl.format("{} [{}, {}]", "rank", "rank_low", "rank_high")
    return frame.with_columns(
        pl.Series("label", _frames.labels(frame.select(*by, "config").rows()), dtype=pl.String),
        pl.Series("name", _frames.names(frame.select(*by, "config").rows()), dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        ranks.alias("ranks"),
        pl.when("plausibly_best").then(pl.lit(BEST)).otherwise(pl.lit(WORSE)).alias("state"),
    )


def _lines(frame: pl.DataFrame, drawn: pl.DataFrame) -> list[str]:
    level = _frames.percent(frame["level"].drop_nulls().max())  # type: ignore[arg-type]
    method = _frames.together(frame["method"].to_list())
    return [
        f"estimand: {_frames.ESTIMANDS['cases']}; line: {level} interval, {method}",
        f"plausibly best: the set holds a best config with probability {level}",
        _frames.left_out(frame),
        _frames.truncated(drawn.height, frame.height, "row", "best first"),
    ]


def _alt(frame: pl.DataFrame, by: list[str]) -> str:
    """What one sees: who leads, and whether anybody else may be the best."""
    told = []
    for key, part in frame.group_by(by, maintain_order=True) if by else [((), frame)]:
        top = part.sort("rank", "config").row(0, named=True)
        maybe = part.filter("plausibly_best").height
        where = "".join(f"{name} {value}: " for name, value in zip(by, key, strict=True))
        found = _frames.estimate(top["value"], top["low"], top["high"], top["unit"])
        told.append(
            f"{where}{_frames.named(top['config'])} is first of {part.height} with {found} in "
            f"{top['metric']}; {maybe} of them may be the best."
        )
    return "Leaderboard with intervals. " + " ".join(told[:8])
