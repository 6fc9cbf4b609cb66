"""One test, every engine: the same trials give the same counts, bit for bit."""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRIALS = tr.simulate(
    configs=["alpha", "beta", "gamma"],
    cases=40,
    clusters=7,
    trials=(1, 6),
    unscored={"timeout": 0.05, "infra_error": 0.1},
    insecure=0.2,
    cost_uusd=5_000,
    tokens=(800, 200),
    duration_ms=30_000,
    tests_total=4,
    seed=11,
).with_columns(
    suite=pl.when(pl.col("case") < "case_20").then(pl.lit("s | 1")).otherwise(pl.lit("s\\2")),
    weight=pl.col("cluster").str.slice(-1).cast(pl.Float64) / 4,
    score=pl.when(pl.col("passed").is_not_null()).then(pl.col("true_rate") * 1.3 - 0.1),
)

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "grouped": {"by": ["suite", "tests_total"]},
    "composite": {"case": ["suite", "case"], "config": ["config", "split"], "by": "split"},
    "fail": {"unscored": "fail"},
    "by outcome": {"unscored": {"timeout": "fail", "infra_error": "exclude"}},
    "threshold": {"threshold": 0.5, "passed": None},
    "without": {"cluster": None, "weight": None, "outcome": None, "secure": None},
}


def _polars_eager(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame


def _polars_lazy(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame.lazy()


def _dict(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame.to_dict(as_series=False)


def _records(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame.to_dicts()


def _pyarrow(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame.to_arrow()


def _pandas(frame: pl.DataFrame) -> Iterator[Any]:
    pytest.importorskip("pandas")
    yield frame.to_pandas()


def _duckdb(frame: pl.DataFrame) -> Iterator[Any]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("trials_view", frame.to_arrow())
    yield connection.sql("select * from trials_view")
    connection.close()


def _ibis(frame: pl.DataFrame) -> Iterator[Any]:
    ibis = pytest.importorskip("ibis")
    yield ibis.memtable(frame.to_arrow())


def _pyspark(frame: pl.DataFrame) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    pytest.importorskip("pandas")
    if shutil.which("java") is None:
        pytest.skip("could not import a Java runtime: Spark needs one on the PATH")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session.createDataFrame(frame.to_arrow())
    session.stop()


ENGINES: dict[str, Callable[[pl.DataFrame], Iterator[Any]]] = {
    "polars eager": _polars_eager,
    "polars lazy": _polars_lazy,
    "dict of columns": _dict,
    "list of records": _records,
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "pyspark": _pyspark,
}


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    """The trials in a shuffled order, with what makes every option meaningful."""
    split = pl.when(pl.col("config") == "gamma").then(pl.lit("b")).otherwise(pl.lit("a"))
    per_case = pl.col("tests_total").first().over("case")
    frame = TRIALS.with_columns(split=split, tests_total=per_case)
    # dollars and seconds as others write them, halves of a unit among them
    halves = (pl.col("cost_uusd") / 1e6 + 5e-7).alias("cost_usd")
    frame = frame.with_columns(halves, duration_s=pl.col("duration_ms") / 1e3 + 5e-4)
    frame = frame.drop("cost_uusd", "duration_ms")
    frame = frame.with_columns(tests_passed=pl.min_horizontal("tests_passed", "tests_total"))
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request: pytest.FixtureRequest, trials: pl.DataFrame) -> Iterator[Any]:
    """The same trials as a table of each engine."""
    yield from ENGINES[request.param](trials)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", list(OPTIONS))
def test_every_engine_gives_the_same_counts(engine: Any, trials: pl.DataFrame, name: str) -> None:
    expected = tr.counts(trials.sort("config", "case", "trial"), **OPTIONS[name])
    got = tr.counts(engine, **OPTIONS[name])
    whole = [c for c, dtype in expected.frame.schema.items() if dtype != pl.Float64]
    assert got.frame.schema == expected.frame.schema
    assert_frame_equal(got.frame.select(whole), expected.frame.select(whole), check_exact=True)
    assert_frame_equal(got.frame, expected.frame, rel_tol=1e-12)
    assert got.by == expected.by
    assert got.notes == expected.notes
    if expected.outcomes is not None:
        assert got.outcomes is not None
        assert_frame_equal(got.outcomes, expected.outcomes, check_exact=True)


def test_counts_match_a_count_by_hand(trials: pl.DataFrame) -> None:
    frame = tr.counts(trials).frame
    by_hand: dict[tuple[str, str], list[int]] = {}
    for config, case, passed, secure, cost in trials.select(
        "config", "case", "passed", "secure", "cost_usd"
    ).rows():
        n, c, unscored, safe, total = by_hand.setdefault((config, case), [0, 0, 0, 0, 0])
        by_hand[config, case] = [
            n + (passed is not None),
            c + (passed is True),
            unscored + (passed is None),
            safe + (passed is True and secure is True),
            total + (0 if cost is None else math.floor(cost * 1e6 + 0.5)),
        ]
    wanted = ["config", "case", "n", "c", "unscored", "c_secure", "cost_uusd_sum"]
    rows = [(*key, *values) for key, values in sorted(by_hand.items())]
    assert frame.select(wanted).rows() == rows


@pytest.mark.parametrize("name", ["duckdb", "ibis", "pyspark"])
def test_an_engine_refuses_bad_rows_and_expressions(name: str) -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "trial": [0, 0], "passed": ["True", "Y"]})
    for table in ENGINES[name](frame):
        with pytest.raises(tr.TrialframeError, match="must be true, false or null; other values"):
            tr.counts(table)
        with pytest.raises(tr.TrialframeError, match="an expression cannot run"):
            tr.counts(table, passed=pl.col("passed") == "Y")
        with pytest.raises(tr.TrialframeError, match="no row order"):
            tr.counts(table, keep="first")
    twice = pl.DataFrame({"case": ["x", "x"], "trial": [3, 3], "passed": [True, False]})
    for table in ENGINES[name](twice):
        with pytest.raises(tr.TrialframeError, match="share a"):
            tr.counts(table)
