"""What `trialframe judge correct` works out: rates of configs and groups, or one difference."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import polars as pl

from trialframe import _checks
from trialframe.cli._trials import judged as judged_tables
from trialframe.errors import ArgumentError, ColumnError, did_you_mean, listed
from trialframe.judge._judged import counts_of_verdicts
from trialframe.judge._samples import parts_of
from trialframe.judge._splits import Splits
from trialframe.judge.calibrate import Calibration
from trialframe.judge.calibrate import calibrate as calibrated
from trialframe.judge.correct import Corrected, rogan_gladen
from trialframe.judge.correct_difference import rogan_gladen_difference
from trialframe.judge.ppi import Powered, powered
from trialframe.judge.ppi_difference import ppi_difference

if TYPE_CHECKING:
    from trialframe.cli._trials import Verdicts
    from trialframe.counts import Counts

CALIBRATIONS = ("auto", "shared", "per-config")
RESULTS = frozenset(field.name for made in (Corrected, Powered) for field in fields(made))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to correct and how."""

    method: str
    given: dict[str, Any]
    splits: dict[str, Any]
    words: dict[str, bool | None] | None
    calibration: str
    level: float

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        _checks.one_of(self.calibration, "calibration", CALIBRATIONS)
        if self.method == "ppi" and self.calibration != "auto":
            raise ArgumentError(
                "--calibration is for rogan-gladen: ppi needs labels of each config."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The labelled rows and the judged ones."""

    labelled: pl.LazyFrame
    judged: pl.LazyFrame | None

    @classmethod
    def of(cls, labelled: str, judged: str | None, method: str, logs: Verdicts) -> Tables:
        """Both files, read lazily; tables stay as they are."""
        if judged is None and method != "ppi":
            raise ArgumentError(
                "rogan-gladen needs two tables: the labelled one, then the judged one."
            )
        first, *rest = judged_tables([labelled, *([] if judged is None else [judged])], logs)
        return cls(labelled=first, judged=rest[0] if rest else None)

    def groups(self, by: list[str]) -> list[dict[str, Any]]:
        """Values of some columns that both tables hold, sorted."""
        if not by:
            return [{}]
        if taken := [name for name in by if name in RESULTS]:
            raise ColumnError(
                f"--by: the result has columns {listed(taken)} of its own. Rename yours, for "
                f"example {taken[0]}_name."
            )
        tables = [self.labelled, *([] if self.judged is None else [self.judged])]
        found = []
        for table in tables:
            names = table.collect_schema().names()
            if missing := [name for name in by if name not in names]:
                raise ColumnError(f"no column {missing[0]!r}. {did_you_mean(missing[0], names)}")
            found.append(table.select(by).unique().collect().sort(by))
        rest = found[-1].join(found[0], on=by, how="anti", nulls_equal=True)
        if rest.height:
            raise ArgumentError(f"--by: {listed(rest.rows())} of the judged table has no labels.")
        return list(found[-1].to_dicts())

    def part(self, group: dict[str, Any]) -> Tables:
        """The rows of one group."""
        fits = [pl.col(name).eq_missing(pl.lit(value)) for name, value in group.items()]
        if not fits:
            return self
        second = None if self.judged is None else self.judged.filter(*fits)
        return Tables(labelled=self.labelled.filter(*fits), judged=second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Corrected rates, the group of each, and what was assumed."""

    found: list[Any]
    groups: list[dict[str, Any]]
    notes: tuple[str, ...]


def grouped(asked: Asked, tables: Tables, by: list[str]) -> Rates:
    """The corrected rates of every group and config."""
    parts = [(group, *_rates_of(asked, tables.part(group))) for group in tables.groups(by)]
    return Rates(
        found=[made for _, found, _ in parts for made in found],
        groups=[group for group, found, _ in parts for _ in found],
        notes=tuple(dict.fromkeys(note for *_, notes in parts for note in notes)),
    )


def _rates_of(asked: Asked, tables: Tables) -> tuple[list[Any], tuple[str, ...]]:
    """The corrected rate of every config."""
    if asked.method == "ppi":
        splits = Splits.of(asked.splits["held_out"], asked.splits["tuned_on"])
        given = asked.given | {"split": asked.splits["split"]}
        data = parts_of(tables.labelled, tables.judged, given, asked.words, splits)
        settings: dict[str, Any] = {"critical": "t", "estimator": "ppi++", "min_labels": 20}
        settings["level"] = asked.level
        return [powered(data, name, **settings) for name in data.configs], ()
    counts, found, notes = _calibrated(asked, tables)
    names = counts.configs
    return [rogan_gladen(counts, found, config=name, level=asked.level) for name in names], notes


def difference_of(
    asked: Asked, tables: Tables, pair: tuple[str, str]
) -> tuple[Any, tuple[str, ...]]:
    """The corrected difference of two configs."""
    if asked.method != "ppi":
        counts, found, notes = _calibrated(asked, tables)
        return rogan_gladen_difference(counts, *pair, found, level=asked.level), notes
    if asked.given["config"] is None:
        raise ArgumentError("--baseline and --candidate need --config, the column of the configs.")
    made = ppi_difference(
        tables.labelled,
        *pair,
        unlabelled=tables.judged,
        **(asked.given | asked.splits),
        verdicts=asked.words,
        level=asked.level,
    )
    return made, ()


def _calibrated(asked: Asked, tables: Tables) -> tuple[Counts, Calibration, tuple[str, ...]]:
    """Counts of the judged table and the calibration by the labelled one."""
    counts, notes = counts_of_verdicts(tables.judged, asked.given, asked.words)
    config = asked.given["config"]
    own = _own(tables.labelled, config, asked.calibration)
    found = calibrated(
        tables.labelled,
        **(asked.given | {"config": config if own else None}),
        **asked.splits,
        verdicts=asked.words,
        level=asked.level,
    )
    return counts, found, tuple(dict.fromkeys((*notes, *found.notes)))


def _own(source: pl.LazyFrame, config: str | None, calibration: str) -> bool:
    """Whether each config is calibrated on labels of its own."""
    there = config is not None and config in source.collect_schema().names()
    if calibration == "per-config" and not there:
        raise ArgumentError(
            "--calibration per-config needs --config, and that column in the labelled table."
        )
    return there and calibration != "shared"
