"""A judge against labels: how often both agree and how often each of two errors is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trialframe import _checks
from trialframe.charts import _frames
from trialframe.charts._theme import WIDTH, altair, finished, look
from trialframe.display import counted, interval, shown

if TYPE_CHECKING:
    from typing import Any

    from trialframe.charts._theme import Chart, Theme

NEEDS = ("tp", "fp", "fn", "tn", "kappa", "sensitivity", "specificity", "status")
VERDICTS = ("judge passes", "judge fails")
LABELS = ("label: pass", "label: fail")
CELLS = {
    "tp": (LABELS[0], VERDICTS[0], True),
    "fn": (LABELS[0], VERDICTS[1], False),
    "fp": (LABELS[1], VERDICTS[0], False),
    "tn": (LABELS[1], VERDICTS[1], True),
}


def confusion(
    frame: pl.DataFrame, *, theme: Theme = "light", width: int = WIDTH, limit: int = 12
) -> Chart:
    """Labels by verdicts, with the share of each label's row: one panel a judge and group.

    Args:
        frame: `Calibration.table`.
        theme: "light" or "dark".
        width: Pixels that the chart takes, labels included.
        limit: Most panels, from 1 to 60; the subtitle says so when there are more.

    Returns:
        A chart whose `data` has four rows per row of the table: `panel`, `label`, `verdict`,
        `n`, `share` of the label's rows, `kind` ("agree", "differ") and `text`.

    Raises:
        ArgumentError: No rows, an unknown theme.
        ColumnError: No calibration table.
    """
    frame = _frames.taken(frame, NEEDS, "confusion")
    limit = _checks.integer(limit, "limit", low=1, high=60)
    keys = [name for name in frame.columns[: frame.columns.index("n")] if name != "n"]
    kept = frame.head(limit)
    drawn = _cells(kept, _names(kept, keys))
    first = frame.row(0, named=True)
    across = min(3, kept.height)
    side = max(150, min(260, round((width - 150) / across) - 24))
    alt, now = altair(), look(theme)
    x = alt.X(
        "verdict:N",
        title=None,
        scale=alt.Scale(domain=list(VERDICTS)),
        axis=alt.Axis(labelAngle=0, orient="bottom", ticks=False, domain=False),
    )
    y = alt.Y(
        "label:N",
        title=None,
        scale=alt.Scale(domain=list(LABELS)),
        axis=alt.Axis(ticks=False, domain=False),
    )
    base = alt.Chart().encode(x=x, y=y)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["agree", "differ"], range=[now.good, now.bad]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    strength = alt.Opacity(
        "share:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 0.6]), legend=None
    )
    layers = [
        base.mark_rect(stroke=now.paper, strokeWidth=2).encode(color=colour, opacity=strength),
        base.mark_text(color=now.ink, fontSize=14, fontWeight="bold", dy=-8).encode(text="shown:N"),
        base.mark_text(color=now.ink, fontSize=11, dy=10).encode(text="text:N"),
    ]
    chart = (
        alt.layer(*layers, data=drawn)
        .properties(width=side, height=round(side * 0.55))
        .facet(
            facet=alt.Facet("panel:N", title=None, sort=_names(kept, keys)),
            columns=across,
            spacing=24,
        )
    )
    return finished(
        chart,
        theme=theme,
        width=width,
        fit=False,
        title=f"Judge against labels: {first['status']}"
        if frame.height == 1
        else f"Judge against labels, {counted(frame.height, 'row')}",
        lines=_lines(frame, kept),
        alt=_alt(kept, keys),
    )


def _names(frame: pl.DataFrame, keys: list[str]) -> list[str]:
    rows = [
        tuple(part for part in row if part is not None) or ("judge",)
        for row in frame.select(keys).rows()
    ]
    return _frames.labels(rows)


def _cells(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    made: list[dict[str, Any]] = []
    for name, row in zip(names, frame.iter_rows(named=True), strict=True):
        sizes = {LABELS[0]: row["tp"] + row["fn"], LABELS[1]: row["fp"] + row["tn"]}
        for cell, (label, verdict, agree) in CELLS.items():
            total = sizes[label]
            share = row[cell] / total if total else None
            made.append(
                {
                    "panel": name,
                    "label": label,
                    "verdict": verdict,
                    "n": row[cell],
                    "share": share,
                    "kind": "agree" if agree else "differ",
                    "shown": f"{row[cell]:,}",
                    "text": f"{shown(share, 'share')} of {total:,}",
                }
            )
    return pl.DataFrame(made, schema_overrides={"share": pl.Float64}, infer_schema_length=None)


def _lines(frame: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    told = []
    if frame.height == 1:
        row = frame.row(0, named=True)
        level = _frames.percent(row.get("level"))
        told = [
            f"kappa {_plain(row, 'kappa')}, sensitivity {_rate(row, 'sensitivity')}, "
            f"specificity {_rate(row, 'specificity')}; {level} intervals, "
            f"{row.get('rate_interval') or ''}".rstrip(", "),
            _frames.harmless(str(row.get("reason") or "")),
        ]
    unseen = {
        name: int(frame[name].fill_null(0).sum())
        for name in ("no_verdict", "no_label", "leaked_cases")
        if name in frame.columns
    }
    words = {
        "no_verdict": "rows without a verdict",
        "no_label": "rows without a label",
        "leaked_cases": "cases that the judge was tuned on",
    }
    out = [f"{number:,} {words[name]}" for name, number in unseen.items() if number]
    return [
        *told,
        f"left out: {', '.join(out)}" if out else "",
        _frames.truncated(kept.height, frame.height, "row", "the first"),
    ]


def _rate(row: dict[str, Any], name: str) -> str:
    ends = interval(row.get(f"{name}_low"), row.get(f"{name}_high"), "share")
    return f"{shown(row[name], 'share')} {ends}".strip()


def _plain(row: dict[str, Any], name: str) -> str:
    ends = interval(row.get(f"{name}_low"), row.get(f"{name}_high"), None)
    return f"{shown(row[name], None)} {ends}".strip()


def _alt(frame: pl.DataFrame, keys: list[str]) -> str:
    told = [
        f"{name}: {row['status']}; kappa {_plain(row, 'kappa')}; of {row['tp'] + row['fn']:,} "
        f"labelled passes the judge passes {row['tp']:,}, of {row['fp'] + row['tn']:,} labelled "
        f"fails it fails {row['tn']:,}."
        for name, row in zip(_names(frame, keys), frame.iter_rows(named=True), strict=True)
    ]
    return f"Verdicts of a judge against labels. {' '.join(told[:6])}"
