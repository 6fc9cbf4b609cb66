"""lm-eval: a row for each document of a run after one filter, in the numbers of the results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import trialframe as tr
from bench_logs import lm_sample, write
from trialframe.errors import ArgumentError, SourceError

FIXTURES = Path(__file__).parent / "fixtures" / "lm-eval"
RUNS = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["runs"]
STAMP = "2026-01-05T09-00-00.000001"
NAME = f"samples_sums_{STAMP}.jsonl"


def results(**more: Any) -> dict[str, Any]:
    return {
        "results": {
            "sums": {"exact_match,strict-match": 0.5, "exact_match_stderr,strict-match": 0}
        },
        "configs": {"sums": {"filter_list": [{"name": "strict-match"}, {"name": "first"}]}},
        "n-shot": {"sums": 5},
        "higher_is_better": {"sums": {"exact_match": True}},
        "config": {"model": "hf", "model_args": "pretrained=org/model,dtype=float"},
        "model_name": "org/model",
        "date": 1767603600.5,
    } | more


@pytest.mark.parametrize("run", RUNS)
def test_real_samples_have_the_numbers_of_the_results(run: str) -> None:
    stamp = run.removeprefix("results_").removesuffix(".json")
    checked = 0
    for task, values in RUNS[run]["results"].items():
        path = FIXTURES / "toy__model" / f"samples_{task}_{stamp}.jsonl"
        metrics = [name for name in values if "," in name and "_stderr" not in name]
        for metric in metrics if path.is_file() else ():
            if metric.startswith("first_length"):
                with pytest.raises(ArgumentError, match="better when it is lower"):
                    tr.read(path, metric=metric, threshold=1)
                continue
            scores = tr.read(path, metric=metric, threshold=1).collect()["score"]
            assert scores.mean() == pytest.approx(values[metric])
            checked += 1
    assert checked == 6


def test_two_runs_are_trials_in_the_order_of_time() -> None:
    source = FIXTURES / "toy__model"
    trials = tr.read(source, metric=["exact_match,first", "acc", "pass@2"], threshold=1).collect()
    assert trials.height == 2 * 3 * 5
    assert trials.group_by("case").len()["len"].unique().to_list() == [2]
    assert set(trials["metric"]) == {"exact_match,first", "acc,none", "pass@2,all-three"}
    assert sorted(trials.select("trial", "seed").unique().rows()) == [(0, "1"), (1, "2")]
    assert trials["trial_made"].all()
    assert set(trials["config"]) == {"toy/model"}
    assert set(trials["doc.kind"]) == {"small", "large"}


def test_the_sample(shared_formats: Path) -> None:
    trials = tr.read(
        shared_formats / "lm-eval", metric=["exact_match,strict-match", "acc"]
    ).collect()
    assert trials["passed"].to_list() == [False, False, False, True, True, False]
    assert set(trials["config"]) == {"3ykv54sv"}


def test_filters_must_be_chosen(tmp_path: Path) -> None:
    rows = [lm_sample(n, float(n == at), name) for at, name in enumerate("ab") for n in range(2)]
    path = write(tmp_path / "org__model" / NAME, rows)
    with pytest.raises(ArgumentError, match="several metrics: 'exact_match,a', 'exact_match,b'"):
        tr.read(path)
    with pytest.raises(ArgumentError, match="after several filters"):
        tr.read(path, metric="exact_match")
    with pytest.raises(ArgumentError, match="no such metric"):
        tr.read(path, metric=["acc", "acc_norm"])
    assert tr.read(path, metric="exact_match,a").collect()["passed"].to_list() == [True, False]
    assert tr.read(path, metric=["acc", "exact_match,b"]).collect()["passed"].to_list() == [
        False,
        True,
    ]


def test_a_folder_without_samples_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / f"results_{STAMP}.json", results())
    with pytest.raises(SourceError, match="run lm_eval again with --log_samples"):
        tr.read(tmp_path)
    write(tmp_path / "results.json", results(results={"a": {"acc": 1, "acc_stderr": 0}}))  # 0.3
    with pytest.raises(SourceError, match="run lm_eval again with --log_samples"):
        tr.read(tmp_path)
    write(tmp_path / NAME, [lm_sample(0, 1.0)])
    assert tr.read(tmp_path).collect().height == 1
    assert tr.read(tmp_path, format="lm-eval").collect()["config"].to_list() == ["org/model"]
    with pytest.raises(SourceError, match="--log_samples"):
        tr.read(tmp_path / "results.json")


@pytest.mark.parametrize(
    ("more", "config"),
    [
        ({}, "org/model"),
        ({"model_name": ""}, "org/model"),
        ({"model_name": None, "config": {"model_args": {"pretrained": "x/y"}}}, "x/y"),
        ({"model_name": None, "config": {"model_args": "a=b,peft=p,pretrained=x"}}, "p"),
        ({"model_name": None, "config": {"model_args": None}}, "folder"),
        ({"model_name": None, "config": None}, "folder"),
    ],
)
def test_the_model_and_what_else_the_results_tell(
    tmp_path: Path, more: dict[str, Any], config: str
) -> None:
    seeds = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": None}
    document = results(**more)
    if isinstance(document["config"], dict):
        document["config"] |= seeds
    write(tmp_path / "folder" / f"results_{STAMP}.json", document)
    write(tmp_path / "folder" / "results_2020-01-01T00-00-00.5.json", results(model_name="other"))
    path = write(tmp_path / "folder" / NAME, [lm_sample(0, 1.0)])
    row = tr.read(path).collect().row(0, named=True)
    assert row["config"] == config
    assert row["case"] == "sums/0"
    assert row["num_fewshot"] == 5
    assert row["started_at"].isoformat() == "2026-01-05T09:00:00.500000+00:00"
    assert row.get("seed") == ("0,1234,1234" if isinstance(document["config"], dict) else None)


def test_samples_of_older_versions(tmp_path: Path) -> None:
    """A list in place of lines, without filter, metrics and the time in the name."""
    rows = [lm_sample(number, float(number), "") for number in (0, 1)]
    for row in rows:
        del row["filter"], row["metrics"], row["doc_hash"]
    write(tmp_path / "results.json", results())
    path = tmp_path / "pretrained__org__model_sums.jsonl"
    path.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    trials = tr.read(path).collect()
    assert trials["case"].to_list() == ["sums/0", "sums/1"]
    assert trials["passed"].to_list() == [False, True]
    assert trials["metric"].to_list() == ["exact_match,none"] * 2
    assert set(trials["config"]) == {"org/model"}
    path.write_text(json.dumps([*rows, *rows[::-1]]), encoding="utf-8")
    with pytest.raises(ArgumentError, match="'exact_match,strict-match', 'exact_match,first'"):
        tr.read(path)
    assert tr.read(path, metric="exact_match,first").collect().height == 2
    path.write_text(json.dumps([*rows, *rows, *rows]), encoding="utf-8")
    with pytest.raises(ArgumentError, match="'exact_match,filter 1', 'exact_match,filter 2'"):
        tr.read(path)


def test_what_version_three_wrote_out(tmp_path: Path) -> None:
    rows = [
        {"doc_id": n, "prompt_0": "2+2=", "logit_0": "-1.5", "truth": "4", "acc": text, "ppl": "x"}
        for n, text in enumerate(["True", "False", "1.0", "NaN"])
    ]
    trials = tr.read(write(tmp_path / "arc_write_out_info.json", rows)).collect()
    assert trials["case"].to_list() == [f"arc/{number}" for number in range(4)]
    assert trials["passed"].to_list() == [True, False, True, None]
    assert trials["metric"].to_list() == ["acc,none"] * 4


def test_what_is_not_scored_stays_open(tmp_path: Path) -> None:
    rows = [lm_sample(0, float("nan")), lm_sample(1, 1.0), lm_sample(2, 1.0)]
    del rows[2]["exact_match"]
    rows[1] |= {"metrics": ["exact_match", "word_perplexity"], "word_perplexity": [-1.5, 7]}
    trials = tr.read(write(tmp_path / NAME, rows)).collect()
    assert trials["passed"].to_list() == [None, True, None]
    assert trials["outcome"].to_list() == [None, "completed", None]


def test_scores_that_are_better_when_lower_are_refused(tmp_path: Path) -> None:
    write(
        tmp_path / f"results_{STAMP}.json",
        results(higher_is_better={"sums": {"exact_match": False}}),
    )
    path = write(tmp_path / NAME, [lm_sample(0, 1.0)])
    with pytest.raises(ArgumentError, match="better when it is lower"):
        tr.read(path)


def test_equal_runs_are_repeats_and_a_copied_file_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "org__model"
    for stamp in (STAMP, "2026-01-06T09-00-00.000001"):
        write(folder / f"samples_sums_{stamp}.jsonl", [lm_sample(0, 1.0)])
    assert tr.read(tmp_path).collect()["trial"].to_list() == [0, 1]
    shutil.copytree(folder, tmp_path / "backup")
    with pytest.raises(SourceError, match="a copy of"):
        tr.read(tmp_path)


def test_samples_without_an_id_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, [lm_sample(0, 1.0), lm_sample(1, 1.0) | {"doc_id": None}])
    with pytest.raises(SourceError, match="sample 2: has no doc_id"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert (trials.collect().height, unread.height) == (1, 1)
