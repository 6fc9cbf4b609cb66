"""`tr.fit_irt` and what a fit can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, CountsError, TrialframeError
from trialframe.irt import fit as module
from trialframe.kernels.irt import probability

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]


def counts_of(passes: Any, trials: Any, cluster: list[str] | None = None) -> tr.Counts:
    """Counts of configs c000, c001, ... on cases i0000, i0001, ...; cells with n < 0 are absent."""
    passes = np.asarray(passes)
    trials = np.broadcast_to(np.asarray(trials), passes.shape)
    row, column = np.nonzero(trials >= 0)
    frame = pl.DataFrame(
        {
            "config": [f"c{j:03}" for j in row],
            "case": [f"i{i:04}" for i in column],
            "n": trials[row, column],
            "c": passes[row, column],
        },
        schema_overrides={"n": pl.Int64, "c": pl.Int64},
    )
    if cluster is not None:
        frame = frame.with_columns(cluster=pl.Series([cluster[i] for i in column]))
    return tr.Counts(frame)


def simulated(
    configs: int = 12, cases: int = 40, n: int = 4, *, seed: int = 0, missing: float = 0.0
) -> tuple[tr.Counts, np.ndarray, np.ndarray, np.ndarray]:
    """Counts under a 2PL, with the true abilities, discriminations and difficulties."""
    rng = np.random.default_rng(seed)
    theta, a, b = (
        rng.normal(size=configs),
        np.exp(rng.normal(0, 0.3, cases)),
        rng.normal(size=cases),
    )
    passes = rng.binomial(n, probability(theta, a, b))
    trials = np.where(rng.random(passes.shape) < missing, -1, n)
    return counts_of(passes, trials), theta, a, b


@pytest.fixture(scope="module")
def fit() -> tr.IrtFit:
    return tr.fit_irt(simulated(seed=3)[0], "2pl")


def test_lsat7_from_a_table_of_counts(golden: Golden) -> None:
    entry = golden("irt_2pl_mml_lsat7")[0]
    patterns = entry["inputs"]["patterns"]
    rows = np.repeat([p for p, _ in patterns], [k for _, k in patterns], axis=0)
    for quadrature in ("grid", "gauss-hermite"):
        found = tr.fit_irt(counts_of(rows, 1), "2pl", priors=None, quadrature=quadrature)
        assert found.loglik == pytest.approx(entry["expected"]["loglik"], abs=1e-3)
        for name in ("a", "b"):
            assert found.items[name].to_list() == pytest.approx(entry["expected"][name], abs=2e-3)
            errors = found.items[f"{name}_se"].to_list()
            assert errors == pytest.approx(entry["expected"][f"se_{name}"], abs=2e-3)
        assert found.priors == "none"
    assert tr.fit_irt(counts_of(rows, 1)).model == "2pl"


def test_map_by_default(golden: Golden) -> None:
    entry = golden("irt_2pl_map_binomial")[0]
    found = tr.fit_irt(counts_of(np.array(entry["inputs"]["passes"], dtype=int), 6), "2pl")
    assert found.objective == pytest.approx(entry["expected"]["objective"], abs=1e-5)
    assert found.items["a"].to_list() == pytest.approx(entry["expected"]["a"], abs=2e-3)
    assert found.items["b"].to_list() == pytest.approx(entry["expected"]["b"], abs=2e-3)


def test_few_configs_share_one_discrimination_and_it_is_said() -> None:
    few = tr.fit_irt(simulated(29, 10)[0])
    assert few.model == "1pl"
    assert few.items["a"].n_unique() == 1
    assert any("29 configs are fewer than 30" in text for text in few.warnings)
    many = tr.fit_irt(simulated(30, 10)[0])
    assert many.model == "2pl"
    assert not any("fewer than 30" in text for text in many.warnings)
    asked = tr.fit_irt(simulated(29, 10)[0], "2pl")
    assert any("rest on the prior" in text for text in asked.warnings)


def test_saturated_cases_are_flagged_and_finite() -> None:
    passes = np.array([[6, 6, 0, 3], [5, 6, 0, 2], [6, 6, 0, 5], [2, 6, 0, 1]])
    for model in ("1pl", "2pl"):
        items = tr.fit_irt(counts_of(passes, 6), model).items
        assert items["flags"].to_list()[1:3] == ["all pass", "all fail"]
        assert (
            items.select(pl.col("a", "b", "a_se", "b_se").is_finite().all()).row(0) == (True,) * 4
        )
        assert items["b"][1] < items["b"].drop_nulls().min() + 1e-9
        assert items["b"][2] == items["b"].max()


def test_saturated_cases_without_priors_have_no_parameters() -> None:
    passes = np.array([[6, 6, 0, 3], [5, 6, 0, 2], [6, 6, 0, 5], [2, 6, 0, 1]])
    found = tr.fit_irt(counts_of(passes, 6), "1pl", priors=None)
    assert found.items["b"].is_null().to_list() == [False, True, True, False]
    rates = found.predict().filter(pl.col("case") == "i0001")["probability"]
    assert rates.to_list() == pytest.approx([1.0] * 4)
    assert found.convergence.converged
    with pytest.raises(CountsError, match="without priors"):
        tr.fit_irt(counts_of(passes[:, 1:3], 6), priors=None)


def test_everything_passes_or_fails() -> None:
    for value in (0, 3):
        found = tr.fit_irt(counts_of(np.full((3, 4), value), 3))
        assert found.items["b"].is_finite().all()
        assert found.abilities["mle"].null_count() == 3
        assert found.abilities["ability"].max() - found.abilities["ability"].min() < 1e-9
        word = "all pass" if value else "all fail"
        assert found.abilities["flags"].to_list() == [word] * 3
        assert any("4 of 4 cases" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (counts_of([[1, 2, 1]], 2), "only one config"),
        (counts_of([[1], [2]], 2), "only one case"),
        (counts_of([[0, 0], [0, 0]], 0), "n = 0 everywhere"),
        (counts_of([[1, 0], [0, 1]], [[2, -1], [-1, 2]]), "tried by two configs"),
        (counts_of([[1, 0], [0, 0]], [[2, 2], [0, 0]]), "only one config"),
    ],
)
def test_tables_that_cannot_be_fitted(table: tr.Counts, words: str) -> None:
    with pytest.raises(CountsError, match=words):
        tr.fit_irt(table)


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"model": "3pl"}, "1pl"),
        ({"model": "hierarchical"}, "pymc"),
        ({"priors": "flat"}, "default"),
        ({"priors": {"c": (0, 1)}}, "log_a"),
        ({"priors": {"b": (0, 0)}}, "sd"),
        ({"priors": {"b": 2}}, "mean, sd"),
        ({"priors": 3}, "mapping"),
        ({"method": "jml"}, "mml"),
        ({"quadrature": "simpson"}, "grid"),
        ({"nodes": 1}, "nodes"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": 0.0}, "tol"),
        ({"level": 1.0}, "level"),
        ({"progress": "yes"}, "progress"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_do_not_exist(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tr.fit_irt(simulated(3, 4)[0], **settings_)


def test_cells_without_trials_say_nothing() -> None:
    table, *_ = simulated(6, 10, seed=1, missing=0.3)
    empty = pl.DataFrame(
        {"config": ["c000", "idle"], "case": ["new", "i0000"], "n": [0, 0], "c": [0, 0]}
    )
    more = tr.Counts(pl.concat([table.frame.select("config", "case", "n", "c"), empty]))
    one, two = tr.fit_irt(table), tr.fit_irt(more)
    assert two.loglik == pytest.approx(one.loglik, abs=1e-9)
    last = two.items.filter(pl.col("case") == "new")
    assert last.select("a", "b", "rate", "flags").row(0) == (None, None, None, "no trials")
    idle = two.abilities.filter(pl.col("config") == "idle")
    assert idle.select("ability", "se", "block", "flags").row(0) == (None, None, None, "no trials")
    assert two.predict().filter(pl.col("case") == "new")["probability"].null_count() == 7
    assert any("1 config without a scored trial" in text for text in two.warnings)
    assert not two.predict()["probability"].is_nan().any()


def test_a_scale_that_the_prior_of_many_cases_moved_is_told() -> None:
    rng = np.random.default_rng(0)
    passes = rng.binomial(
        1, probability(np.array([-1.0, 1.0]), np.ones(3000), rng.normal(size=3000))
    )
    found = tr.fit_irt(counts_of(passes, 1))
    assert found.convergence.converged
    assert any("not 1" in text for text in found.warnings)


def test_blocks_that_share_nothing_are_told() -> None:
    trials = np.full((4, 6), -1)
    trials[:2, :3] = trials[2:, 3:] = 4
    found = tr.fit_irt(counts_of(np.where(trials > 0, 2, 0), trials))
    assert found.abilities["block"].to_list() == [1, 1, 2, 2]
    assert any("2 blocks" in text for text in found.warnings)


def test_a_wrong_key_is_flagged() -> None:
    table, theta, _, _ = simulated(40, 30, 3, seed=4)
    rng = np.random.default_rng(0)
    bad = rng.binomial(3, 1 / (1 + np.exp(2 * theta)))
    extra = pl.DataFrame({"config": table.configs, "case": "wrong", "n": 3, "c": bad})
    both = [table.frame.select("config", "case", "n", "c"), extra]
    found = tr.fit_irt(tr.Counts(pl.concat(both, how="vertical_relaxed")))
    flagged = found.items.filter(pl.col("flags").str.contains("negative"))["case"].to_list()
    assert flagged == ["wrong"]
    assert any("wrong verdicts" in text for text in found.warnings)


def test_a_divided_case_is_flagged() -> None:
    theta = np.linspace(-2, 2, 10)
    passes = np.random.default_rng(1).binomial(5, probability(theta, np.ones(20), np.zeros(20)))
    passes[:, 0] = np.where(theta > 0, 5, 0)
    found = tr.fit_irt(counts_of(passes, 5), "2pl")
    assert "separated" in found.items["flags"][0]
    assert np.isfinite(found.items["a"][0])


def test_the_path_never_falls_and_ends_flat() -> None:
    found = tr.fit_irt(simulated(20, 60, seed=9, missing=0.2)[0], "2pl").convergence
    assert np.all(np.diff(found.path) >= -1e-8)
    assert found.converged
    assert found.gradient < 1e-4
    short = tr.fit_irt(simulated(20, 60, seed=9)[0], "2pl", max_iter=1)
    assert not short.convergence.converged
    assert any("not converged" in text for text in short.warnings)


def test_a_fit_without_a_maximum_says_so() -> None:
    theta = np.linspace(-2, 2, 10)
    passes = np.random.default_rng(1).binomial(5, probability(theta, np.ones(20), np.zeros(20)))
    passes[:, 0] = np.where(theta > 0, 5, 0)
    found = tr.fit_irt(counts_of(passes, 5), "2pl", priors=None)
    assert not found.convergence.converged
    assert found.convergence.status == "no finite maximum"
    assert "runs away" in found.items["flags"][0]
    assert any("no finite maximum" in text for text in found.warnings)
    with_priors = tr.fit_irt(counts_of(passes, 5), "2pl")
    assert with_priors.convergence.status == "converged"
    assert not with_priors.items["flags"].str.contains("runs away").any()


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_converged_without_priors_means_flat(seed: int) -> None:
    found = tr.fit_irt(simulated(6, 12, 2, seed=seed)[0], "2pl", priors=None)
    end = found.convergence
    away = found.items["flags"].fill_null("").str.contains("runs away").any()
    assert end.converged == (end.status == "converged")
    assert away == (end.status == "no finite maximum")
    if end.converged:
        assert end.gradient is not None
        assert end.gradient < 0.01


def test_trials_are_counted() -> None:
    trials = tr.simulate(configs=["a", "b", "c"], cases=12, trials=3, seed=1)
    wanted = tr.fit_irt(tr.counts(trials))
    for given_ in (trials, trials.to_pandas(), trials.to_arrow()):
        assert tr.fit_irt(given_).items.equals(wanted.items)
    with pytest.raises(TrialframeError, match="cannot read"):
        tr.fit_irt(3)


def test_few_clusters_give_errors_over_cases() -> None:
    table, *_ = simulated(8, 30, seed=2)
    plain = tr.fit_irt(table)
    grouped = {
        k: tr.fit_irt(
            tr.Counts(table.frame.with_columns(cluster=pl.col("case").str.tail(2).cast(int) % k))
        )
        for k in (3, 6)
    }
    assert grouped[3].abilities["case_se"].equals(plain.abilities["case_se"])
    assert not grouped[6].abilities["case_se"].equals(plain.abilities["case_se"])
    assert any("fewer than 5" in text for text in grouped[3].warnings)
    assert any("only 6 clusters" in text for text in grouped[6].warnings)


@pytest.mark.parametrize("by", ["information", "maximin", "spread"])
def test_ties_of_picks_are_told(by: str) -> None:
    passes = np.array([[0, 0, 0, 1], [1, 1, 0, 1], [2, 2, 1, 2], [3, 3, 2, 3]])
    made = tr.fit_irt(counts_of(passes, 4)).pick(4, by=by)
    assert dict(zip(made["case"], made["ties"], strict=True)) == {
        "i0000": 2,
        "i0001": 2,
        "i0002": 1,
        "i0003": 1,
    }


def test_fixed_nodes_are_for_small_tests() -> None:
    table = simulated(6, 40)[0]
    fixed = tr.fit_irt(table, quadrature="gauss-hermite", nodes=21)
    assert any("fixed nodes" in text for text in fixed.warnings)
    small = tr.fit_irt(simulated(6, 5, 2)[0], quadrature="gauss-hermite")
    assert not any("fixed nodes" in text for text in small.warnings)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_rows_and_names_may_come_in_any_order(seed: int) -> None:
    table = simulated(6, 8, 3, seed=seed % 50, missing=0.1)[0]
    shuffled = table.frame.sample(fraction=1.0, shuffle=True, seed=seed)
    one, two = tr.fit_irt(table, "2pl"), tr.fit_irt(tr.Counts(shuffled), "2pl")
    assert two.items.equals(one.items)
    assert two.abilities.equals(one.abilities)
    renamed = tr.fit_irt(
        tr.Counts(table.frame.with_columns(config=pl.lit("z") + pl.col("config").str.reverse())),
        "2pl",
    )
    kept = one.abilities.with_columns(config=pl.lit("z") + pl.col("config").str.reverse())
    both = kept.join(renamed.abilities, on="config")
    assert both.height == kept.height
    assert (both["ability"] - both["ability_right"]).abs().max() < 1e-5


def test_stronger_configs_have_more_ability(fit: tr.IrtFit) -> None:
    table = fit.abilities
    assert table.select(pl.corr("ability", "rate")).item() > 0.98
    assert (table["low"] < table["ability"]).all()
    assert table["se"].is_between(0, 1).all()
    items = fit.items
    assert items.select(pl.corr("b", "rate")).item() < -0.9


def test_predictions_reproduce_the_curve(fit: tr.IrtFit) -> None:
    row = fit.predict().row(57, named=True)
    ability = fit.abilities.filter(pl.col("config") == row["config"])["ability"].item()
    item = fit.items.filter(pl.col("case") == row["case"]).row(0, named=True)
    expected = 1 / (1 + np.exp(-item["a"] * (ability - item["b"])))
    assert row["probability"] == pytest.approx(expected, abs=1e-12)
    assert fit.predict().height == 12 * 40


@pytest.mark.parametrize("by", ["information", "maximin", "spread"])
def test_picks_are_the_first_of_larger_picks(fit: tr.IrtFit, by: str) -> None:
    ten, all_of_them = fit.pick(10, by=by), fit.pick(40, by=by)
    assert ten["case"].to_list() == all_of_them["case"].to_list()[:10]
    assert ten["rank"].to_list() == list(range(1, 11))
    assert all_of_them["case"].n_unique() == 40
    value = all_of_them["value"].diff().drop_nulls()
    assert (value >= 0).all() if by == "maximin" else (value <= 0).all()


def test_picks_at_a_given_ability(fit: tr.IrtFit) -> None:
    a, b = fit.items["a"].to_numpy(), fit.items["b"].to_numpy()
    rate = 1 / (1 + np.exp(-a * (1.5 - b)))
    best = fit.items["case"][int(np.argmax(a**2 * rate * (1 - rate)))]
    assert fit.pick(1, at=1.5)["case"].item() == best


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"n": 0}, "n"),
        ({"n": 41}, "n"),
        ({"n": 3, "by": "random"}, "maximin"),
        ({"n": 3, "at": "high"}, "at"),
        ({"n": 3, "at": []}, "at"),
        ({"n": 3, "at": float("nan")}, "at"),
        ({"n": 3, "at": 0.0, "by": "spread"}, "two abilities"),
    ],
)
def test_picks_that_do_not_exist(fit: tr.IrtFit, settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        fit.pick(**settings_)


def test_information_adds_up(fit: tr.IrtFit) -> None:
    total = fit.information([0.0, 1.0])
    parts = fit.information([0.0, 1.0], of="items")
    summed = parts.group_by("ability").agg(pl.col("information").sum()).sort("ability")
    assert total["information"].to_list() == pytest.approx(summed["information"].to_list())
    assert (total["se"] - 1 / total["information"].sqrt()).abs().max() < 1e-12
    assert fit.information().height == 25


def test_item_fit_and_pairs(fit: tr.IrtFit) -> None:
    assert fit.item_fit()["infit"].mean() == pytest.approx(1, abs=0.3)
    assert fit.item_fit(of="configs").height == 12
    pairs = fit.local_dependence(5)
    assert pairs.height == 5
    assert (pairs["z"].abs().diff().drop_nulls() <= 0).all()
    assert pairs["adjusted"].is_between(0, 1).all()


def test_a_copied_case_is_found() -> None:
    table = simulated(40, 30, 3, seed=8)[0]
    copy = table.frame.filter(pl.col("case") == "i0005").with_columns(case=pl.lit("twin"))
    both = tr.Counts(pl.concat([table.frame, copy]))
    worst = tr.fit_irt(both).local_dependence(1).row(0, named=True)
    assert {worst["case"], worst["other"]} == {"i0005", "twin"}
    assert worst["adjusted"] < 0.01


def test_the_whole_suite_is_known_when_it_was_run(fit: tr.IrtFit) -> None:
    table = simulated(seed=3)[0]
    for found in (fit.pirt(table), fit.full_suite(table)):
        assert found["value"].to_list() == pytest.approx(fit.abilities["rate"].to_list())
        assert found["se"].to_list() == pytest.approx([0.0] * 12, abs=1e-9)


def test_a_subset_scores_the_suite() -> None:
    table, *_ = simulated(30, 200, 2, seed=6)
    old = table.select(*table.configs[:29])
    new = table.select(table.configs[29])
    fit = tr.fit_irt(old, "2pl")
    subset = tr.Counts(new.frame.sample(60, seed=2))
    truth = (new.frame["c"] / new.frame["n"]).mean()
    p_irt, regression = (
        fit.pirt(subset).row(0, named=True),
        fit.full_suite(subset).row(0, named=True),
    )
    for found in (p_irt, regression):
        assert found["low"] <= truth <= found["high"]
        assert (found["cases"], found["suite"]) == (60, 200)
    assert regression["worth"] > 80
    assert regression["se"] < regression["plain_se"]
    share = 60 / 200
    expected = share * p_irt["seen"] + (1 - share) * p_irt["unseen"]
    assert p_irt["value"] == pytest.approx(expected, abs=1e-12)


def test_subsets_that_say_nothing(fit: tr.IrtFit) -> None:
    with pytest.raises(CountsError, match="not been fitted"):
        fit.pirt(tr.Counts(pl.DataFrame({"case": ["other"], "n": 1, "c": 1})))
    with pytest.raises(CountsError, match="no scored trial"):
        fit.pirt(tr.Counts(pl.DataFrame({"case": ["i0000"], "n": 0, "c": 0})))
    few = tr.Counts(pl.DataFrame({"case": ["i0000", "i0001"], "n": 2, "c": [1, 2]}))
    assert fit.full_suite(few)["value"].to_list() == [None]
    assert fit.pirt(few)["value"].is_not_null().all()


def test_the_bootstrap_holds_what_the_model_does_not_know() -> None:
    rng = np.random.default_rng(0)
    theta, b = rng.normal(size=10), rng.normal(size=150)
    logit = theta[:, None] - b + rng.normal(0, 1.5, (10, 150))
    passes = rng.binomial(10, 1 / (1 + np.exp(-logit)))
    fit = tr.fit_irt(counts_of(passes, 10))
    drawn = fit.bootstrap(resamples=300, seed=1)
    ratio = drawn["se"] / fit.abilities["se"]
    assert ratio.min() > 1.5
    assert (drawn["se"] / fit.abilities["case_se"]).is_between(0.8, 1.25).all()
    assert any("from case to case" in text for text in fit.warnings)
    assert drawn.equals(fit.bootstrap(resamples=300, seed=1))
    assert (drawn["rank_low"] <= drawn["rank"]).all()
    assert (drawn["rank"] <= drawn["rank_high"]).all()


def test_the_bootstrap_agrees_with_the_posterior_when_the_model_holds(fit: tr.IrtFit) -> None:
    ratio = fit.bootstrap(resamples=400)["se"] / fit.abilities["se"]
    assert 0.8 < ratio.mean() < 1.3


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(1)
    theta, b = rng.normal(size=8), rng.normal(size=120)
    shift = np.repeat(rng.normal(0, 1.5, (8, 12)), 10, axis=1)
    passes = rng.binomial(5, 1 / (1 + np.exp(-(theta[:, None] - b + shift))))
    fit = tr.fit_irt(counts_of(passes, 5, [f"k{i // 10}" for i in range(120)]))
    assert "cluster" in fit.items.columns
    whole, single = fit.bootstrap(resamples=300), fit.bootstrap(resamples=300, units="cases")
    assert (whole["se"] / single["se"]).mean() > 1.5
    assert whole["units"].unique().to_list() == ["clusters"]


def test_results_become_dicts_and_frames(fit: tr.IrtFit) -> None:
    made = fit.to_dict()
    assert len(made["items"]) == 40
    assert made["convergence"]["converged"] is True
    assert "solution" not in made
    assert "table" not in made
    assert fit.to_frame().height == 1
    assert "<table>" in fit._repr_html_()
    assert "solution" not in repr(fit)


def test_many_cases() -> None:
    rng = np.random.default_rng(0)
    theta, b = np.array([-1.0, 0.0, 1.0, 2.0]), rng.normal(size=101_000)
    passes = rng.binomial(1, probability(theta, np.ones(len(b)), b))
    found = tr.fit_irt(counts_of(passes, 1), "2pl")
    assert found.convergence.converged
    assert found.abilities["ability"].is_sorted()
    assert found.items["b_se"].is_finite().all()


def test_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    from trialframe.irt import _table

    monkeypatch.setattr(_table, "MOST_CELLS", 10)
    with pytest.raises(ArgumentError, match=r"counts\.select"):
        tr.fit_irt(simulated(3, 4)[0])


def test_errors_are_of_this_package() -> None:
    assert issubclass(CountsError, TrialframeError)
    assert module.FEW_CONFIGS == 30


# real tables


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "model", "least"),
    [
        ("swebench_verified_bashonly", "2pl", 0.99),
        ("swebench_verified_bashonly", "1pl", 0.99),
        ("livecodebench_2025_04", "2pl", 0.97),
        ("terminal_bench_core_0_1_1", "1pl", 0.97),
    ],
)
def test_real_tables(shared_data: Path, name: str, model: str, least: float) -> None:
    table = tr.counts(tr.read(shared_data / f"{name}.parquet"), keep="first")
    found = tr.fit_irt(table, model)
    assert found.convergence.converged
    assert found.abilities.select(pl.corr("ability", "rate")).item() > least
    assert found.items.filter(pl.col("n") > 0).select(pl.col("a", "b").is_finite().all()).row(
        0
    ) == (
        True,
        True,
    )
    held = np.random.default_rng(0).random(len(table)) < 0.1
    rest = tr.Counts(table.frame.filter(~pl.Series(held)))
    fitted = tr.fit_irt(rest, model)
    means = rest.frame.group_by("case").agg(
        mean=(pl.col("c") + 0.5).sum() / (pl.col("n") + 1).sum()
    )
    test = (
        table.frame.filter(pl.Series(held) & (pl.col("n") > 0))
        .select("config", "case", rate=pl.col("c") / pl.col("n"))
        .join(fitted.predict(), on=["config", "case"])
        .join(means, on="case")
    )
    loss = test.select(
        model=(pl.col("rate") - pl.col("probability")).pow(2).mean(),
        mean=(pl.col("rate") - pl.col("mean")).pow(2).mean(),
    ).row(0, named=True)
    assert loss["model"] < 0.9 * loss["mean"]


# simulation studies


def aligned(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The truth on the scale of the estimates: location and spread are conventions."""
    return (truth - truth.mean()) / truth.std() * found.std() + found.mean()


@pytest.mark.slow
def test_parameters_are_recovered() -> None:
    for configs, cases, n in ((60, 200, 5), (200, 100, 1)):
        table, theta, a, b = simulated(configs, cases, n, seed=11, missing=0.1)
        found = tr.fit_irt(table, "2pl")
        ability, items = found.abilities["ability"].to_numpy(), found.items
        assert np.corrcoef(ability, theta)[0, 1] > 0.95
        assert np.corrcoef(items["b"], b)[0, 1] > 0.95
        assert np.corrcoef(np.log(items["a"]), np.log(a))[0, 1] > (0.8 if n > 1 else 0.6)
        scale = ability.std() / theta.std()
        shift = ability.mean() - scale * theta.mean()
        z = (items["b"].to_numpy() - (scale * b + shift)) / items["b_se"].to_numpy()
        assert np.mean(np.abs(z) < 1.96) > 0.9


@pytest.mark.slow
def test_ability_intervals_cover() -> None:
    inside, inside_drawn, total = 0, 0, 0
    for seed in range(40):
        table, theta, _, _ = simulated(25, 150, 2, seed=seed)
        found = tr.fit_irt(table, "2pl")
        truth = aligned(found.abilities["ability"].to_numpy(), theta)
        for frame, name in ((found.abilities, "model"), (found.bootstrap(resamples=200), "drawn")):
            hit = (frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy())
            if name == "model":
                inside += int(hit.sum())
            else:
                inside_drawn += int(hit.sum())
        total += len(theta)
    # 25 configs leave the items uncertain, which the first takes as known
    assert inside / total > 0.9
    assert inside_drawn / total > 0.9


@pytest.mark.slow
def test_suite_intervals_cover() -> None:
    table, *_ = simulated(31, 300, 1, seed=2)
    names = table.configs
    fit = tr.fit_irt(table.select(*names[:30]))
    inside = {"pirt": 0, "full_suite": 0}
    rounds = 200
    new = table.select(names[30]).frame
    truth = (new["c"] / new["n"]).mean()
    for seed in range(rounds):
        subset = tr.Counts(new.sample(60, seed=seed))
        for name in inside:
            row = getattr(fit, name)(subset).row(0, named=True)
            inside[name] += row["low"] <= truth <= row["high"]
    assert inside["full_suite"] / rounds == pytest.approx(0.95, abs=0.04)
    assert inside["pirt"] / rounds > 0.9


@pytest.mark.shared
def test_real_tables_without_priors_have_no_maximum(shared_data: Path) -> None:
    table = tr.counts(tr.read(shared_data / "swebench_verified_bashonly.parquet"), keep="first")
    found = tr.fit_irt(table, "2pl", priors=None)
    assert found.convergence.status == "no finite maximum"
    assert found.items["flags"].fill_null("").str.contains("runs away").any()
