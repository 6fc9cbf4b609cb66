"""The summary: golden values, brute force, invariances, cautions and bad arguments."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError
from trialframe.schema import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 2)), min_size=1, max_size=12
)


def made(n: Any, c: Any, **columns: Any) -> tr.Counts:
    size = max(len(x) for x in (n, c) if isinstance(x, list))
    frame = pl.DataFrame({"case": [f"case {i:02d}" for i in range(size)]})
    return tr.Counts(
        frame.with_columns(
            n=pl.Series(n, dtype=pl.Int64) if isinstance(n, list) else pl.lit(n),
            c=pl.Series(c, dtype=pl.Int64),
            **columns,
        )
    )


def row(counts: tr.Counts, metric: str, **options: Any) -> dict[str, Any]:
    table = tr.summary(counts, metrics=metric, **options)
    assert table.height == 1
    return table.row(0, named=True)


def test_golden_case_means(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for method, name in (("pass_at_k_mean", "pass@"), ("pass_hat_k_mean", "pass^")):
        for entry in golden(method):
            n, c = (list(side) for side in zip(*entry["inputs"]["cases"], strict=True))
            got = row(made(n, c), f"{name}{entry['inputs']['k']}")
            assert got["value"] == pytest.approx(entry["expected"], abs=entry["tolerance"])


def test_golden_intervals_of_k_metrics(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for method, name in (("pass_at_k_ci_cases_clt", "pass@"), ("pass_hat_k_ci_cases_clt", "pass^")):
        for entry in golden(method):
            given, wanted = entry["inputs"], entry["expected"]
            got = row(made(given["n"], given["c"]), f"{name}{given['k']}")
            low, high = (min(max(bound, 0.0), 1.0) for bound in wanted["t_interval"])
            expected = [wanted["mean"], wanted["se"], low, high]
            found = [got[key] for key in ("value", "se", "low", "high")]
            assert found == pytest.approx(expected, abs=entry["tolerance"])
            assert (got["method"], got["estimand"]) == ("t-cr2", "cases")


def test_golden_rate_intervals(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("rate_interval_score_t"):
        n, c = (list(side) for side in zip(*entry["inputs"]["cases"], strict=True))
        got, wanted = row(made(n, c), "pass@1"), entry["expected"]
        assert [got["low"], got["high"]] == pytest.approx(wanted["interval"], abs=1e-9)
        assert [got["value"], got["se"], got["df"]] == pytest.approx(
            [wanted["mean"], wanted["se"], wanted["df"]], abs=1e-9
        )
    entry = golden("pass_at_1_interval_pooled_vs_clustered")[0]
    n, c = (list(side) for side in zip(*entry["inputs"]["cases"], strict=True))
    pooled, wanted = row(made(n, c), "pooled"), entry["expected"]
    assert [pooled["low"], pooled["high"]] == pytest.approx(wanted["wilson_pooled"], abs=1e-9)
    t = row(made(n, c), "pass@1", method="t")
    assert t["low"] == pytest.approx(wanted["t_interval"][0], abs=1e-9)


def test_golden_clustered_mean(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("clustered_mean_cr2"):
        scores, clusters = entry["inputs"]["scores"], entry["inputs"]["clusters"]
        if set(scores) - {0, 1}:
            continue
        counts = made([1] * len(scores), scores, cluster=pl.Series(clusters))
        got, wanted = row(counts, "pass@1"), entry["expected"]
        found = [got["value"], got["se"], got["df"], got["clusters"], got["largest_share"]]
        names = ("mean", "se_cr2", "df_satterthwaite", "n_clusters", "largest_share")
        assert found == pytest.approx([wanted[name] for name in names], abs=entry["tolerance"])
        assert row(counts, "pass@1", units="cases")["clusters"] == len(scores)
    cr1 = golden("clustered_se")[0]
    scores, clusters = cr1["inputs"]["scores"], cr1["inputs"]["clusters"]
    counts = made([1] * len(scores), [int(s) for s in scores], cluster=pl.Series(clusters))
    got = row(counts, "pass@1", method="cr1")
    assert got["se"] == pytest.approx(cr1["expected"]["se_cluster_cr1"], abs=1e-12)


def test_golden_short_case_policies(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("pass_at_k_short_case_policy"):
        given, wanted = entry["inputs"], entry["expected"]
        cases = given.get("cases") or [[given["n"], given["c"]]]
        n, c = (list(side) for side in zip(*cases, strict=True))
        name = f"pass@{given['k']}"
        for policy, expected in wanted.items():
            if policy == "error":
                with pytest.raises(ArgumentError):
                    row(made(n, c), name, short="raise")
                continue
            got = row(made(n, c), name, short=policy)
            if isinstance(expected, dict):
                assert (got["cases"], got["dropped"]) == (
                    expected["cases_used"],
                    expected["cases_excluded"],
                )
            value = expected["value"] if isinstance(expected, dict) else expected
            assert got["value"] == (None if value is None else pytest.approx(value))


def test_golden_bracket(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for entry in golden("unscored_bracket"):
        cases, wanted = entry["inputs"]["cases"], entry["expected"]
        unscored = pl.Series([case["unscored"] for case in cases])
        counts = made([x["n"] for x in cases], [x["c"] for x in cases], unscored=unscored)
        got = row(counts, entry["inputs"]["metric"])
        found = [got[k] for k in ("value", "bracket_low", "bracket_high", "coverage")]
        expected = [wanted[k] for k in ("value_exclude", "low", "high", "coverage")]
        assert found == pytest.approx(expected, abs=entry["tolerance"])
        assert (got["cases"], got["bracket_cases"]) == (wanted["cases"], wanted["bracket_cases"])
        assert got["identified_low"] <= got["bracket_low"]
        assert got["identified_high"] >= got["bracket_high"]


def test_golden_within_case_variance(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for method, name in (("pass_at_k", "pass@"), ("pass_hat_k", "pass^")):
        for entry in golden(f"{method}_within_case_variance_unbiased"):
            given = entry["inputs"]
            got = row(made([given["n"]], [given["c"]]), f"{name}{given['k']}", estimand="suite")
            assert got["se"] ** 2 == pytest.approx(entry["expected"], abs=1e-12)
            assert (got["estimand"], got["method"]) == ("suite", "unbiased-z")


def test_golden_reliability(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    entry = golden("reliability_at_k")[0]
    words = entry["inputs"]["statuses"]
    rows = {
        "case": ["x"] * len(words),
        "passed": [w in {"pass", "security_fail"} for w in words],
        "secure": [w != "security_fail" for w in words],
    }
    counts, k, wanted = tr.counts(rows), entry["inputs"]["k"], entry["expected"]
    names = {
        f"reliability@{k}": "reliability",
        f"secure_reliability@{k}": "security_adjusted",
        f"pass^{k}": "pass_hat_k_functional",
        f"secure_pass^{k}": "pass_hat_k_secure",
    }
    for name, key in names.items():
        assert row(counts, name)["value"] == pytest.approx(wanted[key], abs=1e-12)


def test_golden_bayes_at_n_and_beta_binomial(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    got = row(made([5, 5], [3, 4]), "pass@1", estimand="suite", method="bayes")
    assert got["value"] == pytest.approx((4 / 7 + 5 / 7) / 2)
    assert got["method"] == "bayes@n"
    for entry in golden("beta_binomial_fit"):
        given, wanted = entry["inputs"], entry["expected"]
        counts = made(given["n"], given["c"])
        fit = tr.beta_binomial(counts).row(0, named=True)
        assert fit["a"] == pytest.approx(wanted["alpha"], abs=entry["tolerance"])
        assert fit["loglik"] == pytest.approx(wanted["loglik"], abs=entry["tolerance"])
        for name, key in (("pass@", "pass_at_k"), ("pass^", "pass_hat_k")):
            for k, expected in wanted[key].items():
                got = row(counts, f"{name}{k}", method="beta-binomial", resamples=200)
                assert got["value"] == pytest.approx(expected, abs=entry["tolerance"])
                assert got["low"] <= got["value"] <= got["high"]
                assert "model-based" in got["warnings"]
    flat = row(made(10, [5] * 6), "pass@20", method="beta-binomial", resamples=200)
    assert flat["method"] == "binomial"
    assert row(made(10, [0] * 6), "pass@20", method="beta-binomial")["value"] is None
    assert row(made(1, [0, 1, 1]), "pass@2", method="beta-binomial")["value"] is None


@given(cases=CASES, k=st.integers(1, 5))
def test_values_and_brackets_match_fractions(cases: list[tuple[int, int, int]], k: int) -> None:
    cases = [(n, min(c, n), u) for n, c, u in cases]
    n, c, u = (list(side) for side in zip(*cases, strict=True))
    counts = made(n, c, unscored=pl.Series(u, dtype=pl.Int64))

    def mean(rows: list[tuple[int, int]], value: Callable[[int, int], Fraction]) -> float | None:
        used = [value(m, p) for m, p in rows if m >= k]
        return float(sum(used, Fraction()) / len(used)) if used else None

    def at(m: int, p: int) -> Fraction:
        return 1 - Fraction(comb(m - p, k), comb(m, k))

    def hat(m: int, p: int) -> Fraction:
        return Fraction(comb(p, k), comb(m, k))

    for name, value in ((f"pass@{k}", at), (f"pass^{k}", hat)):
        got = row(counts, name)
        wanted = {
            "value": mean([(a, b) for a, b, _ in cases], value),
            "bracket_low": mean([(a + x, b) for a, b, x in cases], value),
            "bracket_high": mean([(a + x, b + x) for a, b, x in cases], value),
        }
        for key, expected in wanted.items():
            assert got[key] == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert got["cases"] + got["dropped"] == len(cases)


@given(cases=CASES, seed=st.integers(0, 5))
def test_order_names_and_engine_do_not_matter(cases: list[tuple[int, int, int]], seed: int) -> None:
    n = [a for a, _, _ in cases]
    c = [min(a, b) for a, b, _ in cases]
    cluster = pl.Series([f"g{x}" for _, _, x in cases])
    counts = made(n, c, cluster=cluster)
    order = np.random.default_rng(seed).permutation(len(cases))
    shuffled = tr.Counts(counts.frame[order.tolist()])
    renamed = tr.Counts(counts.frame.with_columns(cluster=pl.col("cluster").str.replace("g", "z")))
    options: dict[str, Any] = {"metrics": ["pass@k", "pass^k", "flaky"], "k": [1, 2]}
    for method in ("default", "bootstrap"):
        base = tr.summary(counts, method=method, resamples=100, **options)
        for other in (shuffled, renamed):
            again = tr.summary(other, method=method, resamples=100, **options)
            assert_frame_equal(base, again, rel_tol=1e-12)


def test_equal_weights_change_nothing_and_weights_weigh() -> None:
    n, c = [5, 5, 4, 5], [5, 0, 2, 3]
    plain, even = made(n, c), made(n, c, weight=pl.lit(2.5))
    assert_frame_equal(tr.summary(plain), tr.summary(even), rel_tol=1e-12)
    heavy = row(made(n, c, weight=pl.Series([3.0, 1.0, 0.0, 0.0])), "pass@1")
    assert heavy["value"] == pytest.approx(0.75)
    assert heavy["clusters"] == 2


def test_estimates_are_made_within_groups() -> None:
    counts = made([4, 4, 4], [4, 2, 0], ease=pl.Series(["easy", "easy", None]))
    table = tr.summary(counts, metrics="pass@1", by="ease")
    assert table.select("ease", "value", "cases").rows() == [("easy", 0.75, 2), (None, 0.0, 1)]
    with pytest.raises(ColumnError, match=r"keep it with tr.counts\(..., by='lvl'\)"):
        tr.summary(counts, by="lvl")
    with pytest.raises(ColumnError, match="column 'level' of its own"):
        tr.summary(made([1], [1], level=pl.lit("easy")), by="level")


def test_the_table_has_the_documented_columns() -> None:
    counts = tr.counts(tr.simulate(configs=2, cases=5, trials=3, clusters=2, unscored=0.2))
    table = tr.summary(counts)
    assert table.schema == {c.name: c.dtype for c in SUMMARY}
    assert not table.select(pl.col(pl.Float64).is_nan().any()).to_numpy().any()


def test_default_k_runs_to_the_fewest_trials() -> None:
    assert tr.summary(made([4, 3], [1, 1]))["k"].drop_nulls().unique().sort().to_list() == [1, 2, 3]
    assert tr.summary(made([9, 0], [1, 0]))["k"].drop_nulls().unique().sort().to_list() == [
        1,
        2,
        4,
        8,
        9,
    ]


def test_a_config_without_scored_trials_is_null_not_zero() -> None:
    table = tr.summary(made([0, 0], [0, 0], unscored=pl.lit(3)), metrics=["pass@1", "flaky"])
    assert table["value"].to_list() == [None, None]
    assert table["warnings"].to_list() == ["no case has a value"] * 2
    assert table.select("bracket_low", "bracket_high").row(0) == (0.0, 1.0)


def test_suite_needs_two_k_trials_in_every_case() -> None:
    counts = made([4, 3], [2, 1])
    assert row(counts, "pass@2", estimand="suite")["se"] is None
    assert row(counts, "pass@1", estimand="suite")["se"] == pytest.approx(
        np.sqrt(0.25 / 3 + (2 / 9) / 2) / 2
    )


def test_cost_per_pass_is_a_ratio_of_means() -> None:
    rows = {"case": ["x", "x", "y", "y"], "passed": [True, False, True, True]}
    counts = tr.counts(rows | {"cost_uusd": [10, 20, 30, None]})
    assert row(counts, "cost_uusd")["value"] == pytest.approx((15 + 30) / 2)
    got = row(counts, "cost_uusd_per_pass")
    assert got["value"] == pytest.approx((15 + 30) / 2 / 0.75)
    assert got["unit"] == "micro-dollars"
    nobody = tr.counts(rows | {"passed": [False] * 4, "cost_uusd": [1, 2, 3, 4]})
    assert row(nobody, "cost_uusd_per_pass")["value"] is None


def test_cost_per_pass_interval_covers() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(300):
        rate = rng.beta(2, 2, 60)
        passes = rng.binomial(4, rate)
        spent = np.round(100 * (2 - rate) * 4).astype(int)
        known = {"cost_uusd_n": pl.lit(4), "cost_uusd_sumsq": pl.lit(0.0)}
        counts = made(4, passes.tolist(), cost_uusd_sum=pl.Series(spent), **known)
        got = row(counts, "cost_uusd_per_pass")
        hits += got["low"] <= 150 / 0.5 <= got["high"]
    assert 0.9 <= hits / 300 <= 0.99


def test_outcome_shares_add_up_to_one() -> None:
    rows = {
        "case": list("xxxxyyyy"),
        "passed": [True, True, False, None, None, False, True, None],
        "outcome": ["ok", "timeout", "timeout", "timeout", "infra", None, None, None],
    }
    table = tr.summary(tr.counts(rows), metrics="outcomes")
    assert dict(table.select("metric", "value").rows()) == {
        "share[fail]": 1 / 8,
        "share[fail: timeout]": 1 / 8,
        "share[pass]": 3 / 8,
        "share[unscored]": 1 / 8,
        "share[unscored: infra]": 1 / 8,
        "share[unscored: timeout]": 1 / 8,
    }
    with pytest.raises(ColumnError, match="outcome shares need an outcome column"):
        tr.summary(tr.counts(rows, outcome=None), metrics="outcomes")


def test_cautions_name_what_weakens_a_number() -> None:
    few = row(made([1] * 4, [1, 0, 1, 1], cluster=pl.Series(list("aaab"))), "pass@1")
    for text in ("small suite: 4 cases", "few clusters: 2", "one cluster holds 75%"):
        assert text in few["warnings"]
    flat = tr.summary(made(3, [3] * 30), metrics=["pass@1", "pooled", "flaky"])
    assert "no spread between cases" in flat["warnings"][0]
    assert "trials taken as independent" in flat["warnings"][1]
    once = row(made(1, [1, 0] * 15), "flaky")
    assert "one trial per case cannot show flakiness" in once["warnings"]
    rollouts = row(made(4, [1, 0] * 15), "reliability@2")
    assert "fewer than 5 rollouts" in rollouts["warnings"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k == 0, must be an integer >= 1"),
        ({"k": [1, 2.5]}, "k == 2.5, must be an integer"),
        ({"k": True}, "k == True"),
        ({"k": "3"}, "k == '3'"),
        ({"k": []}, "at least one integer"),
        ({"metrics": "pass@0"}, "k of 'pass@0' == 0"),
        ({"metrics": "pas@1"}, "Did you mean 'pass@1'"),
        ({"metrics": "g_pass@k_tau"}, "no metric"),
        ({"metrics": [3]}, "metrics == "),
        ({"level": 1.0}, r"level == 1.0, must be in \(0, 1\)"),
        ({"method": "wald"}, "method == 'wald'"),
        ({"method": "score", "metrics": "cost_uusd"}, "not defined for 'cost_uusd'"),
        ({"method": "bayes", "metrics": "pass@1"}, "not defined for 'pass@1'"),
        ({"estimand": "population"}, "estimand"),
        ({"short": "drop"}, "short"),
        ({"units": "repos"}, "units"),
        ({"resamples": 10}, "resamples == 10"),
        ({"seed": -1}, "seed == -1"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        tr.summary(made([3, 3], [1, 2]), **options)


def test_nothing_is_claimed_without_trials_or_with_one_unit() -> None:
    nothing = row(made([0, 0], [0, 0]), "pass@1", estimand="suite", method="bayes")
    assert [nothing[k] for k in ("value", "se", "low", "high")] == [None] * 4
    one = made(3, [0, 1, 3], cluster=pl.lit("only"))
    got = row(one, "pass@5", method="beta-binomial", resamples=100)
    assert got["value"] is not None
    assert [got[k] for k in ("se", "low", "high")] == [None] * 3


def test_a_k_beyond_all_trials_says_so() -> None:
    got = row(made([4, 3], [1, 1]), "pass@9")
    assert got["warnings"] == "no case has 9 trials, the most is 4"


def test_names_are_canonical_and_amounts_not_negative() -> None:
    assert tr.summary(made([4, 3], [1, 1]), metrics="pass@01")["metric"].to_list() == ["pass@1"]
    rows = {"case": ["x", "y"], "passed": [True, True], "cost_uusd": [1, 1000]}
    got = row(tr.counts(rows), "cost_uusd")
    assert (got["low"], got["value"] > 0) == (0.0, True)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "bayes"},
        {"method": "t", "estimand": "suite"},
        {"metrics": []},
        {"resamples": 10**12},
        {"metrics": "pass@\u0663"},
    ],
)
def test_what_is_not_defined_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        tr.summary(made([3, 3], [1, 2]), **options)


def test_only_counts_are_summarised() -> None:
    with pytest.raises(ArgumentError, match=r"call tr.counts\(...\) first"):
        tr.summary(pl.DataFrame({"n": [1]}))  # type: ignore[arg-type]
    with pytest.raises(tr.TrialframeError, match="no rows"):
        tr.summary(
            tr.Counts(
                pl.DataFrame({"case": [], "n": [], "c": []}).cast(
                    {"case": pl.String, "n": pl.Int64, "c": pl.Int64}
                )
            )
        )
