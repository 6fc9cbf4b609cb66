"""The charts of tables that every evaluation has: what they draw is what the tables hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe import charts
from trialframe.errors import ArgumentError, ColumnError

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ("leaderboard", "frontier", "forest", "strip", "flakes", "curves")
ODD = "<script>"


def drawn(kind: str, frame: pl.DataFrame, **options: Any) -> Any:
    return getattr(charts, kind)(frame, **options)


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """A table with the names that charts write."""
    return table.with_columns(
        pl.col("config").str.replace("</script>", r"<\/script>", literal=True)
    )


def head(chart: Any) -> str:
    """Title and subtitle as one text."""
    made = chart.to_dict()["title"]
    return " ".join([*made["text"], *made["subtitle"]])


def height(text: str) -> float:
    found = re.search(r'<svg[^>]* height="([\d.]+)"', text)
    assert found
    return float(found[1])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_few_configs_are_drawn_and_escaped(
    kind: str, theme: str, few: dict[str, pl.DataFrame], svg: Callable[[Any], str]
) -> None:
    chart = drawn(kind, few[kind], theme=theme, width=600)
    text = svg(chart)
    assert ODD not in text
    if kind != "strip":  # its names are those of cases
        assert "&lt;script&gt;" in text
        assert "\u65e5\u672c" in chart.data["label"].str.join().item()
    assert len(chart.to_dict()["description"]) > 60
    paper = {"light": "#ffffff", "dark": "#15181c"}[theme]
    assert f'fill="{paper}"' in text


@pytest.mark.parametrize(("kind", "theme"), list(zip(KINDS, ["light", "dark"] * 3, strict=True)))
def test_two_hundred_configs_keep_their_rows_and_stay_small(
    kind: str, theme: str, many: dict[str, pl.DataFrame], svg: Callable[[Any], str]
) -> None:
    chart = drawn(kind, many[kind], theme=theme)
    text = svg(chart)
    assert chart.data.height <= 5000
    rows = {"leaderboard": 19, "forest": 19, "flakes": 15}
    if kind in rows:
        assert height(text) > 199 * rows[kind]
        assert chart.data["label"].n_unique() >= 199
    else:
        assert height(text) < 700
    assert all(len(label) <= 40 for label in chart.data["label"])


def test_a_leaderboard_holds_the_numbers_of_the_table(few: dict[str, pl.DataFrame]) -> None:
    board = harmless(few["leaderboard"])
    chart = charts.leaderboard(few["leaderboard"].sample(fraction=1, shuffle=True, seed=1))
    assert_frame_equal(chart.data.select(board.columns), board)
    states = dict(chart.data.select("config", "state").rows())
    assert {name for name, state in states.items() if state == "plausibly best"} == set(
        board.filter("plausibly_best")["config"]
    )
    text = head(chart)
    assert "tasks like these" in text
    assert "95 % interval" in text
    assert board["method"][0] in text
    top = board.row(0, named=True)
    assert f"{100 * top['value']:.1f} % [{100 * top['low']:.1f}" in chart.to_dict()["description"]


def test_a_leaderboard_says_when_rows_are_missing_and_what_was_left_out(
    few: dict[str, pl.DataFrame],
) -> None:
    board = few["leaderboard"].with_columns(unscored=pl.lit(2, pl.Int64))
    chart = charts.leaderboard(board, limit=2)
    assert chart.data["rank"].to_list() == board["rank"].to_list()[:2]
    assert "drawn: 2 of 3 rows" in head(chart)
    assert "left out: 6 trials without a verdict" in head(chart)


def test_groups_of_a_leaderboard_name_their_rows(few: dict[str, pl.DataFrame]) -> None:
    board = few["leaderboard"]
    both = pl.concat(
        board.with_columns(pl.lit(group, pl.String).alias("split")) for group in ("test", None)
    )
    chart = charts.leaderboard(both.select("split", *board.columns))
    assert chart.data["label"].n_unique() == 6
    assert chart.data["label"].str.starts_with("test").sum() == 3
    assert chart.data["label"].str.starts_with("none").sum() == 3
    with pytest.raises(ArgumentError, match="one group"):
        charts.frontier(both)


def test_values_that_are_unknown_leave_a_row_without_a_point(
    few: dict[str, pl.DataFrame], svg: Callable[[Any], str]
) -> None:
    ends = ("value", "low", "high")
    board = few["leaderboard"].with_columns(
        pl.when(pl.col("rank") == 3).then(None).otherwise(pl.col(ends)).name.keep()
    )
    chart = charts.leaderboard(board)
    assert chart.data["text"].to_list()[2] == "-"
    svg(chart)
    pairs = few["forest"].with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    svg(charts.forest(pairs))


def test_a_forest_prefers_simultaneous_intervals_and_says_so(
    few: dict[str, pl.DataFrame],
) -> None:
    table = few["forest"].with_columns(
        simultaneous_low=pl.col("low") - 0.1, simultaneous_high=pl.col("high") + 0.1
    )
    chart = charts.forest(table)
    made = chart.data.sort("candidate")
    wanted = table.sort("candidate")
    assert made["value"].to_list() == wanted["diff"].to_list()
    assert made["low"].to_list() == wanted["simultaneous_low"].to_list()
    assert made["state"].to_list() == wanted["verdict"].to_list()
    assert "simultaneous over all pairs" in head(chart)
    assert "adjusted (holm)" in head(chart)
    assert "each row by itself" in head(charts.forest(few["forest"]))


def test_a_forest_keeps_the_pairs_with_the_smallest_p_values(
    many: dict[str, pl.DataFrame],
) -> None:
    table = many["forest"]
    chart = charts.forest(table, limit=5)
    least = table.sort("adjusted", "pvalue", "candidate").head(5)
    assert set(chart.data["candidate"]) == set(least["candidate"])
    assert "drawn: 5 of 199 rows, those with the smallest adjusted p-values" in head(chart)


def test_a_strip_is_sorted_by_difference_and_counts_what_moved(
    few: dict[str, pl.DataFrame],
) -> None:
    pairs = few["strip"]
    chart = charts.strip(pairs.sample(fraction=1, shuffle=True, seed=2), sides=("base", "new"))
    assert chart.data["diff"].is_sorted()
    assert chart.data["diff"].to_list() == sorted(pairs["diff"])
    wins, losses = ((pairs["diff"] * sign > 0).sum() for sign in (1, -1))
    assert f"{wins} rise, {losses} fall" in chart.to_dict()["description"]
    states = chart.data["state"].value_counts().sort("state")
    assert dict(states.rows()).get("higher", 0) == wins


def test_a_long_strip_draws_means_of_neighbours(svg: Callable[[Any], str]) -> None:
    pairs = pl.DataFrame(
        {
            "case": [f"c{i}" for i in range(10)],
            "value_baseline": [0.0] * 10,
            "value_candidate": [i / 10 for i in range(10)],
            "diff": [i / 10 for i in range(10)],
        }
    )
    chart = charts.strip(pairs, limit=5)
    assert chart.data["cases"].to_list() == [2] * 5
    assert chart.data["diff"].to_list() == pytest.approx([0.05, 0.25, 0.45, 0.65, 0.85])
    assert "mean of up to 2 neighbouring cases" in head(chart)
    svg(charts.strip(pairs.with_columns(diff=pl.lit(None, pl.Float64)).vstack(pairs)))


def test_a_strip_without_a_value_on_a_side_says_what_is_missing() -> None:
    pairs = pl.DataFrame(
        {
            "case": ["a", "b"],
            "value_baseline": [0.5, None],
            "value_candidate": [1.0, 1.0],
            "diff": [0.5, None],
        }
    )
    chart = charts.strip(pairs)
    assert chart.data.height == 1
    assert "not drawn: 1 case without a value on a side" in head(chart)


def test_less_cost_is_good_in_a_strip() -> None:
    pairs = pl.DataFrame(
        {"case": ["a"], "value_baseline": [9e4], "value_candidate": [1e4], "diff": [-8e4]}
    )
    colours = [
        str(charts.strip(pairs, metric=metric).to_dict()["layer"][0]["encoding"]["color"]["scale"])
        for metric in ("cost_uusd", "pass@1")
    ]
    assert "#0072b2" in colours[0]
    assert "#d55e00" in colours[1]


def test_flakes_are_told_from_single_and_missing_trials(svg: Callable[[Any], str]) -> None:
    frame = pl.DataFrame(
        {
            "config": ["a"] * 5,
            "case": list("vwxyz"),
            "n": [4, 4, 4, 1, 0],
            "c": [4, 2, 0, 1, 0],
        }
    )
    chart = charts.flakes(frame)
    assert dict(chart.data.select("case", "state").rows()) == {
        "v": "passes every time",
        "w": "flaky",
        "x": "fails every time",
        "y": "one trial",
        "z": "not scored",
    }
    assert "1 of 3 cells with two trials or more are flaky" in chart.to_dict()["description"]
    assert "1 cell with one trial, which cannot show flakiness" in head(chart)
    svg(chart)
    with pytest.raises(ArgumentError, match="no trial is scored"):
        charts.flakes(frame.with_columns(n=pl.lit(0), c=pl.lit(0)))


def test_blocks_of_a_flake_map_add_up(many: dict[str, pl.DataFrame]) -> None:
    counts = many["flakes"]
    counts = pl.concat([counts, counts.with_columns(pl.col("case") + "-again")])
    chart = charts.flakes(counts)
    flaky = counts.filter((pl.col("c") > 0) & (pl.col("c") < pl.col("n")))
    assert chart.data["flaky"].sum() == flaky.height
    assert chart.data["known"].sum() == counts.filter(pl.col("n") > 1).height
    assert "cases of like difficulty" in head(chart)


def test_curves_hold_every_k_and_colour_the_best(
    few: dict[str, pl.DataFrame], many: dict[str, pl.DataFrame]
) -> None:
    table = harmless(few["curves"])
    chart = charts.curves(few["curves"])
    assert set(chart.data["family"]) == {"pass@k", "pass^k"}
    keys = ["config", "metric"]
    assert_frame_equal(
        chart.data.select(table.columns).sort(keys), table.sort(keys), check_row_order=True
    )
    chart = charts.curves(many["curves"])
    last = many["curves"].filter(metric="pass@4").sort("value", descending=True)
    coloured = chart.data.filter(pl.col("colour") != "others")
    assert coloured["value"].max() == many["curves"].filter(metric="pass@4")["value"].max()
    assert coloured["config"].n_unique() == 7
    assert coloured.filter(metric="pass@4")["value"].min() >= last["value"][7]
    assert "in grey, without band: 193 others" in head(chart)


def test_curves_count_unscored_trials_once(few: dict[str, pl.DataFrame]) -> None:
    table = few["curves"].with_columns(unscored=pl.lit(3, pl.Int64))
    assert "left out: 9 trials without a verdict" in head(charts.curves(table))


def test_the_front_is_that_of_the_table(few: dict[str, pl.DataFrame]) -> None:
    board = harmless(few["frontier"])
    chart = charts.frontier(few["frontier"])
    on = set(chart.data.filter(state="on the front")["config"])
    assert on == set(board.filter("pareto")["config"])
    assert chart.data["cost_uusd"].is_sorted()
    unpriced = board.with_columns(
        pl.when(pl.col("rank") == 2).then(None).otherwise("cost_uusd").alias("cost_uusd")
    )
    assert "not drawn: 1 config without a price" in head(charts.frontier(unpriced))
    with pytest.raises(ArgumentError, match="no config has a price"):
        charts.frontier(board.with_columns(cost_uusd=pl.lit(None, pl.Float64)))


def test_names_that_break_pages_and_terminals_are_written_out(svg: Callable[[Any], str]) -> None:
    names = ["a\x1b[31m\nb", "'; datum.x", '{"signal": "1"}', "x" * 3000, "", " ", "null", "\u202e"]
    frame = pl.DataFrame(
        {
            "config": [name for name in names for _ in range(3)],
            "case": ["\x07a", "b\nc", "<d>"] * len(names),
            "n": 4,
            "c": [4, 2, 0] * len(names),
        }
    )
    counts = tr.Counts(frame)
    found = tr.compare(counts, names[0], names[3])
    for made in (
        tr.leaderboard(counts),
        tr.compare_all(counts, names[0]),
        tr.summary(counts, metrics=["pass@1", "pass@2"]),
        counts,
        found,
        tr.fit_irt(counts),
    ):
        text = svg(tr.plot(made))
        assert "\u202e" not in text
        assert "\x1b" not in text


def test_no_name_ends_the_script_that_keeps_a_chart(svg: Callable[[Any], str]) -> None:
    names = ["</script><img src=x onerror=alert(1)>", "</SCRIPT >", "<!--<script>", "a\uffff\ufffe"]
    trials = tr.simulate(configs=names, cases=30, trials=3, lift=0.1, seed=1)
    trials = trials.with_columns(case=pl.lit(names[0]) + pl.col("case"), group=pl.lit(names[0]))
    counts = tr.counts(trials, by="group")
    pair = tr.compare(counts, names[0], names[1], by="group")
    plain = tr.plot(tr.leaderboard(tr.simulate(configs=2, cases=9, seed=1).pipe(tr.counts)))
    ends = plain.to_html().lower().count("</script")
    for made in (
        tr.plot(tr.leaderboard(counts)),
        tr.plot(tr.leaderboard(counts, by="group")),
        tr.plot(tr.compare_all(counts, names[0])),
        tr.plot(tr.summary(counts, metrics=["pass@1", "pass@2"])),
        tr.plot(tr.summary(counts, metrics="pass@1")),
        counts.plot(),
        pair.plot(kind="strip"),
        pair.plot(kind="forest"),
        tr.fit_irt(counts).plot(),
    ):
        page = made.to_html()
        assert page.lower().count("</script") == ends
        assert "<!--<" not in page
        assert "\uffff" not in svg(made)


@pytest.mark.parametrize("cost", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5e9]])
def test_prices_may_be_zero_or_alike(
    cost: list[float], few: dict[str, pl.DataFrame], svg: Callable[[Any], str]
) -> None:
    svg(charts.frontier(few["frontier"].with_columns(cost_uusd=pl.Series(cost))))


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_drawn_is_refused_in_words(kind: str, few: dict[str, pl.DataFrame]) -> None:
    with pytest.raises(ColumnError, match="needs"):
        drawn(kind, pl.DataFrame({"a": [1]}))
    with pytest.raises(ArgumentError, match="no rows"):
        drawn(kind, few[kind].clear())
    with pytest.raises(ArgumentError, match=r"polars\.DataFrame"):
        drawn(kind, few[kind].lazy())
    with pytest.raises(ArgumentError, match="theme == 'blue'"):
        drawn(kind, few[kind], theme="blue")
