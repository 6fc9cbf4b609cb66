from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from trialframe.kernels import simulation


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.integers(1, 3))
def test_within_counts_from_zero_in_every_run(sizes: list[int], gap: int) -> None:
    groups = np.repeat(np.arange(len(sizes)) * gap, sizes)
    expected = [place for size in sizes for place in range(size)]
    assert simulation.within(groups).tolist() == expected


def test_within_of_no_rows_is_empty() -> None:
    assert simulation.within(np.array([], dtype=np.int64)).size == 0


@given(arrays(np.bool_, array_shapes(min_dims=2, max_dims=2)))
def test_attempts_happen_up_to_the_first_success(verdicts: np.ndarray) -> None:
    for row, made in zip(verdicts.tolist(), simulation.until_success(verdicts), strict=True):
        stop = row.index(True) + 1 if True in row else len(row)
        assert made.tolist() == [True] * stop + [False] * (len(row) - stop)


@given(
    st.lists(st.floats(0, 0.25), max_size=4),
    st.integers(0, 2**32),
)
def test_categories_stay_in_range_and_skip_empty_ones(shares: list[float], seed: int) -> None:
    drawn = simulation.categories(np.random.default_rng(seed), np.array(shares), 200)
    assert set(drawn.tolist()) <= {j for j, s in enumerate(shares) if s > 0} | {len(shares)}
