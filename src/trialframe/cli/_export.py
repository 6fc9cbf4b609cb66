"""The commands export and ddl: results as tables of a warehouse."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Loaded, Trials, loaded
from trialframe.errors import ArgumentError
from trialframe.export.ddl import TYPES
from trialframe.export.ddl import ddl as defined
from trialframe.export.export import export as exported
from trialframe.export.job import MODES
from trialframe.export.recognise import rows_of
from trialframe.export.rows import conformed
from trialframe.export.stamp import instant, run_id_of, settings_of
from trialframe.export.targets import refuse_missing_folder, target_of
from trialframe.warehouse import TABLES

ABOUT_TARGET = "Where to"

Target = Annotated[
    str,
    opt.panel(
        ABOUT_TARGET,
        "--to",
        "FILE.parquet, .csv, .json, .duckdb, .sqlite, FOLDER/ (Hive), delta:FOLDER, "
        "iceberg:CATALOG.db or postgresql://...; {table} in it stands for the table.",
        "TARGET",
    ),
]
Which = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT_TARGET,
        "--table",
        "counts, estimates, comparisons, decisions, items, findings; several with commas. "
        "Default: estimates.",
        "NAMES",
    ),
]
Mode = Annotated[
    str,
    opt.panel(
        ABOUT_TARGET,
        "--mode",
        "append (the same run replaces its own rows), replace or upsert.",
        "WORD",
    ),
]
Name = Annotated[
    str | None,
    opt.panel(
        ABOUT_TARGET, "--name", "Name of the table in a database, as in evals.{table}.", "NAME"
    ),
]
Suite = Annotated[
    str,
    opt.panel(ABOUT_TARGET, "--suite", "What was evaluated.", "NAME"),
]
Run = Annotated[
    str | None,
    opt.panel(
        ABOUT_TARGET,
        "--run-id",
        "Name of the run; default: a hash of the counts and how they were made.",
        "NAME",
    ),
]
Created = Annotated[
    str | None,
    opt.panel(
        ABOUT_TARGET,
        "--created-at",
        "Time of the export in ISO 8601 with a time zone; default: now.",
        "TIME",
    ),
]
Partitions = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT_TARGET,
        "--partition-by",
        "Columns that make the folders of a Hive or Delta table.",
        "COLUMN",
    ),
]
Baseline = Annotated[
    str | None,
    opt.panel(None, "--baseline", "For comparisons and decisions.", "CONFIG"),
]
Candidate = Annotated[str | None, opt.panel(None, "--candidate", "For decisions.", "CONFIG")]


@opt.takes_options
def export(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    target: Target,
    table: Which = None,
    mode: Mode = "append",
    name: Name = None,
    suite: Suite = "default",
    run_id: Run = None,
    created_at: Created = None,
    partition_by: Partitions = None,
    metric: opt.Metrics = None,
    k: opt.Ks = None,
    by: opt.By = None,
    estimand: opt.Estimand = "cases",
    level: opt.Level = 0.95,
    units: opt.Units = "clusters",
    baseline: Baseline = None,
    candidate: Candidate = None,
    seed: opt.Seed = 0,
) -> int:
    """Compute tables from trials and write them to a warehouse, all under one run id."""
    names = list(dict.fromkeys(opt.parts(table))) or ["estimates"]
    _checks.one_of(mode, "mode", MODES)
    _refuse_target(target, names, name)
    _refuse_options(names, baseline, candidate, metric, k)
    moment = instant(created_at)
    data = loaded(files, columns, trials, by=by)
    asked: dict[str, Any] = {"metrics": opt.parts(metric) or None, "k": opt.whole_numbers(k, "-k")}
    asked |= {"estimand": estimand, "level": level, "units": units, "seed": seed}
    asked["unscored"] = trials.policy
    sides = (baseline, candidate)
    made = {one: _made(one, data, by or [], asked, sides) for one in names}
    run = run_id or _run_of(data, suite)
    for result in made.values():
        done = exported(
            result,
            target,
            mode=mode,
            name=name,
            suite=suite,
            run_id=run,
            created_at=moment,
            partition_by=opt.parts(partition_by) or None,
        )
        sys.stdout.write(
            f"{done.table}: {done.rows:,} rows, {done.mode} to {done.target}, run {done.run_id}\n"
        )
    for note in data.counts.notes:
        say(note)
    return 0


def _refuse_target(target: str, names: list[str], name: str | None) -> None:
    """Look at the target before anything is computed."""
    for one in names:
        place = target_of(target, _checks.one_of(one, "table", TABLES))
        if place.path is not None:
            refuse_missing_folder(place.path)
    one_file = target.lower().endswith((".parquet", ".pq", ".csv", ".json", "/"))
    if len(names) > 1 and (one_file or target.startswith("delta:")) and "{table}" not in target:
        raise ArgumentError(
            f"--to {target} holds one table, not {', '.join(names)}: put {{table}} into its name, "
            "or name a database."
        )
    if len(names) > 1 and name is not None and "{table}" not in name:
        raise ArgumentError(
            f"--name {name} names one table, not {', '.join(names)}: put {{table}} into it."
        )


def _refuse_options(
    names: list[str], baseline: str | None, candidate: str | None, metric: opt.Metrics, k: opt.Ks
) -> None:
    """Options that no table of these would heed are an error."""
    if "decisions" in names and (baseline is None or candidate is None):
        raise ArgumentError("decisions need --baseline and --candidate: name both configs.")
    if candidate is not None and "decisions" not in names:
        raise ArgumentError(
            "--candidate is for decisions: add them to --table, or leave it out. Comparisons are "
            "of every pair, or of every config with --baseline."
        )
    if baseline is not None and not {"comparisons", "decisions"} & set(names):
        raise ArgumentError("--baseline is for comparisons and decisions: add one to --table.")
    if (metric or k) and "estimates" not in names:
        raise ArgumentError("--metric and -k are for estimates: add them to --table.")


def _run_of(data: Loaded, suite: str) -> str:
    """The run id of the counts, which every table of this run carries."""
    rows = rows_of(data.counts, None)
    digest = settings_of(rows.table, suite, rows.settings)[1]
    return run_id_of(conformed(rows, suite), digest)


def _made(
    table: str,
    data: Loaded,
    by: list[str],
    asked: dict[str, Any],
    sides: tuple[str | None, str | None],
) -> Any:
    """The result that a table is made of."""
    few = {name: asked[name] for name in ("level", "units", "seed")}
    if table == "counts":
        return data.counts
    if table == "estimates":
        return _estimates(data, by, asked)
    if table == "comparisons":
        from trialframe.comparison.compare_all import compare_all

        return compare_all(data.counts, baseline=sides[0], **few)
    if table == "decisions":
        from trialframe.comparison.compare import compare
        from trialframe.decide.gate import gate

        pair = str(sides[0]), str(sides[1])
        return gate(compare(data.counts, *pair, **few), by=by or None)
    if table == "items":
        from trialframe.irt.fit import fit_irt

        return fit_irt(data.counts, level=asked["level"], seed=asked["seed"])
    from trialframe.audit import audit

    return audit(data.frame, **data.columns)


def _estimates(data: Loaded, by: list[str], asked: dict[str, Any]) -> Any:
    words = {name: value for name, value in asked.items() if name != "unscored"}
    if asked["estimand"] != "runs":
        from trialframe.estimate.summary import summary

        return summary(data.counts, by=by, **words)
    from trialframe.estimate.runs import run_summary

    if by or asked["metrics"] or asked["k"]:
        raise ArgumentError(
            "--estimand runs gives pass@1 of whole runs: leave out --by, --metric and -k."
        )
    return run_summary(
        data.frame,
        unscored=asked["unscored"],
        level=asked["level"],
        **data.columns,
    )


def ddl(
    table: Annotated[str, typer.Argument(help=f"{', '.join(TABLES)}.")],
    *,
    dialect: Annotated[
        str, opt.panel(None, "--dialect", f"{', '.join(TYPES)}.", "WORD")
    ] = "postgres",
    name: Annotated[
        str | None, opt.panel(None, "--name", "Name of the table there.", "NAME")
    ] = None,
    output: opt.To = None,
) -> int:
    """Print the statements that make a table of the warehouse."""
    Output(kind="sql", path=output).write_bytes(defined(table, dialect, name=name).encode())
    return 0
