"""Charts of tables and results: plain frames in, Altair charts out.

Every chart holds the small table it draws, says in its subtitle what was estimated and how, and
in its description what one sees. `tr.plot` and the `plot` method of results call these.
"""

from trialframe.charts.curves import curves
from trialframe.charts.decay import decay
from trialframe.charts.estimates import estimates
from trialframe.charts.flakes import flakes
from trialframe.charts.forest import forest
from trialframe.charts.frontier import frontier
from trialframe.charts.items import items
from trialframe.charts.judge import confusion
from trialframe.charts.leaderboard import leaderboard
from trialframe.charts.power import power
from trialframe.charts.sequential import confidence, sequential
from trialframe.charts.strip import strip
from trialframe.charts.surface import surface

__all__ = [
    "confidence",
    "confusion",
    "curves",
    "decay",
    "estimates",
    "flakes",
    "forest",
    "frontier",
    "items",
    "leaderboard",
    "power",
    "sequential",
    "strip",
    "surface",
]
