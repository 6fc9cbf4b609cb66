"""The gate: golden verdicts, precedence, groups and guard sets, cautions, and real data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.comparison.difference import Settings
from trialframe.comparison.result import Comparison
from trialframe.decide.gate import terms_of
from trialframe.errors import ArgumentError, ColumnError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]

Rows = list[tuple[int, int, int, int]]
MORE = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(1, 5), st.integers(0, 5)),
    min_size=1,
    max_size=25,
)


def compared(pairs: pl.DataFrame, **given_: Any) -> Comparison:
    """What a comparison hands to the gate."""
    return Comparison(
        **{
            "baseline": "base",
            "candidate": "new",
            "verdict": "inconclusive",
            "status": "",
            "claim": "",
            "warnings": (),
            "settings": Settings(metric="pass@1"),
            "metric": "pass@1",
            "level": 0.95,
            "pairs": pairs,
            **given_,
        }
    )


def of_rows(rows: Rows, **columns: Any) -> pl.DataFrame:
    names = ["n_baseline", "c_baseline", "n_candidate", "c_candidate"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    rate = {s: pl.col(f"c_{s}") / pl.col(f"n_{s}") for s in ("baseline", "candidate")}
    case = pl.Series("case", [f"case {i:04d}" for i in range(len(rows))], pl.String)
    return frame.select(
        case,
        *(pl.Series(name, values) for name, values in columns.items()),
        *names,
        value_baseline=rate["baseline"],
        value_candidate=rate["candidate"],
    ).with_columns(diff=pl.col("value_candidate") - pl.col("value_baseline"))


def of_ledger(
    wins: int, losses: int, both: int = 0, neither: int = 0, **columns: Any
) -> pl.DataFrame:
    rows = [(1, 0, 1, 1)] * wins + [(1, 1, 1, 0)] * losses
    return of_rows(rows + [(1, 1, 1, 1)] * both + [(1, 0, 1, 0)] * neither, **columns)


def clipped(rows: Rows) -> Rows:
    return [(n, min(c, n), m, min(d, m)) for n, c, m, d in rows]


def test_golden(golden: Golden) -> None:
    for entry in golden("sage_gate"):
        asked, wanted = entry["inputs"], entry["expected"]
        solved = max(asked["solved"], asked["losses"])
        pairs = of_ledger(asked["wins"], asked["losses"], solved - asked["losses"], neither=1)
        got = tr.gate(
            compared(pairs),
            break_cost=asked["lam"],
            alpha=asked["alpha"],
            max_breakage=asked["tau"],
        )
        assert got.verdict == wanted["verdict"]
        assert got.exit_code == (0 if wanted["verdict"] == "ship" else 1)
        assert got.net_gain == wanted["net"]
        assert got.pvalue == pytest.approx(wanted["p"], abs=1e-12)
        assert got.p_losses == pytest.approx(wanted["p_losses"], abs=1e-12)
        assert got.breakage == pytest.approx(wanted["breakage"], abs=1e-15)
        assert got.smallest_clean_win == 8


def test_headlines_say_the_numbers_of_the_result() -> None:
    ship = tr.gate(compared(of_ledger(20, 2, 28)))
    assert ship.headline == (
        "Ship: new gains 20 cases and breaks 2 of the 30 cases that base solves "
        "(net gain 16 at 2 per broken case, p = 0.00932)."
    )
    hold = tr.gate(compared(of_ledger(5, 0, 30)))
    assert hold.wins_missing == 3
    assert hold.headline == (
        "Hold: 3 more clean wins would be needed: new gains 5 cases and breaks none of the 30 "
        "cases that base solves."
    )
    stop = tr.gate(compared(of_ledger(2, 9, 100)))
    assert stop.headline == (
        "Don't ship: new breaks 9 of the 109 cases that base solves and gains 2 cases."
    )
    hopeless = tr.gate(compared(of_ledger(12, 1, 7)))
    assert hopeless.wins_missing is None
    assert hopeless.headline == (
        "Hold: no number of wins would do: new breaks 1 of the 8 cases that base solves, 12.5 % "
        "where 10 % is allowed."
    )
    assert "breakage 1 loss of 8 solved, 12.5 %: above the limit of 10 %" in hopeless.reasons


def test_the_claim_is_no_stronger_than_the_verdict() -> None:
    claims = {
        verdict: tr.gate(compared(pairs)).claim
        for verdict, pairs in (
            ("ship", of_ledger(20, 2, 28)),
            ("hold", of_ledger(5, 0, 30)),
            ("dont_ship", of_ledger(2, 9, 40)),
        )
    }
    assert "it gains more than it breaks" in claims["ship"]
    assert "it is not shown that it gains more" in claims["hold"]
    assert "it breaks more than it gains" in claims["dont_ship"]


def test_outcomes_are_majorities() -> None:
    pairs = of_rows([(3, 1, 3, 2), (3, 2, 3, 1), (4, 2, 4, 3), (4, 3, 4, 2), (2, 1, 2, 1)])
    got = tr.gate(compared(pairs))
    assert (got.wins, got.losses, got.ties, got.solved) == (2, 2, 1, 2)
    assert got.outcome == "majority"
    assert any("exactly half" in text and "3 cases" in text for text in got.warnings)


def test_wins_of_more_trials_alone_do_not_ship() -> None:
    # both pass .8 of the trials, one run against five: the majority of five looks better
    rows = [(1, int(i % 5 > 0), 5, 4) for i in range(100)]
    got = tr.gate(compared(of_rows(rows)))
    assert (got.wins, got.losses, got.pvalue < 0.05) == (20, 0, True)
    assert got.verdict == "hold"
    assert "at equal counts 16.0 wins and 16.0 losses are expected" in got.headline
    clear = [(1, 0, 5, 5)] * 20 + [(1, 1, 5, 5)] * 80
    assert tr.gate(compared(of_rows(clear))).verdict == "ship"


def test_different_trial_counts_are_told() -> None:
    got = tr.gate(compared(of_rows([(1, 1, 5, 4), (3, 2, 3, 2)])))
    told = next(text for text in got.warnings if "trial counts differ in 1 case," in text)
    assert told.endswith("at equal counts 0.0 wins and 0.2 losses are expected")


def test_precedence() -> None:
    """A breached group, then shipping, then more losses than wins, then hold."""
    level = ["core"] * 3 + ["rest"] * 57
    pairs = of_rows(
        [(1, 1, 1, 0)] + [(1, 1, 1, 1)] * 2 + [(1, 0, 1, 1)] * 30 + [(1, 1, 1, 1)] * 27, level=level
    )
    assert tr.gate(compared(pairs)).verdict == "ship"
    for got in (
        tr.gate(compared(pairs), by="level"),
        tr.gate(compared(pairs), guard="level=core"),
        tr.gate(compared(pairs), guard=pl.col("level") == "core"),
        tr.gate(compared(pairs), guard={"my set": ["case 0000", "case 0001"]}),
    ):
        assert (got.verdict, got.exit_code, got.wins_missing) == ("dont_ship", 1, None)
        assert got.groups.filter("breached").height == 1
        assert got.headline.startswith("Don't ship: new breaks 1 of the ")
    assert tr.gate(compared(pairs), guard="level=rest").verdict == "ship"
    held = of_ledger(3, 1, 40, level=["core"] * 44)
    assert tr.gate(compared(held)).verdict == "hold"
    assert tr.gate(compared(held), by="level").verdict == "hold"  # one loss, net gain 1
    assert tr.gate(compared(held), by="level", max_breakage=0).verdict == "dont_ship"
    worse = of_ledger(2, 9, 40)
    assert tr.gate(compared(worse)).verdict == "dont_ship"
    both = tr.gate(compared(of_ledger(5, 3, 9)), break_cost=1, alpha=1, max_breakage=1)
    assert both.verdict == "ship"  # both tests hold at alpha 1


def test_open_limits_leave_wins_against_losses() -> None:
    for wins in range(5):
        for losses in range(5):
            got = tr.gate(
                compared(of_ledger(wins, losses, 1)), break_cost=1, alpha=1, max_breakage=1
            )
            assert (got.verdict == "ship") == (wins > losses)


def test_breakage_at_the_limit_is_within_it() -> None:
    assert tr.gate(compared(of_ledger(40, 3, 27)), max_breakage=0.1).verdict == "ship"
    assert tr.gate(compared(of_ledger(40, 3, 26)), max_breakage=0.1).verdict == "hold"
    assert tr.gate(compared(of_ledger(90, 7, 63)), max_breakage=0.1).verdict == "ship"
    assert tr.gate(compared(of_ledger(5, 0, 3)), break_cost=1, alpha=0.03125).verdict == "hold"


def test_groups_are_listed_with_their_own_numbers() -> None:
    repo = ["a"] * 4 + ["b"] * 4 + [None]
    hard = [True, False] * 4 + [True]
    rows: Rows = [(1, 1, 1, 0), (1, 0, 1, 1), (1, 1, 1, 1), (1, 0, 1, 0)] * 2 + [(1, 1, 1, 1)]
    got = tr.gate(
        compared(of_rows(rows, repo=repo, hard=hard)),
        by=["repo", "hard"],
        guard=["hard=true", {"two": ["case 0001", "case 0005"]}],
    )
    assert got.by == ("repo", "hard")
    assert got.groups.select("kind", "name", "cases", "wins", "losses", "solved").rows() == [
        ("by", "repo=a, hard=false", 2, 1, 0, 0),
        ("by", "repo=a, hard=true", 2, 0, 1, 2),
        ("by", "repo=b, hard=false", 2, 1, 0, 0),
        ("by", "repo=b, hard=true", 2, 0, 1, 2),
        ("by", "repo missing, hard=true", 1, 0, 0, 1),
        ("guard", "hard=true", 5, 0, 2, 5),
        ("guard", "two", 2, 2, 0, 0),
    ]
    assert got.groups["breached"].to_list() == [False, True, False, True, False, True, False]
    assert got.groups["why"].to_list()[5] == (
        "2 losses against 0 wins: net gain -4; breakage 2 of 5, 40 %: above the limit of 10 %"
    )
    assert got.headline == (
        "Don't ship: new breaks 1 of the 2 cases that base solves in repo=a, hard=true and gains "
        "0 there; 2 other groups are breached too."
    )
    assert "repo=a, hard=true" in got.claim


def test_a_column_named_twice_is_used_once() -> None:
    pairs = of_ledger(1, 0, 1, level=["x", "y"])
    got = tr.gate(compared(pairs), by=["level", "level"], guard=None)
    assert got.by == ("level",)
    assert got.groups["name"].to_list() == ["level=x", "level=y"]


def test_guard_columns_and_values_may_hold_equals_signs() -> None:
    pairs = of_ledger(1, 0, 1, **{"a=b": ["x=y", "z"]})
    assert tr.gate(compared(pairs), guard="a=b=x=y").groups["cases"].to_list() == [1]


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"alpha": 0}, ArgumentError, "alpha == 0, must be above 0"),
        ({"alpha": 1.01}, ArgumentError, "alpha"),
        ({"alpha": -0.1}, ArgumentError, "alpha"),
        ({"alpha": math.nan}, ArgumentError, "alpha"),
        ({"alpha": "5%"}, ArgumentError, "alpha"),
        ({"alpha": True}, ArgumentError, "alpha"),
        ({"max_breakage": 1.5}, ArgumentError, "max_breakage"),
        ({"max_breakage": -0.1}, ArgumentError, "max_breakage"),
        ({"max_breakage": math.nan}, ArgumentError, "max_breakage"),
        ({"break_cost": 0.99}, ArgumentError, "must be at least 1"),
        ({"break_cost": True}, ArgumentError, r"must be a number in \[1, 1e\+06\]"),
        ({"break_cost": -math.inf}, ArgumentError, "must be at least 1"),
        ({"break_cost": math.inf}, ArgumentError, "break_cost"),
        ({"break_cost": math.nan}, ArgumentError, "break_cost"),
        ({"looks": 0}, ArgumentError, "looks"),
        ({"looks": 1.5}, ArgumentError, "looks"),
        ({"by": "repos"}, ColumnError, r"no column 'repos'.*Did you mean 'repo'"),
        ({"by": "n_baseline"}, ColumnError, "'n_baseline' is a column of the result. Rename"),
        ({"by": "wins"}, ColumnError, "by: 'wins' is a column of the result. Rename yours"),
        ({"guard": "wins=1"}, ColumnError, "guard 'wins=1': 'wins' is a column of the result"),
        ({"guard": pl.col("wins") == 1}, ArgumentError, r"They have 'case', 'repo'"),
        ({"by": "case"}, ColumnError, "would make every case a group of its own"),
        ({"by": "cluster"}, ColumnError, "have no clusters.*cluster='column'"),
        ({"guard": "cluster=a"}, ColumnError, "guard 'cluster=a': the cases have no clusters"),
        ({"by": 3}, ArgumentError, "by == 3"),
        ({"guard": "repos=a"}, ColumnError, r"no column 'repos'.*Did you mean 'repo'"),
        ({"guard": "repo=c"}, ArgumentError, r"no case has repo 'c'. Available: 'a', 'b'"),
        ({"guard": "repo"}, ArgumentError, "write it as column=value"),
        ({"guard": ""}, ArgumentError, "write it as column=value"),
        ({"guard": 5}, ArgumentError, "guard == 5"),
        ({"guard": [5]}, ArgumentError, "guard == 5"),
        ({"guard": pl.col("nope") == 1}, ArgumentError, r"They have 'case', 'repo'"),
        ({"guard": pl.col("repo")}, ArgumentError, "must be true or false"),
        ({"guard": pl.lit(True)}, ArgumentError, "must be true or false"),
        ({"guard": pl.col("repo") == "c"}, ArgumentError, "holds none of the 10 shared cases"),
        ({"guard": {"x": []}}, ArgumentError, "names no case"),
        ({"guard": {"x": [7]}}, ArgumentError, "list of names"),
        ({"guard": {"x": ["case 0001", "oops"]}}, ArgumentError, r"1 of its 2 cases.*'oops'"),
    ],
)
def test_bad_input_is_refused(asked: dict[str, Any], error: type[Exception], words: str) -> None:
    pairs = of_ledger(3, 1, 6, repo=["a"] * 5 + ["b"] * 5)
    with pytest.raises(error, match=words):
        tr.gate(compared(pairs), **asked)


def test_it_takes_a_comparison_only() -> None:
    with pytest.raises(ArgumentError, match=r"comparison is a dict, must be what tr.compare"):
        tr.gate({})  # type: ignore[arg-type]
    with pytest.raises(TrialsError, match="share no case with scored trials"):
        tr.gate(compared(of_rows([(0, 0, 2, 1)])))


def test_it_holds_where_the_two_cannot_be_compared() -> None:
    blocked = tr.gate(
        compared(pl.DataFrame(), verdict="not comparable", claim="new: not comparable, as x."),
        by="repo",
        guard="repo=a",
    )
    assert (blocked.verdict, blocked.exit_code) == ("hold", 1)
    assert blocked.headline == "Hold: new: not comparable, as x."
    assert (blocked.wins, blocked.wins_missing, blocked.groups.height) == (0, None, 0)
    selected = tr.gate(compared(of_ledger(30, 0), only_baseline=40))
    assert (selected.verdict, selected.wins_missing) == ("hold", None)
    assert "regression to the mean" in selected.headline
    assert selected.reasons[0] in selected.headline
    told = tr.gate(compared(of_ledger(30, 0), warnings=("... (regression to the mean)",)))
    assert told.verdict == "hold"


def test_it_holds_for_real_comparisons_of_failed_cases_and_of_moved_columns() -> None:
    case = [f"{i:02d}" for i in range(40)]
    first = pl.DataFrame({"config": "base", "case": case, "n": 1, "c": [1] * 10 + [0] * 30})
    second = pl.DataFrame({"config": "new", "case": case[10:], "n": 1, "c": [1] * 30})
    got = tr.gate(tr.compare(tr.Counts(pl.concat([first, second])), "base", "new"))
    assert got.verdict == "hold"
    assert "regression to the mean" in got.headline
    moved = pl.concat(
        [
            first.with_columns(scorer=pl.lit("1")),
            first.with_columns(config=pl.lit("new"), scorer=pl.lit("2")),
        ]
    )
    other = tr.compare(tr.Counts(moved, by=("scorer",)), "base", "new", same="scorer")
    assert other.verdict == "not comparable"
    assert tr.gate(other).verdict == "hold"


def test_looks_are_recorded_and_warned_about() -> None:
    assert not tr.gate(compared(of_ledger(20, 2, 28))).warnings
    got = tr.gate(compared(of_ledger(20, 2, 28)), looks=4)
    assert got.looks == 4
    assert "look 4" in got.warnings[0]
    assert "e-values" in got.warnings[0]


def test_clusters_are_checked_beside() -> None:
    alone = tr.gate(compared(of_ledger(20, 2, 28)))
    assert (alone.ignores_clusters, alone.clusters, alone.p_clusters) == (False, None, None)
    one = ["x"] * 20 + ["y"] * 2 + ["z"] * 28
    got = tr.gate(compared(of_ledger(20, 2, 28, cluster=one)))
    assert (got.verdict, got.ignores_clusters, got.clusters) == ("hold", True, 3)
    assert got.p_clusters == 0.5  # 20 and -4: two of four sign patterns reach 16
    assert not any("whole clusters" in text for text in got.warnings)  # a reason says it
    few = [f"{i}" for i in range(7)] + ["z"] * 43
    held = tr.gate(compared(of_ledger(7, 0, 43, cluster=few)))
    assert (held.verdict, held.p_clusters) == ("hold", 1 / 128)
    assert any("8 whole clusters" in text for text in held.warnings)
    spread = [f"{i % 20}" for i in range(50)]
    fine = tr.gate(compared(of_ledger(20, 2, 28, cluster=spread)), by="cluster")
    assert fine.p_clusters is not None
    assert fine.p_clusters < 0.05
    assert tr.gate(compared(of_ledger(20, 2, 28, cluster=spread))).verdict == "ship"
    assert not any("whole clusters" in text for text in fine.warnings)
    assert fine.groups.height == 20


def test_wins_of_one_cluster_do_not_ship() -> None:
    cluster = ["c0"] * 14 + [f"c{1 + i % 9}" for i in range(46)]
    pairs = of_ledger(14, 0, 46, cluster=cluster)
    got = tr.gate(compared(pairs))
    assert (got.verdict, got.exit_code, got.wins_missing) == ("hold", 1, None)
    assert (got.clusters, got.p_clusters, got.pvalue < 0.05) == (10, 0.5, True)
    assert got.headline.startswith(
        "Hold: the wins do not hold when whole clusters are flipped: p = 0.5 over 1 cluster with "
        "a net gain or loss, not below 0.05"
    )
    assert "units = cases" in got.reasons[0]
    assert got.claim.endswith("these cases cannot tell which is better.")
    assert tr.gate(compared(pairs), alpha=1).verdict == "ship"
    assert tr.gate(compared(pairs.drop("cluster"))).verdict == "ship"
    assert tr.gate(compared(pairs), guard="cluster=c0").verdict == "hold"


def test_the_check_of_clusters_is_strict_and_comes_after_breach_and_before_dont_ship() -> None:
    pairs = of_ledger(4, 0, 4, cluster=["a", "b", "a", "b", "x", "x", "y", "y"])
    assert tr.gate(compared(pairs), break_cost=1, alpha=0.25).verdict == "hold"  # p = 1/4
    assert tr.gate(compared(pairs), break_cost=1, alpha=0.2501).verdict == "ship"
    breach = of_ledger(14, 1, 45, cluster=["a"] * 14 + ["b"] + ["c"] * 45)
    assert tr.gate(compared(breach)).verdict == "hold"
    assert tr.gate(compared(breach), by="cluster").verdict == "dont_ship"
    worse = of_ledger(2, 9, 40, cluster=["a"] * 51)
    assert tr.gate(compared(worse)).verdict == "dont_ship"


@settings(max_examples=60, deadline=None)
@given(MORE, st.sampled_from([1, 1.5, 2]), st.sampled_from([0.05, 0.3, 1]))
def test_with_clusters_shipping_needs_both_tests(rows: Rows, cost: float, alpha: float) -> None:
    rows = clipped([(n, a, n, b) for n, a, _, b in rows])
    asked: dict[str, Any] = {"break_cost": cost, "alpha": alpha, "max_breakage": 1}
    pairs = of_rows(rows, cluster=[str(i % 4) for i in range(len(rows))])
    got = tr.gate(compared(pairs), **asked)
    alone = tr.gate(compared(pairs.drop("cluster")), **asked)
    assert got.p_clusters is not None
    if alone.verdict == "ship":
        assert got.verdict == ("ship" if got.p_clusters < alpha else "hold")
    else:
        assert got.verdict == alone.verdict


def test_clusters_are_dropped_with_units_cases() -> None:
    case = [f"{i:02d}" for i in range(60)]
    table = {"case": case, "cluster": ["c0"] * 14 + [f"c{1 + i % 9}" for i in range(46)], "n": 1}
    base = pl.DataFrame({"config": "base", **table, "c": [0] * 14 + [1] * 46})
    counts = tr.Counts(
        pl.concat([base, base.with_columns(config=pl.lit("new"), c=pl.col("n").cast(pl.Int64))])
    )
    assert tr.gate(tr.compare(counts, "base", "new")).verdict == "hold"
    found = tr.compare(counts, "base", "new", units="cases")
    assert tr.gate(found).verdict == "ship"
    for asked in ({"by": "cluster"}, {"guard": "cluster=c0"}):
        with pytest.raises(ColumnError, match=r'units="cases" drops the clusters\.'):
            tr.gate(found, **asked)  # type: ignore[arg-type]


def test_broken_cases_are_named() -> None:
    got = tr.gate(compared(of_ledger(3, 2, 5)[::-1]))
    assert got.broken == ("case 0003", "case 0004")
    assert tr.gate(compared(of_ledger(3, 0, 5))).broken == ()
    assert got.to_dict()["broken"] == ["case 0003", "case 0004"]
    assert got.to_frame()["broken"].to_list() == ["case 0003; case 0004"]


def test_one_loss_without_a_win_is_said_so() -> None:
    got = tr.gate(compared(of_ledger(0, 1, 20, level=["x"] * 21)), by="level")
    assert "level=x: 1 loss, no win: net gain -2" in got.reasons


def test_without_solved_cases_nothing_breaks() -> None:
    got = tr.gate(compared(of_ledger(9, 0, 0)))
    assert "no breakage: base solves no case that could break" in got.reasons


def test_control_characters_are_written_out() -> None:
    pairs = of_ledger(20, 2, 28, level=["x\n\x1b[31m\u202e"] * 50)
    got = tr.gate(compared(pairs, candidate="new\r\x9b", warnings=("\x1b",)), by="level")
    texts = [got.headline, got.claim, *got.reasons, *got.warnings, *repr(got).split("\n")]
    assert all(text.isprintable() for text in texts)
    assert "new\\r\\x9b" in got.headline


def test_what_the_gate_does_not_use_is_told() -> None:
    pairs = of_ledger(20, 2, 28, weight=[1.0, 2.0] * 25)
    got = tr.gate(compared(pairs, metric="pass^3", verdict="worse", warnings=("small suite",)))
    told = "\n".join(got.warnings)
    for words in ("case weights", "not pass^3", "says worse", "of the comparison: small suite"):
        assert words in told


def test_further_wins_than_the_suite_has_left_are_told() -> None:
    got = tr.gate(compared(of_ledger(5, 0, 30, neither=2)))
    assert got.reasons[-1] == (
        "3 further wins would be needed, and only 2 cases are left that neither solves: enlarge "
        "the suite"
    )
    assert "enlarge" not in tr.gate(compared(of_ledger(5, 0, 30, neither=3))).reasons[-1]


def test_it_becomes_a_dict_and_a_frame() -> None:
    got = tr.gate(compared(of_ledger(20, 2, 28, level=["x"] * 50)), by="level")
    plain = got.to_dict()
    assert plain["groups"][0]["name"] == "level=x"
    assert plain["reasons"] == list(got.reasons)
    row = got.to_frame()
    assert row.height == 1
    assert row["wins"].item() == 20
    assert "Ship" in got._repr_html_()


@settings(max_examples=40, deadline=None)
@given(MORE, st.randoms(use_true_random=False))
def test_row_order_changes_nothing(rows: Rows, random: Any) -> None:
    level = [str(i % 3) for i in range(len(rows))]
    pairs = of_rows(clipped(rows), level=level, cluster=level)
    order = list(range(len(rows)))
    random.shuffle(order)
    first = tr.gate(compared(pairs), by="level", guard="level=0")
    second = tr.gate(compared(pairs[order]), by="level", guard="level=0")
    assert first == second
    assert_frame_equal(first.groups, second.groups)


@settings(max_examples=60, deadline=None)
@given(MORE, st.sampled_from([1, 1.5, 2, 3]), st.sampled_from([0.05, 0.3, 1]))
def test_one_more_win_never_unships(rows: Rows, cost: float, alpha: float) -> None:
    rows = clipped([(n, a, n, b) for n, a, _, b in rows])
    asked: dict[str, Any] = {"break_cost": cost, "alpha": alpha, "max_breakage": 0.3}
    before = tr.gate(compared(of_rows(rows)), **asked)
    after = tr.gate(compared(of_rows([*rows, (1, 0, 1, 1)])), **asked)
    assert not (before.verdict == "ship" and after.verdict != "ship")
    if before.wins_missing is not None and before.verdict != "ship":
        extra = [*rows, *[(1, 0, 1, 1)] * before.wins_missing]
        assert tr.gate(compared(of_rows(extra)), **asked).verdict == "ship"
        assert tr.gate(compared(of_rows(extra[:-1])), **asked).verdict != "ship"


@settings(max_examples=60, deadline=None)
@given(MORE)
def test_swapping_the_sides_swaps_wins_and_losses(rows: Rows) -> None:
    rows = clipped([(n, a, n, b) for n, a, _, b in rows])
    asked: dict[str, Any] = {"break_cost": 1, "max_breakage": 1}
    one = tr.gate(compared(of_rows(rows)), **asked)
    two = tr.gate(compared(of_rows([(m, d, n, c) for n, c, m, d in rows])), **asked)
    assert (one.wins, one.losses, one.ties) == (two.losses, two.wins, two.ties)
    assert one.pvalue == two.p_losses
    assert (one.verdict == "dont_ship") == (two.verdict == "ship")


@settings(max_examples=40, deadline=None)
@given(MORE)
def test_groups_and_texts_agree_with_the_whole(rows: Rows) -> None:
    level = [str(i % 3) for i in range(len(rows))]
    got = tr.gate(compared(of_rows(clipped(rows), level=level)), by="level")
    for name in ("cases", "wins", "losses", "ties", "solved"):
        assert got.groups[name].sum() == getattr(got, name)
    assert got.wins + got.losses + got.ties == got.cases == len(rows)
    start = {"ship": "Ship: ", "hold": "Hold: ", "dont_ship": "Don't ship: "}[got.verdict]
    assert got.headline.startswith(start)
    assert got.groups["breached"].any() <= (got.verdict == "dont_ship")


def test_settings_are_taken_as_typed() -> None:
    terms = terms_of(1.1, 0.1, 0.3)
    assert [str(x) for x in (terms.break_cost, terms.alpha, terms.max_breakage)] == [
        "11/10",
        "1/10",
        "3/10",
    ]


def test_simulated_comparison() -> None:
    trials = tr.simulate(configs=["base", "new"], cases=120, trials=5, lift=0.2, seed=3)
    got = tr.gate(tr.compare(tr.counts(trials), "base", "new"))
    assert (got.verdict, got.cases) == ("ship", 120)


def test_the_majority_of_the_comparison_is_the_ledger() -> None:
    trials = tr.simulate(configs=["base", "new"], cases=90, trials=3, lift=0.05, seed=5)
    found = tr.compare(tr.counts(trials), "base", "new")
    got = tr.gate(found, break_cost=1, max_breakage=1)
    assert found.majority is not None
    assert (got.wins, got.losses) == (found.majority.only_candidate, found.majority.only_baseline)


@pytest.mark.shared
@pytest.mark.parametrize("mode", ["", "__no-user"])
def test_fine_tuned_tau2(shared_data: Path, mode: str) -> None:
    trials = pl.read_parquet(shared_data / "tau2_gpt41_sft_ab.parquet")
    base, new = f"gpt-4.1{mode}", f"gpt-4.1-sft{mode}"
    key = ["benchmark", "case_id"]
    wide = trials.pivot("config", index=key, values="passed").drop_nulls([base, new])
    counts = tr.counts(trials, case=key, cluster=None, by="benchmark")
    got = tr.gate(tr.compare(counts, base, new), by="benchmark")
    assert got.wins == wide.filter(pl.col(new) & ~pl.col(base)).height
    assert got.losses == wide.filter(~pl.col(new) & pl.col(base)).height
    assert got.solved == wide[base].sum()
    breached = got.groups["breached"].any()
    assert got.verdict == ("dont_ship" if breached else "ship")
    assert tr.gate(tr.compare(counts, new, base)).verdict == "dont_ship"


@pytest.mark.shared
def test_swebench_between_two_systems_by_repo(shared_data: Path) -> None:
    trials = pl.read_parquet(shared_data / "swebench_verified_bashonly.parquet")
    rate = trials.group_by("config").agg(pl.col("passed").mean()).sort("passed")["config"]
    counts = tr.counts(trials, case="case_id")
    found = tr.compare(counts, rate[10], rate[-1])
    got = tr.gate(found, by="cluster", guard="cluster=django/django", max_breakage=0.2)
    assert got.ignores_clusters
    assert got.clusters == 12
    assert got.groups.filter(pl.col("kind") == "by").height == 12
    same = got.groups.filter(pl.col("name") == "cluster=django/django")
    assert same.height == 2
    assert same["wins"].n_unique() == same["losses"].n_unique() == 1
    assert got.wins - got.losses == round(500 * (found.diff or 0))


@pytest.mark.slow
@pytest.mark.parametrize("cost", [1, 2])
def test_shocks_of_whole_clusters_do_not_ship(cost: int) -> None:
    """12 clusters of 20 cases, mean net gain 0: the binomial alone ships three times too often."""
    rng, runs, alpha = np.random.default_rng(11), 1_000, 0.05
    fair = cost / (1 + cost)
    cluster = [f"{i // 20:02d}" for i in range(240)]
    ships, alone = 0, 0
    for _ in range(runs):
        shock = np.repeat(rng.choice([-0.25, 0.25], 12), 20)
        changed, up = rng.random((2, 240))
        win, loss = ((changed < 0.4) & (up < fair + shock), (changed < 0.4) & (up >= fair + shock))
        rows = [(1, int(b), 1, int(a)) for a, b in zip(win, loss, strict=True)]
        got = tr.gate(
            compared(of_rows(rows, cluster=cluster)), break_cost=cost, alpha=alpha, max_breakage=1
        )
        ships += got.verdict == "ship"
        alone += got.pvalue < alpha
    assert ships / runs <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
    assert alone / runs > 2 * alpha


@pytest.mark.slow
def test_different_trial_counts_mislead_majorities() -> None:
    """Why it is warned about: equal systems, 1 trial against 5, look different by majority."""
    rng = np.random.default_rng(5)
    rate = np.full((2_000, 60), 0.85)
    one = rng.random(rate.shape) < rate
    five = rng.binomial(5, rate) > 2.5
    wins, losses = (five & ~one).sum(1), (one & ~five).sum(1)
    assert wins.mean() > 4 * losses.mean()
