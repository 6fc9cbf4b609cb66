"""The report as Markdown, its verdicts, and that text from data is never taken for markup."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialframe as tr
from trialframe.report import notes as remarks
from trialframe.report.page import verdicts
from trialframe.report.page.columns import signed, texts
from trialframe.report.page.model import Column, Page, Section, Table, Verdict
from trialframe.report.page.svg import embedded
from trialframe.report.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

EVIL = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "'; alert(4)//",
    "\u202eevil\u200f",
    "nul\x00byte",
    "a|b`c`\n# head",
    "=1+1",
    "@org/team",
    "<!--",
    "&lt;b&gt;",
    "{{7*7}}",
    "[x](http://evil.example/a)",
    "\u2028line",
)


@pytest.fixture(scope="module")
def evil() -> pl.DataFrame:
    """Trials whose every name is meant to break out of somewhere."""
    rows = [
        (config, case, trial, (i + trial) % 3 > 0 or config == EVIL[2], EVIL[i % 2])
        for config in EVIL[:6]
        for i, case in enumerate(EVIL * 2)
        for trial in range(3)
    ]
    schema = ["config", "case", "trial", "passed", "<b>part</b>"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.unique(["config", "case", "trial"], maintain_order=True)


@pytest.fixture(scope="module")
def page(require: Callable[[str], Any], evil: pl.DataFrame) -> str:
    for module in ("jinja2", "altair", "vl_convert"):
        require(module)
    part = "<b>part</b>"
    return tr.report(evil, baseline=EVIL[0], by=part, title="</title><script>alert(9)</script>")


def test_names_are_never_markup_on_the_page(page: str) -> None:
    assert len(re.findall(r"<script\b", page)) == len(re.findall(r"</script>", page))
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>" not in page
    assert "<!--" not in page
    assert "\x00" not in page
    assert not set("\u202e\u200f\u2028") & set(page)
    assert r"nul\x00byte" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{7*7}}" in page


def test_embedded_json_cannot_end_its_element(page: str) -> None:
    for body in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page):
        assert "<" not in body
        assert json.loads(body)


def test_files_hold_names_as_they_are(page: str) -> None:
    from urllib.parse import unquote

    link = re.search(r'download="flaky-cases.csv" href="data:[^,]*,([^"]*)"', page)
    assert link is not None
    back = pl.read_csv(unquote(link[1].replace("&#39;", "'").replace("&amp;", "&")).encode())
    assert set(back["case"]) <= set(EVIL)
    assert {"=1+1", "nul\x00byte", "\u202eevil\u200f"} <= set(back["case"])


def test_markdown_keeps_names_on_their_line(evil: pl.DataFrame) -> None:
    made = tr.report(evil, baseline=EVIL[0], by="<b>part</b>", format="md", title="# a\n|b|")
    assert "\x00" not in made
    assert not re.search(r"(?<!\\)<script", made)
    assert not re.search(r"(?<!\\)<img", made)
    assert "@org" not in made
    assert not re.search(r"(?<!\\)\]\(http", made)
    for block in re.findall(r"(?:^\|.*\n)+", made, re.MULTILINE):
        cells = [re.sub(r"\\.", "", line).count("|") for line in block.splitlines()]
        assert len(set(cells)) == 1, block
    assert made.startswith("## # a")
    headings = [line for line in made.splitlines() if line.startswith("#")]
    assert not any("head" in line for line in headings)


def test_markdown_says_the_same_as_the_page(require: Callable[[str], Any], golden: object) -> None:
    for module in ("jinja2", "altair", "vl_convert"):
        require(module)
    from html import unescape

    trials = tr.simulate(configs=4, cases=60, trials=4, lift=[0, 0.3, 0.1, -0.2], seed=2)
    html = tr.report(trials, baseline="config_1")
    words = tr.report(trials, baseline="config_1", format="md")
    sentences = re.findall(r"<li><span class=\"word \w+\">(.*?)</span>\s*<p>(.*?) <a", html)
    assert len(sentences) == 5
    for word, sentence in sentences:
        assert f"- **{escaped(unescape(word))}**: {escaped(unescape(sentence))}" in words


def test_markdown_is_compact_and_folds_what_is_long() -> None:
    trials = tr.simulate(configs=30, cases=200, trials=3, lift=0.1, seed=4)
    made = tr.report(trials, baseline="config_01", format="md")
    assert len(made) < 30_000
    assert made.count("<details>") == made.count("</details>") >= 3
    lines = made.splitlines()
    assert lines[4].startswith("- **")
    assert "... and 20 more rows" in lines
    assert "### Leaderboard" in lines


@given(st.text(max_size=30))
def test_escaped_text_is_one_line_without_open_markup(text: str) -> None:
    made = escaped(text)
    assert "\n" not in made
    plain = re.sub(r"\\.|@<!-- -->|&amp;", "", made)
    assert not set("|`*_<>[]~&") & set(plain)


def test_a_clear_best_and_a_tie_are_told_apart() -> None:
    trials = tr.simulate(configs=["a", "b", "c"], cases=200, trials=5, lift=[0, 0, 0.5], seed=1)
    best = verdicts.of_board(tr.leaderboard(tr.counts(trials)))
    assert (best.word, best.tone) == ("Clear best", "good")
    assert best.sentence.startswith("c is the best of 3 configs, with pass@1 ")
    tie = verdicts.of_board(tr.leaderboard(tr.counts(trials).select("a", "b")))
    assert (tie.word, tie.tone) == ("2 may be best", "open")
    assert "do not tell which of 2 configs is best" in tie.sentence


def test_many_comparisons_are_told_in_one_sentence() -> None:
    trials = tr.simulate(
        configs=["a", "b", "c", "d"], cases=200, trials=5, lift=[0, 0.3, 0, -0.3], seed=1
    )
    counts = tr.counts(trials)
    told = verdicts.of_many(tr.compare_all(counts, "a"))
    assert (told.word, told.tone) == ("1 better, 1 worse", "open")
    assert "1 is better (b), 1 is worse (d), of 1 the data do not tell" in told.sentence
    none = verdicts.of_many(tr.compare_all(counts.select("a", "c"), "a", adjust="none"))
    assert none.word == "None told apart"
    assert none.sentence.endswith("without adjustment for their number.")


def test_cases_that_got_worse_are_named() -> None:
    cases = [f"case_{i:02}" for i in range(40)]
    table = pl.DataFrame({"config": ["a"] * 40 + ["b"] * 40, "case": cases * 2, "n": 20})
    passes = [15] * 40 + [0] + [15] * 39
    made = tr.report(tr.Counts(table.with_columns(c=pl.Series(passes))), baseline="a", format="md")
    assert "**1 got worse**: 1 of 40 shared cases got worse for certain, none better." in made
    assert "First: case\\_00." in made
    assert "| case\\_00 | regression | 15 of 20 | 0 of 20 |" in made


def test_single_cases_are_said_to_be_tested_by_their_passes() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=30, trials=3, seed=2)
    trials = trials.with_columns(cost_uusd=pl.int_range(pl.len()))
    told = "Single cases are tested by how often they pass, not by "
    made = tr.report(trials, baseline="a", metric="cost_uusd", format="md")
    assert made.count(f"{told}cost\\_uusd.") == 2
    assert told not in tr.report(trials, baseline="a", format="md")


def test_the_largest_changes_are_named_first_where_less_is_better() -> None:
    configs = ["a", "b", "c"]
    trials = tr.simulate(configs=configs, cases=60, trials=3, seed=2).with_columns(
        cost_uusd=pl.col("config").replace_strict({"a": 900, "b": 700, "c": 100})
        + pl.int_range(pl.len()) % 7
    )
    found = verdicts.of_many(tr.compare_all(tr.counts(trials), "a", metric="cost_uusd"))
    assert "2 are better (c and b)" in found.sentence


def test_trials_without_verdicts_are_not_called_single() -> None:
    trials = tr.simulate(configs=["a", "b"], cases=5, trials=3, seed=2)
    made = tr.report(trials.with_columns(passed=pl.lit(None, pl.Boolean)), format="md")
    assert "**No verdicts**: No trial has a verdict, so flakiness cannot be seen." in made
    assert "whether trials have verdicts" in made
    made = tr.report(trials.filter(trial=0), format="md")
    assert "**One trial each**: No case has two scored trials of the same config" in made


def test_warnings_that_differ_in_their_numbers_are_one() -> None:
    rows = [
        {"config": name, "metric": "pass@1", "estimand": "cases", "warnings": text}
        for name, text in (
            ("a", "coverage 89.0% against 90.5%; small suite: 7 cases"),
            ("b", "coverage 89.0% against 1,066.9%; small suite: 7 cases"),
            ("c", "coverage 88.5% against 97%"),
        )
    ]
    assert list(remarks.warnings(rows)) == [
        "coverage 88.5 to 89.0% against 90.5 to 1,066.9% (all 3 configs)",
        "small suite: 7 cases (a, b)",
    ]


def test_sentences_write_out_what_cannot_be_seen() -> None:
    verdict = Verdict(word="a\x00", tone="plain", sentence="b\u202e", section="x")
    assert (verdict.word, verdict.sentence) == (r"a\x00", r"b\u202e")
    section = Section(name="x", title="\n", lines=("\x1b",), facts=(("\x07", "\u200f"),))
    assert (section.title, section.lines) == (r"\n", (r"\x1b",))
    assert section.facts == ((r"\x07", r"\u200f"),)
    column = Column(title="\r", texts=("\x7f",), keys=(1.0,), asides=("\u2066",))
    assert (column.title, column.texts, column.asides) == (r"\r", (r"\x7f",), (r"\u2066",))
    table = Table(name="t", caption="\x01", columns=(column,), frame=pl.DataFrame())
    page_ = Page(title="\x02", subject="\x03", verdicts=(), sections=())
    assert (table.caption, page_.title, page_.subject) == (r"\x01", r"\x02", r"\x03")


def test_columns_know_their_unknowns() -> None:
    made = texts([None, True, 0.5, "a"], "words")
    assert made.texts == ("-", "yes", "0.5", "a")
    assert made.keys == (None, "yes", "0.5", "a")
    assert signed(-0.00002) == "-2e-05"


def test_a_drawing_shares_no_id_and_keeps_no_script() -> None:
    svg = (
        '<svg class="marks" width="10" height="20" viewBox="0 0 10 20" xmlns="http://x">'
        '<defs><clipPath id="clip0"><rect width="1" height="1"/></clipPath></defs>'
        '<g clip-path="url(#clip0)" aria-label="a" onload="alert(1)"><a href="http://x">'
        '<text fill="#fff" opacity="1">id="clip0" aria-label="kept" &lt;script&gt;</text></a>'
        '<path class="background" d="M0,0h0v0h0Z" pointer-events="none"/></g></svg>'
    )
    made = embedded(svg, "one-dark", 'a "b" <c>')
    assert 'id="one-dark-clip0"' in made
    assert "url(#one-dark-clip0)" in made
    assert "onload" not in made
    assert "href" not in made
    assert "http://x" not in made
    assert "<path" not in made
    assert '>id="clip0" aria-label="kept" &lt;script&gt;</text>' in made
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in made
