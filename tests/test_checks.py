"""Argument checks, messages and optional dependencies say what, where and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trialframe import _checks, _optional
from trialframe.errors import ArgumentError, did_you_mean, listed, short


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_whole_numbers_of_any_library_are_integers(value: Any) -> None:
    assert _checks.integer(value, "k", low=1) == 1


@pytest.mark.parametrize("value", [0, -3, 1.5, True, "2", None, float("nan"), 99])
def test_what_is_no_integer_in_range_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"k == .*, must be an integer >= 1 and <= 9"):
        _checks.integer(value, "k", low=1, high=9)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "x", None, True])
def test_what_is_outside_the_interval_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match="p == "):
        _checks.between(value, "p")


def test_the_ends_count_when_they_are_included() -> None:
    assert _checks.between(0, "p") == 0.0
    with pytest.raises(ArgumentError, match=r"must be in \(0, 1\)"):
        _checks.between(0, "p", inclusive=False)


def test_words_and_names_are_checked() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'first'"):
        _checks.one_of("frist", "keep", ("first", "last"))
    assert _checks.names(None, "by") == ()
    assert _checks.names("a", "by") == ("a",)
    assert _checks.names(["a", "b"], "by") == ("a", "b")
    for bad in (3, [3], {"a": 1}):
        with pytest.raises(ArgumentError, match="by == "):
            _checks.names(bad, "by")


def test_messages_stay_short() -> None:
    assert len(short("x" * 1_000_000)) < 70
    assert listed(range(20)) == "0, 1, 2, 3, 4, 5, 6, 7, and 12 more"
    assert did_you_mean("gpt5", ["gpt-5", "o4"]) == (
        "Available: 'gpt-5', 'o4'. Did you mean 'gpt-5'?"
    )
    assert did_you_mean("x", []) == "There are none."


def test_a_missing_extra_says_how_to_install_it() -> None:
    assert _optional.require("json", extra="report", purpose="charts") is not None
    with pytest.raises(
        ImportError, match=r"charts need nowhere: pip install 'trialframe\[report\]'"
    ):
        _optional.require("nowhere.at.all", extra="report", purpose="charts")
