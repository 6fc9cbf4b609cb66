"""JUnit XML: reruns that look like passes, repeats, Surefire's children, hostile files."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.errors import ArgumentError, SourceError, TrialframeError, TrialsError
from trialframe.read import _bounded, junit
from trialframe.read._formats import LOGS
from trialframe.read._outline import head_of
from trialframe.read._suites import repeats

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parent / "fixtures" / "junit"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
TOLD = EXPECTED["files"]


def rows(path: Path, **options: Any) -> pl.DataFrame:
    return tr.read(path, **options).collect()


def verdicts(frame: pl.DataFrame) -> tuple[int, int, int]:
    passed = frame["passed"]
    return int(passed.sum() or 0), int((~passed).sum() or 0), passed.null_count()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(text: str, name: str = "run.xml", suite: str = 'name="pytest"') -> Path:
        path = tmp_path / name
        whole = text if text.startswith("<?") else f"<testsuite {suite}>{text}</testsuite>"
        path.write_text(whole, encoding="utf-8")
        return path

    return written


def case(name: str, inside: str = "", classname: str = "m", more: str = "") -> str:
    return f'<testcase classname="{classname}" name="{name}" {more}>{inside}</testcase>'


FAILED = '<failure message="AssertionError: no">text</failure>'


@pytest.mark.parametrize("name", sorted(TOLD))
def test_counts_are_those_that_pytest_reported(name: str) -> None:
    frame = rows(FIXTURES / f"{name}.xml")
    told, reports = TOLD[name]["terminal"], TOLD[name]["reports"]
    last = frame.group_by("case", "trial", maintain_order=True).last()
    passed, failed, unscored = verdicts(last)
    # a test whose teardown broke has passed; pytest counts that once an attempt
    again = sum(
        sum(report == ["call", "passed"] for report in test) - 1
        for test in reports.values()
        if ["teardown", "failed"] in test
    )
    assert frame.height == TOLD[name]["elements"]
    assert last.height == len(reports)
    assert passed == told.get("passed", 0) - again + told.get("xpassed", 0)
    if name == "subtests":
        assert (passed, failed) == (1, 1)
        return
    assert failed == told.get("failed", 0)
    setup = sum(["setup", "failed"] in test for test in reports.values())
    assert unscored == told.get("skipped", 0) + told.get("xfailed", 0) + setup


@pytest.mark.parametrize("name", ["reruns", "reruns_xunit1", "reruns_xdist", "repeat3_reruns"])
def test_no_attempt_before_the_last_is_a_pass(name: str) -> None:
    frame = rows(FIXTURES / f"{name}.xml")
    earlier = frame.filter(pl.col("attempt") < pl.col("attempt").max().over("case", "trial"))
    assert earlier.height == frame.height - len(TOLD[name]["reports"]) > 0
    assert not earlier["passed"].any()
    # of tests that broke in setup or teardown nobody knows what the attempts before did
    unknown = earlier.filter(pl.col("passed").is_null())["case"].unique().to_list()
    assert set(unknown) <= {"test_toy::test_setup_error", "test_toy::test_teardown_error"}


def test_the_two_families_and_parallel_runs_say_the_same() -> None:
    keep = ["case", "attempt", "passed", "outcome", "cost_uusd", "property.tokens"]
    tables = [
        rows(FIXTURES / f"{name}.xml").select(keep).sort("case", "attempt")
        for name in ("reruns", "reruns_xunit1", "reruns_xdist")
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_properties_pile_up_and_the_last_counts() -> None:
    frame = rows(FIXTURES / "reruns.xml").filter(pl.col("case") == "test_toy::test_flaky")
    assert frame["property.tokens"].to_list() == [101, 102]
    assert frame["cost_uusd"].to_list() == [250_000, 500_000]


def test_attempts_are_not_counted_as_trials() -> None:
    trials = rows(FIXTURES / "reruns.xml")
    with pytest.raises(TrialsError, match='attempts="first"'):
        tr.counts(trials)
    counts = tr.counts(trials, attempts="first").frame
    first = {test: runs[0][1] for test, runs in TOLD["reruns"]["reports"].items()}
    assert counts.height == len(first)
    assert counts["c"].sum() == sum(r == ["call", "passed"] for r in _alone("reruns")) + 1  # xpass
    curve = tr.seq_at_k(trials, k=3).filter(pl.col("metric").str.starts_with("seq@"))
    assert curve["value"].is_sorted()


def _alone(name: str) -> list[list[str]]:
    return [runs[0] for runs in TOLD[name]["reports"].values() if ["teardown", "rerun"] not in runs]


def test_repeats_are_trials_of_one_case() -> None:
    frame = rows(FIXTURES / "repeat3.xml")
    assert frame["case"].unique().sort().to_list() == [
        "test_toy::test_never",
        "test_toy::test_sides[left]",
        "test_toy::test_sides[right]",
        "test_toy::test_sometimes",
    ]
    assert frame["trial"].to_list() == [1, 2, 3] * 4
    assert not frame["trial_made"].any()
    counts = tr.counts(frame).frame
    assert dict(counts.select("case", "c").rows())["test_toy::test_sometimes"] == 2


def test_a_parameter_that_looks_like_a_repeat_is_none() -> None:
    cases = rows(FIXTURES / "plain.xml")["case"].to_list()
    assert "test_toy::test_text[1-3]" in cases


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["t[1-3]", "t[2-3]", "t[3-3]"], {"t": 3}),
        (["t[1-3]", "t[2-3]"], {}),
        (["t[1-1]"], {}),
        (["t[a-1-2]", "t[a-2-2]", "t[b-1-2]"], {"t[a]": 2, "t[b]": 1}),
        (["t[0-2]", "t[1-2]", "t[2-2]"], {"t": 2}),
        (["t[1-2]x", "t(1-2)", "1-2"], {}),
    ],
)
def test_which_names_are_repeats(names: list[str], expected: dict[str, int]) -> None:
    assert Counter(test for test, _ in repeats(names).values()) == Counter(expected)


def test_surefire_attempts_are_children() -> None:
    frame = rows(FIXTURES / "surefire.xml")
    found = {
        name.replace("::", "#"): part["passed"].to_list()
        for (name,), part in frame.group_by("case", maintain_order=True)
    }
    assert found == {
        "toy.SumsTest#adds": [True],
        "toy.SumsTest#flaky": [False, True],
        "toy.SumsTest#shaky": [False, None, True],
        "toy.SumsTest#wrong": [False, False, False],
        "toy.SumsTest#breaks": [None, None, False],
        "toy.SumsTest#left": [None],
        "toy.SumsTest#row[1]": [True],
    }
    assert found.keys() == EXPECTED["surefire"]["final"].keys()
    wrong = frame.filter(pl.col("case") == "toy.SumsTest::wrong")
    assert wrong["duration_ms"].to_list() == [1_265_970, None, None]


def test_what_other_tools_repeat_is_taken_as_it_is_written(write: Callable[..., Path]) -> None:
    suite = 'name="jest tests" tests="5"'
    text = case("a") + case("a") + case("b", FAILED) + case("b") + case("b", FAILED)
    frame = rows(write(text, suite=suite))
    assert frame.select("case", "trial", "attempt", "passed").rows() == [
        ("m::a", 0, 1, True),
        ("m::a", 1, 1, True),
        ("m::b", 0, 1, False),
        ("m::b", 0, 2, True),
        ("m::b", 1, 1, False),
    ]


def test_a_suite_that_counts_fewer_tests_than_it_holds_hides_reruns(
    write: Callable[..., Path],
) -> None:
    frame = rows(write(case("a") + case("a"), suite='name="evals" tests="1"'))
    assert frame["passed"].to_list() == [False, True]


def test_reruns_of_merged_suites_stay_apart(write: Callable[..., Path]) -> None:
    suite = f'<testsuite name="pytest">{case("a")}</testsuite>'
    frame = rows(write(f'<?xml version="1.0"?><testsuites>{suite * 3}</testsuites>'))
    assert frame.select("trial", "attempt", "passed").rows() == [(i, 1, True) for i in range(3)]


def test_a_failure_and_an_error_in_teardown_are_one_attempt(write: Callable[..., Path]) -> None:
    error = '<error message="failed on teardown with x">x</error>'
    frame = rows(write(case("a", FAILED) + case("a", error) + case("b", error)))
    assert frame.select("case", "attempt", "passed", "outcome").rows() == [
        ("m::a", 1, False, "completed"),
        ("m::b", 1, True, "infra_error"),
    ]


def test_files_are_runs_where_they_name_one_system(write: Callable[..., Path]) -> None:
    properties = (
        '<properties><property name="model" value="m1"/><property name="agent" value="a"/>'
        "</properties>"
    )
    first = write(case("t", properties) + case("t", properties), "1.xml")
    second = write(case("t", properties), "2.xml")
    frame = rows(first.parent)
    assert frame.select("config", "trial", "attempt", "passed").rows() == [
        ("a/m1", 0, 1, False),
        ("a/m1", 0, 2, True),
        ("a/m1", 1, 1, True),
    ]
    assert rows(second, config=pl.lit("mine"))["config"].to_list() == ["mine"]


def test_repeats_in_several_files_ask_for_a_choice(write: Callable[..., Path]) -> None:
    text = case("t[1-2]") + case("t[2-2]", FAILED)
    write(text, "a.xml", 'name="s" hostname="1"')
    folder = write(text, "b.xml", 'name="s" hostname="2"').parent
    with pytest.raises(TrialsError, match='keep="all"'):
        rows(folder, config="suite")
    frame = rows(folder, config="suite", keep="all")
    assert frame["trial"].to_list() == [0, 1, 2, 3]


def test_absent_cases_are_first_attempts() -> None:
    cases = rows(FIXTURES / "reruns.xml")["case"].unique().to_list()
    trials = rows(FIXTURES / "reruns.xml", cases=[*cases, "m::new"], absent="fail")
    added = trials.filter(pl.col("outcome") == "absent")
    assert added.select("case", "attempt", "passed").row(0) == ("m::new", 1, False)
    tr.counts(trials, attempts="first")


def test_measures_and_extras_come_from_properties(write: Callable[..., Path]) -> None:
    pairs = {
        "input_tokens": "10",
        "cost_usd": "0.5",
        "score": "0.25",
        "seed": "007",
        "repo": "x/y",
        "level": "3",
        "note": "None",
        "label": "True",
    }
    inside = "".join(f'<property name="{k}" value="{v}"/>' for k, v in pairs.items())
    row = rows(write(case("t", f"<properties>{inside}</properties>"))).row(0, named=True)
    assert (row["tokens_in"], row["cost_uusd"], row["score"]) == (10, 500_000, 0.25)
    assert (row["seed"], row["label"], row["property.level"]) == ("007", True, 3)
    assert row["property.repo"] == "x/y"
    counts = tr.counts(tr.read(FIXTURES.parent / "junit" / "plain.xml", cluster="task"))
    assert "cluster" in counts.frame.columns


def test_metric_names_a_property_that_decides(write: Callable[..., Path]) -> None:
    def scored(name: str, value: str, more: str = "") -> str:
        return case(name, f'<properties><property name="f1" value="{value}"/></properties>{more}')

    path = write(scored("a", "0.9", FAILED) + scored("b", "0.2") + scored("c", "1", "<skipped/>"))
    frame = rows(path, metric="f1", threshold=0.5)
    assert frame["passed"].to_list() == [True, False, None]
    with pytest.raises(ArgumentError, match="threshold"):
        rows(path, metric="f1")
    with pytest.raises(ArgumentError, match="no such property"):
        rows(path, metric="other")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.012", 12),
        ("1,265.97", 1_265_970),
        ("1,266", 1_266_000),
        ("0,012", 12),
        ("", None),
        ("-1", None),
        ("nan", None),
        ("soon", None),
    ],
)
def test_times_as_tools_write_them(
    write: Callable[..., Path], text: str, expected: int | None
) -> None:
    frame = rows(write(case("t", more=f'time="{text}"')))
    assert (frame["duration_ms"].item() if "duration_ms" in frame.columns else None) == expected


@pytest.mark.parametrize(
    ("inside", "more", "passed", "outcome"),
    [
        ("", "", True, "completed"),
        (FAILED, "", False, "completed"),
        (
            '<failure message="Failed: Timeout (&gt;1s) from pytest-timeout."/>',
            "",
            False,
            "timeout",
        ),
        ('<error message="failed on setup with x"/>', "", None, "infra_error"),
        ('<error type="java.io.IOException"/>', "", None, "error"),
        ('<skipped type="pytest.xfail"/>', "", None, "skipped"),
        ("", 'status="notrun"', None, "skipped"),
        ("", 'status="run" result="suppressed"', None, "skipped"),
    ],
)
def test_how_a_test_ended(
    write: Callable[..., Path], inside: str, more: str, *, passed: bool | None, outcome: str
) -> None:
    frame = rows(write(case("t", inside, more=more)))
    assert frame.select("passed", "outcome").row(0) == (passed, outcome)


LAUGHS = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>
<testsuite name="&b;"><testcase name="&b;"/></testsuite>"""
OUTSIDE = """<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>"""


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE])
def test_document_types_are_refused(write: Callable[..., Path], text: str) -> None:
    with pytest.raises(SourceError, match="document type"):
        rows(write(text))


def test_depth_is_bounded(write: Callable[..., Path]) -> None:
    with pytest.raises(SourceError, match="deeper"):
        rows(write('<?xml version="1.0"?>' + "<testsuite>" * 5000))


def test_size_is_bounded(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bounded, "MAX_DOCUMENT", 100)
    with pytest.raises(SourceError, match="MiB"):
        rows(write(case("a") * 10))


def test_a_file_that_was_cut_short_is_refused_or_reported(write: Callable[..., Path]) -> None:
    path = write('<?xml version="1.0"?><testsuite><testcase name="a"/>')
    with pytest.raises(SourceError, match="no whole XML"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect().is_empty()
    assert unread.height == 1


def test_one_test_that_cannot_be_read_leaves_the_others(write: Callable[..., Path]) -> None:
    bad = case("b", '<properties><property name="tokens_in" value="many"/></properties>')
    path = write(case("a") + bad + '<testcase classname="m"/>')
    with pytest.raises(SourceError, match="testcase"):
        rows(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect()["case"].to_list() == ["m::a"]
    assert unread["place"].to_list() == ["testcase 3", "testcase 2"]


def test_other_xml_is_no_log(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write('<?xml version="1.0"?><html><testsuite/></html>')
    with pytest.raises(SourceError, match="not a log"):
        rows(path)
    with pytest.raises(SourceError, match="no testsuite"):
        rows(write('<?xml version="1.0"?><report/>'), format="junit")
    assert not junit.recognise(head_of(path))
    comment = tmp_path / "c.xml"
    comment.write_text("<?xml version='1.0'?><!-- <testsuite> --><report/>", encoding="utf-8")
    assert not junit.recognise(head_of(comment))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.xml")), ids=lambda path: path.stem)
def test_it_is_recognised_as_nothing_else(path: Path) -> None:
    assert [item.name for item in LOGS if item.recognise(head_of(path))] == ["junit"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("junit_legacy.xml", (11, 2, 6, 3)),
        ("junit_reruns.xml", (11, 2, 6, 3)),
        ("junit_repeat3.xml", (6, 3, 3, 0)),
    ],
)
def test_samples(shared_formats: Path, name: str, expected: tuple[int, ...]) -> None:
    frame = rows(shared_formats / "junit" / name)
    assert (frame.height, *verdicts(frame)) == expected


PLAIN = (FIXTURES / "reruns.xml").read_bytes()


@given(
    st.lists(st.tuples(st.integers(0, len(PLAIN) - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, len(PLAIN)),
)
def test_mutations_raise_our_errors_only(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(PLAIN)
    for place, byte in changes:
        data[place] = byte
    path = tmp_path_factory.getbasetemp() / "mutated.xml"
    path.write_bytes(bytes(data[:end] if end % 3 else data) or b" ")
    with contextlib.suppress(TrialframeError):
        rows(path, format="junit")


@pytest.mark.parametrize("part", ['<a b="{}"/>', "<!--{}-->"])
def test_a_tag_without_end_is_refused_early(tmp_path: Path, part: str) -> None:
    path = tmp_path / "wide.xml"
    path.write_text(f"<testsuites>{part.format('x' * 2**25)}</testsuites>", encoding="utf-8")
    with pytest.raises(SourceError, match="a tag in line 1 has more than 16 MiB"):
        tr.read(path, format="junit")


def test_long_output_is_no_long_tag(tmp_path: Path) -> None:
    path = tmp_path / "long.xml"
    case = f"<testcase name='a'><system-out>{'x' * 2**25}</system-out></testcase>"
    path.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>", encoding="utf-8")
    assert tr.read(path).collect()["passed"].to_list() == [True]


def test_utf_16_is_told_from_its_first_bytes(tmp_path: Path) -> None:
    text = (FIXTURES / "reruns.xml").read_text(encoding="utf-8")
    path = tmp_path / "reruns.xml"
    path.write_bytes(text.replace('"utf-8"', '"utf-16"', 1).encode("utf-16"))
    plain = tr.read(FIXTURES / "reruns.xml").collect()
    assert tr.read(path).collect().drop("log").equals(plain.drop("log"))
