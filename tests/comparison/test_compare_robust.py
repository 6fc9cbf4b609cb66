"""Comparisons of odd tables: tiny, huge, empty, repeated, strangely named."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from reference import independent as plain
from trialframe.cli import main
from trialframe.errors import (
    ArgumentError,
    CountsError,
    TrialframeError,
    TrialsError,
    UnknownConfigError,
)
from trialframe.report import comparison as report

if TYPE_CHECKING:
    from pathlib import Path

ODD = [
    "<script>alert(1)</script>",
    "line\nbreak",
    "tab\tand\r\nmore",
    "😀🇨🇭",
    "e\u0301 and é",
    "\u200b",
    "a | b",
    "'quoted' \"twice\" `thrice`",
    "[red]markup[/red]",
    "null",
    "-5",
    "x" * 3000,
]


def sides(n_a: Any, c_a: Any, n_b: Any, c_b: Any, **columns: Any) -> tr.Counts:
    frames = [
        pl.DataFrame({"config": name, "n": n, "c": c}, strict=False).with_columns(
            pl.format("case {}", pl.int_range(pl.len()).cast(pl.String).str.zfill(4)).alias("case"),
            **columns,
        )
        for name, n, c in (("a", n_a, c_a), ("b", n_b, c_b))
    ]
    return tr.Counts(pl.concat(frames))


def groups_of(size: int) -> pl.Expr:
    return pl.format("g{}", pl.int_range(pl.len()) // size)


def shown(found: tr.Comparison) -> str:
    """Every way to show a comparison, which must work for any."""
    json.dumps(found.to_dict())
    assert found.to_frame().height == 1
    assert found.fragility().height > 0
    return "\n".join([repr(found), found._repr_html_(), *report.lines(found)]) + str(
        report.rows(found)
    )


# names


@pytest.mark.parametrize("name", ODD)
def test_any_name_will_do(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pl.DataFrame(
        {
            "config": [name] * 9 + ["other"] * 9,
            "case": [f"{name}{i}" for i in range(9)] * 2,
            "trial": [0] * 18,
            "passed": [False] * 9 + [True] * 9,
            "cluster": [f"{name}{i % 8}" for i in range(9)] * 2,
            "suite": [name if i < 5 else "rest" for i in range(9)] * 2,
        }
    )
    found = tr.compare(tr.counts(rows, by="suite"), name, "other", by="suite")
    assert (found.diff, found.units, found.verdict) == (1.0, 8, "better")
    assert found.groups is not None
    assert set(found.groups["suite"]) == {name, "rest"}
    shown(found)
    assert "<script>" not in found._repr_html_()
    rows.write_parquet(tmp_path / "odd.parquet")
    for kind in ("json", "csv", "md", "table"):
        words = ["compare", str(tmp_path / "odd.parquet"), "--by", "suite", "-f", kind]
        assert main([*words, "--", name, "other"]) == 0
        out = capsys.readouterr().out
        if kind == "json":
            (row,) = json.loads(out)
            assert (row["baseline"], row["diff"]) == (name, 1.0)
        if kind == "md":
            assert "<script>" not in out


@pytest.mark.parametrize("name", ["left_out", "rest", "kind", "metric", "__0", "len", "literal"])
def test_columns_to_group_by_may_have_common_names(name: str) -> None:
    found = tr.compare(sides(2, [0] * 9, 2, [1] * 9, **{name: groups_of(3)}), "a", "b", by=name)
    assert found.groups is not None
    assert found.groups[name].to_list() == ["g0", "g1", "g2"]
    assert found.fragility(name).filter(kind=name).height == 3
    assert name in found.pairs.columns


def test_a_column_named_diff_is_not_taken_for_the_difference() -> None:
    found = tr.compare(sides(2, [0] * 9, 2, [1] * 9, diff=groups_of(3)), "a", "b")
    assert found.pairs["diff"].to_list() == [0.5] * 9
    assert found.diff == 0.5


def test_numbers_and_the_config_are_nothing_to_group_by() -> None:
    counts = sides(2, [0] * 9, 2, [1] * 9)
    for name in ("config", "n", "c", "diff", "n_baseline", "value_candidate", "nothing"):
        with pytest.raises(ArgumentError, match=r"the pairs have no column .*Available: 'case'"):
            tr.compare(counts, "a", "b", by=name)


def test_cases_and_clusters_are_groups_too() -> None:
    counts = sides(2, [0] * 9, 2, [1] * 9, cluster=groups_of(3))
    by_case = tr.compare(counts, "a", "b", by="case").groups
    by_cluster = tr.compare(counts, "a", "b", by="cluster").groups
    assert by_case is not None
    assert by_cluster is not None
    assert by_case["low"].to_list() == [None] * 9
    assert by_cluster["units"].to_list() == [1, 1, 1]


def test_groups_may_be_null_or_of_any_type() -> None:
    counts = sides(2, [0] * 9, 2, [1] * 9, suite=pl.lit(None, pl.String), part=pl.int_range(9) % 2)
    found = tr.compare(counts, "a", "b", by=["suite", "part"])
    assert found.groups is not None
    assert found.groups.select("suite", "part", "cases").rows() == [(None, 0, 5), (None, 1, 4)]
    assert found.fragility("suite").filter(kind="suite").row(0)[4:] == (None,) * 5


# few and degenerate


@pytest.mark.parametrize("trials", [1, 3])
def test_one_case(trials: int) -> None:
    found = tr.compare(sides(trials, [trials], trials, [0]), "a", "b", margin=0.1)
    assert (found.diff, found.se, found.verdict, found.pvalue) == (-1.0, None, "inconclusive", 1.0)
    assert found.status.startswith("untestable: 1 cases")
    assert found.non_inferiority is not None
    assert not found.non_inferiority.holds
    low, high = plain.tango(1, 0, 1)
    assert found.tango is not None
    assert (found.tango.low, found.tango.high) == pytest.approx((low, high), abs=1e-7)
    assert found.interval(method="t").low is None
    shown(found)


@pytest.mark.parametrize("metric", ["pass@1", "pass^2"])
def test_one_cluster(metric: str) -> None:
    counts = sides(3, [0, 1, 2] * 5, 3, [3, 2, 3] * 5, cluster=pl.lit("only"))
    found = tr.compare(counts, "a", "b", metric=metric, margin=0.1)
    assert (found.units, found.se, found.low, found.df) == (1, None, None, None)
    assert (found.verdict, found.pvalue) == ("inconclusive", 1.0)
    assert any("few clusters: 1" in text for text in found.warnings)
    assert found.bootstrap is not None
    assert found.bootstrap.low is None
    shown(found)


@pytest.mark.parametrize(("first", "second"), [(0, 3), (1, 2), (3, 0)])
def test_no_variance_at_all(first: int, second: int) -> None:
    found = tr.compare(sides(3, [first] * 20, 3, [second] * 20), "a", "b")
    assert found.se == 0
    assert found.diff == pytest.approx((second - first) / 3)
    assert found.low == found.high == found.diff
    assert found.bootstrap is not None
    assert found.bootstrap.degenerate
    assert found.pvalue == 2.0**-19
    assert found.verdict == ("better" if second > first else "worse")
    shown(found)


@pytest.mark.parametrize("value", [0, 1, 2])
def test_nothing_but_ties(value: int) -> None:
    found = tr.compare(sides(2, [value] * 30, 2, [value] * 30), "a", "b", margin=0.1)
    assert (found.diff, found.pvalue, found.changed, found.ties) == (0.0, 1.0, 0, 30)
    assert (found.verdict, found.largest_unit) == ("inconclusive", None)
    assert found.status == "unresolved: no difference was seen"
    assert found.non_inferiority is not None
    assert not found.non_inferiority.holds
    shown(found)


# null, nothing and 0


def test_cases_without_a_verdict_are_left_out_and_counted() -> None:
    counts = sides([0, 1, 1, 2] * 5, [0, 1, 0, 1] * 5, [1, 0, 1, 2] * 5, [1, 0, 1, 2] * 5)
    found = tr.compare(counts, "a", "b")
    assert (found.cases, found.undefined) == (10, 10)
    assert found.diff == pytest.approx((5 * 1 + 5 * 0.5) / 10)
    for n_a, n_b in ((0, 0), (0, 2), (2, 0)):
        with pytest.raises(TrialsError, match="none has pass@1 on both sides"):
            tr.compare(sides(n_a, [0] * 5, n_b, [0] * 5), "a", "b")
    cases = tr.regressions(counts, "a", "b")
    assert cases.filter(status="not scored")["rate_baseline"].null_count() == 5


@pytest.mark.parametrize("value", [None, [None, "g"] * 5])
def test_clusters_that_are_null_are_refused(value: Any) -> None:
    known = pl.lit(value, pl.String) if value is None else pl.Series(value)
    with pytest.raises(CountsError, match="cluster is null"):
        sides(1, [1] * 10, 1, [0] * 10, cluster=known)


def test_cases_without_weight_do_not_count() -> None:
    weight = (pl.int_range(pl.len()) >= 20).cast(pl.Float64)
    first, second = [1] * 20 + [0, 1] * 20, [0] * 20 + [1, 1] * 20
    found = tr.compare(sides(1, first, 1, second, weight=weight), "a", "b")
    alone = tr.compare(sides(1, first[20:], 1, second[20:]), "a", "b")
    for name in ("diff", "se", "low", "high", "pvalue", "cases", "units", "wins", "verdict"):
        assert getattr(found, name) == getattr(alone, name)
    assert found.undefined == 20
    with pytest.raises(TrialsError):
        tr.compare(sides(1, first, 1, second, weight=pl.lit(0.0)), "a", "b")


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), None])
def test_weights_that_cannot_be_are_refused(bad: float | None) -> None:
    with pytest.raises(TrialframeError, match="weight"):
        sides(1, [1, 0], 1, [0, 1], weight=pl.Series([1.0, bad]))


def test_the_scale_of_weights_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    cells = rng.binomial(3, [[0.4], [0.6]], (2, 40))
    size = pl.Series(rng.choice([1.0, 2.0, 5.0], 40))
    made = [
        tr.compare(sides(3, cells[0], 3, cells[1], weight=size * scale), "a", "b", margin=0.1)
        for scale in (1.0, 2.0**-40, 2.0**40)
    ]
    for name in ("diff", "se", "df", "low", "high", "pvalue", "bootstrap", "non_inferiority"):
        assert len({repr(getattr(found, name)) for found in made}) == 1


# repeated rows and strange requests


def test_repeated_rows_are_refused_until_told() -> None:
    rows = tr.simulate(configs=["a", "b"], cases=30, trials=2, seed=1)
    twice = pl.concat([rows, rows.head(7)])
    with pytest.raises(TrialsError, match="share"):
        tr.compare(tr.counts(twice), "a", "b")
    once = tr.compare(tr.counts(rows), "a", "b")
    kept = tr.compare(tr.counts(twice, keep="first"), "a", "b")
    assert kept.to_dict() == once.to_dict()
    with pytest.raises(CountsError, match=r"share a \(config, case\)"):
        tr.Counts(pl.concat([tr.counts(rows).frame] * 2))


def test_configs_that_share_nothing_are_refused() -> None:
    frame = pl.DataFrame({"config": ["a", "b"], "case": ["x", "y"], "n": 1, "c": 1})
    with pytest.raises(TrialsError, match=r"share 0 cases .* Do both name their cases alike\?$"):
        tr.compare(tr.Counts(frame), "a", "b")
    silent = frame.with_columns(case=pl.lit("x"), n=pl.Series([1, 0]), c=pl.Series([1, 0]))
    with pytest.raises(TrialsError, match=r"no trial of them has a verdict\.$"):
        tr.compare(tr.Counts(silent), "a", "b")
    with pytest.raises(UnknownConfigError, match="Available: 'a', 'b'"):
        tr.compare(tr.Counts(frame), "A", "b")


@pytest.mark.parametrize("level", [1e-9, 0.5, 0.999999, 1 - 1e-12])
def test_extreme_levels_keep_their_order(level: float) -> None:
    rng = np.random.default_rng(0)
    found = tr.compare(sides(1, rng.integers(0, 2, 60), 1, [1] * 60), "a", "b", level=level)
    assert found.diff is not None
    for method in ("default", "t", "tango", "wald+2", "bootstrap", "bca", "studentised"):
        ends = found.interval(method=method)
        assert ends.low is not None
        assert ends.high is not None
        assert ends.low <= ends.high
        if method != "wald+2":  # centred elsewhere
            assert ends.low <= found.diff + 1e-12
            assert found.diff <= ends.high + 1e-12


# much


@pytest.mark.parametrize("trials", [10**6, 10**12])
def test_many_trials_a_case(trials: int) -> None:
    half = trials // 2
    found = tr.compare(sides(trials, [half] * 30, trials, [half + 3] * 30), "a", "b")
    assert (found.wins, found.pvalue, found.exact) == (30, 2.0**-29, True)
    assert found.diff == pytest.approx(3 / trials, rel=1e-3)


def test_a_million_trials() -> None:
    rng = np.random.default_rng(0)
    cases, trials = 100_000, 5
    rows = pl.DataFrame(
        {
            "config": np.repeat(["a", "b"], cases * trials),
            "case": np.tile(np.repeat(np.arange(cases), trials), 2),
            "trial": np.tile(np.arange(trials), 2 * cases),
            "passed": rng.random(2 * cases * trials) < np.repeat([0.50, 0.51], cases * trials),
        }
    )
    start = time.perf_counter()
    found = tr.compare(tr.counts(rows.sample(fraction=1, shuffle=True, seed=1)), "a", "b")
    assert time.perf_counter() - start < 60
    rate = rows["passed"].to_numpy().reshape(2, cases, trials).mean(axis=2)
    d = rate[1] - rate[0]
    se = d.std(ddof=1) / np.sqrt(cases)
    assert (found.diff, found.se) == pytest.approx((d.mean(), se))
    assert (found.wins, found.losses) == (int((d > 1e-9).sum()), int((d < -1e-9).sum()))
    # with that many cases a sign flip is normal
    z = d.sum() / np.sqrt((d**2).sum())
    assert found.exact
    assert np.log(found.pvalue or 0) == pytest.approx(-(z**2) / 2, abs=0.1 * z**2)
