"""Does a judge err alike on two runs? Without that no shared correction holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from trialframe import _checks
from trialframe.errors import ArgumentError, TrialsError, UnknownConfigError, did_you_mean, listed
from trialframe.judge._labelled import CELLS, CLUSTER, FIND, labelled
from trialframe.judge._words import known, percent, points
from trialframe.judge.calibrate import Calibration
from trialframe.kernels.intervals import Interval, t_interval, wilson
from trialframe.kernels.judge import newcombe, of_two
from trialframe.kernels.paired import mcnemar, tango
from trialframe.kernels.ppi import Part, stacked
from trialframe.kernels.unpaired import fisher
from trialframe.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialframe.results import Estimate

PAIRED_SHARE = 0.5
"""Share of the smaller set of labelled cases that must be in both runs to pair them."""

RATES = (("sensitivity", "tp", "fn"), ("specificity", "tn", "fp"))
STATUSES = ("fail", "inconclusive", "pass")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drift(Result):
    """How a judge's error rates differ between two runs.

    Attributes:
        status: "pass": both differences lie within the margin, one calibration may serve both
            runs; "fail": at least one rate differs; "inconclusive": too few labels to say.
        claim: One sentence that the numbers support.
        baseline: Name of the first run.
        candidate: Name of the second.
        margin: Largest difference of an error rate that is accepted.
        smallest_margin: Margins above this would pass; None when a class has no labels.
        flagged: Whether each run needs its own calibration: a rate differs at 1 - level, or a
            difference beyond the margin cannot be excluded.
        bias: What the judge adds to the difference candidate minus baseline, on the labels.
        bias_low: Lower end of its interval.
        bias_high: Upper end.
        judge_diff: Difference of the judge's pass rates on the labelled rows.
        label_diff: Difference of the labels' pass rates.
        level: Nominal coverage; tests are at 1 - level.
        table: Rows `sensitivity` and `specificity`: `baseline_value, candidate_value, diff, low,
            high, pvalue, method, baseline_labels, candidate_labels, pairs`, the unpaired `fisher`,
            `newcombe_low, newcombe_high`, `smallest_margin`, `status`, `flagged`.
        warnings: What weakens the statement.
    """

    _unit: ClassVar[str | None] = "share"
    _drawing: ClassVar[tuple[str, str, str]] = (
        "How a judge's error rates moved",
        "difference",
        "difference",
    )

    status: str
    claim: str
    baseline: str
    candidate: str
    margin: float
    smallest_margin: float | None
    flagged: bool
    bias: float
    bias_low: float | None
    bias_high: float | None
    judge_diff: float
    label_diff: float
    level: float
    table: pl.DataFrame = field(compare=False)
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when the error rates carry over, else 1."""
        return int(self.status != "pass")

    def _estimates(self) -> list[Estimate]:
        rates: list[Estimate] = self.table.select("rate", "diff", "low", "high").rows()
        return [
            *rates,
            ("what it adds to the difference", self.bias, self.bias_low, self.bias_high),
        ]

    def __repr__(self) -> str:
        """The claim, both error rates and what weakens it."""
        rates = [
            f"{row['rate']}: {percent(row['baseline_value'])} and "
            f"{percent(row['candidate_value'])} [{points(row['low'])}, {points(row['high'])}]"
            for row in self.table.iter_rows(named=True)
        ]
        return "\n".join([f"Drift: {self.claim}", *(f"- {t}" for t in (*rates, *self.warnings))])


def judge_drift(
    data: Any,
    baseline: str,
    candidate: str,
    *,
    margin: float = 0.1,
    judge: str | None = None,
    label: str | None = None,
    case: str | Sequence[str] | None = None,
    config: str | None = None,
    cluster: str | None = FIND,
    verdicts: Mapping[Any, bool | None] | None = None,
    level: float = 0.95,
) -> Drift:
    """Test whether a judge's error rates are the same on two runs, within a margin.

    No significant difference is no evidence of sameness: with 20 labels a rate may differ by 25
    points and go unseen. Therefore sameness must be shown here, by an interval inside the margin.

    Args:
        data: A calibration with a row per config (which knows what is held out), a pair of
            calibrations, for baseline and candidate, or a table with held-out labels of both runs.
        baseline: First run, a value of `config` (for a pair: what to call it).
        candidate: Second run.
        margin: Largest difference of sensitivity or specificity that is accepted, in (0, 1).
        judge: Column with the judge's verdict, for a table. Default: `judge`.
        label: Column with the label. Default: `label`.
        case: Column of the case, or several; cases of the same name are paired.
        config: Column with the run; needed for a table.
        cluster: Column with groups of dependent cases.
            "auto" is `cluster`, when there is one; None leaves it out.
        verdicts: What texts mean, as in `tr.calibrate`.
        level: Nominal coverage, in (0, 1).

    Returns:
        A `Drift`.

    Raises:
        UnknownConfigError: A run that the data do not hold.
        ArgumentError: No config column, the same run twice, several judges, a margin out of range.
        TrialsError: Values that are neither pass nor fail, or a run without labels.

    Notes:
        One row a case and different cases: Fisher's test and Newcombe's interval. At least half of
        the labelled cases in both runs: McNemar's test and Tango's interval on cases with the same
        label in both. Several trials a case, or clusters: CR2 standard errors and t. The bias is
        the mean of verdict minus label in the candidate minus that in the baseline, which is
        J_B theta_B - J_A theta_A + q0_A - q0_B - (theta_B - theta_A) on the labels.

    References:
        Newcombe (1998), Stat. Med. 17:873; Tango (1998), Stat. Med. 17:891.

    Examples:
        >>> import trialframe as tr
        >>> old = [(1, 1)] * 36 + [(0, 1)] * 4 + [(0, 0)] * 16 + [(1, 0)] * 4
        >>> new = [(1, 1)] * 25 + [(0, 1)] * 15 + [(0, 0)] * 14 + [(1, 0)] * 6
        >>> rows = [{"run": "a", "judge": j, "label": y} for j, y in old]
        >>> rows += [{"run": "b", "judge": j, "label": y} for j, y in new]
        >>> found = tr.judge_drift(rows, "a", "b", config="run")
        >>> found.status, found.table["diff"].round(3).to_list()
        ('fail', [-0.275, -0.1])
    """
    margin = _checks.between(margin, "margin", inclusive=False)
    level = _checks.between(level, "level", inclusive=False)
    if baseline == candidate:
        raise ArgumentError(f"baseline and candidate are both {baseline!r}: name two configs.")
    given = {"judge": judge, "label": label, "case": case, "config": config, "cluster": cluster}
    sides = _sides(data, (baseline, candidate), given, verdicts)
    for name, side in zip((baseline, candidate), sides, strict=True):
        if side.is_empty():
            raise TrialsError(f"config {name!r} has no row with both a verdict and a label.")
    seen = [made for made in (data if isinstance(data, tuple) else (data,)) if _in_sample(made)]
    rows = [_rate(*sides, *rate, margin=margin, level=level) for rate in RATES]
    found = _drift(rows, sides, (baseline, candidate), margin=margin, level=level)
    told = "the labels are not held out: the error rates are too good" if seen else None
    return replace(found, warnings=(told, *found.warnings)) if told else found


def _in_sample(data: Any) -> bool:
    return isinstance(data, Calibration) and data.status == "in-sample"


def _sides(
    data: Any, names: tuple[str, str], given: dict[str, Any], verdicts: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labelled cells of both runs: `case, unit` and the four counts."""
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Calibration):
        cells = pl.concat(
            [
                made.select().cells.with_columns(config=pl.lit(name))
                for name, made in zip(names, data, strict=True)
            ],
            how="vertical_relaxed",
        )
    elif isinstance(data, Calibration):
        cells = data.cells
    elif given["config"] is None:
        raise ArgumentError('Name the column of the configs, for example config="model".')
    else:
        cells = labelled(data, given, verdicts).cells
    judges = cells["judge"].unique().sort().to_list()
    if len(judges) > 1:
        raise ArgumentError(f"there are several judges, {listed(judges)}: take one at a time.")
    there = cells["config"].unique().drop_nulls().sort().to_list()
    for name in names:
        if name not in there:
            raise UnknownConfigError(f"no config {name!r} here. {did_you_mean(name, there)}")
    unit = CLUSTER if CLUSTER in cells.columns else "case"
    kept = cells.filter(pl.sum_horizontal(CELLS) > 0)
    groups = ["config", "case"] + ([CLUSTER] if unit == CLUSTER else [])
    summed = kept.group_by(groups).agg(pl.col(CELLS).sum()).sort(groups)
    made = summed.with_columns(unit=pl.col(unit).cast(pl.String), single=pl.lit(unit == "case"))
    return made.filter(config=names[0]), made.filter(config=names[1])


def _rate(
    a: pl.DataFrame,
    b: pl.DataFrame,
    name: str,
    hit: str,
    miss: str,
    *,
    margin: float,
    level: float,
) -> dict[str, Any]:
    """The difference of one error rate."""
    sides = [
        side.select(
            "case", "unit", "single", hits=pl.col(hit), rows=pl.col(hit) + pl.col(miss)
        ).filter(pl.col("rows") > 0)
        for side in (a, b)
    ]
    hits, rows = ([int(side[column].sum()) for side in sides] for column in ("hits", "rows"))
    values = [h / r if r else None for h, r in zip(hits, rows, strict=True)]
    made: dict[str, Any] = {
        "rate": name,
        "baseline_value": values[0],
        "candidate_value": values[1],
        **dict.fromkeys(("diff", "low", "high", "pvalue"), None),
        "method": None,
        "baseline_labels": rows[0],
        "candidate_labels": rows[1],
        "pairs": 0,
        **dict.fromkeys(("fisher", "newcombe_low", "newcombe_high", "smallest_margin"), None),
        "status": "inconclusive",
        "flagged": True,
    }
    if not all(rows):
        return made
    exact = fisher(*(np.array([x]) for x in (rows[0], hits[0], rows[1], hits[1])))
    bounds = newcombe(hits[0], rows[0], hits[1], rows[1], level)
    made |= {"fisher": float(exact.two_sided[0])}
    made |= {"newcombe_low": float(bounds.low), "newcombe_high": float(bounds.high)}
    made |= _difference(sides, made, level)
    low, high = made["low"], made["high"]
    if low is None or high is None:
        return made
    made["smallest_margin"] = max(abs(low), abs(high))
    inside, differs = made["smallest_margin"] < margin, made["pvalue"] < 1.0 - level
    made["status"] = "pass" if inside else "fail" if differs else "inconclusive"
    made["flagged"] = bool(differs or not inside)
    return made


def _difference(sides: list[pl.DataFrame], row: dict[str, Any], level: float) -> dict[str, Any]:
    """Difference, interval, p-value and pairs by the method that fits the design."""
    both = sides[0].join(sides[1], on="case", suffix="_b")
    plain = all(bool(side["single"].all() and (side["rows"] == 1).all()) for side in sides)
    if not plain:
        return _clustered(sides, level) | {"pairs": both.height}
    if both.height < max(PAIRED_SHARE * min(side.height for side in sides), 1.0):
        diff = row["candidate_value"] - row["baseline_value"]
        return {
            "diff": diff,
            "low": row["newcombe_low"],
            "high": row["newcombe_high"],
            "pvalue": row["fisher"],
            "method": "fisher, newcombe",
            "pairs": both.height,
        }
    only_a = int((both["hits"] > both["hits_b"]).sum())
    only_b = int((both["hits"] < both["hits_b"]).sum())
    bounds = tango(only_a, only_b, both.height, level)
    return {
        "diff": (only_b - only_a) / both.height,
        "low": float(bounds.low),
        "high": float(bounds.high),
        "pvalue": float(mcnemar(only_a, only_b).pvalue),
        "method": "mcnemar, tango",
        "pairs": both.height,
    }


def _clustered(sides: list[pl.DataFrame], level: float) -> dict[str, Any]:
    from scipy.special import stdtr

    found = stacked(_contributions(sides, pl.col("hits") / pl.col("rows"), "rows"))
    diff, se, df = float(found.value[0]), float(found.se[0]), float(found.df[0])
    bounds = t_interval(diff, se, df, level) if se > 0 else _without_spread(sides, level)
    pvalue = 2.0 * float(stdtr(df, -abs(diff) / se)) if se > 0 else float(diff == 0)
    return {
        "diff": diff,
        "low": known(bounds.low),
        "high": known(bounds.high),
        "pvalue": pvalue,
        "method": "t-cr2",
    }


def _without_spread(sides: list[pl.DataFrame], level: float) -> Interval:
    """Interval of the difference where every unit has the same rate: from that of each side."""
    rates, ends = [], []
    for side in sides:
        rate = int(side["hits"].sum()) / int(side["rows"].sum())
        units = side["unit"].n_unique()
        rates.append(rate)
        ends.append(wilson(rate * units, units, level))
    return of_two(rates[0], ends[0], rates[1], ends[1])


def _contributions(sides: list[pl.DataFrame], value: pl.Expr, weight: str) -> list[Part]:
    """Candidate minus baseline as two parts whose clusters mean the same."""
    units = pl.concat([side["unit"] for side in sides]).rank("dense").cast(pl.Int64).to_numpy()
    codes = np.split(units, [sides[0].height])
    return [
        Part(
            values=sign * side.select(value.alias("value"))["value"].to_numpy()[:, None],
            cluster=code,
            weight=side[weight].to_numpy().astype(np.float64),
        )
        for side, code, sign in zip(sides, codes, (-1.0, 1.0), strict=True)
    ]


def _drift(
    rows: list[dict[str, Any]],
    sides: tuple[pl.DataFrame, pl.DataFrame],
    names: tuple[str, str],
    *,
    margin: float,
    level: float,
) -> Drift:
    status = next(word for word in STATUSES if word in {row["status"] for row in rows})
    counted = [side.with_columns(rows=pl.sum_horizontal(CELLS)) for side in sides]
    gap = (pl.col("fp") - pl.col("fn")) / pl.col("rows")
    found = stacked(_contributions(counted, gap, "rows"))
    spread = found.se[0] if found.se[0] > 0 else np.nan  # no spread seen is none known
    bias = t_interval(found.value[0], spread, found.df[0], level)
    sums = [{name: int(side[name].sum()) for name in (*CELLS, "rows")} for side in counted]
    judged, true = ([(s["tp"] + s[w]) / s["rows"] for s in sums] for w in ("fp", "fn"))
    margins = [row["smallest_margin"] for row in rows]
    smallest = None if None in margins else max(margins)
    warnings = [
        f"{row['rate']}: differs (p {row['pvalue']:.2g}), though by less than the margin"
        for row in rows
        if row["status"] == "pass" and row["flagged"]
    ]
    warnings += [
        f"{row['rate']}: a config has no label of that class" for row in rows if row["diff"] is None
    ]
    return Drift(
        status=status,
        claim=_claim(status, names, margin, smallest),
        baseline=names[0],
        candidate=names[1],
        margin=margin,
        smallest_margin=smallest,
        flagged=any(row["flagged"] for row in rows),
        bias=float(found.value[0]),
        bias_low=known(bias.low),
        bias_high=known(bias.high),
        judge_diff=judged[1] - judged[0],
        label_diff=true[1] - true[0],
        level=level,
        table=pl.DataFrame(rows, infer_schema_length=None),
        warnings=tuple(warnings),
    )


def _claim(status: str, names: tuple[str, str], margin: float, smallest: float | None) -> str:
    words = {
        "pass": f"the judge errs alike on {names[0]} and {names[1]}, within {percent(margin)}",
        "fail": f"the judge errs differently on {names[0]} and {names[1]}: calibrate each of them",
        "inconclusive": "cannot exclude that the judge errs differently on "
        f"{names[0]} and {names[1]}",
    }
    needs = ""
    if smallest is not None and status != "pass":
        needs = f"; these labels show sameness only within margins above {percent(smallest)}"
    return words[status] + needs
