"""Records of logs as columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trialframe.read._log import Log
from trialframe.read._take import Take, at_once

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
)
def test_columns_madeat_once_are_those_made_one_by_one(
    records: list[dict[str, Any]], column: str, path: str, factor: float
) -> None:
    take = Take(column=column, path=path, factor=factor)
    log = Log(path=Path("x.json"), strict=False)
    placed = [(f"row {i}", record) for i, record in enumerate(records)]
    kept, slow = log._one_by_one(placed, (take,))
    fast = at_once(records, (take,))
    if fast is not None:
        assert kept == records
        assert fast[0].equals(slow[0], check_dtypes=True, null_equal=True)


def test_plain_records_are_madeat_once() -> None:
    fields = (
        Take(column="case", path="row.id"),
        Take(column="duration_ms", path="row.seconds", factor=1e3),
        Take(column="passed", path="row.ok"),
        Take(column="score", path="row.points"),
        Take(column="started_at", path="row.at"),
    )
    row = {"id": 7, "seconds": 2, "ok": True, "points": 0.5, "at": "2026-01-01T00:00:00Z"}
    found = at_once([{"row": row}, {"row": {}}], fields)
    assert found is not None
    assert [column.to_list()[1] for column in found] == [None] * 5
    first = [column[0] for column in found]
    assert first == ["7", 2000, True, 0.5, datetime(2026, 1, 1, tzinfo=UTC)]
    assert at_once([{"row": row | {"ok": "yes"}}], fields) is None
