"""Few labels and many verdicts, of one run and of two."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError, UnknownConfigError
from trialframe.kernels.intervals import wilson
from trialframe.kernels.judge import newcombe
from trialframe.kernels.paired import tango

Z = 1.959963984540054


def table(y: Any, f: Any, u: Any, start: int = 0, **more: Any) -> pl.DataFrame:
    rest = [None] * len(u)
    return pl.DataFrame(
        {"case": np.arange(len(y) + len(u)) + start, "judge": [*f, *u], "label": [*y, *rest]},
        strict=False,
    ).with_columns(**{name: pl.lit(value) for name, value in more.items()})


def drawn(n: int, more: int, seed: int = 0, **more_columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n + more)
    f = np.where(rng.random(n + more) < 0.85, y, 1 - y)
    return table(y[:n], f[:n], f[n:], **more_columns)


def test_plus_plus_golden(golden: Any) -> None:
    for entry in golden("ppi_plus_plus_mean"):
        asked, wanted = entry["inputs"], entry["expected"]["plugin_opt"]
        rows = table(asked["y"], asked["f_labeled"], asked["f_unlabeled"])
        got = tr.ppi(rows, critical="z", min_labels=2)
        near = {"abs": entry["tolerance"]}
        assert (got.ppi_value, got.ppi_se) == pytest.approx((wanted["theta"], wanted["se"]), **near)
        assert [got.ppi_low, got.ppi_high] == pytest.approx(wanted["interval"], **near)
        alone = entry["expected"]["classical"]
        assert [got.labels_low, got.labels_high] == pytest.approx(alone["interval"], **near)
        # three fails among ten labels: too few for that interval
        bounds = wilson(7, 10)
        assert (got.status, got.method) == ("labels-only", "labels, wilson")
        assert (got.value, got.low, got.high) == pytest.approx(
            (0.7, float(bounds.low), float(bounds.high))
        )


def test_post_stratified_golden(golden: Any) -> None:
    for entry in golden("post_stratified_eif"):
        asked = entry["inputs"]
        rows = table(asked["y"], asked["f_labeled"], asked["f_unlabeled"])
        got = tr.ppi(rows, estimator="post-stratified")
        assert got.ppi_value == pytest.approx(entry["expected"]["theta"], abs=entry["tolerance"])


def test_two_runs_golden(golden: Any) -> None:
    for entry in golden("ppi_two_run_delta"):
        data, near = entry["inputs"], {"abs": entry["tolerance"]}
        for design, start in (("paired", 0), ("independent", 500)):
            rows = pl.concat(
                [
                    table(data["y_a"], data["f_a"], data["u_a"], run="a"),
                    table(data["y_b"], data["f_b"], data["u_b"], start, run="b"),
                ]
            )
            got = tr.ppi_difference(rows, "a", "b", config="run", critical="z", min_labels=2)
            wanted = entry["expected"][design]
            assert got.design == design
            assert (got.ppi_diff, got.ppi_se) == pytest.approx(
                (wanted["delta"], wanted["se"]), **near
            )
            assert [got.ppi_low, got.ppi_high] == pytest.approx(wanted["interval"], **near)
            if design == "paired":
                assert got.lam == pytest.approx(wanted["lambda_"], **near)
            else:
                lams = (got.lam_baseline, got.lam_candidate)
                assert lams == pytest.approx((wanted["lambda_a"], wanted["lambda_b"]), **near)


@settings(max_examples=40)
@given(st.integers(20, 60), st.integers(0, 200), st.integers(0, 10**6))
def test_never_wider_than_labels_alone(n: int, more: int, seed: int) -> None:
    got = tr.ppi(drawn(n, more, seed))
    if got.labels_se:
        assert got.ppi_se <= got.labels_se * (1 + 1e-12)
        assert got.effective >= n * (1 - 1e-9)
    shuffled = tr.ppi(drawn(n, more, seed).sample(fraction=1, shuffle=True, seed=seed))
    assert shuffled.ppi_value == pytest.approx(got.ppi_value, abs=1e-12)
    assert shuffled.ppi_se == pytest.approx(got.ppi_se, abs=1e-12)


@settings(max_examples=25)
@given(st.integers(20, 60), st.integers(20, 100), st.integers(0, 10**6))
def test_passes_and_fails_mirror(n: int, more: int, seed: int) -> None:
    rows = drawn(n, more, seed)
    got = tr.ppi(rows)
    back = tr.ppi(rows.with_columns(judge=1 - pl.col("judge"), label=1 - pl.col("label")))
    assert back.value == pytest.approx(1 - got.value, abs=1e-9)
    assert (back.low, back.high) == pytest.approx((1 - got.high, 1 - got.low), abs=1e-9)


def test_one_table_or_two() -> None:
    rows = drawn(40, 100)
    known, rest = rows.filter(pl.col("label").is_not_null()), rows.filter(pl.col("label").is_null())
    one, two = tr.ppi(rows), tr.ppi(known, rest.drop("label"))
    assert one == two
    every = tr.ppi(known, rows.drop("label"))
    assert (every.value, every.unlabelled) == (one.value, 100)
    assert "40 cases of the unlabelled table are labelled" in every.warnings[0]
    numbered = tr.ppi(known.drop("case"), rest.drop("case", "label"))
    assert numbered.value == pytest.approx(one.value)
    with pytest.raises(TrialsError, match="do not fit together"):
        tr.ppi(known, rest.with_columns(case=pl.lit([1])))


def test_few_labels_of_a_class_and_few_labels() -> None:
    few = table([1] * 27 + [0] * 3, [1] * 27 + [0] * 3, [1, 0] * 50)
    got = tr.ppi(few)
    assert (got.status, got.exit_code, got.lam > 0) == ("labels-only", 0, True)
    assert "27 passes and 3 fails" in got.claim
    bounds = wilson(27, 30)
    assert (got.value, got.low, got.high) == pytest.approx(
        (0.9, float(bounds.low), float(bounds.high))
    )
    assert got.ppi_value != got.value
    less = tr.ppi(drawn(12, 100))
    assert (less.status, less.exit_code) == ("insufficient-data", 1)
    assert tr.ppi(table([1, 0] * 6, [1, 0] * 6, [1, 0] * 50), min_labels=12).status == "corrected"
    with pytest.raises(ArgumentError, match="1 labelled cases of the run"):
        tr.ppi(drawn(1, 10))
    trials = pl.concat([few, few])
    wide = tr.ppi(trials)
    assert wide.method == "labels, score-t"
    assert wide.low == pytest.approx(float(bounds.low), abs=0.02)


def test_a_judge_that_cannot_help_is_not_used() -> None:
    alone = tr.ppi(table([1, 0] * 20, [1, 0] * 20, []))
    assert (alone.lam, alone.unlabelled, alone.ppi_se) == (0.0, 0, alone.labels_se)
    assert "no unlabelled case" in alone.warnings[-1]
    constant = tr.ppi(table([1, 0] * 20, [1] * 40, [1] * 60))
    assert (constant.lam, constant.value) == (0.0, pytest.approx(0.5))
    wrong = tr.ppi(table([1, 0] * 20, [0, 1] * 20, [1, 0] * 60))
    assert wrong.lam == 0.0
    strata = tr.ppi(table([1, 0] * 20, [1] * 40, [1, 0] * 60), estimator="post-stratified")
    assert strata.lam == 0.0
    with pytest.raises(ArgumentError, match="one trial a case"):
        tr.ppi(
            pl.concat([drawn(40, 50), drawn(40, 50).with_columns(judge=1 - pl.col("judge"))]),
            estimator="post-stratified",
        )


def test_labels_that_are_no_random_part_are_noticed(golden: Any) -> None:
    for entry in golden("ppi_never_wider"):
        asked, wanted = entry["inputs"], entry["expected"]
        u = [1] * asked["f_unlabeled_ones"] + [0] * asked["f_unlabeled_zeros"]
        got = tr.ppi(table(asked["y"], asked["f_labeled"], u))
        assert got.ppi_se == pytest.approx(wanted["se_lambda_plugin_opt"], abs=1e-10)
        assert got.labels_se == pytest.approx(wanted["se_labels_only"], abs=1e-10)
        told = " ".join(got.warnings)
        assert "may be no random part: the judge's variance is 5.5 times" in told
        assert "the judge passes 50.0 % of them, 95.0 % else" in told
    assert tr.ppi(drawn(50, 200)).warnings == ()


def test_trials_of_a_case_count_once() -> None:
    rows = drawn(40, 100)
    one, three = tr.ppi(rows), tr.ppi(pl.concat([rows] * 3))
    assert (three.labelled, three.units) == (40, 140)
    assert three.value == pytest.approx(one.value)
    assert three.se == pytest.approx(one.se)
    # half of the trials labelled, half not: the case is one unit, on both sides
    both = pl.concat([rows, rows.with_columns(label=pl.lit(None, rows.schema["label"]))])
    mixed = tr.ppi(both)
    assert (mixed.labelled, mixed.unlabelled, mixed.units) == (40, 140, 140)


def test_clusters_hold_both_parts_together() -> None:
    rows = drawn(60, 140).with_columns(repo=pl.col("case") % 20)
    free, tied = tr.ppi(rows), tr.ppi(rows, cluster="repo")
    assert tied.units == 20
    assert tied.df <= 19
    assert tied.ppi_se <= tied.labels_se * (1 + 1e-12)
    # fitted to 20 clusters lambda fits their noise: the headline has that of independent cases
    assert tied.lam == pytest.approx(free.lam)
    assert tied.ppi_se <= tied.se <= tied.labels_se
    assert "few clusters, 20" in tied.warnings[-1]
    own = rows.with_columns(repo="case")
    assert tr.ppi(own, cluster="repo").se == pytest.approx(free.se)
    assert tr.ppi(own, cluster="repo").df == pytest.approx(free.df)


def test_bad_input() -> None:
    rows = drawn(40, 10)
    with pytest.raises(ArgumentError, match=r"tr\.ppi_difference"):
        tr.ppi(rows.with_columns(run=pl.col("case").cast(pl.String)), config="run")
    with pytest.raises(TrialsError, match="no row has both"):
        tr.ppi(rows.with_columns(label=pl.lit(None)))
    with pytest.raises(ColumnError, match="which column is the judge"):
        tr.ppi(rows.drop("judge"))
    with pytest.raises(ArgumentError, match="one judge at a time"):
        tr.ppi(rows.with_columns(strict="judge"), judge=["judge", "strict"])  # type: ignore[arg-type]
    for bad in ({"critical": "x"}, {"estimator": "ppi"}, {"min_labels": 1}, {"level": 2}):
        with pytest.raises(ArgumentError, match=next(iter(bad))):
            tr.ppi(rows, **bad)


def two_runs(seed: int = 0, n: int = 40, more: int = 60) -> pl.DataFrame:
    return pl.concat([drawn(n, more, seed, run="a"), drawn(n, more, seed + 1, run="b")])


def test_pairing_is_kept_and_sides_mirror() -> None:
    rows = two_runs()
    got = tr.ppi_difference(rows, "a", "b", config="run")
    back = tr.ppi_difference(rows, "b", "a", config="run")
    assert (got.design, got.paired_labels, got.df) == ("paired", 40, 39)
    assert (back.diff, back.low) == pytest.approx((-got.diff, -got.high))
    same = pl.concat([drawn(40, 60, 0, run="a"), drawn(40, 60, 0, run="b")])
    none = tr.ppi_difference(same, "a", "b", config="run")
    assert (none.diff, none.verdict, none.method) == (0.0, "inconclusive", "labels, tango")
    bounds = tango(0, 0, 40)
    assert (none.low, none.high) == pytest.approx((float(bounds.low), float(bounds.high)))


def test_mixed_designs_weigh_both_parts_and_share_nothing() -> None:
    pairs = two_runs()
    extra = [
        drawn(30, 20, 5 + i, run=run).with_columns(case=pl.col("case") + 1000 * (i + 1))
        for i, run in enumerate("ab")
    ]
    rows = pl.concat([pairs, *extra])
    got = tr.ppi_difference(rows, "a", "b", config="run")
    assert (got.design, got.paired_labels, got.baseline_labels) == ("mixed", 40, 30)
    ends = [tr.ppi_difference(part, "a", "b", config="run") for part in (pairs, pl.concat(extra))]
    judged = pairs.pivot("run", index="case", values="judge")
    spreads = [
        float((judged["b"] - judged["a"]).var()) / 40,
        sum(float(part["judge"].var()) / 30 for part in extra),
    ]
    weights = np.array([1 / spread for spread in spreads]) / sum(1 / spread for spread in spreads)
    assert got.paired_share == pytest.approx(weights[0])
    assert got.diff == pytest.approx(weights @ [end.ppi_diff for end in ends])
    assert got.se == pytest.approx(
        np.hypot(*(w * end.ppi_se for w, end in zip(weights, ends, strict=True)))
    )
    single = pl.concat([pairs, extra[0]])
    left = tr.ppi_difference(single, "a", "b", config="run")
    assert left.diff == pytest.approx(ends[0].ppi_diff)
    assert "50 cases with a label in one config only" in left.warnings[0]


def test_labels_on_different_cases_of_the_same_suite() -> None:
    rows = two_runs(n=0, more=120)
    rng = np.random.default_rng(1)
    truth = pl.Series(np.where(rng.random(240) < 0.9, rows["judge"].to_numpy(), 0))
    half = ((pl.col("case") < 60) == (pl.col("run") == "a")).alias("mine")
    rows = rows.with_columns(truth=truth).with_columns(
        label=pl.when(half).then(pl.col("truth")).otherwise(None)
    )
    got = tr.ppi_difference(rows, "a", "b", config="run")
    assert (got.design, got.paired_labels) == ("independent", 0)
    # every case is labelled in one run and unlabelled in the other: contributions are added
    apart = rows.with_columns(case=pl.col("case") + 1000 * (pl.col("run") == "b"))
    alone = tr.ppi_difference(apart, "a", "b", config="run")
    assert alone.diff == pytest.approx(got.diff)
    assert alone.se != pytest.approx(got.se, rel=1e-6)


def test_bad_differences() -> None:
    rows = two_runs()
    with pytest.raises(UnknownConfigError, match="no config 'c'"):
        tr.ppi_difference(rows, "a", "c", config="run")
    with pytest.raises(ArgumentError, match="are both 'a'"):
        tr.ppi_difference(rows, "a", "a", config="run")
    with pytest.raises(ArgumentError, match="0 labelled cases of the candidate"):
        tr.ppi_difference(
            rows.filter((pl.col("run") == "a") | pl.col("label").is_null()), "a", "b", config="run"
        )
    few = tr.ppi_difference(two_runs(n=12), "a", "b", config="run")
    assert (few.status, few.exit_code) == ("insufficient-data", 1)


def test_differences_without_spread_keep_a_width() -> None:
    good = table([1] * 39 + [0], [1] * 40, [1] * 60, run="a")
    apart = pl.concat([good, good.with_columns(case=pl.col("case") + 500, run=pl.lit("b"))])
    got = tr.ppi_difference(apart, "a", "b", config="run")
    assert (got.status, got.method, got.diff) == ("labels-only", "labels, newcombe", 0.0)
    bounds = newcombe(39, 40, 39, 40)
    assert (got.low, got.high) == pytest.approx((float(bounds.low), float(bounds.high)))
    same = pl.concat([good, good.with_columns(run=pl.lit("b"))] * 2)
    tied = tr.ppi_difference(same, "a", "b", config="run")
    assert (tied.design, tied.method) == ("paired", "labels, newcombe")
    assert tied.low < 0 < tied.high


def test_post_stratified_over_all_cases() -> None:
    rows = drawn(60, 90, seed=4)
    y, f = (rows.head(60)[name].to_numpy() for name in ("label", "judge"))
    rates = y[f == 1].mean(), y[f == 0].mean()
    every, alone = float(rows["judge"].mean()), float(rows.tail(90)["judge"].mean())
    over_all = tr.ppi(rows, estimator="post-stratified-all")
    over_rest = tr.ppi(rows, estimator="post-stratified")
    for found, share in ((over_all, every), (over_rest, alone)):
        assert found.ppi_value == pytest.approx((1 - share) * rates[1] + share * rates[0])
    assert over_all.method == "post-stratified-all"
    # the variance of the efficient estimator, n + N cases: V(E(y | f))/(n + N) + E(V(y | f))/n
    gap, spread = rates[0] - rates[1], float(np.var(f, ddof=1))
    rest = float(np.var(rows.tail(90)["judge"].to_numpy(), ddof=1))
    share = gap * 90 / 150
    wanted = share**2 * rest / 90 + float(np.var(y - share * f, ddof=1)) / 60
    assert over_all.ppi_se == pytest.approx(np.sqrt(wanted))
    near = gap**2 * spread / 150 + (float(np.var(y, ddof=1)) - gap**2 * spread) / 60
    assert wanted == pytest.approx(near, rel=0.05)
    assert any("'post-stratified-all'" in text for text in over_rest.warnings)
    assert not any("'post-stratified-all'" in text for text in over_all.warnings)


def test_a_chosen_estimator_that_loses_to_labels_says_so() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    rows = table(y, np.where(rng.random(60) < 0.9, y, 1 - y), [0, 1, 1])
    found = tr.ppi(rows, estimator="post-stratified")
    assert any("worse here than the labels alone" in text for text in found.warnings)
    calm = tr.ppi(rows, estimator="post-stratified-all")
    assert calm.ppi_se is not None
    assert calm.ppi_se <= calm.labels_se * 1.001  # type: ignore[operator]
