"""Analytics for repeated-trial evaluations of language models and agents.

Trials are rows, counts are one group-by away, and every statement about them comes with an
estimand, a method and what was left out.
"""

from trialframe.audit import audit, check_trials
from trialframe.comparison.compare import compare
from trialframe.comparison.compare_all import compare_all
from trialframe.comparison.headlines import Headlines, compare_rates
from trialframe.comparison.leaderboard import leaderboard
from trialframe.comparison.regressions import regressions
from trialframe.comparison.result import Comparison
from trialframe.counts import Counts, counts
from trialframe.decide.gate import Decision, gate
from trialframe.decide.rules import PolicyDecision, gate_policy
from trialframe.doctor import doctor
from trialframe.errors import TrialframeError
from trialframe.estimate.attempts import seq_at_k
from trialframe.estimate.extrapolate import beta_binomial
from trialframe.estimate.index import index
from trialframe.estimate.runs import run_summary
from trialframe.estimate.summary import summary
from trialframe.export.ddl import ddl
from trialframe.export.export import Exported, export
from trialframe.export.sql import counts_sql
from trialframe.expr import (
    flake_index,
    flaky,
    g_pass_at_k,
    majority,
    pass_at_k,
    pass_hat_k,
    pass_rate,
    saturated,
    wilson,
)
from trialframe.irt.fit import fit_irt
from trialframe.irt.result import IrtFit
from trialframe.judge.calibrate import Calibration, calibrate
from trialframe.judge.correct import Corrected, rogan_gladen
from trialframe.judge.correct_difference import CorrectedDifference, rogan_gladen_difference
from trialframe.judge.draws import JudgeNoise, judge_noise
from trialframe.judge.drift import Drift, judge_drift
from trialframe.judge.grades import Verdicts, verdicts
from trialframe.judge.planning import LabelsNeeded, labels_needed
from trialframe.judge.position import PositionBias, position_bias
from trialframe.judge.ppi import Powered, ppi
from trialframe.judge.ppi_difference import PoweredDifference, ppi_difference
from trialframe.judge.signals import signal_auroc
from trialframe.planning.allocation import trials_or_cases
from trialframe.planning.confidence import ConfidenceSequence, confidence_sequence
from trialframe.planning.next_trials import next_trials
from trialframe.planning.planned import Power
from trialframe.planning.power import cases_needed, mde, power, power_table
from trialframe.planning.sequential import Sequential, sequential
from trialframe.read import formats, mapping, read
from trialframe.reliability.amplification import vaf
from trialframe.reliability.components import VarianceComponents, variance_components
from trialframe.reliability.decay import Decay, decay_curve
from trialframe.reliability.episodes import gds, mop
from trialframe.reliability.horizon import time_horizon
from trialframe.reliability.rollouts import reliability
from trialframe.reliability.surface import Surface, surface
from trialframe.report.page.make import report
from trialframe.report.plot import plot
from trialframe.report.tables import table
from trialframe.simulate import simulate

__all__ = [
    "Calibration",
    "Comparison",
    "ConfidenceSequence",
    "Corrected",
    "CorrectedDifference",
    "Counts",
    "Decay",
    "Decision",
    "Drift",
    "Exported",
    "Headlines",
    "IrtFit",
    "JudgeNoise",
    "LabelsNeeded",
    "PolicyDecision",
    "PositionBias",
    "Power",
    "Powered",
    "PoweredDifference",
    "Sequential",
    "Surface",
    "TrialframeError",
    "VarianceComponents",
    "Verdicts",
    "audit",
    "beta_binomial",
    "calibrate",
    "cases_needed",
    "check_trials",
    "compare",
    "compare_all",
    "compare_rates",
    "confidence_sequence",
    "counts",
    "counts_sql",
    "ddl",
    "decay_curve",
    "doctor",
    "export",
    "fit_irt",
    "flake_index",
    "flaky",
    "formats",
    "g_pass_at_k",
    "gate",
    "gate_policy",
    "gds",
    "index",
    "judge_drift",
    "judge_noise",
    "labels_needed",
    "leaderboard",
    "majority",
    "mapping",
    "mde",
    "mop",
    "next_trials",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "plot",
    "position_bias",
    "power",
    "power_table",
    "ppi",
    "ppi_difference",
    "read",
    "regressions",
    "reliability",
    "report",
    "rogan_gladen",
    "rogan_gladen_difference",
    "run_summary",
    "saturated",
    "seq_at_k",
    "sequential",
    "signal_auroc",
    "simulate",
    "summary",
    "surface",
    "table",
    "time_horizon",
    "trials_or_cases",
    "vaf",
    "variance_components",
    "verdicts",
    "wilson",
]
