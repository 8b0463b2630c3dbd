"""Fixed points of flows: found, proved, counted up to symmetry, and followed."""
