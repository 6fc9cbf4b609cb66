"""Graceful degradation scores and meltdown onset of tables of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def test_golden_gds(golden: Golden) -> None:
    for entry in golden("graceful_degradation_score"):
        done, weights = entry["inputs"]["subtasks"], entry["inputs"]["weights"]
        rows = {"case": ["x"] * len(done), "done": done, "w": weights}
        found = tr.gds(rows, weight="w")
        assert found["value"].item() == pytest.approx(entry["expected"], abs=1e-12)
        assert found["se"].item() is None


def test_golden_mop(golden: Golden) -> None:
    for entry in golden("meltdown_onset_point"):
        actions, expected = entry["inputs"]["actions"], entry["expected"]
        rows = {"case": ["x"] * len(actions), "action": actions}
        options = {"window": entry["inputs"]["w"], "threshold": entry["inputs"]["theta_h"]}
        assert tr.mop(rows, **options)["onset"].item() == expected["mop_full_prior_only"]
        found = tr.mop(rows, paper_compat=True, **options)
        assert found["onset"].item() == expected["mop"]


def test_four_tools_at_the_start_are_no_meltdown() -> None:
    rows = {"case": ["x"] * 4, "action": list("abcd")}
    assert tr.mop(rows).select("onset", "judged").row(0) == (None, False)
    assert tr.mop(rows, paper_compat=True).select("onset", "judged").row(0) == (3, True)


def test_mean_over_trials_then_cases() -> None:
    rows = {
        "case": ["x", "x", "x", "y"],
        "trial": [1, 1, 2, 1],
        "done": [True, False, True, False],
    }
    found = tr.gds(rows).row(0, named=True)
    assert found["value"] == pytest.approx((0.75 + 0.0) / 2)
    assert (found["cases"], found["episodes"], found["missing"]) == (2, 3, 0)
    each = tr.gds(rows, per="trial")
    assert each["score"].to_list() == [0.5, 1.0, 0.0]
    assert each["subtasks"].to_list() == [2, 1, 1]


def test_scores_go_into_a_decay_curve() -> None:
    rows = {
        "task": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "done": [True, True, True, False, True, False, False, False],
    }
    scores = tr.gds(rows, per="trial").with_columns(
        length=pl.col("case").replace_strict({"a": 0, "b": 0, "c": 1, "d": 1})
    )
    found = tr.decay_curve(scores, bucket="length", metric="score", threshold=1.0)
    assert found.curve["value"].to_list() == [0.75, 0.25]


def test_what_is_not_known_is_left_out() -> None:
    rows = {"case": ["x", "x", "y"], "done": [True, None, True]}
    found = tr.gds(rows).row(0, named=True)
    assert (found["value"], found["missing"]) == (1.0, 1)
    unknown = tr.gds({"case": ["x"], "done": pl.Series([None], dtype=pl.Boolean)})
    assert unknown["value"].item() is None


def test_steps_bring_the_order() -> None:
    actions = "rrrrrreswgtb"
    rows = pl.DataFrame({"case": ["x"] * 12, "action": list(actions), "t": range(12)})
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=1)
    assert tr.mop(mixed, step="t").equals(tr.mop(rows))
    with pytest.raises(TrialsError, match="share an episode"):
        tr.mop(rows.with_columns(t=0), step="t")


def test_the_share_of_meltdowns() -> None:
    rows = pl.DataFrame(
        {
            "model": ["m"] * 26,
            "case": ["x"] * 12 + ["y"] * 11 + ["z"] * 3,
            "action": list("rrrrrreswgtb") + ["r"] * 14,
        }
    )
    found = tr.mop(rows, per="config").row(0, named=True)
    assert (found["config"], found["metric"], found["value"]) == ("m", "meltdown", 0.5)
    assert (found["episodes"], found["missing"]) == (2, 1)


def test_other_engines_and_clusters() -> None:
    rows = pl.DataFrame(
        {
            "case": ["x", "x", "y", "y", "z", "z"],
            "cluster": ["p", "p", "p", "p", "q", "q"],
            "done": [True, False, True, True, False, False],
        }
    )
    found = tr.gds(rows)
    assert found["clusters"].item() == 2
    assert tr.gds(rows, units="cases")["clusters"].item() == 3
    assert tr.gds(rows.to_pandas()).equals(found)
    assert tr.gds(rows.to_arrow()).equals(found)


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        ({"case": ["x"], "ok": [True]}, {}, ColumnError, "no column 'done'"),
        ({"done": [True]}, {}, ColumnError, "no case column"),
        ({"case": ["x"], "done": ["yes"]}, {}, ColumnError, "true or false"),
        ({"case": [None], "done": [True]}, {}, TrialsError, "case is null"),
        ({"case": ["x"], "done": [True], "w": [-1.0]}, {"weight": "w"}, TrialsError, ">= 0"),
        ({"case": ["x"], "done": [True], "w": ["a"]}, {"weight": "w"}, ColumnError, "not a number"),
        ({"case": ["x"], "done": [True]}, {"per": "case"}, ArgumentError, "per"),
        ({"task": ["x"], "item": ["x"], "done": [True]}, {}, ColumnError, "could be"),
        ({"case": ["x"], "done": [True]}, {"trial": "run"}, ColumnError, "no column 'run'"),
    ],
)
def test_bad_subtasks(
    rows: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tr.gds(rows, **options)


def test_bad_calls() -> None:
    rows = {"case": ["x", "x"], "action": ["a", None]}
    with pytest.raises(TrialsError, match="null in 1 rows"):
        tr.mop(rows)
    with pytest.raises(ArgumentError, match="window"):
        tr.mop(rows, window=1)
    with pytest.raises(ColumnError, match="for step"):
        tr.mop(rows, step="t")
    with pytest.raises(TrialsError, match="no rows"):
        tr.mop({"case": pl.Series([], dtype=pl.String), "action": pl.Series([], dtype=pl.String)})
