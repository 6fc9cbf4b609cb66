from __future__ import annotations

from fractions import Fraction
from math import comb
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from trialframe import expr
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]
    Metric = Callable[..., pl.Expr]

DRAWN: dict[str, Metric] = {
    "pass@3": lambda **given_: expr.pass_at_k(3, **given_),
    "pass^3": lambda **given_: expr.pass_hat_k(3, **given_),
    "g_pass@3_0.5": lambda **given_: expr.g_pass_at_k(3, 0.5, **given_),
}
NATIVE: dict[str, Metric] = {
    "pass_rate": expr.pass_rate,
    "flaky": expr.flaky,
    "flake_index": expr.flake_index,
    "majority": expr.majority,
    "saturated": expr.saturated,
    "wilson": expr.wilson,
}
EVERY = DRAWN | NATIVE
POLICIES = ["null", "clamp", "min", "rate"]
ENGINES = ["in-memory", "streaming"]


def values(n: list[Any], c: list[Any], metric: pl.Expr) -> list[Any]:
    return pl.DataFrame({"n": n, "c": c}, strict=False).select(metric).to_series().to_list()


def of_cases(cases: list[list[int]], metric: pl.Expr) -> list[Any]:
    n, c = (list(column) for column in zip(*cases, strict=True))
    return values(n, c, metric)


def suite(cases: int = 60, groups: int = 4, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 9, cases)
    return pl.DataFrame(
        {
            "row": np.arange(cases),
            "suite": rng.integers(0, groups, cases),
            "n": n,
            "c": rng.binomial(n, 0.5),
        }
    ).with_columns(
        n=pl.when(pl.col("row") % 13 != 0).then("n"), c=pl.when(pl.col("row") % 11 != 0).then("c")
    )


def trials_of(counts: pl.DataFrame) -> pl.DataFrame:
    """One row per trial, with an unscored one in every case."""
    rows = [
        {"row": row, "passed": verdict}
        for row, n, c in counts.select("row", "n", "c").rows()
        for verdict in [*[True] * c, *[False] * (n - c), None]
    ]
    return pl.DataFrame(rows, schema={"row": pl.Int64, "passed": pl.Boolean})


@pytest.mark.parametrize(
    ("method", "metric"), [("pass_at_k", expr.pass_at_k), ("pass_hat_k", expr.pass_hat_k)]
)
def test_golden_draws(golden: Golden, method: str, metric: Metric) -> None:
    for entry in golden(method):
        inputs = entry["inputs"]
        (got,) = values([inputs["n"]], [inputs["c"]], metric(inputs["k"]))
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0), entry["id"]
    for entry in golden(f"{method}_mean"):
        (got,) = of_cases(entry["inputs"]["cases"], metric(entry["inputs"]["k"]).mean())
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0), entry["id"]


def test_golden_missing_trials_are_no_failures(golden: Golden) -> None:
    for entry in golden("pass_hat_k_missing_trials"):
        (got,) = of_cases(entry["inputs"]["cases"], expr.pass_hat_k(entry["inputs"]["k"]).mean())
        assert got == pytest.approx(entry["expected"]["per_case_n"], abs=entry["tolerance"])


def test_golden_g_pass(golden: Golden) -> None:
    for entry in golden("g_pass_at_k_tau"):
        inputs = entry["inputs"]
        metric = expr.g_pass_at_k(inputs["k"], inputs["tau"]).mean()
        (got,) = of_cases(inputs["cases"], metric)
        assert got == pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0), entry["id"]


def test_golden_reliability(golden: Golden) -> None:
    for entry in golden("reliability_at_k"):
        status, k, want = pl.col("s"), entry["inputs"]["k"], entry["expected"]
        functional = status.is_in(["pass", "security_fail"])
        secure = status == "pass"
        got = pl.DataFrame({"s": entry["inputs"]["statuses"]}).select(
            reliability=expr.pass_at_k(k, passed=functional),
            security_adjusted=expr.pass_at_k(k, passed=secure),
            pass_hat_k_functional=expr.pass_hat_k(k, passed=functional),
            pass_hat_k_secure=expr.pass_hat_k(k, passed=secure),
        )
        for name, value in got.row(0, named=True).items():
            assert value == pytest.approx(want[name], abs=entry["tolerance"], rel=0), name


def test_golden_short_policies(golden: Golden) -> None:
    for entry in golden("pass_at_k_short_case_policy"):
        inputs = entry["inputs"]
        cases = inputs.get("cases", [[inputs.get("n"), inputs.get("c")]])
        for key, want in entry["expected"].items():
            short = "raise" if key == "error" else key
            metric = expr.pass_at_k(inputs["k"], short=short)
            if want == "raise":
                with pytest.raises(ArgumentError, match="have fewer trials"):
                    of_cases(cases, metric)
                continue
            got = pl.Series(of_cases(cases, metric), dtype=pl.Float64)
            if isinstance(want, dict):
                assert got.count() == want["cases_used"]
                assert got.null_count() == want["cases_excluded"]
            mean = want["value"] if isinstance(want, dict) else want
            assert got.mean() == (None if mean is None else pytest.approx(mean, abs=1e-12))


def test_golden_wilson(golden: Golden) -> None:
    for entry in golden("wilson"):
        inputs = entry["inputs"]
        metric = expr.wilson(inputs["confidence"])
        (got,) = values([inputs["n"]], [inputs["successes"]], metric)
        assert list(got) == ["low", "high"]
        want = pytest.approx(entry["expected"], abs=entry["tolerance"], rel=0)
        assert list(got.values()) == want, entry["id"]
        assert 0 <= got["low"] <= got["high"] <= 1


def test_golden_flakiness(golden: Golden) -> None:
    for entry in golden("flakiness"):
        cases = [[case["n"], case["c"]] for case in entry["inputs"]["cases"]]
        width = expr.wilson().struct.field("high") - expr.wilson().struct.field("low")
        wanted = entry["expected"]
        assert of_cases(cases, expr.flaky()) == [case["mixed"] for case in wanted]
        want = [case["wilson_width"] for case in wanted]
        assert of_cases(cases, width) == pytest.approx(want, abs=entry["tolerance"], rel=0)


def test_golden_majority(golden: Golden) -> None:
    for entry in golden("majority_outcome"):
        assert of_cases(entry["inputs"]["cases"], expr.majority()) == entry["expected"]


def test_simple_metrics_match_counting() -> None:
    pairs = [(n, c) for n in range(9) for c in range(n + 1)]
    frame = pl.DataFrame(pairs, schema=["n", "c"], orient="row")
    got = frame.select("n", "c", *(metric() for metric in NATIVE.values()))
    for row in got.iter_rows(named=True):
        n, c = row["n"], row["c"]
        if n == 0:
            undefined = [row[name] for name in NATIVE if name != "wilson"]
            assert undefined == [None] * 5
            assert row["wilson"] == {"low": None, "high": None}
            continue
        assert row["pass_rate"] == c / n
        assert row["flaky"] == (0 < c < n)
        assert row["majority"] == (Fraction(c, n) > Fraction(1, 2))
        assert row["saturated"] == (c == n)
        want = None if n < 2 else float(1 - Fraction(comb(c, 2) + comb(n - c, 2), comb(n, 2)))
        assert row["flake_index"] == (None if want is None else pytest.approx(want, abs=1e-15))


def test_wilson_matches_the_roots_of_its_quadratic() -> None:
    z = 1.6448536269514722
    for n, c in [(1, 0), (7, 3), (50, 50), (1000, 1)]:
        (got,) = values([n], [c], expr.wilson(0.9))
        for p in got.values():
            assert (c / n - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, abs=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_names(name: str) -> None:
    metric = EVERY[name]
    assert metric(n="samples", c="correct").meta.output_name() == name
    assert metric(passed="ok").meta.output_name() == name


def test_metrics_of_one_frame_do_not_collide() -> None:
    frame = (
        suite()
        .group_by("suite")
        .agg(
            expr.pass_at_k(1).mean(),
            expr.pass_at_k(5).mean(),
            expr.pass_hat_k(5).mean(),
            expr.g_pass_at_k(5, 0.5).mean(),
            expr.g_pass_at_k(5, 0.75).mean(),
            expr.flaky().mean(),
        )
    )
    names = ["suite", "pass@1", "pass@5", "pass^5", "g_pass@5_0.5", "g_pass@5_0.75", "flaky"]
    assert frame.columns == names


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("short", POLICIES)
@pytest.mark.parametrize("name", EVERY)
def test_every_context_and_engine_agree(name: str, short: str, engine: str) -> None:
    settings = {"short": short} if name in DRAWN else {}
    metric = EVERY[name](**settings)
    frame = suite(5000, 40)
    # The policy "min" looks at a group, so the reference is worked out group by group.
    parts = frame.partition_by("suite", maintain_order=True)
    per_group = pl.concat([part.with_columns(metric) for part in parts]).sort("row")
    lazy = frame.lazy()
    over = lazy.with_columns(metric.over("suite")).collect(engine=engine)
    assert_frame_equal(over.sort("row"), per_group, check_exact=True)
    lists = lazy.group_by("suite").agg("row", metric).collect(engine=engine)
    exploded = lists.explode("row", name).sort("row")
    assert_series_equal(exploded[name], per_group[name], check_exact=True)
    if short != "min":
        selected = lazy.select("row", metric).collect(engine=engine).sort("row")
        assert_series_equal(selected[name], per_group[name], check_exact=True)
        eager = frame.select(metric).to_series()
        assert_series_equal(eager, per_group[name], check_exact=True)
    if name != "wilson":
        means = lazy.group_by("suite").agg(metric.mean()).sort("suite").collect(engine=engine)
        want = per_group.group_by("suite").agg(pl.col(name).mean()).sort("suite")
        assert_frame_equal(means, want)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DRAWN)
def test_min_over_a_whole_frame(name: str, engine: str) -> None:
    frame = suite(5000).filter((pl.col("n") != 1) | pl.col("n").is_null())
    got = frame.lazy().select(EVERY[name](short="min")).collect(engine=engine).to_series()
    replaced = {
        "pass@3": expr.pass_at_k(2),
        "pass^3": expr.pass_hat_k(2),
        "g_pass@3_0.5": expr.g_pass_at_k(2, 0.5),
    }[name]
    want = frame.select(replaced.alias(name)).to_series()
    assert got.count() > 0
    assert_series_equal(got, want, check_exact=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EVERY)
def test_trials_give_what_their_counts_give(name: str, engine: str) -> None:
    counts = suite(200).drop_nulls().sort("row")
    trials = trials_of(counts).sample(fraction=1, shuffle=True, seed=1)
    metric = EVERY[name](passed="passed")
    got = trials.lazy().group_by("row").agg(metric).sort("row").collect(engine=engine)
    want = counts.select("row", EVERY[name]())
    assert_frame_equal(got, want, check_exact=True)
    rows = trials.lazy().with_columns(metric.over("row")).collect(engine=engine)
    assert_frame_equal(rows.select("row", name).unique().sort("row"), want, check_exact=True)
    whole = trials.lazy().select(metric).collect(engine=engine)
    n, c = int(counts["n"].sum()), int(counts["c"].sum())
    assert whole.to_series().to_list() == values([n], [c], EVERY[name]())


@pytest.mark.parametrize("short", ["clamp", "rate"])
def test_trials_and_short_cases(short: str) -> None:
    trials = pl.DataFrame({"case": ["a", "a", "b"], "passed": [True, False, None]})
    metric = expr.pass_at_k(3, passed=pl.col("passed"), short=short)
    got = trials.group_by("case", maintain_order=True).agg(metric)["pass@3"].to_list()
    assert got == {"clamp": [1.0, None], "rate": [0.5, 0.0]}[short]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("short", [*POLICIES, "raise"])
def test_no_rows(name: str, engine: str, short: str) -> None:
    metric = EVERY[name](**({"short": short} if name in DRAWN else {}))
    frame = suite()
    none = frame.clear().lazy()
    wanted = frame.filter(pl.col("n") >= 3).select(metric).schema[name]
    for lazy in (
        none.select(metric),
        none.select(metric.over("suite")),
        none.group_by("suite").agg(metric.first()),
    ):
        got = lazy.collect(engine=engine)
        assert got.height == 0
        assert got.schema[name] == wanted
        assert lazy.collect_schema()[name] == wanted
    trials = pl.LazyFrame(schema={"case": pl.String, "passed": pl.Boolean})
    got = trials.group_by("case").agg(EVERY[name](passed="passed")).collect(engine=engine)
    assert got.schema == {"case": pl.String, name: wanted}


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None, 3.0])
@pytest.mark.parametrize("metric", [expr.pass_at_k, expr.pass_hat_k])
def test_bad_k(metric: Metric, k: Any) -> None:
    with pytest.raises(ArgumentError, match=r"k == .*must be an integer >= 1"):
        metric(k)
    with pytest.raises(ArgumentError, match=r"k == .*must be an integer >= 1"):
        expr.g_pass_at_k(k, 0.5)


def test_numpy_integers_are_integers() -> None:
    metric = expr.pass_at_k(np.int64(3))
    assert metric.meta.output_name() == "pass@3"
    for kind in (np.int8, np.uint16, np.int64):
        assert values([5], [2], expr.pass_at_k(kind(3))) == [0.9]
        assert values([5], [2], expr.pass_at_k(kind(3), short="min")) == [0.9]


@pytest.mark.parametrize("short", POLICIES)
def test_k_beyond_any_table(short: str) -> None:
    n, c = [10, 10**9, 2 * 10**9], [3, 5 * 10**8, 1]
    for k in (10**8, 10**20):
        got = values(n, c, expr.pass_at_k(k, short=short))
        if short == "null" and k == 10**8:
            assert got == [None, 1.0, pytest.approx(0.05, abs=1e-12)]
        elif short == "null":
            assert got == [None, None, None]
        else:
            assert all(0 <= value <= 1 for value in got)


@pytest.mark.parametrize("tau", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_bad_tau(tau: Any) -> None:
    with pytest.raises(ArgumentError, match="tau == "):
        expr.g_pass_at_k(3, tau)


@pytest.mark.parametrize("level", [0, 1, 95, "0.95", None])
def test_bad_level(level: Any) -> None:
    with pytest.raises(ArgumentError, match="level == "):
        expr.wilson(level)


def test_bad_short() -> None:
    with pytest.raises(ArgumentError, match=r"short == 'clmp'.*Did you mean 'clamp'"):
        expr.pass_at_k(3, short="clmp")
    with pytest.raises(ArgumentError, match="short == 'min' with passed="):
        expr.pass_at_k(3, passed="passed", short="min")


def test_raise_reaches_the_caller() -> None:
    frame = pl.DataFrame({"n": [5, 2, 0], "c": [1, 1, 0]})
    with pytest.raises(ArgumentError, match="k == 3, but 2 of 3 cases have fewer"):
        frame.select(expr.pass_hat_k(3, short="raise"))
    with pytest.raises(ArgumentError, match="1 of 1 cases"):
        frame.tail(1).select(expr.pass_hat_k(1, short="raise"))
    trials = pl.DataFrame({"case": ["a", "b"], "passed": [True, None]})
    with pytest.raises(ArgumentError, match="1 of 2 cases"):
        trials.group_by("case").agg(expr.pass_at_k(1, passed="passed", short="raise"))


@given(
    st.lists(
        st.integers(0, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 12),
    st.sampled_from(POLICIES),
    st.randoms(use_true_random=False),
)
def test_row_order_does_not_matter(
    pairs: list[tuple[int, int]], k: int, short: Any, random: Any
) -> None:
    metrics = [
        expr.pass_at_k(k, short=short),
        expr.pass_hat_k(k, short=short),
        expr.g_pass_at_k(k, 0.5, short=short),
        *(metric() for metric in NATIVE.values()),
    ]
    order = random.sample(range(len(pairs)), len(pairs))
    frame = pl.DataFrame(pairs, schema=["n", "c"], orient="row")
    moved = frame[order].select(metrics)
    assert_frame_equal(frame.select(metrics)[order], moved, check_exact=True)


def test_a_hundred_thousand_groups_are_few_calls() -> None:
    rng = np.random.default_rng(1)
    rows, groups = 300_000, 100_000
    frame = pl.DataFrame({"case": rng.integers(0, groups, rows), "passed": rng.random(rows) < 0.5})
    metrics = [metric(passed="passed") for metric in EVERY.values()]
    frame.lazy().group_by("case").agg(pl.len()).collect()
    started = perf_counter()
    got = frame.lazy().group_by("case").agg(metrics).collect()
    assert perf_counter() - started < 2  # one Python call per group takes about 25 s
    assert got.height == frame["case"].n_unique()
