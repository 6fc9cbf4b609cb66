"""Files, logs and tables of any kind as canonical trials."""

from trialframe.read._formats import formats
from trialframe.read.tables import mapping, read

__all__ = ["formats", "mapping", "read"]
