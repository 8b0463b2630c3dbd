"""Results that integrate or simulate: trajectories, ensembles, fits, protocols."""
