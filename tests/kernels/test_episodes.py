"""Entropy of windows, onset and weighted shares."""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.episodes import onset, weighted_share, window_entropy

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def codes(actions: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.unique(actions, return_inverse=True)[1]


def test_golden_onset(golden: Golden) -> None:
    for entry in golden("meltdown_onset_point"):
        given_, expected = entry["inputs"], entry["expected"]
        action = codes(given_["actions"])
        place, one = np.arange(len(action)), np.zeros(len(action), dtype=int)
        entropy = window_entropy(action, place, given_["w"])
        assert entropy == pytest.approx(expected["entropy_bits"], abs=1e-12)
        rest = (given_["w"], given_["theta_h"], given_["delta"])
        for name, full in (("mop", False), ("mop_full_prior_only", True)):
            found = int(onset(entropy, place, one, *rest, full=full)[0])
            assert (None if found < 0 else found) == expected[name]


def test_golden_atoms(golden: Golden) -> None:
    entry = golden("meltdown_entropy_atoms")[0]
    for name, expected in entry["expected"].items():
        counts = [1] * 5 if name == "5 distinct" else [int(x) for x in name.split(",")]
        action = np.repeat(np.arange(len(counts)), counts)
        found = window_entropy(action, np.arange(5), entry["inputs"]["w"])
        assert found[-1] == pytest.approx(expected, abs=1e-12)
        assert (found[-1] > 1.711) == (len(counts) >= 4)


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=4),
    st.integers(2, 5),
)
def test_episodes_do_not_mix(runs: list[list[int]], window: int) -> None:
    action = np.array([a for run in runs for a in run])
    place = np.array([t for run in runs for t in range(len(run))])
    found = window_entropy(action, place, window)
    expected = []
    for run in runs:
        for t in range(len(run)):
            seen = Counter(run[max(0, t - window + 1) : t + 1])
            expected.append(-sum(x / window * log2(x / window) for x in seen.values()))
    assert found == pytest.approx(expected, abs=1e-12)


def test_short_runs_are_no_meltdown_by_default() -> None:
    action = np.array([0, 1, 2, 3])
    entropy = window_entropy(action, np.arange(4), 5)
    one = np.zeros(4, dtype=int)
    assert onset(entropy, np.arange(4), one, 5, 1.711, 0.0, full=True)[0] == -1
    assert onset(entropy, np.arange(4), one, 5, 1.711, 0.0, full=False)[0] == 3


def test_golden_gds(golden: Golden) -> None:
    for entry in golden("graceful_degradation_score"):
        done = np.array(entry["inputs"]["subtasks"])
        weight = np.array(entry["inputs"]["weights"], dtype=float)
        found = weighted_share(done, weight, np.zeros(len(done), dtype=int))
        assert found[0] == pytest.approx(entry["expected"], abs=1e-12)
    assert np.isnan(weighted_share(np.array([True]), np.zeros(1), np.zeros(1, dtype=int))[0])
