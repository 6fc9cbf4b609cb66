"""Betting confidence sequences: golden values, the grid, properties, coverage at every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialframe.errors import ArgumentError
from trialframe.kernels.betting import Betting, betting_interval, betting_path, log_capital

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

SCORES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60)


def test_capital_and_sequence_golden(golden: Golden) -> None:
    for entry in golden("betting_confidence_sequence"):
        given_, wanted, near = entry["inputs"], entry["expected"], entry["tolerance"]
        x = given_["x"]
        how = Betting(
            level=1 - given_["alpha"], theta=given_["theta"], truncation=given_["truncation"]
        )
        path = np.exp(log_capital(x, 0.5, how))
        assert path[:5] == pytest.approx(wanted["capital_path_m_0_5_first5"], abs=near["capital"])
        assert path[-1] == pytest.approx(wanted["capital_at_m_0_5"], abs=near["capital"])
        at_three = np.exp(log_capital(x, 0.3, how)[-1])
        assert at_three == pytest.approx(wanted["capital_at_m_0_3"], abs=near["capital"])
        for name in ("cs_t20", "cs_t10"):
            got = betting_interval(x[: int(name[4:])], how)
            assert [got.low, got.high] == pytest.approx(wanted[name], abs=near["cs"])


def loop(x: list[float], mean: float, alpha: float = 0.05) -> list[float]:
    """The recursion of the paper, score by score."""
    up = down = 1.0
    spread, total, squares, path = 0.25, 0.0, 0.0, []
    for t, score in enumerate(x, start=1):
        bet = np.sqrt(2 * np.log(2 / alpha) / (spread * t * np.log(1 + t)))
        up *= 1 + min(bet, 0.5 / mean) * (score - mean)
        down *= 1 - min(bet, 0.5 / (1 - mean)) * (score - mean)
        total += score
        centre = (0.5 + total) / (t + 1)
        squares += (score - centre) ** 2
        spread = (0.25 + squares) / (t + 1)
        path.append(max(up, down) / 2)
    return path


@given(SCORES, st.floats(0.01, 0.99))
def test_capital_is_the_recursion(x: list[float], mean: float) -> None:
    assert np.exp(log_capital(x, mean)) == pytest.approx(loop(x, mean), rel=1e-9)


@settings(max_examples=40)
@given(SCORES, st.sampled_from(["current", "running"]))
def test_the_interval_is_the_grid(x: list[float], shrink: str) -> None:
    got = betting_interval(x, shrink=shrink)
    grid = np.linspace(0.0, 1.0, 201)
    inside = []
    for mean in grid:
        capital = log_capital(x, float(mean))
        value = capital.max() if shrink == "running" else capital[-1]
        inside.append(value < np.log(20))
    kept = grid[inside]
    if got.low > got.high:
        assert not len(kept)
    for mean in kept:
        assert got.low - 1e-9 <= mean <= got.high + 1e-9
    missed = grid[~np.array(inside)]
    assert not ((missed > got.low + 1e-9) & (missed < got.high - 1e-9)).any()


@settings(max_examples=40)
@given(SCORES, st.sampled_from(["current", "running"]))
def test_the_path_ends_at_the_interval_rounded_outwards(x: list[float], shrink: str) -> None:
    path, last = betting_path(x, shrink=shrink), betting_interval(x, shrink=shrink)
    assert last.low - 0.001 - 1e-9 <= path.low[-1] <= last.low + 1e-9
    assert last.high - 1e-9 <= path.high[-1] <= last.high + 0.001 + 1e-9


@settings(max_examples=40)
@given(SCORES)
def test_scores_turned_round_turn_the_interval_round(x: list[float]) -> None:
    got, mirrored = betting_interval(x), betting_interval([1.0 - score for score in x])
    assert got.low == pytest.approx(1 - mirrored.high, abs=1e-7)
    assert got.high == pytest.approx(1 - mirrored.low, abs=1e-7)


@given(SCORES)
def test_a_running_intersection_only_shrinks(x: list[float]) -> None:
    path = betting_path(x, shrink="running")
    assert (np.diff(path.low) >= 0).all()
    assert (np.diff(path.high) <= 0).all()
    plain = betting_path(x)
    assert (path.low >= plain.low).all()


def test_batches_do_not_matter() -> None:
    x = np.random.default_rng(0).random(1500)
    whole, part = betting_path(x), betting_path(x[:700])
    assert (whole.low[:700] == part.low).all()
    assert (whole.high[:700] == part.high).all()


def test_no_scores_and_constant_scores() -> None:
    none = betting_interval([])
    assert (none.low, none.high) == (0.0, 1.0)
    ones = betting_interval(np.ones(200))
    assert ones.low > 0.95
    assert ones.high == 1.0


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"shrink == 'runing'.*Did you mean 'running'"):
        betting_interval([0.5], shrink="runing")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "uniform", "difference"])
def test_coverage_at_every_time(kind: str) -> None:
    rng = np.random.default_rng(4)
    draws = {
        "binary": (lambda: (rng.random(200) < 0.8).astype(float), 0.8),
        "uniform": (lambda: rng.beta(2, 5, 200), 2 / 7),
        "difference": (lambda: rng.choice([0.0, 0.5, 1.0], 200, p=[0.1, 0.7, 0.2]), 0.55),
    }
    draw, mean = draws[kind]
    held = []
    for _ in range(400):
        path = betting_path(draw(), shrink="running")
        held.append(path.low[-1] <= mean <= path.high[-1])
    assert np.mean(held) >= 0.95 - 2 * 0.011
