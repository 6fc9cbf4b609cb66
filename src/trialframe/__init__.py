"""Analytics for repeated-trial evaluations of language models and agents.

Trials are rows, counts are one group-by away, and every statement about them comes with an
estimand, a method and what was left out.
"""

from trialframe.audit import check_trials
from trialframe.counts import Counts, counts
from trialframe.decide.gate import Decision, gate
from trialframe.decide.rules import PolicyDecision, gate_policy
from trialframe.doctor import doctor
from trialframe.errors import TrialframeError
from trialframe.estimate.allocation import trials_or_cases
from trialframe.estimate.attempts import seq_at_k
from trialframe.estimate.compare import compare
from trialframe.estimate.compare_all import compare_all
from trialframe.estimate.comparison import Comparison
from trialframe.estimate.confidence import ConfidenceSequence, confidence_sequence
from trialframe.estimate.extrapolate import beta_binomial
from trialframe.estimate.headlines import Headlines, compare_rates
from trialframe.estimate.index import index
from trialframe.estimate.leaderboard import leaderboard
from trialframe.estimate.next_trials import next_trials
from trialframe.estimate.planned import Power
from trialframe.estimate.power import cases_needed, mde, power, power_table
from trialframe.estimate.regressions import regressions
from trialframe.estimate.runs import run_summary
from trialframe.estimate.sequential import Sequential, sequential
from trialframe.estimate.summary import summary
from trialframe.export import counts_sql
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
from trialframe.read import mapping, read
from trialframe.simulate import simulate

__all__ = [
    "Calibration",
    "Comparison",
    "ConfidenceSequence",
    "Corrected",
    "CorrectedDifference",
    "Counts",
    "Decision",
    "Drift",
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
    "TrialframeError",
    "Verdicts",
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
    "doctor",
    "fit_irt",
    "flake_index",
    "flaky",
    "g_pass_at_k",
    "gate",
    "gate_policy",
    "index",
    "judge_drift",
    "judge_noise",
    "labels_needed",
    "leaderboard",
    "majority",
    "mapping",
    "mde",
    "next_trials",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "position_bias",
    "power",
    "power_table",
    "ppi",
    "ppi_difference",
    "read",
    "regressions",
    "rogan_gladen",
    "rogan_gladen_difference",
    "run_summary",
    "saturated",
    "seq_at_k",
    "sequential",
    "signal_auroc",
    "simulate",
    "summary",
    "trials_or_cases",
    "verdicts",
    "wilson",
]
