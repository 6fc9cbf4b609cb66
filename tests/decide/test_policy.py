"""Policy files: what a rule looks at, what decides, and how strictly a file is read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import trialframe as tr
from trialframe.decide.policy import Policy, policy_of
from trialframe.errors import ArgumentError, SourceError, TrialframeError, TrialsError

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "data" / "leaderboard.parquet"

TRIALS = tr.read(BOARD)
COUNTS = tr.counts(TRIALS, by=["split", "difficulty"])
SIDES = ("cirrus-flash", "cirrus-pro")


def rule(text: str, **given_: Any) -> dict[str, Any]:
    return {"rule": [{"name": "it", "rule": text, **given_}]}


def judged(text: str, *, counts: tr.Counts = COUNTS, trials: Any = None, **given_: Any) -> Any:
    made = tr.gate_policy(counts, *SIDES, rule(text, **given_), trials=trials)
    return made.rules.row(0, named=True)


def test_value_is_what_the_summary_says() -> None:
    row = tr.summary(COUNTS.select("cirrus-pro"), metrics=["pass^3"]).row(0, named=True)
    for bound, name in (("point", "value"), ("lower", "low"), ("upper", "high")):
        got = judged("value >= 0.2", metric="pass^3", bound=bound)
        assert got["observed"] == row[name]
        assert (got["bound"], got["cases"]) == (bound, row["cases"])


def test_difference_and_ratio_are_what_the_comparison_says() -> None:
    found = tr.compare(COUNTS, *SIDES, metric="cost_uusd", level=0.9)
    assert found.ratio is not None
    assert judged("difference <= 0", metric="cost_uusd", level=0.9)["observed"] == found.diff
    for bound, name in (("point", "value"), ("lower", "low"), ("upper", "high")):
        got = judged("ratio <= 1.1", metric="cost_uusd", bound=bound, level=0.9)
        assert got["observed"] == getattr(found.ratio, name)
        assert got["status"] == "fail"


def test_guards_look_at_a_subset() -> None:
    part = tr.Counts(COUNTS.frame.filter(pl.col("split") == "dev"), by=COUNTS.by)
    row = tr.summary(part.select("cirrus-pro"), metrics=["pass@1"]).row(0, named=True)
    got = judged("value >= 0.5", guard="split=dev")
    assert (got["observed"], got["cases"], got["guard"]) == (row["value"], 30, "split=dev")
    assert judged("value >= 0.5", guard="split = dev")["cases"] == 30


def test_worst_run_is_the_lowest_complete_run() -> None:
    mine = TRIALS.collect().filter(config="cirrus-pro")
    rates = mine.group_by("trial").agg(pl.col("passed").mean(), pl.col("cost_uusd").mean())
    got = judged("value >= 0.5", bound="worst run", trials=TRIALS)
    assert got["observed"] == pytest.approx(rates["passed"].min(), rel=1e-12)
    cost = judged("value <= 1e9", metric="cost_uusd", bound="worst run", trials=TRIALS)
    assert cost["observed"] > rates["cost_uusd"].mean()  # the dearest run
    dev = judged("value >= 0.5", bound="worst run", guard="split=dev", trials=TRIALS)
    part = mine.filter(split="dev").group_by("trial").agg(pl.col("passed").mean())
    assert dev["observed"] == pytest.approx(part["passed"].min(), rel=1e-12)


def test_runs_that_lack_cases_are_no_worst_run() -> None:
    trials = pl.DataFrame(
        {
            "config": ["a", "a", "b", "b", "b", "b", "b"],
            "case": ["x", "y", "x", "y", "x", "y", "x"],
            "trial": [0, 0, 0, 0, 1, 1, 2],
            "passed": [True, True, True, False, True, True, False],
        }
    )
    got = tr.gate_policy(
        tr.counts(trials), "a", "b", rule("value >= 0.5", bound="worst run"), trials=trials
    )
    assert got.rules["observed"].to_list() == [0.5]


def test_allowed_failure_rate_judges_each_case() -> None:
    frame = pl.DataFrame(
        {
            "config": ["a"] * 10 + ["b"] * 10,
            "case": [f"{i}" for i in range(10)] * 2,
            "n": 5,
            "c": [4] * 10 + [3] * 7 + [2] * 3,
        }
    )
    counts = tr.Counts(frame)
    for text, rate, wanted, share in (
        ("value >= 0.6", 0.3, "pass", 0.3),
        ("value >= 0.6", 0.29, "fail", 0.3),
        ("value > 0.6", 0.3, "fail", 1.0),
        ("difference >= -0.2", 0.3, "pass", 0.3),  # 3/5 - 4/5 is at the limit, rounding or not
        ("difference > -0.2", 0.99, "fail", 1.0),
        ("value <= 0.4", 0.7, "pass", 0.7),
    ):
        asked = rule(text, allowed_failure_rate=rate)
        got = tr.gate_policy(counts, "a", "b", asked).rules.row(0, named=True)
        assert (got["status"], got["observed"], got["limit"]) == (wanted, share, rate), text
        assert got["bound"] == "each case"


def test_a_number_at_its_limit_is_at_it_whatever_the_rounding() -> None:
    frame = pl.DataFrame(
        {"config": ["a"] * 3 + ["b"] * 3, "case": ["1", "2", "3"] * 2, "n": 10, "c": [8] * 6}
    )
    counts = tr.Counts(frame.with_columns(c=pl.Series([7, 8, 6, 9, 7, 8])))
    for text, wanted in (
        ("value >= 0.8", "pass"),
        ("value > 0.8", "fail"),
        ("value <= 0.8", "pass"),
        ("value < 0.8", "fail"),
        ("difference >= 0.1", "pass"),
        ("difference > 0.1", "fail"),
    ):
        got = tr.gate_policy(counts, "a", "b", rule(text))
        assert got.rules["status"].to_list() == [wanted], text


def test_only_blocking_rules_decide() -> None:
    rules = [
        {"name": "fine", "rule": "value >= 0.1"},
        {"name": "nice", "rule": "value >= 0.99", "tier": "warn"},
    ]
    got = tr.gate_policy(COUNTS, *SIDES, {"rule": rules})
    assert (got.verdict, got.exit_code, got.gate) == ("ship", 0, None)
    assert got.headline == (
        "Ship: cirrus-pro satisfies the one rule that decides; 1 warning: nice."
    )
    assert got.warnings[0].startswith("rule 'nice': value of pass@1 is 0.563333")
    rules[1]["tier"] = "block"
    got = tr.gate_policy(COUNTS, *SIDES, {"rule": rules})
    assert (got.verdict, got.exit_code) == ("dont_ship", 1)
    assert got.headline == (
        "Don't ship: rule 'nice': value of pass@1 is 0.563333, must be >= 0.99."
    )


def test_many_warnings_are_counted() -> None:
    rules = [{"name": f"r{i}", "rule": "value >= 0.99", "tier": "warn"} for i in range(5)]
    got = tr.gate_policy(COUNTS, *SIDES, {"rule": rules})
    assert got.headline.endswith("; 5 warnings: r0, r1, r2 and 2 more.")
    gated = tr.gate_policy(COUNTS, *SIDES, {"gate": {}, "rule": rules[:1]})
    assert gated.gate is not None
    assert gated.headline == f"{gated.gate.headline.removesuffix('.')}; 1 warning: r0."


def test_units_hold_for_gate_and_rules() -> None:
    rules = [{"name": "it", "rule": "difference >= -0.02", "bound": "lower"}]
    rules += [{"name": "own", "rule": "value >= 0.2", "bound": "lower"}]
    policy = {"gate": {}, "rule": rules}
    cases = tr.gate_policy(COUNTS, *SIDES, policy, units="cases")
    found = tr.compare(COUNTS, *SIDES, units="cases")
    row = tr.summary(COUNTS.select(SIDES[1]), metrics=["pass@1"], units="cases").row(0, named=True)
    assert cases.gate == tr.gate(found)
    assert cases.rules["observed"].to_list() == [found.low, row["low"]]
    written = tr.gate_policy(COUNTS, *SIDES, {"units": "cases", **policy})
    assert (written.gate, written.headline) == (cases.gate, cases.headline)
    same = tr.gate_policy(COUNTS, *SIDES, {"units": "cases", **policy}, units="cases")
    assert same.gate == cases.gate
    default = tr.gate_policy(COUNTS, *SIDES, policy)
    assert default.gate == tr.gate(tr.compare(COUNTS, *SIDES))
    assert default.gate != cases.gate
    with pytest.raises(ArgumentError, match="units == 'clusters', but policy says 'cases'"):
        tr.gate_policy(COUNTS, *SIDES, {"units": "cases", **policy}, units="clusters")
    with pytest.raises(ArgumentError, match="units == 'x'"):
        tr.gate_policy(COUNTS, *SIDES, policy, units="x")


def test_an_undefined_bound_holds() -> None:
    frame = pl.DataFrame({"config": ["a", "b"], "case": ["x", "x"], "n": 4, "c": [2, 3]})
    made = tr.gate_policy(tr.Counts(frame), "a", "b", rule("difference >= -0.5", bound="lower"))
    assert (made.verdict, made.exit_code) == ("hold", 1)
    assert made.rules.row(0, named=True)["status"] == "undecided"
    assert made.rules.row(0, named=True)["observed"] is None
    assert "too few cases" in made.headline


def test_gate_and_rules_together() -> None:
    open_ = {"break_cost": 1, "alpha": 1, "max_breakage": 1}
    fine = {"name": "fine", "rule": "value >= 0.1"}
    ship = tr.gate_policy(COUNTS, *SIDES, {"gate": open_, "rule": [fine]})
    assert ship.gate is not None
    assert (ship.verdict, ship.headline) == ("ship", ship.gate.headline)
    hold = tr.gate_policy(COUNTS, *SIDES, {"gate": {}, "rule": [fine]})
    assert hold.gate == tr.gate(tr.compare(COUNTS, *SIDES))
    assert (hold.verdict, hold.exit_code) == ("hold", 1)
    bad = {"name": "bad", "rule": "value >= 0.9"}
    stop = tr.gate_policy(COUNTS, *SIDES, {"gate": open_, "rule": [fine, bad]})
    assert stop.verdict == "dont_ship"
    assert "bad" in stop.headline
    parts = tr.gate_policy(
        COUNTS, *SIDES, {"gate": {"by": "split", "guard": ["difficulty=hard"], "looks": 2}}
    )
    assert parts.gate is not None
    assert parts.verdict == "dont_ship"
    assert parts.gate.groups["name"].to_list() == ["split=dev", "split=test", "difficulty=hard"]
    assert parts.gate.looks == 2


def test_a_file_and_its_content_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text(
        """
        [gate]
        max_breakage = 0.3  # of the solved cases

        [[rule]]
        name = "no regression"
        rule = "difference >= -0.02"
        bound = "lower"

        [[rule]]
        name = "each case"
        rule = "value >= 0.2"
        allowed_failure_rate = 0.5
        tier = "warn"
        """,
        encoding="utf-8",
    )
    content = {
        "gate": {"max_breakage": 0.3},
        "rule": [
            {"name": "no regression", "rule": "difference >= -0.02", "bound": "lower"},
            {
                "name": "each case",
                "rule": "value >= 0.2",
                "allowed_failure_rate": 0.5,
                "tier": "warn",
            },
        ],
    }
    first, second = (tr.gate_policy(COUNTS, *SIDES, policy) for policy in (file, content))
    assert_frame_equal(first.rules, second.rules)
    assert (first.policy, second.policy) == (str(file), "policy")
    assert first.gate == second.gate
    assert tr.gate_policy(COUNTS, *SIDES, str(file)).headline == first.headline
    plain = first.to_dict()
    assert plain["rules"][0]["name"] == "no regression"
    assert plain["gate"]["max_breakage"] == 0.3
    assert "each case" in repr(first)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({}, "neither a .gate. table nor"),
        ({"rule": []}, "nothing to decide"),
        ({"rules": []}, r"no key 'rules'.*Did you mean 'rule'"),
        ({"rule": {"name": "x"}}, r"must be a list of tables: write \[\[rule\]\]"),
        ({"rule": ["value >= 1"]}, r"policy, rule 1 is 'value >= 1', must be a table"),
        ({"rule": [{"rule": "value >= 0.5"}]}, "rule 1: name == None"),
        ({"rule": [{"name": " ", "rule": "value >= 0.5"}]}, "rule 1: name == ' '"),
        ({"rule": [{"name": "x"}]}, r"rule 1 \('x'\): rule == None"),
        (rule("value >= 0.5", metrc="pass@1"), r"no key 'metrc'.*Did you mean 'metric'"),
        (rule("value >= 0.5", metric="pass@one"), r"\('it'\): no metric 'pass@one'"),
        (rule("value >= 0.5", metric="pass@k"), "name its k"),
        (rule("value >= 0.5", metric=1), "metric == 1"),
        (rule("value >= 0.5", metric="outcomes"), "no metric 'outcomes'"),
        (rule("value == 0.5"), "rule == 'value == 0.5'"),
        (rule("value >= nan"), "rule == 'value >= nan'"),
        (rule("value >= 1e999"), "rule limit == inf"),
        (rule("value >= 0.5 or 1"), "rule == 'value >= 0.5 or 1'"),
        (rule("diff >= 0.5"), r"quantity of the rule == 'diff'.*'difference'"),
        (rule("value >= ٣"), "rule == 'value >= ٣'"),
        ({"rule": [{"name": "x", "rule": 5}]}, "rule == 5"),
        (rule("value >= 0.5", bound="low"), r"bound == 'low'.*'lower'"),
        (rule("value >= 0.5", bound=["lower"]), "bound"),
        (rule("value >= 0.5", tier="error"), "tier == 'error'"),
        (rule("value >= 0.5", guard=["a=b"]), "must be 'column=value'"),
        (rule("value >= 0.5", level=1), "level == 1"),
        (rule("value >= 0.5", allowed_failure_rate=True), "allowed_failure_rate == True"),
        (rule("value >= 0.5", allowed_failure_rate=math.nan), "allowed_failure_rate == nan"),
        (rule("value >= 0.5", allowed_failure_rate=1.5), "allowed_failure_rate == 1.5"),
        (rule("value >= 0", allowed_failure_rate=0, bound="lower"), "every case by itself"),
        (rule("ratio >= 0", allowed_failure_rate=0), "every case by itself"),
        (rule("difference >= 0", bound="worst run"), "goes with a rule on value"),
        ({"rule": [rule("value >= 0")["rule"][0]] * 2}, "two rules are named 'it'"),
        ({"gate": 5}, r"\[gate\] is 5, must be a table"),
        ({"gate": {"brake_cost": 2}}, r"no key 'brake_cost'.*'break_cost'"),
        ({"gate": {"break_cost": 0.5}}, r"\[gate\]: break_cost == 0.5, must be at least 1"),
        ({"gate": {"alpha": "0.05"}}, r"\[gate\]: alpha == '0.05'"),
        ({"gate": {"max_breakage": True}}, "max_breakage == True"),
        ({"gate": {"by": 3}}, "by == 3"),
        ({"gate": {"guard": [3]}}, "guard"),
        ({"gate": {"looks": 0}}, "looks == 0"),
        ({"gate": {"units": "cases"}}, r"\[gate\]: units holds for the rules too"),
        ({"units": "case", "gate": {}}, "policy: units == 'case'.*Did you mean 'cases'"),
        ({"units": 3, "gate": {}}, "policy: units == 3"),
    ],
)
def test_unknown_keys_and_wrong_types_are_refused(policy: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tr.gate_policy(COUNTS, *SIDES, policy)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"metric": "pass^9"}, "rule 'it': 'cirrus-pro' has no pass\\^9"),
        ({"metric": "secure_pass^99"}, "has no secure_pass\\^99"),
        ({"guard": "nope=1"}, "rule 'it': guard 'nope=1'.*no column 'nope'"),
        ({"guard": "split=nope"}, "no case has split 'nope'"),
        ({"bound": "worst run"}, "pass trials="),
        ({"rule": "difference >= 0", "metric": "pooled"}, "rule 'it': metric == 'pooled' has no"),
        ({"metric": "pooled", "allowed_failure_rate": 0}, "pooled has no value per case"),
        ({"metric": "pass^9", "allowed_failure_rate": 0}, "no case has pass\\^9"),
    ],
)
def test_rules_that_the_counts_cannot_answer(given_: dict[str, Any], words: str) -> None:
    text = given_.pop("rule", "value >= 0.5")
    with pytest.raises(TrialframeError, match=words):
        tr.gate_policy(COUNTS, *SIDES, rule(text, **given_))


def test_what_cannot_be_judged_is_refused() -> None:
    fine = rule("value >= 0.5")
    with pytest.raises(ArgumentError, match="counts is a dict"):
        tr.gate_policy({}, *SIDES, fine)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="name two configs"):
        tr.gate_policy(COUNTS, "cirrus-pro", "cirrus-pro", fine)
    with pytest.raises(TrialframeError, match="no config 'cirus'"):
        tr.gate_policy(COUNTS, "cirus", "cirrus-pro", fine)
    with pytest.raises(ArgumentError, match="policy == 5, must be the path"):
        tr.gate_policy(COUNTS, *SIDES, 5)  # type: ignore[arg-type]
    frame = pl.DataFrame({"config": ["a", "b"], "case": "x", "n": 2, "c": [0, 1]})
    with pytest.raises(TrialsError, match="there is no ratio"):
        tr.gate_policy(tr.Counts(frame), "a", "b", rule("ratio >= 1"))
    no_runs = pl.DataFrame({"config": ["a", "b"], "case": ["x", "x"], "passed": [True, False]})
    with pytest.raises(TrialframeError, match="needs a trial column"):
        tr.gate_policy(
            tr.counts(no_runs), "a", "b", rule("value >= 0", bound="worst run"), trials=no_runs
        )


@pytest.mark.parametrize(
    "content",
    [
        b"[gate",
        b"gate = ",
        b"[gate]\n[gate]\n",
        b"\xff\xfe[\x00g\x00",
        b"x = " + b"[" * 20_000 + b"]" * 20_000,
        b"x = " + b"9" * 20_000,
        b"\x00",
        b"rule = 2024-13-45",
    ],
)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises((SourceError, ArgumentError), match=r"bad\.toml") as caught:
        policy_of(file)
    assert len(str(caught.value)) < 2_000


def test_other_files_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path, ""):
        with pytest.raises(SourceError, match="no policy file"):
            policy_of(path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 1_000_001)
    with pytest.raises(SourceError, match="too many"):
        policy_of(large)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["gate", "rule", "name", "metric", "bound", "alpha", "by", "x"]), inner
        )
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(JSON, JSON)
def test_any_content_is_read_or_refused(gate: Any, rules: Any) -> None:
    try:
        made = policy_of({"gate": gate, "rule": rules})
    except TrialframeError:
        return
    assert isinstance(made, Policy)
