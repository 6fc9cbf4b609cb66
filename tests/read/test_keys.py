"""Keys of trials: which of repeated rows stay, numbers that are made, cases that are absent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, TrialsError
from trialframe.read._keys import keyed, unique

Key = tuple[str, str, int | None]
TABLES = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("xy"), st.one_of(st.none(), st.integers(0, 2))
    ),
    min_size=1,
    max_size=14,
)


def table(keys: list[Key], **more: Any) -> pl.DataFrame:
    schema = {"config": pl.String, "case": pl.String, "trial": pl.Int64}
    made = pl.DataFrame(keys, schema=schema, orient="row")
    made = made.with_columns(passed=pl.int_range(pl.len()) % 2 == 0, at=pl.int_range(pl.len()))
    return made.with_columns(**more)


@given(TABLES)
def test_the_first_and_the_last_of_each_key_stay(keys: list[Key]) -> None:
    for keep, order in (("first", -1), ("last", 1)):
        wanted: dict[Any, int] = {}
        for place, key in list(enumerate(keys))[::order]:
            wanted[key if key[2] is not None else (*key, place)] = place
        kept, dropped = unique(table(keys), keep)
        assert kept["at"].to_list() == sorted(wanted.values())
        assert dropped == len(keys) - len(wanted)


@given(TABLES)
def test_all_of_a_case_with_repeats_are_numbered_anew_and_no_others(keys: list[Key]) -> None:
    kept = keyed(table(keys).lazy(), keep="all", cases=None, absent="fail").collect()
    assert kept["at"].to_list() == list(range(len(keys)))
    assert kept.select("config", "case", "trial").is_unique().all()
    for place, key in enumerate(keys):
        numbers = [k[2] for k in keys if k[:2] == key[:2] and k[2] is not None]
        row = kept.row(place, named=True)
        if len(set(numbers)) < len(numbers) or key[2] is None:
            assert row["trial_made"]
        else:
            assert (row["trial"], row["trial_made"]) == (key[2], False)


def test_repeats_are_an_error_that_says_where() -> None:
    keys: list[Key] = [("a", "x", 1), ("a", "x", 1), ("a", "y", 1)]
    split = table(keys, run=pl.Series(["r1", "r2", "r1"]), log=pl.Series(["f", "g", "f"]))
    with pytest.raises(TrialsError, match=r"2 rows share .* 'a', 'x', trial 1 in 'f', 'g'"):
        unique(split, "raise")
    with pytest.raises(TrialsError, match=r"config=\['config', 'run'\] keeps them apart"):
        unique(split, "raise")
    assert unique(split.head(1), "raise")[1] == 0


def test_made_numbers_follow_those_that_are_there() -> None:
    keys: list[Key] = [("a", "x", None), ("a", "x", 3), ("a", "x", None), ("b", "x", None)]
    made = keyed(table(keys).lazy(), keep="raise", cases=None, absent="fail").collect()
    assert made["trial"].to_list() == [4, 3, 5, 0]
    assert made["trial_made"].to_list() == [True, False, True, True]


def test_made_numbers_follow_time_where_it_is_known() -> None:
    keys: list[Key] = [("a", "x", None)] * 4
    times = [None, datetime(2026, 1, 3, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), None]
    clock = pl.Series(times, dtype=pl.Datetime("us", "UTC"))
    made = keyed(table(keys, started_at=clock).lazy(), keep="raise", cases=None, absent="fail")
    assert made.collect()["trial"].to_list() == [2, 1, 0, 3]
    assert made.collect()["at"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(("absent", "verdict"), [("fail", False), ("unscored", None)])
def test_absent_cases_are_rows_of_every_config(absent: str, verdict: bool | None) -> None:  # noqa: FBT001
    keys: list[Key] = [("a", "x", 0), ("a", "y", 0), ("b", "x", 0)]
    every = keyed(table(keys).lazy(), keep="raise", cases=["y", "z", "x"], absent=absent).collect()
    added = every.filter(outcome="absent").select("config", "case", "trial", "passed")
    assert added.rows() == [
        ("a", "z", 0, verdict),
        ("b", "y", 0, verdict),
        ("b", "z", 0, verdict),
    ]


def test_lists_of_cases_come_in_many_forms() -> None:
    rows = {"case": [1, 2], "trial": [0, 0], "passed": [True, True]}
    for cases in ([1, 2, 3], pl.Series([1, 2, 3]), pl.DataFrame({"case": [1, 2, 3]}), range(1, 4)):
        assert tr.read(rows, cases=cases, absent="fail").collect().height == 3
    for bad in ("abc", [], [None], [[1]], {"cases": [1]}, 7):
        with pytest.raises((ArgumentError, tr.errors.SourceError)):
            tr.read(rows, cases=bad).collect()
    with pytest.raises(ArgumentError, match="absent"):
        tr.read(rows, cases=[1, 2], absent="pass")  # type: ignore[call-overload]


def test_the_last_of_logs_is_the_last_in_time_whatever_their_order() -> None:
    rows = pl.DataFrame(
        {
            "config": ["m"] * 4,
            "case": ["x", "y", "x", "y"],
            "trial": [1] * 4,
            "passed": [True, True, False, False],
            "log": ["late", "late", "early", "early"],
            "started_at": [datetime(2026, 1, day, tzinfo=UTC) for day in (2, 2, 1, 1)],
        }
    )
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        for keep, log in (("first", "early"), ("last", "late")):
            kept = keyed(rows[order], keep=keep, cases=None, absent="fail").collect()
            assert kept["log"].unique().to_list() == [log]
            assert sorted(kept["case"]) == ["x", "y"]


def test_results_are_not_named_as_what_tells_systems_apart() -> None:
    rows = pl.DataFrame(
        {
            "config": ["m"] * 4,
            "case": ["x", "x", "y", "z"],
            "trial": [1] * 4,
            "passed": [True, False, True, None],
            "failure_mode": ["none", "timeout", "none", "none"],
            "outcome": ["completed", "timeout", "completed", "completed"],
            "log": ["a", "b", "a", "b"],
        }
    )
    with pytest.raises(TrialsError) as told:
        keyed(rows, keep="raise", cases=None, absent="fail")
    assert "config=" not in str(told.value)
    with pytest.raises(TrialsError) as told:
        keyed(rows.drop("log"), keep="raise", cases=None, absent="fail")
    assert "config=" not in str(told.value)
