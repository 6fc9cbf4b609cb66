"""Write the tables of this folder: python data/make.py [folder]."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import trialframe as tr

# lift over the first config, mean price in micro-dollars, mean seconds
LEADERBOARD = {
    "atlas-large": (0.00, 210_000, 190),
    "atlas-medium": (-0.08, 64_000, 120),
    "atlas-small": (-0.22, 9_000, 55),
    "borealis-2": (0.04, 340_000, 260),
    "borealis-2-thinking": (0.09, 780_000, 640),
    "borealis-1": (-0.05, 300_000, 250),
    "cirrus-pro": (0.03, 120_000, 150),
    "cirrus-flash": (-0.12, 15_000, 40),
    "delta-coder": (0.02, 88_000, 170),
    "delta-coder-lite": (-0.16, 12_000, 70),
    "ember-open": (-0.10, 21_000, 140),
    "ember-open-tuned": (-0.09, 21_000, 135),
}
REPOSITORIES = {
    "webkit": 52,
    "sqlparse": 31,
    "tablekit": 24,
    "netstack": 18,
    "docgen": 15,
    "cli": 10,
}


def leaderboard() -> pl.DataFrame:
    """12 configs on 150 cases of 6 repositories, 5 interleaved trials each."""
    lift, price, seconds = zip(*LEADERBOARD.values(), strict=True)
    trials = tr.simulate(
        configs=list(LEADERBOARD),
        cases=150,
        trials=5,
        clusters=REPOSITORIES,
        difficulty=(1.1, 0.9),
        lift=lift,
        icc=0.15,
        interaction=0.45,
        unscored={"timeout": 0.02, "infra_error": 0.015},
        insecure=0.06,
        judge=(0.93, 0.86),
        labelled=0.15,
        cost_uusd=price,
        tokens=(48_000, 6_500),
        duration_ms=[1_000 * mean for mean in seconds],
        tests_total=14,
        difficulty_levels=("hard", "medium", "easy"),
        started_at=datetime(2026, 5, 4, 6, 0, tzinfo=UTC),
        seed=20260504,
    )
    number = pl.col("case").str.extract(r"(\d+)$")
    return trials.with_columns(
        case=pl.format("{}-{}", "cluster", number),
        score=pl.col("tests_passed") / pl.col("tests_total"),
        seed=pl.format("s{}", pl.col("trial") + 100),
        context=pl.format("box-{}", pl.int_range(pl.len())),
        image=pl.lit("suite-2026.05"),
        split=pl.when(number.cast(pl.Int64) % 5 == 0).then(pl.lit("dev")).otherwise(pl.lit("test")),
    ).select(pl.exclude("true_rate"), "true_rate")


def dirty() -> pl.DataFrame:
    """A small table with the defects that an audit should find; README.md lists them."""
    trials = tr.simulate(
        configs=["copper-1", "copper-2"],
        cases=20,
        trials=5,
        clusters={"webkit": 3, "sqlparse": 1},
        lift=0.1,
        unscored=0.03,
        cost_uusd=30_000,
        tokens=(9_000, 1_200),
        duration_ms=45_000,
        tests_total=8,
        seed=7,
    )
    config, case, trial = pl.col("config"), pl.col("case"), pl.col("trial")
    last = trials["trial"].max()
    second = config == "copper-2"
    copied = trials.filter(second, trial == last - 1).with_columns(trial=trial + 1)
    again = (
        trials.filter(config == "copper-1", trial == 0)
        .head(4)
        .with_columns(passed=pl.col("passed").not_())
    )
    whole = pl.concat([trials.filter((second & (trial == last)).not_()), copied, again])
    row = pl.int_range(pl.len())
    words = (
        pl.when("passed").then(pl.lit("True")).when(pl.col("passed").not_()).then(pl.lit("False"))
    )
    return whole.sort("config", "case", "trial", maintain_order=True).select(
        "config",
        "case",
        pl.when(second).then(trial + 1).otherwise(trial).alias("trial"),
        cluster=pl.when(second & (case == "case_05"))
        .then(pl.lit("sqlparse"))
        .otherwise(pl.col("cluster")),
        passed=pl.when(pl.col("passed") & (row % 17 == 0)).then(pl.lit("Y")).otherwise(words),
        score=pl.when(row % 23 == 0)
        .then(float("nan"))
        .otherwise(pl.col("tests_passed") / pl.col("tests_total")),
        outcome="outcome",
        tokens_in="tokens_in",
        tokens_out=pl.when(row % 6 == 0).then(0).otherwise(pl.col("tokens_out")),
        cost_uusd="cost_uusd",
        duration_ms="duration_ms",
    )


def main(folder: Path) -> None:
    """Write both tables as Parquet files."""
    for name, table in {"leaderboard": leaderboard(), "dirty": dirty()}.items():
        table.write_parquet(folder / f"{name}.parquet", compression="zstd")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
