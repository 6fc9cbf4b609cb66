"""HELM: one row for each instance, perturbation and set of examples; count 0 is no score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trialframe as tr
from bench_logs import helm_instance, write
from trialframe.errors import ArgumentError, SourceError

FIXTURES = Path(__file__).parent / "fixtures" / "helm"
NAME = "per_instance_stats.json"


def test_a_run_of_the_structure_of_the_tool_has_its_means() -> None:
    expected = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
    trials = tr.read(FIXTURES).collect()
    assert trials.height == expected["rows"]
    assert trials["passed"].null_count() == sum(expected["unscored"].values())
    kinds = {"plain": pl.col("perturbation").is_null(), "typos": pl.col("perturbation") == "typos"}
    for kind, rows in kinds.items():
        means = trials.filter(rows).group_by("trial").agg(pl.col("score").mean()).sort("trial")
        assert means["score"].to_list() == pytest.approx(expected["exact_match"][kind]["by_trial"])
    assert not trials["trial_made"].any()
    assert set(trials["config"]) == {"vendor/toy-model"}
    first = trials.row(1, named=True)
    assert first["case"] == first["instance"] + "/typos"
    assert (first["tokens_in"], first["tokens_out"], first["duration_ms"]) == (403, 3, 500)


def test_the_sample(shared_formats: Path) -> None:
    trials = tr.read(shared_formats / "helm" / "SYNTHETIC_per_instance_stats.json").collect()
    assert trials["passed"].to_list() == [True, False, False, None]
    assert trials["trial"].to_list() == [0, 1, 0, 0]
    assert trials["duration_ms"].to_list() == [810, None, None, None]


@pytest.mark.parametrize(
    ("folder", "spec", "config", "task"),
    [
        ("mmlu:subject=law,model=a_b", None, "a_b", "mmlu:subject=law"),
        (
            "mmlu:subject=law,model=a_b",
            {"adapter_spec": {"model": "a/b"}},
            "a/b",
            "mmlu:subject=law",
        ),
        ("x", {"name": "gsm:model=c_d", "adapter_spec": {"model": "c/d"}}, "c/d", "gsm"),
        ("toy_model=a_b,data=c", None, "a_b", "toy,data=c"),
        ("x", None, "x", "x"),
    ],
)
def test_model_and_task(
    tmp_path: Path, folder: str, spec: dict[str, Any] | None, config: str, task: str
) -> None:
    path = write(tmp_path / folder / NAME, [helm_instance(1)])
    if spec is not None:
        write(path.with_name("run_spec.json"), spec)
    row = tr.read(path).collect().row(0, named=True)
    assert (row["config"], row["task"], row["case"]) == (config, task, f"{task}/id1")


def test_runs_of_the_same_bytes_are_copies_only_in_a_folder_of_one_name(tmp_path: Path) -> None:
    for folder in ("s:model=a", "s:model=b"):
        write(tmp_path / folder / NAME, [helm_instance(1)])
    assert sorted(tr.read(tmp_path).collect()["config"]) == ["a", "b"]
    write(tmp_path / "copy" / "s:model=a" / NAME, [helm_instance(1)])
    with pytest.raises(SourceError, match="a copy of"):
        tr.read(tmp_path)


def test_perturbations_of_one_name_are_told_apart(tmp_path: Path) -> None:
    rows = [helm_instance(1, changed="typos") for _ in range(3)]
    for row, more in zip(
        rows, ({"prob": 0.1}, {"prob": 0.5}, {"prob": 0.5, "seed": 3}), strict=True
    ):
        row["perturbation"] = row["perturbation"] | more
        for stat in row["stats"]:
            stat["name"]["perturbation"] = row["perturbation"]
    trials = tr.read(write(tmp_path / "x" / NAME, rows)).collect()
    assert trials["perturbation"].to_list() == [
        "typos(prob=0.1)",
        "typos(prob=0.5)",
        "typos(prob=0.5,seed=3)",
    ]


def test_the_statistic_that_decides(tmp_path: Path) -> None:
    rows = [helm_instance(1), helm_instance(2)]
    for row, value in zip(rows, (0.25, 1.0), strict=True):
        row["stats"].append({"name": {"name": "f1_score"}, "count": 1, "sum": value, "mean": value})
    path = write(tmp_path / "x" / NAME, rows)
    assert tr.read(path).collect()["passed"].to_list() == [True, True]
    with pytest.raises(ArgumentError, match="neither 0 nor 1"):
        tr.read(path, metric="f1_score")
    graded = tr.read(path, metric="f1_score", threshold=0.5).collect()
    assert graded["passed"].to_list() == [False, True]
    with pytest.raises(ArgumentError, match=r"no such metric\. It has 'exact_match', 'f1_score'"):
        tr.read(path, metric="accuracy")
    for row in rows:
        row["stats"][0]["name"]["name"] = "math_equiv"
    with pytest.raises(ArgumentError, match="several metrics: 'math_equiv', 'f1_score'"):
        tr.read(write(path, rows))


def test_instances_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    rows = [helm_instance(1), helm_instance(2) | {"stats": {"exact_match": 1}}, helm_instance(3)]
    rows[2]["stats"].append({"name": "x"})
    path = write(tmp_path / "x" / NAME, rows)
    with pytest.raises(SourceError, match="instance 1: instance_id and a list of stats"):
        tr.read(path)
    trials, unread = tr.read(path, errors="collect")
    assert trials.collect().height == 1
    assert unread.height == 2
