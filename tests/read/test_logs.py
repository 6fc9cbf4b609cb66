"""Logs of any number as one table: folders, mixtures, copies, what cannot be read, mappings."""

from __future__ import annotations

import gzip
import json
import logging
import re
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest

import trialframe as tr
from bench_logs import (
    SAMPLES,
    harbor_trial,
    metr_run,
    swe_report,
    tau2_results,
    tau2_simulation,
    tau_row,
    terminal_metadata,
    terminal_run,
    terminal_trial,
    write,
)
from trialframe.errors import ArgumentError, SourceError, TrialsError
from trialframe.read._formats import EVERY, LOGS
from trialframe.read._outline import head_of
from trialframe.read._paths import files_of
from trialframe.read._spread import each
from trialframe.read._take import cast
from trialframe.read.logs import Choice, found_in, read_logs
from trialframe.schema import TRIALS

if TYPE_CHECKING:
    from trialframe.read._log import LogFormat

FIXTURES = Path(__file__).parent / "fixtures"


def rows(source: Any, **options: Any) -> pl.DataFrame:
    return tr.read(source, **options).collect()


def mixture(folder: Path) -> Path:
    """One log of each kind, each in a folder of its own."""
    for place, (_, file, document) in SAMPLES.items():
        write(folder / place.replace(" ", "-") / file, document)
    return folder


# one table


def test_logs_of_all_kinds_go_into_one_table(tmp_path: Path) -> None:
    trials = rows(mixture(tmp_path), keep="all")
    schema = {item.name: item.dtype for item in TRIALS}
    assert {n: d for n, d in trials.schema.items() if n in schema and d != schema[n]} == {}
    canonical = [name for name in trials.columns if name in schema]
    assert trials.columns[: len(canonical)] == [n for n in schema if n in canonical]
    assert trials["log"].n_unique() == len(SAMPLES)
    assert trials.select("config", "case", "trial", "attempt").is_unique().all()


def test_the_order_of_files_is_that_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.json", [tau_row(name)])
    assert rows(tmp_path)["case"].to_list() == ["a", "b", "c"]
    given = [tmp_path / "c.json", tmp_path / "a.json"]
    assert rows(given)["case"].to_list() == ["c", "a"]
    assert rows(tmp_path / "[ab].json")["case"].to_list() == ["a", "b"]


def test_columns_that_are_unknown_everywhere_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [tau_row(info={"user_cost": None})])
    assert "user_cost_uusd" not in rows(tmp_path).columns
    write(tmp_path / "b.json", [tau_row(1)])
    assert rows(tmp_path)["user_cost_uusd"].to_list() == [None, 250_000]


def test_further_columns_that_differ_in_type_become_text(tmp_path: Path) -> None:
    write(tmp_path / "a" / "result.json", harbor_trial())
    metr = metr_run() | {"run_id": 7}
    write(tmp_path / "runs.jsonl", [metr])
    trials = rows(tmp_path)
    assert trials["run_id"].to_list() == [None, "7"]
    assert trials.height == 2


def test_packed_logs_are_read(tmp_path: Path) -> None:
    text = json.dumps([tau_row()]).encode()
    (tmp_path / "m.json.gz").write_bytes(gzip.compress(text))
    assert rows(tmp_path / "m.json.gz").select("config", "case").rows() == [("m", "0")]


@pytest.mark.parametrize(
    ("folder", "options"),
    [
        ("harbor/toy-job", {}),
        ("terminal-bench/toy-run", {}),
        ("tau2-bench/folder_form", {}),
        ("swebench/logs/run_evaluation/run_a", {}),
        ("helm", {}),
        (
            "lm-eval",
            {"metric": ["acc", "exact_match,strict-match", "pass@1,all-three"], "threshold": 1},
        ),
    ],
)
@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_packed_folders_say_what_they_said_before(
    tmp_path: Path, folder: str, options: dict[str, Any], ending: str
) -> None:
    plain, packed = tmp_path / "plain" / folder, tmp_path / "packed" / folder
    shutil.copytree(FIXTURES / folder, plain, ignore=shutil.ignore_patterns("expected.json"))
    for path in sorted(plain.rglob("*.json*")):
        to = packed / path.relative_to(plain).with_name(path.name + ending)
        to.parent.mkdir(parents=True, exist_ok=True)
        with pa.output_stream(str(to), compression="gzip" if ending == ".gz" else "zstd") as out:
            out.write(path.read_bytes())
    trials = rows(packed, **options).drop("log")
    assert trials.height > 0
    assert trials.equals(rows(plain, **options).drop("log"))


def test_a_log_beside_its_packed_copy_is_not_read_twice(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(FIXTURES / "tau2-bench" / "folder_form", folder)
    for path in sorted((folder / "simulations").glob("*.json")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    assert rows(folder / "results.json").height == 12


@pytest.mark.parametrize("strict", [True, False])
def test_numbers_that_no_float_holds_are_no_crash(tmp_path: Path, *, strict: bool) -> None:
    row = {"run_id": "r", "task_id": "t", "alias": "a", "model": "m", "score_binarized": 1}
    row |= {"human_minutes": 1, "task_family": "f", "started_at": 10**400, "completed_at": 1}
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    if strict:
        with pytest.raises(SourceError, match="too large"):
            tr.read(path)
        return
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect().height == 0
    assert "too large" in unread["reason"].item()


def test_logs_become_counts_and_answers(tmp_path: Path) -> None:
    for model, share in (("a", 3), ("b", 1)):
        made = [
            tau_row(task, trial, float(trial < share)) for task in range(9) for trial in (0, 1, 2)
        ]
        write(tmp_path / f"{model}.json", made)
    trials = rows(tmp_path)
    counts = tr.counts(trials)
    rates = tr.summary(counts, metrics=["pass@1"])["value"].to_list()
    assert rates == pytest.approx([1, 1 / 3])
    assert tr.compare(counts, "a", "b").diff == pytest.approx(-2 / 3)
    assert tr.counts(trials.lazy()).frame.equals(counts.frame)


# mixtures


def test_files_that_are_no_logs_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "m.json", [tau_row()])
    write(tmp_path / "config.json", {"model": "m"})
    (tmp_path / "table.csv").write_text("case,passed\nx,1\n", encoding="utf-8")
    assert rows(tmp_path).height == 1
    assert "2 files are no logs and were left out" in caplog.text
    with pytest.raises(SourceError, match=r"table.csv' are no logs|Read them apart"):
        rows([tmp_path / "m.json", tmp_path / "table.csv"])


def test_an_archive_that_is_cut_short_is_never_left_out_silently(tmp_path: Path) -> None:
    write(tmp_path / "m.json", [tau_row()])
    (tmp_path / "cut.eval").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(SourceError, match=r"cut.eval' is no log that is known. It may be cut"):
        rows(tmp_path)
    lazy, unread = tr.read(tmp_path, errors="collect")
    assert lazy.collect().height == 1
    assert unread["file"].to_list() == [str(tmp_path / "cut.eval")]
    assert rows(tmp_path, format="tau-bench").height == 1


def test_a_summary_of_one_tool_does_not_stop_logs_of_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "run_metadata.json", terminal_metadata())
    write(tmp_path / "m.json", [tau_row()])
    assert rows(tmp_path).height == 1
    assert "it describes a run and holds no trials" in caplog.text
    (tmp_path / "m.json").unlink()
    with pytest.raises(SourceError, match="no file of Terminal-Bench here holds trials"):
        rows(tmp_path)


def test_format_reads_one_kind_only_or_what_is_not_recognised(tmp_path: Path) -> None:
    write(tmp_path / "m.json", [tau_row()])
    write(tmp_path / "results" / "result.json", harbor_trial())
    assert rows(tmp_path, format="harbor")["case"].to_list() == ["fix"]
    odd = write(tmp_path / "odd.json", [{"task_id": 1, "reward": 1.0, "trial": 0}])
    assert rows(odd, format="tau-bench")["passed"].to_list() == [True]
    assert "outcome" not in rows(odd, passed=pl.col("reward") == 1.0, case="task_id").columns
    assert rows(odd, format="table", threshold=1)["passed"].to_list() == [True]


@pytest.mark.parametrize("name", ["tau_bench", "taubench", "TAU-BENCH", ""])
def test_a_format_that_there_is_not_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "m.json", [tau_row()])
    with pytest.raises(ArgumentError, match=r"tau-bench"):
        rows(path, format=name)


def test_a_log_from_a_url_is_no_table() -> None:
    with pytest.raises(SourceError):
        rows("https://127.0.0.1:1/x.eval", format="inspect")


# copies


def test_copies_are_refused_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [tau_row(), tau_row(1, 0, 0.0)])
    shutil.copy(path, tmp_path / "b.json")
    with pytest.raises(SourceError, match=r"b.json' is a copy of .*a.json'.* keep=\"first\""):
        rows(tmp_path)
    for keep in ("first", "last"):
        assert rows(tmp_path, keep=keep)["config"].unique().to_list() == ["a"]
    assert rows(tmp_path, keep="all")["config"].to_list() == ["a", "a", "b", "b"]
    trials, unread = tr.read(tmp_path, errors="collect")
    assert trials.collect().height == 2
    assert unread["reason"].str.starts_with("a copy of").all()


def test_files_of_equal_size_are_no_copies(tmp_path: Path) -> None:
    for name, task in (("a", 1), ("b", 2)):
        write(tmp_path / f"{name}.json", [tau_row(task)])
    assert rows(tmp_path).height == 2


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [tau_row()])
    assert rows([path, path, str(path)]).height == 1


# what cannot be read


def test_errors_are_collected_and_the_rest_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a.json", [tau_row(), tau_row(1, reward="good")])
    (tmp_path / "b.json").write_text('[{"task_id": 1, "reward": 1.0, "info": {"task": ', "utf-8")
    (tmp_path / "c.json").write_bytes(b"")
    whole = (FIXTURES / "inspect" / "epochs3.eval").read_bytes()
    (tmp_path / "d.eval").write_bytes(whole[: len(whole) // 2])
    write(tmp_path / "e.json", [tau_row(5)])
    trials, unread = tr.read(tmp_path, errors="collect")
    assert trials.collect()["case"].to_list() == ["0", "5"]
    assert unread.columns == ["file", "place", "reason"]
    found = {Path(file).name: place for file, place in unread.select("file", "place").iter_rows()}
    assert found == {"a.json": "episodes[1]", "b.json": "", "c.json": "", "d.eval": ""}
    assert unread["reason"].str.len_chars().min() > 10
    assert caplog.text.count("not read") == 4
    for name in "abcd":
        with pytest.raises(SourceError, match=rf"{name}\.(json|eval)"):
            rows(sorted(tmp_path.glob(f"{name}.*")))


def test_nothing_unread_is_an_empty_table(tmp_path: Path) -> None:
    _, unread = tr.read(write(tmp_path / "a.json", [tau_row()]), errors="collect")
    assert unread.is_empty()
    assert unread.columns == ["file", "place", "reason"]
    _, unread = tr.read({"case": ["x"], "passed": [True]}, errors="collect")
    assert unread.is_empty()
    with pytest.raises(ArgumentError, match="errors"):
        tr.read(tmp_path, errors="ignore")  # type: ignore[call-overload]


def test_everything_unread_is_a_table_without_rows(tmp_path: Path) -> None:
    trials, unread = tr.read(write(tmp_path / "a.json", [tau_row(reward="x")]), errors="collect")
    assert trials.collect().is_empty()
    assert {"config", "case", "trial", "passed"} <= set(trials.collect_schema())
    assert unread.height == 1


def test_an_empty_file_among_tables_is_still_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,passed\nx,1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"")
    for errors in ("raise", "collect"):
        with pytest.raises(SourceError, match=r"b\.csv' is empty"):
            tr.read(tmp_path, errors=errors)  # type: ignore[call-overload]


def test_a_link_to_nowhere_or_a_folder_that_is_closed_is_no_crash(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [tau_row()])
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    assert rows(tmp_path).height == 1


# keys


def test_config_of_several_columns_and_other_columns_by_name(tmp_path: Path) -> None:
    for run in ("r1", "r2"):
        trials = [terminal_trial("t", f"t.{i}-of-2.{run}") for i in (1, 2)]
        write(tmp_path / run / "results.json", terminal_run(*trials))
        write(tmp_path / run / "run_metadata.json", terminal_metadata(run_id=run))
    apart = rows(tmp_path, config=["config", "run"])
    assert apart["config"].unique().sort().to_list() == ["agent/v/m | r1", "agent/v/m | r2"]
    by_run = rows(tmp_path / "r1", config="run", cluster="dataset")
    assert by_run.select("config", "cluster").unique().rows() == [("r1", "core==0.1")]


def test_files_count_on_where_logs_number_no_trials(tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(tmp_path / f"model.{run}.json", swe_report() | {"note": run})
    trials = rows(tmp_path)
    assert trials.group_by("case").agg(pl.col("trial").sort())["trial"].unique().to_list() == [
        [0, 1]
    ]
    assert trials["trial_made"].all()


def test_absent_cases_of_made_and_of_given_numbers(tmp_path: Path) -> None:
    cases = ["0", "1", "2"]
    write(tmp_path / "a.json", [tau_row(0, 0), tau_row(0, 1), tau_row(1, 0)])
    trials = rows(tmp_path, cases=cases, absent="fail")
    added = trials.filter(outcome="absent").select("case", "trial", "passed", "trial_made")
    assert sorted(added.rows()) == [
        ("1", 1, False, False),
        ("2", 0, False, False),
        ("2", 1, False, False),
    ]
    rate = tr.summary(tr.counts(trials), metrics=["pass@1"])["value"].item()
    assert rate == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_zeros_that_mean_unknown(tmp_path: Path) -> None:
    path = write(tmp_path / "result.json", harbor_trial(agent_result={"n_output_tokens": 0}))
    assert rows(path)["tokens_out"].to_list() == [0]
    assert rows(path, zero_is_missing="tokens_out")["tokens_out"].to_list() == [None]


# mapping and formats


def test_mapping_says_where_in_the_log_a_column_is(tmp_path: Path) -> None:
    path = write(tmp_path / "m.json", [tau_row()])
    told = {row[0]: row[1:] for row in tr.mapping(path).iter_rows()}
    assert told["case"] == ("[].task_id", "log", "")
    assert told["config"][0:2] == ("made", "log")
    assert told["passed"][2] == "|reward - 1| <= 1e-6"
    renamed = tr.mapping(path, cluster="outcome")
    assert renamed.filter(column="cluster")["source"].to_list() == ["outcome"]
    assert tr.mapping(path, threshold=0.5).filter(column="passed")["how"].to_list() == ["derived"]


def test_formats_lists_all_of_them() -> None:
    table = tr.formats()
    assert table["format"].to_list() == [item.name for item in EVERY]
    assert table["format"].is_unique().all()
    assert (
        table.select("format", "tool", "files", "trial").null_count().sum_horizontal().item() == 0
    )
    assert (table["tool"].str.len_chars() > 0).all()
    with pytest.raises(ArgumentError, match="harbor"):
        tr.formats("harbour")
    assert tr.formats("table").equals(table)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)
def test_fields_of_a_format_are_told_once_and_with_their_units(kind: LogFormat) -> None:
    told = tr.formats(kind.name)
    assert told.columns == ["column", "source", "unit", "note"]
    assert told["column"].is_unique().all()
    assert {"config", "case"} <= set(told["column"])
    units = {item.name: item.unit for item in TRIALS}
    assert all(units.get(name, "") == unit for name, _, unit, _ in told.iter_rows())
    assert all(len(note) < 160 for note in told["note"])


def test_no_format_takes_a_file_of_another() -> None:
    """Every file that a tool wrote is at most one format's."""
    files = [
        path
        for path in sorted(FIXTURES.rglob("*"))
        if path.suffix in {".json", ".jsonl", ".eval", ".xml"} and path.stat().st_size
    ]
    assert len(files) > 50
    for path in files:
        try:
            head = head_of(path)
        except SourceError:
            continue
        takers = [item.name for item in LOGS if item.recognise(head)]
        assert len(takers) <= 1, (path, takers)


# size


def test_thousands_of_small_files_are_read(tmp_path: Path) -> None:
    for task in range(60):
        for trial in range(50):
            made = harbor_trial(f"task-{task}", trial)
            write(
                tmp_path / f"task-{task}__{trial}" / "result.json", made | {"id": f"{task}.{trial}"}
            )
    trials = rows(tmp_path)
    assert trials.height == 3000
    assert trials.group_by("case").agg(pl.col("trial").n_unique())["trial"].unique().to_list() == [
        50
    ]
    steps = trials.sort("case", "trial").group_by("case").agg(pl.col("started_at").diff().min())
    assert {step.total_seconds() for step in steps["started_at"]} == {60.0}


def test_tables_put_together_in_parts_are_those_put_together_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixture(tmp_path)
    whole = rows(tmp_path)
    monkeypatch.setattr(sys.modules["trialframe.read.logs"], "AT_ONCE", 3)
    assert rows(tmp_path).equals(whole)


def test_a_log_without_trials_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec = {"spec": {"eval_name": "toy", "completion_fns": ["m"], "run_id": "1"}}
    path = tmp_path / "toy.jsonl"
    path.write_text(json.dumps(spec) + "\n", encoding="utf-8")
    assert rows(path).height == 0
    assert "toy.jsonl' holds no trials" in caplog.text


def test_progress_counts_the_files(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / f"{name}.json", [tau_row(name)])
    seen: list[tuple[int, int]] = []
    choice = Choice(progress=lambda ready, count: seen.append((ready, count)))
    read_logs(found_in(files_of(tmp_path), choice), choice)
    assert seen == [(1, 3), (2, 3), (3, 3)]


# values


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, pl.Boolean, True),
        (0.0, pl.Boolean, False),
        (2.5, pl.Int64, 3),
        (-2.5, pl.Int64, -2),
        (float("nan"), pl.Float64, None),
        (7.0, pl.String, "7"),
        ({"b": 1, "a": None}, pl.String, '{"a": null, "b": 1}'),
        ("\ud800x", pl.String, "?x"),
    ],
)
def test_values_become_those_of_a_column(value: Any, dtype: Any, expected: Any) -> None:
    assert cast(value, dtype) == expected


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2, pl.Boolean),
        ("true", pl.Boolean),
        (True, pl.Int64),
        ("7", pl.Int64),
        (2**60, pl.Int64),
        (True, pl.Datetime("us", "UTC")),
        ("noon", pl.Datetime("us", "UTC")),
    ],
)
def test_values_of_another_kind_are_refused(value: Any, dtype: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        cast(value, dtype)


def test_simulations_and_episodes_stay_apart(tmp_path: Path) -> None:
    """Two benches with the same ids make two configs of a table, and one error if they collide."""
    write(tmp_path / "a.json", tau2_results(tau2_simulation("1")))
    write(tmp_path / "b.json", tau2_results(tau2_simulation("1", id="other", duration=2.5)))
    with pytest.raises(TrialsError, match="2 rows share a config, case and trial"):
        rows(tmp_path)


def test_what_is_left_out_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(FIXTURES / "terminal-bench" / "toy-run", tmp_path / "toy-run")
    with caplog.at_level(logging.INFO, logger="trialframe"):
        rows(tmp_path)
    assert caplog.text.count("the results.json of its run holds it") == 15


@pytest.mark.parametrize("kind", LOGS, ids=lambda kind: kind.name)
def test_a_file_of_another_kind_is_refused_with_what_to_do(tmp_path: Path, kind: LogFormat) -> None:
    path = tmp_path / "odd.json"
    path.write_text('["of another kind"]', encoding="utf-8")
    with pytest.raises(SourceError, match=r"odd\.json") as found:
        tr.read(path, format=kind.name)
    assert re.search(r"\b([Ll]eave|[Ww]rite|Read|Keep|Score|Give|[Nn]ame) ", str(found.value))


def test_files_that_are_waited_for_are_read_by_many_threads() -> None:
    threads = set()

    def waiting(number: int) -> int:
        threads.add(threading.get_ident())
        time.sleep(0.02)
        return -number

    assert list(each(waiting, range(30))) == [-number for number in range(30)]
    assert len(threads) > 2
    assert list(each(lambda number: -number, range(30))) == [-n for n in range(30)]
    assert list(each(waiting, [])) == []


def test_an_error_ends_the_reading_of_waiting_files() -> None:
    seen = []

    def failing(number: int) -> int:
        time.sleep(0.005)
        seen.append(number)
        if number >= 12:
            raise SourceError(f"{number}")
        return number

    with pytest.raises(SourceError, match="12"):
        list(each(failing, range(10_000)))
    assert len(seen) < 1000


def scored(path: Path, **scores: bool) -> None:
    tests = [{"scores": {name: {"value": value} for name, value in scores.items()}}]
    samples = [{"id": "a", "epoch": 1, "model_usage": {}} | one for one in tests]
    spec = {"task": path.stem, "model": "m", "created": "2026-01-01"}
    path.write_text(json.dumps({"status": "success", "eval": spec, "samples": samples}))


def test_of_several_scores_each_log_takes_the_first_that_it_has(tmp_path: Path) -> None:
    scored(tmp_path / "one.json", match=True, judge=False)
    scored(tmp_path / "two.json", choice=False, judge=True)
    frame = tr.read(tmp_path, metric=["match", "choice"]).collect()
    assert frame.select("task", "passed", "scorer").rows() == [
        ("one", True, "match"),
        ("two", False, "choice"),
    ]
    assert tr.read(tmp_path, metric=["judge", "match"]).collect()["passed"].to_list() == [
        False,
        True,
    ]
    with pytest.raises(ArgumentError, match=r"one.json' has no such scorer. It has 'match'"):
        tr.read(tmp_path, metric="choice")
    with pytest.raises(ArgumentError, match=r"none of metric=\['x', 'y'\] is there: metric='y'"):
        tr.read(tmp_path, metric=["x", "y"], errors="collect")
    with pytest.raises(ArgumentError, match="metric == 3"):
        tr.read(tmp_path, metric=3)  # type: ignore[call-overload]


def test_a_log_without_the_score_is_told_beside_those_that_have_it(tmp_path: Path) -> None:
    scored(tmp_path / "one.json", match=True, judge=False)
    scored(tmp_path / "two.json", choice=False, judge=True)
    lazy, unread = tr.read(tmp_path, metric="match", errors="collect")
    assert lazy.collect()["task"].to_list() == ["one"]
    assert unread["reason"][0].startswith("metric='match'")
    assert unread["file"].to_list() == [str(tmp_path / "two.json")]


def test_a_file_of_another_kind_than_was_asked_for_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"case": ["a"], "passed": [True]}).write_parquet(path)
    for kind in ("inspect", "junit", "tau-bench"):
        with pytest.raises(SourceError, match=f"table.parquet.*It was read as format='{kind}'"):
            tr.read(path, format=kind)
