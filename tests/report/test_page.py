"""The report as a web page: what it holds, that it asks nothing of a network, and its files."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.errors import ArgumentError, SourceError, TrialsError, UnknownConfigError
from trialframe.report.formats import encoded
from trialframe.report.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TAKES_ADDRESS = ("src", "href", "action", "srcset", "data", "poster", "xlink:href", "formaction")
EMPTY = {"meta", "link", "input", "br", "path", "rect", "line"}


class Parsed(HTMLParser):
    """Elements of a page with their attributes and, for some, their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def simulated(**options: Any) -> pl.DataFrame:
    given: dict[str, Any] = {
        "configs": 6,
        "cases": 90,
        "trials": 4,
        "lift": 0.25,
        "clusters": 20,
        "cost_uusd": 2_000,
        "unscored": 0.05,
        "difficulty_levels": ("hard", "easy"),
        "seed": 5,
    }
    return tr.simulate(**(given | options))


@pytest.fixture(scope="module")
def needs_page(require: Callable[[str], Any]) -> None:
    """Pages are made by an extra."""
    for module in ("jinja2", "altair", "vl_convert"):
        require(module)


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    return simulated()


@pytest.fixture(scope="module")
def text(needs_page: None, trials: pl.DataFrame) -> str:
    return tr.report(trials, baseline="config_1", by="difficulty", title="Nightly run")


@pytest.fixture(scope="module")
def parsed(text: str) -> Parsed:
    return Parsed(text)


def files(page: Parsed) -> dict[str, bytes]:
    """The files that can be downloaded from a page."""
    found = {}
    for link in page.all("a"):
        if "download" in link:
            head, _, body = link["href"].partition(",")
            assert head == "data:text/csv;charset=utf-8"
            found[link["download"]] = unquote(body).encode()
    return found


def test_nothing_is_asked_of_a_network(text: str, parsed: Parsed) -> None:
    for tag, attributes in parsed.elements:
        for name in set(TAKES_ADDRESS) & set(attributes):
            if tag == "path":
                continue
            assert attributes[name].startswith(("#", "data:")), (tag, name, attributes[name][:80])
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert "@import" not in text
    assert not re.search(r"url\(\s*['\"]?(?!#)", text), "only marks of the page itself"
    policies = [m["content"] for m in parsed.all("meta") if m.get("http-equiv")]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    assert "base-uri 'none'" in policies[0]
    assert parsed.all("iframe") == parsed.all("object") == parsed.all("form") == []


def test_the_only_script_that_may_run_is_our_own(text: str, parsed: Parsed) -> None:
    scripts = [s for s in parsed.all("script") if s.get("type") != "application/json"]
    assert len(scripts) == 1
    body = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
    policy = next(m["content"] for m in parsed.all("meta") if m.get("http-equiv"))
    assert f"script-src 'sha256-{digest}'" in policy


def test_landmarks_headings_and_titles(parsed: Parsed) -> None:
    assert parsed.texts["title"] == ["Nightly run"]
    assert parsed.texts["h1"] == ["Nightly run"]
    for tag in ("header", "nav", "main", "footer"):
        assert len(parsed.all(tag)) == 1
    assert parsed.texts["h2"][0] == "Verdicts", "words come before numbers"
    assert parsed.all("html")[0]["lang"] == "en"
    skip = parsed.all("a")[0]
    assert skip["class"] == "skip"
    assert skip["href"] == f"#{parsed.all('main')[0]['id']}"
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [a["href"][1:] for a in parsed.all("a") if a["href"].startswith("#")]
    assert set(links) <= set(ids)


def test_tables_are_tables_for_everybody(text: str, parsed: Parsed) -> None:
    tables = text.split("<table")[1:]
    assert len(tables) >= 7
    for table in tables:
        body = table.partition("</table>")[0]
        assert "<caption" in body
        head, _, rows = body.partition("<tbody>")
        columns = head.count('<th scope="col"')
        assert columns == head.count('<button type="button">') > 1
        made = rows.split("<tr>")[1:]
        assert all('<th scope="row"' in row for row in made)
        assert {row.count("<td") + row.count("<th") for row in made} <= {columns}
    assert text.count('aria-live="polite"') == len(tables)
    assert text.count('aria-sort="ascending"') >= 1
    assert text.count('aria-sort="descending"') >= 1
    words = parsed.texts["caption"]
    assert "pass@1 on 90 shared cases, best first" in words


def test_every_chart_says_what_one_sees_in_both_colour_schemes(parsed: Parsed) -> None:
    drawings = parsed.all("svg")
    assert len(drawings) == 2 * len(parsed.all("figure")) >= 8
    for svg in drawings:
        assert svg["role"] == "img"
        assert len(svg["aria-label"]) > 20
        assert svg["viewbox"]
    assert len(parsed.texts["figcaption"]) == len(parsed.all("figure"))


def test_files_hold_the_frames_to_the_bit(parsed: Parsed, trials: pl.DataFrame) -> None:
    made = files(parsed)
    counts = tr.counts(trials, by="difficulty")
    compared = tr.compare_all(counts, "config_1")
    compared = compared.sort("diff", "candidate", descending=[True, False], nulls_last=True)
    wanted = {
        "leaderboard.csv": tr.leaderboard(counts),
        "groups.csv": tr.leaderboard(counts, by="difficulty"),
        "comparison.csv": compared,
        "metrics.csv": tr.summary(counts),
        "findings.csv": tr.audit(trials),
        "columns.csv": counts.mapping,
    }
    for name, frame in wanted.items():
        assert frame is not None
        assert made[name] == encoded(frame, "csv"), name
        back = pl.read_csv(made[name], schema=frame.schema)
        for column in frame.select(pl.col(pl.Float64)).columns:
            assert back[column].equals(frame[column], null_equal=True), (name, column)


def test_one_candidate_gets_every_shared_case(needs_page: None, trials: pl.DataFrame) -> None:
    counts = tr.counts(trials)
    made = Parsed(tr.report(counts, baseline="config_1", candidate="config_3", gate="decide"))
    cases = files(made)["changed-cases.csv"]
    wanted = tr.regressions(counts, "config_1", "config_3", alpha=1.0 - 0.95)
    back = pl.read_csv(io.BytesIO(cases), schema=wanted.schema).sort("case")
    assert_frame_equal(back, wanted, check_exact=True)
    assert {"comparison.csv", "gate.csv"} <= set(files(made))
    assert made.texts["h2"][1].startswith("Gate: ")
    found = tr.compare(counts, "config_1", "config_3")
    assert any(found.claim in paragraph for paragraph in made.texts["p"])


def test_rows_shuffled_make_the_same_page(
    needs_page: None, text: str, trials: pl.DataFrame
) -> None:
    shuffled = trials.sample(fraction=1.0, shuffle=True, seed=3)
    again = tr.report(shuffled, baseline="config_1", by="difficulty", title="Nightly run")
    assert again == text


def test_long_tables_stay_small_and_hold_the_first_rows(needs_page: None) -> None:
    board = simulated(configs=3, cases=1_500, trials=3)
    made = tr.report(board, baseline="config_1")
    assert len(made.encode()) < 2_000_000
    rows = made.partition('id="flaky-cases-rows"')[2].partition("</table>")[0].count("<tr>")
    assert rows == 101
    json = made.partition('data-for="flaky-cases-rows">')[2].partition("</script>")[0]
    assert "<" not in json


def test_settings_and_what_was_left_out_are_told(text: str, trials: pl.DataFrame) -> None:
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    counts = tr.counts(trials)
    assert facts["Metric"] == "pass@1"
    assert facts["Independent units"] == "clusters of cases"
    assert f"{counts.frame['unscored'].sum():,} trials" in facts["Unscored trials"]
    assert facts["Random draws"] == "seed 0, 10,000 resamples"
    assert facts["Sources"] == "a table in memory"
    assert facts["Made by"].startswith("trialframe ")
    assert "holm" in facts["Comparison"]


def test_a_file_is_whole_or_not_there(
    needs_page: None, trials: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    made = tr.report(trials.filter(pl.col("trial") == 1), path)
    assert path.read_text(encoding="utf-8") == made
    with pytest.raises(UnknownConfigError, match="config_99"):
        tr.report(trials, path, baseline="config_99")
    assert path.read_text(encoding="utf-8") == made
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    source = tmp_path / "trials.parquet"
    trials.write_parquet(source)
    told = tr.report([str(source)], format="md")
    assert escaped(str(source)) in told
    assert tr.report(source, format="md") == told


def test_what_weakens_a_single_trial_a_case_is_said() -> None:
    words = tr.report(simulated(trials=1, unscored=0.0), baseline="config_1", format="md")
    assert "flakiness cannot be seen" in words
    assert re.search(r"one trial a side \d+ went from pass to fail", words)


def test_configs_without_a_shared_case_still_get_a_report() -> None:
    rows = {"config": ["a", "b"], "case": ["x", "y"], "passed": [True, False]}
    assert "**No ranking**: no case has pass@1 in all 2 configs" in tr.report(rows, format="md")


def test_counts_are_not_audited_and_say_so(trials: pl.DataFrame) -> None:
    made = tr.report(tr.counts(trials), format="md")
    assert "**Not audited**" in made
    assert "**Sources**: a table in memory" in made


def test_trials_on_another_engine_are_counted_there(
    require: Callable[[str], Any], trials: pl.DataFrame
) -> None:
    duckdb = require("duckdb")
    with duckdb.connect() as there:
        made = tr.report(there.from_arrow(trials.to_arrow()), baseline="config_1", format="md")
    assert "**Not audited**" in made
    wanted = tr.report(tr.counts(trials), baseline="config_1", format="md")
    assert made.partition("### ")[2] == wanted.partition("### ")[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidate": "config_1"}, "baseline="),
        ({"gate": "decide"}, "baseline="),
        ({"gate": True}, "gate == True"),
        ({"gate": "decide", "baseline": "config_1"}, "candidate="),
        ({"baseline": "config_1", "candidate": "config_1"}, "both 'config_1'"),
        ({"format": "pdf"}, "format == 'pdf'"),
        ({"path": "report.pdf"}, r"let it end in .html or .md"),
        ({"path": 3}, "path == 3"),
        ({"title": " "}, "title == ' '"),
        ({"level": 1}, "level == 1"),
        ({"units": "rows"}, "units == 'rows'"),
        ({"adjust": "all"}, "adjust == 'all'"),
        ({"metric": "pooled"}, "no value per case"),
        ({"passed": "ok"}, "counts are made already"),
        ({"threshold": 0.5}, "counts are made already"),
    ],
)
def test_bad_options_say_what_to_do(
    trials: pl.DataFrame, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        tr.report(tr.counts(trials), **({"format": "md"} | given if "path" not in given else given))


def test_bad_tables_are_refused() -> None:
    with pytest.raises(SourceError):
        tr.report("no/such/file.parquet", format="md")
    with pytest.raises(TrialsError, match="no rows"):
        tr.report({"config": [], "case": [], "passed": []}, format="md")
    one = simulated(configs=1)
    with pytest.raises(TrialsError, match="only config"):
        tr.report(one, baseline="config_1", format="md")
