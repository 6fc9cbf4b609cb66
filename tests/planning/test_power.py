"""Planning: golden values, pilots and assumptions, inverses, refusals, a simulation."""

from __future__ import annotations

from html import unescape
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, TrialframeError, TrialsError
from trialframe.kernels.intervals import t_interval
from trialframe.kernels.means import clustered_mean
from trialframe.kernels.planning import t_power
from trialframe.kernels.signflip import rate_test
from trialframe.planning.exact import fewest_changes

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str], list[dict[str, Any]]]


def pilot(seed: int = 2, trials: Any = 4, **more: Any) -> tr.Counts:
    """A pilot of two configs."""
    made = tr.simulate(
        configs=["base", "new"], cases=150, trials=trials, lift=0.05, seed=seed, **more
    )
    return tr.counts(made)


def test_mcnemar_power_golden(golden: Golden) -> None:
    for entry in golden("mcnemar_exact_power"):
        g, wanted = entry["inputs"], entry["expected"]
        found = tr.power(
            effect=g["p_only_b"] - g["p_only_a"],
            cases=g["n"],
            test="mcnemar",
            discordance=g["p_only_a"] + g["p_only_b"],
            alpha=g["alpha"],
        )
        assert found.power == pytest.approx(wanted["power_two_sided"], abs=entry["tolerance"])


def test_mcnemar_mde_golden(golden: Golden) -> None:
    for entry in golden("mcnemar_mde"):
        g, wanted = entry["inputs"], entry["expected"]
        for name, psi in (("fixed_discordance_0_2", 0.2), ("fixed_discordance_0_4", 0.4)):
            found = tr.mde(
                cases=g["n"], power=g["power"], alpha=g["alpha"], test="mcnemar", discordance=psi
            )
            near = entry["tolerance"]
            assert found.effect == (
                None if wanted[name] is None else pytest.approx(wanted[name], abs=near)
            )
            best = wanted["one_directional_pb_0"]
            assert found.best_case == (None if best is None else pytest.approx(best, abs=near))


def test_miller_golden_from_assumptions(golden: Golden) -> None:
    for entry in golden("miller_sample_size"):
        g, wanted = entry["inputs"], entry["expected"]
        # one trial a side: the discordance that gives this variance
        variance = g["omega2"] + g["sigma2_a"] + g["sigma2_b"]
        psi = variance + g["delta"] ** 2
        found = tr.cases_needed(effect=g["delta"], discordance=psi, test="z")
        assert found.cases == wanted["n_ceil"]
        assert found.sd == pytest.approx(variance**0.5)


def test_uniform_cases_have_the_variances_of_miller() -> None:
    # between 1/12, trial noise 1/6 at a rate of 1/2: icc 1/3
    found = tr.power(effect=1e-9, cases=100, trials=(2, 4), rate=0.5, icc=1 / 3, correlation=0.0)
    assert found.sd**2 == pytest.approx(2 / 12 + 1 / 12 + 1 / 24, rel=1e-6)


def test_rate_and_icc_with_discordance_agree_with_correlation() -> None:
    plan = {"effect": 0.04, "cases": 300, "rate": 0.6, "icc": 0.4, "test": "t"}
    by_correlation = tr.power(**plan, correlation=0.7)
    psi = by_correlation.sd**2 + 0.04**2
    assert tr.power(**plan, discordance=psi).power == pytest.approx(by_correlation.power)
    more = tr.power(**plan, discordance=psi, trials=5)
    assert more.power == pytest.approx(tr.power(**plan, correlation=0.7, trials=5).power)


def test_a_pilot_is_its_own_comparison() -> None:
    counts = pilot(interaction=0.8)
    compared = tr.compare(counts, "base", "new")
    found = tr.power(counts, effect=0.05)
    assert found.se == pytest.approx(compared.se)
    assert found.cases == compared.cases
    assert tr.power(counts, effect=0.05, trials=4).sd == pytest.approx(found.sd)
    assert tr.power(counts, effect=0.05, trials=8).sd < found.sd
    backwards = tr.power(counts, effect=-0.05, baseline="new", candidate="base")
    assert backwards.power == pytest.approx(found.power)


def test_the_pilot_splits_the_variance_as_miller_does() -> None:
    counts = pilot()
    wide = counts.frame.pivot(on="config", index="case", values="c").sort("case")
    a, b = wide["base"].to_numpy() / 4, wide["new"].to_numpy() / 4
    noise = [(4 * p * (1 - p) / 3).mean() for p in (a, b)]
    omega = np.var(b - a, ddof=1) - sum(noise) / 4
    for k in (1, 10):
        wanted = max(omega, 0) + sum(noise) / k
        found = tr.power(counts, effect=0.05, trials=k, test="t")
        assert found.sd is not None
        assert found.sd**2 == pytest.approx(wanted)


def by_gain(frame: pl.DataFrame, cluster_of: Callable[[int], int]) -> tr.Counts:
    """A pilot whose clusters follow the place of a case in the order of gains."""
    wide = frame.pivot(on="config", index="case", values="c")
    order = wide.sort(pl.col("new") - pl.col("base"), "case")["case"].to_list()
    place = {case: f"g{cluster_of(i)}" for i, case in enumerate(order)}
    return tr.Counts(frame.with_columns(cluster=pl.col("case").replace_strict(place)))


def test_clusters_are_used_and_named() -> None:
    counts = by_gain(pilot(interaction=0.8).frame, lambda i: i // 10)
    found, alone = (tr.mde(counts, units=units) for units in ("clusters", "cases"))
    assert found.se == pytest.approx(tr.compare(counts, "base", "new").se)
    assert found.design_effect == pytest.approx((found.se / alone.se) ** 2)
    assert any("clusters" in text for text in found.assumptions)
    shown = tr.mde(counts, test="mcnemar")
    assert any("ignores the clusters" in text for text in shown.warnings)
    assert shown.effect == tr.mde(counts, test="mcnemar", units="cases").effect


def test_few_clusters_never_promise_more_than_cases() -> None:
    # clusters that balance losses against wins look better than independent cases
    counts = by_gain(pilot(interaction=0.8).frame, lambda i: min(i, 149 - i) % 6)
    found, alone = (tr.mde(counts, units=units) for units in ("clusters", "cases"))
    assert tr.compare(counts, "base", "new").se < alone.se
    assert found.design_effect == 1.0
    assert found.se == pytest.approx(alone.se)
    assert found.effect > alone.effect, "the t test of few clusters has few degrees of freedom"
    assert any("only chance brings below 1" in text for text in found.assumptions)
    assert any("6 clusters" in text for text in found.warnings)
    assert not alone.warnings
    sizes = [tr.cases_needed(counts, effect=0.03, units=u).cases for u in ("clusters", "cases")]
    assert sizes[0] >= sizes[1]
    one = tr.mde(counts, baseline="base")
    assert one.design_effect >= 1.0
    assert one.warnings
    split = [tr.trials_or_cases(counts, case_cost=5, units=u) for u in ("clusters", "cases")]
    assert (split[0]["se"] >= split[1]["se"] - 1e-12).all()


def test_enough_clusters_are_no_warning() -> None:
    found = tr.mde(by_gain(pilot(interaction=0.8).frame, lambda i: i // 10))
    assert found.design_effect > 1.0
    assert not found.warnings


def test_auto_is_the_test_of_the_design() -> None:
    single, more = pilot(trials=1), pilot()
    assert tr.mde(single).test == "mcnemar"
    assert tr.mde(single) == tr.mde(single, trials=1)
    assert tr.mde(single).effect == tr.mde(single, test="mcnemar").effect
    assert tr.mde(more).test == "t"
    assert tr.mde(more).effect == tr.mde(more, test="t").effect
    assert tr.mde(pilot(trials=1, clusters=15)).test == "t"
    assert tr.mde(pilot(trials=1, clusters=15), units="cases").test == "mcnemar"
    weighed = single.frame.with_columns(weight=1.0 + pl.col("case").str.ends_with("1"))
    assert tr.mde(tr.Counts(weighed)).test == "t"
    assert tr.mde(single.select("base")).test == "mcnemar"
    assert tr.mde(cases=100, rate=0.6, icc=0.5).test == "mcnemar"
    assert tr.mde(cases=100, rate=0.6, icc=0.5, trials=(1, 2)).test == "t"
    assert tr.mde(cases=100, rate=0.6, icc=0.5, design_effect=2.0).test == "t"
    for found in (tr.mde(single), tr.mde(more)):
        assert any(text.startswith(f"test: {found.test}, for") for text in found.assumptions)
    told = tr.mde(single, test="t").warnings
    assert any("promises more power" in text for text in told)
    assert not tr.mde(more, test="t").warnings


def test_single_trials_of_a_larger_pilot() -> None:
    counts = pilot()
    wide = counts.frame.pivot(on="config", index="case", values="c").sort("case")
    a, b = wide["base"].to_numpy() / 4, wide["new"].to_numpy() / 4
    psi = float((a * (1 - b) + b * (1 - a)).mean())
    found = tr.power(counts, effect=0.05, trials=1)
    assert found.test == "mcnemar"
    assert found.discordance == pytest.approx(psi)
    same = tr.power(cases=150, effect=0.05, test="mcnemar", discordance=psi)
    assert found.power == pytest.approx(same.power)
    assert "discordance of single trials = " in found.reading


def test_rates_give_a_discordance() -> None:
    plan: dict[str, Any] = {"rate": 0.6, "icc": 0.4, "correlation": 0.7}
    found = tr.power(effect=0.04, cases=300, **plan)
    spread = tr.power(effect=0.04, cases=300, test="t", **plan).sd
    assert spread is not None
    assert found.discordance == pytest.approx(spread**2 + 0.04**2)
    # independent sides without differences between cases: p (1 - q) + q (1 - p)
    flat = tr.power(effect=0.1, cases=300, rate=0.5, icc=0.0, correlation=0.0)
    assert flat.discordance == pytest.approx(0.5 * 0.4 + 0.6 * 0.5)
    smallest = tr.mde(cases=300, **plan)
    again = tr.power(effect=smallest.effect or 0.0, cases=300, **plan)
    assert again.power == pytest.approx(0.8, abs=1e-6)


def test_a_rate_with_a_discordance() -> None:
    found = tr.power(effect=0.03, cases=500, rate=0.65, discordance=0.158)
    assert found.power == tr.power(effect=0.03, cases=500, discordance=0.158).power
    t = tr.power(effect=0.03, cases=500, rate=0.65, discordance=0.158, test="t")
    assert t.sd == pytest.approx((0.158 - 0.03**2) ** 0.5)
    assert (tr.mde(cases=400, rate=0.65, discordance=0.158).effect or 1.0) < 0.158
    # at most 1 - rate can be gained
    tight = tr.mde(cases=60, rate=0.9, discordance=0.15)
    assert tight.effect is None
    assert "largest possible" in str(tight.reason)


def test_reasons_are_given_where_there_is_no_answer() -> None:
    assert "10,000,000" in str(tr.cases_needed(effect=1e-6, discordance=0.2).reason)
    assert "10,000,000" in str(tr.cases_needed(effect=1e-6, rate=0.5, icc=0.2, test="t").reason)
    for found in (
        tr.cases_needed(effect=0.3, discordance=0.2),
        tr.power(effect=0.3, cases=9, discordance=0.2),
    ):
        assert "disagree in only 0.2" in str(found.reason)
        assert "disagree in only 0.2" in found.reading
    assert "not known" in str(tr.cases_needed(effect=0.3, test="mcnemar").reason)
    assert "not known" in str(tr.mde(cases=90, test="mcnemar").reason)
    few = tr.mde(cases=5, discordance=0.2)
    assert "fewer than 6 changed cases" in few.reading
    assert tr.power(effect=0.1, cases=90, discordance=0.2).reason is None


def test_no_case_getting_worse_is_not_always_the_better_case() -> None:
    found = tr.power(effect=0.03, cases=50, discordance=0.159)
    assert found.best_case is not None
    assert found.power is not None
    assert found.best_case < found.power
    # six changes in one direction are the fewest that reject
    none = sum(comb(50, m) * 0.03**m * 0.97 ** (50 - m) for m in range(6))
    assert found.best_case == pytest.approx(1.0 - none)
    assert "seldom 6 change" in found.reading
    assert "seldom" not in tr.power(effect=0.03, cases=500, discordance=0.159).reading


@pytest.mark.parametrize("alpha", [0.3, 0.1, 0.0625, 0.05, 0.01, 0.001])
def test_fewest_changes_are_those_of_the_exact_test(alpha: float) -> None:
    fewest = fewest_changes(alpha)
    assert 2.0 ** (1 - fewest) < alpha <= 2.0 ** (2 - fewest)


def test_one_config_and_an_assumption() -> None:
    counts = pilot().select("base")
    found = tr.power(counts, effect=0.05)
    assert any("assumed" in text and "0.5 (the default)" in text for text in found.assumptions)
    powers = [tr.power(counts, effect=0.05, correlation=r).power for r in (0.0, 0.5, 1.0)]
    assert powers == sorted(powers)
    assert powers[1] == found.power
    single = tr.power(pilot(trials=1).select("base"), effect=0.05, test="t")
    assert any("case values correlate" in text for text in single.assumptions)
    assert tr.power(counts, effect=0.1, test="mcnemar").power is None


def test_weights_reach_the_plan() -> None:
    frame = pilot(interaction=1.5).frame.with_columns(
        weight=pl.when(pl.col("case").str.ends_with("1")).then(4.0).otherwise(1.0)
    )
    counts = tr.Counts(frame)
    found = tr.power(counts, effect=0.05)
    assert found.se == pytest.approx(tr.compare(counts, "base", "new").se)
    assert tr.power(counts, effect=0.05, trials=4).se == pytest.approx(found.se, rel=1e-6)


@settings(max_examples=25)
@given(
    st.floats(0.01, 0.2),
    st.integers(10, 3000),
    st.sampled_from([1, 3, (2, 5)]),
    st.sampled_from(["t", "z"]),
    st.sampled_from(["assumptions", "pilot"]),
)
def test_the_three_questions_agree(
    effect: float, cases: int, trials: Any, test: str, source: str
) -> None:
    counts = pilot() if source == "pilot" else None
    plan: dict[str, Any] = {"trials": trials, "test": test}
    plan |= {"rate": 0.6, "icc": 0.4} if counts is None else {}
    smallest = tr.mde(counts, cases=cases, **plan)
    if smallest.effect is not None:
        reached = tr.power(counts, effect=smallest.effect, cases=cases, **plan)
        assert reached.power == pytest.approx(0.8, abs=1e-6)
    needed = tr.cases_needed(counts, effect=effect, **plan).cases
    assert needed is not None
    enough = tr.power(counts, effect=effect, cases=max(needed, 2), **plan).power
    assert enough is not None
    # Miller's formula for z leaves out the far tail, which the power has: they meet within 1e-3
    near = 1e-3 if test == "z" else 1e-9
    assert enough >= 0.8 - near
    if needed > 3:
        fewer = tr.power(counts, effect=effect, cases=needed - 1, **plan).power
        assert fewer is not None
        assert fewer < 0.8 + near


def test_row_order_does_not_matter() -> None:
    counts = pilot()
    shuffled = tr.Counts(counts.frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert tr.mde(shuffled) == tr.mde(counts)


def test_mcnemar_from_a_pilot_uses_majority_outcomes() -> None:
    counts = pilot(trials=5)
    found = tr.mde(counts, test="mcnemar")
    compared = tr.compare(counts, "base", "new").majority
    assert (found.effect, found.best_case) == (compared.mde, compared.mde_best)
    assert "At discordance (b + c + 1)/(n + 2) = " in found.reading
    sizes = tr.cases_needed(counts, effect=0.1, test="mcnemar")
    assert sizes.cases > sizes.best_case


def test_what_cannot_be_reached_is_none() -> None:
    assert tr.mde(cases=5, test="mcnemar", discordance=0.2).effect is None
    assert tr.mde(cases=5, test="mcnemar").best_case is None
    found = tr.power(cases=50, effect=0.3, test="mcnemar", discordance=0.2)
    assert found.power is None
    assert found.best_case > 0.9
    assert "outcomes disagree in only 0.2" in found.reading
    assert tr.mde(cases=5, rate=0.9, icc=0.2).effect is None
    assert tr.cases_needed(effect=1e-6, rate=0.5, icc=0.2).cases is None


def test_the_table_is_the_function() -> None:
    table = tr.power_table(pilot(), effects=[0.02, -0.1], cases=[40, 400], trials=6)
    assert table.columns[:3] == ["cases", "effect", "power"]
    for cases, effect, power in table.select("cases", "effect", "power").rows():
        wanted = tr.power(pilot(), effect=effect, cases=cases, trials=6).power
        assert power == pytest.approx(wanted, abs=1e-12)
    exact = tr.power_table(effects=[0.1, 0.4, 0.1], cases=[50, 50], discordance=0.2)
    assert exact.height == 2
    assert exact["power"].null_count() == 1
    assert exact["power_best_case"].null_count() == 0


def test_results_become_dicts_and_frames() -> None:
    found = tr.power(effect=0.03, cases=1000, rate=0.6, icc=0.5)
    assert found.to_dict()["assumptions"][0] == "assumed rate 0.6, icc 0.5"
    assert found.to_frame()["power"].item() == found.power
    assert found.reading in unescape(found._repr_html_())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: tr.power(effect=0.03, cases=100), "give rate= and icc=, or discordance="),
        (lambda: tr.power(effect=0.03, cases=100, rate=0.5), "give icc= too"),
        (lambda: tr.power(effect=0.03, cases=100, icc=0.5), "give rate= too"),
        (lambda: tr.power(effect=0.03, cases=99, rate=0.9, discordance=0.5), "in 0.17 of them"),
        (lambda: tr.mde(cases=100, rate=0.9, discordance=0.5), "in 0.2 of them at most"),
        (lambda: tr.power(effect=0.0, cases=100, rate=0.5, icc=0.5), "effect == 0"),
        (lambda: tr.power(effect=0.6, cases=100, rate=0.5, icc=0.5), r"rate \+ effect == 1.1"),
        (lambda: tr.power(effect=0.1, rate=0.5, icc=0.5), "cases is not given"),
        (lambda: tr.power(effect=0.1, cases=1, rate=0.5, icc=0.5), "cases == 1"),
        (lambda: tr.power(effect=0.1, cases=9, rate=1.0, icc=0.5), "rate == 1 leaves nothing"),
        (lambda: tr.power(effect=0.3, cases=9, discordance=0.2, test="t"), "more than discord"),
        (lambda: tr.power(effect=0.1, cases=9, discordance=0.2, trials=2), "give rate= and icc="),
        (lambda: tr.power(effect=0.1, cases=9, discordance=0.2, correlation=0.5), "correlation"),
        (lambda: tr.power(effect=0.1, cases=9, rate=0.5, icc=0.1, discordance=0.2), "less than"),
        (lambda: tr.power(effect=0.1, cases=9, test="mcnemar", trials=3), "one outcome a side"),
        (lambda: tr.power(effect=0.1, cases=9, rate=0.5, icc=0.5, baseline="a"), "no counts"),
        (lambda: tr.power(effect=0.1, cases=9, rates=0.5), "Did you mean 'rate'"),
        (lambda: tr.power(effect=0.1, cases=9, test="tt"), "test == 'tt'"),
        (lambda: tr.power(effect=0.1, cases=9, rate=0.5, icc=0.5, trials=(1, 2, 3)), "trials"),
        (lambda: tr.mde(cases=9, rate=0.5, icc=0.5, power=0.05), "above alpha"),
        (lambda: tr.power(pilot(), effect=0.1, icc=0.5), "the pilot tells that already"),
        (lambda: tr.power(pilot(), effect=0.1, candidate="new"), "candidate is given without"),
        (lambda: tr.power(pilot(), effect=0.1, baseline="nwe"), "Did you mean 'new'"),
        (lambda: tr.power(pilot(), effect=0.1, baseline="new", candidate="new"), "both 'new'"),
        (lambda: tr.power(pilot(trials=1), effect=0.1, trials=4), "does not separate"),
        (lambda: tr.power(pilot(), effect=0.1, metric="pass@2", trials=4), "does not separate"),
        (lambda: tr.power(pilot().frame, effect=0.1), "must be Counts"),
        (lambda: tr.power_table(rate=0.5, icc=0.5, cases=[]), "at least one number"),
        (lambda: tr.trials_or_cases(pilot(trials=1), case_cost=1), "does not separate"),
        (lambda: tr.trials_or_cases(pilot(), case_cost=-1), "case_cost == -1"),
        (lambda: tr.trials_or_cases(pilot().frame, case_cost=1), "must be Counts"),
        (lambda: tr.trials_or_cases(pilot(), case_cost=1, budget=0.5), "does not pay two cases"),
    ],
)
def test_bad_plans_are_refused(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(TrialframeError, match=told):
        call()


def test_pilots_without_spread_are_refused() -> None:
    flat = pl.DataFrame({"config": ["a"] * 3 + ["b"] * 3, "case": ["x", "y", "z"] * 2, "n": 2})
    counts = tr.Counts(flat.with_columns(c=pl.Series([2] * 6)))
    with pytest.raises(TrialsError, match="no spread"):
        tr.power(counts, effect=0.1)
    with pytest.raises(TrialsError, match="shows no spread"):
        tr.power(tr.Counts(counts.frame.filter(pl.col("case") == "x")), effect=0.1)
    many = tr.counts(tr.simulate(configs=3, cases=5, trials=2))
    with pytest.raises(ArgumentError, match=r"3 configs\. Name baseline="):
        tr.power(many, effect=0.1)


def test_more_trials_or_more_cases_golden(golden: Golden) -> None:
    for entry in golden("variance_split"):
        scores, wanted = np.array(entry["inputs"]["scores"]), entry["expected"]
        frame = pl.DataFrame({"case": [f"c{i}" for i in range(len(scores))]})
        frame = frame.with_columns(
            config=pl.lit("a"), n=pl.lit(scores.shape[1]), c=pl.Series(scores.sum(axis=1))
        )
        table = tr.trials_or_cases(tr.Counts(frame), case_cost=10.0)
        first = table.row(0, named=True)
        assert first["se"] == pytest.approx(wanted["se_mean"], abs=1e-12)
        assert first["within"] == pytest.approx(wanted["within"], abs=1e-12)
        assert first["between"] == pytest.approx(wanted["between"], abs=1e-12)
        assert first["icc"] == pytest.approx(wanted["icc1"], abs=1e-12)
        best = (wanted["within"] / wanted["between"] * 10.0) ** 0.5
        assert first["optimal_trials"] == pytest.approx(best)
        twice = table.filter(pl.col("plan") == "twice the trials").row(0, named=True)
        assert twice["se"] == pytest.approx(wanted["se_mean_if_K"]["8"], abs=1e-12)


def test_the_best_design_is_beside_the_optimum() -> None:
    counts = pilot(seed=5, interaction=1.0)
    table = tr.trials_or_cases(counts, case_cost=20, trial_cost=2, budget=50_000)
    best = table.filter(pl.col("plan") == "best").row(0, named=True)
    same = table.filter(pl.col("plan").is_in(["best", "same budget"]))
    assert same["se"].min() == best["se"]
    assert (same["cost"] <= 50_000).all()
    assert abs(best["trials"] - best["optimal_trials"]) < 1
    assert (same["cost"] == same["cases"] * (20 + 4 * same["trials"])).all()
    free = tr.trials_or_cases(counts, case_cost=0)
    assert free.filter(pl.col("plan") == "best")["trials"].item() == 1.0


def test_measures_can_be_planned() -> None:
    counts = pilot(cost_uusd=[2000.0, 2500.0])
    found = tr.cases_needed(counts, effect=100.0, metric="cost_uusd", trials=8)
    assert found.cases > tr.cases_needed(counts, effect=500.0, metric="cost_uusd", trials=8).cases
    table = tr.trials_or_cases(counts, case_cost=1, metric="cost_uusd")
    assert table["within"][0] > 0


def test_planning_on_real_trials(shared_data: Any) -> None:
    counts = tr.counts(tr.read(shared_data / "terminal_bench_core_0_1_1.parquet"))
    one, two = counts.configs[:2]
    found = tr.mde(counts, baseline=one, candidate=two)
    assert found.effect == pytest.approx(
        tr.cases_needed(counts, baseline=one, candidate=two, effect=found.effect).effect
    )
    needed = tr.cases_needed(counts, baseline=one, candidate=two, effect=found.effect)
    assert abs(needed.cases - found.cases) <= 1


def rejected(rng: np.random.Generator, cases: int, trials: int, lift: float) -> bool:
    """The verdict rule of `tr.compare` on one draw of beta-binomial trials."""
    base = rng.beta(1.0, 1.0, cases)
    new = np.where(rng.random(cases) < 0.5, base, rng.beta(1.0, 1.0, cases))
    new = np.clip(new + lift, 0.0, 1.0)
    c_a, c_b = rng.binomial(trials, base), rng.binomial(trials, new)
    diff = ((c_b - c_a) / trials)[:, None]
    fit = clustered_mean(diff, np.ones(cases))
    found = t_interval(fit.mean, fit.se, fit.df)
    n = np.full(cases, trials)
    outside = bool(found.low[0] > 0 or found.high[0] < 0)
    return outside and rate_test(n, c_a, n, c_b, rng).pvalue < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "lift"), [(50, 0.15), (150, 0.08), (500, 0.05)])
@pytest.mark.parametrize("trials", [1, 4])
def test_power_is_how_often_compare_says_better(cases: int, lift: float, trials: int) -> None:
    rng = np.random.default_rng(cases)
    big = 400_000
    base = rng.beta(1.0, 1.0, big)
    new = np.where(rng.random(big) < 0.5, base, rng.beta(1.0, 1.0, big))
    new = np.clip(new + lift, 0.0, 1.0)
    effect = float((new - base).mean())
    noise = (base * (1 - base) + new * (1 - new)).mean() / trials
    variance = float(np.var(new - base) + noise)
    found = np.mean([rejected(rng, cases, trials, lift) for _ in range(800)])
    if trials == 1:  # the exact test is the sign flip of binary differences
        psi = variance + effect**2
        planned = tr.power(effect=effect, cases=cases, test="mcnemar", discordance=psi).power
    else:
        planned = float(t_power(effect / (variance / cases) ** 0.5, cases - 1))
    assert planned is not None
    assert found == pytest.approx(planned, abs=0.045 if cases > 50 else 0.08)
