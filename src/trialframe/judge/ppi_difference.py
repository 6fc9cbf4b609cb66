"""Difference of two runs from few labels and many verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, UnknownConfigError, did_you_mean
from trialframe.judge._samples import LABELLED, UNLABELLED, Parts, codes_of, parts_of, sample_of
from trialframe.judge._words import known, points
from trialframe.judge.ppi import ASSUMES, FEW_CLUSTERS, FEW_OF_A_CLASS, interval
from trialframe.kernels import ppi as kernels
from trialframe.kernels.paired import tango
from trialframe.kernels.ppi import Part, Sample
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_ROWS = 2
"""Labelled cases that a part needs to have a variance."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PoweredDifference(Result):
    """Difference of two pass rates, candidate minus baseline, from labels and verdicts.

    Attributes:
        status: "corrected"; "labels-only" (too few labels differ between the runs: Tango's interval
            of the labels); "insufficient-data" (fewer labels in a run than asked for).
        reason: Why.
        claim: One sentence that the numbers support.
        verdict: "better", "worse" or "inconclusive".
        design: "paired" (cases labelled in both runs), "independent" (in one run only) or "mixed".
        method: "ppi++", or "labels, tango".
        baseline: Name of the baseline.
        candidate: Name of the candidate.
        diff: The difference.
        se: Its standard error.
        df: Degrees of freedom; None for "z" and Tango.
        low: Lower end of the interval, in [-1, 1].
        high: Upper end.
        level: Nominal coverage.
        critical: "t" or "z".
        lam: Lambda of the paired part; None without one.
        lam_baseline: Lambda of the baseline in the independent part.
        lam_candidate: Lambda of the candidate there.
        paired_share: Weight of the paired part in the difference.
        ppi_diff: The prediction-powered difference, whatever `method` is.
        ppi_se: Its standard error.
        ppi_low: Lower end of its interval, not clipped.
        ppi_high: Upper end.
        labels_diff: Difference of the labels alone, same design and weights.
        labels_se: Its standard error.
        judge_diff: Difference of the judge's pass rates over all cases.
        paired_labels: Cases labelled in both runs.
        baseline_labels: Further labelled cases of the baseline that are used.
        candidate_labels: Further labelled cases of the candidate that are used.
        assumes: What must hold.
        warnings: What weakens the statement, what was left out.
    """

    status: str
    reason: str
    claim: str
    verdict: str
    design: str
    method: str
    baseline: str
    candidate: str
    diff: float
    se: float | None
    df: float | None
    low: float | None
    high: float | None
    level: float
    critical: str
    lam: float | None
    lam_baseline: float | None
    lam_candidate: float | None
    paired_share: float
    ppi_diff: float
    ppi_se: float | None
    ppi_low: float | None
    ppi_high: float | None
    labels_diff: float
    labels_se: float | None
    judge_diff: float
    paired_labels: int
    baseline_labels: int
    candidate_labels: int
    assumes: str = ASSUMES
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 with fewer labels than asked for, else 0."""
        return int(self.status == "insufficient-data")

    def __repr__(self) -> str:
        """The claim, what it assumes and what weakens it."""
        notes = (f"- {text}" for text in (f"assumes {self.assumes}", *self.warnings))
        return "\n".join([f"PoweredDifference: {self.claim}", *notes])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Rows of both runs, split by what they share.

    Attributes:
        pairs: Differences of cases with the same part in both runs: `case, part, y, f, unit`.
        sides: What is left of baseline and candidate; empty when it is not used.
        notes: What was left out.
    """

    pairs: pl.DataFrame
    sides: tuple[pl.DataFrame, pl.DataFrame]
    notes: tuple[str, ...]


def ppi_difference(
    labelled: Any,
    baseline: str,
    candidate: str,
    *,
    unlabelled: Any = None,
    config: str,
    label: str | None = None,
    judge: str | None = None,
    case: str | Sequence[str] | None = None,
    cluster: str | None = None,
    verdicts: Mapping[Any, bool | None] | None = None,
    critical: str = "t",
    min_labels: int = 20,
    level: float = 0.95,
) -> PoweredDifference:
    """Compare two runs with labels on some cases and a judge's verdicts on all.

    Unlike a correction by error rates it needs no judge that errs alike on both runs. The labelled
    cases of each run must be a random part of it.

    Args:
        labelled: One row per judged trial of either run; rows without a label count as unlabelled.
        baseline: System to compare with, a value of `config`.
        candidate: System under test.
        unlabelled: Further rows without labels.
        config: Column with the system.
        label: Column with the label. Default: `label`.
        judge: Column with the judge's verdict. Default: `judge`.
        case: Column of the case, or several; cases of the same name are paired.
        cluster: Column with groups of dependent cases.
        verdicts: What texts mean, as in `tr.calibrate`.
        critical: "t", or "z" as in the literature.
        min_labels: Labelled cases in each run below which the status is "insufficient-data".
        level: Nominal coverage, in (0, 1).

    Returns:
        A `PoweredDifference`.

    Raises:
        UnknownConfigError: A system that the table does not hold.
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Values that are neither pass nor fail, or no label.
        ArgumentError: The same system twice, or too few labels to see a spread.

    Notes:
        Cases labelled in both runs give differences of labels and of verdicts and one lambda for
        them; that keeps the pairing. Cases labelled in one run give an estimate per run with its
        own lambda, and variances add. With both kinds the differences are weighted by what their
        labels would tell if they varied as verdicts do: those variances come from many cases.
        Cases or clusters that occur on several sides add their contributions before squaring, so
        that no sharing is taken for independence. Satterthwaite degrees of freedom.

    References:
        Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    Examples:
        >>> import trialframe as tr
        >>> old = {"config": ["a"] * 80, "case": range(80), "judge": [1, 0, 1, 0] * 20}
        >>> new = {"config": ["b"] * 80, "case": range(80), "judge": [1, 1, 1, 0] * 20}
        >>> rows = {name: [*old[name], *new[name]] for name in old}
        >>> rows["label"] = [1, 0, 0, 0] * 10 + [None] * 40 + [1, 1, 0, 0] * 10 + [None] * 40
        >>> found = tr.ppi_difference(rows, "a", "b", config="config")
        >>> round(found.diff, 3), found.design, found.verdict
        (0.25, 'paired', 'better')
    """
    critical = _checks.one_of(critical, "critical", ("t", "z"))
    min_labels = _checks.integer(min_labels, "min_labels", low=2)
    level = _checks.between(level, "level", inclusive=False)
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two systems.")
    given = {"label": label, "judge": judge, "case": case, "cluster": cluster, "config": config}
    data = parts_of(labelled, unlabelled, given, verdicts)
    for name in (baseline, candidate):
        if name not in data.configs:
            told = did_you_mean(name, [str(other) for other in data.configs])
            raise UnknownConfigError(f"no system {name!r} in column {config!r}. {told}")
    return _compared(data, baseline, candidate, critical=critical, least=min_labels, level=level)


def _compared(
    data: Parts, baseline: str, candidate: str, *, critical: str, least: int, level: float
) -> PoweredDifference:
    a, b = data.of(baseline), data.of(candidate)
    made = _design(a, b)
    fit = _fitted(made, clustered=data.clustered)
    own = interval(fit["diff"], fit["se"], fit["df"], critical, level)
    fewest = min(int((side["part"] == LABELLED).sum()) for side in (a, b))
    result = PoweredDifference(
        status="corrected",
        reason="",
        claim="",
        verdict="",
        design=fit["design"],
        method="ppi++",
        baseline=baseline,
        candidate=candidate,
        diff=fit["diff"],
        se=known(fit["se"]),
        df=known(fit["df"]) if critical == "t" else None,
        low=_clipped(own.low),
        high=_clipped(own.high),
        level=level,
        critical=critical,
        lam=fit["lam"],
        lam_baseline=fit["lams"][0],
        lam_candidate=fit["lams"][1],
        paired_share=fit["share"],
        ppi_diff=fit["diff"],
        ppi_se=known(fit["se"]),
        ppi_low=known(own.low),
        ppi_high=known(own.high),
        labels_diff=fit["labels_diff"],
        labels_se=known(fit["labels_se"]),
        judge_diff=_judge_rate(b) - _judge_rate(a),
        paired_labels=int((made.pairs["part"] == LABELLED).sum()),
        baseline_labels=int((made.sides[0]["part"] == LABELLED).sum()),
        candidate_labels=int((made.sides[1]["part"] == LABELLED).sum()),
        warnings=(*data.notes, *made.notes),
    )
    return _worded(_guarded(result, made, fewest, least))


def _design(a: pl.DataFrame, b: pl.DataFrame) -> _Design:
    """Split the rows of two runs into pairs and the rest."""
    parts = (
        a.group_by("case")
        .agg(pl.col("part").sort())
        .join(b.group_by("case").agg(pl.col("part").sort()), on="case", suffix="_b")
    )
    both = parts.filter((pl.col("part") == pl.col("part_b")) & (pl.col("part").list.len() == 1))
    shared = both["case"].implode()
    key = ["case", "part"]
    pairs = (
        a.filter(pl.col("case").is_in(shared))
        .join(b.filter(pl.col("case").is_in(shared)), on=key, suffix="_b")
        .sort("case")
    )
    pairs = pairs.select(
        *key,
        "unit",
        y=pl.col("y_b") - pl.col("y"),
        f=pl.col("f_b") - pl.col("f"),
        trials=pl.max_horizontal("trials", "trials_b"),
    )
    rest = (a.filter(~pl.col("case").is_in(shared)), b.filter(~pl.col("case").is_in(shared)))
    enough = [int((side["part"] == LABELLED).sum()) >= LEAST_ROWS for side in rest]
    paired = int((pairs["part"] == LABELLED).sum()) >= LEAST_ROWS
    notes = []
    if not paired:
        pairs, rest, enough = pairs.clear(), (a, b), [True, True]
    elif not all(enough):
        alone = rest[0].height + rest[1].height
        if alone:
            notes.append(
                f"{alone:,} cases with a label in one run only, or in one run at all, left out"
            )
        rest = (rest[0].clear(), rest[1].clear())
    return _Design(pairs=pairs, sides=rest, notes=tuple(notes))


def _fitted(made: _Design, *, clustered: bool) -> dict[str, Any]:
    """The difference with its parts put together."""
    for side, word in zip(made.sides, ("baseline", "candidate"), strict=True):
        count = int((side["part"] == LABELLED).sum())
        if made.pairs.is_empty() and count < LEAST_ROWS:
            raise ArgumentError(f"{count} labelled cases of the {word}: at least 2 are needed.")
    blocks = []
    lam: float | None = None
    if made.pairs.height:
        sample = sample_of(made.pairs, clustered=clustered)
        lam = _lambda(sample)
        blocks.append([(sample, lam, 1.0, made.pairs)])
    lams: tuple[float | None, float | None] = (None, None)
    if made.sides[0].height:
        samples = [sample_of(side, clustered=clustered) for side in made.sides]
        chosen = [_lambda(sample) for sample in samples]
        lams = (chosen[0], chosen[1])
        blocks.append(
            [(samples[i], chosen[i], sign, made.sides[i]) for i, sign in enumerate((-1.0, 1.0))]
        )
    weights = _weights(blocks)
    found = _summed(blocks, weights, clustered=clustered)
    alone = _summed(
        [[(sample, 0.0, sign, rows) for sample, _, sign, rows in block] for block in blocks],
        weights,
        clustered=clustered,
    )
    design = "mixed" if len(blocks) > 1 else "paired" if made.pairs.height else "independent"
    return {
        **found,
        "labels_diff": alone["diff"],
        "labels_se": alone["se"],
        "design": design,
        "lam": lam,
        "lams": lams,
        "share": 0.0 if made.pairs.is_empty() else weights[0],
    }


def _weights(blocks: list[Any]) -> list[float]:
    """Weights of the parts by what they would know if labels varied as verdicts do.

    Weights from the variances of few labels would favour the part whose variance comes out small
    by chance, and the interval would be too narrow.
    """
    spreads = [
        sum(
            float(np.var(np.concatenate([s.f, s.unlabelled]), ddof=1)) / len(s.y) for s, *_ in block
        )
        for block in blocks
    ]
    if min(spreads) <= 0:
        return [1.0 / len(blocks)] * len(blocks)
    return [1.0 / spread / sum(1.0 / other for other in spreads) for spread in spreads]


def _lambda(sample: Sample) -> float:
    """The best lambda; with few clusters the one for independent cases."""
    if sample.cluster is not None and len(np.unique(sample.cluster)) < FEW_CLUSTERS:
        return kernels.best_lambda_of_cases(sample)
    return kernels.best_lambda(sample)


def _summed(blocks: list[Any], weights: list[float], *, clustered: bool) -> dict[str, float]:
    """Weighted sum of blocks of samples, contributions of a unit added before squaring."""
    pieces = [
        (sample, lam, sign * weight, rows)
        for block, weight in zip(blocks, weights, strict=True)
        for sample, lam, sign, rows in block
    ]
    frames = [
        pl.concat([rows.filter(part=LABELLED), rows.filter(part=UNLABELLED)]) for *_, rows in pieces
    ]
    units = pl.concat([frame.select("unit") for frame in frames])
    joint = clustered or units["unit"].n_unique() < units.height
    codes = np.split(codes_of(units), np.cumsum([frame.height for frame in frames])[:-1])
    parts: list[Part] = []
    for (sample, lam, sign, _), code in zip(pieces, codes, strict=True):
        own = Sample(
            y=sample.y, f=sample.f, unlabelled=sample.unlabelled, cluster=code if joint else None
        )
        parts += own.parts(np.array([lam]), sign)
    found = kernels.stacked(parts)
    df = float(found.df[0])
    if not joint:
        # Welch's: each sample has the degrees of freedom of its labels
        own_var = [
            float(kernels.stacked(s.parts(np.array([lam]), sign)).se[0]) ** 2
            for s, lam, sign, _ in pieces
        ]
        bottom = sum(v**2 / (len(p[0].y) - 1.0) for v, p in zip(own_var, pieces, strict=True))
        df = sum(own_var) ** 2 / bottom if bottom > 0 else min(len(p[0].y) for p in pieces) - 1.0
    else:
        labels = [
            len(np.unique(code[: len(p[0].y)])) for code, p in zip(codes, pieces, strict=True)
        ]
        df = min(df, float(sum(labels) - 1))
    return {"diff": float(found.value[0]), "se": float(found.se[0]), "df": df}


def _guarded(
    made: PoweredDifference, design: _Design, fewest: int, least: int
) -> PoweredDifference:
    """Labels alone where hardly any label differs, and a status where labels are few."""
    warnings = list(made.warnings)
    known_pairs = design.pairs.filter(part=LABELLED)
    changed = int((known_pairs["y"] != 0).sum())
    plain = made.design == "paired" and bool((known_pairs["trials"] == 1).all())
    if made.design == "paired" and changed < FEW_OF_A_CLASS:
        told = f"labels differ on {changed} of {made.paired_labels:,} cases"
        if plain and known_pairs["unit"].n_unique() == known_pairs.height:
            worse, better = (int((known_pairs["y"] == sign).sum()) for sign in (-1, 1))
            bounds = tango(worse, better, known_pairs.height, made.level)
            made = replace(
                made,
                status="labels-only",
                reason=f"{told}: with fewer than {FEW_OF_A_CLASS} the interval is of labels alone",
                method="labels, tango",
                diff=made.labels_diff,
                se=made.labels_se,
                df=None,
                low=known(bounds.low),
                high=known(bounds.high),
            )
        else:
            warnings.append(f"{told}: the interval is too narrow for so few")
    if fewest < least:
        reason = f"{fewest:,} labelled cases in a run, fewer than {least}"
        made = replace(made, status="insufficient-data", reason=reason)
    return replace(made, warnings=tuple(warnings))


def _worded(made: PoweredDifference) -> PoweredDifference:
    low, high = made.low, made.high
    verdict = "inconclusive"
    if made.status != "insufficient-data" and low is not None and high is not None:
        verdict = "better" if low > 0 else "worse" if high < 0 else "inconclusive"
    told = (
        f"{made.candidate} is {verdict}: {points(made.diff)} points [{points(low)}, "
        f"{points(high)}] by {made.method}, {made.design}; {points(made.judge_diff)} by the judge"
    )
    reason = made.reason or (
        f"{made.paired_labels:,} cases labelled in both runs, {made.baseline_labels:,} and "
        f"{made.candidate_labels:,} in one"
    )
    claim = told if made.status == "corrected" else f"{made.reason}: {told}"
    return replace(made, verdict=verdict, reason=reason, claim=claim)


def _judge_rate(rows: pl.DataFrame) -> float:
    return float(rows["f"].to_numpy().mean())


def _clipped(bound: Any) -> float | None:
    number = known(bound)
    return None if number is None else min(max(number, -1.0), 1.0)
