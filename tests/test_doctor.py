"""What a table is enough for is said before anything is computed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from trialframe.doctor import Doctor, doctor
from trialframe.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pl.DataFrame(
    {
        "model": ["a"] * 6 + ["b"] * 2,
        "task": ["x", "x", "x", "y", "y", "z", "x", "w"],
        "ok": [True, False, None, True, True, False, True, False],
        "repo": ["r", "r", "r", "r", "r", "s", "r", "s"],
        "cost_usd": [0.1] * 8,
    }
)


def possible(table: Any, **columns: Any) -> dict[str, tuple[bool, str]]:
    frame = doctor(table, **columns).possible
    return {name: (available, missing) for name, available, missing in frame.rows()}


def test_facts_of_a_table() -> None:
    seen = doctor(TABLE, passed="ok", cluster="repo")
    assert dict(seen.shape.rows()) == {
        "rows": 8,
        "configs": 2,
        "cases": 4,
        "config-case pairs": 5,
        "scored trials per pair, min": 1,
        "scored trials per pair, median": 1,
        "scored trials per pair, max": 2,
        "scored trials": 7,
        "passes": 4,
        "unscored trials": 1,
        "clusters": 2,
        "human labels": 0,
    }


@pytest.mark.parametrize("base", [0, 1])
def test_sequential_attempts_are_no_trials(base: int) -> None:
    table = pl.DataFrame(
        {
            "config": ["a"] * 6,
            "case": ["x", "x", "x", "y", "y", "z"],
            "attempt": [1, 2, 3, 1, 2, 1],
            "passed": [False, False, True, False, True, True],
        }
    ).with_columns(pl.col("attempt") - 1 + base)
    seen = doctor(table)
    facts = dict(seen.shape.rows())
    assert facts["rows"] == 6
    assert facts["later attempts, left out of what follows"] == 3
    assert facts["scored trials"] == 3
    assert facts["scored trials per pair, max"] == 1
    assert facts["passes"] == 1
    can = possible(table)
    assert can["pass@1 and pass^1"] == (True, "")
    assert not can["pass@2 and pass^2"][0]
    assert can["solved by attempt k (sequential)"] == (True, "")
    assert "sequential_attempts" in seen.problems["rule"].to_list()


def test_first_attempts_alone_are_trials() -> None:
    table = {"case": ["x", "x"], "trial": [0, 1], "attempt": [1, 1], "passed": [True, False]}
    assert "later attempts, left out of what follows" not in dict(doctor(table).shape.rows())
    assert possible(table)["pass@2 and pass^2"] == (True, "")


def test_what_is_possible_and_how_much_is_missing() -> None:
    can = possible(TABLE, passed="ok")
    assert can["pass@1 and pass^1"] == (True, "")
    assert can["pass@2 and pass^2"] == (True, "1 more trial in 3 of 5 config-case pairs")
    assert can["pass@5 and pass^5"] == (False, "up to 4 more trials in 5 of 5 config-case pairs")
    assert can["flakiness"][0]
    assert not can["estimand suite (these cases, trial noise only)"][0]
    assert can["estimand cases (tasks like these)"] == (True, "")
    assert can["cluster-robust interval"] == (False, "no cluster column")
    assert can["cost per trial and per solved case"] == (True, "")
    assert can["interleaving and drift"] == (False, "no started_at column")
    assert can["paired comparison"] == (True, "shared 1")
    assert can["McNemar on majority outcomes"][1].startswith("1 of 5 config-case pairs tie")
    assert can["judge calibration"] == (
        False,
        "needs 20 labels with both classes; no judge column",
    )


@pytest.mark.parametrize(
    ("labels", "available", "words"),
    [
        ([True] * 15 + [False] * 5, True, "20 labels, 15 passed"),
        ([True] * 20, False, "has 20, 20 passed"),
        ([True, False] * 2 + [None] * 16, False, "has 4, 2 passed"),
        (["pass"] * 20, False, "map its words"),
    ],
)
def test_labels_for_a_judge(labels: list[Any], available: bool, words: str) -> None:  # noqa: FBT001
    table = {"case": list(range(20)), "passed": [True] * 20, "judge": [True] * 20, "label": labels}
    found = possible(table)["judge calibration"]
    assert found[0] == available
    assert words in found[1]


def test_clusters_and_configs_that_share_nothing() -> None:
    table = {"config": ["a", "b"], "case": [1, 2], "passed": [1, 0], "cluster": ["k", "k"]}
    can = possible(table)
    assert can["cluster-robust interval"] == (False, "needs 2 clusters; has 1")
    assert can["paired comparison"] == (False, "needs two configs sharing cases; shared 0")
    three = {"config": list("aabbc"), "case": [1, 2, 1, 2, 1], "passed": [True] * 5}
    assert possible(three)["paired comparison"][1] == "2 cases in two configs or more, 1 in all 3"


def test_counts_and_empty_tables() -> None:
    counts = {"model": ["a"], "task": ["x"], "n": [5], "c": [2], "cost_uusd_sum": [7]}
    can = possible(counts)
    assert can["pass@5 and pass^5"] == (True, "")
    assert can["cost per trial and per solved case"] == (True, "")
    empty = doctor({"case": [], "passed": []})
    assert not empty.possible["available"].any()
    assert empty.problems["rule"].to_list() == ["no_rows"]


def test_columns_that_cannot_be_resolved_are_a_problem_not_an_error(tmp_path: Path) -> None:
    seen = doctor({"a": [1], "b": ["x"]})
    assert seen.problems["rule"].to_list() == ["columns"]
    assert seen.mapping["source"].to_list() == ["a", "b"]
    assert seen.possible.is_empty()
    assert not seen.healthy
    with pytest.raises(SourceError):
        doctor(tmp_path / "missing.csv")


def test_it_prints_and_can_be_stored() -> None:
    seen = doctor(TABLE, passed="ok")
    assert isinstance(seen, Doctor)
    text = repr(seen)
    assert text == seen.text()
    for words in (
        "Columns",
        "config <- model (alias)",
        "Shape",
        "rows: 8",
        "Problems",
        "yes",
        "no ",
    ):
        assert words in text
    stored = json.loads(json.dumps(seen.to_dict()))
    assert set(stored) == {"mapping", "shape", "possible", "problems", "healthy"}
    assert stored["shape"][0] == {"fact": "rows", "value": 8.0}


@pytest.mark.parametrize(
    "name",
    ["bfcl_v1_2024", "reflexion_attempts", "swebench_case_annotations", "tau2_llm_judges"],
)
def test_real_tables(shared_data: Path, name: str) -> None:
    assert doctor(shared_data / f"{name}.parquet").text()


def test_real_attempts_are_no_trials(shared_data: Path) -> None:
    seen = doctor(shared_data / "reflexion_attempts.parquet")
    facts = dict(seen.shape.rows())
    assert facts["later attempts, left out of what follows"] == 1026
    assert facts["scored trials per pair, max"] == 1
    assert not seen.possible.filter(capability="pass@10 and pass^10")["available"].item()


def test_a_real_judge(shared_data: Path) -> None:
    path = shared_data / "tau2_llm_judges.parquet"
    can = possible(path, label=pl.col("label") == "pass", judge="judge_pass")
    assert can["judge calibration"][0]
