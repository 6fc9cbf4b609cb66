"""How often tests of no difference reject when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studies import methods
from studies.designs import CLUSTERS, RAGGED, SEED, clustered, drawn, independent, ragged
from studies.methods import ALPHA, excludes
from studies.tables import Cell, Table, size
from trialframe.kernels import paired

if TYPE_CHECKING:
    from studies.designs import Design, Sample
    from studies.scale import Scale

Row = tuple[tuple[str, ...], dict[str, Cell]]
RATES = (0.5, 0.9)


def tables(scale: Scale) -> list[Table]:
    """Independent cases, clusters, trial counts that differ."""
    return [one_trial(scale), five_trials(scale), clusters(scale), unequal(scale)]


def _below(pvalues: np.ndarray) -> Cell:
    return size(pvalues < ALPHA)


def _mcnemar(sample: Sample) -> dict[str, Cell]:
    got = paired.mcnemar(*sample.discordant)
    return {"McNemar": _below(got.pvalue), "mid-p": _below(got.mid_p)}


def one_trial(scale: Scale) -> Table:
    """One trial a side."""
    rng, rows = np.random.default_rng([SEED, 1]), list[Row]()
    for cases in scale.cases:
        for rate in RATES:
            sample = drawn(independent(cases, 1, rate), scale.runs, rng)
            found = methods.flips(sample)
            cells = _mcnemar(sample) | {
                "sign flip": _below(found.pvalue),
                "Tango alone": size(excludes(methods.tango(sample))),
                "verdict": size(methods.verdicts(sample, found)),
                "t alone": size(excludes(methods.t(sample))),
            }
            rows.append(((f"{cases}", f"{rate}"), cells))
    return Table(
        title="Size: independent cases, one trial a side",
        before="Both sides have the same rate in every case, and rates differ between cases.",
        labels=("cases", "rate"),
        methods=("sign flip", "McNemar", "mid-p", "Tango alone", "verdict", "t alone"),
        rows=tuple(rows),
        after=ONE_TRIAL,
    )


def five_trials(scale: Scale) -> Table:
    """Five trials a side, three kinds of no difference."""
    rng, rows = np.random.default_rng([SEED, 2]), list[Row]()
    for truth in ("same", "independent", "skewed"):
        for cases in scale.cases:
            for rate in RATES:
                design = independent(cases, 5, rate, truth)
                rows.append(((truth, f"{cases}", f"{rate}"), _rates(design, scale, rng)))
    return Table(
        title="Size: independent cases, five trials a side",
        before="Three ways of having no mean difference. " + TRUTHS,
        labels=("truth", "cases", "rate"),
        methods=("sign flip", "t alone", "verdict", "McNemar", "mid-p", "trials as rows"),
        rows=tuple(rows),
        after=FIVE_TRIALS,
    )


def _rates(design: Design, scale: Scale, rng: np.random.Generator) -> dict[str, Cell]:
    """Tests of mean rates; those of majority outcomes where both sides have one distribution."""
    sample = drawn(design, scale.runs, rng)
    balanced = np.array_equal(design.n_a, design.n_b)
    part = sample.first(scale.few if balanced else scale.boot)
    found = methods.flips(part)
    cells = {
        "sign flip": _below(found.sign_flip),
        "t alone": size(excludes(methods.t(sample))),
        "verdict": size(methods.verdicts(part, found)),
        "trials as rows": size(excludes(methods.trials_as_rows(sample))),
    }
    if not balanced:
        cells |= {"permutation": _below(found.permutation), "reported p": _below(found.pvalue)}
    return cells if design.truth == "skewed" else cells | _mcnemar(sample)


def clusters(scale: Scale) -> Table:
    """Cases that succeed and fail together."""
    rng, rows = np.random.default_rng([SEED, 3]), list[Row]()
    for truth in ("independent", "skewed"):
        for name, sizes in CLUSTERS.items():
            for trials in (1, 5):
                for rate in RATES:
                    design = clustered(name, sizes, trials, rate, truth)
                    cells = _rates(design, scale, rng)
                    part = drawn(design, scale.few, rng)
                    alone = methods.flips(part, by_cluster=False)
                    cells["cases flipped"] = _below(alone.pvalue)
                    rows.append(((truth, name, f"{trials}", f"{rate}"), cells))
    return Table(
        title="Size: clusters of cases",
        before="60 % of the cases take the rates, or the change, of their cluster. " + TRUTHS,
        labels=("truth", "clusters", "trials", "rate"),
        methods=("sign flip", "t alone", "verdict", "cases flipped", "McNemar", "trials as rows"),
        rows=tuple(rows),
        after=CLUSTERED,
    )


def unequal(scale: Scale) -> Table:
    """Different numbers of trials on the two sides."""
    rng, rows = np.random.default_rng([SEED, 4]), list[Row]()
    for kind in RAGGED:
        for truth in ("same", "independent", "skewed"):
            for cases in scale.some:
                for rate in RATES:
                    design = ragged(kind, cases, rate, truth)
                    cells = _rates(design, scale, rng)
                    rows.append(((kind, truth, f"{cases}", f"{rate}"), cells))
    return Table(
        title="Size: trial counts that differ",
        before='"1 to 8, mixed" are 1, 2, 4 or 8 trials, other ones on the other side. ' + TRUTHS,
        labels=("trials", "truth", "cases", "rate"),
        methods=("reported p", "t alone", "verdict", "sign flip", "permutation", "trials as rows"),
        rows=tuple(rows),
        after=UNEQUAL,
    )


TRUTHS = (
    '"same": equal rates in every case. "independent": the rates of both sides are drawn '
    'apart, so that configs and cases interact. "skewed": a tenth of the cases (clusters) '
    "loses 0.45 (at a rate of 0.5) or 0.81 (at 0.9), the others gain 0.05 or 0.09, so that "
    "differences are not symmetric about their mean of 0."
)
ONE_TRIAL = (
    "The sign flip and exact McNemar are the same test here and never exceed their level; "
    "they are very careful below 50 cases, where mid-p is closer. The verdict follows the "
    "sign flip. Tango's interval alone comes closest to .05 and stays there from 20 cases on."
)
FIVE_TRIALS = (
    "With equal or exchangeable rates everything that pairs cases keeps its level, and the "
    "sign flip is exact. McNemar on majority outcomes finds less than tests of rates (it is "
    "not shown where majorities differ in truth). Skewed changes at a rate of 0.9 are found "
    "too often below 50 cases (.09 at 20): a suite that holds no badly hurt case looks like a "
    "uniform gain, and no test can see what is not there. Trials as rows are wrong both ways: "
    "too careful where cases are alike on both sides, far too bold where configs and cases "
    "interact."
)
CLUSTERED = (
    "Flipping whole clusters and CR2 keep their level, also with one cluster of 40 % of the "
    "cases; the flip of five clusters can never reject. Flipping cases, McNemar and trials as "
    "rows find differences several times too often. Skewed changes of whole clusters at a "
    "rate of 0.9 are found too often by everything (.20 with 10 clusters, .08 with 30): ten "
    "clusters often hold none that broke. Use more clusters, not more cases in each."
)
UNEQUAL = (
    "The reported p, the larger of both, keeps its level in every row, also where the sign "
    "flip alone exceeds it (.09 with 1 trial against 10 at a rate of 0.9 and 20 cases) and so "
    "does t. The permutation alone answers another question: it finds configs and cases that "
    "interact, without any difference of the means. Plan as many trials on both sides."
)
