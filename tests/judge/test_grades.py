from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable

RANKING = ("ground_truth", "objective", "judge")


def table(*rows: tuple[Any, ...]) -> pl.DataFrame:
    names = {
        "case": pl.String,
        "trial": pl.Int64,
        "authority": pl.String,
        "grader": pl.String,
        "passed": pl.Boolean,
        "score": pl.Float64,
    }
    return pl.DataFrame(rows, schema=names, orient="row").insert_column(
        0, pl.Series("config", ["a"] * len(rows))
    )


HAND = table(
    ("x", 1, "judge", "j1", True, 0.9),
    ("x", 1, "objective", "tests", False, 0.0),
    ("x", 2, "judge", "j1", True, 0.8),
    ("x", 2, "judge", "j2", False, 0.2),
    ("y", 1, "ground_truth", "human", True, None),
    ("y", 1, "objective", "tests", True, 1.0),
    ("y", 1, "judge", "j1", False, 0.1),
    ("y", 2, "objective", "tests", None, 0.5),
    ("y", 2, "judge", "j1", True, 0.7),
    ("z", 1, "judge", "j1", None, 0.4),
    ("é 漢字 | ", 1, "judge", "j2", True, 1.0),
)


def test_the_highest_authority_with_a_grade_decides() -> None:
    made = tr.verdicts(HAND)
    assert made.trials.select(
        "case", "trial", "passed", "authority", "grades", "graders"
    ).rows() == [
        ("x", 1, False, "objective", 1, "tests"),
        ("x", 2, None, "judge", 2, "j1, j2"),
        ("y", 1, True, "ground_truth", 1, "human"),
        ("y", 2, True, "judge", 1, "j1"),
        ("z", 1, None, None, 0, None),
        ("é 漢字 | ", 1, True, "judge", 1, "j2"),
    ]
    assert made.trials["score"].to_list() == [0.0, 0.5, None, 0.7, None, 1.0]
    assert made.trials["conflict"].to_list() == [True, True, True, False, False, False]
    assert (made.scored, made.unscored, made.conflicting) == (4, 2, 3)


def test_conflicts_say_how_many_between_whom_and_who_decided() -> None:
    found = tr.verdicts(HAND).conflicts
    shown = ("finding", "authority", "against", "trials", "conflicts", "decided_by")
    assert found.select(shown).rows() == [
        ("within", "judge", None, 1, 1, "nobody"),
        ("between", "ground_truth", "objective", 1, 0, None),
        ("between", "ground_truth", "judge", 1, 1, "ground_truth"),
        ("between", "objective", "judge", 2, 2, "ground_truth, objective"),
        ("no deciding grade", None, None, 6, 1, "nobody"),
    ]
    assert found["examples"][0] == "config 'a' case 'x' trial 2"


@pytest.mark.parametrize(
    ("ties", "split", "two_of_three"),
    [
        ("unscored", None, None),
        ("all", False, False),
        ("any", True, True),
        ("majority", False, True),
    ],
)
def test_rules_for_graders_of_one_authority(
    ties: str, *, split: bool | None, two_of_three: bool | None
) -> None:
    rows = table(
        ("half", 1, "judge", "a", True, None),
        ("half", 1, "judge", "b", False, None),
        ("most", 1, "judge", "a", True, None),
        ("most", 1, "judge", "b", False, None),
        ("most", 1, "judge", "c", True, None),
        ("none", 1, "judge", "a", False, None),
        ("none", 1, "judge", "b", False, None),
    )
    made = tr.verdicts(rows, ties=ties).trials
    assert made["passed"].to_list() == [split, two_of_three, False]


def test_a_split_of_the_highest_authority_is_not_settled_below() -> None:
    rows = table(
        ("x", 1, "ground_truth", "a", True, None),
        ("x", 1, "ground_truth", "b", False, None),
        ("x", 1, "judge", "j", True, None),
    )
    row = tr.verdicts(rows).trials.row(0, named=True)
    assert (row["passed"], row["authority"], row["grades"]) == (None, "ground_truth", 2)


def test_repeated_rows_are_one_grade_and_are_reported() -> None:
    copied = pl.concat([HAND, HAND.head(4)])
    made = tr.verdicts(copied)
    assert made.trials.equals(tr.verdicts(HAND).trials)
    last = made.conflicts.row(-1, named=True)
    assert (last["finding"], last["conflicts"]) == ("repeated grades", 4)
    anonymous = tr.verdicts(pl.concat([HAND, HAND.head(1)]).drop("grader"))
    assert anonymous.trials["grades"].to_list()[0] == 1
    assert anonymous.conflicts.filter(finding="within")["trials"].to_list() == [2]


def test_a_grader_who_says_both_contradicts_itself() -> None:
    rows = table(("x", 1, "judge", "j", True, None), ("x", 1, "judge", "j", False, None))
    made = tr.verdicts(rows)
    assert made.trials["passed"].to_list() == [None]
    assert made.conflicts["conflicts"].to_list() == [1]


def test_a_threshold_serves_grades_without_a_verdict() -> None:
    rows = table(
        ("x", 1, "judge", "j", None, 0.7),
        ("y", 1, "judge", "j", False, 0.9),
        ("z", 1, "judge", "j", None, None),
    )
    assert tr.verdicts(rows).trials["passed"].to_list() == [None, False, None]
    assert tr.verdicts(rows, threshold=0.7).trials["passed"].to_list() == [True, False, None]
    scores = rows.drop("passed")
    assert tr.verdicts(scores, threshold=0.8).trials["passed"].to_list() == [False, True, None]


@given(st.permutations(range(len(HAND))))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    made, expected = tr.verdicts(HAND[order]), tr.verdicts(HAND)
    assert made.trials.equals(expected.trials)
    assert made.conflicts.equals(expected.conflicts)


def test_every_kind_of_table_gives_the_same(require: Callable[[str], Any]) -> None:
    duckdb, _ = require("duckdb"), require("pandas")
    expected = tr.verdicts(HAND).trials
    others = [HAND.lazy(), HAND.to_arrow(), HAND.to_pandas(), HAND.to_dict(as_series=False)]
    for other in [*others, HAND.to_dicts(), duckdb.from_arrow(HAND.to_arrow())]:
        assert tr.verdicts(other).trials.equals(expected)


def test_the_trials_feed_counts() -> None:
    counts = tr.counts(tr.verdicts(HAND).trials)
    assert counts.frame.select("case", "n", "c", "unscored").rows() == [
        ("x", 1, 0, 1),
        ("y", 2, 2, 0),
        ("z", 0, 0, 1),
        ("é 漢字 | ", 1, 1, 0),
    ]


GRADES = st.lists(
    st.tuples(
        st.sampled_from(["p", "q"]),
        st.integers(0, 1),
        st.sampled_from(RANKING),
        st.sampled_from(["g", "h", "i"]),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=15,
)


@given(GRADES, st.sampled_from(["unscored", "all", "any", "majority"]))
def test_against_a_loop_over_trials(rows: list[tuple[Any, ...]], ties: str) -> None:
    made = tr.verdicts(table(*((*row, None) for row in rows)), ties=ties).trials
    expected = {}
    for key in sorted({row[:2] for row in rows}):
        said, who = None, None
        for authority in RANKING:
            own = {row[3:] for row in rows if row[:2] == key and row[2] == authority}
            words = [verdict for _, verdict in own if verdict is not None]
            if words:
                who, passes = authority, sum(words)
                split = {
                    "unscored": None,
                    "all": False,
                    "any": True,
                    "majority": 2 * passes > len(words),
                }[ties]
                said = words[0] if passes in {0, len(words)} else split
                break
        expected[key] = (said, who)
    got = {row[:2]: row[2:] for row in made.select("case", "trial", "passed", "authority").rows()}
    assert got == expected


def test_composite_keys_clusters_and_other_rankings() -> None:
    rows = {
        "model": ["m", "m"],
        "suite": ["s", "s"],
        "task": [1, 1],
        "level": ["expert", "crowd"],
        "cluster": ["k", "k"],
        "ok": [1, 0],
    }
    made = tr.verdicts(
        rows, case=["suite", "task"], authority="level", ranking=["crowd", "expert"], passed="ok"
    )
    assert made.trials.select("config", "case", "cluster", "passed").rows() == [
        ("m", "s | 1", "k", False)
    ]


@pytest.mark.parametrize(
    ("change", "options", "error", "told"),
    [
        ({"authority": "jugde"}, {}, TrialsError, "Did you mean 'judge'"),
        ({"authority": None}, {}, TrialsError, "authority is null in 1 rows"),
        ({"case": None}, {}, TrialsError, "case is null"),
        ({}, {"authority": "who"}, ColumnError, "no column 'who'"),
        ({}, {"grader": "who"}, ColumnError, "no column 'who'"),
        ({}, {"ranking": ()}, ArgumentError, "ranking"),
        ({}, {"ranking": ("judge", "judge")}, ArgumentError, "once"),
        ({}, {"ties": "mean"}, ArgumentError, "ties"),
        ({}, {"cluster": "grader"}, TrialsError, "two clusters"),
    ],
)
def test_bad_input(
    change: dict[str, Any], options: dict[str, Any], error: type[Exception], told: str
) -> None:
    rows = HAND.to_dicts()
    rows[0] = rows[0] | change
    with pytest.raises(error, match=told):
        tr.verdicts(rows, **options)


def test_verdicts_in_words_are_refused_with_what_to_do() -> None:
    rows = {"case": ["x"], "authority": ["judge"], "passed": ["yes"]}
    with pytest.raises(TrialsError, match="Map them first"):
        tr.verdicts(rows)
    with pytest.raises(TrialsError, match="no rows"):
        tr.verdicts(HAND.head(0))
    with pytest.raises(ArgumentError, match="needs a score"):
        tr.verdicts(HAND.drop("score"), threshold=0.5)
