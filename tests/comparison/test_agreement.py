"""Comparisons of random tables agree with other implementations, and with themselves reordered."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import trialframe as tr
from reference import independent as plain
from trialframe import engine
from trialframe.kernels import histogram, montecarlo, unpaired

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(0, 4),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    ),
    min_size=2,
    max_size=14,
)
SEEDS = range(6)


def counts_of(n_a: Any, c_a: Any, n_b: Any, c_b: Any, **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame({"config": name, "n": n, "c": c}, strict=False).with_columns(
            pl.format("case {}", pl.int_range(pl.len()).cast(pl.String).str.zfill(5)).alias("case"),
            **{key: pl.Series(values) for key, values in columns.items()},
        )
        for name, n, c in (("a", n_a, c_a), ("b", n_b, c_b))
    ]
    return tr.Counts(pl.concat(frames))


def drawn(
    seed: int, cases: int, trials: tuple[int, int] = (1, 5), *, equal: bool = False, lift: float = 0
) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    rate = rng.beta(2, 2, cases)
    n_a = rng.integers(trials[0], trials[1] + 1, cases)
    n_b = n_a if equal else rng.integers(trials[0], trials[1] + 1, cases)
    return n_a, rng.binomial(n_a, rate), n_b, rng.binomial(n_b, np.minimum(rate + lift, 1))


def uneven(seed: int, cases: int, clusters: int) -> np.ndarray[Any, Any]:
    """Cluster names of very unequal sizes."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(clusters, 0.7))
    return np.array([f"g{i:03d}" for i in rng.choice(clusters, cases, p=share)])


# standard errors


@given(rows=CASES, weighted=st.booleans(), clustered=st.booleans())
@settings(max_examples=120, derandomize=True)
def test_means_and_intervals_are_those_of_the_matrices(
    rows: list[tuple[int, int, int, int, int, float]], *, weighted: bool, clustered: bool
) -> None:
    n_a, n_b, c_a, c_b, group, weight = map(np.array, zip(*rows, strict=True))
    c_a, c_b = np.minimum(c_a, n_a), np.minimum(c_b, n_b)
    extra: dict[str, Any] = {"weight": weight} if weighted else {}
    extra |= {"cluster": [f"g{g}" for g in group]} if clustered else {}
    found = tr.compare(counts_of(n_a, c_a, n_b, c_b, **extra), "a", "b", resamples=100)
    a, b = c_a / n_a, c_b / n_b
    by = (weight if weighted else None, group if clustered else None)
    mean, se, df = plain.cr2(np.column_stack([b - a, a, b]), *by)
    got = (found.diff, found.baseline_value, found.candidate_value)
    assert got == pytest.approx(tuple(mean), abs=1e-12)
    if np.isnan(se[0]):
        assert (found.se, found.interval(method="t").low) == (None, None)
        return
    assert found.se == pytest.approx(se[0], abs=1e-9)
    if se[0] > 1e-9:
        ends = found.interval(method="t")
        wanted = np.clip(plain.t_interval(mean[0], se[0], df), -1.0, 1.0)
        assert (ends.low, ends.high) == pytest.approx(tuple(wanted))
    if mean[1] > 0 and mean[2] > 0:
        assert found.ratio is not None
        ratio = (found.ratio.value, found.ratio.low, found.ratio.high)
        assert ratio == pytest.approx(plain.log_ratio(a, b, *by), rel=1e-6)
    else:
        assert found.ratio is None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_standard_error_is_bell_and_mccaffreys(seed: int) -> None:
    sides, cluster = drawn(seed, 90), uneven(seed, 90, 12)
    found = tr.compare(counts_of(*sides, cluster=cluster), "a", "b", resamples=100)
    d = sides[3] / sides[2] - sides[1] / sides[0]
    assert (found.se, found.df) == pytest.approx(plain.cr2_root(d, cluster), rel=1e-9)


# tests


@given(rows=CASES, weighted=st.booleans(), clustered=st.booleans(), equal=st.booleans())
@settings(max_examples=120, derandomize=True)
def test_the_sign_flip_is_the_enumeration(
    rows: list[tuple[int, int, int, int, int, float]],
    *,
    weighted: bool,
    clustered: bool,
    equal: bool,
) -> None:
    rows = [
        (n, n if equal else m, min(x, n), min(y, n if equal else m), g, w)
        for n, m, x, y, g, w in rows
    ]
    n_a, n_b, c_a, c_b, group, weight = map(list, zip(*rows, strict=True))
    extra: dict[str, Any] = {"weight": weight} if weighted else {}
    extra |= {"cluster": [f"g{g}" for g in group]} if clustered else {}
    found = tr.compare(counts_of(n_a, c_a, n_b, c_b, **extra), "a", "b", resamples=100)
    sums: dict[Any, Fraction] = {}
    for i, (n, m, x, y, g, w) in enumerate(rows):
        d = (Fraction(y, m) - Fraction(x, n)) * (Fraction(w) if weighted else 1)
        key = g if clustered else i
        sums[key] = sums.get(key, Fraction(0)) + d
    flips = plain.sign_flip_enumerated(list(sums.values()))
    assert plain.sign_flip(sums.values()) == pytest.approx(flips, rel=1e-12)
    same = n_a == n_b
    other = 0.0
    if not same and len(set(extra.get("weight", [1]))) > 1:
        assert found.permutation is not None  # drawn, with the weights
        other = found.permutation
    elif not same:
        other = plain.permutation(n_a, c_a, n_b, c_b)
    assert found.pvalue == pytest.approx(max(flips[0], other), abs=1e-9)
    assert found.changed == sum(s != 0 for s in sums.values())
    assert found.exact == same


@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_flips_are_scipys_permutation_of_samples(seed: int) -> None:
    sides, cluster = drawn(seed, 60, equal=True, lift=0.1), uneven(seed, 60, 9)
    found = tr.compare(counts_of(*sides, cluster=cluster), "a", "b", resamples=100)
    d = sides[3] / sides[2] - sides[1] / sides[0]
    sums = np.bincount(plain.codes(cluster), d)
    made = stats.permutation_test(
        (sums, -sums),
        lambda x, y, axis: np.round(np.sum(x - y, axis=axis), 9),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.pvalue == pytest.approx(made.pvalue, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_permutation_is_scipys_of_trials_within_cases(seed: int) -> None:
    # one case at a time SciPy can do it: trials of both sides are shuffled together
    (n_a,), (c_a,), (n_b,), (c_b,) = drawn(seed + 20, 1, (3, 6))
    n_b = n_b + (n_b == n_a)
    found = tr.compare(counts_of([n_a], [c_a], [n_b], [c_b]), "a", "b")
    sides = [np.repeat([1.0, 0.0], [c, n - c]) for n, c in ((n_a, c_a), (n_b, c_b))]
    made = stats.permutation_test(
        sides,
        lambda x, y: round(abs(np.mean(y) - np.mean(x)), 9),
        n_resamples=np.inf,
        alternative="greater",
    )
    assert found.permutation == pytest.approx(made.pvalue, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_verdicts_are_those_of_statsmodels(seed: int) -> None:
    sides = drawn(seed, 70, (1, 1), lift=0.05 * seed)
    found = tr.compare(counts_of(*sides), "a", "b")
    assert found.majority is not None
    b, c = found.majority.only_baseline, found.majority.only_candidate
    wanted = mcnemar([[0, b], [c, 0]], exact=True).pvalue
    assert found.pvalue == pytest.approx(wanted, rel=1e-9)
    assert found.majority.pvalue == pytest.approx(wanted, rel=1e-9)
    assert (found.low, found.high) == pytest.approx(plain.tango(b, c, 70), abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_cases_are_those_of_scipy_and_statsmodels(seed: int) -> None:
    sides = drawn(seed, 25, (2, 9))
    counts = counts_of(*sides)
    table = tr.regressions(counts, "a", "b", adjust="none")
    for i in range(0, 25, 5):
        cells = [int(side[i]) for side in sides]
        row = table.row(i, named=True)
        for kind, word in (("worse", "less"), ("better", "greater")):
            if row[f"pvalue_{kind}"] is not None:
                got = row[f"pvalue_{kind}"]
                assert got == pytest.approx(plain.boschloo(*cells, word), abs=2e-4)
    for adjust, name in (("holm", "holm"), ("bh", "fdr_bh")):
        for kind in ("worse", "better"):
            able = table.filter(pl.col("least_pvalue") <= 0.05)["case"]
            raw = table.filter(pl.col("case").is_in(able.implode()))[f"pvalue_{kind}"].to_numpy()
            got = tr.regressions(counts, "a", "b", adjust=adjust)
            got = got.filter(pl.col("case").is_in(able.implode()))[f"adjusted_{kind}"].to_numpy()
            np.testing.assert_allclose(got, multipletests(raw, method=name)[1])


# bootstrap


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_intervals_of_cases_are_scipys_bootstrap(seed: int, method: str) -> None:
    sides = drawn(seed, 120, (4, 4), lift=0.1)
    found = tr.compare(counts_of(*sides), "a", "b")
    d = found.pairs["diff"].to_numpy()
    made = stats.bootstrap((d,), np.mean, method=method, n_resamples=9_999, rng=seed, batch=1000)
    ends = made.confidence_interval
    got = found.interval(method={"percentile": "bootstrap", "BCa": "bca"}[method])
    # two draws of the same quantile, in units of its standard error
    spread = 5 * float(found.se or 0) * np.sqrt(2 * 0.025 * 0.975 / 1e4) / stats.norm.pdf(1.96)
    assert (got.low, got.high) == pytest.approx((ends.low, ends.high), abs=spread + 1 / 480)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [True, False])
def test_bootstraps_of_clusters_are_gathered_ones(seed: int, *, weighted: bool) -> None:
    sides, cluster = drawn(seed, 90), uneven(seed, 90, 15)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], 90) if weighted else np.ones(90)
    found = tr.compare(counts_of(*sides, cluster=cluster, weight=weight), "a", "b")
    d = sides[3] / sides[2] - sides[1] / sides[0]
    draws = plain.resampled(d, weight, cluster)
    noise = 5 * np.sqrt(0.025 * 0.975 * (1e-4 + 5e-5))
    assert found.bootstrap is not None
    for end, level in ((found.bootstrap.low, 0.025), (found.bootstrap.high, 0.975)):
        assert end is not None
        assert plain.holds_quantile(draws, end, level, noise)


# what must not matter

TRIALS = tr.simulate(
    configs=["a", "b", "c"],
    cases=60,
    clusters=9,
    trials=(1, 5),
    unscored={"timeout": 0.08},
    lift=0.1,
    seed=5,
).with_columns(
    weight=pl.col("cluster").str.len_chars().cast(pl.Float64) + (pl.col("case") < "case_30") * 0.5,
    suite=pl.when(pl.col("case") < "case_20").then(pl.lit("s1")).otherwise(pl.lit("s2")),
)
FULL: dict[str, Any] = {"by": "suite", "margin": 0.1, "resamples": 2000, "seed": 3}
METHODS = ("default", "bootstrap", "bca", "studentised")


def everything(trials: Any) -> list[Any]:
    """Every number of the comparisons of one table."""
    counts = tr.counts(trials, by="suite")
    plain_counts = tr.Counts(counts.frame.drop("weight", "cluster"))
    made: list[Any] = [
        tr.compare(counts, "a", "b", interval=method, units=units, **FULL).to_dict()
        for method in METHODS
        for units in ("clusters", "cases")
    ]
    made.append(tr.compare(plain_counts, "a", "b", metric="pass^2", **FULL).to_dict())
    made.append(tr.compare(plain_counts, "a", "b", effect="ratio", **FULL).to_dict())
    made += tr.compare(counts, "a", "b").fragility("suite").to_dicts()
    for row in made:
        for name in {"largest_unit_share", "share"} & row.keys():
            row[name] = round(row[name], 12)  # a share of a sum in no fixed order
    return [*made, *tr.regressions(counts, "a", "b").to_dicts()]


@pytest.fixture(scope="module")
def wanted() -> list[Any]:
    """The numbers of the table in order."""
    return everything(TRIALS)


@pytest.mark.parametrize("seed", range(3))
def test_row_order_changes_nothing(wanted: list[Any], seed: int) -> None:
    assert everything(TRIALS.sample(fraction=1, shuffle=True, seed=seed)) == wanted


@pytest.mark.parametrize("name", ["lazy", "pandas", "pyarrow", "duckdb"])
def test_engines_change_nothing(
    wanted: list[Any], name: str, require: Callable[[str], Any]
) -> None:
    table = TRIALS.sample(fraction=1, shuffle=True, seed=9)
    if name == "lazy":
        given: Any = table.lazy()
    elif name == "duckdb":
        connection = require("duckdb").connect()
        connection.register("rows", table.to_arrow())
        given = connection.sql("select * from rows")
    else:
        require(name)
        given = table.to_pandas() if name == "pandas" else table.to_arrow()
    assert everything(given) == wanted


def test_batches_change_nothing(wanted: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(histogram, "_CELLS", 700)
    monkeypatch.setattr(montecarlo, "_CELLS", 700)
    monkeypatch.setattr(unpaired, "_CELLS", 700)
    assert everything(TRIALS) == wanted


def test_batches_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    scores = pl.DataFrame(
        {
            "config": ["a"] * 70 + ["b"] * 70,
            "case": [f"{i:02d}" for i in range(70)] * 2,
            "passed": True,
            "score": rng.normal(size=140),
        }
    )
    first = tr.compare(tr.counts(scores), "a", "b", metric="score", interval="bca")
    assert "monte carlo" in str(first.test)
    monkeypatch.setattr(histogram, "_CELLS", 500)
    monkeypatch.setattr(montecarlo, "_CELLS", 500)
    again = tr.compare(tr.counts(scores.reverse()), "a", "b", metric="score", interval="bca")
    assert again.to_dict() == first.to_dict()
    assert_frame_equal(again.pairs, first.pairs)


def test_other_configs_change_nothing(wanted: list[Any]) -> None:
    assert everything(TRIALS.filter(pl.col("config") != "c")) == wanted
