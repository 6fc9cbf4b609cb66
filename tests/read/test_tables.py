"""Files of every format, and what is said of files that cannot be read."""

from __future__ import annotations

import gzip
import json
import logging
import os
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from trialframe.errors import ArgumentError, ColumnError, SourceError, TrialsError
from trialframe.read import _csv, _scan, mapping, read
from trialframe.read import tables as tables_module
from trialframe.read._frames import to_lazy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = pl.DataFrame(
    {
        "model": ["a", "a", "b", "b"],
        "task_id": ["x-1", "y, é\n2", "x-1", "y, é\n2"],
        "epoch": [0, 0, 0, 1],
        "passed": [True, False, None, True],
        "score": [1.0, 0.25, None, 0.5],
        "cost_usd": [0.000012, 0.5, None, 0.0],
        "note": ["", "n", "m", None],
    }
)
CANONICAL = ["config", "case", "trial", "passed", "score", "cost_uusd"]
EXPECTED = [
    ("a", "x-1", 0, True, 1.0, 12),
    ("a", "y, é\n2", 0, False, 0.25, 500_000),
    ("b", "x-1", 0, None, None, None),
    ("b", "y, é\n2", 1, True, 0.5, 0),
]


def _gzipped(frame: pl.DataFrame, path: Path, write: Callable[[Path], None]) -> None:
    plain = path.with_suffix("")
    write(plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert frame.height


def _zstd(path: Path, text: bytes) -> None:
    pa = pytest.importorskip("pyarrow")
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(text)


def write(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame in the format that the name of the file says."""
    name = path.name
    if name.endswith(".gz"):
        inner = path.with_suffix("")
        _gzipped(frame, path, lambda plain: write(frame, plain) and None)
        assert not inner.exists()
    elif name.endswith(".zst"):
        plain = write(frame, path.with_suffix(""))
        _zstd(path, plain.read_bytes())
        plain.unlink()
    elif name.endswith((".parquet", ".pq")):
        frame.write_parquet(path)
    elif name.endswith(".csv"):
        frame.write_csv(path)
    elif name.endswith(".tsv"):
        frame.write_csv(path, separator="\t")
    elif name.endswith((".jsonl", ".ndjson")):
        frame.write_ndjson(path)
    elif name.endswith(".json"):
        frame.write_json(path)
    elif name == "stream.arrow":
        frame.write_ipc_stream(path)
    else:
        frame.write_ipc(path)
    return path


NAMES = [
    *("a.parquet", "a.pq", "a.csv", "a.tsv", "a.jsonl", "a.ndjson", "a.json", "a.arrow", "a.ipc"),
    *("a.feather", "stream.arrow", "A.b.csv.gz", "a.jsonl.gz", "a.json.gz", "a.csv.zst"),
    *("a.jsonl.zst", "a.json.zst"),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_trials(tmp_path: Path, name: str) -> None:
    frame = read(write(ROWS, tmp_path / name))
    assert isinstance(frame, pl.LazyFrame)
    assert frame.select(CANONICAL).collect().rows() == EXPECTED
    assert "note" in frame.collect_schema()


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.lazy(), pl.DataFrame.to_arrow])
def test_tables_in_memory(make: Callable[[pl.DataFrame], Any]) -> None:
    assert read(make(ROWS)).select(CANONICAL).collect().rows() == EXPECTED
    assert read(ROWS.to_dict(as_series=False)).select(CANONICAL).collect().rows() == EXPECTED
    assert read(ROWS.to_dicts()).select(CANONICAL).collect().rows() == EXPECTED


def test_pandas_writes_missing_values_as_nan(require: Callable[[str], Any], tmp_path: Path) -> None:
    pd = require("pandas")
    frame = pd.DataFrame(
        {"case": [1, 2, 3], "passed": [True, False, None], "score": [0.5, None, 1.0]}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        result = read(source).collect()
        assert result["passed"].to_list() == [True, False, None]
        assert result["score"].to_list() == [0.5, None, 1.0]


ids = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
# CSV has no types: text that looks like a number or a blank is another test.
words = ids.map(lambda text: "é" + text)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl", "a.json", "a.arrow"])
@given(data=st.data())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    column = words if name == "a.csv" else ids
    row = st.tuples(
        column,
        column,
        st.none() | st.booleans(),
        st.none() | st.floats(-1e15, 1e15),
        st.none() | st.integers(0, 2**53),
    )
    schema = ["config", "case", "passed", "score", "tokens_in"]
    types = [pl.String, pl.String, pl.Boolean, pl.Float64, pl.Int64]
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    frame = pl.DataFrame(rows, schema=dict(zip(schema, types, strict=True)), orient="row")
    path = write(frame, tmp_path_factory.mktemp("round") / name)
    assert_frame_equal(read(path).collect().select(schema), frame, rel_tol=1e-15)


def test_folder_with_every_format_below_it(tmp_path: Path) -> None:
    for index, name in enumerate(NAMES):
        folder = tmp_path / f"run{index}"
        folder.mkdir()
        write(ROWS, folder / name)
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("broken")
    result = read(tmp_path).select(CANONICAL).collect()
    assert result.rows() == EXPECTED * len(NAMES)


def test_glob_list_and_file_url_are_read_in_order_and_once(tmp_path: Path) -> None:
    first = write(ROWS.head(1), tmp_path / "a.parquet")
    second = write(ROWS.tail(1), tmp_path / "b.csv")
    expected = [EXPECTED[0], EXPECTED[-1]]
    sources = [
        f"{tmp_path}/*",
        str(tmp_path / "[ab].*"),
        [first, second, str(first)],
        f"{tmp_path}/**",
    ]
    for source in sources:
        assert read(source).select(CANONICAL).collect().rows() == expected
    assert read(f"file://{first}").select(CANONICAL).collect().rows() == expected[:1]
    odd = write(ROWS.head(1), tmp_path / "run[1].csv")
    assert read(str(odd)).select(CANONICAL).collect().rows() == expected[:1]


def test_folders_that_hold_values(tmp_path: Path) -> None:
    for (model,), part in ROWS.group_by("model", maintain_order=True):
        folder = tmp_path / f"model={model}"
        folder.mkdir()
        part.drop("model").write_parquet(folder / "part-0.parquet")
    assert read(tmp_path).select(CANONICAL).collect().rows() == EXPECTED


def test_parquet_stays_on_disk_until_collected(tmp_path: Path) -> None:
    plan = read(write(ROWS, tmp_path / "a.parquet")).select("config").explain()
    assert "Parquet SCAN" in plan
    assert "PROJECT 1/" in plan


def test_a_column_that_a_file_lacks_is_null_there_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(ROWS, tmp_path / "a.parquet")
    write(ROWS.drop("score", "passed"), tmp_path / "b.parquet")
    with caplog.at_level(logging.INFO, logger="trialframe"):
        result = read(tmp_path).collect()
    assert result["score"].to_list()[4:] == [None] * 4
    assert "column 'passed' is missing in 1 of 2 files" in caplog.text
    assert {r.levelname for r in caplog.records if "is missing" in r.message} == {"WARNING"}
    assert "column config <- model (alias)" in caplog.text


def test_types_that_conflict_are_named_with_their_files(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "a.parquet")
    write(ROWS.with_columns(pl.col("passed").cast(pl.String)), tmp_path / "b.parquet")
    with pytest.raises(
        SourceError, match=r"'passed' is Boolean in .*a\.parquet and String in .*b\."
    ):
        read(tmp_path)
    with pytest.raises(SourceError, match="'passed' is Boolean"):
        read(tmp_path, passed=pl.col("passed"))
    write(ROWS.with_columns(score=pl.lit("high")), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="'score' is Float64"):
        read(tmp_path)


def test_numbers_of_several_types_and_ids_of_two_kinds_agree(tmp_path: Path) -> None:
    write(ROWS.with_columns(passed=pl.lit(1), task_id=pl.lit(7)), tmp_path / "a.parquet")
    write(ROWS.with_columns(score=pl.lit(1, pl.Int8)), tmp_path / "b.parquet")
    write(ROWS.with_columns(note=pl.lit(None), score=pl.lit(None)), tmp_path / "c.csv")
    result = read(tmp_path).collect()
    assert result["case"].to_list()[:5] == ["7"] * 4 + ["x-1"]
    assert result["passed"].to_list()[:5] == [True] * 5


def test_nested_columns_of_different_shape_are_refused(tmp_path: Path) -> None:
    write(ROWS.with_columns(extra=pl.lit("x")), tmp_path / "a.parquet")
    write(ROWS.with_columns(extra=pl.concat_list("note")), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="'extra' is String"):
        read(tmp_path)


def bad_parquet(path: Path) -> Path:
    path.write_bytes(b"PAR1 this is no Parquet file")
    return path


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "runs.parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("x")
    (tmp_path / "zero.csv").write_bytes(b"")
    (tmp_path / "data.xlsx").write_bytes(b"x")
    (tmp_path / "ragged.csv").write_text("case,passed\n1,true,9\n")
    (tmp_path / "latin.csv").write_bytes("case,passed\né,true\n".encode("latin-1"))
    (tmp_path / "lines.jsonl").write_text('{"case": 1}\n{"case": \n')
    (tmp_path / "object.json").write_text('{"results": [{"case": 1}], "version": 2}')
    (tmp_path / "numbers.json").write_text("[1, 2]")
    (tmp_path / "broken.json").write_text("[{")
    os.mkfifo(tmp_path / "pipe.parquet")
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"case,passed\n" + b"1,true\n" * 5000)[:60])
    bad_parquet(tmp_path / "bad.parquet")
    cases = {
        "run.parquet": r"no file or folder .*Did you mean 'runs\.parquet'\?",
        "nowhere/a.csv": "does not exist either",
        "empty": "no data file in folder .*It is empty",
        "notes": r"no data file in folder .*It holds '\.md'",
        "*.xyz": "no data file matches",
        "*.xlsx": "cannot tell the format",
        "pipe.parquet": "is not a regular file",
        "nowhere/*.csv": "does not exist either",
        "zero.csv": r"zero\.csv' is empty \(0 bytes\)",
        "data.xlsx": r"cannot tell the format of .*Known endings: \.parquet",
        "ragged.csv": r"cannot read .*ragged\.csv' as CSV: line 2 has 3 fields, the header has 2",
        "latin.csv": "Save it as UTF-8",
        "lines.jsonl": "line 2 is not JSON",
        "object.json": "holds no table.*Its list 'results'",
        "numbers.json": "holds 1 where an object per row",
        "broken.json": r"cannot read .*broken\.json' as JSON",
        "cut.csv.gz": r"cannot read .*cut\.csv\.gz' as CSV",
        "bad.parquet": r"cannot read .*bad\.parquet' as Parquet",
        "x" * 5000: "no file or folder",
    }
    for name, message in cases.items():
        with pytest.raises(SourceError, match=message) as caught:
            read(f"{tmp_path}/{name}")
        assert len(str(caught.value)) < 900


@pytest.mark.parametrize("source", ["", " ", ["a.csv", ""]])
def test_an_empty_path_is_not_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    write(ROWS, tmp_path / "a.csv")
    with pytest.raises(SourceError, match=r"is empty\. Name a file"):
        read(source)
    assert read(".").collect().height == ROWS.height


@pytest.mark.parametrize("source", ["/", "/.", "//"])
def test_the_root_of_the_file_system_is_not_searched(source: str) -> None:
    with pytest.raises(SourceError, match="is the root of the file system"):
        read(source)


def test_a_folder_that_cannot_be_looked_into_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ROWS, tmp_path / "a.csv")
    (tmp_path / "locked").mkdir()
    real = os.scandir

    def locked(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", locked)
    with pytest.raises(SourceError, match=r"cannot look into .*locked': Permission denied\. Get"):
        read(tmp_path)


def test_a_corrupt_page_is_named_with_its_file(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random(100_000)
    frame = pl.DataFrame({"case": "x", "passed": True, "score": values.round(3)})
    for name in ("a.parquet", "b.parquet", "c.parquet"):
        frame.write_parquet(tmp_path / name)
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    content[1000:-3000] = b"\xff" * (len(content) - 4000)
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(SourceError, match=r"the rows of .*b\.parquet' failed.*corrupt"):
        read(tmp_path)


def test_files_are_listed_when_none_of_them_is_corrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise pl.exceptions.ComputeError("conversion failed")

    monkeypatch.setattr(tables_module, "refuse_broken", broken)
    with pytest.raises(SourceError, match=r"conversion failed.*Files: .*a\.csv'\."):
        read(write(ROWS, tmp_path / "a.csv"))


def test_no_warning_comes_before_the_error_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_: object) -> None:
        warnings.warn("'(default_)region' not set", stacklevel=1)
        raise OSError("dns error")

    monkeypatch.setattr(_scan, "_parquet", unreachable)
    with pytest.raises(SourceError, match=r"s3://b/x\.parquet' as Parquet: dns error\. Check"):
        read("s3://b/x.parquet")


NO_TABLES: list[tuple[Any, str]] = [
    ("a.csv", r"cannot read a str\. Read it first: tr\.read\('a\.csv'\)"),
    (PurePath("a.csv"), r"Read it first: tr\.read\('a\.csv'\)"),
    (["a.csv"], r"Read it first: tr\.read\(\['a\.csv'\]\)"),
    (np.zeros((2, 3)), r"cannot read a ndarray\. Name its columns: pl\.DataFrame"),
    ([1, 2], "It holds 1, and a dict per row is needed"),
    (b"x", "Write it to a file"),
    (7, "cannot read a int. Give a path"),
]


@pytest.mark.parametrize(("table", "message"), NO_TABLES)
def test_what_is_no_table_is_told_what_to_do(table: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        to_lazy(table)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"case": ["a", "b", "c"], "passed": [True, 2, None]}, "'passed' mixes bool and int"),
        ({"case": ["a", 1], "passed": [True, False]}, "'case' mixes int and str"),
    ],
)
def test_pandas_columns_of_mixed_types_are_named(
    require: Callable[[str], Any], rows: dict[str, list[Any]], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read(require("pandas").DataFrame(rows))


def test_pandas_columns_of_one_name_are_named(require: Callable[[str], Any]) -> None:
    with pytest.raises(SourceError, match="several columns are named 'a'"):
        read(require("pandas").DataFrame([[1, 2]], columns=["a", "a"]))


def test_one_bad_file_of_many_is_named(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "a.parquet")
    bad_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("sign", "scan"),
    [("_delta_log/0.json", "scan_delta"), ("metadata/v1.metadata.json", "scan_ice")],
)
def test_folders_of_table_formats_are_not_read_as_files(
    tmp_path: Path, sign: str, scan: str
) -> None:
    write(ROWS, tmp_path / "part.parquet")
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).write_text("{}")
    with pytest.raises(SourceError, match=scan):
        read(tmp_path)


def test_sources_that_are_no_table(require: Callable[[str], Any]) -> None:
    duckdb = require("duckdb")
    with pytest.raises(SourceError, match=r"give it to tr\.counts"):
        read(duckdb.sql("select 1 as x"))
    for source in (7, b"a.csv", [], None, [1, 2], {"a": [1], "b": [1, 2]}):
        with pytest.raises(SourceError):
            read(source)


def test_csv_ids_keep_their_zeros_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("case;passed;tokens_in\n007;True;5\n\n010;False;\n")
    assert read(path).collect().rows() == [("007", True, 5), ("010", False, None)]


def test_csv_types_come_from_the_whole_file_when_its_start_misleads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_csv, "INFER_BYTES", 0)
    path = tmp_path / "a.csv"
    path.write_text("case,passed\n" + "1,True\n" * 10_001 + "x-1,False\n")
    result = read(path).collect()
    assert result.height == 10_002
    assert result["case"][-1] == "x-1"


def test_json_as_python_writes_it(tmp_path: Path) -> None:
    rows = [{"task": i, "score": float("nan") if i == 1 else 0.5, "late": None} for i in range(3)]
    rows += [{"task": "x", "score": 1, "late": {"a": [1]}}]
    for name, text in {
        "a.jsonl": "\n".join(map(json.dumps, rows)) + "\n\n",
        "a.json": json.dumps(rows),
        "lines.json": "\n".join(map(json.dumps, rows)),
    }.items():
        (tmp_path / name).write_text(text)
        result = read(tmp_path / name, threshold=0.5).collect()
        assert result["passed"].to_list() == [True, None, True, True]
        assert result["case"].to_list() == ["0", "1", "2", "x"]
    (tmp_path / "columns.json").write_text('{"case": [1, 2], "passed": [true, NaN]}')
    assert read(tmp_path / "columns.json").collect().rows() == [("1", True), ("2", None)]
    (tmp_path / "inf.jsonl").write_text('{"case": 1, "passed": true, "score": Infinity}')
    with pytest.raises(TrialsError, match="infinity"):
        read(tmp_path / "inf.jsonl")


def test_a_key_that_comes_late_in_json_lines_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"case": 1}\n' * 20_000 + '{"case": 2, "passed": true}\n')
    assert read(path).collect()["passed"].count() == 1


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,task_id,passed,score,tokens_in\n")
    assert read(tmp_path / "a.csv").collect().height == 0
    write(ROWS.clear(), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").collect().height == 0
    assert read(tmp_path).collect().height == 0


def test_counts_pass_through() -> None:
    table = {"model": ["a"], "task": [1], "n_samples": [5], "n_correct": [2], "suite": ["s"]}
    assert read(table).collect().rows(named=True) == [
        {"config": "a", "case": "1", "n": 5, "c": 2, "suite": "s"}
    ]


def test_a_composite_config_is_one_text_and_its_parts_stay() -> None:
    table = {"model": ["a|b", "a"], "scaffold": ["c", "b|c"], "case": [1, 1], "passed": [1, 0]}
    result = read(table, config=["model", "scaffold"]).collect()
    assert result["config"].to_list() == ["a\\|b | c", "a | b\\|c"]
    assert result["model"].to_list() == ["a|b", "a"]


def test_zero_is_missing() -> None:
    table = {
        "case": [1, 2, 3],
        "passed": [1, 1, 1],
        "tokens_in": [0, 5, None],
        "cost_usd": [0.0] * 3,
    }
    result = read(table, zero_is_missing=["tokens_in", "cost_uusd"]).collect()
    assert result["tokens_in"].to_list() == [None, 5, None]
    assert result["cost_uusd"].to_list() == [None] * 3
    with pytest.raises(ArgumentError, match="zero_is_missing"):
        read(table, zero_is_missing="passed")
    with pytest.raises(ColumnError, match="it has 'tokens_in'"):
        read(table, zero_is_missing="duration_ms")


@pytest.mark.parametrize("threshold", [True, "1", float("nan"), float("inf")])
def test_threshold_is_a_number(threshold: Any) -> None:
    with pytest.raises(ArgumentError, match="threshold"):
        read(ROWS, threshold=threshold)


def test_mapping_says_what_was_taken_for_what() -> None:
    report = mapping(ROWS, threshold=0.5)
    assert report.columns == ["column", "source", "how", "note"]
    rows = {row[0] or f"- {row[1]}": row for row in report.rows()}
    assert rows["config"] == ("config", "model", "alias", "")
    assert rows["passed"] == ("passed", "score", "derived", "score >= 0.5")
    assert rows["cost_uusd"][3] == "x 1e+06 to micro-dollars"
    assert rows["- note"][2:] == ("unused", "kept as it is")
    assert rows["- passed"][2:] == ("unused", "left out: its name is taken")


def test_reading_twice_changes_nothing(tmp_path: Path) -> None:
    once = read(write(ROWS, tmp_path / "a.parquet")).collect()
    assert_frame_equal(read(once).collect(), once)


def test_a_file_that_breaks_after_it_was_opened_is_a_source_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise pl.exceptions.ComputeError("page 7 is cut")

    monkeypatch.setattr(tables_module, "refuse_broken", broken)
    with pytest.raises(SourceError, match="page 7 is cut"):
        read(ROWS)


READABLE = {
    "bfcl_v1_2024": 217_600,
    "livecodebench_2025_04": 73_850,
    "reflexion_attempts": 1_694,
    "swebench_pro": 6_606,
    "swebench_verified_bashonly": 12_500,
    "tau2_adversarial_openrouter": 363,
    "tau2_gpt41_sft_ab": 280,
    "tau2_llm_judges": 1_112,
    "tau_bench_airline_gpt4o": 200,
    "terminal_bench_core_0_1_1": 5_280,
}


@pytest.mark.parametrize("name", READABLE)
def test_real_tables_are_read(shared_data: Path, name: str) -> None:
    result = read(shared_data / f"{name}.parquet").collect()
    assert result.height == READABLE[name]
    assert result.schema["passed"] == pl.Boolean
    assert result["case"].null_count() == 0


def test_real_annotations_hold_no_verdict(shared_data: Path) -> None:
    with pytest.raises(ColumnError, match="no column says whether a trial passed"):
        read(shared_data / "swebench_case_annotations.parquet")


def test_words_of_a_real_judge_are_not_taken_for_verdicts(shared_data: Path) -> None:
    report = mapping(shared_data / "tau2_llm_judges.parquet")
    assert set(report.filter(pl.col("column").is_in(["label", "judge"]))["how"]) == {"not used"}
