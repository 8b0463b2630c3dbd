"""Events: conditions on order parameters, and the first times at which they hold along a run."""
