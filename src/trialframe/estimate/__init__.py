"""Estimates from counts: one file per public function."""
