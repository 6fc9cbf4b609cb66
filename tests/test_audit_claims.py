"""Every rule of the audit finds what it is for, is quiet elsewhere, and says what it lacks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.audit._audit import RULES
from trialframe.audit._outcomes import FAR_ABOVE
from trialframe.audit._rollouts import APART
from trialframe.comparison import evidence
from trialframe.errors import (
    ArgumentError,
    ColumnError,
    SourceError,
    TrialsError,
    UnknownConfigError,
)
from trialframe.reliability import rollouts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIGEST = "registry/suite@sha256:" + "0a" * 32
M0 = pl.col("config") == "m0"
TRIAL, ROW = pl.col("trial"), pl.int_range(pl.len())
NUMBER = pl.col("case").str.extract(r"(\d+)$").cast(pl.Int64)


def grid(configs: int = 2, cases: int = 40, trials: int = 6) -> pl.DataFrame:
    """A table that no rule objects to: m0 is far better than m1, and all evidence is there."""
    size = configs * cases * trials
    rng = np.random.default_rng(12)
    index = np.arange(size)
    config, case = index // (cases * trials), index // trials % cases
    passed = rng.random(size) < 0.85 - 0.5 * config
    start = datetime(2026, 5, 4, tzinfo=UTC)
    turn = (index % trials * cases + case) * configs + config
    return pl.DataFrame(
        {
            "config": [f"m{i}" for i in config],
            "case": [f"case-{i}" for i in case],
            "trial": index % trials,
            "cluster": [f"c{i}" for i in case // 2],
            "passed": passed,
            "outcome": ["completed"] * size,
            "secure": [True] * size,
            "tests_passed": np.where(passed, 2, 0),
            "tests_total": [2] * size,
            "tokens_out": rng.integers(1, 10**4, size),
            "cost_uusd": rng.integers(1, 10**5, size),
            "duration_ms": rng.integers(1, 10**7, size),
            "started_at": [start + timedelta(seconds=int(t)) for t in turn],
            "seed": [f"s{i}" for i in index],
            "context": [f"box-{i}" for i in index],
            "image": [DIGEST] * size,
            "public": [False] * size,
            "source_date": [date(2026, 1, 1)] * size,
            "release_date": [date(2025, 1, 1)] * size,
            "false_negative": [0] * size,
            "underspecified": [0] * size,
            "other_major_issues": [0] * size,
            "filter_out": [False] * size,
        }
    )


CLEAN = grid()
NONE = pl.lit(None)
FAILS = CLEAN.filter(~pl.col("passed")).height


def found_in(table: Any, **options: Any) -> dict[str, tuple[str, int]]:
    found = tr.audit(table, **options)
    assert found.columns == ["rule", "severity", "rows", "examples", "remedy"]
    assert found["rule"].is_unique().all()
    order = found["severity"].replace_strict({"error": 0, "warning": 1, "info": 2})
    assert order.is_sorted()
    assert (found["remedy"].str.len_chars() > 0).all()
    return {rule: (severity, rows) for rule, severity, rows, _, _ in found.rows()}


def where(condition: pl.Expr, **columns: Any) -> pl.DataFrame:
    made = {
        name: pl.when(condition)
        .then(value if isinstance(value, pl.Expr) else pl.lit(value))
        .otherwise(name)
        for name, value in columns.items()
    }
    return CLEAN.with_columns(**made)


def pair_of_boxes(strength: float) -> pl.DataFrame:
    """Trials 0-1, 2-3, 4-5 share a box, which decides with this probability."""
    rng = np.random.default_rng(3)
    size = CLEAN.height
    box = np.arange(size) // 2
    own = rng.random(size) < 0.5
    shared = np.repeat(rng.random(size // 2) < 0.5, 2)
    passed = np.where(rng.random(size) < strength, shared, own)
    return CLEAN.with_columns(context=pl.Series(box).cast(pl.String), passed=pl.Series(passed))


def suites(table: pl.DataFrame) -> pl.DataFrame:
    """As many trials in a case as it has tests."""
    return table.filter(TRIAL < 1 + NUMBER % 6)


TRIGGERS: list[tuple[str, pl.DataFrame, str, int]] = [
    (
        "tests_as_trials",
        suites(CLEAN).with_columns(tests_total=pl.len().over("config", "case")),
        "error",
        suites(CLEAN).height,
    ),
    ("tests_as_trials", suites(CLEAN), "warning", suites(CLEAN).height),
    (
        "tests_as_trials",
        CLEAN.with_columns(test_name=pl.format("test_{}", "trial"), trial=TRIAL // 3),
        "error",
        480,
    ),
    ("single_rollout", CLEAN.filter((TRIAL == 0) | ~M0), "warning", 40),
    ("few_rollouts", CLEAN.filter((TRIAL < 4) | ~M0), "warning", 160),
    ("shared_seed", where(TRIAL < 2, seed="1"), "warning", 160),
    (
        "shared_context",
        where(TRIAL < 2, context=pl.format("{}{}", "config", "case")),
        "warning",
        160,
    ),
    ("context_across_cases", where(M0 & (TRIAL == 0), context="one"), "warning", 40),
    ("dependent_trials", pair_of_boxes(0.9), "error", 480),
    (
        "not_interleaved",
        CLEAN.with_columns(
            started_at=pl.col("started_at") + pl.duration(days=1) * M0.cast(pl.Int64)
        ),
        "warning",
        480,
    ),
    (
        "changed_copy",
        pl.concat(
            [
                CLEAN,
                CLEAN.filter(M0, TRIAL == 1).with_columns(
                    trial=pl.lit(9, pl.Int64), tokens_out=pl.lit(7, pl.Int64)
                ),
            ]
        ),
        "error",
        40,
    ),
    (
        "copied_config",
        pl.concat([CLEAN, CLEAN.filter(M0, TRIAL == 1).with_columns(config=pl.lit("m2"))]),
        "error",
        40,
    ),
    ("no_image_digest", CLEAN.drop("image"), "warning", 480),
    ("no_image_digest", where(M0, image=NONE), "warning", 240),
    ("no_image_digest", where(M0, image="suite:latest"), "info", 240),
    ("images_differ", where(M0, image=DIGEST.replace("0a", "0b")), "warning", 480),
    ("one_reliability", CLEAN.drop("secure"), "info", 480),
    (
        "one_reliability",
        where(M0, secure=NONE),
        "warning",
        CLEAN.filter(M0, "passed").height,
    ),
    ("security_in_passed", where(~pl.col("passed"), outcome="SECURITY-FAIL"), "warning", FAILS),
    ("macro_share", CLEAN.with_columns(tests_total=10, tests_passed=9), "warning", 240),
    (
        "macro_share",
        CLEAN.drop("tests_passed", "tests_total").with_columns(score=pl.lit(0.9)),
        "warning",
        240,
    ),
    ("coverage_differs", where(M0 & (TRIAL == 0) & (NUMBER < 10), passed=NONE), "warning", 10),
    ("timeouts", where(ROW < 4, outcome="AgentTimeout"), "info", 4),
    ("timeouts", where(M0 & (ROW < 40), outcome="Timed out"), "warning", 40),
    ("infra_errors", where(ROW % 160 == 0, outcome="infra_error", passed=NONE), "info", 3),
    ("infra_errors", where(~pl.col("passed") & (TRIAL == 0), outcome="API error"), "warning", 34),
    ("unscored_by_class", where(ROW % 160 == 0, outcome="grader died", passed=NONE), "info", 3),
    ("unscored_by_class", where(ROW % 160 == 0, outcome=NONE, passed=NONE), "warning", 3),
    ("missing_cost", CLEAN.drop("cost_uusd"), "info", 480),
    ("missing_cost", where(M0 & (TRIAL < 2), cost_uusd=pl.lit(0)), "warning", 80),
    ("small_suite", CLEAN.filter(NUMBER < 19), "warning", 228),
    ("few_clusters", CLEAN.filter(NUMBER < 18), "warning", 216),
    ("saturated", where(M0 & (NUMBER < 36), passed=True), "warning", 240),
    ("no_separation", CLEAN.with_columns(passed=ROW % 2 == 0), "warning", 480),
    (
        "no_separation",
        pl.concat(
            [
                CLEAN,
                CLEAN.filter(M0).with_columns(
                    config=pl.lit("m2"), passed=pl.col("passed").reverse()
                ),
            ]
        ),
        "info",
        480,
    ),
    ("public_source", where(NUMBER < 5, public=True), "warning", 60),
    (
        "public_before_release",
        where(NUMBER < 5, source_date=date(2020, 1, 1), public=NONE),
        "warning",
        60,
    ),
    ("false_negative_tests", where(NUMBER < 5, false_negative=pl.lit(2)), "warning", 60),
    ("false_negative_tests", where(NUMBER < 5, false_negative=pl.lit(1)), "info", 60),
    ("underspecified_cases", where(NUMBER < 5, underspecified=pl.lit(3)), "warning", 60),
    ("cases_with_issues", where(NUMBER < 5, other_major_issues=pl.lit(2)), "warning", 60),
    ("rejected_cases", where(NUMBER < 5, filter_out=True), "warning", 60),
    ("zero_for_unknown", where(ROW < 9, cost_uusd=pl.lit(0)), "warning", 9),
    (
        "copied_run",
        pl.concat([CLEAN, CLEAN.filter(M0, TRIAL == 1).with_columns(trial=pl.lit(9, pl.Int64))]),
        "error",
        40,
    ),
]


def test_nothing_is_found_in_a_table_without_defects() -> None:
    assert found_in(CLEAN) == {"not_checked": ("info", 0)}
    found = tr.audit(CLEAN, show="all")
    left = dict(found.select("rule", "examples").iter_rows())
    assert set(left) == {"dependent_trials", "not_annotated"}
    assert left["not_annotated"] == "not checked: no annotations given"


@pytest.mark.parametrize(("rule", "table", "severity", "rows"), TRIGGERS)
def test_every_rule_finds_what_it_is_for(
    rule: str, table: pl.DataFrame, severity: str, rows: int
) -> None:
    found = found_in(table)
    assert found[rule] == (severity, rows)
    assert found_in(table.sample(fraction=1.0, shuffle=True, seed=1)) == found


def test_every_rule_has_a_table_that_triggers_it() -> None:
    assert {rule.name for rule in RULES} - {rule for rule, *_ in TRIGGERS} == {"not_annotated"}


QUIET: list[tuple[str, pl.DataFrame]] = [
    ("tests_as_trials", CLEAN.with_columns(tests_total=pl.lit(6), tests_passed=pl.lit(3))),
    ("tests_as_trials", tr.simulate(cases=60, trials=(1, 6), seed=1)),
    ("few_rollouts", CLEAN.filter(TRIAL < 5)),
    ("shared_seed", CLEAN.with_columns(seed=pl.format("s{}", "trial"))),
    ("dependent_trials", pair_of_boxes(0.0)),
    ("changed_copy", CLEAN.with_columns(duration_ms=pl.lit(60_000), started_at=NONE)),
    (
        "copied_config",
        CLEAN.with_columns(passed=pl.lit(value=True), duration_ms=1).drop(
            "started_at", "tokens_out", "cost_uusd"
        ),
    ),
    ("macro_share", where(~pl.col("passed"), tests_passed=pl.lit(0))),
    ("timeouts", CLEAN.with_columns(outcome=pl.lit("wrong answer"))),
    ("infra_errors", CLEAN.with_columns(outcome=pl.lit("value_error:list/tuple"))),
    ("saturated", where(M0 & (NUMBER < 30), passed=True).filter(NUMBER < 39)),
    ("public_before_release", where(NUMBER < 5, source_date=date(2020, 1, 1))),  # never public
    ("coverage_differs", where((TRIAL == 0) & (NUMBER < 10), passed=NONE)),
]


@pytest.mark.parametrize(("rule", "table"), QUIET)
def test_a_rule_is_quiet_where_it_is_tried_and_nothing_is_wrong(
    rule: str, table: pl.DataFrame
) -> None:
    assert rule not in found_in(table, show="all")


NEEDS = {
    "seed": {"shared_seed"},
    "context": {"shared_context", "context_across_cases"},
    "started_at": {"not_interleaved"},
    "image": {"images_differ"},
    "outcome": {"timeouts", "infra_errors", "unscored_by_class", "security_in_passed"},
    "cluster": {"few_clusters"},
    "public": {"public_source"},
    "source_date": {"public_before_release"},
    "release_date": {"public_before_release"},
    "false_negative": {"false_negative_tests"},
    "underspecified": {"underspecified_cases"},
    "other_major_issues": {"cases_with_issues"},
    "filter_out": {"rejected_cases"},
}


@pytest.mark.parametrize("column", NEEDS)
def test_a_rule_without_its_column_is_said_not_to_be_checked(column: str) -> None:
    for table in (CLEAN.drop(column), CLEAN.with_columns(pl.lit(None).alias(column))):
        every = tr.audit(table, show="all").filter(severity="info", rows=0)
        assert set(every["rule"]) >= NEEDS[column]
        assert every["examples"].str.starts_with("not checked: ").all()
        short = tr.audit(table)
        assert NEEDS[column].isdisjoint(short["rule"])
        told = short.filter(rule="not_checked")["examples"].item()
        assert all(name in told for name in NEEDS[column])


def test_a_pair_of_configs_is_audited_alone() -> None:
    three = grid(configs=3).with_columns(
        passed=pl.when(pl.col("config") == "m2").then(None).otherwise("passed"),
        image=pl.when(pl.col("config") == "m2").then(pl.lit("x")).otherwise("image"),
    )
    assert "no_scored_trials" in found_in(three)
    alone = found_in(three, baseline="m0", candidate="m1")
    assert {"no_scored_trials", "no_image_digest", "coverage_differs"}.isdisjoint(alone)
    several = three.with_columns(part=pl.lit("x|y"))
    key = {"config": ["config", "part"]}
    assert "no_scored_trials" not in found_in(
        several, **key, baseline=r"m0 | x\|y", candidate=r"m1 | x\|y"
    )


def test_annotations_are_joined_by_case() -> None:
    bare = CLEAN.drop("false_negative", "underspecified", "public", "source_date").rename(
        {"case": "task"}
    )
    notes = pl.DataFrame(
        {
            "task": [f"case-{i}" for i in range(40)],
            "false_negative": [2] * 3 + [0] * 37,
            "underspecified": [True] + [False] * 39,
            "public": ["yes"] * 2 + ["no"] * 38,
            "created_at": ["2024-03-01T00:00:00Z"] * 2 + [None] * 38,
        }
    )
    found = found_in(bare, annotations=notes)
    assert found["false_negative_tests"] == ("warning", 36)
    assert found["underspecified_cases"] == ("warning", 12)
    assert found["public_source"] == ("warning", 24)
    assert found["public_before_release"] == ("warning", 24)
    assert "not_annotated" not in found
    other = found_in(bare, annotations=notes.rename({"task": "case_id"}))
    assert other == found
    assert found_in(bare, annotations=notes.head(30))["not_annotated"] == ("warning", 120)
    strange = notes.with_columns(pl.col("task").str.to_uppercase())
    assert found_in(bare, annotations=strange)["not_annotated"] == ("error", 480)
    with pytest.raises(ColumnError, match="no column says which case"):
        tr.audit(bare, annotations=notes.rename({"task": "what"}))


def test_dates_of_release() -> None:
    table = CLEAN.drop("release_date", "public")
    days = {"m0": "2027-01-01", "m1": date(2025, 1, 1), "other": datetime(2020, 1, 1, tzinfo=UTC)}
    found = tr.audit(table, release_date=days).filter(rule="public_before_release")
    assert found["rows"].item() == 240
    assert "40 of 40 cases before 2027-01-01" in found["examples"].item()
    varied = CLEAN.drop("source_date", "public").with_columns(
        release_date=pl.date(2020 + NUMBER % 3, 1, 1)
    )
    late = found_in(varied, release_date={"m0": "2022-01-01"})
    assert late["public_before_release"][1] == varied.filter(M0, NUMBER % 3 < 2).height
    assert "public_before_release" not in found_in(varied)
    renamed = CLEAN.rename({"source_date": "born", "release_date": "out", "public": "seen"})
    named = {"source_date": "born", "release_date": "out", "public": "seen"}
    assert found_in(renamed, **named) == found_in(CLEAN)


def test_bad_input() -> None:
    with pytest.raises(ArgumentError, match="both"):
        tr.audit(CLEAN, baseline="m0")
    with pytest.raises(ArgumentError, match="two configs"):
        tr.audit(CLEAN, baseline="m0", candidate="m0")
    with pytest.raises(UnknownConfigError, match="no config 'm9' in these trials"):
        tr.audit(CLEAN, baseline="m0", candidate="m9")
    with pytest.raises(ArgumentError, match="show"):
        tr.audit(CLEAN, show="everything")
    with pytest.raises(ColumnError, match=r"no column 'publik'.*Did you mean 'public'"):
        tr.audit(CLEAN, public="publik")
    with pytest.raises(TrialsError, match="write it as 2025-04-30"):
        tr.audit(CLEAN, release_date={"m0": "soon"})
    with pytest.raises(TrialsError, match="holds no date in 480 rows"):
        tr.audit(CLEAN, source_date="image")
    with pytest.raises(SourceError):
        tr.audit("/nowhere/at/all.parquet")
    assert found_in({"case": [1]}) == {"columns": ("error", 0)}
    assert found_in({"case": [], "passed": []}) == {"no_rows": ("error", 0)}
    assert "null_case" in found_in({"case": [None, None], "passed": [True, None]})


def test_findings_on_several_columns_are_one_row() -> None:
    odd = CLEAN.with_columns(
        tokens_out=pl.when(ROW < 9).then(0).otherwise("tokens_out"),
        cost_uusd=pl.when(ROW < 12).then(0).otherwise("cost_uusd"),
        duration_ms=pl.when(ROW < 3).then(-1).otherwise("duration_ms"),
        tokens_in=pl.when(ROW < 2).then(-5).otherwise(7),
        score=pl.when(ROW < 5).then(float("nan")).otherwise(0.5),
        weight=pl.when(ROW < 4).then(float("inf")).otherwise(1.0),
    )
    found = found_in(odd)
    assert found["zero_for_unknown"] == ("warning", 12)
    assert found["negative_measure"] == ("error", 3)
    assert found["not_finite"] == ("error", 5)


def test_what_check_trials_finds_is_in_the_audit() -> None:
    for table in ("data/dirty.parquet", "data/leaderboard.parquet"):
        path = rollouts.__file__.rpartition("/src/")[0] + "/" + table
        checked = tr.check_trials(path)
        assert set(checked["rule"]) <= set(tr.audit(path)["rule"])
    assert found_in(path.replace("leaderboard", "dirty"))["changed_copy"] == ("error", 20)


def test_counts_are_audited_too() -> None:
    counts = tr.counts(CLEAN).frame.select("config", "case", "n", "c", "unscored")
    found = found_in(counts, show="all")
    assert {"tests_as_trials", "few_rollouts", "small_suite"}.isdisjoint(found)
    assert found["dependent_trials"] == ("info", 0)
    tests = counts.with_columns(n=2 + NUMBER % 7, c=pl.lit(1), tests_total=2 + NUMBER % 7)
    assert found_in(tests)["tests_as_trials"] == ("error", 80)


def test_attempts_after_the_first_are_no_rollouts() -> None:
    table = tr.simulate(cases=60, trials=1, attempts=5, seed=2)
    found = found_in(table)
    assert found["single_rollout"][1] == table.filter(pl.col("attempt") == 1).height
    assert "tests_as_trials" not in found


def test_simulated_faults_are_found() -> None:
    table = tr.simulate(
        configs=3,
        cases=100,
        trials=5,
        lift=(0.0, 0.0, -0.4),
        unscored={"timeout": 0.08, "infra_error": 0.04},
        insecure=0.1,
        tests_total=10,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        schedule="blocked",
        seed=5,
    )
    found = found_in(table)
    rows = dict(table["outcome"].value_counts().iter_rows())
    assert found["timeouts"] == ("warning", rows["timeout"])
    assert found["infra_errors"][1] == rows["infra_error"]
    assert found["not_interleaved"] == ("warning", table.height)
    assert found["no_separation"][0] == "info"
    assert "one_reliability" not in found
    mixed = tr.simulate(cases=100, lift=0.2, started_at=datetime(2026, 1, 1, tzinfo=UTC), seed=5)
    assert "not_interleaved" not in found_in(mixed)


@pytest.mark.slow
def test_independent_trials_are_rarely_called_dependent() -> None:
    called = 0
    for seed in range(400):
        table = tr.simulate(cases=40, trials=6, seed=seed)
        shared = table.with_columns(context=pl.format("{}-{}", "case", TRIAL // 2))
        called += "dependent_trials" in found_in(shared)
    assert called <= 400 * 0.01 + 3 * (400 * 0.01 * 0.99) ** 0.5


def test_every_kind_of_table_gives_the_same(require: Callable[[str], Any], tmp_path: Path) -> None:
    table = suites(CLEAN).with_columns(passed=pl.when(ROW % 9 > 0).then("passed"))
    found = tr.audit(table)
    table.write_parquet(tmp_path / "trials.parquet")
    table.write_csv(tmp_path / "trials.csv")
    table.write_ndjson(tmp_path / "trials.jsonl")
    others: list[Any] = [
        table.lazy(),
        table.to_dict(as_series=False),
        table.to_dicts(),
        table.to_arrow(),
        tmp_path / "trials.parquet",
        tmp_path / "trials.csv",
        tmp_path / "trials.jsonl",
    ]
    require("pandas")
    others.append(table.to_pandas())
    for other in others:
        assert tr.audit(other).equals(found), type(other)


def test_any_script_and_emoji() -> None:
    names = {"m0": "模型-ü", "m1": "🤖 модель"}
    table = CLEAN.with_columns(
        pl.col("config").replace(names),
        pl.col("case").str.replace("case", "задача\n|"),
        outcome=pl.when(ROW < 40).then(pl.lit("Timeout ⏱")).otherwise(pl.lit("终了")),
    )
    found = found_in(table)
    assert found["timeouts"] == ("warning", 40)
    alone = found_in(table, baseline=names["m0"], candidate=names["m1"])
    assert alone == found


def test_the_limits_are_those_of_the_rest() -> None:
    assert FAR_ABOVE == rollouts.FAR_ABOVE
    assert APART == evidence.APART


def test_terminal_bench(shared_data: Path) -> None:
    path = shared_data / "terminal_bench_core_0_1_1.parquet"
    found = found_in(path)
    assert found["copied_run"] == ("error", 80)
    assert found["zero_for_unknown"] == ("warning", 2556)
    assert found["unscored_by_class"] == ("warning", 427)
    assert found["timeouts"] == ("warning", 1515 + 136)
    assert found["infra_errors"][1] == 187 + 110
    assert found["missing_cost"][0] == "info"
    shown = dict(tr.audit(path).select("rule", "examples").iter_rows())
    assert "outcome 'agent_timeout': 379 passed" in shown["timeouts"]
    assert (
        "'parse_error': 187, 'test_timeout': 136, 'unknown_agent_error': 104"
        in shown["unscored_by_class"]
    )
    assert "swe-agent-mini_claude-4-sonnet': 33.1%" in shown["coverage_differs"]


def test_swebench_verified_with_annotations(shared_data: Path) -> None:
    path = shared_data / "swebench_verified_bashonly.parquet"
    notes = shared_data / "swebench_case_annotations.parquet"
    found = found_in(path, annotations=notes)
    assert found["false_negative_tests"] == ("info", 25 * (59 + 138))
    assert found["underspecified_cases"] == ("info", 25 * (124 + 138))
    assert found["single_rollout"] == found["few_rollouts"] == ("warning", 12_500)
    assert found["no_separation"][0] == "info"
    assert {"not_annotated", "rejected_cases", "few_clusters"}.isdisjoint(found)
    pro = shared_data / "swebench_pro.parquet"
    assert found_in(pro, annotations=notes)["not_annotated"] == ("error", 6606)


def test_other_real_tables(shared_data: Path) -> None:
    adversarial = found_in(shared_data / "tau2_adversarial_openrouter.parquet")
    assert adversarial["duplicate_key"] == ("error", 3)
    assert adversarial["unscored_by_class"] == ("warning", 15)
    assert adversarial["saturated"][0] == adversarial["no_separation"][0] == "warning"
    bfcl = found_in(shared_data / "bfcl_v1_2024.parquet", config=["config", "snapshot"])
    assert bfcl["single_rollout"] == ("warning", 217_600)
    assert bfcl["saturated"] == ("warning", 3400)
    assert {"infra_errors", "timeouts", "copied_config", "tests_as_trials"}.isdisjoint(bfcl)
    pair = found_in(
        shared_data / "tau2_gpt41_sft_ab.parquet", baseline="gpt-4.1", candidate="gpt-4.1-sft"
    )
    assert pair["missing_cost"] == ("warning", 100)
    assert found_in(shared_data / "tau_bench_airline_gpt4o.parquet")["missing_cost"] == (
        "warning",
        5,
    )
    live = tr.audit(
        shared_data / "livecodebench_2025_04.parquet", release_date={"DeepSeek-V3": "2024-12-26"}
    )
    assert (
        live.filter(rule="public_before_release")["examples"]
        .item()
        .startswith("config 'DeepSeek-V3': ")
    )


@pytest.mark.bench
def test_a_million_rows_take_less_than_eight_seconds() -> None:
    from time import perf_counter

    table = grid(configs=50, cases=4000, trials=5)
    start = perf_counter()
    tr.audit(table)
    assert perf_counter() - start < 8
