"""Results as versioned tables of a warehouse, their definitions, and counts as SQL."""
