"""Every kind of log is recognised as one format, and broken ones end in our errors only."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trialframe as tr
from bench_logs import SAMPLES, write
from trialframe.errors import TrialframeError
from trialframe.read._formats import LOGS
from trialframe.read._known import recognised
from trialframe.read._log import OUTCOMES
from trialframe.read._outline import head_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KINDS = sorted(SAMPLES)

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.just([]),
    st.just({}),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_recognised_as_its_format_and_as_no_other(kind: str, tmp_path: Path) -> None:
    name, file, document = SAMPLES[kind]
    head = head_of(write(tmp_path / file, document))
    assert [item.name for item in LOGS if item.recognise(head)] == [name]


@pytest.mark.parametrize("kind", KINDS)
def test_it_reads_with_the_columns_that_are_declared(kind: str, tmp_path: Path) -> None:
    name, file, document = SAMPLES[kind]
    path = write(tmp_path / "folder" / file, document)
    trials = tr.read(path).collect()
    assert trials["passed"].count()
    if "outcome" in trials.columns:
        assert set(trials["outcome"].drop_nulls()) <= set(OUTCOMES)
    fields = tr.formats(name)["column"].to_list()
    assert len(fields) == len(set(fields))
    declared = {*fields, "passed", "log", "trial", "trial_made", "task", "error"}
    extra = {
        n for n in trials.columns if n not in declared and not n.startswith(("rewards.", "doc."))
    }
    assert not extra
    told = tr.mapping(path)
    assert {"case", "config"} <= set(told.filter(how="log")["column"])
    assert tr.counts(trials, attempts="first").frame.height


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a document."""
    yield at
    inside = document.items() if isinstance(document, dict) else ()
    inside = enumerate(document) if isinstance(document, list) else inside
    for key, value in inside:
        yield from places(value, (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any, *, drop: bool) -> Any:
    """The document with one value replaced, or left out."""
    if not at:
        return value
    copy = json.loads(json.dumps(document))
    parent = copy
    for key in at[:-1]:
        parent = parent[key]
    if drop:
        del parent[at[-1]]
    else:
        parent[at[-1]] = value
    return copy


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_values_end_in_our_errors_only(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    name, file, document = SAMPLES[kind]
    at = data.draw(st.sampled_from(list(places(document))))
    drop = bool(at) and data.draw(st.booleans())
    broken = changed(document, at, None if drop else data.draw(JUNK), drop=drop)
    if not isinstance(broken, list) and isinstance(document, list):
        broken = [broken]
    path = write(tmp_path / "folder" / file, broken)
    with contextlib.suppress(TrialframeError):
        tr.read(path, format=name).collect()
    with contextlib.suppress(TrialframeError):
        trials, unread = tr.read(path, format=name, errors="collect", threshold=0.5)
        assert trials.collect().height or unread.height or broken in ([], {})
    if recognised(path) is not None:
        with contextlib.suppress(TrialframeError):
            tr.read(path).collect()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_that_are_cut_or_flipped_end_in_our_errors_only(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    name, file, document = SAMPLES[kind]
    path = write(tmp_path / "folder" / file, document)
    content = bytearray(path.read_bytes())
    stop = data.draw(st.integers(1, len(content)))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[:stop]))
    for errors in ("raise", "collect"):
        with contextlib.suppress(TrialframeError):
            tr.read(path, format=name, errors=errors)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_holds_has_no_order(kind: str, tmp_path: Path) -> None:
    """Keys may come in any order; a plain table with some of the keys is none."""
    name, file, document = SAMPLES[kind]
    turned = json.loads(json.dumps(document), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
    told = tr.read(write(tmp_path / "folder" / file, turned), format=name).collect()
    straight = tr.read(write(tmp_path / "other" / "folder" / file, document), format=name).collect()
    columns = [column for column in straight.columns if column not in {"log", "agent_args"}]
    assert set(columns) <= set(told.columns)
    assert (
        told.sort("case", "trial", "config")
        .select("case", "config", "passed")
        .equals(straight.sort("case", "trial", "config").select("case", "config", "passed"))
    )


@pytest.mark.parametrize(
    "rows",
    [
        [{"task_id": 1, "reward": 1.0, "trial": 0}],
        [{"task_id": 1, "reward": 1.0, "info": "x", "trial_index": 0}],
        [{"model": "a", "task_id": "t", "is_resolved": True}],
        [{"run_id": "r", "task_id": "t", "passed": True, "score": 1}],
        [{"name": "env", "is_success": True, "case": "x", "passed": True}],
        [{"question_id": "q", "model": "m", "passed": True}],
    ],
)
def test_plain_tables_are_none(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    path = write(tmp_path / "table.json", rows)
    head = head_of(path)
    assert [item.name for item in LOGS if item.recognise(head)] == []
