"""From counts to what a report says: each part is asked of the library once, then put in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trialframe import _checks
from trialframe.comparison.compare import compare
from trialframe.comparison.compare_all import ADJUST, compare_all
from trialframe.comparison.leaderboard import leaderboard
from trialframe.decide.gate import gate
from trialframe.display import counted
from trialframe.errors import (
    ArgumentError,
    TrialsError,
    UnknownConfigError,
    did_you_mean,
    short,
)
from trialframe.estimate.summary import summary
from trialframe.report.page import boards, cases, methods, pairs, verdicts
from trialframe.report.page.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from trialframe.comparison.result import Comparison
    from trialframe.counts import Counts
    from trialframe.decide.gate import Decision
    from trialframe.report.page.model import Section, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a report is asked for.

    Attributes:
        title: Heading.
        sources: Names of the files, empty for a table in memory.
        metric: A metric with one value per case.
        baseline: Config that others are compared with, or None.
        candidate: The one config to compare with it, or None for all.
        by: Columns to group by.
        gate: "decide" whether to ship the candidate, or "none".
        adjust: How p-values are adjusted for each other.
        level: Nominal coverage.
        units: "clusters" or "cases".
        resamples: Bootstrap resamples.
        seed: Seed of everything random.
    """

    title: str
    sources: tuple[str, ...] = ()
    metric: str = "pass@1"
    baseline: str | None = None
    candidate: str | None = None
    by: tuple[str, ...] = ()
    gate: str = "none"
    adjust: str = "holm"
    level: float = 0.95
    units: str = "clusters"
    resamples: int = 10_000
    seed: int = 0

    @classmethod
    def checked(cls, **given: Any) -> Asked:
        """The same from what a user gave.

        Raises:
            ArgumentError: An option that does not exist, or a heading that is no text.
        """
        title = given["title"]
        if not isinstance(title, str) or not title.strip():
            raise ArgumentError(f"title == {short(title)}, must be a text.")
        _checks.one_of(given["gate"], "gate", ("none", "decide"))
        _checks.one_of(given["adjust"], "adjust", ADJUST)
        _checks.between(given["level"], "level", inclusive=False)
        _checks.one_of(given["units"], "units", ("clusters", "cases"))
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the library answered.

    Attributes:
        counts: What all of it rests on.
        board: The leaderboard, or why there is none.
        metrics: The summary of all metrics.
        groups: The leaderboards of the groups, why there are none, or None.
        many: Every other config compared with the baseline, or None.
        one: The comparison of the one candidate, or None.
        decision: What the gate says, or None.
        changes: What became of single cases, or None without a baseline.
        flaky: Cases that some config both passed and failed.
        findings: What the audit found, or None.
    """

    counts: Counts
    board: pl.DataFrame | str
    metrics: pl.DataFrame
    groups: pl.DataFrame | str | None
    many: pl.DataFrame | None
    one: Comparison | None
    decision: Decision | None
    changes: cases.Changes | None
    flaky: cases.Flaky
    findings: pl.DataFrame | None


def page_of(counts: Counts, asked: Asked, findings: pl.DataFrame | None) -> Page:
    """A report on counts.

    Args:
        counts: What all numbers are made from.
        asked: What is asked for.
        findings: What `tr.audit` found in the trials; None where only counts are known.

    Raises:
        UnknownConfigError: The baseline or the candidate is not in the counts.
        ArgumentError: Options that do not go together.
    """
    asked = _settled(counts, asked)
    found = _found(counts, asked, findings)
    return Page(
        title=asked.title,
        subject=_subject(counts),
        verdicts=tuple(_verdicts(found)),
        sections=tuple(_sections(found, asked)),
        exit_code=found.decision.exit_code if found.decision is not None else 0,
    )


def _settled(counts: Counts, asked: Asked) -> Asked:
    """The same, with a candidate where there is only one, when all of it goes together."""
    configs = counts.configs
    for name in (asked.baseline, asked.candidate):
        if name is not None and name not in configs:
            raise UnknownConfigError(
                f"no config {name!r} in these counts. {did_you_mean(str(name), configs)}"
            )
    if asked.baseline is None:
        if asked.candidate is not None or asked.gate != "none":
            word = "a candidate" if asked.candidate is not None else "a gate"
            raise ArgumentError(f"{word} needs something to compare with: give baseline= as well.")
        return asked
    if asked.baseline == asked.candidate:
        raise ArgumentError(f"baseline and candidate are both {asked.baseline!r}: name two.")
    others = [name for name in configs if name != asked.baseline]
    if not others:
        raise TrialsError(f"{asked.baseline!r} is the only config: comparing takes two.")
    if asked.candidate is None and len(others) == 1:
        asked = replace(asked, candidate=others[0])
    if asked.gate != "none" and asked.candidate is None:
        raise ArgumentError(
            f"a gate decides on one config, and {len(others)} could be meant: give candidate=."
        )
    return asked


def _found(counts: Counts, asked: Asked, findings: pl.DataFrame | None) -> Found:
    options: dict[str, Any] = {
        "level": asked.level,
        "units": asked.units,
        "resamples": asked.resamples,
        "seed": asked.seed,
    }
    many = one = decision = changes = None
    if asked.baseline is not None:
        if asked.candidate is None:
            many = compare_all(
                counts, asked.baseline, metric=asked.metric, adjust=asked.adjust, **options
            )
        else:
            one = compare(
                counts,
                asked.baseline,
                asked.candidate,
                metric=asked.metric,
                by=asked.by,
                **options,
            )
        changes = cases.changes_of(
            counts, asked.baseline, asked.candidate, 1.0 - asked.level, asked.metric
        )
    if one is not None and asked.gate != "none":
        decision = gate(one, alpha=1.0 - asked.level, by=asked.by or None)
    return Found(
        counts=counts,
        board=_board(counts, asked, (), options),
        metrics=summary(counts, **options),
        groups=_board(counts, asked, asked.by, options) if asked.by else None,
        many=many,
        one=one,
        decision=decision,
        changes=changes,
        flaky=cases.flaky_of(counts),
        findings=findings,
    )


def _board(
    counts: Counts, asked: Asked, by: tuple[str, ...], options: dict[str, Any]
) -> pl.DataFrame | str:
    """The leaderboard, or why there is none: other parts of a report may stand without it."""
    try:
        return leaderboard(counts, metric=asked.metric, by=by or None, **options)
    except TrialsError as error:
        return str(error)


def _subject(counts: Counts) -> str:
    """What was evaluated, in one line."""
    frame = counts.frame
    cells = frame.select("config", "case").n_unique() if frame.height else 0
    without = methods.without_verdict(counts)
    told = [
        counted(frame["config"].n_unique(), "config"),
        counted(frame["case"].n_unique(), "case"),
    ]
    if "cluster" in frame.columns:
        told[-1] += f" in {counted(frame['cluster'].n_unique(), 'cluster')}"
    told.append(counted(int(frame["n"].sum()), "scored trial"))
    if without:
        told.append(f"{without:,} without a verdict")
    pairs_there = frame["config"].n_unique() * frame["case"].n_unique()
    if cells < pairs_there:
        told.append(f"{pairs_there - cells:,} of {pairs_there:,} config-case pairs not tried")
    return ", ".join(told)


def _verdicts(found: Found) -> Iterator[Verdict]:
    if found.decision is not None:
        yield verdicts.of_gate(found.decision)
    if found.one is not None:
        yield verdicts.of_pair(found.one)
    yield verdicts.of_board(found.board)
    if found.many is not None:
        yield verdicts.of_many(found.many)
    if found.changes is not None:
        yield verdicts.of_changes(found.changes)
    yield verdicts.of_flaky(found.flaky)
    yield verdicts.of_findings(found.findings)


def _sections(found: Found, asked: Asked) -> Iterator[Section]:
    if found.decision is not None:
        yield pairs.decision(found.decision)
    yield boards.leaderboard(found.board, asked.by)
    if found.one is not None:
        yield pairs.one(found.one)
    if found.many is not None:
        yield pairs.many(found.many)
    if found.groups is not None:
        yield boards.groups(found.groups, asked.by)
    if found.changes is not None:
        yield cases.changed(found.changes)
    yield cases.flaky(found.flaky)
    yield boards.metrics(found.metrics)
    yield methods.findings(found.findings)
    yield methods.methods(found, asked)
