"""Answers about the flow: plateaus, fixed points, Jacobians, late and linear learning."""
