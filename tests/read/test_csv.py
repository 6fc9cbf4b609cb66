"""CSV ids stay as they are written; what is odd in a file is said."""

from __future__ import annotations

import gzip
import logging
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.counts import counts
from trialframe.errors import SourceError
from trialframe.read import read

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = [
    ("1.1", "1.10"),
    ("1e3", "1000"),
    ("2024", "1.5"),
    ("True", "true"),
    ("TRUE", "False"),
    ("001", "1"),
    ("1", "1.0"),
    ("-0", "0"),
    ("0.10", "0.2"),
    ("1e-05", "0.00001"),
]
SERVES = ["config", "case", "cluster", "outcome", "seed", "context", "image", "split"]


def csv(folder: Path, header: str, rows: list[str], name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("name", [*SERVES, "unmapped"])
@pytest.mark.parametrize("pair", PAIRS)
def test_text_is_kept_as_it_is_written(tmp_path: Path, name: str, pair: tuple[str, str]) -> None:
    given_name: Any = {} if name == "unmapped" else {name: "version"}
    other = "case" if name != "case" else "item"
    rows = [f"x,{value},1,0.50" for value in pair]
    path = csv(tmp_path, f"{other},version,passed,score", rows)
    result = read(path, **given_name).collect()
    assert result["version" if name == "unmapped" else name].to_list() == list(pair)
    assert result["passed"].to_list() == [True, True]
    assert result["score"].to_list() == [0.5, 0.5]


def test_configs_that_look_like_numbers_are_counted_apart(tmp_path: Path) -> None:
    path = csv(tmp_path, "version,case,passed", ["1.1,x,1", "1.10,x,0", "001,x,1", "1,x,0"])
    found = counts(read(path, config="version")).frame
    assert found["config"].to_list() == ["001", "1", "1.1", "1.10"]
    assert found["n"].to_list() == [1] * 4
    later = counts(read(path), config="version").frame
    assert later["config"].to_list() == found["config"].to_list()
    path = csv(tmp_path, "version,date,case,passed", ["1.1,07,x,1", "1.10,7,x,0"])
    both = read(path, config=["version", "date"]).collect()
    assert both["config"].to_list() == ["1.1 | 07", "1.10 | 7"]


def test_text_trials_keep_their_text_and_numbers_stay_numbers(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,trial,passed", ["x,1.1,1", "x,1.10,0"])
    assert read(path).collect()["trial"].to_list() == [0, 1]
    path = csv(tmp_path, "case,trial,passed", ["x,1.0,1", "x,2.0,0", "x,,1"])
    assert read(path).collect()["trial"].to_list() == [1, 2, None]


def test_verdicts_and_measures_stay_numbers(tmp_path: Path) -> None:
    header = "case,passed,secure,score,tokens_in,cost_usd,weight,attempt"
    path = csv(tmp_path, header, ["x,True,TRUE,0.50,007,1e-3,1.0,01", "y,false,,1e-05,8,0.10,2,1"])
    result = read(path).collect()
    assert result["passed"].to_list() == [True, False]
    assert result["secure"].to_list() == [True, None]
    assert result["score"].to_list() == [0.5, 1e-05]
    assert result["tokens_in"].to_list() == [7, 8]
    assert result["cost_uusd"].to_list() == [1000, 100_000]
    assert result["attempt"].to_list() == [1, 1]


def test_sums_of_counts_stay_numbers(tmp_path: Path) -> None:
    header = "config,case,n,c,score_n,score_sum,score_sumsq,c_secure"
    path = csv(tmp_path, header, ["1.10,x,02,1,2,1.50,1.250,01"])
    found = counts(read(path)).frame
    assert found.select("config", "n", "score_sum", "c_secure").row(0) == ("1.10", 2, 1.5, 1)


def test_lossless_numbers_stay_numbers(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,passed,hard,depth", ["x,1,true,0.5", "y,0,false,1.5"])
    result = read(path).collect()
    assert result.schema["hard"] == pl.Boolean
    assert result.schema["depth"] == pl.Float64


def test_nan_is_null_also_in_a_column_kept_as_text(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,passed,seed", ["x,1,1.10", "y,0,NaN", "z,0,"])
    assert read(path).collect()["seed"].to_list() == ["1.10", None, None]


EXPRESSIONS: list[tuple[pl.Expr, list[str]]] = [
    (pl.col("version").cast(pl.String), ["1.1", "1.10"]),
    (pl.lit("v") + pl.col("version"), ["v1.1", "v1.10"]),
    (pl.col("version").str.replace_all(".", "-", literal=True), ["1-1", "1-10"]),
    (pl.when(pl.col("version") > 1).then(pl.lit("new")).otherwise(pl.lit("old")), ["new", "new"]),
]


@pytest.mark.parametrize(("made", "expected"), EXPRESSIONS)
def test_expressions_for_ids_see_the_text_unless_they_want_numbers(
    tmp_path: Path, made: pl.Expr, expected: list[str]
) -> None:
    path = csv(tmp_path, "version,case,passed", ["1.1,x,1", "1.10,x,0"])
    assert read(path, config=made).collect()["config"].to_list() == expected


def test_expressions_for_verdicts_see_numbers(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,grade,done", ["x,0.50,True", "y,0.4,False"])
    result = read(path, passed=pl.col("grade") >= 0.5, label=pl.col("done")).collect()
    assert result.select("passed", "label").rows() == [(True, True), (False, False)]


def test_files_of_different_types_keep_their_text(tmp_path: Path) -> None:
    csv(tmp_path, "version,case,passed", ["2024,x,1"], "a.csv")
    csv(tmp_path, "version,case,passed", ["1.5,x,1"], "b.csv")
    csv(tmp_path, "version,case,passed", ["true,x,1"], "c.csv")
    result = read(tmp_path, config="version").collect()
    assert result["config"].to_list() == ["2024", "1.5", "true"]
    assert result["passed"].to_list() == [True] * 3


numbers = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,3})?(e[0-9])?", fullmatch=True)


@given(st.lists(numbers | st.sampled_from(["True", "true", "FALSE"]), min_size=1, max_size=8))
def test_any_id_comes_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str]
) -> None:
    path = csv(tmp_path_factory.mktemp("ids"), "case,passed", [f"{value},1" for value in ids])
    assert read(path).collect()["case"].to_list() == ids


def test_rows_that_are_too_short_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = ['"x,\n1",true,a', "y,true", "", "z", "w,true,"]
    path = csv(tmp_path, "case,passed,note", rows)
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for source in (path, packed):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="trialframe"):
            assert read(source).collect()["case"].to_list() == ["x,\n1", "y", "z", "w"]
        assert "2 rows have fewer fields than the header, the first in line 4" in caplog.text


def test_full_rows_are_not_called_short(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = csv(tmp_path, "case,passed,note", ['x,true,"a\nb"', "y,true,"])
    with caplog.at_level(logging.WARNING, logger="trialframe"):
        read(path)
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,passed\n\n1,true\n2,true,9\n", r"line 4 has 3 fields, the header has 2\. Put a"),
        ("case,passed,case\n1,true,2\n", "several columns named 'case'"),
        ("case;passed;passed\n1;true;2\n", "several columns named 'passed'"),
    ],
)
def test_files_that_are_no_table(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        read(path)


def test_a_name_that_looks_like_a_repeated_one_is_allowed(tmp_path: Path) -> None:
    path = csv(tmp_path, "case,passed,x,x_duplicated_0", ["1,true,2,3"])
    names: list[Any] = read(path).collect_schema().names()
    assert names[-2:] == ["x", "x_duplicated_0"]
