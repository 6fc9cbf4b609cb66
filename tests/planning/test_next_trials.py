"""Which cases to try again: budgets, order, what they decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import TrialframeError
from trialframe.kernels.sequential import bernoulli_sequence

CASES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=12)


def counted(cases: list[tuple[int, int]], config: str = "a") -> pl.DataFrame:
    """Counts of passes and failures."""
    return pl.DataFrame(
        {
            "config": config,
            "case": [f"c{i:02}" for i in range(len(cases))],
            "n": [c + f for c, f in cases],
            "c": [c for c, _ in cases],
        },
        schema_overrides={"n": pl.Int64, "c": pl.Int64},
    )


@settings(max_examples=40)
@given(CASES, st.integers(1, 200), st.integers(0, 5))
def test_budgets_are_kept_and_the_plan_is_the_same_again(
    cases: list[tuple[int, int]], budget: int, seed: int
) -> None:
    frame = counted(cases)
    plan = tr.next_trials(tr.Counts(frame), budget=budget)
    spent = plan["trials"].sum()
    assert spent <= budget
    assert plan.height == len(cases)
    assert (plan.filter(pl.col("status") == "decided")["trials"] == 0).all()
    open_rows = plan.filter((pl.col("status") == "undecided") & pl.col("needed").is_null())
    if open_rows.height:
        assert spent == budget, "what is left goes to cases that nothing decides"
    shuffled = tr.Counts(frame.sample(fraction=1.0, shuffle=True, seed=seed))
    assert_frame_equal(tr.next_trials(shuffled, budget=budget), plan)


@settings(max_examples=25)
@given(CASES, CASES, st.integers(1, 100))
def test_pairs_share_their_trials(
    one: list[tuple[int, int]], two: list[tuple[int, int]], budget: int
) -> None:
    size = min(len(one), len(two))
    counts = tr.Counts(pl.concat([counted(one[:size]), counted(two[:size], "b")]))
    plan = tr.next_trials(counts, budget=budget, baseline="a", candidate="b")
    assert plan["trials"].sum() <= budget
    assert plan.height == 2 * size
    sides = plan.group_by("case").agg(pl.col("trials", "needed", "status").n_unique())
    assert (sides.drop("case") == 1).to_numpy().all()


def test_decided_is_what_the_sequences_say() -> None:
    counts = tr.Counts(pl.concat([counted([(12, 0), (6, 6)]), counted([(0, 12), (6, 6)], "b")]))
    plan = tr.next_trials(counts, budget=10, baseline="a", candidate="b")
    status = dict(plan.select("case", "status").rows())
    assert status == {"c00": "decided", "c01": "undecided"}
    held = bernoulli_sequence(12, 12, 0.975)
    first = plan.filter((pl.col("case") == "c00") & (pl.col("config") == "a")).row(0, named=True)
    assert [first["low"], first["high"]] == pytest.approx([float(held.low), float(held.high)])
    assert plan["trials"].to_list() == [5, 5, 0, 0]
    alone = tr.next_trials(counts, budget=10, baseline="b")
    assert alone["config"].unique().to_list() == ["b"]


def test_the_cheapest_come_first() -> None:
    plan = tr.next_trials(tr.Counts(counted([(5, 0), (7, 0), (0, 0), (3, 3), (9, 0)])), budget=6)
    assert plan["case"].to_list() == ["c02", "c01", "c00", "c03", "c04"]
    assert plan["trials"].to_list()[0] == 1
    assert plan["needed"].is_null().to_list() == [True, False, False, True, False]
    assert plan["reason"][0] == "not tried yet"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"budget": 0}, "budget == 0"),
        ({"budget": 5, "alpha": 0.0}, "alpha == 0"),
        ({"budget": 5, "candidate": "a"}, "candidate is given without"),
        ({"budget": 5, "baseline": "a", "candidate": "a"}, "both 'a'"),
        ({"budget": 5, "baseline": "x"}, "no config 'x'"),
        ({"budget": 5, "baseline": "a", "candidate": "b"}, "share no case"),
    ],
)
def test_bad_requests_are_refused(more: dict[str, Any], told: str) -> None:
    other = counted([(1, 1)], "b").with_columns(case=pl.lit("else"))
    counts = tr.Counts(pl.concat([counted([(1, 1)]), other]))
    with pytest.raises(TrialframeError, match=told):
        tr.next_trials(counts, **more)
    with pytest.raises(TrialframeError, match="must be Counts"):
        tr.next_trials(counts.frame, budget=5)


@pytest.mark.slow
def test_sequences_hold_while_the_plan_is_followed() -> None:
    rng = np.random.default_rng(8)
    held, suites = [], []
    for _ in range(60):
        p = rng.beta(0.5, 0.5, 12)
        n = np.full(12, 3)
        c = rng.binomial(3, p)
        inside, whole = np.ones(12, dtype=bool), True
        for _ in range(8):
            frame = counted([(int(a), int(b - a)) for a, b in zip(c, n, strict=True)])
            plan = tr.next_trials(tr.Counts(frame), budget=24).sort("case")
            more = plan["trials"].to_numpy()
            n, c = n + more, c + rng.binomial(more, p)
            now = bernoulli_sequence(c, n)
            inside &= (now.low <= p) & (p <= now.high)
            made = tr.summary(
                tr.Counts(counted([(int(a), int(b - a)) for a, b in zip(c, n, strict=True)])),
                estimand="suite",
                stopping="adaptive",
            )
            whole &= bool(made["low"][0] <= p.mean() <= made["high"][0])
        held.append(inside.mean())
        suites.append(whole)
    assert np.mean(held) >= 0.95 - 0.02
    assert np.mean(suites) >= 0.95
