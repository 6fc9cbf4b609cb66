"""Item response theory on counts: difficulty of cases, ability of configs, suites from subsets."""
