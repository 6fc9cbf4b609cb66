"""Sequential attempts: golden values, counting by hand and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.attempts import gains, kaplan_meier, solved_by

if TYPE_CHECKING:
    from collections.abc import Callable

SEQUENCES = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=15)


def arrays(sequences: list[list[int]]) -> tuple[Any, Any]:
    length = np.array([len(s) for s in sequences])
    return length, np.array([s.index(1) + 1 if 1 in s else 0 for s in sequences])


def test_seq_at_k_golden(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("seq_at_k"):
        _, solved_at = arrays(entry["inputs"]["sequences"])
        curve = solved_by(solved_at, entry["inputs"]["K"]).mean(axis=0)
        wanted = entry["expected"]
        names = ("delta", "early_gain_share", "late_gain_share")
        assert curve == pytest.approx(wanted["curve"], abs=entry["tolerance"])
        assert gains(curve) == pytest.approx([wanted[n] for n in names], abs=entry["tolerance"])


def test_short_sequences_golden(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("seq_at_k_short_sequence"):
        length, solved_at = arrays(entry["inputs"]["sequences"])
        k, wanted = entry["inputs"]["K"], entry["expected"]
        carried = solved_by(solved_at, k).mean(axis=0)
        assert carried == pytest.approx(wanted["curve_carry_forward"], abs=entry["tolerance"])
        censored = kaplan_meier(length, solved_at, k)
        assert censored == pytest.approx(wanted["curve_kaplan_meier"], abs=entry["tolerance"])


@given(sequences=SEQUENCES)
def test_curves_rise_and_censoring_never_lowers_them(sequences: list[tuple[int, bool]]) -> None:
    length = np.array([n for n, _ in sequences])
    solved_at = np.array([n if done else 0 for n, done in sequences])
    carried = solved_by(solved_at, 6).mean(axis=0)
    censored = kaplan_meier(length, solved_at, 6)
    for curve in (carried, censored):
        assert (np.diff(curve) >= 0).all()
        assert ((curve >= 0) & (curve <= 1)).all()
    assert (censored >= carried - 1e-12).all()
    if (solved_at > 0).all():
        assert censored == pytest.approx(carried)


def test_without_a_gain_there_are_no_shares() -> None:
    assert gains(np.array([0.5, 0.5])) == pytest.approx([0.0, np.nan, np.nan], nan_ok=True)
    assert gains(np.array([0.5])) == pytest.approx([0.0, np.nan, np.nan], nan_ok=True)
