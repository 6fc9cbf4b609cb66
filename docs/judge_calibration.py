"""Coverage of corrected pass rates by simulation.

python docs/judge_calibration.py [--quick] [file] writes docs/judge_calibration.md, or that file.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from trialframe.kernels.intervals import wilson
from trialframe.kernels.judge import rogan_gladen
from trialframe.kernels.ppi import Sample, best_lambda_of_cases, ppi_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Bools: TypeAlias = NDArray[np.bool_]

HERE = Path(__file__).resolve().parent
RATES = (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98)
LABELS = (20, 50, 100, 200, 500)
SENSITIVITY, SPECIFICITY = 0.9, 0.8
JUDGED = 1_000
Z = float(ndtri(0.975))
LEVEL = 0.95
FEW = 5

HEAD = """# Corrected pass rates: do the intervals hold?

A judge with sensitivity {q1} and specificity {q0} passes or fails {judged:,} cases; a random
part of further cases has labels too. Each cell is the share of {runs:,} runs ({boots:,} where a
bootstrap is involved) in which a 95 % interval holds the true pass rate. **Bold** cells lie below
.95 by more than three Monte Carlo standard errors. `python docs/judge_calibration.py` makes this
page again.

"""

ABOUT_RG = """## By error rates: Rogan-Gladen

`tr.rogan_gladen` gives the adjusted interval. Beside each coverage is the share of runs without an
interval: one class has no label, sensitivity + specificity is not above 1, or no pass rate
explains the judge's. Where labels of a class are few that share is large, and the coverage is that
of the runs that are left.

"""

ABOUT_WALD = """For contrast, the delta method without smoothing:

"""

ABOUT_BOOT = """For contrast, a bootstrap of the labels alone, as one package does it: the
judged cases are taken as fixed, so that their sampling error is missing ({few:,} judged cases here,
where it matters more):

"""

ABOUT_PPI = """## By labels: prediction-powered inference

`tr.ppi`: t interval, and that of the labels alone with fewer than {least} labelled passes or fails.

"""

ABOUT_Z = """For contrast, the same estimate with the normal quantile and without that rule, as in
the literature:

"""

ABOUT_WIDTH = """Width of the interval of `tr.ppi` over that of Wilson's from the same labels:

"""

ABOUT_CLUSTERS = """## Few clusters

80 labels among the cases of {cases} or more clusters, pass rate .6. A lambda that is fitted to few
clusters fits their noise; with fewer than 30 clusters `tr.ppi` takes the lambda of independent
cases, and counts clusters in the standard error.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much to simulate."""

    runs: int
    boots: int
    resamples: int
    clustered: int


FULL = Scale(runs=20_000, boots=1_000, resamples=1_000, clustered=2_000)
QUICK = Scale(runs=200, boots=20, resamples=50, clustered=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Counts of simulated runs, each shape (R,)."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats
    passed: Floats
    judged: int
    theta: float

    @property
    def labels(self) -> Floats:
        """Labelled cases."""
        return self.tp + self.fp + self.fn + self.tn


def drawn(theta: float, labels: int, judged: int, runs: int, rng: np.random.Generator) -> Runs:
    """Simulated runs of a judge."""
    cells = np.array(
        [
            theta * SENSITIVITY,
            (1 - theta) * (1 - SPECIFICITY),
            theta * (1 - SENSITIVITY),
            (1 - theta) * SPECIFICITY,
        ]
    )
    tp, fp, fn, tn = rng.multinomial(labels, cells, size=runs).T.astype(np.float64)
    passed = rng.binomial(judged, cells[0] + cells[1], size=runs).astype(np.float64)
    return Runs(tp=tp, fp=fp, fn=fn, tn=tn, passed=passed, judged=judged, theta=theta)


def error_rates(runs: Runs) -> tuple[Floats, Floats, Floats, Floats]:
    """Specificity, labelled fails, sensitivity, labelled passes."""
    m1, m0 = runs.tp + runs.fn, runs.fp + runs.tn
    with np.errstate(invalid="ignore"):
        return runs.tn / m0, m0, runs.tp / m1, m1


def adjusted(runs: Runs) -> tuple[Floats, Floats]:
    """The adjusted interval, NaN where there is none."""
    made = rogan_gladen(runs.passed / runs.judged, runs.judged, *error_rates(runs))
    return made.low, made.high


def wald(runs: Runs) -> tuple[Floats, Floats]:
    """The delta method on the raw rates, clipped."""
    made = rogan_gladen(runs.passed / runs.judged, runs.judged, *error_rates(runs))
    half = Z * made.se_delta
    return np.clip(made.theta - half, 0, 1), np.clip(made.theta + half, 0, 1)


def labels_bootstrap(runs: Runs, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentiles over resampled labels, the judged cases fixed; undefined resamples dropped."""
    counts = np.column_stack([runs.tp, runs.fp, runs.fn, runs.tn])
    shares = counts / counts.sum(axis=1, keepdims=True)
    size = int(runs.labels[0])
    draws = rng.multinomial(size, shares[:, None, :], size=(len(shares), resamples))
    tp, fp, fn, tn = np.moveaxis(draws.astype(np.float64), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        q1, q0 = tp / (tp + fn), tn / (tn + fp)
        youden = q1 + q0 - 1
        rate = (runs.passed / runs.judged)[:, None]
        theta = np.clip((rate + q0 - 1) / youden, 0, 1)
    theta = np.where(youden > 0, theta, np.nan)
    defined = ~np.isnan(theta).all(axis=1)
    low, high = (np.full(len(theta), np.nan) for _ in range(2))
    low[defined], high[defined] = np.nanquantile(theta[defined], (0.025, 0.975), axis=1)
    return low, high


def powered(runs: Runs, critical: str) -> tuple[Floats, Floats]:
    """PPI++ at its best lambda from the counts, without the rule for few labels of a class."""
    n, more = runs.labels, float(runs.judged)
    y, f, u = (runs.tp + runs.fn) / n, (runs.tp + runs.fp) / n, runs.passed / more
    spread_y, spread_f = (n / (n - 1) * p * (1 - p) for p in (y, f))
    spread_u = more / (more - 1) * u * (1 - u)
    shared = n / (n - 1) * (runs.tp / n - y * f)
    below = spread_f + n / more * spread_u
    lam = np.clip(np.divide(shared, below, out=np.zeros_like(y), where=below > 0), 0, 1)
    value = y + lam * (u - f)
    variance = lam**2 * spread_u / more + (spread_y - 2 * lam * shared + lam**2 * spread_f) / n
    half = (Z if critical == "z" else stdtrit(n - 1, 0.975)) * np.sqrt(np.maximum(variance, 0))
    return value - half, value + half


def guarded(runs: Runs) -> tuple[Floats, Floats]:
    """What `tr.ppi` reports: Wilson's interval of the labels where a class has few."""
    low, high = powered(runs, "t")
    passes = runs.tp + runs.fn
    alone = wilson(passes, runs.labels)
    few = np.minimum(passes, runs.labels - passes) < FEW
    return np.where(few, alone.low, low), np.where(few, alone.high, high)


def covered(bounds: tuple[Floats, Floats], theta: float) -> tuple[float, float]:
    """Coverage among runs with an interval, and the share without."""
    low, high = bounds
    defined = ~np.isnan(low)
    if not defined.any():
        return float("nan"), 1.0
    inside = (low <= theta) & (theta <= high)
    return float(inside[defined].mean()), float(1 - defined.mean())


def cell(share: float, runs: int) -> str:
    """A coverage, bold when it is too low for chance."""
    if np.isnan(share):
        return "-"
    text = f"{share:.3f}"
    low = share < LEVEL - 3 * np.sqrt(LEVEL * (1 - LEVEL) / runs)
    return f"**{text}**" if low else text


def grid(head: str, rows: list[list[str]], columns: Sequence[object]) -> str:
    """A Markdown table."""
    lines = [f"| {head} | " + " | ".join(map(str, columns)) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def by_error_rates(scale: Scale) -> str:
    """Rogan-Gladen, the delta method, the bootstrap of labels."""
    rng = np.random.default_rng(1)
    ours, plain, boots = [], [], []
    for theta in RATES:
        cells: list[list[str]] = [[f"{theta:g}"], [f"{theta:g}"], [f"{theta:g}"]]
        for labels in LABELS:
            runs = drawn(theta, labels, JUDGED, scale.runs, rng)
            share, without = covered(adjusted(runs), theta)
            kept = max(int(scale.runs * (1 - without)), 1)
            cells[0].append(f"{cell(share, kept)} ({without:.0%})")
            share, without = covered(wald(runs), theta)
            cells[1].append(cell(share, max(int(scale.runs * (1 - without)), 1)))
            few = drawn(theta, labels, JUDGED // 10, scale.boots, rng)
            share, without = covered(labels_bootstrap(few, scale.resamples, rng), theta)
            cells[2].append(cell(share, max(int(scale.boots * (1 - without)), 1)))
        for table, row in zip((ours, plain, boots), cells, strict=True):
            table.append(row)
    head = "pass rate \\ labels"
    text = ABOUT_RG + grid(head, ours, LABELS) + ABOUT_WALD + grid(head, plain, LABELS)
    return text + ABOUT_BOOT.format(few=JUDGED // 10) + grid(head, boots, LABELS)


def by_labels(scale: Scale) -> str:
    """PPI++ as `tr.ppi` reports it, and as in the literature."""
    rng = np.random.default_rng(2)
    ours, plain, widths = [], [], []
    for theta in RATES:
        rows: list[list[str]] = [[f"{theta:g}"], [f"{theta:g}"], [f"{theta:g}"]]
        for labels in LABELS:
            runs = drawn(theta, labels, JUDGED, scale.runs, rng)
            bounds = guarded(runs)
            rows[0].append(cell(covered(bounds, theta)[0], scale.runs))
            rows[1].append(cell(covered(powered(runs, "z"), theta)[0], scale.runs))
            alone = wilson(runs.tp + runs.fn, runs.labels)
            ratio = (bounds[1] - bounds[0]).mean() / (alone.high - alone.low).mean()
            rows[2].append(f"{ratio:.2f}")
        for table, row in zip((ours, plain, widths), rows, strict=True):
            table.append(row)
    head = "pass rate \\ labels"
    text = ABOUT_PPI.format(least=FEW) + grid(head, ours, LABELS)
    text += ABOUT_Z + grid(head, plain, LABELS)
    return text + ABOUT_WIDTH + grid(head, widths, LABELS)


def few_clusters(scale: Scale) -> str:
    """Two ways to choose lambda, and labels alone."""
    designs = ((6, 25), (10, 20), (20, 20), (40, 10))
    rows = []
    for clusters, size in designs:
        for icc in (0.02, 0.1, 0.3):
            found = clustered(clusters, size, icc, scale.clustered)
            rows.append([f"{clusters} clusters, ICC {icc:g}", *found])
    text = ABOUT_CLUSTERS.format(cases=designs[0][0])
    return text + grid("design", rows, ("lambda of cases", "lambda of clusters", "labels alone"))


def clustered(clusters: int, size: int, icc: float, runs: int, labels: int = 80) -> list[str]:
    """Coverage of three intervals with clusters."""
    rng, theta = np.random.default_rng(3), 0.6
    code, held = np.repeat(np.arange(clusters), size), np.zeros(3)
    alpha = (1 - icc) / icc
    for _ in range(runs):
        rates = rng.beta(theta * alpha, (1 - theta) * alpha, clusters)[code]
        y = (rng.random(len(code)) < rates).astype(np.float64)
        right = rng.random(len(code)) < np.where(y == 1, SENSITIVITY, SPECIFICITY)
        f = np.where(right, y, 1 - y)
        order = rng.permutation(len(code))
        known, rest = order[:labels], order[labels:]
        sample = Sample(y=y[known], f=f[known], unlabelled=f[rest], cluster=code[order])
        for i, lam in enumerate((best_lambda_of_cases(sample), None, 0.0)):
            made = ppi_mean(sample, lam)
            held[i] += abs(made.value - theta) <= stdtrit(made.df, 0.975) * made.se
    return [cell(share, runs) for share in held / runs]


def page(scale: Scale) -> str:
    """The whole page."""
    head = HEAD.format(
        q1=SENSITIVITY, q0=SPECIFICITY, judged=JUDGED, runs=scale.runs, boots=scale.boots
    )
    parts = [head, by_error_rates(scale), by_labels(scale), few_clusters(scale)]
    return "".join(parts).rstrip() + "\n"


def main(words: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs, to try the script")
    parser.add_argument("file", nargs="?", type=Path, default=HERE / "judge_calibration.md")
    asked = parser.parse_args(words)
    asked.file.write_text(page(QUICK if asked.quick else FULL), encoding="utf-8")


if __name__ == "__main__":
    main()
