"""Tables for people: layout, numbers, notes, Markdown, files."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import trialframe as tr
from trialframe.display import counted, cut, interval, shown, span, wide
from trialframe.errors import ArgumentError
from trialframe.report.formats import encoded, format_of, replacing
from trialframe.report.layout import report
from trialframe.report.text import markdown, print_findings, print_frame, print_report

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60
)


def summary(*, configs: int = 3, trials: int = 4, **options: Any) -> pl.DataFrame:
    simulated = tr.simulate(
        configs=configs,
        cases=30,
        trials=trials,
        lift=0.3,
        clusters=6,
        cost_uusd=2_000,
        unscored=0.1,
        difficulty_levels=("hard", "easy"),
        seed=2,
    )
    counts = tr.counts(simulated, by="difficulty")
    return tr.summary(counts, **options)


def printed(table: pl.DataFrame, width: int = 100, **options: Any) -> str:
    buffer = io.StringIO()
    print_report(Console(file=buffer, width=width, highlight=False, markup=False), table, **options)
    return buffer.getvalue()


def renamed(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    old = table["config"].unique().sort().to_list()
    return table.with_columns(pl.col("config").replace_strict(old, list(names)))


# numbers


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.4199, "share", "42.0 %"),
        (1.0, "share", "100.0 %"),
        (2_607.4, "micro-dollars", "$0.0026"),
        (12_340_000.0, "micro-dollars", "$12.34"),
        (1_234_567_890.0, "micro-dollars", "$1,234.57"),
        (-7_000.0, "micro-dollars", "-$0.0070"),
        (0.0, "micro-dollars", "$0.00"),
        (12_345.0, "milliseconds", "12.3 s"),
        (812.0, "milliseconds", "0.812 s"),
        (4_000_000.0, "milliseconds", "4,000 s"),
        (8_812.4, "tokens", "8,812"),
        (3.0, "trials", "3"),
        (0.5, "", "0.500"),
        (None, "share", "-"),
    ],
)
def test_values_are_shown_with_their_unit(value: float | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_small_pieces() -> None:
    assert interval(0.1, None, "share") == ""
    assert interval(0.0814, 0.5, "share") == "[8.1, 50.0]"
    assert (span(3, 3), span(1, 1_000)) == ("3", "1 to 1,000")
    assert (counted(1, "case"), counted(0, "case")) == ("1 case", "0 cases")
    assert (wide("e\u0301"), wide("\u65e5")) == (1, 2)


@given(WORDS, st.integers(5, 40))
def test_a_cut_name_is_no_longer_than_its_room(text: str, room: int) -> None:
    assert len(cut(text, room)) == min(len(text), room)


# layout


def test_one_row_per_config_the_best_first() -> None:
    made = report(summary(metrics=["pass@1", "flaky"]), width=120)
    assert [c.title for c in made.panels[0].columns] == ["pass@1", "flaky"]
    values = [float(v.split()[0]) for v in made.panels[0].columns[0].values]
    assert values == sorted(values, reverse=True)


def test_one_config_is_turned_round() -> None:
    made = report(summary(configs=1, metrics=["pass@1", "pass^2"]), width=80)
    assert made.panels[0].names[0].values == ("pass@1", "pass^2")
    assert [c.title for c in made.panels[0].columns] == ["value", "interval", "SE", "method"]


def test_groups_come_first_and_open_a_section() -> None:
    made = report(summary(metrics="pass@1", by="difficulty"), width=120)
    panel = made.panels[0]
    assert [c.title for c in panel.names] == ["difficulty", "config"]
    assert panel.names[0].values == ("easy",) * 3 + ("hard",) * 3
    assert panel.starts == {3}
    assert "2 groups by difficulty, " in dict(made.head)["data"]


def test_empty_columns_and_repeated_intervals_are_left_out() -> None:
    table = summary(metrics=["pass@1", "pass^1", "flaky"])
    table = table.with_columns(value=pl.when(pl.col("metric") != "flaky").then("value"))
    made = report(table, width=120)
    assert [c.title for c in made.panels[0].columns] == ["pass@1", "pass^1"]
    assert made.panels[0].columns[0].intervals
    assert not made.panels[0].columns[1].intervals


def test_every_metric_is_shown_once_whatever_the_width() -> None:
    table = summary()
    metrics = set(table["metric"]) - {"min_trials", "max_trials"}
    for width in (60, 80, 120, 200, None):
        panels = [p for p in report(table, width=width).panels if "verdict" not in p.title]
        titles = [c.title for panel in panels for c in panel.columns]
        shown_ = [title for title in titles if title in metrics]
        assert sorted(shown_) == sorted(metrics), width


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    long = "a-very-long-name-of-a-system-2025-01-01-thinking-"
    table = renamed(summary(), f"{long}high", f"{long}low", "\u65e5\u672c\u8a9e" * 9)
    text = printed(table, width)
    assert max(map(wide, text.splitlines())) <= width
    assert not any(line.endswith(" ") for line in text.splitlines())


@given(st.lists(WORDS, min_size=3, max_size=3, unique=True))
def test_any_name_is_printed_as_it_is(names: list[str]) -> None:
    table = renamed(summary(metrics="pass@1"), *names)
    text = markdown(table)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    bars = {line.count("|") - line.count("\\|") for line in lines[:5]}
    assert bars == {3}
    assert printed(table, 80)


def test_markup_in_a_name_is_text() -> None:
    assert "[bold]x[/]" in printed(renamed(summary(metrics="pass@1"), "[bold]x[/]", "b", "c"))


# head and notes


def test_the_head_says_what_the_numbers_are() -> None:
    made = dict(report(summary(level=0.9), policy="exclude").head)
    assert made["estimand"].startswith("cases: ")
    assert made["interval"].startswith("90 %; wilson for pooled; ")
    assert "30 cases in 6 clusters" in made["data"]
    assert made["unscored"].startswith("exclude: ")
    suite = report(summary(estimand="suite", metrics="pass@1")).head
    assert dict(suite)["estimand"].startswith("suite: ")


def test_each_warning_is_said_once_with_its_place() -> None:
    notes = report(summary(), notes=["no trial column"]).notes
    few = [note for note in notes if "few clusters" in note]
    assert len(few) == 1
    assert "all 3 configs" in few[0]
    assert notes[-1] == "no trial column"


def test_dropped_cases_are_named() -> None:
    rows = {
        "config": ["a"] * 5 + ["b"] * 6,
        "case": ["x", "x", "x", "y", "y", "x", "x", "x", "y", "y", "y"],
        "passed": [True, False] * 5 + [True],
    }
    notes = report(tr.summary(tr.counts(rows), metrics="pass@3")).notes
    assert "pass@3: 1 case without a value left out (a)" in notes


def test_trials_without_a_verdict_come_with_their_bracket() -> None:
    table = summary(metrics=["flaky", "pass@1"])
    panel = report(table, width=100).panels[-1]
    assert panel.title == "pass@1 and the trials without a verdict"
    row = table.filter(metric="pass@1").sort("value", descending=True).row(0, named=True)
    column = {c.title: c.values[0] for c in panel.columns}
    assert column["trials"] == str(row["unscored"])
    assert column["all failed to all passed"] == interval(
        row["bracket_low"], row["bracket_high"], "share"
    )


def test_markdown_keeps_whole_names_and_escapes() -> None:
    name = "model|with_marks*" + "x" * 80
    text = markdown(renamed(summary(metrics="pass@1"), name, "b", "c"), policy="exclude")
    assert "model\\|with\\_marks\\*" + "x" * 80 in text
    assert text.startswith("- **estimand**: cases")


# plain tables and findings


def test_long_and_wide_tables_say_what_they_leave_out() -> None:
    frame = pl.DataFrame({"name": ["a"] * 50} | {f"column_{i}": [i] * 50 for i in range(20)})
    buffer = io.StringIO()
    print_frame(Console(file=buffer, width=80), frame, limit=10)
    text = buffer.getvalue()
    assert "... and 40 more rows" in text
    assert "columns not shown" in text
    assert max(map(len, text.splitlines()[:12])) <= 80


def test_long_columns_share_what_room_there_is() -> None:
    said = "what one can say of it in some ten or more words, all of them short"
    frame = pl.DataFrame({"name": ["a-name-of-its-own"], "one": [said], "two": [said + " and on"]})
    buffer = io.StringIO()
    print_frame(Console(file=buffer, width=80), frame)
    lines = buffer.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "a-name-of-its-own" in buffer.getvalue()
    assert len(lines) <= 6


def test_findings_are_printed_one_below_the_other() -> None:
    found = tr.check_trials({"case": ["x", "x"], "trial": [1, 1], "passed": [True, False]})
    buffer = io.StringIO()
    print_findings(Console(file=buffer, width=80), found)
    assert buffer.getvalue().startswith("error    duplicate_key (1 rows)\n")


# files


def test_json_knows_no_nan() -> None:
    frame = pl.DataFrame({"a": [1.0, float("nan"), float("inf"), None], "b": ["x", "é", "y", None]})
    rows = json.loads(encoded(frame, "json"))
    assert [row["a"] for row in rows] == [1.0, None, None, None]
    assert rows[1]["b"] == "é"
    assert json.loads(encoded(frame.head(0), "json")) == []


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
)
def test_no_digit_is_lost(values: list[float]) -> None:
    frame = pl.DataFrame({"value": values})
    assert [row["value"] for row in json.loads(encoded(frame, "json"))] == values
    assert pl.read_csv(encoded(frame, "csv"))["value"].cast(pl.Float64).to_list() == values
    assert pl.read_parquet(io.BytesIO(encoded(frame, "parquet"))).equals(frame)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before", encoding="utf-8")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("before", encoding="utf-8")
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "after"
    assert stat.S_ISREG(target.stat().st_mode)


def test_the_ending_tells_the_format() -> None:
    assert format_of(None, None) == "table"
    assert format_of(None, Path("out.md")) == "md"
    assert format_of("csv", Path("out.md")) == "csv"
    with pytest.raises(ArgumentError, match="cannot tell the format"):
        format_of(None, Path("out.xlsx"))
