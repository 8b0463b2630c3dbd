"""Numbers of a problem that are chosen in time: runs with their gradients, and searches."""
