from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from trialframe import expr
from trialframe.errors import ArgumentError, ColumnError, CountsError, TrialframeError

EVERY = {
    "pass@3": lambda **given: expr.pass_at_k(3, **given),
    "pass^3": lambda **given: expr.pass_hat_k(3, **given),
    "g_pass@3_0.5": lambda **given: expr.g_pass_at_k(3, 0.5, **given),
    "pass@3 min": lambda **given: expr.pass_at_k(3, short="min", **given),
    "pass_rate": expr.pass_rate,
    "flaky": expr.flaky,
    "flake_index": expr.flake_index,
    "majority": expr.majority,
    "saturated": expr.saturated,
    "wilson": expr.wilson,
}


def suite() -> pl.DataFrame:
    pairs = [(n, c) for n in range(7) for c in range(n + 1)]
    return pl.DataFrame([*pairs, (None, 1), (3, None)], schema=["n", "c"], orient="row")


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dtype", [pl.UInt8, pl.UInt32, pl.Int16, pl.Float32, pl.Decimal(20, 0)])
def test_types_of_counts(name: str, dtype: Any) -> None:
    frame = suite()
    got = frame.select(EVERY[name](n=pl.col("n").cast(dtype), c=pl.col("c").cast(dtype)))
    assert_frame_equal(got, frame.select(EVERY[name]()), check_exact=True)


@pytest.mark.parametrize("name", EVERY)
def test_null_counts_give_null(name: str) -> None:
    frame = pl.DataFrame({"n": [None, 3, None, 5], "c": [1, None, None, 5]})
    empty = {"low": None, "high": None} if name == "wilson" else None
    got = frame.select(EVERY[name]()).to_series().to_list()
    assert got[:3] == [empty] * 3
    assert got[3] not in (None, empty)
    untyped = frame.select(EVERY[name](n=pl.lit(None), c="c")).to_series().to_list()
    assert untyped == [empty] * 4


@pytest.mark.parametrize("name", EVERY)
def test_a_literal_stands_for_every_row(name: str) -> None:
    frame = pl.DataFrame({"c": [0, 2, 5], "n": [5, 5, 5]})
    got = frame.select(EVERY[name](n=pl.lit(5)))
    assert_frame_equal(got, frame.select(EVERY[name]()), check_exact=True)


@pytest.mark.parametrize("name", EVERY)
def test_bad_columns(name: str) -> None:
    with pytest.raises(ArgumentError, match="n == 5, must be a column name or an expression"):
        EVERY[name](n=5)
    with pytest.raises(ArgumentError, match="passed == 1, must be"):
        EVERY[name](passed=1)
    with pytest.raises(ArgumentError, match="not both"):
        EVERY[name](n="samples", passed="passed")
    with pytest.raises(ArgumentError, match="not both"):
        EVERY[name](c=pl.col("c"), passed="passed")


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("n", "c", "error", "says"),
    [
        ([5, 3, 2], [1, 4, 3], CountsError, "2 of 3 rows .* n == 3, c == 4"),
        ([5, 3], [1, -1], CountsError, "1 of 2 rows .* n == 3, c == -1"),
        ([5, -3], [1, -4], CountsError, "1 of 2 rows .* n == -3, c == -4"),
        ([5.0, 2.5], [1, 1], ColumnError, "n must hold whole numbers; .*'n' has 1 other .* 2.5"),
        ([5, 3], [1.0, 0.2], ColumnError, "c must hold whole numbers; .*'c' has 1 other .* 0.2"),
        ([5.0, float("nan")], [1, 1], ColumnError, "n must hold whole numbers; .*is nan"),
        ([5.0, float("inf")], [1, 1], ColumnError, "n must hold whole numbers; .*is inf"),
        (["5", "3"], [1, 1], ColumnError, "n must hold whole numbers; column 'n' is String"),
        ([5, 3], [True, False], ColumnError, "c must hold whole numbers; column 'c' is Boolean"),
        ([Decimal("1.5")], [1], ColumnError, "n must hold whole numbers; .*is 1.5"),
    ],
)
def test_bad_counts(
    name: str, n: list[Any], c: list[Any], error: type[TrialframeError], says: str
) -> None:
    frame = pl.DataFrame({"g": [1] * len(n), "n": n, "c": c})
    metric = EVERY[name]()
    for build in (
        lambda: frame.select(metric),
        lambda: frame.group_by("g").agg(metric),
        lambda: frame.with_columns(metric.over("g")),
    ):
        with pytest.raises(error, match=says):
            build()
    # In batches the error counts the rows of one batch.
    with pytest.raises(error, match=r"(whole numbers|rows break that)"):
        frame.lazy().select(metric).collect(engine="streaming")


@pytest.mark.parametrize("verdicts", [[2, 0], [0.5, 0.0], ["true", "false"]])
def test_verdicts_must_be_boolean(verdicts: list[Any]) -> None:
    frame = pl.DataFrame({"passed": verdicts})
    with pytest.raises(ColumnError, match="must be true, false or null"):
        frame.select(expr.pass_at_k(1, passed="passed"))


@pytest.mark.parametrize("verdicts", [[1, 0, None], [1.0, 0.0, None], [True, False, None]])
def test_zero_and_one_are_verdicts(verdicts: list[Any]) -> None:
    found = pl.DataFrame({"passed": verdicts}).select(expr.pass_at_k(1, passed="passed"))
    assert found.item() == 0.5


@pytest.mark.parametrize("name", [name for name in EVERY if not name.endswith("min")])
def test_an_untyped_column_of_unscored_trials(name: str) -> None:
    frame = pl.DataFrame({"case": ["a", "a"], "passed": [None, None]})
    got = frame.group_by("case").agg(EVERY[name](passed="passed"))
    empty = {"low": None, "high": None} if name == "wilson" else None
    assert got.get_column(name).to_list() == [empty]
