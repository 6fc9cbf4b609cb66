#!/usr/bin/env bash
# Build the dbt project of docs/dbt and compare what it counts with tr.counts.
#
# dbt asks for versions of its own, so it gets an environment of its own. PYTHON runs the comparison
# and has trialframe installed; BASE makes the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-python}
BASE=${BASE:-python3.11}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$BASE" -m venv "$work/dbt"
# from 1.11 on dbt-core needs a compiler where there is no wheel for it
"$work/dbt/bin/python" -m pip install -q 'dbt-core<1.11' dbt-duckdb
export EVALS_DUCKDB=$work/evals.duckdb EVALS_TRIALS=$PWD/data/leaderboard.parquet
export DBT_SEND_ANONYMOUS_USAGE_STATS=false
cp -r docs/dbt "$work/project"
(cd "$work/project" && "$work/dbt/bin/dbt" --quiet --no-use-colors build --profiles-dir .)
"$work/dbt/bin/python" - "$work/counts.parquet" <<'PY'
import os
import sys

import duckdb

with duckdb.connect(os.environ["EVALS_DUCKDB"]) as connection:
    connection.execute(f"COPY eval_counts TO '{sys.argv[1]}' (FORMAT parquet)")
PY
"$PYTHON" - "$work/counts.parquet" <<'PY'
import os
import sys

import polars as pl

import trialframe as tr

there = tr.Counts(pl.read_parquet(sys.argv[1])).frame
here = tr.counts(tr.read(os.environ["EVALS_TRIALS"]), by="difficulty").frame.select(there.columns)
if not there.equals(here):
    sys.exit("the counts of dbt differ from those of tr.counts")
print(f"dbt and tr.counts agree on {there.height:,} rows and {there.width} columns")
PY
