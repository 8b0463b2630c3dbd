"""Results in formulas: derivations, proved means, exported modules, verdicts."""
