"""`tr.plot` knows tables by their columns, and refuses others in words."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import trialframe as tr
from results_made import results
from trialframe.errors import ArgumentError, ColumnError


def marks(chart: Any) -> str:
    return str(chart.to_dict()["title"]["text"])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("leaderboard", "shared cases"),
        ("forest", "against base"),
        ("strip", "shared cases, baseline to candidate"),
        ("flakes", "Flaky cases"),
        ("curves", "pass@k and pass^k"),
    ],
)
def test_tables_are_known_by_their_columns(
    kind: str, said: str, few: dict[str, pl.DataFrame]
) -> None:
    assert said in marks(tr.plot(few[kind]))


def test_what_a_table_can_show_beside_is_named(few: dict[str, pl.DataFrame]) -> None:
    assert "Price and pass@1" in marks(tr.plot(few["leaderboard"], kind="frontier"))
    assert "pass@3 of 3 rows" in marks(tr.plot(few["curves"], kind="estimates", metric="pass@3"))
    one = few["curves"].filter(metric="pass@1")
    chart = tr.plot(one)
    assert chart.data["value"].to_list() == sorted(one["value"], reverse=True)
    groups = results()["Comparison"].groups
    assert "candidate minus baseline" in marks(tr.plot(groups, level=0.95))
    assert "Power" in marks(tr.plot(tr.power_table(rate=0.6, icc=0.5)))
    for name, field in (("Decay", "curve"), ("Surface", "cells"), ("Calibration", "table")):
        tr.plot(getattr(results()[name], field))


def test_results_are_drawn_as_by_their_own_method() -> None:
    found = results()["Comparison"]
    assert tr.plot(found, kind="strip").to_dict() == found.plot(kind="strip").to_dict()
    assert tr.plot(results()["Counts"], theme="dark").to_dict()["config"]["background"] != "#ffffff"


def test_what_cannot_be_drawn_is_refused_with_what_can(few: dict[str, pl.DataFrame]) -> None:
    with pytest.raises(ArgumentError, match=r"leaderboard \(tr.leaderboard\); frontier"):
        tr.plot(pl.DataFrame({"a": [1]}))
    with pytest.raises(ArgumentError, match=r"takes a result or a polars\.DataFrame, got dict"):
        tr.plot({"a": 1})
    with pytest.raises(ArgumentError, match=r"kind == 'leaderbord'.*Did you mean 'leaderboard'"):
        tr.plot(few["leaderboard"], kind="leaderbord")
    with pytest.raises(ArgumentError, match=r"no option 'limits'.*Did you mean 'limit'"):
        tr.plot(few["leaderboard"], limits=3)
    with pytest.raises(ArgumentError, match="no option 'kind'"):
        tr.plot(results()["Counts"], kind="strip")
    with pytest.raises(ColumnError, match="'strip' needs 'case'"):
        tr.plot(few["leaderboard"], kind="strip")
    with pytest.raises(ArgumentError, match="metric == 'pass@9'"):
        tr.plot(few["curves"], kind="estimates", metric="pass@9")
