"""What every test of a chart may ask for: tables to draw, and a chart as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import trialframe as tr

if TYPE_CHECKING:
    from collections.abc import Callable

ODD = '<script>alert("1")</script> & \u65e5\u672c\u8a9e \U0001f600'
"""A name that breaks what does not escape, with wide characters."""


@pytest.fixture(autouse=True)
def _extras(require: Callable[[str], Any]) -> None:
    require("altair")
    require("vl_convert")


@pytest.fixture
def svg(require: Callable[[str], Any]) -> Callable[[Any], str]:
    """A chart as SVG, without names or colours of another page."""
    converter = require("vl_convert")

    def made(chart: Any) -> str:
        text = converter.vegalite_to_svg(chart.to_json())
        assert text.startswith("<svg")
        assert "NaN" not in text
        ET.fromstring(text)  # noqa: S314
        return str(text)

    return made


def _priced(trials: pl.DataFrame) -> pl.DataFrame:
    number = pl.col("config").rank("dense").cast(pl.Int64)
    return trials.with_columns(cost_uusd=number * 1000 + pl.col("trial").cast(pl.Int64))


def _tables(names: list[str], cases: int) -> dict[str, pl.DataFrame]:
    trials = _priced(tr.simulate(configs=names, cases=cases, trials=4, seed=3))
    counts = tr.counts(trials)
    metrics = [f"pass{sign}{k}" for sign in "@^" for k in (1, 2, 3, 4)]
    found = tr.compare(counts, names[0], names[1])
    return {
        "leaderboard": tr.leaderboard(counts),
        "frontier": tr.leaderboard(counts),
        "forest": tr.compare_all(counts, names[0]),
        "strip": found.pairs,
        "flakes": counts.frame,
        "curves": tr.summary(counts, metrics=metrics),
    }


@pytest.fixture(scope="session")
def few() -> dict[str, pl.DataFrame]:
    """Tables of three configs, one of them with an odd name."""
    return _tables(["base", "new", ODD], 30)


@pytest.fixture(scope="session")
def many() -> dict[str, pl.DataFrame]:
    """Tables of 200 configs with long names."""
    names = [f"vendor-{i % 7}/model-{i:03d}-with-a-long-name-2025-{i % 28:02d}" for i in range(200)]
    return _tables(names, 24)
