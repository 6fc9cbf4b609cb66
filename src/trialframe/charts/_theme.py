"""How every chart looks: colours that colour-blind people can tell apart, light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from trialframe import _checks
from trialframe._optional import require
from trialframe.charts._frames import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable

    from altair import TopLevelMixin

    Chart = TopLevelMixin

Theme = Literal["light", "dark"]
THEMES = ("light", "dark")
WIDTH = 640
"""Pixels that a chart takes, labels included."""
_LETTER = 5.7
"""Pixels of a letter of a subtitle, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Colours of a theme, after Okabe and Ito.

    Attributes:
        paper: Background.
        ink: Text and marks that carry no colour of their own.
        soft: Secondary text.
        faint: Marks in the background.
        grid: Grid lines.
        good: Better, plausibly best, passed.
        bad: Worse, failed.
        odd: Needs a look: flaky.
        series: One colour a config, in order.
    """

    paper: str
    ink: str
    soft: str
    faint: str
    grid: str
    good: str
    bad: str
    odd: str
    series: tuple[str, ...]


LOOKS = {
    "light": Look(
        paper="#ffffff",
        ink="#1f2328",
        soft="#57606a",
        faint="#a3a9b1",
        grid="#e7e9ec",
        good="#0072b2",
        bad="#d55e00",
        odd="#e69f00",
        series=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b4c1e"),
    ),
    "dark": Look(
        paper="#15181c",
        ink="#e6e8eb",
        soft="#a5adb6",
        faint="#69727d",
        grid="#2c3238",
        good="#56b4e9",
        bad="#f0813a",
        odd="#f5c242",
        series=("#56b4e9", "#f0813a", "#2bc596", "#e293bf", "#f5c242", "#8c9eff", "#c8b08a"),
    ),
}
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
"""One shape a config beside its colour, so that colour is never the only difference."""


def altair() -> Any:
    """The charting library."""
    return require("altair", extra="report", purpose="charts")


def look(theme: str) -> Look:
    """The colours of a theme.

    Raises:
        ArgumentError: No such theme.
    """
    return LOOKS[_checks.one_of(theme, "theme", THEMES)]


def finished(
    chart: Any,
    *,
    theme: str,
    width: int,
    title: str,
    lines: Iterable[str],
    alt: str,
    fit: bool = True,
) -> Chart:
    """A chart with title, subtitle, text for those who cannot see it, and colours of a theme.

    Args:
        chart: Chart without configuration.
        theme: "light" or "dark".
        width: Pixels that the chart takes.
        title: What is shown.
        lines: What was estimated, how, and what was left out; wrapped to the width.
        alt: What one sees, in words.
        fit: Whether the view, labels included, is made to fit the width; charts of several
            panels set the widths of their panels themselves.
    """
    now = look(theme)
    letters = max(30, int(width / _LETTER))
    subtitle = [piece for line in lines if line for piece in wrap(harmless(line), letters)]
    head = {"text": wrap(harmless(title), max(24, int(width / 8.3))), "subtitle": subtitle}
    size = {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}} if fit else {}
    made: Chart = chart.properties(title=head, description=harmless(alt), **size).configure(
        background=now.paper,
        padding=10,
        font="system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
        title={
            "anchor": "start",
            "frame": "bounds",
            "color": now.ink,
            "fontSize": 15,
            "subtitleColor": now.soft,
            "subtitleFontSize": 11.5,
            "subtitleLineHeight": 15,
            "offset": 12,
        },
        axis={
            "domainColor": now.grid,
            "gridColor": now.grid,
            "tickColor": now.grid,
            "labelColor": now.ink,
            "titleColor": now.soft,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "labelLimit": 280,
        },
        legend={
            "labelColor": now.ink,
            "titleColor": now.soft,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "labelLimit": 280,
            "symbolLimit": 40,
            "symbolOpacity": 1,
        },
        header={
            "labelColor": now.ink,
            "titleColor": now.soft,
            "labelFontSize": 12.5,
            "labelFontWeight": "bold",
            "labelLimit": 300,
        },
        text={"color": now.ink, "fontSize": 11},
        view={"stroke": None},
    )
    return made
