"""The commands sql and simulate: what is made from nothing but options."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trialframe.cli import _options as opt
from trialframe.cli._conditions import Condition
from trialframe.cli._output import Output
from trialframe.errors import ArgumentError
from trialframe.export.sql import counts_sql
from trialframe.schema import MEASURES
from trialframe.simulate import simulate as make

Table = Annotated[str, opt.panel(None, "--table", "Table of trials.", "NAME")]
Measure = Annotated[
    list[str] | None,
    opt.panel(
        None,
        "--measure",
        "Sum a measure: score, tokens_in, tokens_out, cost_uusd, duration_ms. Repeatable.",
        "NAME",
    ),
]


@opt.takes_options
def sql(
    *,
    table: Table,
    columns: opt.Columns,
    measure: Measure = None,
    by: opt.By = None,
    unscored: opt.Unscored = None,
    output: opt.To = None,
) -> int:
    """Print the query that counts trials, for a warehouse or a dbt model."""
    policy = opt.unscored_of(unscored)
    if not isinstance(policy, str):
        raise ArgumentError("--unscored: a query takes one policy for all outcome classes.")
    given, threshold = dict(columns.given), columns.threshold
    passed = given.get("passed")
    if isinstance(passed, Condition):
        given["score"], threshold = _as_threshold(passed, given)
    given.pop("passed" if isinstance(passed, Condition) else "", None)
    named: dict[str, Any] = {name: name for name in opt.parts(measure)}
    named |= {name: given.pop(name) for name in MEASURES if name in given and name != "score"}
    allowed = ("config", "case", "passed", "score", "cluster", "secure", "weight")
    for name, value in given.items():
        if name not in allowed or isinstance(value, Condition):
            raise ArgumentError(
                f"{name}: a query takes plain columns for {', '.join(allowed)} and measures."
            )
    query = counts_sql(
        table=table,
        threshold=threshold,
        by=by or (),
        measures=named,
        unscored=policy,
        **_present(given),
    )
    Output(kind="sql", path=output).write_bytes(f"{query}\n".encode())
    return 0


def _present(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _as_threshold(passed: Condition, given: dict[str, Any]) -> tuple[str, float]:
    """'reward >= 1' as a score and its threshold, which is all that a query can say."""
    number = isinstance(passed.value, float)
    if not number or passed.sign != ">=" or given.get("score") not in {None, passed.column}:
        raise ArgumentError(
            "--passed: in a query a condition is 'COLUMN >= NUMBER'. Make any other verdict a "
            "column of the table, and name it."
        )
    return passed.column, float(passed.value)


@opt.takes_options
def simulate(
    *,
    out: Output,
    configs: Annotated[
        str, typer.Option(metavar="N|NAMES", help="Number of configs, or names: base,new.")
    ] = "2",
    cases: Annotated[int, typer.Option(help="Cases, the same for every config.")] = 200,
    trials: Annotated[
        str, typer.Option(metavar="N|LOW-HIGH", help="Trials per case; a range makes them ragged.")
    ] = "5",
    clusters: Annotated[int | None, typer.Option(help="Clusters of equal size.")] = None,
    lift: Annotated[float, typer.Option(help="Lift of the last config over the first.")] = 0.0,
    icc: Annotated[float, typer.Option(help="Share of the spread of ease between clusters.")] = 0.0,
    interaction: Annotated[
        float, typer.Option(help="Spread of what makes a case easier for one config only.")
    ] = 0.0,
    unscored: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Trials without a verdict.")
    ] = None,
    insecure: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Passes with a security finding.")
    ] = None,
    cost_uusd: Annotated[
        float | None, opt.panel(None, "--cost-uusd", "Mean price of a trial, micro-dollars.")
    ] = None,
    duration_ms: Annotated[
        float | None, opt.panel(None, "--duration-ms", "Mean time of a trial, milliseconds.")
    ] = None,
    seed: opt.Seed = 0,
) -> int:
    """Simulate trials whose true pass rates are known."""
    from trialframe.report import text

    names = opt.parts([configs])
    low, dash, high = trials.partition("-")
    numbers = opt.whole_numbers([low, high] if dash else [low], "--trials") or [0]
    frame = make(
        configs=int(configs) if configs.strip().isdecimal() else names,
        cases=cases,
        trials=(numbers[0], numbers[-1]) if dash else numbers[0],
        clusters=clusters,
        lift=lift,
        icc=icc,
        interaction=interaction,
        unscored=unscored,
        insecure=insecure,
        cost_uusd=cost_uusd,
        duration_ms=duration_ms,
        seed=seed,
    )
    out.write(
        frame,
        table=lambda console: text.print_frame(console, frame),
        markdown=lambda: text.markdown_frame(frame),
    )
    return 0
