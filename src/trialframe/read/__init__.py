"""Files and tables of any kind as canonical trials."""

from trialframe.read.tables import mapping, read

__all__ = ["mapping", "read"]
