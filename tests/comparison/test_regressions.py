"""Single cases: golden gates, SciPy, multiplicity and what cannot be tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import trialframe as tr
from trialframe.errors import ArgumentError, TrialsError

if TYPE_CHECKING:
    from collections.abc import Callable


def sides(rows: list[tuple[int, int, int, int]]) -> tr.Counts:
    frames = [
        pl.DataFrame(
            {
                "config": name,
                "case": [f"case {i:05d}" for i in range(len(rows))],
                "n": [row[2 * side] for row in rows],
                "c": [row[2 * side + 1] for row in rows],
            }
        )
        for side, name in enumerate(("a", "b"))
    ]
    return tr.Counts(pl.concat(frames))


def test_gates_golden(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("two_proportion_gate"):
        given, wanted = entry["inputs"], entry["expected"]
        counts = sides([(given["n_base"], given["c_base"], given["n_cand"], given["c_cand"])])
        row = tr.regressions(counts, "a", "b", method="z").row(0, named=True)
        assert row["z"] == pytest.approx(wanted["z"], abs=entry["tolerance"])
        assert (row["status"] == "regression") == wanted["regression"]
        assert (row["status"] == "improvement") == wanted["improvement"]
        exact = tr.regressions(counts, "a", "b", adjust="none").row(0, named=True)
        two_sided = min(1.0, 2 * min(exact["pvalue_worse"], exact["pvalue_better"]))
        assert two_sided == pytest.approx(wanted["boschloo_two_sided"], abs=entry["tolerance"])


def test_boschloo_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (int(n), int(rng.integers(0, n + 1)), int(m), int(rng.integers(0, m + 1)))
        for n, m in rng.integers(2, 8, (15, 2))
    ]
    table = tr.regressions(sides(rows), "a", "b", adjust="none")
    for (n_a, c_a, n_b, c_b), found in zip(rows, table["pvalue_worse"], strict=True):
        expected = stats.boschloo_exact(
            [[c_b, c_a], [n_b - c_b, n_a - c_a]], alternative="less", n=128
        )
        assert found == pytest.approx(expected.pvalue, abs=5e-4)


def test_what_cannot_reach_significance_is_untestable() -> None:
    rows = [(1, 1, 1, 0), (2, 2, 2, 0), (3, 3, 3, 0), (10, 10, 10, 0), (0, 0, 5, 5), (10, 5, 10, 5)]
    table = tr.regressions(sides(rows), "a", "b")
    assert table["status"].to_list() == [
        "untestable",
        "untestable",
        "regression",
        "regression",
        "not scored",
        "no evidence",
    ]
    assert table["adjusted_worse"].to_list()[:2] == [None, None]
    assert table["adjusted_worse"][2] == pytest.approx(2 / 64)
    assert table["transition"].to_list() == ["pass to fail", *[None] * 5]
    swapped = tr.regressions(sides([(c, d, a, b) for a, b, c, d in rows]), "a", "b")
    assert swapped["status"].to_list()[2] == "improvement"


def test_adjustments_are_those_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(8)
    rows = [(8, int(x), 8, int(y)) for x, y in rng.binomial(8, [0.7, 0.5], (30, 2))]
    raw = tr.regressions(sides(rows), "a", "b", adjust="none")["pvalue_worse"].to_numpy()
    for adjust, name in (("holm", "holm"), ("bh", "fdr_bh")):
        got = tr.regressions(sides(rows), "a", "b", adjust=adjust)["adjusted_worse"].to_numpy()
        np.testing.assert_allclose(got, multipletests(raw, method=name)[1])


@pytest.mark.parametrize("adjust", ["holm", "tarone"])
def test_the_family_keeps_its_level(adjust: str) -> None:
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(300):
        rate = rng.beta(1, 1, 60)
        first, second = rng.binomial(5, rate), rng.binomial(5, rate)
        rows = [(5, int(x), 5, int(y)) for x, y in zip(first, second, strict=True)]
        status = tr.regressions(sides(rows), "a", "b", adjust=adjust)["status"]
        wrong += int((status == "regression").any())
    assert wrong / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "welch"}, ArgumentError),
        ({"adjust": "sidak"}, ArgumentError),
        ({"alpha": 0}, ArgumentError),
        ({"candidate": "a"}, ArgumentError),
        ({"candidate": "c"}, tr.TrialframeError),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tr.regressions(sides([(2, 1, 2, 1)]), **({"baseline": "a", "candidate": "b"} | options))


def test_configs_without_a_shared_case_are_refused() -> None:
    frame = pl.DataFrame({"config": ["a", "b"], "case": ["x", "y"], "n": 3, "c": 1})
    with pytest.raises(TrialsError, match="share no case"):
        tr.regressions(tr.Counts(frame), "a", "b")
