"""JSON of files that nobody vouches for."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialframe.errors import SourceError
from trialframe.read._bounded import parsed

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=8)
    | st.lists(st.sampled_from([*'"\\:-, ', "NaN", "Infinity"]), max_size=6).map("".join),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
TOKENS = st.lists(
    st.sampled_from([*"[]{},:.\t -", '"', '"a"', '"\\ud800"', '"\\u00e9"', "\ufeff", '"NaN"'])
    | st.sampled_from(["1", "-0", "01", "1e999", "1e5", "1.5", "1" * 30])
    | st.sampled_from(["NaN", "-Infinity", "true", "null"]),
    max_size=9,
)


def plain(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"), parse_constant=lambda _: None)


@given(VALUES, st.sampled_from(["ascii", "utf-8"]), st.sampled_from([None, 1]))
@example(float("nan"), "ascii", None)
@example({"a": [10**30, -0.0, "\ud800"]}, "ascii", None)
def test_what_was_written_is_read(value: Any, coding: str, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=coding == "ascii", indent=indent)
    assert repr(parsed(text, "x")) == repr(plain(text))
    if text.isprintable():
        assert repr(parsed(text.encode("utf-8", "surrogatepass"), "x")) == repr(plain(text))


@given(TOKENS)
def test_what_is_json_to_python_is_json_here(tokens: list[str]) -> None:
    text = "".join(tokens)
    try:
        want = plain(text)
    except ValueError:
        with pytest.raises(SourceError):
            parsed(text.encode(), "x")
    else:
        assert repr(parsed(text.encode(), "x")) == repr(want)


def test_a_number_beyond_all_floats_stays_infinite() -> None:
    assert parsed("1e999", "x") == math.inf


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": \xff}', "is not UTF-8"),
        (b'{"a": 1', "is no JSON: Expecting ',' delimiter in line 1, column 8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "is no JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_json_is_said(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parsed(data, "x")
