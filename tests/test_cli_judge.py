"""`trialframe judge calibrate|correct|drift`: formats, exit codes, refusals."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import trialframe as tr
from trialframe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*words: object) -> Ran:
        code = main(["judge", *(str(word) for word in words)])
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return call


def simulated(cases: int, seed: int, accuracy: float = 0.9, **columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(cases) < 0.6
    judge = np.where(rng.random(cases) < accuracy, label, ~label)
    return pl.DataFrame({"case": np.arange(cases), "judge": judge, "label": label}).with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    labels = simulated(80, 0, split="test")
    runs = pl.concat(
        [simulated(200, 3, model="new"), simulated(200, 4, accuracy=0.85, model="old")]
    )
    some = runs.with_columns(label=pl.when(pl.col("case") % 4 == 0).then("label"))
    tables = {
        "labels": labels,
        "chance": simulated(80, 1, accuracy=0.3, split="test"),
        "leak": pl.concat([labels, labels.head(3).with_columns(split=pl.lit("train"))]),
        "runs": runs.drop("label"),
        "some": some,
        "known": runs,
        "words": labels.with_columns(
            judge=pl.when("judge").then(pl.lit("good")).otherwise(pl.lit("bad"))
        ),
    }
    for name, table in tables.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in tables}


def test_calibrate_in_every_format(
    run: Callable[..., Ran], files: dict[str, Path], tmp_path: Path
) -> None:
    shown = run("calibrate", files["labels"])
    assert (shown.code, shown.out.partition(":")[0]) == (0, "calibrated")
    wanted = tr.calibrate(pl.read_parquet(files["labels"]))
    rows = list(csv.DictReader(io.StringIO(run("calibrate", files["labels"], "-f", "csv").out)))
    assert float(rows[0]["kappa"]) == wanted.row()["kappa"]
    made = json.loads(run("calibrate", files["labels"], "-f", "json").out)
    assert made["status"] == "calibrated"
    assert made["table"][0]["specificity"] == wanted.row()["specificity"]
    assert "| status |" in run("calibrate", files["labels"], "-f", "md").out
    kept = tmp_path / "out.parquet"
    assert run("calibrate", files["labels"], "-o", kept).code == 0
    assert pl.read_parquet(kept).equals(wanted.table)


def test_calibrate_says_no(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    assert run("calibrate", files["chance"]).code == 1
    leak = run("calibrate", files["leak"])
    assert (leak.code, leak.out.partition(":")[0]) == (1, "in-sample")
    assert "3 held-out cases" in leak.out
    assert run("calibrate", files["labels"], "--min-n", 100).code == 1
    assert run("calibrate", files["labels"], "--threshold", 0.95).code == 1


def test_calibrate_bad_input(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    asked = run("calibrate", files["words"])
    assert asked.code == 2
    assert "--verdict good=true --verdict bad=false" in asked.err
    words = ("--verdict", "good=true", "--verdict", "bad=false")
    assert run("calibrate", files["words"], *words).code == 0
    half = run("calibrate", files["words"], "--verdict", "good=true")
    assert "'bad'" in half.out
    assert run("calibrate", files["words"], "--verdict", "good").code == 2
    assert run("calibrate", files["words"], "--verdict", "good=maybe").code == 2
    assert run("calibrate", files["labels"], "--held-out", "dev").code == 2
    assert run("calibrate", files["labels"], "--label", "lable").code == 2
    assert run("calibrate", "nowhere.parquet").code == 2


def test_correct_by_error_rates(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    both = (files["labels"], files["runs"], "--config", "model")
    shown = run("correct", *both)
    assert shown.code == 0
    assert shown.out.count("rogan-gladen") == 2
    made = json.loads(run("correct", *both, "-f", "json").out)
    found = tr.calibrate(pl.read_parquet(files["labels"]))
    counts = tr.counts(pl.read_parquet(files["runs"]), config="model", passed="judge")
    for got in made:
        wanted = tr.rogan_gladen(counts, found, config=got["config"])
        assert (got["value"], got["low"], got["high"]) == (wanted.value, wanted.low, wanted.high)
    pair = run("correct", *both, "--baseline", "old", "--candidate", "new", "-f", "json")
    wanted = tr.rogan_gladen_difference(counts, "old", "new", found)
    assert json.loads(pair.out)["diff"] == wanted.diff


def test_correct_refuses(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    refused = run("correct", files["chance"], files["runs"], "--config", "model")
    assert refused.code == 1
    assert "refused" in refused.out
    assert run("correct", files["leak"], files["labels"]).code == 1
    assert run("correct", files["labels"]).code == 2
    assert run("correct", files["labels"], files["runs"], "--method", "magic").code == 2
    assert run("correct", files["labels"], files["runs"], "--baseline", "old").code == 2


def test_correct_by_labels(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    asked = ("correct", files["some"], "--method", "ppi", "--config", "model")
    shown = run(*asked)
    assert shown.code == 0
    rows = list(csv.DictReader(io.StringIO(run(*asked, "-f", "csv").out)))
    for row in rows:
        part = pl.read_parquet(files["some"]).filter(pl.col("model") == row["config"])
        assert float(row["value"]) == tr.ppi(part).value
    pair = run(*asked, "--baseline", "old", "--candidate", "new", "-f", "json")
    wanted = tr.ppi_difference(pl.read_parquet(files["some"]), "old", "new", config="model")
    assert json.loads(pair.out)["diff"] == wanted.diff
    apart = run("correct", files["labels"], files["runs"], "--method", "ppi", "--cluster", "model")
    assert apart.code == 2
    assert (
        run("correct", files["some"], "--method", "ppi", "--baseline", "a", "--candidate", "b").code
        == 2
    )


def test_drift(run: Callable[..., Ran], files: dict[str, Path]) -> None:
    asked = (
        "drift",
        files["known"],
        "--config",
        "model",
        "--baseline",
        "old",
        "--candidate",
        "new",
    )
    shown = run(*asked)
    assert (shown.code, shown.out.partition(":")[0]) == (1, "inconclusive")
    assert run(*asked, "--margin", "0.3").code == 0
    made = json.loads(run(*asked, "-f", "json").out)
    assert made["status"] == "inconclusive"
    assert run(*asked[:-1], "nobody").code == 2
    assert "| sensitivity |" in run(*asked, "-f", "md").out


def test_prediction_powered_splits(
    run: Callable[..., Ran], files: dict[str, Path], tmp_path: Path
) -> None:
    some = pl.read_parquet(files["some"]).filter(model="new").drop("model")
    tuned = some.head(40).with_columns(case=pl.col("case") + 1000, split=pl.lit("dev"))
    table = tmp_path / "split.parquet"
    pl.concat([some.with_columns(split=pl.lit("test")), tuned]).write_parquet(table)
    ppi = ("correct", table, "--method", "ppi")
    assert run(*ppi).code == 0
    for flag in ("--held-out", "--tuned-on"):
        refused = run(*ppi, flag, "nosuch")
        assert (refused.code, "no split 'nosuch'" in refused.err) == (2, True)
    leak = pl.concat([some.with_columns(split=pl.lit(name)) for name in ("test", "dev")])
    leak.write_parquet(table)
    shown = run(*ppi)
    assert (shown.code, shown.out.partition(":")[0]) == (1, "in-sample")


def test_one_calibration_for_several_configs(
    run: Callable[..., Ran], files: dict[str, Path], tmp_path: Path
) -> None:
    labels = tmp_path / "labels.parquet"
    known = pl.read_parquet(files["labels"]).drop("split")
    names = pl.when(pl.col("case") < 40).then(pl.lit("older")).otherwise(pl.lit("oldest"))
    known.with_columns(model=names).write_parquet(labels)
    words = ("correct", labels, files["runs"], "--config", "model")
    refused = run(*words)
    assert (refused.code, "--calibration shared" in refused.err) == (2, True)
    assert run(*words, "--calibration", "shared").code == 0
    made = run(*words, "--calibration", "shared", "--baseline", "old", "--candidate", "new")
    assert "alike on both" in made.out
    assert run(*words, "--calibration", "per-model").code == 2
    plain = ("correct", files["labels"], files["runs"], "--config", "model")
    assert run(*plain, "--calibration", "per-config").code == 2


@pytest.mark.parametrize("method", ["rogan-gladen", "ppi"])
def test_one_rate_a_judge(
    run: Callable[..., Ran], files: dict[str, Path], tmp_path: Path, method: str
) -> None:
    some = pl.read_parquet(files["some"]).filter(model="new").drop("model")
    lenient = some.with_columns(judge=pl.col("judge") | (pl.col("case") % 5 == 0))
    named = [some.with_columns(who=pl.lit("a")), lenient.with_columns(who=pl.lit("b"))]
    table = tmp_path / "judges.parquet"
    pl.concat(named).write_parquet(table)
    second = [table] if method == "rogan-gladen" else []
    words = ("correct", table, *second, "--method", method, "--by", "who")
    made = json.loads(run(*words, "-f", "json").out)
    assert [row["who"] for row in made] == ["a", "b"]
    for row, own in zip(made, named, strict=True):
        own.write_parquet(table.with_name("own.parquet"))
        own_words = [table.with_name("own.parquet")] * (1 + len(second))
        [alone] = json.loads(run("correct", *own_words, "--method", method, "-f", "json").out)
        assert row["value"] == alone["value"]
    shown = run(*words)
    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["a", "b"]
    assert run(*words, "-f", "csv").out.startswith("who,status")
    assert "no column 'whom'" in run(*words[:-1], "whom").err
    assert run(*words, "--baseline", "x", "--candidate", "y").code == 2
    renamed = pl.read_parquet(table).rename({"who": "status"})
    renamed.write_parquet(table)
    assert "of its own" in run(*words[:-1], "status").err
