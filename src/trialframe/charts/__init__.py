"""Charts of tables and results: plain frames in, Altair charts out.

Every chart holds the small table it draws, says in its subtitle what was estimated and how, and
in its description what one sees. `tr.plot` and the `plot` method of results call these.
"""

from trialframe.charts.curves import curves
from trialframe.charts.flakes import flakes
from trialframe.charts.forest import forest
from trialframe.charts.frontier import frontier
from trialframe.charts.leaderboard import leaderboard
from trialframe.charts.strip import strip

__all__ = ["curves", "flakes", "forest", "frontier", "leaderboard", "strip"]
