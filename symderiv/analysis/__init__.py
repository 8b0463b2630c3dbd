"""Results that follow from the equations: fixed points, rates, exact error curves."""
