"""What each public function returns becomes rows of the right table, and says the same there."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe import warehouse
from trialframe.errors import ArgumentError, ColumnError
from trialframe.export.stamp import run_id_of

if TYPE_CHECKING:
    from pathlib import Path

TRIALS = tr.simulate(
    configs=["base", "mid", "new"],
    cases=40,
    clusters=12,
    trials=4,
    lift=0.25,
    cost_uusd=3e3,
    unscored=0.05,
    seed=4,
).with_columns(kind=pl.when(pl.col("case") < "case_20").then(pl.lit("a")).otherwise(pl.lit("b")))
COUNTS = tr.counts(TRIALS, by=["kind"])
PAIR = tr.compare(COUNTS, "base", "new", units="cases", by="kind", margin=0.02)
POLICY = {
    "gate": {"break_cost": 1},
    "rule": [{"name": "cost", "tier": "warn", "metric": "pass@1", "rule": "value >= 0.1"}],
}


def written(result: Any, folder: Path, **options: Any) -> pl.DataFrame:
    tr.export(result, folder / "{table}.parquet", **options)
    (path,) = folder.glob("*.parquet")
    return pl.read_parquet(path)


def same(found: pl.DataFrame, result: pl.DataFrame, *names: str, by: tuple[str, ...]) -> None:
    left, right = (frame.sort(by).select(names) for frame in (found, result))
    assert left.rows() == right.rows()


def test_counts(tmp_path: Path) -> None:
    found = written(COUNTS, tmp_path)
    names = [n for n in COUNTS.frame.columns if n not in {"kind", "true_rate"}]
    same(found, COUNTS.frame, *names, by=("config", "case"))
    kinds = [json.loads(text)["kind"] for text in found.sort("config", "case")["attributes"]]
    assert kinds == COUNTS.frame["kind"].to_list()
    settings = json.loads(found["settings"][0])
    assert settings["unscored"] == "exclude"
    assert settings["columns"]["passed"] == "passed"
    again = tr.Counts(found.select("config", "case", "n", "c", "unscored"))
    assert len(again) == len(COUNTS)


def test_a_table_counted_upstream(tmp_path: Path) -> None:
    found = written(pl.DataFrame({"config": "a", "case": ["x", "y"], "n": 3, "c": 2}), tmp_path)
    assert found.select("config", "case", "n", "c", "unscored").rows() == [
        ("a", "x", 3, 2, 0),
        ("a", "y", 3, 2, 0),
    ]


@pytest.mark.parametrize("by", [(), ("kind",)])
def test_summaries(tmp_path: Path, by: tuple[str, ...]) -> None:
    result = tr.summary(COUNTS, by=by)
    found = written(result, tmp_path)
    names = [name for name in result.columns if name not in by]
    result = result.with_columns(
        groups=pl.struct("kind").struct.json_encode() if by else pl.lit("{}")
    )
    same(found, result, *names, "groups", by=("config", "metric", "groups"))
    assert set(found["source"]) == {"summary"}


def test_run_summaries_and_leaderboards_keep_apart(tmp_path: Path) -> None:
    runs, board = tr.run_summary(TRIALS), tr.leaderboard(COUNTS, units="cases", resamples=200)
    for result in (runs, tr.summary(COUNTS), board):
        tr.export(result, tmp_path / "x.parquet", run_id="one")
    found = pl.read_parquet(tmp_path / "x.parquet")
    assert found.filter(estimand="runs").height == runs.height
    ranked = found.filter(source="leaderboard")
    same(ranked, board, *board.columns, by=("config", "metric"))
    assert found.height == runs.height + board.height + tr.summary(COUNTS).height


def test_a_comparison_with_groups(tmp_path: Path) -> None:
    found = written(PAIR, tmp_path).sort("groups")
    assert found["groups"].to_list() == ['{"kind":"a"}', '{"kind":"b"}', "{}"]
    whole = found.row(2, named=True)
    names = ("diff", "se", "low", "high", "pvalue", "verdict", "claim", "status", "cases", "wins")
    assert [whole[name] for name in names] == [getattr(PAIR, name) for name in names]
    assert whole["interval"] == PAIR.method
    details = json.loads(whole["details"])
    assert PAIR.majority is not None
    assert details["majority"]["pvalue"] == PAIR.majority.pvalue
    assert PAIR.groups is not None
    assert found["diff"][:2].to_list() == PAIR.groups.sort("kind")["diff"].to_list()
    settings = json.loads(whole["settings"])
    assert (settings["margin"], settings["by"]) == (0.02, ["kind"])


def test_all_pairs_and_single_cases(tmp_path: Path) -> None:
    result = tr.compare_all(COUNTS, units="cases")
    cases = tr.regressions(COUNTS, "base", "new")
    found = written(result, tmp_path)
    same(found, result, *result.columns, by=("baseline", "candidate"))
    target = tmp_path / "comparisons.parquet"
    with pytest.raises(ColumnError, match=r"Add it: found.with_columns\(baseline=pl.lit"):
        tr.export(cases, target)
    tr.export(cases.with_columns(baseline=pl.lit("base"), candidate=pl.lit("new")), target)
    single = pl.read_parquet(target).filter(source="regressions").sort("groups")
    assert [json.loads(text)["case"] for text in single["groups"]] == cases["case"].to_list()
    assert single["diff"].to_list() == cases["diff"].to_list()
    assert json.loads(single["details"][0])["least_pvalue"] == cases["least_pvalue"][0]


def test_decisions(tmp_path: Path) -> None:
    gate = tr.gate(PAIR, break_cost=1)
    row = written(gate, tmp_path).row(0, named=True)
    names = ("verdict", "headline", "claim", "exit_code", "wins", "losses", "pvalue", "breakage")
    assert [row[name] for name in names] == [getattr(gate, name) for name in names]
    assert json.loads(row["reasons"]) == list(gate.reasons)
    assert json.loads(row["details"])["broken"] == list(gate.broken)
    assert json.loads(row["settings"])["break_cost"] == 1


def test_policies(tmp_path: Path) -> None:
    decision = tr.gate_policy(COUNTS, "base", "new", POLICY, units="cases")
    found = written(decision, tmp_path).sort("rule")
    assert found["rule"].to_list() == ["gate", "policy", "rule:cost"]
    assert found["verdict"].to_list() == [
        decision.gate.verdict if decision.gate else "",
        decision.verdict,
        decision.rules["status"][0],
    ]
    assert found["limit_value"].to_list() == [None, None, 0.1]


def test_items(tmp_path: Path) -> None:
    fit = tr.fit_irt(COUNTS)
    found = written(fit, tmp_path)
    same(found, fit.items, *fit.items.columns, by=("case",))
    assert set(found["model"]) == {fit.model}
    assert json.loads(found["settings"][0])["priors"] == fit.priors


def test_findings(tmp_path: Path) -> None:
    audit, check = tr.audit(TRIALS, show="all"), tr.check_trials(pl.concat([TRIALS] * 2))
    assert check.height
    tr.export(audit, tmp_path / "x.parquet", run_id="one")
    tr.export(check, tmp_path / "x.parquet", run_id="one")
    found = pl.read_parquet(tmp_path / "x.parquet")
    same(found.filter(source="audit"), audit, *audit.columns, by=("rule",))
    advice = check.rename({"advice": "remedy"})
    same(found.filter(source="check_trials"), advice, *advice.columns, by=("rule",))


def test_findings_of_one_rule_on_several_columns_are_one_row(tmp_path: Path) -> None:
    zeros = pl.DataFrame({"case": ["x", "y"] * 10, "trial": range(20), "passed": True})
    zeros = zeros.with_columns(tokens_in=pl.lit(0), tokens_out=pl.col("trial") % 2)
    check = tr.check_trials(zeros).filter(rule="zero_for_unknown")
    assert check.height == 2
    found = written(check, tmp_path)
    assert found["rows"].to_list() == [None]
    said = found["examples"][0]
    assert all(
        f"{rows} rows: {text}" in said for rows, text in check.select("rows", "examples").rows()
    )
    assert found["remedy"][0] == " ".join(check["advice"])


def test_several_results_go_out_together(tmp_path: Path) -> None:
    pairs = [tr.compare(COUNTS, "base", name, units="cases") for name in ("mid", "new")]
    found = written(pairs, tmp_path, run_id="one")
    assert sorted(found["candidate"]) == ["mid", "new"]
    with pytest.raises(ArgumentError, match="results of several tables"):
        tr.export([PAIR, COUNTS], tmp_path / "x.parquet")


def test_other_libraries_frames(tmp_path: Path) -> None:
    table = tr.summary(COUNTS)
    arrow = written(table.to_arrow(), tmp_path, run_id="x")
    assert arrow.height == table.height
    tr.export(table.lazy(), tmp_path / "estimates.parquet", run_id="x")
    assert pl.read_parquet(tmp_path / "estimates.parquet").height == table.height


@pytest.mark.parametrize("result", [3, "counts", None, object(), [], [3]])
def test_what_is_no_result_is_refused(tmp_path: Path, result: Any) -> None:
    with pytest.raises(ArgumentError, match=r"cannot export|no table holds"):
        tr.export(result, tmp_path / "x.parquet")


def test_unknown_columns_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no table holds rows with the columns 'x'"):
        tr.export(pl.DataFrame({"x": [1]}), tmp_path / "x.parquet")


@pytest.mark.parametrize(
    "column",
    [pl.struct("config"), pl.concat_list("value"), pl.duration(seconds=1), pl.lit(b"x")],
)
def test_groups_that_are_no_plain_values_are_refused(tmp_path: Path, column: pl.Expr) -> None:
    with pytest.raises(ColumnError, match=r"column 'g' of type .* grouped by: drop it"):
        tr.export(tr.summary(COUNTS).with_columns(g=column), tmp_path / "x.parquet")


def test_exported_rows_are_not_exported_again(tmp_path: Path) -> None:
    found = written(COUNTS, tmp_path)
    with pytest.raises(ArgumentError, match="exported before"):
        tr.export(found, tmp_path / "y.parquet")


# --- who wrote it -------------------------------------------------------------------------------


def test_the_run_id_follows_from_rows_and_settings(tmp_path: Path) -> None:
    def run(result: Any, **options: Any) -> str:
        return tr.export(result, tmp_path / "{table}.parquet", mode="replace", **options).run_id

    table = tr.summary(COUNTS)
    first = run(table)
    assert run(table) == first
    assert run(table.sample(fraction=1.0, shuffle=True, seed=2)) == first
    assert run(table.rechunk().slice(0)) == first
    others = [
        run(table, suite="other"),
        run(tr.summary(COUNTS, level=0.9)),
        run(table.with_columns(pl.col("value") * (1 + 1e-6))),
        run(table.with_columns(pl.col("value") * 1.0, warnings=pl.lit("x"))),
        run(table.slice(1)),
        run(COUNTS),
    ]
    assert len({first, *others}) == 7
    assert run(table, run_id="mine") == "mine"
    # threads add reals in any order, so that the same job again has other last bits
    assert run(table.with_columns(pl.col("value") * (1 + 4e-16), se=pl.col("se") + 1e-17)) == first


def test_the_run_id_is_the_same_on_every_version() -> None:
    """Run ids are stored for years: these must never change."""
    frame = pl.DataFrame({"a": ["x", "", "é🙂"], "b": [1, None, -3], "c": [-0.0, None, 0.5]})
    assert run_id_of(frame, "h") == "c3daa2d92e5d6f9e055819017ce8709a"
    assert (
        run_id_of(frame.with_columns(d=pl.lit(None, pl.Int64)), "h")
        == "c3daa2d92e5d6f9e055819017ce8709a"
    )
    moved = pl.concat([frame.head(1), frame.tail(2)]).slice(0, 3)
    assert run_id_of(moved, "h") == "c3daa2d92e5d6f9e055819017ce8709a"


def test_settings_stay_short_whatever_the_rows_hold(tmp_path: Path) -> None:
    wide = pl.DataFrame(
        {"config": [f"c{i}" for i in range(500)], "metric": "m", "estimand": "cases"}
    )
    wide = wide.with_columns(
        **dict.fromkeys(("value", "se", "low", "high"), pl.lit(0.5)), method=pl.lit("score")
    ).with_columns(level=pl.int_range(500) / 501)
    first = tr.export(wide, tmp_path / "x.parquet", mode="replace")
    settings = pl.read_parquet(tmp_path / "x.parquet")["settings"]
    assert settings.str.len_bytes().max() < 400  # type: ignore[operator]
    assert json.loads(settings[0])["level"]["values"] == 500
    moved = tr.export(wide.with_columns(level=pl.col("level") / 2), tmp_path / "y.parquet")
    assert moved.settings_hash != first.settings_hash


def test_stamps(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    made = tr.export(PAIR, tmp_path / "x.parquet", created_at="2026-01-31T13:00:00+01:00")
    row = pl.read_parquet(tmp_path / "x.parquet").row(0, named=True)
    assert (row["created_at"], made.created_at) == (moment, moment)
    assert (row["schema_version"], made.schema_version) == ("1.0", "1.0")
    assert row["settings_hash"] == made.settings_hash
    assert len(made.settings_hash) == 64
    assert row["package_version"]


def test_every_contract_is_sound() -> None:
    for name, table in warehouse.TABLES.items():
        names = [column.name for column in table.columns]
        assert (table.name, len(names)) == (name, len(set(names)))
        assert "suite" in table.key
        for column in table.columns:
            assert column.meaning, (name, column.name)
            assert not (column.key and column.nullable), (name, column.name)
            assert column.dtype in {pl.String, pl.Int64, pl.Float64, pl.Boolean, warehouse.INSTANT}


def test_the_largest_numbers_have_a_run_id() -> None:
    large, small = (pl.DataFrame({"value": [value]}) for value in (1.7976931348623157e308, 1e300))
    assert len(run_id_of(large, "x")) == 32
    assert run_id_of(large, "x") != run_id_of(small, "x")
