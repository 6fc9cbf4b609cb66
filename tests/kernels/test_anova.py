"""Variance components: golden designs, exact sums, statsmodels, and what resampling does."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.kernels.anova import (
    case_weights,
    cells_of,
    coefficients,
    half_weights,
    mean_squares,
    shares,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from trialframe.kernels.anova import Cells

    Golden = Callable[[str], list[dict[str, Any]]]

PARTS = ("agent", "task", "agent_task", "run")


def cells_from(runs: list[list[list[float]]]) -> Cells:
    """Cells from the runs of every config and case."""
    n = np.array([[len(cell) for cell in row] for row in runs])
    total = np.array([[sum(cell) for cell in row] for row in runs], dtype=float)
    squares = np.array([[sum(x * x for x in cell) for cell in row] for row in runs], dtype=float)
    return cells_of(n, total, squares)


def crossed(scores: dict[str, list[float]]) -> list[list[list[float]]]:
    agents = sorted({name.partition("|")[0] for name in scores})
    tasks = sorted({name.partition("|")[2] for name in scores})
    return [[scores[f"{agent}|{task}"] for task in tasks] for agent in agents]


def test_golden_designs(golden: Golden) -> None:
    for entry in golden("g_theory_crossed"):
        runs, expected = crossed(entry["inputs"]["scores"]), entry["expected"]
        found = mean_squares(cells_from(runs))
        assert found.ms[0] == pytest.approx([expected["ms"][p] for p in PARTS], abs=1e-10)
        assert found.raw[0] == pytest.approx([expected["var_raw"][p] for p in PARTS], abs=1e-10)
        share = [expected["share"][p] for p in PARTS]
        assert shares(found.raw[0]) == pytest.approx(share, abs=1e-10)
        size = (len(runs[0]), len(runs[0][0]))
        designs = {f"{size[0]},{size[1]}": expected} | expected["d_study"]
        for name, numbers in designs.items():
            got = coefficients(found.raw[0], *map(int, name.split(",")))
            assert float(got.g) == pytest.approx(numbers["g"], abs=1e-10)
            assert float(got.phi) == pytest.approx(numbers["phi"], abs=1e-10)
            assert float(got.se_relative) == pytest.approx(numbers["se_rel"], abs=1e-10)
            assert float(got.se_absolute) == pytest.approx(numbers["se_abs"], abs=1e-10)


def test_golden_run_variance(golden: Golden) -> None:
    for entry in golden("g_theory_binary_run_variance"):
        rates, runs = np.array(entry["inputs"]["cells"]), entry["inputs"]["n_runs"]
        passes = rates * runs
        found = mean_squares(cells_of(np.full(rates.shape, runs), passes, passes))
        assert found.raw[0, 3] == pytest.approx(entry["expected"], abs=1e-12)


def test_one_run_a_cell_leaves_two_components_in_one(golden: Golden) -> None:
    assert golden("g_theory_single_run")[0]["expected"]["run"] is None
    found = mean_squares(cells_from([[[1.0], [0.0], [1.0]], [[0.0], [0.0], [1.0]]]))
    assert np.isnan(found.raw[0, 3])
    assert found.raw[0, 2] == pytest.approx(found.ms[0, 2])
    assert np.isnan(shares(found.raw[0])[3])


verdicts = st.integers(2, 4).flatmap(
    lambda configs: st.integers(2, 5).flatmap(
        lambda cases: st.lists(
            st.lists(
                st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=cases, max_size=cases
            ),
            min_size=configs,
            max_size=configs,
        )
    )
)


def exact(runs: list[list[list[int]]]) -> list[Fraction | None]:
    """Raw components of unweighted means, in fractions, straight from the definition."""
    configs, cases = len(runs), len(runs[0])
    means = [[Fraction(sum(cell), len(cell)) for cell in row] for row in runs]
    grand = sum(map(sum, means), Fraction(0)) / (configs * cases)
    rows = [sum(row, Fraction(0)) / cases for row in means]
    columns = [sum((row[m] for row in means), Fraction(0)) / configs for m in range(cases)]
    h = configs * cases / sum(Fraction(1, len(cell)) for row in runs for cell in row)
    ms_a = h * cases * sum((r - grand) ** 2 for r in rows) / (configs - 1)
    ms_t = h * configs * sum((c - grand) ** 2 for c in columns) / (cases - 1)
    left = sum(
        (means[j][m] - rows[j] - columns[m] + grand) ** 2
        for j in range(configs)
        for m in range(cases)
    )
    ms_at = h * left / ((configs - 1) * (cases - 1))
    freedom = sum(len(cell) - 1 for row in runs for cell in row)
    within = sum(
        (x - means[j][m]) ** 2
        for j, row in enumerate(runs)
        for m, cell in enumerate(row)
        for x in cell
    )
    noise = Fraction(within) / freedom if freedom else None
    return [
        (ms_a - ms_at) / (cases * h),
        (ms_t - ms_at) / (configs * h),
        (ms_at - (noise or 0)) / h,
        noise,
    ]


@given(verdicts)
def test_components_are_the_exact_ones(runs: list[list[list[int]]]) -> None:
    found = mean_squares(cells_from(runs)).raw[0]
    for got, expected in zip(found, exact(runs), strict=True):
        if expected is None:
            assert np.isnan(got)
        else:
            assert got == pytest.approx(float(expected), abs=1e-10)


@given(verdicts, st.randoms(use_true_random=False))
def test_order_and_scale_do_not_matter(runs: list[list[list[int]]], random: Any) -> None:
    base = mean_squares(cells_from(runs)).raw[0]
    order = list(range(len(runs[0])))
    random.shuffle(order)
    mixed = [[row[m] for m in order] for row in reversed(runs)]
    assert mean_squares(cells_from(mixed)).raw[0] == pytest.approx(base, abs=1e-9, nan_ok=True)
    moved = [[[10.0 * x + 1e3 for x in cell] for cell in row] for row in runs]
    assert mean_squares(cells_from(moved)).raw[0] == pytest.approx(
        100.0 * base, abs=1e-5, nan_ok=True
    )


def test_a_weighting_is_the_design_with_cases_repeated() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(1, 5, (3, 6))
    c = rng.binomial(n, 0.5).astype(float)
    cells = cells_of(n, c, c)
    weights = np.array([[2.0, 0.0, 1.0, 3.0, 0.0, 1.0]])
    repeated = cells.take(np.repeat(np.arange(6), weights[0].astype(int)))
    found, expected = mean_squares(cells, weights), mean_squares(repeated)
    assert found.raw == pytest.approx(expected.raw, abs=1e-12)
    assert found.df == pytest.approx(expected.df)
    assert found.runs == pytest.approx(expected.runs)


def test_balanced_mean_squares_agree_with_statsmodels() -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(5)
    runs = rng.normal(size=(4, 5, 3)) + rng.normal(size=(4, 1, 1)) + rng.normal(size=(1, 5, 1))
    a, t, _ = np.meshgrid(range(4), range(5), range(3), indexing="ij")
    table = pd.DataFrame({"y": runs.ravel(), "a": a.ravel(), "t": t.ravel()})
    expected = anova_lm(ols("y ~ C(a) * C(t)", table).fit())["mean_sq"].to_numpy()
    assert mean_squares(cells_from(runs.tolist())).ms[0] == pytest.approx(expected, rel=1e-9)


def test_nothing_varies() -> None:
    found = mean_squares(cells_from([[[1.0, 1.0]] * 3] * 2))
    assert found.raw[0].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert np.isnan(shares(found.raw[0])).all()
    assert np.isnan(coefficients(found.raw[0], 3, 2).g)


@given(st.integers(2, 40), st.integers(0, 5))
def test_weights_of_resamples_and_halves(units: int, seed: int) -> None:
    unit = np.repeat(np.arange(units), 2)
    drawn = case_weights(unit, 30, np.random.default_rng(seed))
    assert (drawn.sum(axis=1) == 2 * units).all()
    assert (drawn[:, ::2] == drawn[:, 1::2]).all()
    half = half_weights(unit, 30, np.random.default_rng(seed))
    assert (half.sum(axis=1) == 2 * (units // 2)).all()
    assert set(np.unique(half)) <= {0.0, 1.0}


def test_batches_of_resamples_do_not_change_the_draws() -> None:
    unit = np.arange(7)
    whole = case_weights(unit, 12, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    parts: list[NDArray[np.float64]] = [case_weights(unit, size, rng) for size in (5, 7)]
    assert (np.concatenate(parts) == whole).all()


def test_copies_of_cases_inflate_the_config_component_by_the_interaction() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(5, 40))
    cells = cells_of(np.ones((5, 40), dtype=int), x, x**2)
    raw = mean_squares(cells).raw[0]
    draws = mean_squares(cells, case_weights(np.arange(40), 4000, rng)).raw
    assert draws[:, 0].mean() - raw[0] == pytest.approx(raw[2] / 40, rel=0.15)
