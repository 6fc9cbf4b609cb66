"""Tables of real evaluations come back from every target as they went in, to the bit."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import trialframe as tr
from trialframe.export.targets import target_of, without_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOMENT = datetime(2026, 1, 31, 6, 30, tzinfo=UTC)


@pytest.mark.shared
@pytest.mark.parametrize(
    "file", ["terminal_bench_core_0_1_1.parquet", "swebench_verified_bashonly.parquet"]
)
def test_real_tables(
    file: str, place: Any, shared_data: Path, tmp_path: Path, as_bits: Callable[..., Any]
) -> None:
    trials = tr.read(shared_data / file, keep="first")
    counts = tr.counts(trials, keep="first")
    results = [counts, tr.summary(counts, metrics=["pass@1", "flaky"]), tr.audit(trials)]
    for result in results:
        for target in (place.target, f"{tmp_path}/{{table}}.parquet"):
            for _ in range(2):
                made = tr.export(result, target, suite=file, run_id="real", created_at=MOMENT)
        found = place.read(made.table)
        wanted = pl.read_parquet(tmp_path / f"{made.table}.parquet")
        assert found.height == made.rows > 0
        assert as_bits(found.select(wanted.columns)) == as_bits(wanted)
    there = place.read("counts").sort("config", "case")
    assert there.select("n", "c", "unscored").rows() == (
        counts.frame.select("n", "c", "unscored").rows()
    )


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "sqlite", "duckdb"])
def test_anything_comes_back(
    kind: str, new_place: Callable[[str], Any], any_estimates: Any, as_bits: Callable[..., Any]
) -> None:
    place = new_place(kind)

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(any_estimates)
    def check(frame: pl.DataFrame) -> None:
        tr.export(frame, place.target, mode="replace")
        real = pl.col(pl.Float64)
        wanted = frame.with_columns(pl.when(real.is_finite()).then(real))
        assert as_bits(place.read("estimates").select(frame.columns)) == as_bits(wanted)

    check()


ADDRESSES = [
    "postgresql://me:s3cr%25t!@host:5432/db?schema=x&connect_timeout=3",
    "postgres://me:s3cr%25t!@/db?host=/var/run&schema=x",
    "postgresql://me@host/db?password=s3cr%25t!&schema=x",
    "postgresql:///db?user=me&password=s3cr%25t!&schema=x",
    "postgresql://me:s3cr/s3crt@s3cr!@host/db?schema=x",  # @ and / ought to be escaped
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_passwords_stay_out_of_sight(address: str) -> None:
    target = target_of(address, "counts")
    assert target.schema == "x"
    assert "schema" not in target.address
    for seen in (target.shown, repr(target), str(target)):
        assert "s3cr" not in seen
    told = without_password(f"no user at {address}, s3cr%t! is wrong", target)
    assert "s3cr" not in told


def test_the_rest_of_an_address_goes_to_the_driver_as_it_is() -> None:
    target = target_of("postgresql://u:a+b%20c@h/d?x=p+q%2F&schema=a%20b&y=1", "counts")
    assert target.address == "postgresql://u:a+b%20c@h/d?x=p+q%2F&y=1"
    assert target.schema == "a b"
    assert target_of("postgresql:///d?schema=s&host=/run", "counts").address == (
        "postgresql:///d?host=/run"
    )
    assert target_of("postgresql:///d", "counts").shown == "postgresql:///d"


def test_what_the_server_says_is_told_without_the_statement(
    new_place: Callable[[str], Any],
) -> None:
    place = new_place("postgresql")
    counts = pl.DataFrame({"case": ["x"], "n": 1, "c": 1})
    with pytest.raises(tr.TrialframeError, match=r'\w: schema "nowhere" does not exist') as caught:
        tr.export(counts, f"{place.address}&schema=nowhere")
    assert len(str(caught.value)) < 300
    with pytest.raises(tr.TrialframeError, match="has 66 bytes, and PostgreSQL keeps 63"):
        tr.export(counts, place.target, name="é" * 33)


def test_a_wrong_password_is_not_told(postgres: str, require: Callable[[str], Any]) -> None:
    require("adbc_driver_postgresql")
    require("adbc_driver_manager")
    wrong = postgres.replace("p-w%20%2540", "not-this-one")
    assert wrong != postgres
    with pytest.raises(tr.TrialframeError, match="authentication failed") as caught:
        tr.export(pl.DataFrame({"case": ["x"], "n": 1, "c": 1}), wrong)
    assert "not-this-one" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_null_characters_are_refused_by_name(new_place: Callable[[str], Any]) -> None:
    place = new_place("postgresql")
    frame = pl.DataFrame({"config": "a", "case": ["x\x00y"], "n": 1, "c": 1})
    with pytest.raises(
        tr.TrialframeError, match="no null characters, and there are some in 'case'"
    ):
        tr.export(frame, place.target)
    assert not place.exists("counts")
