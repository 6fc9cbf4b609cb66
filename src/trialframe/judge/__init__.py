"""Judges: how far their verdicts can be trusted, and pass rates corrected for their errors."""
