"""Analytics for repeated-trial evaluations of language models and agents.

Trials are rows, counts are one group-by away, and every statement about them comes with an
estimand, a method and what was left out.
"""

from trialframe.counts import Counts, counts

__all__ = ["Counts", "counts"]
