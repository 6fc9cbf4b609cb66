"""Calibrations and corrected rates as lines and rows for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe.errors import listed
from trialframe.judge._labelled import key_columns
from trialframe.judge._words import called, percent, points
from trialframe.judge.ppi import Powered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trialframe.judge.calibrate import Calibration
    from trialframe.judge.correct import Corrected
    from trialframe.judge.correct_difference import CorrectedDifference
    from trialframe.judge.drift import Drift
    from trialframe.judge.ppi_difference import PoweredDifference

    Rate = Corrected | Powered
    Difference = CorrectedDifference | PoweredDifference


FEW = 3
"""Rows that are named one by one."""


def calibration_lines(made: Calibration) -> list[str]:
    """The status, why, and what was assumed or left out."""
    keys = key_columns(made.cells)
    head = made.status
    if made.table.height > 1 and made.table["status"].n_unique() > 1:
        head = f"at least one {made.status}"
    lines = [f"{head}: {_counted(made)}"]
    for row in made.table.iter_rows(named=True):
        # kappa and threshold stand in the table
        if made.table.height == 1 or row["status"] in {"in-sample", "insufficient-data"}:
            name = ", ".join(str(row[key]) for key in keys if row[key] is not None)
            lines.append(f"- {name}: {row['reason']}")
    below = made.table.filter(status="uncalibrated")
    if 0 < below.height < made.table.height:
        lines.append(f"- uncalibrated: {listed(_names(below, keys), 12)}")
    lines += [f"- {text}" for text in (*made.notes, *_cautions(made, keys))]
    if made.unmapped.height:
        texts = ", ".join(f"{text!r} ({rows:,})" for _, text, rows in made.unmapped.rows())
        lines.append(f"- texts without a meaning, not counted: {texts}")
    return lines


def _cautions(made: Calibration, keys: list[str]) -> Iterator[str]:
    """Warnings of rows, each once, with the rows that it is about unless these are all."""
    told: dict[str, list[str]] = {}
    shown = [key for key in keys if made.table[key].n_unique() > 1]
    for row in made.table.iter_rows(named=True):
        for text in (row["warnings"] or "").split("; "):
            if text and "held out is not shown" not in text:
                told.setdefault(text, []).append(", ".join(str(row[key]) for key in shown))
    for text, who in told.items():
        rest = f" and {len(who) - FEW:,} more" if len(who) > FEW else ""
        alone = len(who) == made.table.height
        yield text if alone else f"{'; '.join(who[:FEW])}{rest}: {text}"


def _names(table: pl.DataFrame, keys: list[str]) -> list[str]:
    """Names of rows, the judge's only where there are several."""
    alone = len(keys) > 1 and table["judge"].n_unique() == 1
    shown = table.select(key for key in keys if not (alone and key == "judge"))
    return [", ".join(str(v) for v in row if v is not None) for row in shown.rows()]


def _counted(made: Calibration) -> str:
    good = made.table.filter(status="calibrated").height
    side = "lower bound of kappa" if made.settings.status_by == "lower" else "kappa"
    return (
        f"{good:,} of {made.table.height:,} calibrated ({side} at least "
        f"{made.settings.threshold:g} on held-out labels)"
    )


def calibration_rows(made: Calibration) -> pl.DataFrame:
    """Error rates, kappa and status, one row a judge and group; the last give way for room."""
    keys = [name for name in key_columns(made.cells) if made.table[name].null_count() == 0]
    if len(keys) > 1 and made.table["judge"].n_unique() == 1:
        keys.remove("judge")
    rows = [
        {
            **{name: str(row[name]) for name in keys},
            "cases": row["cases"],
            "sensitivity": _share(row, "sensitivity"),
            "specificity": _share(row, "specificity"),
            "kappa": _number(row, "kappa"),
            "status": row["status"],
            "passes/fails": f"{row['m1']:,}/{row['m0']:,}",
        }
        for row in made.table.iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def rate_lines(found: Sequence[Rate], groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the table does not say, what is assumed, and what weakens it, each once."""
    heads = [", ".join(map(str, group.values())) for group in groups]
    lines = [
        f"{head}: {made.claim}" if head else made.claim
        for made, head in zip(found, heads, strict=True)
        if len(found) == 1 or made.status != "corrected"
    ]
    lines.append(f"assumes {found[0].assumes}")
    several = len({made.config for made in found}) > 1
    for text in dict.fromkeys(text for made in found for text in made.warnings):
        who = [
            ", ".join(filter(None, (head, called(made.config) if several or not head else "")))
            for made, head in zip(found, heads, strict=True)
            if text in made.warnings
        ]
        lines.append(f"- {text}" if len(who) == len(found) else f"- {', '.join(who)}: {text}")
    return lines


def rate_rows(found: Sequence[Rate], groups: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row a config and group: corrected and judged rate."""
    several = len({made.config for made in found}) > 1
    rows = [
        {
            **{name: str(value) for name, value in group.items()},
            **({} if group and not several else {"config": called(made.config)}),
            **_size(made),
            "corrected": f"{percent(made.value)} {_ends(made.low, made.high)}".strip(),
            "by the judge": percent(made.judge_rate),
            **_worth(made),
            "status": made.status,
            "method": made.method,
        }
        for made, group in zip(found, groups, strict=True)
    ]
    return pl.DataFrame(rows)


def _size(made: Rate) -> dict[str, int]:
    """Labels of the run, or judged cases where the labels are others."""
    return {"labels": made.labelled} if isinstance(made, Powered) else {"cases": made.cases}


def _worth(made: Rate) -> dict[str, str]:
    """What labels are worth with the judge, where there is such a number."""
    if not isinstance(made, Powered):
        return {}
    return {"worth": "-" if made.effective is None else f"{made.effective:,.0f}"}


def difference_lines(made: Difference) -> list[str]:
    """The claim, what it assumes and what weakens it."""
    return [made.claim, *(f"- {text}" for text in (f"assumes {made.assumes}", *made.warnings))]


def drift_lines(made: Drift) -> list[str]:
    """The claim, the bias and what weakens both."""
    ends = f"[{points(made.bias_low)}, {points(made.bias_high)}]"
    bias = (
        f"the judge adds {points(made.bias)} points {ends} to {made.candidate} minus "
        f"{made.baseline}: {points(made.judge_diff)} by the judge, {points(made.label_diff)} by "
        "the labels"
    )
    return [f"{made.status}: {made.claim}", f"- {bias}", *(f"- {text}" for text in made.warnings)]


def drift_rows(made: Drift) -> pl.DataFrame:
    """One column an error rate."""
    columns = {
        row["rate"]: [
            percent(row["baseline_value"]),
            percent(row["candidate_value"]),
            points(row["diff"]),
            f"[{points(row['low'])}, {points(row['high'])}]",
            "-" if row["pvalue"] is None else f"{row['pvalue']:.2g}",
            row["method"] or "-",
            row["status"],
        ]
        for row in made.table.iter_rows(named=True)
    }
    quantities = [made.baseline, made.candidate, "difference", f"{made.level:.0%} interval"]
    return pl.DataFrame({"rate": [*quantities, "p", "method", "status"], **columns})


def _share(row: dict[str, float | None], name: str) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None or low is None or high is None:
        return percent(value)
    return f"{100.0 * value:.0f} % [{100.0 * low:.0f}, {100.0 * high:.0f}]"


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"[{100.0 * low:.1f}, {100.0 * high:.1f}]"


def _number(row: dict[str, float | None], name: str) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return "-"
    return f"{value:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")
