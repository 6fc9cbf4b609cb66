"""The methods page: every statistic, its formula, assumptions, source and tests.

python docs/methods.py [file] writes docs/methods.md, or that file, from the docstrings.
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path
from typing import Any

import trialframe as tr

HERE = Path(__file__).resolve().parent

GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "Rates of single configs": {
        "summary": (
            "estimate/test_summary.py",
            "kernels/test_means.py",
            "kernels/test_draws.py",
            "kernels/test_intervals.py",
            "kernels/test_variance.py",
        ),
        "run_summary": ("test_acceptance.py",),
        "beta_binomial": ("estimate/test_summary.py", "kernels/test_betabinomial.py"),
        "index": ("estimate/test_index.py",),
        "seq_at_k": ("estimate/test_attempts.py", "kernels/test_attempts.py"),
    },
    "Expressions": {
        "pass_at_k": ("test_expr.py", "kernels/test_draws.py"),
        "pass_hat_k": ("test_expr.py", "kernels/test_draws.py"),
        "g_pass_at_k": ("test_expr.py", "kernels/test_draws.py"),
        "flake_index": ("test_expr.py",),
        "wilson": ("test_expr.py",),
    },
    "Comparisons": {
        "compare": (
            "comparison/test_compare.py",
            "test_acceptance_comparison.py",
            "kernels/test_paired.py",
            "kernels/test_signflip.py",
            "kernels/test_resample.py",
        ),
        "compare_rates": ("comparison/test_compare_options.py",),
        "regressions": ("comparison/test_regressions.py", "kernels/test_unpaired.py"),
        "compare_all": ("comparison/test_compare_all.py", "kernels/test_multiple.py"),
        "leaderboard": (
            "comparison/test_leaderboard.py",
            "kernels/test_ranks.py",
            "kernels/test_maxt.py",
        ),
    },
    "Decisions": {
        "gate": ("decide/test_gate.py", "kernels/test_gate.py"),
        "gate_policy": ("decide/test_policy.py",),
    },
    "Planning": {
        "power": ("planning/test_power.py",),
        "mde": ("planning/test_power.py",),
        "cases_needed": ("planning/test_power.py",),
        "trials_or_cases": ("planning/test_power.py",),
        "sequential": ("planning/test_sequential.py", "kernels/test_sequential.py"),
        "confidence_sequence": ("planning/test_confidence.py", "kernels/test_betting.py"),
        "next_trials": ("planning/test_next_trials.py",),
    },
    "Judges": {
        "calibrate": ("judge/test_calibrate.py", "kernels/test_kappa.py"),
        "rogan_gladen": ("judge/test_correct.py", "kernels/test_judge.py"),
        "rogan_gladen_difference": ("judge/test_correct.py",),
        "ppi": ("judge/test_ppi.py", "kernels/test_ppi.py"),
        "ppi_difference": ("judge/test_ppi.py",),
        "judge_drift": ("judge/test_drift.py",),
        "position_bias": ("judge/test_drift.py",),
        "labels_needed": ("judge/test_drift.py", "kernels/test_planning.py"),
        "judge_noise": ("judge/test_draws.py",),
        "verdicts": ("judge/test_grades.py",),
        "signal_auroc": ("judge/test_signals.py", "kernels/test_auroc.py"),
    },
    "Reliability and variance": {
        "reliability": ("reliability/test_rollouts.py",),
        "variance_components": (
            "reliability/test_components.py",
            "kernels/test_anova.py",
            "kernels/test_reml.py",
            "kernels/test_icc.py",
        ),
        "decay_curve": ("reliability/test_decay_curve.py", "kernels/test_decay.py"),
        "vaf": ("reliability/test_decay_curve.py",),
        "gds": ("reliability/test_episode_scores.py", "kernels/test_episodes.py"),
        "mop": ("reliability/test_episode_scores.py", "kernels/test_episodes.py"),
        "time_horizon": ("reliability/test_time_horizon.py", "kernels/test_horizon.py"),
        "surface": ("reliability/test_surface.py",),
    },
    "Difficulty and ability": {"fit_irt": ("irt/test_fit.py", "kernels/test_irt.py")},
    "Before a claim": {"audit": ("test_audit.py", "test_audit_claims.py")},
}
"""The statistics in the order of the page, with the tests that hold each to its definition."""

HEAD = """# Methods

What every statistic is, what it assumes, where it comes from, when not to use it, and which tests
hold it to its definition. `python docs/methods.py` makes this page from the docstrings. How often
intervals cover and tests err in simulation stands in [calibration](calibration.md) and, for judges,
in [judge calibration](judge_calibration.md).
"""

_SECTION = re.compile(
    r"^(Args|Returns|Raises|Notes|References|Examples|Attributes):$", re.MULTILINE
)
_SIGNS = re.compile(r"([*_<>\[\]|#])")


def sections(text: str) -> dict[str, str]:
    """The parts of a Google docstring; the text before them is called About."""
    parts = _SECTION.split(text)
    found = {"About": parts[0].strip()}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = inspect.cleandoc("\n" + body).strip()
    return found


def as_markdown(text: str) -> str:
    """Plain text as Markdown: signs outside backticks are escaped, indented lines are code."""
    blocks = []
    for block in text.split("\n\n"):
        if block and all(line.startswith("    ") for line in block.splitlines()):
            blocks.append("```text\n" + inspect.cleandoc("\n" + block) + "\n```")
        else:
            pieces = block.split("`")
            pieces[::2] = [_SIGNS.sub(r"\\\1", piece) for piece in pieces[::2]]
            blocks.append("`".join(pieces))
    return "\n\n".join(blocks)


def entry(name: str, tests: tuple[str, ...]) -> str:
    """One statistic."""
    found = sections(inspect.getdoc(getattr(tr, name)) or "")
    first, _, about = found["About"].partition("\n\n")
    lines = [f"### `tr.{name}`", as_markdown(" ".join(first.split()))]
    if about:
        lines.append(as_markdown(about))
    for title, part in (("Formula and assumptions", "Notes"), ("Sources", "References")):
        if part in found:
            lines += [f"**{title}.** {as_markdown(found[part])}"]
    lines.append("**Pinned by** " + ", ".join(f"`tests/{test}`" for test in tests) + ".")
    return "\n\n".join(lines)


def page() -> str:
    """The whole page."""
    parts = [HEAD.strip()]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        parts += [entry(name, tests) for name, tests in names.items()]
    return "\n\n".join(parts) + "\n"


def main(arguments: Any = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=HERE / "methods.md")
    parser.parse_args(arguments).file.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
