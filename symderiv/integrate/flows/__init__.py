"""A right-hand side with its state, followed over the times of a run, and the error of the run."""
