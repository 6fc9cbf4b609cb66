from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.multiple import benjamini_hochberg, holm, tarone

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]

PVALUES = st.lists(st.floats(0.0, 1.0), max_size=30).map(lambda p: np.array(p, dtype=float))


@pytest.mark.parametrize("method", [holm, benjamini_hochberg])
def test_golden(golden: Golden, method: Callable[[np.ndarray], np.ndarray]) -> None:
    for entry in golden(method.__name__):
        got = method(np.array(entry["inputs"]["p"]))
        np.testing.assert_allclose(got, entry["expected"]["adjusted"], atol=entry["tolerance"])
        assert (got <= entry["inputs"]["alpha"]).tolist() == entry["expected"]["reject"]


def test_tarone_golden(golden: Golden) -> None:
    for entry in golden("tarone"):
        asked = entry["inputs"]
        got = tarone(np.array(asked["p"]), np.array(asked["min_attainable_p"]), asked["alpha"])
        assert got.factor == entry["expected"]["K"]
        assert got.reject.tolist() == entry["expected"]["reject"]


@given(PVALUES)
def test_agrees_with_statsmodels(pvalues: np.ndarray) -> None:
    from statsmodels.stats.multitest import multipletests

    for method, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        got = method(pvalues)
        if len(pvalues):
            np.testing.assert_allclose(got, multipletests(pvalues, method=name)[1], atol=1e-12)
        assert np.all(got >= pvalues)


@given(PVALUES)
def test_untested_cases_count_in_no_family(pvalues: np.ndarray) -> None:
    padded = np.concatenate(([np.nan], pvalues, [np.nan]))
    for method in (holm, benjamini_hochberg):
        got = method(padded)
        assert np.isnan(got[[0, -1]]).all()
        np.testing.assert_array_equal(got[1:-1], method(pvalues))
    least = pvalues / 3
    outer, inner = tarone(padded, np.pad(least, 1)), tarone(pvalues, least)
    assert outer.factor == inner.factor
    assert outer.reject[1:-1].tolist() == inner.reject.tolist()
    assert not outer.reject[[0, -1]].any()


@given(PVALUES, st.sampled_from([0.01, 0.05, 0.2]))
def test_tarone_by_definition(pvalues: np.ndarray, alpha: float) -> None:
    least = pvalues / 2
    factor = 1
    while np.sum(least <= alpha / factor) > factor:
        factor += 1
    got = tarone(pvalues, least, alpha)
    assert got.factor == factor
    assert got.reject.sum() <= got.testable.sum() <= factor
