"""Records of logs as columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialframe.read._log import Log
from trialframe.read._take import FEW, Take, all_at, at_once

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-9, 9),
    st.floats(),
    st.text(max_size=4),
    st.just("2026-01-01T00:00:00+00:00"),
    st.lists(st.integers(0, 2), max_size=2),
)
PLACES = st.dictionaries(st.sampled_from(["a", "b", "a.b", "c"]), SCALARS, max_size=4)
RECORDS = st.lists(
    st.fixed_dictionaries({}, optional={"row": st.one_of(PLACES, SCALARS), "row.a": SCALARS}),
    max_size=5,
)


@given(
    records=RECORDS,
    column=st.sampled_from(["case", "trial", "score", "passed", "duration_ms", "started_at"]),
    path=st.sampled_from(["row.a", "row.a.b", "row.c"]),
    factor=st.sampled_from([1.0, 1000.0]),
    copies=st.sampled_from([1, FEW]),
)
def test_columns_madeat_once_are_those_made_one_by_one(
    records: list[dict[str, Any]], column: str, path: str, factor: float, copies: int
) -> None:
    take = Take(column=column, path=path, factor=factor)
    found = all_at(records, take.place) * copies
    fast = at_once((take,), lambda _: found)
    if fast is not None:
        slow = [take.cast(value) for value in found]  # raises where a record would be skipped
        want = pl.Series(column, slow, dtype=take.kind)
        assert fast[0].equals(want, check_dtypes=True, null_equal=True)


@given(
    records=st.lists(st.fixed_dictionaries({"a": SCALARS, "trial": SCALARS}), max_size=5),
    column=st.sampled_from(["case", "score", "passed", "duration_ms", "started_at"]),
)
def test_records_that_do_not_fit_are_left_out_alone(
    records: list[dict[str, Any]], column: str
) -> None:
    fields = (Take(column=column, path="a"), Take(column="trial", path="trial"))
    fit = [all(fits(take, record) for take in fields) for record in records]
    good = list(compress(records, fit))
    log = Log(path=Path("x.json"), strict=False, threshold=0.5)
    extras = {"note": [str(record) for record in records]}
    values = {take.column: all_at(records, take.path) for take in fields}
    score = {} if column in {"score", "passed"} else {"passed": [True] * len(records)}
    every = (*fields, *(Take(column=name, path="") for name in score))
    places = [f"row {row}" for row in range(len(records))]
    frame = log.columns(places.__getitem__, values | score, every, extras)
    want = [str(record) for record in good]
    assert (frame["note"].to_list() if records else []) == want
    assert frame[column].to_list() == [fields[0].value(record) for record in good]
    assert [place for place, _ in log.unread] == list(compress(places, map(not_, fit)))


def fits(take: Take, record: dict[str, Any]) -> bool:
    try:
        take.value(record)
    except ValueError:
        return False
    return True


@given(
    st.lists(
        st.none()
        | st.datetimes(timezones=st.just(UTC)).map(lambda at: at.isoformat())
        | st.datetimes(timezones=st.just(UTC)).map(lambda at: f"{at:%Y-%m-%dT%H:%M:%SZ}")
        | st.datetimes(timezones=ZONES).map(lambda at: at.isoformat())
        | st.datetimes().map(str)
        | st.dates().map(str),
        max_size=4,
    ),
    st.sampled_from([1, FEW]),
)
def test_time_stamps_are_those_of_python(stamps: list[str | None], copies: int) -> None:
    take = Take(column="started_at", path="at")
    texts = stamps * copies
    try:
        want = [take.cast(text) for text in texts]
    except ValueError:  # a zone takes it out of the years that Python knows
        return
    found = at_once((take,), lambda _: texts)
    assert found is not None
    assert found[0].dtype == take.kind
    assert [None if at is None else at.isoformat() for at in found[0].to_list()] == [
        None if at is None else at.isoformat() for at in want
    ]


def test_plain_records_are_madeat_once() -> None:
    fields = (
        Take(column="case", path="row.id"),
        Take(column="duration_ms", path="row.seconds", factor=1e3),
        Take(column="passed", path="row.ok"),
        Take(column="score", path="row.points"),
        Take(column="started_at", path="row.at"),
    )
    row = {"id": 7, "seconds": 2, "ok": True, "points": 0.5, "at": "2026-01-01T00:00:00Z"}
    rows = [{"row": row}, {"row": {}}]
    found = at_once(fields, lambda take: all_at(rows, take.place))
    assert found is not None
    assert [column.to_list()[1] for column in found] == [None] * 5
    first = [column[0] for column in found]
    assert first == ["7", 2000, True, 0.5, datetime(2026, 1, 1, tzinfo=UTC)]
    odd = [{"row": row | {"ok": "yes"}}]
    assert at_once(fields, lambda take: all_at(odd, take.place)) is None


def test_numbers_of_trials_are_whole() -> None:
    take = Take(column="trial", path="trial")
    assert [take.cast(value) for value in (3, 3.0, None)] == [3, 3, None]
    log = Log(path=Path("x.json"), strict=False)
    fields = (Take(column="case", path="case"), take, Take(column="passed", path="ok"))
    records = [(f"row {n}", {"case": "a", "trial": n / 2, "ok": True}) for n in range(3)]
    assert log.table(records, fields)["trial"].to_list() == [0, 1]
    assert log.unread == [("row 1", "trial is 0.5: a whole number is needed, as it is the trial")]


@pytest.mark.parametrize(
    "odd", ["2026-01-01T23:59:60+00:00", "2026-01-01T5:6:7+00:00", "2026-01-01T05:06:07+05 :30"]
)
def test_odd_time_stamps_are_refused_in_long_columns_too(odd: str) -> None:
    take = Take(column="started_at", path="at")
    for copies in (1, 2 * FEW):
        assert at_once((take,), lambda _, n=copies: [odd] * n) is None  # type: ignore[misc]


@pytest.mark.parametrize("number", [2**53 + 1, 2**52 + 1, 1e305])
@pytest.mark.parametrize("column", ["score", "cost_uusd", "tokens_in"])
def test_large_numbers_in_long_columns_are_those_of_short_ones(column: str, number: float) -> None:
    take = Take(column=column, path="a", factor=1e6 if column == "cost_uusd" else 1.0)
    values = [number, *[0.5] * 2 * FEW]
    try:
        want = [take.cast(value) for value in values]
    except ValueError:
        assert at_once((take,), lambda _: values) is None
        return
    found = at_once((take,), lambda _: values)
    assert found is None or found[0].to_list() == want
