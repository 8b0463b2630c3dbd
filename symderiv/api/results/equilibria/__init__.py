"""Results on what can be learned: free energies, thresholds, smallest errors."""
