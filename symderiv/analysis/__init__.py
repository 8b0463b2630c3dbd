"""What follows from the equations: fixed points, rates, exact error curves."""
