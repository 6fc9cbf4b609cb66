"""JUnit XML: what test tools write, with the reruns that some of them hide."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trialframe.errors import SourceError, listed, named, short
from trialframe.read import _suites
from trialframe.read._log import Log, LogFormat, NoSuchScoreError
from trialframe.read._take import Take, clipped
from trialframe.read._xml import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from trialframe.read._outline import Head

ENDS = ("failure", "error", "skipped")
"""Children of a test that say how it ended; a test without one passed."""

RETRIED = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")
"""Children of Maven Surefire, nextest and others, one for each further attempt."""

NOT_RUN = {"notrun", "disabled", "skipped", "suppressed", "ignored"}
"""Values of the attributes `status` and `result` of a test that did not run."""

FIELDS = (
    Take(
        column="config",
        path="",
        note="property config, or agent and model, of a test or its suite; else the file's name",
    ),
    Take(column="case", path="", note="testcase.classname::testcase.name, without the repeat"),
    Take(column="task", path="testcase.classname"),
    Take(
        column="trial",
        path="",
        note="of names that pytest-repeat made: 2 in test[left-2-3]; else the order of the runs",
    ),
    Take(
        column="attempt",
        path="",
        note="reruns of a test that failed: count with attempts='first', or use tr.seq_at_k",
    ),
    Take(
        column="passed",
        path="",
        note="no failure, error or skipped inside; attempts before the last have failed, whatever "
        "they look like; an error (in setup with pytest) or a skip is no verdict",
    ),
    Take(column="outcome", path="", note="skipped also for expected failures (xfail)"),
    Take(column="error", path="testcase.failure", made=clipped, note="or of error, or skipped"),
    Take(column="duration_ms", path="", note="testcase.time, setup and teardown included"),
    Take(column="started_at", path="testcase.timestamp"),
    *_suites.fields("testcase.properties"),
)


@dataclass(slots=True)
class Suite:
    """One `testsuite` element with its tests."""

    attributes: dict[str, str]
    properties: dict[str, str] = field(default_factory=dict)
    tests: list[Test] = field(default_factory=list)


@dataclass(slots=True)
class Test:
    """One `testcase` element.

    Attributes:
        attributes: Its attributes.
        place: What to call it in messages.
        properties: Its properties, the last of each name.
        ends: Tag, attributes and text of the children that say how attempts ended.
    """

    attributes: dict[str, str]
    place: str
    properties: dict[str, str] = field(default_factory=dict)
    ends: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """What the elements of one test share."""
        return self.attributes.get("classname", ""), self.attributes["name"]

    def end(self, *tags: str) -> tuple[str, dict[str, str], str] | None:
        """The first child with one of these tags."""
        return next((end for end in self.ends if end[0] in tags), None)


class _Builder:
    """Gathers suites and their tests from elements."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.suites: list[Suite] = []
        self.hidden = False
        self.known = False
        self._open: list[Suite] = []
        self._test: Test | None = None
        self._end: dict[str, str] = {}
        self._count = 0

    def opened(self, tag: str, attributes: dict[str, str]) -> None:
        self.known |= tag.startswith("testsuite")
        if tag == "testsuites":
            self.hidden |= attributes.get("name") == "pytest tests"
        elif tag == "testsuite":
            self._open.append(Suite(attributes))
            self.suites.append(self._open[-1])
        elif tag == "testcase":
            self._opened_test(attributes)
        elif tag == "property":
            self._property(attributes)
        elif tag in ENDS or tag in RETRIED:
            self._end = attributes

    def _opened_test(self, attributes: dict[str, str]) -> None:
        self._count += 1
        place = f"testcase {self._count}"
        self._test = Test(attributes, place)
        if not attributes.get("name"):
            self.log.skip(place, "has no name.")
            return
        if not self._open:  # some tools put tests right below testsuites
            self._open.append(Suite({}))
            self.suites.append(self._open[-1])
        self._open[-1].tests.append(self._test)

    def _property(self, attributes: dict[str, str]) -> None:
        where = self._test or (self._open[-1] if self._open else None)
        if where is not None and "name" in attributes:
            where.properties[attributes["name"]] = attributes.get("value", "")

    def closed(self, tag: str, text: str) -> None:
        if tag == "testcase":
            self._test = None
        elif tag == "testsuite" and self._open:
            self._open.pop()
        elif self._test is not None and (tag in ENDS or tag in RETRIED):
            self._test.ends.append((tag, self._end, text))


_ROOT = re.compile(r"<([A-Za-z_][\w.:-]*)")


def recognise(head: Head) -> bool:
    """XML whose first element is a suite of tests."""
    if not head.text.lstrip().startswith("<"):
        return False
    root = _ROOT.search(re.sub(r"(?s)<!--.*?-->", "", head.text))
    return root is not None and root[1].rpartition(":")[2] in {"testsuites", "testsuite"}


def read(log: Log) -> pl.DataFrame:
    """One report."""
    builder = _Builder(log)
    try:
        Reader(builder.opened, builder.closed).read(log.path)
    except SourceError as error:
        where = named(log.path)
        raise SourceError(str(error) if where in str(error) else f"{where}: {error}") from error
    if not builder.known:
        raise SourceError(f"{named(log.path)} holds no testsuite, and is no JUnit XML.")
    names = ("::".join(test.key) for suite in builder.suites for test in suite.tests)
    repeats = _suites.repeats(names)
    rows = []
    for suite in builder.suites:
        hidden = builder.hidden or _hides_reruns(suite)
        for test in _tests(suite):
            rows += _trial(log, suite, test, repeats, hidden=hidden)
    return _table(log, rows)


def _hides_reruns(suite: Suite) -> bool:
    """Whether attempts that failed look like passes: so pytest writes, and counts them not."""
    counted = suite.attributes.get("tests", "")
    told = counted.isdecimal() and int(counted) < len(suite.tests)
    return suite.attributes.get("name") == "pytest" or told


def _tests(suite: Suite) -> Iterator[list[Test]]:
    """The elements of each test of a suite, in the order of their first."""
    groups: dict[tuple[str, str], list[Test]] = {}
    for test in suite.tests:
        group = groups.setdefault(test.key, [])
        if group and group[-1].end("failure") and _broke_down(test):
            # pytest writes an error after a failure as an element of its own
            group[-1].ends += test.ends
        else:
            group.append(test)
    yield from groups.values()


def _broke_down(test: Test) -> bool:
    """Whether the error came after the test itself had ended."""
    error = test.end("error")
    message = (error[1].get("message") or "") if error else ""
    return message.startswith(("failed on teardown", "test teardown failure"))


def _trial(
    log: Log,
    suite: Suite,
    elements: list[Test],
    repeats: Mapping[str, tuple[str, int]],
    *,
    hidden: bool,
) -> list[tuple[str, dict[str, Any]]]:
    """The attempts of one test as records."""
    name = "::".join(part for part in elements[0].key if part)
    case, trial = repeats.get("::".join(elements[0].key), (name, None))
    attempts = [attempt for test in elements for attempt in _attempts(test)]
    if hidden:
        _uncover(attempts)
    rows, number = [], 0
    for attempt in attempts:
        number += 1
        try:
            measured, others = _suites.measured(attempt["properties"])
        except ValueError as error:
            log.skip(attempt["place"], f"{error}.")
            continue
        said = suite.properties | attempt["properties"]
        record = {
            "config": _suites.system(said),
            "case": case.removeprefix("::"),
            "trial": trial,
            "attempt": number,
            "suite": suite.attributes,
            "others": others,
            "testcase": attempt["testcase"] | {"properties": measured},
        }
        rows.append((attempt["place"], attempt | record))
        if attempt["passed"] or attempt["outcome"] == "skipped":
            number = 0  # what comes after a pass is no retry
    return rows


def _uncover(attempts: list[dict[str, Any]]) -> None:
    """Attempts before the last have not passed, although nothing inside them says so."""
    # What broke the setup at last most likely broke it before.
    errored = attempts[-1]["outcome"] in {"infra_error", "error"}
    for attempt in attempts[:-1]:
        if attempt["passed"] and attempt["outcome"] == "completed":
            attempt["passed"] = None if errored else False
            attempt["outcome"] = "error" if errored else "completed"


def _attempts(test: Test) -> Iterator[dict[str, Any]]:
    """The attempts inside one element: Surefire writes them as children of the last or first."""
    flaky = [end for end in test.ends if end[0] in {"flakyFailure", "flakyError"}]
    reruns = [end for end in test.ends if end[0] in {"rerunFailure", "rerunError"}]
    for end in flaky:
        yield _attempt(test, end, of_its_own=True)
    yield _attempt(test, test.end("failure") or test.end("error") or test.end("skipped"))
    for end in reruns:
        yield _attempt(test, end, of_its_own=True)


def _attempt(
    test: Test, end: tuple[str, dict[str, str], str] | None, *, of_its_own: bool = False
) -> dict[str, Any]:
    tag, attributes, text = end or ("", {}, "")
    passed, outcome = _verdict(test, tag, attributes)
    times = attributes if of_its_own else test.attributes
    message = attributes.get("message") or text.strip() or attributes.get("type") or tag
    return {
        "place": test.place,
        "passed": passed,
        "outcome": outcome,
        "duration_ms": _milliseconds(times.get("time")),
        "properties": test.properties,
        "testcase": {
            "classname": test.attributes.get("classname"),
            "timestamp": times.get("timestamp") or None,
            "failure": message or None,
            "file": test.attributes.get("file"),
        },
    }


def _verdict(test: Test, tag: str, attributes: Mapping[str, str]) -> tuple[bool | None, str]:
    if tag in {"failure", "flakyFailure", "rerunFailure"}:
        clock = "from pytest-timeout" in (attributes.get("message") or "")
        return False, "timeout" if clock else "completed"
    if tag == "skipped":
        return None, "skipped"
    if tag == "error" and _broke_down(test):
        return True, "infra_error"  # the test itself had passed
    if tag:
        message = attributes.get("message") or ""
        pytest = message.startswith(("failed on setup", "test setup failure", "collection fail"))
        return None, "infra_error" if pytest else "error"
    said = {test.attributes.get("status", "").lower(), test.attributes.get("result", "").lower()}
    return (None, "skipped") if said & NOT_RUN else (True, "completed")


def _milliseconds(text: str | None) -> float | None:
    """Seconds as tools write them, 1,265.97 among them, in milliseconds."""
    text = (text or "").strip()
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?", text):
        text = text.replace(",", "")
    try:
        seconds = float(text.replace(",", "."))
    except ValueError:
        return None
    return seconds * 1e3 if 0 <= seconds < 1e12 else None


def _stem(name: str) -> str:
    return re.sub(r"(?i)(\.xml)?(\.gz|\.zst)?$", "", name)


def _table(log: Log, rows: list[tuple[str, dict[str, Any]]]) -> pl.DataFrame:
    metric = _metric(log, rows)
    _suites.named([row for _, row in rows], _stem(log.path.name))
    more = []
    for _, row in rows:
        others = {f"property.{name}": value for name, value in row["others"].items()}
        suite = {
            "suite": row["suite"].get("name"),
            "suite.timestamp": row["suite"].get("timestamp"),
        }
        more.append(suite | {"file": row["testcase"]["file"]} | others)
    _suites.typed(more)
    for (_, row), extras in zip(rows, more, strict=True):
        row["extras"] = {name: value for name, value in extras.items() if value is not None}
    fields = _suites.needed(FIELDS, (row["testcase"]["properties"] for _, row in rows))
    if metric is not None:
        fields = tuple(take for take in fields if take.column != "passed")
    return log.table(rows, fields, extras=lambda row: dict(row["extras"]))


def _metric(log: Log, rows: list[tuple[str, dict[str, Any]]]) -> str | None:
    """The property whose number decides, in place of the outcome of the test."""
    if log.metric is None:
        return None
    for place, row in rows:
        value = row["properties"].get(log.metric)
        try:
            scored = row["passed"] is not None
            row["testcase"]["properties"]["score"] = float(value) if value and scored else None
        except ValueError:
            log.skip(place, f"property {log.metric} is {short(value)}, and a number is needed.")
    names = list(dict.fromkeys(name for _, row in rows for name in row["properties"]))
    if log.metric not in names:
        raise NoSuchScoreError(
            f"metric={log.metric!r}: {named(log.path)} has no such property. It has "
            f"{listed(names) or 'none'}."
        )
    return log.metric


FORMAT = LogFormat(
    name="junit",
    title="JUnit XML",
    files="*.xml of pytest, Maven Surefire, nextest and others",
    recognise=recognise,
    read=read,
    fields=FIELDS,
    trial="the repeat in names that pytest-repeat makes, from 1; else the order of runs",
    metric="a property whose number decides; without it the outcome of the test does",
)
