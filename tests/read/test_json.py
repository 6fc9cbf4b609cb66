"""Tables in JSON: parsed once where a sample tells all types, and safe to open."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from trialframe.errors import SourceError, TrialframeError
from trialframe.read import _bounded, _json, _survey, read

if TYPE_CHECKING:
    from pathlib import Path


def lines(path: Path, rows: list[dict[str, Any]], **style: Any) -> Path:
    path.write_text("".join(json.dumps(row, **style) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first rows of a file are in its sample."""
    monkeypatch.setattr(_survey, "BLOCK", 64)
    monkeypatch.setattr(_survey, "HEAD", 64)


START = [
    {"case": f"a{i}", "trial": i, "passed": True, "note": "x", "m": {"p": 1}} for i in range(9)
]
LATE: dict[str, list[dict[str, Any]]] = {
    "the same": [{"case": "b", "trial": 1, "passed": False, "note": "y", "m": {"p": 2}}],
    "nulls": [{"case": "b", "trial": None, "passed": None, "note": None, "m": None}],
    "left out": [{"case": "b"}],
    "colons": [{"case": "b:1", "note": ': null, "x": null {"y":1}'}, {"case": "c", "m": None}],
    "another key": [{"case": "b", "cost_uusd": 3}],
    "another key for one": [{"case": "b", "trial": 1, "passed": False, "notes": "y"}],
    "another key beside nulls": [{"case": "b", "note": None, "m": None, "x": ": null"}],
    "another key inside": [{"case": "b", "m": {"p": 1, "q": 2}}],
    "a float": [{"case": "b", "trial": 1, "score": 0.5}, {"case": "b", "trial": 2.0}],
    "text": [{"case": "b", "trial": "x"}],
    "a number as text": [{"case": 7, "note": 1.5}],
    "an object as text": [{"case": "b", "note": {"p": None}}],
}


@pytest.mark.parametrize("style", [{}, {"separators": (",", ":")}, {"ensure_ascii": False}])
@pytest.mark.parametrize("name", LATE)
@pytest.mark.usefixtures("small_sample")
def test_a_sample_loses_nothing_that_comes_late(
    tmp_path: Path, name: str, style: dict[str, Any]
) -> None:
    path = lines(tmp_path / "a.jsonl", START + LATE[name], **style)
    assert len(_survey.survey(str(path)).sample) < path.stat().st_size
    every = pl.read_ndjson(path, infer_schema_length=None)
    assert_frame_equal(read(path, format="table").collect(), read(every).collect())
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_frame_equal(read(packed, format="table").collect(), read(every).collect())


@pytest.mark.usefixtures("small_sample")
def test_what_a_sample_proves_and_what_it_does_not(tmp_path: Path) -> None:
    def typed(rows: list[dict[str, Any]]) -> bool:
        path = lines(tmp_path / "a.jsonl", rows)
        facts = _survey.survey(str(path))
        schema = pl.read_ndjson(facts.sample).schema
        return _json._typed(str(path), schema, str(path), facts) is not None

    proved = {name for name, rows in LATE.items() if typed(START + rows)}
    assert {"the same", "nulls", "left out", "colons"} <= proved
    assert not any(name.startswith("another key") for name in proved)
    assert not typed([*START, {"case": "b", "note": ":"}, {"case": "c", "m": {}, "x": 1}])
    lost = tmp_path / "b.jsonl"  # one colon in text is hidden, and one key is not in the sample
    lost.write_text(
        "".join(json.dumps(row) + "\n" for row in START) + '{"case": "\\u003a", "new": 1}\n'
    )
    assert read(lost).collect()["new"].to_list()[-1] == 1


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.floats(-9, 9),
    st.text(':" null\\x', max_size=6),
)


@settings(max_examples=150)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["case", "passed", "a:b", "x", 'q"']), values | st.lists(values)
        ),
        min_size=1,
        max_size=12,
    )
)
@example(rows=[{"passed": []}, {"passed": [False]}])
def test_a_sample_gives_what_the_whole_file_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = lines(tmp_path_factory.mktemp("lines") / "a.jsonl", rows)
    facts = _survey.survey(str(path))
    first = json.dumps(rows[0]).encode() + b"\n"
    try:
        every = pl.read_ndjson(path, infer_schema_length=None)
        found = _json._typed(str(path), pl.read_ndjson(first).schema, str(path), facts)
    except pl.exceptions.PolarsError:
        return
    if found is not None:
        kept = [name for name in every.columns if every[name].count() or name in found.columns]
        assert_frame_equal(found.select(kept), every.select(kept))


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"", 0),
        (b"{}", 1),
        (b'{"a": [[]], "b": []}', 3),
        (rb'{"a": "[[[[", "b\\": "\"{{{", "c": {"d": 1}}', 2),
        (b"[" * 70_000 + b"]" * 70_000, 70_000),
        (b'["' + b"[" * 70_000 + b'"]', 1),
    ],
)
def test_nesting(text: bytes, depth: int) -> None:
    assert _survey.nesting(text) == depth


DEEP = {
    "a.jsonl": b'{"case": 1}\n{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "b.jsonl": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "c.jsonl": b'{"a": "'
    + b"]" * 9_000
    + b'", "b":'
    + b'["]",' * 9_000
    + b"1"
    + b"]" * 9_000
    + b"}",
    "d.json": b"[" * 100_000,
    "e.json": b'{"a":' * 100_000,
    "f.json": b'{"a": 1}\n{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "g.jsonl": b'{"case": "\n{"a":' + b"[" * 9_000 + b"]" * 9_000 + b"}\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused_before_it_is_parsed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(DEEP[name])
    with pytest.raises(SourceError, match="nested in more than 100 levels"):
        read(path, format="table")


def test_many_brackets_are_not_deep(tmp_path: Path) -> None:
    rows = [{"case": i, "passed": True, "code": "[{" * 200, "steps": [[1]] * 300} for i in range(9)]
    assert read(lines(tmp_path / "a.jsonl", rows)).collect().height == 9
    (tmp_path / "a.json").write_text(json.dumps(rows))
    assert read(tmp_path / "a.json").collect().height == 9


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_survey, "MAX_LINE", 2**20)
    for name in ("a.jsonl", "a.csv"):
        with (tmp_path / name).open("wb") as file:
            file.write(b'{"case": "')
            file.truncate(2**30)  # a hole: takes no space on the disk
        with pytest.raises(SourceError, match="a line of more than 1 MiB"):
            read(tmp_path / name, format="table")


def test_a_document_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounded, "MAX_DOCUMENT", 2**20)
    monkeypatch.setattr(_bounded.content, "__defaults__", (2**20,))
    with (tmp_path / "a.json").open("wb") as file:
        file.write(b"[")
        file.truncate(2**30)
    with pytest.raises(SourceError, match="more than 1 MiB"):
        read(tmp_path / "a.json", format="table")


@pytest.mark.parametrize("name", ["a.json.gz", "a.jsonl.gz", "a.csv.gz", "a.csv.zst", "a.json.zst"])
@pytest.mark.parametrize("content", ["zeros", "rows"])
def test_compressed_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    import pyarrow as pa

    monkeypatch.setattr(_survey, "MAX_UNPACKED", 2**23)
    monkeypatch.setattr(_survey, "MAX_LINE", 2**22)
    monkeypatch.setattr(_bounded.content, "__defaults__", (2**23,))
    block = b"0" * 2**20 if content == "zeros" else b'{"case": 1}\n' * 2**16
    with pa.output_stream(str(tmp_path / name), compression="detect") as file:
        for _ in range(2**4):
            file.write(block)
    assert (tmp_path / name).stat().st_size < 2**17
    with pytest.raises(SourceError, match=r"more than [48] MiB"):
        read(tmp_path / name, format="table")


def test_a_table_of_a_million_keys_is_refused(tmp_path: Path) -> None:
    rows = [{f"k{i}": i} for i in range(20_000)]
    path = lines(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.json").write_text(json.dumps(rows))
    path.with_name("late.jsonl").write_text(
        '{"case": 1, "passed": true}\n' * 50_000 + path.read_text()
    )
    (tmp_path / "nan.jsonl").write_text('{"k": NaN}\n' + path.read_text())
    for name in ("a.jsonl", "a.json", "late.jsonl", "nan.jsonl"):
        with pytest.raises(SourceError, match="different keys"):
            read(tmp_path / name, format="table")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_other_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    text = {
        "a.jsonl": '{"case": "ü", "passed": true}\n',
        "a.json": '[{"case": "ü", "passed": true}]',
        "a.csv": "case,passed\nü,true\n",
    }
    path.write_text(text[name], encoding=encoding)
    if encoding == "utf-8-sig":
        assert read(path, format="table").collect().rows() == [("ü", True)]
    else:
        with pytest.raises(SourceError, match="UTF-8"):
            read(path, format="table")


def test_large_files_are_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json, "IN_MEMORY", 100)
    path = lines(tmp_path / "a.jsonl", START)
    frame = read(path)
    assert "SCAN" in frame.explain()
    assert frame.collect().height == 9
    lines(path, [{"case": 1, "passed": True, "score": float("nan")}] * 9)
    with pytest.raises(SourceError, match=r"one type a column, and no bare NaN"):
        read(path)
    odd = lines(tmp_path / "a[1].jsonl", START)
    with pytest.raises(SourceError, match="taken for a pattern"):
        read(odd)


def test_a_packed_file_that_is_cut(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b'{"case": %d, "passed": true}\n' % i for i in range(9_000)))
    for name in ("a.jsonl.gz", "a.json.gz"):
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(SourceError, match="cannot read"):
            read(tmp_path / name, format="table")


@settings(max_examples=100)
@given(
    st.binary(max_size=60)
    | st.recursive(values, lambda x: st.lists(x) | st.dictionaries(st.text(max_size=3), x)).map(
        lambda value: json.dumps(value).encode()
    ),
    st.sampled_from(["a.json", "a.jsonl", "a.json.gz", "a.jsonl.zst"]),
)
def test_whatever_is_in_a_file_only_our_errors_come_out(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content or b" ")
    with contextlib.suppress(TrialframeError):
        read(path).collect()
