"""Where the variance of results comes from, and how agents hold up over time and under stress."""
