"""Size of every test and coverage of every interval by simulation.

python docs/calibration.py [--quick] [file] writes docs/calibration.md, or that file.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from studies import coverages, decisions, rankings, sizes
from studies.scale import FULL, QUICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studies.scale import Scale
    from studies.tables import Table

HERE = Path(__file__).resolve().parent

HEAD = """# Calibration

Every test of trialframe was tried where there is nothing to find, and every interval where the
truth is known. These are the results. `python docs/calibration.py` makes this page again, the
same numbers from the same seed, in about {minutes} minutes on one core.

## How to read it

- A *size* is the share of replicates in which a test at level .05 finds a difference that does
  not exist. It should be at most .05. A *coverage* is the share in which a 95 % interval holds
  the truth. It should be at least .95.
- **Bold** cells promise too much, by more than three Monte Carlo standard errors. Cells (in
  brackets) err on the safe side by as much: fewer false alarms, or wider intervals, than asked
  for. Chance alone marks about three cells in a thousand. "-" means that the method was not
  applied.
- Methods that handle all replicates at once ran {runs:,} times: the standard error of a cell near
  its nominal value is {runs_error:.4f}. Sign flips, verdicts and claims, which take one replicate
  at a time, have {few:,} replicates ({few_error:.4f}); bootstraps, ranks, and tests with trial
  counts that differ have {boot:,} ({boot_error:.4f}), ranks of more than 6 configs half of that.
  Single verdicts are handled once per distinct outcome, so all their replicates count. Bootstraps
  took {resamples} resamples instead of 10,000.
- Cases are drawn from a population; their rates have mean 0.5 (Beta(0.5, 0.5), mostly very easy
  or very hard) or 0.9 (Beta(1.8, 0.2)).
- The columns "trials as rows", "clusters ignored", "cases flipped", "McNemar" with clusters,
  "permutation" by itself, "against the leader" and "McNemar at every look" show what not to do.

## Which default, and why

- The **interval** of a difference is Tango's when every case has one trial a side and there are
  no clusters, else Student's t with CR2 standard errors over cases or whole clusters. The design
  decides, never the differences that were seen. With few cases these stay nearest to their level;
  bootstraps are too narrow there.
- The **p-value** is that of the sign flip of cases or whole clusters; where trial counts differ
  the larger of that and the permutation within cases.
- A **verdict** needs both, and at least six changed cases or clusters. Where the sign flip is
  exact it can only be more careful than the sign flip.
- What no method can do: show a rare and large loss in a suite that happens not to contain it. The
  rows called "skewed" are of that kind. Think of them before claiming anything from ten
  clusters."""


def report(scale: Scale, minutes: str) -> str:
    """The whole page."""

    def error(runs: int) -> float:
        return float((0.05 * 0.95 / runs) ** 0.5)

    head = HEAD.format(
        minutes=minutes,
        runs=scale.runs,
        few=scale.few,
        boot=scale.boot,
        resamples=scale.resamples,
        runs_error=error(scale.runs),
        few_error=error(scale.few),
        boot_error=error(scale.boot),
    )
    return "\n".join([head, *(line for table in tables(scale) for line in table.lines), ""])


def tables(scale: Scale) -> list[Table]:
    """Every table."""
    parts = (sizes, decisions, coverages, rankings)
    return [table for part in parts for table in part.tables(scale)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("file", nargs="?", type=Path, default=HERE / "calibration.md")
    asked.add_argument("--quick", action="store_true", help="few replicates, to see that it runs")
    given = asked.parse_args(arguments)
    start = time.process_time()
    given.file.write_text(report(QUICK if given.quick else FULL, "10"), encoding="utf-8")
    print(f"{given.file}: {time.process_time() - start:.0f} seconds of one core")


if __name__ == "__main__":
    main()
