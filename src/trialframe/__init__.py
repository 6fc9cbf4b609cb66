"""Analytics for repeated-trial evaluations of language models and agents.

Trials are rows, counts are one group-by away, and every statement about them comes with an
estimand, a method and what was left out.
"""

from trialframe.counts import Counts, counts
from trialframe.estimate.summary import summary
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
from trialframe.simulate import simulate

__all__ = [
    "Counts",
    "counts",
    "flake_index",
    "flaky",
    "g_pass_at_k",
    "majority",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "saturated",
    "simulate",
    "summary",
    "wilson",
]
