"""Looking while trials come in: order, first trials, verdicts, refusals, error rates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import factorial, log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import TrialframeError
from trialframe.kernels.betting import betting_interval

if TYPE_CHECKING:
    from collections.abc import Callable

START = datetime(2026, 1, 1, tzinfo=UTC)
Outcomes = list[tuple[bool, bool]]


def table(outcomes: Outcomes, trials: int = 1) -> pl.DataFrame:
    """One case per pair of outcomes, in order; further trials fail."""
    rows = [
        (config, f"c{i:04}", t, (a if config == "a" else b) and t == 1, START + timedelta(hours=i))
        for i, (a, b) in enumerate(outcomes)
        for config in ("a", "b")
        for t in range(1, trials + 1)
    ]
    names = ["config", "case", "trial", "passed", "started_at"]
    return pl.DataFrame(rows, schema=names, orient="row")


WON, LOST, TIE = (False, True), (True, False), (True, True)


def test_the_path_is_the_fraction_after_every_pair() -> None:
    outcomes = [WON, WON, TIE, LOST, WON, WON, WON, WON, WON, WON, WON]
    found = tr.sequential(table(outcomes), "a", "b", alpha=0.2)
    w = lost = 0
    for i, outcome in enumerate(outcomes):
        w, lost = w + (outcome == WON), lost + (outcome == LOST)
        m = w + lost
        e = Fraction(2**m * factorial(w) * factorial(lost), factorial(m + 1))
        row = found.path.row(i, named=True)
        assert (row["wins"], row["losses"]) == (w, lost)
        assert row["log_e"] == pytest.approx(log(e), abs=1e-12)
    assert found.e == pytest.approx(float(e))
    assert found.verdict == "better"
    first = int((found.path["log_e"] >= log(5)).arg_max() or 0) + 1
    assert found.decided_at == first
    assert found.pvalue == pytest.approx(float(1 / max(np.exp(found.path["log_e"].max()), 1.0)))


def test_eight_clean_wins_decide_at_five_per_cent() -> None:
    found = tr.sequential(table([WON] * 8), "a", "b", break_cost=1)
    assert (found.verdict, found.decided_at) == ("better", 8)
    assert found.e == pytest.approx(28.4444444444)
    assert found.net_log_e == pytest.approx(log(56.77777777777))
    assert found.pays
    assert "better from pair 8 on" in found.claim
    assert tr.sequential(table([WON] * 7), "a", "b").verdict == "continue"
    assert tr.sequential(table([LOST] * 8), "a", "b").verdict == "worse"
    dear = tr.sequential(table([WON] * 8), "a", "b", break_cost=5)
    assert dear.pays is False


def test_the_interval_is_a_betting_sequence_of_the_differences() -> None:
    outcomes = [WON, TIE, TIE, LOST, WON] * 12
    found = tr.sequential(table(outcomes), "a", "b")
    mapped = [(b - a + 1) / 2 for a, b in outcomes]
    wanted = betting_interval(mapped)
    assert [found.low, found.high] == pytest.approx([2 * wanted.low - 1, 2 * wanted.high - 1])
    assert found.path.select("low", "high").row(-1) == (found.low, found.high)
    before = found.path.select("low", "high").row(-2)
    assert [500 * end for end in before] == pytest.approx([round(500 * end) for end in before])
    assert found.diff == pytest.approx(np.mean([b - a for a, b in outcomes]))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), st.integers(0, 9)
)
def test_sides_swap_and_rows_have_no_order(outcomes: Outcomes, seed: int) -> None:
    frame = table(outcomes)
    found = tr.sequential(frame, "a", "b")
    shuffled = tr.sequential(frame.sample(fraction=1.0, shuffle=True, seed=seed), "a", "b")
    assert shuffled == found
    assert_frame_equal(shuffled.path, found.path)
    swapped = tr.sequential(frame, "b", "a")
    assert (swapped.wins, swapped.losses, swapped.log_e) == (found.losses, found.wins, found.log_e)
    assert swapped.low == pytest.approx(-found.high, abs=1e-7)


def test_order_comes_from_a_column_or_a_list() -> None:
    frame = table([WON] * 5 + [LOST] * 5)
    late = frame.with_columns(started_at=pl.col("started_at").max() - pl.col("started_at"))
    late = late.rename({"started_at": "waited"})
    found = tr.sequential(late, "a", "b", order="waited")
    assert found.path["losses"].to_list()[:5] == [1, 2, 3, 4, 5]
    listed = tr.sequential(late, "a", "b", order=sorted(frame["case"].unique(), reverse=True))
    assert_frame_equal(listed.path, found.path)
    assert (found.order, listed.order) == ("waited", "as given")
    tied = frame.with_columns(started_at=pl.lit(START))
    assert any(
        "9 cases share their place" in text for text in tr.sequential(tied, "a", "b").warnings
    )


def test_a_pair_enters_when_its_last_trial_is_there() -> None:
    frame = table([WON, LOST]).with_columns(
        started_at=pl.when((pl.col("case") == "c0000") & (pl.col("config") == "b"))
        .then(pl.col("started_at") + timedelta(days=1))
        .otherwise(pl.col("started_at"))
    )
    assert tr.sequential(frame, "a", "b").path["case"].to_list() == ["c0001", "c0000"]


def test_later_trials_change_nothing() -> None:
    outcomes = [WON, LOST, TIE, WON]
    once = tr.sequential(table(outcomes), "a", "b")
    more = tr.sequential(table(outcomes, trials=4), "a", "b")
    assert more.path.drop("low", "high").equals(once.path.drop("low", "high"))
    three = tr.sequential(table(outcomes, trials=4), "a", "b", first=3)
    assert (three.wins, three.losses) == (0, 0)
    assert three.diff == pytest.approx(1 / 12)


def test_incomplete_and_unscored_cases_are_left_out_and_said() -> None:
    frame = table([WON, LOST, WON, WON])
    frame = frame.filter(~((pl.col("case") == "c0003") & (pl.col("config") == "a")))
    null = (pl.col("case") == "c0001") & (pl.col("config") == "b")
    frame = frame.with_columns(passed=pl.when(~null).then(pl.col("passed")))
    found = tr.sequential(frame, "a", "b")
    assert (found.pairs, found.wins, found.losses) == (2, 2, 0)
    assert (found.incomplete, found.unscored) == (1, 1)
    assert any("1 cases without a verdict" in text for text in found.warnings)
    failed = tr.sequential(frame, "a", "b", unscored="fail")
    assert (failed.pairs, failed.losses, failed.unscored) == (3, 1, 0)


def test_clusters_are_a_warning() -> None:
    frame = table([WON] * 4).with_columns(cluster=pl.lit("one"))
    assert any("clusters" in text for text in tr.sequential(frame, "a", "b").warnings)
    assert not tr.sequential(frame, "a", "b", cluster=None).warnings


def test_results_become_dicts_and_frames() -> None:
    found = tr.sequential(table([WON] * 3), "a", "b")
    assert found.to_dict()["path"][2]["wins"] == 3
    assert found.to_frame()["verdict"].item() == "continue"


def test_many_pairs_have_no_number_for_e() -> None:
    found = tr.sequential(table([WON] * 1200), "a", "b")
    assert found.e is None
    assert found.log_e == pytest.approx(1200 * log(2) - log(1201))


@pytest.mark.parametrize(
    ("change", "more", "told"),
    [
        (lambda f: f, {"order": "startd"}, "Did you mean 'started_at'"),
        (lambda f: f.drop("started_at"), {}, "no column 'started_at'"),
        (lambda f: f, {"order": ["c0000"]}, "order lacks 1 cases"),
        (lambda f: f, {"order": ["c0000", "c0001", "c0001"]}, "order names a case twice"),
        (lambda f: f, {"candidate": "c"}, "no config 'c'"),
        (lambda f: f, {"candidate": "a"}, "both 'a'"),
        (lambda f: f, {"first": 2}, "no case has 2 scored trials"),
        (lambda f: f, {"first": 0}, "first == 0"),
        (lambda f: f, {"alpha": 1.0}, "alpha == 1"),
        (lambda f: f, {"break_cost": 0.5}, "break_cost == 0.5"),
        (lambda f: f, {"unscored": "pass"}, "unscored == 'pass'"),
        (lambda f: pl.concat([f, f]), {}, "share their trial numbers"),
        (lambda f: pl.concat([f, f]).drop("trial"), {}, "share their values of 'started_at'"),
        (
            lambda f: pl.concat([f, f]).drop("trial"),
            {"order": ["c0000", "c0001"]},
            "nothing says which came first",
        ),
        (
            lambda f: f.with_columns(started_at=pl.lit(None, pl.Datetime("us", "UTC"))),
            {},
            "is null in 4 rows",
        ),
        (
            lambda f: f.select("config", "case", n=pl.lit(2), c=pl.lit(1)),
            {},
            "one row per trial",
        ),
    ],
)
def test_bad_input_is_refused(
    change: Callable[[pl.DataFrame], pl.DataFrame], more: dict[str, Any], told: str
) -> None:
    words: dict[str, Any] = {"candidate": "b"} | more
    with pytest.raises(TrialframeError, match=told):
        tr.sequential(change(table([WON, LOST])), "a", **words)


def test_real_trials_with_a_clock(shared_data: Any) -> None:
    frame = tr.read(shared_data / "terminal_bench_core_0_1_1.parquet")
    counts = tr.counts(frame)
    one, two = counts.configs[:2]
    cases = sorted(counts.frame["case"].unique().to_list())
    order = [cases[i] for i in np.random.default_rng(0).permutation(len(cases))]
    found = tr.sequential(frame, one, two, order=order, unscored="fail")
    assert found.pairs + found.incomplete + found.unscored <= len(cases)
    assert found.low <= found.diff <= found.high


@pytest.mark.slow
def test_looking_after_every_case_is_wrong_in_five_per_cent_at_most() -> None:
    rng = np.random.default_rng(6)
    wrong = missed = 0
    for _ in range(150):
        p = rng.beta(1, 1, 150)
        outcomes = list(zip(rng.random(150) < p, rng.random(150) < p, strict=True))
        found = tr.sequential(table([(bool(a), bool(b)) for a, b in outcomes]), "a", "b")
        wrong += found.verdict != "continue"
        missed += bool((found.path["low"] > 0).any() or (found.path["high"] < 0).any())
    assert wrong / 150 <= 0.05 + 2 * 0.018
    assert missed / 150 <= 0.05 + 2 * 0.018
