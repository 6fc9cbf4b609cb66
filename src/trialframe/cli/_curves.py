"""The commands decay and seq: reliability over length, and over attempts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, cast

import polars as pl

from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._reliability import ABOUT, K
from trialframe.cli._trials import Reading, Trials, given, loaded
from trialframe.display import interval, shown
from trialframe.errors import ArgumentError, ColumnError, listed, short
from trialframe.estimate.attempts import seq_at_k
from trialframe.reliability.decay import Decay, decay_curve
from trialframe.schema import MEASURES

if TYPE_CHECKING:
    from trialframe.counts import Counts

Bucket = Annotated[
    str,
    opt.panel(
        ABOUT,
        "--bucket",
        "Length of the task: a column, or a measure such as duration_ms.",
        "COLUMN",
    ),
]
Order = Annotated[
    list[str] | None,
    opt.panel(ABOUT, "--order", "Buckets, shortest first: a,b,c.", "NAMES"),
]
Edges = Annotated[
    list[str] | None,
    opt.panel(ABOUT, "--edges", "Where buckets begin, as in 5,30,120.", "NUMBERS"),
]
Metric = Annotated[
    str,
    opt.panel(ABOUT, "--metric", "On the curve.", "NAME", "-m"),
]
Most = Annotated[int | None, opt.panel(ABOUT, "-k", "Attempts to look at.")]
Stopped = Annotated[
    str,
    opt.panel(
        ABOUT,
        "--stopped",
        "Sequences that ended early: unsolved, or censored (Kaplan-Meier).",
        "WORD",
    ),
]
Independent = Annotated[
    str | None,
    opt.panel(
        ABOUT,
        "--independent",
        "Independent trials of the same configs, for pass@t and its price.",
        "FILE",
    ),
]


@opt.takes_options
def decay(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    bucket: Bucket,
    order: Order = None,
    edges: Edges = None,
    metric: Metric = "pass^k",
    k: K = 3,
    level: opt.Level = 0.95,
    short_cases: opt.Short = "null",
    units: opt.Units = "clusters",
) -> int:
    """Follow reliability over tasks of rising length, with slope and trend tests."""
    from trialframe.report import text

    counts = _in_buckets(files, columns, trials, bucket)
    found = decay_curve(
        counts,
        bucket=bucket,
        order=opt.parts(order) or None,
        edges=_numbers(edges),
        metric=metric,
        k=k,
        level=level,
        short=cast("Any", short_cases),
        units=units,
    )
    lines = _slopes(found)
    out.write(
        found.curve,
        table=lambda console: text.print_section(console, lines, _curve(found, console.width)),
        markdown=lambda: text.markdown_section(lines, _across(found)),
    )
    if not out.for_people:
        for line in lines:
            say(line)
    for note in counts.notes:
        say(note)
    return 0


def _in_buckets(files: list[str], columns: opt.Columns, trials: Trials, bucket: str) -> Counts:
    """The counts with what the buckets are made of: a column of the cases, or a measure."""
    if bucket not in MEASURES:
        try:
            return loaded(files, columns, trials, by=[bucket]).counts
        except (
            ArgumentError,
            ColumnError,
        ) as error:  # the bucket is what counts keep
            raise type(error)(re.sub(r"^by\b", "bucket", str(error))) from error
    data = loaded(files, columns, trials)
    if bucket not in data.counts.measures:
        named = (bucket,) if bucket != "tests_share" else ("tests_passed", "tests_total")
        raise ColumnError(
            f"bucket: these counts hold no sums of {bucket}, {bucket}_n and {bucket}_sum. Give "
            "the trials, or call the column of the cases otherwise."
            if data.plan.shape == "counts"
            else f"bucket: these trials have no {bucket}. Name it: "
            + ", ".join(f"{name}=..." for name in named)
        )
    return data.counts


def _numbers(texts: list[str] | None) -> list[float] | None:
    found = []
    for part in opt.parts(texts):
        try:
            found.append(float(part))
        except ValueError:
            raise ArgumentError(f"edges == {short(part)}, must be numbers, as in 5,30.") from None
    return found or None


def _slopes(found: Decay) -> list[str]:
    lines = [f"{found.metric} over {' | '.join(found.order)}"]
    for row in found.slopes.iter_rows(named=True):
        if row["slope"] is None:
            lines.append(f"{row['config']}: {row['warnings']}")
            continue
        ends = ""
        if row["low"] is not None:
            ends = f" [{row['low']:+.3f}, {row['high']:+.3f}]"
        shape = "never rises" if row["monotone"] else f"rises from {row['rise']}"
        trend = "" if row["trend_pvalue"] is None else f", trend p = {row['trend_pvalue']:.3g}"
        lines.append(f"{row['config']}: {row['slope']:+.3f} per bucket{ends}{trend}; {shape}")
    told = found.slopes.filter(pl.col("slope").is_not_null() & pl.col("warnings").is_not_null())
    for (words,), part in told.group_by("warnings", maintain_order=True):
        lines.append(f"- {listed(part['config'], 3)}: {words}")
    return [*lines, *(f"- {note}" for note in found.warnings)]


def _curve(found: Decay, width: int) -> pl.DataFrame:
    """One row per config, one column per bucket; one row per cell where that is too wide."""
    wide = _across(found)
    if _room(wide) <= width:
        return wide
    return wide.unpivot(index="config", variable_name="bucket", value_name=found.metric).sort(
        "config", maintain_order=True
    )


def _across(found: Decay) -> pl.DataFrame:
    rows: dict[str, dict[str, Any]] = {}
    for row in found.curve.iter_rows(named=True):
        ends = interval(row["low"], row["high"], "share")
        value = "-" if row["value"] is None else shown(row["value"], "share")
        cell = f"{value} {ends}" if ends else value
        rows.setdefault(row["config"], {"config": row["config"]})[row["bucket"]] = cell
    return pl.DataFrame(list(rows.values()))


@opt.takes_options
def seq(
    files: opt.Files,
    *,
    columns: opt.Columns,
    trials: Reading,
    out: Output,
    k: Most = None,
    stopped: Stopped = "unsolved",
    independent: Independent = None,
    level: opt.Level = 0.95,
) -> int:
    """Follow the share of cases solved by each sequential attempt, and what that cost."""
    from trialframe.report import text

    data = given(files, columns, trials)
    table = seq_at_k(
        data.frame,
        k=k,
        stopped=stopped,
        independent=_counted(independent, columns, trials),
        level=level,
        **data.columns,
    )
    told = _gains(table) + [f"- {line}" for line in table["warnings"].drop_nulls().unique().sort()]
    out.write(
        table,
        table=lambda console: text.print_section(console, told, _by_attempt(table, console.width)),
        markdown=lambda: text.markdown_section(told, _by_attempt(table, None)),
    )
    return 0


def _counted(file: str | None, columns: opt.Columns, trials: Reading) -> Counts | None:
    """Independent trials, counted."""
    if file is None:
        return None
    return loaded([file], columns, Trials(scorer=trials.scorer)).counts


def _by_attempt(table: pl.DataFrame, width: int | None) -> pl.DataFrame:
    """Configs and metrics down, the number of attempts across; long form if that is too wide."""
    value, ends = _shown_column(table), _between(table)
    long = table.select("config", "metric", value=value, interval=ends)
    cells = table.select(
        "config",
        pl.col("metric").str.replace(r"@\d+$", "@k"),
        k="k = " + pl.col("k").cast(pl.String),
        cell=pl.Series([f"{v} {e}".removesuffix(" -") for v, e in zip(value, ends, strict=True)]),
    ).filter(pl.col("k").is_not_null())
    long = long.filter(table["k"].is_not_null())
    wide = cells.pivot("k", index=["config", "metric"], values="cell")
    wide = wide.with_columns(pl.all().fill_null("-"))
    return wide if width is None or _room(wide) <= width else long


def _room(table: pl.DataFrame) -> int:
    """Characters that a table of texts takes."""
    widths = [max(map(len, [name, *table[name].drop_nulls()])) for name in table.columns]
    return sum(widths) + 2 * (len(widths) - 1)


def _gains(table: pl.DataFrame) -> list[str]:
    """What belongs to no number of attempts, one line a config."""
    lines: dict[str, list[str]] = {}
    for row in table.filter(pl.col("k").is_null()).iter_rows(named=True):
        value = "-" if row["value"] is None else shown(row["value"], row["unit"])
        lines.setdefault(row["config"], []).append(f"{row['metric']} {value}")
    return [f"{config}: {', '.join(parts)}" for config, parts in lines.items()]


def _shown_column(table: pl.DataFrame) -> pl.Series:
    rows = table.select("value", "unit").iter_rows()
    return pl.Series([shown(v, unit) if v is not None else "-" for v, unit in rows])


def _between(table: pl.DataFrame) -> pl.Series:
    rows = table.select("low", "high", "unit").iter_rows()
    return pl.Series([interval(low, high, unit) or "-" for low, high, unit in rows])
