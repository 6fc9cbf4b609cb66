"""The counts query as SQL gives what the package counts."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

TRIALS = tr.simulate(
    configs=3, cases=25, clusters=4, trials=3, unscored=0.15, insecure=0.3, cost_uusd=4e3, seed=2
).with_columns(
    suite=pl.when(pl.col("case") < "case_10").then(pl.lit("s|1")).otherwise(pl.lit('q"')),
    score=pl.col("true_rate").round(2),
    weight=pl.lit(0.5),
)
KEYS = {"config": "config", "case": "case"}
OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (KEYS, {"cluster": None, "secure": None, "weight": None, "score": None, "cost_uusd": None}),
    (
        KEYS | {"cluster": "cluster", "secure": "secure", "measures": ["cost_uusd"], "by": "suite"},
        {"by": "suite", "weight": None, "score": None},
    ),
    (
        {"config": ["config", "suite"], "case": "case", "weight": "weight", "unscored": "fail"},
        {
            "config": ["config", "suite"],
            "unscored": "fail",
            "cluster": None,
            "secure": None,
            "score": None,
            "cost_uusd": None,
        },
    ),
    (
        {"case": ["suite", "case"], "config": "config", "score": "score", "threshold": 0.5},
        {
            "case": ["suite", "case"],
            "threshold": 0.5,
            "passed": None,
            "cluster": None,
            "secure": None,
            "weight": None,
            "cost_uusd": None,
        },
    ),
]


def in_duckdb(sql: str) -> pl.DataFrame:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("create schema evals")
        connection.register("given", TRIALS.to_arrow())
        connection.execute('create table evals."my trials" as select * from given')
        return pl.DataFrame(connection.sql(sql).to_arrow_table())


def in_sqlite(sql: str) -> pl.DataFrame:
    columns = [c for c in TRIALS.columns if c != "started_at"]
    names = ", ".join(f'"{name}"' for name in columns)
    connection = sqlite3.connect(":memory:")
    connection.execute("attach ':memory:' as evals")
    connection.execute(f'create table evals."my trials" ({names})')
    insert = f'insert into evals."my trials" values ({", ".join("?" for _ in columns)})'
    connection.executemany(insert, TRIALS.select(columns).rows())
    cursor = connection.execute(sql)
    schema = [item[0] for item in cursor.description]
    frame = pl.DataFrame(cursor.fetchall(), schema=schema, orient="row")
    connection.close()
    return frame


@pytest.mark.parametrize("run", [in_duckdb, in_sqlite])
@pytest.mark.parametrize("i", range(len(OPTIONS)))
def test_sql_gives_the_same_counts(run: Callable[[str], pl.DataFrame], i: int) -> None:
    in_sql, in_python = OPTIONS[i]
    sql = tr.counts_sql(table="evals.my trials", **in_sql)
    got = tr.Counts(run(sql)).frame
    expected = tr.counts(TRIALS, outcome=None, **in_python).frame
    assert_frame_equal(got.select(expected.columns), expected, rel_tol=1e-12)


def test_units_are_converted_and_names_quoted() -> None:
    sql = tr.counts_sql(table="{{ ref('t') }}", case='we"ird', measures={"cost_uusd": "cost_usd"})
    assert "FROM {{ ref('t') }}" in sql
    assert '"we""ird"' in sql
    assert 'FLOOR(CAST("cost_usd" AS DOUBLE PRECISION) * 1000000 + 0.5)' in sql
    assert "'system' AS \"config\"" in sql


@pytest.mark.parametrize(
    "options",
    [
        {"table": ""},
        {"table": "t", "case": ""},
        {"table": "t", "threshold": 0.5},
        {"table": "t", "measures": ["costs"]},
        {"table": "t", "unscored": "raise"},
        {"table": "t", "score": "s", "threshold": float("nan")},
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        tr.counts_sql(**options)
