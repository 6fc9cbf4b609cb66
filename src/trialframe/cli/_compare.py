"""The commands that compare two configs: as a whole, and case by case."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from trialframe.cli import _options as opt
from trialframe.cli._output import Output, say
from trialframe.cli._trials import Loaded, Trials, loaded
from trialframe.comparison.compare import compare as compared
from trialframe.comparison.headlines import compare_rates
from trialframe.comparison.regressions import regressions as tested
from trialframe.decide.gate import gate as decided
from trialframe.errors import ArgumentError, ColumnError, TrialsError
from trialframe.judge.calibrate import calibrate
from trialframe.judge.correct_difference import rogan_gladen_difference
from trialframe.read._load import load
from trialframe.read.logs import Choice

if TYPE_CHECKING:
    from rich.console import Console

    from trialframe.comparison.result import Comparison
    from trialframe.decide.gate import Decision
    from trialframe.judge.calibrate import Calibration
    from trialframe.judge.correct_difference import CorrectedDifference

ABOUT = "Comparison"
CORRECT_IT = "rogan_gladen_difference"
"""In the advice to correct a difference, which is no advice once that was done."""

TRUE_OR_FALSE = (
    "Write true and false there, or use `trialframe judge correct`, where --verdict says what "
    "words mean."
)

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE... BASELINE CANDIDATE", help="Tables or logs, then the two configs."
    ),
]
Margin = Annotated[
    float | None,
    opt.panel(
        ABOUT,
        "--margin",
        "Largest acceptable loss. Exit code 1 unless a loss that large is excluded.",
    ),
]
Same = Annotated[
    list[str] | None,
    opt.panel(
        ABOUT,
        "--same",
        "A column that must agree between the sides, as the scorer; repeatable.",
        "COLUMN",
    ),
]
Effect = Annotated[str, opt.panel(ABOUT, "--effect", "What is estimated: difference or ratio.")]
IntervalName = Annotated[
    str,
    opt.panel(
        ABOUT, "--interval", "default, t, score, tango, wald+2, bootstrap, bca or studentised."
    ),
]
Test = Annotated[str, opt.panel(ABOUT, "--test", "sign-flip, mcnemar or mid-p.")]
Gate = Annotated[
    bool,
    opt.panel(
        ABOUT,
        "--gate",
        "Decide as well whether to ship, with --by as groups; see the command gate.",
    ),
]
LabelsA = Annotated[
    str | None,
    opt.panel(
        ABOUT,
        "--labels-a",
        "Labels of the baseline (columns judge and label): corrects the judge's errors.",
        "FILE",
    ),
]
LabelsB = Annotated[
    str | None,
    opt.panel(ABOUT, "--labels-b", "Labels of the candidate; the same file serves both.", "FILE"),
]
Base = Annotated[
    str | None,
    opt.panel(
        ABOUT,
        "--base",
        "Without files: the baseline's headline number, as 0.90/1000.",
        "RATE/TRIALS",
    ),
]
New = Annotated[
    str | None,
    opt.panel(ABOUT, "--new", "Without files: the candidate's.", "RATE/TRIALS"),
]


@opt.takes_options
def compare(
    words: Words = None,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    metric: opt.Metric = "pass@1",
    by: opt.By = None,
    same: Same = None,
    effect: Effect = "difference",
    margin: Margin = None,
    interval: IntervalName = "default",
    test: Test = "sign-flip",
    gate: Gate = False,
    labels_a: LabelsA = None,
    labels_b: LabelsB = None,
    base: Base = None,
    new: New = None,
    level: opt.Level = 0.95,
    units: opt.Units = "clusters",
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
) -> int:
    """Compare a candidate with a baseline on the cases that both ran.

    Exit code 1: the candidate is worse, the sides are not comparable, or a loss of --margin is
    not excluded; with --gate: the decision is not to ship.
    """
    if base is not None or new is not None:
        return _headlines(words, base, new, margin, level, out)
    files, baseline, candidate = sides("compare", words)
    groups, alike = opt.parts(by), opt.parts(same)
    data = loaded(files, columns, trials, by=[*groups, *alike])
    found = compared(
        data.counts,
        baseline,
        candidate,
        metric=metric,
        by=groups,
        same=alike,
        effect=effect,
        margin=margin,
        interval=interval,
        test=test,
        level=level,
        units=units,
        trials=data.trials(),
        resamples=resamples,
        seed=seed,
    )
    extras = _Extras(
        decision=decided(found, by=groups or None) if gate else None,
        corrected=_corrected(data, found, labels_a, labels_b, trials),
    )
    if extras.corrected is not None:
        told = tuple(text for text in found.warnings if CORRECT_IT not in text)
        found = replace(found, warnings=told)
    _show(found, extras, out)
    for note in data.counts.notes:
        say(note)
    if extras.corrected is not None and _speaks_against(extras.corrected, margin):
        return 1
    if extras.decision is not None:
        return extras.decision.exit_code
    if extras.corrected is not None:
        return int(found.verdict == "not comparable")
    return int(_against(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extras:
    """What is shown beside a comparison when it was asked for."""

    decision: Decision | None
    corrected: CorrectedDifference | None


def _corrected(
    data: Loaded, found: Comparison, labels_a: str | None, labels_b: str | None, trials: Trials
) -> CorrectedDifference | None:
    """The difference with the judge's errors taken out, from labels of each side."""
    if labels_a is None and labels_b is None:
        return None
    if labels_a is None or labels_b is None:
        raise ArgumentError("--labels-a and --labels-b go together; the same file may serve both.")
    if found.metric != "pass@1":
        raise ArgumentError(f"labels correct pass@1, not {found.metric}.")
    _from_a_judge(data)
    made = _calibrated(labels_a, labels_b, found, trials)
    for note in made.notes:
        say(f"labels: {note}")
    names = (found.baseline, found.candidate)
    return rogan_gladen_difference(data.counts, *names, made, level=found.level)


def _calibrated(labels_a: str, labels_b: str, found: Comparison, trials: Trials) -> Calibration:
    """One calibration of both sides, or one for each."""
    logs = Choice(metrics=tuple(trials.scorer or ()), keep=trials.keep)
    labels, config = load([labels_a], logs).frame, None
    if labels_a != labels_b:
        each = ((labels, found.baseline), (load([labels_b], logs).frame, found.candidate))
        parts = [frame.with_columns(pl.lit(name).alias("config")) for frame, name in each]
        labels, config = pl.concat(parts, how="diagonal_relaxed"), "config"
    try:
        return calibrate(labels, config=config)
    except (ColumnError, TrialsError) as error:  # this command has no options for them
        told = re.sub(r" Name it: (\w+)=\.\.\.$", r" Call it \1.", str(error))
        told = re.sub(r" Say what they mean, .*", f" {TRUE_OR_FALSE}", told)
        raise type(error)(f"labels: {told}") from error


def _from_a_judge(data: Loaded) -> None:
    """Refuse passes that are no verdicts of a judge: its errors are not in them."""
    if data.counts.judged_by is not None:
        return
    trials = data.trials()
    if trials is None:
        say("these are counts: nothing shows that their passes are verdicts of the labelled judge")
        return
    if {"judge", "passed"} <= set(trials.collect_schema().names()):
        same = pl.col("judge").cast(pl.Boolean, strict=False) == pl.col("passed")
        if trials.select(same.all() & same.any()).collect().item():
            return
    raise ArgumentError(
        "passes do not come from a judge column, so there are no errors of a judge to take out: "
        "name it with --passed judge."
    )


def _speaks_against(made: CorrectedDifference, margin: float | None) -> bool:
    """Whether a corrected difference speaks against the candidate, or is none."""
    lost = margin is not None and (made.low is None or made.low <= -margin)
    return made.exit_code != 0 or made.verdict == "worse" or lost


def sides(command: str, words: list[str] | None) -> tuple[list[str], str, str]:
    """Files, baseline and candidate from the words of a command."""
    if len(words or []) <= len(("baseline", "candidate")):
        raise ArgumentError(
            f"{command} needs at least one table, then the baseline and the candidate."
        )
    *files, baseline, candidate = words or []
    return files, baseline, candidate


def _against(found: Comparison) -> bool:
    """Whether the comparison speaks against the candidate."""
    if found.non_inferiority is not None and not found.non_inferiority.holds:
        return True
    return found.verdict in {"worse", "not comparable"}


def _show(found: Comparison, extras: _Extras, out: Output) -> None:
    from trialframe.report import comparison, text
    from trialframe.report.decision import markdown_decision, print_decision
    from trialframe.report.judges import difference_lines

    lines, rows, groups = comparison.lines(found), comparison.rows(found), comparison.groups(found)
    decision, corrected = extras.decision, extras.corrected
    if corrected is not None:
        lines = [*difference_lines(corrected), f"not corrected: {lines[0]}", *lines[1:]]
        rows = comparison.with_corrected(rows, corrected)

    def table(console: Console) -> None:
        text.print_section(console, lines, rows)
        if not groups.is_empty():
            text.print_section(console, [""], groups)
        if decision is not None:
            text.print_section(console, [""], pl.DataFrame())
            print_decision(console, decision)

    def markdown() -> str:
        made = text.markdown_section(lines, rows)
        if not groups.is_empty():
            made += text.markdown_section([], groups)
        return made if decision is None else f"{markdown_decision(decision)}\n{made}"

    out.write(_frame(found, extras, out.kind), table=table, markdown=markdown)


def _frame(found: Comparison, extras: _Extras, kind: str) -> pl.DataFrame:
    """One row; groups where the format can hold them."""
    frame = found.to_frame()
    for prefix, part in (("gate", extras.decision), ("corrected", extras.corrected)):
        if part is not None:
            made = part.to_frame()
            made = made.rename({name: f"{prefix}_{name}" for name in made.columns})
            frame = made.hstack(frame) if prefix == "corrected" else frame.hstack(made)
    if found.groups is None:
        return frame
    if kind in {"json", "parquet"}:
        return frame.with_columns(groups=pl.Series([found.groups.to_dicts()]))
    if kind == "csv":
        say("the groups are in json and parquet")
    return frame


def _headlines(
    words: list[str] | None,
    base: str | None,
    new: str | None,
    margin: float | None,
    level: float,
    out: Output,
) -> int:
    """Two numbers without their cases."""
    from trialframe.report import text

    if words or base is None or new is None:
        raise ArgumentError("--base and --new go together, and without files: --base 0.90/1000.")
    found = compare_rates(base, new, margin=margin, level=level)
    lines = [found.claim, *(f"- {caution}" for caution in found.warnings)]
    out.write(
        found.to_frame(),
        table=lambda console: text.print_section(console, lines, pl.DataFrame()),
        markdown=lambda: text.markdown_section(lines, pl.DataFrame()),
    )
    return int(found.verdict == "worse" or found.non_inferior is False)


Adjust = Annotated[str, opt.panel(ABOUT, "--adjust", "holm, bh, tarone or none.")]
CaseTest = Annotated[str, opt.panel(ABOUT, "--method", "boschloo, barnard, fisher or z.")]
Alpha = Annotated[float, opt.panel(ABOUT, "--alpha", "Level of the tests, in (0, 1).")]


@opt.takes_options
def regressions(
    words: Words = None,
    *,
    columns: opt.Columns,
    trials: Trials,
    out: Output,
    method: CaseTest = "boschloo",
    adjust: Adjust = "holm",
    alpha: Alpha = 0.05,
) -> int:
    """Test every shared case for a change of its pass rate.

    Exit code 1: at least one case got worse.
    """
    from trialframe.report import comparison, text

    files, baseline, candidate = sides("regressions", words)
    data = loaded(files, columns, trials)
    found = tested(data.counts, baseline, candidate, method=method, adjust=adjust, alpha=alpha)
    lines, rows = comparison.case_lines(found, adjust), comparison.case_rows(found)
    out.write(
        found,
        table=lambda console: text.print_section(console, lines, rows),
        markdown=lambda: text.markdown_section(lines, rows),
    )
    for note in data.counts.notes:
        say(note)
    return int((found["status"] == "regression").any())
