"""How well does a judge agree with labels that it has not seen?"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.charts._theme import WIDTH
from trialframe.errors import ArgumentError, TrialsError, listed
from trialframe.judge._labelled import (
    CELLS,
    CLUSTER,
    FIND,
    OTHERS,
    SPLIT,
    Labelled,
    key_columns,
    labelled,
)
from trialframe.judge._labelled import one_cluster_per_case as check_clusters
from trialframe.judge._splits import HELD_OUT, Splits, resolved
from trialframe.judge._units import Tables, measured
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialframe.charts._theme import Chart, Theme

STATUSES = ("in-sample", "insufficient-data", "uncalibrated", "calibrated")
"""From what weighs most to what is wanted."""

FEW_LABELS = 10
"""Labels of a class below which an error rate is hardly known."""

HIGH_AGREEMENT = 0.8
"""Share of agreeing verdicts that a low kappa is at odds with."""

SKEWED = 0.1
"""Share of the rarer label below which kappa and agreement part ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSettings(Result):
    """What was asked for.

    Attributes:
        threshold: Kappa that counts as calibrated.
        min_n: Labelled cases below which nothing is decided.
        status_by: "point" or "lower".
        level: Nominal coverage.
        resamples: Bootstrap resamples.
        seed: Seed of the bootstrap.
        held_out: Splits that count.
        tuned_on: Splits that the judge was tuned on; None for every other split.
    """

    threshold: float
    min_n: int
    status_by: str
    level: float
    resamples: int
    seed: int
    held_out: tuple[str, ...]
    tuned_on: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Result):
    """Agreement and error rates of judges on labelled cases.

    Attributes:
        status: The worst of the rows: "in-sample", "insufficient-data", "uncalibrated" or
            "calibrated".
        table: One row per judge, config and group. `n` rows with verdict and label on `cases` in
            `clusters` units, `tp, fp, fn, tn`, `agreement`, `chance`, `kappa` with its bootstrap
            interval and `undefined_resamples`, its analytic one, `sensitivity`, `specificity`,
            `m1` and `m0` labelled passes and fails, `youden`, `prevalence`, `judge_rate`,
            `positive_agreement`, `negative_agreement`, rows left out, `status`, `reason`,
            `warnings`.
        unmapped: Texts without a meaning, with their rows; they are not counted.
        settings: What was asked for.
        notes: What was assumed.
        cells: Held-out counts per case, which corrections work on.
    """

    status: str
    table: pl.DataFrame = field(compare=False)
    unmapped: pl.DataFrame = field(compare=False)
    settings: CalibrationSettings
    notes: tuple[str, ...] = ()
    cells: pl.DataFrame = field(compare=False, metadata={"export": False})

    @property
    def exit_code(self) -> int:
        """0 when every row is calibrated, else 1."""
        return int(self.status != "calibrated")

    def row(self, **key: Any) -> dict[str, Any]:
        """The one row with these values, for example `row(judge="strict", config="new")`.

        Raises:
            ArgumentError: No row or several rows fit, or a column that is not a key.
        """
        return self.select(**key).table.row(0, named=True)

    def select(self, **key: Any) -> Calibration:
        """The calibration of one row.

        Raises:
            ArgumentError: No row or several rows fit, or a column that is not a key.
        """
        keys = key_columns(self.cells)
        for name in key:
            _checks.one_of(name, "key", keys)
        fits = pl.all_horizontal(
            pl.lit(True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in key.items())
        )
        table = self.table.filter(fits)
        if table.height != 1:
            rows = self.table.select(keys).rows()
            raise ArgumentError(
                f"{table.height} rows of this calibration fit {key or 'without a key'}, and one is "
                f"needed. Name it by {listed(keys)}; there are {listed(rows)}."
            )
        status = table["status"].item()
        return Calibration(
            status=status,
            table=table,
            unmapped=self.unmapped,
            settings=self.settings,
            notes=self.notes,
            cells=self.cells.join(table.select(keys), on=keys, how="semi", nulls_equal=True),
        )

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """Labels by verdicts, one panel a row; see `Result.plot`."""
        from trialframe import charts

        return charts.confusion(self.table, theme=theme, width=width)

    def __repr__(self) -> str:
        """Status and kappa of every row."""
        keys = key_columns(self.cells)
        lines = [f"Calibration: {self.status}"]
        for row in self.table.iter_rows(named=True):
            name = ", ".join(str(row[key]) for key in keys if row[key] is not None)
            lines.append(f"- {name}: {row['status']}: {row['reason']}")
        return "\n".join(lines)


def calibrate(
    frame: Any,
    *,
    judge: str | Sequence[str] | None = None,
    label: str | None = None,
    case: str | Sequence[str] | None = None,
    config: str | None = None,
    cluster: str | None = FIND,
    split: str | None = None,
    held_out: str | Sequence[str] = HELD_OUT,
    tuned_on: str | Sequence[str] | None = None,
    verdicts: Mapping[Any, bool | None] | None = None,
    by: str | Sequence[str] = (),
    threshold: float = 0.6,
    min_n: int = 20,
    status_by: str = "point",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Calibration:
    """Compare a judge's verdicts with labels on cases that it was not tuned on.

    Do not read the agreement of a judge on the cases its prompt was written for: that is why only
    held-out rows count. Do not carry error rates to a system whose failures look different without
    `tr.judge_drift`.

    Args:
        frame: One row per judged trial: Polars, pandas, pyarrow, a dict of columns, or a lazy table
            of another engine, which sends only the columns used.
        judge: Column with the judge's verdict, or several, one per judge. Default: `judge`.
        label: Column with the human verdict; null where nobody looked. Default: `label`.
        case: Column of the case, or several that name it together. Default: `case` or an alias;
            without one every row is a case.
        config: Column with the system that was judged, for one row each; None takes all together.
        cluster: Column with groups of dependent cases: they are then resampled as a whole.
            "auto" is `cluster`, when there is one; None leaves it out.
        split: Column with splits; a column `split` is used without being named. Without one
            nothing shows that labels are held out, which is said.
        held_out: Splits whose rows count.
        tuned_on: Splits that the judge was tuned on; a held-out case that is also there makes the
            row "in-sample". None stands for every other split, () for none.
        verdicts: What texts mean, as {"pass": True, "satisfied": True, "fail": False}, for judge
            and label; None leaves a text out. Others are reported in `unmapped` and not counted.
        by: Columns to group by, such as the judge's name in a long table.
        threshold: Kappa that counts as calibrated, in [-1, 1].
        min_n: Labelled cases below which the status is "insufficient-data", >= 1.
        status_by: "point" holds kappa against the threshold, "lower" its lower bootstrap bound.
        level: Nominal coverage of the intervals, in (0, 1).
        resamples: Bootstrap resamples, 100 to 1,000,000.
        seed: Seed of the bootstrap; row order never changes a result.

    Returns:
        A `Calibration`.

    Raises:
        ColumnError: A column is missing, ambiguous or of an unusable type.
        TrialsError: Values that are neither pass nor fail, texts without a mapping, null cases, no
            row with both verdicts, a case in two clusters.
        ArgumentError: A split that is not there, or a setting out of range.

    Notes:
        All trials with both verdicts count, each once; the bootstrap draws cases, or clusters,
        with all their trials. kappa = (p0 - pe)/(1 - pe). Sensitivity is the judge's pass rate on
        labelled passes, specificity its fail rate on labelled fails: Wilson intervals with one
        trial a case and no clusters, else score intervals with CR2 standard errors. "in-sample"
        comes before "insufficient-data" (fewer than `min_n` cases, no labelled pass or no
        labelled fail, kappa undefined) and that before the threshold.

    References:
        Cohen (1960), Educ. Psychol. Meas. 20:37; Fleiss, Cohen and Everitt (1969), Psychol. Bull.
        72:323.

    Examples:
        >>> import trialframe as tr
        >>> rows = {"case": range(60), "judge": [1] * 36 + [0] * 24}
        >>> rows["label"] = [1] * 32 + [0] * 4 + [1] * 4 + [0] * 20
        >>> found = tr.calibrate(rows)
        >>> found.status, round(found.row()["kappa"], 3), found.row()["specificity"]
        ('calibrated', 0.722, 0.8333333333333334)
    """
    settings = CalibrationSettings(
        threshold=_checks.between(threshold, "threshold", low=-1.0),
        min_n=_checks.integer(min_n, "min_n", low=1),
        status_by=_checks.one_of(status_by, "status_by", ("point", "lower")),
        level=_checks.between(level, "level", inclusive=False),
        resamples=_checks.integer(resamples, "resamples", low=100, high=1_000_000),
        seed=_checks.integer(seed, "seed", low=0),
        held_out=_checks.names(held_out, "held_out"),
        tuned_on=None if tuned_on is None else _checks.names(tuned_on, "tuned_on"),
    )
    given = {"judge": judge, "label": label, "case": case, "config": config}
    given |= {"cluster": cluster, "split": split, "by": by}
    return calibrated(labelled(frame, given, verdicts), settings)


def calibrated(data: Labelled, settings: CalibrationSettings) -> Calibration:
    """The calibration of counted verdicts and labels."""
    keys = key_columns(data.cells)
    cells, leaks, notes = _held_out(data, settings, keys)
    check_clusters(cells, keys)
    if not int(cells.select(pl.sum_horizontal(pl.col(CELLS).sum())).item()):
        raise TrialsError(
            "no row has both a verdict and a label"
            + (f" in split {listed(settings.held_out)}" if data.columns.split else "")
            + ". Labels and verdicts must be in the same row."
        )
    rows = []
    for key, part in cells.group_by(keys, maintain_order=True):
        made = measured(Tables.of(part), settings.resamples, settings.seed, settings.level)
        found = {name: _known(value) for name, value in made.items()}
        leaked = leaks.get(key, [])
        found["no_verdict"] = int(part["no_verdict"].sum())
        found["no_label"] = int(part["judged"].sum())
        found["leaked_cases"] = len(leaked)
        found["level"] = settings.level
        found["status"], found["reason"] = _status(found, leaked, settings)
        found["warnings"] = "; ".join(_warnings(found, data.columns.split)) or None
        rows.append(dict(zip(keys, key, strict=True)) | found)
    schema = {name: cells.schema[name] for name in keys}
    table = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    found_statuses = set(table["status"])
    return Calibration(
        status=next(status for status in STATUSES if status in found_statuses),
        table=_typed(table),
        unmapped=data.unmapped,
        settings=settings,
        notes=tuple(notes),
        cells=cells,
    )


def _held_out(
    data: Labelled, settings: CalibrationSettings, keys: list[str]
) -> tuple[pl.DataFrame, dict[tuple[Any, ...], list[str]], list[str]]:
    """Held-out cells, held-out cases that the judge was tuned on by key, and notes."""
    cells, notes = data.cells, list(data.notes)
    asked = Splits(held_out=settings.held_out, tuned_on=settings.tuned_on)
    found = resolved(cells, data.columns.split, asked)
    if found is None:
        notes.append("no split column: nothing shows that these labels are held out")
        return cells, {}, notes
    kept = pl.col(SPLIT).is_in(list(settings.held_out))
    if unknown := int(cells.filter(pl.col(SPLIT).is_null()).height):
        notes.append(f"{unknown:,} cases without a split are left out")
    held = cells.filter(kept)
    seen = cells.filter(pl.col(SPLIT).is_in(list(found[1])))
    leaks = _leaks(held, seen, keys)
    held = held.drop(SPLIT)
    if len(settings.held_out) > 1:
        group = [*keys, "case", *([CLUSTER] if CLUSTER in cells.columns else [])]
        held = held.group_by(group).agg(pl.col(*CELLS, *OTHERS).sum()).sort(group)
    return held, leaks, notes


def _leaks(
    held: pl.DataFrame, seen: pl.DataFrame, keys: list[str]
) -> dict[tuple[Any, ...], list[str]]:
    """Held-out cases that are also in a split the judge was tuned on, whatever the config."""
    shared = [*(name for name in keys if name != "config"), "case"]
    both = held.join(seen.select(shared), on=shared, how="semi", nulls_equal=True)
    counted = both.group_by(keys, maintain_order=True).agg(pl.col("case").unique().sort())
    return {tuple(row[:-1]): row[-1] for row in counted.rows()}


def _status(
    row: dict[str, Any], leaked: list[str], settings: CalibrationSettings
) -> tuple[str, str]:
    """The status of a row, and why."""
    if leaked:
        return "in-sample", (
            f"{len(leaked):,} held-out cases are also in a split the judge was tuned on: "
            f"{listed(leaked, 5)}"
        )
    if row["cases"] < settings.min_n:
        return "insufficient-data", f"{row['cases']:,} labelled cases, fewer than {settings.min_n}"
    if not row["m1"] or not row["m0"]:
        missing = "passes" if not row["m1"] else "fails"
        return "insufficient-data", f"no labelled {missing}: half of the judge's errors are unseen"
    value = row["kappa"] if settings.status_by == "point" else row["kappa_low"]
    word = "kappa" if settings.status_by == "point" else f"lower bound of kappa {row['kappa']:.3g},"
    if value is None:
        return "insufficient-data", "kappa is undefined: judge and labels know one class only"
    side = "at least" if value >= settings.threshold else "below"
    told = f"{word} {value:.3g}, {side} {settings.threshold:g}"
    return ("calibrated" if value >= settings.threshold else "uncalibrated"), told


def _warnings(row: dict[str, Any], split: str | None) -> list[str]:
    made = ["held out is not shown: no split column"] if split is None else []
    if row["youden"] is not None and row["youden"] <= 0:
        made.append("sensitivity + specificity <= 1: verdicts say nothing, or the opposite")
    for name, word in (("m1", "passes"), ("m0", "fails")):
        if 0 < row[name] < FEW_LABELS:
            made.append(f"few labelled {word}: {row[name]}")
    rarer = min(row["prevalence"] or 0.0, 1.0 - (row["prevalence"] or 0.0))
    if row["n"] and rarer < SKEWED:
        told = f"skewed labels: the rarer one is {rarer:.1%} of them"
        if (row["agreement"] or 0.0) >= HIGH_AGREEMENT:
            told += f", so that kappa may be low though {row['agreement']:.1%} agree"
        made.append(told)
    if row["kappa_low"] is not None and row["kappa_low"] == row["kappa_high"]:
        made.append("no spread between resamples: the interval of kappa has no width")
    if row["undefined_resamples"]:
        made.append(f"{row['undefined_resamples']:,} resamples without a kappa left out")
    return made


def _known(value: Any) -> Any:
    """A plain number or text, None where undefined."""
    if isinstance(value, str | int):
        return value
    number = float(value)
    return None if isnan(number) else number


def _typed(table: pl.DataFrame) -> pl.DataFrame:
    """Columns without any value as numbers, not as nulls."""
    texts = {"warnings", "reason", "status", "config", "kappa_analytic", "rate_interval"}
    return table.with_columns(
        pl.col(name).cast(pl.String if name in texts else pl.Float64)
        for name, dtype in table.schema.items()
        if dtype == pl.Null
    )
