"""Estimates -> decisions: ship, hold or don't ship, with the reasons and an exit code."""
