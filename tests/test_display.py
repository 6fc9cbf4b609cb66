"""Results, counts and tables as people see them: in a shell, in a notebook, in print."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from results_made import results
from trialframe.display import kind_of, told, unit_of
from trialframe.errors import ArgumentError
from trialframe.results import Result, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAD = '<script>alert("1")</script>'


def classes(base: type) -> Iterator[str]:
    for child in base.__subclasses__():
        yield child.__name__
        yield from classes(child)


def plain(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page))


def test_there_is_an_example_of_every_result() -> None:
    others = {"PValue", "Exported"}  # made inside a comparison, and by writing somewhere
    assert set(classes(Result)) - others <= set(results())


def test_every_result_is_short_in_a_shell_and_escaped_in_a_notebook() -> None:
    for name, made in results().items():
        text, page = repr(made), made._repr_html_()
        assert len(text) < 2000, name
        assert "shape: (" not in text, name
        assert page.count("<table>") >= 1, name
        assert page.count("<table>") == page.count("</table>"), name
        assert "None" not in plain(page), name


def test_every_result_becomes_plain_values_and_a_frame() -> None:
    for name, made in results().items():
        values = made.to_dict()
        assert made.to_frame().height == 1 or name == "Counts"
        json.dumps(values, default=str, allow_nan=False)
        for key, value in values.items():
            if isinstance(value, float):
                assert value == getattr(made, key), (name, key)


def test_numbers_are_shown_with_their_interval_and_unit() -> None:
    found = results()["Comparison"]
    page = plain(found._repr_html_())
    ends = f"[{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    assert f"{100 * found.diff:+.1f} points {ends}" in page
    assert f"{found.pvalue:.3g}" in page
    assert "4 rows" not in page
    assert "groups, 2 rows" in page
    fixed = results()["Corrected"]
    ends = f"[{100 * fixed.low:.1f}, {100 * fixed.high:.1f}]"
    assert f"{100 * fixed.value:.1f} % {ends}" in plain(fixed._repr_html_())


def test_counts_say_what_they_hold_and_escape_what_they_say() -> None:
    rows = {"config": [BAD] * 3, "case": ["x", "x", BAD], "passed": [True, None, False]}
    counts = tr.counts(rows)
    first = repr(counts).splitlines()[0]
    assert first == ("Counts: 1 config, 2 cases, 2 scored trials, 1 without a verdict (exclude)")
    noted = tr.Counts(counts.frame, notes=(f"dropped {BAD}",))
    page = noted._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 4
    assert counts.to_frame().equals(counts.frame)
    assert counts.to_dict()["frame"] == counts.frame.to_dicts()


def test_long_tables_say_how_much_is_not_shown() -> None:
    page = html_table(pl.DataFrame({"case": [str(i) for i in range(1234)]}))
    assert page.count("<tr>") == 11
    assert "1,224 more rows" in page


def test_tables_show_units_of_their_rows() -> None:
    table = pl.DataFrame(
        {
            "metric": ["pass@1", "cost_uusd", "duration_ms", "score"],
            "value": [0.5, 2607.4, 12340.0, 0.5],
            "cases": [1200, None, 3, 4],
        }
    )
    page = plain(html_table(table))
    for text in ("50.0 %", "$0.0026", "12.3 s", "1,200", "-"):
        assert text in page


@pytest.mark.parametrize(
    ("column", "unit", "kind"),
    [
        ("value", "share", "share"),
        ("value", None, ""),
        ("low", "micro-dollars", "micro-dollars"),
        ("sensitivity_low", None, "share"),
        ("judge_rate", None, "share"),
        ("cost_uusd_per_pass_low", None, "micro-dollars"),
        ("cost_uusd_sumsq", None, ""),
        ("duration_ms_n", None, ""),
        ("duration_ms_sum", None, "milliseconds"),
        ("pvalue_holm", None, "p"),
        ("p_losses", None, "p"),
        ("judge_diff", "share", "difference"),
        ("cases", "share", ""),
        ("kappa_low", "share", ""),
        ("ratio_low", "share", ""),
    ],
)
def test_columns_tell_how_to_show_them(column: str, unit: str | None, kind: str) -> None:
    assert kind_of(column, unit) == kind


def test_words_and_unknown_values_are_left_alone() -> None:
    assert [told(value, "status") for value in ("a", None, True)] == ["a", "-", "yes"]
    assert told(0.95, "level") == "95 %"
    assert told(1e-12, "pvalue") == "1e-12"
    assert unit_of("tests_share") == "share"


@pytest.fixture
def page(require: Callable[[str], Any]) -> Callable[..., str]:
    """A table for publication as a page, its style left out."""
    require("great_tables")

    def made(what: Any, **options: Any) -> str:
        raw: str = tr.table(what, **options).as_raw_html()
        return raw[raw.index("<table") :]

    return made


def test_a_leaderboard_in_print_names_how_it_was_made(page: Callable[..., str]) -> None:
    trials = tr.simulate(configs=["base", BAD], cases=40, trials=3, lift=0.2, seed=1)
    trials = trials.with_columns(cost_uusd=pl.lit(1_500_000))
    board = tr.leaderboard(tr.counts(trials))
    made = page(board)
    text = plain(made)
    assert "<script" not in made
    assert BAD in text
    row = board.row(0, named=True)
    assert f"{100 * row['value']:.1f} %" in text
    assert f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]" in text
    assert "$1.50" in text
    assert "Estimand: tasks like these" in text
    assert f"Intervals: 95 %, {row['method']}." in text
    assert "pass@1" in text[: text.index("plausibly best")]


def test_a_summary_in_print_has_a_head_a_metric(page: Callable[..., str]) -> None:
    counts = results()["Counts"]
    table = tr.summary(counts, metrics=["pass@1", "pass^2"], by="half", level=0.9)
    text = plain(page(table, title="Two configs"))
    assert text.split()[:2] == ["Two", "configs"]
    assert "Intervals: 90 %" in text
    for row in table.iter_rows(named=True):
        assert f"{100 * row['value']:.1f} %" in text
    ragged = table.filter((pl.col("metric") == "pass@1") | (pl.col("config") == "base"))
    assert " - " in plain(page(ragged))


def test_comparisons_in_print_say_how_they_were_adjusted(page: Callable[..., str]) -> None:
    text = plain(page(tr.compare_all(results()["Counts"], "base", adjust="max-t")))
    assert "simultaneous over all pairs" in text
    assert "P-values adjusted by max-t." in text


def test_every_result_and_any_table_can_be_printed(page: Callable[..., str]) -> None:
    for made in results().values():
        assert "<td" in page(made)
    assert "<td" in page(results()["Calibration"].table)
    assert "p-value" not in plain(page(pl.DataFrame({"a": ["x"], "b": [None]})))
    with pytest.raises(ArgumentError, match="no rows"):
        tr.table(pl.DataFrame({"a": []}))
    with pytest.raises(ArgumentError, match="takes a result"):
        tr.table([1])
