"""Files, logs and tables of any kind as canonical trials."""

from trialframe.read._known import formats
from trialframe.read.tables import mapping, read

__all__ = ["formats", "mapping", "read"]
