"""Ratios, margins, groups, columns that must agree, other intervals and tests, fragility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import trialframe as tr
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def sides(first: Any, second: Any, trials: int = 1, **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame({"config": name, "n": trials, "c": np.asarray(passes)}).with_columns(
            pl.format("case {}", pl.int_range(pl.len()).cast(pl.String).str.zfill(4)).alias("case"),
            **columns,
        )
        for name, passes in (("a", first), ("b", second))
    ]
    return tr.Counts(pl.concat(frames))


def drawn(seed: int, cases: int, trials: int = 4, lift: float = 0.1, **columns: Any) -> tr.Counts:
    rng = np.random.default_rng(seed)
    rate = rng.beta(2, 2, cases)
    first = rng.binomial(trials, rate)
    second = rng.binomial(trials, np.minimum(rate + lift, 1))
    return sides(first, second, trials, **columns)


def groups_of(size: int) -> pl.Expr:
    return pl.format("g{}", pl.int_range(pl.len()) // size)


# intervals


def test_bca_golden_through_compare(golden: Golden) -> None:
    for entry in golden("bca_exact"):
        d = entry["inputs"]["d"]
        first = [int(x < 0) for x in d]
        counts = sides(first, [a + x for a, x in zip(first, d, strict=True)])
        got = tr.compare(counts, "a", "b", interval="bca", resamples=100_000)
        assert (got.low, got.high) == pytest.approx(entry["expected"]["interval"], abs=1e-9)
        boot = got.bootstrap
        assert boot is not None
        assert (boot.low, boot.high) == pytest.approx(
            entry["expected"]["percentile_interval"], abs=1e-9
        )


@pytest.mark.parametrize("method", ["t", "score", "bootstrap", "bca", "studentised"])
def test_an_interval_can_be_asked_for_before_and_after(method: str) -> None:
    counts = drawn(1, 60, cluster=groups_of(3))
    got = tr.compare(counts, "a", "b", interval=method, level=0.9)
    later = tr.compare(counts, "a", "b").interval(0.9, method)
    assert (later.low, later.high, later.method) == (got.low, got.high, got.method)


@pytest.mark.parametrize("name", ["percentile", "BCa"])
def test_bootstrap_intervals_agree_with_scipy(name: str) -> None:
    counts = drawn(5, 80)
    got = tr.compare(counts, "a", "b", interval=name.lower().replace("percentile", "bootstrap"))
    d = got.pairs["diff"].to_numpy()
    made = stats.bootstrap((d,), np.mean, method=name, n_resamples=20_000, rng=1)
    ends = made.confidence_interval
    atom = 1 / (4 * 80)  # both are steps of the means that 80 quarters can have
    assert (got.low, got.high) == pytest.approx((ends.low, ends.high), abs=1.01 * atom)


def test_paired_binary_intervals_want_one_trial_a_side() -> None:
    with pytest.raises(ArgumentError, match="one trial a case"):
        tr.compare(drawn(1, 30), "a", "b", interval="tango")
    first, second = [1] * 20 + [0] * 10, [1] * 15 + [0] * 5 + [1] * 10
    counts = sides(first, second, cluster=groups_of(3))
    got = tr.compare(counts, "a", "b", interval="wald+2")
    assert got.method == "wald+2"
    assert "clusters are ignored by the methods that were asked for" in got.warnings
    assert got.tango is not None
    assert got.tango.ignores_clusters


# tests


def test_the_sign_flip_is_scipys_permutation_of_samples() -> None:
    for seed in range(4):
        got = tr.compare(drawn(seed, 11, trials=3), "a", "b")
        d = got.pairs["diff"].to_numpy()
        # sign flips of the differences are swaps within pairs
        made = stats.permutation_test(
            (d, -d),
            lambda x, y, axis: np.round(np.mean(x - y, axis=axis), 9),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert got.pvalue == pytest.approx(made.pvalue, abs=1e-12)


def test_mcnemar_is_that_of_statsmodels() -> None:
    for seed in range(5):
        counts = drawn(seed, 60, trials=1)
        exact = tr.compare(counts, "a", "b", test="mcnemar")
        assert exact.majority is not None
        b, c = exact.majority.only_baseline, exact.majority.only_candidate
        wanted = mcnemar([[0, b], [c, 0]], exact=True).pvalue
        assert exact.pvalue == exact.mcnemar == pytest.approx(wanted, abs=1e-12)
        mid = tr.compare(counts, "a", "b", test="mid-p")
        wanted = min(1.0, 2 * stats.binom.cdf(min(b, c), b + c, 0.5)) if b != c else 1.0
        assert mid.pvalue == pytest.approx(wanted - stats.binom.pmf(b, b + c, 0.5) * (b != c))
        assert "mid-p" in str(mid.test)


def test_never_significant_with_fewer_than_six_changes() -> None:
    counts = sides([0] * 5 + [1] * 40, [1] * 45)
    got = tr.compare(counts, "a", "b", test="mid-p")
    assert got.pvalue is not None
    assert got.pvalue < 0.05
    assert got.verdict == "inconclusive"
    assert "5 changed cases: fewer than 6 can never be significant" in got.warnings


# ratios


def test_the_ratio_is_the_delta_method() -> None:
    counts = drawn(3, 90)
    got = tr.compare(counts, "a", "b", effect="ratio")
    a, b = (got.pairs[f"value_{side}"].to_numpy() for side in ("baseline", "candidate"))
    cov = np.cov(a, b) / len(a)
    ma, mb = a.mean(), b.mean()
    se = np.sqrt(cov[0, 0] / ma**2 + cov[1, 1] / mb**2 - 2 * cov[0, 1] / (ma * mb))
    reach = stats.t.ppf(0.975, len(a) - 1) * se
    assert got.ratio is not None
    assert got.ratio.value == pytest.approx(mb / ma)
    assert got.ratio.low == pytest.approx(mb / ma * np.exp(-reach))
    assert got.ratio.high == pytest.approx(mb / ma * np.exp(reach))
    assert "of the baseline's pass@1" in got.claim


def test_ratios_of_swapped_sides_are_reciprocal() -> None:
    counts = drawn(3, 40, cluster=groups_of(4))
    there, back = (
        tr.compare(counts, *names, effect="ratio").ratio for names in (("a", "b"), ("b", "a"))
    )
    assert there is not None
    assert back is not None
    assert there.low is not None
    assert there.value * back.value == pytest.approx(1)
    assert there.low * (back.high or 0) == pytest.approx(1)


def test_a_ratio_to_nothing_has_no_verdict() -> None:
    got = tr.compare(sides([0] * 30, [1] * 30), "a", "b", effect="ratio")
    assert got.ratio is None
    assert got.verdict == "inconclusive"
    assert "no ratio" in got.claim
    with pytest.raises(ArgumentError, match="log scale only"):
        tr.compare(sides([0] * 30, [1] * 30), "a", "b", effect="ratio", interval="bca")


# margins


def test_equivalence_needs_both_directions() -> None:
    same = drawn(7, 4000, trials=5, lift=0.0)
    got = tr.compare(same, "a", "b", margin=0.03)
    assert got.equivalence is not None
    assert got.equivalence.holds
    assert "excluded in both directions" in got.claim
    better = tr.compare(drawn(7, 1500, trials=5, lift=0.1), "a", "b", margin=0.05)
    assert better.non_inferiority is not None
    assert better.non_inferiority.holds
    assert better.equivalence is not None
    assert not better.equivalence.holds
    worse = tr.compare(drawn(7, 1500, trials=5, lift=0.1), "b", "a", margin=0.05)
    assert worse.non_inferiority is not None
    assert not worse.non_inferiority.holds


@pytest.mark.parametrize("interval", ["default", "bootstrap", "bca", "studentised"])
def test_ties_never_certify_anything(interval: str) -> None:
    got = tr.compare(sides([1] * 20, [1] * 20), "a", "b", margin=0.05, interval=interval)
    assert got.non_inferiority is not None
    assert not got.non_inferiority.holds
    several = tr.compare(sides([3] * 20, [3] * 20, 3), "a", "b", margin=0.05, interval=interval)
    assert several.non_inferiority is not None
    assert several.non_inferiority.decided_by == "share of worse cases"
    assert not several.non_inferiority.holds


def test_a_relative_margin_is_a_share_of_the_baseline() -> None:
    counts = drawn(11, 800, trials=5, lift=0.0)
    got = tr.compare(counts, "a", "b", effect="ratio", margin=0.10)
    assert got.non_inferiority is not None
    assert got.ratio is not None
    assert got.non_inferiority.holds
    assert got.non_inferiority.bound == got.ratio.low
    assert "of the baseline is" in got.claim or "of the baseline is excluded" in got.claim


# groups


def test_groups_are_comparisons_of_their_cases() -> None:
    counts = drawn(2, 90, suite=groups_of(30))
    got = tr.compare(counts, "a", "b", by="suite").groups
    assert got is not None
    for row in got.iter_rows(named=True):
        part = tr.Counts(counts.frame.filter(suite=row["suite"]))
        alone = tr.compare(part, "a", "b")
        for name in ("cases", "diff", "se", "low", "high", "pvalue", "wins", "losses"):
            assert row[name] == getattr(alone, name)
    wanted = multipletests(got["pvalue"].to_numpy(), method="holm")[1]
    np.testing.assert_allclose(got["pvalue_holm"].to_numpy(), wanted)


def test_groups_need_a_column_that_both_sides_share() -> None:
    counts = drawn(2, 30, suite=groups_of(10))
    with pytest.raises(ArgumentError, match=r"no column 'suit'.*'suite'"):
        tr.compare(counts, "a", "b", by="suit")
    own = tr.Counts(counts.frame.with_columns(tool=pl.col("config")))
    with pytest.raises(ArgumentError, match="agrees on both"):
        tr.compare(own, "a", "b", by="tool")


# columns that must agree


def test_what_was_not_measured_alike_is_not_compared() -> None:
    frame = drawn(2, 30, judge=pl.lit("v1")).frame
    counts = tr.Counts(frame)
    assert tr.compare(counts, "a", "b", same="judge").verdict != "not comparable"
    newer = pl.when((pl.col("config") == "b") & (pl.col("case") > "case 0019")).then(pl.lit("v2"))
    other = tr.Counts(frame.with_columns(judge=newer.otherwise("judge")))
    got = tr.compare(other, "a", "b", same=["judge"])
    assert (got.verdict, got.moved) == ("not comparable", ("judge",))
    assert "judge in 10 of them" in got.claim
    assert (got.diff, got.pvalue, got.bootstrap) == (None, None, None)
    assert got.to_frame()["verdict"].to_list() == ["not comparable"]
    with pytest.raises(ArgumentError, match="no pairs"):
        got.interval()
    with pytest.raises(ArgumentError, match=r"by=\['scorer'\]"):
        tr.compare(counts, "a", "b", same="scorer")


# fragility


def test_what_is_left_without_a_part_is_the_comparison_of_the_rest() -> None:
    counts = drawn(4, 60, cluster=groups_of(10), suite=groups_of(20))
    got = tr.compare(counts, "a", "b")
    rest = got.fragility("suite")
    assert rest["kind"].value_counts().sort("kind").rows() == [("cluster", 6), ("suite", 3)]
    for row in rest.iter_rows(named=True):
        kept = tr.Counts(counts.frame.filter(pl.col(row["kind"]) != row["left_out"]))
        alone = tr.compare(kept, "a", "b")
        assert row["diff"] == pytest.approx(alone.diff)
        assert (row["low"], row["pvalue"], row["verdict"]) == (
            pytest.approx(alone.low),
            pytest.approx(alone.pvalue),
            alone.verdict,
        )
    shares = rest.filter(kind="cluster")["share"]
    assert shares.sum() == pytest.approx(1)
    assert got.largest_unit == rest["left_out"][0]
    assert got.largest_unit_share == pytest.approx(rest["share"][0])


def test_one_cluster_that_carries_the_difference_is_named() -> None:
    first = np.tile([1, 0, 1, 0], 30)
    second = first.copy()
    second[:20] = 1
    second[[30, 40, 60, 80, 100, 50, 70]] ^= 1
    counts = sides(first, second, cluster=groups_of(20))
    got = tr.compare(counts, "a", "b", units="cases")
    assert not any("carries" in text for text in got.warnings)
    whole = tr.compare(counts, "a", "b")
    assert any("cluster 'g" in text and "carries" in text for text in whole.warnings)


# what the trials tell


def timed(*, apart: bool) -> pl.DataFrame:
    trials = tr.simulate(configs=["a", "b"], cases=30, trials=3, seed=1)
    late = (pl.col("config") == "b").cast(pl.Int64) * (100 if apart else 0)
    return trials.with_columns(
        started_at=pl.lit("2026-01-01").str.to_datetime(time_unit="us", time_zone="UTC")
        + pl.duration(minutes=late + pl.col("trial"))
    )


def test_runs_that_were_not_interleaved_are_said() -> None:
    trials = timed(apart=True)
    got = tr.compare(tr.counts(trials), "a", "b", trials=trials)
    assert got.evidence is not None
    assert got.evidence.started_later == 1.0
    assert any("runs are not interleaved" in text for text in got.warnings)
    mixed = timed(apart=False)
    fine = tr.compare(tr.counts(mixed), "a", "b", trials=mixed)
    assert fine.evidence is not None
    assert fine.evidence.started_later == pytest.approx(0.5)
    assert not any("interleaved" in text for text in fine.warnings)


def test_shared_seeds_and_contexts_are_said() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=30, trials=3, seed=1)
    trials = trials.with_columns(seed=pl.lit("7"), context=pl.col("trial").cast(pl.String))
    got = tr.compare(tr.counts(trials), "a", "b", trials=trials.lazy())
    assert got.evidence is not None
    assert (got.evidence.same_seed, got.evidence.same_context) == (30, 0)
    assert any("share a seed" in text for text in got.warnings)


def test_worst_runs_are_of_runs_that_have_every_case() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=30, trials=3, seed=1)
    got = tr.compare(tr.counts(trials), "a", "b", trials=trials).evidence
    rates = trials.group_by("config", "trial").agg(pl.col("passed").mean())
    least = dict(rates.group_by("config").agg(pl.col("passed").min()).rows())
    assert got is not None
    assert got.worst_run_baseline == pytest.approx(least["a"])
    assert got.worst_run_candidate == pytest.approx(least["b"])
    one = trials.filter((pl.col("trial") == 0) | (pl.col("case") != trials["case"][0]))
    few = tr.compare(tr.counts(one), "a", "b", trials=one).evidence
    assert few is not None
    assert few.worst_run_baseline is None
    with pytest.raises(ArgumentError, match="one row per case"):
        tr.compare(tr.counts(trials), "a", "b", trials=tr.counts(trials).frame)


# words


def test_status_says_what_it_would_take() -> None:
    assert tr.compare(sides([0] * 5, [1] * 5), "a", "b").status.startswith("untestable: 5 cases")
    counts = sides([0] * 8 + [1] * 92, [1] * 5 + [0] * 3 + [1] * 92)
    got = tr.compare(counts, "a", "b", interval="t")
    found = int(got.status.removeprefix("unresolved: needs about ").split()[0].replace(",", ""))
    assert got.se is not None
    assert got.diff is not None
    need = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * got.se**2 * 100 / got.diff**2
    assert need - 100 <= found <= (need - 100) * 1.1 + 1
    assert tr.compare(sides([1] * 30, [1] * 30), "a", "b").status == (
        "unresolved: no difference was seen"
    )
    assert tr.compare(sides([0] * 30, [1] * 30), "a", "b").status == "resolved"


def test_the_claim_is_the_same_wherever_it_appears() -> None:
    got = tr.compare(drawn(3, 60), "a", "b")
    assert got.claim in repr(got)
    assert got.to_dict()["claim"] == got.to_frame()["claim"][0] == got.claim
    assert "pairs" not in got.to_dict()


@pytest.mark.parametrize(
    "options",
    [
        {"effect": "odds"},
        {"interval": "wald"},
        {"test": "t"},
        {"margin": 0.0},
        {"margin": -0.1},
        {"margin": 1.5, "effect": "ratio"},
        {"level": 1.0},
        {"level": float("nan")},
        {"units": "rows"},
        {"resamples": 1},
        {"seed": -1},
        {"by": 3},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        tr.compare(drawn(1, 20), "a", "b", **options)


# two headline numbers


def test_headline_numbers_are_newcombes_interval() -> None:
    got = tr.compare_rates("56/70", "48/80")
    assert (got.low, got.high) == pytest.approx((-0.3339, -0.0524), abs=5e-5)  # Newcombe 1998, 10
    assert got.verdict == "worse"
    z = (48 / 80 - 56 / 70) / np.sqrt(104 / 150 * 46 / 150 * (1 / 70 + 1 / 80))
    assert got.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert "unpaired" in got.claim


def test_headline_numbers_as_people_write_them() -> None:
    wanted = tr.compare_rates("900/1000", "894/1000", margin=0.04)
    for one, two in (("0.90/1000", "0.894/1000"), ("90%/1000", "89.4 % / 1000")):
        assert tr.compare_rates(one, two, margin=0.04) == wanted
    assert tr.compare_rates((0.9, 1000), (894, 1000), margin=0.04) == wanted
    assert wanted.non_inferior
    assert tr.compare_rates("0/10", "0/10").pvalue == 1.0
    assert tr.compare_rates("0.333/30", "1/1").baseline_passes == 10


@pytest.mark.parametrize(
    "given",
    [
        "0.95/10",
        "x",
        "",
        "2.0/10",
        "11/10",
        "3/0",
        "-1/5",
        "nan/5",
        3,
        (True, 3),
        (0.5,),
        (0.5, 2.0),
    ],
)
def test_headlines_that_cannot_be_are_refused(given: Any) -> None:
    with pytest.raises(ArgumentError, match="baseline"):
        tr.compare_rates(given, "1/2")


# what must not be certified


def uneven(first: Any, second: Any, n_a: Any, n_b: Any, **columns: Any) -> tr.Counts:
    one, two = (
        pl.DataFrame({"config": name, "n": n, "c": c}).with_columns(
            pl.format("case {}", pl.int_range(pl.len()).cast(pl.String).str.zfill(4)).alias("case"),
            **columns,
        )
        for name, n, c in (("a", n_a, first), ("b", n_b, second))
    )
    return tr.Counts(pl.concat([one, two]))


def test_a_test_that_points_the_other_way_makes_no_verdict() -> None:
    # b wins 20 majorities by a little and loses everywhere else
    counts = sides([1] * 20 + [3] * 60, [2] * 20 + [2] * 60, 3)
    got = tr.compare(counts, "a", "b", test="mcnemar")
    assert got.pvalue is not None
    assert got.pvalue < 0.05
    assert got.diff is not None
    assert got.diff < 0
    assert got.verdict == "inconclusive"


def test_rounding_of_scores_is_no_difference() -> None:
    trials = pl.DataFrame(
        {
            "config": ["a"] * 60 + ["b"] * 20,
            "case": [f"{i // 3:02d}" for i in range(60)] + [f"{i:02d}" for i in range(20)],
            "score": [0.1] * 80,
        }
    )
    got = tr.compare(tr.counts(trials, threshold=0.05), "a", "b", metric="score")
    assert (got.diff, got.losses, got.pvalue) == (0.0, 0, 1.0)


@pytest.mark.parametrize("metric", ["pass@1", "pass@2"])
def test_weights_and_k_keep_the_guard_of_unequal_trials(metric: str) -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    trials = 1 if metric == "pass@1" else 2
    weight = pl.Series([1.0] * 9 + [1.001])
    for _ in range(120):
        first, second = rng.binomial(trials, 0.9, 10), rng.binomial(10, 0.9, 10)
        counts = uneven(first, second, trials, 10, weight=weight)
        got = tr.compare(counts, "a", "b", metric=metric, resamples=100)
        assert got.permutation is not None
        wrong += got.verdict != "inconclusive"
    assert wrong <= 120 * 0.05 + 3 * np.sqrt(120 * 0.05 * 0.95)


@pytest.mark.parametrize("trials", [1, 3])
def test_ties_certify_no_ratio(trials: int) -> None:
    got = tr.compare(sides([1] * 20, [1] * 20, trials), "a", "b", effect="ratio", margin=0.05)
    assert got.non_inferiority is not None
    assert got.equivalence is not None
    assert not got.non_inferiority.holds
    assert not got.equivalence.holds


def test_regression_to_the_mean_blocks_every_claim() -> None:
    first = pl.DataFrame({"config": "a", "case": [f"{i:02d}" for i in range(40)], "n": 3})
    first = first.with_columns(
        c=pl.when(pl.col("case") < "20").then(0).otherwise(3).cast(pl.Int64), kind=pl.lit("x")
    )
    second = first.filter(pl.col("c") == 0).with_columns(config=pl.lit("b"), c=pl.lit(2, pl.Int64))
    got = tr.compare(tr.Counts(pl.concat([first, second])), "a", "b", by="kind", margin=0.1)
    assert got.only_failures
    assert got.groups is not None
    assert got.groups["verdict"].to_list() == ["inconclusive"]
    assert set(got.fragility("kind")["verdict"].drop_nulls()) == {"inconclusive"}
    assert got.non_inferiority is not None
    assert not got.non_inferiority.holds


def test_a_margin_in_points_is_refused() -> None:
    with pytest.raises(ArgumentError, match="margin"):
        tr.compare(drawn(1, 20), "a", "b", margin=5)


def test_names_of_the_pairs_and_of_the_groups_can_be_taken() -> None:
    columns = {"n_baseline": groups_of(10), "method": groups_of(10), "cases": groups_of(15)}
    added = {name: made.over("config") for name, made in columns.items()}
    counts = tr.Counts(drawn(2, 30).frame.with_columns(**added))
    got = tr.compare(counts, "a", "b")
    assert "n_baseline" in got.pairs.columns
    assert got.pairs["n_baseline"].dtype == pl.Int64
    assert got.fragility("cases")["kind"].to_list()[-2:] == ["cases", "cases"]
    with pytest.raises(ArgumentError, match="column of the result"):
        tr.compare(counts, "a", "b", by="method")
    with pytest.raises(ArgumentError, match="none of the pairs' own"):
        tr.compare(counts, "a", "b", by="n_baseline")


def test_the_scale_of_weights_changes_nothing() -> None:
    made = []
    for scale in (1.0, 1e160, 1e-170):
        weight = pl.Series([scale] * 10 + [2 * scale] * 20)
        got = tr.compare(drawn(2, 30, weight=weight), "a", "b")
        made.append((got.diff, got.se, got.low, got.high, got.pvalue))
        assert any("weights are ignored" in text for text in got.warnings)
    assert made[0] == pytest.approx(made[1])
    assert made[0] == pytest.approx(made[2])


def test_many_trial_counts_and_huge_ones_are_drawn() -> None:
    n = np.arange(1, 721)
    got = tr.compare(uneven(n // 2, n // 3, n, n[::-1].copy() + 720), "a", "b", resamples=100)
    assert got.pvalue is not None
    assert not got.exact
    huge = np.full(8, 10**12)
    made = tr.compare(uneven(huge // 2, huge // 4, huge, huge * 2), "a", "b", resamples=100)
    assert made.verdict == "worse"


def test_what_is_left_out_and_has_no_width_is_said() -> None:
    got = tr.compare(sides([1] * 20, [2] * 20, 3), "a", "b")
    assert "all differences are equal: the interval has no width" in got.warnings
    frame = drawn(1, 30).frame
    part = tr.Counts(
        frame.with_columns(
            n=pl.when((pl.col("config") == "a") & (pl.col("case") < "case 0004"))
            .then(0)
            .otherwise("n"),
            c=pl.when((pl.col("config") == "a") & (pl.col("case") < "case 0004"))
            .then(0)
            .otherwise("c"),
        )
    )
    assert any("4 shared cases without" in text for text in tr.compare(part, "a", "b").warnings)


def test_the_score_interval_knows_the_ends() -> None:
    rng = np.random.default_rng(2)
    inside = {"t": 0, "score": 0}
    runs = 150
    for _ in range(runs):
        a, b = rng.binomial(5, 0.95, 10), rng.binomial(5, 0.9, 10)
        got = tr.compare(sides(a, b, 5), "a", "b", resamples=100)
        for method in inside:
            made = got.interval(method=method)
            assert made.low is not None
            assert made.high is not None
            assert -1 <= made.low <= made.high <= 1
            inside[method] += made.low <= -0.05 <= made.high
    assert inside["score"] >= inside["t"]
    assert inside["score"] / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    counts = tr.counts(tr.simulate(configs=["a", "b"], cases=20, trials=3, cost_uusd=9, seed=1))
    with pytest.raises(ArgumentError, match=r"metrics in \[0, 1\]"):
        tr.compare(counts, "a", "b", metric="cost_uusd", interval="score")


def test_a_claim_from_few_units_is_called_weak() -> None:
    rng = np.random.default_rng(4)
    rate = rng.beta(2, 2, 30)
    few = sides(rng.binomial(400, rate), rng.binomial(400, rate), 400)
    got = tr.compare(few, "a", "b", margin=0.05)
    assert got.non_inferiority is not None
    assert got.non_inferiority.holds
    assert any("fewer than 72 independent units" in text for text in got.warnings)
