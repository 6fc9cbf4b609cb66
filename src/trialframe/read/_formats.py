"""The log formats that can be read: add a new one to this list.

Imported when a format is first asked for: `import trialframe` needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialframe.read import (
    aider,
    alpaca_eval,
    bfcl,
    braintrust,
    deepeval,
    evalplus,
    every_eval_ever,
    harbor,
    helm,
    human_eval,
    inspect_frame,
    inspect_log,
    judgebench,
    junit,
    langfuse,
    langsmith,
    livecodebench,
    lm_eval,
    metr,
    mlflow,
    openai_evals,
    promptfoo,
    pytest_report,
    reflexion,
    swe_bench,
    tau2_bench,
    tau2_judge,
    tau_bench,
    terminal_bench,
)

if TYPE_CHECKING:
    from trialframe.read._log import LogFormat
    from trialframe.read._presets import TableFormat

LOGS: tuple[LogFormat, ...] = (
    inspect_log.FORMAT,
    junit.FORMAT,
    deepeval.FORMAT,
    promptfoo.FORMAT,
    pytest_report.FORMAT,
    tau_bench.FORMAT,
    swe_bench.FORMAT,
    terminal_bench.FORMAT,
    harbor.FORMAT,
    tau2_bench.FORMAT,
    tau2_judge.FORMAT,
    bfcl.FORMAT,
    livecodebench.FORMAT,
    alpaca_eval.FORMAT,
    judgebench.FORMAT,
    metr.FORMAT,
    reflexion.FORMAT,
    aider.FORMAT,
    every_eval_ever.FORMAT,
    helm.FORMAT,
    openai_evals.FORMAT,
    evalplus.FORMAT,
    human_eval.FORMAT,
    lm_eval.FORMAT,
)
"""Logs in files, in the order in which they are asked whether a file is theirs."""

TABLES: tuple[TableFormat, ...] = (
    inspect_frame.FORMAT,
    langsmith.FORMAT,
    braintrust.FORMAT,
    langfuse.FORMAT,
    mlflow.FORMAT,
)
"""Tables that platforms export."""

EVERY: tuple[LogFormat | TableFormat, ...] = (*LOGS, *TABLES)
