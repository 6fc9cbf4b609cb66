"""What an item response fit says of the cases: their curves, and where they tell configs apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Look, Theme

NEEDS = ("case", "b", "ability", "probability")
CURVES = 60
"""Most curves of cases: every so manieth in the order of difficulty."""


def items(
    frame: pl.DataFrame,
    information: pl.DataFrame,
    abilities: pl.DataFrame,
    *,
    model: str,
    theme: Theme = "light",
    width: int = WIDTH,
) -> Chart:
    """Characteristic curves of cases above the information of the whole suite.

    Args:
        frame: One row per case and ability: `case, b, ability, probability`.
        information: `ability, information`, summed over cases.
        abilities: `config, ability`, marked below both.
        model: Name of the model.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.

    Returns:
        A chart of two panels; the first holds the curves of at most 60 cases, every so
        manieth in order of difficulty, the second the information as given.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: Columns are missing.
    """
    frame = _frames.taken(frame, NEEDS, "items")
    information = _frames.taken(information, ("ability", "information"), "items")
    abilities = _frames.taken(abilities, ("config", "ability"), "items")
    now, alt = look(theme), altair()
    cases = frame.select("case", "b").unique().sort("b", "case")
    step = max(1, -(-cases.height // CURVES))
    kept = cases.gather_every(step)
    drawn = frame.join(kept.select("case"), on="case", how="semi").sort("b", "case", "ability")
    inner = width - 80
    ends = (
        float(information["ability"].to_numpy().min()),
        float(information["ability"].to_numpy().max()),
    )
    drawn = drawn.with_columns(name=_seen(drawn["case"]))
    abilities = abilities.with_columns(name=_seen(abilities["config"]))
    inside = abilities.filter(pl.col("ability").is_between(*ends)).sort("ability")
    peak = information.sort("information", "ability").row(-1, named=True)
    upper = _curves(drawn, ends, theme, now).properties(width=inner, height=210)
    lower = _information(information, inside, ends, now).properties(width=inner, height=150)
    outside = abilities.height - inside.height
    return finished(
        alt.vconcat(upper, lower, spacing=12),
        theme=theme,
        width=width,
        fit=False,
        title=f"Item response of {counted(cases.height, 'case')}, {model}",
        lines=[
            "above: chance to pass by ability, one curve a case",
            "below: information of one trial a case, summed; ticks: configs",
            _frames.truncated(
                kept.height, cases.height, "case", f"one in {step} by order of difficulty"
            ),
            f"not drawn: {counted(outside, 'config')} beyond these abilities" if outside else "",
        ],
        alt=f"Curves of {counted(cases.height, 'case')} under the {model} model, difficulty from "
        f"{cases['b'][0]:.2f} to {cases['b'][-1]:.2f}. The suite tells most at ability "
        f"{peak['ability']:.2f}, with information {peak['information']:.1f}; "
        f"{counted(abilities.height, 'config')} lie between "
        f"{_ends(abilities)}.",
    )


def _seen(column: pl.Series) -> pl.Series:
    return pl.Series("name", _frames.names(column.to_frame().rows()), dtype=pl.String)


def _ends(abilities: pl.DataFrame) -> str:
    known = abilities["ability"].drop_nulls().sort()
    return "unknown abilities" if known.is_empty() else f"{known[0]:.2f} and {known[-1]:.2f}"


def _curves(drawn: pl.DataFrame, ends: tuple[float, float], theme: str, now: Look) -> Any:
    alt = altair()
    shades = {"light": ["#0072b2", "#b9bec4", "#d55e00"], "dark": ["#56b4e9", "#69727d", "#f0813a"]}
    span = float(abs(drawn["b"].to_numpy()).max()) or 1.0
    colour = alt.Color(
        "b:Q",
        scale=alt.Scale(domain=[-span, 0, span], range=shades[theme], interpolate="rgb"),
        legend=alt.Legend(title="difficulty", orient="right", gradientLength=120),
    )
    del now
    return (
        alt.Chart(drawn)
        .mark_line(strokeWidth=1.2, opacity=0.75)
        .encode(
            x=alt.X(
                "ability:Q",
                scale=alt.Scale(domain=list(ends), nice=False),
                axis=alt.Axis(title=None, grid=False),
            ),
            y=alt.Y(
                "probability:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(**_frames.axis("share", "chance to pass")),
            ),
            color=colour,
            detail="name:N",
            tooltip=[
                alt.Tooltip("name:N", title="case"),
                alt.Tooltip("b:Q", title="difficulty", format=".2f"),
            ],
        )
    )


def _information(
    information: pl.DataFrame, inside: pl.DataFrame, ends: tuple[float, float], now: Look
) -> Any:
    alt = altair()
    x = alt.X(
        "ability:Q",
        scale=alt.Scale(domain=list(ends), nice=False),
        axis=alt.Axis(title="ability", grid=False),
    )
    y = alt.Y("information:Q", axis=alt.Axis(title="information"))
    area = alt.Chart(information).mark_area(color=now.good, opacity=0.25, line={"color": now.good})
    layers = [area.encode(x=x, y=y)]
    if not inside.is_empty():
        ticks = alt.Chart(inside).mark_tick(color=now.bad, thickness=2, height=14)
        layers.append(
            ticks.encode(
                x=x, y=alt.value(143), tooltip=[alt.Tooltip("name:N", title="config"), "ability:Q"]
            )
        )
    return alt.layer(*layers)
