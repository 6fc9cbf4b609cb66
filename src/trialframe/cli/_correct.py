"""The commands that calibrate judges and correct what they say: trialframe judge ..."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from trialframe import _checks
from trialframe.cli import _options as opt
from trialframe.cli._corrections import Asked, Tables, difference_of, grouped
from trialframe.cli._output import Output
from trialframe.cli._trials import Verdicts
from trialframe.cli._trials import judged as judged_tables
from trialframe.errors import ArgumentError, short
from trialframe.judge._labelled import FIND
from trialframe.judge._splits import HELD_OUT
from trialframe.judge.calibrate import calibrate as calibrated
from trialframe.judge.drift import judge_drift

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialframe.cli._corrections import Rates

ABOUT = "Columns"
ABOUT_STATUS = "Calibration"
MEANINGS: dict[str, bool | None] = {"true": True, "pass": True, "false": False, "fail": False}
MEANINGS |= {"none": None, "null": None}


def _column(flag: str, text: str) -> Any:
    return opt.panel(ABOUT, flag, text, "COLUMN")


Judges = Annotated[list[str] | None, _column("--judge", "The judge's verdict; repeatable.")]
Judge = Annotated[str | None, _column("--judge", "The judge's verdict.")]
Label = Annotated[str | None, _column("--label", "The human verdict; null where nobody looked.")]
Case = Annotated[list[str] | None, _column("--case", "The case; repeat for several columns.")]
Config = Annotated[str | None, _column("--config", "The system that was judged.")]
Cluster = Annotated[
    str | None, _column("--cluster", "Groups of dependent cases; a column `cluster` is found.")
]
NoCluster = Annotated[
    bool,
    opt.panel(ABOUT, "--no-cluster", "Every case stands alone, whatever columns there are."),
]
Split = Annotated[str | None, _column("--split", "Splits; a column `split` is found.")]
Meanings = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT,
        "--verdict",
        "What a text means: satisfied=true, failure=false, unknown=none; repeatable.",
        "TEXT=MEANING",
    ),
]
HeldOut = Annotated[
    list[str] | None,
    opt.panel(ABOUT_STATUS, "--held-out", "Splits whose rows count (test); repeatable."),
]
TunedOn = Annotated[
    list[str] | None,
    opt.panel(ABOUT_STATUS, "--tuned-on", "Splits the judge was tuned on; default: all others."),
]
Threshold = Annotated[
    float, opt.panel(ABOUT_STATUS, "--threshold", "Kappa that counts as calibrated.")
]
MinN = Annotated[int, opt.panel(ABOUT_STATUS, "--min-n", "Labelled cases that are needed.")]
StatusBy = Annotated[str, opt.panel(ABOUT_STATUS, "--status-by", "point or lower bound of kappa.")]
LabelledFile = Annotated[str, typer.Argument(metavar="LABELLED", help="A table with labels.")]
JudgedFile = Annotated[
    str | None,
    typer.Argument(metavar="[JUDGED]", help="A table with verdicts; ppi needs none."),
]
Method = Annotated[str, opt.panel(None, "--method", "rogan-gladen or ppi.")]
Shared = Annotated[
    str,
    opt.panel(
        None,
        "--calibration",
        "shared: one calibration from all labels; per-config: from the labels of each config; "
        "auto: per-config when the labelled table has the column of --config.",
        "WORD",
    ),
]
Baseline = Annotated[
    str | None, opt.panel(None, "--baseline", "With --candidate: compare two configs.")
]
Candidate = Annotated[
    str | None, opt.panel(None, "--candidate", "The config to compare with --baseline.")
]
Margin = Annotated[
    float, opt.panel(None, "--margin", "Largest difference of an error rate accepted.")
]


@opt.takes_options
def calibrate(
    files: opt.Files,
    *,
    logs: Verdicts,
    out: Output,
    judge: Judges = None,
    label: Label = None,
    case: Case = None,
    config: Config = None,
    cluster: Cluster = None,
    no_cluster: NoCluster = False,
    split: Split = None,
    verdict: Meanings = None,
    by: opt.By = None,
    held_out: HeldOut = None,
    tuned_on: TunedOn = None,
    threshold: Threshold = 0.6,
    min_n: MinN = 20,
    status_by: StatusBy = "point",
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2_000,
    seed: opt.Seed = 0,
) -> int:
    """Compare a judge with labels. Exit code 1: uncalibrated, in-sample or too few labels."""
    from trialframe.report import judges as report

    found = calibrated(
        *judged_tables([files], logs),
        judge=judge,
        label=label,
        case=case,
        config=config,
        cluster=_cluster(cluster, without=no_cluster),
        split=split,
        held_out=opt.parts(held_out) or HELD_OUT,
        tuned_on=opt.parts(tuned_on) or None,
        verdicts=verdicts_of(verdict),
        by=opt.parts(by),
        threshold=threshold,
        min_n=min_n,
        status_by=status_by,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    lines, rows = report.calibration_lines(found), report.calibration_rows(found)
    _write(out, found.table, found.to_dict, lines, rows)
    return found.exit_code


@opt.takes_options
def correct(
    labelled: LabelledFile,
    judged: JudgedFile = None,
    *,
    logs: Verdicts,
    out: Output,
    method: Method = "rogan-gladen",
    judge: Judge = None,
    label: Label = None,
    case: Case = None,
    config: Config = None,
    cluster: Cluster = None,
    no_cluster: NoCluster = False,
    split: Split = None,
    verdict: Meanings = None,
    by: opt.By = None,
    held_out: HeldOut = None,
    tuned_on: TunedOn = None,
    baseline: Baseline = None,
    candidate: Candidate = None,
    calibration: Shared = "auto",
    level: opt.Level = 0.95,
) -> int:
    """Correct a judge's pass rates by its errors on labels (rogan-gladen) or by labels (ppi).

    Exit code 1: refused, in-sample, or too few labels.
    """
    _checks.one_of(method, "method", ("rogan-gladen", "ppi"))
    if (baseline is None) != (candidate is None):
        raise ArgumentError("--baseline and --candidate go together.")
    pair = None if baseline is None or candidate is None else (baseline, candidate)
    given: dict[str, Any] = {"judge": judge, "label": label, "case": case}
    given |= {"config": config, "cluster": _cluster(cluster, without=no_cluster)}
    splits: dict[str, Any] = {"split": split, "held_out": opt.parts(held_out) or HELD_OUT}
    splits |= {"tuned_on": opt.parts(tuned_on) or None}
    words = verdicts_of(verdict)
    asked = Asked(
        method=method, given=given, splits=splits, words=words, calibration=calibration, level=level
    )
    tables = Tables.of(labelled, judged, method, logs)
    if pair is None:
        return _rates(out, grouped(asked, tables, opt.parts(by)))
    if by:
        raise ArgumentError("--by corrects rates: leave it out, or --baseline and --candidate.")
    return _difference(out, *difference_of(asked, tables, pair))


@opt.takes_options
def drift(
    files: opt.Files,
    *,
    logs: Verdicts,
    out: Output,
    baseline: Annotated[str, typer.Option(help="First config, a value of --config.")],
    candidate: Annotated[str, typer.Option(help="Second config.")],
    config: Annotated[str, _column("--config", "The system that was judged.")],
    judge: Judge = None,
    label: Label = None,
    case: Case = None,
    cluster: Cluster = None,
    no_cluster: NoCluster = False,
    split: Split = None,
    verdict: Meanings = None,
    held_out: HeldOut = None,
    tuned_on: TunedOn = None,
    margin: Margin = 0.1,
    level: opt.Level = 0.95,
) -> int:
    """Test whether a judge errs alike on two configs. Exit code 1: it does not, or nobody knows."""
    from trialframe.report import judges as report

    known = calibrated(
        *judged_tables([files], logs),
        judge=judge,
        label=label,
        case=case,
        config=config,
        cluster=_cluster(cluster, without=no_cluster),
        split=split,
        held_out=opt.parts(held_out) or HELD_OUT,
        tuned_on=opt.parts(tuned_on) or None,
        verdicts=verdicts_of(verdict),
        level=level,
    )
    found = judge_drift(known, baseline, candidate, margin=margin, level=level)
    lines, rows = report.drift_lines(found), report.drift_rows(found)
    _write(out, found.table, found.to_dict, lines, rows)
    return found.exit_code


def verdicts_of(texts: list[str] | None) -> dict[str, bool | None] | None:
    """What texts mean, from "satisfied=true" and so on.

    Raises:
        ArgumentError: No meaning, or another than true, false and none.

    Examples:
        >>> verdicts_of(["satisfied=true", "a=b=false"])
        {'satisfied': True, 'a=b': False}
    """
    if not texts:
        return None
    found = {}
    for text in texts:
        word, sign, meaning = text.rpartition("=")
        if not sign or meaning.strip().lower() not in MEANINGS:
            raise ArgumentError(
                f"--verdict {short(text)}: write what it means, as in satisfied=true, "
                "failure=false or unknown=none."
            )
        found[word] = MEANINGS[meaning.strip().lower()]
    return found


def _cluster(name: str | None, *, without: bool) -> str | None:
    """The column of clusters, the one to look for, or None to leave them out."""
    if name is not None and without:
        raise ArgumentError("give either --cluster or --no-cluster, not both.")
    return None if without else name or FIND


def _rates(out: Output, made: Rates) -> int:
    from trialframe.report import judges as report

    pairs = list(zip(made.found, made.groups, strict=True))
    frames = [
        one.to_frame().select(
            *(pl.lit(value).alias(name) for name, value in group.items()), pl.all()
        )
        for one, group in pairs
    ]
    lines = [*report.rate_lines(made.found, made.groups), *(f"- {note}" for note in made.notes)]
    rows = report.rate_rows(made.found, made.groups)
    everything = [group | one.to_dict() for one, group in pairs]
    _write(out, pl.concat(frames, how="vertical_relaxed"), lambda: everything, lines, rows)
    return max(int(one.exit_code) for one in made.found)


def _difference(out: Output, made: Any, notes: tuple[str, ...]) -> int:
    from trialframe.report import judges as report

    lines = [*report.difference_lines(made), *(f"- {note}" for note in notes)]
    _write(out, made.to_frame(), made.to_dict, lines, pl.DataFrame())
    return int(made.exit_code)


def _write(
    out: Output,
    frame: pl.DataFrame,
    everything: Callable[[], Any],
    lines: list[str],
    rows: pl.DataFrame,
) -> None:
    """JSON with everything, CSV and Parquet as rows, the rest for people."""
    from trialframe.report import text

    if out.kind == "json":
        told = json.dumps(everything(), indent=1, ensure_ascii=False, default=str)
        out.write_bytes(f"{told}\n".encode())
        return
    out.write(
        frame,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
