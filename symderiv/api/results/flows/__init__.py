"""Results on flows: plateaus, fixed points, Jacobians, late and linear learning."""
