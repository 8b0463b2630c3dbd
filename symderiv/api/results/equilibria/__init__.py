"""Answers about what can be learned: free energies, thresholds, least errors."""
