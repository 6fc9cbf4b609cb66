"""Variance components of tables: golden designs, readings, facets, bad input, real boards."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import trialframe as tr
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.kernels.anova import coefficients, shares

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str], list[dict[str, Any]]]


def trials_of(scores: dict[str, list[int]]) -> pl.DataFrame:
    rows = [
        (*cell.split("|"), trial, bool(passed))
        for cell, runs in scores.items()
        for trial, passed in enumerate(runs)
    ]
    return pl.DataFrame(rows, schema=["config", "case", "trial", "passed"], orient="row")


def counts_of(n: list[list[int]], c: list[list[int]], **more: Any) -> tr.Counts:
    """Counts of configs a, b, ... by cases t0, t1, ...; n = 0 leaves the cell out."""
    rows = [
        (chr(97 + j), f"t{m}", n[j][m], c[j][m])
        for j in range(len(n))
        for m in range(len(n[j]))
        if n[j][m]
    ]
    table = pl.DataFrame(rows, schema=["config", "case", "n", "c"], orient="row")
    return tr.Counts(table.with_columns(**more))


def test_golden_designs(golden: Golden) -> None:
    for entry in golden("g_theory_crossed"):
        expected = entry["expected"]
        designs = [tuple(map(int, name.split(","))) for name in expected["d_study"]]
        found = tr.variance_components(
            trials_of(entry["inputs"]["scores"]),
            d_cases=sorted({m for m, _ in designs}),
            d_runs=sorted({r for _, r in designs}),
        )
        assert found.method == "anova"
        parts = ["agent", "task", "agent_task", "run"]
        raw = [expected["var_raw"][part] for part in parts]
        assert found.components["raw"].to_list() == pytest.approx(raw, abs=1e-10)
        share = [expected["share"][part] for part in parts]
        assert found.components["share"].to_list() == pytest.approx(share, abs=1e-10)
        assert found.g == pytest.approx(expected["g"], abs=1e-10)
        assert found.phi == pytest.approx(expected["phi"], abs=1e-10)
        assert found.se_relative == pytest.approx(expected["se_rel"], abs=1e-10)
        assert found.se_absolute == pytest.approx(expected["se_abs"], abs=1e-10)
        for m, r in designs:
            row = found.d_study.row(
                by_predicate=(pl.col("cases") == m) & (pl.col("runs") == r), named=True
            )
            numbers = expected["d_study"][f"{m},{r}"]
            assert row["g"] == pytest.approx(numbers["g"], abs=1e-10)
            assert row["phi"] == pytest.approx(numbers["phi"], abs=1e-10)


def test_a_negative_component_is_told_and_taken_as_zero(golden: Golden) -> None:
    scores = golden("g_theory_crossed")[0]["inputs"]["scores"]
    found = tr.variance_components(trials_of(scores))
    row = found.components.row(2, named=True)
    assert row["raw"] < 0
    assert row["value"] == 0
    assert any("below 0" in caution for caution in found.warnings)


def test_g_of_the_board_is_icc_3k_of_its_cells() -> None:
    trials = tr.simulate(configs=5, cases=30, trials=3, lift=0.3, interaction=1.5, seed=1)
    found = tr.variance_components(trials)
    forms = found.icc.filter(pl.col("target") == "config")
    value = dict(zip(forms["form"], forms["value"], strict=True))
    assert value["ICC(3,k)"] == pytest.approx(found.g)
    assert value["ICC(2,k)"] == pytest.approx(found.phi)


def test_one_run_is_confounded_and_has_no_study_of_runs() -> None:
    trials = tr.simulate(configs=4, cases=30, trials=1, lift=0.3, seed=2)
    found = tr.variance_components(trials)
    assert found.components["raw"][3] is None
    assert found.d_study["runs"].unique().to_list() == [1]
    assert any("one run a cell" in caution for caution in found.warnings)
    assert "nothing tells" in found.reading
    assert found.icc.filter(form="ICC(1,1)", target="case", over="runs")["value"].null_count() == 4
    with pytest.raises(ArgumentError, match="d_runs"):
        tr.variance_components(trials, d_runs=[1, 5])


def test_one_config_leaves_cases_and_runs() -> None:
    trials = tr.simulate(configs=1, cases=40, trials=4, seed=3)
    found = tr.variance_components(trials)
    assert found.method == "one-way"
    assert found.g is None
    assert found.components["raw"].is_null().to_list() == [True, False, True, False]
    single = found.icc.filter(form="ICC(1,1)")["value"].item()
    assert found.components["share"][1] == pytest.approx(single)
    assert found.d_study.is_empty()
    assert found.split_half is None


def test_ragged_cells_choose_their_method() -> None:
    full = counts_of([[3, 2, 3], [2, 2, 3]], [[3, 0, 2], [1, 0, 3]])
    assert tr.variance_components(full).method == "unweighted"
    holes = counts_of([[3, 2, 3], [2, 0, 3]], [[3, 0, 2], [1, 0, 3]])
    assert tr.variance_components(holes).method == "reml"
    with pytest.raises(ArgumentError, match="equally many runs"):
        tr.variance_components(full, method="anova")
    with pytest.raises(ArgumentError, match="1 of 6 cells"):
        tr.variance_components(holes, method="unweighted")


def test_reml_agrees_with_anova_where_it_must(golden: Golden) -> None:
    scores = golden("g_theory_crossed")[1]["inputs"]["scores"]
    table = trials_of(scores)
    one, two = (tr.variance_components(table, method=m) for m in ("anova", "reml"))
    assert two.components["raw"].to_list() == pytest.approx(
        one.components["raw"].to_list(), abs=1e-6
    )
    for name in ("share_low", "share_high"):
        gap = one.components[name] - two.components[name]
        assert float(gap.abs().max() or 0) < 0.25


def test_equal_configs_are_not_ranked() -> None:
    counts = counts_of([[4] * 8] * 3, [[4, 0, 2, 1, 3, 4, 0, 2]] * 3)
    found = tr.variance_components(counts)
    assert found.g == 0.0
    assert "no difference between one config and another shows" in found.reading


@pytest.mark.parametrize("engine", ["duckdb", "pandas", "pyarrow", "dict"])
def test_any_engine(engine: str, require: Callable[[str], Any]) -> None:
    trials = tr.simulate(configs=3, cases=15, trials=2, perturbation=[0, 0.2], seed=1)
    if engine == "duckdb":
        table = require("duckdb").from_arrow(trials.to_arrow())
    else:
        made = {"pandas": trials.to_pandas, "pyarrow": trials.to_arrow, "dict": trials.to_dict}
        table = made[engine]()
    expected = tr.variance_components(trials, resamples=100)
    assert tr.variance_components(table, resamples=100).to_dict() == expected.to_dict()
    stress = {"fault": None, "k": 1}
    assert tr.surface(table, **stress).cells.equals(tr.surface(trials, **stress).cells)
    assert tr.reliability(table, k=2).equals(tr.reliability(trials, k=2))


def test_blocks_that_share_nothing_are_refused() -> None:
    counts = counts_of([[2, 2, 0, 0], [0, 0, 2, 2]], [[1, 0, 0, 0], [0, 0, 2, 1]])
    with pytest.raises(TrialsError, match="2 blocks that share no case"):
        tr.variance_components(counts)


def test_nothing_varies() -> None:
    found = tr.variance_components(counts_of([[2, 2]] * 3, [[2, 2]] * 3))
    assert found.g is None
    assert found.components["share"].null_count() == 4
    assert "nothing varies" in found.reading


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"config": ["a", "b"], "case": ["x", "x"], "passed": [True, False]}, "at least 2 cases"),
        ({"case": ["x", "y"], "passed": [None, None]}, "no trial has a verdict"),
    ],
)
def test_too_little_data(rows: dict[str, Any], message: str) -> None:
    table = pl.DataFrame(rows, schema_overrides={"passed": pl.Boolean})
    with pytest.raises(TrialsError, match=message):
        tr.variance_components(table)


def test_bad_arguments() -> None:
    counts = counts_of([[2, 2], [2, 2]], [[1, 0], [2, 1]])
    for facets in (("config", "case"), ("case", "case", "run"), "config", (1, 2, 3)):
        with pytest.raises(ArgumentError, match="facets"):
            tr.variance_components(counts, facets=facets)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="facets: these counts hold no column 'model'"):
        tr.variance_components(counts, facets=("model", "case", "run"))
    with pytest.raises(ColumnError, match="measure"):
        tr.variance_components(counts, measure="score")
    with pytest.raises(ArgumentError, match="method"):
        tr.variance_components(counts, method="glmm")
    with pytest.raises(ArgumentError, match="d_cases"):
        tr.variance_components(counts, d_cases=[0])
    with pytest.raises(ArgumentError, match="counts already"):
        tr.variance_components(counts, threshold=0.5)


def test_facets_name_columns_of_trials_and_of_counts() -> None:
    trials = tr.simulate(configs=4, cases=20, trials=3, lift=0.4, seed=5)
    renamed = trials.rename({"config": "who", "case": "what", "trial": "when"})
    expected = tr.variance_components(trials)
    found = tr.variance_components(renamed, facets=("who", "what", "when"))
    assert found.g == expected.g
    assert found.components["component"].to_list() == ["who", "what", "who x what", "when"]
    family = pl.col("config").str.tail(1).cast(pl.Int64) % 2
    counts = tr.counts(trials.with_columns(family=family), by="family")
    pooled = tr.variance_components(counts, facets=("family", "case", "run"))
    assert (pooled.configs, round(pooled.runs, 9)) == (2, 6.0)


def test_scores_scale_the_components() -> None:
    rng = np.random.default_rng(0)
    trials = tr.simulate(configs=3, cases=20, trials=3, seed=6)
    trials = trials.with_columns(score=pl.Series(rng.normal(size=trials.height)))
    one = tr.variance_components(trials, measure="score")
    ten = tr.variance_components(trials.with_columns(pl.col("score") * 10), measure="score")
    assert ten.components["raw"].to_list() == pytest.approx(
        [100 * x for x in one.components["raw"]]
    )
    assert ten.g == pytest.approx(one.g)


def test_rows_and_engine_do_not_matter() -> None:
    trials = tr.simulate(configs=4, cases=25, trials=(1, 4), lift=0.3, clusters=5, seed=7)
    one = tr.variance_components(trials)
    other = tr.variance_components(trials.sample(fraction=1.0, shuffle=True, seed=1).to_pandas())
    assert one.to_dict() == other.to_dict()


def test_clusters_are_resampled_whole() -> None:
    trials = tr.simulate(configs=4, cases=60, trials=2, clusters=6, icc=0.8, seed=8)
    both = [tr.variance_components(trials, units=units) for units in ("clusters", "cases")]
    width = [
        row["share_high"] - row["share_low"]
        for f in both
        for row in [f.components.row(1, named=True)]
    ]
    assert width[0] > width[1]
    assert any("only 6 clusters" in caution for caution in both[0].warnings)


def test_weights_and_missing_verdicts_are_told() -> None:
    trials = tr.simulate(configs=3, cases=20, trials=3, unscored=0.1, seed=9)
    found = tr.variance_components(trials.with_columns(weight=pl.lit(2.0)))
    told = " ".join(found.warnings)
    assert "weights are not used" in told
    assert "without a verdict" in told


def test_the_board_of_terminal_bench(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "terminal_bench_core_0_1_1.parquet")
    table = table.filter(~pl.col("run_is_copy").fill_null(value=False))
    found = tr.variance_components(table, unscored="fail", tokens_in=None, tokens_out=None)
    assert (found.configs, found.cases, found.runs, found.trials) == (13, 80, 5.0, 5200)
    assert found.components["share"].round(3).to_list() == [0.078, 0.404, 0.246, 0.272]
    assert found.g == pytest.approx(0.954, abs=5e-4)
    assert "ranks configs reliably (G = 0.95), though" in found.reading
    assert "specialisation: which config is best often depends on the case" in found.reading
    half = found.split_half
    assert half is not None
    assert half.full_length == pytest.approx(found.g, abs=0.02)
    # halves share the cases out between them, so their G move against each other
    assert half.g_correlation is not None
    assert half.g_correlation < -0.5
    excluded = tr.variance_components(table, tokens_in=None, tokens_out=None)
    assert excluded.method == "reml"


def test_the_board_of_livecodebench(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "livecodebench_2025_04.parquet")
    found = tr.variance_components(table, resamples=200, splits=50, units="cases")
    assert found.method == "unweighted"
    assert found.configs == 16
    assert sum(found.components["share"]) == pytest.approx(1.0)
    assert any(caution.startswith("10 of 16 configs have one run") for caution in found.warnings)


def test_tau_airline_has_one_config(shared_data: Path) -> None:
    table = pl.read_parquet(shared_data / "tau_bench_airline_gpt4o.parquet")
    found = tr.variance_components(table)
    single, average = (
        found.icc.filter(form=form)["value"].item() for form in ("ICC(1,1)", "ICC(1,k)")
    )
    assert average == pytest.approx(4 * single / (1 + 3 * single))
    assert found.components["share"][1] == pytest.approx(single)


@pytest.mark.slow
@pytest.mark.parametrize("holes", [False, True])
def test_intervals_cover(*, holes: bool) -> None:
    """Coverage of shares and G at a nominal .95, configs fixed and cases new every time."""
    rng = np.random.default_rng(11)
    ability = np.linspace(-0.6, 0.6, 6)[:, None]

    def rates(cases: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        own = 1.5 * rng.normal(size=cases) + 0.8 * rng.normal(size=(6, cases))
        return np.asarray(expit(ability + own))

    many = rates(200_000)
    covariance = np.cov(many)
    alike = (covariance.sum() - np.trace(covariance)) / 30
    truth = np.array(
        [
            many.mean(axis=1).var(ddof=1),
            alike,
            np.trace(covariance) / 6 - alike,
            (many * (1 - many)).mean(),
        ]
    )
    hits, hits_g, runs = np.zeros(4), 0, 150
    for _ in range(runs):
        n = rng.integers(0, 5, (6, 60)) if holes else np.full((6, 60), 3)
        c = rng.binomial(n, rates(60))
        found = tr.variance_components(counts_of(n.tolist(), c.tolist()), resamples=400, splits=1)
        low, high = (found.components[f"share_{end}"].to_numpy() for end in ("low", "high"))
        hits += (low <= shares(truth)) & (shares(truth) <= high)
        g = float(coefficients(truth, 60, found.runs).g)
        assert found.g_low is not None
        assert found.g_high is not None
        hits_g += found.g_low <= g <= found.g_high
    assert (hits / runs > 0.88).all(), hits / runs
    assert hits_g / runs > 0.88


def test_one_cluster_has_no_interval() -> None:
    trials = tr.simulate(configs=3, cases=20, trials=3, clusters=1, seed=1)
    found = tr.variance_components(trials)
    assert found.g is not None
    assert found.g_low is None
    assert found.components["low"].null_count() == 4
    assert found.icc["low"].null_count() == found.icc.height
    assert any("one cluster" in caution for caution in found.warnings)


def test_results_become_tables() -> None:
    found = tr.variance_components(counts_of([[2, 2, 1]] * 3, [[2, 1, 0], [1, 0, 0], [2, 2, 1]]))
    assert found.to_frame().height == 1
    assert found.to_dict()["components"][0]["component"] == "config"
    assert found.reading in unescape(found._repr_html_())
    assert found.reading in repr(found)


@pytest.mark.parametrize("empty", [False, True])
def test_a_perfect_fit_has_no_noise(*, empty: bool) -> None:
    n = [[2, 2, 2], [2, 2, 2], [2, 2, 0 if empty else 2]]
    c = [[2, 0, 2], [2, 0, 2], [2, 0, 0 if empty else 2]]
    found = tr.variance_components(counts_of(n, c))
    assert found.method == ("reml" if empty else "anova")
    assert found.components["value"].round(6).to_list()[2:] == [0.0, 0.0]


def test_readings_follow_intervals_and_g() -> None:
    """A reliable mean and a large interaction go together; overlapping intervals decide nothing."""

    def found(lift: float, interaction: float, cases: int, configs: int = 6) -> str:
        rng = np.random.default_rng(3)
        ability = np.linspace(-lift, lift, configs)[:, None]
        rates = expit(ability + interaction * rng.normal(size=(configs, cases)))
        c = rng.binomial(10, rates)
        n = np.full(c.shape, 10)
        made = tr.variance_components(counts_of(n.tolist(), c.tolist()), resamples=200, splits=1)
        return made.reading

    assert "reliably (G = 0.9" in (many := found(0.8, 2.0, 200))
    assert "single cases show specialisation" in many
    assert "board ranks specialisation" in (few := found(0.4, 1.2, 30))
    assert "too few cases to rank configs by" in few
    assert "ranks general ability; the mean over 200 cases" in found(2.0, 0.1, 200)
    assert "is unclear (" in found(0.8, 0.8, 12)
